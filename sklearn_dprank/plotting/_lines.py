"""One line per mechanism, with bands of quantiles; markers at the same point are drawn side by side."""

from typing import NamedTuple

import numpy as np

from .._utils.checks import check_number
from ._style import ink, look, looks

_FEW = 3  # largest number of lines with bands
_QUANTILES = (0.1, 0.9)
_SAME = 1.5  # markers up to this distance, in points, look like one
_STEP = 5.5  # points between markers side by side
_ROOM = 36  # largest width of a group of markers, in points


class Drawn(NamedTuple):
    """A line and the edges of its band."""

    values: np.ndarray
    means: np.ndarray
    low: np.ndarray
    high: np.ndarray


def quantiles_of(band, n_lines):
    """Return the quantiles of the bands, or None for no bands; raise ValueError if `band` is invalid."""
    if isinstance(band, str) and band == "auto":
        return _QUANTILES if n_lines <= _FEW else None
    if band is None:
        return None
    try:
        low, high = band
        check_number(low, "band[0]", least=0, most=1)
        check_number(high, "band[1]", least=0, most=1)
    except (TypeError, ValueError):
        low, high = 1, 0
    if low >= high:
        raise ValueError(f"band must be two quantiles, such as (0.1, 0.9), 'auto' or None, got {band!r}.")
    return float(low), float(high)


def words_of(quantiles):
    """Return the legend text about lines and bands."""
    if quantiles is None:
        return "lines: means of the fits"
    low, high = (f"{100 * quantile:g} %" for quantile in quantiles)
    ends = "from the best fit to the worst" if quantiles == (0, 1) else f"{low} to {high} of the fits"
    return f"lines: means; bands: {ends}"


def draw_lines(ax, lines, labels, shaded, texts=()):
    """Draw lines and, if `shaded`, bands whose edges have the dashes of their line; return the lines.

    `texts` are the texts of the estimators, by name of the line.
    """
    from matplotlib.colors import to_rgba

    drawn, found = [], looks(lines, texts)
    for k, (name, line) in enumerate(lines.items()):
        style = look(found[name], ax)
        colour = style["color"]
        if shaded:
            edge = {"edgecolor": to_rgba(colour, 0.75), "lw": 0.7, "linestyle": style["linestyle"]}
            inside = to_rgba(colour, 0.07 if colour == ink(ax) else 0.14)
            ax.fill_between(line.values, line.low, line.high, facecolor=inside, **edge)
        width = max(2.3 - 0.15 * k, 1.4)  # earlier lines are wider, and show on both sides of later ones
        drawn += ax.plot(line.values, line.means, label=labels[name], ms=5.5, mew=1.3, lw=width, **style)
    return drawn


def part_markers(ax, drawn):
    """Draw overlapping markers side by side, in the order of the lines; return whether there are any.

    Only markers move, by points; lines and their data do not change.
    """
    from matplotlib.transforms import ScaledTranslation

    moves = _moves(ax, drawn)
    for line, offsets in zip(drawn, moves, strict=True):
        line.set_markevery((offsets == 0).tolist())
        for offset in np.unique(offsets[offsets != 0]):
            there = offsets == offset
            (beside,) = ax.plot(line.get_xdata()[there], line.get_ydata()[there])
            beside.update_from(line)
            beside.set(linestyle="none", label="_beside", markevery=None, clip_on=False)
            beside.set_transform(ax.transData + ScaledTranslation(offset / 72, 0, ax.figure.dpi_scale_trans))
    return any(offsets.any() for offsets in moves)


def _moves(ax, drawn):
    """Return the horizontal offset of each marker of each line, in points."""
    columns: dict = {}
    for rank, line in enumerate(drawn):
        for k, (x, y) in enumerate(72 / ax.figure.dpi * ax.transData.transform(line.get_xydata())):
            columns.setdefault(round(x), []).append((y, rank, k))
    room = min([_ROOM, *np.diff(sorted(columns))])
    moves = [np.zeros(len(line.get_xdata())) for line in drawn]
    for column in columns.values():
        for group in _groups(column):
            step = min(_STEP, room / len(group))
            for place, (rank, k) in enumerate(group):
                moves[rank][k] = (place - (len(group) - 1) / 2) * step
    return moves


def _groups(column):
    """Yield the points (rank of the line, index) of one abscissa that look like one, by rank."""
    column = sorted(column)
    gaps = np.diff([height for height, *_ in column])
    for group in np.split(np.arange(len(column)), 1 + np.flatnonzero(gaps > _SAME)):
        if len(group) > 1:
            yield sorted(column[place][1:] for place in group)
