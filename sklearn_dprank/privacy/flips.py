"""Randomized response on one bit: flip probabilities and epsilon.

A bit with added noise and a threshold is randomized response, so its epsilon is pure and exact. Every result is rounded
to the side that protects more.
"""

import math

from scipy.special import erf, expit, log_ndtr, ndtr, ndtri

from .._utils.checks import check_number, positive
from ._search import smallest
from .rounding import rounded_up

_GRID = 2.0**52  # `BitSource.bernoulli` draws multiples of 1 / _GRID exactly
_ULPS = 2.0**-50  # relative; covers the rounding errors of a few elementary functions


def flip_probability(epsilon: float) -> float:
    """Return the flip probability of binary randomized response, 1 / (1 + e^epsilon).

    Parameters
    ----------
    epsilon : float
        At least 0.

    Returns
    -------
    float
        Rounded up to a multiple of 2**-52. `BitSource.bernoulli` draws with this probability exactly.

    Raises
    ------
    ValueError
        If `epsilon` is negative.

    Examples
    --------
    >>> round(flip_probability(1.0), 4)
    0.2689
    """
    check_number(epsilon, "epsilon", least=0)
    epsilon = -rounded_up(-epsilon)  # round down, in double precision
    return _on_grid(expit(-epsilon))


def flip_epsilon(flip: float) -> float:
    """Return the exact epsilon of binary randomized response, ln((1 - flip) / flip).

    Parameters
    ----------
    flip : float
        Probability of the wrong bit, above 0 and at most 1/2.

    Returns
    -------
    float
        Pure epsilon, rounded up.

    Raises
    ------
    ValueError
        If `flip` is out of range.

    Examples
    --------
    >>> round(flip_epsilon(0.25), 4)
    1.0986
    """
    check_number(flip, "flip", above=0, most=0.5)
    return 2 * math.atanh(1 - 2 * flip) * (1 + _ULPS) if flip > 0.1 else math.log((1 - flip) / flip) * (1 + _ULPS)


def thresholded_gaussian_flip(sigma: float) -> float:
    """Return the flip probability of 1[bit + N(0, sigma^2) > 1/2], which is Phi(-1 / (2 sigma)).

    Parameters
    ----------
    sigma : float
        Positive.

    Returns
    -------
    float
        Rounded up to a multiple of 2**-52. `BitSource.bernoulli` draws with this probability exactly.

    Raises
    ------
    ValueError
        If `sigma` is not positive.

    Examples
    --------
    >>> round(thresholded_gaussian_flip(4.3436), 4)
    0.4542
    """
    positive(sigma=sigma)
    sigma = float(sigma)
    return _on_grid(ndtr(-0.5 / sigma))


def thresholded_gaussian_epsilon(sigma: float) -> float:
    """Return the exact, pure epsilon of 1[bit + N(0, sigma^2) > 1/2].

    Parameters
    ----------
    sigma : float
        Positive.

    Returns
    -------
    float
        ln(Phi(1 / (2 sigma)) / Phi(-1 / (2 sigma))), rounded up. Delta is 0.

    Raises
    ------
    ValueError
        If `sigma` is not positive.

    Notes
    -----
    Song et al. (2022) calibrate sigma for the Gaussian mechanism. The threshold leaves one bit, so the release is
    randomized response. It is much more private than stated: epsilon is 0.184, where the paper states 1 at delta =
    1e-4.

    Examples
    --------
    >>> from sklearn_dprank.privacy.calibration import classical_gaussian_sigma
    >>> round(thresholded_gaussian_epsilon(classical_gaussian_sigma(1.0, 1e-4)), 4)
    0.1838
    """
    positive(sigma=sigma)
    sigma = float(sigma)
    x = 0.5 / sigma
    logit = 2 * math.atanh(erf(x / math.sqrt(2))) if x < 1 else float(log_ndtr(x) - log_ndtr(-x))
    return logit * (1 + _ULPS)


def thresholded_gaussian_sigma(epsilon: float) -> float:
    """Return the sigma at which 1[bit + N(0, sigma^2) > 1/2] has this pure epsilon.

    Parameters
    ----------
    epsilon : float
        Positive.

    Returns
    -------
    float
        1 / (2 Phi^-1(e^epsilon / (1 + e^epsilon))), rounded up.

    Raises
    ------
    ValueError
        If `epsilon` is not positive, or above 700.

    Examples
    --------
    >>> round(thresholded_gaussian_sigma(1.0), 4)
    0.8117
    """
    check_number(epsilon, "epsilon", above=0, most=700)
    epsilon = -rounded_up(-epsilon)  # round down, in double precision
    return smallest(lambda sigma: thresholded_gaussian_epsilon(sigma) <= epsilon, -0.5 / float(ndtri(expit(-epsilon))))


def thresholded_laplace_flip(scale: float) -> float:
    """Return the flip probability of 1[bit + Laplace(scale) > 1/2], which is e^(-1 / (2 scale)) / 2.

    Parameters
    ----------
    scale : float
        Positive.

    Returns
    -------
    float
        Rounded up to a multiple of 2**-52. `BitSource.bernoulli` draws with this probability exactly.

    Raises
    ------
    ValueError
        If `scale` is not positive.

    Examples
    --------
    >>> round(thresholded_laplace_flip(1.0), 4)
    0.3033
    """
    positive(scale=scale)
    scale = float(scale)
    return _on_grid(math.exp(-0.5 / scale) / 2)


def thresholded_laplace_epsilon(scale: float) -> float:
    """Return the exact, pure epsilon of 1[bit + Laplace(scale) > 1/2].

    Parameters
    ----------
    scale : float
        Positive.

    Returns
    -------
    float
        ln(2 e^(1 / (2 scale)) - 1), rounded up.

    Raises
    ------
    ValueError
        If `scale` is not positive.

    Notes
    -----
    The Laplace version of LDP-KwikSort (Yan et al., 2020) adds Laplace(1 / epsilon) noise. For a stated epsilon of 1,
    it spends only 0.832. Randomized response spends the whole epsilon and flips fewer bits.

    Examples
    --------
    >>> round(thresholded_laplace_epsilon(1.0), 3)
    0.832
    """
    positive(scale=scale)
    scale = float(scale)
    x = 0.5 / scale
    logit = math.log1p(2 * math.expm1(x)) if x < 1 else x + math.log(2 - math.exp(-x))
    return logit * (1 + _ULPS)


def thresholded_laplace_scale(epsilon: float) -> float:
    """Return the scale at which 1[bit + Laplace(scale) > 1/2] has this pure epsilon.

    Parameters
    ----------
    epsilon : float
        Positive.

    Returns
    -------
    float
        1 / (2 ln((1 + e^epsilon) / 2)), rounded up.

    Raises
    ------
    ValueError
        If `epsilon` is not positive.

    Examples
    --------
    >>> round(thresholded_laplace_scale(1.0), 4)
    0.8063
    """
    positive(epsilon=epsilon)
    epsilon = -rounded_up(-epsilon)  # round down, in double precision
    x = math.log1p(math.expm1(epsilon) / 2) if epsilon < 1 else epsilon + math.log((1 + math.exp(-epsilon)) / 2)
    return 0.5 / x * (1 + 2 * _ULPS)


def _on_grid(probability):
    """Return `probability` rounded up to a multiple of 2**-52, at least 2**-52 and at most 1/2."""
    return min(max(math.ceil(probability * (1 + _ULPS) * _GRID), 1) / _GRID, 0.5)
