"""Insertion local search for orders of small total cost: fast upper bounds, no certificate."""

import numpy as np

from .work import Work

_ITEM, _ENTRY = 6000, 4  # steps an item takes, and an entry of its row


def total_cost(cost, order):
    """Return the sum of ``cost[i, j]`` over the pairs with i before j in `order`.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Items, best first.

    Returns
    -------
    int or float
        The total; exact for integers whose absolute values sum to less than 2**63.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.local_search import total_cost
    >>> total_cost(np.array([[0, 1, 2], [5, 0, 3], [7, 9, 0]]), [1, 0, 2])
    10
    """
    return np.triu(np.asarray(cost)[np.ix_(order, order)], 1).sum().item()


def insertion_search(cost, order, work=None):
    """Move single items to where they cost least, one after the other, while that lowers the total cost.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Items, best first: where to start.
    work : Work or None, default=None
        What may be spent, looked at before each item; None is no limit.

    Returns
    -------
    array of int, shape (m,)
        An order that no move of one item improves (for floats: by more than rounding), or the one reached when the
        work was over.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.local_search import insertion_search
    >>> cost = np.triu(np.ones((4, 4), dtype=int))  # each item is better than all before it
    >>> insertion_search(cost, [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    cost = np.asarray(cost)
    excess, order, work = cost - cost.T, np.array(order, dtype=np.int64), work or Work()
    m, noise, places = len(order), rounding(excess), np.argsort(order)
    before = np.zeros(m + 1, dtype=excess.dtype)
    item = settled = 0
    while settled < m and not work.over:
        work.spend(_ITEM + _ENTRY * m)
        # before[g]: what the item would cost more ahead of all items than in gap g (0: first; m: last)
        np.cumsum(excess[item].take(order), out=before[1:])
        gap, place = before.argmax(), places[item]
        if before[gap] - before[place] > noise:
            _move(order, places, place, gap)
            settled = 0
        settled += 1
        item = (item + 1) % m
    return order


def rounding(excess):
    """Return what a sum of entries may be off by: a move must save more. It is 0 for integers."""
    return 1e-12 * np.abs(excess).sum() if excess.dtype.kind == "f" else 0


def _move(order, places, place, gap):
    """Move the item in `place` into `gap`."""
    item = order[place]
    if gap > place:
        gap -= 1
        order[place:gap] = order[place + 1 : gap + 1].copy()
    else:
        order[gap + 1 : place + 1] = order[gap:place].copy()
    order[gap] = item
    low, high = min(place, gap), max(place, gap) + 1
    places[order[low:high]] = np.arange(low, high)
