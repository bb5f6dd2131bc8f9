"""Local and memetic search for good orders."""

import math
from copy import copy

import numpy as np

from .work import Work

_ITEM, _ENTRY = 6000, 4  # steps per item, and per entry of its row
_KICK = 8  # random insertions per perturbation: enough to leave a local optimum, few enough to stay near it
_PLASTIC = 1.3247179572447460  # R2 sequence: multiples of (1/g, 1/g**2) mod 1 fill the unit square evenly


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
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Starting order, best first.
    work : Work or None, default=None
        Limit on the work, checked before each item; None means no limit.

    Returns
    -------
    array of int, shape (m,)
        Order that no move of one item improves (for floats: by more than rounding), or the order reached at the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.local_search import insertion_search
    >>> cost = np.triu(np.ones((4, 4), dtype=int))  # each item is better than all before it
    >>> insertion_search(cost, [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    cost = np.asarray(cost)
    found = _Descent(cost - cost.T, np.array(order, dtype=np.int64))
    found.run(work or Work())
    return found.order


def rounding(excess):
    """Return the possible rounding error of a sum of entries, which a move must exceed; 0 for integers."""
    return 1e-12 * np.abs(excess).sum() if excess.dtype.kind == "f" else 0


class _Descent:
    """Insertion search on one order.

    Parameters
    ----------
    excess : array, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    order : array of int64, shape (m,)
        Items, best first; changed in place.

    Attributes
    ----------
    order : array of int64, shape (m,)
        Current order.
    saved : int or float
        Cost of the first order minus that of the current one.
    """

    def __init__(self, excess, order):
        self.order, self.saved = order, 0
        self._excess = excess
        self._place = np.argsort(order)
        # before[g]: extra cost of the item in first place, compared with gap g (0: first; m: last)
        self._before = np.zeros(len(order) + 1, dtype=excess.dtype)
        self._noise = rounding(excess)

    def copy(self):
        other = copy(self)
        other.order, other._place = self.order.copy(), self._place.copy()
        return other

    def run(self, work):
        """Move each item in turn to its best gap, until no item moves or the work is used up."""
        m = len(self.order)
        item = settled = 0
        while settled < m and not work.over:
            work.spend(_ITEM + _ENTRY * m)
            before, place = self._costs(item), self._place[item]
            gap = before.argmax()
            if before[gap] - before[place] > self._noise:
                self._move(item, place, gap)
                settled = 0
            settled += 1
            item = (item + 1) % m

    def move(self, place, gap):
        """Move the item at `place` to `gap` (0: first; m: last), even if this costs more."""
        item = self.order[place]
        self._costs(item)
        self._move(item, place, gap)

    def _costs(self, item):
        np.cumsum(self._excess[item].take(self.order), out=self._before[1:])
        return self._before

    def _move(self, item, place, gap):
        self.saved += (self._before[gap] - self._before[place]).item()
        order = self.order
        if gap > place:
            gap -= 1
            order[place:gap] = order[place + 1 : gap + 1].copy()
        else:
            order[gap + 1 : place + 1] = order[gap:place].copy()
        order[gap] = item
        low, high = min(place, gap), max(place, gap) + 1
        self._place[order[low:high]] = np.arange(low, high)


def perturbed_search(cost, order, kicks=30, bits=None, work=None, enough=None):
    """Improve an order by iterated local search.

    Each iteration perturbs the best order, runs `insertion_search`, and keeps the result unless it is worse.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Starting order, best first.
    kicks : int, default=30
        Number of perturbations.
    bits : BitSource or None, default=None
        Supplies ``integers(bound, size)`` for the perturbations. None uses a fixed, evenly spread sequence, so that the
        search is deterministic.
    work : Work or None, default=None
        Limit on the work; None means no limit.
    enough : int or float or None, default=None
        Total cost at which the search stops.

    Returns
    -------
    array of int, shape (m,)
        Order that no move of one item improves, or the best order found at the limit.

    References
    ----------
    Schiavinotto, T., & Stützle, T. (2004). The linear ordering problem: instances, search space analysis and
    algorithms. Journal of Mathematical Modelling and Algorithms 3 (iterated local search).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.local_search import perturbed_search
    >>> perturbed_search(np.triu(np.ones((4, 4), dtype=int)), [0, 1, 2, 3], kicks=2)
    array([3, 2, 1, 0])
    """
    cost = np.asarray(cost)
    m, work = len(cost), work or Work()
    best = _Descent(cost - cost.T, np.array(order, dtype=np.int64))
    best.run(work)
    saved_enough = math.inf if enough is None else total_cost(cost, order) - enough
    for kick in range(kicks if m >= 3 else 0):
        if work.over or best.saved >= saved_enough:
            break
        trial = best.copy()
        for place, gap in _moves(m, kick, bits):
            trial.move(place, gap)
        work.spend(_KICK * (_ITEM + _ENTRY * m))
        trial.run(work)
        if trial.saved >= best.saved:
            best = trial
    return best.order


def _moves(m, kick, bits):
    """Return the (place, gap) pairs of one kick."""
    if bits is not None:
        return np.stack([bits.integers(m, _KICK), bits.integers(m + 1, _KICK)], axis=1).tolist()
    step = np.arange(1, _KICK + 1) + kick * _KICK
    places = (m * (step / _PLASTIC % 1)).astype(int)
    gaps = ((m + 1) * (step / _PLASTIC**2 % 1)).astype(int)
    return np.stack([places, gaps], axis=1).tolist()


_MOST, _ENTRIES, _FEWEST = 64, 2**14, 16  # limits on the population size, see `_count`
_PATIENCE = 5  # generations without a better member before the search ends
_STEP, _STEP_ENTRY = 16_000, 2  # steps per item for all orders together, and per entry of the orders


def memetic_search(cost, order, bits=None, work=None, enough=None):
    """Improve a population of orders by crossover and insertion search, and return the best one.

    A child is a copy of its first parent. The items at a random half of its places are put into the sequence that they
    have in the second parent. A child therefore keeps many pairs on which its parents agree. Good orders tend to share
    them.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        One of the starting orders, best first. The others are random.
    bits : BitSource or None, default=None
        Supplies ``words(size)`` for the random choices. None uses a fixed sequence, so that the search is
        deterministic.
    work : Work or None, default=None
        Limit on the work; None means no limit. The search also ends after several generations without an improvement.
    enough : int or float or None, default=None
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
    """Run `insertion_search` on many orders at once.

    Items are moved one after the other, each in all orders at once. An order is settled once no item moves in a round.

    Parameters
    ----------
    excess : array, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    orders : array of int, shape (k, m)
        Items, best first, one order per row.
    work : Work
        Limit on the work, checked before each item.

    Returns
    -------
    orders : array of int, shape (count, m)
        Orders that settled before the limit, the first to settle first.
    totals : array, shape (count,)
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
    noise = rounding(excess)
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
            better = np.flatnonzero(before[every, gap] - here > noise)
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
