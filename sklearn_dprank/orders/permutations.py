"""Permutations: Lehmer codes, histograms of rankings, positions, and pairwise disagreement of rankings.

A Lehmer code numbers the complete strict rankings of m items from 0 to m! - 1. `permutation_index` and
`indexed_permutations` convert between positions and codes. `first_places` and `without_item` evaluate and reduce
histograms of rankings, which are indexed by the digits of the codes.

`order_to_positions` inverts an order, and `as_positions` validates positions. `opposite_pairs` counts the pairs that
two rankings order oppositely: directly for few items, by sorting for many. `disagreements` sums the pairwise
preferences that a ranking contradicts.

The last part has the number of comparisons of quicksort: its exact distribution and bounds.
"""

import math
from functools import lru_cache
from itertools import combinations
from math import factorial

import numpy as np

from .._utils.checks import check_choice


def permutation_index(positions):
    """Return the Lehmer codes of complete strict rankings.

    Parameters
    ----------
    positions : ndarray of int, shape (n_items, n_rankings)
        Position of each item in each ranking, 0 to n_items - 1. At most 20 items.

    Returns
    -------
    ndarray of int64, shape (n_rankings,)
        0 to n_items! - 1.

    Examples
    --------
    >>> permutation_index(np.array([[0, 2], [1, 1], [2, 0]]))
    array([0, 5])
    """
    n_items = len(positions)
    index = np.zeros(positions.shape[1], dtype=np.int64)
    for i in range(n_items - 1):
        smaller = np.add.reduce(positions[i + 1 :] < positions[i], axis=0, dtype=np.uint8)  # at most 20 items
        index += np.multiply(smaller, factorial(n_items - 1 - i), dtype=np.int64)
    return index


