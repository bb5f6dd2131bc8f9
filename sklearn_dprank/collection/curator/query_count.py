"""Optimal number of questions per voter, and the accuracy of each answer.

A voter who answers K questions spends epsilon/K on each. More answers are therefore less accurate answers. If voters
answer in groups, K is the largest number of questions to one group.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..._utils.checks import at_least_two, check_choice, check_positive, is_as_printed
from ..._utils.types import PairNoise, Variant

# epsilon/K that maximises K (p - q)^2: the roots of sinh x = 2 x and of e^(x/2) = 1 + x
_BEST_BUDGET = {
    "rr": 2.1773189849653067,
    "laplace": 2.512862417252339,
}


def check_randomizer(randomizer: Any) -> None:
    """Raise ValueError unless `randomizer` is "rr" or "laplace"."""
    check_choice(randomizer, "randomizer", _BEST_BUDGET)


def truth_gap(
    epsilon: float, n_queries: float, *, randomizer: PairNoise = "rr", variant: Variant = "corrected"
) -> float:
    """Return P(an answer is reported correctly) - P(it is reported incorrectly), for one of K answers.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    n_queries : float
        Number K of answers.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "as_printed"}, default="corrected"
        The exact gap, or the paper's lower bound for randomised response.

    Returns
    -------
    float
        tanh(epsilon/2K) for randomised response, 1 - e^(-epsilon/2K) for Laplace.

    Notes
    -----
    For randomised response, the paper continues with epsilon/(epsilon + 2 K), which follows from e^x >= 1 + x. This
    bound is smaller, and close only if epsilon/K is small.

    References
    ----------
    Yan et al. (2020), equation (3) and Section 5.2.2.

    Examples
    --------
    >>> round(truth_gap(2, 1), 4), truth_gap(2, 1, variant="as_printed")
    (0.7616, 0.5)
    """
    check_randomizer(randomizer)
    check_positive(epsilon=epsilon, n_queries=n_queries)
    as_printed = is_as_printed(variant)
    if randomizer == "laplace":
        return -math.expm1(-epsilon / (2 * n_queries))
    return epsilon / (epsilon + 2 * n_queries) if as_printed else math.tanh(epsilon / (2 * n_queries))


def optimal_queries(epsilon: float, *, randomizer: PairNoise = "rr", variant: Variant = "corrected") -> float:
    """Return the real number K of answers that maximises the signal, K (p - q)^2.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "as_printed"}, default="corrected"
        The exact optimum, or the paper's.

    Returns
    -------
    float
        epsilon/2.177 for randomised response and epsilon/2.513 for Laplace; epsilon/2 as printed.

    Notes
    -----
    epsilon/2 maximises the signal of the paper's lower bound epsilon/(epsilon + 2 K), not of the gap itself. For
    Laplace noise, the paper states only K < epsilon/2.

    References
    ----------
    Yan et al. (2020), Section 5.2, after Theorems 2 and 3.

    Examples
    --------
    >>> round(optimal_queries(10), 2), round(optimal_queries(10, randomizer="laplace"), 2)
    (4.59, 3.98)
    """
    check_randomizer(randomizer)
    check_positive(epsilon=epsilon)
    return epsilon / (2 if is_as_printed(variant) else _BEST_BUDGET[randomizer])


def best_query_count(
    epsilon: float, n_items: int, *, randomizer: PairNoise = "rr", variant: Variant = "corrected"
) -> int:
    """Return the integer number of answers next to `optimal_queries`, from 1 to C(m, 2), with the largest signal.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    n_items : int
        Number m of items.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "as_printed"}, default="corrected"
        "as_printed" returns the integer next to epsilon/2 with the smaller printed mu.

    Returns
    -------
    int
        K. One question is best up to epsilon of about 3.

    References
    ----------
    Yan et al. (2020), Section 5.2.

    Examples
    --------
    >>> [best_query_count(epsilon, 10) for epsilon in (1, 2, 4, 8)]
    [1, 1, 2, 4]
    """
    at_least_two(n_items=n_items)
    below = math.floor(optimal_queries(epsilon, randomizer=randomizer, variant=variant))
    candidates = {min(max(k, 1), math.comb(n_items, 2)) for k in (below, below + 1)}
    return max(sorted(candidates), key=lambda k: k * truth_gap(epsilon, k, randomizer=randomizer, variant=variant) ** 2)


def group_overflow_bound(q: int, n_items: int, load: int) -> float:
    """Return a bound on the probability that some group of voters is asked more than `load` of q questions.

    Each question goes to one of m groups, uniformly at random. The bound is m P(Bin(q, 1/m) > load), a union bound over
    the groups.

    Parameters
    ----------
    q : int
        Number of questions.
    n_items : int
        Number m of items, and of groups.
    load : int
        Number of questions that the budget of a group allows.

    Returns
    -------
    float
        Bound on the probability, possibly above 1.

    Notes
    -----
    In the paper, every group answers up to 2 q/m questions, and the probability of an overflow is at most exp(-q/(10
    m)). The paper requires q >= 10 m ln m. Quicksort needs 3 to 8 times fewer questions (m = 5 to 100). With so few
    questions, a load of 2 q/m overflows with probability .04 to .18.

    References
    ----------
    Alabi et al. (2022), Lemma 10 and Algorithm 2.

    Examples
    --------
    >>> round(group_overflow_bound(150, 20, 15), 3)
    0.072
    """
    return float(_overflow(q, n_items, load))


def _overflow(q, n_items, load):
    from scipy.stats import binom

    return n_items * binom.sf(load, q, 1 / n_items)


@lru_cache(maxsize=1024)
def group_load(q: int, n_items: int, xi: float = 1.0) -> int:
    """Return tau, the smallest number of questions that the budget of a group must allow in LDPKwikSort.

    tau is the smallest integer with m P(Bin(q, 1/m) > tau) <= xi/m^4.

    Parameters
    ----------
    q : int
        Number of questions; `quicksort_query_bound(n_items, xi)` for quicksort.
    n_items : int
        Number m of items, and of groups.
    xi : float, default=1.0
        Largest increase of the approximation ratio through the fallback.

    Returns
    -------
    int
        tau, at most q. If tau is q, a group cannot overflow.

    References
    ----------
    Alabi et al. (2022), Algorithms 2 and 3 (there tau = 2 q/m and Omega(log m)).

    Examples
    --------
    >>> from sklearn_dprank.orders.quicksort import quicksort_query_bound
    >>> from sklearn_dprank.collection.curator.query_count import group_load
    >>> [group_load(quicksort_query_bound(m), m) for m in (5, 10, 20, 50)]
    [7, 15, 24, 35]
    """
    check_positive(xi=xi)
    return int(np.argmax(_overflow(q, n_items, np.arange(q + 1)) <= xi / n_items**4))
