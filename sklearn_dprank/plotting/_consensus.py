"""`ConsensusDisplay`: two consensus rankings side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.scikit_learn import BaseEstimator
from ._ranked import NOT_PRIVATE, mark_of, ranked
from ._style import (
    BLUE,
    TITLE,
    VERMILION,
    finished,
    fitting,
    item_axes,
    legend_below,
    name_rows,
    names_of_items,
    read_positions,
    shortened,
    tone,
)

# Style and legend text by kind of line. Lines with a crossing are heavy, and their style shows the direction. A number
# is a tone between the background (0) and the text (1) of the axes.
_STYLES: dict[str, tuple[dict[str, Any], str]] = {
    "up": ({"color": BLUE, "linestyle": "-", "lw": 2.0, "marker": "o", "zorder": 3}, "crosses, better right"),
    "down": ({"color": VERMILION, "linestyle": "--", "lw": 2.0, "marker": "s", "zorder": 3}, "crosses, better left"),
    "level": ({"color": 1.0, "linestyle": ":", "lw": 2.0, "marker": "D", "zorder": 3}, "crosses, same place"),
    "still": ({"color": 0.4, "linestyle": "-", "lw": 0.9, "marker": ".", "zorder": 2}, "crosses no other"),
}


class ConsensusDisplay:
    """Display of two consensus rankings side by side: a line per item, and a crossing per pair in opposite orders.

    Build it with `from_estimators` or `from_positions`.

    Parameters
    ----------
    left, right : array-like of shape (n_items,)
        Position of each item; smaller is better, equal is tied.
    items : sequence of str or None, default=None
        Item names; None is the column indices.
    names : tuple of (str, str), default=("left", "right")
        Names of the two rankings.
    marks : tuple of (str, str), default=("not private", "not private")
        Warning shown for each side; "" if it may be published.

    Attributes
    ----------
    n_crossings : int
        Number of item pairs in opposite orders: the Kendall tau distance, not normalised.
    n_half_tied : int
        Number of item pairs that one side ties and the other does not, such as those beyond the best k of `DPTopK`. The
        metrics of a consensus count them half.
    places : ndarray of int, shape (2, n_items)
        Vertical places of the line ends, 0 is on top.
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    Tied items stand next to each other, in the order of the other side, or by column if they are tied there too. "2="
    marks items that share the second place. A tie is therefore not a crossing.

    .. rubric:: Privacy

    The picture and its number of crossings are functions of both rankings. They may be published if both rankings may.

    Examples
    --------
    >>> from sklearn_dprank.plotting import ConsensusDisplay
    >>> display = ConsensusDisplay.from_positions([0, 1, 2], [2, 0, 1], items=["tea", "coffee", "water"])
    >>> display.n_crossings
    2
    """

    def __init__(
        self,
        left: ArrayLike,
        right: ArrayLike,
        items: Iterable[Any] | None = None,
        *,
        names: tuple[str, str] = ("left", "right"),
        marks: tuple[str, str] = (NOT_PRIVATE, NOT_PRIVATE),
    ) -> None:
        self.left = read_positions(left, "left")
        self.right = read_positions(right, "right", len(self.left))
        self.item_names = names_of_items(items, len(self.left))
        self.names = _two(names, "names")
        self.marks = _two(marks, "marks")

    @property
    def n_crossings(self) -> int:
        """Number of item pairs in opposite orders."""
        return int(_opposite(self.left, self.right).sum()) // 2

    @property
    def n_half_tied(self) -> int:
        """Number of item pairs that one side ties and the other does not."""
        left, right = (side[:, None] == side for side in (self.left, self.right))
        return int((left != right).sum()) // 2

    @property
    def places(self) -> NDArray[np.int64]:
        """Vertical places of the line ends, 0 is on top; tied items follow the other side."""
        return np.array([_places(self.left, self.right), _places(self.right, self.left)])

    @classmethod
    def from_estimators(
        cls, left: BaseEstimator, right: BaseEstimator, *, names: tuple[str, str] | None = None
    ) -> Self:
        """Compare two fitted estimators.

        Parameters
        ----------
        left, right : fitted estimators
            Estimators with ``ranks_`` after `fit`, or Pipelines that end in one, over the same items. If both have item
            names, their columns may be in different orders.
        names : tuple of (str, str) or None, default=None
            Names of the two; None is their classes and changed parameters.

        Returns
        -------
        ConsensusDisplay
            Not drawn yet. A side is marked "not private" if `~sklearn_dprank.privacy.guarantee_of` finds no guarantee.
            This includes classes of other packages. It is marked "simulation only" if a seed was given.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If one is not fitted.
        ValueError
            If one has no ``ranks_``, or the items differ.
        """
        one, two = ranked(left, "left"), ranked(right, "right")
        if len(one.positions) != len(two.positions):
            raise ValueError(
                f"left and right must rank the same items, got {len(one.positions)} and {len(two.positions)} items."
            )
        own, other, moved = one.item_names, two.item_names, two.positions
        if own is not None and other is not None:
            column = {name: k for k, name in enumerate(other)}
            if set(column) != set(own):
                raise ValueError("left and right must rank the same items, got different names of items.")
            moved = moved[[column[name] for name in own]]
        names = (one.text, two.text) if names is None else names
        marks = (mark_of(one.guarantee), mark_of(two.guarantee))
        return cls(one.positions, moved, other if own is None else own, names=names, marks=marks)

    @classmethod
    def from_positions(
        cls,
        left: ArrayLike,
        right: ArrayLike,
        *,
        items: Iterable[Any] | None = None,
        names: tuple[str, str] = ("left", "right"),
        marks: tuple[str, str] = (NOT_PRIVATE, NOT_PRIVATE),
    ) -> Self:
        """Compare two rankings given by positions.

        Parameters
        ----------
        left, right : array-like of shape (n_items,)
            Position of each item; smaller is better, equal is tied.
        items : sequence of str or None, default=None
            Item names; None is the column indices.
        names : tuple of (str, str), default=("left", "right")
            Names of the two.
        marks : tuple of (str, str), default=("not private", "not private")
            Warning shown for each side. By default, both sides are marked, because the source of the positions is
            unknown. Pass "" for a side that may be published.

        Returns
        -------
        ConsensusDisplay
            Not drawn yet.

        Raises
        ------
        ValueError
            If the numbers of items differ, or the number of names does not match.
        """
        return cls(left, right, items, names=names, marks=marks)

    def plot(self, ax: Any = None) -> Self:
        """Draw the two columns and the lines between them.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None makes a figure, higher for more items, up to 11 inches. Of items whose names
            would overlap, only every second or third is named.

        Returns
        -------
        ConsensusDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_items = len(self.left)
        ax = item_axes(ax, n_items)
        places = self.places
        kinds = [_kind(*line) for line in zip(*places, _opposite(self.left, self.right).any(axis=1), strict=True)]
        thin = 1.0 if n_items <= 20 else 0.7
        for kind, start, end in zip(kinds, *places, strict=True):
            style = _style(kind, ax)
            ax.plot([0, 1], [start, end], ms=4, clip_on=False, **style | {"lw": style["lw"] * thin})
        self._label_sides(ax, places)
        _explain(ax, kinds)
        title = f"Kendall tau distance: {self.n_crossings} of {math.comb(n_items, 2)} pairs cross"
        if half := self.n_half_tied:
            title += f", {half} {'is' if half == 1 else 'are'} tied on one side"
        ax.set_title(title, fontsize=TITLE)
        self.ax_, self.figure_ = finished(ax)
        return self

    def _label_sides(self, ax, places):
        """Write names and places at both ends, and the names of the two rankings above."""
        names = fitting(self.item_names, 28)
        right = ax.secondary_yaxis("right")
        for axis, place, positions in ((ax, places[0], self.left), (right, places[1], self.right)):
            items = np.argsort(place)
            labels = [_label(names[item], positions, item, axis is ax) for item in items]
            name_rows(axis, labels)
            axis.tick_params(length=0, pad=8)
            axis.spines[:].set_visible(False)
        ax.set_xlim(0, 1)
        heads = [shortened(name, 28) for name in self.names]
        if any(self.marks):  # a blank second line keeps both names at the same height
            heads = [f"{head}\n" + (f"({mark})" if mark else " ") for head, mark in zip(heads, self.marks, strict=True)]
        ax.set_xticks([0, 1], heads, parse_math=False)
        ax.tick_params(axis="x", top=True, bottom=False, labeltop=True, labelbottom=False, length=0)


