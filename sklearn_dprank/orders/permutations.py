"""Permutations as orders, positions and numbers, and pairs that two of them order differently."""

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
