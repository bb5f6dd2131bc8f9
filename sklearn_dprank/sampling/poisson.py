"""Exact Poisson and Skellam sampling at any rate, for noise that voters add to their reports.

The sampler proposes a discrete Laplace number around the mode. It accepts the number with the probability that makes
the distribution Poisson. Doubles give that probability to about ten digits. If a uniform number is too close to decide,
both are computed to more digits until the comparison is exact. The module needs NumPy and the standard library only,
because clients use it.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource
from .discrete_laplace import discrete_laplace

LARGEST_RATE = 2**60  # up to here, draws are 64-bit integers
_TRUST = 1e-9  # absolute error limit of logarithms in doubles, with a margin of some digits
_SERIES = [1 / (n * (n - 1)) for n in range(17, 1, -1)]  # of ((1 + x) ln(1 + x) - x) / x^2, in powers of -x
_FEW = 2**20  # first words below this have too few digits for doubles
_GRID = 2**20  # steps per unit, to which the logarithm of the bound is rounded up


def poisson(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw independent Poisson numbers, exactly.

    Parameters
    ----------
    rate : Fraction
        Mean, positive and at most `LARGEST_RATE`.
    size : int
        Number of draws.
    bits : BitSource
        Source of uniform integers.

    Returns
    -------
    ndarray of int64, shape (size,)
        The numbers.

    Raises
    ------
    ValueError
        If `rate` is out of range.

    References
    ----------
    Canonne, Kamath and Steinke (2020) for the proposal.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> poisson(Fraction(1000), 3, SeededBits(np.random.SeedSequence(0))).dtype
    dtype('int64')
    """
    law, out = _law(rate), np.empty(size, dtype=np.int64)
    for place in range(size):
        while True:
            j = int(discrete_laplace(law.proposal, 1, bits)[0])
            if law.mode + j >= 0 and _accepted(law, j, bits):
                break
        out[place] = law.mode + j
    return out


