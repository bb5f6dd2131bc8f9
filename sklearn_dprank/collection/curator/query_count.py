"""How many questions one voter is asked, and how much an answer tells at its share of the voter's epsilon.

A voter who answers K questions spends epsilon/K on each: more answers, each of which tells less. Where voters answer
in groups, K is the most that a group may be asked.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from ..._utils.checks import at_least_two, check_choice, is_published, positive
from ..._utils.types import PairNoise, Variant

# epsilon/K at which K (p - q)^2 is largest: the roots of sinh x = 2 x and of e^(x/2) = 1 + x
_BEST_BUDGET = {
    "rr": brentq(lambda x: math.sinh(x) - 2 * x, 1, 4, xtol=1e-15),
    "laplace": brentq(lambda x: math.exp(x / 2) - 1 - x, 1, 4, xtol=1e-15),
}


def check_randomizer(randomizer: Any) -> None:
    """Raise unless `randomizer` is "rr" or "laplace"."""
    check_choice(randomizer, "randomizer", _BEST_BUDGET)


def truth_gap(
    epsilon: float, n_queries: float, *, randomizer: PairNoise = "rr", variant: Variant = "corrected"
) -> float:
    """Return P(an answer is reported true) - P(it is reported false), for one of K answers.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    n_queries : float
        Number K of answers.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "published"}, default="corrected"
        The exact gap, or the paper's lower bound for randomised response.

    Returns
    -------
    float
        tanh(epsilon/2K) for randomised response, 1 - e^(-epsilon/2K) for Laplace.

    Notes
    -----
    For randomised response the paper goes on with epsilon/(epsilon + 2 K), from e^x >= 1 + x: smaller, and
    close only when epsilon/K is.

    References
    ----------
    Yan et al. (2020), equation (3) and Section 5.2.2.

    Examples
    --------
    >>> round(truth_gap(2, 1), 4), truth_gap(2, 1, variant="published")
    (0.7616, 0.5)
    """
    check_randomizer(randomizer)
    positive(epsilon=epsilon, n_queries=n_queries)
    published = is_published(variant)
    if randomizer == "laplace":
        return -math.expm1(-epsilon / (2 * n_queries))
    return epsilon / (epsilon + 2 * n_queries) if published else math.tanh(epsilon / (2 * n_queries))


def optimal_queries(epsilon: float, *, randomizer: PairNoise = "rr", variant: Variant = "corrected") -> float:
    """Return the real number K of answers that carries most signal, K (p - q)^2.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    randomizer : {"rr", "laplace"}, default="rr"
        How answers are randomised.
    variant : {"corrected", "published"}, default="corrected"
        The exact optimum, or the paper's.

    Returns
    -------
    float
        epsilon/2.177 for randomised response and epsilon/2.513 for Laplace; epsilon/2 as printed.

    Notes
    -----
    epsilon/2 is the optimum of the paper's lower bound epsilon/(epsilon + 2 K) of the gap, not of the gap; for
    Laplace the paper says only K < epsilon/2.

    References
    ----------
    Yan et al. (2020), Section 5.2, after Theorems 2 and 3.

    Examples
    --------
    >>> round(optimal_queries(10), 2), round(optimal_queries(10, randomizer="laplace"), 2)
    (4.59, 3.98)
    """
    check_randomizer(randomizer)
    positive(epsilon=epsilon)
    return epsilon / (2 if is_published(variant) else _BEST_BUDGET[randomizer])


def best_query_count(
    epsilon: float, n_items: int, *, randomizer: PairNoise = "rr", variant: Variant = "corrected"
) -> int:
    """Return the whole number of answers, 1 to C(m, 2), beside `optimal_queries` that carries most signal.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    n_items : int
        Number m of items.
    randomizer : {"rr", "laplace"}, default="rr"
        How answers are randomised.
    variant : {"corrected", "published"}, default="corrected"
        With "published", the integer beside epsilon/2 with the smaller printed mu.

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

    Each question goes to one of m groups, uniformly: m P(Bin(q, 1/m) > load), a union over the groups.

    Parameters
    ----------
    q : int
        Number of questions.
    n_items : int
        Number m of items, and of groups.
    load : int
        Questions a group can pay for.

    Returns
    -------
    float
        Bound on the probability, possibly above 1.

    Notes
    -----
    The paper lets every group answer 2 q/m questions and bounds the overflow by exp(-q/(10 m)), for
    q >= 10 m ln m. The q that quicksort needs is 3 to 8 times smaller (m = 5 to 100), and 2 q/m then
    overflows with probability .04 to .18.

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
    return n_items * binom.sf(load, q, 1 / n_items)


@lru_cache(maxsize=1024)
def group_load(q: int, n_items: int, xi: float = 1.0) -> int:
    """Return tau, the least number of questions a group must be able to pay for in LDPKwikSort.

    The smallest tau with m P(Bin(q, 1/m) > tau) <= xi/m^4.

    Parameters
    ----------
    q : int
        Number of questions; those of quicksort are `quicksort_query_bound(n_items, xi)`.
    n_items : int
        Number m of items, and of groups.
    xi : float, default=1.0
        What the fallback may add to the approximation ratio.

    Returns
    -------
    int
        tau, at most q; equal to it, no group can overflow.

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
    positive(xi=xi)
    return int(np.argmax(_overflow(q, n_items, np.arange(q + 1)) <= xi / n_items**4))
