"""Orders and positions: two ways to write one ranking."""

import numpy as np


def order_to_positions(order, n_items=None):
    """Return where each item stands: the inverse permutation.

    Parameters
    ----------
    order : array-like of int, shape (k,)
        Items, best first.
    n_items : int or None, default=None
        How many items there are; None is k. Those that are not in the order are tied behind all that are.

    Returns
    -------
    ndarray of int64, shape (n_items,)
        0 is best.

    Examples
    --------
    >>> order_to_positions([2, 0, 1])
    array([1, 2, 0])
    >>> order_to_positions([2, 0], n_items=4)
    array([1, 2, 0, 2])
    """
    order = np.asarray(order)
    positions = np.full(len(order) if n_items is None else n_items, len(order), dtype=np.int64)
    positions[order] = np.arange(len(order))
    return positions
