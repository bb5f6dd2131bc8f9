"""Exponential mechanisms: calibrated rates, samples against enumeration, and draw counts independent of ballots."""

from fractions import Fraction
from itertools import combinations, permutations
from math import inf

import numpy as np
import pytest
from audit_tools import Biased
from oracles import released, seeded
from scipy import stats

from sklearn_dprank import DPKemenySampler, DPPrudentOrder
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.channels import Central
from sklearn_dprank.mechanisms import Exponential, ExponentialNoise
from sklearn_dprank.orders.samplers import PartitionTable
from sklearn_dprank.privacy import PrivacyBudget
from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.queries import Ask, KemenyUtility, MaxViolatedMargin, n_pairs
from sklearn_dprank.sampling.bit_source import SeededBits

CYCLE = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])


def margins_of(seed, m, largest=3):
    half = np.random.default_rng(seed).integers(-largest, largest + 1, (m, m))
    return half - half.T


def orders_of(m):
    return np.array(list(permutations(range(m))))


def overruled(margins, order):
    return [margins[b, a] for a, b in combinations(order, 2)]


def fit_of(draws, weights):
    """P-value of a chi-square test; cells expected below 5 are merged."""
    number = {tuple(order): k for k, order in enumerate(orders_of(draws.shape[1]).tolist())}
    seen = np.bincount([number[tuple(draw)] for draw in draws.tolist()], minlength=len(weights))
    expected = weights / weights.sum() * len(draws)
    large = expected >= 5
    seen, expected = np.append(seen[large], seen[~large].sum()), np.append(expected[large], expected[~large].sum())
    seen, expected = seen[expected > 1e-9], expected[expected > 1e-9]
    return stats.chisquare(seen, expected / expected.sum() * seen.sum()).pvalue


# Rates


def kemeny_mechanism(m, neighboring, epsilon):
    query = KemenyUtility()
    return Exponential().calibrated(query, query.sensitivity(m, neighboring), m, epsilon, 0.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("m", [3, 10, 45])
def test_rates_of_both_relations(m, epsilon):
    """epsilon / C(m, 2) and half of it; epsilon / 2 and a quarter for the largest overruled margin."""
    for query, change in ((KemenyUtility(), n_pairs(m)), (MaxViolatedMargin(window=7), 2)):
        for neighboring, moves in (("add_remove", 1), ("replace", 2)):
            sensitivity = query.sensitivity(m, neighboring)
            rate = Exponential().calibrated(query, sensitivity, m, round_down(epsilon), 0.0).rate
            assert rate == pytest.approx(epsilon / (moves * change), rel=1e-3)
            assert rate < epsilon / (moves * change)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("m", [2, 10, 16, 45, 100])
def test_what_rounding_may_cost_is_paid_for(m, epsilon):
    """The rate is lowered by 2 eta, a small part of epsilon, for up to 2^31 voters."""
    query = KemenyUtility()
    sensitivity = query.sensitivity(m, "add_remove")
    mechanism = Exponential().calibrated(query, sensitivity, m, Fraction(epsilon), 0.0)
    paid = epsilon - mechanism.rate * sensitivity.l1
    assert 0 < paid < 1e-3 * epsilon + 2e-10
    # One rounding of the cost of one order is already epsilon n 2^-53; m of them are made, and more.
    assert paid > epsilon * 2**31 * 2**-53 * m


def test_several_draws_share_the_budget():
    query = MaxViolatedMargin()
    sensitivity = query.sensitivity(5, "add_remove")
    one, three = (Exponential().calibrated(query, sensitivity, 5, Fraction(1), 0.0, times) for times in (1, 3))
    assert three.rate == pytest.approx(one.rate / 3, rel=1e-9)


def test_too_little_to_spend():
    with pytest.raises(ValueError, match="too small for double precision; use at least 1e-9"):
        kemeny_mechanism(10, "add_remove", Fraction(1, 10**14))


def test_it_says_what_arithmetic_costs():
    arithmetic = ExponentialNoise(1.0).arithmetic
    assert "double precision" in arithmetic and "2^31 voters" in arithmetic
    assert arithmetic in DPKemenySampler(random_state=0).fit([[0, 1]]).privacy_.arithmetic


# Laws


@pytest.mark.slow
@pytest.mark.parametrize("margins", [CYCLE, np.zeros((4, 4), dtype=int), margins_of(0, 5)], ids=["cycle", "0", "five"])
def test_samplers_against_brute_force(margins):
    mechanism, bits = ExponentialNoise(0.25), seeded(1)
    draws = np.array([released(mechanism, KemenyUtility(), margins.ravel(), bits) for _ in range(1500)])
    weights = np.exp([-0.25 * np.maximum(overruled(margins, order), 0).sum() for order in orders_of(len(margins))])
    assert fit_of(draws, weights) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["mechanism", "table"])
