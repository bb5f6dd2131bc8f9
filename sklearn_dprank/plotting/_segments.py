"""`SegmentsDisplay`: the ranks of all items in every segment of the voters."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.checks import check_flag, check_number
from .._utils.scikit_learn import BaseEstimator
from ..privacy.estimator_guarantees import last_step
from ._ranked import OF_WHOM, SAYS, mark_of, ranked
from ._style import (
    LABEL,
    SKY,
    SMALL,
    WIDTH,
    dress,
    finished,
    fitting,
    head,
    ink,
    item_axes,
    legend_below,
    make_readable,
    name_rows,
    names_of_items,
    paper,
    read_positions,
    tone,
)
from ._words import text_of

_DIAGONAL = "order of the rows: mean rank over the segments"
_CORNERS = [-0.36, -0.36, 0.36, 0.36]  # of a bar, from the middle of its row
_WIDEST = 14  # of a figure, in inches


class SegmentsDisplay:
    """Display of the ranks in every segment: a column per segment, with a dot at the rank of each item.

    A bar extends from the best to the worst rank that the segment's own answers allow. The rows are in the same order
    in all columns, so a column on the grey diagonal agrees with that order. Build the display with `from_estimator`.

    Parameters
    ----------
    ranks : array-like of shape (n_segments, n_items)
        Position of each item in each segment, 0 is best.
    intervals : array-like of int, shape (n_segments, n_items, 2), or None, default=None
        Best and worst rank of each item in each segment, 0 is best. None draws no bars.
    segments : sequence or None, default=None
        Labels of the segments; None is their indices.
    items : sequence of str or None, default=None
        Item names; None is the column indices.
    own_weights : array-like of shape (n_segments,) or None, default=None
        Weight of each segment's own answers in its ranks, between 0 and 1. Segments below 0.5 are drawn faint. None
        draws no segment faint.
    level : float, default=0.95
        Coverage probability of the intervals.
    simultaneous : bool, default=True
        Whether the level holds for all segments together, or for each of them.
    name : str, default=""
        Name of the release.
    mark : str, default=""
        Warning shown in the title; "" if the release may be published.

    Attributes
    ----------
    order : ndarray of int, shape (n_items,)
        Items from top to bottom: by the mean of their ranks over the segments. Ties are in the order of the columns.
    faint : ndarray of bool, shape (n_segments,)
        Segments that mostly repeat the others.
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    With pooling, the ranks of a segment also use the answers of the others, and its intervals do not. A dot may
    therefore lie outside of its bar. Every segment has the same weight in the order of the rows. The intervals describe
    these voters, and only the uncertainty from the noise.

    .. rubric:: Privacy

    The picture is a function of the release. It may be published if the release may.

    Examples
    --------
    >>> from sklearn_dprank import SegmentedAggregator
    >>> from sklearn_dprank.plotting import SegmentsDisplay
    >>> ballots = [[0, 1, 2]] * 300 + [[1, 0, 2]] * 300
    >>> half = ["old"] * 300 + ["new"] * 300
    >>> by_half = SegmentedAggregator(["old", "new"], random_state=0).fit(ballots, segments=half)
    >>> display = SegmentsDisplay.from_estimator(by_half)
    >>> display.ranks.astype(int).tolist(), display.order.tolist()
    ([[0, 1, 2], [1, 0, 2]], [0, 1, 2])
    """

    def __init__(
        self,
        ranks: ArrayLike,
        intervals: ArrayLike | None = None,
        segments: Iterable[Any] | None = None,
        items: Iterable[Any] | None = None,
        *,
        own_weights: ArrayLike | None = None,
        level: float = 0.95,
        simultaneous: bool = True,
        name: str = "",
        mark: str = "",
    ) -> None:
        self.ranks = _read_ranks(ranks, "ranks")
        n_segments, n_items = self.ranks.shape
        self.intervals = None if intervals is None else _read_intervals(intervals, self.ranks.shape)
        self.segments = list(range(n_segments) if segments is None else segments)
        if len(self.segments) != n_segments:
            raise ValueError(f"segments has {len(self.segments)} labels for {n_segments} segments; give one a segment.")
        self.item_names = names_of_items(items, n_items)
        self.own_weights = None if own_weights is None else _read_weights(own_weights, n_segments)
        check_number(level, "level", above=0, below=1)
        check_flag(simultaneous, "simultaneous")
        self.level, self.simultaneous, self.name, self.mark = float(level), bool(simultaneous), name, mark

    @property
    def order(self) -> NDArray[np.int64]:
        """Items from top to bottom: by the mean of their ranks over the segments."""
        return np.argsort(self.ranks.sum(axis=0), kind="stable")

    @property
    def faint(self) -> NDArray[np.bool_]:
        """Segments that mostly repeat the others."""
        return np.zeros(len(self.ranks), dtype=bool) if self.own_weights is None else self.own_weights < 0.5

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, level: float = 0.95, simultaneous: bool = True, name: str | None = None
    ) -> Self:
        """Make the display from the ranks and the intervals of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            `~sklearn_dprank.SegmentedAggregator` with `classes` after `fit`, or a Pipeline that ends in one. A fit with
            ``delta=0`` publishes orders only, so the display has no bars.
        level : float, default=0.95
            Coverage probability of the intervals, at least.
        simultaneous : bool, default=True
            Whether the level holds for all segments together. False gives shorter bars, which are right for each single
            segment.
        name : str or None, default=None
            Name of the release; None is the class and its changed parameters, without the labels of the segments.

        Returns
        -------
        SegmentsDisplay
            Not drawn yet. It is marked "simulation only" if a seed was given.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        ValueError
            If it does not rank segments, `level` is not between 0 and 1, or `simultaneous` is not a bool.
        """
        one, last = ranked(estimator, "estimator", _read_ranks), last_step(estimator)
        return cls(
            one.positions,
            last.rank_intervals(level, simultaneous) if hasattr(last, "rank_intervals") else None,
            last.segments_,
            one.item_names,
            own_weights=getattr(last, "own_weights_", None),
            level=level,
            simultaneous=simultaneous,
            name=text_of(last, {"classes"}) if name is None else name,
            mark=mark_of(one.guarantee),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw a column per segment, with a dot and a bar for each item.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None makes a figure, wider for more segments and higher for more items,
            up to 11 inches. Of items whose names would overlap, only every second or third is named.

        Returns
        -------
        SegmentsDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_segments, n_items = self.ranks.shape
        ax = item_axes(ax, n_items, min(max(WIDTH, 1.6 + 0.48 * n_segments), _WIDEST))
        starts = np.arange(n_segments) * (n_items + 1 + n_items // 10)  # a gap between columns
        diagonal = self._draw_columns(ax, starts)
        dots, bars = zip(*(self._draw_segments(ax, starts, faint) for faint in np.unique(self.faint)), strict=True)
        name_rows(ax, [fitting(self.item_names, 28)[item] for item in self.order])
        head(ax, self.name, self.mark)
        self._name_columns(ax, starts)
        legend_below(ax, [*dots, *bars[0], diagonal], ncols=2 if n_segments > 15 else 1, pad=5.0)
        self.ax_, self.figure_ = finished(ax)
        return self

    def _draw_columns(self, ax, starts):
        """Draw the background of each column, with a diagonal for the order of the rows; return a diagonal."""
        n_items = self.ranks.shape[1]
        dress(ax, "x")
        ax.grid(False)
        ax.spines[:].set_visible(False)
        places = np.arange(n_items)
        for start in starts:
            ax.axvspan(start + 0.5, start + n_items + 0.5, color=tone(ax, 0.045), lw=0, zorder=0)
            (line,) = ax.plot(start + 1 + places, places, color=tone(ax, 0.55), lw=0.8, zorder=2.5, label=_DIAGONAL)
        ax.hlines(places[1:] - 0.5, 0, starts[-1] + n_items + 1, color=paper(ax), lw=0.8, zorder=1)
        ax.set_xlim(0.4, starts[-1] + n_items + 0.6)
        return line

    def _draw_segments(self, ax, starts, faint):
        """Draw all faint segments, or all others; return the dots, and a list of the bars if there are any."""
        from matplotlib.collections import PolyCollection

        drawn = np.flatnonzero(self.faint == faint)
        cells = np.ix_(drawn, self.order)
        bar, edge, fill = (tone(ax, 0.18), tone(ax, 0.5), paper(ax)) if faint else (SKY, ink(ax), ink(ax))
        across, down = np.broadcast_arrays(starts[drawn, np.newaxis] + 1, np.arange(len(self.order)))
        size = 4.0 if self.ranks.size <= 300 else 3.0
        dots = {"ms": size, "mew": 1.0, "mfc": fill, "mec": edge, "zorder": 3, "label": self._says(faint)}
        (points,) = ax.plot((across + self.ranks[cells]).ravel(), down.ravel(), "o", **dots)
        if self.intervals is None:
            return points, []
        left, right = across + self.intervals[cells][..., 0] - 0.5, across + self.intervals[cells][..., 1] + 0.5
        x, y = np.stack([left, right, right, left], axis=-1), down[..., np.newaxis] + _CORNERS
        boxes = np.stack([x, y], axis=-1).reshape(-1, 4, 2)
        bars = PolyCollection(list(boxes), facecolors=bar, linewidths=0, zorder=2, label=self._covers())
        return points, [ax.add_collection(bars)]

    def _says(self, faint):
        """Return what a dot means."""
        if faint:
            return "faint: rank mostly from the other segments' answers"
        return "rank" if self.own_weights is None else "rank, pooled with the other segments"

    def _covers(self):
        """Return what a bar means."""
        scope = "all segments at once" if self.simultaneous else "each segment by itself"
        return f"{100 * self.level:.6g} %: {scope}" + ("" if self.own_weights is None else ", from own answers only")

    def _name_columns(self, ax, starts):
        """Write the labels of the segments above the columns, and the first and the last rank below them."""
        n_segments, n_items = self.ranks.shape
        shown = starts if n_segments <= 8 else starts[:1]
        ax.set_xticks(np.ravel([[start + 1, start + n_items] for start in shown]), ["1", str(n_items)] * len(shown))
        ax.tick_params(labelsize=SMALL, length=0)
        ax.set_xlabel(f"{SAYS['scores']}, {OF_WHOM}", fontsize=LABEL)
        top = ax.secondary_xaxis("top")
        top.spines[:].set_visible(False)
        top.tick_params(length=0)
        labels = fitting(self.segments, 28)
        top.set_xticks(starts + (n_items + 1) / 2, labels, fontsize=LABEL if n_segments <= 30 else 7, parse_math=False)
        texts = top.get_xticklabels()
        for text, faint in zip(texts, self.faint, strict=True):
            text.set_color(tone(ax, 0.5 if faint else 1))
        make_readable(ax)
        ax.figure.canvas.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in texts]
        if any(one.x1 + 4 > other.x0 for one, other in pairwise(boxes)):
            for text in texts:
                text.set(rotation=45, rotation_mode="anchor", ha="left", va="bottom")


def _read_ranks(ranks, name):
    """Return positions as floats of shape (n_segments, n_items); raise ValueError if they are not."""
    shape = np.shape(ranks)
    if len(shape) != 2 or not all(shape):
        raise ValueError(
            f"{name} must hold a position for each item in each segment, got shape {shape}; fit a "
            "SegmentedAggregator with classes."
        )
    return np.array([read_positions(row, name) for row in ranks])


def _read_intervals(intervals, shape):
    """Return intervals as an array of int; raise ValueError unless there is one for each of the ranks."""
    array = np.asarray(intervals)
    bounds = array.shape == (*shape, 2) and array.dtype.kind in "iu"
    if not bounds or (array[..., 0] > array[..., 1]).any():
        raise ValueError(
            f"intervals must hold the best and the worst rank of each of the {shape[1]} items in each of the "
            f"{shape[0]} segments."
        )
    return array


def _read_weights(weights, n_segments):
    """Return weights as floats; raise ValueError unless there is one between 0 and 1 for each segment."""
    array = np.asarray(weights, dtype=float)
    if array.shape != (n_segments,) or not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"own_weights must hold a weight between 0 and 1 for each of the {n_segments} segments.")
    return array
