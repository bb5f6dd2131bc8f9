"""Yan, Li and Liu (2020): error of LDP-KwikSort under the Mallows model, and the optimal number of questions per voter.

Each of n voters answers K of the C(m, 2) pairs, drawn at random, each answer at epsilon/K. A report gives the true
order of a pair with probability p and the reverse order with q = 1 - p. The gap p - q is the product of two gaps: that
of the randomizer and that of the Mallows model.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from .._utils.checks import at_least_two, check_choice, check_positive, is_as_printed
from .._utils.types import PairNoise, Variant
from ..collection.pairs import BEST_BUDGET, PairFlips, best_query_count, optimal_queries, truth_gap
from ..collection.protocol import flip_above

__all__ = [
    "PrintedLaplace",
    "best_query_count",
    "expected_errors",
    "mallows_pair_probability",
    "many_errors_probability",
    "optimal_queries",
    "spent_epsilon",
    "truth_gap",
]


class PrintedLaplace(PairFlips):
    """Thresholded Laplace noise of LDP-KwikSort:Lap as printed, for ``randomizer=`` of `LDPKwikSort` and `LDPPairwise`.

    Each voter adds Laplace noise of scale K / epsilon to K answers in {0, 1} and reports which of them exceed 1/2. The
    guarantee states the true epsilon.

    Parameters
    ----------
    n_queries : int or None, default=1
        Number of pairs K that a voter answers, at most C(n_items, 2). Estimators set it to their own `n_queries`.

    Notes
    -----
    In the protocol of Yan et al., voters send the noisy numbers and the curator thresholds them. The numbers spend all
    of epsilon, but the curator uses only the bits. So the device thresholds here. A bit is flipped with probability f =
    e^(-1 / (2 scale)) / 2, which the device draws exactly. Its privacy loss is ln((1 - f) / f), only .832 for an
    epsilon of 1. The paper claims only local individual differential privacy (LiDP). In fact, both the numbers and the
    bits are locally differentially private. Randomised response spends all of epsilon on the bits.

    References
    ----------
    Yan, Li and Liu (2020), Section 4.5, Algorithms 3 and 4.

    Examples
    --------
    >>> from sklearn_dprank.theory.yan import PrintedLaplace
    >>> round(PrintedLaplace().spent(epsilon=1.0, items=4), 3)
    0.832
    """

    name = "laplace"
    how = "thresholded Laplace noise"
    is_tight = False
    _count_for = "laplace"

    def flip(self, budget: str | Decimal, n_answers: int) -> int:
        """Return the flip probability of the printed noise, as a numerator over 2^52."""
        return flip_above(math.exp(-0.5 * float(budget) / n_answers) / 2)


def mallows_pair_probability(phi: float, gap: int = 1) -> float:
    """Return the probability that a Mallows ballot orders two items as the reference does.

    Parameters
    ----------
    phi : float
        Dispersion in [0, 1]; 1 is uniform. The paper's theta is 1 - phi (not -ln phi, the usual theta).
    gap : int, default=1
        Number of places between the two items in the reference; 1 for adjacent items.

    Returns
    -------
    float
        p_M; for adjacent items 1/(1 + phi) = 1/(2 - theta).

    Notes
    -----
    The paper uses the value for adjacent items, the smallest, for all pairs. In general it is
    (k + 1)/(1 - phi^(k+1)) - k/(1 - phi^k) at gap k. It is computed here without cancellation as
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
    """Return the epsilon that K answers spend.

    Parameters
    ----------
    epsilon : float
        Nominal privacy parameter of a voter.
    n_queries : int
        Number K of answers.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.

    Returns
    -------
    float
        epsilon for randomised response, K ln(2 e^(epsilon/2K) - 1) for thresholded Laplace.

    Notes
    -----
    Thresholded Laplace is randomised response with flip probability e^(-epsilon/2K)/2. It is plain epsilon-LDP, not
    only the weaker individual notion of Theorem 1. It spends less than epsilon, so randomised response is better at the
    same guarantee. (In the proof of Theorem 1, the ratio is p/(1 - p), not 2 p/(1 - p).)

    References
    ----------
    Yan et al. (2020), Theorem 1 and Section 5.2.2.

    Examples
    --------
    >>> round(spent_epsilon(1.0, 1, randomizer="laplace"), 3)
    0.832
    """
    check_choice(randomizer, "randomizer", BEST_BUDGET)
    check_positive(epsilon=epsilon, n_queries=n_queries)
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

    By the union bound, mu also bounds the probability that any pair is wrong. Ties count as wrong.

    Parameters
    ----------
    n_voters, n_items : int
        Number n of voters, and number m of items.
    epsilon : float
        Privacy parameter of a voter.
    phi : float
        Mallows dispersion, in [0, 1].
    n_queries : int, default=1
        Number K of distinct pairs per voter, drawn uniformly.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "as_printed"}, default="corrected"
        Corrected or printed bound.

    Returns
    -------
    float
        mu, in pairs.

    Notes
    -----
    The paper prints mu = 2 C(m, 2) exp(-K g^2 theta*^2 n/(m (m - 1))), with g the printed `truth_gap` and
    theta* = (1 - phi)/(1 + phi). It assumes that every pair is asked exactly n K/C(m, 2) times and is as hard as
    adjacent items. It applies Hoeffding's two-sided bound where one side is enough.

    For the corrected bound, each voter answers a pair with probability x = K/C(m, 2). Let r reports of +-1 have the gap
    d = p - q. Their sum is not positive with probability at most (1 - d^2)^(r/2) (Chernoff). With a random r, this
    becomes (1 - x (1 - sqrt(1 - d^2)))^n. The bound is the sum over the pairs, m - k of them at gap k. Since
    1 - sqrt(1 - d^2) >= d^2/2, it is never above half of the printed mu.

    References
    ----------
    Yan et al. (2020), Theorems 2 and 3.

    Examples
    --------
    >>> round(expected_errors(5000, 10, 2.0, 0.5), 2)
    0.24
    >>> round(expected_errors(5000, 10, 2.0, 0.5, variant="as_printed"), 2)
    19.23
    """
    at_least_two(n_items=n_items)
    pairs = math.comb(n_items, 2)
    if not 1 <= n_queries <= pairs:
        raise ValueError(f"n_queries must lie between 1 and {pairs}, the number of pairs; got {n_queries!r}.")
    answer = truth_gap(epsilon, n_queries, randomizer=randomizer, variant=variant)
    if is_as_printed(variant):
        ballot = 2 * mallows_pair_probability(phi) - 1
        return 2 * pairs * math.exp(-n_queries * (answer * ballot) ** 2 * n_voters / (2 * pairs))
    asked = n_queries / pairs
    mu = 0.0
    for k in range(1, n_items):
        d = answer * (2 * mallows_pair_probability(phi, gap=k) - 1)
        mu += (n_items - k) * (1 - asked * (1 - math.sqrt(1 - d**2))) ** n_voters
    return mu


def many_errors_probability(mu: float, *, variant: Variant = "corrected") -> float:
    """Return a bound on the probability of 6 mu or more wrong pairs.

    Parameters
    ----------
    mu : float
        Expected number of wrong pairs, or a bound on it: `expected_errors`.
    variant : {"corrected", "as_printed"}, default="corrected"
        Corrected or printed bound.

    Returns
    -------
    float
        min(mu, 1/6), by the union bound and by Markov; 2^(-6 mu) as printed.

    Notes
    -----
    Theorems 2 and 3 claim fewer than 6 mu errors with probability at least 1 - 2^(-6 mu), by a Chernoff bound for
    independent errors. For K > 1, a voter's answers come from one ballot, and errors of different pairs are dependent,
    so this step is not proved. If mu is small, which is the relevant case, the claim is weak (mu = .01: "with
    probability at least .04"). In contrast, no pair is wrong with probability at least 1 - mu.

    References
    ----------
    Yan et al. (2020), Theorems 2 and 3 and Lemma 2.

    Examples
    --------
    >>> many_errors_probability(0.01), round(many_errors_probability(0.01, variant="as_printed"), 2)
    (0.01, 0.96)
    """
    return 2.0 ** (-6 * mu) if is_as_printed(variant) else min(mu, 1 / 6)
