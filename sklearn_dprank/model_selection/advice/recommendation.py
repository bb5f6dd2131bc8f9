"""`recommend`: which estimator with which parameters, from public inputs only."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from ..._utils.checks import (
    check_choice,
    check_delta,
    check_epsilon,
    check_neighboring,
    check_number,
    check_whole,
    shown,
)
from ..._utils.types import Neighboring
from ...ballots.profile import Shape
from ..parameters import in_words
from .curves import LARGEST_GUESS, LEAST_GUESS, REFERENCE, Alternative, Outlook
from .rules import central_choice, local_choice, secure_choice, shuffle_choice

_LARGEST_EPSILON = 500.0  # of the local and the shuffle model, in double precision
_MOST_ITEMS = 65_534  # as of ballots
_MOST_VOTERS = 1e15  # beyond, doubles do not tell numbers of voters apart


@dataclass(frozen=True)
class Recommendation:
    """What `recommend` advises.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with all parameters set; `clone` it, or fit it.
    error : float
        Excess normalised average Kendall tau over the Kemeny optimum that is expected, on average over the noise and
        over simulated electorates that disagree as guessed: between 0.0001, below which errors are not told apart, and
        0.5 less the disagreement, a random order's. With `k` of `recommend` it is the share of the best k items (of
        the Kemeny optimum) that is missed, from 0.001 to 1 - k / n_items.
    error_range : tuple of float
        The least and the largest error, on average over the noise, of the simulated electorates that disagree within
        0.05 of the guess; without a guess, of those that disagree on 10 to 45 % of the pairs.
    reason : str
        The public inputs that decided, and the runner-up; errors in points (hundredths), or in percent with `k`.
    alternatives : tuple of Alternative
        What else was considered, the least error first. One that is better at `error`'s disagreement may be listed
        where it is worse on average over those that were thought of.
    reference : str
        The electorates whose error is given.
    """

    estimator: Any
    error: float
    error_range: tuple[float, float]
    reason: str
    alternatives: tuple[Alternative, ...]
    reference: str


def recommend(
    n_items: int,
    n_voters: float,
    epsilon: float,
    delta: float = 0.0,
    trust: Literal["central", "local", "shuffle", "secure_aggregation"] = "central",
    neighboring: Neighboring | None = None,
    *,
    k: int | None = None,
    disagreement: float | None = None,
) -> Recommendation:
    """Advise which estimator to use with which parameters, and say what error to expect.

    Parameters
    ----------
    n_items : int
        Number of items m, at least 2.
    n_voters : float
        Number of voters n: an order of magnitude (1e4) will do for "central" and "local". It must be a public
        estimate; under "add_remove" the true number is private and must not be read off the ballots. Where ballots
        have gaps or ties, for "central", give it times the share of the pairs on which a ballot prefers an item (.16
        where each rates 40 % of the items at random): the error is then that on such pairs. For "shuffle" and
        "secure_aggregation" it becomes `min_reports`, rounded down: give the number of honest voters that you are
        sure of.
    epsilon : float
        Privacy loss, in nats.
    delta : float, default=0.0
        Failure probability. 0 asks for pure privacy, and mechanisms that have it are considered either way;
        "shuffle" and "secure_aggregation" need a positive one.
    trust : {"central", "local", "shuffle", "secure_aggregation"}, default="central"
        Who may see ballots: the curator; nobody; nobody, but a shuffler mixes the reports; nobody, but servers that do
        not all collude add them up.
    neighboring : {"add_remove", "replace"} or None, default=None
        Which profiles count as neighbours. None is "add_remove" for "central"; the others are always "replace".
    k : int or None, default=None
        How many items are wanted, fewer than `n_items`. None is the whole order. With a number, `DPTopK` is compared
        with mechanisms for whole orders, by the share of the best k that they miss.
    disagreement : float or None, default=None
        A public guess, from 0.05 to 0.48, of the share of the pairs on which voters contradict the consensus, on
        average, where a pair that a voter ties counts one half; it must not be read off the ballots. Earlier votes of
        the kind may tell: sushis .34, jokes .4, dots to count .3 to .4. None is 0.35 for the error, and anything
        plausible for its range.

    Returns
    -------
    Recommendation
        The estimator, its error, the reason, and the alternatives.

    Raises
    ------
    ValueError
        If an argument is out of bounds, or the trust model cannot have this `delta` or `neighboring`.

    Notes
    -----
    No ballot is read, so the advice costs no privacy. Considered are, with n epsilon halved under "replace":

    * central: `DPBorda` with K-norm and with Laplace noise; `DPPrudentOrder` (3 to 16 items), or ``window=7`` (more);
      where `delta` allows it `DPBorda` with Gaussian noise and `DPSwissBorda` (14 items or more); for `k`, `DPTopK`.
    * local: `LDPPairwise`, one pair a voter, and `LDPBorda`.
    * shuffle: `ShufflePairwise` with the number K of messages a voter that makes K tanh^2(local epsilon / 2) largest,
      the local epsilon being that of one message; `LDPBorda`, which needs no shuffler.
    * secure aggregation: `SecAggBorda`, and `SecAggSwissBorda` (14 items or more).

    Each has curves of its error on simulated Mallows, Plackett-Luce and mixed votes, twelve electorates for each of
    seven disagreements and up to ten numbers of items, by the ratio of its noise to n. Chosen is what errs least on
    average over the guess, 0.05 less and 0.05 more; without a guess, over disagreements of .2, .28, .35 and .42. What
    needs delta must err 5 % less, what needs rounds again, and so must an order drawn where n epsilon is below ln m!.

    That makes drawn orders the choice from n epsilon = 6 to 7 ln m! on for 3 to 5 items, 4 to 5 ln m! for 7 to 16, and
    about m^2 for more, if nothing is known; from a third to half of that for voters who disagree on 15 % of the pairs,
    twice that at 40 %, five times and more at 45 %. `DPTopK` is chosen from n epsilon = 1 to 3 ln(m! / (m - k)!) on,
    the later the larger k / m (6 for half of 10 items at 40 %); below, the scores of all items say more, and the reason
    says so. `DPSwissBorda` pays on many items, more so where voters agree, until drawn orders are better.

    Judged on real votes that the curves were not made from, by ``examples/judge_recommendations.py``: 18 sets, of 4 to
    100 items (dots and puzzles by Mao et al., two elections, SUSHI, JESTER), 606 picks without a guess and as many with
    one that is right to the next twentieth. All but one err by at most a quarter or .001 more than the best considered
    (for `k`, a quarter or .02 of the share missed); the one, of 15 of JESTER's jokes without a guess, errs .017 where
    .008 could be had. Every error was in its range, up to its own noise. The largest error of a range is 14 times the
    least without a guess, 4 times with one (medians; more on few items and for `k`); with a guess the error said was
    from .74 to 1.31 times the error found in eight cases of ten. A range is of electorates like the simulated ones and
    no bound: of votes whose best items are all but tied, more of the best k is missed.

    Not considered: `LDPAdaptivePairs`, which must ask voters in rounds; it is better than `LDPPairwise` on few items
    or close agreement (two thirds of its error on Mao et al.'s 4 items at epsilon = 2), and worse on JESTER. The
    published mechanisms were nowhere better than those considered.

    References
    ----------
    Joseph and Yu (2023) for K-norm noise; Asi, Feldman and Talwar (2022) for `LDPBorda`; Balle et al. (2019) for
    the shuffle bound.

    Examples
    --------
    >>> from sklearn_dprank.model_selection import recommend
    >>> advice = recommend(n_items=10, n_voters=1e4, epsilon=0.005)
    >>> advice.estimator
    DPBorda(epsilon=0.005, noise='knorm')
    >>> round(advice.error, 3)
    0.012
    >>> recommend(n_items=10, n_voters=1e4, epsilon=0.5).estimator
    DPPrudentOrder(epsilon=0.5)
    """
    _check(n_items, n_voters, epsilon, delta)
    _check_wanted(n_items, k, disagreement)
    check_choice(trust, "trust", ("central", "local", "shuffle", "secure_aggregation"))
    relation = _relation(trust, neighboring)
    n = float(n_voters)
    outlook = Outlook(
        int(n_items), None if disagreement is None else float(disagreement), None if k is None else int(k)
    )
    if trust != "central" and epsilon > _LARGEST_EPSILON:
        raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON:g} for trust={trust!r}, got {epsilon!r}.")
    epsilon, delta = float(epsilon), float(delta)  # single precision would be that of the estimator, too
    if trust == "central":
        choice = central_choice(outlook, n, epsilon, delta, relation)
    elif trust == "local":
        choice = local_choice(outlook, n, epsilon)
    elif trust == "shuffle":
        choice = shuffle_choice(outlook, n, epsilon, delta)
    else:
        choice = secure_choice(outlook, n, epsilon, delta)
    return _advice(choice, outlook, max(1, math.floor(n)))


def _advice(choice, outlook, n_voters):
    """Return the recommendation of what was chosen, or else the best that can be fitted; the others by their error."""
    chosen, considered, why = choice
    others = sorted((each for each in considered if each is not chosen), key=lambda each: each.error)
    refused = ""
    while refusal := _refusal(chosen.estimator, outlook.n_items, n_voters):
        refused = refused or refusal
        if not others:
            raise ValueError(f"nothing can be recommended, because no estimator takes such parameters: {refused}")
        chosen, *others = others
        why = f"what is better by the rules cannot be fitted: {refused}"
    level = REFERENCE if outlook.disagreement is None else outlook.disagreement
    reference = (
        f"Mallows, Plackett-Luce and mixed votes that contradict their centre on {100 * level:.3g} % of the pairs"
    )
    reason = _reason(chosen, others, why, "points" if outlook.k is None else "%")
    return Recommendation(chosen.estimator, chosen.error, chosen.error_range, reason, tuple(others), reference)


def _refusal(estimator, n_items, n_voters):
    """Return why an estimator could not be fitted, or "" if it could."""
    try:
        estimator.plan_for(Shape(n_items, n_voters))
    except (ValueError, ArithmeticError) as error:
        return f"{in_words(estimator)}: {error}"
    return ""


def _reason(chosen, others, why, unit):
    runner_up = (
        ""
        if not others
        else (
            f" Runner-up: {in_words(others[0].estimator)}, whose expected error is {100 * others[0].error:.2g} "
            f"against {100 * chosen.error:.2g} {unit}."
        )
    )
    return f"{in_words(chosen.estimator)}, because {why}.{runner_up}"


def _check(n_items, n_voters, epsilon, delta):
    check_whole(n_items, "n_items", 2, _MOST_ITEMS)
    number = isinstance(n_voters, Real) and not isinstance(n_voters, bool)
    if not number or not 0 < n_voters < math.inf:
        raise ValueError(
            f"n_voters must be a positive, finite number; a public estimate will do; got {shown(n_voters)}."
        )
    if n_voters > _MOST_VOTERS:
        raise ValueError(f"n_voters must be at most {_MOST_VOTERS:g}, got more; a public estimate will do.")
    check_epsilon(epsilon)
    check_delta(delta)


def _check_wanted(n_items, k, disagreement):
    if k is not None:
        check_whole(k, "k", 1, n_items - 1)
    if disagreement is not None:
        check_number(disagreement, "disagreement", least=LEAST_GUESS, most=LARGEST_GUESS)


def _relation(trust, neighboring):
    """Return the neighbouring relation; only the central model has a choice."""
    if neighboring is None:
        return "add_remove" if trust == "central" else "replace"
    check_neighboring(neighboring)
    if trust != "central" and neighboring != "replace":
        raise ValueError(
            f"neighboring must be 'replace' or None for trust={trust!r}, where the number of voters is public, "
            f"got {neighboring!r}."
        )
    return neighboring
