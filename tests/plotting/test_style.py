"""All displays: needed packages, given axes, and texts and lines that are visible on light and dark backgrounds."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from process_tools import python

from sklearn_dprank.plotting import (
    ConsensusDisplay,
    PairwiseMarginDisplay,
    PrivacyUtilityDisplay,
    QueryCountDisplay,
    RankIntervalDisplay,
    SegmentsDisplay,
)
from sklearn_dprank.plotting._style import shortened

DOLLARS = ["$5 off", "a_$b", "\\frac", "$\\frac$", "$x_$y$"]
ERRORS = {name: [[0.1 + k / 20, 0.2], [0.1, 0.15 + k / 30]] for k, name in enumerate(DOLLARS)}


def drawings():
    """Return one of each display, with dollar signs in all texts that a caller gives."""
    n = len(DOLLARS)
    margins = np.subtract.outer(np.arange(n), np.arange(n)) / n
    ranges = [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]]
    texts = {"name": DOLLARS[3], "mark": DOLLARS[3]}
    two = tuple(DOLLARS[3:5])
    return [
        ConsensusDisplay(range(n), [1, 0, 2, 4, 3], DOLLARS, names=two, marks=two),
        PairwiseMarginDisplay(margins, range(n), DOLLARS, ordered_by=DOLLARS[3]),
        PrivacyUtilityDisplay([0.1, 1.0], ERRORS, 0.1, floor_name=DOLLARS[3]),
        QueryCountDisplay([1, 2], ERRORS, 0.1, measure=DOLLARS[3]),
        RankIntervalDisplay(ranges, range(n), DOLLARS, says=DOLLARS[3], **texts),
        SegmentsDisplay([range(n)] * 2, [ranges] * 2, two, DOLLARS, own_weights=[0.3, 0.7], **texts),
    ]


every_display = pytest.mark.parametrize("display", drawings(), ids=lambda display: type(display).__name__)


@every_display
def test_dollar_signs_are_not_formulas(plt, display):
    texts = display.plot().figure_.findobj(plt.Text)
    display.figure_.canvas.draw()
    shown = [text for text in texts if "$" in text.get_text()]
    assert len(shown) >= 4
    assert not any(text.get_parse_math() for text in shown)
    if isinstance(display, PrivacyUtilityDisplay | QueryCountDisplay):
        display.plot(excess=False).figure_.canvas.draw()


@pytest.mark.parametrize("style", ["default", "dark_background"])
@every_display
def test_everything_is_visible_in_light_and_dark_styles(plt, contrast, display, style):
    """Contrast of lines, edges of markers and texts with the background, as in WCAG 2; 1 is invisible."""
    with plt.style.context(style):
        ax = display.plot().ax_
        display.figure_.canvas.draw()
    behind = ax.get_facecolor()
    lines = [line for line in ax.get_lines() if line.get_linestyle() != "None"]
    assert all(contrast(line.get_color(), behind) > 1.9 for line in lines)
    dots = [line for line in ax.get_lines() if line.get_marker() not in ("None", "", None)]
    assert all(contrast(line.get_markeredgecolor(), behind) > 1.9 for line in dots)
    cells = set(ax.texts)  # numbers in coloured cells
    for text in set(display.figure_.findobj(plt.Text)) - cells:
        if text.get_text().strip() and text.get_visible():
            outside = text.axes is None or text not in ax.findobj(plt.Text) or behind[3] == 0
            ground = display.figure_.get_facecolor() if outside else behind
            assert contrast(text.get_color(), ground) > 1.9, text
    grid = [line for line in ax.get_xgridlines() if line.get_visible()]
    assert all(contrast(line.get_color(), behind) < 1.7 for line in grid)


@every_display
def test_without_matplotlib(display, without):
    without("matplotlib")
    with pytest.raises(ImportError, match='plotting needs matplotlib: install the extra "plot"'):
        display.plot()


@every_display
def test_displays_draw_on_given_axes(plt, display):
    figure, (left, right) = plt.subplots(1, 2)
    assert display.plot(ax=right) is display
    assert (display.ax_, display.figure_) == (right, figure)
    assert not left.has_data() and plt.get_fignums() == [figure.number]


@pytest.mark.slow
def test_matplotlib_is_not_imported_before_it_is_needed():
    code = "import sys, sklearn_dprank.plotting; print('matplotlib' in sys.modules)"
    assert python(code).strip() == "False"


@given(st.text(max_size=80), st.integers(8, 40))
def test_shortened(text, length):
    short = shortened(text, length)
    assert len(short) <= length
    assert ("…" in short) or short == " ".join(text.split())
