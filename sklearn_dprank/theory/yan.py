"""Yan, Li and Liu (2020): the error of LDP-KwikSort under the Mallows model, and how many questions to ask a voter.

Each of n voters answers K pairs drawn from the C(m, 2), each answer at epsilon/K. A report names the true order of a
pair with probability p and the other one with q = 1 - p; p - q is the product of two gaps, that of the randomizer and
that of the Mallows model.
"""

import math

import numpy as np

from .._utils.checks import at_least_two, is_published, positive
from .._utils.types import PairNoise, Variant
from ..collection.curator.query_count import best_query_count, check_randomizer, optimal_queries, truth_gap

__all__ = [
    "best_query_count",
    "expected_errors",
    "mallows_pair_probability",
    "many_errors_probability",
    "optimal_queries",
    "spent_epsilon",
    "truth_gap",
]


def mallows_pair_probability(phi: float, gap: int = 1) -> float:
    """Return the probability that a Mallows ballot orders two items as the reference does.

    Parameters
    ----------
    phi : float
        Dispersion in [0, 1]; 1 is uniform. The paper's theta is 1 - phi (not -ln phi, the usual theta).
    gap : int, default=1
        How many places apart the two are in the reference.

    Returns
    -------
    float
        p_M; for neighbours 1/(1 + phi) = 1/(2 - theta).

    Notes
    -----
    The paper uses the value for neighbours, the smallest, for all pairs. In general it is
    (k + 1)/(1 - phi^(k+1)) - k/(1 - phi^k) at gap k, computed here without cancellation as
    sum_{s<k} (s + 1) phi^s / ([k] [k + 1]), [k] = 1 + phi + ... + phi^(k-1).

    References
    ----------
    Mallows (1957); Yan et al. (2020), Section 5.2.

    Examples
    --------
    >>> mallows_pair_probability(0.25), round(mallows_pair_probability(0.25, gap=3), 4)
    (0.8, 0.9681)
    """
    if not 0 <= phi <= 1:
        raise ValueError(f"phi must lie in [0, 1], got {phi!r}.")
    powers = float(phi) ** np.arange(gap + 1)
    inner = powers[:-1].sum()
    return float(np.arange(1, gap + 1) @ powers[:-1] / (inner * powers.sum()))


def spent_epsilon(epsilon: float, n_queries: int, *, randomizer: PairNoise = "rr") -> float:
    """Return the epsilon that K answers really spend.

    Parameters
    ----------
    epsilon : float
        Nominal privacy parameter of a voter.
    n_queries : int
        Number K of answers.
    randomizer : {"rr", "laplace"}, default="rr"
        How answers are randomised.

    Returns
    -------
    float
        epsilon for randomised response, K ln(2 e^(epsilon/2K) - 1) for thresholded Laplace.

    Notes
    -----
    Thresholded Laplace is randomised response with flip probability e^(-epsilon/2K)/2: plain epsilon-LDP, not only
    the weaker individual notion of Theorem 1, and less private budget used than allowed, so that randomised
    response is better at the same guarantee. (In the proof of Theorem 1 the ratio is p/(1 - p), not 2 p/(1 - p).)

    References
    ----------
    Yan et al. (2020), Theorem 1 and Section 5.2.2.

    Examples
    --------
    >>> round(spent_epsilon(1.0, 1, randomizer="laplace"), 3)
    0.832
    """
    check_randomizer(randomizer)
    positive(epsilon=epsilon, n_queries=n_queries)
    if randomizer == "rr":
        return epsilon
    return n_queries * math.log1p(2 * math.expm1(epsilon / (2 * n_queries)))


def expected_errors(
    n_voters: float,
    n_items: int,
    epsilon: float,
    phi: float,
    *,
    n_queries: int = 1,
    randomizer: PairNoise = "rr",
    variant: Variant = "corrected",
) -> float:
    """Return mu, a bound on the expected number of pairs whose estimated order is wrong (Theorems 2 and 3).

    By the union bound it also bounds the probability that any pair is wrong. Ties count as wrong.

    Parameters
    ----------
    n_voters, n_items : int
        Voters n and items m.
    epsilon : float
        Privacy parameter of a voter.
    phi : float
        Mallows dispersion, in [0, 1].
    n_queries : int, default=1
        Number K of distinct pairs asked of a voter, drawn uniformly.
    randomizer : {"rr", "laplace"}, default="rr"
        How answers are randomised.
    variant : {"corrected", "published"}, default="corrected"
        Which bound.

    Returns
    -------
    float
        mu, in pairs.

    Notes
    -----
    The paper prints mu = 2 C(m, 2) exp(-K g^2 theta*^2 n/(m (m - 1))), with g the published `truth_gap` and
    theta* = (1 - phi)/(1 + phi). It takes every pair to be asked exactly n K/C(m, 2) times and to be as hard as
    neighbours, and Hoeffding twice over. Corrected: a pair is asked of each voter with probability
    x = K/C(m, 2); a margin of +-1 reports with gap d = p - q is not positive with probability at most
    (1 - d^2)^(r/2) after r of them (Chernoff), hence (1 - x (1 - sqrt(1 - d^2)))^n; summed over the pairs, m - k of
    them at gap k. Since 1 - sqrt(1 - d^2) >= d^2/2, it is never above half of the printed mu.

    References
    ----------
    Yan et al. (2020), Theorems 2 and 3.

    Examples
    --------
    >>> round(expected_errors(5000, 10, 2.0, 0.5), 2)
    0.24
    >>> round(expected_errors(5000, 10, 2.0, 0.5, variant="published"), 2)
    19.23
    """
    at_least_two(n_items=n_items)
    pairs = math.comb(n_items, 2)
    if not 1 <= n_queries <= pairs:
        raise ValueError(f"n_queries must lie between 1 and {pairs}, the number of pairs; got {n_queries!r}.")
    answer = truth_gap(epsilon, n_queries, randomizer=randomizer, variant=variant)
    if is_published(variant):
        ballot = 2 * mallows_pair_probability(phi) - 1
        return 2 * pairs * math.exp(-n_queries * (answer * ballot) ** 2 * n_voters / (2 * pairs))
    asked = n_queries / pairs
    mu = 0.0
    for k in range(1, n_items):
        d = answer * (2 * mallows_pair_probability(phi, gap=k) - 1)
        mu += (n_items - k) * (1 - asked * (1 - math.sqrt(1 - d**2))) ** n_voters
    return mu


def many_errors_probability(mu: float, *, variant: Variant = "corrected") -> float:
    """Return a bound on the probability of 6 mu wrong pairs or more.

    Parameters
    ----------
    mu : float
        Expected number of wrong pairs, or a bound on it: `expected_errors`.
    variant : {"corrected", "published"}, default="corrected"
        Which bound.

    Returns
    -------
    float
        min(mu, 1/6), by the union bound and by Markov; 2^(-6 mu) as printed.

    Notes
    -----
    Theorems 2 and 3 claim fewer than 6 mu errors with probability at least 1 - 2^(-6 mu), by a Chernoff bound for
    independent errors. For K > 1 a voter's answers come from one ballot, and errors of different pairs depend on
    each other: the step is not proved. And where mu is small, the case that matters, the claim says nothing
    (mu = .01: "with probability at least .04"), while 1 - mu bounds the probability of no error at all.

    References
    ----------
    Yan et al. (2020), Theorems 2 and 3 and Lemma 2.

    Examples
    --------
    >>> many_errors_probability(0.01), round(many_errors_probability(0.01, variant="published"), 2)
    (0.01, 0.96)
    """
    return 2.0 ** (-6 * mu) if is_published(variant) else min(mu, 1 / 6)
