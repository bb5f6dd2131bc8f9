"""Exact sampling of multinomial counts with equal probabilities.

It uses NumPy and the standard library only, because client code uses it to simulate many clients.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource
from .poisson import many_poisson

_THROWS = 64  # average balls per cell above which Poisson numbers are faster than single throws


def multinomial(n: int, cells: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw the counts of `n` balls in `cells` cells of equal probability.

    Parameters
    ----------
    n : int
        Number of balls, at least 0.
    cells : int
        Number of cells, at least 1.
    bits : BitSource
        Source of uniform integers.

    Returns
    -------
    ndarray of int64, shape (cells,)
        The counts. They add up to `n`.

    Notes
    -----
    Independent Poisson numbers of one rate, given their sum s, are distributed as the counts of s balls. The sampler
    draws one Poisson number per cell. The rate is chosen so that a few balls usually remain, and these are thrown one
    by one. If the sum is above n, all numbers are drawn again. For any s, adding the counts of n - s further balls
    gives the distribution of n balls. Poisson numbers and throws are exact, so the counts are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> int(multinomial(10**9, 6, SeededBits(np.random.SeedSequence(0))).sum())
    1000000000
    """
    if n < _THROWS * cells:
        return _thrown(n, cells, bits)
    rate = Fraction(n - 3 * isqrt(n), cells)  # the sum exceeds n about once in 700 times
    while True:
        counts = many_poisson(rate, cells, bits)
        left = n - int(counts.sum())
        if left >= 0:
            return counts + _thrown(left, cells, bits)


def _thrown(n, cells, bits):
    """Return the same counts by throwing single balls."""
    return np.bincount(bits.integers(cells, n), minlength=cells)
