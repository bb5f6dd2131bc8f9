"""Legends stand below the axes, where they do not cover data."""

import numpy as np
import pytest

from sklearn_dprank.plotting import PrivacyUtilityDisplay

FALLING = {"a": [[0.3, 0.4]] * 4 + [[0.11, 0.12], [0.101, 0.102]]}  # room at the lower left
EPSILONS = np.geomspace(0.01, 1, 6)


def boxes(ax):
    ax.figure.canvas.draw()
    return ax.get_legend().get_window_extent(), ax.get_window_extent()


@pytest.mark.slow
@pytest.mark.parametrize("n_lines", [3, 9])
def test_legends_are_below_the_axes(plt, inside, apart, n_lines):
    rng = np.random.default_rng(0)
    errors = {f"mechanism {k}": 0.1 + 0.4 * rng.random((6, 5)) for k in range(n_lines)}
    display = PrivacyUtilityDisplay(EPSILONS, errors, 0.1).plot(band=(0, 1))
    legend, frame = boxes(display.ax_)
    assert legend.y1 < frame.y0 and inside(display.figure_)
    assert apart([*display.ax_.get_legend().get_texts(), display.ax_.xaxis.label, display.ax_.get_legend().get_title()])
    assert frame.height > 240  # pixels: the figure is higher, the axes are not smaller


@pytest.mark.slow
def test_given_axes(plt, inside):
    """Below where the figure makes room; on the axes where it would be cut."""
    rng = np.random.default_rng(0)
    display = PrivacyUtilityDisplay(EPSILONS, {name: 0.1 + 0.4 * rng.random((6, 5)) for name in "abc"}, 0.1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 5), layout="constrained")
    for ax in (left, right):
        display.plot(ax)
    assert inside(figure)
    (first, frame), (second, _) = boxes(left), boxes(right)
    assert first.y1 <= frame.y0 and first.x1 <= second.x0
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    legend, frame = boxes(display.plot(left).ax_)
    assert frame.contains(*legend.p0)


@pytest.mark.slow
def test_part_of_a_figure(plt):
    part, _ = plt.figure(layout="constrained").subfigures(1, 2)
    display = PrivacyUtilityDisplay(EPSILONS, FALLING, 0.1).plot(part.subplots())
    assert display.figure_ is part and len(boxes(display.ax_)) == 2
