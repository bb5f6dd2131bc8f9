"""All subsets of a few items, as the dynamic programs over subsets walk them.

Such a program fills a table from the empty set up, one size after the other; an order is then read off it from the
whole set down, one item after the other. A subset is a bit mask where it is one of many to step through, and a rank,
its number in order of size, where it is a place in a table: the subsets of one size are a slice of it.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Layer(NamedTuple):
    """The subsets of k items.

    Attributes
    ----------
    ranks : slice
        Their ranks.
    items : array of int, shape (count, k)
        The items of each, ascending.
    rest : array of int, shape (count, k)
        The rank of what is left of each without each of its items.
    """

    ranks: slice
    items: np.ndarray
    rest: np.ndarray


class Subsets:
    """All subsets of n items in order of size, those of one size in order of their masks; `subsets_of` keeps them.

    Attributes
    ----------
    masks : array of int, shape (2**n,)
        The bit mask of each rank; rank 0 is the empty set.
    rank : array of int, shape (2**n,)
        The rank of each bit mask.
    has : array of bool, shape (2**n, n)
        The items of each rank.
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
            array.setflags(write=False)  # shared by all that walk them

    def layer(self, k):
        """Return the subsets of k items, a `Layer`."""
        ranks = slice(self.starts[k], self.starts[k + 1])
        items = np.nonzero(self.has[ranks])[1].reshape(ranks.stop - ranks.start, k)
        return Layer(ranks, items, self.rank[self.masks[ranks, None] ^ (1 << items)])


@lru_cache(maxsize=17)
def subsets_of(n):
    """Return the `Subsets` of n items, the same for every call."""
    return Subsets(n)


def over_subsets(values, combine=np.add):
    """Return what the values of the members of each subset come to together.

    Parameters
    ----------
    values : array, shape (rows, n, ...)
        The value of each item.
    combine : ufunc, default=numpy.add
        What puts two values together; 0 changes nothing, or stands for no members.

    Returns
    -------
    array, shape (rows, 2**n, ...)
        By bit mask; 0 for the empty set.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.subsets import over_subsets
    >>> over_subsets(np.array([[1, 10, 100]]))
    array([[  0,   1,  10,  11, 100, 101, 110, 111]])
    """
    n = values.shape[1]
    table = np.zeros((len(values), 2**n, *values.shape[2:]), dtype=values.dtype)
    for item in range(n):  # double: one more possible member
        combine(table[:, : 1 << item], values[:, item, None], out=table[:, 1 << item : 2 << item])
    return table


def taken_side_by_side(rows, n, pick):
    """Return the order in which items are taken from the set of all, for many sets at once.

    Parameters
    ----------
    rows, n : int
        How many sets, and of how many items.
    pick : callable
        ``pick(masks, left)``: which of the items ``left[row]`` to take next, int, shape (rows,).

    Returns
    -------
    array of int, shape (rows, n)
        Items, the first taken first.
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
    """Draws an order by taking items from the set of all; a set met before costs next to nothing.

    Parameters
    ----------
    n : int
        Number of items.
    choice_of : callable
        ``choice_of(mask, left)``: the choice of the next item of a set, whose items are `left`; ``draw(bits)`` of it
        returns an index of `left`.
    """

    def __init__(self, n, choice_of):
        self._n, self._choice_of = n, choice_of
        self._met: dict = {}

    def draw(self, bits):
        """Return the items, the first taken first, int, shape (n,)."""
        mask, order = 2**self._n - 1, []
        while mask:
            if mask not in self._met:
                left = np.flatnonzero(mask >> np.arange(self._n) & 1)
                self._met[mask] = left.tolist(), self._choice_of(mask, left)
            left, choice = self._met[mask]
            order.append(left[choice.draw(bits)])
            mask ^= 1 << order[-1]
        return np.array(order)
