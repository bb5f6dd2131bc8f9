"""Majority components: where a Kemeny problem falls apart."""

import heapq

import numpy as np
from scipy.sparse.csgraph import connected_components


def majority_components(margins):
    """Split items into the strongly connected components of the strict majority graph.

    Parameters
    ----------
    margins : array, shape (m, m)
        ``margins[i, j]`` is positive if i beats j: voters who prefer i to j minus voters who prefer
        j to i. A zero is a tie, and no edge.

    Returns
    -------
    list of array of int
        The components, best first, each in increasing order of items. Among components that may come
        next, the one with the smallest item does.

    Notes
    -----
    Optimal orders of the components, concatenated, are a Kemeny optimum. No strict edge goes from a later
    component to an earlier one, so the concatenation puts each pair of items from two components in an
    order that costs the smaller of its two costs (either one, for a tie). Within a component it costs the
    optimum of that component. Both parts are lower bounds on the same parts of every order. This is
    the extended Condorcet criterion (Truchon, 1998), with ties.

    References
    ----------
    Truchon, M. (1998). An extension of the Condorcet criterion and Kemeny orders. Cahier 9813, CREFA,
    Université Laval.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.orders.components import majority_components
    >>> margins = np.zeros((4, 4), dtype=int)
    >>> for winner, loser in [(3, 0), (3, 1), (3, 2), (0, 1), (1, 2), (2, 0)]:
    ...     margins[winner, loser], margins[loser, winner] = 1, -1
    >>> [part.tolist() for part in majority_components(margins)]
    [[3], [0, 1, 2]]
    """
    beats = np.asarray(margins) > 0
    count, label = connected_components(beats, connection="strong")
    parts = [np.flatnonzero(label == part) for part in range(count)]
    edge = np.zeros((count, count), dtype=bool)
    winner, loser = np.nonzero(beats)
    edge[label[winner], label[loser]] = True
    np.fill_diagonal(edge, False)
    waits = edge.sum(axis=0)  # components that must still come before
    ready = [(int(parts[part][0]), part) for part in np.flatnonzero(waits == 0)]
    heapq.heapify(ready)
    ordered = []
    while ready:
        part = heapq.heappop(ready)[1]
        ordered.append(parts[part])
        waits -= edge[part]
        for following in np.flatnonzero(edge[part] & (waits == 0)):
            heapq.heappush(ready, (int(parts[following][0]), following))
    return ordered
