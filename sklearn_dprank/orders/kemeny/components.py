"""Decomposition of Kemeny problems into majority components."""

import numpy as np
from scipy.sparse.csgraph import connected_components

_FEW = 32  # up to so many items, a closure of bit masks is faster than SciPy


def majority_components(margins):
    """Split items into the strongly connected components of the strict majority graph.

    Parameters
    ----------
    margins : array, shape (m, m)
        ``margins[i, j]`` is positive if i beats j: the voters who prefer i to j minus the voters who prefer j to i.
        Zero is a tie and adds no edge.

    Returns
    -------
    list of array of int
        Components, best first, each in increasing order of items. If several components can come next, the one with the
        smallest item does.

    Notes
    -----
    Optimal orders of the components, concatenated, are a Kemeny optimum. No strict edge goes from a later component to
    an earlier one. For two items from different components, the concatenation therefore costs the smaller of their two
    costs (either one, for a tie). Within a component, it costs the optimum of that component. Both parts are lower
    bounds on the same parts of every order. This is the extended Condorcet criterion (Truchon, 1998), with ties.

    References
    ----------
    Truchon, M. (1998). An extension of the Condorcet criterion and Kemeny orders. Cahier 9813, CREFA,
    Université Laval.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.kemeny.components import majority_components
    >>> margins = np.zeros((4, 4), dtype=int)
    >>> for winner, loser in [(3, 0), (3, 1), (3, 2), (0, 1), (1, 2), (2, 0)]:
    ...     margins[winner, loser], margins[loser, winner] = 1, -1
    >>> [part.tolist() for part in majority_components(margins)]
    [[3], [0, 1, 2]]
    """
    beats = np.asarray(margins) > 0
    beaten_by = masks_above(beats)
    labels = _closure(beaten_by) if len(beats) <= _FEW else connected_components(beats, connection="strong")[1].tolist()
    parts: dict[int, list[int]] = {}  # in the order of their smallest items
    for item, label in enumerate(labels):
        parts.setdefault(label, []).append(item)
    waiting = []
    for part in parts.values():
        inside = sum(1 << item for item in part)
        above = 0
        for item in part:
            above |= beaten_by[item]
        waiting.append((part, inside, above & ~inside))
    ordered = []
    done = 0
    while waiting:  # quadratic in the components, but each step is one operation on masks
        place = next(place for place, (_, _, above) in enumerate(waiting) if not above & ~done)
        part, inside, _ = waiting.pop(place)
        ordered.append(np.array(part, dtype=np.int64))
        done |= inside
    return ordered


def masks_above(before):
    """Return, for each item j, the items i with ``before[i, j]`` as a bit mask, a Python int of any length."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(before.T, axis=1, bitorder="little")]


def _closure(beaten_by):
    """Return, for each item, the mask of itself and all items that beat it directly or through others (Warshall).

    Two items are in one component if and only if their masks are equal.
    """
    above = [mask | 1 << item for item, mask in enumerate(beaten_by)]
    for through in range(len(above)):
        bit, more = 1 << through, above[through]
        above = [mask | more if mask & bit else mask for mask in above]
    return above
