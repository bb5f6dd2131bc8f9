"""Which estimators are considered for public numbers, by trust model, and which is best."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

from ..._utils.types import Neighboring
from ...aggregators import (
    DPBorda,
    DPPrudentOrder,
    DPSwissBorda,
    DPTopK,
    LDPBorda,
    LDPPairwise,
    SecAggBorda,
    SecAggSwissBorda,
    ShufflePairwise,
)
from ...ballots.profile import Shape
from ...collection.curator import PrivUnitG
from ...privacy.calibration import gaussian_sigma
from ...privacy.shuffle.groups import composed_local_epsilon
from ...queries import NetWins, n_pairs
from .curves import Alternative, Considered, Outlook, preferred

_MESSAGES = (1, 2, 3, 4, 6, 8, 12, 16)  # of one voter in the shuffle model
_MOST_PRUDENT_ITEMS = 16
_LEAST_SWISS_ITEMS = 14  # below, all rounds are net wins of all items
_LARGEST_CROWD = 10**6  # beyond, more voters hide a voter still better: a bound


class Choice(NamedTuple):
    """What a rule says: its choice, everything that it considered, and why."""

    chosen: Alternative
    considered: list[Alternative]
    why: str

    @classmethod
    def of(cls, chosen: Considered, considered: list[Considered], why: str) -> "Choice":
        """Return a choice without what it was chosen by."""
        return cls(chosen.alternative, [each.alternative for each in considered], why)


def central_choice(outlook: Outlook, n_voters: float, epsilon: float, delta: float, neighboring: Neighboring) -> Choice:
    """Borda with several noises, orders drawn by margins, Swiss rounds, the best few alone: what errs least."""
    signal = n_voters * epsilon / (2 if neighboring == "replace" else 1)  # by which margins and K-norm noise go
    common = {"epsilon": epsilon, "neighboring": neighboring}
    considered = [*_drawn(outlook, signal, common), *_borda(outlook, n_voters, delta, signal, common)]
    chosen = preferred(considered)
    halved = " / 2 (neighboring='replace')" if neighboring == "replace" else ""
    scale, unit = _prudent_unit(outlook.n_items)
    why = (
        f"with n epsilon{halved} = {_figure(signal)} ({_figure(signal / scale)} {unit} for m = {outlook.n_items} items)"
    )
    why += f" and delta = {delta:g}" if delta else ""
    return Choice.of(chosen, considered, f"{why} {_least(outlook)}{_of_top(outlook, chosen, considered)}")


def _least(outlook):
    """Return in words what the choice is best by."""
    what = "expected error" if outlook.k is None else f"expected share of the best {outlook.k} that it misses"
    where = (
        "voters who contradict their centre on 20 to 42 % of the pairs"
        if outlook.disagreement is None
        else f"voters who contradict their centre on about {100 * outlook.disagreement:.3g} % of the pairs"
    )
    return f"its {what} is the least on average over {where}"


def _of_top(outlook, chosen, considered):
    """Return whether to say only the best k pays; the first that is considered then says no more than these."""
    if outlook.k is None or chosen is considered[0]:
        return ""
    top, best = considered[0].alternative, chosen.alternative
    return f"; DPTopK does not pay here: it is expected to miss {100 * top.error:.2g} %, not {100 * best.error:.2g} %"


def _prudent_unit(n_items):
    """Return what n epsilon of drawn orders is measured by."""
    return (math.lgamma(n_items + 1), "ln m!") if n_items <= _MOST_PRUDENT_ITEMS else (n_items**2, "m^2")


def _drawn(outlook, signal, common):
    """Return the mechanisms that draw an order, or the best few, by margins; below ln m! they are near chance."""
    m, considered = outlook.n_items, []
    if outlook.k is not None:
        ways = math.lgamma(m + 1) - math.lgamma(m - outlook.k + 1)
        top = DPTopK(outlook.k, **common)
        considered.append(outlook.consider(top, "top", signal / ways, costs=int(signal < ways)))
    if m == 2:
        return considered  # whose only margin is their net wins: K-norm noise has the same law
    window, family = (None, "prudent") if m <= _MOST_PRUDENT_ITEMS else (7, "two_stage")
    orders, costs = DPPrudentOrder(window=window, **common), int(signal < math.lgamma(m + 1))
    return [*considered, outlook.consider(orders, family, signal / _prudent_unit(m)[0], costs)]


def _borda(outlook, n_voters, delta, signal, common):
    """Return Borda with every noise, and in Swiss rounds."""
    m, sensitivity = outlook.n_items, NetWins().sensitivity(outlook.n_items, common["neighboring"])
    wide = 2 * n_voters * m  # net wins are twice as wide as ranks
    laplace = math.sqrt(2) * sensitivity.l1 / common["epsilon"]
    considered = [
        outlook.consider(DPBorda(noise="knorm", **common), "knorm", signal / m),
        outlook.consider(DPBorda(**common), "gaussian", wide / laplace),
    ]
    if delta > 0:
        sigma = gaussian_sigma(common["epsilon"], delta, math.sqrt(sensitivity.l2_squared))
        normal = DPBorda(delta=delta, noise="gaussian", **common)
        considered.append(outlook.consider(normal, "gaussian", wide / sigma, costs=1))
        if m >= _LEAST_SWISS_ITEMS:
            considered.append(outlook.consider(DPSwissBorda(delta=delta, **common), "swiss", wide / sigma, costs=2))
    return considered


def local_choice(outlook: Outlook, n_voters: float, epsilon: float) -> Choice:
    """One pair a voter, or the whole vector of ranks."""
    answers = n_voters * math.tanh(epsilon / 2) ** 2
    one_pair = outlook.consider(LDPPairwise(epsilon=epsilon), "pairs", _pair_signal(outlook.n_items, answers))
    considered = [one_pair, _rank_vector(outlook, n_voters, epsilon)]
    if outlook.n_items == 2:
        return Choice.of(one_pair, considered, "there is one pair, and randomized response is optimal for it")
    return Choice.of(preferred(considered), considered, f"with epsilon = {epsilon:g} {_least(outlook)}")


def shuffle_choice(outlook: Outlook, n_voters: float, epsilon: float, delta: float) -> Choice:
    """As many messages a voter as carry most, or no use of the shuffler where it hides too little."""
    _check_delta(delta, "shuffle", "shuffling hides no voter with certainty")
    crowd = max(1, math.floor(n_voters))

    def pairwise(n_queries):
        answers = crowd * worth(float(epsilon), min(crowd, _LARGEST_CROWD), float(delta), n_queries)
        estimator = ShufflePairwise(epsilon=epsilon, delta=delta, n_queries=n_queries, min_reports=crowd)
        return outlook.consider(estimator, "pairs", _pair_signal(outlook.n_items, answers)), answers

    chosen, answers = pairwise(1)
    considered = [chosen]
    for n_queries in _MESSAGES[1:]:
        if n_queries > n_pairs(outlook.n_items) or answers > _ENOUGH * outlook.n_items:
            break
        more, better = pairwise(n_queries)
        considered.append(more)
        if better < 1.05 * answers:  # not worth the messages
            break
        chosen, answers = more, better
    vector = _rank_vector(outlook, crowd, epsilon)
    messages = chosen.alternative.estimator.n_queries
    if vector.judged < chosen.judged:
        why = f"among {crowd} reports the shuffler adds too little to epsilon = {epsilon:g}"
        return Choice.of(vector, [vector, *considered], why)
    many = "1 message" if messages == 1 else f"{messages} messages"
    why = f"with {crowd} reports, epsilon = {epsilon:g} and delta = {delta:g}, {many} a voter carry most"
    return Choice.of(chosen, [vector, *considered], why)


_ENOUGH = 1e6  # truthful answers an item, with which no error is told from none


def _rank_vector(outlook, n_voters, epsilon):
    """Return `LDPBorda` and its error."""
    # Its noise is the mean square of a report less that of the net wins in it, and stays in the sum-zero
    # space, where as much noise on each item puts m / (m - 1) times as much between two of them.
    m = outlook.n_items
    square = PrivUnitG.variance(PrivUnitG().protocol(float(epsilon), m)) - (m**2 - 1) / 3
    noise = math.sqrt(square / n_voters * m / (m - 1)) / (2 * m)
    return outlook.consider(LDPBorda(epsilon=epsilon), "gaussian", 1 / noise)


def _pair_signal(n_items, answers):
    """Return the signal when this many truthful answers about random pairs are at hand.

    A margin over n is estimated with variance C(m, 2) / answers, independently of the others.
    """
    return math.sqrt(8 * answers / (n_items - 1))


@lru_cache(maxsize=256)
def worth(epsilon: float, crowd: int, delta: float, n_queries: int) -> float:
    """Return how many truthful answers one voter's K shuffled messages are worth, K tanh^2(local epsilon / 2)."""
    if crowd < 2:
        return n_queries * math.tanh(epsilon / n_queries / 2) ** 2
    return n_queries * math.tanh(composed_local_epsilon(epsilon, crowd, delta, n_queries) / 2) ** 2


