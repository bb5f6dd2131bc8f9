"""Permute-and-flip over orders: its rate, its law, and what it refuses."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from audit_tools import Biased, flipped_cells, order_cells
from oracles import released
from scipy import stats

from sklearn_dprank import DPPrudentOrder
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms import Exponential, ExponentialNoise, PermuteAndFlip, PermuteAndFlipNoise
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.orders.samplers import log_flip_error
from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.queries import KemenyUtility, MaxViolatedMargin
from sklearn_dprank.rules import Choose
from sklearn_dprank.sampling.bit_source import SeededBits

QUERY = MaxViolatedMargin()
CYCLE = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])


def margins_of(seed, m, largest=3):
    half = np.random.default_rng(seed).integers(-largest, largest + 1, (m, m))
    return half - half.T


def rate_of(mechanism, epsilon, m=10, neighboring="add_remove", times=1):
    return mechanism.calibrated(QUERY, QUERY.sensitivity(m, neighboring), m, Fraction(epsilon), 0.0, times).rate


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("m", [3, 10, 16])
def test_rate_of_both_relations(m, epsilon):
    """epsilon / 2, and a quarter of it for replaced ballots, just below: as the exponential mechanism."""
    for neighboring, change in (("add_remove", 2), ("replace", 4)):
        rate = rate_of(PermuteAndFlip(), round_down(epsilon), m, neighboring)
        assert rate < epsilon / change
        assert rate == pytest.approx(epsilon / change, rel=1e-3)
        assert rate == pytest.approx(rate_of(Exponential(), round_down(epsilon), m, neighboring), rel=1e-3)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("m", [2, 10, 16])
def test_what_rounding_may_cost_is_paid_for(m, epsilon):
    """The rate is lowered by 2 eta, a small part of epsilon, for up to 2^31 voters."""
    paid = epsilon - 2 * rate_of(PermuteAndFlip(), epsilon, m)
    assert 2 * log_flip_error(epsilon * 2**31, 0.0) <= paid < 1e-3 * epsilon + 2e-10


def test_several_draws_share_the_budget():
    assert rate_of(PermuteAndFlip(), 1, times=3) == pytest.approx(rate_of(PermuteAndFlip(), 1) / 3, rel=1e-9)


def test_too_little_to_spend():
    with pytest.raises(ValueError, match="too small for double precision; use at least 1e-9"):
        rate_of(PermuteAndFlip(), Fraction(1, 10**15))


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("margins", [CYCLE, margins_of(0, 5), np.zeros((4, 4), dtype=int)], ids=["cycle", "five", "0"])
def test_orders_follow_the_law_of_the_definition(margins, rate):
    law, orders = flipped_cells(PermuteAndFlipNoise(rate), QUERY, margins.ravel())
    draws = QUERY.flips(margins, rate).sample(4000, SeededBits(1))
    number = {tuple(order.tolist()): k for k, order in enumerate(orders)}
    seen = np.bincount([number[tuple(draw)] for draw in draws.tolist()], minlength=len(law))
    rare = law * 4000 < 5
    seen, law = (np.append(each[~rare], each[rare].sum()) for each in (seen, law))
    assert stats.chisquare(seen[law > 0], law[law > 0] * 4000).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_never_worse_than_the_exponential_mechanism(seed, rate):
    margins = margins_of(seed, 5, largest=9)
    costs = np.array([QUERY.cost(margins, order) for order in permutations(range(5))])
    flipped, _ = flipped_cells(PermuteAndFlipNoise(rate), QUERY, margins.ravel())
    exponential, _ = order_cells(ExponentialNoise(rate), QUERY, margins.ravel())
    assert flipped @ costs < exponential @ costs


@pytest.mark.parametrize("epsilon", [0.005, 0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize(("n", "phi"), [(1000, 0.75), (300, 0.9)])
def test_fewer_disagreements_too(n, phi, epsilon):
    """By the exact laws; the theorem is about the largest overruled margin only."""
    profile = Profile.from_rankings(make_mallows(n, 6, phi, random_state=0))
    vector = profile.margins.ravel()
    flipped, orders = flipped_cells(PermuteAndFlipNoise(epsilon / 2), QUERY, vector)
    exponential, _ = order_cells(ExponentialNoise(epsilon / 2), QUERY, vector)
    errors = np.array([average_kendall_tau(np.argsort(order), profile) for order in orders])
    assert flipped @ errors < exponential @ errors


@pytest.mark.parametrize("rate", [40.0, 100.0])
def test_an_order_that_is_owed_can_come(rate):
    """One voter and epsilon above 36: the other order, likelier than not without the voter, has e^-epsilon / 2."""
    margins, bits = np.array([[0, 1], [-1, 0]]), Biased(0)
    drawn = [released(PermuteAndFlipNoise(rate), QUERY, margins.ravel(), bits) for _ in range(300)]
    assert {tuple(order.tolist()) for order in drawn} == {(0, 1), (1, 0)}


def test_what_it_refuses():
    for query in (KemenyUtility(), MaxViolatedMargin((0, 1, 2), 2)):
        channel, rule = Central(noise="permute_and_flip"), Choose(query)
        with pytest.raises(ValueError, match=r"number of orders of each cost; use noise='exponential'"):
            channel.plan(rule.asks(3), 3)
    assert "permute-and-flip" in DPPrudentOrder().fit([[0, 1]]).privacy_.how
    assert "permute-and-flip" not in DPPrudentOrder(window=2).fit([[0, 1]]).privacy_.how
