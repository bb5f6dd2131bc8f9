"""Exact audits of the mechanisms that draw an order, and of the histogram: every output, every neighbour."""

from functools import lru_cache
from itertools import combinations, permutations

import numpy as np
import pytest
from audit_tools import knorm_cells, law, log_flipped_law, neighbours, order_cells, profile_of, worst_loss
from oracles import distinct_ballots, naive_counts

from sklearn_dprank import DPKemenySampler, DPPrudentOrder
from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.queries import MaxViolatedMargin

NEIGHBORING = ["add_remove", "replace"]
MECHANISMS = [DPKemenySampler, DPPrudentOrder]
ROUNDING = 1 + 1e-9
NAN = np.nan


def bases(m):
    """Ballots of the other voters: none, one, one and its reverse, a cycle, ties and gaps."""
    ranking = list(range(m))
    return {
        "nobody": [],
        "one mind": [ranking] * 40,
        "one mind, one enemy": [ranking] * 40 + [ranking[::-1]],
        "cycle": [np.roll(ranking, k) for k in range(m)] * 3,
        "ties and gaps": [[0] * m, [0, 0, *range(1, m - 1)], [NAN, *range(m - 1)]] * 2,
    }


def planned(estimator, m):
    """The mechanisms of an estimator's plan, by query."""
    channel, rule = estimator._compose()
    prices = channel.plan(rule.asks(m), m).prices
    return {type(price.query).__name__: price for price in prices.values()}


# P-SAMPLE and the minimax-margin mechanism: laws by the definition of the cost, at the planned rate


@lru_cache
def overruled(m):
    """Index arrays (winner, loser), shape (m!, pairs): the margins that each order overrules."""
    orders = np.array(list(permutations(range(m))))
    first, second = np.array(list(combinations(range(m), 2))).T
    return orders[:, second], orders[:, first]


def log_law(estimator, rate, counts):
    """Log probability of every order, in lexicographic order."""
    margins = (counts - counts.T)[overruled(len(counts))]
    if isinstance(estimator, DPPrudentOrder):
        return log_flipped_law(rate * margins.max(axis=1))
    costs = np.maximum(margins, 0).sum(axis=1)
    return -rate * costs - np.logaddexp.reduce(-rate * costs)


@lru_cache
def votes(m):
    return [naive_counts([ballot]) for ballot in distinct_ballots(m)]


def spread(logs, neighboring):
    """The largest log ratio: of the last row and each other row, or of any two of the others."""
    *others, alone = logs
    if neighboring == "add_remove":
        return np.abs(others - alone).max()
    return np.ptp(others, axis=0).max()


def audit(estimator, m):
    """The largest log ratio over bases, all weak and partial ballots, and outputs."""
    [price] = planned(estimator, m).values()
    worst = 0.0
    for base in bases(m).values():
        counts = naive_counts(base) if base else np.zeros((m, m), dtype=int)
        logs = [log_law(estimator, price.mechanism.rate, counts + vote) for vote in [*votes(m), 0]]
        worst = max(worst, spread(logs, estimator.neighboring))
    return worst


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_neighbour_and_every_order(mechanism, m, epsilon, neighboring):
    worst = audit(mechanism(epsilon=epsilon, neighboring=neighboring), m)
    assert worst <= epsilon * ROUNDING
    assert worst >= {0.1: 0.3, 1.0: 0.97, 4.0: 0.97}[epsilon] * epsilon


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_audited_law_is_that_of_the_package(mechanism, m):
    """Through plan, session and rule, and from the profile of the ballots themselves."""
    estimator = mechanism(epsilon=1.0, neighboring="replace")
    [price] = planned(estimator, m).values()
    for base in bases(m).values():
        counts = naive_counts(base) if base else np.zeros((m, m), dtype=int)
        expected = np.exp(log_law(estimator, price.mechanism.rate, counts))
        np.testing.assert_allclose(law(estimator, profile_of(base, m)), expected, rtol=1e-9)


# The two-stage form


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_each_stage_keeps_to_its_half(epsilon, neighboring):
    """Given any anchor the second stage loses epsilon / 2; so does the anchor; basic composition does the rest."""
    for m in (3, 4):
        prices = planned(DPPrudentOrder(epsilon=epsilon, window=3, neighboring=neighboring), m)
        assert sorted(prices) == ["MaxViolatedMargin", "NetWins"]
        assert all(price.epsilon == round_down(epsilon) / 2 and price.times == 1 for price in prices.values())
        near_orders, anchors = prices["MaxViolatedMargin"].mechanism, prices["NetWins"].mechanism
        ballots = distinct_ballots(m)[:: 1 if m == 3 else 6]
        for base in (bases(m)["one mind, one enemy"], bases(m)["ties and gaps"]):
            profiles, pairs = neighbours(base, [*ballots, list(range(m))[::-1]], neighboring, m)
            for anchor in [tuple(range(m)), tuple(range(m))[::-1], (1, 2, 0, 3)[:m]]:
                query = MaxViolatedMargin(anchor, 3)
                laws = [order_cells(near_orders, query, profile.margins.ravel())[0] for profile in profiles]
                assert worst_loss([each[each > 0] for each in laws], pairs) <= epsilon / 2 * ROUNDING
            if m == 3:
                laws = [knorm_cells(anchors, profile.net_wins)[0] for profile in profiles]
                assert worst_loss(laws, pairs) <= epsilon / 2 * (1 + 1e-6)
