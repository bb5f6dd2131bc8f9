"""The Plackett-Luce model: rankings drawn item by item, in proportion to weights."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.checks import check_whole
from .._utils.types import RandomState
from ._random import as_generator


def make_plackett_luce(
    n_voters: int, n_items: int, weights: ArrayLike | None = None, *, random_state: RandomState = None
) -> NDArray[np.int64]:
    """Draw rankings from the Plackett-Luce model, by Gumbel keys.

    A voter picks the best item with probability proportional to its weight, then the next one among
    the rest in the same way, and so on.

    Parameters
    ----------
    n_voters : int
        Number of rankings, at least 1.
    n_items : int
        Number of items, at least 1.
    weights : array-like of float, shape (n_items,), default=None
        Positive, on any scale; item i comes before item j with probability
        ``weights[i] / (weights[i] + weights[j])``. None draws them uniformly from the simplex.
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

    References
    ----------
    R. L. Plackett (1975), "The analysis of permutations", Applied Statistics 24.

    J. I. Yellott (1977), "The relationship between Luce's choice axiom, Thurstone's theory of
    comparative judgment, and the double exponential distribution", Journal of Mathematical
    Psychology 15.

    Examples
    --------
    >>> from sklearn_dprank.datasets import make_plackett_luce
    >>> X = make_plackett_luce(1000, 3, weights=[1, 4, 2], random_state=0)
    >>> X.mean(axis=0).argsort()
    array([1, 2, 0])
    """
    check_whole(n_voters, "n_voters")
    check_whole(n_items, "n_items")
    rng = as_generator(random_state)
    weights = rng.standard_exponential(n_items) if weights is None else _check_weights(weights, n_items)

    keys = rng.gumbel(size=(n_voters, n_items))
    keys += np.log(weights)
    orders = np.argsort(np.negative(keys, out=keys), axis=1)
    positions = np.empty_like(orders)
    np.put_along_axis(positions, orders, np.arange(n_items)[np.newaxis], axis=1)
    return positions


def _check_weights(weights, n_items):
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (n_items,) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"weights must be {n_items} positive finite numbers, one an item, got {weights!r}.")
    return values
