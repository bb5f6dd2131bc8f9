"""Insertion local search for orders of small total cost: fast upper bounds, no certificate."""

import numpy as np

_KICK = 8  # random insertions a kick: enough to leave a local optimum, few enough to stay near it
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
    >>> from sklearn_dprank.orders.local_search import total_cost
    >>> total_cost(np.array([[0, 1, 2], [5, 0, 3], [7, 9, 0]]), [1, 0, 2])
    10
    """
    return np.triu(np.asarray(cost)[np.ix_(order, order)], 1).sum().item()


def insertion_search(cost, order):
    """Move single items while that lowers the total cost, the best move first.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Items, best first: where to start.

    Returns
    -------
    array of int, shape (m,)
        An order that no move of one item improves (for floats: by more than rounding).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.local_search import insertion_search
    >>> cost = np.triu(np.ones((4, 4), dtype=int))  # each item is better than all before it
    >>> insertion_search(cost, [0, 1, 2, 3])
    array([3, 2, 1, 0])
    """
    cost = np.asarray(cost)
    return _descend(cost - cost.T, np.array(order, dtype=np.int64))


def _descend(excess, order):
    """Run the search; ``excess[i, j]`` is the cost of i before j minus that of j before i."""
    m = len(order)
    every = np.arange(m)
    excess = excess[np.ix_(order, order)]
    scale = np.abs(excess).sum() if excess.dtype.kind == "f" else 0
    before = np.zeros((m, m + 1), dtype=excess.dtype)
    while m:
        # before[p, g] - before[p, p]: what is saved when the item in place p moves into gap g
        np.cumsum(excess, axis=1, out=before[:, 1:])
        gap = before.argmax(axis=1)
        saved = before[every, gap] - before[every, every]
        place = int(saved.argmax())
        if saved[place] <= 1e-12 * scale:
            break
        moved = _insert(every, place, int(gap[place]))
        order, excess = order[moved], excess[np.ix_(moved, moved)]
    return order


def _insert(order, place, gap):
    """Return `order` with the item in `place` moved into `gap` (0: first; m: last)."""
    item = order[place]
    rest = np.delete(order, place)
    return np.insert(rest, gap - (gap > place), item)


def perturbed_search(cost, order, kicks=30, bits=None):
    """Iterate insertion search: kick the best order so far, search again, keep what is no worse.

    Parameters
    ----------
    cost : array of int or float, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Items, best first: where to start.
    kicks : int, default=30
        How many times.
    bits : BitSource or None, default=None
        Supplies ``integers(bound, size)`` for the kicks. None takes a fixed evenly spread sequence, so that
        the result is a function of `cost` and `order`.

    Returns
    -------
    array of int, shape (m,)
        An order that no move of one item improves.

    References
    ----------
    Schiavinotto, T., & Stützle, T. (2004). The linear ordering problem: instances, search space analysis and
    algorithms. Journal of Mathematical Modelling and Algorithms 3 (iterated local search).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.local_search import perturbed_search
    >>> perturbed_search(np.triu(np.ones((4, 4), dtype=int)), [0, 1, 2, 3], kicks=2)
    array([3, 2, 1, 0])
    """
    cost = np.asarray(cost)
    excess = cost - cost.T
    m = len(cost)
    best = _descend(excess, np.array(order, dtype=np.int64))
    if m < 3:
        return best
    least = total_cost(excess, best)
    for kick in range(kicks):
        trial = best
        for place, gap in _moves(m, kick, bits):
            trial = _insert(trial, place, gap)
        trial = _descend(excess, trial)
        value = total_cost(excess, trial)
        if value <= least:
            best, least = trial, value
    return best


def _moves(m, kick, bits):
    """Return the (place, gap) pairs of one kick."""
    if bits is not None:
        return np.stack([bits.integers(m, _KICK), bits.integers(m + 1, _KICK)], axis=1).tolist()
    step = np.arange(1, _KICK + 1) + kick * _KICK
    places = (m * (step / _PLASTIC % 1)).astype(int)
    gaps = ((m + 1) * (step / _PLASTIC**2 % 1)).astype(int)
    return np.stack([places, gaps], axis=1).tolist()
