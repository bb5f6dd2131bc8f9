"""Rules that sort items by the margins of single pairs: KwikSort and binary insertion."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from .._utils.checks import COUNT_OR_NONE, Check, check_parameters, one_of
from ..orders.quicksort import binary_insertion_bound, p_sort_max_queries, quicksort_query_bound
from ..privacy.ledger import BudgetExhausted
from ..queries import AllMargins, Ask, PairMargin, n_pairs
from .base import Consensus, Rule
from .kemeny import KemenyRule


class KwikSortRule(Rule):
    """Rule that sorts by majority margins: KwikSort (Ailon, Charikar and Newman 2008) or binary insertion.

    Parameters
    ----------
    max_queries : int or None, default=None
        Maximum number of margins to ask for. None is every pair for ``on_exhausted=None``, and floor((m - 1) log2 m) of
        Hay et al. for "coin". For "kemeny", it is the number that one in m^4 runs of KwikSort exceeds (Alabi et al.).
        Binary insertion never asks for more than its own worst case.
    on_exhausted : None, "coin" or "kemeny", default=None
        Fallback when no answers are left. With None, answers never run out. "coin" answers by a fair coin (P-SORT).
        "kemeny" reserves half of the budget for all margins together, and returns their Kemeny order.
    strategy : {"quicksort", "binary_insertion"}, default="quicksort"
        Choice of the pairs that are compared.

    References
    ----------
    Hay, Elagina and Miklau (2017), Sections 3.3 and 3.4; Alabi, Ghazi, Kumar and Manurangsi (2022), Algorithm 1.

    Examples
    --------
    >>> from sklearn_dprank.rules import KwikSortRule
    >>> [(type(a.query).__name__, a.times) for a in KwikSortRule(on_exhausted="kemeny").asks(12)]
    [('PairMargin', 64), ('AllMargins', 1)]
    """

    parameter_checks: dict[str, Check] = {
        "max_queries": COUNT_OR_NONE,
        "on_exhausted": one_of(None, "coin", "kemeny"),
        "strategy": one_of("quicksort", "binary_insertion"),
    }

    def __init__(
        self,
        max_queries: int | None = None,
        on_exhausted: Literal["coin", "kemeny"] | None = None,
        strategy: Literal["quicksort", "binary_insertion"] = "quicksort",
    ) -> None:
        self.max_queries = max_queries
        self.on_exhausted = on_exhausted
        self.strategy = strategy

    def asks(self, n_items: int) -> list[Ask]:
        times = self._queries(n_items)
        if self.on_exhausted != "kemeny" or times >= self._worst_case(n_items):
            return [Ask(PairMargin(), times)]
        return [Ask(PairMargin(), times, Fraction(1, 2)), Ask(AllMargins(), 1, Fraction(1, 2))]

    def aggregate(self, session: Any) -> Consensus:
        sort = _binary_insertion if self.strategy == "binary_insertion" else _quicksort
        try:
            # In random order, so that the choice of the pairs left without an answer does not depend on columns.
            items = session.coins.permutation(session.n_items).tolist()
            order = sort(items, lambda i, j: self._before(i, j, session))
        except BudgetExhausted:
            return KemenyRule().aggregate(session)
        return Consensus(np.array(order))

    def _before(self, i, j, session):
        try:
            margin = session.answer(_margin(i, j) if i < j else _margin(j, i))
        except BudgetExhausted:
            if self.on_exhausted != "coin":
                raise
            return bool(session.coins.integer(2))
        if margin == 0:
            return session.tied_before(i, j)
        return (margin > 0) == (i < j)

    def _worst_case(self, n_items):
        return binary_insertion_bound(n_items) if self.strategy == "binary_insertion" else n_pairs(n_items)

    def _queries(self, n_items):
        check_parameters(self)
        worst = self._worst_case(n_items)
        if self.max_queries is not None:
            if self.on_exhausted is None and self.max_queries < worst:
                raise ValueError(
                    f"max_queries={self.max_queries!r} can run out (the worst case is {worst}); "
                    "set on_exhausted='coin' or 'kemeny'."
                )
            return min(int(self.max_queries), worst)
        if self.strategy == "binary_insertion" or self.on_exhausted is None:
            return worst
        if self.on_exhausted == "coin":
            return p_sort_max_queries(n_items)
        return quicksort_query_bound(n_items)


@lru_cache(maxsize=2**12)
def _margin(i, j):
    return PairMargin(i, j)  # cached, because a sweep asks for thousands of them


def _quicksort(items, before):
    """Return the items sorted by quicksort, best first; pivots are random if `items` are in random order."""
    out: list[int] = []
    parts = [items]
    while parts:
        part = parts.pop()
        if len(part) <= 1:
            out += part
            continue
        pivot, *rest = part
        left: list[int] = []
        right: list[int] = []
        for item in rest:
            (left if before(item, pivot) else right).append(item)
        parts += [right, [pivot], left]
    return out


def _binary_insertion(items, before):
    """Return the items sorted by binary insertion, with at most ceil(log2 k) comparisons for the k-th item."""
    out: list[int] = []
    for item in items:
        low, high = 0, len(out)
        while low < high:
            middle = (low + high) // 2
            if before(item, out[middle]):
                high = middle
            else:
                low = middle + 1
        out.insert(low, item)
    return out
