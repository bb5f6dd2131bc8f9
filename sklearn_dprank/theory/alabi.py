"""Alabi, Ghazi, Kumar and Manurangsi (2022): approximation guarantees, budgets of DPKwikSort and LDPKwikSort.

Notation: w_ij is the share of voters who prefer i to j; an (alpha, beta) guarantee means that the expected average
Kendall tau distance is at most alpha OPT + beta. n voters, m items.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from .._utils.checks import at_least_two, is_published, positive
from .._utils.types import Variant
from ..collection.curator.query_count import group_load, group_overflow_bound
from ..orders.quicksort import quicksort_query_bound

__all__ = [
    "GUARANTEES",
    "BudgetSplit",
    "Guarantee",
    "central_budget",
    "group_load",
    "group_overflow_bound",
    "local_budget",
    "printed_response_epsilon",
    "reduction_error",
]


class Guarantee(NamedTuple):
    """One row of the paper's Tables 1 and 2.

    Attributes
    ----------
    trust : str
        "central" or "local".
    source : str
        Where it is proved.
    pure : bool
        Whether delta is 0.
    ratio : float
        The approximation ratio alpha, to which any constant xi > 0 is added unless `efficient` is False.
    additive : callable
        The additive error beta, as additive(n_voters, n_items, epsilon, delta), its constant dropped.
    efficient : bool
        Whether the time is polynomial.
    """

    trust: str
    source: str
    pure: bool
    ratio: float
    additive: Callable[[float, float, float, float], float]
    efficient: bool = True


def _tail(delta):
    return math.sqrt(math.log(1 / delta))


#: Tables 1 and 2. Compare rows by their growth, not their values: each hides its own constant; with them, see
#: `alabi_bounds.corollary_bound`, and `alabi_lower` for what no mechanism can do. Theorems 13 and 14 show that n must
#: grow at least like m/epsilon (pure) and sqrt(m)/epsilon (approximate) for an additive error below a constant share
#: of m^2, whatever the ratio, so that Corollaries 6 and 7 are optimal up to logarithms.
GUARANTEES = (
    Guarantee("central", "Corollary 6", True, 5.0, lambda n, m, eps, delta: m**3 * math.log(m) / (eps * n)),
    Guarantee(
        "central",
        "Corollary 7",
        False,
        5.0,
        lambda n, m, eps, delta: m**2.5 * math.sqrt(math.log(m)) * _tail(delta) / (eps * n),
    ),
    Guarantee("central", "Corollary 3", True, 1.0, lambda n, m, eps, delta: m**4 / (eps * n)),
    Guarantee("central", "Corollary 4", False, 1.0, lambda n, m, eps, delta: m**3 * _tail(delta) / (eps * n)),
    Guarantee(
        "central",
        "Hay et al. (2017)",
        True,
        1.0,
        lambda n, m, eps, delta: m**3 * math.log(m) / (eps * n),
        efficient=False,
    ),
    Guarantee("local", "Corollary 9", True, 1.0, lambda n, m, eps, delta: m**3 / (eps * math.sqrt(n))),
    Guarantee("local", "Corollary 12", True, 5.0, lambda n, m, eps, delta: m**2.5 * math.log(m) / (eps * math.sqrt(n))),
)


def reduction_error(ratio: float, n_items: int, query_error: float, *, variant: Variant = "corrected") -> float:
    """Return the additive error of any approximation algorithm run on noisy answers (Theorem 1).

    Parameters
    ----------
    ratio : float
        Approximation ratio alpha of the algorithm without noise, at least 1.
    n_items : int
        Number m of items.
    query_error : float
        Expected absolute error e of one answer w_ij: the scale of Laplace noise, sqrt(2/pi) sigma of Gaussian noise.
    variant : {"corrected", "published"}, default="corrected"
        Which constant.

    Returns
    -------
    float
        beta, in pairs.

    Notes
    -----
    The paper prints (alpha + 1) m^2 e, from a sum over all ordered pairs (Fact 2). A ranking pays one of w_ij
    and w_ji = 1 - w_ij, so the sum over unordered pairs is enough: (alpha + 1) C(m, 2) e, less than half. (In the
    paper's expression of K, sigma(i) <= sigma(j) should be sigma(i) < sigma(j).)

    References
    ----------
    Alabi et al. (2022), Theorem 1 and Fact 2.

    Examples
    --------
    >>> reduction_error(1, 10, 0.01), reduction_error(1, 10, 0.01, variant="published")
    (0.9, 2.0)
    """
    pairs = n_items**2 if is_published(variant) else math.comb(n_items, 2)
    return (ratio + 1) * pairs * query_error


class BudgetSplit(NamedTuple):
    """How one voter's (local) or the whole release's (central) epsilon is shared.

    Attributes
    ----------
    n_answers : int
        Answers that can be paid for.
    per_answer : float
        Epsilon of each.
    fallback : float
        Epsilon kept for the fallback; 0 when it can never be needed.
    """

    n_answers: int
    per_answer: float
    fallback: float

    @property
    def total(self) -> float:
        """Epsilon in the worst case, by basic composition."""
        return self.n_answers * self.per_answer + self.fallback


def central_budget(n_items: int, epsilon: float, xi: float = 1.0) -> BudgetSplit:
    """Return the budget of DPKwikSort (Algorithm 1): q answers, half of epsilon kept for the fallback.

    Parameters
    ----------
    n_items : int
        Number m of items.
    epsilon : float
        Privacy parameter of the release.
    xi : float, default=1.0
        What the fallback may add to the approximation ratio.

    Returns
    -------
    BudgetSplit
        epsilon/(2 q) an answer; all of it, epsilon/q, when q = C(m, 2) pays for every pair.

    Notes
    -----
    An answer is then a margin (i over j minus j over i) with Laplace noise of scale 1/per_answer when ballots are added
    or removed, twice that when they are replaced (in shares w_ij: 1/(n per_answer)). For Gaussian noise the q answers
    are one vector of L2 sensitivity sqrt(q), with the same part of the squared mu. The fallback answers all pairs at
    once.

    References
    ----------
    Alabi et al. (2022), Theorem 5 and Algorithm 1.

    Examples
    --------
    >>> central_budget(20, 1.0)
    BudgetSplit(n_answers=150, per_answer=0.00333..., fallback=0.5)
    >>> central_budget(10, 1.0).fallback
    0.0
    """
    at_least_two(n_items=n_items)
    positive(epsilon=epsilon)
    q = quicksort_query_bound(n_items, xi)
    kept = 0.0 if q == math.comb(n_items, 2) else epsilon / 2
    return BudgetSplit(q, (epsilon - kept) / q, kept)


def local_budget(n_items: int, epsilon: float, xi: float = 1.0, *, variant: Variant = "corrected") -> BudgetSplit:
    """Return each voter's budget in LDPKwikSort (Algorithms 2 and 3).

    Parameters
    ----------
    n_items : int
        Number m of items, and of groups of voters.
    epsilon : float
        Privacy parameter of a voter.
    xi : float, default=1.0
        What the fallback may add to the approximation ratio.
    variant : {"corrected", "published"}, default="corrected"
        The split that totals epsilon, or the printed one.

    Returns
    -------
    BudgetSplit
        epsilon0 = epsilon/(2 tau) for each of tau answers and epsilon/2 for the fallback; epsilon/q for each of q
        answers, without fallback, when tau = q.

    Notes
    -----
    Algorithm 2 prints epsilon0 = .5 epsilon m/q for up to 2 q/m answers: all of epsilon, so that with the fallback
    of Algorithm 3, which never defines epsilon0, a voter spends up to 1.5 epsilon. Nor is epsilon/tau allowed when
    q = C(m, 2): one group can still overflow (m = 5: tau = 7 of q = 10). The counter has to rise once a question,
    before anyone answers; the algorithms print it inside the loop over voters. And d_epsilon is
    (e^epsilon0 + 1)/(e^epsilon0 - 1), where the print has epsilon^epsilon0.

    References
    ----------
    Alabi et al. (2022), Lemma 10, Algorithms 2 and 3.

    Examples
    --------
    >>> local_budget(10, 1.0)
    BudgetSplit(n_answers=15, per_answer=0.0333..., fallback=0.5)
    >>> local_budget(10, 1.0, variant="published").total
    1.5
    """
    at_least_two(n_items=n_items)
    positive(epsilon=epsilon)
    q = quicksort_query_bound(n_items, xi)
    if is_published(variant):
        answers = math.floor(2 * q / n_items)
        return BudgetSplit(answers, 0.5 * epsilon * n_items / q, epsilon / 2)
    tau = group_load(q, n_items, xi)
    if tau >= q:
        return BudgetSplit(q, epsilon / q, 0.0)
    return BudgetSplit(tau, epsilon / (2 * tau), epsilon / 2)


def printed_response_epsilon(per_answer: float) -> float:
    """Return what the printed randomised response of Algorithms 2 and 3 really spends of `per_answer`.

    Parameters
    ----------
    per_answer : float
        Nominal epsilon0.

    Returns
    -------
    float
        ln((1 + e^epsilon0)/2).

    Notes
    -----
    The algorithms answer d or -d with probabilities (1 +- w/d)/2, w in {0, 1}: unbiased, but w = 0 is a fair coin,
    so half the range is wasted. With 2 w - 1 in place of w (and the threshold 0 in place of 1/2) the response
    spends all of epsilon0 and has half the standard deviation.

    References
    ----------
    Alabi et al. (2022), Algorithm 2.

    Examples
    --------
    >>> round(printed_response_epsilon(1.0), 3)
    0.62
    """
    return math.log1p(math.expm1(per_answer) / 2)
