"""K-norm noise for Borda scores: uniform points of the permutohedron, and its norm.

The permutohedron of m items is the convex hull of all centred complete rankings: the permutations of (0, ..., m - 1)
minus (m - 1) / 2. Tied and partial ballots, centred in the same way, lie inside.
"""

from functools import lru_cache

import numpy as np

from ..._utils.checks import check_positive, check_whole


@lru_cache(maxsize=32)
def _pairs(n_items):
    """Return the pairs (first < second), with the pair (i, j) at index j (j - 1) / 2 + i."""
    second, first = np.tril_indices(n_items, -1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


def _recursive_tree(n_items, bits):
    """Return parents (of vertex j + 1: parent[j] <= j) of a tree that is uniform after random relabelling."""
    return np.minimum(bits.integers(n_items, n_items - 1), np.arange(n_items - 1))


def _one_point(n_items, bits):
    first, second = _pairs(n_items)
    height = bits.uniform(len(first)) - 0.5  # symmetric, so that exchanging two labels changes nothing
    parent = _recursive_tree(n_items, bits)
    children = np.arange(1, n_items)
    edges = children * (children - 1) // 2 + parent

    # The potential y solves y_i - y_j = height_ij on the edges of the tree; parents come before their children.
    potential = [0.0]
    for above, drop in zip(parent.tolist(), height[edges].tolist(), strict=True):
        potential.append(potential[above] - drop)
    y = np.array(potential)

    weight = np.where(y[first] - y[second] > height, 0.5, -0.5)
    weight[edges] = bits.uniform(n_items - 1) - 0.5
    point = np.bincount(first, weight, n_items) - np.bincount(second, weight, n_items)
    return point[np.argsort(bits.words(n_items))]  # two of m words are equal with probability below m**2 / 2**65


def sample_ball(n_items, bits, size=None):
    """Draw uniform points of the centred permutohedron (the whole body, not its surface).

    Parameters
    ----------
    n_items : int
        Number m of items, at least 1. The body has dimension m - 1.
    bits : BitSource
        Source of randomness.
    size : int, optional
        Number of points; None for a single one.

    Returns
    -------
    ndarray of shape (n_items,) or (size, n_items)
        Vectors with sum zero and gauge at most 1, in units of positions.

    Notes
    -----
    The permutohedron is the sum of the segments [-1/2, 1/2] (e_i - e_j). Heights in general position on the pairs cut
    this zonotope into one parallelepiped per spanning tree of the complete graph. Segments of the tree stay whole.
    Every other pair contributes the end given by the sign of y_i - y_j - height_ij. The graphic matroid is unimodular,
    so all tiles have the same volume. A uniform tree with uniform coordinates is therefore a uniform point, for any
    heights.

    The distribution of independent heights that are symmetric about 0 does not change if items are relabelled. Labels
    may thus be shuffled at the end. The tree then follows Aldous's rule: vertex j is attached to min(U_j, j - 1). The
    cost is O(m**2).

    References
    ----------
    .. [1] G. M. Ziegler, "Lectures on Polytopes", Springer, 1995, Section 7.5 and Example 9.8.
    .. [2] D. J. Aldous, "The random walk construction of uniform spanning trees and uniform labelled trees",
       SIAM J. Discrete Math. 3 (1990), Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> points = sample_ball(5, SeededBits(np.random.SeedSequence(0)), size=100)
    >>> points.shape, bool(np.all(gauge(points) <= 1 + 1e-12))
    ((100, 5), True)
    """
    check_whole(n_items, "n_items")
    draw = _one_point if n_items > 1 else lambda n, bits: np.zeros(n)
    if size is None:
        return draw(n_items, bits)
    return np.array([draw(n_items, bits) for _ in range(size)]).reshape(size, n_items)


def gauge(u):
    """Return the norm whose unit ball is the centred permutohedron.

    Parameters
    ----------
    u : array of shape (..., n_items)
        Vectors with sum zero, in units of positions.

    Returns
    -------
    ndarray of shape (...)
        Max over k of the sum of the k largest coordinates, divided by its bound k (m - k) / 2 (Rado's theorem).

    Examples
    --------
    >>> gauge([[-1.0, 0.0, 1.0], [0.5, 0.5, -1.0], [2.0, -2.0, 0.0]]).tolist()
    [1.0, 1.0, 2.0]
    """
    u = np.asarray(u, dtype=float)
    n_items = u.shape[-1]
    if n_items < 2:
        return np.zeros(u.shape[:-1])
    k = np.arange(1, n_items)
    largest = np.cumsum(-np.sort(-u, axis=-1), axis=-1)[..., :-1]
    return np.max(largest / (k * (n_items - k) / 2), axis=-1)


def knorm_noise(n_items, scale, bits):
    """Draw noise on centred Borda scores with density proportional to exp(-gauge(z) / scale).

    Parameters
    ----------
    n_items : int
        Number m of items.
    scale : float
        1 / epsilon if neighbours add or remove a ballot, 2 / epsilon if they replace one.
    bits : BitSource
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_items,)
        Noise with sum zero, in units of positions. Net wins are minus twice the centred scores: multiply by 2.

    Notes
    -----
    .. rubric:: Privacy

    The noise is in double precision. Publish the order of the noisy scores, never the scores.

    .. rubric:: Remarks

    The radius has a Gamma distribution of shape m, one more than the dimension, because the direction is uniform in the
    ball and not on its surface.

    References
    ----------
    .. [1] M. Hardt and K. Talwar, "On the Geometry of Differential Privacy", STOC 2010.
    .. [2] M. Joseph and A. Yu, "Some Constructions of Private, Efficient, and Optimal K-Norm and Elliptic Gaussian
       Noise", COLT 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> noise = knorm_noise(4, 1.0, SeededBits(np.random.SeedSequence(0)))
    >>> noise.shape, bool(abs(noise.sum()) < 1e-12)
    ((4,), True)
    """
    check_positive(scale=scale)
    radius = scale * bits.exponential(n_items).sum()
    return radius * sample_ball(n_items, bits)
