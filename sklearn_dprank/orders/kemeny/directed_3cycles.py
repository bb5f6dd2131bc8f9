"""Circles of items, which no order can satisfy: those that a fraction of an order violates, and what they must cost."""

import numpy as np

_ROW, _ENTRY, _CELL = 8000, 6, 6  # steps a row of a packing takes and each of its entries, and a pair of a scan


def violated_circles(before, limit, work):
    """Return the triples (i, j, k), i < j and i < k, most above x_ij + x_jk + x_ki = 2.

    Parameters
    ----------
    before : array, shape (m, m)
        ``before[i, j]`` in [0, 1] is x_ij, and ``before[j, i]`` is one minus it.
    limit : int
        At most so many, the most violated first.
    work : Work
        What may be spent; once it is over, the i that are left are not looked at.

    Returns
    -------
    array of int, shape (count, 3)
    """
    waiting, count = [(np.empty((0, 3), dtype=np.int64), np.empty(0))], 0
    for i in range(len(before) - 2):
        if work.over:
            break
        # each of the three exceeds 0 where they exceed 2 together
        j, k = (i + 1 + np.flatnonzero(before[i, i + 1 :])), (i + 1 + np.flatnonzero(before[i + 1 :, i]))
        work.spend(_ROW + _CELL * len(j) * len(k))
        above = before[i, j, None] + before[j[:, None], k] + before[k, i] - (2 + 1e-6)
        first, second = np.nonzero(above > 0)
        triples = np.stack([np.full(len(first), i), j[first], k[second]], axis=1)
        waiting.append(_most(triples, above[first, second], limit))
        count += len(waiting[-1][0])
        if count > 4 * limit:
            triples, amounts = _joined(waiting)
            waiting, count = [_most(triples, amounts, limit)], limit
    found, excess = _joined(waiting)
    return found[np.argsort(-excess, kind="stable")[:limit]]


def _joined(waiting):
    triples, excess = zip(*waiting, strict=True)
    return np.concatenate(triples), np.concatenate(excess)


def _most(triples, excess, limit):
    """Return those of most excess, no more than `limit`; the first come first among equals."""
    if len(triples) <= limit:
        return triples, excess
    most = np.argsort(-excess, kind="stable")[:limit]
    return triples[most], excess[most]


def packed_circles(excess, work):
    """Bound from below what every order overrules, by circles that share no part of a majority.

    Every order overrules a pair of each circle of majorities. Circles to which weights are given, so that no pair
    carries more than its majority, therefore cost every order the sum of the weights at least. Circles of three are
    filled greedily; where ties leave none, or no work is left, one circle of any length is found.

    Parameters
    ----------
    excess : array of int, shape (m, m)
        ``excess[i, j]`` is the cost of i before j minus that of j before i.
    work : Work
        What may be spent. The single circle is found even so.

    Returns
    -------
    int
        A bound on what an order costs beyond the cheaper order of each pair; above 0 if majorities run in a circle
        and the items are one component of them.
    """
    room = np.maximum(-excess, 0)  # what putting j before i costs more than i before j
    return _threes(room.copy(), work) or _one_circle(room)


def packing_steps(n_items):
    """Return how many steps `packed_circles` takes, at most about: a row for each majority."""
    return n_items**2 // 4 * (_ROW + _ENTRY * n_items // 3)


def _threes(room, work):
    """Fill circles i -> j -> k -> i, one i after the other; return the sum of their weights."""
    total = 0
    for i in range(len(room) - 2):
        back = room[i + 1 :, i].copy()  # from each k
        for j in np.flatnonzero(room[i, i + 1 :]):
            if work.over:
                return total
            work.spend(_ROW + _ENTRY * len(back))
            forth = room[i + 1 + j, i + 1 :]
            most = np.minimum(forth, back)
            filled = np.minimum(most.cumsum(), room[i, i + 1 + j])
            weights = np.diff(filled, prepend=0)
            forth -= weights
            back -= weights
            total += int(filled[-1])
    return total


def _one_circle(room):
    """Follow the largest majorities until an item comes again; return the smallest of the circle, or 0."""
    item, seen = 0, {}
    majorities: list[int] = []
    while len(room) and item not in seen:
        seen[item] = len(majorities)
        following = int(room[item].argmax())
        majorities.append(int(room[item, following]))
        item = following
    return min(majorities[seen[item] :]) if majorities else 0
