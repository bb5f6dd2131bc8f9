"""Ties among optima: which of the orders of least total cost is taken, whoever found one of them."""

import numpy as np

from .local_search import memetic_search, perturbed_search, total_cost

_KICKS = 4  # before orders are crossed, which takes longer and meets more


def met_optimum(cost, order, least, work):
    """Return the order that searches from another one meet, and stop at if it is an optimum.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        Where to begin, best first.
    least : int
        The total of an optimum.
    work : Work
        What may be spent.

    Returns
    -------
    array of int, shape (m,)
        A function of `cost`, `order` and `least`, whatever found an optimum before.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.ties import met_optimum
    >>> from sklearn_dprank.orders.kemeny.work import Work
    >>> met_optimum(np.triu(np.ones((4, 4), dtype=int)), np.arange(4), 0, Work())
    array([3, 2, 1, 0])
    """
    met = perturbed_search(cost, order, kicks=_KICKS, work=work, enough=least)
    return met if total_cost(cost, met) <= least else memetic_search(cost, met, work=work, enough=least)


def first_optimum(cost, order, cut):
    """Return the first optimum in lexicographic order.

    Parameters
    ----------
    cost : array of int, shape (m, m)
        Cost of placing i before j.
    order : array of int, shape (m,)
        An optimum, best first.
    cut : callable
        ``cut(before)`` of a relation of items, bool of shape (m, m), returns None if no optimum agrees with it, or two
        matrices: a partial order that contains it and agrees with the same optima, and a guess, in [0, 1], of what
        comes before what. A relation that goes round in a circle agrees with nothing.

    Returns
    -------
    array of int, shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.ties import first_optimum
    >>> cost = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])  # 1 comes before or after both
    >>> def cut(before):
    ...     return None if (before & before.T).any() else (before, before + 0.0)
    >>> first_optimum(np.triu(np.ones((3, 3), dtype=int)).T, np.array([0, 1, 2]), cut)
    array([0, 1, 2])
    """
    least = total_cost(cost, order)
    node = cut(np.zeros(cost.shape, dtype=bool))
    if node is None:
        return order
    before = node[0]
    for place in range(len(order)):
        rest = order[place:]
        for item in np.sort(rest[rest < order[place]]):
            if before[rest, item].any():
                continue
            found = _optimum_within(cost, least, _moved(order, item, place), _first(before, item, rest), cut)
            if found is not None:
                order = found
                break
        before = _first(before, order[place], order[place:])
    return order


def _optimum_within(cost, least, order, before, cut):
    """Return an order of the least total that agrees with a relation, or None; `order`, which does, if it will do."""
    if total_cost(cost, order) == least:
        return order
    waiting = [before]
    while waiting:
        node = cut(waiting.pop())
        if node is None:
            continue
        before = node[0]
        guess = np.where(before, 1, np.where(before.T, 0, node[1]))
        order = np.argsort(-guess.sum(axis=1), kind="stable")
        if _agree(order, before) and total_cost(cost, order) == least:
            return order
        unsettled = ~(before | before.T)
        np.fill_diagonal(unsettled, False)
        if unsettled.any():
            i, j = np.unravel_index(np.argmin(np.where(unsettled, np.abs(guess - 0.5), 1)), guess.shape)
            for pair in ([j], [i]), ([i], [j]):
                child = before.copy()
                child[pair] = True
                waiting.append(child)
    return None


def _agree(order, before):
    return not np.tril(before[np.ix_(order, order)]).any()


def _first(before, item, rest):
    """Return the relation and that an item comes before the rest."""
    wider = before.copy()
    wider[item, rest] = True
    wider[item, item] = False
    return wider


def _moved(order, item, place):
    """Return the order with an item moved ahead to a place."""
    others = order[order != item]
    return np.concatenate([others[:place], [item], others[place:]])
