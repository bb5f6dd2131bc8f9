"""Lines that lie on one another are told apart, and their data stay what they are."""

import numpy as np
import pytest

from sklearn_dprank.plotting import PrivacyUtilityDisplay, QueryCountDisplay

SAME = {"a": [[0.3], [0.1], [0.1]], "b": [[0.4], [0.1], [0.1]], "c": [[0.2], [0.2], [0.1]]}


def markers(ax):
    """Return {colour of the line: x of its markers, in points to the right of their values}."""
    ax.figure.canvas.draw()
    found = {}
    for line in ax.get_lines():
        if line.get_label() in {"_ring", "random ranking", "given floor (not private)"}:
            continue
        shown = line.get_markevery() or [True] * len(line.get_xdata())
        points = line.get_transform().transform(line.get_xydata()) - ax.transData.transform(line.get_xydata())
        moved = {float(x): dx for x, (dx, _), there in zip(line.get_xdata(), points, shown, strict=True) if there}
        found.setdefault(line.get_color(), {}).update({x: 72 * dx / ax.figure.dpi for x, dx in moved.items()})
    return found


@pytest.mark.slow
def test_markers_of_equal_points_stand_side_by_side(plt):
    display = PrivacyUtilityDisplay([0.1, 1.0, 10.0], SAME, 0.1, None).plot()
    lines = display.ax_.get_lines()[:3]
    moved = list(markers(display.ax_).values())[:3]
    assert [each[0.1] for each in moved] == pytest.approx([0, 0, 0])  # three places
    assert [each[1.0] for each in moved] == pytest.approx([-2.75, 2.75, 0])
    assert [each[10.0] for each in moved] == pytest.approx([-5.5, 0, 5.5])
    for line, errors in zip(lines, SAME.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.ravel(errors) - 0.1)
    assert "markers side by side: almost the same point" in display.ax_.get_legend().get_title().get_text()


def test_each_marker_is_drawn_once(plt):
    display = PrivacyUtilityDisplay([0.1, 1.0, 10.0], SAME, 0.1, None).plot()
    for colour in {line.get_color() for line in display.ax_.get_lines()[:3]}:
        there = [line.get_xdata()[line.get_markevery() or [True] * len(line.get_xdata())]
                 for line in display.ax_.get_lines() if line.get_color() == colour]  # fmt: skip
        assert sorted(np.concatenate(there)) == [0.1, 1.0, 10.0]


@pytest.mark.slow
def test_one_value(plt):
    moved = markers(PrivacyUtilityDisplay([1.0], {"a": [[0.1]], "b": [[0.1]]}, 0.1).plot().ax_)
    assert [each[1.0] for each in moved.values()] == pytest.approx([-2.75, 2.75])


@pytest.mark.slow
def test_lines_apart_stay_where_they_are(plt):
    errors = {"a": [[0.3], [0.2]], "b": [[0.4], [0.3]]}
    for display in (PrivacyUtilityDisplay([0.1, 1.0], errors, 0.1), QueryCountDisplay([1, 2], errors, 0.1)):
        ax = display.plot(band=None).ax_
        assert all(dx == pytest.approx(0) for each in markers(ax).values() for dx in each.values())
        assert ax.get_legend().get_title().get_text() == "lines: means of the fits"


@pytest.mark.slow
def test_many_equal_points_do_not_reach_their_neighbours(plt):
    epsilons = np.geomspace(0.01, 1, 12)
    ax = PrivacyUtilityDisplay(epsilons, {str(k): np.full((12, 1), 0.1) for k in range(7)}, 0.1).plot().ax_
    shifts = [dx for each in markers(ax).values() for dx in each.values()]
    apart = 72 / ax.figure.dpi * np.diff(ax.transData.transform([(x, 1) for x in epsilons])[:, 0]).min()
    assert max(shifts) - min(shifts) < apart


def test_what_lies_below_shows_in_gaps(plt):
    """Every line but the lowest has gaps, so that none hides another."""
    ax = PrivacyUtilityDisplay([0.1, 1.0], {str(k): [[0.2], [0.1]] for k in range(7)}, 0.1).plot().ax_
    first, *others = ax.get_lines()[:7]
    assert not first.is_dashed() and all(line.is_dashed() for line in others)
    assert [line.get_zorder() for line in others] == [first.get_zorder()] * 6  # in the order in which they were drawn
