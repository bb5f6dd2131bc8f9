"""From a fitted search to lines of error."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from sklearn_dprank import Aggregator, DPBorda, DPKwikSort, LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions, kendall_tau_scorer, pairwise_error_rate
from sklearn_dprank.model_selection import GridSearchCV
from sklearn_dprank.plotting import PrivacyUtilityDisplay, QueryCountDisplay
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.rules import KemenyRule

NAN = float("nan")
X = make_mallows(60, 4, 0.7, random_state=0)


def test_one_parameter(searched):
    """Splits and trials are errors of one point; the line is called after the estimator."""
    params = [{"epsilon": 1.0}, {"epsilon": 0.1}]
    search = searched(
        params, DPBorda(noise="knorm"), score=[[[-0.1, -0.2], [-0.3, -0.4]], [[-0.5, -0.6], [-0.7, -0.8]]]
    )
    display = PrivacyUtilityDisplay.from_search(search)
    assert list(display.errors) == ["DPBorda(noise=knorm)"]
    assert display.epsilons["DPBorda(noise=knorm)"].tolist() == [0.1, 1.0]
    assert display.errors["DPBorda(noise=knorm)"].tolist() == [[0.5, 0.6, 0.7, 0.8], [0.1, 0.2, 0.3, 0.4]]
    assert (display.floor, display.ceiling) == (None, None)


def test_ballots_give_floor_and_ceiling(searched):
    search = searched([{"epsilon": 1.0}], DPBorda(), score=[[[-0.4]]])
    for ballots in (X, Profile.from_rankings(X)):
        display = PrivacyUtilityDisplay.from_search(search, ballots)
        assert display.floor == average_kendall_tau(kemeny_positions(X), X)
        assert display.ceiling == 0.5
        for floor in (None, 0.1):
            display = PrivacyUtilityDisplay.from_search(search, ballots, floor=floor)
            assert (display.floor, display.ceiling) == (floor, 0.5)
    assert PrivacyUtilityDisplay.from_search(search, floor=0.1).floor == 0.1


def test_a_line_for_each_combination_of_the_others(searched):
    params = [{"epsilon": e, "noise": noise, "random_state": 0} for noise in ("laplace", "knorm") for e in (0.1, 1.0)]
    search = searched(params, DPBorda(), score=[[[-k]] for k in (0.4, 0.3, 0.2, 0.1)])
    display = PrivacyUtilityDisplay.from_search(search)
    found = {name: errors.ravel().tolist() for name, errors in display.errors.items()}
    assert found == {"noise=laplace": [0.4, 0.3], "noise=knorm": [0.2, 0.1]}  # labels leave out what all lines share


def test_lists_of_grids_with_other_estimators_and_names(searched):
    """Estimators are told by what they are, not by which object; each grid has its own parameter and values."""
    params = [
        {"aggregator": DPBorda(), "aggregator__epsilon": 0.1},
        {"aggregator": DPKwikSort(), "aggregator__epsilon": 0.1},
        {"aggregator": DPBorda(), "aggregator__epsilon": 1.0},
        {"aggregator": Aggregator(Central(), rule=KemenyRule(tolerance=0.1)), "aggregator__channel__epsilon": 2.0},
    ]
    search = searched(params, Pipeline([("aggregator", DPBorda())]), score=[[[-0.4]], [[-0.3]], [[-0.2]], [[-0.1]]])
    display = PrivacyUtilityDisplay.from_search(search)
    assert {name: epsilons.tolist() for name, epsilons in display.epsilons.items()} == {
        "DPBorda": [0.1, 1.0],
        "DPKwikSort": [0.1],
        "Aggregator(channel=Central, rule=KemenyRule(tolerance=0.1))": [2.0],
    }
    assert display.errors["DPBorda"].tolist() == [[0.4], [0.2]]


def test_labels_say_what_was_run(searched):
    """Not what a grid has overridden: neither in a part that it sets, nor in the estimator of the search."""
    params = [
        {"a": DPBorda(epsilon=7.0, noise="gaussian", random_state=1), "a__epsilon": 1.0, "a__noise": "knorm"},
        {"a": Aggregator(Central(7.0), rule="kemeny"), "a__channel__epsilon": 2.0},
    ]
    search = searched(params, score=[[[-0.4]], [[-0.3]]])
    names = ["DPBorda, noise=knorm", "Aggregator(channel=Central, rule=kemeny)"]
    assert list(PrivacyUtilityDisplay.from_search(search).errors) == names
    search = searched(params[:1], Pipeline([("ratings", RatingsToRankings()), ("a", DPKwikSort())]), score=[[[-0.4]]])
    assert list(PrivacyUtilityDisplay.from_search(search).errors) == ["RatingsToRankings | DPBorda(noise=knorm)"]
    assert params[0]["a"].epsilon == 7.0  # the grid's own object is left alone
    params = [{"epsilon": 1.0, "noise": "knorm"}, {"epsilon": 1.0}]
    search = searched(params, DPBorda(), score=[[[-0.4]], [[-0.3]]])
    assert list(PrivacyUtilityDisplay.from_search(search).errors) == ["noise=knorm", "DPBorda"]
    search = searched([{"n_queries": 3, "epsilon": 2.0}], LDPPairwise(n_queries=5), score=[[[-0.4]]])
    assert list(QueryCountDisplay.from_search(search).errors) == ["LDPPairwise(epsilon=2)"]


def test_equal_candidates_share_a_point(searched):
    """Grids of a list may overlap; unequal numbers of trials are filled with NaN."""
    params = [{"epsilon": 0.1}, {"epsilon": 1.0}, {"epsilon": 1.0}]
    search = searched(params, DPBorda(), score=[[[-0.5]], [[-0.3]], [[-0.2]]])
    errors = PrivacyUtilityDisplay.from_search(search).errors["DPBorda"]
    np.testing.assert_array_equal(errors, [[0.5, NAN], [0.3, 0.2]])


def test_interrupted_search(plt, searched):
    """Trials that did not finish are left out, and points and lines without any."""
    params = [{"epsilon": e, "noise": noise} for noise in ("laplace", "knorm") for e in (0.1, 1.0, 10.0)]
    scores = [[[-0.4, -0.2]], [[-0.1, NAN]], [[NAN, NAN]], [[NAN, NAN]], [[NAN, NAN]], [[NAN, NAN]]]
    display = PrivacyUtilityDisplay.from_search(searched(params, score=scores)).plot()
    (line,) = display.ax_.get_lines()
    assert line.get_label() == "noise=laplace"
    assert line.get_xdata().tolist() == [0.1, 1.0]
    np.testing.assert_allclose(line.get_ydata(), [0.3, 0.1])
    with pytest.raises(ValueError, match="search has no finished trial to draw"):
        PrivacyUtilityDisplay.from_search(searched(params, score=[[[NAN]]] * 6))


@pytest.mark.slow
def test_several_metrics(plt, searched):
    scorers = {"distance": kendall_tau_scorer, "pairs": lambda estimator, X: -pairwise_error_rate(estimator.ranks_, X)}
    search = searched([{"epsilon": 1.0}], DPBorda(), scorers, distance=[[[-0.4]]], pairs=[[[-0.2]]])
    assert PrivacyUtilityDisplay.from_search(search, X, metric="distance").errors["DPBorda"].tolist() == [[0.4]]
    pairs = PrivacyUtilityDisplay.from_search(search, metric="pairs").plot()
    assert pairs.errors["DPBorda"].tolist() == [[0.2]]
    assert pairs.ax_.get_ylabel() == "minus pairs\n(not private)"
    assert len(pairs.ax_.get_lines()) == 1  # neither floor nor ceiling
    with pytest.raises(ValueError, match=r"metric must be one of \['distance', 'pairs'\], got None"):
        PrivacyUtilityDisplay.from_search(search)
    with pytest.raises(ValueError, match=r"the metric 'pairs' is not known to be that .*; leave X out"):
        PrivacyUtilityDisplay.from_search(search, X, metric="pairs")
    only = searched([{"epsilon": 1.0}], DPBorda(), {"distance": kendall_tau_scorer}, distance=[[[-0.4]]])
    assert PrivacyUtilityDisplay.from_search(only).errors["DPBorda"].tolist() == [[0.4]]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"noise": "knorm"}, "no candidate of the search has a parameter 'epsilon' or a name that ends in '__epsilon'"),
        ({"myepsilon": 1.0}, "no candidate of the search has a parameter 'epsilon'"),
        (
            {"epsilon": 1.0, "a__epsilon": 1.0},
            r"several parameters \['epsilon', 'a__epsilon'\] could be 'epsilon'; choose one by epsilon=",
        ),
        ({"epsilon": None}, "epsilon must be a positive number to be drawn, got None"),
        ({"epsilon": 0.0}, "epsilon must be a positive number to be drawn, got 0.0"),
    ],
)
def test_no_epsilon(searched, params, message):
    with pytest.raises(ValueError, match=message):
        PrivacyUtilityDisplay.from_search(searched([params], DPBorda(), score=[[[-0.4]]]))


def test_epsilon_by_name(searched):
    params = [{"a__epsilon": 1.0, "b__epsilon": 2.0}, {"a__epsilon": 1.0, "b__epsilon": 4.0}, {"c": 3.0}]
    search = searched(params[:2], score=[[[-0.4]], [[-0.3]]])
    (epsilons,) = PrivacyUtilityDisplay.from_search(search, epsilon="b__epsilon").epsilons.values()
    assert epsilons.tolist() == [2.0, 4.0]
    search = searched(params, score=[[[-0.4]], [[-0.3]], [[-0.2]]])
    display = PrivacyUtilityDisplay.from_search(search, epsilon=["b__epsilon", "c"])
    assert [epsilons.tolist() for epsilons in display.epsilons.values()] == [[2.0, 4.0], [3.0]]
    with pytest.raises(ValueError, match="no candidate of the search has a parameter 'd__epsilon'"):
        PrivacyUtilityDisplay.from_search(search, epsilon="d__epsilon")


def test_not_a_search(searched):
    foreign = searched([{"epsilon": 1.0}], score=[[[-0.4]]])
    del foreign.cv_results_["trial_test_score"]
    with pytest.raises(ValueError, match=r"use sklearn_dprank.model_selection.GridSearchCV"):
        PrivacyUtilityDisplay.from_search(foreign)


@pytest.mark.parametrize(
    ("step", "label"),
    [(RatingsToRankings(), "epsilon of one release"), (SimpleImputer(), "epsilon of the last step (a")],
)
def test_the_axis_promises_no_more_than_a_pipeline(plt, step, label):
    pipeline = Pipeline([("ballots", RatingsToRankings()), ("aggregator", DPBorda())])
    grid = {"ballots": ["passthrough", step], "aggregator__epsilon": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, n_trials=2, refit=False, random_state=0).fit(X)
    assert PrivacyUtilityDisplay.from_search(search).plot().ax_.get_xlabel().startswith(label)
