"""Calibration of Gaussian noise: sigma, epsilon and delta.

Every result is rounded to the side that protects more.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from .._utils.checks import check_choice, check_number, check_positive
from .._utils.types import GaussianConstant
from ._search import smallest

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LEAST_DELTA = 1e-290  # down to here, the tails are doubles of full precision
_SLACK = 1e-10  # relative; far above the rounding errors of `gaussian_delta`
_CLASSICAL = {"dwork_roth": 1.25, "dwork_2006": 0.8, "two": 2.0}


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the exact delta of Gaussian noise at `epsilon`.

    Parameters
    ----------
    epsilon : float
        At least 0.
    sigma : float
        Standard deviation of the noise on each coordinate.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm. For q adaptive answers of sensitivity D each, it
        is D sqrt(q).

    Returns
    -------
    float
        Phi(r/2 - epsilon/r) - e^epsilon Phi(-r/2 - epsilon/r), with r = sensitivity / sigma.

    Raises
    ------
    ValueError
        If `epsilon` is negative, or if `sigma` or `sensitivity` is not positive.

    Notes
    -----
    With x = epsilon/r - r/2 and Mills' ratio M, the result is phi(x) (M(x) - M(x + r)). For small r, the difference is
    computed as the integral of -M' = 1 - x M(x). This avoids cancellation, and e^epsilon is never computed.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy", Theorem 8.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 3.0), 6)
    0.000208
    """
    check_number(epsilon, "epsilon", least=0)
    check_positive(sigma=sigma, sensitivity=sensitivity)
    return float(_deltas(float(epsilon), float(sensitivity) / float(sigma)))  # single precision is too coarse for tails


def gaussian_deltas(epsilons: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return the exact delta at each epsilon of Gaussian releases with total parameter mu.

    Parameters
    ----------
    epsilons : ndarray of float
        May be negative. Delta is the largest excess of a probability over e^epsilon times the probability under a
        neighbour.
    mu : float
        Sensitivity over standard deviation; 0 for releases that reveal no information.

    Examples
    --------
    >>> gaussian_deltas(np.array([-1.0, 0.0, 1.0]), 0.5).round(4)
    array([0.6346, 0.1974, 0.0068])
    """
    epsilons = np.asarray(epsilons, dtype=float)
    deltas = _deltas(np.abs(epsilons), mu) if mu > 0 else np.zeros_like(epsilons)
    below = np.minimum(epsilons, 0.0)
    return np.where(epsilons < 0, np.exp(below) * deltas - np.expm1(below), deltas)  # by symmetry


def _deltas(epsilon, r):
    """Return phi(x) (M(x) - M(x + r)), with x = epsilon/r - r/2, for epsilons of at least 0."""
    x = np.minimum(epsilon / r - r / 2, 1e100)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if r > 1:
        return ndtr(-x) - density * _mills(x + r)
    grid = x[..., None] + r * (_NODES + 1) / 2
    return density * r / 2 * np.sum(_WEIGHTS * (1 - grid * _mills(grid)), axis=-1)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation that makes Gaussian noise (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        Strictly between 0 and 1.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm. For q adaptive answers of sensitivity D each, it
        is D sqrt(q).

    Returns
    -------
    float
        Rounded up: at this sigma, `gaussian_delta` is at most `delta`.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy", Algorithm 1.

    Examples
    --------
    >>> round(gaussian_sigma(1.0, 1e-4), 4)
    3.1857
    """
    _check_delta(delta)
    check_positive(sensitivity=sensitivity)
    delta = float(delta)
    enough = smallest(lambda sigma: gaussian_delta(epsilon, sigma) <= delta * (1 - _SLACK))
    return enough * float(sensitivity) * (1 + 2.0**-50)


def gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the smallest epsilon of Gaussian noise at `delta`.

    Use it to find the true epsilon of a noise scale as printed in a paper.

    Parameters
    ----------
    delta : float
        Strictly between 0 and 1.
    sigma : float
        Standard deviation of the noise on each coordinate.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm.

    Returns
    -------
    float
        Rounded up; 0 if `delta` alone covers the privacy loss.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> round(gaussian_epsilon(1e-4, 3.1857), 4)
    1.0
    """
    _check_delta(delta)
    delta = float(delta)

    def private(epsilon):
        return gaussian_delta(epsilon, sigma, sensitivity) <= delta * (1 - _SLACK)

    return 0.0 if private(0.0) else smallest(private)


def classical_gaussian_sigma(
    epsilon: float,
    delta: float,
    sensitivity: float = 1.0,
    constant: GaussianConstant = "dwork_roth",
) -> float:
    """Return the standard deviation as printed in the papers: sensitivity sqrt(2 ln(c / delta)) / epsilon.

    Parameters
    ----------
    epsilon : float
        Positive. The formulas are proved for epsilon up to 1.
    delta : float
        Between 0 and 1, and below c.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm.
    constant : {"dwork_roth", "dwork_2006", "two"}, default="dwork_roth"
        c = 5/4 (Dwork and Roth, 2014; Song et al., 2022), c = 4/5 (Dwork et al., 2006) or c = 2.

    Returns
    -------
    float
        Sigma as printed. `gaussian_epsilon` and `gaussian_delta` compute its true privacy.

    Raises
    ------
    ValueError
        If a parameter is out of range or `constant` is unknown.

    Notes
    -----
    The surviving text of Shang et al. (2014) does not show whether Theorem 1 has c = 4/5 or c = 2. The two differ by 4
    % at delta = 5e-5, and both are valid for epsilon <= 1. Above 1, the 5/4 form is not proved. At delta = 1e-4, it
    fails only from about epsilon = 8. `gaussian_sigma` is always valid, and smaller than these formulas where they are
    valid.

    References
    ----------
    Dwork and Roth (2014), "The algorithmic foundations of differential privacy", Theorem A.1.
    Shang, Wang, Cuff and Kulkarni (2014), "The application of differential privacy for rank
    aggregation: privacy and accuracy", Theorem 1.

    Examples
    --------
    >>> round(classical_gaussian_sigma(1.0, 1e-4), 4)
    4.3436
    """
    check_choice(constant, "constant", _CLASSICAL)
    c = _CLASSICAL[constant]
    _check_delta(delta, below=min(1, c))
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    return sensitivity * math.sqrt(2 * math.log(c / delta)) / epsilon


def _mills(x):
    """Return Mills' ratio (1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _check_delta(delta, below=1):
    check_number(delta, "delta", least=_LEAST_DELTA, below=below)
