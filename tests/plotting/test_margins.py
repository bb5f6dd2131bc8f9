"""`PairwiseMarginDisplay`: exact margins in the given order, readable numbers and marked if not private."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Borda, DPBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import kemeny_positions, pairwise_error_rate
from sklearn_dprank.plotting import PairwiseMarginDisplay, _errors as _optimum

NAMES = ["tea", "coffee", "water", "juice", "milk"]
X = make_mallows(40, 5, 0.8, random_state=1)
PROFILE = Profile.from_rankings(X, items=NAMES)


def drawn(display):
    """Return the picture's array, blanks as NaN."""
    (image,) = display.ax_.images
    return image.get_array().filled(np.nan)


def naive(ballots, order):
    """Count shares pair by pair."""
    ballots = np.asarray(ballots, dtype=float)
    return [[np.mean(ballots[:, i] < ballots[:, j]) - np.mean(ballots[:, j] < ballots[:, i]) for j in order]
            for i in order]  # fmt: skip


def frames(display):
    return sorted((round(p.get_y() + 0.45), round(p.get_x() + 0.45)) for p in display.ax_.patches)


@pytest.mark.parametrize("ballots", [X, PROFILE, np.where(X == 2, np.nan, X), np.minimum(X, 2)])
def test_picture_is_the_margins_in_the_order_of_the_optimum(plt, ballots):
    """Also of ballots with ties and missing opinions: the share is that of all voters."""
    display = PairwiseMarginDisplay.from_profile(ballots).plot()
    order = np.argsort(kemeny_positions(ballots))
    wanted = np.array(naive(X if ballots is PROFILE else ballots, order))
    np.fill_diagonal(wanted, np.nan)
    np.testing.assert_allclose(drawn(display), wanted)
    assert display.order.tolist() == order.tolist()
    (image,) = display.ax_.images
    assert image.norm.vmax == -image.norm.vmin == pytest.approx(np.nanmax(np.abs(wanted)))
    names = np.array(NAMES if ballots is PROFILE else ["0", "1", "2", "3", "4"])
    for labels in (display.ax_.get_xticklabels(), display.ax_.get_yticklabels()):
        assert [text.get_text() for text in labels] == names[order].tolist()
    title = display.ax_.get_title().split("\n")
    assert title[:2] == ["Pairwise margins (not private)", "ordered by the Kemeny optimum"]


def test_an_order_without_a_proof_is_not_called_optimal(plt, monkeypatch):
    monkeypatch.setattr(_optimum, "minimum_order", partial(_optimum.minimum_order, max_dp=2, work_limit=0))
    with pytest.warns(ConvergenceWarning):
        display = PairwiseMarginDisplay.from_profile([np.roll(range(5), k) for k in range(5)])
    assert display.plot().ax_.get_title().split("\n")[1] == "ordered by the best order found"


def test_numbers(plt, contrast):
    """Every cell off the diagonal has its margin, light on dark and dark on light."""
    display = PairwiseMarginDisplay.from_profile(PROFILE).plot()
    values = drawn(display)
    texts = {(round(text.get_position()[1]), round(text.get_position()[0])): text for text in display.ax_.texts}
    assert len(texts) == 20
    (image,) = display.ax_.images
    for place, text in texts.items():
        assert text.get_text() == f"{values[place]:+.2f}".replace("-", "−")
        behind = image.cmap(image.norm(values[place]))[:3]
        assert contrast(text.get_color(), behind) > 3.5
    many = PairwiseMarginDisplay.from_profile(make_mallows(10, 13, 0.9, random_state=0)).plot()
    assert not many.ax_.texts


def test_frames_are_the_pairs_that_a_majority_would_swap(plt):
    positions = [4, 0, 1, 2, 3]
    display = PairwiseMarginDisplay.from_profile(X, positions).plot()
    order = np.argsort(positions)
    margins = np.array(naive(X, order))
    wanted = [(i, j) for i in range(5) for j in range(i + 1, 5) if margins[i, j] < 0]
    assert wanted and frames(display) == wanted
    assert len(display.opposed) == round(pairwise_error_rate(positions, X) * 10)
    assert "framed: a majority would swap the two" in display.ax_.get_title()
    assert "ordered by" not in display.ax_.get_title()
    unanimous = PairwiseMarginDisplay.from_profile([[0, 1, 2]] * 3).plot()
    assert not frames(unanimous) and "framed" not in unanimous.ax_.get_title()


