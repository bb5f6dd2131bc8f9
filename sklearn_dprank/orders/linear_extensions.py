"""Linear extensions: counting, uniform sampling, and the orders of small maximum violated margin.

A linear extension of a relation `before` is an order of the items that puts i before j whenever before[i, j]. Its
prefixes are down-sets (sets that contain whatever must come before their items), so with f(empty) = 1,

    f(S) = [S is a down-set] * sum over x in S of f(S - x)

counts the extensions of the relation restricted to S. All thresholds of a weighted relation are swept together: S is
a down-set of {W > v} exactly when v >= max of W[outside, inside].
"""

from bisect import bisect_right
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from .choice import Choice

MAX_ITEMS = 16  # 2**16 sets times 121 levels is 63 MB; counts below 16! are exact in a double


@lru_cache(maxsize=4)
def _lattice(n_items):
    """Return, by number of items, the masks of the subsets; the rank of each mask; and the links to smaller sets.

    links[p] is the 0/1 matrix whose row for S has a one for each S - x, S of p + 1 items.
    """
    masks = np.arange(2**n_items)
    sizes = (masks[:, None] >> np.arange(n_items) & 1).sum(axis=1)
    layers = [np.flatnonzero(sizes == p) for p in range(n_items + 1)]
    rank = np.empty(2**n_items, dtype=np.int64)
    for layer in layers:
        rank[layer] = np.arange(len(layer))
    links = []
    for p in range(n_items):
        upper = layers[p + 1]
        bits = np.nonzero(upper[:, None] >> np.arange(n_items) & 1)[1].reshape(-1, p + 1)
        smaller = rank[upper[:, None] ^ (1 << bits)]
        starts = np.arange(len(upper) + 1) * (p + 1)
        links.append(csr_array((np.ones(smaller.size), smaller.ravel(), starts), shape=(len(upper), len(layers[p]))))
    return layers, rank, links


def _opening_level(level):
    """Return for each mask S the largest level[i, j] with i outside and j inside S (0 if none)."""
    n_items = len(level)
    opening = np.zeros(2**n_items, dtype=level.dtype)
    worst = np.zeros(2**n_items, dtype=level.dtype)
    inside = np.zeros(2**n_items, dtype=bool)
    for item in range(n_items):
        for bit in range(n_items):  # double: add one more possible member
            half = 1 << bit
            np.maximum(worst[:half], level[item, bit], out=worst[half : 2 * half])
        inside.reshape(-1, 2, 1 << item)[:] = [[False], [True]]
        np.maximum(opening, np.where(inside, 0, worst), out=opening)
    return opening


def _count_table(level, n_levels):
    """Return f by number of items: an array (sets, n_levels) for each, column k for the relation level > k."""
    layers, _, links = _lattice(len(level))
    opening = _opening_level(level)
    every = np.arange(n_levels)
    table = [np.ones((1, n_levels))]
    for layer, link in zip(layers[1:], links, strict=True):
        counts = link @ table[-1]
        counts[every < opening[layer, None]] = 0
        table.append(counts)
    return table


class _Extensions:
    """Uniform draws of extensions, by the numbers of `_count_table`: the last item first, by exact integers."""

    def __init__(self, table):
        self._table = table
        self._rank = _lattice(len(table) - 1)[1]
        self._choices: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    def draw(self, column, bits):
        """Return an extension of the relation of one column; a set of items met before costs next to nothing."""
        n_items = len(self._table) - 1
        mask = 2**n_items - 1
        order = []
        for _ in range(n_items):
            if (mask, column) not in self._choices:
                self._choices[mask, column] = self._choices_of(mask, column)
            left, cumulative = self._choices[mask, column]
            order.append(left[bisect_right(cumulative, bits.integer(cumulative[-1]))])
            mask ^= 1 << order[-1]
        return np.array(order[::-1])

    def _choices_of(self, mask, column):
        """Return (items of a set, cumulative number of the extensions in which each is the last)."""
        left = np.flatnonzero(mask >> np.arange(len(self._table) - 1) & 1)
        counts = self._table[len(left) - 1][self._rank[mask ^ (1 << left)], column]
        return left.tolist(), [int(count) for count in counts.cumsum()]


def _checked_relation(before):
    before = np.asarray(before, dtype=bool)
    if before.ndim != 2 or before.shape[0] != before.shape[1]:
        raise ValueError(f"before must be a square matrix, got shape {before.shape}.")
    _check_size(len(before))
    return (before & ~np.eye(len(before), dtype=bool)).astype(np.int64)


