"""Exact sampling of orders by their total cost, from the total weight of every subset of the items."""

import math

import numpy as np

from ..._utils.checks import check_number
from ..subset_dp import Sweep, reduced_gain
from ..subsets import OneByOne, taken_side_by_side
from .base import OrderSampler
from .choice import Choice, draw_each


def _logsumexp(values):
    """Overwrite `values` and return the log of the sum of their exponentials over axis 1."""
    top = values.max(axis=1)
    values -= top[:, None]
    np.maximum(values, -700.0, out=values)  # smaller ones do not change a sum, but are slow: exp underflows
    np.exp(values, out=values)
    total = values.sum(axis=1)
    np.log(total, out=total)
    return np.add(total, top, out=total)


class PartitionTable(OrderSampler):
    """Sampler of orders with probability proportional to exp(-scale * total cost), and its partition function.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        ``cost[i, j]`` is the cost of placing i before j; the diagonal is ignored. Integers are summed exactly and
        scaled once, as `log_rounding_error` assumes.
    scale : float
        At least 0. In the exponential mechanism, epsilon over the sensitivity (or over twice the sensitivity).

    Attributes
    ----------
    log_partition : float
        Log of the sum of exp(-scale * total cost) over all m! orders.

    Raises
    ------
    ValueError
        If `cost` is not a square matrix of integers or finite floats, could overflow, or has more than 30 rows; if
        `scale` is negative or not finite.

    Notes
    -----
    Orders are drawn item by item from the table of all subsets (forward filtering, backward sampling). No draw is
    rejected, and the running time does not depend on the values of `cost`. The table takes 8 * 2**m bytes: 8 MB at
    m = 20, 270 MB at m = 25.

    The distribution is exact up to double precision. The probability of each order, however small, is within a factor
    exp(2 * log_rounding_error(...) + log_choice_error(...)).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.samplers.partition import PartitionTable
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> table = PartitionTable(np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0]]), scale=np.log(2))
    >>> round(float(np.exp(table.log_partition)), 4)  # 1 + 1/2 + 1/2 + 1/8 + 1/8 + 1/16
    2.3125
    >>> table.sample(2, SeededBits(np.random.SeedSequence(0))).shape
    (2, 3)
    """

    _ROWS = 2**12  # samples drawn together

    def __init__(self, cost, scale):
        check_number(scale, "scale", least=0)
        gain, constant = reduced_gain(cost)
        self._scale = float(scale)
        self._sweep = Sweep(gain.astype(np.float64))  # integers below 2**53 stay exact
        self._table = self._sweep.run(_logsumexp, self._scale)
        self.log_partition = self._table[-1, -1].item() - self._scale * constant
        self.n_items = len(gain)
        self._first = OneByOne(self.n_items, self._choice_of)

    def draw(self, bits):
        """Draw one order, best first, int, shape (m,); choices are cached for each set of remaining items."""
        return self._first.draw(bits)

    def _choice_of(self, mask, left):
        """Return the choice of the first item of a set."""
        return Choice(self._weights(np.array([mask]), left[None])[0])

    def sample(self, size, bits):
        """Draw independent orders, best first, int, shape (size, m). It is faster than repeated calls of `draw`."""

        def pick(masks, left):
            return draw_each(self._weights(masks, left), bits)

        orders = np.empty((size, self.n_items), dtype=np.int64)
        for start in range(0, size, self._ROWS):
            rows = orders[start : start + self._ROWS]
            rows[:] = taken_side_by_side(len(rows), self.n_items, pick)
        return orders

    def _weights(self, masks, left):
        """Return the log weight of each item of each set as its first item."""
        return self._sweep.peel(self._table, masks, left, self._scale)


def log_rounding_error(n_items, exponent):
    """Return a bound on the rounding error of any entry of the log table behind `PartitionTable`.

    Parameters
    ----------
    n_items : int
        Number m of items.
    exponent : float
        Bound on scale times the sum over pairs of ``abs(cost[i, j] - cost[j, i])``. In the exponential mechanism for
        Kemeny with n voters, scale = epsilon / C(m, 2) gives epsilon * n.

    Returns
    -------
    float
        Bound on the absolute error of the log weight of any subset of items, above the constant. Costs must be integers
        that sum to less than 2**53.

    Notes
    -----
    A relative error eta of every probability adds 2 eta to the epsilon of a mechanism. eta is at most twice this bound:
    an order's probability is a product of exp(F(S - x) - c) / exp(F(S)). The errors of F cancel, except those of the
    whole set and the local ones made at each S.

    Let u = 2**-53, F(S) the exact log weight of a k-subset and M a bound on all abs(F). One step takes
    t_x = F(S - x) - c_x, where c_x is one product. Its errors are u c_x and u abs(t_x), with c_x <= M + abs(t_x) and
    abs(t_x) <= M + (F(S) - t_x). They count in proportion to p_x = exp(t_x - F(S)). The sum of p_x (F(S) - t_x) is an
    entropy, at most log k. Together this gives u (3 M + 2 log k).

    The other operations add: subtracting the largest value u log k, the exponential 4 u, k - 1 additions (k - 1) u, the
    logarithm 4 u log k, and adding the largest value back u M. The sum over k <= m is below u m (4 M + (m + 7) / 2 + 7
    log m). The constants below are rounded up for second-order terms. M is the larger of two limits on abs(F(S)). F(S)
    is at most log k!, and at least minus the smaller cost of any order and its reverse. That cost is at most half of
    `exponent`.

    Examples
    --------
    >>> from sklearn_dprank.orders.samplers.partition import log_rounding_error
    >>> log_rounding_error(20, exponent=5000.0) < 1e-10
    True
    """
    magnitude = max(exponent / 2, math.lgamma(n_items + 1))
    return 2.0**-53 * n_items * (4 * magnitude + n_items / 2 + 8 * math.log(max(n_items, 1)) + 5)
