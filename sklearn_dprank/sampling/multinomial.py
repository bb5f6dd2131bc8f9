"""How many of n balls fall in each of some equal cells, exactly, in less time than it takes to throw them.

Standard library and numpy only: what many devices say together is simulated with it.
"""

from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource
from .poisson import many_poisson

_THROWS = 64  # balls that are thrown in the time of one Poisson number, and more


def multinomial(n: int, cells: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw how many of `n` balls fall in each of `cells` cells, each ball in any cell with the same probability.

    Parameters
    ----------
    n : int
        How many balls; not negative.
    cells : int
        How many cells; positive.
    bits : BitSource
        Where the uniform integers come from.

    Returns
    -------
    ndarray of int64, shape (cells,)
        The counts, which add up to `n`.

    Notes
    -----
    Independent Poisson numbers of one rate, given their sum s, are the counts of s balls. So a Poisson number is drawn
    for every cell, at a rate that leaves a few balls over as a rule; these are thrown one by one, and where the sum is
    above n, all is drawn again: given any s, the counts of s balls and n - s more are those of n balls. Poisson numbers
    and throws are exact, and so are the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> int(multinomial(10**9, 6, SeededBits(np.random.SeedSequence(0))).sum())
    1000000000
    """
    if n < _THROWS * cells:
        return _thrown(n, cells, bits)
    rate = Fraction(n - 3 * isqrt(n), cells)  # the sum is above n once in some 700 times
    while True:
        counts = many_poisson(rate, cells, bits)
        left = n - int(counts.sum())
        if left >= 0:
            return counts + _thrown(left, cells, bits)


def _thrown(n, cells, bits):
    """Return the same counts, a ball at a time."""
    return np.bincount(bits.integers(cells, n), minlength=cells)
