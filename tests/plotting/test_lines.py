"""Lines that lie on one another are told apart, and their data stay what they are."""

import numpy as np

from sklearn_dprank.plotting import PrivacyUtilityDisplay

SAME = {"a": [[0.3], [0.1], [0.1]], "b": [[0.4], [0.1], [0.1]], "c": [[0.2], [0.2], [0.1]]}


def test_earlier_lines_have_larger_markers(plt):
    """Markers at the same point are all visible, each around the next."""
    display = PrivacyUtilityDisplay([0.1, 1.0, 10.0], SAME, 0.1, None).plot()
    lines = display.ax_.get_lines()[:3]
    sizes = [line.get_markersize() for line in lines]
    assert sizes == sorted(set(sizes), reverse=True)
    for line, errors in zip(lines, SAME.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.ravel(errors) - 0.1)


def test_what_lies_below_shows_in_gaps(plt):
    """Every line but the lowest has gaps, so that none hides another."""
    ax = PrivacyUtilityDisplay([0.1, 1.0], {str(k): [[0.2], [0.1]] for k in range(7)}, 0.1).plot().ax_
    first, *others = ax.get_lines()[:7]
    assert not first.is_dashed() and all(line.is_dashed() for line in others)
    assert [line.get_zorder() for line in others] == [first.get_zorder()] * 6  # in the order in which they were drawn
