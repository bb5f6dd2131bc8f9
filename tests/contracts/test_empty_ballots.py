"""Fits accept no voters, and voters without opinions, because a refusal would reveal them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import sklearn_dprank
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.privacy import PrivacyBudget, guarantee_of

PUBLIC = [getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__]
ESTIMATORS = [c for c in PUBLIC if isinstance(c, type) and issubclass(c, RankAggregator)]
SILENT = [np.nan] * 4
VOTES = np.array([[0, 1, 2, 3]] * 30 + [[3, 1, 1, 0]] * 10, dtype=float)
NOBODY = Profile.from_rankings(np.empty((0, 4)))


def made(cls):
    few = {"min_reports": 1} if "min_reports" in cls().get_params() else {}
    return cls(**few, **({"random_state": 0} if "random_state" in cls().get_params() else {}))


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("votes", [[SILENT], [*VOTES[:20], SILENT, *VOTES[20:]]], ids=["alone", "among others"])
def test_every_estimator_accepts_a_ballot_without_opinions(cls, votes):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no ballot of X prefers any item to another")
        warnings.filterwarnings("ignore", ".*little better than coin flips")
        fitted = made(cls).fit(votes)
    assert sorted(fitted.ranks_.tolist()) == [0, 1, 2, 3] or len(fitted.consensus_) < 4


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_private_fit_accepts_no_voters_where_their_number_is_private(cls):
    """The guarantee under "add_remove" compares one voter with no voter."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "no ballot of X prefers any item to another")
            warnings.filterwarnings("ignore", ".*little better than coin flips")
            fitted = made(cls).fit(NOBODY)
    except ValueError as error:
        assert cls.__name__.startswith(("LDP", "Sec", "Shuffle"))  # where their number is public
        assert str(error) in (
            "X holds no ballot, and this trust model needs at least one report; add a ballot.",
            "X holds no ballot, and the local model needs at least one report; add a ballot.",
        )
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*little better than coin flips")
        alone = made(cls).fit(Profile.from_rankings([[0, 1, 2, 3]]))
    assert fitted.privacy_ == alone.privacy_ and fitted.n_features_in_ == 4


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"neighboring": "replace"}, {"noise": "gaussian", "delta": 1e-6}])
def test_without_voters_noise_and_coins_decide(options):
    first = [sklearn_dprank.DPBorda(**options, random_state=seed).fit(NOBODY).consensus_[0] for seed in range(400)]
    assert np.bincount(first, minlength=4).min() > 60  # 100 each on average


def test_a_budget_charges_a_fit_without_voters():
    budget = PrivacyBudget(epsilon=1.0)
    fitted = budget.fit(sklearn_dprank.DPBorda(epsilon=0.75), NOBODY)
    assert budget.spent_.epsilon == 0.75 and guarantee_of(fitted).epsilon == 0.75


TABLES = {
    "array": np.empty((0, 4)),
    "integers": np.empty((0, 4), dtype=int),
    "data frame": pd.DataFrame(columns=list("abcd")),
    "text columns": pd.DataFrame(columns=list("abcd"), dtype=str),
    "profile": NOBODY,
}


@pytest.mark.parametrize("name", [name for name in TABLES if name != "profile"])
@pytest.mark.parametrize("keep", ["positions", "counts"])
def test_a_profile_of_no_rows(name, keep):
    table = TABLES[name]
    names = list("abcd") if isinstance(table, pd.DataFrame) else None
    for profile in (Profile.from_rankings(table, keep=keep), Profile.from_chunks([table, table], keep=keep)):
        assert profile.n_voters == 0 and profile.n_items == 4 and not profile.pairwise_counts.any()
        assert profile.net_wins.tolist() == [0] * 4 and not len(profile.placements)
        assert names is None or profile.item_names.tolist() == names
        assert (profile.positions is None) == (keep == "counts")
    votes = pd.DataFrame(VOTES, columns=names) if names else VOTES
    whole = Profile.from_rankings(votes, keep=keep)
    total = Profile.from_rankings(table, keep=keep) + whole
    assert total.n_voters == 40 and np.array_equal(total.pairwise_counts, whole.pairwise_counts)


@pytest.mark.parametrize("shape", [(0, 0), (0, 1)])
def test_no_rows_still_need_items(shape):
    with pytest.raises(ValueError, match="a minimum of 2 is required"):
        Profile.from_rankings(np.empty(shape))


def test_a_table_without_rows_is_refused_by_fit_as_scikit_learn_demands():
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        sklearn_dprank.DPBorda().fit(np.empty((0, 4)))


def test_an_average_over_no_voters_does_not_exist():
    for profile in (NOBODY, NOBODY.counted(), np.empty((0, 4))):
        with pytest.raises(ValueError, match=r"^X holds no ballot, so no average exists; pass at least one ballot\.$"):
            average_kendall_tau([0, 1, 2, 3], profile)
    with pytest.raises(ValueError, match="X holds no ballot"):
        sklearn_dprank.DPBorda().fit(VOTES).score(NOBODY)
