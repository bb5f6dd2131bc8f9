"""Exact Skellam noise: the difference of two Poisson numbers.

A sum of Skellam noise is Skellam noise, so voters can each add a part of it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource
from .poisson import many_poisson, poisson


def skellam_noise(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw integers from the Skellam distribution, exactly, as differences of two Poisson numbers.

    Parameters
    ----------
    rate : Fraction
        Mean of each of the two numbers, which is half the variance.
    size : int
        Number of draws.
    bits : BitSource
        Source of uniform integers.

    Returns
    -------
    ndarray of int64, shape (size,)
        The noise.
    """
    drawn = poisson(rate, 2 * size, bits)
    return drawn[::2] - drawn[1::2]


def many_skellam(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw Skellam noise as `skellam_noise` does, but faster for large sizes.

    It uses other words of the stream, so the same seed gives other numbers than `skellam_noise`.
    """
    return many_poisson(rate, size, bits) - many_poisson(rate, size, bits)
