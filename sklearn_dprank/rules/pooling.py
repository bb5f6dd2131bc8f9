"""Pooled estimates of segments: a normal model with a shared mean, from noisy sums of known variance."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

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
    N(0, v_s), and sum p_s y_s + N(0, v). Their covariance matrix V is D = diag(a + v_s), bordered by k = p a. All
    vectors over the items sum to 0, so `degrees`, one less than the number of items, are independent.
    """

    def __init__(self, own, total, shares, spread, own_noise, total_noise, degrees):
        self.shares, self.spread, self.own_noise = shares, spread, own_noise
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
        self.log_likelihood = -(degrees * log_volume + misfit) / 2
        self.ones = ones[:, 0] + shares * total_one[0]

    def solved(self, own, total):
        """Return V^-1 (own, total)."""
        last = (total - self.border @ own) / self.corner
        return own / self.diagonal[:, np.newaxis] - np.outer(self.border, last), last

    def estimate(self):
        """Return the best linear predictions of y and their posterior variances."""
        means = self.centre + self.spread[:, np.newaxis] * (self.rest + np.outer(self.shares, self.rest_total))
        remaining = self.spread * self.own_noise / self.diagonal  # given the segment's own answer
        by_total = (self.spread * (self.shares - self.border)) ** 2 / self.corner
        of_centre = (1 - self.spread * self.ones) ** 2 / self.precision
        return means, remaining - by_total + of_centre


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
    The largest possible c is (m^2 - 1) / 3. Estimates are averages over a grid of both variances, with weights
    proportional to their restricted likelihoods. Net wins sum to 0, so noise in this direction is removed first.

    Examples
    --------
    >>> wins = np.array([[30.0, 0.0, -30.0], [0.0, 1.0, -1.0]])
    >>> alike = pooled(wins, wins.sum(axis=0), np.array([100.0, 1.0]), 20.0, 20.0)
    >>> alike.own_weights.round(2).tolist(), alike.means.round(2).tolist()
    ([0.48, 0.0], [[0.3, 0.01, -0.3], [0.3, 0.01, -0.31]])
    """
    n_items = wins.shape[1]
    shares, degrees = sizes / sizes.sum(), max(n_items - 1, 1)
    largest = (n_items**2 - 1) / 3
    own_noise = (deviation / sizes) ** 2
    total_noise = (total_deviation / sizes.sum()) ** 2
    own, mean = _centred(wins / sizes[:, np.newaxis]), _centred(total / sizes.sum())

    def models():
        for between, within in product(_BETWEEN, _WITHIN):
            spread = largest * (between + within / sizes)
            yield _Model(own, mean, shares, spread, own_noise, total_noise, degrees)

    chances = softmax([model.log_likelihood for model in models()])
    means = np.zeros_like(own)
    own_weights, variance, square = np.zeros((3, len(sizes)))
    for chance, model in zip(chances, models(), strict=True):
        expected, remaining = model.estimate()
        means += chance * expected
        own_weights += chance * model.spread / model.diagonal
        variance += chance * remaining
        square += chance * (expected**2).sum(axis=1)
    between_models = (square - (means**2).sum(axis=1)) / degrees
    return Pooled(means, own_weights, np.sqrt(np.maximum(variance + between_models, 0)))


def _centred(wins):
    """Return net wins without the noise in their sum."""
    return wins - wins.mean(axis=-1, keepdims=True)
