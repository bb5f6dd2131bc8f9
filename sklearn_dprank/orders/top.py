"""The best few items in order, drawn by the largest margin that they overrule: all ways to fill the first places.

Putting items s_1, ..., s_k first, in this order, overrules the margins W[x, s_a] of every x that is not among the first
a: by how much does the worst loser of each place beat its winner? There are m! / (m - k)! ways. Up to 100,000 are
listed. Of 16 items at most any number is counted: a way overrules nothing above v exactly if each set of its first
items is a down-set of {W > v}, as the beginning of a linear extension is.
"""

import math

import numpy as np

from .choice import Choice
from .flips import Flips
from .levels import Counts
from .linear_extensions import MAX_ITEMS
from .sampler import OrderSampler, checked_margins

MOST_WAYS = 100_000  # 30 ms and 10 MB


def n_ways(n_items, k):
    """Return in how many ways k of the items can take the first places: m! / (m - k)!.

    Examples
    --------
    >>> n_ways(45, 3)
    85140
    """
    return math.perm(n_items, k)


def largest_batch(n_items):
    """Return how many first places can be filled at once, at least 1 and at most ``n_items - 1``.

    Examples
    --------
    >>> [largest_batch(m) for m in (2, 16, 45, 100, 1000)]
    [1, 15, 3, 2, 1]
    """
    if n_items <= MAX_ITEMS:
        return n_items - 1
    return max(k for k in range(1, n_items) if k == 1 or n_ways(n_items, k) <= MOST_WAYS)


def ways_and_costs(margins, k):
    """List all ways to fill the first k places, and the largest margin that each overrules.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i; the diagonal is ignored.
    k : int
        From 1 to n_items - 1.

    Returns
    -------
    ways : array of int, shape (n_ways, k)
        Items, best first.
    costs : array, shape (n_ways,)
        max of W[x, s_a] over places a and items x that are not among the first a. It is signed, never clipped at 0.

    Examples
    --------
    >>> import numpy as np
    >>> ways, costs = ways_and_costs(np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]]), 1)
    >>> ways[:, 0].tolist(), costs.tolist()
    ([0, 1, 2], [-80, 90, 80])
    """
    n_items = len(margins)
    rivals = margins.copy()
    np.fill_diagonal(rivals, rivals.min(initial=0) - 1)  # nobody is a rival of itself
    strongest = np.argsort(-rivals, axis=0, kind="stable")[:k]  # of each item, a column
    ways, costs = np.empty((1, 0), dtype=np.int64), np.full(1, rivals.min(initial=0))
    for place in range(k):
        rival = np.full((len(ways), n_items), -1)
        for each in strongest[place::-1]:  # the strongest that is not placed yet comes last
            rival = np.where((ways[:, :, None] == each).any(axis=1), rival, each)
        worst = np.maximum(costs[:, None], rivals[rival, np.arange(n_items)])
        row, item = np.nonzero((ways[:, :, None] != np.arange(n_items)).all(axis=1))
        ways, costs = np.column_stack([ways[row], item]), worst[row, item]
    return ways, costs


class Listed:
    """All ways to fill the first k places, by what they overrule: from a list.

    Attributes
    ----------
    values : array, shape (n_values,)
        Ascending: the largest margins that ways overrule.
    counts : array of int, or of float without fractions, shape (n_values,)
        How many ways overrule each.
    """

    def __init__(self, margins, k):
        self._ways, costs = ways_and_costs(margins, k)
        self.values, self._number, self.counts = np.unique(costs, return_inverse=True, return_counts=True)

    def draw(self, number, bits):
        """Draw one of the ways of a value, given by its index."""
        same = np.flatnonzero(self._number == number)
        return self._ways[same[bits.integer(len(same))]]


class Counted:
    """The same of at most 16 items, without a list; some values may have no ways."""

    def __init__(self, margins, k):
        distinct = ~np.eye(len(margins), dtype=bool)
        # No way overrules less than the best winner of the first place does.
        floor = np.where(distinct, margins, margins.min()).max(axis=0).min()
        self.values = np.unique(margins[distinct & (margins >= floor)])
        level = np.where(distinct, np.searchsorted(self.values, margins), 0)
        self._ways = Counts(level, len(self.values), k)
        self.counts = np.diff(self._ways.of_all, prepend=0)

    def draw(self, number, bits):
        """Draw one of the ways of a value, given by its index; by exact integers."""
        return self._ways.draw(number, bits, first=True)


class TopSampler(OrderSampler):
    """The best k items by the largest margin u that they overrule, each with probability proportional to exp(-scale u).

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        Of all items.
    k : int
        How many.
    scale : float
        At least 0. One ballot moves u by at most 1 if neighbours add or remove a ballot (2 if they replace one).
    placed : sequence of int, default=()
        Items that have been placed before, and do not matter any more.

    Raises
    ------
    ValueError
        If margins are not square and finite, or scale is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.privacy.bits import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> TopSampler(margins, 1, 0.5).draw(SeededBits(0)), TopSampler(margins, 1, 0.5, placed=[0]).draw(SeededBits(0))
    (array([0]), array([1]))
    """

    def __init__(self, margins, k, scale, placed=()):
        margins = checked_margins(margins, scale)
        left = np.delete(np.arange(len(margins)), list(placed))
        self.n_items = k
        self._ways = (Listed if n_ways(len(left), k) <= MOST_WAYS else Counted)(margins[np.ix_(left, left)], k)
        self._left = left
        self._level = self._law(self._ways.values, self._ways.counts, scale)

    def _law(self, values, counts, scale):
        with np.errstate(divide="ignore"):
            return Choice(np.log(counts) - scale * (values - values[0]))

    def draw(self, bits):
        """Draw the best k items in order, int, shape (k,)."""
        return self._left[self._ways.draw(self._level.draw(bits), bits)]


class TopFlips(TopSampler):
    """Permute-and-flip: the best k items are those with the largest -scale u + Exp(1); else as `TopSampler`."""

    def _law(self, values, counts, scale):
        return Flips(values, counts, scale)
