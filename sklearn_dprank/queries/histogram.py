"""Histogram of complete rankings."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_flag
from ..ballots.reading import completed
from ..orders.permutations import indexed_permutations, permutation_index
from .base import Query

_STARTS = 1 << 10  # places of the first items summed at a time; temporaries stay in cache


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
    largest: ClassVar[int] = 10
    needs = "positions"
    takes_weights = True
    published_as = "histogram"

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls(), cls(unseen_last=True)]

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


class Halves(NamedTuple):
    """Histogram split into the places of the first m - h items and the order of the other h = m // 2 items.

    Pairwise counts and positions follow from arrays of length m! / h! and h!, which are much shorter than m!.

    Attributes
    ----------
    places : ndarray of int, shape (m - h, m! / h!)
        Places of the first items.
    counts : ndarray, shape (m! / h!,)
        Number of rankings with these places.
    free : ndarray of int, shape (h, m! / h!)
        Places that remain for the other items, ascending.
    filled : ndarray, shape (h, h, m! / h!)
        ``filled[j][r]``: number of rankings with these places and item m - h + j at the r-th remaining place.
    ranks : ndarray of int, shape (h, h!)
        Rank of each of the other items among the remaining places.
    tails : ndarray, shape (h!,)
        Number of rankings with these ranks.
    """

    places: NDArray[Any]
    counts: NDArray[Any]
    free: NDArray[Any]
    filled: NDArray[Any]
    ranks: NDArray[Any]
    tails: NDArray[Any]


def halves(histogram: NDArray[Any]) -> Halves:
    """Return the `Halves` of a histogram of all rankings."""
    n_items = items_of(histogram)
    half = n_items // 2
    orders = factorial(half)
    # The leading digits of a cell's number give the places of the first items, the others the order of the rest.
    # In cells whose other digits are 0, the rest is in ascending order.
    starts = indexed_permutations(np.arange(0, len(histogram), orders), n_items)
    ranks = indexed_permutations(np.arange(orders), half)
    first, by_rank = n_items - half, [np.argsort(rank, kind="stable") for rank in ranks]
    table, tails = histogram.reshape(-1, orders), np.zeros(orders, dtype=histogram.dtype)
    filled = np.empty((half, half, len(table)), dtype=histogram.dtype)
    for start in range(0, len(table), _STARTS):
        block = slice(start, start + _STARTS)
        by_tail = np.ascontiguousarray(table[block].T)
        tails += by_tail.sum(axis=1)
        for places, order in zip(filled, by_rank, strict=True):
            places[:, block] = by_tail[order].reshape(half, orders // half, -1).sum(axis=1)
    return Halves(starts[:first], filled[0].sum(axis=0), starts[first:], filled, ranks, tails)


def items_of(histogram):
    """Return m such that the histogram has m! cells."""
    return next(m for m in range(1, 21) if factorial(m) == len(histogram))
