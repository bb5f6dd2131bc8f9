"""Alabi, Ghazi, Kumar and Manurangsi (2022): guarantees, upper bounds and lower bounds with their constants.

Notation: there are n voters and m items. w_ij is the share of voters who prefer i to j. An (alpha, beta) guarantee
means that the expected average Kendall tau distance is at most alpha OPT + beta.

Guarantees: ``GUARANTEES`` contains Tables 1 and 2, without constants. `reduction_error` is Theorem 1. `central_budget`
and `local_budget` split epsilon as Algorithms 1 to 3 do, and `printed_response_epsilon` gives the epsilon that their
printed randomised response spends.

Upper bounds (Theorems 5, 8 and 11, Lemma 10): `stopped_reduction`, `hypercube_answer_error`, `group_answers`, and
`corollary_bound` for a row of the tables. The paper clips noisy shares to [0, 1] (footnote 2), so that they are shares
again: an approximation ratio above 1 is proved for shares only. The estimators do not clip, but the bounds still hold.
Clipping moves no answer away from the true one, so the error e of an answer bounds that of the clipped one. KwikSort
only uses whether an answer is above 1/2, which clipping does not change. Results for clipped answers therefore hold for
its rankings. The exact Kemeny order has ratio 1 for any numbers.

Lower bounds (Theorems 13 and 14, Observations 15 and 16): the theorems state how many voters are necessary, up to
constants that they do not give. `packing_floor` and `fingerprint_floor` are additive errors with constants: for every
private algorithm, there are votes with E K(sigma, votes) >= ratio OPT + floor. Local algorithms are private algorithms,
so the floors hold for them too. `packing_voters` gives the number of voters for an additive error. `marginal_ranking`,
`marginal_signs`, `marginal_leanings`, `marginal_lower_bound` and `marginal_upper_bound` connect rankings with the
one-way marginals of sign vectors, on which the proofs are based.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln

from .._utils.checks import (
    at_least_two,
    changed_ballots,
    check_choice,
    check_number,
    check_positive,
    check_whole,
    is_as_printed,
)
from .._utils.types import Neighboring, Variant
from ..collection.pairs import group_load, group_overflow_bound
from ..orders.permutations import quicksort_query_bound
from ..privacy.composition import gaussian_sigma

__all__ = [
    "GUARANTEES",
    "Approximation",
    "BudgetSplit",
    "GroupAnswers",
    "Guarantee",
    "central_budget",
    "corollary_bound",
    "fingerprint_floor",
    "group_answers",
    "group_load",
    "group_overflow_bound",
    "hypercube_answer_error",
    "local_budget",
    "marginal_leanings",
    "marginal_lower_bound",
    "marginal_ranking",
    "marginal_signs",
    "marginal_upper_bound",
    "packing_floor",
    "packing_voters",
    "printed_response_epsilon",
    "reduction_error",
    "stopped_reduction",
]


class Guarantee(NamedTuple):
    """Row of the paper's Tables 1 and 2.

    Attributes
    ----------
    trust : str
        "central" or "local".
    source : str
        Corollary or paper that proves it.
    pure : bool
        Whether delta is 0.
    ratio : float
        Approximation ratio alpha. Any constant xi > 0 is added to it, unless `efficient` is False.
    additive : callable
        Additive error beta without its constant, as additive(n_voters, n_items, epsilon, delta).
    efficient : bool
        Whether the running time is polynomial.
    """

    trust: str
    source: str
    pure: bool
    ratio: float
    additive: Callable[[float, float, float, float], float]
    efficient: bool = True


#: Tables 1 and 2. Compare the growth of rows, not their values: each row omits its own constant. See `corollary_bound`
#: for constants, and `packing_floor` and `fingerprint_floor` for lower bounds. Theorems 13 and 14 show that n must grow
#: at least like m/epsilon (pure) and sqrt(m)/epsilon (approximate) for an additive error below a constant share of m^2,
#: for any ratio. Corollaries 6 and 7 are therefore optimal up to logarithms.
GUARANTEES = (
    Guarantee("central", "Corollary 6", True, 5.0, lambda n, m, eps, delta: m**3 * math.log(m) / (eps * n)),
    Guarantee(
        "central",
        "Corollary 7",
        False,
        5.0,
        lambda n, m, eps, delta: m**2.5 * math.sqrt(math.log(m)) * math.sqrt(math.log(1 / delta)) / (eps * n),
    ),
    Guarantee("central", "Corollary 3", True, 1.0, lambda n, m, eps, delta: m**4 / (eps * n)),
    Guarantee(
        "central", "Corollary 4", False, 1.0, lambda n, m, eps, delta: m**3 * math.sqrt(math.log(1 / delta)) / (eps * n)
    ),
    Guarantee(
        "central", "Hay et al. (2017)", True, 1.0, lambda n, m, eps, delta: m**3 * math.log(m) / (eps * n), False
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
        Expected absolute error e of one answer w_ij: the scale of Laplace noise, or sqrt(2/pi) sigma of Gaussian noise.
    variant : {"corrected", "as_printed"}, default="corrected"
        Corrected or printed constant.

    Returns
    -------
    float
        beta, in pairs.

    Notes
    -----
    The paper prints (alpha + 1) m^2 e, from a sum over all ordered pairs (Fact 2). A ranking pays one of w_ij and
    w_ji = 1 - w_ij, so the sum over unordered pairs is enough: (alpha + 1) C(m, 2) e, less than half. (In the paper's
    expression of K, sigma(i) <= sigma(j) should be sigma(i) < sigma(j).)

    References
    ----------
    Alabi et al. (2022), Theorem 1 and Fact 2.

    Examples
    --------
    >>> reduction_error(1, 10, 0.01), reduction_error(1, 10, 0.01, variant="as_printed")
    (0.9, 2.0)
    """
    pairs = n_items**2 if is_as_printed(variant) else math.comb(n_items, 2)
    return (ratio + 1) * pairs * query_error


