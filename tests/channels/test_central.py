"""The curator's channel: what it charges, what it answers, what it refuses, and what it never looks at."""

import math
from fractions import Fraction
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from oracles import spent
from sklearn.base import BaseEstimator

from sklearn_dprank import DPBorda
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.ballots.weights import COMPARISONS, WEIGHT_GRID, WeightBound
from sklearn_dprank.channels import Central, Exact
from sklearn_dprank.mechanisms import GaussianNoise, LaplaceNoise, NoNoise
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.privacy import BudgetExhausted
from sklearn_dprank.privacy.composition import gaussian_delta
from sklearn_dprank.queries import (
    AllMargins,
    Ask,
    GroupNetWins,
    Histogram,
    KemenyUtility,
    MaxViolatedMargin,
    NetWins,
    NumberOfVoters,
    PairMargin,
    PairTallies,
    PositionalScores,
)
from sklearn_dprank.queries.base import weighted_sensitivity
from sklearn_dprank.rules import SwissRule
from sklearn_dprank.sampling.bit_source import Bits, SeededBits

M = 5
PROFILE = Profile.from_rankings(np.random.default_rng(0).permuted(np.tile(np.arange(M), (40, 1)), axis=1))
HALF = Fraction(1, 2)


def open_on(channel, asks, seed=0, profile=PROFILE):
    return channel.plan(asks, M).open(profile)(Bits.from_random_state(seed))


def price(channel, asks, kind):
    return next(p for p in channel.plan(asks, M).prices.values() if type(p.query) is kind)


# Prices


def test_prices_are_exact_shares_of_epsilon():
    asks = [Ask(PairMargin(), 7, HALF), Ask(AllMargins(), 1, HALF)]
    channel = Central(epsilon=0.25)
    pair, rest = price(channel, asks, PairMargin), price(channel, asks, AllMargins)
    assert (pair.times, rest.times) == (7, 1)
    assert (pair.epsilon, rest.epsilon) == (Fraction(1, 56), Fraction(1, 8))
    assert isinstance(pair.epsilon, Fraction)
    assert pair.mechanism == LaplaceNoise(Fraction(1, 56))
    assert rest.mechanism == LaplaceNoise(Fraction(1, 80))  # ten margins
    assert channel.plan(asks, M).guarantee.epsilon == 0.25


def test_gaussian_answers_share_mu_squared_and_delta_is_not_split():
    asks = [Ask(PairMargin(), 9, HALF), Ask(AllMargins(), 1, HALF)]
    channel = Central(epsilon=2.0, delta=1e-6, noise="gaussian")
    pair, rest = (price(channel, asks, kind).mechanism for kind in (PairMargin, AllMargins))
    assert pair.sigma**2 / rest.sigma**2 == pytest.approx(9 / 10)  # 9 answers of 1, one of 10 in squares
    mu = math.sqrt(9 / pair.sigma**2 + 10 / rest.sigma**2)
    assert gaussian_delta(2.0, 1.0, mu) == pytest.approx(1e-6, rel=1e-6)
    assert gaussian_delta(2.0, 1.0, mu) <= 1e-6
    guarantee = channel.plan(asks, M).guarantee
    assert (guarantee.epsilon, guarantee.delta) == (2.0, 1e-6)
    assert guarantee.losses.mu_squared == pytest.approx(mu**2)


def test_gaussian_answers_that_leave_some_of_the_budget_state_less():
    """Half of mu^2 is not half of epsilon."""
    channel = Central(epsilon=2.0, delta=1e-6, noise="gaussian")
    guarantee = channel.plan([Ask(AllMargins(), 1, HALF)], M).guarantee
    sigma = price(channel, [Ask(AllMargins(), 1, HALF)], AllMargins).mechanism.sigma
    assert 1.0 < guarantee.epsilon < 2.0
    assert gaussian_delta(guarantee.epsilon, sigma, math.sqrt(10)) == pytest.approx(1e-6, rel=1e-6)


