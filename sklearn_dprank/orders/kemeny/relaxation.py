"""Lower bounds for Kemeny optima: linear programs, alternating directions, and packings of directed 3-cycles.

Linear programs. `Relaxation` (SciPy, cold start) and `WarmRelaxation` (highspy, warm start) minimise w x over
low <= x <= high. Each row is a directed 3-cycle of three pairs and states x_p + x_q + x_r <= b, with some of the pairs
reversed. `relaxation` chooses the solver, and `violated_cycles` finds rows that a solution violates.

Alternating directions. `alternating_prices` finds dual prices of all rows to about a percent, for problems on which the
simplex method takes long. Write z_ij = x_ij - 1/2 = -z_ji. The relaxation minimises w z subject to |z_ij| <= 1/2 for
each pair and |z_ij + z_jk + z_ki| <= 1/2 for each three items. Each pair and each three items have a copy of the
limited quantity, u = z and v = C z. An iteration clips the copies to their limits and then updates z by least squares
(Boyd et al., section 3.1). The update has a closed form, because on all pairs C'C is m times the projection away from
gradients (Jiang et al., theorem 3):

    (I + C'C)^-1 r = (r + m g) / (1 + m),  g_ij = (sum of r_i. - sum of r_j.) / m.

The price of a limit is the amount by which its copy exceeds the limit before clipping. Prices are approximate, but
`linear_ordering.dual_bound` derives a proved bound from any prices.

Packings. `packed_cycles` packs directed 3-cycles into the majorities, in integers. The packed weight is a lower bound
that needs no linear program.

References
----------
Boyd, S., Parikh, N., Chu, E., Peleato, B., & Eckstein, J. (2011). Distributed optimization and statistical learning via
the alternating direction method of multipliers. Foundations and Trends in Machine Learning 3.
Jiang, X., Lim, L.-H., Yao, Y., & Ye, Y. (2011). Statistical ranking and combinatorial Hodge theory. Mathematical
Programming 127.
"""

import math
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from .work import COLD, WARM

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
    >>> from sklearn_dprank.orders.kemeny.relaxation import Relaxation
    >>> from sklearn_dprank.orders.kemeny.work import Work
    >>> program = Relaxation(np.array([-5, 4, -3]))  # pairs 01, 02, 12
    >>> program.add(np.array([[0, 2, 1]]), np.array([[1, 1, -1]]))
    >>> solved = program.solve(np.zeros(3), np.ones(3), Work())
    >>> solved.value * program.scale, solved.multipliers  # 0, 1, 2 costs -5 for 01, -3 for 12: 3 more than nothing, -8
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
        size = len(self.right) + len(columns)
        limits = {}
        if work.left < math.inf:
            limits["maxiter"] = self.pace.iterations(size, len(columns), work.left)
        if work.seconds < math.inf:
            limits["time_limit"] = max(work.seconds, 0.0)
        q = len(self.right)
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
        x = np.clip(np.where(self.weights > 0, 0, np.where(self.weights < 0, 1, 0.5)), low, high)
        x[columns] = np.clip(result.x, 0, 1)
        prices = self._prices(result.ineqlin.marginals)
        return Solved(x, prices, float(self.weights @ x) / self.scale, (result.slack < _SLACK) | (prices > 0))

    def _prices(self, marginals):
        return np.maximum(-marginals, 0) * self.scale