def test_six_items_against_brute_force(sampler):
    """As the mechanism calls the table, and with many draws at once."""
    margins = margins_of(2, 6, largest=2)
    weights = np.exp([-0.3 * np.maximum(overruled(margins, order), 0).sum() for order in orders_of(6)])
    if sampler == "table":
        draws = PartitionTable(np.maximum(margins.T, 0), 0.3).sample(20_000, seeded(3))
    else:
        mechanism, bits = ExponentialNoise(0.3), seeded(5)
        draws = np.array([released(mechanism, KemenyUtility(), margins.ravel(), bits) for _ in range(1500)])
    assert fit_of(draws, weights) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("window", [None, 2, 5])
def test_prudent_orders_against_brute_force(window):
    margins, anchor = margins_of(6, 5), (2, 0, 4, 1, 3)
    query = MaxViolatedMargin() if window is None else MaxViolatedMargin(anchor, window)
    place = np.argsort(anchor)
    weights = []
    for order in orders_of(5):
        turned = [place[a] - place[b] for a, b in combinations(order, 2) if place[a] > place[b]]
        near = [margins[b, a] for a, b in combinations(order, 2) if abs(place[a] - place[b]) < (window or 5)]
        fits = window is None or max(turned, default=0) < window
        weights.append(fits * np.exp(-0.4 * max(near) - (len(turned) if window else 0)))
    mechanism, bits = ExponentialNoise(0.4), seeded(7)
    draws = np.array([released(mechanism, query, margins.ravel(), bits) for _ in range(2000)])
    assert fit_of(draws, np.array(weights)) > 1e-3


@pytest.mark.parametrize("m", [2, 7])
def test_nobody_is_a_profile_too(m):
    """Without voters every order is as likely."""
    nothing = np.zeros(m * m, dtype=np.int64)
    for query in (KemenyUtility(), MaxViolatedMargin(), MaxViolatedMargin(tuple(range(m)), 2)):
        order = released(ExponentialNoise(0.1), query, nothing, seeded(11))
        assert sorted(order.tolist()) == list(range(m))


def reached(query, margins, rate, size=300):
    bits, mechanism = Biased(0), ExponentialNoise(rate)
    return {tuple(released(mechanism, query, margins.ravel(), bits).tolist()) for _ in range(size)}


@pytest.mark.parametrize("rate", [40.0, 100.0])
@pytest.mark.parametrize("query", [KemenyUtility(), MaxViolatedMargin(), MaxViolatedMargin((0, 1), 2)], ids=str)
def test_an_order_that_is_owed_can_come(query, rate):
    """One voter and epsilon above 36: the other order, likelier than not without the voter, has e^-epsilon."""
    margins = np.array([[0, 1], [-1, 0]])
    assert reached(query, margins, rate) == {(0, 1), (1, 0)}


@pytest.mark.slow
def test_every_order_of_a_cycle_can_come():
    """171 voters, three items, a cycle."""
    margins = 57 * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    assert len(reached(KemenyUtility(), margins, 1 / 3, size=4000)) == 6


# Refusals look at public parameters, and nothing else stops a draw


class Unreadable:
    """A profile whose ballots must not be read yet."""

    def __init__(self, n_items):
        self.n_items = n_items

    def __getattr__(self, name):
        raise AssertionError(f"{name} was read")


