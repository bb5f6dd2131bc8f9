"""Searches of scikit-learn: groups, weights, metadata routing, scorers, backends, and what their guarantees say."""

import math

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    cross_validate,
)
from sklearn.pipeline import make_pipeline

from sklearn_dprank import DPBorda, LDPPairwise, SegmentedAggregator, model_selection
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import excess_kendall_tau, kendall_tau_scorer
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import guarantee_of

ITEMS = ["tea", "milk", "water", "wine"]
X = make_mallows(240, 4, 0.6, center=[0, 1, 2, 3], random_state=0)
FRAME = pd.DataFrame(X, columns=ITEMS, index=np.arange(240) + 1000)
TABLES = {"array": X, "list": X.tolist(), "pandas": FRAME, "profile": Profile.from_rankings(FRAME)}
PERSONS = np.repeat(np.arange(60), 4)
GRID = {"epsilon": [0.01, 5.0]}


def scores_of(estimator, ballots, splits):
    """Scores of a loop over the splits."""
    return [clone(estimator).fit(ballots[train]).score(ballots[test]) for train, test in splits]


# Groups, weights and metadata


@pytest.mark.parametrize("cv", [GroupKFold(3), GroupShuffleSplit(2, random_state=0), LeaveOneGroupOut()], ids=repr)
@pytest.mark.parametrize("table", TABLES)
def test_groups_split_the_voters_of_every_table(table, cv):
    estimator, groups = DPBorda(random_state=0), PERSONS // 20
    expected = scores_of(estimator, X, cv.split(X, groups=groups))
    assert cross_validate(estimator, TABLES[table], groups=groups, cv=cv)["test_score"].tolist() == expected
    with config_context(enable_metadata_routing=True):
        routed = cross_validate(estimator, TABLES[table], params={"groups": groups}, cv=cv)
    assert routed["test_score"].tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_a_grid_search_with_groups_keeps_the_names(table):
    search = GridSearchCV(DPBorda(random_state=0), GRID, cv=GroupKFold(3)).fit(TABLES[table], groups=PERSONS)
    assert search.best_params_ == {"epsilon": 5.0} and search.n_features_in_ == 4
    named = table in ("pandas", "profile")
    assert search.best_estimator_.consensus_.tolist() == (ITEMS if named else [0, 1, 2, 3])
    assert hasattr(search, "feature_names_in_") == named
    ratings = -FRAME if table == "pandas" else -X
    pipeline = make_pipeline(RatingsToRankings(), DPBorda(random_state=0))
    of_steps = {f"dpborda__{name}": values for name, values in GRID.items()}
    of_pipeline = GridSearchCV(pipeline, of_steps, cv=GroupKFold(3)).fit(ratings, groups=PERSONS)
    assert of_pipeline.cv_results_["mean_test_score"].tolist() == search.cv_results_["mean_test_score"].tolist()


def test_profiles_of_persons_and_weights_are_split_by_person():
    """Rows of a person stay together, with their weights, and the guarantee protects all of them."""
    weights = np.linspace(0.5, 1.5, 240)
    persons = Profile.from_rankings(FRAME, groups=PERSONS, sample_weight=weights, max_weight=4)
    estimator = DPBorda(random_state=0)
    numbers = np.arange(60)
    splits = [(np.setdiff1d(numbers, test), test) for test in np.split(numbers, 3)]
    assert cross_validate(estimator, persons, cv=3)["test_score"].tolist() == scores_of(estimator, persons, splits)
    best = GridSearchCV(estimator, GRID, cv=3).fit(persons).best_estimator_
    assert best.privacy_.unit == "all ballots of one person" and best.ranks_.index.tolist() == ITEMS


@pytest.mark.parametrize("name", ["sample_weight", "groups"])
def test_weights_beside_the_ballots_are_refused_with_the_profile_to_pass(name):
    message = rf"unexpected keyword argument '{name}'.* fit\(Profile.from_rankings\(X, {name}=...\)\)"
    with pytest.raises(TypeError, match=message):
        cross_validate(DPBorda(), FRAME, params={name: np.ones(240, dtype=int)}, cv=3, error_score="raise")


