"""Shared parts of the displays: markers and colours, fonts, legends, logarithmic axes."""

import math
import warnings
from functools import cache

import numpy as np

from .._utils.lazy import pyplot
from ..ballots.reading import checked_name

_MARKERS = "os^Dvp*XP<>h"
# Dashes alone distinguish up to seven lines, and a covered line shows in the gaps of the line above it.
_DASHES = [
    "-",
    (0, (5, 2)),
    (0, (1, 1.3)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (10, 2.5)),
    (0, (3, 1.3, 1, 1.3, 1, 1.3)),
    (0, (2.5, 1.3)),
]
BLUE, VERMILION, SKY = "#0072B2", "#D55E00", "#56B4E9"  # safe for colour-blind readers
TITLE, LABEL, SMALL = 10, 9, 8  # font sizes of all displays, in points
WIDTH = 6.4  # of a figure, in inches


def look(k, ax):
    """Return colour, marker and dashes of line `k`; the colour is that of the current matplotlib style.

    Markers and dashes distinguish lines without colours. Every other marker is hollow.
    """
    from matplotlib.colors import to_hex

    colour = to_hex(f"C{k}")
    return {
        "color": colour,
        "marker": _MARKERS[k % len(_MARKERS)],
        "markerfacecolor": paper(ax) if k % 2 else colour,
        "linestyle": _DASHES[k % len(_DASHES)],
    }


def ink(ax):
    """Return the colour of the text of the axes, which is white in a dark style."""
    return ax.xaxis.label.get_color()


def paper(ax):
    """Return the background colour of the axes, without transparency."""
    from matplotlib.colors import to_hex, to_rgb, to_rgba

    if to_rgba(ax.get_facecolor())[3] > 0:
        return to_hex(ax.get_facecolor())
    return "#ffffff" if sum(to_rgb(ink(ax))) < 1.5 else "#000000"


def tone(ax, strength):
    """Return a colour between background (strength 0) and text (1) of the axes."""
    from matplotlib.colors import to_hex, to_rgb

    low, high = np.array(to_rgb(paper(ax))), np.array(to_rgb(ink(ax)))
    return to_hex(low + strength * (high - low))


def axes(ax, size):
    """Return `ax`, or the axes of a new figure of `size` (width, height) in inches."""
    plt = pyplot()
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def item_axes(ax, n_items, width=WIDTH):
    """Return axes with one row per item, the first on top; a new figure is higher for more items, up to 11 inches."""
    ax = axes(ax, (width, min(1.9 + 0.26 * n_items, 11)))
    ax.set_ylim(n_items - 0.5, -0.5)
    return ax


NAMES = 60  # largest number of names along an axis; of more items, only every second or third is named


