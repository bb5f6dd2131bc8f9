"""Kemeny orders: least total disagreement, with a proved lower bound."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._utils.checks import check_number, check_square
from ..subset_dp import FEW, best_order
from .components import majority_components
from .linear_ordering import LinearOrdering, first_by_programs
from .local_search import total_cost
from .work import WORK_LIMIT, Work

_EXACT = 16  # up to so many items, a table of subsets takes as long as a search that may stop early
_SET = 20  # steps per subset and item in dynamic programming


@dataclass(frozen=True)
class MinimumOrder:
    """Order with a proved lower bound on the optimum.

    Attributes
    ----------
    order : array of int, shape (m,)
        Items, best first.
    value : int or float
        Total cost of the order.
    bound : int or float
        Proved lower bound on the total cost of every order. It does not rely on the solver.
    """

    order: np.ndarray
    value: int | float
    bound: int | float

    @property
    def gap(self):
        """Largest possible difference between the total and the optimum: ``value - bound``."""
        return self.value - self.bound

    @property
    def optimal(self):
        """Whether the order is proved to be optimal."""
        return self.value == self.bound


def minimum_order(cost, *, tolerance=0.0, slack=0.0, work_limit=WORK_LIMIT, time_limit=None, max_dp=20):
    """Return an order of least total cost, or a good order and a bound on its distance from the optimum.

    The items are split into majority components. A component of up to `max_dp` items is solved by linear programs or by
    dynamic programming over subsets, a larger one by local search and branch and cut.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        ``cost[i, j]`` is the cost of placing i before j; the diagonal is ignored. For pairwise counts C (voters who
        prefer i to j), pass ``C.T``; the total is then the Kemeny score. For margins alone, pass ``margins.T``: the
        optimal orders are the same, but the total is not the Kemeny score.
    tolerance : float, default=0.0
        Stop when the total is proved to be at most 1 + tolerance times the optimum, for costs that are not negative.
        The tolerance is relative to the total of `cost`, so pass ``C.T`` rather than margins.
    slack : float, default=0.0
        Stop also when the total is proved to be at most `slack` above the optimum. Components of more than 16 items
        then use branch and cut.
    work_limit : float, default=6000
        Limit on the work, in units of about a millisecond. Work is counted from problem sizes and simplex iterations,
        so the result does not depend on the machine's speed. Dense problems take up to 2.3 milliseconds a unit. Only
        large components can be cut short. With 0, they keep the order of net wins, or of the indices if that costs
        less, and the bound of one cycle of majorities.
    time_limit : float or None, default=None
        Limit on the wall-clock time, in seconds. It is checked like `work_limit`, but the result depends on the
        machine.
    max_dp : int, default=20
        Size of the largest component solved without branching. Dynamic programming takes up to 8 * 2**max_dp bytes.

    Returns
    -------
    MinimumOrder
        With `order`, `value`, `bound`, `gap` and `optimal`.

    Raises
    ------
    ValueError
        If `cost` is not a square matrix of integers or finite floats, or its absolute values sum to 2**60 or
        more (integers); if `tolerance` is negative or not finite.

    Notes
    -----
    Totals and bounds of integers are exact. Floats are first rounded to multiples of a power of two, chosen so that the
    absolute values sum to between 2**50 and 2**51 multiples. `value` and `bound` refer to the rounded costs.

    If there are several optima, components of up to `max_dp` items have the first in lexicographic order. Branch and
    cut returns the same order, unless local search from a fixed start finds an optimum; that optimum is then returned.
    A proved order is therefore the same with and without highspy (the extra ``solver``), which makes proofs faster. An
    order that was not proved within the limit may differ. The choice between tied optima may also differ if the limit
    ended it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import minimum_order
    >>> counts = np.array([[0, 6, 4], [3, 0, 8], [5, 1, 0]])  # 9 voters: 0 beats 1 beats 2 beats 0
    >>> found = minimum_order(counts.T)
    >>> found.order, found.value, found.optimal
    (array([0, 1, 2]), 9, True)
    """
    check_number(tolerance, "tolerance", least=0)
    check_number(slack, "slack", least=0)
    cost, unit = _integers(cost)
    work = Work(work_limit, time_limit)
    max_dp = max(min(max_dp, _EXACT) if slack else max_dp, 2)  # branch and cut needs three items
    order = majority_order(cost.T - cost)
    if order is not None:
        value = _over_pairs(np.minimum(cost, cost.T)) * unit
        return MinimumOrder(order, value, value)
    parts = majority_components(cost.T - cost)
    # Each pair costs at least the smaller of its two costs, and a pair across components costs no more. Only the excess
    # of the pairs within components remains to be decided.
    least = np.minimum(cost, cost.T)
    beyond = cost - least
    value = bound = _over_pairs(least)
    large = [part for part in parts if len(part) > max_dp]
    # the large components share the slack, and the tolerance, which the costs outside increase
    waiting = len(large)
    shared = int(slack / unit) // max(waiting, 1)
    outside = max(0, value - sum(_over_pairs(_within(least, part)) for part in large))
    for index in sorted(range(len(parts)), key=lambda index: len(parts[index])):
        part = parts[index]
        if len(part) == 1:
            continue
        inside = _within(beyond, part)
        if len(part) <= max_dp:
            found: MinimumOrder | LinearOrdering = _first_optimum(inside, work)
        else:
            elsewhere = outside // len(large) + _over_pairs(_within(least, part))
            found = LinearOrdering(inside, tolerance, elsewhere, work.part(1 / waiting), shared)
            waiting -= 1
        parts[index] = part[found.order]
        value, bound = value + found.value, bound + found.bound
    order = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    return MinimumOrder(order, value * unit, bound * unit)


def _first_optimum(cost, work):
    """Return the first optimum in lexicographic order, by linear programs or by a table of subsets."""
    order = first_by_programs(cost, work) if len(cost) > FEW else None
    if order is None:
        work.spend(_SET * len(cost) << len(cost) - 1)
        order = best_order(cost)[0]
    total = total_cost(cost, order)
    return MinimumOrder(order, total, total)


def warn_of_gap(found, tolerance=0.0, slack=0.0):
    """Warn if a limit ended the search before the requested tolerance or slack was proved.

    Parameters
    ----------
    found : MinimumOrder
        Result of `minimum_order`.
    tolerance, slack : float, default=0.0
        Tolerance and slack that were passed to `minimum_order`.
    """
    if found.gap > max(tolerance * found.bound, slack) * (1 + 1e-9):
        warnings.warn(
            "the Kemeny order is not proved to be optimal: the search reached its limit. optimal_gap (optimal_gap_ of "
            "an estimator) says how far from the optimum it is at most; raise work_limit, or allow a gap by tolerance.",
            ConvergenceWarning,
            stacklevel=2,
        )


def majority_order(margins):
    """Return the order that agrees with the majority on every pair, or None.

    Parameters
    ----------
    margins : array, shape (m, m)
        ``margins[i, j]`` is positive if i beats j.

    Returns
    -------
    array of int, shape (m,), or None
        The only optimum, best first. None if pairs tie or majorities form a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import majority_order
    >>> majority_order(np.array([[0, -2, 1], [2, 0, 3], [-1, -3, 0]]))
    array([1, 0, 2])
    """
    wins = (margins > 0).sum(axis=1)
    order = wins.argsort()
    # A tournament is transitive exactly if the numbers of wins are 0, 1, ..., m - 1.
    return order[::-1] if (wins[order] == np.arange(len(wins))).all() else None


def _within(matrix, part):
    return matrix[part[:, None], part] if len(part) < len(matrix) else matrix


def _over_pairs(matrix):
    """Return the sum over pairs of a symmetric matrix."""
    return int(matrix.sum()) // 2


def _integers(cost):
    """Return (cost as int64 with a zero diagonal, the value of one unit)."""
    cost = np.array(cost)
    check_square(cost, "cost")
    if cost.dtype.kind not in "iuf":
        raise ValueError(f"cost must hold integers or floats, got dtype {cost.dtype}.")
    np.fill_diagonal(cost, 0)
    size = float(np.abs(cost.astype(np.float64)).sum())
    if not size < math.inf:
        raise ValueError("cost must be finite.")
    if cost.dtype.kind == "f":
        exponent = 51 - math.frexp(size)[1]
        return np.rint(np.ldexp(cost.astype(np.float64), exponent)).astype(np.int64), math.ldexp(1.0, -exponent)
    if size >= 2.0**60:
        raise ValueError("the absolute values of cost must sum to less than 2**60.")
    return cost.astype(np.int64), 1
