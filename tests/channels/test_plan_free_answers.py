"""Answers that no ballot can change are exact and free, and later questions cost at most the declared price."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from oracles import spent
from sklearn.base import BaseEstimator

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Exact
from sklearn_dprank.mechanisms import GaussianNoise, LaplaceNoise, NoNoise
from sklearn_dprank.privacy import BudgetExhausted
from sklearn_dprank.queries import AllMargins, Ask, GroupNetWins, NetWins, NumberOfVoters
from sklearn_dprank.rules import SwissRule
from sklearn_dprank.sampling.bit_source import Bits

M = 6
PROFILE = Profile.from_rankings(np.random.default_rng(0).permuted(np.tile(np.arange(M), (57, 1)), axis=1))
ASKS = [
    Ask(NumberOfVoters(), share=Fraction(1, 5)),
    Ask(AllMargins(), share=Fraction(1, 5)),
    Ask(NetWins(), share=Fraction(3, 5)),
]


def test_a_public_number_is_free():
    """Its share goes to the others, in proportion to theirs."""
    shares = {}
    for neighboring in ("add_remove", "replace"):
        plan = Central(0.5, neighboring=neighboring).plan(ASKS, M)
        shares[neighboring] = [price.epsilon for price in plan.prices.values()]
        assert plan.guarantee.epsilon == 0.5
    assert shares["add_remove"] == [Fraction(1, 10), Fraction(1, 10), Fraction(3, 10)]
    assert shares["replace"] == [0, Fraction(1, 8), Fraction(3, 8)]
    assert isinstance(Central(0.5, neighboring="replace").plan(ASKS, M).prices[NumberOfVoters()].mechanism, NoNoise)


def test_shares_that_leave_some_of_the_budget_are_not_stretched_beyond_it():
    half = [ask._replace(share=ask.share / 2) for ask in ASKS]
    prices = Central(0.5, neighboring="replace").plan(half, M).prices
    assert sum(price.epsilon * price.times for price in prices.values()) == Fraction(1, 4)


@pytest.mark.parametrize(("delta", "noise"), [(0.0, "laplace"), (1e-6, "gaussian")])
def test_a_plan_of_public_numbers_promises_everything(delta, noise):
    plan = Central(0.5, delta, noise, neighboring="replace").plan(ASKS[:1], M)
    assert plan.guarantee.epsilon == 0
    assert plan.open(PROFILE)(Bits.from_random_state(0)).answer(NumberOfVoters()) == 57
    noisy = Central(0.5, delta, noise).plan([ASKS[0]._replace(share=Fraction(1))], M)
    found = {int(noisy.open(PROFILE)(Bits.from_random_state(k)).answer(NumberOfVoters())) for k in range(20)}
    assert noisy.guarantee.epsilon == 0.5 and len(found) > 3


def test_what_is_asked_costs_no_more_than_was_declared():
    three, two = ((0, 1, 2), (3, 4, 5)), ((0, 1), (2, 3), (4, 5))
    asks = [Ask(GroupNetWins(three, 1), share=Fraction(1, 2)), Ask(GroupNetWins(None, 2), share=Fraction(1, 2))]
    session = Central(1.0, 1e-6, "gaussian").plan(asks, M).open(PROFILE)(Bits.from_random_state(0))
    with pytest.raises(BudgetExhausted, match="more sensitive than"):
        session.answer(GroupNetWins(None, 1))
    with pytest.raises(BudgetExhausted, match="more sensitive than"):
        session.answer(GroupNetWins(((0, 1, 2, 3), (4, 5)), 1))
    with pytest.raises(BudgetExhausted):
        session.answer(GroupNetWins(two, 0))
    session.answer(GroupNetWins(((5, 0, 3), (4, 1, 2)), 1))
    with pytest.raises(BudgetExhausted, match="are given"):
        session.answer(GroupNetWins(two, 1))
    session.answer(GroupNetWins(two, 2))
    assert spent(session) == 1


def test_sessions_say_how_much_noise_there_is():
    query = GroupNetWins(None, 0)
    for channel, kind in ((Central(1.0, 1e-6, "gaussian"), GaussianNoise), (Central(1.0), LaplaceNoise)):
        plan = channel.plan([Ask(query)], M)
        mechanism = plan.prices[query.kind].mechanism
        session = plan.open(PROFILE)(Bits.from_random_state(0))
        assert isinstance(mechanism, kind) and session.deviation(query) == mechanism.deviation > 0
    assert Exact().plan([Ask(query)], M).open(PROFILE)(Bits.from_random_state(0)).deviation(query) == 0


@dataclass(frozen=True)
class Silent:
    """Noise without a stated law."""

    how = "some noise"
    arithmetic = "exact"

    def losses(self, sensitivity, times):
        return None

    def sampler(self, *asked):
        raise NotImplementedError


class SilentNoise(BaseEstimator):
    answers_with = "vector"
    pure = True

    def refusal(self, query, n_items):
        return ""

    def calibrated(self, *asked):
        return Silent()


def test_a_mechanism_that_does_not_say_how_much_noise_it_adds_is_refused():
    Central(noise=SilentNoise()).plan([Ask(NetWins())], M)
    with pytest.raises(ValueError, match=r"Central cannot answer GroupNetWins, .* does not say how much noise"):
        Central(noise=SilentNoise()).plan(SwissRule().asks(M), M)


def test_answers_of_one_kind_are_listed_together():
    how = Central(1.0, 1e-6, "gaussian", neighboring="replace").plan(SwissRule().asks(20), 20).guarantee.how
    noise = "then rounded Gaussian noise on"
    assert how == f"no noise on 1 x NumberOfVoters, {noise} 3 x GroupNetWins, {noise} 1 x ScaledMargins"
