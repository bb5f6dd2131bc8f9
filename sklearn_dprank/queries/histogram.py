"""The histogram: how many voters gave each complete ranking."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._types import GaussianConstant, Neighboring
from ..orders.permutations import indexed_permutations, permutation_index
from ..rankings import completed
from .base import Query, Sensitivity, moves

_CELLS = 1 << 16  # cells read at a time


@dataclass(frozen=True)
class Histogram(Query):
    """How many voters gave each of the n_items! complete strict rankings (Shang et al. 2014).

    Tied and partial ballots are first completed by fair coins, voter by voter; see
    `sklearn_dprank.rankings.completed`. Cells are numbered by
    `sklearn_dprank.orders.permutations.permutation_index`.

    Parameters
    ----------
    unseen_last : bool, default=False
        Whether items without an opinion are completed as positional scores have it, behind all others. False
        puts them on either side by a coin, as margins and net wins have it.
    """

    unseen_last: bool = False  # type: ignore[misc]  # a trait of other queries, a choice here
    largest: ClassVar[int] = 10
    needs = "positions"
    published_as = "histogram"

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls(), cls(unseen_last=True)]

    def check(self, n_items: int) -> None:
        if n_items > self.largest:
            raise ValueError(
                f"a histogram of all {n_items}! rankings is explicit up to {self.largest} items only; beyond, use "
                "noise='gaussian' with the Borda or a positional rule (an equivalent shortcut), or DPBorda."
            )

    def summed_as(self, n_items: int) -> str:
        return "histogram_unseen_last" if self.unseen_last else "histogram"

    @property
    def steps(self) -> tuple[Query, ...]:
        return (Histogram(),) if self.unseen_last else ()

    def step(self, source: Query, answer: Any) -> Any:
        return answer  # ballots were completed already, once and for all

    def covering(self, queries: Iterable[Query]) -> Query:
        return Histogram(unseen_last=True) if all(query.unseen_last for query in queries) else self

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        index = permutation_index(completed_ballots(profile, coins, self.unseen_last))
        return np.bincount(index, minlength=factorial(profile.n_items))

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        change = moves(neighboring)
        return Sensitivity(change, Fraction(change))

    def published_l1(self, n_items: int) -> int | None:
        return 1  # Shang et al. and Hay et al.'s P-BORDA-HIST: Lap(1/epsilon), right under add/remove only

    def published_gaussian(self, n_items: int) -> tuple[int, GaussianConstant]:
        return 1, "two"  # Shang et al. 2014, Theorem 1

    def __str__(self):
        return f"Histogram(unseen_last={self.unseen_last})" if self.unseen_last else "Histogram"


def completed_ballots(profile, coins, unseen_last):
    """Return every ballot as a complete strict ranking, shape (n_items, n_voters).

    Strict ballots are completed like all others: time must not tell whether one of them was not.
    """
    if profile.positions is None:
        raise ValueError("a histogram needs the ballots; build the Profile with keep='positions'.")
    return completed(profile.positions.table, profile.positions.sentinel, coins, unseen_last=unseen_last)


def cells(histogram, n_items):
    """Yield (positions, counts) of the histogram's cells, block by block."""
    for start in range(0, len(histogram), _CELLS):
        counts = histogram[start : start + _CELLS]
        yield indexed_permutations(np.arange(start, start + len(counts)), n_items), counts


def items_of(histogram):
    """Return m such that the histogram has m! cells."""
    return next(m for m in range(1, 21) if factorial(m) == len(histogram))
