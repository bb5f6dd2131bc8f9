"""Ballots in place of another argument: error messages contain no ballot."""

import numpy as np
import pandas as pd
import pytest

from sklearn_dprank import (
    DPBorda,
    DPBradleyTerry,
    DPPairwise,
    DPPositionalRule,
    DPPrudentOrder,
    DPTopK,
    LDPPairwise,
    PositionalRule,
    SegmentedAggregator,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.metrics import average_kendall_tau, kendall_tau_distance
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection, cross_validate, recommend, results_frame
from sklearn_dprank.plotting import ConsensusDisplay, PrivacyUtilityDisplay, RankIntervalDisplay, SegmentsDisplay
from sklearn_dprank.preprocessing import RatingsToRankings, orders_to_positions
from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee, guarantee_of

SECRET = 917364
VOTES = np.where(np.random.default_rng(0).random((6, 4)) < 0.5, SECRET, -1.0)
FORMS = {
    "array": VOTES,
    "lists": VOTES.tolist(),
    "tuples": tuple(map(tuple, VOTES.tolist())),
    "frame": pd.DataFrame(VOTES, columns=list("abcd")),
    "series": pd.Series(VOTES[0]),
    "dict": {"a": VOTES[:, 0].tolist()},
    "profile": Profile(SECRET, 4, positions=Profile.from_rankings(VOTES).positions),
}


def search(**settings):
    return GridSearchCV(DPBorda(), {"epsilon": [1.0]}, n_trials=1, **settings).fit(VOTES)


def display(estimators, epsilons=(1.0,), **settings):
    return PrivacyUtilityDisplay.from_estimators(estimators, VOTES, epsilons=epsilons, n_trials=1, **settings)


def fits(cls, parameter):
    return lambda X: cls(**{parameter: X}).fit(VOTES)


def profiles(parameter):
    return lambda X: Profile.from_rankings(VOTES, **{parameter: X})


def converted(parameter):
    return lambda X: orders_to_positions([[0, 1]], **{parameter: X})


CALLS = {
    "budget.fit(X, estimator)": lambda X: PrivacyBudget(5.0).fit(X, DPBorda()),
    "budget.charge(X)": lambda X: PrivacyBudget(5.0).charge(X, "poll"),
    "budget.charge(what=X)": lambda X: PrivacyBudget(5.0).charge(DPBorda().fit(VOTES).privacy_, X),
    "PrivacyBudget(X)": PrivacyBudget,
    "PrivacyBudget.open(X)": PrivacyBudget.open,
    "guarantee_of": guarantee_of,
    "compose": PrivacyGuarantee.compose,
    "GridSearchCV(X)": lambda X: GridSearchCV(X, {"epsilon": [1.0]}).fit(VOTES),
    "param_grid": lambda X: GridSearchCV(DPBorda(), X).fit(VOTES),
    "values of a grid": lambda X: GridSearchCV(DPBorda(), {"epsilon": X}, n_trials=1).fit(VOTES),
    "cv": lambda X: search(cv=X),
    "scoring": lambda X: search(scoring=X),
    "refit": lambda X: search(refit=X),
    "n_trials": lambda X: cross_validate(DPBorda(), VOTES, n_trials=X),
    "cross_validate(X, estimator)": lambda X: cross_validate(X, DPBorda()),
    "PrivateSelection": lambda X: PrivateSelection(X, score_epsilon=0.1, mean_draws=5).fit(VOTES),
    "recommend(X)": lambda X: recommend(X, 100, 1.0),
    "n_voters": lambda X: recommend(4, X, 1.0),
    "epsilon of recommend": lambda X: recommend(4, 100, X),
    "disagreement": lambda X: recommend(4, 100, 1.0, disagreement=X),
    **{name: fits(DPBorda, name) for name in ("epsilon", "delta", "noise", "neighboring", "random_state")},
    "population": fits(DPBorda, "population"),
    "n_rounds": fits(DPBradleyTerry, "n_rounds"),
    "scores of lists": fits(DPPositionalRule, "scores"),
    "classes": lambda X: SegmentedAggregator(X).fit(VOTES, segments=["a"] * 6),
    "labels": lambda X: SegmentedAggregator(["a", "b"]).fit(VOTES, segments=X),
    "k": fits(DPTopK, "k"),
    "rule": fits(DPPairwise, "rule"),
    "window": fits(DPPrudentOrder, "window"),
    "scores": fits(PositionalRule, "scores"),
    "n_queries": fits(LDPPairwise, "n_queries"),
    "min_reports": fits(ShufflePairwise, "min_reports"),
    "higher_is_better": fits(RatingsToRankings, "higher_is_better"),
    "voter_epsilon": lambda X: LDPPairwise().fit(VOTES, voter_epsilon=X),
    "reports": lambda X: LDPPairwise().fit_reports(X, items=4),
    "items": lambda X: LDPPairwise().client(X),
    "ballot": lambda X: LDPPairwise().client(4).report(X),
    "estimators": display,
    "an estimator": lambda X: display({"a": X}),
    "epsilons": lambda X: display({"a": DPBorda()}, X),
    "floor": lambda X: display({"a": DPBorda()}, floor=X),
    "intervals": RankIntervalDisplay.from_estimator,
    "segments": SegmentsDisplay.from_estimator,
    "consensus": lambda X: ConsensusDisplay.from_estimators(X, DPBorda()),
    "from_search": PrivacyUtilityDisplay.from_search,
    "results_frame": results_frame,
    "level": lambda X: DPBorda().fit(VOTES).rank_intervals(X),
    "distance": lambda X: kendall_tau_distance(X, [0, 1]),
    "average": lambda X: average_kendall_tau(X, VOTES),
    "names": lambda X: Profile.from_rankings(VOTES, items=X),
    "orders": orders_to_positions,
    **{name: profiles(name) for name in ("counts", "groups", "sample_weight", "max_weight", "max_listed", "keep")},
    **{name: converted(name) for name in ("n_items", "repeated", "overvote", "skipped", "other_items")},
    "of": lambda X: DPBorda().fit(VOTES).rank_intervals(of=X),
    "level of a table": lambda X: DPBorda().fit(VOTES).to_frame(X),
}


@pytest.mark.parametrize("call", CALLS)
def test_messages_contain_no_ballot(call):
    refused = 0
    for form, ballots in FORMS.items():
        try:
            CALLS[call](ballots)
        except Exception as refusal:  # other tests check its class
            refused += 1
            assert str(SECRET) not in str(refusal), form
    assert refused
