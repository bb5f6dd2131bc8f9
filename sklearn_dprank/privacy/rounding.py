"""Numbers that are stated must not be below those that are meant."""

import math
from fractions import Fraction
from numbers import Integral

from .._utils.checks import as_double


def exact(x):
    """Return a finite real number as a Fraction, without rounding it.

    Examples
    --------
    >>> exact(0.5), exact(Fraction(1, 3))
    (Fraction(1, 2), Fraction(1, 3))
    """
    if isinstance(x, Fraction):
        return x
    return Fraction(int(x) if isinstance(x, Integral) else float(x))


def rounded_up(x):
    """Return the smallest float that is not below `x`.

    Parameters
    ----------
    x : float, int or Fraction
        A number, or inf.

    Returns
    -------
    float
        At least `x`; `float(x)` may be below.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3)) > Fraction(1, 3) > float(Fraction(1, 3))
    True
    """
    near = as_double(x)
    if isinstance(x, float) or math.isinf(near) or Fraction(near) >= exact(x):
        return near
    return math.nextafter(near, math.inf)


def sum_up(numbers):
    """Return the smallest float that is not below the exact sum of `numbers`.

    Parameters
    ----------
    numbers : iterable of float
        Finite numbers, or inf.

    Returns
    -------
    float
        `math.fsum` rounds to nearest, which may be below.

    Examples
    --------
    >>> sum_up([0.1, 0.2]) >= Fraction(0.1) + Fraction(0.2)
    True
    """
    numbers = list(numbers)
    if not all(map(math.isfinite, numbers)):
        return math.fsum(numbers)
    return rounded_up(sum(map(Fraction, numbers), Fraction(0)))


def rounded_down(x):
    """Return the largest float that is not above `x`.

    Examples
    --------
    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10) < rounded_up(Fraction(1, 10))
    True
    """
    return -rounded_up(-exact(x)) + 0.0 if math.isfinite(x) else float(x)  # no -0.0
