"""Plans, and the answers of a curator: no more than planned, free where no ballot matters, the same in a pickle."""

import pickle
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from local_tools import messages_of, reports_of
from oracles import spent

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.weights import BALLOT, COMPARISON, COMPARISONS, WEIGHT_GRID, WeightBound
from sklearn_dprank.channels import (
    Answers,
    Central,
    Exact,
    Groups,
    Interactive,
    Local,
    NonPrivateSurvey,
    Rounds,
    SecureAggregation,
    Shuffle,
    Slots,
)
from sklearn_dprank.channels.plan import bound_text
from sklearn_dprank.collection import HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.privacy import BudgetExhausted
from sklearn_dprank.queries import AllMargins, Ask, Histogram, MaxViolatedMargin, NetWins, PairMargin, PairTallies
from sklearn_dprank.rules import (
    AdaptiveBradleyTerryRule,
    BradleyTerryRule,
    Choose,
    ChooseNearAnchor,
    KwikSortRule,
    SortByScore,
)
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.uncertainty import NormalLaw

# Answers are never more than were planned


fractions = st.fractions(min_value=0, max_value=3, max_denominator=10**6)
plans = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 5), fractions), min_size=1)


def query(kind):
    return SimpleNamespace(kind=kind)


def planned(plan):
    """Answers of a curator with these numbers and fractions of planned answers."""
    answers = Answers(3, None, {kind: times for kind, (times, _) in plan.items()})
    answers.prices = {kind: SimpleNamespace(times=times, epsilon=price) for kind, (times, price) in plan.items()}
    return answers


@given(plans, st.lists(st.sampled_from("abcdz"), max_size=40))
def test_against_naive_counts(plan, charges):
    answers, given_so_far = planned(plan), Counter()
    for kind in charges:
        if given_so_far[kind] < plan.get(kind, (0, 0))[0]:
            answers.charge(query(kind))
            given_so_far[kind] += 1
        else:
            with pytest.raises(BudgetExhausted):
                answers.charge(query(kind))
        assert spent(answers) == sum((plan[k][1] * times for k, times in given_so_far.items() if times), Fraction(0))
        assert spent(answers) <= sum(times * price for times, price in plan.values())


def test_a_plan_opens_only_for_its_items_and_its_bound_on_weights():
    plan = Central().plan([Ask(NetWins())], 3)
    with pytest.raises(ValueError, match="the plan is for 3 items, got voters with 2"):
        plan.open(Profile.from_rankings([[0, 1]]))
    with pytest.raises(ValueError, match="the plan is for ballots with the bound None, got a Profile with another one"):
        plan.open(Profile.from_rankings([[0, 1, 2]], groups=["ann"]))
    answers = plan.open(Profile.from_rankings([[0, 1, 2]]))(Bits.from_random_state(0))
    assert answers.n_items == 3
    answers.publish(AllMargins(), np.zeros((3, 3)))
    with pytest.raises(LookupError, match="Histogram does not follow from AllMargins"):
        answers.answer(Histogram())


class Doubled(NetWins):
    """Query whose parameter equality ignores, so that a price for one would be paid for another."""

    def __init__(self, factor):
        object.__setattr__(self, "factor", factor)


@dataclass(frozen=True)
class Uncompared(NetWins):
    factor: int = field(default=1, compare=False)


@pytest.mark.parametrize(
    ("asks", "message"),
    [
        *(([Ask(NetWins(), times)], "times of NetWins must be a positive integer") for times in (0, 1.5)),
        *(([Ask(NetWins(), 1, share)], "share of NetWins must be a finite number above 0") for share in (0, -1)),
        ([Ask(NetWins(), 1, Fraction(3, 2))], "the rule's asks claim 1.5 of it; let shares add up to 1"),
        ([Ask(NetWins(), 1, Fraction(1, 3)), Ask(NetWins(), 1, Fraction(1, 3))], "asks for NetWins twice"),
        ([Ask(NetWins(), 1, Fraction(2, 3)), Ask(AllMargins(), 1, Fraction(1, 2))], "asks claim 1.16667 of it"),
        *(([Ask(q)], "must be a frozen dataclass that compares all its fields") for q in (Doubled(2), Uncompared(2))),
    ],
)
def test_asks_that_could_be_answered_at_another_price_are_refused(asks, message):
    with pytest.raises(ValueError, match=message):
        Central(1.0).plan(asks, 3)
    with pytest.raises(ValueError, match="frozen dataclass"):
        Central(1.0, release=Uncompared(2)).plan([Ask(Uncompared(2))], 3)


