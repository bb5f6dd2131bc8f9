"""Rounded Gaussian noise with its exact law: doubles where they decide, as many digits as it takes where they do not.

A Gaussian is its sign and the magnitude x at which the tail erfc(x / sqrt 2) is a uniform number U. Doubles find x to
some 48 bits. Rounding needs to know only on which side of a half-integer the noisy value lies, and where the double
is too close to tell, U is compared with the tail there in decimal arithmetic, digit after digit.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.checks import positive
from .bit_source import BitSource

_INTEGERS = 2.0**58  # below it noise of 32 standard deviations is a 64-bit integer
_FINE = 30  # bits of a standard deviation in units of the grid, at most
_TRUST = 2.0**-44  # relative error of `ndtri` and of the products here, with some bits to spare


def rounded_gaussian(values: ArrayLike, sigma: float, bits: BitSource) -> NDArray[np.int64]:
    """Return round(N(values, sigma**2)), independently for each value, exactly.

    Rounding post-processes the Gaussian mechanism, so the analytic calibration holds as it is
    (it does not for the discrete Gaussian, whose delta can be three times larger).

    Parameters
    ----------
    values : array of int
        Integer statistics, of any shape; Python integers (dtype object) where 64 bits do not hold them.
    sigma : float
        Standard deviation, positive and finite.
    bits : BitSource
        Where the uniform words come from.

    Returns
    -------
    ndarray of the shape of `values`
        The noisy statistics: int64 or object, or float64 for a sigma of 2**58 and more. For a sigma above 2**30
        they are multiples of the power of two `grid_of(sigma)`, some 2**-29 sigma: rounding to any public
        grid is post-processing.

    Raises
    ------
    ValueError
        If `values` are not integers or `sigma` is out of bounds.

    Notes
    -----
    The probability of each value is that of its cell, however far out: no grid of uniform numbers is involved, so the
    delta of `gaussian_sigma` holds at any sigma, dimension and delta. The only assumption is that SciPy's
    inverse of the normal distribution is right to 2**-45, which it is to 2**-50; the one value in a thousand at most
    that is nearer than that to a half-integer is decided exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> rounded_gaussian(np.array([100, 200]), 1.5, SeededBits(np.random.SeedSequence(0))).shape
    (2,)
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iuO":
        raise ValueError(f"values must be integers, got dtype {values.dtype}.")
    positive(sigma=sigma)
    sigma = float(sigma)
    shift = _shift(sigma)
    whole, rest = _split((values if values.dtype.kind == "O" else values.astype(np.int64)).ravel(), shift)
    rounded = _rounded(rest, shift, sigma, bits)
    if sigma < _INTEGERS:
        return ((whole + rounded.astype(np.int64)) << shift).reshape(values.shape)
    return np.ldexp(whole.astype(np.float64) + rounded, shift).reshape(values.shape)


def grid_of(sigma):
    """Return the power of two of which the results of `rounded_gaussian` are multiples."""
    return 2.0 ** _shift(float(sigma))


def _shift(sigma):
    return max(0, math.frexp(sigma)[1] - _FINE)


def _split(values, shift):
    """Return (whole, rest) with values = whole 2**shift + rest, integers."""
    if shift > 62 and values.dtype.kind != "O":
        return np.zeros_like(values), values
    whole = values >> shift
    return whole, values - (whole << shift)


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
        side = 1 if positive[row] else -1
        above = _exceeds(side * place, number, length, bits) == (side == 1)
        out[row] = below[row] + above
    return out


def _exceeds(place, digits, length, bits):
    """Tell whether the magnitude of the Gaussian, whose U has these first bits, exceeds `place`."""
    if place <= 0:
        return True
    while True:
        tail = two_sided_tail(place, length + 64)  # off by less than 2**-64 of the last bit
        if tail >= Fraction(digits + 1, 1 << length) + Fraction(1, 1 << (length + 32)):
            return True
        if tail <= Fraction(digits, 1 << length) - Fraction(1, 1 << (length + 32)):
            return False
        digits, length = digits << 64 | bits.integer(2**64), length + 64


def two_sided_tail(x, precision):
    """Return P(|N(0, 1)| > x) with an absolute error below 2**-precision.

    Parameters
    ----------
    x : Fraction
        Not negative.
    precision : int
        In bits.

    Returns
    -------
    Fraction

    Notes
    -----
    1 - 2 phi(x) (x + x^3 / 3 + x^5 / (3 5) + ...): all terms are positive, and nothing cancels but for the last
    difference, which is paid for by digits.

    Examples
    --------
    >>> round(float(two_sided_tail(Fraction(2), 60)), 6)
    0.0455
    """
    with localcontext() as context:
        context.prec = precision * 302 // 1000 + 25
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
    """Return pi as a Decimal: 16 arctan(1/5) - 4 arctan(1/239) (Machin)."""
    one = 10 ** (precision + 10)

    def arctan(n):
        total = term = one // n
        k, sign = 1, 1
        while term:
            term //= n * n
            k, sign = k + 2, -sign
            total += sign * (term // k)
        return total

    with localcontext() as context:
        context.prec = precision + 10
        return Decimal(16 * arctan(5) - 4 * arctan(239)) / one
