"""Poisson numbers with their exact law, at any rate: voters add them to what they send.

A discrete Laplace number around the mode is accepted with the probability that makes its law Poisson's. Doubles find
that probability to some ten digits; where a uniform number lies too close to tell, both are worked out further, digit
after digit, so that no probability is ever rounded. Standard library and numpy only: a voter's device draws them.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource
from .discrete_laplace import discrete_laplace

LARGEST_RATE = 2**60  # draws are then 64-bit integers
_TRUST = 1e-9  # absolute error of logarithms in doubles, with some digits to spare
_SERIES = [1 / (n * (n - 1)) for n in range(17, 1, -1)]  # of (1 + x) ln(1 + x) - x in -x, after x^2
_FEW = 2**20  # a first word below it does not have the digits that doubles need
_GRID = 2**20  # of the logarithm of the bound, which is rounded up


def poisson(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw independent Poisson numbers, exactly.

    Parameters
    ----------
    rate : Fraction
        Their mean, positive and at most `LARGEST_RATE`.
    size : int
        How many to draw.
    bits : BitSource
        Where the uniform integers come from.

    Returns
    -------
    ndarray of int64, shape (size,)

    Raises
    ------
    ValueError
        If `rate` is out of bounds.

    References
    ----------
    Canonne, Kamath and Steinke (2020) for the proposal.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> poisson(Fraction(1000), 3, SeededBits(np.random.SeedSequence(0))).dtype
    dtype('int64')
    """
    law = _law(_checked(rate))
    return np.array([_one(law, bits) for _ in range(size)], dtype=np.int64)