def test_public_numbers_of_voters_that_meet_the_minimum_are_enough():
    plan = SecureAggregation(min_reports=5).plan([Ask(NetWins())], 3, 5)
    assert plan.guarantee.epsilon == 1.0
    assert "5 of the voters" in SecureAggregation().plan([Ask(NetWins())], 3, 5).guarantee.parties
    assert "5 of the voters" in SecureAggregation(min_reports=5).plan([Ask(NetWins())], 3, 9).guarantee.parties
    for least, n_voters, message in (
        (5, 4, "min_reports=5 is above the 4 voters"),
        (None, None, "min_reports must be given, got None"),
        (None, 0, "X holds no ballot"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            SecureAggregation(min_reports=least).plan([Ask(NetWins())], 3, n_voters)


@pytest.mark.parametrize(
    "channel",
    [
        *(Exact(), NonPrivateSurvey(), Local(), Shuffle(min_reports=2), Interactive(), Central(), SecureAggregation()),
        Central(release=AllMargins()),
    ],
    ids=repr,
)
def test_an_item_beyond_the_last_is_an_error_that_names_the_parameter(channel):
    with pytest.raises(ValueError, match=r"^j must be an integer from 0 to 2, got 3"):
        channel.plan([Ask(PairMargin(0, 3))], 3, 2)
    answers = channel.plan([Ask(PairMargin())], 3, 2).open(Profile.from_rankings([[0, 1, 2]] * 2))(
        Bits.from_random_state(0)
    )
    with pytest.raises(ValueError, match=r"^j must be an integer from 0 to 2, got 3"):
        answers.answer(PairMargin(0, 3))


def test_a_plan_of_single_reports_refuses_what_needs_more_of_a_voter():
    with pytest.raises(ValueError, match=r"^Local cannot answer Histogram, which the rule asks for"):
        Local().plan([Ask(Histogram())], 3)
    with pytest.raises(ValueError, match=r"each voter reports once; use an Interactive channel with Rounds\(\)"):
        Local().plan([Ask(PairTallies(), 2)], 3)
    plan = Local().plan([Ask(PairTallies()), Ask(NetWins(), 2, Fraction(1))], 3)  # both follow from the reports
    with pytest.raises(ValueError, match="build the Profile with keep='positions'"):
        plan.open(Profile.from_rankings([[0, 1, 2]], keep="counts"))


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (None, ""),
        (WeightBound(BALLOT, WEIGHT_GRID), ""),
        (WeightBound(BALLOT, WEIGHT_GRID, 3), ", calibrated to ballots of at most 3 items (longer ones count less)"),
        (WeightBound(COMPARISON, WEIGHT_GRID, 2, "comparisons"), ""),
        (WeightBound(COMPARISONS, WEIGHT_GRID), ", where a person counts at most as much as one comparison"),
        (WeightBound(COMPARISONS, 5 * WEIGHT_GRID // 2), ", where a person counts at most as much as 2.5 comparisons"),
    ],
)
def test_a_guarantee_states_the_public_bound_of_a_profile(bound, text):
    assert bound_text(bound) == text


@pytest.mark.parametrize("channel", [Central(epsilon=1.0), Interactive(epsilon=1.0)], ids=["central", "interactive"])
def test_both_directions_of_a_pair_are_one_answer(channel):
    profile = Profile.from_rankings([[0, 1, 2]] * 40 + [[2, 0, 1]] * 20)
    plan = channel.plan([Ask(PairMargin(), times=2)], 3, profile.n_voters)
    answers = plan.open(profile)(Bits.from_random_state(0))
    first = answers.answer(PairMargin(2, 0))
    assert (answers.answer(PairMargin(0, 2)), answers.answer(PairMargin(2, 0))) == (-first, first)
    answers.answer(PairMargin(0, 1))
    with pytest.raises(BudgetExhausted):
        answers.answer(PairMargin(1, 2))


def test_published_numbers_have_their_noise_if_its_law_is_known():
    answers = Answers(3, None)
    answers.publish_numbers(NetWins(), np.array([2, 0, -2]))
    assert set(answers.published) == {"scores"}
    answers.publish_numbers(AllMargins(), np.zeros((3, 3)), NormalLaw(1.0))
    assert answers.published["noise"].on == "margins" and set(answers.published) == {"scores", "margins", "noise"}


def test_coins_that_break_ties_are_fair():
    answers = Answers(3, Bits.from_random_state(0).coins)
    assert 160 < sum(answers.tied_before(0, 1) for _ in range(400)) < 240
    assert [Answers(3, None, fair_ties=False).tied_before(i, 1) for i in (0, 2)] == [True, False]


# Unpickled polls open the same sessions for the same bits

MANY_ITEMS = 5
BALLOTS = np.random.default_rng(0).permuted(np.tile(np.arange(float(MANY_ITEMS)), (60, 1)), axis=1)
BALLOTS[::4, 1] = np.nan
PROFILE = Profile.from_rankings(BALLOTS, keep="positions")
CASES = {
    "exact": (Exact(), SortByScore()),
    "truthful": (NonPrivateSurvey(2), BradleyTerryRule()),
    "laplace": (Central(), KwikSortRule(3, "kemeny")),
    "gaussian": (Central(delta=1e-6, noise="gaussian"), SortByScore()),
    "knorm": (Central(noise="knorm"), SortByScore()),
    "exponential": (Central(), Choose(MaxViolatedMargin())),
    "near an anchor": (Central(), ChooseNearAnchor(2)),
    "margins released": (Central(release=AllMargins()), KwikSortRule()),
    "histogram released": (Central(release=Histogram()), SortByScore()),
    "pairs": (Local(randomizer=RandomizedResponse(2)), BradleyTerryRule()),
    "corner": (Local(randomizer=HypercubeSampling()), KwikSortRule()),
    "vector": (Local(randomizer=PrivUnitG()), SortByScore()),
    "slots": (Interactive(schedule=Slots(3)), KwikSortRule(on_exhausted="coin")),
    "groups": (Interactive(8.0, Groups()), KwikSortRule(3, "kemeny")),
    "rounds": (Interactive(schedule=Rounds()), AdaptiveBradleyTerryRule()),
    "hidden pairs": (Shuffle(), BradleyTerryRule()),
    "assigned pairs": (Shuffle(pairs="assigned", n_queries=2), BradleyTerryRule()),
}


def plain(answer):
    """Arrays as lists, all the way down."""
    if isinstance(answer, (list, tuple)):
        return [plain(part) for part in answer]
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def heard(poll, rule, seed):
    """All that a rule heard in one session, and what it made of it."""
    session, answers = poll(Bits.from_random_state(seed)), []
    plainly = session.answer

    def answer(query):
        answers.append((query, plainly(query)))
        return answers[-1][1]

    session.answer = answer
    order = rule.aggregate(session).order
    session.close()
    return repr(plain((answers, order, session.published)))


@pytest.mark.parametrize("case", CASES)
def test_an_unpickled_poll_gives_the_same_answers(case):
    channel, rule = CASES[case]
    plan = channel.plan(rule.asks(MANY_ITEMS), MANY_ITEMS, len(BALLOTS))
    poll = plan.open(PROFILE)
    before = pickle.loads(pickle.dumps(poll))
    expected = [heard(poll, rule, seed) for seed in range(4)]
    after = pickle.loads(pickle.dumps(poll))
    assert [heard(before, rule, seed) for seed in range(4)] == expected
    assert [heard(after, rule, seed) for seed in range(4)] == expected
    assert [heard(pickle.loads(pickle.dumps(plan)).open(PROFILE), rule, seed) for seed in range(4)] == expected
    assert case == "exact" or len(set(expected)) > 1  # fresh randomness for each session


@pytest.mark.parametrize(
    ("estimator", "collected"),
    [
        (LDPPairwise(n_queries=2), lambda e: reports_of(e, BALLOTS, 0)),
        (ShufflePairwise(min_reports=60), lambda e: messages_of(e.protocol(MANY_ITEMS), BALLOTS, 0)),
    ],
    ids=["local", "shuffle"],
)
def test_a_poll_of_the_field_has_read_its_reports_once(estimator, collected):
    channel, rule = estimator._compose()
    poll = channel.plan(rule.asks(MANY_ITEMS), MANY_ITEMS).open(iter([*collected(estimator), "{"]))
    again = pickle.loads(pickle.dumps(poll))
    for seed in range(3):
        assert heard(again, rule, seed) == heard(poll, rule, seed)
    published = again(Bits.from_random_state(0)).published
    assert (published["reports_accepted"], published["reports_refused"]) == (60, {"not JSON": 1})