def _two(texts, name):
    """Return a tuple of two strings."""
    texts = (texts,) if isinstance(texts, str) else tuple(map(str, texts))
    if len(texts) != 2:
        raise ValueError(f"{name} must hold two strings, one a side, got {texts!r}.")
    return texts


def _opposite(left, right):
    """Return the pairs that two rankings put in opposite orders: ndarray of bool, shape (n_items, n_items)."""
    return np.sign(left[:, None] - left) * np.sign(right[:, None] - right) < 0


def _places(positions, other):
    """Return the place of every item; tied items in the order of the other side, then by column."""
    return np.argsort(np.lexsort([np.arange(len(positions)), other, positions]))


def _kind(start, end, crosses):
    """Return the kind of the line from one place to another."""
    if not crosses:
        return "still"
    return "up" if end < start else "down" if end > start else "level"


def _style(kind, ax):
    """Return the style of a kind of lines on these axes."""
    style = _STYLES[kind][0]
    return style if isinstance(style["color"], str) else style | {"color": tone(ax, style["color"])}


def _explain(ax, kinds):
    """Put a legend of the drawn kinds of lines below the axes."""
    from matplotlib.lines import Line2D

    drawn = [(_style(kind, ax), text) for kind, (_, text) in _STYLES.items() if kind in kinds]
    legend_below(ax, [Line2D([], [], ms=4, label=text, **style) for style, text in drawn], pad=0.5)


def _label(name, positions, item, left):
    """Return the name with its place; 1 is best, and shared places have an equals sign."""
    tied = "=" if (positions == positions[item]).sum() > 1 else ""
    place = f"{1 + (positions < positions[item]).sum()}{tied}"
    return f"{name}  {place}" if left else f"{place}  {name}"
