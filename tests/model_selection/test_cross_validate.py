"""Results of sweeps: `cross_validate`, `smallest_within`, and the searches of scikit-learn."""

import math
import re

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_dprank import Aggregator, Borda, DPBorda, DPKwikSort, Kemeny, LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV, cross_validate, smallest_within, with_seed
from sklearn_dprank.preprocessing import RatingsToRankings

X = make_mallows(60, 5, 0.8, random_state=0)
NOISY = DPBorda(epsilon=0.5)
TIMES = ("fit_time", "score_time")


def without_times(trials):
    return {key: value.tolist() for key, value in trials.items() if key not in TIMES}


def test_shape_of_the_result():
    trials = cross_validate(NOISY, X, n_trials=3, cv=2, random_state=0)
    assert set(trials) == {"test_score", "split", "trial", "seed", *TIMES}
    assert trials["split"].tolist() == [0, 0, 0, 1, 1, 1]
    assert trials["trial"].tolist() == [0, 1, 2, 0, 1, 2]
    assert len(set(trials["seed"].tolist())) == 6
    for key in TIMES:
        assert (trials[key] >= 0).all()
    assert (trials["test_score"] <= 0).all()


def test_random_state():
    first, again, other = (cross_validate(NOISY, X, n_trials=8, random_state=seed) for seed in (0, 0, 1))
    assert without_times(first) == without_times(again)
    assert first["seed"].tolist() != other["seed"].tolist()
    assert len(set(first["test_score"].tolist())) > 1  # fresh noise every time
    fresh = cross_validate(NOISY, X, n_trials=2)
    assert fresh["seed"].tolist() != cross_validate(NOISY, X, n_trials=2)["seed"].tolist()
    generators = [
        cross_validate(NOISY, X, n_trials=2, random_state=np.random.default_rng(3))["seed"].tolist() for _ in range(2)
    ]
    assert generators[0] == generators[1]


@pytest.mark.parametrize("cv", [3, KFold(3), list(KFold(3).split(X))], ids=["int", "splitter", "pairs"])
def test_splits(cv):
    trials = cross_validate(Kemeny(), X, n_trials=2, cv=cv, random_state=0)
    expected = [-average_kendall_tau(Kemeny().fit(X[train]).ranks_, X[test]) for train, test in KFold(3).split(X)]
    np.testing.assert_array_equal(trials["test_score"], np.repeat(expected, 2))


