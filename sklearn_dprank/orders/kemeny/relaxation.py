"""Lower bounds for Kemeny optima: a linear program, alternating directions, and packings of directed 3-cycles.

The linear program, solved by SciPy from scratch or by HiGHS's own bindings with a warm start:
minimise w x over low <= x <= high, where each row, a directed 3-cycle of three pairs, has x_p + x_q + x_r <= b with
some of the pairs reversed.

Alternating directions find dual prices of its rows within a percent, where the simplex method takes long.
Write z_ij = x_ij - 1/2 = -z_ji. The relaxation asks for the least w z with |z_ij| <= 1/2 for each pair and
|z_ij + z_jk + z_ki| <= 1/2 for each three items. Every pair and every three items get a copy of what they limit, u = z
and v = C z, which is clipped; then z is mended by least squares, and so on (Boyd et al., section 3.1). Mending is one
line: on all pairs C'C is m times the projection away from gradients (Jiang et al., theorem 3), so that

    (I + C'C)^-1 r = (r + m g) / (1 + m),  g_ij = (sum of r_i. - sum of r_j.) / m.

What a copy exceeds its limit by before it is clipped is its price. Nothing here is exact: `linear_ordering.dual_bound`
makes a proved bound of any prices.

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


class Solved(NamedTuple):
    """What a solver says.

    Attributes
    ----------
    x : array of float, shape (p,)
        In [0, 1].
    multipliers : array of float, shape (q,)
        One for each row, not negative.
    value : float
        Of the program, where the largest weight is 1.
    tight : array of bool, shape (q,)
        The rows that hold the solution where it is; without the others it is the same.
    """

    x: np.ndarray
    multipliers: np.ndarray
    value: float
    tight: np.ndarray


class Relaxation:
    """A linear program whose rows come and go; this one is solved by SciPy, each time from the beginning.

    Parameters
    ----------
    weights : array of int64, shape (p,)
        w, one for each pair.

    Attributes
    ----------
    columns, signs : array of int64, shape (q, 3)
        The pairs of each row, and 1 or -1.
    right : array of int64, shape (q,)
        b: 2 less one for each -1 of the row.

    Examples
    --------
    Three items, each before the next one and the last before the first: no order has more than two of these.

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

    def __init__(self, weights):
        self.weights = weights
        self.scale = float(np.abs(weights).max(initial=0)) or 1.0
        self.columns = self.signs = np.empty((0, 3), dtype=np.int64)
        self.right = np.empty(0, dtype=np.int64)

    def add(self, columns, signs):
        """Add rows."""
        self.columns = np.concatenate([self.columns, columns])
        self.signs = np.concatenate([self.signs, signs])
        self.right = np.concatenate([self.right, 2 - (signs < 0).sum(axis=1)])

    def keep(self, rows):
        """Drop the rows that a mask does not name."""
        self.columns, self.signs, self.right = self.columns[rows], self.signs[rows], self.right[rows]

    def solve(self, low, high, work):
        """Solve within bounds of shape (p,), as far as the work goes.

        Returns
        -------
        Solved or None
            None where the solver did not come to an end.
        """
        columns = np.unique(np.append(self.columns, 0))  # the others take what is cheaper; a program needs one
        size = len(self.right) + len(columns)
        limits = {}
        if work.left < math.inf:
            limits["maxiter"] = self.pace.iterations(size, work.left)
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
        work.spend(self.pace.steps(size, result.nit))
        if result.status != 0:
            return None
        x = np.clip(np.where(self.weights > 0, 0, np.where(self.weights < 0, 1, 0.5)), low, high)
        x[columns] = np.clip(result.x, 0, 1)
        prices = self._prices(result.ineqlin.marginals)
        return Solved(x, prices, float(self.weights @ x) / self.scale, (result.slack < _SLACK) | (prices > 0))

    def basis(self):
        """Return where a later program may `start`; None here."""
        return None

    def start(self, basis):
        """Start the next program from what `basis` returned, unless rows were dropped since."""

    def _prices(self, marginals):
        return np.maximum(-marginals, 0) * self.scale


