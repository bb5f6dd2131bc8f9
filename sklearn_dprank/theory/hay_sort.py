"""Hay, Elagina and Miklau (2017), Section 3.4: what P-SORT costs, and the error that it keeps (Theorem 5.3)."""

import math

import numpy as np

from .._utils.checks import at_least_two, is_published, positive, probability, votes_changed
from .._utils.types import Neighboring, Variant
from ..orders.quicksort import p_sort_max_queries, quicksort_comparisons, quicksort_comparisons_up_to

__all__ = ["p_sort_error_floor", "p_sort_failure_floor", "p_sort_max_queries", "p_sort_voters"]


def p_sort_failure_floor(n_items: int, max_queries: int) -> float:
    """Return the probability of missing the majority order that P-SORT keeps for any number of voters.

    With perfect answers, the output is right exactly when every unpaid comparison falls right by its coin:
    1 - E[2^-(Q - M)+], Q the number of comparisons. Noise only adds to it.

    Parameters
    ----------
    n_items, max_queries : int
        Items m and paid comparisons M.

    Returns
    -------
    float
        Limit, as n epsilon grows, of the probability of a wrong order when the majority is transitive.

    Notes
    -----
    The paper reads its Theorem 5.3 as consistency; with M = (m - 1) log m comparisons this floor is positive.

    Examples
    --------
    >>> round(p_sort_failure_floor(10, 29), 3)
    0.089
    """
    law = quicksort_comparisons(n_items)
    unpaid = np.maximum(np.arange(len(law)) - max_queries, 0)
    return float(max(1 - law @ 0.5**unpaid, 0.0))


def p_sort_error_floor(n_items: int, max_queries: int) -> float:
    """Return the expected share of pairs P-SORT leaves out of order however many voters there are.

    Parameters
    ----------
    n_items, max_queries : int
        Items m and paid comparisons M.

    Returns
    -------
    float
        Limit, as n epsilon grows, of the expected Kendall distance to a transitive majority order, over C(m, 2).
        For unanimous voters this is the normalised error itself.

    Notes
    -----
    Quicksort is taken depth first, lower side first, with the items met in uniformly random order. When b of the
    c = k - 1 comparisons with a pivot are paid, the pivot is wrong with (c - b)/2 items, and the other pairs cost
    c (c - 1)/4 - b (c - 1)/12 on average: half of C(c, 2), less what a correct split saves.

    Examples
    --------
    >>> round(p_sort_error_floor(10, 29), 4), p_sort_error_floor(10, 0)
    (0.0053, 0.5)
    """
    at_least_two(n_items=n_items)
    budgets = max_queries + 1
    wrong = np.zeros((n_items + 1, budgets))
    laws = quicksort_comparisons_up_to(min(n_items, budgets) - 1)  # a larger side is never sorted to its end
    for k in range(2, n_items + 1):
        c = k - 1
        paid = np.arange(min(c, budgets))
        wrong[k, :c] = (c - paid) / 2 + c * (c - 1) / 4 - paid * (c - 1) / 12
        left_over = budgets - c
        for first in range(k if left_over > 0 else 0):
            law = np.zeros(left_over)
            spent = laws[first, :left_over]
            law[: len(spent)] = spent
            second = np.convolve(law, wrong[c - first, :left_over])[:left_over]
            second += (1 - np.cumsum(law)) * wrong[c - first, 0]  # the first side spent it all
            wrong[k, c:] += (wrong[first, :left_over] + second) / k
    return float(wrong[n_items, max_queries] / math.comb(n_items, 2))


def p_sort_voters(
    n_items: int,
    epsilon: float,
    phi: float,
    failure: float,
    *,
    max_queries: int | None = None,
    neighboring: Neighboring = "add_remove",
    variant: Variant = "corrected",
) -> float:
    """Return how many Mallows voters let P-SORT recover the reference order (Theorem 5.3).

    Parameters
    ----------
    n_items : int
        Number m of items.
    epsilon : float
        Privacy parameter.
    phi : float
        Mallows dispersion, in [0, 1); 0 is unanimity.
    failure : float
        Probability delta of any mistake, in (0, 1).
    max_queries : int, optional
        Paid comparisons M, by default `p_sort_max_queries(n_items)`. C(m, 2) always suffices. Ignored by the
        printed form.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation; ignored by the printed form.
    variant : {"corrected", "published"}, default="corrected"
        Which formula.

    Returns
    -------
    float
        Sufficient number of voters; infinite when `failure` is not above `p_sort_failure_floor`, for then no
        number is enough.

    Notes
    -----
    The paper prints n >= O((m log m)/(epsilon phi*) (log m + log(1/delta))), phi* = (1 - phi)/(1 + phi); the
    printed variant takes the constant 1. Two things are missing. The voters are a sample, so the majority itself
    is wrong with some probability: a term ln(m/delta)/phi*^2 that no epsilon removes. And more than M comparisons
    happen with probability .11 (m = 10) or .20 (m = 40) for log2, nearly always for ln. Corrected, with d what is
    left of delta beyond the floor: margins have mean at least n phi*, half of it is left to sampling (Hoeffding)
    and half to the noise Lap(M/epsilon), a union over pairs and paid comparisons:
    n = max(8/phi*^2 ln(2 C(m, 2)/d), 2 M/(epsilon phi*) ln(M/d)).

    References
    ----------
    Hay, Elagina and Miklau (2017), Theorem 5.3 and Definition 9.

    Examples
    --------
    >>> p_sort_voters(10, 1.0, 0.5, 0.05)
    inf
    >>> round(p_sort_voters(10, 1.0, 0.5, 0.05, max_queries=45))
    1837
    """
    at_least_two(n_items=n_items)
    positive(epsilon=epsilon)
    probability(failure=failure)
    if not 0 <= phi < 1:
        raise ValueError(f"phi must lie in [0, 1), got {phi!r}; at 1 there is no order to recover.")
    gap = (1 - phi) / (1 + phi)
    if is_published(variant):
        return n_items * math.log(n_items) / (epsilon * gap) * (math.log(n_items) - math.log(failure))
    paid = p_sort_max_queries(n_items) if max_queries is None else min(max_queries, math.comb(n_items, 2))
    left = failure - p_sort_failure_floor(n_items, paid)
    if left <= 0:
        return math.inf
    sampling = 8 / gap**2 * math.log(2 * math.comb(n_items, 2) / left)
    noise = 2 * paid * votes_changed(neighboring) / (epsilon * gap) * math.log(max(paid, 1) / left)
    return max(sampling, noise)
