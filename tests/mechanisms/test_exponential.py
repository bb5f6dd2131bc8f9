"""Exponential mechanism and permute-and-flip: rates, laws, refusals, and random words that do not depend on ballots."""

from fractions import Fraction
from itertools import permutations
from math import inf, lgamma

import numpy as np
import pytest
from audit_tools import Biased, flipped_cells, order_cells
from oracles import cost_of, released, seeded
from scipy import stats

from sklearn_dprank import DPKemenySampler, DPPrudentOrder
from sklearn_dprank.channels import Central
from sklearn_dprank.mechanisms import Exponential, ExponentialNoise, PermuteAndFlip, PermuteAndFlipNoise
from sklearn_dprank.orders.samplers import log_choice_error, log_flip_error, log_rounding_error
from sklearn_dprank.privacy import PrivacyBudget
from sklearn_dprank.privacy.composition import choice_range
from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.queries import KemenyUtility, MaxViolatedMargin, n_pairs
from sklearn_dprank.rules import Choose
from sklearn_dprank.sampling.bit_source import Bits, SeededBits

CYCLE = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])


def margins_of(seed, m, largest=3):
    half = np.random.default_rng(seed).integers(-largest, largest + 1, (m, m))
    return half - half.T


# Rates

QUERY = MaxViolatedMargin()
MECHANISMS = [
    pytest.param(Exponential(), KemenyUtility(), id="exponential-Kemeny"),
    pytest.param(Exponential(), MaxViolatedMargin(window=7), id="exponential-margin"),
    pytest.param(PermuteAndFlip(), QUERY, id="flip-margin"),
]


def rate_of(mechanism, query, epsilon, m=10, neighboring="add_remove", times=1):
    return mechanism.calibrated(query, query.sensitivity(m, neighboring), m, Fraction(epsilon), 0.0, times).rate


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("m", [3, 10, 16])
@pytest.mark.parametrize(("mechanism", "query"), MECHANISMS)
def test_rates_of_both_relations(mechanism, query, m, epsilon):
    """epsilon / C(m, 2) for disagreements, epsilon / 2 for overruled margins; half of that under replace."""
    loss = n_pairs(m) if isinstance(query, KemenyUtility) else 2
    for neighboring, moves in (("add_remove", 1), ("replace", 2)):
        rate = rate_of(mechanism, query, round_down(epsilon), m, neighboring)
        assert rate < epsilon / (moves * loss)
        assert rate == pytest.approx(epsilon / (moves * loss), rel=1e-3)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("m", [2, 10, 16, 45, 100])
@pytest.mark.parametrize(("mechanism", "query"), MECHANISMS)
def test_rate_pays_for_rounding(mechanism, query, m, epsilon):
    """The rate is lowered by 2 eta, a small part of epsilon, for up to 2^31 voters."""
    paid = epsilon - rate_of(mechanism, query, epsilon, m) * query.sensitivity(m, "add_remove").l1
    # One rounding of the cost of one order is already epsilon n 2^-53. A sum of disagreements needs m of them.
    least = epsilon * 2**31 * 2**-53 * (m if isinstance(query, KemenyUtility) else 1)
    if isinstance(mechanism, PermuteAndFlip):
        least = 2 * log_flip_error(epsilon * 2**31, 0.0)
    assert 0 < least <= paid < 2e-3 * epsilon + 4e-10


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("mechanism", "query"), MECHANISMS)
def test_rate_is_lowered_by_exactly_the_rounding_of_both_neighbours(mechanism, query, delta):
    """Each probability is right up to e^eta, so a ratio loses 2 eta, and a range of ratios 4 eta."""
    m, flips = 9, isinstance(mechanism, PermuteAndFlip)
    budget = choice_range(1.0, delta, 3) if delta and not flips else 1 / 3
    exponent, debts = budget * 2**31, 4 if delta and not flips else 2
    if flips:
        eta = log_flip_error(exponent, lgamma(m + 1))
    else:
        eta = 2 * log_rounding_error(m, exponent)
        eta += log_choice_error(query.options(m), exponent + lgamma(m + 1), m)
    sensitivity = query.sensitivity(m, "add_remove")
    rate = mechanism.calibrated(query, sensitivity, m, Fraction(1), delta, 3).rate
    assert rate == (budget * (1 - 2**-50) - debts * eta) / sensitivity.l1


@pytest.mark.parametrize(("mechanism", "query"), MECHANISMS)
def test_draws_share_the_budget(mechanism, query):
    one, three = (rate_of(mechanism, query, 1, 5, times=times) for times in (1, 3))
    assert three == pytest.approx(one / 3, rel=1e-9)


@pytest.mark.parametrize(("mechanism", "query"), MECHANISMS)
def test_epsilon_too_small_for_the_arithmetic_is_refused(mechanism, query):
    with pytest.raises(ValueError, match="too small for double precision; use at least 1e-9"):
        rate_of(mechanism, query, Fraction(1, 10**14))


# Laws


@pytest.mark.parametrize("m", [2, 7])
def test_order_without_voters_is_valid(m):
    zeros = np.zeros(m * m, dtype=np.int64)
    for query in (KemenyUtility(), MaxViolatedMargin(), MaxViolatedMargin(tuple(range(m)), 2)):
        order = released(ExponentialNoise(0.1), query, zeros, seeded(11))
        assert sorted(order.tolist()) == list(range(m))


