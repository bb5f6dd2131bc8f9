"""Displays of one release: intervals, consensus, margins and segments."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._utils.checks import check_flag, check_number, safe_repr
from .._utils.estimators import BaseEstimator
from ..ballots.profile import Ballots, as_profile
from ..ballots.reading import names_of
from ..privacy.estimator_guarantees import guarantee_of, last_step
from ..uncertainty.laws import Of
from ._errors import best_known, text_of
from ._style import NAMES, Display, axes, fitting, item_axes, name_rows, names_of_items, read_positions, shortened, tone

#: Meaning of ranks by what a release publishes, and the end of the label of their axis.
SAYS = {
    "scores": "Rank by net wins (Borda)",
    "margins": "Rank by majorities (how many items beat it)",
    "net_wins": "Rank by net wins per comparison",
    "strengths": "Rank by strength, if all kinds of items meet",
}
OF_VOTERS = "of these voters, not of a population"
BLUE, VERMILION, SKY = "#0072B2", "#D55E00", "#56B4E9"  # safe for colour-blind readers


def ranked(estimator, called):
    """Return positions, item names (or None), text and warning of a fitted estimator with ``ranks_``, or a Pipeline.

    Estimators of other packages count as not private, even if they state a guarantee. Errors call the estimator
    `called`. The warning is "" if the release may be published.
    """
    last = last_step(estimator)
    if not hasattr(type(last), "fit"):
        raise TypeError(f"{called} must be a fitted estimator, got {safe_repr(last)}.")
    if not hasattr(last, "ranks_"):
        check_is_fitted(last)
        raise ValueError(
            f"{called} must have ranks_, where each item stands, got {type(last).__name__} that has not; of a search, "
            "pass its best_estimator_."
        )
    text = text_of(estimator if isinstance(estimator, BaseEstimator) else type(estimator))
    ours = isinstance(getattr(last, "consensus_", None), np.ndarray)
    names = names_of(last) if ours else getattr(last, "feature_names_in_", None)
    guarantee = guarantee_of(estimator)
    if math.isinf(guarantee.epsilon) or guarantee.delta >= 1:
        mark = "not private"
    elif not guarantee.certified:
        mark = "simulation only"
    else:
        mark = "read its caveats" if guarantee.caveats else ""
    return np.asarray(last.ranks_), names, text, mark


def title(ax, name, mark):
    """Write the name of a release and its warning above the axes."""
    lines = [shortened(name, 60), f"({mark})" if mark else ""]
    ax.set_title("\n".join(filter(None, lines)), fontsize="medium", parse_math=False)


# `RankIntervalDisplay`: confidence intervals for the rank of each item.


class RankIntervalDisplay(Display):
    """Display of rank intervals: a bar from the best to the worst rank of each item, and a dot at its consensus rank.

    The intervals contain the true ranks (without noise) of all items at once, with probability `level`. Build the
    display with `from_estimator`.

    Parameters
    ----------
    intervals : array-like of int, shape (n_items, 2)
        Best and worst rank of each item, 0 is best.
    ranks : array-like of shape (n_items,)
        Position of each item in the consensus, 0 is best.
    items : sequence of str or None, default=None
        Item names; None is the column indices.
    level : float, default=0.95
        Simultaneous coverage probability of the intervals.
    says : str, default="Rank"
        Meaning of the ranks, for the label of the axis.
    whose : str, default="of these voters, not of a population"
        Whose ranks the intervals contain, for the same label.
    name : str, default=""
        Name of the release.
    mark : str, default=""
        Warning shown in the title; "" if the release may be published.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    Intervals of voters describe only the uncertainty from the noise. Those of a population also describe that of its
    sample. If voters randomise their ballots, the same intervals hold for both. The picture states whose ranks they
    are.

    .. rubric:: Privacy

    The picture is a function of the release. It may be published if the release may.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.plotting import RankIntervalDisplay
    >>> borda = DPBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2, 3]] * 60 + [[1, 0, 3, 2]] * 50)
    >>> RankIntervalDisplay.from_estimator(borda).intervals.tolist()
    [[0, 1], [0, 1], [2, 3], [2, 3]]
    """

    def __init__(
        self,
        intervals: ArrayLike,
        ranks: ArrayLike,
        items: Iterable[Any] | None = None,
        *,
        level: float = 0.95,
        says: str = "Rank",
        whose: str = OF_VOTERS,
        name: str = "",
        mark: str = "",
    ) -> None:
        self.ranks = read_positions(ranks, "ranks")
        self.intervals = _read_intervals(intervals, self.ranks.shape)
        self.item_names = names_of_items(items, len(self.ranks))
        check_number(level, "level", above=0, below=1)
        self.level, self.says, self.whose, self.name, self.mark = float(level), says, whose, name, mark

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, level: float = 0.95, of: Of | None = None, name: str | None = None
    ) -> Self:
        """Make the display from the intervals of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Estimator with ``rank_intervals`` after `fit`, or a Pipeline that ends in one.
        level : float, default=0.95
            Simultaneous coverage probability of the intervals, at least.
        of : {"voters", "population"} or None, default=None
            Whose ranks they contain, as in ``rank_intervals``.
        name : str or None, default=None
            Name of the release; None is the class and its changed parameters.

        Returns
        -------
        RankIntervalDisplay
            Not drawn yet. It is marked "simulation only" if a seed was given.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        ValueError
            If the distribution of its published noise is unknown, or ``rank_intervals`` refuses `level` or `of`.
        """
        positions, names, text, mark = ranked(estimator, "estimator")
        last = last_step(estimator)
        if not hasattr(last, "rank_intervals"):
            raise ValueError(
                f"estimator must have rank_intervals, got {text}, which publishes no scores or margins of known "
                "noise. Use DPBorda with Laplace or Gaussian noise, DPPairwise or LDPPairwise."
            )
        intervals = last.rank_intervals(level, of=of)
        says: dict[str, Any] = {"says": SAYS[last.noise_.on], "whose": last.noise_.whose(of), "mark": mark}
        return cls(intervals, positions, names, level=level, name=text if name is None else name, **says)

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar from the best to the worst rank of each item, in the order of the consensus.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None makes a figure, higher for more items, up to 11 inches. Of items whose names
            would overlap, only every second or third is named.

        Returns
        -------
        RankIntervalDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_items = len(self.ranks)
        ax = item_axes(ax, n_items)
        ax.grid(axis="x", color=tone(ax, 0.08))
        items, places = np.argsort(self.ranks, kind="stable"), np.arange(n_items)
        best, worst = 1 + self.intervals[items].T
        thick = 9 if n_items <= 30 else 4
        # A bar begins and ends a little beside its ranks, so that an interval of one rank shows.
        label = f"{100 * self.level:.6g} %: all at once"
        bars = ax.hlines(places, best - 0.1, worst + 0.1, color=SKY, lw=thick, label=label)
        style = {"color": tone(ax, 1), "ms": thick / 2 + 1, "zorder": 3, "label": "consensus"}
        dots = ax.plot(1 + self.ranks[items], places, "o", **style)
        names = fitting(self.item_names, 28)
        name_rows(ax, [names[item] for item in items])
        ax.set_xlim(0.5, n_items + 0.5)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel(f"{self.says}, 1 is best\n{self.whose}", parse_math=False)
        title(ax, self.name, self.mark)
        return self._finish(ax, [bars, *dots], pad=6.0)  # the label of the axis has two lines


def _read_intervals(intervals, shape):
    """Return intervals as an array of int; raise ValueError unless there is one for each of the ranks of this shape."""
    array = np.asarray(intervals)
    if array.shape != (*shape, 2) or array.dtype.kind not in "iu" or (array[..., 0] > array[..., 1]).any():
        where = f" in each of the {shape[0]} segments" if len(shape) == 2 else ""
        raise ValueError(f"intervals must hold the best and the worst rank of each of the {shape[-1]} items{where}.")
    return array


# `ConsensusDisplay`: two consensus rankings side by side.

# Styles and labels by kind of line. Lines with a crossing are heavy, and their style shows the direction.
_HEAVY = {"lw": 2.0, "zorder": 3}
_STYLES: dict[str, dict[str, Any]] = {
    "up": {"color": BLUE, "linestyle": "-", "marker": "o", "label": "crosses, better right", **_HEAVY},
    "down": {"color": VERMILION, "linestyle": "--", "marker": "s", "label": "crosses, better left", **_HEAVY},
    "level": {"color": "0.5", "linestyle": ":", "marker": "D", "label": "crosses, same place", **_HEAVY},
    "still": {"color": "0.5", "linestyle": "-", "marker": ".", "label": "crosses no other", "lw": 0.9, "zorder": 2},
}


class ConsensusDisplay(Display):
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
        marks: tuple[str, str] = ("not private", "not private"),
    ) -> None:
        self.left = read_positions(left, "left")
        self.right = read_positions(right, "right", len(self.left))
        self.item_names = names_of_items(items, len(self.left))
        for texts, called in ((names, "names"), (marks, "marks")):
            if isinstance(texts, str) or len(texts) != 2:
                raise ValueError(f"{called} must hold two strings, one a side, got {texts!r}.")
        self.names, self.marks = tuple(map(str, names)), tuple(map(str, marks))
        signs, other_signs = (np.sign(side[:, None] - side) for side in (self.left, self.right))
        opposite = signs * other_signs < 0
        self.n_crossings = int(opposite.sum()) // 2
        self.n_half_tied = int(((signs == 0) != (other_signs == 0)).sum()) // 2
        self._crosses = opposite.any(axis=1)
        sides = (self.left, self.right), (self.right, self.left)
        self.places = np.array([np.argsort(np.lexsort([other, own])) for own, other in sides])

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
        positions, own, text, mark = ranked(left, "left")
        moved, other, other_text, other_mark = ranked(right, "right")
        positions, moved = read_positions(positions, "ranks_ of left"), read_positions(moved, "ranks_ of right")
        if len(positions) != len(moved):
            raise ValueError(f"left and right must rank the same items, got {len(positions)} and {len(moved)} items.")
        if own is not None and other is not None:
            column = {name: k for k, name in enumerate(other)}
            if set(column) != set(own):
                raise ValueError("left and right must rank the same items, got different names of items.")
            moved = moved[[column[name] for name in own]]
        names = (text, other_text) if names is None else names
        return cls(positions, moved, other if own is None else own, names=names, marks=(mark, other_mark))

    @classmethod
    def from_positions(
        cls,
        left: ArrayLike,
        right: ArrayLike,
        *,
        items: Iterable[Any] | None = None,
        names: tuple[str, str] = ("left", "right"),
        marks: tuple[str, str] = ("not private", "not private"),
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
        n_items, places = len(self.left), self.places
        ax = item_axes(ax, n_items)
        handles = {}
        for start, end, crosses in zip(*places, self._crosses, strict=True):
            kind = "still" if not crosses else "up" if end < start else "down" if end > start else "level"
            (handles[kind],) = ax.plot([0, 1], [start, end], ms=4, clip_on=False, **_STYLES[kind])

        names = fitting(self.item_names, 28)
        right = ax.secondary_yaxis("right")
        for axis, order, positions in ((ax, places[0], self.left), (right, places[1], self.right)):
            labels = []
            for item in np.argsort(order):  # 1 is best, and shared places have an equals sign
                tied = "=" if (positions == positions[item]).sum() > 1 else ""
                place = f"{1 + (positions < positions[item]).sum()}{tied}"
                labels.append(f"{names[item]}  {place}" if axis is ax else f"{place}  {names[item]}")
            name_rows(axis, labels)
            axis.tick_params(length=0, pad=8)
        right.spines[:].set_visible(False)
        ax.set_xlim(0, 1)
        heads = [shortened(name, 28) for name in self.names]
        if any(self.marks):  # a blank second line keeps both names at the same height
            heads = [f"{head}\n" + (f"({mark})" if mark else " ") for head, mark in zip(heads, self.marks, strict=True)]
        ax.set_xticks([0, 1], heads, parse_math=False)
        ax.tick_params(axis="x", top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
        title = f"Kendall tau distance: {self.n_crossings} of {math.comb(n_items, 2)} pairs cross"
        if half := self.n_half_tied:
            title += f", {half} {'is' if half == 1 else 'are'} tied on one side"
        ax.set_title(title, fontsize="medium")
        return self._finish(ax, [handles[kind] for kind in _STYLES if kind in handles], pad=0.5, below=True)


# `PairwiseMarginDisplay`: pairwise margins as a heat map.

_NUMBERS = 12  # largest number of items with a number in each cell


class PairwiseMarginDisplay(Display):
    """Heat map of pairwise margins, with items ordered by a consensus.

    Build it with `from_profile` or `from_estimator`. A cell shows the share of voters who prefer its row to its column,
    minus the share who prefer its column. Above the diagonal, a positive margin supports the order of the items. A
    frame marks pairs that a majority would swap.

    Parameters
    ----------
    margins : array-like of shape (n_items, n_items)
        ``margins[i, j]`` is the share of voters who prefer item i to j, minus the share who prefer j to i. It is in
        [-1, 1], or beyond if noise was added. ``margins[j, i] == -margins[i, j]``; NaN is unknown and is grey.
    positions : array-like of shape (n_items,) or None, default=None
        Position of each item in the order; smaller is better. Tied items are drawn in the order of their columns, and
        their pairs are never framed. None is the order of the columns.
    items : sequence of str or None, default=None
        Item names; None is the column indices.
    ordered_by : str or None, default=None
        Source of `positions`, for the title.
    private : bool, default=False
        Whether margins and positions may be published. If not, the title states that they are not private.

    Attributes
    ----------
    order : ndarray of int, shape (n_items,)
        Column indices of the items as drawn, best first.
    opposed : ndarray of int, shape (n_pairs, 2)
        Pairs (i, j), with i before j in the order, for which a majority prefers j.
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
        Its figure.

    Notes
    -----
    .. rubric:: Privacy

    Margins counted on ballots are not private, even if a private estimator ordered them. Use ``private=True`` only for
    margins that a private mechanism released.

    Examples
    --------
    >>> from sklearn_dprank.plotting import PairwiseMarginDisplay
    >>> display = PairwiseMarginDisplay.from_profile([[2, 0, 1], [2, 1, 0], [1, 0, 2], [2, 0, 1]])
    >>> display.margins[1]
    array([1. , 0. , 0.5])
    >>> display.order
    array([1, 2, 0])
    """

    def __init__(
        self,
        margins: ArrayLike,
        positions: ArrayLike | None = None,
        items: Iterable[Any] | None = None,
        *,
        ordered_by: str | None = None,
        private: bool = False,
    ) -> None:
        self.margins = margins = np.array(margins, dtype=float)
        n_items = len(margins) if margins.ndim else 0
        if margins.shape != (n_items, n_items) or n_items < 2:
            raise ValueError(f"margins must have shape (n_items, n_items) with at least 2 items, got {margins.shape}.")
        off = ~np.eye(n_items, dtype=bool)
        if np.isinf(margins).any() or not np.allclose(margins[off], -margins.T[off], equal_nan=True):
            raise ValueError(
                "margins[j, i] must be -margins[i, j]; give Profile.margins / n_voters, not pairwise_counts."
            )
        self.positions = np.arange(n_items) if positions is None else read_positions(positions, "positions", n_items)
        self.item_names = names_of_items(items, n_items)
        self.ordered_by, self.private = ordered_by, private
        self.order = np.argsort(self.positions, kind="stable")
        self.opposed = np.argwhere((self.positions[:, None] < self.positions) & (np.nan_to_num(margins) < 0))

    @classmethod
    def from_profile(
        cls, X: Ballots, positions: ArrayLike | None = None, *, items: Iterable[Any] | None = None
    ) -> Self:
        """Count the margins of ballots.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        positions : array-like of shape (n_items,) or None, default=None
            Consensus that orders the items, smaller is better. None is the Kemeny optimum, or else the best order found
            in about ten seconds, with a `ConvergenceWarning`.
        items : sequence of str or None, default=None
            Item names; None is those of X, or the column indices.

        Returns
        -------
        PairwiseMarginDisplay
            Not drawn yet, and not private.

        Raises
        ------
        ValueError
            If positions or names do not match the number of items.
        """
        profile = as_profile(X)
        ordered_by = None
        if positions is None:
            positions, best = best_known(profile)
            ordered_by = f"the {best}"
        names = profile.item_names if items is None else items
        return cls(profile.margins / profile.total_weight, positions, names, ordered_by=ordered_by)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: Ballots) -> Self:
        """Count the margins of ballots, and order the items by a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Estimator with ``ranks_``. Its item names are used, or else those of X.
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots over the items of the estimator's `fit`.

        Returns
        -------
        PairwiseMarginDisplay
            Not drawn yet, and not private, even if the estimator is: X is counted exactly.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If it has no ``ranks_`` or is a Pipeline, or X has other items.
        """
        positions, names, text, _ = ranked(estimator, "estimator")
        if last_step(estimator) is not estimator:
            raise ValueError("estimator is a Pipeline; give its last step, and X as positions: what reaches that step.")
        profile = as_profile(X)
        if profile.n_items != len(positions):
            raise ValueError(f"X has {profile.n_items} items, but the estimator has ranked {len(positions)}.")
        if names is not None and profile.item_names is not None and not np.array_equal(names, profile.item_names):
            raise ValueError("X must have the item names of the estimator's fit, in the same order.")
        display = cls.from_profile(profile, positions, items=names)
        display.ordered_by = text
        return display

    def plot(self, ax: Any = None) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None makes a figure, larger for more items.

        Returns
        -------
        PairwiseMarginDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Notes
        -----
        Blue cells are positive (voters prefer the row), red cells are negative, and white is a margin of 0. The colours
        are safe for colour-blind readers. The scale ends at the largest margin on both sides. For up to 12 items, cells
        have numbers. Long names are shortened in the middle. If two of them would be equal, the column number is added.
        """
        n_items = len(self.margins)
        names = fitting(self.item_names, 24)
        side = max(min(0.45 * n_items, 2.8 + 0.16 * n_items, 9.5), 2.4)  # inches
        room = 0.08 * max(map(len, names))  # for the names
        ax = axes(ax, (side + room + 1.2, side + room + 0.8))
        from matplotlib.patches import Rectangle  # after `axes`, which has the remedy if matplotlib is missing
        from matplotlib.patheffects import withStroke

        drawn = self.margins[np.ix_(self.order, self.order)]
        drawn[np.diag_indices(n_items)] = np.nan
        known = np.abs(drawn[np.isfinite(drawn)])
        limit = known.max() if known.size and known.max() > 0 else 1.0
        image = ax.imshow(np.ma.masked_invalid(drawn), cmap="RdBu", vmin=-limit, vmax=limit)
        image.set_cmap(image.cmap.with_extremes(bad=tone(ax, 0.2)))
        ax.figure.colorbar(image, ax=ax, shrink=0.8, label="share preferring the row\n− share preferring the column")
        places = np.arange(0, n_items, -(-n_items // NAMES))
        labels = [names[item] for item in self.order[places]]
        size = 9 if n_items <= 20 else 7
        ax.set_yticks(places, labels, fontsize=size, parse_math=False)
        upright = max(map(len, labels)) > 3
        ax.set_xticks(places, labels, fontsize=size, rotation=90 if upright else 0, parse_math=False)
        if n_items <= _NUMBERS:
            for i, j in np.argwhere(np.isfinite(drawn)):
                colour = "white" if abs(drawn[i, j]) > 0.6 * limit else "black"  # both ends of the scale are dark
                text = f"{drawn[i, j]:+.2f}".replace("-", "−")
                ax.text(j, i, text, ha="center", va="center", fontsize=7.5, color=colour)
        # Frames are black around white, which is visible on white and on dark cells.
        around = [withStroke(linewidth=3.2, foreground="white")]
        for i, j in np.argsort(self.order)[self.opposed]:
            ax.add_patch(Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, fill=False, ec="black", lw=1.2, path_effects=around))
        ax.tick_params(length=0)
        title = "Pairwise margins" + ("" if self.private else " (not private)")
        if self.ordered_by is not None:
            title += f"\nordered by {shortened(self.ordered_by, 48)}"
        title += "\nframed: a majority would swap the two" if len(self.opposed) else ""
        ax.set_title(title, fontsize="medium", parse_math=False)
        return self._finish(ax)


# `SegmentsDisplay`: the ranks of all items in every segment of the voters.


class SegmentsDisplay(Display):
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
        self.own_weights = None if own_weights is None else np.asarray(own_weights, dtype=float)
        weights = np.ones(n_segments) if self.own_weights is None else self.own_weights
        if weights.shape != (n_segments,) or not ((weights >= 0) & (weights <= 1)).all():
            raise ValueError(f"own_weights must hold a weight between 0 and 1 for each of the {n_segments} segments.")
        check_number(level, "level", above=0, below=1)
        check_flag(simultaneous, "simultaneous")
        self.level, self.simultaneous, self.name, self.mark = float(level), bool(simultaneous), name, mark
        self.order, self.faint = np.argsort(self.ranks.sum(axis=0), kind="stable"), weights < 0.5

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
        ranks, items, _, mark = ranked(estimator, "estimator")
        ranks, last = _read_ranks(ranks, "ranks_ of estimator"), last_step(estimator)
        intervals = last.rank_intervals(level, simultaneous) if hasattr(last, "rank_intervals") else None
        own, name = getattr(last, "own_weights_", None), text_of(last, {"classes"}) if name is None else name
        settings: dict[str, Any] = {"level": level, "simultaneous": simultaneous, "name": name, "mark": mark}
        return cls(ranks, intervals, last.segments_, items, own_weights=own, **settings)

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
        ax = item_axes(ax, n_items, 1.6 + 0.48 * n_segments)
        starts = np.arange(n_segments) * (n_items + 1 + n_items // 10)  # a gap between columns
        rows, faint, pooled = np.arange(n_items), self.faint, self.own_weights is not None
        scope = "all segments at once" if self.simultaneous else "each segment by itself"
        covers = f"{100 * self.level:.6g} %: {scope}" + (", from own answers only" if pooled else "")
        size = 4.0 if self.ranks.size <= 300 else 3.0
        handles: dict[str, Any] = {}
        for k in np.argsort(faint, kind="stable"):
            start = starts[k]
            ax.axvspan(start + 0.5, start + n_items + 0.5, color=tone(ax, 0.045), lw=0, zorder=0)
            (line,) = ax.plot(start + 1 + rows, rows, color=tone(ax, 0.55), lw=0.8, zorder=2.5)
            edge, fill = (tone(ax, 0.5), tone(ax, 0)) if faint[k] else (tone(ax, 1), tone(ax, 1))
            dots = {"ms": size, "mfc": fill, "mec": edge, "zorder": 3}
            (points,) = ax.plot(start + 1 + self.ranks[k, self.order], rows, "o", **dots)
            says = "rank, pooled with the other segments" if pooled else "rank"
            handles.setdefault("faint: rank mostly from the other segments' answers" if faint[k] else says, points)
            if self.intervals is not None:
                best, worst = self.intervals[k, self.order].T
                colour = tone(ax, 0.18) if faint[k] else SKY
                bars = ax.barh(rows, worst - best + 1, 0.72, start + best + 0.5, color=colour, zorder=2)
                handles.setdefault(covers, bars)
            handles["order of the rows: mean rank over the segments"] = line
        for label, handle in handles.items():
            handle.set_label(label)
        names = fitting(self.item_names, 28)
        name_rows(ax, [names[item] for item in self.order])
        title(ax, self.name, self.mark)
        # The first and the last rank are below the columns, and the labels of the segments above them.
        ax.set_xlim(0.4, starts[-1] + n_items + 0.6)
        shown = starts if n_segments <= 8 else starts[:1]
        ax.set_xticks(np.ravel([[start + 1, start + n_items] for start in shown]), ["1", str(n_items)] * len(shown))
        ax.tick_params(length=0)
        ax.set_xlabel(f"{SAYS['scores']}, 1 is best\n{OF_VOTERS}")
        top = ax.secondary_xaxis("top")
        top.spines[:].set_visible(False)
        top.tick_params(length=0)
        labels = fitting(self.segments, 28)
        top.set_xticks(starts + (n_items + 1) / 2, labels, fontsize=9 if n_segments <= 30 else 7, parse_math=False)
        self._finish(ax, handles.values(), ncols=2 if n_segments > 15 else 1, pad=5.0, below=True)
        texts = top.get_xticklabels()
        for text, pale in zip(texts, faint, strict=True):
            text.set_color(tone(ax, 0.5 if pale else 1))
        ax.figure.canvas.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in texts]
        if any(one.x1 + 4 > other.x0 for one, other in pairwise(boxes)):
            for text in texts:
                text.set(rotation=45, rotation_mode="anchor", ha="left", va="bottom")
        return self


def _read_ranks(ranks, name):
    """Return positions as floats of shape (n_segments, n_items); raise ValueError if they are not."""
    if np.ndim(ranks) != 2 or not np.size(ranks):
        raise ValueError(
            f"{name} must hold a position for each item in each segment, got shape {np.shape(ranks)}; fit a "
            "SegmentedAggregator with classes."
        )
    return np.array([read_positions(row, name) for row in ranks])