def test_from_estimator(plt):
    """A private estimator orders, but what is drawn is counted on the ballots."""
    fitted = DPBorda(epsilon=0.01, noise="knorm", random_state=3).fit(PROFILE)
    for ballots in (X, PROFILE):
        display = PairwiseMarginDisplay.from_estimator(fitted, ballots).plot()
        order = np.argsort(fitted.ranks_)
        np.testing.assert_allclose(np.nan_to_num(drawn(display)), naive(X, order))
        assert [text.get_text() for text in display.ax_.get_yticklabels()] == fitted.consensus_.tolist()
        title = display.ax_.get_title().split("\n")
        assert title[:2] == ["Pairwise margins (not private)", "ordered by DPBorda(epsilon=0.01, noise=knorm)"]
    numbered = Profile.from_rankings(X, items=range(10, 10 + len(NAMES)))
    display = PairwiseMarginDisplay.from_estimator(Borda().fit(numbered), X)
    assert display.item_names == [str(10 + k) for k in range(len(NAMES))]
    display = PairwiseMarginDisplay.from_estimator(Borda().fit(X), PROFILE)
    assert display.item_names == NAMES


def test_from_estimator_refuses():
    with pytest.raises(ValueError, match="estimator is a Pipeline; give its last step, and X as positions"):
        PairwiseMarginDisplay.from_estimator(make_pipeline(Borda()).fit(X), X)
    with pytest.raises(ValueError, match="X has 5 items, but the estimator has ranked 4"):
        PairwiseMarginDisplay.from_estimator(Borda().fit(X[:, :4]), X)
    with pytest.raises(ValueError, match="X must have the item names of the estimator's fit, in the same order"):
        PairwiseMarginDisplay.from_estimator(Borda().fit(PROFILE), Profile.from_rankings(X[:, ::-1], items=NAMES[::-1]))


def test_released_margins_lose_the_mark(plt):
    """Unknown margins stay blank, larger than 1 is fine, and a margin of 0 everywhere too."""
    nan = float("nan")
    margins = np.array([[0, 1.5, nan], [-1.5, 0, -0.5], [nan, 0.5, 0]])
    display = PairwiseMarginDisplay(margins, [0, 1, 2], private=True).plot()
    assert display.ax_.get_title().split("\n")[0] == "Pairwise margins"
    np.testing.assert_array_equal(drawn(display), [[nan, 1.5, nan], [-1.5, nan, -0.5], [nan, 0.5, nan]])
    assert margins[0, 0] == 0  # the caller's array is left alone
    assert len(display.ax_.texts) == 4 and display.ax_.images[0].norm.vmax == 1.5
    level = PairwiseMarginDisplay(np.zeros((2, 2))).plot()
    assert (level.ax_.images[0].norm.vmin, level.ax_.images[0].norm.vmax) == (-1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1, 2]],), r"margins must have shape \(n_items, n_items\) with at least 2 items, got \(1, 3\)"),
        (([[0, 3], [1, 0]],), r"give Profile.margins / n_voters, not pairwise_counts"),
        (([[0, np.inf], [-np.inf, 0]],), r"margins\[j, i\] must be -margins\[i, j\]"),
        (([[0, 1], [-1, 0]], [0, 1, 2]), "positions must hold one finite position for each of the 2 items"),
        (([[0, 1], [-1, 0]], ["a", "b"]), r"positions must hold numbers \(ranks_, not consensus_\)"),
        (([[0, 1], [-1, 0]], None, ["a"]), "items has 1 names for 2 items"),
    ],
)
def test_constructor_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairwiseMarginDisplay(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [2, 10, 45])
@pytest.mark.parametrize("long", [False, True])
def test_everything_fits(plt, inside, apart, n_items, long):
    names = [f"a candidate with quite a long name, number {k % 30}, of list {k}" if long else str(k)
             for k in range(n_items)]  # fmt: skip
    display = PairwiseMarginDisplay.from_profile(make_mallows(30, n_items, 0.95, random_state=0), items=names)
    display.plot()
    assert inside(display.figure_)
    assert apart(display.ax_.get_xticklabels()) and apart(display.ax_.get_yticklabels())
    assert apart(display.ax_.texts)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert len(set(labels)) == n_items and max(map(len, labels)) <= 24
