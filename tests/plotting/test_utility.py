"""`PrivacyUtilityDisplay`: errors, bands, floor and excess of the trials, and legible axes and legends."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from sklearn_dprank import Borda, DPBorda, DPPairwise
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.model_selection.parameters import child_seeds
from sklearn_dprank.plotting import PrivacyUtilityDisplay

EPSILONS = [0.01, 0.1, 1.0]
MECHANISMS = {"P-BORDA": DPBorda(), "noisy pairs": DPPairwise()}
X = make_mallows(60, 4, 0.7, random_state=0)


@pytest.fixture(scope="module")
def display():
    return PrivacyUtilityDisplay.from_estimators(MECHANISMS, X, epsilons=EPSILONS, n_trials=4, random_state=0)


def test_values(display):
    assert set(display.errors) == set(MECHANISMS)
    seeds = child_seeds(0, (len(MECHANISMS), len(EPSILONS))).tolist()  # every point has noise of its own
    for (name, estimator), own in zip(MECHANISMS.items(), seeds, strict=True):
        for row, epsilon, seed in zip(display.errors[name], EPSILONS, own, strict=True):
            trials = cross_validate(clone(estimator).set_params(epsilon=epsilon), X, n_trials=4, random_state=seed)
            np.testing.assert_array_equal(row, -trials["test_score"])
    assert display.floor == average_kendall_tau(kemeny_positions(X), X)
    assert display.ceiling == 0.5
    assert all((errors >= display.floor).all() for errors in display.errors.values())


def test_ceiling_of_ballots_with_ties():
    """A random order overrules half of the opinions there are: one of three pairs is a tie here."""
    ballots = [[0, 1, 1]] * 5
    display = PrivacyUtilityDisplay.from_estimators({"P-BORDA": DPBorda()}, ballots, epsilons=[1.0], n_trials=1)
    assert display.ceiling == pytest.approx(1 / 3)
    assert display.floor == 0


def edges(band):
    """Return (lower, upper) edge of a band, each by the values of the parameter."""
    corners = {}
    for x, y in band.get_paths()[0].vertices:
        corners.setdefault(float(x), []).append(y)
    return tuple([extreme(corners[x]) for x in sorted(corners)] for extreme in (min, max))


@pytest.mark.parametrize("excess", [True, False])
@pytest.mark.parametrize(("band", "quantiles"), [("auto", (0.1, 0.9)), ((0.25, 0.5), (0.25, 0.5)), ((0, 1), (0, 1))])
def test_bands_are_the_quantiles_that_the_legend_names(plt, display, excess, band, quantiles):
    ax = display.plot(excess=excess, band=band).ax_
    for drawn, name in zip(ax.collections, MECHANISMS, strict=True):
        expected = np.quantile(display.errors[name] - (display.floor if excess else 0), quantiles, axis=1)
        np.testing.assert_allclose(edges(drawn), expected, atol=1e-12)
        assert min(edges(drawn)[0]) >= 0
    shown = ax.get_legend().get_title().get_text().splitlines()[0]
    ends = {(0.1, 0.9): "10 % to 90 % of the fits", (0.25, 0.5): "25 % to 50 % of the fits"}
    assert shown == f"lines: means; bands: {ends.get(quantiles, 'from the best fit to the worst')}"


@pytest.mark.parametrize(
    "band", [(0.9, 0.1), (0.5, 0.5), (-0.1, 1), (0, 1.1), (0.1,), 0.8, "all", (True, "1"), (None, 1)]
)
def test_bands_are_two_quantiles(plt, display, band):
    with pytest.raises(ValueError, match=r"band must be two quantiles, such as \(0.1, 0.9\), 'auto' or None, got"):
        display.plot(band=band)
    assert not plt.get_fignums()


def test_excess_is_drawn_by_default(plt, display):
    ax = display.plot().ax_
    lines = {line.get_label(): line for line in ax.get_lines()}
    for name in MECHANISMS:
        np.testing.assert_allclose(lines[name].get_ydata(), (display.errors[name] - display.floor).mean(axis=1))
    assert set(lines["Kemeny optimum (not private)"].get_ydata()) == {0.0}
    assert set(lines["random ranking"].get_ydata()) == {0.5 - display.floor}
    assert ax.get_ylabel() == "excess over the Kemeny optimum\n(% of pairs, not private)"
    assert "log" in ax.get_yscale() and ax.get_xscale() == "log"
    assert "10 %" in [text.get_text() for text in ax.get_yticklabels()]
    with pytest.raises(ValueError, match="excess=True needs the floor; give the ballots as X"):
        PrivacyUtilityDisplay([1.0], {"a": [[0.1]]}).plot(excess=True)
    assert len(plt.get_fignums()) == 1  # the refusal made no figure


@pytest.mark.parametrize("floor", [None, 0.2])
def test_where_errors_are_drawn_themselves(plt, floor):
    """Without a floor, and where an error is below the floor, as on test voters: an excess has no place then."""
    line = PrivacyUtilityDisplay([0.1, 1.0], {"a": [[0.4, 0.2], [0.1, 0.3]]}, floor).plot().ax_.get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), [0.3, 0.2])
    least = PrivacyUtilityDisplay([0.1, 1.0], {"a": [[0.4, 0.2], [0.2 - 1e-15, np.nan]]}, 0.2).plot()
    np.testing.assert_array_equal(least.ax_.get_lines()[0].get_ydata(), [pytest.approx(0.1), 0.0])


def test_excess_of_an_optimum_is_exactly_0(plt):
    """Also where the mean of equal floats is not that float."""
    floor = 0.1
    errors = {"a": [[floor] * 3] * 2}
    assert np.mean(errors["a"][0]) != floor
    line = PrivacyUtilityDisplay([0.1, 1.0], errors, floor=floor).plot(excess=True).ax_.get_lines()[0]
    assert line.get_ydata().tolist() == [0.0, 0.0]


class OfUser(BaseEstimator):
    """Estimator of a user with an epsilon of its own, and a `score` that is not a distance."""

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def fit(self, X, y=None):
        order = np.argsort(X.mean(axis=0))
        self.consensus_ = order if self.epsilon > 0.5 else order[::-1]
        return self

    def score(self, X, y=None):
        return 17.0


def by_mean(ballots):
    return np.argsort(ballots.mean(axis=0))


def by_mean_or_reversed(ballots, epsilon):
    return by_mean(ballots) if epsilon > 0.5 else by_mean(ballots)[::-1]


def test_functions_and_estimators_of_users_are_lines(plt):
    """A line is level without the parameter. Errors of a user's estimator are distances, also if it has a score."""
    best = -Borda().fit(X).score(X)
    mechanisms = {
        "private": DPBorda(),
        "Borda": Borda(),
        "level": by_mean,
        "own": OfUser(),
        "function": by_mean_or_reversed,
    }
    display = PrivacyUtilityDisplay.from_estimators(mechanisms, X, epsilons=[0.1, 1.0], n_trials=2, random_state=0)
    for name in ("Borda", "level"):
        assert np.isnan(display.epsilons[name]).tolist() == [True]
        assert display.errors[name].tolist() == [[best, best]]
    for name in ("own", "function"):
        assert list(display.epsilons[name]) == [0.1, 1.0]
        assert display.errors[name] == pytest.approx(np.array([[1 - best] * 2, [best] * 2]))
    alone = PrivacyUtilityDisplay.from_estimators(
        {"private": DPBorda()}, X, epsilons=[0.1, 1.0], n_trials=2, random_state=0
    )
    assert list(alone.epsilons) == [0.1, 1.0]
    np.testing.assert_array_equal(alone.errors["private"], display.errors["private"])
    drawn = {line.get_label(): line for line in display.plot().ax_.get_lines()}
    assert drawn["level"].get_xdata().tolist() == [0.1, 1.0]


