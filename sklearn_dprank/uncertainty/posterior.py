"""Posterior of true margins and scores, given published noisy values, with an unknown spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import expit, log_ndtr, ndtr, ndtri_exp

_LOG_SPREADS = np.arange(-4.2, 9.2, 0.25)
#: Standard deviations of true values, in units of the noise's. Smaller or larger ones give nearly the same posterior.
SPREADS = np.exp(_LOG_SPREADS)
#: Logarithm of the prior density of log t: t / (1/16 + t^2), up to a constant.
LOG_PRIOR = _LOG_SPREADS - np.log(1 / 16 + SPREADS**2)
_NEGLIGIBLE = 1e-3  # share of the posterior mass that is ignored


def likely(log_posterior: NDArray[np.float64]) -> list[tuple[tuple[int, ...], float]]:
    """Return (index, probability) of the most likely grid points, which have 99.9 % of the posterior mass.

    Parameters
    ----------
    log_posterior : ndarray
        Unnormalised log density on a grid of any shape.

    Examples
    --------
    >>> likely(np.log([1e-5, 3.0, 1.0]))
    [((1,), 0.75), ((2,), 0.25)]
    """
    mass = np.exp(log_posterior - log_posterior.max()).ravel()
    order = mass.argsort(kind="stable")[::-1]
    below = mass[order].cumsum()
    kept = order[: int(np.searchsorted(below, (1 - _NEGLIGIBLE) * below[-1])) + 1]
    places = np.column_stack(np.unravel_index(kept, log_posterior.shape)).tolist()
    return list(zip(map(tuple, places), (mass[kept] / mass[kept].sum()).tolist(), strict=True))


_SPREADS, _LOG_PRIOR = SPREADS[::2], LOG_PRIOR[::2]  # in two dimensions, a coarser grid is enough


def chance_above(margins: NDArray, precision: NDArray, power: float = 1.0, most: float = np.inf) -> NDArray[np.float64]:
    """Return the posterior probability that the item of each row is above the item of each column.

    Parameters
    ----------
    margins : ndarray of shape (n_items, n_items)
        Published margins.
    precision : ndarray of shape (n_items, n_items)
        Inverse variance of the noise; 0 for pairs without information.
    power : float, default=1.0
        Power of the likelihood of the spreads. Use values below 1 for noise with heavier tails than normal noise.
    most : float, default=inf
        Largest possible variance of a true margin.

    Returns
    -------
    ndarray of float, shape (n_items, n_items)
        The diagonal is 0.5.

    Examples
    --------
    >>> margins = np.array([[0.0, 1.0, 3.0], [-1.0, 0.0, 1.0], [-3.0, -1.0, 0.0]])
    >>> chance_above(margins, np.ones((3, 3))).round(2)[0]
    array([0.5 , 0.82, 0.96])
    """
    seen = np.where(np.eye(len(margins), dtype=bool), 0.0, precision)
    if not seen.any():
        return np.full(margins.shape, 0.5)
    # Units: 1 / mean total precision of an item for variances of strengths, 1 / mean precision of a pair for residuals.
    total = seen.sum()
    of_items, of_pairs = _SPREADS**2 * (len(seen) / total), _SPREADS**2 * ((seen > 0).sum() / total)
    evidence = power * np.array([_Model(margins, seen, variance).log_evidence(of_items) for variance in of_pairs])
    possible = of_pairs[:, None] + 2 * of_items <= most
    possible[0, 0] = True  # the smallest spreads are always possible
    points = likely(np.where(possible, evidence + _LOG_PRIOR[:, None] + _LOG_PRIOR, -np.inf))
    out = np.zeros(margins.shape)
    for k in {k for (k, _), _ in points}:  # one model at a time: each holds several matrices
        model = _Model(margins, seen, of_pairs[k])
        out += sum(chance * model.chance_above(of_items[i]) for (other, i), chance in points if other == k)
    return out


class _Model:
    """Linear model of margins: difference of item strengths, plus a residual of known variance, plus noise.

    With w_ij = 1 / (noise variance + residual variance), the strengths have precision matrix L + I / variance, where
    L = diag(w 1) - w, and h_i = sum_j w_ij margin_ij. One eigendecomposition of L serves all variances of strengths.
    """

    def __init__(self, margins, precision, of_pairs):
        self._margins, self._precision, self._of_pairs = margins, precision, of_pairs
        self._kept = 1 / (1 + of_pairs * precision)  # posterior variance of a residual / its prior variance
        weight = self._kept * precision
        values, self._vectors = eigh(np.diag(weight.sum(axis=1)) - weight)
        self._values = np.maximum(values, 0)
        self._h = self._vectors.T @ (weight * margins).sum(axis=1)
        seen = weight > 0
        # Half of the sums; and the matrices contain each pair twice.
        self._constant = (np.log(weight[seen]).sum() - (weight * margins**2).sum()) / 4

    def log_evidence(self, of_items):
        """Return the log density of the margins for each variance of strengths, up to a constant."""
        scale = 1 + of_items[:, None] * self._values
        return self._constant + (of_items[:, None] * self._h**2 / scale - np.log(scale)).sum(axis=1) / 2

    def chance_above(self, of_items):
        """Return the posterior probability that each item is above each other, given the variance of strengths."""
        shrunken = of_items / (1 + of_items * self._values)
        strength = self._vectors @ (shrunken * self._h)
        covariance = (self._vectors * shrunken) @ self._vectors.T
        own = np.diag(covariance)
        spread = own[:, None] + own - 2 * covariance
        mean = (1 - self._kept) * self._margins + self._kept * (strength[:, None] - strength)
        variance = self._of_pairs * self._kept + self._kept**2 * np.maximum(spread, 0)
        np.fill_diagonal(mean, 0.0)
        np.fill_diagonal(variance, 1.0)
        return ndtr(mean / np.sqrt(variance))


_NODES = 64  # number of quantiles of one value that are compared with the posterior of the others
_FLAT = 1e6  # in scales of noise; for larger values, the prior has no effect and digits would cancel


def chance_before(values: NDArray, scale: float) -> NDArray[np.float64]:
    """Return the posterior probability that each value exceeds each other, averaged over the unknown spread.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values with Laplace noise.
    scale : float
        Scale b of the noise.

    Returns
    -------
    ndarray of float, shape (n, n)
        The diagonal is 0.5.

    Examples
    --------
    >>> chance_before(np.array([4.0, 1.0, -5.0]), 1.0).round(2)[0]
    array([0.5 , 0.82, 0.94])
    """
    values = np.asarray(values, dtype=float)
    if np.abs(values).max() > _FLAT * scale:
        d = (values[:, None] - values) / scale
        wrong = np.exp(-np.abs(d)) * (1 + np.abs(d) / 2) / 2
        return np.where(d > 0, 1 - wrong, wrong)
    widths = np.sqrt(2) * scale * SPREADS  # the standard deviation of the noise is sqrt(2) b
    y = values / scale
    evidence = [np.logaddexp(*_log_sides(y, t)).sum() + len(y) * t**2 / 2 for t in widths / scale]
    points = likely(LOG_PRIOR + evidence)
    return np.sum([chance * given(values, scale, widths[k]) for (k,), chance in points], axis=0)


def _log_sides(y, t):
    """Return the logarithms of the posterior masses below and above noisy values y, for normal values with deviation t.

    The unit is the scale of the noise. Both lack the factor e^(t^2 / 2) / 2.
    """
    return -y + log_ndtr((y - t**2) / t), y + log_ndtr(-(y + t**2) / t)


def given(values: NDArray, scale: float, width: float) -> NDArray[np.float64]:
    """Return the same as `chance_before` for true values with a known standard deviation, `width`.

    It is the mean, over quantiles of the posterior of one value, of the probability that another value is lower.

    Examples
    --------
    >>> given(np.array([2.0, 0.0]), 1.0, 1e4).round(2)  # a flat prior gives 1 - exp(-2) (1 + 2 / 2) / 2
    array([[0.5 , 0.86],
           [0.14, 0.5 ]])
    """
    y, t = values / scale, width / scale
    low, high = _log_sides(y, t)
    total, turn = np.logaddexp(low, high), expit(low - high)  # the posterior probability below y is `turn`
    levels, column = (np.arange(_NODES) + 0.5) / _NODES, y[:, None]
    # Quantiles on either side of y, from logs of probabilities, which rounding must not make positive.
    left = t * ndtri_exp(np.minimum(np.log(levels) + total[:, None] + column, 0)) + t**2
    right = -t * ndtri_exp(np.minimum(np.log1p(-levels) + total[:, None] - column, 0)) - t**2
    quantiles = np.where(levels <= turn[:, None], np.minimum(left, column), np.maximum(right, column))
    out = np.empty((len(y), len(y)))
    for i, x in enumerate(quantiles[:, :, None]):  # probabilities that the others are below the quantiles of item i
        below = np.exp(np.minimum(-y + log_ndtr((x - t**2) / t) - total, 0))
        above = np.exp(np.minimum(y + log_ndtr(-(x + t**2) / t) - total, 0))
        out[i] = np.where(x <= y, below, 1 - above).mean(axis=0)
    return (out + 1 - out.T) / 2  # the mean of both ways to integrate
