"""Alabi et al. (2022), upper bounds with their constants: Theorems 5, 8 and 11, Lemma 10 and the corollaries.

`alabi.GUARANTEES` says how the bounds grow. Here is what they are, for the budgets and noises of the estimators.

Notation: w_ij is the share of voters who prefer i to j. The paper clips noisy shares to [0, 1] (footnote 2), so that
they are shares again: an approximation ratio above 1 is proved for shares only. The estimators do not clip, and the
bounds hold all the same. Clipping moves no answer away from the true one, so the error e of an answer bounds that of
the clipped one. KwikSort reads of an answer whether it is above 1/2, which clipping does not change: what is proved of
the clipped answers holds for its rankings. The exact Kemeny order has ratio 1 for any numbers.
"""

import math
from typing import NamedTuple

from .._utils.checks import at_least_two, check_choice, check_number, check_whole, is_published, positive, votes_changed
from .._utils.types import Neighboring, Variant
from ..privacy.calibration import gaussian_sigma
from .alabi import central_budget, group_overflow_bound, local_budget, reduction_error


class Approximation(NamedTuple):
    """What is proved of a mechanism: expected average Kendall tau distance <= ratio OPT + additive.

    Attributes
    ----------
    ratio : float
        alpha.
    additive : float
        beta, in pairs a voter.
    """

    ratio: float
    additive: float


def stopped_reduction(
    ratio: float,
    n_items: int,
    query_error: float,
    fallback_error: float,
    stops: float,
    *,
    variant: Variant = "corrected",
) -> Approximation:
    """Return the guarantee of an algorithm that asks until its answers are used up, then starts anew (Theorems 5, 11).

    Parameters
    ----------
    ratio : float
        Approximation ratio alpha of the algorithm without noise, at least 1.
    n_items : int
        Number m of items.
    query_error : float
        Expected absolute error e of an answer w_ij.
    fallback_error : float
        That of an answer of the fallback, which asks for all pairs.
    stops : float
        Probability that the answers do not last: xi/m^4 in Theorem 5; a few of them in Theorem 11, where a group
        can be asked too often as well.
    variant : {"corrected", "published"}, default="corrected"
        The fallback is the exact Kemeny order of its answers, or a 2-approximation, and `reduction_error`'s constant.

    Returns
    -------
    Approximation
        ratio alpha + stops, additive error that of `reduction_error` plus `stops` times the fallback's.

    Notes
    -----
    The proof bounds K(sigma*, w~), the fallback's cost by the first answers, by what Corollary 3 says of K(sigma*, w),
    its cost by the votes. Counting every ranking by the votes from the start mends that and gives what is
    returned: the fallback's noise is fresh, so that it knows nothing of why it was called.

    References
    ----------
    Alabi et al. (2022), Theorems 5 and 11.

    Examples
    --------
    >>> stopped_reduction(5, 10, 0.01, 0.05, stops=1e-4)
    Approximation(ratio=5.0001, additive=2.70045)
    """
    positive(fallback_error=fallback_error)
    check_number(stops, "stops", least=0, most=1)
    alpha = 2 if is_published(variant) else 1
    again = reduction_error(alpha, n_items, fallback_error, variant=variant)
    return Approximation(
        ratio + alpha * stops, reduction_error(ratio, n_items, query_error, variant=variant) + stops * again
    )


