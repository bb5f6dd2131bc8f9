"""Queries whose answer is an order, with the cost of every order: Kemeny, prudent orders, top k."""

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_whole, shown
from .._utils.types import Neighboring
from ..orders.samplers.linear_extensions import MinimaxMarginFlips, MinimaxMarginSampler
from ..orders.samplers.partition import PartitionTable
from ..orders.samplers.top_k import TopFlips, TopSampler, largest_batch, n_ways
from ..orders.samplers.windowed import WindowedSampler
from .base import Query, Sensitivity, moves, n_pairs

_MOST_IN_TABLE = 25  # items: 2 s and 275 MB, whatever the ballots


def check_window(window, name="window"):
    """Raise unless `window` is None or says how far apart in an anchor a pair may change places."""
    check_whole(window, name, 2, 12, optional=True)


def are_items(items: Any, n_items: int) -> bool:
    """Tell whether this is a tuple of different items, 0 to n_items - 1."""
    whole = isinstance(items, tuple) and all(isinstance(item, Integral) for item in items)
    return whole and len(set(items)) == len(items) and set(items) <= set(range(n_items))


@dataclass(frozen=True)
class OrderUtility(Query):
    """A cost of each order, answered with an order: drawn with probability proportional to exp(-rate cost).

    Its `Sensitivity.l1` is the privacy loss per unit of rate, by permute-and-flip too.

    Attributes
    ----------
    samplers : tuple of str
        Ways to draw the same law that may be named; "auto" is the first.
    """

    answered_with = "order"
    decides = True
    samplers: ClassVar[tuple[str, ...]] = ("table",)

    @property
    def counted_by_cost(self) -> bool:
        """Whether the orders of each cost are counted, so that permute-and-flip can draw."""
        return False

    def cost(self, margins: NDArray[Any], order: NDArray[Any]) -> float:
        """Return the cost of one order, by definition; all orders may be shifted alike.

        It is what samplers are tested against, which never list the orders.

        Parameters
        ----------
        margins : ndarray of int, shape (n_items, n_items)
            Of the ballots; positive where the row beats the column.
        order : sequence of int
            The items, best first.

        Returns
        -------
        int or float
            `inf` for an order that is never drawn.
        """
        raise NotImplementedError

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.margins.ravel()

    def sampler(self, margins: NDArray[Any], rate: float, choice: str) -> Any:
        """Return what draws orders, with ``draw(bits)``.

        Parameters
        ----------
        margins : ndarray of int, shape (n_items, n_items)
            Of the ballots; positive where the row beats the column.
        rate : float
            Of the law.
        choice : str
            "auto", or one of `samplers`.
        """
        raise NotImplementedError

    def flips(self, margins: NDArray[Any], rate: float) -> Any:
        """Return what draws orders by permute-and-flip, as `sampler`; where orders are `counted_by_cost`."""
        raise NotImplementedError

    def sampler_refusal(self, choice: str, n_items: int) -> str:
        """Return what to use instead where this way cannot draw among so many items, or "" where it can."""
        ways = ("auto", *self.samplers)
        known = isinstance(choice, str) and choice in ways
        return "" if known else f"sampler must be one of {list(ways)}, got {shown(choice)}."

    def options(self, n_items: int) -> int:
        """Return among how many options one choice of the sampler is, at most."""
        return n_items


@dataclass(frozen=True)
class KemenyUtility(OrderUtility):
    """The number of pairwise disagreements between an order and the ballots (P-SAMPLE).

    Adding a ballot raises the cost of every order by 0 to C(m, 2), so that the loss per unit of rate is
    C(m, 2); replacing one can move two orders apart by twice that.
    """

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls()]

    def cost(self, margins: NDArray[Any], order: NDArray[Any]) -> float:
        return sum(max(margins[i, j], 0) for j, i in combinations(order, 2))

    def sampler(self, margins: NDArray[Any], rate: float, choice: str) -> Any:
        return PartitionTable(np.maximum(margins.T, 0), rate)

    def sampler_refusal(self, choice: str, n_items: int) -> str:
        unknown = super().sampler_refusal(choice, n_items)
        if not unknown and n_items > _MOST_IN_TABLE:
            return (
                f"drawing by disagreements goes up to {_MOST_IN_TABLE} items, got {n_items}: a table of all subsets "
                "does not fit, and the time of every other exact sampler depends on the ballots. Use another "
                "estimator, such as DPBorda(noise='knorm') or DPPrudentOrder(window=7)."
            )
        return unknown

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        loss = moves(neighboring) * n_pairs(n_items)
        return Sensitivity(loss, Fraction(loss**2))


