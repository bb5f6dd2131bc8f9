"""Which estimator is best for public numbers, by trust model: each rule gives its choice, all considered, and why."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ...aggregators import DPBorda, DPPrudentOrder, LDPBorda, LDPPairwise, ShufflePairwise
from ...privacy.calibration import gaussian_sigma
from ...privacy.shuffle_groups import composed_local_epsilon
from ...queries import NetWins, n_pairs
from ...randomizers import PrivUnitG
from .expected_error import RESOLUTION, expected_error

#: Where the rules change over, simulated on Mallows votes and real ones by ``examples/simulate_recommendations.py``.
PRUDENT_FROM = 10.0  # n epsilon over ln m!: the whole set of orders, up to 16 items
TWO_STAGE_FROM = 2.0  # n epsilon over m^2: orders near an anchor, above 16 items
GAUSSIAN_BELOW = 0.95  # of K-norm noise's error
LOCAL_BORDA_FROM = 1.25  # epsilon of a voter's report
_MESSAGES = (1, 2, 3, 4, 6, 8, 12, 16)  # of one voter in the shuffle model
_MOST_PRUDENT_ITEMS = 16
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


class Choice(NamedTuple):
    """What a rule says: its choice, everything that it considered, and why."""

    chosen: Alternative
    considered: list[Alternative]
    why: str


def central_choice(n_items, n_voters, epsilon, delta, neighboring):
    """Borda with the least noise, unless margins are large enough for an order drawn from all."""
    # The gauge is 1 under "add_remove", 2 under "replace".
    signal = n_voters * epsilon / NetWins().sensitivity(n_items, neighboring).gauge
    common = {"epsilon": epsilon, "neighboring": neighboring}
    borda, considered, noise = _borda(n_items, n_voters, delta, signal, common)
    prudent, scale, start, unit = _prudent(n_items, signal, common)
    considered.append(prudent)
    if n_items == 2:  # there K-norm noise is better whatever n epsilon is
        return Choice(borda, considered, f"the only margin of two items is their net wins{noise}")
    halved = " / 2 (neighboring='replace')" if neighboring == "replace" else ""
    limit = f"{start:g} {unit} = {_figure(start * scale)}"
    if signal >= start * scale:
        return Choice(prudent, considered, f"n epsilon{halved} = {_figure(signal)} is at least {limit}")
    why = f"n epsilon{halved} = {_figure(signal)} is below {limit}"
    return Choice(
        borda, considered, f"{why}, from which DPPrudentOrder does not fail on voters who agree little{noise}"
    )


def _borda(n_items, n_voters, delta, signal, common):
    """Return Borda with the least noise, Borda with every noise, and which is smaller where delta allows two."""
    sensitivity = NetWins().sensitivity(n_items, common["neighboring"])
    wide = 2 * n_voters * n_items  # net wins are twice as wide as ranks
    laplace = math.sqrt(2) * sensitivity.l1 / common["epsilon"] / wide
    knorm = Alternative(DPBorda(noise="knorm", **common), expected_error("knorm", n_items, signal / n_items))
    considered = [knorm, Alternative(DPBorda(**common), expected_error("gaussian", n_items, laplace))]
    if delta == 0:
        return knorm, considered, ""
    sigma = gaussian_sigma(common["epsilon"], delta, math.sqrt(sensitivity.l2_squared))
    gaussian = DPBorda(delta=delta, noise="gaussian", **common)
    considered.append(Alternative(gaussian, expected_error("gaussian", n_items, sigma / wide)))
    smaller = considered[-1].error < GAUSSIAN_BELOW * knorm.error  # otherwise pure privacy costs nothing
    side = "smaller" if smaller else "no smaller"
    noise = f"; with delta = {delta:g} Gaussian noise is {side} than K-norm noise"
    return considered[-1] if smaller else knorm, considered, noise


def _prudent(n_items, signal, common):
    """Return `DPPrudentOrder` for so many items, and the n epsilon from which it is best: scale, start, unit."""
    if n_items <= _MOST_PRUDENT_ITEMS:
        scale, family, unit, start = math.lgamma(n_items + 1), "prudent", "ln m!", PRUDENT_FROM
        orders = DPPrudentOrder(**common)
    else:
        scale, family, unit, start = n_items**2, "two_stage", "m^2", TWO_STAGE_FROM
        orders = DPPrudentOrder(window=7, **common)
    return Alternative(orders, expected_error(family, n_items, signal / scale)), scale, start, unit


def local_choice(n_items, n_voters, epsilon):
    """One pair a voter where reports are very noisy, the whole vector of ranks otherwise."""
    pair = LDPPairwise(epsilon=epsilon)
    answers = n_voters * math.tanh(epsilon / 2) ** 2
    one_pair = Alternative(pair, expected_error("gaussian", n_items, _pair_noise(n_items, answers)))
    vector = _rank_vector(n_items, n_voters, epsilon)
    if n_items == 2:
        return Choice(one_pair, [one_pair, vector], "there is one pair, and randomized response is optimal for it")
    whole = epsilon >= LOCAL_BORDA_FROM
    side = "at least" if whole else "below"
    why = f"epsilon = {epsilon:g} is {side} {LOCAL_BORDA_FROM:g}, from which a report of all ranks says most"
    return Choice(vector if whole else one_pair, [one_pair, vector], why)


def shuffle_choice(n_items, n_voters, epsilon, delta):
    """As many messages a voter as carry most, or no use of the shuffler where it hides too little."""
    if delta == 0:
        raise ValueError(
            "delta must be positive for trust='shuffle', got 0: shuffling hides no voter with certainty; set "
            "delta=1e-6, say, or trust='local'."
        )
    crowd = max(1, math.floor(n_voters))

    def pairwise(n_queries):
        answers = crowd * worth(float(epsilon), min(crowd, _LARGEST_CROWD), float(delta), n_queries)
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
        return Choice(vector, [vector, *considered], why)
    many = "1 message" if messages == 1 else f"{messages} messages"
    why = f"with {crowd} reports, epsilon = {epsilon:g} and delta = {delta:g}, {many} a voter carry most"
    return Choice(chosen, [vector, *considered], why)


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
def worth(epsilon, crowd, delta, n_queries):
    """Return how many truthful answers one voter's K shuffled messages are worth, K tanh^2(local epsilon / 2)."""
    if crowd < 2:
        return n_queries * math.tanh(epsilon / n_queries / 2) ** 2
    return n_queries * math.tanh(composed_local_epsilon(epsilon, crowd, delta, n_queries) / 2) ** 2


def _figure(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"