def test_cv_none_is_five_folds():
    assert cross_validate(Borda(), X, n_trials=1, cv=None)["split"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("keep", ["positions", "counts"])
def test_profiles(keep):
    profile = Profile.from_rankings(X, keep=keep)
    expected = cross_validate(NOISY, X, n_trials=3, random_state=0)
    assert without_times(cross_validate(NOISY, profile, n_trials=3, random_state=0)) == without_times(expected)
    with pytest.raises(ValueError, match=re.escape('a Profile cannot be split by cv=5; use cv="all", or pass the')):
        cross_validate(NOISY, profile, cv=5)


def test_seeds_reach_nested_parameters():
    assert with_seed(make_pipeline(RatingsToRankings(), DPBorda()), 5)[-1].random_state == 5
    assert with_seed(Aggregator(Central()), 5).random_state == 5
    assert with_seed(Borda(), 5).get_params() == {}  # it has no seed
    assert with_seed(Ridge(), 5).random_state == 5


# `smallest_within`


RESULTS = {
    "params": [
        {"epsilon": 0.1, "noise": "laplace"},
        {"epsilon": 1.0, "noise": "laplace"},
        {"epsilon": 0.1, "noise": "knorm"},
        {"epsilon": 10.0, "noise": "knorm"},
    ],
    "mean_test_score": np.array([-0.34, -0.31, -0.32, -0.30]),
}


@pytest.mark.parametrize(("tolerance", "row"), [(0.0, 3), (0.005, 3), (0.0101, 1), (0.0201, 2), (0.0401, 2), (1.0, 2)])
def test_smallest_epsilon_within_tolerance(tolerance, row):
    """Among several candidates with the smallest epsilon, the best."""
    assert smallest_within(tolerance)(RESULTS) == row


def test_candidates_without_epsilon_set_the_standard_only():
    results = {
        "params": [{"aggregator": "Kemeny"}, {"aggregator__epsilon": 2.0}, {"aggregator__epsilon": 1.0}],
        "mean_test_score": np.array([-0.30, -0.31, -0.35]),
    }
    assert smallest_within(0.02)(results) == 1
    assert smallest_within(0.1)(results) == 2


@pytest.mark.parametrize("unbounded", [{}, {"epsilon": None}, {"epsilon": math.inf}], ids=str)
def test_candidates_without_privacy_are_never_taken(unbounded):
    results = {
        "params": [{"aggregator": "Kemeny", **unbounded}, {"epsilon": 2.0}, {"epsilon": 1.0}],
        "mean_test_score": np.array([-0.30, -0.31, -0.35]),
    }
    assert smallest_within(0.02)(results) == 1
    with pytest.raises(
        ValueError, match=r"no candidate with the parameter is within tolerance=0.001 of the best score"
    ):
        smallest_within(0.001)(results)


def test_a_search_keeps_its_results_if_no_private_candidate_is_good_enough():
    grid = [{"aggregator": [DPBorda()], "aggregator__epsilon": [1e-5]}, {"aggregator": [Kemeny()]}]
    search = GridSearchCV(Pipeline([("aggregator", DPBorda())]), grid, refit=smallest_within(0.01), random_state=0)
    with pytest.raises(ValueError, match="Give larger values of the parameter, or a larger tolerance"):
        search.fit(make_mallows(200, 5, 0.7, random_state=0))
    assert search.cv_results_["rank_test_score"].tolist() == [2, 1]
    assert not hasattr(search, "best_estimator_")


def test_unfinished_candidates_are_passed_over():
    results = {**RESULTS, "mean_test_score": np.array([np.nan, -0.31, np.nan, -0.30])}
    assert smallest_within(1.0)(results) == 1


def test_metric_and_parameter():
    results = {
        "params": [{"a__epsilon": 1.0, "b__epsilon": 9.0}, {"a__epsilon": 2.0, "b__epsilon": 3.0}],
        "mean_test_x": np.array([0.0, 0.0]),
        "mean_test_y": np.array([0.0, 1.0]),
    }
    assert smallest_within(0.1, parameter="a__epsilon", metric="x")(results) == 0
    assert smallest_within(0.1, parameter="b__epsilon", metric="x")(results) == 1
    assert smallest_within(0.1, parameter="a__epsilon", metric="y")(results) == 1
    for rule, message in [
        (smallest_within(0.1, metric="x"), "several parameters ['a__epsilon', 'b__epsilon']"),
        (smallest_within(0.1, parameter="a__epsilon"), "several metrics ['x', 'y']"),
        (smallest_within(0.1, metric="z"), "metric must be one of ['x', 'y'], got 'z'"),
        (smallest_within(0.1, parameter="c", metric="x"), "param_grid has no parameter 'c'"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            rule(results)


def test_refit_without_a_scored_trial():
    with pytest.raises(ValueError, match="no candidate was scored"):
        smallest_within(0.1)({**RESULTS, "mean_test_score": np.full(4, np.nan)})


# Searches of scikit-learn


MORE = make_mallows(300, 5, 0.7, random_state=0)
GRID = {"epsilon": [0.001, 1.0, 50.0]}
ESTIMATORS = [DPBorda(), DPKwikSort(), LDPPairwise(), ShufflePairwise(delta=1e-4, min_reports=150)]


def seeded(estimator):
    return clone(estimator).set_params(random_state=0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("scoring", [None, kendall_tau_scorer])
def test_grid_search(estimator, scoring):
    grid = {"epsilon": [0.01, 0.5, 3.0]}
    search = model_selection.GridSearchCV(seeded(estimator), grid, cv=2, scoring=scoring).fit(MORE)
    assert search.best_params_["epsilon"] > 0.01
    train, test = next(iter(model_selection.KFold(2).split(MORE)))
    for epsilon, score in zip(grid["epsilon"], search.cv_results_["split0_test_score"], strict=True):
        assert score == seeded(estimator).set_params(epsilon=epsilon).fit(MORE[train]).score(MORE[test])
    assert search.score(MORE) == search.best_estimator_.score(MORE)


def test_pipelines_over_mechanisms():
    pipeline = Pipeline([("ballots", RatingsToRankings()), ("aggregator", seeded(DPBorda()))])
    grid = {"aggregator": [seeded(DPBorda()), seeded(DPKwikSort())], "aggregator__epsilon": [0.001, 50.0]}
    search = model_selection.GridSearchCV(pipeline, grid, cv=2).fit(-MORE.astype(float))
    assert search.best_params_["aggregator__epsilon"] == 50.0
    assert search.best_estimator_[-1].consensus_.tolist() == Borda().fit(MORE).consensus_.tolist()
    scores = model_selection.cross_val_score(make_pipeline(RatingsToRankings(), Borda()), -MORE.astype(float), cv=2)
    assert scores.tolist() == model_selection.cross_val_score(Borda(), MORE, cv=2).tolist()
