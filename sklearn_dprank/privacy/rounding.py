"""Directed rounding of privacy parameters, and searches for the smallest that is allowed."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING

from .._utils.checks import as_double

if TYPE_CHECKING:
    from .._utils.types import Amount


def exact(x):
    """Return a finite real number as a Fraction, without rounding.

    Examples
    --------
    >>> exact(0.5), exact(Fraction(1, 3))
    (Fraction(1, 2), Fraction(1, 3))
    """
    if isinstance(x, Fraction):
        return x
    return Fraction(int(x) if isinstance(x, Integral) else float(x))


def rounded_up(x):
    """Return the smallest float that is at least `x`, which may be a Fraction or inf.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3)) > Fraction(1, 3) > float(Fraction(1, 3))
    True
    """
    if isinstance(x, float):
        return float(x)
    near = as_double(x)
    if math.isinf(near) or Fraction(near) >= exact(x):
        return near
    return math.nextafter(near, math.inf)


def sum_up(numbers):
    """Return the smallest float that is at least the exact sum of `numbers` (``math.fsum`` rounds to nearest).

    Examples
    --------
    >>> sum_up([0.1, 0.2]) >= Fraction(0.1) + Fraction(0.2)
    True
    """
    numbers = list(numbers)
    if not all(map(math.isfinite, numbers)):
        return math.fsum(numbers)
    return rounded_up(sum(map(Fraction, numbers), Fraction(0)))


def root_up(x):
    """Return a float that is at least the square root of `x`."""
    # One ulp up twice, because the square root and the conversion of the fraction both round.
    return math.nextafter(math.sqrt(math.nextafter(float(x), math.inf)), math.inf)


def rounded_down(x):
    """Return the largest float that is at most `x`.

    Examples
    --------
    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10) < rounded_up(Fraction(1, 10))
    True
    """
    return -rounded_up(-exact(x)) + 0.0 if math.isfinite(x) else float(x)  # avoid -0.0


def round_down(x: Amount, limit: int = 2**31) -> Fraction:
    """Return the largest fraction p/q <= x with p and q below `limit`.

    Exact samplers need a ratio of small integers, and rounding epsilon down costs no privacy.

    Returns
    -------
    Fraction
        The relative error is below 2 / limit for `x` up to limit - 1. For any larger `x`, the result is limit - 1.

    Raises
    ------
    ValueError
        If `x` is not positive and finite, or so small that only 0 is possible.

    Notes
    -----
    For `x` up to 1, ``limit_denominator`` returns the neighbour of `x` in the Farey sequence of order limit - 1 that is
    nearer. If that is p/q above `x`, the result is the fraction before it: the a/b with bp - aq = 1 and the largest
    possible b. For larger `x`, -1/x takes the place of `x`, because it also grows with `x`. Neighbours a/b <= x < c/d
    have 1 - (a/b)/(c/d) = 1/(bc), which gives the error.

    Examples
    --------
    >>> round_down(0.1)
    Fraction(1, 10)
    >>> round_down(3.14159, limit=1000)
    Fraction(688, 219)
    """
    if not 0 < x < math.inf:
        raise ValueError(f"x must be a finite number above 0, got {x}.")
    x = Fraction(x if isinstance(x, (int, Fraction)) else float(x))
    target, most = x if x <= 1 else -1 / x, limit - 1
    below = target.limit_denominator(most)
    if below > target:
        p, q = below.numerator, below.denominator
        b = most - (most - pow(p, -1, q)) % q
        below = Fraction((b * p - 1) // q, b)
    if not below:
        raise ValueError(f"{float(x)!r} is too small: no positive fraction with terms below {limit} is at most that.")
    return below if x <= 1 else -1 / below


# Search for the threshold of a monotone condition.


def smallest(enough, *, from_zero=False):
    """Return, up to rounding, the smallest positive number for which the monotone `enough` holds; it holds there.

    With `from_zero`, the result is 0 if `enough` holds there.
    """
    if from_zero and enough(0.0):
        return 0.0
    low = high = 1.0
    while not enough(high):
        low, high = high, 2 * high
    while enough(low):
        low, high = low / 2, low
    for _ in range(60):
        middle = (low + high) / 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high
