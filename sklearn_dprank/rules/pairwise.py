"""Rules on margins of pairs: Kemeny, KwikSort, hierarchical aggregation and instant runoff."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from .._utils.checks import COUNT_OR_NONE, check_flag, check_number, check_parameters, check_whole, one_of
from .._utils.estimators import parametrized
from ..orders.kemeny import WORK_LIMIT, majority_order, minimum_order, warn_of_gap
from ..orders.permutations import (
    binary_insertion_bound,
    first_places,
    p_sort_max_queries,
    quicksort_query_bound,
    without_item,
)
from ..privacy.errors import BudgetExhausted
from ..queries import AllMargins, Ask, Histogram, PairMargin, n_pairs
from .base import Consensus, Rule

_LEAST = 1e-300  # for margins that scores explain wholly
_NOISY = WORK_LIMIT // 6  # for margins with noise: in 12 paired fits, a tenth of it had the same error


@parametrized
class KemenyRule(Rule):
    """Rule that returns the Kemeny order of the margins, exact or with a certified gap.

    Parameters
    ----------
    tolerance : float or None, default=None
        Relative tolerance. The search stops at an order that is certified to cost at most (1 + tolerance) times the
        optimum. 0 is exact. None is exact too, unless the margins have noise of a known standard deviation. The search
        then stops once the certified gap is at most the noise in the overruled margins; see the notes.
    work_limit : int or None, default=6000
        Limit on the work of the search, in units of about a millisecond. The default is about ten seconds for any
        number of items. It is one second if the margins have noise of a known standard deviation and `tolerance` is
        None, because more work does not make the consensus more accurate. Work is counted, so results do not depend on
        the machine. Only majority cycles of more than 20 items need much work. At the limit, the best order found is
        returned with a `ConvergenceWarning`, and `optimal_gap`, which is published, bounds its excess. None means
        unlimited.
    time_limit : float or None, default=None
        Limit on the time of the search, in seconds. Results then depend on the machine. None means unlimited.
    shrink : bool, default=True
        Whether to shrink the part of the margins that is mostly noise, if its standard deviation is known; see the
        notes. False uses the margins as they are.

    Notes
    -----
    **Shrinkage.** Let s_i be the sum of the margins of item i, W_ij = F_ij + R_ij the noisy margin, and F_ij =
    (s_i - s_j) / m the part that differences of scores explain. The space of R has the dimension
    d = (m - 1) (m - 2) / 2. If sigma is the standard deviation of the noise in a margin, the noise in R has the
    expected square d sigma^2. So R is multiplied by rho = max(0, 1 - d sigma^2 / sum of R_ij^2 over pairs), the
    positive-part estimator of James and Stein. The consensus is the Kemeny order of F + rho R. With rho = 0, it is the
    order of net wins. ``shrinkage_`` publishes rho. If the margins have different deviations, sigma^2 is their mean
    square.

    The cost of an order is the sum of the margins that it overrules. It is the Kemeny score minus a constant that is
    part of the score of every order. So a bound relative to the cost holds for the score too. The bound is finite,
    because every order overrules a margin of each cycle that the search meets.

    Let s be the standard deviation of the noise in each margin, and let k margins be overruled by the order of net
    wins. The noise in the sum of k margins has the standard deviation s * sqrt(k). If `tolerance` is None, the search
    stops once the certified gap is at most that. Below it, a smaller cost of the noisy margins is hardly a smaller
    error. In 24 paired fits of five sets of simulated and of real votes with 30 to 45 items, at three epsilons each, no
    mean error was more than 1.1 standard errors above that of a search that stops at half of that gap.

    References
    ----------
    Kemeny (1959); Kenyon-Mathieu and Schudy (2007) for a PTAS; this rule has `tolerance` instead. James and Stein
    (1961), "Estimation with quadratic loss".

    Examples
    --------
    >>> from sklearn_dprank.rules import KemenyRule
    >>> KemenyRule().asks(3)[0].query
    AllMargins()
    """

    tolerance: float | None = None
    work_limit: int | None = WORK_LIMIT
    time_limit: float | None = None
    shrink: bool = True

    parameter_checks = {
        "tolerance": partial(check_number, least=0, optional=True),
        "work_limit": partial(check_whole, least=0, optional=True),
        "time_limit": partial(check_number, above=0, optional=True),
        "shrink": check_flag,
    }

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(AllMargins())]

    def aggregate(self, answers: Any) -> Consensus:
        margins, noise = answers.answer(AllMargins()), answers.deviation(AllMargins()) or 0.0
        published = {}
        if self.shrink and noise:
            # In units of 1 / m, so that equal margins of integers stay equal.
            m, scores = len(margins), margins.sum(axis=1)
            explained, noise = scores[:, None] - scores, m * noise
            rest = m * margins - explained
            rho = 1 - (m - 1) * (m - 2) / 2 * noise**2 / max(np.square(rest, dtype=float).sum() / 2, _LEAST)
            published["shrinkage"] = rho = max(float(rho), 0.0)
            margins, noise = explained + rho * rest, rho * noise
        order = majority_order(margins)
        if order is not None:
            return Consensus(order, published | {"optimal_gap": 0.0})
        # Among equal optima, the solver prefers small indices, so the labels follow the order for ties.
        labels = np.argsort(answers.tie_break())
        tolerance, slack = self.tolerance or 0.0, 0.0
        if self.tolerance is None:  # the standard deviation of the noise in the overruled margins, if it is known
            order = np.argsort(-margins.sum(axis=1), kind="stable")
            overruled = np.count_nonzero(np.triu(margins[order[:, None], order] < 0))
            slack = noise * math.sqrt(overruled)
        limit = math.inf if self.work_limit is None else self.work_limit
        found = minimum_order(
            np.maximum(margins[labels[:, None], labels].T, 0),
            tolerance=tolerance,
            slack=slack,
            work_limit=min(_NOISY, limit) if slack else limit,
            time_limit=self.time_limit,
        )
        warn_of_gap(found, tolerance, slack)
        gap = 0.0 if found.optimal else found.gap / found.bound
        return Consensus(labels[found.order], published | {"optimal_gap": float(gap)})


# Rules that sort items by the margins of single pairs: KwikSort and binary insertion.


@parametrized
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

    max_queries: int | None = None
    on_exhausted: Literal["coin", "kemeny"] | None = None
    strategy: Literal["quicksort", "binary_insertion"] = "quicksort"

    parameter_checks = {
        "max_queries": COUNT_OR_NONE,
        "on_exhausted": one_of(None, "coin", "kemeny"),
        "strategy": one_of("quicksort", "binary_insertion"),
    }

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        insertion = self.strategy == "binary_insertion"
        times = worst = binary_insertion_bound(n_items) if insertion else n_pairs(n_items)
        if self.max_queries is not None:
            if self.on_exhausted is None and self.max_queries < worst:
                raise ValueError(
                    f"max_queries={self.max_queries!r} can run out (the worst case is {worst}); "
                    "set on_exhausted='coin' or 'kemeny'."
                )
            times = min(int(self.max_queries), worst)
        elif not insertion and self.on_exhausted is not None:
            coin = self.on_exhausted == "coin"
            times = p_sort_max_queries(n_items) if coin else quicksort_query_bound(n_items)
        if self.on_exhausted != "kemeny" or times >= worst:
            return [Ask(PairMargin(), times)]
        return [Ask(PairMargin(), times, Fraction(1, 2)), Ask(AllMargins(), 1, Fraction(1, 2))]

    def aggregate(self, answers: Any) -> Consensus:
        def before(i, j):
            try:
                margin = answers.answer(_margin(min(i, j), max(i, j)))
            except BudgetExhausted:
                if self.on_exhausted != "coin":
                    raise
                return bool(answers.coins.integer(2))
            return answers.tied_before(i, j) if margin == 0 else (margin > 0) == (i < j)

        # In random order, so that the choice of the pairs left without an answer does not depend on columns.
        items = answers.coins.permutation(answers.n_items).tolist()
        try:
            if self.strategy == "quicksort":
                return Consensus(np.array(_quicksort(items, before)))
            order: list[int] = []
            for item in items:  # at most ceil(log2 k) comparisons for the k-th item
                order.insert(bisect_left(order, True, key=partial(before, item)), item)
            return Consensus(np.array(order))
        except BudgetExhausted:
            return KemenyRule().aggregate(answers)


_margin = lru_cache(maxsize=2**12)(PairMargin)  # a sweep asks for thousands of them


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


# Hierarchical rank aggregation (HRA).


class HierarchicalRule(Rule):
    """Rule that splits items into levels by the number of opponents that they beat, and splits each level again.

    If a level does not split, its net winner goes first (equation 1 of Song et al., which is the Borda count within the
    level). The rest of the level is split again.

    Notes
    -----
    Song et al. print L(j) += PPR(i, j), which ranks in reverse. This rule sums PPR(j, i). Their PCM is 0/0 for a pair
    without answers, which is a tie here. Equation 1 is printed as a sum over the index that it defines. Here, the sum
    is over the opponents in the level.

    References
    ----------
    Ding, Han, Dezert and Yang (2018); Song, Lan, Li and Li (2022), Algorithm 2.

    Examples
    --------
    >>> from sklearn_dprank.rules import HierarchicalRule
    >>> HierarchicalRule().asks(3)[0].query
    AllMargins()
    """

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(AllMargins())]

    def aggregate(self, answers: Any) -> Consensus:
        priority = answers.tie_break()
        margins = answers.answer(AllMargins())
        order: list[int] = []
        parts = [np.arange(answers.n_items)]
        while parts:
            part = parts.pop()
            if len(part) <= 1:
                order += part.tolist()
                continue
            inside = margins[np.ix_(part, part)]
            level = np.sign(inside).sum(axis=1)  # 2 L - (len - 1), which gives the same levels as L
            if np.all(level == level[0]):
                winner = np.lexsort((priority[part], -inside.sum(axis=1)))[0]
                parts += [np.delete(part, winner), part[[winner]]]
            else:
                parts += [part[level == height] for height in np.unique(level)]
        return Consensus(np.array(order))


# Instant runoff, from the histogram of rankings.

_ASKED = Histogram(unseen_last=True)  # an item that a voter has not seen is not the voter's first choice


class InstantRunoffRule(Rule):
    """Rule that eliminates items by instant runoff, from the histogram of rankings, until one item is left.

    Each round eliminates the item that the fewest ballots place before all other remaining items. It ranks behind the
    remaining items. Counts may be negative, because of noise.

    Notes
    -----
    The answers breaks ties by one order of all items. Ties are common: if voters agree, most items are never a first
    choice, and noise orders the lower positions. The histogram over the remaining items is summed up from that of the
    previous round. So each round costs a small part of the previous one.

    References
    ----------
    Shang, Wang, Cuff and Kulkarni (2014), Section II-A ("instant run-off").

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.rules import InstantRunoffRule
    >>> ballots = [[0, 1, 2]] * 4 + [[2, 0, 1]] * 2 + [[2, 1, 0]] * 3  # 4, 2 and 3 first places
    >>> Aggregator(rule=InstantRunoffRule()).fit(ballots).consensus_
    array([2, 0, 1])
    """

    def asks(self, n_items: int) -> list[Ask]:
        """Return one ask, for the histogram.

        Parameters
        ----------
        n_items : int
            Number of items.

        Returns
        -------
        list of Ask
            The ask.

        Raises
        ------
        ValueError
            If there are too many items for an explicit histogram.
        """
        if n_items > Histogram.largest:
            raise ValueError(
                f"instant runoff counts all {n_items}! rankings, which is possible up to {Histogram.largest} items; "
                "use rule='plurality' or rule='borda'."
            )
        return [Ask(_ASKED)]

    def aggregate(self, answers: Any) -> Consensus:
        n_items = answers.n_items
        histogram = answers.answer(_ASKED).reshape(range(n_items, 0, -1))
        priority = answers.tie_break()
        left, last_first = np.arange(n_items), []
        while len(left) > 1:
            fewest = np.lexsort((-priority[left], first_places(histogram)))[0]
            last_first.append(left[fewest])
            left, histogram = np.delete(left, fewest), without_item(histogram, fewest)
        return Consensus(np.array([*left, *reversed(last_first)]))
