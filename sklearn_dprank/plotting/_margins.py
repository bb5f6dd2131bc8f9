"""`PairwiseMarginDisplay`: pairwise margins as a heat map."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.scikit_learn import BaseEstimator
from ..ballots.profile import Ballots, as_profile
from ..privacy.estimator_guarantees import last_step
from ._errors import best_known
from ._ranked import ranked
from ._style import LABEL, NAMES, SMALL, TITLE, axes, finished, fitting, names_of_items, read_positions, shortened, tone

_NUMBERS = 12  # largest number of items with a number in each cell
_LONGEST = 24  # characters of a name
_LARGE = 20  # largest number of items with names of the usual size


class PairwiseMarginDisplay:
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
        self.margins = _read_margins(margins)
        n_items = len(self.margins)
        self.positions = np.arange(n_items) if positions is None else read_positions(positions, "positions", n_items)
        self.item_names = names_of_items(items, n_items)
        self.ordered_by = ordered_by
        self.private = private

    @property
    def order(self) -> NDArray[np.intp]:
        """Column indices of the items as drawn, best first."""
        return np.argsort(self.positions, kind="stable")

    @property
    def opposed(self) -> NDArray[np.intp]:
        """Pairs (i, j), with i before j in the order, for which a majority prefers j."""
        above = self.positions[:, None] < self.positions[None, :]
        return np.argwhere(above & (np.nan_to_num(self.margins) < 0))

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
            best = best_known(profile)
            positions, ordered_by = best.positions, f"the {best.name}"
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
        shown = ranked(estimator, "estimator")
        if last_step(estimator) is not estimator:
            raise ValueError("estimator is a Pipeline; give its last step, and X as positions: what reaches that step.")
        profile = as_profile(X)
        if profile.n_items != len(shown.positions):
            raise ValueError(f"X has {profile.n_items} items, but the estimator has ranked {len(shown.positions)}.")
        names = shown.item_names
        if names is not None and profile.item_names is not None and not np.array_equal(names, profile.item_names):
            raise ValueError("X must have the item names of the estimator's fit, in the same order.")
        display = cls.from_profile(profile, shown.positions, items=names)
        display.ordered_by = shown.text
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
        names = fitting(self.item_names, _LONGEST)
        side = max(min(0.45 * n_items, 2.8 + 0.16 * n_items, 9.5), 2.4)  # inches
        room = (0.08 if n_items <= _LARGE else 0.06) * max(map(len, names))  # for the names
        ax = axes(ax, (side + room + 1.2, side + room + 0.8))
        drawn = self.margins[np.ix_(self.order, self.order)]
        drawn[np.diag_indices(n_items)] = np.nan
        known = np.abs(drawn[np.isfinite(drawn)])
        limit = known.max() if known.size and known.max() > 0 else 1.0
        image = ax.imshow(np.ma.masked_invalid(drawn), cmap="RdBu", vmin=-limit, vmax=limit)
        image.set_cmap(image.cmap.with_extremes(bad=tone(ax, 0.2)))
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=SMALL)
        bar.set_label("share preferring the row\n− share preferring the column", fontsize=LABEL)
        self._name_items(ax, names)
        if n_items <= _NUMBERS:
            _write_numbers(image, drawn)
        self._frame_opposed(ax)
        ax.spines[:].set_color(tone(ax, 0.2))
        ax.tick_params(length=0)
        ax.set_title(self._title(), fontsize=TITLE, parse_math=False)
        self.ax_, self.figure_ = finished(ax)
        return self

    def _title(self):
        title = "Pairwise margins" + ("" if self.private else " (not private)")
        if self.ordered_by is not None:
            title += f"\nordered by {shortened(self.ordered_by, 48)}"
        return title + ("\nframed: a majority would swap the two" if len(self.opposed) else "")

    def _name_items(self, ax, names):
        """Label rows and columns, in a smaller font for many items."""
        n_items = len(self.margins)
        places = np.arange(0, n_items, -(-n_items // NAMES))
        labels = [names[item] for item in self.order[places]]
        size = LABEL if n_items <= _LARGE else 7
        ax.set_yticks(places, labels, fontsize=size, parse_math=False)
        upright = max(map(len, labels)) > 3
        ax.set_xticks(places, labels, fontsize=size, rotation=90 if upright else 0, parse_math=False)

    def _frame_opposed(self, ax):
        """Frame the cells above the diagonal with a majority against the order."""
        from matplotlib.patches import Rectangle
        from matplotlib.patheffects import withStroke

        around, place = [withStroke(linewidth=3.2, foreground="white")], np.argsort(self.order)
        for i, j in place[self.opposed]:
            # Black around white is visible on white and on dark cells.
            ax.add_patch(Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, fill=False, ec="black", lw=1.2, path_effects=around))


def _read_margins(margins):
    """Return margins as a new square array of floats; raise ValueError if they are invalid."""
    margins = np.array(margins, dtype=float)
    if margins.ndim != 2 or margins.shape[0] != margins.shape[1] or len(margins) < 2:
        raise ValueError(f"margins must have shape (n_items, n_items) with at least 2 items, got {margins.shape}.")
    off = ~np.eye(len(margins), dtype=bool)
    if np.isinf(margins).any() or not np.allclose(margins[off], -margins.T[off], equal_nan=True):
        raise ValueError("margins[j, i] must be -margins[i, j]; give Profile.margins / n_voters, not pairwise_counts.")
    return margins


def _write_numbers(image, drawn):
    """Write each known margin into its cell, dark on light or light on dark."""
    for (i, j), margin in np.ndenumerate(drawn):
        if np.isfinite(margin):
            text = f"{margin:+.2f}".replace("-", "−")
            red, green, blue, _ = image.cmap(image.norm(margin))
            colour = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else "white"
            image.axes.text(j, i, text, ha="center", va="center", fontsize=7.5, color=colour)