def many_poisson(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw what `poisson` draws, from other words of the stream and many at once: ten times as fast.

    Parameters
    ----------
    rate, size, bits
        As for `poisson`.

    Returns
    -------
    ndarray of int64, shape (size,)
    """
    law = _law(_checked(rate))
    out, done = np.empty(size, dtype=np.int64), 0
    while done < size:
        j = discrete_laplace(law.proposal, int(1.6 * (size - done)) + 16, bits)
        j = j[j >= -law.mode]
        kept = j[_all_accepted(law, j, bits)][: size - done]
        out[done : done + len(kept)] = law.mode + kept
        done += len(kept)
    return out


def _checked(rate):
    """Return the rate as a fraction, if it is one that is drawn with."""
    rate = Fraction(rate)
    if not 0 < rate <= LARGEST_RATE:
        raise ValueError(f"rate must be above 0 and at most 2**60, got {float(rate):g}.")
    return rate


class _Law(NamedTuple):
    """A Poisson law, and the proposal: P(mode + j) proportional to exp(-|j| / width), accepted below exp(-bound)."""

    rate: Fraction
    mode: int
    width: int
    bound: Fraction
    proposal: Fraction
    at_mode: float


@lru_cache(maxsize=64)
def _law(rate):
    """Return the law with a bound on the logarithm of the likelihood over the proposal, both 1 at the mode."""
    mode, width = math.floor(rate), max(2, math.isqrt(math.floor(rate)))
    law = _Law(rate, mode, width, Fraction(0), Fraction(1, width), _log_density(rate, mode))
    # Concave on either side of the mode: the largest is where one more step no longer adds.
    up = max(0, math.floor(float(rate) * math.exp(1 / width)) - mode)
    down = min(0, math.ceil(float(rate) * math.exp(-1 / width)) - mode)
    near = {0, *(j + step for j in (up, down) for step in range(-2, 3))}
    largest = max(_log_ratio(law, j) + abs(j) / width for j in near if mode + j >= 0)
    return law._replace(bound=Fraction(math.ceil(_GRID * (largest + 1e-6)), _GRID))


def _one(law, bits):
    while True:
        j = int(discrete_laplace(law.proposal, 1, bits)[0])
        if law.mode + j >= 0 and _accepted(law, j, bits):
            return law.mode + j


def _accepted(law, j, bits):
    """Tell whether a uniform number is below likelihood over proposal over bound, one word of it at first."""
    digits = bits.integer(2**64)
    chance = _log_ratio(law, j) + abs(j) / law.width - float(law.bound)
    drawn = math.log((digits + 0.5) / 2**64)
    if digits >= _FEW and abs(chance - drawn) > _TRUST * (1 + abs(chance)):
        return drawn < chance
    return _decided(law, j, digits, bits)


def _all_accepted(law, j, bits):
    """Return the same for many, as booleans."""
    digits = bits.words(len(j))
    chance = _log_ratios(law, j) + np.abs(j) / law.width - float(law.bound)
    drawn = np.log((digits.astype(np.float64) + 0.5) / 2**64)
    out = drawn < chance
    clear = (digits >= _FEW) & (np.abs(chance - drawn) > _TRUST * (1 + np.abs(chance)))
    for row in np.flatnonzero(~clear):
        out[row] = _decided(law, int(j[row]), int(digits[row]), bits)
    return out


def _decided(law, j, digits, bits):
    """Tell the same exactly, given the first word; further ones where it does not tell."""
    length = 64
    while True:
        exact = _chance(law, j, length)
        if exact >= Fraction(digits + 1, 1 << length) + Fraction(1, 1 << (length + 32)):
            return True
        if exact <= Fraction(digits, 1 << length) - Fraction(1, 1 << (length + 32)):
            return False
        digits, length = digits << 64 | bits.integer(2**64), length + 64


def _chance(law, j, precision):
    """Return the probability to accept, with an absolute error below 2**-(precision + 40)."""
    with localcontext() as context:
        context.prec = precision * 302 // 1000 + 40 + len(str(abs(j)))
        rate = Decimal(law.rate.numerator) / Decimal(law.rate.denominator)
        likelihood = Decimal(1)
        for k in range(law.mode + min(j, 0) + 1, law.mode + max(j, 0) + 1):
            likelihood = likelihood * rate / k if j > 0 else likelihood * k / rate
        exponent = Fraction(abs(j), law.width) - law.bound
        factor = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        return Fraction(likelihood * factor)


def _log_ratio(law, j):
    """Return ln P(mode + j) / P(mode), in doubles."""
    return _log_density(law.rate, law.mode + j) - law.at_mode


def _log_density(rate, k):
    """Return ln P(k), less a constant, without cancellation (Loader 2000, "Fast and accurate binomial probabilities").

    ln k! = k ln k - k + ln(k) / 2 + the rest of Stirling's series; k ln(k / rate) + rate - k is rate times a function
    of the relative distance from the mean.
    """
    if k == 0:
        return -float(rate) + math.log(2 * math.pi) / 2
    x = float(Fraction(k - rate) / rate)
    if abs(x) < 0.1:
        away = sum((-x) ** n / (n * (n - 1)) for n in range(2, 18))
    else:
        away = (1 + x) * math.log1p(x) - x
    return -float(rate) * away - _stirling_rest(k) - math.log(k) / 2


def _log_ratios(law, j):
    """Return `_log_ratio` of many, by the same formulas."""
    rate, k = float(law.rate), law.mode + j
    x = (j + float(law.mode - law.rate)) / rate
    near, positive = np.abs(x) < 0.1, np.maximum(k, 1).astype(np.float64)
    small = np.where(near, x, 0.0)
    away = np.polyval(_SERIES, -small) * small * small
    large = np.where(near | (k == 0), 0.0, x)
    away = np.where(near, away, (1 + large) * np.log1p(large) - large)
    rest = np.where(k < 16, _SMALL_RESTS[np.minimum(k, 15)], _stirling_series(positive))
    densities = -rate * away - rest - np.log(positive) / 2
    return np.where(k == 0, -rate + math.log(2 * math.pi) / 2, densities) - law.at_mode


def _stirling_rest(k):
    """Return ln k! - (k ln k - k + ln(2 pi k) / 2)."""
    if k < 16:
        return math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - math.log(2 * math.pi) / 2
    return _stirling_series(k)


def _stirling_series(k):
    square = k * k
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / k


_SMALL_RESTS = np.array([0.0, *(_stirling_rest(k) for k in range(1, 16))])
