"""The linear program over circles of items: SciPy's solver from scratch, or HiGHS's own bindings, kept warm.

Minimise w x over low <= x <= high, where each row (circle) of three pairs holds, x_p + x_q + x_r <= b with some of the
pairs turned around. Both solvers say the same things; neither is believed (see `linear_ordering.dual_bound`).
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
