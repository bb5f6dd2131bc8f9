"""Pooled estimates of segments: empirical Bayes with a shared mean, from noisy sums of known variance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_BETWEEN = np.append(0.0, 0.5 ** np.arange(15, -1, -1))  # variances between segments, relative to the largest
_WITHIN = 0.5 ** np.arange(4, -1, -1)  # variances between the voters of one segment, relative to the largest


class Pooled(NamedTuple):
    """Estimates of all segments.

    Attributes
    ----------
    means : ndarray of float, shape (n_segments, n_items)
        Estimated mean net wins of one voter.
    own_weights : ndarray of float, shape (n_segments,)
        Share of the deviation from the shared mean that an estimate keeps of the segment's own noisy mean, from 0 to 1.
    std : ndarray of float, shape (n_segments,)
        Posterior standard deviation of each mean.
    """

    means: NDArray[np.float64]
    own_weights: NDArray[np.float64]
    std: NDArray[np.float64]


class _Model:
    """Normal model of the segments' noisy means and the noisy overall mean, for given variances.

    Segment s has the true mean y_s = theta + d_s, where theta is unknown and d_s ~ N(0, a_s). The noisy means are y_s +
    N(0, v_s), and sum p_s y_s + N(0, v). Their covariance matrix V is D = diag(a + v_s), bordered by k = p a.
    """

    def __init__(self, own, total, shares, spread, own_noise, total_noise):
        self.shares, self.spread = shares, spread
        self.diagonal = spread + own_noise
        self.border = shares * spread / self.diagonal  # D^-1 k
        self.corner = total_noise + (shares**2 * spread * own_noise / self.diagonal).sum()  # Schur complement of D
        ones, total_one = self.solved(np.ones((len(shares), 1)), np.ones(1))
        self.precision = ones.sum() + total_one.sum()  # 1' V^-1 1
        weighted, weighted_total = self.solved(own, total)
        self.centre = (weighted.sum(axis=0) + weighted_total) / self.precision  # estimate of theta
        rest, rest_total = own - self.centre, total - self.centre
        self.rest, self.rest_total = self.solved(rest, rest_total)
        misfit = (rest * self.rest).sum() + (rest_total * self.rest_total).sum()
        log_volume = np.log(self.diagonal).sum() + np.log(self.corner) + np.log(self.precision)
        #: Restricted log likelihood, up to a constant.
        self.log_likelihood = -(len(self.centre) * log_volume + misfit) / 2
        self.ones = ones[:, 0] + shares * total_one[0]

    def solved(self, own, total):
        """Return V^-1 (own, total)."""
        last = (total - self.border @ own) / self.corner
        return own / self.diagonal[:, np.newaxis] - np.outer(self.border, last), last

    def estimate(self):
        """Return the best linear predictions of y and their posterior standard deviations."""
        means = self.centre + self.spread[:, np.newaxis] * (self.rest + np.outer(self.shares, self.rest_total))
        explained = 1 / self.diagonal + (self.shares - self.border) ** 2 / self.corner
        of_centre = (1 - self.spread * self.ones) ** 2 / self.precision
        variance = self.spread - self.spread**2 * explained + of_centre
        return means, np.sqrt(np.maximum(variance, 0))


def pooled(wins: Any, total: Any, sizes: Any, deviation: float, total_deviation: float) -> Pooled:
    """Return the estimates that pool every segment with the others, as far as they are alike.

    Parameters
    ----------
    wins : ndarray of float, shape (n_segments, n_items)
        Noisy net wins of each segment, in votes.
    total : ndarray of float, shape (n_items,)
        Noisy net wins of all segments together, with independent noise.
    sizes : ndarray of float, shape (n_segments,)
        Positive estimates of the numbers of voters.
    deviation, total_deviation : float
        Standard deviations of the noise in `wins` and in `total`.

    Returns
    -------
    Pooled
        Estimates per voter.

    Notes
    -----
    The variance of the true mean of a segment of n voters is t^2 + c / n: t^2 between segments, and c between voters.
    Both are chosen from a grid by restricted maximum likelihood. The largest possible c is (m^2 - 1) / 3.

    Examples
    --------
    >>> wins = np.array([[30.0, 0.0, -30.0], [0.0, 1.0, -1.0]])
    >>> alike = pooled(wins, wins.sum(axis=0), np.array([100.0, 1.0]), 20.0, 20.0)
    >>> alike.own_weights.round(2).tolist(), alike.means.round(2).tolist()
    ([0.04, 0.0], [[0.3, 0.01, -0.3], [0.3, 0.01, -0.3]])
    """
    shares = sizes / sizes.sum()
    largest = (wins.shape[1] ** 2 - 1) / 3
    own_noise = (deviation / sizes) ** 2
    total_noise = (total_deviation / sizes.sum()) ** 2
    own, mean = wins / sizes[:, np.newaxis], total / sizes.sum()
    models = [
        _Model(own, mean, shares, largest * (between + within / sizes), own_noise, total_noise)
        for between in _BETWEEN
        for within in _WITHIN
    ]
    best = max(models, key=lambda model: model.log_likelihood)
    means, std = best.estimate()
    return Pooled(means, best.spread / best.diagonal, std)
