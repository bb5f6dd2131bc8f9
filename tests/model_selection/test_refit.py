"""`smallest_within` selects the smallest epsilon within a tolerance and never a candidate without privacy."""

import math
import re

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from sklearn_dprank import DPBorda, Kemeny
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import GridSearchCV, smallest_within

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
    with pytest.raises(ValueError, match="give larger values of it, or a larger tolerance"):
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


@pytest.mark.parametrize("tolerance", [-0.1, np.nan])
def test_bad_tolerance(tolerance):
    with pytest.raises(ValueError, match="tolerance must be a number of at least 0"):
        smallest_within(tolerance)(RESULTS)


def test_refit_without_a_scored_trial():
    with pytest.raises(ValueError, match="no candidate was scored"):
        smallest_within(0.1)({**RESULTS, "mean_test_score": np.full(4, np.nan)})
