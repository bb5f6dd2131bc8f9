"""Questions in rounds: who is asked, how often and at what price, and how a curator counts the answers."""

import json
import math
import warnings
from decimal import Decimal, localcontext
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from local_tools import Field, same_law
from oracles import flip_probability, seeded
from scipy.stats import chisquare

from sklearn_dprank import Aggregator, LDPAdaptivePairs, LDPGroupKwikSort, LDPQuickSort
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import Groups, Interactive, Rounds, Slots
from sklearn_dprank.collection.pairs import InteractiveRandomizer
from sklearn_dprank.collection.protocol import FLIP_GRID, digest
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import Ask, PairMargin, PairTallies
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, KwikSortRule
from sklearn_dprank.sampling.bit_source import Bits, SeededBits
from sklearn_dprank.theory.alabi import local_budget

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning"),
]

NAN = np.nan
ESTIMATORS = [LDPQuickSort(n_queries=2), LDPGroupKwikSort(), LDPAdaptivePairs(n_rounds=2)]


# --- the plan


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_the_protocol_states_all_public_numbers(estimator):
    """It does not depend on the number of voters, which decides who is asked and not what a device may say."""
    protocol = estimator.protocol(["a", "b", "c"])
    assert protocol == json.loads(json.dumps(protocol))
    assert (protocol["version"], protocol["items"], protocol["epsilon"]) == (3, ["a", "b", "c"], "1.0")
    assert protocol["flips"]["each"] / FLIP_GRID == pytest.approx(
        flip_probability(1.0 / protocol["answers"]), rel=1e-14
    )
    _, plan = estimator.plan_for(Shape(3, 77))
    assert {**plan.protocol, "items": ["a", "b", "c"]} == protocol
    assert (plan.guarantee.epsilon, plan.guarantee.delta, plan.guarantee.trust) == (1.0, 0.0, "local")
    assert plan.guarantee.neighboring == "replace"


# --- the curator


ASKING = LDPQuickSort(4.0, n_queries=8)
NAME = digest(ASKING.protocol(3))
GOOD = {"protocol": NAME, "question": 1, "report": "0" * 32, "pair": [0, 1], "answer": 1}


def session(ask, n_voters=4):
    """A session that asks about three items."""
    return ASKING.plan_for(Shape(3, n_voters))[1].open(ask)(Bits.from_random_state(0))


def good(*numbers, answer=1):
    """Honest answers to the first question, with these random numbers."""
    return [{**GOOD, "report": f"{number:032x}", "answer": answer} for number in numbers]


# One answer for each reason; tests/collection/test_reports.py makes many.
BAD = [
    (b"\xff\xfe\x00", "not JSON"),
    (None, "not a JSON object"),
    ({**GOOD, "protocol": digest(LDPQuickSort(5.0, n_queries=8).protocol(3))}, "another protocol"),
    ({**GOOD, "question": 2}, "another question"),
    ({**GOOD, "question": True}, "another question"),
    ({**GOOD, "report": "A" * 32}, "no report number"),
    ({k: v for k, v in GOOD.items() if k != "report"}, "wrong keys"),
    ({**GOOD, "pair": [0, 2]}, "pair out of range"),  # another pair than asked
    ({**GOOD, "answer": "secret-7"}, "answer out of range"),
]


@pytest.mark.parametrize(("report", "reason"), BAD, ids=[f"{k}: {reason}" for k, (_, reason) in enumerate(BAD)])
def test_each_bad_answer_is_refused_for_a_reason(report, reason):
    """The reason is one of a fixed list, so it does not quote the answer."""
    opened = session(lambda asked: [GOOD, report, *map(json.dumps, good(1, answer=0)), *good(2)], n_voters=4)
    assert opened.answer(PairMargin(0, 1)) == 1
    opened.close()
    assert opened.published == {"reports_accepted": 3, "reports_refused": {reason: 1}}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_one_answer_that_is_returned_many_times_counts_once(estimator):
    """60 voters are asked, and one of them answers for all."""
    estimator = type(estimator)(random_state=0)
    device, repeated = estimator.client(4, random_state=1), []

    def ask(asked):
        try:
            answer = device.answer(asked, [0, 1, 2, 3])
        except BudgetExhausted:
            return []
        repeated.append(len(asked["voters"]) - 1)
        return [answer, json.dumps(answer)] * 30

    estimator.fit_interactive(ask, items=4, n_voters=60)
    assert estimator.reports_accepted_ == len(repeated) > 0
    assert estimator.reports_refused_ == {"received before": 59 * len(repeated)}