def indexed_permutations(index, n_items):
    """Return the rankings with the given Lehmer codes: the inverse of `permutation_index`.

    Parameters
    ----------
    index : ndarray of int, shape (n_rankings,)
        0 to n_items! - 1.
    n_items : int
        Number of items.

    Returns
    -------
    ndarray of int64, shape (n_items, n_rankings)
        Position of each item in each ranking.

    Examples
    --------
    >>> indexed_permutations(np.array([0, 5]), 3)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    index = np.asarray(index)
    out = np.empty((n_items, len(index)), dtype=np.int64)
    for i in range(n_items):
        out[i], index = np.divmod(index, factorial(n_items - 1 - i))
    # Digit i counts the later items placed before item i. Shift those at or after its place, last item first.
    for i in range(n_items - 2, -1, -1):
        out[i + 1 :] += out[i + 1 :] >= out[i]
    return out


def first_places(histogram):
    """Return the number of rankings that put each item first.

    Parameters
    ----------
    histogram : array of shape (n_items, n_items - 1, ..., 1)
        Number of rankings with each Lehmer code, indexed by the digits of the code. Digit i is the place of item i
        among the items i, i + 1, ...

    Returns
    -------
    ndarray of shape (n_items,)

    Examples
    --------
    >>> first_places(np.array([5, 0, 0, 0, 0, 2]).reshape(3, 2, 1))
    array([5, 0, 2])
    """
    # Item i is first if its digit is 0 (it precedes all later items), and the digit of each earlier item is not 0.
    return np.array([histogram[(slice(1, None),) * i + (0,)].sum() for i in range(histogram.ndim)])


def without_item(histogram, item):
    """Return the histogram of the rankings after one item is removed.

    Parameters
    ----------
    histogram : array of shape (n_items, n_items - 1, ..., 1)
        As for `first_places`.
    item : int
        Item to remove from every ranking.

    Returns
    -------
    ndarray of shape (n_items - 1, n_items - 2, ..., 1)

    Examples
    --------
    >>> without_item(np.array([5, 0, 0, 0, 0, 2]).reshape(3, 2, 1), 1).ravel()
    array([5, 2])
    """
    n_items = histogram.ndim
    for i in range(item - 1, -1, -1):
        # Exchange neighbours, so that `item` comes one step earlier in the numbering. `pair` is indexed by the digits
        # of both before: of item i among the items i, i + 1, ..., and of `item` among the items i + 1, ...
        # Afterwards: of `item` among the items i, i + 1, ... (`place`), and of item i among these without `item`.
        other, place = np.indices((n_items - 1 - i, n_items - i))
        pair = np.moveaxis(histogram, (i, item), (0, 1))
        histogram = np.moveaxis(pair[other + (other >= place), place - (other < place)], (0, 1), (i, item))
    return histogram.sum(axis=item)


FEW = 200  # up to so many items, comparing every pair is faster than sorting
_FEWER = 12  # up to so many items, a loop in Python is faster than NumPy
_BLOCK = 64  # values in a block whose pairs are compared directly


def opposite_pairs(first, second):
    """Count the pairs that two rankings order oppositely. A tie in either ranking does not count.

    Parameters
    ----------
    first, second : ndarray of shape (n_items,)
        Positions. For at most `FEW` items, any numbers; pairs with a NaN do not count. For more items, uint8 or uint16.

    Returns
    -------
    int

    Notes
    -----
    If the items are sorted by the first ranking, with ties in the order of the second, the opposite pairs are the
    inversions of the second ranking. Counting them takes O(n_items log(n_items)^2) time and O(n_items) memory.

    Examples
    --------
    >>> opposite_pairs(np.array([0, 1, 2, 2]), np.array([2, 1, 0, 1]))
    4
    """
    if len(first) <= _FEWER:
        pairs = combinations(zip(first.tolist(), second.tolist(), strict=True), 2)
        return sum((a < b and c > d) or (a > b and c < d) for (a, c), (b, d) in pairs)
    if len(first) <= FEW:
        return int(np.count_nonzero((first[:, None] < first) & (second[:, None] > second)))
    values = second[np.lexsort((second, first))]
    rows = 1 << max(0, -(-len(values) // _BLOCK) - 1).bit_length()
    padded = np.full(rows * _BLOCK, np.iinfo(values.dtype).max, dtype=values.dtype)  # adds no inversions
    padded[: len(values)] = values
    blocks = padded.reshape(rows, _BLOCK)
    found = int(np.count_nonzero((blocks[:, :, None] < blocks[:, None]) & np.tri(_BLOCK, k=-1, dtype=bool)))
    while rows > 1:
        half, rows = len(padded) // rows, rows // 2  # inversions between the left and the right half of each row
        order = np.argsort(padded.reshape(rows, -1), axis=1, kind="stable")  # equal values: left before right
        places = np.flatnonzero(order >= half) % (2 * half)  # places of the right values, ascending
        # A right value at place p, after r other right values, follows p - r left values and precedes half - p + r.
        found += rows * (half * half + half * (half - 1) // 2) - int(places.sum())
    return found


def order_to_positions(order, n_items=None):
    """Return the position of each item: the inverse permutation of an order, or of each of several orders.

    Parameters
    ----------
    order : array-like of int, shape (..., k)
        Items, best first.
    n_items : int or None, default=None
        Number of items; None means k. Items that are not in the order are tied in last place.

    Returns
    -------
    ndarray of int64, shape (..., n_items)
        Positions; 0 is best.

    Examples
    --------
    >>> order_to_positions([2, 0, 1])
    array([1, 2, 0])
    >>> order_to_positions([2, 0], n_items=4)
    array([1, 2, 0, 2])
    """
    order = np.asarray(order)
    *several, k = order.shape
    positions = np.full((*several, k if n_items is None else n_items), k, dtype=np.int64)
    np.put_along_axis(positions, order, np.arange(k), axis=-1)
    return positions


def check_order(order, n_items, name):
    """Return an order of distinct items as an array; raise ValueError, which names the order, if it is not one.

    Examples
    --------
    >>> check_order([2, 0], 3, "the order")
    array([2, 0])
    """
    order = np.asarray(order)
    if order.ndim != 1 or not order.size or order.dtype.kind not in "iu":
        got = f"it has shape {order.shape} and type {order.dtype}"
    elif len(items := set(order.tolist())) < len(order):
        got = "an item stands twice"
    elif min(items) < 0 or max(items) >= n_items:
        got = "an item is not there"
    else:
        return order
    raise ValueError(f"{name} must hold distinct items, from 0 to {n_items - 1}, best first; {got}.")


def as_positions(positions, n_items, name="positions"):
    """Return positions as an array, one for each item.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        Positions; smaller is better, equal is tied.
    n_items : int
        Number of items.
    name : str, default="positions"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_items,)
        Integers stay integers; other numbers become floats.

    Raises
    ------
    ValueError
        If the positions are not numbers, have the wrong shape, or contain NaN.
    """
    try:
        array = np.asarray(positions)
        if array.dtype.kind not in "iu":  # keep integers: doubles tie some of them beyond 2^53
            array = array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers (ranks_, not consensus_): where each item stands.") from None
    if array.shape != (n_items,):
        raise ValueError(f"{name} must hold one position for each of the {n_items} items, got shape {array.shape}.")
    if np.isnan(array).any():
        raise ValueError(f"{name} must place every item; NaN, no opinion, is for ballots only.")
    return array


def disagreements(preferred, positions):
    """Sum the preferences that a ranking contradicts, and half of those between items that it ties.

    Parameters
    ----------
    preferred : array of int, shape (n_items, n_items)
        Weight of the preference for i over j, such as a number of voters; zero diagonal.
    positions : array, shape (n_items,)
        Positions; smaller is better, equal is tied.

    Returns
    -------
    int or float
        An integer for a strict ranking.

    Examples
    --------
    >>> import numpy as np
    >>> for_the_first = np.array([[0, 3], [1, 0]])
    >>> [float(disagreements(for_the_first, np.array(places))) for places in ([0, 1], [1, 0], [0, 0])]
    [1.0, 3.0, 2.0]
    """
    behind = positions[:, None] > positions
    total = np.vdot(preferred, behind)
    if 2 * np.count_nonzero(behind) < len(positions) * (len(positions) - 1):  # a strict ranking keeps integers
        total = total + np.vdot(preferred, positions[:, None] == positions) / 2
    return total


# Comparison counts of sorting: exact distribution, upper limits and tail bounds.
#
# The query budgets of P-SORT (Hay et al. 2017), DPKwikSort and LDPKwikSort (Alabi et al. 2022) are based on them.


def binary_insertion_bound(n_items):
    """Return the largest number of comparisons of binary insertion sort: the sum of ceil(log2 k) for k = 2..m.

    Examples
    --------
    >>> [binary_insertion_bound(m) for m in (10, 20, 40)]
    [25, 69, 177]
    """
    return sum((k - 1).bit_length() for k in range(2, n_items + 1))


def p_sort_max_queries(n_items, log="log2"):
    """Return M = floor((m - 1) log m), the number of comparisons that P-SORT pays for. Quicksort sometimes exceeds M.

    Parameters
    ----------
    n_items : int
        Number m of items.
    log : {"log2", "ln"}, default="log2"
        Base of the logarithm, which the paper does not name.

    Returns
    -------
    int
        Number of comparisons answered with noise. Later comparisons are coin flips.

    Notes
    -----
    For two or more items and log2, M is at least 1 and at most C(m, 2). For two items and the natural logarithm, M is
    0.

    References
    ----------
    Hay, Elagina and Miklau (2017), Definition 9.

    Examples
    --------
    >>> p_sort_max_queries(10), p_sort_max_queries(10, log="ln")
    (29, 20)
    """
    check_choice(log, "log", ("log2", "ln"))
    return math.floor((n_items - 1) * (math.log2(n_items) if log == "log2" else math.log(n_items)))


@lru_cache(maxsize=64)
def quicksort_comparisons(n_items):
    """Return the exact distribution of the number of comparisons of quicksort with uniform pivots.

    The generating function is G_k(z) = z^(k-1) mean_j G_j(z) G_(k-1-j)(z), evaluated here at roots of unity.

    Parameters
    ----------
    n_items : int
        Number m of items to sort.

    Returns
    -------
    numpy.ndarray of shape (C(m, 2) + 1,)
        Probability of each number of comparisons, with an absolute error of about 1e-15. Read-only.

    Examples
    --------
    >>> quicksort_comparisons(3).round(4)
    array([0.    , 0.    , 0.3333, 0.6667])
    """
    law = np.clip(np.fft.irfft(_generating(n_items)[n_items], math.comb(n_items, 2) + 1), 0, None)
    law.setflags(write=False)
    return law


def quicksort_comparisons_up_to(n_items):
    """Return the distributions for 0, 1, ..., m items together, in about the time of the last one alone.

    Parameters
    ----------
    n_items : int
        Largest number m of items.

    Returns
    -------
    numpy.ndarray of shape (m + 1, C(m, 2) + 1)
        Probability of each number of comparisons, one row per number of items.

    Examples
    --------
    >>> quicksort_comparisons_up_to(3)[2].round(4)
    array([0., 1., 0., 0.])
    """
    return np.clip(np.fft.irfft(_generating(n_items), math.comb(n_items, 2) + 1), 0, None)


def _generating(n_items):
    """Return G_0, ..., G_m at the roots of unity, shape (m + 1, half of the roots)."""
    size = math.comb(n_items, 2) + 1
    root = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    generating = np.ones((n_items + 1, len(root)), dtype=complex)
    for k in range(2, n_items + 1):
        generating[k] = root ** (k - 1) * (generating[:k] * generating[k - 1 :: -1]).mean(axis=0)
    return generating


@lru_cache(maxsize=1024)
def quicksort_query_bound(n_items, xi=1.0):
    """Return q such that quicksort makes more than q comparisons with probability at most xi / m^4.

    The bound holds for any answers, including cyclic and noisy ones (any tournament).

    Parameters
    ----------
    n_items : int
        Number m of items.
    xi : float, default=1.0
        In (0, 1].

    Returns
    -------
    int
        At most C(m, 2). If it equals C(m, 2), a budget of q covers every pair.

    Raises
    ------
    ValueError
        If xi is not in (0, 1].

    Notes
    -----
    q is a Chernoff bound, rounded up: the minimum over t of (ln g_t(m) + ln(m^4/xi))/t, and at most C(m, 2). The moment
    generating function of quicksort is g_t(k) = e^(t (k - 1)) mean_j g_t(j) g_t(k - 1 - j). Every t gives a valid
    bound.

    Among the tournaments on k items, the transitive one is the worst case. Its scores 0, ..., k - 1 majorise all other
    score sequences (Landau), and j -> g(j) g(k - 1 - j) is convex because ln g is. The convexity of ln g is checked for
    each t used.

    References
    ----------
    Alabi et al. (2022), Theorem 5 and Corollary 6, which give q only as O(m log m); Landau (1953).

    Examples
    --------
    >>> [quicksort_query_bound(m) for m in (5, 10, 20, 50)]
    [10, 45, 150, 554]
    """
    from scipy.optimize import minimize_scalar  # here, so that devices load no SciPy

    if not 0 < xi <= 1:
        raise ValueError(f"xi must lie in (0, 1], got {xi!r}.")
    pairs = math.comb(n_items, 2)
    if n_items < 4:
        return pairs
    level = 4 * math.log(n_items) - math.log(xi)

    def chernoff(s):
        # s = 1/t: the bound is the perspective of a convex function, so it has a single minimum in s
        log_g = np.zeros(n_items + 1)  # ln g(k), where g(k) = E exp(t comparisons) for quicksort on k items
        for k in range(2, n_items + 1):
            sides = log_g[:k] + log_g[k - 1 :: -1]
            top = sides[0]  # ln g is convex, so the most uneven split is the largest
            log_g[k] = 1 / s * (k - 1) + top + math.log(np.exp(sides - top).mean())
        return s * (log_g[-1] + level) if (np.diff(log_g, 2) >= 0).all() else math.inf

    best = minimize_scalar(chernoff, bounds=(0.1, n_items), method="bounded").fun
    return min(pairs, math.ceil(best)) if math.isfinite(best) else pairs
