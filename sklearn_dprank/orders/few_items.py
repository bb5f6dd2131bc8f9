"""The best order of a few items: the recurrence of `subset_dp`, with index tables kept from call to call.

Subsets of items are bit masks. They are numbered by size, so that a layer of the recurrence is a slice of one
table; which entries a layer reads depends on the number of items alone.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

FEW = 12  # the kept index tables of all sizes up to it take 1 MB together


class _Subsets(NamedTuple):
    """All subsets of m items in order of size, and what is left of each without its first item.

    Attributes
    ----------
    rank : list of int, length 2**m
        The number of each bit mask in this order.
    layers : list of (slice, slice, array of int of shape (k, count)), length m
        For the subsets of k = 1..m items: their ranks; where in `gains` their candidates are, of which each
        choice of the first item gives one; and the ranks of what these leave, one row a choice.
    gains : array of int, shape (m * 2**(m - 1),)
        For each candidate, item x before the set T: the place of a(x, T) in a flat table of shape (m, 2**m).
    """

    rank: list
    layers: list
    gains: np.ndarray


@lru_cache(maxsize=FEW + 1)
def _subsets(m):
    masks = np.arange(2**m)
    has = (masks[:, None] >> np.arange(m) & 1).astype(bool)
    sizes = has.sum(axis=1)
    rank = np.empty(2**m, dtype=np.intp)
    rank[np.argsort(sizes, kind="stable")] = masks
    layers, gains, start, read = [], [], 1, 0
    for k in range(1, m + 1):
        layer = np.flatnonzero(sizes == k)
        first = np.ascontiguousarray(np.nonzero(has[layer])[1].reshape(-1, k).T)  # ascending down each column
        rest = layer ^ (1 << first)
        layers.append((slice(start, start + len(layer)), slice(read, read + rest.size), rank[rest]))
        gains.append((first * 2**m + rest).ravel())
        start, read = start + len(layer), read + rest.size
    out = _Subsets(rank.tolist(), layers, np.concatenate(gains) if m else np.empty(0, dtype=np.intp))
    for array in (out.gains, *(rest for _, _, rest in layers)):
        array.setflags(write=False)  # shared by all calls
    return out


def best_of_few(gain):
    """Return the order of largest total gain, and that gain.

    Parameters
    ----------
    gain : array of int or float, shape (m, m)
        ``gain[i, j]`` is what placing i before j is worth; zero diagonal, m at most 12. Not checked.

    Returns
    -------
    order : array of int, shape (m,)
        Among all optima, the first in lexicographic order (for floats, up to rounding).
    total : int or float
        Its gain; integers are summed exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.few_items import best_of_few
    >>> best_of_few(np.array([[0, 0, -2], [-5, 0, 0], [0, -1, 0]]))  # 2 before 0, 0 before 1, 1 before 2
    (array([2, 0, 1]), -1)
    """
    m = len(gain)
    subsets = _subsets(m)
    ahead = np.zeros((m, 2**m), dtype=gain.dtype)  # a(x, T): x ahead of all of T, item by item of T
    for j in range(m):
        np.add(ahead[:, : 1 << j], gain[:, j, None], out=ahead[:, 1 << j : 2 << j])
    own = ahead.ravel().take(subsets.gains)
    best = np.zeros(2**m, dtype=gain.dtype)
    for ranks, read, rest in subsets.layers:
        candidates = best.take(rest)
        candidates += own[read].reshape(rest.shape)
        np.maximum.reduce(candidates, axis=0, out=best[ranks])
    value, rank = best.tolist(), subsets.rank
    order, left, mask = [], list(range(m)), 2**m - 1
    while left:
        totals = [value[rank[mask ^ 1 << x]] + ahead.item(x, mask ^ 1 << x) for x in left]
        item = left.pop(totals.index(max(totals)))
        order.append(item)
        mask ^= 1 << item
    return np.array(order, dtype=np.int64), value[-1]


def best_of_few_many(gains):
    """Return `best_of_few` of many problems of one size, side by side.

    Parameters
    ----------
    gains : array of int, shape (k, m, m)
        As for `best_of_few`, one problem after another.

    Returns
    -------
    array of int, shape (k, m)
        The orders.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.few_items import best_of_few_many
    >>> best_of_few_many(np.array([[[0, 0, -2], [-5, 0, 0], [0, -1, 0]]] * 2))
    array([[2, 0, 1],
           [2, 0, 1]])
    """
    k, m, _ = gains.shape
    subsets = _subsets(m)
    side_by_side = np.ascontiguousarray(gains.transpose(1, 2, 0))
    ahead = np.zeros((m, 2**m, k), dtype=gains.dtype)
    for j in range(m):
        np.add(ahead[:, : 1 << j], side_by_side[:, j, None], out=ahead[:, 1 << j : 2 << j])
    own = ahead.reshape(m * 2**m, k).take(subsets.gains, axis=0)
    best = np.zeros((2**m, k), dtype=gains.dtype)
    for ranks, read, rest in subsets.layers:
        candidates = best.take(rest, axis=0)
        candidates += own[read].reshape(candidates.shape)
        np.maximum.reduce(candidates, axis=0, out=best[ranks])
    rank, every = np.array(subsets.rank), np.arange(k)
    orders = np.empty((k, m), dtype=np.int64)
    left, masks = np.tile(np.arange(m), (k, 1)), np.full(k, 2**m - 1)
    for place in range(m):
        rest = masks[:, None] ^ (1 << left)
        pick = (best[rank[rest], every[:, None]] + ahead[left, rest, every[:, None]]).argmax(axis=1)
        orders[:, place], masks = left[every, pick], rest[every, pick]
        stays = np.ones(left.shape, dtype=bool)
        stays[every, pick] = False
        left = left[stays].reshape(k, -1)
    return orders