def hypercube_answer_error(n_voters: int, n_items: int, epsilon: float) -> float:
    """Return a bound on the expected error of a share w_ij when voters send all comparisons (Theorem 8).

    Parameters
    ----------
    n_voters, n_items : int
        Numbers n and m.
    epsilon : float
        Privacy parameter of a voter.

    Returns
    -------
    float
        B_d / (2 sqrt(n)), with d = C(m, 2) and B_d = 2^(d-1) / (tanh(epsilon/2) C(d-1, floor(d/2))), the scale of
        Duchi, Jordan and Wainwright's corners when ties are broken evenly; it grows like m / (epsilon sqrt(n)).

    Notes
    -----
    `~sklearn_dprank.collection.curator.HypercubeSampling` does better by default: at epsilon = 4 and m = 10 by half.
    Theorem 8's additive error is `reduction_error` of this.

    References
    ----------
    Alabi et al. (2022), Theorem 8; Duchi, Jordan and Wainwright (2018).

    Examples
    --------
    >>> round(hypercube_answer_error(10_000, 10, 1.0), 4)
    0.0905
    """
    check_whole(n_voters, "n_voters")
    at_least_two(n_items=n_items)
    positive(epsilon=epsilon)
    d = math.comb(n_items, 2)
    corners = 2 ** (d - 1) / math.comb(d - 1, d // 2)
    return corners / math.tanh(epsilon / 2) / (2 * math.sqrt(n_voters))


class GroupAnswers(NamedTuple):
    """What Lemma 10 promises of the answers of m groups of voters.

    Attributes
    ----------
    query_error : float
        Bound on the expected error of a share w_ij.
    overflow : float
        Bound on the probability that a group is asked more often than it can pay for.
    """

    query_error: float
    overflow: float


def group_answers(
    n_voters: int, n_items: int, epsilon: float, n_queries: int, *, variant: Variant = "corrected"
) -> GroupAnswers:
    """Return what is known of n_queries adaptive answers, each by one of m groups, 2 q/m a group (Lemma 10).

    Parameters
    ----------
    n_voters, n_items : int
        Numbers n and m.
    epsilon : float
        Privacy parameter of a voter, all of it for these answers.
    n_queries : int
        Number q of questions.
    variant : {"corrected", "published"}, default="corrected"
        The response to v = 2 w - 1 and a union of binomial tails; or the printed response to w, and exp(-.1 q/m).

    Returns
    -------
    GroupAnswers
        query_error sqrt(m/n) d/2, or d with the printed response; d = (e^epsilon0 + 1)/(e^epsilon0 - 1) and
        epsilon0 = .5 epsilon m/q.

    Notes
    -----
    The printed tail is proved for q > 10 m log m. The q that KwikSort needs is 3 to 8 times smaller for m = 5 to 100;
    the printed value is then .26 to .82 and true, but far off: .04 to .18. The response to w in {0, 1} is a fair coin
    at w = 0 and spends only part of epsilon0 (`alabi.printed_response_epsilon`). The paper takes n to be a multiple of
    m; here the smallest group counts.

    References
    ----------
    Alabi et al. (2022), Lemma 10 and Algorithm 2.

    Examples
    --------
    >>> group_answers(10_000, 20, 1.0, 150)
    GroupAnswers(query_error=0.671..., overflow=0.0720...)
    >>> group_answers(10_000, 20, 1.0, 150, variant="published")
    GroupAnswers(query_error=1.342..., overflow=0.472...)
    """
    at_least_two(n_items=n_items)
    check_whole(n_voters, "n_voters", n_items)
    check_whole(n_queries, "n_queries")
    positive(epsilon=epsilon)
    printed = is_published(variant)
    load = 2 * n_queries / n_items
    error = _response_error(n_voters, n_items, epsilon / load)
    if printed:
        return GroupAnswers(2 * error, math.exp(-0.1 * n_queries / n_items))
    return GroupAnswers(error, min(1.0, group_overflow_bound(n_queries, n_items, math.floor(load))))


def _response_error(n_voters, n_items, epsilon):
    """Return a bound on the error of a share that one of m groups answers by randomised response on v = +-1."""
    return 1 / (2 * math.tanh(epsilon / 2) * math.sqrt(n_voters // n_items))


def _curator_error(answers, n_voters, epsilon, delta, changed, part=1.0):
    """Return the expected error of a share when a part of epsilon, or of the squared mu, pays for that many answers."""
    if delta:
        return math.sqrt(2 / math.pi * answers / part) * changed * gaussian_sigma(epsilon, delta) / (2 * n_voters)
    return answers * changed / (part * epsilon) / (2 * n_voters)


def _central_all(n_voters, n_items, epsilon, delta, _xi, changed):
    error = _curator_error(math.comb(n_items, 2), n_voters, epsilon, delta, changed)
    return Approximation(1, reduction_error(1, n_items, error))


def _central_kwiksort(n_voters, n_items, epsilon, delta, xi, changed):
    budget = central_budget(n_items, epsilon, xi)
    paid = {"n_voters": n_voters, "epsilon": epsilon, "delta": delta, "changed": changed}
    part = 0.5 if budget.fallback else 1.0
    asked, again = (_curator_error(answers, **paid, part=part) for answers in (budget.n_answers, math.comb(n_items, 2)))
    return stopped_reduction(5, n_items, asked, again, xi / n_items**4 if budget.fallback else 0)


def _local_all(n_voters, n_items, epsilon, *_):
    return Approximation(1, reduction_error(1, n_items, hypercube_answer_error(n_voters, n_items, epsilon)))


def _local_kwiksort(n_voters, n_items, epsilon, _delta, xi, _changed):
    budget = local_budget(n_items, epsilon, xi)
    asked = _response_error(n_voters, n_items, budget.per_answer)
    again = hypercube_answer_error(n_voters, n_items, epsilon / 2)
    return stopped_reduction(5, n_items, asked, again, 2 * xi / n_items**4 if budget.fallback else 0)


_COROLLARIES = {
    "Corollary 3": _central_all,
    "Corollary 4": _central_all,
    "Corollary 6": _central_kwiksort,
    "Corollary 7": _central_kwiksort,
    "Corollary 9": _local_all,
    "Corollary 12": _local_kwiksort,
}


def corollary_bound(
    source: str,
    n_voters: int,
    n_items: int,
    epsilon: float,
    delta: float = 0.0,
    *,
    xi: float = 1.0,
    neighboring: Neighboring = "replace",
) -> Approximation:
    """Return the guarantee behind a row of Tables 1 and 2, constants included.

    Parameters
    ----------
    source : {"Corollary 3", "Corollary 4", "Corollary 6", "Corollary 7", "Corollary 9", "Corollary 12"}
        A source of `alabi.GUARANTEES`. In turn: `DPPairwise` with Laplace and Gaussian noise, `DPKwikSort` with
        Laplace and Gaussian noise, ``LDPPairwise(randomizer="djw", rule="kemeny")`` and `LDPGroupKwikSort`.
    n_voters, n_items : int
        Numbers n and m.
    epsilon : float
        Privacy parameter.
    delta : float, default=0.0
        Positive for Corollaries 4 and 7, and only for them.
    xi : float, default=1.0
        What KwikSort's fallback may add to the ratio is at most 2 xi/m^4.
    neighboring : {"replace", "add_remove"}, default="replace"
        Which profiles count as neighbours, for a curator; "replace", the paper's, needs twice the noise.

    Returns
    -------
    Approximation
        With the exact Kemeny order for the paper's approximation scheme: ratio 1 where the table has 1 + xi.

    Notes
    -----
    KwikSort's bound is the larger one for long: the ratio 5 costs a factor 3, and the fallback half the budget. Its
    additive error is the smaller one from m = 192 on in Corollary 6 against 3, for no m up to 250 in Corollaries 7
    and 12 against 4 and 9. (`LDPGroupKwikSort` falls back on one random pair a voter, at 4/5 of the error counted.)

    References
    ----------
    Alabi et al. (2022), Corollaries 3, 4, 6, 7, 9 and 12, Tables 1 and 2.

    Examples
    --------
    >>> corollary_bound("Corollary 3", 10_000, 10, 1.0)
    Approximation(ratio=1, additive=0.40...)
    >>> round(corollary_bound("Corollary 6", 10_000, 20, 1.0).additive, 2)
    34.2
    """
    check_choice(source, "source", _COROLLARIES)
    at_least_two(n_items=n_items)
    positive(epsilon=epsilon)
    if (delta > 0) != (source in ("Corollary 4", "Corollary 7")):
        raise ValueError(f"delta must be positive for Corollaries 4 and 7 and 0 otherwise, got {delta!r} for {source}.")
    check_whole(n_voters, "n_voters", n_items if source == "Corollary 12" else 1)
    return _COROLLARIES[source](n_voters, n_items, epsilon, delta, xi, votes_changed(neighboring))
