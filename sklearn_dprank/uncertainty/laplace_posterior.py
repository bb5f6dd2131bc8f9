"""Posterior of normal values given values with Laplace noise, averaged over the unknown spread of the true ones.

With noise of density exp(-|z| / b) / (2 b) on a number that is N(0, t^2), the law given the noisy value y is that of
N(t^2 / b, t^2) below y and of N(-t^2 / b, t^2) above it, in proportion to exp(-y / b) and exp(y / b).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, ndtri_exp

from .spread import LOG_PRIOR, SPREADS, likely

_NODES = 64  # quantiles of one value that are compared with the posterior of the others
_FLAT = 1e6  # scales of noise: values so far out have so wide a prior that it shrinks nothing, and cancel digits


def chance_before(values: NDArray, scale: float) -> NDArray[np.float64]:
    """Return the posterior probability that each value exceeds each other, averaged over the unknown spread.

    Parameters
    ----------
    values : ndarray of shape (n,)
        With noise.
    scale : float
        b, of the noise.

    Returns
    -------
    ndarray of float, shape (n, n)
        A half on the diagonal.

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
    evidence = [_Posterior(values, scale, width).log_evidence for width in widths]
    points = likely(LOG_PRIOR + evidence)
    return np.sum([chance * given(values, scale, widths[k]) for (k,), chance in points], axis=0)


def given(values: NDArray, scale: float, width: float) -> NDArray[np.float64]:
    """Return the same for true values with a known standard deviation, `width`.

    Examples
    --------
    >>> given(np.array([2.0, 0.0]), 1.0, 1e4).round(2)  # of a flat prior, 1 - exp(-2) (1 + 2 / 2) / 2
    array([[0.5 , 0.86],
           [0.14, 0.5 ]])
    """
    out = np.empty((len(values), len(values)))
    posterior = _Posterior(values, scale, width)
    for i, nodes in enumerate(posterior.quantiles((np.arange(_NODES) + 0.5) / _NODES)):
        out[i] = posterior.below(nodes[:, None]).mean(axis=0)
    return (out + 1 - out.T) / 2


class _Posterior:
    """The laws of some numbers, given their noisy values, in units of the noise."""

    def __init__(self, values, scale, width):
        self._scale, self._t = scale, width / scale
        self._y = values / scale
        low = -self._y + log_ndtr((self._y - self._t**2) / self._t)
        high = self._y + log_ndtr(-(self._y + self._t**2) / self._t)
        self._total, self._turn = np.logaddexp(low, high), expit(low - high)

    @property
    def log_evidence(self):
        """Log density of the noisy values given the spread, up to a constant."""
        return self._total.sum() + len(self._y) * self._t**2 / 2

    def below(self, x):
        """Return the probabilities that numbers are below x, which goes with the values."""
        x = np.asarray(x, dtype=float) / self._scale
        left = np.exp(np.minimum(-self._y + log_ndtr((x - self._t**2) / self._t) - self._total, 0))
        right = np.exp(np.minimum(self._y + log_ndtr(-(x + self._t**2) / self._t) - self._total, 0))
        return np.where(x <= self._y, left, 1 - right)

    def quantiles(self, levels):
        """Return the quantiles of each number, shape (n, number of levels)."""
        y, total = self._y[:, None], self._total[:, None]
        left = self._t * ndtri_exp(np.minimum(np.log(levels) + total + y, 0)) + self._t**2
        right = -self._t * ndtri_exp(np.minimum(np.log1p(-levels) + total - y, 0)) - self._t**2
        return self._scale * np.where(levels <= self._turn[:, None], np.minimum(left, y), np.maximum(right, y))