# An answer is given at the price that was planned for it, or not at all


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        (PositionalScores((1, 0, 0, 0, 0)), PositionalScores((1000, 0, 0, 0, 0))),
        (PositionalScores((1000, 0, 0, 0, 0)), PositionalScores((1, 0, 0, 0, 0))),  # not declared either
        (PairTallies(((0, 1),)), PairTallies()),
        (PairTallies(((0, 1),)), PairTallies(((0, 1), (0, 2)), round=1)),
        (PairTallies(((0, 1),)), PairTallies(((0, 1), (0, 1)))),
        (KemenyUtility(), MaxViolatedMargin()),
    ],
    ids=repr,
)
def test_unpriced_queries_are_not_answered(declared, asked, noise):
    gaussian = noise == "gaussian" and not isinstance(declared, KemenyUtility)
    channel = Central(noise="gaussian", delta=1e-6) if gaussian else Central()
    session = open_on(channel, [Ask(declared, 3)])
    with pytest.raises(BudgetExhausted):
        session.answer(asked)
    assert spent(session) == 0
    session.answer(declared)  # what was declared is still paid for
    assert spent(session) == Fraction(1, 3)


def test_two_queries_of_one_type_have_their_own_prices():
    plurality, veto = PositionalScores((1, 0, 0, 0, 0)), PositionalScores((0, 0, 0, 0, -10))
    asks = [Ask(plurality, 1, Fraction(1, 4)), Ask(veto, 1, Fraction(3, 4))]
    plan = Central(epsilon=2.0).plan(asks, M)
    found = [plan.prices[query] for query in (plurality, veto)]
    assert [price.epsilon for price in found] == [HALF, Fraction(3, 2)]
    for price in found:
        assert price.mechanism.rate * price.query.sensitivity(M, "add_remove").l1 <= price.epsilon
    session = plan.open(PROFILE)(Bits.from_random_state(0))
    session.answer(plurality), session.answer(veto)
    assert spent(session) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"noise": "gaussian"}, "noise='gaussian' needs delta > 0"),
        ({"delta": 1e-6}, "noise='laplace' is pure and needs delta=0"),
        ({"noise": "knorm", "delta": 1e-6}, "noise='knorm' is pure and needs delta=0"),
        *(({name: "uniform"}, f"{name} must be") for name in ("noise", "release", "neighboring", "epsilon", "delta")),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Central(**parameters).plan([Ask(NetWins())], M)


def test_many_answers_at_a_small_epsilon_name_it():
    with pytest.raises(ValueError, match=r"^epsilon=1e-09 is too small for 100000 answers of sensitivity 12; use"):
        Central(epsilon=1e-9).plan([Ask(NetWins(), 10**5)], M)


# Guarantee


def test_the_number_of_voters_is_not_read():
    for asks in ([Ask(NetWins())], [Ask(PairMargin(), 3, HALF), Ask(AllMargins(), 1, HALF)]):
        plans = [Central().plan(asks, M, n) for n in (None, 1, 10**9)]
        assert len({plan.guarantee for plan in plans}) == 1
        assert plans[0].prices == plans[1].prices == plans[2].prices
        assert plans[0].protocol is None


# Sessions


def test_an_adaptive_session_pays_each_question_once():
    asks = [Ask(PairMargin(), 2, HALF), Ask(AllMargins(), 1, HALF)]
    session = open_on(Central(), asks)
    first = session.answer(PairMargin(0, 1))
    assert session.answer(PairMargin(0, 1)) == first
    assert spent(session) == Fraction(1, 4)
    session.answer(PairMargin(0, 2))
    with pytest.raises(BudgetExhausted, match="all 2 answers planned"):
        session.answer(PairMargin(1, 2))
    assert session.answer(PairMargin(0, 1)) == first  # still free
    assert spent(session) == HALF
    margins = session.answer(AllMargins())
    np.testing.assert_array_equal(margins, -margins.T)
    assert spent(session) == 1
    with pytest.raises(BudgetExhausted, match="no answer was planned"):
        session.answer(NetWins())


