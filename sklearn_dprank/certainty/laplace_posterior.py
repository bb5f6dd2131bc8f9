"""Numbers under Laplace noise, seen through it: their law given the noisy ones, where true ones are normal.

With noise of density exp(-|z| / b) / (2 b) on a number that is N(0, t^2), the law given the noisy value y is that of
N(t^2 / b, t^2) below y and of N(-t^2 / b, t^2) above it, in proportion to exp(-y / b) and exp(y / b).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, ndtri_exp

_NODES = 64  # quantiles of one number that are compared with the law of the others
_FLAT = 1e5  # true numbers so much wider spread than the noise pull nothing; wider ones cancel too many digits


def chance_before(values: NDArray, scale: float, width: float) -> NDArray[np.float64]:
    """Return how likely each number is above each other, shape (n, n).

    Parameters
    ----------
    values : ndarray of shape (n,)
        With noise.
    scale : float
        b, of the noise.
    width : float
        t, standard deviation of true numbers; 0 leaves everything open.

    Examples
    --------
    >>> chance_before(np.array([2.0, 0.0]), 1.0, 1e4).round(2)  # of a flat prior, 1 - exp(-2) (1 + 2 / 2) / 2
    array([[0.5 , 0.86],
           [0.14, 0.5 ]])
    """
    values = np.asarray(values, dtype=float)
    out = np.full((len(values), len(values)), 0.5)
    if width == 0:
        return out
    if width > _FLAT * scale:  # the difference of two draws of noise is all that hides the order
        d = (values[:, None] - values) / scale
        wrong = np.exp(-np.abs(d)) * (1 + np.abs(d) / 2) / 2
        return np.where(d > 0, 1 - wrong, wrong)
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
