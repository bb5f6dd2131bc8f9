"""Mallows' model: rankings scattered about a centre."""

from math import expm1, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.checks import check_number, check_whole
from .._utils.types import RandomState
from ._random import as_generator


def make_mallows(
    n_voters: int, n_items: int, phi: float, *, center: ArrayLike | None = None, random_state: RandomState = None
) -> NDArray[np.int64]:
    """Draw rankings from Mallows' model, by repeated insertion.

    A ranking at Kendall tau distance d from the centre has probability proportional to ``phi ** d``.

    Parameters
    ----------
    n_voters : int
        Number of rankings, at least 1.
    n_items : int
        Number of items, at least 1.
    phi : float
        Dispersion, in [0, 1]. At 0 every ranking is the centre, at 1 all rankings are equally likely.
    center : array-like of int, shape (n_items,), default=None
        The position of each item in the centre: a permutation of 0, ..., n_items - 1, as the rows of
        the result. None draws one uniformly: with the centre 0, 1, 2, ... a mechanism that breaks
        ties by column would look better than it is.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default=None
        Source of the draws; an int makes them reproducible.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Positions: entry (v, i) is where voter v puts item i; 0 is best.

    Raises
    ------
    ValueError
        If an argument is outside the ranges above.

    Notes
    -----
    Other conventions for the same model: ``theta = 1 - phi`` in Yan et al. (2020) and Song et al.
    (2022); ``theta = -log(phi)`` in the package PerMallows; Hay et al. (2017) use this phi.

    The item at place k of the centre overtakes v of its k predecessors with probability proportional
    to ``phi ** v``, independently of the others, so the expected distance to the centre is the sum
    over places of the mean of v, and the first of two items k places apart in the centre comes first
    with probability ``(k + 1) / (1 - phi ** (k + 1)) - k / (1 - phi ** k)``.

    References
    ----------
    C. L. Mallows (1957), "Non-null ranking models", Biometrika 44.

    J.-P. Doignon, A. Pekec and M. Regenwetter (2004), "The repeated insertion model for rankings",
    Psychometrika 69.

    Examples
    --------
    >>> from sklearn_dprank.datasets import make_mallows
    >>> X = make_mallows(1000, 4, phi=0.5, center=[3, 0, 1, 2], random_state=0)
    >>> X.shape
    (1000, 4)
    >>> X.mean(axis=0).argsort()  # item 1 is first in the centre, then 2, 3 and 0
    array([1, 2, 3, 0])
    """
    check_whole(n_voters, "n_voters")
    check_whole(n_items, "n_items")
    check_number(phi, "phi", least=0, most=1)
    rng = as_generator(random_state)
    places = rng.permutation(n_items) if center is None else _check_center(center, n_items)

    # One row a place of the centre, one column a voter: every step is a few passes over short rows.
    positions = np.empty((n_items, n_voters), dtype=np.min_scalar_type(n_items))
    for place in range(n_items):
        earlier = positions[:place]
        positions[place] = place - _overtaken(place, float(phi), n_voters, rng)
        earlier += earlier >= positions[place]
    return positions[places].T.astype(np.int64, order="C")


def _overtaken(n_earlier, phi, size, rng):
    """Draw v in 0, ..., n_earlier with probability proportional to phi**v, by inversion."""
    uniform = rng.random(size)
    if phi == 0:
        return np.zeros(size, dtype=np.int64)
    if phi == 1:
        return (uniform * (n_earlier + 1)).astype(np.int64)
    # P(V < v) = (1 - phi^v) / (1 - phi^(n_earlier + 1)), solved for v; the cap is against rounding.
    v = np.log1p(uniform * expm1((n_earlier + 1) * log(phi))) / log(phi)
    return np.minimum(v.astype(np.int64), n_earlier)


def _check_center(center, n_items):
    center = np.asarray(center)
    if center.shape != (n_items,) or not np.array_equal(np.sort(center), np.arange(n_items)):
        raise ValueError(
            f"center must be a permutation of 0, ..., {n_items - 1} (where the centre puts each item), got {center}."
        )
    return center.astype(np.int64)
