"""Net wins and exposures of each person's items, from comparisons or ratings, in integer steps of 1 / 720720."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .rows import changes, sorted_together, wins_of
from .weights import WEIGHT_GRID


@dataclass(frozen=True)
class Cells:
    """Net wins and exposures of each person's items, sorted by person and item.

    Attributes
    ----------
    persons, items : ndarray of int, shape (n_cells,)
        Numbers of the person and of the item.
    net_wins, exposures : ndarray of int64, shape (n_cells,)
        In grid steps; absolute net wins do not exceed exposures.
    weights : ndarray of int64, shape (n_persons,), or None
        Weight of each person in grid steps, which is that of a ballot if persons have several. None is 1 for each.
    """

    persons: NDArray[np.intp]
    items: NDArray[np.intp]
    net_wins: NDArray[np.int64]
    exposures: NDArray[np.int64]
    weights: NDArray[np.int64] | None

    def expected(self, strengths: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the net wins that a model with these strengths expects in each cell, in grid steps."""
        raise NotImplementedError


@dataclass(frozen=True)
class ComparedCells(Cells):
    """Cells of comparisons: wins minus losses, and the number of comparisons.

    Attributes
    ----------
    first, second : ndarray of int, shape (n_rows,)
        Compared items.
    places : ndarray of int, shape (2 n_rows,)
        Cells of all first items, then of all second items.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, persons: NDArray[Any], first: NDArray[Any], second: NDArray[Any], outcome: NDArray[Any]) -> Self:
        """Return the cells of comparisons; an outcome is 1 if `first` won, -1 if `second` won, and 0 for a tie.

        Examples
        --------
        >>> cells = ComparedCells.of(*np.array([[0, 0], [2, 1], [1, 3], [1, 0]]))
        >>> (cells.net_wins // 720720).tolist(), (cells.exposures // 720720).tolist()
        ([-1, 1, 0], [2, 1, 1])
        """
        columns: Any = np.concatenate([persons, persons]), np.concatenate([first, second]), np.arange(2 * len(first))
        persons, items, rows = sorted_together(*((each, each.max(initial=0) + 1) for each in columns))
        starts = changes(persons) | changes(items)
        places = np.empty(len(rows), dtype=np.intp)
        places[rows] = np.cumsum(starts) - 1
        net_wins = WEIGHT_GRID * _both_ways(places, outcome)
        exposures = WEIGHT_GRID * np.bincount(places, minlength=len(net_wins))
        return cls(persons[starts], items[starts], net_wins, exposures, None, first, second, places)

    def expected(self, strengths: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return sums of round(720720 tanh((s_i - s_j) / 2)) over the comparisons of i with j."""
        gaps = strengths[self.first] - strengths[self.second]
        return _both_ways(self.places, np.rint(WEIGHT_GRID * np.tanh(gaps / 2)))


def _both_ways(places, values):
    """Return sums of whole values by cell, int64: as they are for first items, and negated for second items."""
    return np.rint(np.bincount(places, np.concatenate([values, -values]))).astype(np.int64)


@dataclass(frozen=True)
class RatedCells(Cells):
    """Cells of ratings: net wins among the items that the person rates, divided by their number minus 1.

    Attributes
    ----------
    sizes : ndarray of int, shape (n_cells,)
        Number of items that the person rates, at least 2.
    """

    sizes: NDArray[np.int64]

    @classmethod
    def of(
        cls, persons: NDArray[Any], items: NDArray[Any], values: NDArray[Any], weights: NDArray[np.int64] | None = None
    ) -> Self:
        """Return the cells of ratings, larger is better, each item rated once; a single rating counts nothing.

        Examples
        --------
        >>> cells = RatedCells.of(*np.array([[0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 2], [5, 3, 1, 2, 4, 5]]))
        >>> (cells.net_wins // 720720).tolist(), cells.items.tolist()
        ([1, 0, -1, -1, 1], [0, 1, 2, 0, 1])
        """
        order = np.lexsort((values, persons))
        persons, items, values = (each[order] for each in (persons, items, values))
        losses, sizes = wins_of(persons, values)  # a larger value is a later place, and better
        kept = np.lexsort((items, persons))
        kept = kept[sizes[kept] > 1]
        persons, items, wins, sizes = (each[kept] for each in (persons, items, -losses, sizes))
        net_wins = np.sign(wins) * (np.abs(wins) * WEIGHT_GRID // np.maximum(sizes - 1, 1))
        return cls(persons, items, net_wins, np.full(len(items), WEIGHT_GRID), weights, sizes)

    def expected(self, strengths: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return floor((k t_i - sum of t) / (k - 1)) for a person with k items, with t = round(720720 s)."""
        steps = np.rint(WEIGHT_GRID * strengths)[self.items]
        total = np.bincount(self.persons, steps)[self.persons]
        return ((self.sizes * steps - total) // (self.sizes - 1)).astype(np.int64)
