"""Advice: which estimator with which parameters, from public inputs only."""

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

from ..aggregators import DPBorda, DPPrudentOrder, LDPBorda, LDPPairwise, ShufflePairwise
from ..checks import check_delta, check_epsilon, check_neighboring
from ..privacy.calibration import gaussian_sigma
from ..privacy.shuffle_groups import composed_local_epsilon
from ..profile import Shape
from ..queries import NetWins, n_pairs
from ..randomizers import PrivUnitG
from ._expected_error import RESOLUTION, expected_error

#: Where the rules change over, simulated on Mallows votes and real ones by ``examples/simulate_recommendations.py``.
PRUDENT_FROM = 10.0  # n epsilon over ln m!: the whole set of orders, up to 16 items
TWO_STAGE_FROM = 2.0  # n epsilon over m^2: orders near an anchor, above 16 items
GAUSSIAN_BELOW = 0.95  # of K-norm noise's error
LOCAL_BORDA_FROM = 1.25  # epsilon of a voter's report
_TRUSTS = ["central", "local", "shuffle"]
_MESSAGES = (1, 2, 3, 4, 6, 8, 12, 16)  # of one voter in the shuffle model
_MOST_PRUDENT_ITEMS = 16
_LARGEST_EPSILON = 500.0  # of the local and the shuffle model, in double precision
_MOST_ITEMS = 65_534  # as of ballots
_MOST_VOTERS = 1e15  # beyond, doubles do not tell numbers of voters apart
_LARGEST_CROWD = 10**6  # beyond, more voters hide a voter still better: a bound


@dataclass(frozen=True)
class Alternative:
    """An estimator that was considered, and its error.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with all parameters set.
    error : float
        As in `Recommendation`.
    """

    estimator: Any
    error: float


@dataclass(frozen=True)
class Recommendation:
    """What `recommend` advises.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with all parameters set; `clone` it, or fit it.
    error : float
        Excess normalised average Kendall tau over the Kemeny optimum that it has on the reference electorate, on
        average over its noise: between 0.0001, below which errors are not told apart, and 0.15, a random order's.
    reason : str
        The public inputs that decided, and the runner-up.
    alternatives : tuple of Alternative
        What else was considered, the least error first. One that is better on the reference electorate may
        be listed where it fails on voters who agree less.
    reference : str
        The electorate whose error is given.
    """

    estimator: Any
    error: float
    reason: str
    alternatives: tuple[Alternative, ...]
    reference: str = "Mallows votes that contradict their centre on 35 % of the pairs on average"


