"""Shared parts of the displays: line styles, colours, names, fonts and legends."""

import warnings
from functools import cache
from typing import Any

import numpy as np

from .._utils.lazy import pyplot
from ..ballots.reading import checked_name

_MARKERS = "os^Dvp*XP<>h"
WIDTH = 6.4  # of a figure, in inches


def look(k):
    """Return colour, marker and dashes of line `k`; markers distinguish lines without colours.

    All lines but the first are dashed, so that a covered line shows in the gaps.
    """
    from matplotlib.colors import to_hex

    dashes = "-" if k == 0 else ("--", "-.", ":")[(k - 1) % 3]
    return {"color": to_hex(f"C{k}"), "marker": _MARKERS[k % len(_MARKERS)], "linestyle": dashes}


def tone(ax, strength):
    """Return a colour between background (strength 0) and text (1) of the axes, which is white in a dark style."""
    from matplotlib.colors import to_hex, to_rgb

    ink = np.array(to_rgb(ax.xaxis.label.get_color()))
    *paper, opacity = ax.get_facecolor()
    paper = np.array(paper) if opacity else np.round(1 - ink)
    return to_hex(paper + strength * (ink - paper))


def axes(ax, size):
    """Return `ax`, or the axes of a new figure of `size` (width, height) in inches."""
    plt = pyplot()
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def item_axes(ax, n_items, width=WIDTH):
    """Return axes with one row per item, the first on top; a new figure is larger for more items, up to 14 x 11."""
    ax = axes(ax, (min(max(width, WIDTH), 14), min(1.9 + 0.26 * n_items, 11)))
    ax.set_ylim(n_items - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    return ax


NAMES = 60  # largest number of names along an axis; of more items, only every second or third is named


def name_rows(axis, names):
    """Label the rows, in a smaller font if there are many; name only every k-th of those that would overlap."""
    size = 9 if len(names) <= 30 else 7
    lines = axis.get_window_extent().height / axis.figure.dpi * 72 / (1.3 * size)  # that fit above each other
    step = -(-len(names) // max(min(NAMES, int(lines)), 1))
    axis.set_yticks(range(0, len(names), step), names[::step], fontsize=size, parse_math=False)
    if step > 1:
        axis.set_ylabel(f"1 name of {step} is shown")


class Display:
    """Base class for displays: their axes and figure, legends and fonts."""

    ax_: Any
    figure_: Any

    def _finish(self, ax, handles=(), notes=None, *, ncols=2, pad=4.0, below=False):
        """Draw the legend, choose fonts, and return the display with its axes and figure.

        The legend is `pad` font sizes below the axes, so that it is below their labels; `notes` is its title. In a
        figure without a layout, which could cut it off, it is on the axes, unless `below`. Installed fonts are added
        for letters that the fonts of the texts lack.
        """
        from matplotlib.font_manager import FontProperties, findfont, fontManager
        from matplotlib.text import Text

        if handles:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": pad, "ncols": ncols}
            if not below and ax.figure.get_layout_engine() is None:
                place = {"loc": "best"}
            small = {"fontsize": "small", "title_fontsize": "small", "handlelength": 3}
            legend = ax.legend(handles=handles, title=notes, **small, **place)
            for text in (legend.get_title(), *legend.get_texts()):
                text.set_parse_math(False)

        # The fonts of last resort have boxes only.
        fonts = [font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name]
        fonts.sort(key=lambda font: (font.weight != 400, "Sans" not in font.name, font.name))
        texts, lacking = ax.findobj(Text), set()
        for text in texts:
            files = [findfont(FontProperties(family=[family])) for family in text.get_fontfamily()]
            lacking |= set(text.get_text()).difference(map(chr, range(128)), *map(_letters, files))
        found = {each: next((font for font in fonts if each in _letters(font.fname)), None) for each in sorted(lacking)}
        added = dict.fromkeys(font.name for font in found.values() if font is not None)
        for text in texts:
            text.set_fontfamily([*dict.fromkeys([*text.get_fontfamily(), *added])])
        lost = [letter for letter, font in found.items() if font is None]
        if lost:
            warnings.warn(
                f"no installed font has {' '.join(lost[:8])}, so boxes are drawn. Install a font that has them, "
                "such as Noto Sans CJK, start Python again and draw the picture again.",
                UserWarning,
                stacklevel=3,
            )
        self.ax_, self.figure_ = ax, ax.figure
        return self


@cache
def _letters(file):
    """Return the letters of a font file; none if it cannot be read, which holds for some fonts of emoji."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(file).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


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
    return [
        f"{shortened(name, length - 5)} #{k}" if short.count(text) > 1 and len(name) > length else text
        for k, (name, text) in enumerate(zip(names, short, strict=True))
    ]


def names_of_items(items, n_items):
    """Return one name per item as strings, by default column indices; raise ValueError for invalid names."""
    names = [checked_name(str(name), "items") for name in (range(n_items) if items is None else items)]
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
