"""Skellam noise, exactly: the difference of two Poisson numbers.

Sums of Skellam noise are Skellam noise, so voters can share the work.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource
from .poisson import many_poisson, poisson


def skellam_noise(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw integers with Skellam's law, exactly: differences of two Poisson numbers.

    Parameters
    ----------
    rate : Fraction
        Mean of each of the two: half the variance.
    size : int
        How many to draw.
    bits : BitSource
        Where the uniform integers come from.

    Returns
    -------
    ndarray of int64, shape (size,)
    """
    drawn = poisson(rate, 2 * size, bits)
    return drawn[::2] - drawn[1::2]


def many_skellam(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw what `skellam_noise` draws, faster where there are many: from other words of the stream."""
    return many_poisson(rate, size, bits) - many_poisson(rate, size, bits)