def secure_choice(outlook: Outlook, n_voters: float, epsilon: float, delta: float) -> Choice:
    """Net wins of all items, summed once, or in Swiss rounds."""
    _check_delta(delta, "secure_aggregation", "the noise that voters add hides none with certainty")
    crowd = max(1, math.floor(n_voters))
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "min_reports": crowd}
    m = outlook.n_items
    borda = SecAggBorda(**common)
    considered = [outlook.consider(borda, "gaussian", _summed_signal(borda, m, crowd))]
    if m >= _LEAST_SWISS_ITEMS:
        swiss = SecAggSwissBorda(**common)
        considered.append(outlook.consider(swiss, "swiss", _summed_signal(swiss, m, crowd), costs=1))
    chosen = preferred(considered)
    why = f"with {crowd} honest voters, epsilon = {epsilon:g} and delta = {delta:g} {_least(outlook)}"
    if chosen is not considered[0]:
        why += "; it asks voters in rounds, SecAggBorda once"
    return Choice.of(chosen, considered, why)


def _summed_signal(estimator, n_items, n_voters):
    """Return the signal of Borda with an estimator's budget; 0 where it cannot be planned."""
    try:
        _, plan = estimator.plan_for(Shape(n_items, n_voters))
    except (ValueError, ArithmeticError):
        return 0.0
    price = next(each for each in plan.prices.values() if each.epsilon)  # all have noise in one unit
    share = float(price.epsilon * price.times) / estimator.epsilon
    moved = NetWins().sensitivity(n_items, "replace").l2_squared
    variance = 2 * float(price.mechanism.rate) * n_voters * share * float(moved / price.sensitivity.l2_squared)
    return 2 * n_voters * n_items / math.sqrt(variance)


def _check_delta(delta, trust, because):
    if delta == 0:
        raise ValueError(
            f"delta must be positive for trust={trust!r}, got 0: {because}; set delta=1e-6, say, or trust='local'."
        )


def _figure(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"
