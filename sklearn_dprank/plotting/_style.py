"""Shared parts of the displays: lazy import of matplotlib, markers and colours, legends, logarithmic axes."""

import itertools
import math
import re
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
# Okabe and Ito's palette, which is safe for colour-blind readers. In this order, neighbours also differ in grey.
# Black
# stands for the colour of the text of the axes, which is white in a dark style.
COLOURS = ["#0072B2", "#E69F00", "#CC79A7", "#000000", "#D55E00", "#56B4E9", "#009E73"]
BLUE, ORANGE, PURPLE, BLACK, VERMILION, SKY, GREEN = COLOURS
TITLE, LABEL, SMALL = 10, 9, 8  # font sizes of all displays, in points
WIDTH = 6.4  # of a figure, in inches


# Colour, and number of marker and dashes, of each mechanism; the first pattern that is found decides. Mechanisms with
# one colour have different markers, and are rarely in one picture.
_MECHANISMS = [
    (re.compile(pattern), (colour, style))
    for pattern, colour, style in (
        (r"\bDPBorda\b.*(knorm|K-norm)", SKY, 8),
        (r"\bDPBorda\b.*[Gg]aussian|\bGaussian Borda\b", SKY, 3),
        (r"\bDPBorda\b|\bP-BORDA\b(?!-)", BLUE, 0),
        (r"\bDPPrudentOrder\b", ORANGE, 1),
        (r"\bDPPairwise\b", PURPLE, 2),
        (r"\bDPSwissBorda\b|\bSwiss Borda\b", BLACK, 7),
        (r"\bDPKwikSort\b|\bDP-KwikSort\b|\bP-SORT\b", VERMILION, 4),
        (r"\bDPTopK\b", VERMILION, 11),
        (r"\bDPKemenySampler\b|\bP-SAMPLE\b", GREEN, 10),
        (r"\bDPHistogram\b|\bP-BORDA-HIST\b", SKY, 7),
        (r"\bDPStreamingBorda\b", PURPLE, 11),
        (r"\bSecAggBorda\b", VERMILION, 3),
        (r"\bSecAggSwissBorda\b", VERMILION, 10),
        (r"\bShufflePairwise\b", PURPLE, 5),
        (r"\bShuffleHierarchical\b|\bDDP-Helnaksort\b", ORANGE, 10),
        (r"\bLDPPairwise\b", GREEN, 6),
        (r"\bLDPBorda\b", ORANGE, 9),
        (r"\b(LDPKwikSort|LDP-KwikSort)\b.*[Ll]ap", SKY, 9),
        (r"\bLDPKwikSort\b|\bLDP-KwikSort\b", PURPLE, 8),
        (r"\bLDPAdaptivePairs\b", SKY, 11),
        (r"\bLDPGroupKwikSort\b", VERMILION, 7),
        (r"\bLDPQuickSort\b|\bLDP-Quicksort\b", BLACK, 10),
        (r"^Kemeny\b", BLACK, 3),
        (r"^KwikSort\b(?! on)", BLACK, 10),
        (r"^Borda\b", SKY, 5),
        (r"^BradleyTerry\b", GREEN, 6),
        (r"^HierarchicalAggregation\b", ORANGE, 1),
        (r"^PositionalRule\b", PURPLE, 2),
    )
]


def looks(names, texts=()):
    """Return {name: (colour, style)}, the same for one mechanism in all pictures; pass each to `look`.

    `texts` are the texts of the estimators, by name. They decide first, then the names. Other lines get the remaining
    colours, in order.
    """
    texts = dict(texts)
    known = {name: _mechanism(texts.get(name, "")) or _mechanism(str(name)) for name in names}
    used = {mechanism[0] for mechanism in known.values() if mechanism}
    others = (k for k in itertools.count() if k >= len(COLOURS) or COLOURS[k] not in used)
    found: dict = {}
    for name in sorted(names, key=lambda name: known[name] is None):  # the mechanisms that are known first
        k = 0 if known[name] else next(others)
        colour, style = known[name] or (COLOURS[k % len(COLOURS)], k)
        taken = {style % len(_MARKERS) for _, style in found.values()}
        free = (k for k in range(style, style + len(_MARKERS)) if k % len(_MARKERS) not in taken)
        found[name] = colour, next(free, style)  # each marker is used once, before one is repeated
    return {name: found[name] for name in names}


def _mechanism(text):
    return next((mechanism for pattern, mechanism in _MECHANISMS if pattern.search(text)), None)


