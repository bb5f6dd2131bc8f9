"""Orders of largest total gain for up to 12 items, for one problem or a batch.

The recurrence is that of `subset_dp`, with one table of all subsets. The table indices that it reads depend only on the
number of items, so they are cached. One problem takes microseconds.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .subsets import over_subsets, subsets_of, taken_side_by_side

FEW = 12  # the cached index tables of all sizes up to this one take 1 MB together


class _Walk(NamedTuple):
    """Cached table indices of the recurrence for m items.

    Attributes
    ----------
    rank : list of int, length 2**m
        Rank of each bit mask.
    layers : list of (slice, slice, array of int of shape (k, count)), length m
        For the subsets of k = 1..m items: their ranks, the place of their candidates in `gains`, and the ranks without
        the first item, one row per choice of it.
    gains : array of int, shape (m * 2**(m - 1),)
        For each candidate, item x before the set T: the place of a(x, T) in a flat table of shape (m, 2**m).
    """

    rank: list
    layers: list
    gains: np.ndarray


@lru_cache(maxsize=FEW + 1)
def _walk(m):
    subsets = subsets_of(m)
    layers, gains, read = [], [np.empty(0, dtype=np.intp)], 0
    for k in range(1, m + 1):
        ranks, items, rest = subsets.layer(k)
        rest = np.ascontiguousarray(rest.T)  # ascending items down each column
        layers.append((ranks, slice(read, read + rest.size), rest))
        gains.append((items.T * 2**m + subsets.masks[rest]).ravel())
        read += rest.size
    out = _Walk(subsets.rank.tolist(), layers, np.concatenate(gains))
    for array in (out.gains, *(rest for _, _, rest in layers)):
        array.setflags(write=False)  # shared by all calls
    return out


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
    >>> from sklearn_dprank.orders.few_items import best_of_few
    >>> best_of_few(np.array([[0, 0, -2], [-5, 0, 0], [0, -1, 0]]))  # 2 before 0, 0 before 1, 1 before 2
    (array([2, 0, 1]), -1)
    """
    m = len(gain)
    walk = _walk(m)
    ahead = over_subsets(gain)  # a(x, T): x ahead of all of T
    own = ahead.ravel().take(walk.gains)
    best = np.zeros(2**m, dtype=gain.dtype)
    for ranks, read, rest in walk.layers:
        candidates = best.take(rest)
        candidates += own[read].reshape(rest.shape)
        np.maximum.reduce(candidates, axis=0, out=best[ranks])
    value, rank = best.tolist(), walk.rank
    order, left, mask = [], list(range(m)), 2**m - 1
    while left:
        totals = [value[rank[mask ^ 1 << x]] + ahead.item(x, mask ^ 1 << x) for x in left]
        item = left.pop(totals.index(max(totals)))
        order.append(item)
        mask ^= 1 << item
    return np.array(order, dtype=np.int64), value[-1]


def best_of_few_many(gains):
    """Return the orders of `best_of_few` for a batch of problems of the same size.

    Parameters
    ----------
    gains : array of int, shape (k, m, m)
        One matrix per problem, as for `best_of_few`.

    Returns
    -------
    array of int, shape (k, m)
        The order of each problem.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.few_items import best_of_few_many
    >>> best_of_few_many(np.array([[[0, 0, -2], [-5, 0, 0], [0, -1, 0]]] * 2))
    array([[2, 0, 1],
           [2, 0, 1]])
    """
    k, m, _ = gains.shape
    walk = _walk(m)
    ahead = over_subsets(np.ascontiguousarray(gains.transpose(1, 2, 0)))
    own = ahead.reshape(m * 2**m, k).take(walk.gains, axis=0)
    best = np.zeros((2**m, k), dtype=gains.dtype)
    for ranks, read, rest in walk.layers:
        candidates = best.take(rest, axis=0)
        candidates += own[read].reshape(candidates.shape)
        np.maximum.reduce(candidates, axis=0, out=best[ranks])
    rank, every = subsets_of(m).rank, np.arange(k)[:, None]

    def pick(masks, left):
        rest = masks[:, None] ^ (1 << left)
        return (best[rank[rest], every] + ahead[left, rest, every]).argmax(axis=1)

    return taken_side_by_side(k, m, pick)