def test_a_voter_who_writes_many_answers_counts_once():
    """Pairs (voter, answer) count once for each voter who was asked, for any numbers of the answers."""
    voters = []

    def ask(asked):
        voters.extend(asked["voters"])
        yield 2, good(1)[0]
        yield from ((2, json.dumps(answer)) for answer in good(*range(2, 30), answer=0))
        yield 3, good(1)[0]  # the answer of another voter
        yield from ((voter, good(60)[0]) for voter in (4, -1, 0.5, "0", None, [0], True + 0.5))
        yield np.int64(0), good(40, answer=0)[0]
        yield 1, "{"
        yield 1, good(41)[0]  # the first of each voter is read, and no other
        yield (1,)
        yield (1, good(42)[0], 3)

    opened = session(ask, n_voters=4)
    assert opened.answer(PairMargin(0, 1)) == 0
    opened.close()
    assert sorted(voters) == [0, 1, 2, 3]
    refused = {"voter answered before": 29, "received before": 1, "voter not asked": 7}
    refused |= {"not JSON": 1, "not a JSON object": 2}
    assert opened.published == {"reports_accepted": 2, "reports_refused": refused}


def test_answers_with_and_without_their_voters_have_one_meaning():
    ballots = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 2, 3]] * 20
    fits = []
    for named in (False, True):
        estimator = LDPQuickSort(4.0, n_queries=3, random_state=0)
        field = Field(estimator.protocol(4), ballots, seed=0)

        def ask(asked, field=field, named=named):
            answers = list(field(asked))
            return zip(reversed(asked["voters"]), answers, strict=True) if named else answers

        fits.append(estimator.fit_interactive(ask, items=4, n_voters=60))
    assert fits[0].consensus_.tolist() == fits[1].consensus_.tolist()
    assert fits[0].reports_accepted_ == fits[1].reports_accepted_ and fits[1].reports_refused_ == {}


@pytest.mark.parametrize("n_voters", [0, -3, 2.5, "7", None])
def test_n_voters_must_be_a_positive_integer(n_voters):
    with pytest.raises(ValueError, match="n_voters must be a positive integer"):
        LDPQuickSort().fit_interactive(lambda asked: [], items=3, n_voters=n_voters)


@pytest.mark.slow
def test_the_last_resort():
    """Three questions are not enough for six items, and the last reports of all voters decide."""
    order = [4, 0, 5, 1, 3, 2]
    ballots = make_mallows(400, 6, 0.3, center=np.argsort(order), random_state=0)
    channel = Interactive(24.0, Groups())
    rule = KwikSortRule(max_queries=3, on_exhausted="kemeny")
    estimator = Aggregator(channel, rule, random_state=3)
    field = Field(estimator.protocol(6), ballots.tolist(), seed=1)
    estimator.fit_interactive(field, items=6, n_voters=400)
    assert [asked["kind"] for asked in field.asked] == ["each"] * 3 + ["last"]
    assert field.asked[-1]["voters"] == list(range(400)) and len(field.asked[-1]["pairs"]) == 15
    assert estimator.consensus_.tolist() == order
    assert estimator.optimal_gap_ == 0
    assert estimator.privacy_.epsilon == 24.0
    simulated = Aggregator(channel, rule, random_state=3).fit(ballots)
    assert simulated.consensus_.tolist() == order


# --- simulation and field


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "runs"), [(ESTIMATORS[0], 350), (ESTIMATORS[1], 350), (ESTIMATORS[2], 200)])
def test_fit_and_field_have_one_law(estimator, runs):
    ballots = [[0, 1, 2], [0, 1, 2], [1, 0, 2], [0, 0, 1], [NAN, 1, 0], [2, 0, 1]]
    estimator = type(estimator)(**{**estimator.get_params(), "epsilon": 4.0})
    simulated, collected = [], []
    for seed in range(runs):
        simulated.append(tuple(estimator.set_params(random_state=seed).fit(ballots).consensus_))
        field = Field(estimator.protocol(3), ballots, seed + 10**6)
        estimator.set_params(random_state=seed + 10**7).fit_interactive(field, items=3, n_voters=len(ballots))
        collected.append(tuple(estimator.consensus_))
    assert same_law(simulated, collected) > 1e-3
    assert len(set(simulated)) == 6


def test_the_voters_who_are_asked_answer_about_their_own_ballots():
    positions = Profile.from_rankings(make_mallows(50, 4, 1.0, random_state=0) // 2).positions
    protocol = {"flips": {"each": FLIP_GRID // 4, "last": None}}
    asked, pairs = np.array([7, 40, 3, 3, 21]), [[0, 1], [1, 3]]
    alone = positions._replace(table=positions.table[:, asked])
    here, there = (
        InteractiveRandomizer().draw(protocol, ballots, Bits.from_random_state(5), "each", pairs, voters)
        for ballots, voters in ((positions, asked), (alone, None))
    )
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)


# Schedules


def margins(times):
    return [Ask(PairMargin(), times=times)]


def everyone_asked(following):
    """All voters of all questions, until one is refused."""
    return list(takewhile(lambda voters: voters is not None, following))


# --- Slots


@pytest.mark.slow
@settings(max_examples=60)
@given(n=st.integers(1, 60), slots=st.integers(1, 6), questions=st.integers(1, 40), seed=st.integers(0, 2**32))
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
