"""Shared parts of the displays: lazy import of matplotlib, markers and colours, legends, logarithmic axes."""

import math

import numpy as np

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
COLOURS = ["#0072B2", "#E69F00", "#CC79A7", "#000000", "#D55E00", "#56B4E9", "#009E73"]
BLUE, ORANGE, PURPLE, BLACK, VERMILION, SKY, GREEN = COLOURS
TITLE, LABEL, SMALL = 10, 9, 8  # font sizes of all displays, in points
WIDTH = 6.4  # of a figure, in inches


def look(k):
    """Return colour, marker, dashes and width of the k-th line; every other marker is hollow."""
    colour = COLOURS[k % len(COLOURS)]
    return {
        "color": colour,
        "marker": _MARKERS[k % len(_MARKERS)],
        "markerfacecolor": "white" if k % 2 else colour,
        "linestyle": _DASHES[k % len(_DASHES)],
        "lw": max(2.3 - 0.15 * k, 1.4),  # earlier lines are wider, and show on both sides of later ones
    }


def axes(ax, size):
    """Return `ax`, or the axes of a new figure of `size` (width, height) in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plotting needs matplotlib: install the extra "plot", or pip install matplotlib') from None
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def item_axes(ax, n_items, width=WIDTH):
    """Return axes with one row per item, the first on top; a new figure is higher for more items."""
    ax = axes(ax, (width, min(1.9 + 0.26 * n_items, 11)))
    ax.set_ylim(n_items - 0.5, -0.5)
    return ax


def name_rows(axis, names):
    """Label the rows, in a smaller font if there are many."""
    axis.set_yticks(range(len(names)), names, fontsize=LABEL if len(names) <= 30 else 7, parse_math=False)


def head(ax, name, mark):
    """Write the name of a release and its warning above the axes."""
    lines = [*([shortened(name, 60)] if name else []), *([f"({mark})"] if mark else [])]
    ax.set_title("\n".join(lines), fontsize=TITLE, parse_math=False)


def dress(ax, numbers="both"):
    """Apply the common style; axes in `numbers` ("x", "y" or "both") get a grid and ticks, axes of names do not."""
    numbered = {"x": ["bottom"], "y": ["left"], "both": ["left", "bottom"]}[numbers]
    ax.spines[[side for side in ax.spines if side not in numbered]].set_visible(False)
    ax.tick_params(labelsize=LABEL)
    ax.grid(axis=numbers, color="0.92", lw=0.8)
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
    """Return one name per item as strings, by default column indices; raise ValueError for a wrong number of names."""
    if items is None:
        return [str(item) for item in range(n_items)]
    names = [str(name) for name in items]
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
    ax.legend(handles=handles, title=notes or None, ncols=ncols, frameon=False, **below, **_LOOK)


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
    notes = notes or None
    inside = {"borderaxespad": 0, "framealpha": 0.85, "edgecolor": "0.8", "fancybox": False}
    legend = ax.legend(handles=handles, title=notes, loc="lower left", bbox_to_anchor=(0, 0), **inside, **_LOOK)
    legend.set_in_layout(False)  # it is only measured here
    ax.figure.canvas.figure.draw_without_rendering()  # draws the whole figure, even if the axes are in a subfigure
    spot = _free(ax, legend.get_window_extent())
    if spot is not None:
        legend.set_bbox_to_anchor(spot, ax.transAxes)
    elif ax.figure.get_layout_engine() is None:  # a legend below the axes would be cut off
        ax.legend(handles=handles, title=notes, loc="best", framealpha=0.7, **_LOOK)
    else:
        legend_below(ax, handles, notes, ncols=ncols, pad=pad)
    return spot is not None


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
    return ax.axhspan(low, linear, color="0.94", lw=0, zorder=0, label="linear down to 0")


def _plain(unit, sign):
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda x, _: f"{unit * x:.12g}{sign if x else ''}")
