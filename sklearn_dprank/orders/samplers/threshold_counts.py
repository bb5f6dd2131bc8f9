"""Counts and uniform samples of orders that violate no margin above a threshold, for up to 16 items.

A linear extension of a relation `before` is an order of the items that puts i before j whenever before[i, j]. The
orders that violate no margin above a threshold are the linear extensions of a relation. The prefixes of a linear
extension are down-sets: sets that contain every item that must come before one of their items. With f(empty) = 1,

    f(S) = [S is a down-set] * sum over x in S of f(S - x)

counts the extensions of the relation restricted to S. One sweep covers all thresholds of a weighted relation W: S is a
down-set of {W > v} exactly when v >= max of W[outside, inside].
"""

from functools import lru_cache
from math import comb

import numpy as np

from ..subsets import over_subsets, subsets_of
from .choice import CountedChoice


@lru_cache(maxsize=4)
def _links(n_items):
    """Return, for p = 0, 1, ..., the 0/1 matrix from the sets S of p + 1 items (rows) to the sets S - x (columns)."""
    from scipy.sparse import csr_array  # here and below, so that devices load no SciPy

    subsets, links = subsets_of(n_items), []
    for p in range(n_items):
        _, items, rest = subsets.layer(p + 1)
        smaller = rest - subsets.starts[p]
        starts = np.arange(len(items) + 1) * (p + 1)
        shape = (len(items), comb(n_items, p))
        links.append(csr_array((np.ones(smaller.size), smaller.ravel(), starts), shape=shape))
    return links


def _opening_level(level):
    """Return for each mask S the largest level[i, j] with i outside and j inside S (0 if none)."""
    worst = over_subsets(level, np.maximum)  # over the members of S, for each i
    for item, row in enumerate(worst):
        row.reshape(-1, 2, 1 << item)[:, 1] = 0  # i is inside
    return worst.max(axis=0)


class Counts:
    """Numbers of linear extensions of the relations level > 0, 1, ..., n_levels - 1, and uniform draws of extensions.

    Parameters
    ----------
    level : array of int, shape (n_items, n_items)
        Zero diagonal, at most 16 items. Not checked.
    n_levels : int
        Number of relations.
    k : int or None, default=None
        Number of items to order, ahead of all others; None means all items.

    Attributes
    ----------
    of_all : array of float, shape (n_levels,)
        Exact number of extensions of each relation.
    """

    def __init__(self, level, n_levels, k=None):
        self._n_items = len(level)
        self._k = self._n_items if k is None else k
        self._subsets = subsets_of(self._n_items)
        opening = _opening_level(level)[self._subsets.masks]
        every = np.arange(n_levels)
        self._table = [np.ones((1, n_levels))]  # f by number of items: one row per set, one column per relation
        for start, link in zip(self._subsets.starts[1:], _links(self._n_items)[: self._k], strict=False):
            counts = link @ self._table[-1]
            counts[every < opening[start : start + len(counts), None]] = 0
            self._table.append(counts)
        self.of_all = self._table[-1].sum(axis=0)
        self._met: dict = {}

    def draw(self, column, bits, first=False):
        """Draw an extension of the relation of one column, uniformly and with exact integers; return it first to last.

        With `first`, only orders that are not extensions of an earlier relation are drawn. Earlier relations contain
        the later ones. The number of such orders is therefore f - g, where g is the f of the previous column. Items are
        drawn from last to first. While g of the remaining set is above 0, the rest of the order must still violate the
        earlier relation. Once g is 0, the order violates it, and all extensions count.
        """
        order, first = [], first and column > 0
        mask = self._whole(column, first, bits)
        while mask:
            first = first and self._of(mask, column - 1) > 0
            state = column, first, mask
            if state not in self._met:
                self._met[state] = self._last_items(*state)
            left, choice = self._met[state]
            order.append(left[choice.draw(bits)])
            mask ^= 1 << order[-1]
        return np.array(order)[::-1]

    def _whole(self, column, first, bits):
        """Return the mask of the items to order; if there are fewer than all, it is drawn."""
        if self._k == self._n_items:
            return 2**self._n_items - 1
        state = column, first
        if state not in self._met:
            self._met[state] = CountedChoice(_ways(self._table[-1], *state))
        return int(self._subsets.masks[self._subsets.starts[self._k] + self._met[state].draw(bits)])

    def _of(self, mask, column):
        size = mask.bit_count()
        return self._table[size][self._subsets.rank[mask] - self._subsets.starts[size], column]

    def _last_items(self, column, first, mask):
        """Return the items of a set, and the choice of its last item."""
        left = np.flatnonzero(mask >> np.arange(self._n_items) & 1)
        smaller = len(left) - 1
        counts = self._table[smaller][self._subsets.rank[mask ^ (1 << left)] - self._subsets.starts[smaller]]
        return left.tolist(), CountedChoice(_ways(counts, column, first))


def _ways(counts, column, first):
    return counts[:, column] - counts[:, column - 1] if first else counts[:, column]