class WarmRelaxation(Relaxation):
    """The same program in a model of HiGHS that lives on: each solution starts from the basis of the last one.

    The parameters, attributes and methods are those of `Relaxation`; ``import highspy`` has to work.
    """

    pace = WARM

    def __init__(self, weights):
        super().__init__(weights)
        highs = _highspy()
        self._optimal, self._free = highs.HighsModelStatus.kOptimal, -highs.kHighsInf
        self._basic = highs.HighsBasisStatus.kBasic
        self._model, self._done = highs.Highs(), 0
        for option, value in {"output_flag": False, "threads": 1, "solver": "simplex", "presolve": "off"}.items():
            self._model.setOptionValue(option, value)
        p = len(weights)
        self._all = np.arange(p, dtype=np.int32)
        self._model.addVars(p, np.zeros(p), np.ones(p))
        self._model.changeColsCost(p, self._all, weights / self.scale)

    def add(self, columns, signs):
        """Add rows."""
        super().add(columns, signs)
        q = len(columns)
        starts = np.arange(0, 3 * q, 3, dtype=np.int32)
        above = self.right[len(self.right) - q :].astype(float)
        entries = columns.ravel().astype(np.int32), signs.ravel().astype(float)
        self._model.addRows(q, np.full(q, self._free), above, 3 * q, starts, *entries)

    def keep(self, rows):
        """Drop the rows that a mask does not name."""
        super().keep(rows)
        dropped = np.flatnonzero(~rows).astype(np.int32)
        self._model.deleteRows(len(dropped), dropped)
        if not rows.any():
            self._done = 0  # the basis is empty again

    def solve(self, low, high, work):
        """Solve within bounds of shape (p,), as far as the work goes; return Solved, or None."""
        model, size = self._model, len(self.right) + len(self.weights)
        most = self.pace.iterations(size, work.left, self._done) if work.left < math.inf else 2**31 - 1
        model.setOptionValue("simplex_iteration_limit", most)
        model.setOptionValue("time_limit", model.getRunTime() + max(work.seconds, 0.0))
        model.changeColsBounds(len(self.weights), self._all, low.astype(float), high.astype(float))
        model.run()
        info = model.getInfo()
        work.spend(self.pace.steps(size, info.simplex_iteration_count, self._done))
        self._done += info.simplex_iteration_count
        if model.getModelStatus() != self._optimal:
            return None
        found = model.getSolution()
        prices = self._prices(np.array(found.row_dual))
        tight = np.array([status != self._basic for status in model.getBasis().row_status], dtype=bool) | (prices > 0)
        return Solved(np.clip(np.array(found.col_value), 0, 1), prices, info.objective_function_value, tight)

    def basis(self):
        """Return where a later program may `start`."""
        return self._model.getBasis()

    def start(self, basis):
        """Start the next program from what `basis` returned, unless rows were dropped since."""
        status = basis.row_status
        basis.row_status = status + [self._basic] * (len(self.right) - len(status))
        self._model.setBasis(basis)


def relaxation(weights):
    """Return a `WarmRelaxation` where highspy (the extra ``solver``) is installed, else a `Relaxation`."""
    return WarmRelaxation(weights) if _highspy() else Relaxation(weights)


@cache
def _highspy():
    """Return HiGHS's bindings, or None."""
    try:
        return import_module("highspy")
    except ImportError:
        return None


_ITERATIONS = 200
_STEP = 0.04  # rho, where weights are 1 on average
_WORTH = 1.0  # in units of the step: a row of a lower price has to be found again
_RELAX = 1.8  # over-relaxation
_SWEEP_ROW, _SWEEP_CELL = 10_000, 3  # steps an item takes in an iteration, and each pair of items behind it
_MOST_CELLS = 2**26  # 256 MB


def alternating_steps(n_items):
    """Return how many steps an iteration takes, at most about."""
    return _SWEEP_ROW * n_items + _SWEEP_CELL * _cells(n_items)


