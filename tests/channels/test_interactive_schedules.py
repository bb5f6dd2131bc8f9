"""Who is asked, how often and at what price: figures, invariants, and the composed loss to sixty digits."""

import math
import warnings
from decimal import Decimal, localcontext
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles import flip_probability, seeded
from scipy.stats import chisquare

from sklearn_dprank import LDPQuickSort
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.channels import Groups, Interactive, Rounds, Slots
from sklearn_dprank.collection.protocol import FLIP_GRID
from sklearn_dprank.queries import Ask, PairMargin, PairTallies
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, KwikSortRule
from sklearn_dprank.sampling.bit_source import SeededBits
from sklearn_dprank.theory.alabi import local_budget


def margins(times):
    return [Ask(PairMargin(), times=times)]


def everyone_asked(following):
    """All voters of all questions, until one is refused."""
    return list(takewhile(lambda voters: voters is not None, following))


# --- Slots


@pytest.mark.slow
@settings(max_examples=60)
@given(
    n=st.integers(1, 60),
    slots=st.integers(1, 6),
    questions=st.integers(1, 40),
    seed=st.integers(0, 2**32),
)
def test_slots_are_never_overdrawn_and_never_stranded(n, slots, questions, seed):
    terms = Slots(slots).voter_load(1.0, margins(questions), 9, n)
    asked = everyone_asked(terms.start(n, seeded(seed)))
    size = min(n, n * slots // questions)
    assert all(len(voters) == size == len(set(voters.tolist())) for voters in asked)
    used = np.bincount(np.concatenate([*asked, []]).astype(int), minlength=n)
    assert used.max(initial=0) <= slots == terms.answers
    if size:
        assert len(asked) >= questions or size == n
        assert n * slots - used.sum() < size
        assert used.max() - used.min() <= 1  # levels stay together
    else:
        assert asked == []  # fewer slots than questions: coins from the start


def test_slots_are_dealt_at_random():
    seen = np.zeros(6)
    for seed in range(600):
        seen[next(Slots(1).voter_load(1.0, margins(3), 3, 6).start(6, seeded(seed)))] += 1
    assert chisquare(seen).pvalue > 1e-3


# --- Groups


@pytest.mark.parametrize(("m", "load"), [(5, 7), (10, 15), (15, 20), (20, 24), (30, 29), (50, 35)])
def test_published_loads(m, load):
    terms = Groups().voter_load(1.0, KwikSortRule(on_exhausted="kemeny").asks(m), m, 1000)
    assert (terms.answers, terms.reserve) == (load, 0.5)
    budget = local_budget(m, 1.0)
    assert (budget.n_answers, budget.fallback) == (load, terms.reserve)
    assert budget.per_answer == pytest.approx(1 / (2 * load))
    each = (
        Interactive(1.0, Groups()).plan(KwikSortRule(on_exhausted="kemeny").asks(m), m, 1000).protocol["flips"]["each"]
    )
    assert each / FLIP_GRID == pytest.approx(flip_probability(budget.per_answer), rel=1e-14)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_few_items_need_no_reserve(m):
    terms = Groups().voter_load(1.0, KwikSortRule(on_exhausted="kemeny").asks(m), m, 1000)
    questions = math.comb(m, 2)
    assert (terms.answers < questions) == (terms.reserve > 0)
    assert (terms.answers, terms.reserve) == (questions, 0) or terms.reserve == 0.5


@pytest.mark.parametrize(("n", "m"), [(50, 5), (52, 5), (3, 5)])
def test_groups_share_the_voters_and_each_answers_at_most_its_load(n, m):
    asks = KwikSortRule(on_exhausted="kemeny").asks(m)
    terms = Groups().voter_load(1.0, asks, m, n)
    for seed in range(40):
        asked = everyone_asked(terms.start(n, seeded(seed)))
        groups = {tuple(voters.tolist()) for voters in asked}
        assert all(n // m <= len(group) <= -(-n // m) for group in groups)
        assert sum(map(len, groups)) == len(set().union(*groups))  # disjoint
        used = np.bincount(np.concatenate([*asked, []]).astype(int), minlength=n)
        assert used.max() <= terms.answers
        assert len(asked) <= asks[0].times


def test_the_group_of_a_question_is_uniform_and_the_counter_rises_before_it():
    """The refused question is the one beyond the load, without an answer."""
    m, first = 5, np.zeros(5)
    for seed in range(500):
        following = Groups().voter_load(1.0, KwikSortRule(on_exhausted="kemeny").asks(m), m, m).start(m, seeded(seed))
        first[next(following)[0]] += 1
    assert chisquare(first).pvalue > 1e-3

    class OneGroup(SeededBits):
        def integer(self, bound):
            return 0

    terms = Groups().voter_load(1.0, KwikSortRule(on_exhausted="kemeny").asks(m), m, m)
    assert len(everyone_asked(terms.start(m, OneGroup(np.random.SeedSequence(0))))) == terms.answers == 7


def test_a_rule_that_can_run_out_early_keeps_half_back():
    asks = KwikSortRule(max_queries=3, on_exhausted="kemeny").asks(6)
    terms = Groups().voter_load(1.0, asks, 6, 100)
    assert (terms.answers, terms.reserve) == (3, 0.5)


# --- Rounds


@settings(max_examples=40)
@given(n=st.integers(1, 50), rounds=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_rounds_ask_every_voter_once(n, rounds, seed):
    terms = Rounds().voter_load(0.7, [Ask(PairTallies(), times=rounds)], 5, n)
    asked = everyone_asked(terms.start(n, seeded(seed)))
    assert len(asked) == rounds and terms.answers == 1 and terms.reserve == 0
    assert sorted(np.concatenate(asked).tolist()) == list(range(n))
    assert max(map(len, asked)) - min(map(len, asked)) <= 1


# --- the price, composed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@settings(max_examples=80)
@given(epsilon=st.floats(1e-3, 60), slots=st.integers(1, 60), m=st.integers(2, 12), which=st.integers(0, 2))
def test_all_answers_of_one_voter_together_cost_at_most_epsilon(epsilon, slots, m, which):
    schedule, rule = [
        (Slots(slots), KwikSortRule(on_exhausted="coin")),
        (Groups(), KwikSortRule(on_exhausted="kemeny")),
        (Rounds(), AdaptiveBradleyTerryRule()),
    ][which]
    protocol = Interactive(epsilon, schedule).plan(rule.asks(m), m, 100).protocol
    flips = [protocol["flips"]["each"]] * protocol["answers"]
    if protocol["flips"]["last"] is not None:
        flips.append(protocol["flips"]["last"])
    with localcontext() as context:
        context.prec = 60
        spent = sum(((FLIP_GRID - Decimal(flip)) / flip).ln() for flip in flips)
        assert spent <= Decimal(epsilon)
    if epsilon < 20 and epsilon / len(flips) > 1e-6:
        assert float(spent) == pytest.approx(epsilon, rel=1e-6)


def _warned(slots, n_voters, n_items, epsilon):
    """Whether a plan for so many voters warns."""
    channel, asks = Interactive(epsilon, Slots(slots)), KwikSortRule(on_exhausted="coin").asks(n_items)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        channel.plan(asks, n_items, n_voters)
    return any("little better than coin flips" in str(each.message) for each in caught)


@pytest.mark.parametrize(
    ("epsilon", "slots", "least"),
    [(1.0, 1, 54), (4.0, 4, 14), (0.5, 1, 228), (1.0, 4, 231), (8.0, 1, 29), (8.0, 2, 15), (1000.0, 1, 29)],
)
def test_too_few_public_voters_are_warned_of(epsilon, slots, least):
    """29 comparisons of ten items: s sinh(epsilon / 2K)^2 = 1/2, and one answer to each comparison at least."""
    assert _warned(slots, least - 1, 10, epsilon)
    assert not _warned(slots, least, 10, epsilon)


def test_a_warning_of_few_voters_names_the_remedy():
    ballots = np.tile(np.arange(10), (20, 1))
    expected = r"20 voters with n_queries=1 give 0.69 answers to each of 29 comparisons, at an epsilon of 1 each"
    with pytest.warns(UserWarning, match=expected):
        LDPQuickSort(random_state=0).fit(ballots)
    with pytest.warns(UserWarning, match=expected):  # it depends on the shape only
        LDPQuickSort().plan_for(Shape(10, 20))
    LDPQuickSort().protocol(10)  # a device knows no number of voters
