"""Posterior of true margins given noisy ones, averaged over the unknown spreads of the true ones.

True margins are modelled as a_i - a_j + r_ij with independent normal strengths a and remainders r, so that an item's
margins over all others inform each of its pairs. Given both spreads, everything is normal and exact (a linear model
with known noise). Both spreads have the prior of `spread`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import ndtr

from .spread import LOG_PRIOR, SPREADS, likely

_SPREADS, _LOG_PRIOR = SPREADS[::2], LOG_PRIOR[::2]  # a coarser grid will do in two dimensions


def chance_above(margins: NDArray, precision: NDArray, power: float = 1.0, most: float = np.inf) -> NDArray[np.float64]:
    """Return the posterior probability that the item of each row is above that of each column.

    Parameters
    ----------
    margins : ndarray of shape (n_items, n_items)
        Published margins.
    precision : ndarray of shape (n_items, n_items)
        One over the variance of the noise; 0 where nothing is known.
    power : float, default=1.0
        Power of the likelihood of the spreads; below 1 for noise with heavier tails than normal noise.
    most : float, default=inf
        Largest possible variance of a true margin.

    Returns
    -------
    ndarray of float, shape (n_items, n_items)
        A half on the diagonal.

    Examples
    --------
    >>> margins = np.array([[0.0, 1.0, 3.0], [-1.0, 0.0, 1.0], [-3.0, -1.0, 0.0]])
    >>> chance_above(margins, np.ones((3, 3))).round(2)[0]
    array([0.5 , 0.82, 0.96])
    """
    seen = np.where(np.eye(len(margins), dtype=bool), 0.0, precision)
    if not seen.any():
        return np.full(margins.shape, 0.5)
    # In units of the noise: a strength is measured with the sum of its item's precisions, a remainder with one of them.
    of_items, of_pairs = (_SPREADS**2 * (numbers / seen.sum()) for numbers in (len(seen), (seen > 0).sum()))
    evidence = power * np.array([_Model(margins, seen, variance).log_evidence(of_items) for variance in of_pairs])
    possible = of_pairs[:, None] + 2 * of_items <= most
    possible[0, 0] = True  # next to no spread, whatever the noise
    points = likely(np.where(possible, evidence + _LOG_PRIOR[:, None] + _LOG_PRIOR, -np.inf))
    out = np.zeros(margins.shape)
    for k in {k for (k, _), _ in points}:  # one model at a time: each holds several matrices
        model = _Model(margins, seen, of_pairs[k])
        out += sum(chance * model.chance_above(of_items[i]) for (other, i), chance in points if other == k)
    return out


class _Model:
    """The linear model of margins, given the variance of remainders.

    With w_ij = 1 / (noise + remainder variance), strengths have information L + 1 / variance, L = diag(w 1) - w, and
    h_i = sum_j w_ij margin_ij; an eigendecomposition of L serves every variance of strengths.
    """

    def __init__(self, margins, precision, of_pairs):
        self._margins, self._precision, self._of_pairs = margins, precision, of_pairs
        self._left = 1 / (1 + of_pairs * precision)  # of a remainder, when the margin is seen
        weight = self._left * precision
        values, self._vectors = eigh(np.diag(weight.sum(axis=1)) - weight)
        self._values = np.maximum(values, 0)
        self._h = self._vectors.T @ (weight * margins).sum(axis=1)
        seen = weight > 0
        # Each pair stands twice in the matrices.
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
        mean = (1 - self._left) * self._margins + self._left * (strength[:, None] - strength)
        variance = self._of_pairs * self._left + self._left**2 * np.maximum(spread, 0)
        np.fill_diagonal(mean, 0.0)
        np.fill_diagonal(variance, 1.0)
        return ndtr(mean / np.sqrt(variance))
