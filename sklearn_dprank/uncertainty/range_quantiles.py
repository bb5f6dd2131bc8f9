"""Quantiles of the range of independent noise: its largest value less its smallest."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CELLS = 500  # of a standard deviation, where the noise has a finer grid than that
_REACH = 30  # standard deviations, beyond which there is no noise to speak of


@lru_cache(maxsize=64)
def range_quantile(law: Any, n_items: int, level: float) -> float:
    """Return a bound that the range of independent noise keeps with probability `level`, and hardly more.

    Parameters
    ----------
    law : LaplaceLaw or NormalLaw
        With ``tail``, ``std`` and ``grid``.
    n_items : int
        How many draws.
    level : float
        Between 0 and 1.

    Returns
    -------
    float
        Exact for noise on a grid that is coarse; otherwise too large by some four thousandths of a standard deviation.

    Notes
    -----
    With p_a(k) the probability that a value is one of a, a + 1, ..., a + k, P(range <= k) is the sum over a of
    p_a(k)^m - p_(a+1)(k - 1)^m: all of them in a, ..., a + k, but not all above a. Noise on a fine grid is rounded to
    a public one, which changes a range by less than two of its steps.

    Examples
    --------
    >>> from sklearn_dprank.uncertainty import NormalLaw
    >>> round(range_quantile(NormalLaw(1.0, grid=0.0), 10, 0.95), 2)  # of the studentized range: 4.47
    4.48
    """
    cell = max(law.grid, law.std / _CELLS)
    reach = int(_REACH * law.std / cell) + 1
    # How likely a value is below the lower edge of each cell.
    below = 1 - law.tail((np.arange(-reach, reach + 2) - 0.5) * cell)
    low, high = -1, 2 * reach
    while high - low > 1:
        middle = (low + high) // 2
        if _within(below, middle, n_items) >= level:
            high = middle
        else:
            low = middle
    return cell * (high if cell == law.grid else high + 2)


def _within(below: NDArray[np.float64], width: int, n_items: int) -> float:
    """Return the probability that `n_items` values lie within `width` cells of each other."""
    last = np.minimum(np.arange(len(below) - 1) + width + 1, len(below) - 1)
    upper, first, second = below[last], below[:-1], below[1:]
    return float(((upper - first) ** n_items - np.maximum(upper - second, 0) ** n_items).sum())
