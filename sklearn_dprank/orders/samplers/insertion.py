"""Exact sampling of orders by their Kendall cost, by insertion of one item after the other, with rejection.

Inserting item i into a gap of the current order costs the pairs that it reverses. Let T be the items placed so far. In
any order of T, the gap with p of them before it costs at least

    sum over T of X[j, i] + the p smallest of scale * W[i, j],    X = max(0, scale * W),

where X[j, i] is the cost of i before j. The sum U of exp(-that) over p bounds the total weight of the gaps. A try
accepts each insertion with probability (total weight) / U and picks the gap in proportion to its weight. It therefore
ends in an order with probability (weight of the order) / (product of the U). An accepted try has exactly the required
distribution.
"""

import numpy as np

from .base import RejectionSampler, checked_margins
from .choice import draw_each


def insertion_order(margins, scale, order="borda"):
    """Return the order in which items are inserted. It affects the speed of the sampler, not its distribution.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i.
    scale : float
        Cost of one voter's opinion on one pair.
    order : {"borda", "smallest_last", "index"} or array of int, default="borda"
        "borda": by net wins, best first. "smallest_last": items with the smallest bound U last. "index": by index. An
        array is a given permutation.

    Returns
    -------
    array of int, shape (n_items,)
        A permutation of the items.

    Examples
    --------
    >>> insertion_order([[0, -1, 4], [1, 0, 2], [-4, -2, 0]], 0.1).tolist()
    [0, 1, 2]
    """
    margins = checked_margins(margins, scale, antisymmetric=True)
    n_items = len(margins)
    if not isinstance(order, str):
        order = np.asarray(order)
        if order.shape != (n_items,) or not np.array_equal(np.sort(order), np.arange(n_items)):
            raise ValueError(f"order must be a permutation of the {n_items} items.")
        return order
    if order == "borda":
        return np.argsort(-margins.sum(axis=1), kind="stable")
    if order == "smallest_last":
        return _smallest_last(margins, scale)
    if order == "index":
        return np.arange(n_items)
    raise ValueError(f"order must be 'borda', 'smallest_last', 'index' or a permutation, got {order!r}.")


def _smallest_last(margins, scale):
    left = np.arange(len(margins))
    order = []
    while len(left) > 1:
        bounds = []
        for item in left:
            rest = left[left != item]
            bounds.append(np.exp(-least_gap_costs(margins[item, rest], scale)).sum())
        pick = int(np.argmin(bounds))
        order.append(left[pick])
        left = np.delete(left, pick)
    return np.array([*left, *order[::-1]])


def _cost_first(row, scale):
    """Return the cost of placing an item, whose margins are `row`, before all others."""
    return scale * np.maximum(0, -row).sum()


def least_gap_costs(row, scale):
    """Return lower bounds on the cost of the gap with p = 0, ..., len(row) items before it, for any order of them."""
    return _cost_first(row, scale) + scale * np.concatenate([[0], np.cumsum(np.sort(row))])


def gap_costs(row, orders, scale):
    """Return the cost of each gap of each of `orders`, whose items index `row`: shape (len(orders), gaps)."""
    steps = np.zeros((len(orders), orders.shape[1] + 1), dtype=row.dtype)
    np.cumsum(row[orders], axis=1, out=steps[:, 1:])  # integers are summed first and scaled once
    return _cost_first(row, scale) + scale * steps


def insert_at(orders, item, gap):
    """Return `orders`, one per row, with `item` inserted before the place `gap` of each row."""
    rows, length = orders.shape
    place = np.arange(length + 1)
    source = np.minimum(place - (place > gap[:, None]), length - 1)
    out = np.take_along_axis(orders, source, axis=1)
    out[np.arange(rows), gap] = item
    return out


class InsertionSampler(RejectionSampler):
    """Sampler of orders with probability proportional to exp(-scale * Kendall cost), by insertion with rejection.

    The Kendall cost of an order is the number of strict pairwise opinions of the voters that it contradicts. The costs
    of two orders differ by the sum of the margins over the pairs that they order differently.

    Parameters
    ----------
    margins : array of shape (n_items, n_items)
        W = C - C.T, where C[i, j] voters prefer i to j.
    scale : float
        At least 0. The exponential mechanism uses epsilon / C(m, 2) if neighbours add or remove a ballot, and half of
        it if they replace one. The cost is monotone, so added or removed ballots need no factor 2.
    order : {"borda", "smallest_last", "index"} or array of int, default="borda"
        Order of insertion, see `insertion_order`. It affects the number of tries.

    Raises
    ------
    ValueError
        If `margins` is not square, finite and antisymmetric, or `scale` is negative or not finite.

    Notes
    -----
    .. rubric:: Privacy

    The number of tries depends on the ballots and has no cap and no timeout (see `RejectionSampler`). Do not publish
    any result of this sampler for private ballots.

    .. rubric:: Remarks

    The number of tries is geometric with mean (product of the bounds) / (total weight), which is unbounded. It is a few
    to a thousand for Mallows ballots of up to 45 items in Borda order, and far too large for margins with strong
    cycles. The bounds are enlarged by 1e-12, so that rounding never makes an acceptance probability exceed 1.
    Acceptance and gap are drawn with relative precision, so samples follow the exact distribution, including very rare
    orders.

    References
    ----------
    .. [1] M. Hay, L. Elagina and G. Miklau, "Differentially Private Rank Aggregation", SDM 2017, Definition 10.
    .. [2] V. Mansinghka, D. Roy, E. Jonas and J. Tenenbaum, "Exact and Approximate Sampling by Systematic Stochastic
       Search", AISTATS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> sampler = InsertionSampler(50 * np.subtract.outer(np.arange(30), np.arange(30)), scale=0.1)
    >>> bool(np.all(sampler.draw(SeededBits(np.random.SeedSequence(0))) == np.arange(29, -1, -1)))
    True
    """

    def __init__(self, margins, scale, order="borda"):
        self._margins, self._scale = checked_margins(margins, scale, antisymmetric=True), scale
        self._order = insertion_order(margins, scale, order)
        self.n_items = len(self._order)
        self._log_bounds = []
        for k in range(1, len(self._order)):
            costs = least_gap_costs(self._margins[self._order[k], self._order[:k]], scale)
            self._log_bounds.append(np.log(np.exp(-costs).sum()) + 1e-12)  # at least 0: the least cost is 0

    def tries(self, size, bits):
        """Return the orders accepted among `size` independent tries, in the order of the tries."""
        orders = np.zeros((size, 1), dtype=np.int64)  # places in the order of insertion
        for k, log_bound in enumerate(self._log_bounds, start=1):
            row = self._margins[self._order[k], self._order[:k]]
            costs = gap_costs(row, orders, self._scale)
            least = costs.min(axis=1)
            log_mass = np.log(np.exp(least[:, None] - costs).sum(axis=1)) - least
            kept = bits.log_uniform(len(orders)) < log_mass - log_bound
            # The gap needs its own uniform number, because the accepting one lies on a grid relative to the bound.
            orders = insert_at(orders[kept], k, draw_each(-costs[kept], bits))
            if len(orders) == 0:
                return np.empty((0, len(self._order)), dtype=np.int64)
        return self._order[orders]
