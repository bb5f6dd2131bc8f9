"""Samplers for the top k items, weighted by the largest margin that they violate.

Putting items s_1, ..., s_k first, in this order, violates the margins W[x, s_a] of every x that is not among the first
a. Their maximum is the largest margin by which an unplaced item beats the winner of a place. The first places can be
filled in m! / (m - k)! ways, which are listed while m^k is at most a million. For at most 16 items and k > 2, they are
counted instead, in any number. A way violates no margin above v exactly if each set of its first items is a down-set of
{W > v}, like a prefix of a linear extension (`threshold_counts`). One place is filled directly, in O(m^2).
"""

import math

import numpy as np

from .base import OrderSampler, checked_margins
from .choice import Choice
from .linear_extensions import MAX_ITEMS
from .permute_and_flip import Flips
from .threshold_counts import Counts

MOST_WAYS = 10**6  # 0.1 s and 60 MB


def n_ways(n_items, k):
    """Return the number of ways to fill the first k places with m items: m! / (m - k)!.

    Examples
    --------
    >>> n_ways(45, 3)
    85140
    """
    return math.perm(n_items, k)


def largest_batch(n_items):
    """Return the largest number of first places that can be filled at once, at least 1 and at most ``n_items - 1``.

    Examples
    --------
    >>> [largest_batch(m) for m in (2, 16, 31, 100, 1000, 1001)]
    [1, 15, 4, 3, 2, 1]
    """
    if n_items <= MAX_ITEMS:
        return n_items - 1
    return max(k for k in range(1, 20) if k == 1 or n_items**k <= MOST_WAYS)


def costs_of_ways(margins, k):
    """Return the largest margin that each way to fill the first k places violates.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i; the diagonal is ignored.
    k : int
        From 1 to n_items - 1.

    Returns
    -------
    costs : array, shape (n_items**k,)
        max of W[x, s_a] over places a and items x that are not among the first a, for s_1, ..., s_k the digits of the
        index in base n_items. It is signed and never clipped at 0. Ways that contain an item twice have the value
        `never`.
    never : int or float
        Larger than any margin.

    Examples
    --------
    >>> import numpy as np
    >>> costs, never = costs_of_ways(np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]]), 2)
    >>> costs.reshape(3, 3).tolist(), int(never)
    ([[91, -70, 70], [90, 91, 90], [80, 90, 91]], 91)
    """
    n_items = len(margins)
    items, never = np.arange(n_items), margins.max() + 1
    rivals = margins.copy()
    np.fill_diagonal(rivals, rivals.min() - 1)  # an item is not its own rival
    order = np.argsort(-rivals, axis=0, kind="stable")[:k]  # each column lists the strongest rivals of an item
    strength = np.take_along_axis(rivals, order, axis=0)
    costs = np.full(1, rivals.min())  # one row per way so far
    placed: list[np.ndarray] = []  # items of each way, place by place
    for place in range(k):
        worst = np.broadcast_to(strength[place], (len(costs), n_items))
        for rival, margin in zip(order[:place][::-1], strength[:place][::-1], strict=True):
            worst = np.where(_among(placed, rival), worst, margin)  # the strongest unplaced rival overwrites the others
        costs = np.maximum(costs[:, None], worst)
        if placed:
            costs[_among(placed, items)] = never
        placed = [*(np.repeat(item, n_items) for item in placed), np.tile(items, len(costs))]
        costs = costs.ravel()
    return costs, never


def _among(placed, items):
    """Return which of the items each row has placed, bool, shape (n_rows, n_items)."""
    return np.logical_or.reduce([item[:, None] == items for item in placed])


class Listed:
    """List of all ways to fill the first k places, grouped by the largest margin that they violate.

    Attributes
    ----------
    values : array, shape (n_values,)
        Largest violated margins, ascending.
    counts : array of int, or of float without fractions, shape (n_values,)
        Number of ways with each value.
    """

    def __init__(self, margins, k):
        self._shape = (len(margins),) * k
        self._costs, never = costs_of_ways(margins, k)
        values, counts = np.unique(self._costs, return_counts=True)
        self.values, self.counts = values[values < never], counts[values < never]

    def draw(self, number, bits):
        """Draw one of the ways with the value at index `number`, uniformly."""
        same = np.flatnonzero(self._costs == self.values[number])
        return np.array(np.unravel_index(same[bits.integer(len(same))], self._shape))


class Counted:
    """Counts of the ways of `Listed` for at most 16 items, without a list; some values may have no ways."""

    def __init__(self, margins, k):
        distinct = ~np.eye(len(margins), dtype=bool)
        # The winner of the first place violates at least this margin in every way.
        floor = np.where(distinct, margins, margins.min()).max(axis=0).min()
        self.values = np.unique(margins[distinct & (margins >= floor)])
        level = np.where(distinct, np.searchsorted(self.values, margins), 0)
        self._ways = Counts(level, len(self.values), k)
        self.counts = np.diff(self._ways.of_all, prepend=0)

    def draw(self, number, bits):
        """Draw one of the ways with the value at index `number`, uniformly and with exact integers."""
        return self._ways.draw(number, bits, first=True)


class TopSampler(OrderSampler):
    """Sampler of the top k items in order, with probability proportional to exp(-scale u).

    u is the largest margin that the items violate.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        Margins of all items.
    k : int
        Number of items to draw.
    scale : float
        At least 0. One ballot changes u by at most 1 if neighbours add or remove a ballot (2 if they replace one).
    placed : sequence of int, default=()
        Items that are already placed. They are left out.

    Raises
    ------
    ValueError
        If `margins` is not square and finite, or `scale` is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> TopSampler(margins, 1, 0.5).draw(SeededBits(0)), TopSampler(margins, 1, 0.5, placed=[0]).draw(SeededBits(0))
    (array([0]), array([1]))
    """

    def __init__(self, margins, k, scale, placed=()):
        margins = checked_margins(margins, scale)
        left = np.delete(np.arange(len(margins)), list(placed))
        self.n_items = k
        self._left = left
        self._ways = (Counted if k > 2 and len(left) <= MAX_ITEMS else Listed)(margins[np.ix_(left, left)], k)
        self._level = self._law(self._ways.values, self._ways.counts, scale)

    def _law(self, values, counts, scale):
        with np.errstate(divide="ignore"):
            return Choice(np.log(counts) - scale * (values - values[0]))

    def draw(self, bits):
        """Draw the best k items in order, int, shape (k,)."""
        return self._left[self._ways.draw(self._level.draw(bits), bits)]


class NextSampler(OrderSampler):
    """Sampler of the next item alone, with the distribution of `TopSampler` for k = 1.

    The time does not depend on the margins.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> NextSampler(margins, 0.5, placed=[0]).draw(SeededBits(0))
    array([1])
    """

    n_items = 1

    def __init__(self, margins, scale, placed=()):
        margins = checked_margins(margins, scale)
        self._left = np.delete(np.arange(len(margins)), list(placed))
        rivals = margins[np.ix_(self._left, self._left)]
        np.fill_diagonal(rivals, rivals.min() - 1)  # an item is not its own rival
        violated = rivals.max(axis=0)
        self._item = Choice(-scale * (violated - violated.min()))

    def draw(self, bits):
        """Draw the next item, int, shape (1,)."""
        return self._left[[self._item.draw(bits)]]


class TopFlips(TopSampler):
    """Permute-and-flip variant of `TopSampler`: the top k items with the largest -scale u + Exp(1)."""

    def _law(self, values, counts, scale):
        return Flips(values, counts, scale)