def alternating_prices(excess, work):
    """Return circles, what each is worth about, and a fraction of an order.

    Parameters
    ----------
    excess : array of int64, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    work : Work
        What may be spent.

    Returns
    -------
    circles : array of int, shape (count, 3)
        (i, j, k), i < j and i < k: x_ij + x_jk + x_ki is at most 2. Those with a price.
    prices : array of float, shape (count,)
        Above 0, in units of the cost. None is given for more items than memory allows.
    least : float
        A price that is worth a row of a linear program.
    before : array of float, shape (m, m)
        About x.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.relaxation import alternating_prices
    >>> from sklearn_dprank.orders.kemeny.work import Work
    >>> excess = np.array([[0, -5, 3], [5, 0, -4], [-3, 4, 0]])  # 0 before 1 before 2 before 0
    >>> circles, prices, least, before = alternating_prices(excess, Work())
    >>> circles, prices.round(), before.argsort().tolist()  # whatever the order, 3 are overruled
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
    circles, prices = _priced(threes)
    return circles, prices * unit, _WORTH * unit, np.clip(z + 0.5, 0, 1)


def _cells(n_items):
    return n_items**3 // 3


def _clipped(now, copies):
    """Move copies, before they are clipped, to where they should be `now` (overwritten); return them reflected."""
    within = np.clip(copies, -0.5, 0.5)
    now -= within
    now *= _RELAX
    copies += now
    np.clip(copies, -0.5, 0.5, out=within)
    within *= 2
    within -= copies
    return within


def _priced(threes):
    """Return the circles whose copies exceed their limits, and by how much."""
    circles, prices = [np.empty((0, 3), dtype=np.int64)], [np.empty(0)]
    for i, copies in enumerate(threes):
        first, second = np.nonzero(copies > 0.5)  # the copies of the other way round are the same with a minus
        prices.append(copies[first, second].astype(float) - 0.5)
        circles.append(np.stack([np.full(len(first), i), first + i + 1, second + i + 1], axis=1))
    return np.concatenate(circles), np.concatenate(prices)


_ROW, _ENTRY, _CELL = 8000, 6, 6  # steps a row of a packing takes and each of its entries, and a pair of a scan


def violated_circles(before, limit, work):
    """Return the triples (i, j, k), i < j and i < k, most above x_ij + x_jk + x_ki = 2.

    Parameters
    ----------
    before : array, shape (m, m)
        ``before[i, j]`` in [0, 1] is x_ij, and ``before[j, i]`` is one minus it.
    limit : int
        At most so many, the most violated first.
    work : Work
        What may be spent; once it is over, the i that are left are not looked at.

    Returns
    -------
    array of int, shape (count, 3)
    """
    waiting, count = [(np.empty((0, 3), dtype=np.int64), np.empty(0))], 0
    for i in range(len(before) - 2):
        if work.over:
            break
        # each of the three exceeds 0 where they exceed 2 together
        j, k = (i + 1 + np.flatnonzero(before[i, i + 1 :])), (i + 1 + np.flatnonzero(before[i + 1 :, i]))
        work.spend(_ROW + _CELL * len(j) * len(k))
        above = before[i, j, None] + before[j[:, None], k] + before[k, i] - (2 + 1e-6)
        first, second = np.nonzero(above > 0)
        triples = np.stack([np.full(len(first), i), j[first], k[second]], axis=1)
        waiting.append(_most(triples, above[first, second], limit))
        count += len(waiting[-1][0])
        if count > 4 * limit:
            triples, amounts = _joined(waiting)
            waiting, count = [_most(triples, amounts, limit)], limit
    found, excess = _joined(waiting)
    return found[np.argsort(-excess, kind="stable")[:limit]]


def _joined(waiting):
    triples, excess = zip(*waiting, strict=True)
    return np.concatenate(triples), np.concatenate(excess)


def _most(triples, excess, limit):
    """Return those of most excess, no more than `limit`; the first come first among equals."""
    if len(triples) <= limit:
        return triples, excess
    most = np.argsort(-excess, kind="stable")[:limit]
    return triples[most], excess[most]


def packed_circles(excess, work):
    """Bound from below what every order overrules, by circles that share no part of a majority.

    Every order overrules a pair of each circle of majorities. Circles to which weights are given, so that no pair
    carries more than its majority, therefore cost every order the sum of the weights at least. Circles of three are
    filled greedily; where ties leave none, or no work is left, one circle of any length is found.

    Parameters
    ----------
    excess : array of int, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    work : Work
        What may be spent. The single circle is found even so.

    Returns
    -------
    int
        A bound on what an order costs beyond the cheaper order of each pair; above 0 if majorities run in a circle
        and the items are one component of them.
    """
    room = np.maximum(-excess, 0)  # what putting j before i costs more than i before j
    return _threes(room.copy(), work) or _one_circle(room)


def packing_steps(n_items):
    """Return how many steps `packed_circles` takes, at most about: a row for each majority."""
    return n_items**2 // 4 * (_ROW + _ENTRY * n_items // 3)


def _threes(room, work):
    """Fill circles i -> j -> k -> i, one i after the other; return the sum of their weights."""
    total = 0
    for i in range(len(room) - 2):
        back = room[i + 1 :, i].copy()  # from each k
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


def _one_circle(room):
    """Follow the largest majorities until an item comes again; return the smallest of the circle, or 0."""
    item, seen = 0, {}
    majorities: list[int] = []
    while len(room) and item not in seen:
        seen[item] = len(majorities)
        following = int(room[item].argmax())
        majorities.append(int(room[item, following]))
        item = following
    return min(majorities[seen[item] :]) if majorities else 0