class BudgetSplit(NamedTuple):
    """Split of epsilon: of one voter in the local model, of the whole release in the central model.

    Attributes
    ----------
    n_answers : int
        Number of answers that can be paid for.
    per_answer : float
        Epsilon of each answer.
    fallback : float
        Epsilon reserved for the fallback; 0 if it is never needed.
    """

    n_answers: int
    per_answer: float
    fallback: float

    @property
    def total(self) -> float:
        """Epsilon in the worst case, by basic composition."""
        return self.n_answers * self.per_answer + self.fallback


def central_budget(n_items: int, epsilon: float, xi: float = 1.0) -> BudgetSplit:
    """Return the budget of DPKwikSort (Algorithm 1): q answers, and half of epsilon reserved for the fallback.

    Parameters
    ----------
    n_items : int
        Number m of items.
    epsilon : float
        Privacy parameter of the release.
    xi : float, default=1.0
        The fallback is needed with probability at most xi/m^4, which it adds to the approximation ratio.

    Returns
    -------
    BudgetSplit
        epsilon/(2 q) for each answer. If q = C(m, 2) covers every pair, epsilon/q and no fallback.

    Notes
    -----
    An answer is a margin (i over j minus j over i). Its Laplace noise has scale 1/per_answer if ballots are added or
    removed, and twice that if they are replaced (in shares w_ij: 1/(n per_answer)). With Gaussian noise, the q answers
    are one vector of L2 sensitivity sqrt(q), with the same fraction of the squared mu. The fallback answers all pairs
    at once.

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
    check_positive(epsilon=epsilon)
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
        The fallback is needed with probability at most 2 xi/m^4, which it adds to the approximation ratio.
    variant : {"corrected", "as_printed"}, default="corrected"
        The split that sums to epsilon, or the printed one.

    Returns
    -------
    BudgetSplit
        epsilon0 = epsilon/(2 tau) for each of tau answers, and epsilon/2 for the fallback. If tau = q, epsilon/q for
        each of q answers and no fallback.

    Notes
    -----
    Algorithm 2 prints epsilon0 = .5 epsilon m/q for up to 2 q/m answers, which is all of epsilon. With the fallback of
    Algorithm 3, which never defines epsilon0, a voter spends up to 1.5 epsilon. If q = C(m, 2), epsilon/tau is also too
    much, because one group can still overflow (m = 5: tau = 7 of q = 10). The counter must increase once per question,
    before any voter answers; the algorithms print it inside the loop over voters. d_epsilon is
    (e^epsilon0 + 1)/(e^epsilon0 - 1), where the paper prints epsilon^epsilon0.

    References
    ----------
    Alabi et al. (2022), Lemma 10, Algorithms 2 and 3.

    Examples
    --------
    >>> local_budget(10, 1.0)
    BudgetSplit(n_answers=15, per_answer=0.0333..., fallback=0.5)
    >>> local_budget(10, 1.0, variant="as_printed").total
    1.5
    """
    at_least_two(n_items=n_items)
    check_positive(epsilon=epsilon)
    q = quicksort_query_bound(n_items, xi)
    if is_as_printed(variant):
        return BudgetSplit(math.floor(2 * q / n_items), 0.5 * epsilon * n_items / q, epsilon / 2)
    tau = group_load(q, n_items, xi)
    if tau >= q:
        return BudgetSplit(q, epsilon / q, 0.0)
    return BudgetSplit(tau, epsilon / (2 * tau), epsilon / 2)


