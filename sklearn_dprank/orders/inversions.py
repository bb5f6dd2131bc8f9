"""How many pairs two rankings put in opposite orders: of many items sorting tells it, without a look at every pair."""

import numpy as np

FEW = 200  # items, whose pairs are faster compared one by one than counted by sorting
_BLOCK = 64  # values that are compared one by one within a sort


def opposite_pairs(first, second):
    """Count the pairs that two rankings put in opposite orders; a tie on either side is none.

    Parameters
    ----------
    first, second : ndarray of shape (n_items,)
        Positions. Of at most `FEW` items any numbers, and NaN is in no order; of more uint8 or uint16.

    Returns
    -------
    int

    Notes
    -----
    Sorted by the first ranking, ties by the second, two items are out of order in the second exactly where the rankings
    disagree. Takes O(n_items log(n_items)^2) time and O(n_items) memory.

    Examples
    --------
    >>> opposite_pairs(np.array([0, 1, 2, 2]), np.array([2, 1, 0, 1]))
    4
    """
    if len(first) <= FEW:
        return int(np.count_nonzero((first[:, None] < first) & (second[:, None] > second)))
    return _inversions(second[np.lexsort((second, first))])


def _inversions(values):
    """Count the pairs of which the former value is larger."""
    rows = 1 << max(0, -(-len(values) // _BLOCK) - 1).bit_length()
    padded = np.full(rows * _BLOCK, np.iinfo(values.dtype).max, dtype=values.dtype)  # the last are in order
    padded[: len(values)] = values
    blocks = padded.reshape(rows, _BLOCK)
    found = int(np.count_nonzero((blocks[:, :, None] < blocks[:, None]) & np.tri(_BLOCK, k=-1, dtype=bool)))
    while rows > 1:
        rows //= 2
        found += _between_halves(padded.reshape(rows, -1))
    return found


def _between_halves(rows):
    """Count the pairs of which the former value is larger and in the left half of a row, the latter in the right."""
    half = rows.shape[1] // 2
    order = np.argsort(rows, axis=1, kind="stable")  # equal values: left before right
    places = np.flatnonzero(order >= half) % (2 * half)  # of the right values, in order
    # One at place p, behind r others of the right, is behind p - r of the left: before half - p + r of them.
    return len(rows) * (half * half + half * (half - 1) // 2) - int(places.sum())
