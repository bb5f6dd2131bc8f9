"""The prudent order: exact sampling of orders by the largest margin that they violate, for up to 16 items.

The orders that violate no margin above a threshold are the linear extensions of a relation. A linear extension of a
relation `before` is an order of the items that puts i before j whenever before[i, j]. Its prefixes are down-sets (sets
that contain whatever must come before their items), so with f(empty) = 1,

    f(S) = [S is a down-set] * sum over x in S of f(S - x)

counts the extensions of the relation restricted to S. All thresholds of a weighted relation are swept together: S is
a down-set of {W > v} exactly when v >= max of W[outside, inside].
"""

from functools import lru_cache
from math import comb

import numpy as np
from scipy.sparse import csr_array

from ..checks import check_square
from .choice import Choice, CountedChoice
from .flips import Flips
from .sampler import OrderSampler, checked_margins
from .subsets import over_subsets, subsets_of

MAX_ITEMS = 16  # 2**16 sets times 121 levels is 63 MB; counts below 16! are exact in a double


@lru_cache(maxsize=4)
def _links(n_items):
    """Return for p = 0, 1, ... the 0/1 matrix whose row for S has a one for each S - x, S of p + 1 items."""
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


class _Counts:
    """How many orders are linear extensions of the relations level > 0, 1, ..., n_levels - 1, and draws of them.

    Attributes
    ----------
    of_all : array of float, shape (n_levels,)
        The numbers, exactly.
    """

    def __init__(self, level, n_levels):
        self._n_items = len(level)
        self._subsets = subsets_of(self._n_items)
        opening = _opening_level(level)[self._subsets.masks]
        every = np.arange(n_levels)
        self._table = [np.ones((1, n_levels))]  # f by number of items: a row a set, a column a relation
        for start, link in zip(self._subsets.starts[1:], _links(self._n_items), strict=False):
            counts = link @ self._table[-1]
            counts[every < opening[start : start + len(counts), None]] = 0
            self._table.append(counts)
        self.of_all = self._table[-1][0]
        self._met: dict = {}

    def draw(self, column, bits, first=False):
        """Return an extension of the relation of one column: the last item first, by exact integers.

        With `first`, one that is an extension of no earlier relation. Relations of earlier columns say more, so that
        what is counted is f - g, g the earlier column's f. An order whose prefixes were all down-sets of the earlier
        relation so far must leave it further down; once g is 0 it has left it, and all extensions count.
        """
        mask, order, first = 2**self._n_items - 1, [], first and column > 0
        while mask:
            first = first and self._of(mask, column - 1) > 0
            state = column, first, mask
            if state not in self._met:
                self._met[state] = self._last_items(*state)
            left, choice = self._met[state]
            order.append(left[choice.draw(bits)])
            mask ^= 1 << order[-1]
        return np.array(order)[::-1]

    def _of(self, mask, column):
        size = mask.bit_count()
        return self._table[size][self._subsets.rank[mask] - self._subsets.starts[size], column]

    def _last_items(self, column, first, mask):
        """Return the items of a set, and the choice of the last of them."""
        left = np.flatnonzero(mask >> np.arange(self._n_items) & 1)
        smaller = len(left) - 1
        counts = self._table[smaller][self._subsets.rank[mask ^ (1 << left)] - self._subsets.starts[smaller]]
        ways = counts[:, column] - counts[:, column - 1] if first else counts[:, column]
        return left.tolist(), CountedChoice(ways)


def _checked_relation(before):
    before = np.asarray(before, dtype=bool)
    check_square(before, "before")
    _check_size(len(before))
    return (before & ~np.eye(len(before), dtype=bool)).astype(np.int64)


def _check_size(n_items):
    if not 1 <= n_items <= MAX_ITEMS:
        raise ValueError(
            f"linear extensions are counted for 1 to {MAX_ITEMS} items, got {n_items}; "
            "use an order restricted to a window around an anchor instead."
        )


class LinearExtensions(OrderSampler):
    """The orders that put i before j whenever `before[i, j]`: their number, and draws that are exactly uniform.

    Parameters
    ----------
    before : array of bool, shape (n_items, n_items)
        A relation on at most 16 items; the diagonal is ignored, transitivity is not required.

    Attributes
    ----------
    count : int
        The number of linear extensions, exactly; 0 if the relation has a cycle.

    Raises
    ------
    ValueError
        If `before` is not square or has more than 16 items.

    Notes
    -----
    The sums run in doubles, and every partial sum is an integer of at most 16! < 2**53: nothing is rounded. A draw
    takes integers from the bits, and nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.privacy.bits import SeededBits
    >>> LinearExtensions([[0, 1, 0], [0, 0, 0], [0, 0, 0]]).count
    3
    >>> LinearExtensions([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).count
    0
    >>> bits = SeededBits(np.random.SeedSequence(0))
    >>> LinearExtensions([[0, 0, 1], [0, 0, 0], [0, 1, 0]]).draw(bits).tolist()
    [0, 2, 1]
    """

    def __init__(self, before):
        relation = _checked_relation(before)
        self.n_items = len(relation)
        self._counts = _Counts(relation, 1)
        self.count = int(self._counts.of_all[0])

    def draw(self, bits):
        """Draw one extension, first to last, int, shape (n_items,).

        Raises
        ------
        ValueError
            If there is none.
        """
        if self.count == 0:
            raise ValueError("before has a cycle: no order satisfies it.")
        return self._counts.draw(0, bits)