@pytest.mark.slow
def test_epsilons_of_voters_and_segments_are_routed():
    with config_context(enable_metadata_routing=True):
        local, epsilons = LDPPairwise(random_state=0), np.tile([1.0, 2.0], 120)
        found = cross_validate(local.set_fit_request(voter_epsilon=True), X, params={"voter_epsilon": epsilons}, cv=3)
        parts = np.split(np.arange(240), 3)
        for score, test in zip(found["test_score"], parts, strict=True):
            train = np.setdiff1d(np.arange(240), test)
            assert score == clone(local).fit(X[train], voter_epsilon=epsilons[train]).score(X[test])
        regions = pd.Series(["north", "south"] * 120, index=FRAME.index)
        segmented = SegmentedAggregator(["north", "south"], random_state=0)
        segmented.set_fit_request(segments=True).set_score_request(segments=True)
        search = GridSearchCV(segmented, GRID, cv=GroupKFold(3), error_score="raise")
        assert search.fit(FRAME, segments=regions, groups=PERSONS).best_params_ == {"epsilon": 5.0}


# Scorers


@pytest.mark.slow
def test_the_scorer_is_the_score_of_the_estimator():
    estimator, ratings = DPBorda(random_state=0), -FRAME
    own = cross_validate(estimator, FRAME, cv=3)["test_score"].tolist()
    assert cross_validate(estimator, FRAME, cv=3, scoring=kendall_tau_scorer)["test_score"].tolist() == own
    pipeline = make_pipeline(RatingsToRankings(), estimator)
    assert cross_validate(pipeline, ratings, cv=3, scoring=kendall_tau_scorer)["test_score"].tolist() == own
    several = {"distance": kendall_tau_scorer, "excess": lambda fitted, X: -excess_kendall_tau(fitted.ranks_, X)}
    found = cross_validate(estimator, FRAME, cv=3, scoring=several)
    assert found["test_distance"].tolist() == own and (found["test_excess"] >= own).all()
    refitted = GridSearchCV(estimator, GRID, cv=3, scoring=several, refit="excess").fit(FRAME)
    assert refitted.best_params_ == {"epsilon": 5.0}


def test_a_metric_of_predictions_is_refused():
    """Rankings predict nothing; `kendall_tau_scorer` names the remedy in its documentation."""
    scorer = make_scorer(excess_kendall_tau, greater_is_better=False)
    with pytest.raises(TypeError, match="y_true"):
        cross_validate(DPBorda(), X, cv=3, scoring=scorer, error_score="raise")
    assert "make_scorer" in kendall_tau_scorer.__doc__


# Groups in our own searches


@pytest.mark.parametrize("ballots", [X, FRAME], ids=["array", "pandas"])
def test_our_searches_name_the_call_for_groups(ballots):
    with pytest.raises(ValueError, match=r"cv=GroupKFold.* Profile.from_rankings\(X, groups=...\) .* cv=3"):
        model_selection.cross_validate(DPBorda(), ballots, cv=GroupKFold(3), n_trials=1)
    splits = list(GroupKFold(3).split(X, groups=PERSONS))
    found = model_selection.cross_validate(DPBorda(), ballots, cv=splits, n_trials=1, random_state=0)
    fitted = DPBorda(random_state=int(found["seed"][0])).fit(X[splits[0][0]])
    assert found["test_score"][0] == fitted.score(X[splits[0][1]])


# Backends


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("table", TABLES)
def test_results_depend_on_neither_workers_nor_backend(table, backend):
    search = GridSearchCV(DPBorda(random_state=0), GRID, cv=GroupKFold(3), scoring=kendall_tau_scorer)
    expected = clone(search).fit(TABLES[table], groups=PERSONS)
    with parallel_config(backend=backend):
        found = search.set_params(n_jobs=2).fit(TABLES[table], groups=PERSONS)
    assert [row.tolist() for row in found.cv_results_["split0_test_score"]] == [
        row.tolist() for row in expected.cv_results_["split0_test_score"]
    ]
    assert found.best_estimator_.ranks_.tolist() == expected.best_estimator_.ranks_.tolist()


# Guarantees


def test_the_guarantee_of_the_best_estimator_says_that_it_covers_one_fit():
    search = GridSearchCV(DPBorda(), GRID, cv=3).fit(X)
    assert guarantee_of(search).epsilon == math.inf
    best = search.best_estimator_.privacy_
    assert best.epsilon == 5.0
    assert "this covers this release only" in best.statement(width=None)
    assert "each test on their ballots that only chose the settings" in best.statement(width=None)