def test_a_publication_is_paid_once_and_everything_follows_from_it():
    asks = [Ask(PairMargin(), 10), Ask(NetWins())]
    session = open_on(Central(epsilon=0.5, release=AllMargins()), asks)
    margins = session.answer(AllMargins())
    assert spent(session) == HALF
    np.testing.assert_array_equal(session.answer(NetWins()), margins.sum(axis=1))
    for i, j in permutations(range(M), 2):
        assert session.answer(PairMargin(i, j)) == margins[i, j]
    assert spent(session) == HALF
    with pytest.raises(LookupError):
        session.answer(PositionalScores(tuple(range(M, 0, -1))))


def test_sessions_draw_from_their_own_streams():
    """Noise comes from the noise stream only, and coins only break ties."""

    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError("this stream was drawn from")

    noise = SeededBits(np.random.SeedSequence(1))
    plan = Central().plan([Ask(NetWins())], M)
    session = plan.open(PROFILE)(Bits(noise, Untouchable(), Untouchable(), False))
    session.answer(NetWins())
    coins = SeededBits(np.random.SeedSequence(2))
    session = plan.open(PROFILE)(Bits(Untouchable(), coins, Untouchable(), False))
    assert sorted(session.tie_break()) == list(range(M))
    with pytest.raises(AssertionError, match="drawn from"):
        session.answer(NetWins())


def test_ties_are_broken_by_coins():
    session = open_on(Central(), [Ask(NetWins())])
    assert len({tuple(session.tie_break()) for _ in range(20)}) > 10
    assert {session.tied_before(0, 1) for _ in range(30)} == {True, False}


# Refusals, from public inputs, with both sides named


def test_a_fit_never_looks_whether_ballots_are_strict(monkeypatch):
    """Its time would tell; a sweep may, which is a simulation."""

    def looked(profile):
        raise AssertionError("the fit's time depends on whether ballots are strict")

    monkeypatch.setattr(Profile, "strict", property(looked))
    plan = Central(release=Histogram()).plan([Ask(NetWins())], 3)
    poll = plan.open(Profile.from_rankings([[0, 1, 2], [0, 0, 1]]))
    poll(Bits.from_random_state(0))
    with pytest.raises(AssertionError, match="depends on"):
        poll(Bits.from_random_state(1))


def test_a_plan_is_for_as_many_items_as_it_was_made_for():
    """Net wins of five items are moved further than those of three, for which the noise was calibrated."""
    plan = Central().plan([Ask(NetWins())], 3)
    with pytest.raises(ValueError, match="the plan is for 3 items, got voters with 5"):
        plan.open(PROFILE)
    rule, small = DPBorda().plan_for(Shape(3))
    with pytest.raises(ValueError, match="the plan is for 3 items, got voters with 5"):
        next(refits(DPBorda(), PROFILE, rule, small, [None]))


def test_each_session_completes_ballots_with_its_own_coins():
    poll = Central(1e6, release=Histogram()).plan([Ask(Histogram())], 3).open(Profile.from_rankings([[0, 0, 0]]))
    seen = {tuple(poll(Bits.from_random_state(seed)).answer(Histogram()).tolist()) for seed in range(40)}
    assert len(seen) == 6 and {sum(cells) for cells in seen} == {1}


@pytest.mark.parametrize(("noise", "delta", "norm"), [("gaussian", 1e-6, "l2"), ("laplace", 0.0, "l1")])
def test_comparisons_of_a_person_are_bounded_in_the_norm_of_the_noise(noise, delta, norm):
    bound = WeightBound(COMPARISONS, 5 * WEIGHT_GRID, 2, "comparisons")
    (price,) = Central(delta=delta, noise=noise).plan([Ask(NetWins())], M, bound=bound).prices.values()
    assert price.sensitivity == weighted_sensitivity(NetWins(), M, "add_remove", bound, norm)


# Answers that no ballot can change are exact and free


