"""Lines are told apart by the colour-blind and in grey: computed, as such eyes and printers see them."""

import itertools

import numpy as np
import pytest

from sklearn_dprank.plotting import (
    ConsensusDisplay,
    PairwiseMarginDisplay,
    PrivacyUtilityDisplay,
    QueryCountDisplay,
    RankIntervalDisplay,
    SegmentsDisplay,
)
from sklearn_dprank.plotting._style import look

colors = pytest.importorskip("matplotlib.colors")

# Linear RGB as seen without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1), and by all.
EYES = {
    "all cones": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def seen(colour, eyes):
    """Return a colour of sRGB as these eyes see it: lightness L*, a*, b* of CIE 1976."""
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = XYZ @ np.clip(np.asarray(eyes) @ linear, 0, 1) / [0.95047, 1.0, 1.08883]
    x, y, z = (np.cbrt(t) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_measure_itself():
    """White is the lightest, and red and green of one lightness are the same to deuteranopes, not to others."""
    np.testing.assert_allclose(seen("#FFFFFF", EYES["all cones"]), [100, 0, 0], atol=0.1)
    red, green = ({name: seen(colour, eyes) for name, eyes in EYES.items()} for colour in ("#C46A3C", "#8A8A33"))
    assert np.linalg.norm(red["all cones"] - green["all cones"]) > 40
    assert np.linalg.norm(red["deuteranopia"] - green["deuteranopia"]) < 20


def test_any_two_lines_differ_in_marker_and_the_first_four_in_dashes():
    styles = [look(k) for k in range(12)]
    for one, other in itertools.combinations(styles, 2):
        assert one["marker"] != other["marker"]
    assert len({style["linestyle"] for style in styles[:4]}) == 4
    assert len({style["color"] for style in styles[:7]}) == 7


@pytest.mark.parametrize("eyes", EYES)
def test_signs_of_margins_have_other_colours(plt, eyes):
    cmap = PairwiseMarginDisplay([[0, 1], [-1, 0]]).plot().ax_.images[0].cmap
    for share in (0.2, 0.5, 1.0):  # of the largest margin
        colours = [colors.to_hex(cmap(0.5 + sign * share / 2)) for sign in (-1, 1)]
        less, more = (seen(colour, EYES[eyes]) for colour in colours)
        assert less[2] > more[2] + 15  # the yellow or blue side, which both kinds of eyes see


def test_lines_have_the_colours_of_the_style(plt):
    with plt.rc_context({"axes.prop_cycle": plt.cycler(color=["#112233", "#445566"])}):
        lines = PrivacyUtilityDisplay([0.1, 1.0], {"a": [[0.2], [0.1]], "b": [[0.3], [0.1]]}).plot().ax_.get_lines()
    assert [line.get_color() for line in lines[:2]] == ["#112233", "#445566"]


DOLLARS = ["$5 off", "a_$b", "\\frac", "$\\frac$", "$x_$y$"]
ERRORS = {name: [[0.1 + k / 20, 0.2], [0.1, 0.15 + k / 30]] for k, name in enumerate(DOLLARS)}


def drawings():
    """Return one of each display, with dollar signs in all texts that a caller gives."""
    n = len(DOLLARS)
    margins = np.subtract.outer(np.arange(n), np.arange(n)) / n
    ranges = [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]]
    said = {"name": DOLLARS[3], "mark": DOLLARS[3]}
    two = tuple(DOLLARS[3:5])
    return [
        ConsensusDisplay(range(n), [1, 0, 2, 4, 3], DOLLARS, names=two, marks=two),
        PairwiseMarginDisplay(margins, range(n), DOLLARS, ordered_by=DOLLARS[3]),
        PrivacyUtilityDisplay([0.1, 1.0], ERRORS, 0.1, floor_name=DOLLARS[3]),
        QueryCountDisplay([1, 2], ERRORS, 0.1, measure=DOLLARS[3]),
        RankIntervalDisplay(ranges, range(n), DOLLARS, says=DOLLARS[3], **said),
        SegmentsDisplay([range(n)] * 2, [ranges] * 2, two, DOLLARS, own_weights=[0.3, 0.7], **said),
    ]


@pytest.mark.parametrize("display", drawings(), ids=lambda display: type(display).__name__)
def test_dollar_signs_are_not_formulas(plt, display):
    texts = display.plot().figure_.findobj(plt.Text)
    display.figure_.canvas.draw()
    shown = [text for text in texts if "$" in text.get_text()]
    assert len(shown) >= 4
    assert not any(text.get_parse_math() for text in shown)
    if isinstance(display, PrivacyUtilityDisplay | QueryCountDisplay):
        display.plot(excess=False).figure_.canvas.draw()


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("display", drawings(), ids=lambda display: type(display).__name__)
def test_everything_is_visible_in_light_and_dark_styles(plt, display, style):
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


def contrast(one, other):
    low, high = sorted(luminance(colors.to_rgb(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    colour = np.asarray(colour)
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4) @ XYZ[1]