def name_rows(axis, names):
    """Label the rows, in a smaller font if there are many; name only every k-th of those that would overlap."""
    size = LABEL if len(names) <= 30 else 7
    lines = axis.get_window_extent().height / axis.figure.dpi * 72 / (1.3 * size)  # that fit above each other
    step = -(-len(names) // max(min(NAMES, int(lines)), 1))
    axis.set_yticks(range(0, len(names), step), names[::step], fontsize=size, parse_math=False)
    if step > 1:
        axis.set_ylabel(f"1 name of {step} is shown", fontsize=SMALL)


def finished(ax):
    """Make the names readable, and return the axes and their figure."""
    make_readable(ax)
    return ax, ax.figure


def make_readable(ax):
    """Draw letters that the font lacks in an installed font that has them; draw others as boxes, with one warning."""
    from matplotlib.axis import Axis
    from matplotlib.font_manager import FontProperties, findfont, fontManager
    from matplotlib.text import Text

    # The fonts of last resort have boxes only.
    fonts = [font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name]
    fonts.sort(key=lambda font: (font.weight != 400, "Sans" not in font.name, font.name))
    boxes: dict[int, str] = {}
    for text in ax.findobj(Text):
        lacking = {letter for letter in text.get_text() if not letter.isascii()}
        if lacking:
            lacking -= set().union(*(_letters(findfont(FontProperties(family=[f]))) for f in text.get_fontfamily()))
        for letter in sorted(lacking):
            family = next((font.name for font in fonts if letter in _letters(font.fname)), None)
            if family is None:
                boxes[ord(letter)] = "\u25a1"
            elif family not in text.get_fontfamily():
                text.set_fontfamily([*text.get_fontfamily(), family])
        text.set_text(text.get_text().translate(boxes))
    if not boxes:
        return
    for axis in ax.findobj(Axis):  # an axis writes its own labels into the texts whenever it is drawn
        labels = [text.get_text() for text in axis.get_ticklabels()]
        if (drawn := [label.translate(boxes) for label in labels]) != labels:
            axis.set_ticklabels(drawn, parse_math=False)
    lost = " ".join(map(chr, [*boxes][:8])) + (" …" if len(boxes) > 8 else "")
    warnings.warn(
        f"no installed font has {lost}, so boxes are drawn. Install a font that has them, such as Noto Sans CJK, start "
        "Python again and draw the picture again.",
        UserWarning,
        stacklevel=4,
    )


@cache
def _letters(file):
    """Return the letters of a font file; none if it cannot be read, which holds for some fonts of emoji."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(file).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


def head(ax, name, mark):
    """Write the name of a release and its warning above the axes."""
    lines = [*([shortened(name, 60)] if name else []), *([f"({mark})"] if mark else [])]
    ax.set_title("\n".join(lines), fontsize=TITLE, parse_math=False)


def dress(ax, numbers="both"):
    """Apply the common style; axes in `numbers` ("x", "y" or "both") get a grid and ticks, axes of names do not."""
    numbered = {"x": ["bottom"], "y": ["left"], "both": ["left", "bottom"]}[numbers]
    ax.spines[[side for side in ax.spines if side not in numbered]].set_visible(False)
    ax.tick_params(labelsize=LABEL)
    ax.grid(axis=numbers, color=tone(ax, 0.08), lw=0.8)
    ax.set_axisbelow(True)
    if numbers != "both":
        ax.tick_params(axis="y" if numbers == "x" else "x", length=0)


def shortened(text, length):
    """Return `text` without its middle if it is longer than `length`, because names often differ at the end."""
    text = " ".join(str(text).split())
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return f"{text[: length - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def fitting(names, length):
    """Return distinct names of at most about `length` characters."""
    short = [shortened(name, length) for name in names]
    alike = [short.count(text) > 1 for text in short]
    return [
        f"{shortened(name, length - 5)} #{k}" if taken and len(name) > length else text
        for k, (name, text, taken) in enumerate(zip(names, short, alike, strict=True))
    ]


def names_of_items(items, n_items):
    """Return one name per item as strings, by default column indices; raise ValueError for invalid names."""
    if items is None:
        return [str(item) for item in range(n_items)]
    names = [checked_name(str(name), "items") for name in items]
    if len(names) != n_items:
        raise ValueError(f"items has {len(names)} names for {n_items} items; give one name an item.")
    return names


def read_positions(positions, name, n_items=None):
    """Return positions as floats of shape (n_items,); raise ValueError unless there is one finite number per item."""
    try:
        array = np.asarray(positions, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers (ranks_, not consensus_): where each item stands.") from None
    expected = array.size if n_items is None else n_items
    if array.shape != (expected,) or not np.isfinite(array).all():
        many = "each item" if n_items is None else f"each of the {n_items} items"
        raise ValueError(f"{name} must hold one finite position for {many}, got shape {array.shape}.")
    return array


def draw_legend(ax, handles, notes="", *, ncols=2, pad=4.0, below=False):
    """Draw a legend below the axes, `pad` font sizes lower, so that it is below their labels.

    `notes` are a text above the entries. In a figure without a layout, which could cut the legend off, it is on the
    axes, unless `below`.
    """
    if below or ax.figure.get_layout_engine() is not None:
        where = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": pad, "frameon": False}
        where["ncols"] = ncols
    else:
        where = {"loc": "best", "framealpha": 0.7}
    look = {"fontsize": SMALL, "title_fontsize": SMALL, "alignment": "left", "handlelength": 3.2}
    legend = ax.legend(handles=handles, title=notes or None, **where, **look)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)


def number_ticks(axis, low, high, unit=1.0, sign=""):
    """Label a logarithmic axis with plain numbers, and add ticks if it spans less than one or two decades."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    if high < 10 * low:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axis.set_major_formatter(_plain(unit, sign))
    axis.set_minor_formatter(NullFormatter())


def scale_errors(ax, shown, excess, percent):
    """Make the axis of errors logarithmic; if a value is 0 or below, make it linear near 0 and shade that part.

    `shown` are all values that the axis must include. With `excess`, they may be negative. Return the shade, or None.
    """
    from matplotlib.ticker import NullLocator

    unit = (100, " %") if percent else (1, "")
    if (shown > 0).all():
        ax.set_yscale("log")
        number_ticks(ax.yaxis, shown.min(), shown.max(), *unit)
        return None
    if shown.max() <= 0 or (shown.min() < 0 and not excess):
        return None
    least = max(shown[shown > 0].min(), shown.max() / 1000)  # at most three decades are logarithmic
    linear = 10 ** math.floor(math.log10(least))
    low = -linear if shown.min() < 0 else -linear / 3
    ax.set_yscale("symlog", linthresh=linear, linscale=0.5)
    if shown.min() >= 0:
        ax.set_ylim(bottom=low, top=max(1.3 * shown.max(), 2 * linear))
    ax.yaxis.set_major_formatter(_plain(*unit))
    ax.yaxis.set_minor_locator(NullLocator())
    return ax.axhspan(low, linear, color=tone(ax, 0.06), lw=0, zorder=0, label="linear down to 0")


def _plain(unit, sign):
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda x, _: f"{unit * x:.12g}{sign if x else ''}")