def many_poisson(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw many Poisson numbers, exactly and about ten times as fast as `poisson`.

    It uses other words of the stream, so the same seed gives other numbers than `poisson`.

    Parameters
    ----------
    rate, size, bits
        As in `poisson`.

    Returns
    -------
    ndarray of int64, shape (size,)
        The numbers.
    """
    law, out, done = _law(rate), np.empty(size, dtype=np.int64), 0
    while done < size:
        j = discrete_laplace(law.proposal, int(1.6 * (size - done)) + 16, bits)
        j = j[j >= -law.mode]
        kept = j[_all_accepted(law, j, bits)][: size - done]
        out[done : done + len(kept)] = law.mode + kept
        done += len(kept)
    return out


class _Law(NamedTuple):
    """Poisson distribution, and its proposal with P(mode + j) proportional to exp(-|j| / width)."""

    rate: Fraction
    mode: int
    width: int
    bound: Fraction
    proposal: Fraction
    at_mode: float


@lru_cache(maxsize=64)
def _law(rate):
    """Return the distribution, with a bound on the log ratio of likelihood and proposal, both 1 at the mode."""
    rate = Fraction(rate)
    if not 0 < rate <= LARGEST_RATE:
        raise ValueError(f"rate must be above 0 and at most 2**60, got {float(rate):g}.")
    mode, width = math.floor(rate), max(2, math.isqrt(math.floor(rate)))
    law = _Law(rate, mode, width, Fraction(0), Fraction(1, width), _log_density(rate, mode))
    # The log ratio is concave on each side of the mode, so its maximum is where the next step no longer increases it.
    up = max(0, math.floor(float(rate) * math.exp(1 / width)) - mode)
    down = min(0, math.ceil(float(rate) * math.exp(-1 / width)) - mode)
    near = {0, *(j + step for j in (up, down) for step in range(-2, 3))}
    largest = max(_log_ratio(law, j) + abs(j) / width for j in near if mode + j >= 0)
    return law._replace(bound=Fraction(math.ceil(_GRID * (largest + 1e-6)), _GRID))


def _accepted(law, j, bits):
    """Return whether a uniform number is below likelihood / (proposal * exp(bound)); one word usually decides."""
    word = bits.integer(2**64)
    chance = _log_ratio(law, j) + abs(j) / law.width - float(law.bound)
    drawn = math.log((word + 0.5) / 2**64)
    if word >= _FEW and abs(chance - drawn) > _TRUST * (1 + abs(chance)):
        return drawn < chance
    return _decided(law, j, word, bits)


def _all_accepted(law, j, bits):
    """Return `_accepted` for many values, as booleans."""
    word = bits.words(len(j))
    chance = _log_ratios(law, j) + np.abs(j) / law.width - float(law.bound)
    drawn = np.log((word.astype(np.float64) + 0.5) / 2**64)
    out = drawn < chance
    clear = (word >= _FEW) & (np.abs(chance - drawn) > _TRUST * (1 + np.abs(chance)))
    for row in np.flatnonzero(~clear):
        out[row] = _decided(law, int(j[row]), int(word[row]), bits)
    return out


def _decided(law, j, digits, bits):
    """Return `_accepted` exactly, given the first word; draw further words until they decide.

    The uniform number lies between digits / 2^length and (digits + 1) / 2^length. It is accepted if this interval lies
    below the acceptance probability, and not if it lies above.
    """
    length = 64
    while True:
        exact = _chance(law, j, length)
        if exact >= Fraction(digits + 1, 1 << length) + Fraction(1, 1 << (length + 32)):
            return True
        if exact <= Fraction(digits, 1 << length) - Fraction(1, 1 << (length + 32)):
            return False
        digits, length = digits << 64 | bits.integer(2**64), length + 64


def _chance(law, j, precision):
    """Return the acceptance probability, with an absolute error below 2**-(precision + 40)."""
    with localcontext(prec=precision * 302 // 1000 + 40 + len(str(abs(j)))):
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
    """Return ln P(k), up to a constant, without cancellation (Loader 2000, "Fast and accurate binomial probabilities").

    ln k! is k ln k - k + ln(k) / 2 plus the rest of Stirling's series. k ln(k / rate) + rate - k is rate times a
    function of the relative distance from the mean.
    """
    if k == 0:
        return -float(rate) + _HALF_LOG
    x = float(Fraction(k - rate) / rate)
    if abs(x) < 0.1:
        away = sum((-x) ** n / (n * (n - 1)) for n in range(2, 18))
    else:
        away = (1 + x) * math.log1p(x) - x
    rest = _stirling_series(k) if k >= len(_SMALL_RESTS) else _SMALL_RESTS[k]
    return -float(rate) * away - rest - math.log(k) / 2


def _log_ratios(law, j):
    """Return `_log_ratio` for many values, by the same formulas."""
    rate, k = float(law.rate), law.mode + j
    x = (j + float(law.mode - law.rate)) / rate
    near, positive = np.abs(x) < 0.1, np.maximum(k, 1).astype(np.float64)
    small = np.where(near, x, 0.0)
    away = np.polyval(_SERIES, -small) * small * small
    large = np.where(near | (k == 0), 0.0, x)
    away = np.where(near, away, (1 + large) * np.log1p(large) - large)
    rest = np.where(k < 16, np.take(_SMALL_RESTS, k, mode="clip"), _stirling_series(positive))
    densities = -rate * away - rest - np.log(positive) / 2
    return np.where(k == 0, -rate + _HALF_LOG, densities) - law.at_mode


def _stirling_series(k):
    """Return ln k! - (k ln k - k + ln(2 pi k) / 2) for k of at least 16; `_SMALL_RESTS` holds smaller ones."""
    square = k * k
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / k


_HALF_LOG = math.log(2 * math.pi) / 2
_SMALL_RESTS = [0.0, *(math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - _HALF_LOG for k in range(1, 16))]


# Exact Skellam noise: the difference of two Poisson numbers.
#
# A sum of Skellam noise is Skellam noise, so voters can each add a part of it.


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
