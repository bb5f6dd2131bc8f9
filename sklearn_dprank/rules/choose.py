"""Rules that return the order with which a query is answered."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .._utils.checks import COUNT, COUNT_OR_NONE, check_made, check_parameters, safe_repr
from .._utils.estimators import parametrized
from ..orders.samplers import largest_batch
from ..queries import Ask, KemenyUtility, MaxViolatedMargin, MaxViolatedPrefixMargin, NetWins, Query
from ..queries.utilities import check_window
from .base import Consensus, Rule, descending


def _check_query(query, name):
    """Raise ValueError unless `query` is None or is answered with an order."""
    check_made(query, name, "query")
    if query is not None and not getattr(query, "decides", False):
        deciding = "one that decides, as KemenyUtility or MaxViolatedMargin do"
        raise ValueError(f"{name} must be {deciding}, got {safe_repr(query)}.")
    if isinstance(query, MaxViolatedMargin) and query.window is not None and query.anchor is None:
        raise ValueError("a window needs an anchor; set anchor, or use ChooseNearAnchor.")


@parametrized
class Choose(Rule):
    """Rule that returns the order with which a query is answered.

    The mechanism draws the order, or the order follows from its answer.

    Parameters
    ----------
    query : Query or None, default=None
        Query whose answer is an order (``decides`` is True; see `Query`), such as the costs of orders `KemenyUtility`
        or `MaxViolatedMargin`. None is `KemenyUtility()`. A window needs a public anchor. For a private one, use
        `ChooseNearAnchor`.

    Examples
    --------
    >>> from sklearn_dprank.rules import Choose
    >>> str(Choose().asks(3)[0].query)
    'KemenyUtility'
    """

    query: Query | None = None

    parameter_checks = {"query": _check_query}

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(self.query or KemenyUtility())]

    def aggregate(self, answers: Any) -> Consensus:
        return Consensus(answers.answer(self.query or KemenyUtility()))


@parametrized
class ChooseNearAnchor(Rule):
    """Rule that finds an anchor by net wins, and draws a prudent order near it, with half of the budget for each.

    Parameters
    ----------
    window : int, default=7
        Pairs at least this far apart in the anchor keep their order; 2 to 12.

    Examples
    --------
    >>> from sklearn_dprank.rules import ChooseNearAnchor
    >>> [(str(ask.query), str(ask.share)) for ask in ChooseNearAnchor().asks(20)]
    [('NetWins', '1/2'), ('MaxViolatedMargin within 7', '1/2')]
    """

    window: int = 7

    parameter_checks = {"window": check_window}

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        half = Fraction(1, 2)
        return [Ask(NetWins(), share=half), Ask(MaxViolatedMargin(window=self.window), share=half)]

    def aggregate(self, answers: Any) -> Consensus:
        anchor = tuple(int(item) for item in descending(answers.answer(NetWins()), answers))
        return Consensus(answers.answer(MaxViolatedMargin(anchor, self.window)))


class ChooseOneByOne(Rule):
    """Rule that chooses the next best of the remaining items, until all items are in order (peeling).

    Each of the m - 1 choices has the same share of the budget. With ``Central(noise="exponential", delta=1e-6)``, they
    compose as choices of bounded range.

    Examples
    --------
    >>> from sklearn_dprank.rules import ChooseOneByOne
    >>> [(str(ask.query), ask.times) for ask in ChooseOneByOne().asks(45)]
    [('MaxViolatedPrefixMargin of 1', 44)]
    """

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(MaxViolatedPrefixMargin(), n_items - 1)]

    def aggregate(self, answers: Any) -> Consensus:
        placed: list[int] = []
        for _ in range(answers.n_items - 1):
            placed += answers.answer(MaxViolatedPrefixMargin(1, tuple(placed) or None)).tolist()
        last = set(range(answers.n_items)).difference(placed)
        return Consensus(np.array([*placed, *last]))


@parametrized
class ChooseTop(Rule):
    """Rule that returns the best k items in order; all others are tied behind them.

    Let m be the number of items. All k items are chosen together if m is at most 16, or if m^k is at most a million.
    Otherwise, batches are chosen one after another among the remaining items. Each place has the same share of the
    budget.

    Parameters
    ----------
    k : int, default=1
        Number of items to choose; less than the number of items.
    batch : int or None, default=None
        Maximum number of items that are chosen together. None is the largest possible number.

    Examples
    --------
    >>> from sklearn_dprank.rules import ChooseTop
    >>> [(str(ask.query), ask.times, str(ask.share)) for ask in ChooseTop(5).asks(45)]
    [('MaxViolatedPrefixMargin of 3', 1, '3/5'), ('MaxViolatedPrefixMargin of 2', 1, '2/5')]
    """

    k: int = 1
    batch: int | None = None

    parameter_checks = {"k": COUNT, "batch": COUNT_OR_NONE}

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        sizes = self._sizes(n_items)
        return [
            Ask(MaxViolatedPrefixMargin(size), sizes.count(size), Fraction(size * sizes.count(size), self.k))
            for size in dict.fromkeys(sizes)
        ]

    def aggregate(self, answers: Any) -> Consensus:
        top: list[int] = []
        for size in self._sizes(answers.n_items):
            top += answers.answer(MaxViolatedPrefixMargin(size, tuple(top) or None)).tolist()
        return Consensus(np.array(top))

    def _sizes(self, n_items):
        """Return the batch sizes in descending order; they differ by at most 1."""
        if self.k >= n_items:
            return [self.k]  # the query raises the error
        most = largest_batch(n_items) if self.batch is None else self.batch
        batches = -(-self.k // most)
        return [self.k // batches + (number < self.k % batches) for number in range(batches)]
