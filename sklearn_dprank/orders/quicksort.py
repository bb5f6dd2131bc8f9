"""Comparison counts of sorting: exact distribution, upper limits and tail bounds.

The query budgets of P-SORT (Hay et al. 2017), DPKwikSort and LDPKwikSort (Alabi et al. 2022) are based on them.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar

from .._utils.checks import check_choice


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


def overrun_probability(n_items, max_queries):
    """Return the probability that quicksort needs more than `max_queries` comparisons.

    It is exact if the answers are correct, for any transitive order.

    Parameters
    ----------
    n_items, max_queries : int
        Number m of items, and number M of comparisons paid for.

    Returns
    -------
    float
        P(comparisons > M).

    Examples
    --------
    >>> round(overrun_probability(10, 29), 2), round(overrun_probability(40, 207), 2)
    (0.11, 0.2)
    """
    return float(quicksort_comparisons(n_items)[max_queries + 1 :].sum())


def _log_moments(t, n_items):
    """Return ln g(k), k = 0..m, where g(k) = E exp(t comparisons) for quicksort on k items."""
    log_g = np.zeros(n_items + 1)
    for k in range(2, n_items + 1):
        sides = log_g[:k] + log_g[k - 1 :: -1]
        top = sides[0]  # ln g is convex, so the most uneven split is the largest
        log_g[k] = t * (k - 1) + top + math.log(np.exp(sides - top).mean())
    return log_g


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
    if not 0 < xi <= 1:
        raise ValueError(f"xi must lie in (0, 1], got {xi!r}.")
    pairs = math.comb(n_items, 2)
    if n_items < 4:
        return pairs
    level = 4 * math.log(n_items) - math.log(xi)

    def chernoff(s):
        # s = 1/t: the bound is the perspective of a convex function, so it has a single minimum in s
        log_g = _log_moments(1 / s, n_items)
        return s * (log_g[-1] + level) if (np.diff(log_g, 2) >= 0).all() else math.inf

    best = minimize_scalar(chernoff, bounds=(0.1, n_items), method="bounded").fun
    return min(pairs, math.ceil(best)) if math.isfinite(best) else pairs
