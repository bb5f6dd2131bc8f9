"""`RankIntervalDisplay`: confidence intervals for the rank of each item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.checks import check_number
from .._utils.scikit_learn import BaseEstimator
from ..privacy.estimator_guarantees import last_step
from ._ranked import OF_WHOM, SAYS, mark_of, ranked
from ._style import (
    BLUE,
    LABEL,
    SKY,
    dress,
    finished,
    fitting,
    head,
    ink,
    item_axes,
    name_rows,
    names_of_items,
    place_legend,
    read_positions,
)


class RankIntervalDisplay:
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
    The intervals describe these voters, and only the uncertainty from the noise. They do not describe a population from
    which the voters may be a sample. The picture states this.

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
        name: str = "",
        mark: str = "",
    ) -> None:
        self.ranks = read_positions(ranks, "ranks")
        self.intervals = np.asarray(intervals)
        n_items = len(self.ranks)
        bounds = self.intervals.shape == (n_items, 2) and self.intervals.dtype.kind in "iu"
        if not bounds or (self.intervals[:, 0] > self.intervals[:, 1]).any():
            raise ValueError(f"intervals must hold the best and the worst rank of each of the {n_items} items.")
        self.item_names = names_of_items(items, n_items)
        check_number(level, "level", above=0, below=1)
        self.level, self.says, self.name, self.mark = float(level), says, name, mark

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, level: float = 0.95, name: str | None = None) -> Self:
        """Make the display from the intervals of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Estimator with ``rank_intervals`` after `fit`, or a Pipeline that ends in one.
        level : float, default=0.95
            Simultaneous coverage probability of the intervals, at least.
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
            If the distribution of its published noise is unknown, or `level` is not between 0 and 1.
        """
        one, last = ranked(estimator, "estimator"), last_step(estimator)
        if not hasattr(last, "rank_intervals"):
            raise ValueError(
                f"estimator must have rank_intervals, got {one.text}, which publishes no scores or margins of known "
                "noise; DPBorda with Laplace or Gaussian noise does, and so does DPPairwise, and LDPPairwise."
            )
        return cls(
            last.rank_intervals(level),
            one.positions,
            one.item_names,
            level=level,
            says=SAYS[last.noise_.on],
            name=one.text if name is None else name,
            mark=mark_of(one.guarantee),
        )

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
        dress(ax, "x")
        items = np.argsort(self.ranks, kind="stable")
        best, worst = 1 + self.intervals[items].T
        places, thick = np.arange(n_items), 9.0 if n_items <= 12 else 6.0 if n_items <= 30 else 3.0
        bars = ax.hlines(places, best, worst, color=SKY, lw=thick, label=f"{100 * self.level:.6g} %: all at once")
        ax.plot(best, places, "|", color=BLUE, ms=thick + 2, mew=1.5)
        ax.plot(worst, places, "|", color=BLUE, ms=thick + 2, mew=1.5)
        (dots,) = ax.plot(
            1 + self.ranks[items], places, "o", color=ink(ax), ms=thick / 2 + 1, label="consensus", zorder=3
        )
        self._label(ax, items)
        place_legend(ax, [bars, dots], pad=6.0)  # the label of the axis has two lines
        self.ax_, self.figure_ = finished(ax)
        return self

    def _label(self, ax, items):
        """Label the axes, and state that the picture describes these voters only."""
        n_items = len(items)
        names = fitting(self.item_names, 28)
        name_rows(ax, [names[item] for item in items])
        ax.set_xlim(0.5, n_items + 0.5)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel(f"{self.says}, {OF_WHOM}", fontsize=LABEL, parse_math=False)
        head(ax, self.name, self.mark)
