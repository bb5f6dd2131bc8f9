"""The best few items in order, by the largest margin that they overrule."""

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Self

from numpy.typing import NDArray

from .._utils.checks import check_whole, shown
from .._utils.types import Neighboring
from ..orders.samplers.top_k import TopFlips, TopSampler, largest_batch, n_ways
from .base import Sensitivity, moves
from .utilities import OrderUtility, are_items


@dataclass(frozen=True)
class MaxViolatedPrefixMargin(OrderUtility):
    """The largest margin that the first k items overrule, signed: of any item over one that stands before it.

    The others are not put in order. One ballot moves every margin, and so the cost, by at most 1 (2 if it is replaced),
    up or down: the loss per unit of rate is twice that. The answer is k items, best first.

    Parameters
    ----------
    k : int, default=1
        How many; fewer than there are items to choose from, m. Of more than 16 items m^k must be at most a million.
    placed : tuple of int or None, default=None
        Public: items that stand before these already, and do not count.
    """

    k: int = 1
    placed: tuple[int, ...] | None = None

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls(), cls(2), cls(n_items - 2, (1,))]

    def cost(self, margins: NDArray[Any], order: NDArray[Any]) -> float:
        before, top = set(self.placed or ()), list(order)[: self.k]
        if before & set(top):
            return inf
        overruled = []
        for item in top:
            before.add(item)
            overruled += [margins[other, item] for other in range(len(margins)) if other not in before]
        return max(overruled)

    @property
    def kind(self) -> Any:
        return MaxViolatedPrefixMargin, self.k

    def sampler(self, margins: NDArray[Any], rate: float, choice: str) -> Any:
        return TopSampler(margins, self.k, rate, self.placed or ())

    @property
    def counted_by_cost(self) -> bool:
        return True

    def flips(self, margins: NDArray[Any], rate: float) -> Any:
        return TopFlips(margins, self.k, rate, self.placed or ())

    def check(self, n_items: int) -> None:
        check_whole(self.k, "k")
        placed = () if self.placed is None else self.placed
        if not are_items(placed, n_items):
            raise ValueError(f"placed must hold different items, from 0 to {n_items - 1}.")
        left = n_items - len(placed)
        if self.k > left:
            raise ValueError(
                f"k={shown(self.k)} is more than the {left} items there are to choose from; take k up to {left - 1}."
            )
        if self.k == left:
            raise ValueError(
                f"k={shown(self.k)} of {left} items is all of them, in order; take DPPrudentOrder, or k up to "
                f"{left - 1}."
            )
        if self.k > largest_batch(left):
            raise ValueError(
                f"there are {n_ways(left, self.k):.2g} ways to choose {self.k} of {left} items in order, too many to "
                f"list; choose up to {largest_batch(left)} at once, with ChooseTop."
            )

    def options(self, n_items: int) -> int:
        return n_items * (n_items - 1)

    def warn_of_few(self, n_items: int, said: float) -> None:
        least = math.log(n_ways(n_items, self.k))
        if said / 2 < least:
            warnings.warn(
                f"the best {self.k} of {n_items} items are little better than chance where half of n_voters * epsilon "
                f"is below the log of the number of choices, {least:.3g}, and here it is {said / 2:.3g}: take a larger "
                "epsilon, or net wins (DPBorda with noise='knorm').",
                UserWarning,
                stacklevel=2,
            )

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        loss = 2 * moves(neighboring)
        return Sensitivity(loss, Fraction(loss**2))

    def __str__(self):
        return f"MaxViolatedPrefixMargin of {self.k}"
