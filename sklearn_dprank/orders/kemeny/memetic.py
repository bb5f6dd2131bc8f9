"""Memetic search for orders of small total cost: orders are crossed and descend side by side. No certificate."""

import numpy as np

from .local_search import insertion_search, rounding, total_cost
from .work import Work

_MOST, _ENTRIES, _FEWEST = 64, 2**14, 16  # orders that are kept, and children a generation: see `_count`
_PATIENCE = 5  # generations in a row that leave the members as they are
_STEP, _ENTRY = 16_000, 2  # steps an item takes in all orders at once, and each of their entries


def memetic_search(cost, order, bits=None, work=None, enough=None):
    """Cross good orders, let each child go down by `insertion_search`, and keep the best; again and again.

    A child takes half of its places, drawn at random, with their items in the sequence of the second parent, and
    the others as they are in the first. So the parents' agreements stay: they are what good orders have in common.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Items, best first: one of the orders to start with. The others are drawn.
    bits : BitSource or None, default=None
        Supplies ``words(size)`` for the draws. None takes a fixed sequence, so that the result is a function of
        `cost` and `order`.
    work : Work or None, default=None
        What may be spent; None is no limit. The search ends by itself once its generations bring nothing better.
    enough : int or float or None, default=None
        A total at which to stop, once it is met.

    Returns
    -------
    array of int, shape (m,)
        An order that no move of one item improves, or the best one met when the work was over.

    References
    ----------
    Schiavinotto, T., & Stützle, T. (2004). The linear ordering problem: instances, search space analysis and
    algorithms. Journal of Mathematical Modelling and Algorithms 3 (memetic algorithm, crossover OB).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.memetic import memetic_search
    >>> memetic_search(np.triu(np.ones((4, 4), dtype=int)), [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    cost = np.asarray(cost)
    m, work = len(cost), work or Work()
    order = insertion_search(cost, order, work)
    excess = cost - cost.T
    words = np.random.PCG64(0).random_raw if bits is None else bits.words
    members, totals = order[None], np.array([total_cost(excess, order)], dtype=excess.dtype)
    count, patience = _count(m), _PATIENCE
    children = np.concatenate([members, _shuffled(words, count - 1, m)])
    while patience and not work.over:
        children, new = descended(excess, children, work)
        before = totals
        members, totals = _best(np.concatenate([members, children]), np.concatenate([totals, new]), count)
        patience = patience - 1 if np.array_equal(totals, before) else _PATIENCE
        if len(members) == 1 or (enough is not None and total_cost(cost, members[0]) <= enough):
            break
        first, second = _couples(words, members, count)
        children = _crossed(first, second, _shuffled(words, count, m))
    return members[0]


def descended(excess, orders, work):
    """Move single items of many orders to where they cost least, each order as `insertion_search` does it.

    One item after the other is moved, in all orders at once. An order is settled once a round of all items moves none.

    Parameters
    ----------
    excess : array, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    orders : array of int, shape (k, m)
        Items, best first, one order a row.
    work : Work
        What may be spent, looked at before each item.

    Returns
    -------
    orders : array of int, shape (count, m)
        Those that settled before the work was over, the first to settle first.
    totals : array, shape (count,)
        The sum of `excess` over the pairs of each.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.memetic import descended
    >>> from sklearn_dprank.orders.kemeny.work import Work
    >>> cost = np.triu(np.ones((3, 3), dtype=int), 1)  # each item is better than all before it
    >>> descended(cost - cost.T, np.array([[0, 1, 2], [2, 1, 0]]), Work())
    (array([[2, 1, 0],
           [2, 1, 0]]), array([-3, -3]))
    """
    noise = rounding(excess)
    orders, places = orders.copy(), np.argsort(orders, axis=1)
    settled, totals = [orders[:0]], [np.empty(0, dtype=excess.dtype)]
    while len(orders):
        every, before = np.arange(len(orders)), np.zeros((len(orders), len(excess) + 1), dtype=excess.dtype)
        moved, ahead = np.zeros(len(orders), dtype=bool), np.zeros(len(orders), dtype=excess.dtype)
        for item, row in enumerate(excess):
            if work.over:
                return np.concatenate(settled), np.concatenate(totals)
            work.spend(_STEP + _ENTRY * orders.size)
            np.cumsum(row.take(orders), axis=1, out=before[:, 1:])  # as in `insertion_search`
            gap, here = before.argmax(axis=1), before[every, places[:, item]]
            better = np.flatnonzero(before[every, gap] - here > noise)
            ahead += here
            if len(better):
                moved[better] = True
                _move(orders, places, better, item, gap[better, None])
        settled.append(orders[~moved])
        totals.append(-ahead[~moved])  # each item before those ahead of it is the other way round
        orders, places = orders[moved], places[moved]
    return np.concatenate(settled), np.concatenate(totals)


def _move(orders, places, rows, item, gap):
    """Move one item of each of these rows into a gap (0: first; m: last), given in a column."""
    now = places[rows]
    old = now[:, item, None]
    new = gap - (gap > old)
    now += (now >= new) & (now < old)
    now -= (now <= new) & (now > old)
    now[:, item] = new[:, 0]
    places[rows] = now
    orders[rows[:, None], now] = np.arange(now.shape[1])


def _count(m):
    """Return how many orders of m items descend together: fewer of many, where a generation takes long."""
    return min(max(_ENTRIES // max(m, 1), _FEWEST), _MOST)


def _best(orders, totals, count):
    """Return those of least total, one of each, and their totals; the first come first among equals."""
    kept: dict[bytes, int] = {}
    for row in np.argsort(totals, kind="stable").tolist():
        kept.setdefault(orders[row].tobytes(), row)
        if len(kept) == count:
            break
    rows = list(kept.values())
    return orders[rows], totals[rows]


def _shuffled(words, count, m):
    """Return `count` orders of m items, drawn independently."""
    return np.argsort(words(count * m).reshape(count, m), axis=1, kind="stable")


def _couples(words, members, count):
    """Draw two different members for each of `count` children; return the first ones and the second ones."""
    size = np.uint64(len(members))
    first, step = words(2 * count).reshape(2, count)
    first, step = first % size, np.uint64(1) + step % (size - np.uint64(1))
    return members[first.astype(np.int64)], members[((first + step) % size).astype(np.int64)]


def _crossed(first, second, shuffled):
    """Return the first parents with the items of half of their places in the sequence of the second ones."""
    places = np.sort(shuffled[:, : shuffled.shape[1] // 2], axis=1)
    items = np.take_along_axis(first, places, axis=1)
    sequence = np.argsort(np.take_along_axis(np.argsort(second, axis=1), items, axis=1), axis=1)
    children = first.copy()
    np.put_along_axis(children, places, np.take_along_axis(items, sequence, axis=1), axis=1)
    return children