def _check_size(n_items):
    if not 1 <= n_items <= MAX_ITEMS:
        raise ValueError(
            f"linear extensions are counted for 1 to {MAX_ITEMS} items, got {n_items}; "
            "use an order restricted to a window around an anchor instead."
        )


def count_linear_extensions(before):
    """Count the orders that put i before j whenever `before[i, j]`.

    Parameters
    ----------
    before : array of bool, shape (n_items, n_items)
        A relation on at most 16 items; the diagonal is ignored, transitivity is not required.

    Returns
    -------
    int
        The number of linear extensions, exactly; 0 if the relation has a cycle.

    Raises
    ------
    ValueError
        If `before` is not square or has more than 16 items.

    Notes
    -----
    The sums run in doubles, and every partial sum is an integer of at most 16! < 2**53: nothing is rounded.

    Examples
    --------
    >>> count_linear_extensions([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    3
    >>> count_linear_extensions([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    0
    """
    return int(_count_table(_checked_relation(before), 1)[-1][0, 0])


def sample_linear_extension(before, bits):
    """Draw a linear extension, exactly uniformly.

    Parameters
    ----------
    before : array of bool, shape (n_items, n_items)
        An acyclic relation on at most 16 items.
    bits : BitSource
        Where the randomness comes from; only integers are drawn.

    Returns
    -------
    array of int, shape (n_items,)
        The items, first to last.

    Raises
    ------
    ValueError
        If `before` is not square, has more than 16 items or has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.privacy.bits import SeededBits
    >>> bits = SeededBits(np.random.SeedSequence(0))
    >>> sample_linear_extension([[0, 0, 1], [0, 0, 0], [0, 1, 0]], bits).tolist()
    [0, 2, 1]
    """
    table = _count_table(_checked_relation(before), 1)
    if table[-1][0, 0] == 0:
        raise ValueError("before has a cycle: no order satisfies it.")
    return _Extensions(table).draw(0, bits)


def level_log_weights(log_counts, values, scale):
    """Return the log probabilities (up to a constant) of the levels in a mixture that amounts to exp(-scale * u).

    If N_k orders have u <= v_k, v_1 < ... < v_K, then drawing k with probability proportional to
    N_k (exp(-scale v_k) - exp(-scale v_{k+1})), v_{K+1} = infinity, and then one of these orders uniformly, gives
    each order a probability proportional to exp(-scale u). Everything stays in logarithms: scale * v may be large.
    """
    drops = np.append(-np.diff(values) * scale, -np.inf)
    with np.errstate(divide="ignore"):
        return log_counts - scale * values + np.log(-np.expm1(drops))


def check_margins(margins, scale):
    """Return margins as a square matrix, or raise the errors shared by the samplers of orders."""
    margins = np.asarray(margins)
    if margins.ndim != 2 or margins.shape[0] != margins.shape[1] or len(margins) == 0:
        raise ValueError(f"margins must be a non-empty square matrix, got shape {margins.shape}.")
    if not np.all(np.isfinite(margins)):
        raise ValueError("margins must be finite.")
    if not 0 <= scale < np.inf:
        raise ValueError(f"scale must be non-negative and finite, got {scale!r}.")
    return margins


class MinimaxMarginSampler:
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
        margins = check_margins(margins, scale)
        n_items = len(margins)
        _check_size(n_items)
        distinct = ~np.eye(n_items, dtype=bool)
        values = np.unique(margins[distinct]) if n_items > 1 else np.zeros(1)
        # Whatever the order, one direction of each pair is violated: no threshold below matters.
        floor = np.max(np.minimum(margins, margins.T)[distinct], initial=values[0])
        values = values[values >= floor]
        level = np.where(distinct, np.searchsorted(values, margins), 0)
        table = _count_table(level, len(values))
        self._n_items, self._extensions = n_items, _Extensions(table)
        with np.errstate(divide="ignore"):
            log_counts = np.log(table[-1][0])
        self._log_weights = level_log_weights(log_counts, values.astype(float), scale)
        self._level = Choice(self._log_weights)

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,)."""
        return self.sample(1, bits)[0]

    def sample(self, size, bits):
        """Draw independent orders.

        Parameters
        ----------
        size : int
            How many.
        bits : BitSource
            Where the randomness comes from.

        Returns
        -------
        array of int, shape (size, n_items)
            One order a row, best first.
        """
        orders = [self._extensions.draw(self._level.draw(bits), bits) for _ in range(size)]
        return np.array(orders).reshape(size, self._n_items)
