"""Hay, Elagina and Miklau (2017): errors in the central model (Theorems 5.1 to 5.3), P-SORT and its printed noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .._utils.checks import at_least_two, changed_ballots, check_positive, check_probability, is_as_printed
from .._utils.types import Neighboring, Variant
from ..mechanisms import Laplace, LaplaceNoise
from ..mechanisms.additive import Times
from ..orders.permutations import p_sort_max_queries, quicksort_comparisons, quicksort_comparisons_up_to
from ..queries import Histogram, NetWins, PairMargin, Query, Sensitivity

__all__ = [
    "PrintedLaplace",
    "epsilon_lower_bound",
    "p_sample_expected_error",
    "p_sample_voters",
    "p_sort_error_floor",
    "p_sort_failure_floor",
    "p_sort_max_queries",
    "p_sort_voters",
]


class PrintedLaplace(Laplace):
    """Laplace noise with the scales that Hay et al. print, for ``noise=`` of `DPBorda`, `DPKwikSort` and `DPHistogram`.

    The guarantee states the true epsilon of these scales.

    Notes
    -----
    P-BORDA adds Lap(m (m - 1) / (2 epsilon)) to Borda counts, which is Lap(m (m - 1) / epsilon) on net wins. Their
    true L1 sensitivity is floor(m^2 / 2) under "add_remove" and twice that under "replace". P-SORT adds Lap(1 /
    epsilon) to a margin, and P-BORDA-HIST adds it to the histogram. Both scales are correct under "add_remove", and
    spend twice epsilon under "replace".

    References
    ----------
    Hay, Elagina and Miklau (2017), Sections 3.2 to 3.4.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.theory.hay import PrintedLaplace
    >>> round(DPBorda(epsilon=0.9, noise=PrintedLaplace()).fit([range(10)] * 100).privacy_.epsilon, 3)
    0.5
    """

    def refusal(self, query: Query, n_items: int) -> str:
        """Return the remedy for a query for which the paper prints no scale, else ""."""
        if isinstance(query, (NetWins, PairMargin, Histogram)):
            return ""
        return "Hay et al. print no scale of noise for it; use noise='laplace'."

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> LaplaceNoise:
        """Return noise for the printed L1 sensitivity; answers share epsilon evenly."""
        l1 = n_items * (n_items - 1) if isinstance(query, NetWins) else 1
        noise = super().calibrated(query, sensitivity._replace(l1=l1), n_items, epsilon, delta, times)
        return _PrintedLaplaceNoise(noise.rate)


@dataclass(frozen=True)
class _PrintedLaplaceNoise(LaplaceNoise):
    """Laplace noise whose rate follows from a printed sensitivity."""

    def spent(self, sensitivity, times, delta):
        """Return the true epsilon of `times` answers."""
        return times * self.rate * sensitivity.l1


def epsilon_lower_bound(
    n_items: int, failure: float, *, neighboring: Neighboring = "add_remove", variant: Variant = "corrected"
) -> float:
    """Return the least epsilon at which an algorithm can find the optimal ranking on every profile (Theorem 5.1).

    If an epsilon-private algorithm misses the (unique) Kemeny optimum with probability at most `failure` on every large
    enough profile, its epsilon is at least this.

    Parameters
    ----------
    n_items : int
        Number m of items, at least 2.
    failure : float
        Tolerated probability delta of missing the optimum, in (0, 1).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. The printed bound is for the first and ignores this.
    variant : {"corrected", "as_printed"}, default="corrected"
        The stronger bound, or the printed one.

    Returns
    -------
    float
        Lower bound on epsilon (0 if there is none).

    Notes
    -----
    The paper prints epsilon >= ln((m! - 1)(1 - delta)/delta)/2. This is true, but the paper calls it O(m log m) where
    it means Omega. The proof compares two profiles at distance two. Their common neighbour, a profile in which all
    rankings tie, gives two inequalities: exp(epsilon) >= m! (1 - delta), and exp(epsilon) >= (1 - 1/m!)/delta. The
    printed bound is the mean of the two logarithms, so the larger logarithm is never weaker. It is attained on these
    profiles, and comparing them cannot improve it.

    Under "replace", the two profiles are neighbours, and the printed bound doubles. The paper's convention of breaking
    ties consistently may also mean that the algorithm must return one fixed ranking on the tied profile. The two
    logarithms then add up, which again gives twice the printed bound.

    References
    ----------
    Hay, Elagina and Miklau (2017), Theorem 5.1.

    Examples
    --------
    >>> round(epsilon_lower_bound(10, 0.5), 2), round(epsilon_lower_bound(10, 0.5, variant="as_printed"), 2)
    (14.41, 7.55)
    """
    at_least_two(n_items=n_items)
    check_probability(failure=failure)
    log_orders = math.lgamma(n_items + 1)
    log_others = log_orders + math.log1p(-math.exp(-log_orders))  # ln(m! - 1)
    kept, lost = math.log1p(-failure), math.log(failure)
    if is_as_printed(variant):
        bound = (log_others + kept - lost) / 2
    elif changed_ballots(neighboring) == 2:
        bound = log_others + kept - lost
    else:
        bound = max(log_orders + kept, log_others - log_orders - lost)
    return max(bound, 0.0)


def p_sample_voters(
    n_items: int,
    epsilon: float,
    error: float,
    failure: float,
    *,
    neighboring: Neighboring = "add_remove",
    variant: Variant = "corrected",
) -> float:
    """Return a number of voters for which P-SAMPLE is accurate (Theorem 5.2).

    With this many voters, the normalised error (excess average Kendall tau over C(m, 2)) is at most `error` with
    probability at least 1 - `failure`, on any profile.

    Parameters
    ----------
    n_items : int
        Number m of items.
    epsilon : float
        Privacy parameter.
    error : float
        Normalised error alpha, in (0, 1).
    failure : float
        Probability delta, in (0, 1).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "replace" halves the exponent and doubles the voters. Ignored by the printed form.
    variant : {"corrected", "as_printed"}, default="corrected"
        Corrected or printed formula.

    Returns
    -------
    float
        Sufficient number of voters.

    Notes
    -----
    The paper prints n >= 2/(alpha epsilon) ln(m! + ln(1/delta)). The parenthesis is misplaced, so the bound hardly
    depends on delta and fails for small delta. The factor 2 belongs to the exponential mechanism with the factor 1/2,
    which P-SAMPLE omits. Corrected: n >= (ln m! + ln(1/delta))/(alpha epsilon).

    References
    ----------
    Hay, Elagina and Miklau (2017), Theorem 5.2 and Definition 10.

    Examples
    --------
    >>> round(p_sample_voters(10, 0.1, 0.05, 0.01), 1)
    3941.9
    """
    at_least_two(n_items=n_items)
    check_positive(epsilon=epsilon)
    check_probability(error=error, failure=failure)
    if is_as_printed(variant):
        # ln(m! + x) = ln m! + ln(1 + x/m!), which does not overflow
        log_orders = math.lgamma(n_items + 1)
        return 2 / (error * epsilon) * (log_orders + math.log1p(-math.log(failure) * math.exp(-log_orders)))
    return changed_ballots(neighboring) * (math.lgamma(n_items + 1) - math.log(failure)) / (error * epsilon)


def p_sample_expected_error(
    n_voters: float, n_items: int, epsilon: float, *, neighboring: Neighboring = "add_remove"
) -> float:
    """Return a bound on the expected normalised error of P-SAMPLE: ln(m!)/(n epsilon), on any profile.

    The entropy of the output is the expected loss in the exponent plus the log partition function, which is not
    negative. The entropy is at most ln(m!). Under "replace", the bound doubles.

    Parameters
    ----------
    n_voters, n_items : int
        Number n of voters, and number m of items.
    epsilon : float
        Privacy parameter.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        Bound on the expected excess average Kendall tau over C(m, 2).

    Examples
    --------
    >>> round(p_sample_expected_error(1000, 10, 0.1), 4)
    0.151
    """
    check_positive(n_voters=n_voters, epsilon=epsilon)
    at_least_two(n_items=n_items)
    return changed_ballots(neighboring) * math.lgamma(n_items + 1) / (n_voters * epsilon)


def p_sort_failure_floor(n_items: int, max_queries: int) -> float:
    """Return the probability that P-SORT misses the majority order even with infinitely many voters.

    If all answers are correct, the output is correct exactly if every unpaid comparison is decided correctly by its
    coin. The probability of an error is thus 1 - E[2^-(Q - M)+], with Q the number of comparisons. Noise only increases
    it.

    Parameters
    ----------
    n_items, max_queries : int
        Number m of items, and number M of paid comparisons.

    Returns
    -------
    float
        Limit, as n epsilon grows, of the probability of a wrong order when the majority is transitive.

    Notes
    -----
    The paper reads its Theorem 5.3 as consistency. With M = (m - 1) log m comparisons, this probability is positive.

    Examples
    --------
    >>> round(p_sort_failure_floor(10, 29), 3)
    0.089
    """
    law = quicksort_comparisons(n_items)
    unpaid = np.maximum(np.arange(len(law)) - max_queries, 0)
    return float(max(1 - law @ 0.5**unpaid, 0.0))


def p_sort_error_floor(n_items: int, max_queries: int) -> float:
    """Return the expected share of pairs that P-SORT orders wrongly even with infinitely many voters.

    Parameters
    ----------
    n_items, max_queries : int
        Number m of items, and number M of paid comparisons.

    Returns
    -------
    float
        Limit, as n epsilon grows, of the expected Kendall distance to a transitive majority order, over C(m, 2). For
        unanimous voters, this is the normalised error itself.

    Notes
    -----
    Quicksort is assumed to run depth first, lower side first, with the items in uniformly random order. If b of the
    c = k - 1 comparisons with a pivot are paid, the pivot is wrong with (c - b)/2 items on average. The other pairs
    contribute c (c - 1)/4 - b (c - 1)/12 on average: half of C(c, 2), minus what a correct split saves.

    Examples
    --------
    >>> round(p_sort_error_floor(10, 29), 4), p_sort_error_floor(10, 0)
    (0.0053, 0.5)
    """
    at_least_two(n_items=n_items)
    budgets = max_queries + 1
    wrong = np.zeros((n_items + 1, budgets))
    laws = quicksort_comparisons_up_to(min(n_items, budgets) - 1)  # the budget cannot sort a larger side completely
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
            second += (1 - np.cumsum(law)) * wrong[c - first, 0]  # the first side used the whole budget
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
    """Return a number of Mallows voters for which P-SORT recovers the reference order (Theorem 5.3).

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
        Number M of paid comparisons, by default `p_sort_max_queries(n_items)`. C(m, 2) is always enough. Ignored by the
        printed form.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation; ignored by the printed form.
    variant : {"corrected", "as_printed"}, default="corrected"
        Corrected or printed formula.

    Returns
    -------
    float
        Sufficient number of voters. It is infinite if `failure` is not above `p_sort_failure_floor`, because no number
        is then enough.

    Notes
    -----
    The paper prints n >= O((m log m)/(epsilon phi*) (log m + log(1/delta))), phi* = (1 - phi)/(1 + phi). The printed
    variant takes the constant 1. Two terms are missing:

    - The voters are a sample, so the majority itself may be wrong. This adds a term ln(m/delta)/phi*^2 that no epsilon
      removes.
    - Quicksort makes more than M comparisons with probability .11 (m = 10) or .20 (m = 40) for log2, and nearly always
      for ln.

    For the corrected form, let d be delta minus the floor. Margins have a mean of at least n phi*. Half of it allows
    for sampling (Hoeffding), and half for the noise Lap(M/epsilon). A union over pairs and paid comparisons gives
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
    check_positive(epsilon=epsilon)
    check_probability(failure=failure)
    if not 0 <= phi < 1:
        raise ValueError(f"phi must lie in [0, 1), got {phi!r}; at 1 all orders are equally likely.")
    gap = (1 - phi) / (1 + phi)
    if is_as_printed(variant):
        return n_items * math.log(n_items) / (epsilon * gap) * (math.log(n_items) - math.log(failure))
    paid = p_sort_max_queries(n_items) if max_queries is None else min(max_queries, math.comb(n_items, 2))
    left = failure - p_sort_failure_floor(n_items, paid)
    if left <= 0:
        return math.inf
    sampling = 8 / gap**2 * math.log(2 * math.comb(n_items, 2) / left)
    noise = 2 * paid * changed_ballots(neighboring) / (epsilon * gap) * math.log(max(paid, 1) / left)
    return max(sampling, noise)
