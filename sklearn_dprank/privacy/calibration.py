"""How much Gaussian noise an (epsilon, delta) needs, and what a Gaussian noise gives.

Every result is rounded to the side that protects more.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from .._utils.checks import check_choice, check_number, positive
from .._utils.types import GaussianConstant
from ._search import smallest

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LEAST_DELTA = 1e-290  # the tails that make it up are still doubles of full precision
_SLACK = 1e-10  # relative; far above the rounding errors of `gaussian_delta`
_CLASSICAL = {"dwork_roth": 1.25, "dwork_2006": 0.8, "two": 2.0}


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the exact delta of Gaussian noise at `epsilon`.

    Parameters
    ----------
    epsilon : float
        Not negative.
    sigma : float
        Standard deviation of the noise on each coordinate.
    sensitivity : float, default=1.0
        How far one voter moves the statistic, in the L2 norm. For q adaptive answers of
        sensitivity D each, it is D sqrt(q).

    Returns
    -------
    float
        Phi(r/2 - epsilon/r) - e^epsilon Phi(-r/2 - epsilon/r), with r = sensitivity / sigma.

    Raises
    ------
    ValueError
        If `epsilon` is negative, or `sigma` or `sensitivity` not positive.

    Notes
    -----
    With x = epsilon/r - r/2 and M Mills' ratio, this is phi(x) (M(x) - M(x + r)). The difference
    is taken as the integral of -M' = 1 - x M(x) when r is small: nothing cancels, and e^epsilon is
    never formed.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy", Theorem 8.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 3.0), 6)
    0.000208
    """
    check_number(epsilon, "epsilon", least=0)
    positive(sigma=sigma, sensitivity=sensitivity)
    return float(_deltas(float(epsilon), float(sensitivity) / float(sigma)))  # in single precision tails would be wrong


def gaussian_deltas(epsilons: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return the exact delta at each epsilon of Gaussian releases that are mu apart.

    Parameters
    ----------
    epsilons : ndarray of float
        Also negative ones: the most by which a probability exceeds e^epsilon times its neighbour's.
    mu : float
        Sensitivity over standard deviation; 0 for releases that reveal nothing.

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
    """Return phi(x) (M(x) - M(x + r)) for epsilons of 0 and more."""
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
        Not negative.
    delta : float
        Strictly between 0 and 1.
    sensitivity : float, default=1.0
        How far one voter moves the statistic, in the L2 norm. For q adaptive answers of
        sensitivity D each, it is D sqrt(q).

    Returns
    -------
    float
        Rounded up: `gaussian_delta` of it is at most `delta`.

    Raises
    ------
    ValueError
        If a parameter is out of bounds.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy", Algorithm 1.

    Examples
    --------
    >>> round(gaussian_sigma(1.0, 1e-4), 4)
    3.1857
    """
    _check_delta(delta)
    positive(sensitivity=sensitivity)
    delta = float(delta)
    enough = smallest(lambda sigma: gaussian_delta(epsilon, sigma) <= delta * (1 - _SLACK))
    return enough * float(sensitivity) * (1 + 2.0**-50)


def gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the smallest epsilon of Gaussian noise at `delta`.

    It states what a published calibration really gives.

    Parameters
    ----------
    delta : float
        Strictly between 0 and 1.
    sigma : float
        Standard deviation of the noise on each coordinate.
    sensitivity : float, default=1.0
        How far one voter moves the statistic, in the L2 norm.

    Returns
    -------
    float
        Rounded up; 0 if the noise is so large that `delta` alone covers it.

    Raises
    ------
    ValueError
        If a parameter is out of bounds.

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
    """Return the standard deviation that the papers print: sensitivity sqrt(2 ln(c / delta)) / epsilon.

    Parameters
    ----------
    epsilon : float
        Positive. The formulas are proved up to 1.
    delta : float
        Between 0 and 1, and below c.
    sensitivity : float, default=1.0
        How far one voter moves the statistic, in the L2 norm.
    constant : {"dwork_roth", "dwork_2006", "two"}, default="dwork_roth"
        c = 5/4 (Dwork and Roth, 2014; Song et al., 2022), c = 4/5 (Dwork et al., 2006) or c = 2.

    Returns
    -------
    float
        The noise as published; `gaussian_epsilon` and `gaussian_delta` say what it gives.

    Raises
    ------
    ValueError
        If a parameter is out of bounds or `constant` is unknown.

    Notes
    -----
    The text of Shang et al. (2014) that survives does not settle whether its Theorem 1 has c = 4/5
    or c = 2; they differ by 4 % at delta = 5e-5, and both hold for epsilon <= 1. Above 1 the
    5/4 form is unproved but only fails from about epsilon = 8 (at delta = 1e-4) on.
    `gaussian_sigma` is always valid and always smaller where these are valid.

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
    positive(epsilon=epsilon, sensitivity=sensitivity)
    return sensitivity * math.sqrt(2 * math.log(c / delta)) / epsilon


def _mills(x):
    """Return Mills' ratio (1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _check_delta(delta, below=1):
    check_number(delta, "delta", least=_LEAST_DELTA, below=below)