def level_log_weights(log_counts, values, scale):
    """Return the log probabilities (up to a constant) of the levels in a mixture that amounts to exp(-scale * u).

    If N_k orders have u <= v_k, v_1 < ... < v_K, then drawing k with probability proportional to
    N_k (exp(-scale v_k) - exp(-scale v_{k+1})), v_{K+1} = infinity, and then one of these orders uniformly, gives
    each order a probability proportional to exp(-scale u). Everything stays in logarithms: scale * v may be large.
    """
    drops = np.append(-np.diff(values) * scale, -np.inf)
    with np.errstate(divide="ignore"):
        return log_counts - scale * values + np.log(-np.expm1(drops))


class MinimaxMarginSampler(OrderSampler):
    """The law of orders with probability proportional to exp(-scale * u), u the largest violated margin.

    u(order) is the maximum of margins[i, j] over the pairs that the order puts the other way round, j before i. It is
    signed, never clipped at 0: a negative u means that every pair stands as its majority wants it, by -u at least.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i; at most 16 items; diagonal ignored.
    scale : float
        At least 0. One ballot moves every margin, so u as well, by at most 1 if neighbours add or remove a ballot
        (2 if they replace one): epsilon / 2 (epsilon / 4) is the exponential mechanism.

    Raises
    ------
    ValueError
        If margins are not square and finite or have more than 16 items; if scale is negative or not finite.

    Notes
    -----
    The orders with u <= v are the linear extensions of {W > v}. Their numbers for all thresholds come from a single
    sweep over subsets and are exact integers, and so is the draw of an extension. Only the choice of a threshold is in
    double precision: relative precision, however unlikely it is. No term is pruned and the work is the same for all
    margins with as many distinct thresholds.
    The table takes 8 * K * 2**m bytes for K thresholds, K <= m (m - 1) / 2 + 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.privacy.bits import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> sampler = MinimaxMarginSampler(margins, scale=0.5)
    >>> sampler.sample(2, SeededBits(np.random.SeedSequence(0))).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """

    def __init__(self, margins, scale):
        margins = checked_margins(margins, scale)
        self.n_items = len(margins)
        values, self._extensions = _levels(margins)
        with np.errstate(divide="ignore"):
            log_counts = np.log(self._extensions.of_all)
        self._log_weights = level_log_weights(log_counts, values.astype(float), scale)
        self._level = Choice(self._log_weights)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,)."""
        return self._extensions.draw(self._level.draw(bits), bits)


class MinimaxMarginFlips(OrderSampler):
    """Permute-and-flip by the largest violated margin u: the order with the largest -scale * u + Exp(1).

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        As for `MinimaxMarginSampler`; integers.
    scale : float
        At least 0; the same as for the exponential mechanism.

    Raises
    ------
    ValueError
        As for `MinimaxMarginSampler`.

    Notes
    -----
    How many orders have each u exactly is a difference of two counts of linear extensions. Which u comes is drawn with
    `Flips`, then one of its orders uniformly, by exact integers: nothing is listed, and nothing is drawn in vain.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.privacy.bits import SeededBits
    >>> margins = np.array([[0, 90, 80], [-90, 0, 70], [-80, -70, 0]])
    >>> MinimaxMarginFlips(margins, scale=0.5).sample(2, SeededBits(np.random.SeedSequence(0))).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """

    def __init__(self, margins, scale):
        margins = checked_margins(margins, scale)
        self.n_items = len(margins)
        values, self._extensions = _levels(margins)
        self._level = Flips(values, np.diff(self._extensions.of_all, prepend=0), scale)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,)."""
        return self._extensions.draw(self._level.draw(bits), bits, first=True)


def _levels(margins):
    """Return the values that the largest violated margin can take, ascending, and the orders within each, `_Counts`."""
    n_items = len(margins)
    _check_size(n_items)
    distinct = ~np.eye(n_items, dtype=bool)
    values = np.unique(margins[distinct]) if n_items > 1 else np.zeros(1)
    # Whatever the order, one direction of each pair is violated: no threshold below matters.
    floor = np.max(np.minimum(margins, margins.T)[distinct], initial=values[0])
    values = values[values >= floor]
    return values, _Counts(np.where(distinct, np.searchsorted(values, margins), 0), len(values))