@pytest.mark.parametrize("rate", [40.0, 100.0])
@pytest.mark.parametrize(
    ("noise", "query"),
    [
        (ExponentialNoise, KemenyUtility()),
        (ExponentialNoise, QUERY),
        (ExponentialNoise, MaxViolatedMargin((0, 1), 2)),
        (PermuteAndFlipNoise, QUERY),
    ],
)
def test_rarest_order_is_drawn(noise, query, rate):
    """With one voter and epsilon above 36, the other order has probability e^-epsilon, or half of it."""
    margins, bits = np.array([[0, 1], [-1, 0]]), Biased(0)
    drawn = [released(noise(rate), query, margins.ravel(), bits) for _ in range(300)]
    assert {tuple(order.tolist()) for order in drawn} == {(0, 1), (1, 0)}


# Refusals


class Unreadable:
    """A profile that raises an error if its ballots are read."""

    def __init__(self, n_items):
        self.n_items = n_items

    def __getattr__(self, name):
        raise AssertionError(f"{name} was read")


@pytest.mark.parametrize(
    ("estimator", "n_items", "message"),
    [
        (DPKemenySampler(), 26, r"up to 25 items, got 26.*DPPrudentOrder\(window=7\)"),
        (DPPrudentOrder(), 17, "set window=7"),
        (DPKemenySampler(epsilon=1e-14), 5, "too small"),
    ],
)
def test_refusals_depend_on_public_parameters_and_precede_a_charge(estimator, n_items, message):
    channel, rule = estimator._compose()
    with pytest.raises(ValueError, match=message):
        channel.plan(rule.asks(n_items), n_items)
    budget = PrivacyBudget(2.0)
    with pytest.raises(ValueError, match=message):
        budget.fit(estimator, np.tile(np.arange(n_items), (3, 1)))
    assert budget.spent_.epsilon == 0


def test_planning_reads_no_ballot():
    for estimator in (DPKemenySampler(), DPPrudentOrder(), DPPrudentOrder(window=3)):
        channel, rule = estimator._compose()
        session = channel.plan(rule.asks(9), 9).open
        with pytest.raises(AssertionError, match="was read"):
            rule.aggregate(session(Unreadable(9))(Bits.from_random_state(0)))


class CountedWords(SeededBits):
    """Count the words that are drawn."""

    drawn = 0

    def _read(self, size):
        self.drawn += size
        return super()._read(size)


@pytest.mark.slow
@pytest.mark.parametrize("query", [KemenyUtility(), MaxViolatedMargin(tuple(range(9)), 4)])
def test_number_of_words_does_not_depend_on_the_ballots(query):
    """Compare no voters, unanimous voters and a cycle of all items."""
    m = 9
    agree = np.sign(np.subtract.outer(np.arange(m), np.arange(m))).T
    turn = (np.subtract.outer(np.arange(m), np.arange(m)) % m) - m / 2
    cycle = -np.sign(np.where(np.eye(m), 0, turn)).astype(int)
    found = set()
    for margins in (0 * agree, agree, 10**6 * agree, cycle, 10**6 * cycle):
        bits = CountedWords(np.random.SeedSequence(0))
        sampler = ExponentialNoise(0.1).sampler(query, margins.ravel())
        for _ in range(400):
            sampler(bits)
        found.add(bits.drawn)
    assert len(found) == 1


def test_orders_of_two_billion_voters_do_not_overflow():
    margins = 2**31 * np.sign(np.subtract.outer(np.arange(24), np.arange(24))).T
    ways = [(KemenyUtility(), margins[:20, :20]), (MaxViolatedMargin(tuple(range(24)), 4), margins)]
    for query, margins in ways:
        order = released(ExponentialNoise(5.0), query, margins.ravel(), seeded(12))
        assert order.tolist() == list(range(len(margins)))
    assert rate_of(Exponential(), KemenyUtility(), 2**31 - 1, 24, "replace") < inf


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("margins", [CYCLE, margins_of(0, 5), np.zeros((4, 4), dtype=int)], ids=["cycle", "five", "0"])
def test_flipped_orders_follow_the_law_of_the_definition(margins, rate):
    law, orders = flipped_cells(PermuteAndFlipNoise(rate), QUERY, margins.ravel())
    draws = QUERY.flips(margins, rate).sample(4000, SeededBits(1))
    number = {tuple(order.tolist()): k for k, order in enumerate(orders)}
    seen = np.bincount([number[tuple(draw)] for draw in draws.tolist()], minlength=len(law))
    rare = law * 4000 < 5
    seen, law = (np.append(each[~rare], each[rare].sum()) for each in (seen, law))
    assert stats.chisquare(seen[law > 0], law[law > 0] * 4000).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_permute_and_flip_has_less_cost_than_the_exponential_mechanism(seed, rate):
    margins = margins_of(seed, 5, largest=9)
    costs = np.array([cost_of(QUERY, margins, order) for order in permutations(range(5))])
    flipped, _ = flipped_cells(PermuteAndFlipNoise(rate), QUERY, margins.ravel())
    exponential, _ = order_cells(ExponentialNoise(rate), QUERY, margins.ravel())
    assert flipped @ costs < exponential @ costs


def test_permute_and_flip_is_for_overruled_margins_without_window():
    for query in (KemenyUtility(), MaxViolatedMargin((0, 1, 2), 2)):
        channel, rule = Central(noise="permute_and_flip"), Choose(query)
        with pytest.raises(ValueError, match=r"number of orders of each cost; use noise='exponential'"):
            channel.plan(rule.asks(3), 3)
    assert "permute-and-flip" in DPPrudentOrder().fit([[0, 1]]).privacy_.how
    assert "permute-and-flip" not in DPPrudentOrder(window=2).fit([[0, 1]]).privacy_.how
