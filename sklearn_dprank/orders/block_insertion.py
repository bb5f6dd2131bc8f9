"""Exact sampling of orders by their Kendall cost, by insertion of whole blocks: for 60 items and more.

A core of items is drawn exactly by subset dynamic programming. Then each block B is merged at once into the order pi of
the items placed so far, gap by gap. With G the mass of the ways to have placed the subset S of B by the current gap,

    G[S + i] += G[S] exp(-cost of i in the gap) prod over j in S of exp(-X[i, j]),

X[i, j] being the price of j before i. The same recursion with the least gap costs that any pi could have bounds G[B]
by U, so a merge is accepted with probability G[B] / U, and drawn backward. The law is that of `insertion`, with fewer
tries.
"""

from functools import lru_cache

import numpy as np

from ..checks import check_whole
from .choice import draw_each
from .insertion import gap_costs, insertion_order, least_gap_costs
from .partition import PartitionTable
from .sampler import RejectionSampler, checked_margins
from .subsets import subsets_of


@lru_cache(maxsize=8)
def _growth(n):
    """Return the layers of the subsets from one item on, and the rank of each subset without each item, (2**n, n)."""
    subsets = subsets_of(n)
    without = subsets.rank[subsets.masks[:, None] & ~(1 << np.arange(n))]
    return [subsets.layer(size) for size in range(1, n + 1)], without


def _joining(margins, scale):
    """Return exp(-price of item i right after the set S), shape (2**n, n), by rank: S goes before i."""
    return np.exp(-scale * (subsets_of(len(margins)).has @ np.maximum(0, margins).T))


def _masses(weights, joining):
    """Return G after each gap.

    Parameters
    ----------
    weights : array of shape (gaps, n, rows)
        exp(-cost) of each item of the block in each gap.
    joining : array of shape (2**n, n)
        See `_joining`.

    Returns
    -------
    ndarray of shape (gaps, 2**n, rows)
        By rank.
    """
    layers, _ = _growth(joining.shape[1])
    prices = [joining[rest, items][:, :, None] for _, items, rest in layers]
    table = np.zeros((len(weights), len(joining), weights.shape[2]))
    mass = np.zeros(table.shape[1:])
    mass[0] = 1
    for gap, weight in enumerate(weights):
        # smaller sets first: any sequence of items may share the gap
        for (ranks, items, rest), price in zip(layers, prices, strict=True):
            mass[ranks] += (mass[rest] * weight[items] * price).sum(axis=1)
        table[gap] = mass
    return table


def _placements(table, weights, joining, bits):
    """Draw one merge a row, backward; return the gap of each block item and its place among them, (rows, n)."""
    n_gaps, n, rows = weights.shape
    gaps, places = np.zeros((rows, n), dtype=np.int64), np.zeros((rows, n), dtype=np.int64)
    has, (_, without) = subsets_of(n).has, _growth(n)
    merged = np.full(rows, 2**n - 1)  # the set of the items that are merged up to the current gap, by rank
    left, items = np.full(rows, n), np.arange(n)
    for gap in range(n_gaps - 1, -1, -1):
        here = np.flatnonzero(left)  # rows that may still have an item in this gap
        while len(here):
            now = merged[here]
            rest = without[now]
            last = has[now] * table[gap, rest, here[:, None]] * weights[gap, :, here] * joining[rest, items]
            earlier = table[gap - 1, now, here] if gap else np.zeros(len(here))
            with np.errstate(divide="ignore"):
                pick = draw_each(np.log(np.column_stack([last, earlier])), bits)
            here, item = here[pick < n], pick[pick < n]
            left[here] -= 1
            gaps[here, item], places[here, item] = gap, left[here]
            merged[here] = without[merged[here], item]
            here = here[left[here] > 0]
    return gaps, places


class BlockInsertionSampler(RejectionSampler):
    """The law of orders with probability proportional to exp(-scale * Kendall cost), by insertion of blocks.

    The law is that of `insertion.InsertionSampler`. A try costs a hundred times more and needs far fewer
    repetitions: worth it for 60 items and more, when single insertions need more than about 100,000 tries.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W = C - C.T, where C[i, j] voters prefer i to j.
    scale : float
        At least 0; see `insertion.InsertionSampler`.
    order : {"borda", "smallest_last", "index"} or array of int, default="borda"
        The order of insertion: the core first, then block after block.
    core : int, default=16
        How many items are drawn by subset dynamic programming, at least 1.
    block : int, default=7
        How many items are merged at once, from 1 to 10.
    clock : callable of () -> callable of (seconds), or None, default=None
        Started for each draw, and shown the seconds elapsed after each batch of tries: for a progress bar.

    Raises
    ------
    ValueError
        If margins are not square, finite and antisymmetric, or scale, core or block is out of range.

    Notes
    -----
    As for single insertions, the law is exact up to double precision, the time is unbounded and depends on the ballots,
    and there is no cap and no timeout. Margins whose cycles within a block force a cost of more than 700 / scale
    underflow; such a draw would not end.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.privacy.bits import SeededBits
    >>> sampler = BlockInsertionSampler(np.subtract.outer(np.arange(30), np.arange(30)), scale=20.0)
    >>> bool(np.all(sampler.draw(SeededBits(np.random.SeedSequence(0))) == np.arange(29, -1, -1)))
    True
    """

    _batches = (32, 128)  # merges at once: 24 MB of masses for blocks of 7 among 100 items

    def __init__(self, margins, scale, order="borda", core=16, block=7, clock=None):
        super().__init__(clock)
        margins = checked_margins(margins, scale, antisymmetric=True)
        check_whole(core, "core")
        check_whole(block, "block", 1, 10)
        self._order = insertion_order(margins, scale, order)
        self.n_items = len(margins)
        self._margins, self._scale = margins[np.ix_(self._order, self._order)], scale
        self._core = PartitionTable(np.maximum(0, self._margins[:core, :core].T), scale)
        self._blocks = []
        for start in range(core, len(margins), block):
            items = np.arange(start, min(start + block, len(margins)))
            least = np.array([least_gap_costs(self._margins[item, :start], scale) for item in items])
            joining = _joining(self._margins[np.ix_(items, items)], scale)
            weights = np.exp(-least).T[:, :, None]
            bound = _masses(weights, joining)[-1, -1, 0] * (1 + 1e-11)
            self._blocks.append((items, joining, bound))

    def tries(self, size, bits):
        """Return the orders accepted among `size` independent tries, in the order of the tries."""
        orders = self._core.sample(size, bits)  # of places in the order of insertion
        for items, joining, bound in self._blocks:
            costs = np.array([gap_costs(self._margins[item, : items[0]], orders, self._scale) for item in items])
            weights = np.exp(-costs).transpose(2, 0, 1)
            table = _masses(weights, joining)
            kept = np.flatnonzero(bits.deep_uniform(len(orders)) * bound < table[-1, -1])
            if len(kept) == 0:
                return np.empty((0, len(self._order)), dtype=np.int64)
            gaps, places = _placements(table[:, :, kept], weights[:, :, kept], joining, bits)
            orders = _merge(orders[kept], items, gaps, places)
        return self._order[orders]


def _merge(orders, items, gaps, places):
    """Return the orders with each item in its gap; items that share a gap follow their places."""
    step = len(items) + 1
    keys = np.column_stack(
        [np.tile(np.arange(orders.shape[1]) * step + step - 1, (len(orders), 1)), gaps * step + places]
    )
    merged = np.column_stack([orders, np.tile(items, (len(orders), 1))])
    return np.take_along_axis(merged, np.argsort(keys, axis=1), axis=1)
