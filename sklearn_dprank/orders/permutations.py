"""All permutations of a few items, by number."""

from math import factorial

import numpy as np


def permutation_index(positions):
    """Return the numbers of complete strict rankings: their Lehmer codes.

    Parameters
    ----------
    positions : ndarray of int, shape (n_items, n_rankings)
        Where each ranking puts each item, 0 to n_items - 1.

    Returns
    -------
    ndarray of int64, shape (n_rankings,)
        0 to n_items! - 1.

    Examples
    --------
    >>> permutation_index(np.array([[0, 2], [1, 1], [2, 0]]))
    array([0, 5])
    """
    n_items = len(positions)
    index = np.zeros(positions.shape[1], dtype=np.int64)
    for i in range(n_items - 1):
        smaller = np.add.reduce(positions[i + 1 :] < positions[i], axis=0, dtype=np.uint8)  # 20 items at most
        index += np.multiply(smaller, factorial(n_items - 1 - i), dtype=np.int64)
    return index


def indexed_permutations(index, n_items):
    """Return the rankings with the given numbers: the inverse of `permutation_index`.

    Parameters
    ----------
    index : ndarray of int, shape (n_rankings,)
        0 to n_items! - 1.
    n_items : int
        Number of items.

    Returns
    -------
    ndarray of int64, shape (n_items, n_rankings)
        Positions.

    Examples
    --------
    >>> indexed_permutations(np.array([0, 5]), 3)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    index = np.asarray(index)
    out = np.empty((n_items, len(index)), dtype=np.int64)
    for i in range(n_items):
        out[i], index = np.divmod(index, factorial(n_items - 1 - i))
    # Code i counts the later items placed before item i: raise those at or above it, last item first.
    for i in range(n_items - 2, -1, -1):
        out[i + 1 :] += out[i + 1 :] >= out[i]
    return out


def first_places(histogram):
    """Return how many rankings put each item first.

    Parameters
    ----------
    histogram : array of shape (n_items, n_items - 1, ..., 1)
        How many rankings have each number, by the digits of their Lehmer codes: entry i of an index is the place of
        item i among the items i, i + 1, ...

    Returns
    -------
    ndarray of shape (n_items,)

    Examples
    --------
    >>> first_places(np.array([5, 0, 0, 0, 0, 2]).reshape(3, 2, 1))
    array([5, 0, 2])
    """
    # Item i is first where it comes before all later ones, and no earlier item comes before all that are later than it.
    return np.array([histogram[(slice(1, None),) * i + (0,)].sum() for i in range(histogram.ndim)])


def without_item(histogram, item):
    """Return the histogram of the rankings of all other items.

    Parameters
    ----------
    histogram : array of shape (n_items, n_items - 1, ..., 1)
        As `first_places` takes it.
    item : int
        What leaves every ranking.

    Returns
    -------
    ndarray of shape (n_items - 1, n_items - 2, ..., 1)

    Examples
    --------
    >>> without_item(np.array([5, 0, 0, 0, 0, 2]).reshape(3, 2, 1), 1).ravel()
    array([5, 2])
    """
    n_items = histogram.ndim
    for i in range(item - 1, -1, -1):
        # Axis `item` has its place among the items i + 1, ...; that of item i becomes its place among those but it.
        other, place = np.indices((n_items - 1 - i, n_items - i))
        pair = np.moveaxis(histogram, (i, item), (0, 1))
        histogram = np.moveaxis(pair[other + (other >= place), place - (other < place)], (0, 1), (i, item))
    return histogram.sum(axis=item)
