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


def as_positions(positions, n_items, name="positions"):
    """Return positions as an array, one for each item.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        Smaller is better; equal is tied.
    n_items : int
        Number of items.
    name : str, default="positions"
        What an error calls them.

    Raises
    ------
    ValueError
        If they are no numbers, too many or too few, or NaN.
    """
    try:
        array = np.asarray(positions)
        if array.dtype.kind not in "iu":  # integers stay: doubles tie them beyond 2^53
            array = array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers (ranks_, not consensus_): where each item stands.") from None
    if array.shape != (n_items,):
        raise ValueError(f"{name} must hold one position for each of the {n_items} items, got shape {array.shape}.")
    if np.isnan(array).any():
        raise ValueError(f"{name} must place every item; NaN, no opinion, is for ballots only.")
    return array


def disagreements(preferred, positions):
    """Sum what a ranking contradicts, and half of what it leaves open.

    Parameters
    ----------
    preferred : array of int, shape (n_items, n_items)
        How much speaks for each item before each other; zero diagonal.
    positions : array, shape (n_items,)
        Smaller is better; equal is tied.

    Returns
    -------
    int or float
        An int of a strict ranking.

    Examples
    --------
    >>> import numpy as np
    >>> for_the_first = np.array([[0, 3], [1, 0]])
    >>> [float(disagreements(for_the_first, np.array(places))) for places in ([0, 1], [1, 0], [0, 0])]
    [1.0, 3.0, 2.0]
    """
    behind = positions[:, None] > positions
    total = np.vdot(preferred, behind)
    if 2 * np.count_nonzero(behind) < len(positions) * (len(positions) - 1):  # strict rankings keep whole numbers
        total = total + np.vdot(preferred, positions[:, None] == positions) / 2
    return total
