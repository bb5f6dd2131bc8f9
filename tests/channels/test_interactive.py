"""A curator that asks questions counts each asked voter once, and its simulation has the law of the real thing.

What devices answer is tested in collection/test_device_questions.
"""

import json

import numpy as np
import pytest
from local_tools import Field, same_law
from oracles import flip_probability

from sklearn_dprank import Aggregator, LDPAdaptivePairs, LDPGroupKwikSort, LDPQuickSort
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import Groups, Interactive, Rounds, Slots
from sklearn_dprank.collection.pairs import InteractiveRandomizer
from sklearn_dprank.collection.protocol import FLIP_GRID, digest
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import AllMargins, NetWins, PairMargin
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, BradleyTerryRule, KwikSortRule, SortByScore
from sklearn_dprank.sampling.bit_source import Bits

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning"),
]

NAN = np.nan
ESTIMATORS = [LDPQuickSort(n_queries=2), LDPGroupKwikSort(), LDPAdaptivePairs(n_rounds=2)]


# --- the plan


@pytest.mark.parametrize(
    ("schedule", "rule", "message"),
    [
        (Slots(), BradleyTerryRule(), "Interactive cannot answer PairTallies.*Slots is for PairMargin"),
        (Groups(), AdaptiveBradleyTerryRule(), "Interactive cannot answer PairTallies.*Groups is for PairMargin"),
        (Rounds(), KwikSortRule(on_exhausted="coin"), "cannot answer PairMargin.*Rounds is for PairTallies"),
        (None, SortByScore(), "Interactive cannot answer NetWins"),
        (Slots(), KwikSortRule(on_exhausted="kemeny"), "cannot answer AllMargins.*Slots keeps no budget back"),
    ],
)
def test_a_rule_that_the_schedule_cannot_serve_is_refused(schedule, rule, message):
    n_items = 12
    with pytest.raises(ValueError, match=message):
        Interactive(1.0, schedule).plan(rule.asks(n_items), n_items, 100)


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


BAD = [
    ("not JSON at all", "not JSON"),
    (b"\xff\xfe\x00", "not JSON"),
    ("[" * 100_000, "not JSON"),
    (None, "not a JSON object"),
    ({**GOOD, "protocol": digest(LDPQuickSort(5.0, n_queries=8).protocol(3))}, "another protocol"),
    ({k: v for k, v in GOOD.items() if k != "protocol"}, "another protocol"),
    ({**GOOD, "question": 2}, "another question"),
    ({**GOOD, "report": 7}, "no report number"),
    ({**GOOD, "report": "A" * 32}, "no report number"),
    ({k: v for k, v in GOOD.items() if k != "report"}, "wrong keys"),
    ({**GOOD, "question": True}, "another question"),
    ({**GOOD, "name": "secret-7"}, "wrong keys"),
    ({k: v for k, v in GOOD.items() if k != "pair"}, "wrong keys"),
    ({**GOOD, "pair": [0, 2]}, "pair out of range"),  # another pair than asked
    ({**GOOD, "pair": [1, 0]}, "pair out of range"),
    ({**GOOD, "pair": [0.0, 1.0]}, "pair out of range"),
    ({**GOOD, "pair": [[0], [1]]}, "pair out of range"),
    ({**GOOD, "answer": 2}, "answer out of range"),
    ({**GOOD, "answer": True}, "answer out of range"),
    (json.dumps({**GOOD, "answer": NAN}), "answer out of range"),
    ({**GOOD, "answer": "secret-7"}, "answer out of range"),
]


@pytest.mark.parametrize(("report", "reason"), BAD, ids=[f"{k}: {reason}" for k, (_, reason) in enumerate(BAD)])
def test_each_bad_answer_is_refused_for_a_reason(report, reason):
    """The reason is one of a fixed list, so it does not quote the answer."""
    opened = session(lambda asked: [GOOD, report, *map(json.dumps, good(1, answer=0)), *good(2)], n_voters=4)
    assert opened.answer(PairMargin(0, 1)) == 1
    opened.close()
    assert opened.published == {"reports_accepted": 3, "reports_refused": {reason: 1}}


def test_bad_answers_take_no_place_of_good_ones_and_too_many_good_ones_are_refused():
    """Four voters are asked: of nine good answers the first four count."""
    n_asked = []

    def ask(asked):
        n_asked.append(len(asked["voters"]))
        return [report for report, _ in BAD] + good(*range(9))

    opened = session(ask, n_voters=4)
    assert opened.answer(PairMargin(0, 1)) == n_asked[0] == 4
    opened.close()
    assert opened.published["reports_refused"]["more reports than voters asked"] == 5
    assert sum(opened.published["reports_refused"].values()) == 5 + len(BAD)


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


def test_an_answer_to_an_earlier_question_does_not_count_again():
    answers = []

    def ask(asked):
        answers.append(good(asked["question"])[0] | {"question": asked["question"], "pair": asked["pairs"][0]})
        return list(answers)

    opened = session(ask)
    opened.answer(PairMargin(0, 1))
    opened.answer(PairMargin(0, 2))
    opened.close()
    assert opened.published == {"reports_accepted": 2, "reports_refused": {"another question": 1}}


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


def test_voters_who_do_not_answer():
    """One voter of each group answers: the fit goes on with what it has."""
    estimator = LDPQuickSort(n_queries=3, random_state=0)
    field = Field(estimator.protocol(4), [[0, 1, 2, 3]] * 10, seed=0)
    estimator.fit_interactive(lambda asked: list(field(asked))[:1], items=4, n_voters=10)
    assert sorted(estimator.consensus_.tolist()) == [0, 1, 2, 3]
    assert estimator.reports_refused_ == {} and estimator.reports_accepted_ == len(field.asked) > 0


def test_a_consensus_needs_an_answer():
    with pytest.raises(ValueError, match=r"no report was accepted \(none arrived\)"):
        LDPQuickSort(random_state=0).fit_interactive(lambda asked: [], items=4, n_voters=10)
    other = LDPQuickSort(epsilon=9.0).protocol(4)
    field = Field(other, [[0, 1, 2, 3]] * 10, seed=0)
    with pytest.raises(ValueError, match="another protocol"):
        LDPQuickSort(random_state=0).fit_interactive(
            lambda asked: field({**asked, "protocol": digest(other)}), items=4, n_voters=10
        )
    with pytest.raises(ValueError, match="ask must be callable"):
        LDPQuickSort().fit_interactive([], items=4, n_voters=10)


def test_an_answer_is_asked_for_once():
    calls = []
    opened = session(lambda asked: calls.append(asked) or [GOOD])
    assert opened.answer(PairMargin(0, 1)) == opened.answer(PairMargin(0, 1))
    assert len(calls) == 1
    assert calls[0] == json.loads(json.dumps(calls[0]))
    with pytest.raises(BudgetExhausted, match="no answer was planned"):
        opened.answer(NetWins())
    with pytest.raises(BudgetExhausted, match="no answer was planned"):
        opened.answer(AllMargins())


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
