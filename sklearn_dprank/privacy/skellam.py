"""Privacy of Skellam noise.

Its Renyi divergence has a bound in closed form, adds up over adaptive releases, and becomes (epsilon, delta) by the
best order. NumPy and the standard library only, because a client checks a curator's protocol with it.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_number
from ._search import smallest

_ORDERS = np.unique(np.rint(np.geomspace(2, 1e9, 3000)))  # whole numbers; any of them is a bound
_SLACK = 1e-12  # relative; far above the rounding errors of the formulas


class SkellamRelease(NamedTuple):
    """Answers with Skellam noise on every number.

    Attributes
    ----------
    variance : float or Fraction
        Of the noise on each number.
    l1, l2_squared : int or Fraction
        How far one ballot moves an answer: in the sum of absolute values, and of squares.
    times : int
        How many answers.
    """

    variance: float | Fraction
    l1: int | Fraction
    l2_squared: int | Fraction
    times: int = 1


def skellam_renyi(alpha: NDArray[np.float64], variance: float, l1: float, l2_squared: float) -> NDArray[np.float64]:
    """Return a bound on the Renyi divergence, of each order, between noisy integer vectors of two neighbours.

    Parameters
    ----------
    alpha : ndarray of float
        Whole numbers of at least 2: the bound is proved for no others.
    variance : float
        Of the noise on each number.
    l1, l2_squared : float
        How far the vectors lie apart: in the sum of absolute values, and of squares.

    Returns
    -------
    ndarray of float
        alpha l2_squared / (2 v) + min(((2 alpha - 1) l2_squared + 6 l1) / (4 v^2), 3 l1 / (2 v)).

    References
    ----------
    Agarwal, Kairouz and Liu (2021), "The Skellam mechanism for differentially private federated learning", Theorem 3.5.

    Examples
    --------
    >>> skellam_renyi(np.array([2.0, 3.0]), 100.0, 4, 8).round(5)
    array([0.0812, 0.1216])
    """
    gaussian = alpha * (l2_squared / (2 * variance))
    lattice = ((2 * alpha - 1) * l2_squared + 6 * l1) / (4 * variance) / variance
    return gaussian + np.minimum(lattice, 3 * l1 / (2 * variance))


def skellam_epsilon(delta: float, releases: Sequence[SkellamRelease]) -> float:
    """Return an epsilon that adaptive releases with Skellam noise keep together.

    Parameters
    ----------
    delta : float
        Strictly between 0 and 1, for all of them.
    releases : sequence of SkellamRelease
        Each may look at those before.

    Returns
    -------
    float
        Rounded up: the least over the orders of the sum of their divergences plus
        (ln(1 / delta) + (alpha - 1) ln(1 - 1 / alpha) - ln(alpha)) / (alpha - 1), and 0 at the least.

    Raises
    ------
    ValueError
        If delta is out of bounds.

    References
    ----------
    Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy", Proposition 12.

    Examples
    --------
    >>> round(skellam_epsilon(1e-6, [SkellamRelease(10000.0, 4, 8)]), 4)
    0.1124
    """
    check_number(delta, "delta", above=0, below=1)
    renyi = np.zeros_like(_ORDERS)
    for release in releases:
        moved = float(release.l1), float(release.l2_squared)
        renyi = renyi + release.times * skellam_renyi(_ORDERS, float(release.variance), *moved)
    spare = (_ORDERS - 1) * np.log1p(-1 / _ORDERS) - np.log(_ORDERS)
    epsilons = renyi + (math.log(1 / delta) + spare) / (_ORDERS - 1)
    return max(0.0, float(np.min(epsilons)) * (1 + _SLACK))


def skellam_unit(epsilon: float, delta: float, releases: Sequence[SkellamRelease]) -> float:
    """Return about the least factor by which the variances must grow for releases to keep (epsilon, delta) together.

    Parameters
    ----------
    epsilon, delta : float
        The budget of all of them.
    releases : sequence of SkellamRelease
        Their variances are relative to each other.

    Returns
    -------
    float
        Rounded up: `skellam_epsilon` of the grown releases is at most `epsilon`.

    Raises
    ------
    ValueError
        If epsilon is below 1e-6, for which the orders do not suffice, or above 1e100, or delta out of bounds.

    Examples
    --------
    >>> round(skellam_unit(0.1, 1e-6, [SkellamRelease(1, 4, 8)]) ** 0.5, 1)
    111.6
    """
    check_number(epsilon, "epsilon", least=1e-6, most=1e100)

    def enough(factor):
        grown = [release._replace(variance=float(release.variance) * factor) for release in releases]
        return skellam_epsilon(delta, grown) <= epsilon * (1 - 1e-9)

    return smallest(enough, start=1.0 / epsilon**2)
