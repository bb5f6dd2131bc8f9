"""Local and memetic search for good orders."""

import numpy as np

from .work import Work

_ITEM, _ENTRY = 6000, 4  # steps per item, and per entry of its row


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
    >>> from sklearn_dprank.orders.kemeny.local_search import total_cost
    >>> total_cost(np.array([[0, 1, 2], [5, 0, 3], [7, 9, 0]]), [1, 0, 2])
    10
    """
    return np.triu(np.asarray(cost)[np.ix_(order, order)], 1).sum().item()


def insertion_search(cost, order, work=None):
    """Improve an order by moving single items, each to its cheapest place, while this lowers the total cost.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Starting order, best first.
    work : Work or None, default=None
        Limit on the work, checked before each item; None means no limit.

    Returns
    -------
    array of int, shape (m,)
        Order that no move of one item improves, or the order reached at the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.local_search import insertion_search
    >>> cost = np.triu(np.ones((4, 4), dtype=int))  # each item is better than all before it
    >>> insertion_search(cost, [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    excess, order, work = cost - cost.T, np.array(order, dtype=np.int64), work or Work()
    m, places = len(order), np.argsort(order)
    before = np.zeros(m + 1, dtype=excess.dtype)  # extra cost of the item in first place, compared with each gap
    after_first, rows = before[1:], list(excess)
    item = settled = 0
    while settled < m and not work.over:
        work.spend(_ITEM + _ENTRY * m)
        rows[item].take(order).cumsum(out=after_first)
        place, gap = places[item], before.argmax()
        if before[gap] > before[place]:
            gap -= gap > place
            low, high = min(place, gap), max(place, gap) + 1
            if gap < place:
                order[low + 1 : high] = order[low : high - 1].copy()
            else:
                order[low : high - 1] = order[low + 1 : high].copy()
            order[gap] = item
            places[order[low:high]] = np.arange(low, high)
            settled = 0
        settled += 1
        item = (item + 1) % m
    return order


_MOST, _ENTRIES, _FEWEST = 64, 2**14, 16  # limits on the population size, see `_count`
_PATIENCE = 5  # generations without a better member before the search ends
_STEP, _STEP_ENTRY = 16_000, 0.6  # steps per item for all orders together, and per entry of the orders


def memetic_search(cost, order, work=None, enough=None):
    """Improve a population of orders by crossover and insertion search, and return the best one.

    A child is a copy of its first parent. The items at a random half of its places are put into the sequence that they
    have in the second parent. A child therefore keeps many pairs on which its parents agree. Good orders tend to share
    them.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        One of the starting orders, best first. The others are random, from a fixed seed.
    work : Work or None, default=None
        Limit on the work; None means no limit. The search also ends after several generations without an improvement.
    enough : int or None, default=None
        Total cost at which the search stops.

    Returns
    -------
    array of int, shape (m,)
        Order that no move of one item improves, or the best order found at the limit.

    References
    ----------
    Schiavinotto, T., & Stützle, T. (2004). The linear ordering problem: instances, search space analysis and
    algorithms. Journal of Mathematical Modelling and Algorithms 3 (memetic algorithm, crossover OB).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.local_search import memetic_search
    >>> memetic_search(np.triu(np.ones((4, 4), dtype=int)), [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    excess, m, work = cost - cost.T, len(cost), work or Work()
    order = insertion_search(cost, order, work)
    words = np.random.PCG64(0).random_raw
    members, totals = order[None], np.array([total_cost(excess, order)], dtype=excess.dtype)
    count, patience = _count(m), _PATIENCE
    children = np.concatenate([members, _shuffled(words, count - 1, m)])
    while patience and not work.over and (enough is None or total_cost(cost, members[0]) > enough):
        children, new = descended(excess, children, work)
        before = totals
        members, totals = _best(np.concatenate([members, children]), np.concatenate([totals, new]), count)
        patience = patience - 1 if np.array_equal(totals, before) else _PATIENCE
        if len(members) == 1:
            break
        first, second = _couples(words, members, count)
        children = _crossed(first, second, _shuffled(words, count, m))
    return members[0]


def descended(excess, orders, work):
    """Run `insertion_search` on many orders at once.

    Items are moved one after the other, each in all orders at once. An order is settled once no item moves in a round.

    Parameters
    ----------
    excess : array of int, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    orders : array of int, shape (k, m)
        Items, best first, one order per row.
    work : Work
        Limit on the work, checked before each item.

    Returns
    -------
    orders : array of int, shape (count, m)
        Orders that settled before the limit, the first to settle first.
    totals : array of int, shape (count,)
        Sum of `excess` over the pairs of each order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.local_search import descended
    >>> from sklearn_dprank.orders.kemeny.work import Work
    >>> cost = np.triu(np.ones((3, 3), dtype=int), 1)  # each item is better than all before it
    >>> descended(cost - cost.T, np.array([[0, 1, 2], [2, 1, 0]]), Work())
    (array([[2, 1, 0],
           [2, 1, 0]]), array([-3, -3]))
    """
    orders, places = orders.copy(), np.argsort(orders, axis=1)
    settled, totals = [orders[:0]], [np.empty(0, dtype=excess.dtype)]
    while len(orders):
        every, before = np.arange(len(orders)), np.zeros((len(orders), len(excess) + 1), dtype=excess.dtype)
        moved, ahead = np.zeros(len(orders), dtype=bool), np.zeros(len(orders), dtype=excess.dtype)
        for item, row in enumerate(excess):
            if work.over:
                return np.concatenate(settled), np.concatenate(totals)
            work.spend(_STEP + _STEP_ENTRY * orders.size)
            np.cumsum(row.take(orders), axis=1, out=before[:, 1:])  # as in `insertion_search`
            gap, here = before.argmax(axis=1), before[every, places[:, item]]
            better = np.flatnonzero(before[every, gap] > here)
            ahead += here
            if len(better):
                moved[better] = True
                _move(orders, places, better, item, gap[better, None])
        settled.append(orders[~moved])
        totals.append(-ahead[~moved])  # `ahead` sums the reversed pairs
        orders, places = orders[moved], places[moved]
    return np.concatenate(settled), np.concatenate(totals)


def _move(orders, places, rows, item, gap):
    """Move one item of each of these rows into its gap (0: first; m: last), shape (len(rows), 1)."""
    now = places[rows]
    old = now[:, item, None]
    new = gap - (gap > old)
    now += (now >= new) & (now < old)
    now -= (now <= new) & (now > old)
    now[:, item] = new[:, 0]
    places[rows] = now
    orders[rows[:, None], now] = np.arange(now.shape[1])


def _count(m):
    """Return the population size for m items: smaller for many items, because a generation takes longer."""
    return min(max(_ENTRIES // max(m, 1), _FEWEST), _MOST)


def _best(orders, totals, count):
    """Return the distinct orders of least total, at most `count`, and their totals; equals stay in sequence."""
    kept: dict[bytes, int] = {}
    for row in np.argsort(totals, kind="stable").tolist():
        kept.setdefault(orders[row].tobytes(), row)
        if len(kept) == count:
            break
    rows = list(kept.values())
    return orders[rows], totals[rows]


def _shuffled(words, count, m):
    """Return `count` independent random orders of m items."""
    return np.argsort(words(count * m).reshape(count, m), axis=1, kind="stable")


def _couples(words, members, count):
    """Draw two different members as parents for each of `count` children; return the first and the second parents."""
    size = np.uint64(len(members))
    first, step = words(2 * count).reshape(2, count)
    first, step = first % size, np.uint64(1) + step % (size - np.uint64(1))
    return members[first.astype(np.int64)], members[((first + step) % size).astype(np.int64)]


def _crossed(first, second, shuffled):
    """Return the first parents, with the items at half of their places in the sequence of the second parents."""
    places = np.sort(shuffled[:, : shuffled.shape[1] // 2], axis=1)
    items = np.take_along_axis(first, places, axis=1)
    sequence = np.argsort(np.take_along_axis(np.argsort(second, axis=1), items, axis=1), axis=1)
    children = first.copy()
    np.put_along_axis(children, places, np.take_along_axis(items, sequence, axis=1), axis=1)
    return children
