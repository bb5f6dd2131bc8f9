"""Subsets of a few items, for dynamic programs over subsets.

Such a program fills a table from the empty set to the full set, in order of size. It then reads an order off the table
by removing one item at a time from the full set. A subset has two representations. Its bit mask identifies it while
items are removed. Its rank, the number of the subset in order of size, is its place in a table. The subsets of one size
are therefore a slice of the table.
"""

from functools import lru_cache

import numpy as np

from .._utils.checks import check_square


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
    >>> from sklearn_dprank.orders.subset_dp import subsets_of
    >>> subsets = subsets_of(3)
    >>> subsets.masks, subsets.starts
    (array([0, 1, 2, 4, 3, 5, 6, 7]), [0, 1, 4, 7, 8])
    >>> ranks, items, rest = subsets.layer(2)
    >>> items.tolist(), rest.tolist()
    ([[0, 1], [0, 2], [1, 2]], [[2, 1], [3, 1], [3, 2]])
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
        """Return the subsets of k items.

        Returns
        -------
        ranks : slice
            Ranks of the subsets.
        items : array of int, shape (count, k)
            Items of each subset, ascending.
        rest : array of int, shape (count, k)
            Rank of each subset without each of its items.
        """
        ranks = slice(self.starts[k], self.starts[k + 1])
        items = np.nonzero(self.has[ranks])[1].reshape(ranks.stop - ranks.start, k)
        return ranks, items, self.rank[self.masks[ranks, None] ^ (1 << items)]


