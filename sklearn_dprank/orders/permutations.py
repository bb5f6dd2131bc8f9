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
