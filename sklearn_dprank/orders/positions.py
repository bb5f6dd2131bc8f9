"""Orders and positions: two ways to write one ranking."""

import numpy as np


def order_to_positions(order):
    """Return where each item stands: the inverse permutation.

    Parameters
    ----------
    order : array-like of int, shape (n_items,)
        Items, best first.

    Returns
    -------
    ndarray of int64, shape (n_items,)
        0 is best.

    Examples
    --------
    >>> order_to_positions([2, 0, 1])
    array([1, 2, 0])
    """
    order = np.asarray(order)
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order))
    return positions