def recommend(n_items, n_voters, epsilon, delta=0.0, trust="central", neighboring=None):
    """Advise which estimator to use with which parameters, and say what error to expect.

    Parameters
    ----------
    n_items : int
        Number of items m, at least 2.
    n_voters : float
        Number of voters n: an order of magnitude (1e4) will do for "central" and "local". It must be a public
        estimate; under "add_remove" the true number is private and must not be read off the ballots. For "shuffle" it
        becomes `min_reports`, rounded down: give the number of honest voters that you are sure of.
    epsilon : float
        Privacy loss, in nats.
    delta : float, default=0.0
        Failure probability. 0 asks for pure privacy, and mechanisms that have it are considered either way;
        "shuffle" needs a positive one.
    trust : {"central", "local", "shuffle"}, default="central"
        Who may see ballots: the curator; nobody; nobody, but a shuffler mixes the reports.
    neighboring : {"add_remove", "replace"} or None, default=None
        Which profiles count as neighbours. None is "add_remove" for "central"; "local" and "shuffle" are always
        "replace".

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
    No ballot is read, so the advice costs no privacy. The rules, with n epsilon halved under "replace":

    * central: `DPBorda` with K-norm noise, or Gaussian noise where delta allows it and its error is 5 % less; from n
      epsilon = 10 ln m! on `DPPrudentOrder` (3 to 16 items), from 2 m^2 on ``DPPrudentOrder(window=7)`` (more).
    * local: `LDPPairwise`, one pair a voter, below epsilon = 1.25; `LDPBorda` from there on.
    * shuffle: `ShufflePairwise` with the number K of messages a voter that makes K tanh^2(local epsilon / 2) largest,
      the local epsilon being that of one message; `LDPBorda`, which needs no shuffler, where even that is noisier.

    Errors depend on n and epsilon through the ratio of the noise to n only; in units of m the error of Borda is
    nearly the same function of that ratio from 4 items to 100.

    The error is that of 30 or more Mallows voters who contradict their centre on 35 % of the pairs (SUSHI's do on
    34 %, JESTER's on about 40 %). Where it is small, voters who agree more have less of it, and those who agree less
    have more. Near 10 ln m! no rule of public inputs suits both: at 4 items and n epsilon = 7 ln m!, K-norm Borda
    and `DPPrudentOrder` have errors of .013 and .027 on one of Mao et al.'s sets of 795 rankings, and of .006 and
    .001 on another. The rule keeps to Borda there, which fails more gently: between 4 and 16 ln m! it may lose .01 to
    the other choice. On many items of close agreement (45, Mallows phi = .75) orders near an anchor would pay from m^2
    / 4 on and single pairs at epsilon = 1.5, by .001 to .004; on 40 of JESTER's jokes they lose .009 and .005 there.

    Not considered: `LDPAdaptivePairs`, which must ask voters in rounds; it is better than `LDPPairwise` on few items
    or close agreement (two thirds of its error on Mao et al.'s 4 items at epsilon = 2), and worse on JESTER. The
    published mechanisms were nowhere better than those considered.

    References
    ----------
    Joseph and Yu (2023) for K-norm noise; Asi, Feldman and Talwar (2022) for `LDPBorda`; Balle et al. (2019) for
    the shuffle bound.

    Examples
    --------
    >>> from sklearn_dprank.model_selection.recommendation import recommend
    >>> advice = recommend(n_items=10, n_voters=1e4, epsilon=0.005)
    >>> advice.estimator
    DPBorda(epsilon=0.005, noise='knorm')
    >>> round(advice.error, 3)
    0.014
    >>> recommend(n_items=10, n_voters=1e4, epsilon=0.5).estimator
    DPPrudentOrder(epsilon=0.5)
    """
    _check(n_items, n_voters, epsilon, delta)
    if trust not in _TRUSTS:
        raise ValueError(f"trust must be one of {_TRUSTS}, got {trust!r}.")
    relation = _relation(trust, neighboring)
    m, n = int(n_items), float(n_voters)
    if trust != "central" and epsilon > _LARGEST_EPSILON:
        raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON:g} for trust={trust!r}, got {epsilon!r}.")
    epsilon, delta = float(epsilon), float(delta)  # single precision would be that of the estimator, too
    if trust == "central":
        found = _central(m, n, epsilon, delta, relation)
    else:
        found = _local(m, n, epsilon) if trust == "local" else _shuffle(m, n, epsilon, delta)
    chosen, considered, why = found
    return _advice(chosen, considered, why, m, max(1, math.floor(n)))


