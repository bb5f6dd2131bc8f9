"""Kemeny orders: work limits, components, local search, linear programs, and branch and cut."""

from __future__ import annotations

import heapq
import math
import time
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from .._utils.checks import check_number, check_square
from .subset_dp import FEW, best_order

WORK_LIMIT = 6_000  # units: 6 to 14 seconds
_UNIT = 10**6  # steps, about a nanosecond each


class Work:
    """Remaining work of a search.

    A step takes about a nanosecond. Every loop reports its steps, computed from the sizes of its data and the solver's
    iterations, never from a clock.

    Parameters
    ----------
    limit : float, default=inf
        Units of a million steps, about a millisecond each.
    seconds : float or None, default=None
        Limit on wall-clock time, in addition to `limit`.

    Attributes
    ----------
    left : float
        Remaining steps; negative if the last loop exceeded the limit.

    Examples
    --------
    >>> from sklearn_dprank.orders.kemeny import Work
    >>> work = Work(limit=1)
    >>> work.spend(999_999)
    >>> work.over
    False
    >>> work.spend(1)
    >>> work.over
    True
    """

    def __init__(self, limit=math.inf, seconds=None):
        self.left = limit * _UNIT
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds
        self._whole = None

    @property
    def over(self):
        """Whether the steps or the time are used up."""
        return self.left <= 0 or self.seconds <= 0

    @property
    def seconds(self):
        """Remaining seconds of wall-clock time; infinite without a limit."""
        return math.inf if self._deadline == math.inf else self._deadline - time.monotonic()

    def spend(self, steps):
        """Subtract steps, here and from the work that this is a part of."""
        self.left -= steps
        if self._whole is not None:
            self._whole.spend(steps)

    def share(self, steps):
        """Return the fraction of the remaining work that these steps take; infinite if none is left."""
        left = min(self.left, self.seconds * 1000 * _UNIT)
        return steps / left if left > 0 else math.inf

    def part(self, share):
        """Return a fraction, in [0, 1], of the remaining steps and seconds. Its steps are also subtracted here."""
        part = Work()
        part.left, part._whole = max(self.left, 0) * share, self
        if self._deadline < math.inf:
            part._deadline = self._deadline - (1 - share) * max(self.seconds, 0)
        return part


class Pace(NamedTuple):
    """Cost model of a simplex method, in steps.

    An iteration takes longer, the more columns the basis holds. The fullness of a basis is their number, or an estimate
    of it, divided by the number of columns.

    Attributes
    ----------
    start : float
        Steps of a program of any size.
    line : float
        Steps for each row and column.
    iteration : float
        Steps of an iteration for each row and column while the basis is empty.
    filled : float
        Limit of the additional steps of an iteration for each row and column, for ever fuller bases.
    half : float
        Fullness at which half of this limit is reached.

    Examples
    --------
    >>> from sklearn_dprank.orders.kemeny import Pace
    >>> pace = Pace(start=100, line=10, iteration=1, filled=8, half=0.5)
    >>> pace.steps(size=20, iterations=10, fullness=0.5)  # 100 + 20 * (10 + 10 * (1 + 8 / 2))
    1300.0
    >>> pace.iterations(size=20, columns=20, limit=1300)
    10
    """

    start: float
    line: float
    iteration: float
    filled: float
    half: float

    def steps(self, size, iterations, fullness):
        """Return the approximate steps of a program with `size` rows and columns together."""
        each = self.iteration + self.filled * fullness**3 / (fullness**3 + self.half**3)
        return self.start + size * (self.line + iterations * each)

    def iterations(self, size, columns, limit, fullness=0.0):
        """Return the number of iterations in `limit` steps if each adds a column to a basis of some fullness."""
        most = int(max(0.0, limit - self.start) / (size * self.iteration))  # with an empty basis
        counts = range(1, most + 2)  # bisection inverts `steps`, which increases with the number
        return bisect_right(counts, limit, key=lambda count: self.steps(size, count, fullness + count / columns))


COLD = Pace(start=1_500_000, line=200, iteration=5, filled=25, half=1.6)  # SciPy; fullness by iterations
WARM = Pace(start=200_000, line=900, iteration=0.65, filled=31, half=0.4)  # highspy; fullness by the last basis


# Decomposition of Kemeny problems into majority components.


def majority_components(margins):
    """Split items into the strongly connected components of the strict majority graph.

    Parameters
    ----------
    margins : array, shape (m, m)
        ``margins[i, j]`` is positive if i beats j: the voters who prefer i to j minus the voters who prefer j to i.
        Zero is a tie and adds no edge.

    Returns
    -------
    list of array of int
        Components, best first, each in increasing order of items. If several components can come next, the one with the
        smallest item does.

    Notes
    -----
    Optimal orders of the components, concatenated, are a Kemeny optimum. No strict edge goes from a later component to
    an earlier one. For two items from different components, the concatenation therefore costs the smaller of their two
    costs (either one, for a tie). Within a component, it costs the optimum of that component. Both parts are lower
    bounds on the same parts of every order. This is the extended Condorcet criterion (Truchon, 1998), with ties.

    References
    ----------
    Truchon, M. (1998). An extension of the Condorcet criterion and Kemeny orders. Cahier 9813, CREFA,
    Université Laval.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import majority_components
    >>> margins = np.zeros((4, 4), dtype=int)
    >>> for winner, loser in [(3, 0), (3, 1), (3, 2), (0, 1), (1, 2), (2, 0)]:
    ...     margins[winner, loser], margins[loser, winner] = 1, -1
    >>> [part.tolist() for part in majority_components(margins)]
    [[3], [0, 1, 2]]
    """
    # Warshall: the mask of each item and all items that beat it, directly or through others
    above = [mask | 1 << item for item, mask in enumerate(masks_above(np.asarray(margins) > 0))]
    for through in range(len(above)):
        bit, more = 1 << through, above[through]
        above = [mask | more if mask & bit else mask for mask in above]
    waiting: dict[int, list[int]] = {}  # items of a component have equal masks; the smallest items come first
    for item, mask in enumerate(above):
        waiting.setdefault(mask, []).append(item)
    ordered = []
    done = 0
    while waiting:  # quadratic in the components, but each step is one operation on masks
        # a component comes next once all other items above it are done
        mask = next(mask for mask, part in waiting.items() if (mask & ~done).bit_count() == len(part))
        ordered.append(np.array(waiting.pop(mask), dtype=np.int64))
        done |= mask
    return ordered


