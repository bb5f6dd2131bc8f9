"""Privacy of Skellam noise.

Its Renyi divergence has a closed-form bound, and adaptive releases add these bounds. The best order gives (epsilon,
delta). The module needs only NumPy and the standard library, because clients use it to check protocols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_number
from .rounding import smallest

_ORDERS = np.unique(np.rint(np.geomspace(2, 1e9, 3000)))  # integers; every order gives a valid bound
_SLACK = 1e-12  # relative; far above the rounding errors of the formulas


class SkellamRelease(NamedTuple):
    """Answers with independent Skellam noise on every number.

    Attributes
    ----------
    variance : float or Fraction
        Variance of the noise on each number.
    l1, l2_squared : int or Fraction
        Largest change of an answer by one ballot: sum of absolute changes, and sum of squared changes.
    times : int
        Number of answers.
    """

    variance: float | Fraction
    l1: int | Fraction
    l2_squared: int | Fraction
    times: int = 1


def skellam_renyi(alpha: NDArray[np.float64], variance: float, l1: float, l2_squared: float) -> NDArray[np.float64]:
    """Return a bound on the Renyi divergence, at each order, between noisy integer vectors of two neighbours.

    Parameters
    ----------
    alpha : ndarray of float
        Orders: integers of at least 2. The bound is not proved for other orders.
    variance : float
        Variance of the noise on each number.
    l1, l2_squared : float
        Distance between the vectors: sum of absolute differences, and sum of squared differences.

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
    """Return an epsilon that holds for several adaptive releases with Skellam noise.

    Parameters
    ----------
    delta : float
        Total delta, strictly between 0 and 1.
    releases : sequence of SkellamRelease
        Each release may depend on the results of earlier ones.

    Returns
    -------
    float
        Rounded up, and at least 0. For each order alpha, the candidate is the sum of the divergences plus (ln(1 /
        delta) + (alpha - 1) ln(1 - 1 / alpha) - ln(alpha)) / (alpha - 1). The result is the smallest.

    Raises
    ------
    ValueError
        If `delta` is out of range.

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
    """Return about the smallest factor on the variances that makes all releases together (epsilon, delta)-private.

    Parameters
    ----------
    epsilon, delta : float
        Total budget of the releases.
    releases : sequence of SkellamRelease
        Releases whose variances are relative to each other.

    Returns
    -------
    float
        Rounded up: with the scaled variances, `skellam_epsilon` is at most `epsilon`.

    Raises
    ------
    ValueError
        If `epsilon` is below 1e-6, which would need larger orders, or above 1e100, or if `delta` is out of range.

    Examples
    --------
    >>> round(skellam_unit(0.1, 1e-6, [SkellamRelease(1, 4, 8)]) ** 0.5, 1)
    111.6
    """
    check_number(epsilon, "epsilon", least=1e-6, most=1e100)

    def enough(factor):
        grown = [release._replace(variance=float(release.variance) * factor) for release in releases]
        return skellam_epsilon(delta, grown) <= epsilon * (1 - 1e-9)

    return smallest(enough)
