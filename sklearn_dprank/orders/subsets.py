"""Subsets of a few items, for dynamic programs over subsets.

Such a program fills a table from the empty set to the full set, in order of size. It then reads an order off the table
by removing one item at a time from the full set. A subset has two representations. Its bit mask identifies it while
items are removed. Its rank, the number of the subset in order of size, is its place in a table. The subsets of one size
are therefore a slice of the table.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Layer(NamedTuple):
    """Subsets of k items.

    Attributes
    ----------
    ranks : slice
        Ranks of the subsets.
    items : array of int, shape (count, k)
        Items of each subset, ascending.
    rest : array of int, shape (count, k)
        Rank of each subset without each of its items.
    """

    ranks: slice
    items: np.ndarray
    rest: np.ndarray


class Subsets:
    """Subsets of n items, ordered by size and then by bit mask. Use `subsets_of`, which caches them.

    Attributes
    ----------
    masks : array of int, shape (2**n,)
        Bit mask of each rank; rank 0 is the empty set.
    rank : array of int, shape (2**n,)
        Rank of each bit mask.
    has : array of bool, shape (2**n, n)
        Whether each rank contains each item.
    starts : list of int, length n + 2
        The subsets of k items have ranks starts[k], ..., starts[k + 1] - 1.

    Examples
    --------
    >>> from sklearn_dprank.orders.subsets import subsets_of
    >>> subsets = subsets_of(3)
    >>> subsets.masks, subsets.starts
    (array([0, 1, 2, 4, 3, 5, 6, 7]), [0, 1, 4, 7, 8])
    >>> subsets.layer(2).rest  # of {0, 1}, {0, 2} and {1, 2}
    array([[2, 1],
           [3, 1],
           [3, 2]])
    """

    def __init__(self, n):
        masks = np.arange(2**n)
        has = (masks[:, None] >> np.arange(n) & 1).astype(bool)
        sizes = has.sum(axis=1)
        self.masks = np.argsort(sizes, kind="stable")
        self.rank = np.empty(2**n, dtype=np.int64)
        self.rank[self.masks] = masks
        self.has = has[self.masks]
        self.starts = [0, *np.bincount(sizes).cumsum().tolist()]
        for array in (self.masks, self.rank, self.has):
            array.setflags(write=False)  # shared by all callers

    def layer(self, k):
        """Return the subsets of k items, a `Layer`."""
        ranks = slice(self.starts[k], self.starts[k + 1])
        items = np.nonzero(self.has[ranks])[1].reshape(ranks.stop - ranks.start, k)
        return Layer(ranks, items, self.rank[self.masks[ranks, None] ^ (1 << items)])


@lru_cache(maxsize=17)
def subsets_of(n):
    """Return the `Subsets` of n items; repeated calls return the same object."""
    return Subsets(n)


def over_subsets(values, combine=np.add):
    """Combine the values of the members of each subset.

    Parameters
    ----------
    values : array, shape (rows, n, ...)
        Value of each item.
    combine : ufunc, default=numpy.add
        Binary operation that combines two values. It starts from 0, the value of the empty set.

    Returns
    -------
    array, shape (rows, 2**n, ...)
        Combined values, indexed by bit mask; 0 for the empty set.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.subsets import over_subsets
    >>> over_subsets(np.array([[1, 10, 100]]))
    array([[  0,   1,  10,  11, 100, 101, 110, 111]])
    """
    n = values.shape[1]
    table = np.zeros((len(values), 2**n, *values.shape[2:]), dtype=values.dtype)
    for item in range(n):  # doubles the filled part: subsets without `item`, then with it
        combine(table[:, : 1 << item], values[:, item, None], out=table[:, 1 << item : 2 << item])
    return table


def taken_side_by_side(rows, n, pick):
    """Return the orders in which items are removed from the full set, for many problems at once.

    Parameters
    ----------
    rows, n : int
        Number of problems, and number of items in each.
    pick : callable
        ``pick(masks, left)`` returns the column of `left` that holds the next item to remove, int, shape (rows,).
        `masks` contains the bit mask of each remaining set, and each row of `left` its items, ascending.

    Returns
    -------
    array of int, shape (rows, n)
        Items of each problem, in the order of removal.
    """
    orders = np.empty((rows, n), dtype=np.int64)
    every = np.arange(rows)
    masks, left = np.full(rows, 2**n - 1), np.tile(np.arange(n), (rows, 1))
    for place in range(n):
        picked = pick(masks, left)
        orders[:, place] = left[every, picked]
        masks = masks ^ (1 << orders[:, place])
        stays = np.ones(left.shape, dtype=bool)
        stays[every, picked] = False
        left = left[stays].reshape(rows, n - place - 1)
    return orders


class OneByOne:
    """Sampler that draws an order item by item, with a cache of the choices for each remaining set.

    Parameters
    ----------
    n : int
        Number of items.
    choice_of : callable
        ``choice_of(mask, left)`` returns the choice of the next item from a set with items `left`. The choice's
        ``draw(bits)`` returns an index into `left`.
    """

    def __init__(self, n, choice_of):
        self._n, self._choice_of = n, choice_of
        self._met: dict = {}

    def draw(self, bits):
        """Draw the items, in the order in which they are chosen, int, shape (n,)."""
        mask, order = 2**self._n - 1, []
        while mask:
            if mask not in self._met:
                left = np.flatnonzero(mask >> np.arange(self._n) & 1)
                self._met[mask] = left.tolist(), self._choice_of(mask, left)
            left, choice = self._met[mask]
            order.append(left[choice.draw(bits)])
            mask ^= 1 << order[-1]
        return np.array(order)
