"""Only the best few items, in order."""

from fractions import Fraction
from typing import Any

import numpy as np

from .._utils.checks import Check, check_parameters
from .._utils.constraints import COUNT, COUNT_OR_NONE
from ..orders.samplers.top_k import largest_batch
from ..queries import Ask, MaxViolatedPrefixMargin
from .base import Consensus, Rule


class ChooseTop(Rule):
    """The consensus is the best k items in order; all others are tied behind them.

    They are chosen together from 16 items at most, or where the number of items to the power of k is at most a million;
    else batch after batch among the items that are left, where each place has the same share of the budget.

    Parameters
    ----------
    k : int, default=1
        How many; fewer than there are items.
    batch : int or None, default=None
        How many at once, at most; None is as many as can be.

    Examples
    --------
    >>> from sklearn_dprank.rules import ChooseTop
    >>> [(str(ask.query), ask.times, str(ask.share)) for ask in ChooseTop(5).asks(45)]
    [('MaxViolatedPrefixMargin of 3', 1, '3/5'), ('MaxViolatedPrefixMargin of 2', 1, '2/5')]
    """

    parameter_checks: dict[str, Check] = {"k": COUNT, "batch": COUNT_OR_NONE}

    def __init__(self, k: int = 1, batch: int | None = None) -> None:
        self.k = k
        self.batch = batch

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        sizes = self._sizes(n_items)
        return [
            Ask(MaxViolatedPrefixMargin(size), sizes.count(size), Fraction(size * sizes.count(size), self.k))
            for size in dict.fromkeys(sizes)
        ]

    def aggregate(self, session: Any) -> Consensus:
        top: list[int] = []
        for size in self._sizes(session.n_items):
            top += session.answer(MaxViolatedPrefixMargin(size, tuple(top) or None)).tolist()
        return Consensus(np.array(top))

    def _sizes(self, n_items):
        """Return the sizes of the batches, the larger first; they differ by 1 at most."""
        if self.k >= n_items:
            return [self.k]  # the query says why not
        most = largest_batch(n_items) if self.batch is None else self.batch
        batches = -(-self.k // most)
        return [self.k // batches + (number < self.k % batches) for number in range(batches)]
