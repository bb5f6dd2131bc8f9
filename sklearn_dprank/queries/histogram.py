"""Histogram of complete rankings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import factorial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_flag
from ..ballots.reading import completed
from ..orders.permutations import indexed_permutations, permutation_index
from .base import Query

_LISTED = 5  # items whose rankings are listed; larger histograms are split by the place of the first item


@dataclass(frozen=True)
class Histogram(Query):
    """Number of voters with each of the n_items! complete strict rankings (Shang et al. 2014).

    Tied and partial ballots are first completed by fair coins of each voter; see
    `sklearn_dprank.ballots.reading.completed`. Cells are numbered by
    `sklearn_dprank.orders.permutations.permutation_index`.

    Parameters
    ----------
    unseen_last : bool, default=False
        Whether to place items without an opinion behind all others, as positional scores do. False places them before
        or behind the others by a coin, which keeps the expected margins and net wins.
    """

    unseen_last: bool = False  # type: ignore[misc]  # a class constant of other queries
    in_words = "the number of voters with each ranking"
    largest: ClassVar[int] = 10
    needs = "positions"
    takes_weights = True
    published_as = "histogram"

    def __post_init__(self):
        check_flag(self.unseen_last, "unseen_last")

    def check(self, n_items: int) -> None:
        if n_items > self.largest:
            raise ValueError(
                f"a histogram of all {n_items}! rankings is explicit up to {self.largest} items only; beyond, use "
                "noise='gaussian' with the Borda or a positional rule (an equivalent shortcut), or DPBorda."
            )

    def summed_as(self, n_items: int) -> str:
        return "histogram_unseen_last" if self.unseen_last else "histogram"

    @property
    def derivable_from(self) -> tuple[Query, ...]:  # type: ignore[override]
        return (Histogram(),) if self.unseen_last else ()

    def derive_from(self, source: Query, answer: Any) -> Any:
        return answer  # the ballots are already completed

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        index = permutation_index(completed_ballots(profile, coins, self.unseen_last))
        if profile.weights is None:
            return np.bincount(index, minlength=factorial(profile.n_items))
        cells = np.zeros(factorial(profile.n_items), dtype=np.int64)
        np.add.at(cells, index, profile.weights.each)
        return cells

    def __str__(self):
        return f"Histogram(unseen_last={self.unseen_last})" if self.unseen_last else "Histogram"


def completed_ballots(profile, coins, unseen_last):
    """Return every ballot as a complete strict ranking, shape (n_items, n_voters).

    Strict ballots are processed like all others, because the time must not reveal whether all ballots are strict.
    """
    if profile.positions is None:
        raise ValueError("a histogram needs the ballots; build the Profile with keep='positions'.")
    return completed(profile.positions.table, profile.positions.sentinel, coins, unseen_last=unseen_last)


def items_of(histogram):
    """Return m such that the histogram has m! cells in its last axis."""
    return next(m for m in range(1, 21) if factorial(m) == histogram.shape[-1])


def place_counts(histogram: NDArray[Any]) -> NDArray[Any]:
    """Return the number of rankings with each item at each place, shape (..., m, m), for m! cells in the last axis."""
    m = items_of(histogram)
    counts = np.zeros((*histogram.shape[:-1], m, m), dtype=histogram.dtype)
    if m <= _LISTED:
        places = indexed_permutations(np.arange(factorial(m)), m)
        for item, place in product(range(m), repeat=2):
            counts[..., item, place] = histogram[..., places[item] == place].sum(axis=-1)
        return counts
    # The leading digit of a cell's number is the place of the first item. The rest numbers the order of the others.
    by_first = histogram.reshape(*histogram.shape[:-1], m, -1)
    counts[..., 0, :] = by_first.sum(axis=-1)
    ranks = place_counts(by_first)
    for place in range(m):
        counts[..., 1:, np.arange(m) != place] += ranks[..., place, :, :]
    return counts