class WarmRelaxation(Relaxation):
    """Linear program over directed 3-cycles in a persistent HiGHS model. Each solution starts from the last basis.

    The parameters, attributes and methods are those of `Relaxation`. The class requires highspy.
    """

    pace = WARM
    table = 12

    def __init__(self, weights):
        super().__init__(weights)
        highs = _highspy()
        self._optimal, self._interrupted = highs.HighsModelStatus.kOptimal, highs.HighsModelStatus.kIterationLimit
        self._free = -highs.kHighsInf
        self._model = _silent(highs.Highs)()
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
        self._model.addRows(q, np.full(q, self._free), above, 3 * q, starts, *entries)

    def keep(self, rows):
        """Drop the rows that a Boolean mask does not select."""
        super().keep(rows)
        dropped = np.flatnonzero(~rows).astype(np.int32)
        self._model.deleteRows(len(dropped), dropped)
        self._nonbasic = self._nonbasic[rows]

    def solve(self, low, high, work):
        """Solve within bounds of shape (p,) and the remaining `work`; return Solved, or None if not finished."""
        self._model.changeColsBounds(len(self.weights), self._all, low.astype(float), high.astype(float))
        while not self._run(work):
            if self._model.getModelStatus() != self._interrupted or work.over:
                return None
        found = self._model.getSolution()
        prices = self._prices(np.array(found.row_dual))
        tight = self._nonbasic | (prices > 0)
        x = np.minimum(np.maximum(found.col_value, 0), 1)
        return Solved(x, prices, self._info.objective_function_value, tight)

    def _run(self, work):
        """Run the iterations that the remaining work allows; return whether the program is solved."""
        model, columns, size = self._model, len(self.weights), len(self.right) + len(self.weights)
        held = np.count_nonzero(self._nonbasic)
        most = int(_AT_ONE_TIME * size)  # a solution rarely takes so many; if it does, the caller goes on
        if self.pace.steps(size, most, (held + most) / columns) > work.left:
            most = self.pace.iterations(size, columns, work.left, held / columns)
        model.setOptionValue("simplex_iteration_limit", most)
        model.setOptionValue("time_limit", model.getRunTime() + max(work.seconds, 0.0))
        model.run()
        self._info = model.getInfo()
        done = self._info.simplex_iteration_count
        basic = model.getBasicVariables()[1]  # -1 - row for a row
        self._nonbasic = np.ones(len(self.right), dtype=bool)
        self._nonbasic[-1 - basic[basic < 0]] = False
        now = np.count_nonzero(self._nonbasic)
        mean = now - (now - held) ** 2 / max(2 * done, 1)  # the first iterations add or remove one column each
        work.spend(self.pace.steps(size, done, mean / columns))
        return model.getModelStatus() == self._optimal


def relaxation(weights):
    """Return a `WarmRelaxation` if highspy (the extra ``solver``) is installed, else a `Relaxation`."""
    return WarmRelaxation(weights) if _highspy() else Relaxation(weights)


@cache
def _silent(model: Any) -> Any:
    """Return a class of models like `model` that print nothing."""

    class Silent(model):
        def enableCallbacks(self):  # the constructor calls it, and from version 1.16 on it prints a banner
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return Silent


@cache
def _highspy():
    """Return the module highspy, or None if it is not installed."""
    try:
        return import_module("highspy")
    except ImportError:
        return None


_ITERATIONS = 200
_STEP = 0.04  # step size rho, for weights that are 1 on average
_WORTH = 1.0  # in units of the step; rows with lower prices enter only if they are violated
_RELAX = 1.8  # over-relaxation
_SWEEP_ROW, _SWEEP_CELL = 10_000, 3  # steps per item and iteration, and per pair of later items
_MOST_CELLS = 2**26  # 256 MB