@pytest.mark.parametrize(
    ("estimator", "n_items", "message"),
    [
        (DPKemenySampler(sampler="table"), 26, "up to 25 items, got 26"),
        (DPPrudentOrder(), 17, "set window=7"),
        (DPKemenySampler(epsilon=1e-14), 5, "too small"),
    ],
)
def test_refusals_come_before_the_ballots(estimator, n_items, message):
    channel, rule = estimator._compose()
    with pytest.raises(ValueError, match=message):
        channel.plan(rule.asks(n_items), n_items)
    with pytest.raises(ValueError, match=message):
        estimator.fit(np.tile(np.arange(n_items), (3, 1)))


def test_planning_reads_no_ballot():
    for estimator in (DPKemenySampler(), DPPrudentOrder(), DPPrudentOrder(window=3)):
        channel, rule = estimator._compose()
        session = channel.plan(rule.asks(9), 9).open
        with pytest.raises(AssertionError, match="was read"):
            rule.aggregate(session(Unreadable(9))(_streams()))


def _streams():
    from sklearn_dprank.sampling.bit_source import Bits

    return Bits.from_random_state(0)


@pytest.mark.parametrize("sampler", ["insertion", "blocks", "pair_by_pair"])
@pytest.mark.parametrize("n_items", [3, 25, 45])
def test_samplers_whose_time_depends_on_the_ballots_are_refused(sampler, n_items):
    """Rejection did not end at 45 items, or with strong cycles of three; it is refused before ballots are read."""
    estimator = DPKemenySampler(sampler=sampler)
    with pytest.raises(ValueError, match=rf"sampler must be one of \['auto', 'table'\], got '{sampler}'"):
        estimator.plan_for(Shape(n_items, 3))
    budget = PrivacyBudget(2.0)
    with pytest.raises(ValueError, match="sampler must be one of"):
        budget.fit(estimator, np.tile(np.arange(n_items), (3, 1)))
    assert budget.spent_.epsilon == 0


def test_too_many_items_are_refused_with_a_remedy():
    KemenyUtility().check(25)
    with pytest.raises(ValueError, match=r"up to 25 items, got 26: .*DPPrudentOrder\(window=7\)"):
        KemenyUtility().check(26)


def test_an_unknown_sampler_is_refused_in_a_channel_too():
    with pytest.raises(ValueError, match=r"sampler must be one of \['auto', 'table'\], got 'mcmc'"):
        Central(noise=Exponential("mcmc")).plan([Ask(KemenyUtility())], 5)


class CountedWords(SeededBits):
    """Counts the words that are drawn: more words would be more tries."""

    drawn = 0

    def _read(self, size):
        self.drawn += size
        return super()._read(size)


@pytest.mark.slow
@pytest.mark.parametrize("query", [KemenyUtility(), MaxViolatedMargin(tuple(range(9)), 4)])
def test_how_often_a_sampler_draws_does_not_depend_on_the_ballots(query):
    """Without voters, with voters who agree, and with a cycle of all items."""
    m = 9
    agree = np.sign(np.subtract.outer(np.arange(m), np.arange(m))).T
    turn = (np.subtract.outer(np.arange(m), np.arange(m)) % m) - m / 2
    cycle = -np.sign(np.where(np.eye(m), 0, turn)).astype(int)
    found = set()
    for margins in (0 * agree, agree, 10**6 * agree, cycle, 10**6 * cycle):
        bits = CountedWords(np.random.SeedSequence(0))
        sampler = ExponentialNoise(0.1).sampler(query, margins.ravel())
        for _ in range(400):
            sampler.draw(bits)
        found.add(bits.drawn)
    assert len(found) == 1


def test_huge_crowds_do_not_overflow():
    margins = 2**31 * np.sign(np.subtract.outer(np.arange(24), np.arange(24))).T
    ways = [
        (KemenyUtility(), margins[:20, :20]),
        (MaxViolatedMargin(tuple(range(24)), 4), margins),
    ]
    for query, margins in ways:
        order = released(ExponentialNoise(5.0), query, margins.ravel(), seeded(12))
        assert order.tolist() == list(range(len(margins)))
    assert kemeny_mechanism(24, "replace", Fraction(2**31 - 1)).rate < inf