def look(pair, ax):
    """Return colour, marker and dashes of a line for one pair of `looks`; every other marker is hollow."""
    colour, style = pair
    colour = ink(ax) if colour == BLACK else colour
    return {
        "color": colour,
        "marker": _MARKERS[style % len(_MARKERS)],
        "markerfacecolor": paper(ax) if style % 2 else colour,
        "linestyle": _DASHES[style % len(_DASHES)],
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
    from matplotlib.text import Text

    boxes: dict[int, str] = {}
    for text in ax.findobj(Text):
        unusual = {letter for letter in text.get_text() if not letter.isascii()}
        if lacking := unusual.difference(*map(_letters, map(_file, text.get_fontfamily()))):
            found = {letter: _family(letter) for letter in sorted(lacking)}
            text.set_fontfamily([*text.get_fontfamily(), *dict.fromkeys(filter(None, found.values()))])
            boxes |= {ord(letter): "\u25a1" for letter, family in found.items() if family is None}
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


def _file(family):
    from matplotlib.font_manager import FontProperties, findfont

    return findfont(FontProperties(family=[family]))


@cache
def _letters(file):
    """Return the letters of a font file; none if it cannot be read, which holds for some fonts of emoji."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(file).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


@cache
def _family(letter):
    """Return an installed family that has this letter, or None; the fonts of last resort have boxes only."""
    from matplotlib.font_manager import fontManager

    upright = [font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name]
    upright.sort(key=lambda font: (font.weight != 400, "Sans" not in font.name, font.name))
    return next((font.name for font in upright if letter in _letters(font.fname)), None)


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


_STEPS = 24  # number of heights at which the search for free space tries to place the legend
_MARGIN = 5  # free pixels around the legend
_LOOK = {"fontsize": SMALL, "title_fontsize": SMALL, "alignment": "left", "handlelength": 3.2}


def legend_below(ax, handles, notes="", *, ncols=2, pad=4.0):
    """Draw a legend below the axes, `pad` font sizes lower, so that it is below their labels."""
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": pad}
    _legend(ax, handles, notes, ncols=ncols, frameon=False, **below)


def place_legend(ax, handles, notes="", *, ncols=2, pad=4.0):
    """Draw a legend in free space on the axes, or else below them; return whether it is on the axes.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes with everything already drawn on them.
    handles : list of matplotlib Artist
        Entries, each with its label.
    notes : str, default=""
        Text above the entries.
    ncols : int, default=2
        Columns of a legend below the axes; a legend on the axes has one.
    pad : float, default=4.0
        Distance below the axes in font sizes, so that the legend is below their labels.
    """
    inside = {"borderaxespad": 0, "framealpha": 0.85, "edgecolor": tone(ax, 0.2), "fancybox": False}
    legend = _legend(ax, handles, notes, loc="lower left", bbox_to_anchor=(0, 0), **inside)
    legend.set_in_layout(False)  # it is only measured here
    make_readable(ax)
    ax.figure.canvas.figure.draw_without_rendering()  # draws the whole figure, even if the axes are in a subfigure
    spot = _free(ax, legend.get_window_extent())
    if spot is not None:
        legend.set_bbox_to_anchor(spot, ax.transAxes)
    elif ax.figure.get_layout_engine() is None:  # a legend below the axes would be cut off
        _legend(ax, handles, notes, loc="best", framealpha=0.7)
    else:
        legend_below(ax, handles, notes, ncols=ncols, pad=pad)
    return spot is not None


def _legend(ax, handles, notes, **where):
    """Draw a legend whose texts may hold dollar signs."""
    legend = ax.legend(handles=handles, title=notes or None, **where, **_LOOK)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)
    return legend


def _free(ax, size):
    """Return the lower left corner, in axes units, of a free box of this size; None if there is none."""
    from matplotlib.transforms import Bbox

    frame = ax.get_window_extent()
    width, height = size.width + 2 * _MARGIN, size.height + 2 * _MARGIN
    if width > frame.width or height > frame.height:
        return None
    taken = [*_outlines(ax)]
    for left in (frame.x1 - width, frame.x0):
        for bottom in np.linspace(frame.y1 - height, frame.y0, _STEPS):
            box = Bbox.from_bounds(left, bottom, width, height)
            if not any(_meets(path, box, filled) for path, filled in taken):
                corner = (left + _MARGIN, bottom + _MARGIN)
                return tuple(ax.transAxes.inverted().transform(corner))
    return None


def _outlines(ax):
    """Yield all lines and bands as (path in pixels, whether it is filled)."""
    for line in ax.get_lines():
        yield line.get_transform().transform_path(line.get_path()), False
    for band in ax.collections:
        for path in band.get_paths():
            yield band.get_transform().transform_path(path), True


def _meets(path, box, filled):
    return path.intersects_bbox(box, filled=filled) or box.count_contains(path.vertices) > 0


_DECADES = 3  # decades of the logarithmic part of an axis that reaches 0


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

    Parameters
    ----------
    ax : matplotlib Axes
        Axes.
    shown : ndarray of shape (n_shown,)
        All values that the axis must include.
    excess : bool
        Whether values are excess errors, which may be negative.
    percent : bool
        Whether ticks are in percent.

    Returns
    -------
    matplotlib Artist or None
        Shade of the linear part.
    """
    unit = (100, " %") if percent else (1, "")
    if (shown > 0).all():
        ax.set_yscale("log")
        number_ticks(ax.yaxis, shown.min(), shown.max(), *unit)
    elif shown.max() > 0 and (excess or shown.min() == 0):
        return _reach_0(ax, shown, unit)
    return None


def _reach_0(ax, shown, unit):
    from matplotlib.ticker import NullLocator

    least = max(shown[shown > 0].min(), shown.max() / 10**_DECADES)
    linear = 10 ** math.floor(math.log10(least))
    ax.set_yscale("symlog", linthresh=linear, linscale=0.5)
    if shown.min() >= 0:
        ax.set_ylim(bottom=-linear / 3, top=max(1.3 * shown.max(), 2 * linear))
    ax.yaxis.set_major_formatter(_plain(*unit))
    ax.yaxis.set_minor_locator(NullLocator())
    low = -linear if shown.min() < 0 else -linear / 3
    return ax.axhspan(low, linear, color=tone(ax, 0.06), lw=0, zorder=0, label="linear down to 0")


def _plain(unit, sign):
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda x, _: f"{unit * x:.12g}{sign if x else ''}")