N_ITEMS = 6
SHUFFLED = Profile.from_rankings(np.random.default_rng(0).permuted(np.tile(np.arange(N_ITEMS), (57, 1)), axis=1))
ASKS = [
    Ask(NumberOfVoters(), share=Fraction(1, 5)),
    Ask(AllMargins(), share=Fraction(1, 5)),
    Ask(NetWins(), share=Fraction(3, 5)),
]


def test_a_public_number_is_free():
    """Its share goes to the others, in proportion to theirs."""
    shares = {}
    for neighboring in ("add_remove", "replace"):
        plan = Central(0.5, neighboring=neighboring).plan(ASKS, N_ITEMS)
        shares[neighboring] = [price.epsilon for price in plan.prices.values()]
        assert plan.guarantee.epsilon == 0.5
    assert shares["add_remove"] == [Fraction(1, 10), Fraction(1, 10), Fraction(3, 10)]
    assert shares["replace"] == [0, Fraction(1, 8), Fraction(3, 8)]
    assert isinstance(
        Central(0.5, neighboring="replace").plan(ASKS, N_ITEMS).prices[NumberOfVoters()].mechanism, NoNoise
    )


def test_shares_that_leave_some_of_the_budget_are_not_stretched_beyond_it():
    half = [ask._replace(share=ask.share / 2) for ask in ASKS]
    prices = Central(0.5, neighboring="replace").plan(half, N_ITEMS).prices
    assert sum(price.epsilon * price.times for price in prices.values()) == Fraction(1, 4)


@pytest.mark.parametrize(("delta", "noise"), [(0.0, "laplace"), (1e-6, "gaussian")])
def test_a_plan_of_public_numbers_promises_everything(delta, noise):
    plan = Central(0.5, delta, noise, neighboring="replace").plan(ASKS[:1], N_ITEMS)
    assert plan.guarantee.epsilon == 0
    assert plan.open(SHUFFLED)(Bits.from_random_state(0)).answer(NumberOfVoters()) == 57
    noisy = Central(0.5, delta, noise).plan([ASKS[0]._replace(share=Fraction(1))], N_ITEMS)
    found = {int(noisy.open(SHUFFLED)(Bits.from_random_state(k)).answer(NumberOfVoters())) for k in range(20)}
    assert noisy.guarantee.epsilon == 0.5 and len(found) > 3


def test_what_is_asked_costs_no_more_than_was_declared():
    three, two = ((0, 1, 2), (3, 4, 5)), ((0, 1), (2, 3), (4, 5))
    asks = [Ask(GroupNetWins(three, 1), share=Fraction(1, 2)), Ask(GroupNetWins(None, 2), share=Fraction(1, 2))]
    session = Central(1.0, 1e-6, "gaussian").plan(asks, N_ITEMS).open(SHUFFLED)(Bits.from_random_state(0))
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
        plan = channel.plan([Ask(query)], N_ITEMS)
        mechanism = plan.prices[query.kind].mechanism
        session = plan.open(SHUFFLED)(Bits.from_random_state(0))
        assert isinstance(mechanism, kind) and session.deviation(query) == mechanism.deviation > 0
    assert Exact().plan([Ask(query)], N_ITEMS).open(SHUFFLED)(Bits.from_random_state(0)).deviation(query) == 0


class SilentNoise(BaseEstimator):
    answers_with = "vector"
    pure = True

    def refusal(self, query, n_items):
        return ""

    def calibrated(self, *asked):
        """Noise without a stated law."""
        return SimpleNamespace(how="some noise", arithmetic="exact", losses=lambda sensitivity, times: None)


def test_a_mechanism_that_does_not_say_how_much_noise_it_adds_is_refused():
    Central(noise=SilentNoise()).plan([Ask(NetWins())], N_ITEMS)
    with pytest.raises(ValueError, match=r"Central cannot answer GroupNetWins, .* does not say how much noise"):
        Central(noise=SilentNoise()).plan(SwissRule().asks(N_ITEMS), N_ITEMS)
