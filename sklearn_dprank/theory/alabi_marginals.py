"""Alabi et al. (2022), lower bounds: rank aggregation is as hard as the one-way marginals of n sign vectors.

Observations 15 and 16 tie the cost of a consensus to the signs it gets right.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.checks import is_published
from .._utils.types import Variant


def marginal_ranking(signs: Sequence[float] | NDArray[Any], n_middle: int) -> NDArray[np.int64]:
    """Return the ranking pi^x of 2 d + t items that encodes x in {-1, +1}^d.

    The identity, with items j and j + d + t exchanged where x_j = -1.

    Parameters
    ----------
    signs : array-like of shape (d,)
        x, entries -1 and +1.
    n_middle : int
        Number t of items that never move, between the two blocks of d.

    Returns
    -------
    numpy.ndarray of shape (2 * d + t,)
        Positions, from 0.

    Notes
    -----
    The paper's text says that the exchange happens where x_j = +1; its formula says -1.

    References
    ----------
    Alabi et al. (2022), Lower bounds, connection to one-way marginals.

    Examples
    --------
    >>> marginal_ranking([1, -1], 1)
    array([0, 4, 2, 3, 1])
    """
    exchanged = np.flatnonzero(np.asarray(signs) < 0)
    positions = np.arange(2 * len(signs) + n_middle)
    far = exchanged + len(signs) + n_middle
    positions[exchanged], positions[far] = far, exchanged
    return positions


def marginal_signs(positions: ArrayLike, n_signs: int, *, variant: Variant = "corrected") -> NDArray[np.int64]:
    """Return rho(sigma) in {-1, +1}^d, what a ranking says about the marginals.

    Parameters
    ----------
    positions : array-like of shape (2 * d + t,)
        A ranking sigma.
    n_signs : int
        Number d of signs.
    variant : {"corrected", "published"}, default="corrected"
        Which sign.

    Returns
    -------
    numpy.ndarray of shape (d,)
        +1 where item j comes before item j + d + t.

    Notes
    -----
    The paper prints the opposite sign, with which rho(pi^x) = -x and Observation 15 fails.

    References
    ----------
    Alabi et al. (2022), definition of rho before Observation 15.

    Examples
    --------
    >>> marginal_signs(marginal_ranking([1, -1], 1), 2)
    array([ 1, -1])
    """
    positions = np.asarray(positions)
    before = np.where(positions[:n_signs] < positions[-n_signs:], 1, -1)
    return -before if is_published(variant) else before


def _expected_errors(guess, signs):
    """Return d/2 - <guess, mean of signs>/2: how many signs the guess gets wrong, on average over the rows."""
    guess = np.asarray(guess)
    return (len(guess) - float(guess @ np.mean(signs, axis=0))) / 2


def marginal_lower_bound(
    positions: ArrayLike, signs: Sequence[float] | NDArray[Any], n_middle: int, *, variant: Variant = "corrected"
) -> float:
    """Return the bound of Observation 15: K(sigma, {pi^x}) >= t (d/2 - <rho(sigma), mean x>/2).

    A good consensus has to get the signs of the marginals right: each wrong sign crosses all t middle items.

    Parameters
    ----------
    positions : array-like of shape (2 * d + t,)
        Any ranking sigma (the paper prints a permutation of 2 d items).
    signs : array-like of shape (n, d)
        The vectors x, one a voter.
    n_middle : int
        Number t of middle items.
    variant : {"corrected", "published"}, default="corrected"
        The sign of `marginal_signs`; with the printed one the bound is false.

    Returns
    -------
    float
        Lower bound on the average Kendall tau distance.

    References
    ----------
    Alabi et al. (2022), Observation 15.

    Examples
    --------
    >>> marginal_lower_bound([0, 1, 2], [[-1]], 1), marginal_lower_bound([0, 1, 2], [[1]], 1, variant="published")
    (1.0, 1.0)
    """
    n_signs = np.shape(signs)[1]
    return n_middle * _expected_errors(marginal_signs(positions, n_signs, variant=variant), signs)


def marginal_leanings(positions: ArrayLike, n_signs: int) -> NDArray[np.float64]:
    """Return y in [-1, 1]^d, how far a ranking leans to each sign: Observation 15 with twice the factor.

    Parameters
    ----------
    positions : array-like of shape (2 * d + t,)
        A ranking sigma, t at least 1.
    n_signs : int
        Number d of signs.

    Returns
    -------
    numpy.ndarray of shape (d,)
        1 less the share of the middle items that come before item j, less the share that come after item j + d + t.

    Notes
    -----
    Item j belongs before each middle item and j + d + t after it if x_j = 1, and the other way round if x_j = -1: of
    these pairs sigma gets t (1 - x_j y_j) wrong. So K(sigma, {pi^x}) >= t (d - <y, mean x>), where Observation 15 has
    half of that for the signs; y = x for pi^x itself, so that Observation 16 meets it but for pairs of outer items.

    References
    ----------
    Alabi et al. (2022), Observations 15 and 16.

    Examples
    --------
    >>> marginal_leanings(marginal_ranking([1, -1], 2), 2)
    array([ 1., -1.])
    >>> marginal_leanings([0, 2, 3, 1], 1)  # the middle items are last: only the first item is right for x = 1
    array([0.])
    """
    positions = np.asarray(positions)
    first, middle, last = np.split(positions, [n_signs, len(positions) - n_signs])
    before, after = middle < first[:, None], middle > last[:, None]
    return 1 - before.mean(axis=1) - after.mean(axis=1)


def marginal_upper_bound(
    guess: ArrayLike, signs: Sequence[float] | NDArray[Any], n_middle: int, *, variant: Variant = "corrected"
) -> float:
    """Return the bound of Observation 16: K(pi^y, {pi^x}) <= 2 t (d/2 - <y, mean x>/2) + 2 d^2.

    Parameters
    ----------
    guess : array-like of shape (d,)
        y, entries -1 and +1.
    signs : array-like of shape (n, d)
        The vectors x, one a voter.
    n_middle : int
        Number t of middle items.
    variant : {"corrected", "published"}, default="corrected"
        The factor 2 t, or the printed t.

    Returns
    -------
    float
        Upper bound on the average Kendall tau distance.

    Notes
    -----
    A wrong sign exchanges both j and j + d + t with every middle item: 2 t inversions, where the paper counts t
    (d = 2, t = 10, y = -x: distance 44, printed bound 28).

    References
    ----------
    Alabi et al. (2022), Observation 16.

    Examples
    --------
    >>> marginal_upper_bound([1, 1], [[-1, -1]], 10), marginal_upper_bound([1, 1], [[-1, -1]], 10, variant="published")
    (48.0, 28.0)
    """
    crossings = n_middle if is_published(variant) else 2 * n_middle
    return crossings * _expected_errors(guess, signs) + 2 * len(np.asarray(guess)) ** 2
