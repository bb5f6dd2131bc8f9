"""Margins under noise, seen through it: how likely the true ones are above 0.

True margins are taken to be a_i - a_j + r_ij with independent normal strengths a and remainders r: what an item gains
over all others tells of each of its pairs. Given both variances, everything is normal and exact (a linear model with
known noise); the variances come from the published margins.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

#: Standard errors that a variance must be above 0 to be told from noise: otherwise much is claimed of noise alone.
SEEN = 1.0


def chance_above(margins: NDArray, precision: NDArray, bounded: float) -> NDArray[np.float64]:
    """Return how likely the item of each row is really above that of each column, a half on the diagonal.

    Parameters
    ----------
    margins : ndarray of shape (n_items, n_items)
        As published.
    precision : ndarray of shape (n_items, n_items)
        One over the variance of the noise where true margins are 0; 0 where nothing is known.
    bounded : float
        How much of the variance a true margin t takes away, in units of t^2; 0 where noise does not depend on it.

    Examples
    --------
    >>> margins = np.array([[0.0, 4.0, 9.0], [-4.0, 0.0, 5.0], [-9.0, -5.0, 0.0]])
    >>> chance_above(margins, np.ones((3, 3)), 0.0).round(2)
    array([[0.5, 1. , 1. ],
           [0. , 0.5, 1. ],
           [0. , 0. , 0.5]])
    """
    seen = np.where(np.eye(len(margins), dtype=bool), 0.0, precision)
    return given(margins, seen, *variances(margins, seen, bounded))


def given(margins: NDArray, precision: NDArray, of_items: float, of_pairs: float) -> NDArray[np.float64]:
    """Return the same, given the variances of strengths and of remainders."""
    left = 1 / (1 + of_pairs * precision)  # of a remainder, when the margin is seen; all of it where it is not
    strength, spread = _strengths(left * precision * margins, left * precision, of_items)
    mean = (1 - left) * margins + left * (strength[:, None] - strength)
    variance = of_pairs * left + left**2 * spread
    told = (variance > 0) & ~np.eye(len(margins), dtype=bool)
    return ndtr(np.where(told, mean / np.sqrt(np.where(told, variance, 1.0)), 0.0))


def variances(margins: NDArray, precision: NDArray, bounded: float) -> tuple[float, float]:
    """Return the variances of strengths and of remainders, by moments; 0 where they are not told from noise."""
    weighed, pairs = precision * margins, np.square(precision).sum()
    # The products of an item's different margins: noise has no part in their mean.
    products = np.square(precision.sum(axis=1)).sum() - pairs
    of_items = (np.square(weighed.sum(axis=1)).sum() - np.square(weighed).sum()) / max(products, 1e-300)
    of_items = of_items if of_items > SEEN * np.sqrt(2 / max(products, 1e-300)) else 0.0
    squares = pairs - bounded * precision.sum()
    if squares <= 0:
        return of_items, 0.0
    of_pairs = (np.square(weighed).sum() - precision.sum()) / squares - 2 * of_items
    # The fourth moment of Laplace noise is the largest: six squared variances, which leaves five.
    return of_items, of_pairs if of_pairs > SEEN * np.sqrt(10 * pairs) / squares else 0.0


def _strengths(weighed, weight, of_items):
    """Return the mean strength of each item, and the variance of the difference of each two."""
    if of_items == 0:
        return np.zeros(len(weight)), np.zeros(weight.shape)
    information = np.diag(weight.sum(axis=1) + 1 / of_items) - weight
    covariance = np.linalg.inv(information)
    own = np.diag(covariance)
    return covariance @ weighed.sum(axis=1), own[:, None] + own - 2 * covariance