#: Return the `Subsets` of n items; repeated calls return the same object.
subsets_of = lru_cache(maxsize=17)(Subsets)


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
    >>> from sklearn_dprank.orders.subset_dp import over_subsets
    >>> over_subsets(np.array([[1, 10, 100]]))
    array([[  0,   1,  10,  11, 100, 101, 110, 111]])
    """
    n = values.shape[1]
    table = np.zeros((len(values), 2**n, *values.shape[2:]), dtype=values.dtype)
    for item in range(n):  # doubles the filled part: subsets without `item`, then with it
        combine(table[:, : 1 << item], values[:, item, None], out=table[:, 1 << item : 2 << item])
    return table


# Dynamic programming over all subsets of up to 30 items, for optimal orders and exact sampling.
#
# The cost of an order is the sum of ``cost[i, j]`` over the pairs with i before j. Removing the first item x of a set S
# leaves the same problem on S - x. With a(x, T) = sum of cost[x, y] over y in T,
#
#     best(S) = min over x of best(S - x) + a(x, S - x),
#     Z(S)    = sum over x of Z(S - x) exp(-scale a(x, S - x)).
#
# Both are one sweep over the subsets, with (min, +) or (logsumexp, +). A subset is split into a high and a low half.
# The sum a(x, T) is then the sum of two entries of small tables, one for each half. The subsets of each half are
# numbered in order of size. The subsets of one size are therefore blocks of one matrix, and the sweep does not handle
# bit masks.
#
# Up to 12 items have one table of all subsets. The table indices that the recurrence reads depend only on the number of
# items, so they are cached. One problem takes microseconds, and a batch of problems takes less for each.

_SMALL = 10  # the low half has at least so many items, if there are as many: fewer, longer blocks
_BLOCK = 2**16  # candidates computed at a time, so that they stay in cache
_MAX_ITEMS = 30  # a table of 8 GB
FEW = 12  # the cached index tables of all sizes up to this one take 1 MB together


class Sweep:
    """Tables of a(x, T), and one sweep over all subsets.

    Parameters
    ----------
    gain : array, shape (m, m)
        Minus the cost of i before j; zero diagonal.
    """

    def __init__(self, gain):
        m = len(gain)
        self.n_low = max(m - m // 2, min(m, _SMALL))
        self.low, self.high = subsets_of(self.n_low), subsets_of(m - self.n_low)
        # a(x, low part of T) and a(x, high part of T), shapes (m, 2**half)
        self.gain_low = gain[:, : self.n_low] @ self.low.has.T.astype(gain.dtype)
        self.gain_high = gain[:, self.n_low :] @ self.high.has.T.astype(gain.dtype)

    def run(self, combine, scale):
        """Return the table of all subsets, shape (high ranks, low ranks); the empty set has value 0.

        `combine` reduces candidates of shape (rows, choices of the first item, columns) over the choices. `scale`
        multiplies the gains.
        """
        gain_high = np.ascontiguousarray(self.gain_high.T)  # one row per high half
        table = np.zeros((len(self.high.rank), len(self.low.rank)), dtype=self.gain_low.dtype)
        low_layers = [self.low.layer(b) for b in range(self.n_low + 1)]
        for a in range(self.high.has.shape[1] + 1):
            rows, high_items, high_rest = self.high.layer(a)
            for b, (columns, low_items, low_rest) in enumerate(low_layers):
                if a + b == 0:
                    continue
                width = columns.stop - columns.start
                items, rest = low_items.T.ravel(), low_rest.T.ravel()  # choice by choice, columns inside
                own = self.gain_low[items, rest]
                step = max(1, _BLOCK // ((a + b) * width))
                for start in range(rows.start, rows.stop, step):
                    block = slice(start, min(start + step, rows.stop))
                    here = slice(block.start - rows.start, block.stop - rows.start)
                    count = block.stop - block.start
                    best = np.empty((count, a + b, width), dtype=table.dtype)
                    # the first item is in the high half: whole rows move
                    first, left = high_items[here] + self.n_low, high_rest[here]
                    best[:, :a] = self.gain_low[first, columns] + self.gain_high[first, left][:, :, None]
                    # ... or in the low half: columns move
                    best[:, a:] = (gain_high[block].take(items, axis=1) + own).reshape(count, b, width)
                    if scale != 1:
                        best *= scale
                    best[:, :a] += table[left, columns]
                    best[:, a:] += table[block].take(rest, axis=1).reshape(count, b, width)
                    table[block, columns] = combine(best)
        return table

    def peel(self, table, mask, items, scale):
        """Return the candidate value of each first item of the set with a bit mask; `items` lists its items."""
        rest = mask ^ (1 << items)
        high = self.high.rank[rest >> self.n_low]
        low = self.low.rank[rest & (2**self.n_low - 1)]
        return table[high, low] + scale * (self.gain_low[items, low] + self.gain_high[items, high])


def reduced_gain(cost):
    """Return (minus the cost above the cheaper order of each pair, the sum of the cheaper costs)."""
    cost = np.array(cost)
    check_square(cost, "cost")
    if len(cost) > _MAX_ITEMS:
        raise ValueError(f"a table of all subsets takes at most {_MAX_ITEMS} items, got {len(cost)}.")
    cost = cost.astype(np.float64 if cost.dtype.kind == "f" else np.int64)
    np.fill_diagonal(cost, 0)
    if not np.abs(cost.astype(np.float64)).sum() < 2.0**62:
        raise ValueError("cost must be finite, and its entries must sum to less than 2**62 in absolute value.")
    least = np.minimum(cost, cost.T)
    return least - cost, np.triu(least).sum().item()


def best_order(cost):
    """Return an order of least total cost, by dynamic programming over all subsets of items.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        ``cost[i, j]`` is the cost of placing i before j; the diagonal is ignored. For the Kemeny order of pairwise
        counts C (voters who prefer i to j), pass ``C.T``. Integers are summed exactly.

    Returns
    -------
    order : array of int, shape (m,)
        Items, best first: the first optimum in lexicographic order (for floats, up to rounding).
    value : int or float
        Its total cost.

    Raises
    ------
    ValueError
        If `cost` is not a square matrix of integers or finite floats, could overflow, or has more than 30 rows.

    Notes
    -----
    The table takes 8 * 2**m bytes and m * 2**(m - 1) additions: under a second up to m = 22.

    References
    ----------
    Held, M., & Karp, R. M. (1962). A dynamic programming approach to sequencing problems. SIAM Journal 10.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.subset_dp import best_order
    >>> counts = np.array([[0, 6, 4], [3, 0, 8], [5, 1, 0]])  # 9 voters: 0 beats 1 beats 2 beats 0
    >>> best_order(counts.T)
    (array([0, 1, 2]), 9)
    """
    gain, constant = reduced_gain(cost)
    m = len(gain)
    if m <= FEW:
        order, total = best_of_few(gain)
        return order, constant - total
    sweep = Sweep(gain)
    table = sweep.run(lambda values: values.max(axis=1), 1)
    order, left = np.empty(m, dtype=np.int64), np.arange(m)
    for place in range(m):
        best = sweep.peel(table, (1 << left).sum(), left, 1).argmax()
        order[place], left = left[best], np.delete(left, best)
    return order, constant - table[-1, -1].item()


@lru_cache(maxsize=FEW + 1)
def _walk(m):
    """Return the table indices of the recurrence for m items.

    Returns
    -------
    rank : list of int, length 2**m
        Rank of each bit mask.
    layers : list of (slice, slice, array of int of shape (k, count)), length m
        For the subsets of k = 1..m items: their ranks, the place of their candidates in `gains`, and the ranks without
        the first item, one row per choice of it.
    gains : array of int, shape (m * 2**(m - 1),)
        For each candidate, item x before the set T: the place of a(x, T) in a flat table of shape (m, 2**m).
    """
    subsets = subsets_of(m)
    layers, gains, read = [], [np.empty(0, dtype=np.intp)], 0
    for k in range(1, m + 1):
        ranks, items, rest = subsets.layer(k)
        rest = np.ascontiguousarray(rest.T)  # ascending items down each column
        layers.append((ranks, slice(read, read + rest.size), rest))
        gains.append((items.T * 2**m + subsets.masks[rest]).ravel())
        read += rest.size
    places = np.concatenate(gains)
    for array in (places, *(rest for _, _, rest in layers)):
        array.setflags(write=False)  # shared by all calls
    return subsets.rank.tolist(), layers, places


def best_of_few(gain):
    """Return the order of largest total gain, and that gain.

    Parameters
    ----------
    gain : array of int or float, shape (m, m)
        ``gain[i, j]`` is the gain of placing i before j; zero diagonal, m at most 12. Not checked.

    Returns
    -------
    order : array of int, shape (m,)
        The first optimum in lexicographic order (for floats, up to rounding).
    total : int or float
        Its gain; integers are summed exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.subset_dp import best_of_few
    >>> best_of_few(np.array([[0, 0, -2], [-5, 0, 0], [0, -1, 0]]))  # 2 before 0, 0 before 1, 1 before 2
    (array([2, 0, 1]), -1)
    """
    m = len(gain)
    rank, layers, places = _walk(m)
    ahead = over_subsets(gain)  # a(x, T): x ahead of all of T
    own = ahead.ravel().take(places)
    best = np.zeros(2**m, dtype=gain.dtype)
    for ranks, read, rest in layers:
        candidates = best.take(rest)
        candidates += own[read].reshape(rest.shape)
        np.maximum.reduce(candidates, axis=0, out=best[ranks])
    value, order, left, mask = best.tolist(), [], list(range(m)), 2**m - 1
    while left:
        totals = [value[rank[mask ^ 1 << x]] + ahead.item(x, mask ^ 1 << x) for x in left]
        item = left.pop(totals.index(max(totals)))
        order.append(item)
        mask ^= 1 << item
    return np.array(order, dtype=np.int64), value[-1]