def printed_response_epsilon(per_answer: float) -> float:
    """Return the epsilon that the printed randomised response of Algorithms 2 and 3 spends of `per_answer`.

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
    The algorithms answer d or -d with probabilities (1 +- w/d)/2, w in {0, 1}. This is unbiased, but w = 0 is a fair
    coin, so half the range is wasted. With 2 w - 1 in place of w (and the threshold 0 in place of 1/2), the response
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


def marginal_ranking(signs: Sequence[float] | NDArray[Any], n_middle: int) -> NDArray[np.int64]:
    """Return the ranking pi^x of 2 d + t items that encodes x in {-1, +1}^d.

    It is the identity, with items j and j + d + t exchanged where x_j = -1.

    Parameters
    ----------
    signs : array-like of shape (d,)
        x, entries -1 and +1.
    n_middle : int
        Number t of items between the two blocks of d; they never move.

    Returns
    -------
    numpy.ndarray of shape (2 * d + t,)
        Positions, from 0.

    Notes
    -----
    In the paper's text, the exchange happens where x_j = +1. In its formula, it happens where x_j = -1.

    References
    ----------
    Alabi et al. (2022), Lower bounds, connection to one-way marginals.

    Examples
    --------
    >>> marginal_ranking([1, -1], 1)
    array([0, 4, 2, 3, 1])
    """
    exchanged = np.flatnonzero(np.asarray(signs) < 0)
    positions = np.arange(2 * len(signs) + n_middle)
    far = exchanged + len(signs) + n_middle
    positions[exchanged], positions[far] = far, exchanged
    return positions


def marginal_signs(positions: ArrayLike, n_signs: int, *, variant: Variant = "corrected") -> NDArray[np.int64]:
    """Return rho(sigma) in {-1, +1}^d, the signs of the marginals that a ranking encodes.

    Parameters
    ----------
    positions : array-like of shape (2 * d + t,)
        A ranking sigma.
    n_signs : int
        Number d of signs.
    variant : {"corrected", "as_printed"}, default="corrected"
        Corrected or printed sign.

    Returns
    -------
    numpy.ndarray of shape (d,)
        +1 where item j comes before item j + d + t, else -1; the reverse as printed.

    Notes
    -----
    The paper prints the opposite sign, with which rho(pi^x) = -x and Observation 15 fails.

    References
    ----------
    Alabi et al. (2022), definition of rho before Observation 15.

    Examples
    --------
    >>> marginal_signs(marginal_ranking([1, -1], 1), 2)
    array([ 1, -1])
    """
    positions = np.asarray(positions)
    before = np.where(positions[:n_signs] < positions[-n_signs:], 1, -1)
    return -before if is_as_printed(variant) else before


def marginal_lower_bound(
    positions: ArrayLike, signs: Sequence[float] | NDArray[Any], n_middle: int, *, variant: Variant = "corrected"
) -> float:
    """Return the bound of Observation 15: K(sigma, {pi^x}) >= t (d/2 - <rho(sigma), mean x>/2).

    A good consensus must have the signs of the marginals right, because each wrong sign crosses all t middle items.

    Parameters
    ----------
    positions : array-like of shape (2 * d + t,)
        Any ranking sigma (the paper prints a permutation of 2 d items).
    signs : array-like of shape (n, d)
        Vectors x, one per voter.
    n_middle : int
        Number t of middle items.
    variant : {"corrected", "as_printed"}, default="corrected"
        Sign of `marginal_signs`. With the printed sign, the bound is false.

    Returns
    -------
    float
        Lower bound on the average Kendall tau distance.

    References
    ----------
    Alabi et al. (2022), Observation 15.

    Examples
    --------
    >>> marginal_lower_bound([0, 1, 2], [[-1]], 1), marginal_lower_bound([0, 1, 2], [[1]], 1, variant="as_printed")
    (1.0, 1.0)
    """
    n_signs = np.shape(signs)[1]
    encoded = marginal_signs(positions, n_signs, variant=variant)
    return n_middle * (n_signs - float(encoded @ np.mean(signs, axis=0))) / 2


def marginal_leanings(positions: ArrayLike, n_signs: int) -> NDArray[np.float64]:
    """Return y in [-1, 1]^d, how far a ranking leans to each sign: Observation 15 with twice the factor.

    Parameters
    ----------
    positions : array-like of shape (2 * d + t,)
        A ranking sigma, t at least 1.
    n_signs : int
        Number d of signs.

    Returns
    -------
    numpy.ndarray of shape (d,)
        1 minus the share of the middle items that come before item j, minus the share that come after item j + d + t.

    Notes
    -----
    If x_j = 1, item j belongs before each middle item and item j + d + t after it. If x_j = -1, the reverse holds.
    Sigma orders t (1 - x_j y_j) of these pairs wrongly. So K(sigma, {pi^x}) >= t (d - <y, mean x>). Observation 15 has
    half of that, for the signs. For pi^x itself, y = x, so Observation 16 attains the bound up to pairs of outer items.

    References
    ----------
    Alabi et al. (2022), Observations 15 and 16.

    Examples
    --------
    >>> marginal_leanings(marginal_ranking([1, -1], 2), 2)
    array([ 1., -1.])
    >>> marginal_leanings([0, 2, 3, 1], 1)  # the middle items are last: only the first item is right for x = 1
    array([0.])
    """
    positions = np.asarray(positions)
    first, middle, last = np.split(positions, [n_signs, len(positions) - n_signs])
    before, after = middle < first[:, None], middle > last[:, None]
    return 1 - before.mean(axis=1) - after.mean(axis=1)


def marginal_upper_bound(
    guess: ArrayLike, signs: Sequence[float] | NDArray[Any], n_middle: int, *, variant: Variant = "corrected"
) -> float:
    """Return the bound of Observation 16: K(pi^y, {pi^x}) <= 2 t (d/2 - <y, mean x>/2) + 2 d^2.

    Parameters
    ----------
    guess : array-like of shape (d,)
        y, entries -1 and +1.
    signs : array-like of shape (n, d)
        Vectors x, one per voter.
    n_middle : int
        Number t of middle items.
    variant : {"corrected", "as_printed"}, default="corrected"
        Factor 2 t, or the printed t.

    Returns
    -------
    float
        Upper bound on the average Kendall tau distance.

    Notes
    -----
    A wrong sign exchanges both j and j + d + t with every middle item: 2 t inversions, where the paper counts t
    (d = 2, t = 10, y = -x: distance 44, printed bound 28).

    References
    ----------
    Alabi et al. (2022), Observation 16.

    Examples
    --------
    >>> marginal_upper_bound([1, 1], [[-1, -1]], 10), marginal_upper_bound([1, 1], [[-1, -1]], 10, variant="as_printed")
    (48.0, 28.0)
    """
    crossings, guess = n_middle if is_as_printed(variant) else 2 * n_middle, np.asarray(guess)
    wrong = (len(guess) - float(guess @ np.mean(signs, axis=0))) / 2  # signs of the guess, averaged over the voters
    return crossings * wrong + 2 * len(guess) ** 2


_LARGEST = 400  # items; for more, the integers of `_nearby` take more than a few seconds


@lru_cache(maxsize=32)
def _nearby(n_items):
    """Return the logs of the shares of all rankings within 0, 1, ..., C(m, 2) inversions of one ranking.

    Integers stay exact where shares would underflow. The k-th item passes 0 to k - 1 others.
    """
    counts = np.ones(1, dtype=object)
    for k in range(2, n_items + 1):
        summed = np.cumsum(np.append(counts, [0] * (k - 1)))
        counts = summed - np.append([0] * k, summed)[: len(summed)]
    everything = math.log(math.factorial(n_items))
    return np.array([math.log(within) - everything for within in np.cumsum(counts)])


def packing_floor(n_voters: int, n_items: int, epsilon: float) -> float:
    """Return an additive error that no epsilon-private algorithm can avoid, for any approximation ratio.

    Parameters
    ----------
    n_voters, n_items : int
        Numbers n and m; m at most 400.
    epsilon : float
        Privacy parameter under "replace". For an "add_remove" guarantee, pass twice its epsilon.

    Returns
    -------
    float
        Sum over r = 0, 1, ..., C(m, 2) - 1 of (1 - V) / (1 - V + e^(epsilon n) V), where V is the share of all rankings
        within r inversions of one. It tends to half of all pairs as epsilon n tends to 0, and is below one pair from
        epsilon n = ln m! on.

    Notes
    -----
    Let all n voters have the same ranking pi, so that OPT = 0. Exchanging all voters changes no probability by more
    than a factor e^(epsilon n). For any output, a share V of all pi is within r inversions. Suppose that these pi make
    the output e^(epsilon n) times as likely as the others do. The output is then within r inversions of pi with
    probability e^(epsilon n) V/(1 - V + e^(epsilon n) V), averaged over pi. No algorithm exceeds this probability. The
    sum over r of the complements is a mean distance.

    The paper packs codewords pi^x into the space of rankings, which shows the same growth. Here all rankings form the
    packing, and every term is as large as possible.

    References
    ----------
    Alabi et al. (2022), Theorem 13; Hardt and Talwar (2010).

    Examples
    --------
    >>> packing_floor(10, 20, 1e-9)  # of 190 pairs
    94.99...
    >>> round(packing_floor(10, 20, 1.0), 2), packing_floor(50, 20, 1.0) < 1e-3
    (38.58, True)
    """
    check_whole(n_voters, "n_voters")
    check_whole(n_items, "n_items", 2, _LARGEST)
    check_positive(epsilon=epsilon)
    near = _nearby(n_items)[:-1]
    far = near[::-1]  # the reverse of a ranking with more than r inversions has less than C(m, 2) - r
    return float(expit(far - near - epsilon * n_voters).sum())


def packing_voters(n_items: int, epsilon: float, additive: float | None = None) -> int:
    """Return a necessary number of voters for an additive error, at any approximation ratio (Theorem 13).

    Parameters
    ----------
    n_items : int
        Number m of items, at most 400.
    epsilon : float
        Privacy parameter under "replace".
    additive : float or None, default=None
        Additive error, in pairs per voter; None is the paper's .01 m^2.

    Returns
    -------
    int
        Least n with `packing_floor` at most `additive`: the paper's Omega(m/epsilon) with its constant.

    References
    ----------
    Alabi et al. (2022), Theorem 13.

    Examples
    --------
    >>> [packing_voters(m, epsilon=0.1) for m in (10, 20, 40, 80)]
    [142, 343, 801, 1789]
    """
    check_whole(n_items, "n_items", 2, _LARGEST)
    check_positive(epsilon=epsilon)
    error = 0.01 * n_items**2 if additive is None else additive
    check_positive(additive=error)
    # at this n, even the largest term, with 1/V = m! at r = 0, is small enough
    enough = math.ceil(max(math.lgamma(n_items + 1) + math.log(math.comb(n_items, 2) / error), 0) / epsilon) + 1
    return 1 + bisect_left(range(1, enough), True, key=lambda n: packing_floor(n, n_items, epsilon) <= error)


_SHAPES = np.geomspace(0.01, 30, 80)[:, None]  # gamma; every value gives a valid bound


def fingerprint_floor(n_voters: int, n_items: int, epsilon: float, delta: float, ratio: float = 1.0) -> float:
    """Return an additive error that no (epsilon, delta)-private algorithm of this ratio can avoid (Theorem 14).

    Parameters
    ----------
    n_voters, n_items : int
        Numbers n and m.
    epsilon, delta : float
        Privacy parameters under "replace".
    ratio : float, default=1.0
        Approximation ratio alpha.

    Returns
    -------
    float
        The largest value, over d, t = m - 2 d and gamma > 0, of

            t d (1 - alpha (1 - h) (1 + (2 d - 3/2)/t) - (n + 2 gamma)/(2 gamma) D), not below 0,

        h = Gamma(gamma + 1/2) / (sqrt(pi) Gamma(gamma + 1)), v = 2 gamma/(2 gamma + 1) and
        D = sinh(epsilon) sqrt(v/d) + (1 + e^-epsilon) delta v. The maximum over gamma is taken on a grid; every gamma
        gives a valid bound. The bound is a constant share of m^2 as long as n is below a constant times sqrt(m)/epsilon
        and delta is below a constant over n.

    Notes
    -----
    The theorem is printed for (1, o(1/n))-privacy and n = o(sqrt(m)/epsilon); epsilon is meant in both places.

    The constants are derived here. Draw p_j in [-1, 1] with density proportional to (1 - p^2)^(gamma - 1), and votes
    pi^x with E x_j = p_j. Let y be `marginal_leanings` of the output. Integration by parts shows that the sum over
    voters of E <y, x - p> is 2 gamma E <y, p>. E <y, mean x> exceeds E <y, p> by 1/n of that sum. Privacy limits each
    voter's term to d D. With a fresh vote instead, the term would have mean 0, and its absolute value at most sqrt(d v)
    on average.

    The floor follows from t (d - E <y, mean x>) <= E K <= alpha OPT + beta. Here OPT <= d (1 - h) (t + 2 d - 3/2), the
    cost of the signs of p. A wrong sign crosses every middle item twice, and others of the 2 d items at most 4 d - 3
    times.

    References
    ----------
    Alabi et al. (2022), Theorem 14; Dwork, Smith, Steinke, Ullman and Vadhan (2015), Steinke and Ullman (2017).

    Examples
    --------
    >>> round(fingerprint_floor(5, 400, 0.1, 1e-9))
    14484
    >>> fingerprint_floor(1000, 400, 0.1, 1e-9)
    0.0
    """
    check_whole(n_voters, "n_voters")
    at_least_two(n_items=n_items)
    check_positive(epsilon=epsilon)
    check_number(delta, "delta", least=0, below=1)
    check_number(ratio, "ratio", least=1)
    d = np.arange(1, (n_items - 1) // 2 + 1)
    if d.size == 0:
        return 0.0
    t = n_items - 2 * d
    h = np.exp(gammaln(_SHAPES + 0.5) - gammaln(_SHAPES + 1)) / math.sqrt(math.pi)
    v = 2 * _SHAPES / (2 * _SHAPES + 1)
    told = math.sinh(epsilon) * np.sqrt(v / d) + (1 + math.exp(-epsilon)) * delta * v
    agreed = 1 - ratio * (1 - h) * (1 + (2 * d - 1.5) / t)
    floors = t * d * (agreed - (n_voters / (2 * _SHAPES) + 1) * told)
    return max(0.0, float(floors.max()))


class Approximation(NamedTuple):
    """Proved guarantee of a mechanism: expected average Kendall tau distance <= ratio OPT + additive.

    Attributes
    ----------
    ratio : float
        alpha.
    additive : float
        beta, in pairs per voter.
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
    """Return the guarantee of an algorithm that restarts with a fallback once its answers are used up (Theorems 5, 11).

    Parameters
    ----------
    ratio : float
        Approximation ratio alpha of the algorithm without noise, at least 1.
    n_items : int
        Number m of items.
    query_error : float
        Expected absolute error e of an answer w_ij.
    fallback_error : float
        Expected absolute error of an answer in the fallback, which asks for all pairs.
    stops : float
        Probability that the answers do not suffice: xi/m^4 in Theorem 5. It is a small multiple of xi/m^4 in Theorem
        11, where a group can also receive too many questions.
    variant : {"corrected", "as_printed"}, default="corrected"
        The fallback is the exact Kemeny order of its answers (corrected), or a 2-approximation (printed). The constant
        is that of `reduction_error`.

    Returns
    -------
    Approximation
        Ratio alpha + stops (alpha + 2 stops as printed). The additive error is that of `reduction_error` plus `stops`
        times that of the fallback.

    Notes
    -----
    Let K(sigma*, w~) be the cost of the fallback's ranking under the first answers, and K(sigma*, w) its cost under the
    votes. The proof bounds the former by Corollary 3, which holds for the latter. Measuring every ranking under the
    votes from the start corrects this and gives the bound returned here. The fallback's noise is fresh and independent
    of the reason for calling it.

    References
    ----------
    Alabi et al. (2022), Theorems 5 and 11.

    Examples
    --------
    >>> stopped_reduction(5, 10, 0.01, 0.05, stops=1e-4)
    Approximation(ratio=5.0001, additive=2.70045)
    """
    check_positive(fallback_error=fallback_error)
    check_number(stops, "stops", least=0, most=1)
    alpha = 2 if is_as_printed(variant) else 1
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
        B_d / (2 sqrt(n)), with d = C(m, 2) and B_d = 2^(d-1) / (tanh(epsilon/2) C(d-1, floor(d/2))). B_d is the scale
        of Duchi, Jordan and Wainwright's corners if ties are broken evenly. The bound grows like m / (epsilon sqrt(n)).

    Notes
    -----
    `~sklearn_dprank.collection.HypercubeSampling` has a smaller error by default: half at epsilon = 4 and
    m = 10. Theorem 8's additive error is `reduction_error` of this bound.

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
    check_positive(epsilon=epsilon)
    d = math.comb(n_items, 2)
    corners = 2 ** (d - 1) / math.comb(d - 1, d // 2)
    return corners / math.tanh(epsilon / 2) / (2 * math.sqrt(n_voters))


class GroupAnswers(NamedTuple):
    """Guarantee of Lemma 10 for the answers of m groups of voters.

    Attributes
    ----------
    query_error : float
        Bound on the expected error of a share w_ij.
    overflow : float
        Bound on the probability that a group receives more questions than it can pay for.
    """

    query_error: float
    overflow: float


def group_answers(
    n_voters: int, n_items: int, epsilon: float, n_queries: int, *, variant: Variant = "corrected"
) -> GroupAnswers:
    """Return the guarantee of q adaptive answers, each by one of m groups, with 2 q/m answers per group (Lemma 10).

    Parameters
    ----------
    n_voters, n_items : int
        Numbers n and m.
    epsilon : float
        Privacy parameter of a voter, all of it for these answers.
    n_queries : int
        Number q of questions.
    variant : {"corrected", "as_printed"}, default="corrected"
        The response to v = 2 w - 1 and a union of binomial tails; or the printed response to w, and exp(-.1 q/m).

    Returns
    -------
    GroupAnswers
        query_error is sqrt(m/n) d/2, or sqrt(m/n) d with the printed response. Here
        d = (e^epsilon0 + 1)/(e^epsilon0 - 1) and epsilon0 = .5 epsilon m/q.

    Notes
    -----
    The printed tail is proved for q > 10 m log m. The q that KwikSort needs is 3 to 8 times smaller for m = 5 to 100.
    The printed value is then .26 to .82, which is true but far above the actual .04 to .18. The response to w in {0, 1}
    is a fair coin at w = 0 and spends only part of epsilon0 (`printed_response_epsilon`). The paper takes n to be a
    multiple of m; here the smallest group counts.

    References
    ----------
    Alabi et al. (2022), Lemma 10 and Algorithm 2.

    Examples
    --------
    >>> group_answers(10_000, 20, 1.0, 150)
    GroupAnswers(query_error=0.671..., overflow=0.0720...)
    >>> group_answers(10_000, 20, 1.0, 150, variant="as_printed")
    GroupAnswers(query_error=1.342..., overflow=0.472...)
    """
    at_least_two(n_items=n_items)
    check_whole(n_voters, "n_voters", n_items)
    check_whole(n_queries, "n_queries")
    check_positive(epsilon=epsilon)
    load = 2 * n_queries / n_items
    error = _response_error(n_voters, n_items, epsilon / load)
    if is_as_printed(variant):
        return GroupAnswers(2 * error, math.exp(-0.1 * n_queries / n_items))
    return GroupAnswers(error, min(1.0, group_overflow_bound(n_queries, n_items, math.floor(load))))


def _response_error(n_voters, n_items, epsilon):
    """Return a bound on the error of a share that one of m groups answers by randomised response on v = +-1."""
    return 1 / (2 * math.tanh(epsilon / 2) * math.sqrt(n_voters // n_items))


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
    """Return the guarantee behind a row of Tables 1 and 2, including constants.

    Parameters
    ----------
    source : {"Corollary 3", "Corollary 4", "Corollary 6", "Corollary 7", "Corollary 9", "Corollary 12"}
        A source of ``GUARANTEES``. In this order: `DPPairwise` with Laplace and Gaussian noise, `DPKwikSort` with
        Laplace and Gaussian noise, ``LDPPairwise(randomizer="djw", rule="kemeny")`` and `LDPGroupKwikSort`. The bounds
        are proved for the Kemeny order of the margins as they are, ``rule=KemenyRule(shrink=False)``.
    n_voters, n_items : int
        Numbers n and m.
    epsilon : float
        Privacy parameter.
    delta : float, default=0.0
        Must be positive for Corollaries 4 and 7, else 0.
    xi : float, default=1.0
        KwikSort's fallback adds at most xi/m^4 to the ratio in the central model, and 2 xi/m^4 in the local model.
    neighboring : {"replace", "add_remove"}, default="replace"
        Neighbouring relation, for a curator. The paper's "replace" needs twice the noise.

    Returns
    -------
    Approximation
        Uses the exact Kemeny order for the paper's approximation scheme: ratio 1 where the table has 1 + xi.

    Notes
    -----
    For most sizes, KwikSort has the larger bound: the ratio 5 costs a factor 3, and the fallback half the budget. Its
    additive error is smaller in Corollary 6 than in Corollary 3 from m = 192 on. In Corollaries 7 and 12, compared with
    4 and 9, it is larger for all m up to 250. (The fallback of `LDPGroupKwikSort` asks one random pair per voter, with
    4/5 of the error counted here.)

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
    check_choice(source, "source", [f"Corollary {number}" for number in (3, 4, 6, 7, 9, 12)])
    at_least_two(n_items=n_items)
    check_positive(epsilon=epsilon)
    if (delta > 0) != (source in ("Corollary 4", "Corollary 7")):
        raise ValueError(f"delta must be positive for Corollaries 4 and 7 and 0 otherwise, got {delta!r} for {source}.")
    check_whole(n_voters, "n_voters", n_items if source == "Corollary 12" else 1)
    changed, pairs, rare = changed_ballots(neighboring), math.comb(n_items, 2), xi / n_items**4
    if source == "Corollary 9":
        return Approximation(1, reduction_error(1, n_items, hypercube_answer_error(n_voters, n_items, epsilon)))
    if source == "Corollary 12":
        budget = local_budget(n_items, epsilon, xi)
        asked = _response_error(n_voters, n_items, budget.per_answer)
        again = hypercube_answer_error(n_voters, n_items, epsilon / 2)
        return stopped_reduction(5, n_items, asked, again, 2 * rare if budget.fallback else 0)
    budget = central_budget(n_items, epsilon, xi)
    all_at_once = source in ("Corollary 3", "Corollary 4")
    part = 1.0 if all_at_once or not budget.fallback else 0.5  # of epsilon, or of the squared mu
    answers = np.array([budget.n_answers, pairs])  # of KwikSort, and of the fallback or of `DPPairwise`
    if delta:
        errors = np.sqrt(2 / math.pi * answers / part) * changed * gaussian_sigma(epsilon, delta) / (2 * n_voters)
    else:
        errors = answers * changed / (part * epsilon) / (2 * n_voters)
    asked, again = errors.tolist()
    if all_at_once:
        return Approximation(1, reduction_error(1, n_items, again))
    return stopped_reduction(5, n_items, asked, again, rare if budget.fallback else 0)