@dataclass(frozen=True)
class MaxViolatedMargin(OrderUtility):
    """The largest margin that an order overrules, signed (Arrow and Raynaud's prudent orders minimise it).

    One ballot moves every margin, and so the cost, by at most 1 (2 if it is replaced), up or down: the loss
    per unit of rate is twice that.

    Parameters
    ----------
    anchor : tuple of int or None, default=None
        A public order: pairs at least `window` apart in it are kept and do not count.
    window : int or None, default=None
        None is all orders, up to 16 items.
    """

    anchor: tuple[int, ...] | None = None
    window: int | None = None

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        other = (1, 0, *range(2, n_items))[::-1]
        return [cls(), cls(tuple(range(n_items)), 2), cls(other, 2), cls(other, 3)]

    def cost(self, margins: NDArray[Any], order: NDArray[Any]) -> float:
        if self.window is None:
            return max(margins[i, j] for j, i in combinations(order, 2))
        place = {item: k for k, item in enumerate(self.anchor or ())}
        overruled = [(i, j) for j, i in combinations(order, 2)]
        if any(place[j] - place[i] >= self.window for i, j in overruled):
            return inf
        return max(margins[i, j] for i, j in overruled if abs(place[i] - place[j]) < self.window)

    @property
    def kind(self) -> Any:
        return MaxViolatedMargin

    def sampler(self, margins: NDArray[Any], rate: float, choice: str) -> Any:
        if self.window is None:
            return MinimaxMarginSampler(margins, rate)
        return WindowedSampler(margins, np.array(self.anchor), rate, self.window)

    @property
    def counted_by_cost(self) -> bool:
        # Near an anchor orders have weights of their own, which permute-and-flip does not know.
        return self.window is None

    def flips(self, margins: NDArray[Any], rate: float) -> Any:
        return MinimaxMarginFlips(margins, rate)

    def check(self, n_items: int) -> None:
        if self.window is None and n_items > 16:
            raise ValueError(
                f"the prudent order of {n_items} items needs a window (without one at most 16 items); set window=7."
            )
        check_window(self.window)
        if self.anchor is not None:
            if self.window is None:
                raise ValueError("anchor does nothing without a window; set window=7.")
            if not are_items(self.anchor, n_items) or len(self.anchor) < n_items:
                raise ValueError(f"anchor must be an order of the {n_items} items, 0 to {n_items - 1}.")

    def options(self, n_items: int) -> int:
        near = n_items if self.window is None else min(int(self.window), n_items)
        return 1 + n_pairs(n_items) - n_pairs(n_items - near + 1)

    def warn_of_few(self, n_items: int, said: float) -> None:
        least, what = (math.lgamma(n_items + 1), "ln m!") if self.window is None else (n_items**2 / 10, "m^2 / 10")
        if said / 2 < least:
            warnings.warn(
                f"prudent orders fail where half of n_voters * epsilon is below {what} = {least:.3g}, and here it is "
                f"{said / 2:.3g}: take net wins (DPBorda with noise='knorm'), or a larger epsilon.",
                UserWarning,
                stacklevel=2,
            )

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        loss = 2 * moves(neighboring)
        return Sensitivity(loss, Fraction(loss**2))

    def __str__(self):
        return "MaxViolatedMargin" if self.window is None else f"MaxViolatedMargin within {self.window}"


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
