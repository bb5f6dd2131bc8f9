"""Queries that are answered with an order, by the costs of orders: Kemeny, prudent orders, top k."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, check_whole, safe_repr
from .._utils.types import Neighboring
from ..orders.samplers import (
    MinimaxMarginSampler,
    NextSampler,
    PartitionTable,
    TopSampler,
    WindowedSampler,
    largest_batch,
)
from .base import Query, Sensitivity, n_pairs
from .statistics import listed

_MOST_IN_TABLE = 25  # items: 2 s and 275 MB, for any ballots


#: Check of the `window` of `MaxViolatedMargin`.
check_window = partial(check_whole, least=2, most=12, optional=True)


def are_items(items: Any, n_items: int) -> bool:
    """Return whether `items` is a tuple of different integers from 0 to n_items - 1."""
    whole = isinstance(items, tuple) and all(isinstance(item, Integral) for item in items)
    return whole and len(set(items)) == len(items) and set(items) <= set(range(n_items))


@dataclass(frozen=True)
class OrderUtility(Query):
    """Base class of costs of orders, answered with an order drawn with probability proportional to exp(-rate cost).

    `Sensitivity.l1` is the privacy loss per unit of rate, also for permute-and-flip. With a delta, it must also be at
    least the range: the largest change of the cost of any order, minus the smallest.

    Attributes
    ----------
    counted_by_cost : bool
        Whether the number of orders of each cost is known, as permute-and-flip requires.
    """

    answered_with = "order"
    decides = True
    counted_by_cost: ClassVar[bool] = False

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.margins.ravel()

    def sampler(self, margins: NDArray[Any], rate: float) -> Any:
        """Return a sampler of orders with a method ``draw(bits)``.

        Parameters
        ----------
        margins : ndarray of int, shape (n_items, n_items)
            Margins of the ballots, positive where the row's item beats the column's.
        rate : float
            Rate of the law.
        """
        raise NotImplementedError

    def flips(self, margins: NDArray[Any], rate: float) -> Any:
        """Return a permute-and-flip sampler of orders, if they are `counted_by_cost`; see `sampler`."""
        raise NotImplementedError

    def options(self, n_items: int) -> int:
        """Return the largest number of options in one random choice of the sampler."""
        return n_items


@dataclass(frozen=True)
class KemenyUtility(OrderUtility):
    """Number of pairwise disagreements between an order and the ballots (P-SAMPLE).

    Adding a ballot increases the cost of every order by 0 to C(m, 2), so the loss per unit of rate is C(m, 2).
    Replacing a ballot can change the cost difference of two orders by twice that.
    """

    in_words = "the disagreement of each order with the voters"

    def sampler(self, margins: NDArray[Any], rate: float) -> Any:
        return PartitionTable(np.maximum(margins.T, 0), rate)

    def check(self, n_items: int) -> None:
        if n_items > _MOST_IN_TABLE:
            raise ValueError(
                f"drawing by disagreements goes up to {_MOST_IN_TABLE} items, got {n_items}. A table of all subsets "
                "does not fit, and the time of other exact samplers depends on the ballots. Use another "
                "estimator, such as DPBorda(noise='knorm') or DPPrudentOrder(window=7)."
            )

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        loss = changed_ballots(neighboring) * n_pairs(listed(n_items, max_listed))
        return Sensitivity(loss, Fraction(loss**2))


@dataclass(frozen=True)
class MaxViolatedMargin(OrderUtility):
    """Largest signed margin that an order violates (Arrow and Raynaud's prudent orders minimise it).

    One ballot changes every margin, and so the cost, by at most 1 (2 if it is replaced), up or down. The loss per unit
    of rate is twice that.

    Parameters
    ----------
    anchor : tuple of int or None, default=None
        Public order. Pairs at least `window` apart in it keep their order and are not counted. With a window, None only
        declares the query: the anchor follows from an earlier answer.
    window : int or None, default=None
        Distance in `anchor` below which a pair may change places. None is all orders, up to 16 items.
    """

    anchor: tuple[int, ...] | None = None
    window: int | None = None
    in_words = "the largest margin that each order contradicts"
    kind_by = ()

    def sampler(self, margins: NDArray[Any], rate: float) -> Any:
        if self.window is None:
            return MinimaxMarginSampler(margins, rate)
        return WindowedSampler(margins, np.array(self.anchor), rate, self.window)

    @property
    def counted_by_cost(self) -> bool:  # type: ignore[override]
        # Near an anchor, orders also have individual weights, which permute-and-flip does not support.
        return self.window is None

    def flips(self, margins: NDArray[Any], rate: float) -> Any:
        return MinimaxMarginSampler(margins, rate, flip=True)

    def check(self, n_items: int) -> None:
        if self.window is None and n_items > 16:
            raise ValueError(
                f"the prudent order of {n_items} items needs a window (without one at most 16 items); set window=7, "
                "or choose the items one after another, with delta=1e-6, say."
            )
        check_window(self.window, "window")
        if self.anchor is not None:
            if self.window is None:
                raise ValueError("anchor has no effect without a window; set window=7.")
            if not are_items(self.anchor, n_items) or len(self.anchor) < n_items:
                raise ValueError(f"anchor must be an order of the {n_items} items, 0 to {n_items - 1}.")

    def options(self, n_items: int) -> int:
        # Values of the cost: at most one for each pair less than `near` apart, and one more.
        near = n_items if self.window is None else min(int(self.window), n_items)
        return 1 + n_pairs(n_items) - n_pairs(n_items - near + 1)

    def warn_of_few(self, n_items: int, signal: float) -> None:
        least, what = (math.lgamma(n_items + 1), "ln m!") if self.window is None else (n_items**2 / 10, "m^2 / 10")
        if signal / 2 < least:
            warnings.warn(
                f"prudent orders fail with so few voters: half of n_voters * epsilon is {signal / 2:.3g}, "
                f"below {what} = {least:.3g}. Use net wins (DPBorda with noise='knorm'), or a larger epsilon.",
                UserWarning,
                stacklevel=2,
            )

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        loss = 2 * changed_ballots(neighboring)
        return Sensitivity(loss, Fraction(loss**2))

    def __str__(self):
        return "MaxViolatedMargin" if self.window is None else f"MaxViolatedMargin within {self.window}"


@dataclass(frozen=True)
class MaxViolatedPrefixMargin(OrderUtility):
    """Largest signed margin that the first k items violate: of any item over one of them that is placed before it.

    The answer is k items, best first. The other items are not ordered. One ballot changes every margin, and so the
    cost, by at most 1 (2 if it is replaced), up or down. The loss per unit of rate is twice that.

    Parameters
    ----------
    k : int, default=1
        Number of items to choose. It must be below m, the number of items to choose from. For more than 16 items, m^k
        must be at most a million.
    placed : tuple of int or None, default=None
        Public items that are already placed before these, and are not counted.
    """

    k: int = 1
    placed: tuple[int, ...] | None = None
    in_words = "the largest margin that each choice of the next items contradicts"
    kind_by = ("k",)
    counted_by_cost = True

    def sampler(self, margins: NDArray[Any], rate: float) -> Any:
        if self.k == 1:
            return NextSampler(margins, rate, self.placed or ())
        return TopSampler(margins, self.k, rate, self.placed or ())

    def flips(self, margins: NDArray[Any], rate: float) -> Any:
        return TopSampler(margins, self.k, rate, self.placed or (), flip=True)

    def check(self, n_items: int) -> None:
        check_whole(self.k, "k")
        placed = () if self.placed is None else self.placed
        if not are_items(placed, n_items):
            raise ValueError(f"placed must hold different items, from 0 to {n_items - 1}.")
        left = n_items - len(placed)
        if self.k >= left:
            raise ValueError(
                f"k={safe_repr(self.k)} must be below {left}, the number of items to choose from; take k up to "
                f"{left - 1}, or DPPrudentOrder for an order of all items."
            )
        if self.k > largest_batch(left):
            raise ValueError(
                f"there are {math.perm(left, self.k):.2g} ways to choose {self.k} of {left} items in order, too many "
                f"to list; choose up to {largest_batch(left)} at once, with ChooseTop."
            )

    def options(self, n_items: int) -> int:
        return n_items if self.k == 1 else n_items * (n_items - 1)

    def warn_of_few(self, n_items: int, signal: float) -> None:
        least = math.log(math.perm(n_items, self.k))
        if signal / 2 < least:
            warnings.warn(
                f"the best {self.k} of {n_items} items are little better than chance. Half of n_voters * epsilon of "
                f"one answer is {signal / 2:.3g}, below the log of the number of choices, {least:.3g}. Use a larger "
                "epsilon, or net wins (DPBorda with noise='knorm').",
                UserWarning,
                stacklevel=2,
            )

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        loss = 2 * changed_ballots(neighboring)
        return Sensitivity(loss, Fraction(loss**2))

    def __str__(self):
        return f"MaxViolatedPrefixMargin of {self.k}"