def masks_above(before):
    """Return, for each item j, the items i with ``before[i, j]`` as a bit mask, a Python int of any length."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(before.T, axis=1, bitorder="little")]


# Local and memetic search for good orders.

_ITEM, _ENTRY = 6000, 4  # steps per item, and per entry of its row


def total_cost(cost, order):
    """Return the sum of ``cost[i, j]`` over the pairs with i before j in `order`.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Items, best first.

    Returns
    -------
    int or float
        The total; exact for integers whose absolute values sum to less than 2**63.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import total_cost
    >>> total_cost(np.array([[0, 1, 2], [5, 0, 3], [7, 9, 0]]), [1, 0, 2])
    10
    """
    return np.triu(np.asarray(cost)[np.ix_(order, order)], 1).sum().item()


def insertion_search(cost, order, work=None):
    """Improve an order by moving single items, each to its cheapest place, while this lowers the total cost.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Starting order, best first.
    work : Work or None, default=None
        Limit on the work, checked before each item; None means no limit.

    Returns
    -------
    array of int, shape (m,)
        Order that no move of one item improves, or the order reached at the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import insertion_search
    >>> cost = np.triu(np.ones((4, 4), dtype=int))  # each item is better than all before it
    >>> insertion_search(cost, [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    excess, order, work = cost - cost.T, np.array(order, dtype=np.int64), work or Work()
    m, places = len(order), np.argsort(order)
    saved = np.zeros(m + 1, dtype=excess.dtype)  # what the item costs less in each gap than in first place
    after_first, rows = saved[1:], list(excess)
    item = settled = 0
    while settled < m and not work.over:
        work.spend(_ITEM + _ENTRY * m)
        rows[item].take(order).cumsum(out=after_first)
        place, gap = places[item], saved.argmax()
        if saved[gap] > saved[place]:
            gap -= gap > place  # gaps are counted with the item in its old place
            low, high = min(place, gap), max(place, gap) + 1
            if gap < place:
                order[low + 1 : high] = order[low : high - 1].copy()
            else:
                order[low : high - 1] = order[low + 1 : high].copy()
            order[gap] = item
            places[order[low:high]] = np.arange(low, high)
            settled = 0
        settled += 1
        item = (item + 1) % m
    return order


_MOST, _ENTRIES, _FEWEST = 64, 2**14, 16  # limits on the population size
_PATIENCE = 5  # generations without a better member before the search ends
_STEP, _STEP_ENTRY = 16_000, 0.6  # steps per item for all orders together, and per entry of the orders


def memetic_search(cost, order, work=None, enough=None):
    """Improve a population of orders by crossover and insertion search, and return the best one.

    A child is a copy of its first parent. The items at a random half of its places are put into the sequence that they
    have in the second parent. A child therefore keeps many pairs on which its parents agree. Good orders tend to share
    them.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        One of the starting orders, best first. The others are random, from a fixed seed.
    work : Work or None, default=None
        Limit on the work; None means no limit. The search also ends after several generations without an improvement.
    enough : int or None, default=None
        Total cost at which the search stops.

    Returns
    -------
    array of int, shape (m,)
        Order that no move of one item improves, or the best order found at the limit.

    References
    ----------
    Schiavinotto, T., & Stützle, T. (2004). The linear ordering problem: instances, search space analysis and
    algorithms. Journal of Mathematical Modelling and Algorithms 3 (memetic algorithm, crossover OB).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import memetic_search
    >>> memetic_search(np.triu(np.ones((4, 4), dtype=int)), [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    excess, m, work = cost - cost.T, len(cost), work or Work()
    order = insertion_search(cost, order, work)
    words = np.random.PCG64(0).random_raw
    members, totals = order[None], np.array([total_cost(excess, order)], dtype=excess.dtype)
    count, patience = min(max(_ENTRIES // max(m, 1), _FEWEST), _MOST), _PATIENCE  # generations of many items take long
    children = np.concatenate([members, _shuffled(words, count - 1, m)])
    while patience and not work.over and (enough is None or total_cost(cost, members[0]) > enough):
        children, new = descended(excess, children, work)
        pool, all_totals, before = np.concatenate([members, children]), np.concatenate([totals, new]), totals
        distinct: dict[bytes, int] = {}  # the best come first, and equals stay in sequence
        for row in np.argsort(all_totals, kind="stable").tolist():
            distinct.setdefault(pool[row].tobytes(), row)
        kept = list(distinct.values())[:count]
        members, totals = pool[kept], all_totals[kept]
        patience = patience - 1 if np.array_equal(totals, before) else _PATIENCE
        if len(members) == 1:
            break
        # Two different parents for each child; the items at half of the places get the sequence of the second parent.
        size = np.uint64(len(members))
        drawn = words(2 * count).reshape(2, count)
        first, step = drawn[0] % size, np.uint64(1) + drawn[1] % (size - np.uint64(1))
        children = members[first.astype(np.int64)]
        second = np.argsort(members[((first + step) % size).astype(np.int64)], axis=1)
        places = np.sort(_shuffled(words, count, m)[:, : m // 2], axis=1)
        items = np.take_along_axis(children, places, axis=1)
        sequence = np.argsort(np.take_along_axis(second, items, axis=1), axis=1)
        np.put_along_axis(children, places, np.take_along_axis(items, sequence, axis=1), axis=1)
    return members[0]


def descended(excess, orders, work):
    """Run `insertion_search` on many orders at once.

    Items are moved one after the other, each in all orders at once. An order is settled once no item moves in a round.

    Parameters
    ----------
    excess : array of int, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    orders : array of int, shape (k, m)
        Items, best first, one order per row.
    work : Work
        Limit on the work, checked before each item.

    Returns
    -------
    orders : array of int, shape (count, m)
        Orders that settled before the limit, the first to settle first.
    totals : array of int, shape (count,)
        Sum of `excess` over the pairs of each order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import descended
    >>> from sklearn_dprank.orders.kemeny import Work
    >>> cost = np.triu(np.ones((3, 3), dtype=int), 1)  # each item is better than all before it
    >>> descended(cost - cost.T, np.array([[0, 1, 2], [2, 1, 0]]), Work())
    (array([[2, 1, 0],
           [2, 1, 0]]), array([-3, -3]))
    """
    orders, places = orders.copy(), np.argsort(orders, axis=1)
    settled, totals = [orders[:0]], [np.empty(0, dtype=excess.dtype)]
    while len(orders):
        every, saved = np.arange(len(orders)), np.zeros((len(orders), len(excess) + 1), dtype=excess.dtype)
        moved, ahead = np.zeros(len(orders), dtype=bool), np.zeros(len(orders), dtype=excess.dtype)
        for item, row in enumerate(excess):
            if work.over:
                return np.concatenate(settled), np.concatenate(totals)
            work.spend(_STEP + _STEP_ENTRY * orders.size)
            np.cumsum(row.take(orders), axis=1, out=saved[:, 1:])  # as in `insertion_search`
            gap, here = saved.argmax(axis=1), saved[every, places[:, item]]
            better = np.flatnonzero(saved[every, gap] > here)
            ahead += here  # the excess of the item over all items before it
            if len(better):
                moved[better] = True
                now = places[better]
                old, new = now[:, item, None], gap[better, None]
                new -= new > old
                now += (now >= new) & (now < old)
                now -= (now <= new) & (now > old)
                now[:, item] = new[:, 0]
                places[better] = now
                orders[better[:, None], now] = np.arange(len(excess))
        settled.append(orders[~moved])
        totals.append(-ahead[~moved])  # in an order that did not change, `ahead` sums the reversed pairs
        orders, places = orders[moved], places[moved]
    return np.concatenate(settled), np.concatenate(totals)


def _shuffled(words, count, m):
    """Return `count` independent random orders of m items."""
    return np.argsort(words(count * m).reshape(count, m), axis=1, kind="stable")


# Lower bounds for Kemeny optima: linear programs, alternating directions, and packings of directed 3-cycles.
#
# Linear programs. `Relaxation` (SciPy, cold start) and `WarmRelaxation` (highspy, warm start) minimise w x over low <=
# x <= high. Each row is a directed 3-cycle of three pairs and states x_p + x_q + x_r <= b, with some of the pairs
# reversed. `relaxation` chooses the solver, and `violated_cycles` finds rows that a solution violates.
#
# Alternating directions. `alternating_prices` finds dual prices of all rows to about a percent, for problems on which
# the simplex method takes long. Write z_ij = x_ij - 1/2 = -z_ji. The relaxation minimises w z subject to |z_ij| <= 1/2
# for each pair and |z_ij + z_jk + z_ki| <= 1/2 for each three items. Each pair and each three items have a copy of the
# limited quantity, u = z and v = C z. An iteration clips the copies to their limits and then updates z by least squares
# (Boyd et al., section 3.1). The update has a closed form, because on all pairs C'C is m times the projection away from
# gradients (Jiang et al., theorem 3):
#
#     (I + C'C)^-1 r = (r + m g) / (1 + m),  g_ij = (sum of r_i. - sum of r_j.) / m.
#
# The price of a limit is the amount by which its copy exceeds the limit before clipping. Prices are approximate, but
# `dual_bound` derives a proved bound from any prices.
#
# Packings. `packed_cycles` packs directed 3-cycles into the majorities, in integers. The packed weight is a lower bound
# that needs no linear program.
#
# References
# ----------
# Boyd, S., Parikh, N., Chu, E., Peleato, B., & Eckstein, J. (2011). Distributed optimization and statistical learning
# via the alternating direction method of multipliers. Foundations and Trends in Machine Learning 3.
# Jiang, X., Lim, L.-H., Yao, Y., & Ye, Y. (2011). Statistical ranking and combinatorial Hodge theory. Mathematical
# Programming 127.

_SLACK = 1e-7
_AT_ONE_TIME = 10  # largest number of iterations in one run of highspy, for each row and column


class Solved(NamedTuple):
    """Solution of a linear program.

    Attributes
    ----------
    x : array of float, shape (p,)
        Primal solution, in [0, 1].
    multipliers : array of float, shape (q,)
        Dual price of each row, not negative, in units of the weights.
    value : float
        Objective value, in units of the largest absolute weight.
    tight : array of bool, shape (q,)
        Binding rows. The solution stays optimal without the other rows.
    """

    x: np.ndarray
    multipliers: np.ndarray
    value: float
    tight: np.ndarray


class Relaxation:
    """Linear program over directed 3-cycles, solved by SciPy, each time from scratch. Rows can be added and dropped.

    Parameters
    ----------
    weights : array of int64, shape (p,)
        Objective w, one weight for each pair.

    Attributes
    ----------
    columns, signs : array of int64, shape (q, 3)
        Pairs of each row, and their signs: 1, or -1 for a reversed pair.
    right : array of int64, shape (q,)
        b: 2 minus the number of reversed pairs in the row.

    Examples
    --------
    The row states that an order has at most two of 0 before 1, 1 before 2 and 2 before 0.

    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import Relaxation
    >>> from sklearn_dprank.orders.kemeny import Work
    >>> program = Relaxation(np.array([-5, 4, -3]))  # pairs 01, 02, 12
    >>> program.add(np.array([[0, 2, 1]]), np.array([[1, 1, -1]]))
    >>> solved = program.solve(np.zeros(3), np.ones(3), Work())
    >>> solved.value * program.scale, solved.multipliers  # 2, 0, 1 costs -5; without the row, -5 - 3 = -8
    (-5.0, array([3.]))
    """

    pace = COLD
    table = 16  # up to so many items, a table of subsets is faster than a linear program

    def __init__(self, weights):
        self.weights = weights
        self.scale = float(np.abs(weights).max(initial=0)) or 1.0
        self.columns = self.signs = np.empty((0, 3), dtype=np.int64)
        self.right = np.empty(0, dtype=np.int64)

    def add(self, columns, signs):
        """Add rows; both arrays have shape (count, 3)."""
        self.columns = np.concatenate([self.columns, columns])
        self.signs = np.concatenate([self.signs, signs])
        self.right = np.concatenate([self.right, 2 - (signs < 0).sum(axis=1)])

    def keep(self, rows):
        """Drop the rows that a Boolean mask does not select."""
        self.columns, self.signs, self.right = self.columns[rows], self.signs[rows], self.right[rows]

    def solve(self, low, high, work):
        """Solve the program within bounds of shape (p,), up to the limit of `work`.

        Returns
        -------
        Solved or None
            None if the solver did not finish.
        """
        columns = np.unique(np.append(self.columns, 0))  # pairs in rows; pair 0 because linprog needs one
        q = len(self.right)
        size = q + len(columns)
        limits = {}
        if work.left < math.inf:
            limits["maxiter"] = self.pace.iterations(size, len(columns), work.left)
        if work.seconds < math.inf:
            limits["time_limit"] = max(work.seconds, 0.0)
        rows = csr_array((self.signs.ravel(), self.columns.ravel(), np.arange(0, 3 * q + 1, 3)), (q, len(self.weights)))
        result: Any = linprog(
            self.weights[columns] / self.scale,
            rows[:, columns],
            self.right,
            bounds=np.stack([low, high], axis=1)[columns],
            method="highs-ds",
            options=limits,
        )
        work.spend(self.pace.steps(size, result.nit, result.nit / len(columns)))
        if result.status != 0:
            return None
        # Pairs in no row take their cheaper order.
        x = np.clip((1 - np.sign(self.weights)) / 2, low, high)
        x[columns] = np.clip(result.x, 0, 1)
        prices = np.maximum(-result.ineqlin.marginals, 0) * self.scale
        return Solved(x, prices, float(self.weights @ x) / self.scale, (result.slack < _SLACK) | (prices > 0))


class WarmRelaxation(Relaxation):
    """Linear program over directed 3-cycles in a persistent HiGHS model. Each solution starts from the last basis.

    The parameters, attributes and methods are those of `Relaxation`. The class requires highspy.
    """

    pace = WARM
    table = 12

    def __init__(self, weights):
        super().__init__(weights)
        highs: Any = _highspy()
        self._highs = highs

        class Silent(highs.Highs):
            def enableCallbacks(self):  # the constructor calls it, and from version 1.16 on it prints a banner
                self.setOptionValue("output_flag", False)
                super().enableCallbacks()

        self._model: Any = Silent()
        self._nonbasic = np.empty(0, dtype=bool)  # the rows that the last basis holds tight
        for option, value in {"threads": 1, "solver": "simplex", "presolve": "off"}.items():
            self._model.setOptionValue(option, value)
        p = len(weights)
        self._all = np.arange(p, dtype=np.int32)
        self._model.addVars(p, np.zeros(p), np.ones(p))
        self._model.changeColsCost(p, self._all, weights / self.scale)

    def add(self, columns, signs):
        """Add rows; both arrays have shape (count, 3)."""
        super().add(columns, signs)
        q = len(columns)
        self._nonbasic = np.append(self._nonbasic, np.zeros(q, dtype=bool))
        starts = np.arange(0, 3 * q, 3, dtype=np.int32)
        above = self.right[len(self.right) - q :].astype(float)
        entries = columns.ravel().astype(np.int32), signs.ravel().astype(float)
        self._model.addRows(q, np.full(q, -self._highs.kHighsInf), above, 3 * q, starts, *entries)

    def keep(self, rows):
        """Drop the rows that a Boolean mask does not select."""
        super().keep(rows)
        dropped = np.flatnonzero(~rows).astype(np.int32)
        self._model.deleteRows(len(dropped), dropped)
        self._nonbasic = self._nonbasic[rows]

    def solve(self, low, high, work):
        """Solve within bounds of shape (p,) and the remaining `work`; return Solved, or None if not finished."""
        self._model.changeColsBounds(len(self.weights), self._all, low.astype(float), high.astype(float))
        model, columns, size = self._model, len(self.weights), len(self.right) + len(self.weights)
        statuses = self._highs.HighsModelStatus
        status = statuses.kIterationLimit
        while status != statuses.kOptimal:
            if status != statuses.kIterationLimit or work.over:
                return None
            held = np.count_nonzero(self._nonbasic)
            most = int(_AT_ONE_TIME * size)  # a solution rarely takes so many; if it does, another run goes on
            if self.pace.steps(size, most, (held + most) / columns) > work.left:
                most = self.pace.iterations(size, columns, work.left, held / columns)
            model.setOptionValue("simplex_iteration_limit", most)
            model.setOptionValue("time_limit", model.getRunTime() + max(work.seconds, 0.0))
            model.run()
            done = model.getInfo().simplex_iteration_count
            basic = model.getBasicVariables()[1]  # -1 - row for a row
            self._nonbasic = np.ones(len(self.right), dtype=bool)
            self._nonbasic[-1 - basic[basic < 0]] = False
            now = np.count_nonzero(self._nonbasic)
            # The size moves from `held` to `now` by one column an iteration, and then stays.
            mean = now - (now - held) * abs(now - held) / max(2 * done, 1)
            work.spend(self.pace.steps(size, done, mean / columns))
            status = model.getModelStatus()
        found = model.getSolution()
        prices = np.maximum(-np.array(found.row_dual), 0) * self.scale
        x = np.minimum(np.maximum(found.col_value, 0), 1)
        value = model.getInfo().objective_function_value
        return Solved(x, prices, value, self._nonbasic | (prices > 0))


def relaxation(weights):
    """Return a `WarmRelaxation` if highspy (the extra ``solver``) is installed, else a `Relaxation`."""
    return WarmRelaxation(weights) if _highspy() else Relaxation(weights)


@cache
def _highspy():
    """Return the module highspy, or None if it is not installed."""
    try:
        return import_module("highspy")
    except ImportError:
        return None


_ITERATIONS = 200
_RHO = 0.04  # step size rho, for weights that are 1 on average
_WORTH = 1.0  # in units of the step; rows with lower prices enter only if they are violated
_RELAX = 1.8  # over-relaxation
_SWEEP_ROW, _SWEEP_CELL = 10_000, 3  # steps per item and iteration, and per pair of later items
_MOST_CELLS = 2**26  # 256 MB


def alternating_prices(excess, work):
    """Return directed 3-cycles with approximate dual prices, and a fractional order.

    Parameters
    ----------
    excess : array of int64, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    work : Work
        Limit on the work.

    Returns
    -------
    cycles : array of int, shape (count, 3)
        Directed 3-cycles (i, j, k) with a price, i < j and i < k, for the row x_ij + x_jk + x_ki <= 2.
    prices : array of float, shape (count,)
        Above 0, in units of the cost. Empty if the copies of all three items would exceed the memory limit.
    least : float
        Smallest price that justifies a row of a linear program.
    before : array of float, shape (m, m)
        Approximation of x.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import alternating_prices
    >>> from sklearn_dprank.orders.kemeny import Work
    >>> excess = np.array([[0, -5, 3], [5, 0, -4], [-3, 4, 0]])  # 0 before 1 before 2 before 0
    >>> cycles, prices, least, before = alternating_prices(excess, Work())
    >>> cycles, prices.round(), before.argsort().tolist()  # whatever the order, 3 are overruled
    (array([[0, 1, 2]]), array([3.]), [[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    """
    m = len(excess)
    unit = _RHO * (float(np.abs(excess, dtype=np.float64).mean()) or 1.0)
    pull = (excess / unit).astype(np.float32)  # w / rho
    pair_copies = -np.sign(pull) / 2
    z = pair_copies.copy()
    few = m**3 // 3 < _MOST_CELLS
    triple_copies = [np.zeros((m - i - 1, m - i - 1), dtype=np.float32) for i in range(m - 2 if few else 0)]
    steps = _SWEEP_ROW * m + _SWEEP_CELL * (m**3 // 3)  # an approximate upper limit for one iteration
    for _ in range(_ITERATIONS if triple_copies else 0):
        if work.left < steps or work.over:
            break
        work.spend(steps)
        r = _reflected(z.copy(), pair_copies) - pull  # the right side of the least squares, first from the pairs
        for i, copies in enumerate(triple_copies):
            behind = slice(i + 1, m)
            reflected = _reflected(z[behind, behind] + z[i, behind, None] - z[i, behind], copies)
            r[behind, behind] += reflected
            r[i, behind] += reflected.sum(axis=1)
            r[behind, i] -= reflected.sum(axis=1)
        net = r.sum(axis=1)
        z = (r + net[:, None] - net) / np.float32(1 + m)
    cycles, prices = [np.empty((0, 3), dtype=np.int64)], [np.empty(0)]
    for i, copies in enumerate(triple_copies):  # a price is what a copy exceeds its limit by
        first, second = np.nonzero(copies > 0.5)  # the reversed 3-cycle has the same value with a minus
        prices.append(copies[first, second].astype(float) - 0.5)
        cycles.append(np.stack([np.full(len(first), i), first + i + 1, second + i + 1], axis=1))
    return np.concatenate(cycles), np.concatenate(prices) * unit, _WORTH * unit, np.clip(z + 0.5, 0, 1)


def _reflected(now, copies):
    """Do one over-relaxed step, in the form of Douglas and Rachford; return the reflection 2 clip(copies) - copies.

    `copies` holds a copy plus its scaled price: clipped to the limits, it is the copy, and the rest is the price. The
    step is copies += _RELAX (now - clip(copies)). `now` is overwritten.
    """
    within = np.clip(copies, -0.5, 0.5)
    now -= within
    now *= _RELAX
    copies += now
    np.clip(copies, -0.5, 0.5, out=within)
    within *= 2
    within -= copies
    return within


_ROW, _PACKED_ENTRY, _CELL = 8000, 6, 6  # steps per row of a packing, per entry of it, and per pair of a scan
_SCAN, _AT_ONCE = 30_000, 2**14  # steps per scan of several items, and triples per scan, unless one item has more


def violated_cycles(before, limit, work):
    """Return violated directed 3-cycles: triples (i, j, k), i < j and i < k, with x_ij + x_jk + x_ki above 2.

    Parameters
    ----------
    before : array, shape (m, m)
        ``before[i, j]`` in [0, 1] is x_ij, and ``before[j, i]`` is one minus it.
    limit : int
        Largest number of triples.
    work : Work
        Limit on the work. Once it is reached, the remaining i are skipped.

    Returns
    -------
    array of int, shape (count, 3)
        The most violated triples, in descending order of violation.
    """
    triples, amounts = np.empty((0, 3), dtype=np.int64), np.empty(0)
    start, m = 0, len(before)
    while start < m - 2 and not work.over:
        i = np.arange(start, min(start + max(1, _AT_ONCE // (m - start) ** 2), m - 2))
        # if the three terms exceed 2 together, each exceeds 0
        j = start + 1 + np.flatnonzero((before[i, start + 1 :] > 0).any(axis=0))
        k = start + 1 + np.flatnonzero((before[start + 1 :, i] > 0).any(axis=1))
        work.spend(_SCAN + _CELL * len(i) * len(j) * len(k))
        # above[p, q, r] is by how much x_ij + x_jk + x_ki exceeds 2, for i[p], j[q] and k[r].
        p, q, r = np.ix_(i, j, k)
        above = before[p, q] + before[q, r]
        above += before[r, p]
        above -= 2 + 1e-6
        found = np.flatnonzero(above > 0)
        from_i, from_j, from_k = np.unravel_index(found, above.shape)
        new = np.stack([i[from_i], j[from_j], k[from_k]], axis=1)
        once = (new[:, 1] > new[:, 0]) & (new[:, 2] > new[:, 0])  # from the smallest item of the cycle
        triples = np.concatenate([triples, new[once]])
        amounts = np.concatenate([amounts, above.ravel()[found[once]]])
        start = i[-1] + 1
        if len(triples) > 4 * limit or start >= m - 2 or work.over:
            most = np.argsort(-amounts, kind="stable")[:limit]
            triples, amounts = triples[most], amounts[most]
    return triples


def packed_cycles(excess, work):
    """Return a lower bound on the majorities that every order violates, from a packing of directed 3-cycles.

    Every order reverses at least one pair of each directed cycle of majorities. Give weights to cycles so that no pair
    carries more weight than its majority. Every order then costs at least the sum of the weights. Directed 3-cycles are
    filled greedily. If ties leave none of them, or no work is left, a single cycle of any length is used.

    Parameters
    ----------
    excess : array of int, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    work : Work
        Limit on the work. The single cycle is found even if no work is left.

    Returns
    -------
    int
        Lower bound on the cost of an order beyond the cheaper order of each pair. It is above 0 if majorities form a
        cycle and all items are in one majority component.
    """
    room = np.maximum(-excess, 0)  # the extra cost of j before i over i before j
    left, total = room.copy(), 0
    for i in range(len(left) - 2):  # cycles i -> j -> k -> i
        back = left[i + 1 :, i].copy()  # k -> i, for each k; this column of `left` is not used again
        for j in i + 1 + np.flatnonzero(left[i, i + 1 :]):
            if work.over:
                break
            work.spend(_ROW + _PACKED_ENTRY * len(back))
            forth = left[j, i + 1 :]  # j -> k, for each k
            filled = np.minimum(np.minimum(forth, back).cumsum(), left[i, j])  # i -> j limits all of its cycles
            weights = np.diff(filled, prepend=0)
            forth -= weights
            back -= weights
            total += int(filled[-1])
    if total or not len(room):
        return total
    item, path = 0, []  # follow the largest majorities until an item recurs; the smallest of this cycle counts
    while item not in path:
        path.append(item)
        item = int(room[item].argmax())
    return min(int(room[of].max()) for of in path[path.index(item) :])


# Branch and cut for Kemeny optima, with bounds proved in integers, and the choice among tied optima.
#
# Let x_ij = 1 if i comes before j (i < j; x_ji stands for 1 - x_ij). An order costs a constant plus the sum of w_ij
# x_ij, w_ij = cost[i, j] - cost[j, i]. Vectors x in {0, 1} are orders exactly if no three items form a directed cycle:
# x_ij + x_jk + x_ki <= 2. There are 2 C(m, 3) such rows A x <= b, and only violated ones enter the linear program.
#
# Bounds do not rely on the solver. For any y >= 0, every x in [low, high] with A x <= b has
#
#     w x >= (w + A'y) x - b'y >= sum of min((w + A'y) low, (w + A'y) high) - b'y.
#
# `dual_bound` evaluates this in 64-bit integers for the solver's y, rounded. The same reduced costs w + A'y fix pairs
# whose other order cannot lead to a better total. A node of the search tree is a partial order, which has a linear
# extension. No linear program is therefore infeasible, and infeasibility needs no certificate.
#
# `LinearOrdering` is the search. Several orders may have the least cost, and which of them it meets depends on the
# solver. The search therefore ends with a deterministic memetic search from the order of net wins, which stops at an
# optimum. If it finds none, `first_optimum` returns the first optimum in lexicographic order.
#
# `first_by_programs` serves few items. If the bound of a linear program is the total of an order, complementary
# slackness describes all optima: the pairs with a reduced cost have their cheaper order, and the rows with a price hold
# with equality. The first of these optima in lexicographic order is found item by item.
#
# References
# ----------
# Grötschel, M., Jünger, M., & Reinelt, G. (1984). A cutting plane algorithm for the linear ordering problem.
# Operations Research 32.
# Neumaier, A., & Shcherbina, O. (2004). Safe bounds in linear and mixed-integer linear programming. Mathematical
# Programming 99.

_CUTS, _FEW_CUTS = 3000, 800  # rows added per round; if some slack is allowed
_PLACES, _PLACE = 10, 3000  # places tried for each item, in search of the first of tied optima; steps for each
_ROUNDS = 3  # linear programs before a table of subsets
_ROOT_PATIENCE, _NODE_PATIENCE = 3, 1  # rounds with too little progress before branching
_PROGRESS = 0.05  # fraction of the gap that a round should close
_LARGE = 100  # from so many items on, linear programs may use all of the work: search for good orders first
_FIRST = 0.5  # largest fraction of the work for that search
_FRACTION_BITS = 20  # fraction bits of the multipliers y, fewer if 64 bits leave less room
_ROOT = 0.75  # fraction of the work for linear programs at the root, before the memetic search
_TRY = 3 * 10**8  # steps for linear programs from 3-cycles of majorities, before alternating directions find the rows
_ALTERNATING = 0.5  # largest fraction of the root's work for alternating directions
_PACKING = 0.25  # largest fraction of the work reserved for a packing, in case the search does not finish


def dual_bound(program, multipliers, low, high):
    """Return a lower bound on w x over low <= x <= high, A x <= b, that does not rely on a solver.

    Parameters
    ----------
    program : Relaxation
        Contains w, whose absolute values sum to less than 2**60; A (three entries of 1 or -1 per row); and b (0, 1
        or 2).
    multipliers : array of float, shape (q,)
        Any y >= 0. Better dual prices give a better bound.
    low, high : array of int64, shape (p,)
        0 or 1.

    Returns
    -------
    bound : int
        In units of 2**-shift.
    reduced : array of int64, shape (p,)
        w + A'y in the same units.
    prices : array of int64, shape (q,)
        y in the same units.
    shift : int
    """
    # the total bounds every partial sum below, and must stay under 2**62 after scaling
    total = float(np.abs(program.weights).sum()) + 3 * float(multipliers.sum())
    shift = min(_FRACTION_BITS, 61 - math.frexp(total)[1])
    if shift < 0:
        multipliers, shift = np.zeros_like(multipliers), 0
    y = np.rint(multipliers * 2.0**shift).astype(np.int64)
    reduced = program.weights * (1 << shift)
    np.add.at(reduced, program.columns, program.signs * y[:, None])
    return int(np.minimum(reduced * low, reduced * high).sum()) - int(program.right @ y), reduced, y, shift


class _Cutting:
    """Linear program of one Kemeny problem, to which directed 3-cycles are added, and the best order found."""

    def __init__(self, cost, cuts=_CUTS):
        self._cost, self._cuts = np.triu(cost - cost.T, 1), cuts  # the totals of all orders are less by one constant
        self._i, self._j, self._pair = _pairs(len(cost))
        self._w = self._cost[self._i, self._j]
        self._majority = self._matrix((1 - np.sign(self._w)) / 2)
        self._program = relaxation(self._w)
        self.order, self._best = np.arange(len(cost)), int(self._w.sum())

    def _offer(self, order):
        """Keep an order if it is better than the best one."""
        value = total_cost(self._cost, order)
        if value < self._best:
            self.order, self._best = order, value

    def _first_optimum(self, reduced, prices, room, work):
        """Return the first order in lexicographic order that costs no more than the best one, or None after many tries.

        An order exceeds the proved bound by the reduced costs of the pairs that it places the expensive way, and by the
        prices of the directed 3-cycles that it does not follow. Each is at most `room`. An order follows i, j, k if it
        has the three items as i, j, k, as j, k, i, or as k, i, j: if the first of them is placed, the other two come in
        their cyclic order.
        """
        m, binding = len(self._cost), prices > room
        must = np.zeros((m, m), dtype=bool)
        must[self._i, self._j], must[self._j, self._i] = reduced < -room, reduced > room
        columns, forward = self._program.columns[binding], self._program.signs[binding] > 0
        then: list[list[tuple[int, int]]] = [[] for _ in range(m)]  # (j, k): once the item is placed, j precedes k
        cycles = np.where(forward, self._i[columns], self._j[columns])  # the inverse of `_rows`
        for i, j, k in cycles.tolist():
            then[i].append((j, k))
            then[j].append((k, i))
            then[k].append((i, j))
        order: list[int] = []
        tries = _PLACES * m
        waiting = [(0, 2**m - 1, masks_above(must))]  # (next item to try, items left, the items above each)
        while waiting and tries:
            item, left, above = waiting.pop()
            del order[len(waiting) :]  # backtrack: one entry waits for each placed item
            while item < m and (above[item] & left or not left >> item & 1):
                item += 1
            if item == m:
                continue
            tries -= 1
            work.spend(_PLACE)
            order.append(item)
            waiting.append((item + 1, left, above))
            left ^= 1 << item
            if left:
                above = above.copy()
                for sooner, later in then[item]:
                    if left >> later & left >> sooner & 1:
                        above[later] |= 1 << sooner
                waiting.append((0, left, above))
            elif total_cost(self._cost, order) <= self._best:
                return np.array(order)
        return None

    def _fix(self, relation, reduced, room, work):
        """Add to a partial order (bool, shape (m, m)) the pairs whose other order costs over `room` above the bound."""
        free = ~(relation | relation.T)[self._i, self._j]
        later, sooner = free & (reduced > room), free & (-reduced > room)
        if not (later | sooner).any():
            return relation
        relation = relation.copy()
        relation[self._j[later], self._i[later]] = True
        relation[self._i[sooner], self._j[sooner]] = True
        return _transitive_closure(relation, work)

    def _limits(self, relation):
        """Return the bounds on x that a partial order implies."""
        return relation[self._i, self._j].astype(np.int64), 1 - relation[self._j, self._i].astype(np.int64)

    def _matrix(self, x):
        """Return the fractional order x as a matrix: how much i is before j, shape (m, m)."""
        before = np.zeros(self._pair.shape)
        before[self._i, self._j], before[self._j, self._i] = x, 1 - x
        return before

    def _rows(self, cycles):
        """Return the pairs of each directed 3-cycle, and their signs: 1, or -1 for a reversed pair."""
        following = np.roll(cycles, -1, axis=1)
        return self._pair[cycles, following], np.where(cycles < following, 1, -1)


@lru_cache(maxsize=8)
def _pairs(m):
    """Return the items i < j of each pair, and the index of the pair of each two items, shape (m, m)."""
    i, j = np.triu_indices(m, 1)
    pair = np.zeros((m, m), dtype=np.int64)
    pair[i, j] = pair[j, i] = np.arange(len(i))
    for array in (i, j, pair):
        array.setflags(write=False)  # shared by all searches
    return i, j, pair


def first_by_programs(cost, work):
    """Return the first optimum in lexicographic order, or None if a few linear programs do not prove it.

    Parameters
    ----------
    cost : array of int64, shape (m, m)
        Cost of placing i before j.
    work : Work
        Limit on the work.

    Returns
    -------
    array of int, shape (m,), or None
        Items, best first. None if a table of subsets is faster than a linear program, if its solution is not an order,
        or at a limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import first_by_programs
    >>> from sklearn_dprank.orders.kemeny import Work
    >>> cost = np.triu(np.ones((20, 20), dtype=int))  # each item is better than all before it ...
    >>> cost[0, 19], cost[19, 0] = 0, 30  # ... except for 0 and 19
    >>> first_by_programs(cost, Work())  # 20 orders cost 18
    array([ 0, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,  9,  8,  7,  6,  5,  4,
            3,  2,  1])
    """
    search = _Cutting(cost)
    if len(cost) <= search._program.table:
        return None
    low, high = np.zeros_like(search._w), np.ones_like(search._w)
    before = search._majority
    for _ in range(_ROUNDS):
        cycles = violated_cycles(before, _CUTS, work)
        if not len(cycles):
            return None
        search._program.add(*search._rows(cycles))
        solved = search._program.solve(low, high, work)
        if solved is None:
            return None
        proved, reduced, prices, shift = dual_bound(search._program, solved.multipliers, low, high)
        before = search._matrix(solved.x)
        search._offer(np.argsort(-before.sum(axis=1), kind="stable"))
        room = (search._best << shift) - proved
        if room < 1 << shift:  # totals are integers, so the best order is an optimum
            return search._first_optimum(reduced, prices, room, work)
    return None


class Node(NamedTuple):
    """Node of the search tree: lower bound, partial order (bool, shape (m, m)), and solution of its linear program."""

    bound: int
    relation: np.ndarray
    x: np.ndarray


class LinearOrdering(_Cutting):
    """Branch and cut search for one Kemeny problem; the constructor runs it.

    Parameters
    ----------
    cost : array of int64, shape (m, m)
        Cost of placing i before j; absolute values sum to less than 2**60.
    tolerance : float
        Stop once `value` + `elsewhere` is proved to be at most 1 + tolerance times the optimum of that sum.
    elsewhere : int
        Cost outside this problem that counts when the tolerance is applied.
    work : Work or None, default=None
        Limit on the work, checked inside every loop and by the solver; None means no limit.
    slack : int, default=0
        Stop also once `value` is proved to be at most `slack` above the optimum.

    Attributes
    ----------
    order : array of int, shape (m,)
        Best order found.
    value, bound : int
        Its total cost, and a proved lower bound on the cost of every order.
    """

    def __init__(self, cost, tolerance=0.0, elsewhere=0, work=None, slack=0):
        m, work = len(cost), work or Work()
        packing_steps = m**2 // 4 * (_ROW + _PACKED_ENTRY * m // 3)  # at most about so many: one row for each majority
        self._work = work.part(1 - min(work.share(packing_steps), _PACKING))
        super().__init__(cost, _FEW_CUTS if slack else _CUTS)
        self._constant = int(np.tril(cost, -1).sum())  # of all totals
        self._grid = int(np.gcd.reduce(self._w)) or 1  # all totals differ by multiples of it
        self._tolerance, self._elsewhere, self._slack = float(tolerance).as_integer_ratio(), elsewhere, slack
        self._failed = self._seeks_first = False
        # 1. Good orders, by local search.
        by_net_wins = np.argsort((cost - cost.T).sum(axis=1), kind="stable")
        self._offer(insertion_search(cost, by_net_wins, self._work))
        start = self.order
        if m >= _LARGE:
            self._offer(memetic_search(cost, start, self._work.part(_FIRST)))
        # 2. Branch and cut.
        bound = self._search()
        if bound >= self._best:  # 3. Of tied optima, one that does not depend on the solver.
            self.order = self._chosen(start)
        # 4. Without a proof, the bound of a packing may be better.
        majorities = int(np.minimum(self._w, 0).sum())
        if bound < self._best and (self._stopped or bound <= majorities):  # some slack can end the search at once
            bound = max(bound, self._round_up(majorities + packed_cycles(cost - cost.T, work)))
        self.value = self._constant + self._best
        self.bound = self._constant + min(bound, self._best)

    def _chosen(self, start):
        """Choose among tied optima independently of the solver: by a search from `start`, else the first one."""
        found = memetic_search(self._cost, start, self._work, self._best)
        if total_cost(self._cost, found) == self._best:
            return found
        self._seeks_first = True  # `_goal` is now the optimum itself, so that `_solve` keeps nodes with another optimum

        def cut(before):
            before = _transitive_closure(before, self._work)
            if (before & before.T).any():
                return None
            node = self._solve(-math.inf, before, _ROOT_PATIENCE, self._work)
            return None if node is None or self._stopped else (node.relation, self._matrix(node.x))

        return first_optimum(self._cost, self.order, cut)

    @property
    def _stopped(self):
        """Whether the solver failed or the work is used up."""
        return self._failed or self._work.over

    @property
    def _goal(self):
        """Largest total worth finding (without the constant): larger ones are within the tolerance."""
        if self._seeks_first:
            return self._best  # the search is now for tied optima
        numerator, denominator = self._tolerance
        total = max(0, self._best + self._constant + self._elsewhere)
        relative = total * numerator // (numerator + denominator)  # total - total / (1 + tolerance)
        return self._best - max(self._grid, relative + 1, self._slack + 1)

    def _round_up(self, bound, shift=0):
        """Return the least possible total that is at least bound / 2**shift."""
        return -(-bound // (self._grid << shift)) * self._grid

    def _search(self):
        """Branch on the node of lowest bound first; return the proved bound (without the constant)."""
        root_bound = self._round_up(int(np.minimum(self._w, 0).sum()))
        root = self._root(root_bound)
        heap: list[tuple[int, int, Node]] = []  # of (bound, number of the node, node)
        count = 0
        if root is not None:
            root_bound = root.bound
            self._offer(memetic_search(self._cost, self.order, self._work, root_bound))
            heap = [(root.bound, 0, root)]
        while heap and not self._stopped:
            _, _, (bound, relation, x) = heapq.heappop(heap)
            free = ~(relation | relation.T)[self._i, self._j]
            if bound > self._goal:
                continue
            if not free.any():
                self._offer(np.argsort(-relation.sum(axis=1), kind="stable"))  # the only order left
                continue
            pick = int(np.argmax(np.where(free, np.minimum(x, 1 - x) * np.abs(self._w) + _SLACK, 0)))
            for first, then in [(self._i[pick], self._j[pick]), (self._j[pick], self._i[pick])]:
                child = relation.copy()
                child[first, then] = True
                node = self._solve(bound, _transitive_closure(child, self._work), _NODE_PATIENCE, self._work)
                if node is not None:
                    count += 1
                    heapq.heappush(heap, (node.bound, count, node))
        # every order outside the open nodes was offered, or costs more than the goal
        return max(root_bound, min([self._round_up(self._goal + 1)] + [bound for bound, *_ in heap]))

    def _root(self, bound):
        """Cut before any branching. If that takes long, let alternating directions choose the rows."""
        work, relation = self._work.part(_ROOT), np.zeros(self._pair.shape, dtype=bool)
        # First, the heaviest 3-cycles of majorities, then those that solutions violate.
        cycles = violated_cycles(self._majority, 10 * self._cuts, work)
        size = np.abs(self._w)[self._pair[cycles, np.roll(cycles, -1, axis=1)]].min(axis=1)  # the cost to break a cycle
        self._program.add(*self._rows(cycles[np.argsort(-size, kind="stable")[: self._cuts]]))
        first_try = work.part(min(1, work.share(_TRY)))
        root = self._solve(bound, relation, math.inf, first_try, root=True)
        is_slow = self._failed or first_try.over
        if root is None or not is_slow or work.over:
            return root
        self._failed = False
        if len(self._cost) < _LARGE:
            self._offer(memetic_search(self._cost, self.order, work))
        # Slow: approximate prices of all rows, whose bound `priced` proves. Then rows with a price are kept.
        bound, relation, _ = root
        cycles, prices, least, before = alternating_prices(self._cost - self._cost.T, work.part(_ALTERNATING))
        self._offer(insertion_search(self._cost, np.argsort(-before.sum(axis=1), kind="stable"), work))
        priced = Relaxation(self._w)
        priced.add(*self._rows(cycles))
        proved, reduced, _, shift = dual_bound(priced, prices, *self._limits(relation))
        self._program.keep(np.zeros(len(self._program.right), dtype=bool))
        self._program.add(*self._rows(cycles[prices > least]))
        relation = self._fix(relation, reduced, (self._goal << shift) - proved, work)
        bound = max(bound, self._round_up(proved, shift))
        return self._solve(bound, relation, _ROOT_PATIENCE, work, root=True)

    def _solve(self, bound, relation, patience, work, root=False):
        """Cut at one node, a partial order; return the `Node`, or None if no better order agrees.

        This ends if no row is violated, if `patience` programs closed too little of the gap, or at a limit.
        """
        if bound > self._goal:
            return None
        x, objective = np.full(len(self._w), 0.5), -math.inf
        while patience and not (self._failed or work.over):
            limits = self._limits(relation)
            solved = self._program.solve(*limits, work)
            if solved is None:
                self._failed = True
                break
            x = solved.x
            proved, reduced, _, shift = dual_bound(self._program, solved.multipliers, *limits)
            if (proved >> shift) - bound < _PROGRESS * (self._goal - bound):
                patience -= 1
            bound = max(bound, self._round_up(proved, shift))
            before = self._matrix(x)
            if not self._seeks_first:
                self._offer(insertion_search(self._cost, np.argsort(-before.sum(axis=1), kind="stable"), work))
            if bound > self._goal:
                return None
            relation = self._fix(relation, reduced, (self._goal << shift) - proved, work)
            if (relation & relation.T).any():  # a better total would imply a cycle, so there is none
                return None
            if root and solved.value > objective + 1e-9:  # dropping rows without progress may repeat forever
                self._program.keep(solved.tight)
                objective = solved.value
            cycles = violated_cycles(before, self._cuts, work)
            if not len(cycles):
                break
            self._program.add(*self._rows(cycles))
        return Node(bound, relation, x)


def _transitive_closure(relation, work):
    """Return the transitive closure of a relation, bool of shape (m, m)."""
    relation, m = relation.copy(), len(relation)
    between = np.flatnonzero(relation.any(axis=0) & relation.any(axis=1))
    work.spend(len(between) * (4000 + m**2 // 16))
    for item in between:  # on busy cores, a BLAS product of matrices takes hundreds of times as long
        relation[relation[:, item]] |= relation[item]
    return relation


def first_optimum(cost, order, cut):
    """Return the first optimum in lexicographic order.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        An optimum, best first.
    cut : callable
        ``cut(before)`` takes a relation of items, bool of shape (m, m). It returns None if no optimum agrees with the
        relation. Otherwise, it returns two matrices: a partial order that contains the relation and agrees with the
        same optima, and a guess, in [0, 1], of whether i comes before j. No order agrees with a relation that has a
        cycle.

    Returns
    -------
    array of int, shape (m,)
        An optimum. If `cut` also returns None at a limit, it may not be the first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny import first_optimum
    >>> cost = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])  # 1 comes before or after both
    >>> def cut(before):
    ...     return None if (before & before.T).any() else (before, before + 0.0)
    >>> first_optimum(np.triu(np.ones((3, 3), dtype=int)).T, np.array([0, 1, 2]), cut)
    array([0, 1, 2])
    """
    least = total_cost(cost, order)
    node = cut(np.zeros(cost.shape, dtype=bool))
    if node is None:
        return order
    before = node[0].copy()
    for place in range(len(order)):
        rest = order[place:]
        for item in np.sort(rest[rest < order[place]]):
            if before[rest, item].any():
                continue
            others = rest[rest != item]
            with_item = before.copy()
            with_item[item, others] = True
            found = _optimum_within(cost, least, np.concatenate([order[:place], [item], others]), with_item, cut)
            if found is not None:
                order = found
                break
        before[order[place], order[place + 1 :]] = True
    return order


def _optimum_within(cost, least, order, before, cut):
    """Return an order of the least total that agrees with a relation, or None; `order` agrees and is tried first."""
    if total_cost(cost, order) == least:
        return order
    waiting = [before]
    while waiting:
        node = cut(waiting.pop())
        if node is None:
            continue
        before = node[0]
        guess = np.where(before, 1, np.where(before.T, 0, node[1]))
        order = np.argsort(-guess.sum(axis=1), kind="stable")
        if not np.tril(before[np.ix_(order, order)]).any() and total_cost(cost, order) == least:
            return order
        unsettled = ~(before | before.T)
        np.fill_diagonal(unsettled, False)
        if unsettled.any():
            i, j = np.unravel_index(np.argmin(np.where(unsettled, np.abs(guess - 0.5), 1)), guess.shape)
            for sooner, later in (j, i), (i, j):  # the last one is tried first
                child = before.copy()
                child[sooner, later] = True
                waiting.append(child)
    return None


# Kemeny orders: least total disagreement, with a proved lower bound.

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
    cost = np.array(cost)
    unit: float = 1
    check_square(cost, "cost")
    np.fill_diagonal(cost, 0)
    size = float(np.abs(cost.astype(np.float64)).sum())
    if cost.dtype.kind not in "iuf" or not size < (math.inf if cost.dtype.kind == "f" else 2.0**60):
        raise ValueError("cost must hold finite numbers; the absolute values of integers must sum to less than 2**60.")
    if cost.dtype.kind == "f":
        exponent = 51 - math.frexp(size)[1]
        cost, unit = np.rint(np.ldexp(cost.astype(np.float64), exponent)), math.ldexp(1.0, -exponent)
    cost = cost.astype(np.int64)
    work = Work(work_limit, time_limit)
    max_dp = max(min(max_dp, _EXACT) if slack else max_dp, 2)  # branch and cut needs three items
    order = majority_order(cost.T - cost)
    if order is not None:
        value = int(np.minimum(cost, cost.T).sum()) // 2 * unit
        return MinimumOrder(order, value, value)
    parts = majority_components(cost.T - cost)
    # Each pair costs at least the smaller of its two costs, and a pair across components costs no more. Only the excess
    # of the pairs within components remains to be decided.
    least = np.minimum(cost, cost.T)
    beyond = cost - least
    value = bound = int(least.sum()) // 2  # each pair is in the symmetric matrix twice
    large = [part for part in parts if len(part) > max_dp]
    # the large components share the slack, and the tolerance, which the costs outside increase
    waiting = len(large)
    shared = int(slack / unit) // max(waiting, 1)
    inside_large = {part[0]: int(least[np.ix_(part, part)].sum()) // 2 for part in large}
    outside = max(0, value - sum(inside_large.values()))
    for index in sorted(range(len(parts)), key=lambda index: len(parts[index])):
        part = parts[index]
        if len(part) == 1:
            continue
        inside = beyond[np.ix_(part, part)]
        if len(part) <= max_dp:
            first = first_by_programs(inside, work) if len(part) > FEW else None
            if first is None:  # a table of subsets
                work.spend(_SET * len(part) << len(part) - 1)
                first = best_order(inside)[0]
            total = total_cost(inside, first)
            found: Any = MinimumOrder(first, total, total)
        else:
            elsewhere = outside // len(large) + inside_large[part[0]]  # its share of what other pairs cost
            found = LinearOrdering(inside, tolerance, elsewhere, work.part(1 / waiting), shared)
            waiting -= 1
        parts[index] = part[found.order]
        value, bound = value + found.value, bound + found.bound
    order = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    return MinimumOrder(order, value * unit, bound * unit)


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
            "the Kemeny order may not be optimal, because the search reached its limit. optimal_gap (optimal_gap_ of "
            "an estimator) bounds its distance from the optimum. Raise work_limit, or allow a gap by tolerance.",
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