def alternating_steps(n_items):
    """Return an approximate upper limit on the steps of one iteration."""
    return _SWEEP_ROW * n_items + _SWEEP_CELL * _cells(n_items)


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
    >>> from sklearn_dprank.orders.kemeny.relaxation import alternating_prices
    >>> from sklearn_dprank.orders.kemeny.work import Work
    >>> excess = np.array([[0, -5, 3], [5, 0, -4], [-3, 4, 0]])  # 0 before 1 before 2 before 0
    >>> cycles, prices, least, before = alternating_prices(excess, Work())
    >>> cycles, prices.round(), before.argsort().tolist()  # whatever the order, 3 are overruled
    (array([[0, 1, 2]]), array([3.]), [[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    """
    m = len(excess)
    unit = _STEP * (float(np.abs(excess, dtype=np.float64).mean()) or 1.0)
    pull = (excess / unit).astype(np.float32)
    pairs = -np.sign(pull) / 2
    z = pairs.copy()
    threes = (
        [np.zeros((m - i - 1, m - i - 1), dtype=np.float32) for i in range(m - 2)] if _cells(m) < _MOST_CELLS else []
    )
    for _ in range(_ITERATIONS if threes else 0):
        if work.left < alternating_steps(m) or work.over:
            break
        work.spend(alternating_steps(m))
        rest = _clipped(z.copy(), pairs) - pull
        for i, copies in enumerate(threes):
            behind = slice(i + 1, m)
            reflected = _clipped(z[behind, behind] + z[i, behind, None] - z[i, behind], copies)
            rest[behind, behind] += reflected
            rest[i, behind] += reflected.sum(axis=1)
            rest[behind, i] -= reflected.sum(axis=1)
        net = rest.sum(axis=1)
        z = (rest + net[:, None] - net) / np.float32(1 + m)
    cycles, prices = _priced(threes)
    return cycles, prices * unit, _WORTH * unit, np.clip(z + 0.5, 0, 1)


def _cells(n_items):
    return n_items**3 // 3


def _clipped(now, copies):
    """Update the copies before clipping, for their current values `now` (overwritten); return the copies reflected."""
    within = np.clip(copies, -0.5, 0.5)
    now -= within
    now *= _RELAX
    copies += now
    np.clip(copies, -0.5, 0.5, out=within)
    within *= 2
    within -= copies
    return within


def _priced(threes):
    """Return the directed 3-cycles whose copies exceed their limits, and by how much."""
    cycles, prices = [np.empty((0, 3), dtype=np.int64)], [np.empty(0)]
    for i, copies in enumerate(threes):
        first, second = np.nonzero(copies > 0.5)  # the reversed 3-cycle has the same value with a minus
        prices.append(copies[first, second].astype(float) - 0.5)
        cycles.append(np.stack([np.full(len(first), i), first + i + 1, second + i + 1], axis=1))
    return np.concatenate(cycles), np.concatenate(prices)


_ROW, _ENTRY, _CELL = 8000, 6, 6  # steps per row of a packing, per entry of it, and per pair of a scan
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
    waiting, count = [(np.empty((0, 3), dtype=np.int64), np.empty(0))], 0
    start, m = 0, len(before)
    while start < m - 2 and not work.over:
        i = np.arange(start, min(start + max(1, _AT_ONCE // (m - start) ** 2), m - 2))
        # if the three terms exceed 2 together, each exceeds 0
        j = start + 1 + np.flatnonzero((before[i, start + 1 :] > 0).any(axis=0))
        k = start + 1 + np.flatnonzero((before[start + 1 :, i] > 0).any(axis=1))
        work.spend(_SCAN + _CELL * len(i) * len(j) * len(k))
        above = before[i[:, None], j][:, :, None] + before[j[:, None], k]
        above += before[k, i[:, None]][:, None]
        above -= 2 + 1e-6
        found = np.flatnonzero(above > 0)
        from_i, from_j, from_k = np.unravel_index(found, above.shape)
        triples = np.stack([i[from_i], j[from_j], k[from_k]], axis=1)
        once = (triples[:, 1] > triples[:, 0]) & (triples[:, 2] > triples[:, 0])
        waiting.append(_most(triples[once], above.ravel()[found[once]], limit))
        count += len(waiting[-1][0])
        if count > 4 * limit:
            triples, amounts = _joined(waiting)
            waiting, count = [_most(triples, amounts, limit)], limit
        start = i[-1] + 1
    triples, amounts = _joined(waiting)
    return triples[np.argsort(-amounts, kind="stable")[:limit]]


def _joined(waiting):
    triples, excess = zip(*waiting, strict=True)
    return np.concatenate(triples), np.concatenate(excess)


def _most(triples, excess, limit):
    """Return the triples with the largest excess, no more than `limit`; the first come first among equals."""
    if len(triples) <= limit:
        return triples, excess
    most = np.argsort(-excess, kind="stable")[:limit]
    return triples[most], excess[most]


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
    return _threes(room.copy(), work) or _one_cycle(room)


def packing_steps(n_items):
    """Return an approximate upper limit on the steps of `packed_cycles`: one row for each majority."""
    return n_items**2 // 4 * (_ROW + _ENTRY * n_items // 3)


def _threes(room, work):
    """Fill the directed 3-cycles i -> j -> k -> i, for one i after the other; return the sum of their weights."""
    total = 0
    for i in range(len(room) - 2):
        back = room[i + 1 :, i].copy()  # k -> i, for each k
        for j in np.flatnonzero(room[i, i + 1 :]):
            if work.over:
                return total
            work.spend(_ROW + _ENTRY * len(back))
            forth = room[i + 1 + j, i + 1 :]
            most = np.minimum(forth, back)
            filled = np.minimum(most.cumsum(), room[i, i + 1 + j])
            weights = np.diff(filled, prepend=0)
            forth -= weights
            back -= weights
            total += int(filled[-1])
    return total


def _one_cycle(room):
    """Follow the largest majorities until an item recurs; return the smallest majority of this cycle, or 0."""
    item, seen = 0, {}
    majorities: list[int] = []
    while len(room) and item not in seen:
        seen[item] = len(majorities)
        following = int(room[item].argmax())
        majorities.append(int(room[item, following]))
        item = following
    return min(majorities[seen[item] :]) if majorities else 0
