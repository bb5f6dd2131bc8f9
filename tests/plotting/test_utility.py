import builtins

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_dprank import DPBorda, DPPairwise
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.plotting import PrivacyUtilityDisplay
from sklearn_dprank.profile import Profile

EPSILONS = [0.01, 0.1, 1.0]
MECHANISMS = {"P-BORDA": DPBorda(), "noisy pairs": DPPairwise()}
X = make_mallows(60, 4, 0.7, random_state=0)


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def display():
    return PrivacyUtilityDisplay.from_estimators(MECHANISMS, X, epsilons=EPSILONS, n_trials=4, random_state=0)


def test_values(display):
    assert set(display.errors) == set(MECHANISMS)
    for name, estimator in MECHANISMS.items():
        for row, epsilon in zip(display.errors[name], EPSILONS, strict=True):
            trials = cross_validate(clone(estimator).set_params(epsilon=epsilon), X, n_trials=4, random_state=0)
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


def test_profiles_and_workers(display):
    again = PrivacyUtilityDisplay.from_estimators(
        MECHANISMS, Profile.from_rankings(X), epsilons=EPSILONS, n_trials=4, random_state=0, n_jobs=2
    )
    for name in MECHANISMS:
        np.testing.assert_array_equal(again.errors[name], display.errors[name])


def test_estimators_are_left_alone():
    borda = DPBorda(epsilon=7.0)
    PrivacyUtilityDisplay.from_estimators({"P-BORDA": borda}, X, epsilons=[0.1], n_trials=1)
    assert borda.epsilon == 7.0
    assert not hasattr(borda, "ranks_")


def test_plot(plt, display):
    assert display.plot() is display
    assert display.ax_.figure is display.figure_
    lines = {line.get_label(): line for line in display.ax_.get_lines()}
    assert list(lines) == [*MECHANISMS, "Kemeny optimum (not private)", "random ranking"]
    for name in MECHANISMS:
        np.testing.assert_array_equal(lines[name].get_xdata(), EPSILONS)
        np.testing.assert_allclose(lines[name].get_ydata(), display.errors[name].mean(axis=1))
    assert set(lines["Kemeny optimum (not private)"].get_ydata()) == {display.floor}
    assert set(lines["random ranking"].get_ydata()) == {0.5}
    # Told apart without colours too.
    assert len({(lines[name].get_marker(), lines[name].get_linestyle()) for name in MECHANISMS}) == len(MECHANISMS)
    for band, name in zip(display.ax_.collections, MECHANISMS, strict=True):
        y = band.get_paths()[0].vertices[:, 1]
        assert (y.min(), y.max()) == (display.errors[name].min(), display.errors[name].max())
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "epsilon of one release"
    assert display.ax_.get_ylabel() == "average Kendall tau distance (not private)"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == list(lines)
    display.figure_.canvas.draw()


def test_plot_on_given_axes(plt, display, tmp_path):
    figure, (left, right) = plt.subplots(1, 2)
    display.plot(ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.get_lines()
    assert len(plt.get_fignums()) == 1  # no other figure was made
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_many_mechanisms_stay_apart(plt):
    errors = {f"mechanism {k}": np.full((2, 3), k / 30) for k in range(14)}
    display = PrivacyUtilityDisplay([0.1, 1.0], errors, floor=0.0).plot()
    lines = display.ax_.get_lines()[:14]
    styles = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(styles) == 14


def test_without_matplotlib(monkeypatch, display):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r'plotting needs matplotlib: pip install "sklearn-dprank\[plot\]"'):
        display.plot()