def _central(n_items, n_voters, epsilon, delta, neighboring):
    """Borda with the least noise, unless margins are large enough for an order drawn from all."""
    sensitivity = NetWins().sensitivity(n_items, neighboring)
    signal = n_voters * epsilon / sensitivity.gauge  # the gauge is 1 under "add_remove", 2 under "replace"
    common = {"epsilon": epsilon, "neighboring": neighboring}

    # Net wins are twice as wide as ranks.
    laplace = math.sqrt(2) * sensitivity.l1 / epsilon / (2 * n_voters * n_items)
    knorm = Alternative(DPBorda(noise="knorm", **common), expected_error("knorm", n_items, signal / n_items))
    considered = [knorm, Alternative(DPBorda(**common), expected_error("gaussian", n_items, laplace))]
    borda = knorm
    if delta > 0:
        sigma = gaussian_sigma(float(epsilon), float(delta), math.sqrt(sensitivity.l2_squared))
        error = expected_error("gaussian", n_items, sigma / (2 * n_voters * n_items))
        gaussian = Alternative(DPBorda(delta=delta, noise="gaussian", **common), error)
        considered.append(gaussian)
        if error < GAUSSIAN_BELOW * knorm.error:  # otherwise pure privacy costs nothing
            borda = gaussian

    if n_items <= _MOST_PRUDENT_ITEMS:
        scale, name, unit, start = math.lgamma(n_items + 1), "prudent", "ln m!", PRUDENT_FROM
        orders = DPPrudentOrder(**common)
    else:
        scale, name, unit, start = n_items**2, "two_stage", "m^2", TWO_STAGE_FROM
        orders = DPPrudentOrder(window=7, **common)
    prudent = Alternative(orders, expected_error(name, n_items, signal / scale))
    considered.append(prudent)
    # The only margin of two items is their net wins: there K-norm noise is better whatever n epsilon is.
    drawn = n_items > 2 and signal >= start * scale
    halved = " / 2 (neighboring='replace')" if neighboring == "replace" else ""
    side = "at least" if drawn else "below"
    why = f"n epsilon{halved} = {_figure(signal)} is {side} {start:g} {unit} = {_figure(start * scale)}"
    if n_items == 2:
        why = "the only margin of two items is their net wins"
    elif not drawn:
        why += ", from which DPPrudentOrder does not fail on voters who agree little"
    if not drawn and delta > 0:
        side = "smaller" if borda is not knorm else "no smaller"
        why += f"; with delta = {delta:g} Gaussian noise is {side} than K-norm noise"
    return prudent if drawn else borda, considered, why


def _local(n_items, n_voters, epsilon):
    """One pair a voter where reports are very noisy, the whole vector of ranks otherwise."""
    pair = LDPPairwise(epsilon=epsilon)
    answers = n_voters * math.tanh(epsilon / 2) ** 2
    one_pair = Alternative(pair, expected_error("gaussian", n_items, _pair_noise(n_items, answers)))
    vector = _rank_vector(n_items, n_voters, epsilon)
    if n_items == 2:
        return one_pair, [one_pair, vector], "there is one pair, and randomized response is optimal for it"
    whole = epsilon >= LOCAL_BORDA_FROM
    side = "at least" if whole else "below"
    why = f"epsilon = {epsilon:g} is {side} {LOCAL_BORDA_FROM:g}, from which a report of all ranks says most"
    return vector if whole else one_pair, [one_pair, vector], why


def _shuffle(n_items, n_voters, epsilon, delta):
    """As many messages a voter as carry most, or no use of the shuffler where it hides too little."""
    if delta == 0:
        raise ValueError(
            "delta must be positive for trust='shuffle', got 0: shuffling hides no voter with certainty; set "
            "delta=1e-6, say, or trust='local'."
        )
    crowd = max(1, math.floor(n_voters))

    def pairwise(n_queries):
        answers = crowd * _worth(float(epsilon), min(crowd, _LARGEST_CROWD), float(delta), n_queries)
        estimator = ShufflePairwise(epsilon=epsilon, delta=delta, n_queries=n_queries, min_reports=crowd)
        return Alternative(estimator, expected_error("gaussian", n_items, _pair_noise(n_items, answers))), answers

    chosen, answers = pairwise(1)
    considered = [chosen]
    for n_queries in _MESSAGES[1:]:
        if n_queries > n_pairs(n_items) or chosen.error <= RESOLUTION:
            break
        more, better = pairwise(n_queries)
        considered.append(more)
        if better < 1.05 * answers:  # not worth the messages
            break
        chosen, answers = more, better
    vector = _rank_vector(n_items, crowd, epsilon)
    messages = chosen.estimator.n_queries
    if vector.error < chosen.error:
        why = f"among {crowd} reports the shuffler adds too little to epsilon = {epsilon:g}"
        return vector, [vector, *considered], why
    many = "1 message" if messages == 1 else f"{messages} messages"
    why = f"with {crowd} reports, epsilon = {epsilon:g} and delta = {delta:g}, {many} a voter carry most"
    return chosen, [vector, *considered], why


