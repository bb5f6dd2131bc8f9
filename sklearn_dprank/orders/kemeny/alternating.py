"""Prices of circles by alternating directions: the relaxation within a percent, where the simplex method takes long.

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

import numpy as np

_ITERATIONS = 200
_STEP = 0.04  # rho, where weights are 1 on average
_WORTH = 1.0  # in units of the step: a row of a lower price has to be found again
_RELAX = 1.8  # over-relaxation
_ROW, _CELL = 10_000, 3  # steps an item takes in an iteration, and each pair of items behind it
_MOST_CELLS = 2**26  # 256 MB


def alternating_steps(n_items):
    """Return how many steps an iteration takes, at most about."""
    return _ROW * n_items + _CELL * _cells(n_items)


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
    >>> from sklearn_dprank.orders.kemeny.alternating import alternating_prices
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