def test_a_mechanism_must_depend_on_epsilon():
    with pytest.raises(ValueError, match="no mechanism depends on epsilon, so there is no line to draw"):
        PrivacyUtilityDisplay.from_estimators({"Borda": Borda()}, X, epsilons=[1.0], n_trials=1)


@pytest.mark.parametrize("wrong", [DPBorda, [DPBorda()], "DPBorda"], ids=["class", "list", "name"])
def test_other_objects_are_refused_as_mechanisms(wrong):
    with pytest.raises(ValueError, match=r"estimators\['wrong'\] must be an aggregator, another estimator that sets"):
        PrivacyUtilityDisplay.from_estimators({"wrong": wrong}, X, epsilons=[1.0])


@pytest.mark.parametrize(
    ("epsilons", "errors", "message"),
    [
        ([0.1, 1.0], {"a": [[0.2]]}, r"errors\['a'\] must have shape \(2, n_trials\), one row a value of epsilon"),
        ({"a": [0.1]}, {"b": [[0.2]]}, "must have the same names"),
        ([0.0], {"a": [[0.2]]}, "epsilon must be a list of positive numbers"),
        ([0.1], {}, "errors is empty; give at least one mechanism"),
        ([0.1], {"a": [[float("nan")]]}, "errors has no finished trial"),
    ],
)
def test_constructor_refuses(epsilons, errors, message):
    with pytest.raises(ValueError, match=message):
        PrivacyUtilityDisplay(epsilons, errors)


@pytest.mark.parametrize("epsilons", [[], [None, 1.0], [0.0, 1.0], [1.0, np.inf], ["1.0"], [True]], ids=str)
def test_every_epsilon_has_a_place_on_the_axis(epsilons, monkeypatch):
    """Refused before any fit."""
    monkeypatch.setattr(RankAggregator, "publish", lambda *args: pytest.fail("something was fitted"))
    with pytest.raises(ValueError, match="epsilons must be a list of positive numbers, each a place on the axis, got"):
        PrivacyUtilityDisplay.from_estimators({"a": DPBorda()}, X, epsilons=epsilons, n_trials=1)


def test_a_floor_is_taken_or_left_out(monkeypatch):
    """A number or None spares the search for the optimum, which may take ten seconds."""

    def never(profile):
        raise AssertionError("the optimum was sought")

    monkeypatch.setattr("sklearn_dprank.plotting._errors.best_known", never)
    make = partial(PrivacyUtilityDisplay.from_estimators, {"a": DPBorda()}, X, epsilons=[1.0], n_trials=1)
    assert make(floor=None).floor is None
    assert make(floor=0.25).floor == 0.25
    with pytest.raises(AssertionError, match="sought"):
        make()
    for floor in ("optimal", np.nan, [0.1]):
        with pytest.raises(ValueError, match="floor must be 'kemeny', a number or None, got"):
            make(floor=floor)