def _rank_vector(n_items, n_voters, epsilon):
    """Return `LDPBorda` and its error."""
    # Its noise is the mean square of a report less that of the net wins in it, and stays in the sum-zero
    # space, where as much noise on each item puts m / (m - 1) times as much between two of them.
    square = PrivUnitG.variance(PrivUnitG().protocol(float(epsilon), n_items)) - (n_items**2 - 1) / 3
    noise = math.sqrt(square / n_voters * n_items / (n_items - 1)) / (2 * n_items)
    return Alternative(LDPBorda(epsilon=epsilon), expected_error("gaussian", n_items, noise))


def _pair_noise(n_items, answers):
    """Return the noise of mean ranks over m when this many truthful answers about random pairs are at hand.

    A margin over n is estimated with variance C(m, 2) / answers, independently of the others.
    """
    return math.sqrt((n_items - 1) / (8 * max(answers, 1e-300)))


@lru_cache(maxsize=256)
def _worth(epsilon, crowd, delta, n_queries):
    """Return how many truthful answers one voter's K shuffled messages are worth, K tanh^2(local epsilon / 2)."""
    if crowd < 2:
        return n_queries * math.tanh(epsilon / n_queries / 2) ** 2
    return n_queries * math.tanh(composed_local_epsilon(epsilon, crowd, delta, n_queries) / 2) ** 2


def _advice(chosen, considered, why, n_items, n_voters):
    """Return the recommendation of the one chosen, or else the best that can be fitted; the others by their error."""
    others = sorted((each for each in considered if each is not chosen), key=lambda each: each.error)
    refused = ""
    while refusal := _refusal(chosen.estimator, n_items, n_voters):
        refused = refused or refusal
        if not others:
            raise ValueError(f"nothing can be recommended, because no estimator takes such parameters: {refused}")
        chosen, *others = others
        why = f"what is better by the rules cannot be fitted: {refused}"
    return Recommendation(chosen.estimator, chosen.error, _reason(chosen, others, why), tuple(others))


def _refusal(estimator, n_items, n_voters):
    """Return why an estimator could not be fitted, or "" if it could."""
    try:
        estimator.plan_for(Shape(n_items, n_voters))
    except (ValueError, ArithmeticError) as error:
        return f"{_named(estimator)}: {error}"
    return ""


def _reason(chosen, others, why):
    runner_up = (
        ""
        if not others
        else (
            f" Runner-up: {_named(others[0].estimator)}, whose expected error is {others[0].error:.2g} against "
            f"{chosen.error:.2g}."
        )
    )
    return f"{_named(chosen.estimator)}, because {why}.{runner_up}"


def _named(estimator):
    return " ".join(repr(estimator).split())


def _figure(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def _check(n_items, n_voters, epsilon, delta):
    if not isinstance(n_items, Integral) or int(n_items) < 2:
        raise ValueError(f"n_items must be an integer of at least 2, got {n_items!r}.")
    if int(n_items) > _MOST_ITEMS:  # values of any length are not printed
        raise ValueError(f"n_items must be at most {_MOST_ITEMS}, got more.")
    if not isinstance(n_voters, Real) or not 0 < n_voters < math.inf:  # type: ignore[operator]
        raise ValueError(f"n_voters must be a positive, finite number; a public estimate will do; got {n_voters!r}.")
    if n_voters > _MOST_VOTERS:  # type: ignore[operator]
        raise ValueError(f"n_voters must be at most {_MOST_VOTERS:g}, got more; a public estimate will do.")
    check_epsilon(epsilon)
    check_delta(delta)


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
