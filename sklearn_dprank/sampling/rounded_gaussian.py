"""Exact sampling of rounded Gaussian noise, with decimal arithmetic where doubles are ambiguous.

A Gaussian number has a random sign and magnitude x, where the tail erfc(x / sqrt 2) equals a uniform number U. Doubles
give x to about 48 bits. To round, it is enough to know on which side of a half-integer the noisy value lies. If the
double is too close to decide, U is compared with the tail at that half-integer in decimal arithmetic. Digits are added
until the comparison is exact.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bit_source import BitSource

_INTEGERS = 2.0**58  # below this sigma, noise of 32 standard deviations is a 64-bit integer
_FINE = 30  # largest number of bits of a standard deviation in units of the grid
_TRUST = 2.0**-44  # relative error limit of `ndtri` and of the products here, with a margin of some bits


def rounded_gaussian(values: ArrayLike, sigma: float, bits: BitSource) -> NDArray[np.int64]:
    """Return round(N(values, sigma**2)), independently for each value, exactly.

    Rounding is post-processing of the Gaussian mechanism, so the analytic calibration is valid. It is not valid for the
    discrete Gaussian, whose delta can be three times as large.

    Parameters
    ----------
    values : array of int
        Integer statistics of any shape. Use Python integers (dtype object) for values beyond 64 bits.
    sigma : float
        Standard deviation, positive and finite.
    bits : BitSource
        Source of uniform words.

    Returns
    -------
    ndarray of the shape of `values`
        Noisy statistics: int64 or object, or float64 for a sigma of at least 2**58. For a sigma above 2**30, they are
        multiples of the power of two `grid_of(sigma)`, about 2**-29 sigma. Rounding to any public grid is
        post-processing.

    Raises
    ------
    ValueError
        If `values` are not integers or `sigma` is out of range.

    Notes
    -----
    Each integer has exactly the probability of its rounding interval, even far in the tails. No grid of uniform numbers
    is used. The delta of `gaussian_sigma` therefore holds for any sigma, dimension and delta. The only assumption is
    that SciPy's inverse of the normal distribution is accurate to 2**-45; its accuracy is 2**-50. At most one value in
    a thousand is too close to a half-integer for doubles. It is decided exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> rounded_gaussian(np.array([100, 200]), 1.5, SeededBits(np.random.SeedSequence(0))).shape
    (2,)
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iuO":
        raise ValueError(f"values must be integers, got dtype {values.dtype}.")
    sigma = float(sigma)
    if not 0 < sigma < math.inf:
        raise ValueError(f"sigma must be a finite number above 0, got {sigma}.")
    shift = int(math.log2(grid_of(sigma)))
    flat = (values if values.dtype.kind == "O" else values.astype(np.int64)).ravel()
    whole = np.zeros_like(flat) if shift > 62 and flat.dtype.kind != "O" else flat >> shift
    rounded = _rounded(flat - (whole << shift), shift, sigma, bits)
    if sigma < _INTEGERS:
        return ((whole + rounded.astype(np.int64)) << shift).reshape(values.shape)
    return np.ldexp(whole.astype(np.float64) + rounded, shift).reshape(values.shape)


def grid_of(sigma):
    """Return the power of two that divides all results of `rounded_gaussian`."""
    return 2.0 ** max(0, math.frexp(sigma)[1] - _FINE)


def _rounded(rest, shift, sigma, bits):
    """Return round(rest / 2**shift + N(0, (sigma / 2**shift)**2)) as doubles."""
    from scipy.special import ndtri  # here, so that a client loads no SciPy

    unit = math.ldexp(sigma, -shift)
    words = bits.words(len(rest))
    leads = words >> np.uint64(1)
    digits = {row: bits.longer(int(leads[row])) for row in (leads < 2**53).nonzero()[0].tolist()}
    uniform = np.minimum((leads.astype(np.float64) + 0.5) * 2.0**-63, 1 - 2.0**-53)
    for row, (number, length) in digits.items():
        uniform[row] = max(number / (1 << length), 2.0**-1000)
    positive = (words & np.uint64(1)).astype(bool)
    noise = ndtri(uniform / 2) * unit
    noise[positive] *= -1
    noisy = np.ldexp(rest.astype(np.float64), -shift) + noise
    out = np.rint(noisy)
    below = np.floor(noisy)
    doubtful = np.abs(noisy - below - 0.5) <= _TRUST * (np.abs(noise) + unit + 1)
    for row in doubtful.nonzero()[0].tolist():
        edge = Fraction(int(below[row])) + Fraction(1, 2) - Fraction(int(rest[row]), 1 << shift)
        place = edge / Fraction(unit)
        number, length = digits.get(row, (int(leads[row]), 63))
        place = place if positive[row] else -place
        exceeds = place <= 0
        while not exceeds:  # the magnitude exceeds `place` if U is below the tail there
            tail = two_sided_tail(place, length + 64)  # the error is below 2**-64 times the last bit
            margin = Fraction(1, 1 << (length + 32))
            exceeds = tail >= Fraction(number + 1, 1 << length) + margin
            if tail <= Fraction(number, 1 << length) - margin:
                break
            number, length = number << 64 | bits.integer(2**64), length + 64
        out[row] = below[row] + (exceeds == positive[row])
    return out


def two_sided_tail(x, precision):
    """Return P(|N(0, 1)| > x) with an absolute error below 2**-precision.

    Parameters
    ----------
    x : Fraction
        At least 0.
    precision : int
        Number of bits.

    Returns
    -------
    Fraction
        The probability.

    Notes
    -----
    The result is 1 - 2 phi(x) (x + x^3 / 3 + x^5 / (3 5) + ...). All terms are positive. Only the last difference
    cancels, and additional digits compensate for that.

    Examples
    --------
    >>> round(float(two_sided_tail(Fraction(2), 60)), 6)
    0.0455
    """
    with localcontext(prec=precision * 302 // 1000 + 25) as context:
        t = Decimal(x.numerator) / Decimal(x.denominator)
        square = t * t
        term, total, odd = t, t, 1
        enough = Decimal(10) ** -context.prec
        while odd < square or term > enough:
            odd += 2
            term = term * square / odd
            total += term
        density = (-square / 2).exp() / (2 * _pi(context.prec)).sqrt()
        return Fraction(1 - 2 * density * total)


@lru_cache(maxsize=64)
def _pi(precision):
    """Return pi as a Decimal, by Machin's formula 16 arctan(1/5) - 4 arctan(1/239)."""
    one, total = 10 ** (precision + 10), 0
    for factor, n in ((16, 5), (-4, 239)):
        term, k = one // n, 1
        while term:
            total += factor * (term // k)
            term, k, factor = term // (n * n), k + 2, -factor
    with localcontext(prec=precision + 10):
        return Decimal(total) / one
