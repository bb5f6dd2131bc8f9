"""Sums in rounds: `fit_interactive` has the law of `fit` with any voters missing, and asks each voter once."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from share_tools import collected

from sklearn_dprank import Aggregator, SecAggBorda, SecAggSwissBorda
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import SecureAggregation
from sklearn_dprank.collection import AggregationServer, Device, agreed
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import (
    AllMargins,
    GroupNetWins,
    Histogram,
    NetWins,
    NumberOfVoters,
    PairMargin,
    PairTallies,
    ScaledMargins,
)
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, BradleyTerryRule, InstantRunoffRule, KwikSortRule, SwissRule
from sklearn_dprank.sampling.bit_source import Bits

NAN = np.nan


class Field:
    """Devices, servers and messengers; `away` returns the voters who do not answer a question."""

    def __init__(self, protocol, ballots, away=lambda voter, number: False, seed=None):
        self.protocol, self.ballots, self.away = json.loads(json.dumps(protocol)), ballots, away
        seeds = [None if seed is None else seed * 1000 + voter for voter in range(len(ballots))]
        self.devices = [Device(self.protocol, max_delta=0.5, random_state=each) for each in seeds]
        self.servers = [AggregationServer(self.protocol, number) for number in range(protocol["servers"])]
        self.questions = []

    def ask(self, question):
        question = json.loads(json.dumps(question))
        self.questions.append(question)
        for server in self.servers:
            server.ask(question)
        for voter, (device, ballot) in enumerate(zip(self.devices, self.ballots, strict=True)):
            if not self.away(voter, question["question"]):
                for server, message in zip(self.servers, device.answer(question, ballot), strict=True):
                    server.receive([json.dumps(message)])
        chosen = agreed(server.reports() for server in self.servers)
        try:
            return [json.dumps(server.release(chosen)) for server in self.servers]
        except ValueError:
            return []

    def fit(self, estimator):
        items = self.protocol["items"]
        return estimator.fit_interactive(self.ask, items=items, n_voters=len(self.ballots))


def swiss_field(ballots, least, epsilon=1.0, **more):
    estimator = SecAggSwissBorda(epsilon=epsilon, min_reports=least, random_state=0)
    return estimator, Field(estimator.protocol(len(ballots[0])), ballots, **more)


# --- the same law


CASES = [
    (SecureAggregation(4.0, 1e-2, 3, min_reports=6), SwissRule(), GroupNetWins()),
    (SecureAggregation(4.0, 1e-2, 3, min_reports=6), SwissRule(), ScaledMargins(((0, 2), (2, 1)))),
    (SecureAggregation(4.0, 1e-2, min_reports=6), KwikSortRule(), PairMargin(0, 2)),
    (SecureAggregation(4.0, 1e-2, min_reports=6), AdaptiveBradleyTerryRule(2), PairTallies(((0, 2), (1, 2)), 0)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("channel", "rule", "query"), CASES, ids=["groups", "scaled", "pairs", "tallies"])
def test_fit_simulates_what_is_summed_round_by_round(channel, rule, query):
    """Of the first answer: exact statistic and Skellam noise of all voters, here and there."""
    ballots = [[0, 1, 2], [0, 1, 2], [2, 0, 1], [1, 0, 1], [NAN, 0, 1], [NAN] * 3]
    profile = Profile.from_rankings(ballots)
    plan = channel.plan(rule.asks(3), 3, 6)
    rate = float(plan.prices[query.kind].mechanism.rate * 6)
    exact = query.read(query.vector(profile, None), 3)
    received = [
        plan.open(Field(plan.protocol, ballots, seed=seed).ask)(Bits.from_random_state(0)).answer(query)
        for seed in range(30)
    ]
    simulated = [plan.open(profile)(Bits.from_random_state(seed)).answer(query) for seed in range(300)]
    cells = np.arange(*stats.skellam.ppf([0.05, 0.95], rate, rate), max(1, int(math.sqrt(rate) / 3)))
    shares = np.diff([0, *stats.skellam.cdf(cells, rate, rate), 1])
    for answers in (received, simulated):
        noise = np.ravel([numbers(answer) - numbers(exact) for answer in answers])
        found = np.diff([0, *(np.count_nonzero(noise <= k) for k in cells), noise.size])
        assert stats.chisquare(found, shares * noise.size).pvalue > 1e-3


def numbers(answer):
    return np.asarray(answer[0].wins if isinstance(answer, tuple) else answer)


RULES = {
    "borda": ("borda", None),
    "borda of margins": ("borda", AllMargins()),
    "borda of a histogram": ("borda", Histogram()),
    "plurality": ("plurality", None),
    "plurality of a histogram": ("plurality", Histogram(unseen_last=True)),
    "kemeny": ("kemeny", None),
    "kwiksort": ("kwiksort", None),
    "kwiksort, coins": (KwikSortRule(3, "coin"), None),
    "kwiksort, kemeny": (KwikSortRule(3, "kemeny"), None),
    "hierarchical": ("hierarchical", None),
    "bradley-terry": (BradleyTerryRule(), None),
    "adaptive": (AdaptiveBradleyTerryRule(), None),
    "instant runoff": (InstantRunoffRule(), None),
    "swiss": (SwissRule(), None),
    "markov chain": ("markov_chain", AllMargins()),
}


@pytest.mark.parametrize("name", RULES)
def test_devices_can_answer_all_that_fit_simulates(name):
    """Voters who agree, and little noise: one consensus here and there."""
    rule, release = RULES[name]
    ballots = [[2, 0, 3, 1]] * 12
    estimator = Aggregator(SecureAggregation(60.0, 0.1, min_reports=12, release=release), rule, random_state=0)
    simulated = estimator.fit(ballots)
    expected, attributes = simulated.consensus_.tolist(), set(vars(simulated))
    protocol = estimator.protocol(4)
    if protocol["randomizer"] == "skellam-rounds":
        fitted = Field(protocol, ballots).fit(estimator)
    else:
        fitted = estimator.fit_sums(collected(protocol, ballots), items=4)
    if name not in ("plurality", "plurality of a histogram", "instant runoff", "kwiksort, coins"):
        assert expected == [1, 3, 0, 2]
        assert fitted.consensus_.tolist() == expected
    assert fitted.consensus_[0] == expected[0] or name == "kwiksort, coins"
    assert set(vars(fitted)) == attributes
    assert fitted.reports_accepted_ == 12 and fitted.reports_refused_ == {}


# --- who drops out


def test_more_voters_than_were_expected():
    plan = SecureAggregation(2.0, min_reports=15).plan(SwissRule().asks(3), 3, 20)
    session = plan.open(Field(plan.protocol, [[0, 1, 2]] * 40).ask)(Bits.from_random_state(0))
    query = GroupNetWins(round=0)
    answer = session.answer(query)
    assert session.deviation(query) == pytest.approx(math.sqrt(2 * plan.prices[query.kind].mechanism.rate * 40) / 2)
    assert np.abs(answer - np.array([40, 0, -40])).max() < 5 * session.deviation(query)


def test_sums_of_some_are_scaled_up_to_all():
    """Half of 40 voters answer, all alike: net wins of all of them, and twice the noise of the half."""
    plan = SecureAggregation(2.0, min_reports=15).plan(SwissRule().asks(3), 3, 40)
    query = GroupNetWins(round=0)
    rate = plan.prices[query.kind].mechanism.rate
    for _ in range(12):  # devices draw from the system's source, and sums that are not scaled may all be even
        field = Field(plan.protocol, [[0, 1, 2]] * 40, away=lambda voter, number: voter % 2)
        session = plan.open(field.ask)(Bits.from_random_state(0))
        assert (session.answer(NumberOfVoters()), session.deviation(NumberOfVoters())) == (40, 0.0)
        assert session.deviation(query) == pytest.approx(math.sqrt(2 * rate * 40))  # not yet answered: that of all
        answer = session.answer(query)
        assert session.deviation(query) == pytest.approx(2 * math.sqrt(2 * rate * 20))
        assert np.abs(answer - np.array([80, 0, -80])).max() < 6 * session.deviation(query)
        assert (answer % 2 == 0).all()
    session.close()
    assert session.published["reports_accepted"] == 20


@pytest.mark.slow
@pytest.mark.parametrize("lost", [{2}, {4}, {2, 3, 4}])
def test_a_round_of_too_few_voters_is_left_out(lost):
    ballots = make_mallows(40, 20, 0.3, random_state=1).tolist()
    estimator, field = swiss_field(ballots, 30, 60.0, away=lambda voter, number: number in lost and voter < 11)
    with pytest.warns(UserWarning, match="has no answer: no report was accepted") as warned:
        fitted = field.fit(estimator)
    assert [str(each.message).split()[1] for each in warned] == list(map(str, sorted(lost)))
    assert len(field.questions) == 4
    assert fitted.reports_accepted_ == 40
    assert fitted.privacy_ == estimator.plan_for(Shape(20))[1].guarantee.simulated(False)
    assert average_kendall_tau(fitted.ranks_, np.array(ballots)) < 0.2


def test_a_consensus_needs_the_first_round():
    estimator, field = swiss_field([[0, 1, 2]] * 10, 8, away=lambda voter, number: voter < 3)
    with (
        pytest.warns(UserWarning, match="question 1 has no answer"),
        pytest.raises(BudgetExhausted, match="question 1"),
    ):
        field.fit(estimator)
    assert not hasattr(estimator, "consensus_")


def test_a_comparison_of_too_few_is_a_coin():
    estimator = Aggregator(SecureAggregation(30.0, 0.01, min_reports=8), KwikSortRule(9, "coin"), random_state=0)
    field = Field(estimator.protocol(4), [[0, 1, 2, 3]] * 10, away=lambda voter, number: number == 2 and voter < 3)
    with pytest.warns(UserWarning, match="question 2 has no answer"):
        fitted = field.fit(estimator)
    assert sorted(fitted.consensus_) == [0, 1, 2, 3]
    silent = Field(estimator.protocol(4), [[0, 1, 2, 3]] * 10, away=lambda voter, number: voter < 3)
    with pytest.warns(UserWarning, match="has no answer"), pytest.raises(ValueError, match="no question was answered"):
        silent.fit(estimator)


# --- what the curator takes


def test_sums_of_another_question_are_refused():
    """A server that is one round behind, or repeats its sum."""
    estimator, field = swiss_field([[0, 1, 2]] * 9, 8, 20.0)
    earlier = []

    def ask(question):
        said = field.ask(question)
        earlier.append(said)
        return earlier[0] if question["question"] == 2 else said

    with pytest.warns(UserWarning, match=r"question 2 has no answer: .*2 'another question'"):
        fitted = estimator.fit_interactive(ask, items=3, n_voters=9)
    assert fitted.reports_refused_ == {"another question": 2}


def changed(message, **changes):
    return json.dumps({**json.loads(message), **changes})


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda said: [said[0]], "sums must hold one of each of the 2 servers"),
        (lambda said: [changed(each, question=None) for each in said], "2 'another question'"),
        (lambda said: [], "none arrived"),
    ],
)
def test_sums_that_do_not_add_up(spoil, reason):
    estimator, field = swiss_field([[0, 1, 2]] * 9, 8, 20.0)
    with pytest.warns(UserWarning, match=f"question 1 has no answer: .*({reason})"), pytest.raises(BudgetExhausted):
        estimator.fit_interactive(lambda question: spoil(field.ask(question)), items=3, n_voters=9)


@pytest.mark.parametrize("said", [None, 7, "sums", {"sum": []}])
def test_ask_returns_a_list(said):
    estimator, _ = swiss_field([[0, 1, 2]] * 9, 8)
    with pytest.raises(ValueError, match="what ask returns must be an iterable of reports"):
        estimator.fit_interactive(lambda question: said, items=3, n_voters=9)


def test_which_way_to_fit():
    with pytest.raises(ValueError, match="one sum answers this rule: use fit_sums"):
        SecAggBorda(min_reports=5).fit_interactive(lambda question: [], items=3, n_voters=9)
    with pytest.raises(ValueError, match=r"asks in rounds: use fit_interactive\(ask"):
        SecAggSwissBorda(min_reports=5).fit_sums([], items=3)
    with pytest.raises(ValueError, match="n_voters=900 is above max_reports=500; raise max_reports"):
        SecAggSwissBorda(min_reports=5).fit_interactive(lambda question: [], items=3, n_voters=900)
    with pytest.raises(ValueError, match="ask must be callable"):
        SecAggSwissBorda(min_reports=5).fit_interactive([], items=3, n_voters=9)
    with pytest.raises(ValueError, match="min_reports=9 is above the 8 voters"):
        SecAggSwissBorda(min_reports=9).fit_interactive(lambda question: [], items=3, n_voters=8)


def test_only_declared_questions_are_asked():
    """Not of another kind, not once more than agreed, and not in other groups."""
    channel = SecureAggregation(5.0, min_reports=5)
    plan = channel.plan(SwissRule().asks(20), 20, 6)
    field = Field(plan.protocol, [list(range(20))] * 6)
    session = plan.open(field.ask)(Bits.from_random_state(0))
    halves = GroupNetWins((tuple(range(10)), tuple(range(10, 20))), 1)
    for query in (NetWins(), AllMargins(), PairMargin(), GroupNetWins(round=4), halves, GroupNetWins(round=1)):
        with pytest.raises(BudgetExhausted):
            session.answer(query)
    assert not field.questions
    first = session.answer(GroupNetWins(round=0))
    assert session.answer(GroupNetWins(round=0)) is first and len(field.questions) == 1


def test_answers_keep_their_numbers():
    """Comparisons that are not needed leave their numbers unused: the last resort has its own."""
    estimator = Aggregator(SecureAggregation(60.0, 0.1, min_reports=6), KwikSortRule(2, "kemeny"), random_state=0)
    field = Field(estimator.protocol(4), [[0, 1, 2, 3]] * 6)
    assert field.fit(estimator).consensus_.tolist() == [0, 1, 2, 3]
    assert [question["question"] for question in field.questions] == [1, 2, 3]
    assert [set(question) - {"protocol", "question"} for question in field.questions] == [{"pair"}, {"pair"}, set()]


# --- ballots of bounded length


def test_rounds_of_short_ballots_are_read_by_their_bound():
    """The scale of the last question depends on the bound, for devices and in the simulation."""
    rng = np.random.default_rng(0)
    strengths = np.linspace(2, -2, 6)
    pairs = np.argsort(rng.random((150, 6)), axis=1)[:, :2]
    won = rng.random(150) < 1 / (1 + np.exp(np.diff(strengths[pairs])[:, 0]))
    ballots = np.full((150, 6), NAN)
    np.put_along_axis(ballots, pairs, np.stack([~won, won], axis=1).astype(float), axis=1)
    estimator = SecAggSwissBorda(epsilon=1000.0, delta=0.4, min_reports=150, max_listed=2, random_state=0)
    simulated = estimator.fit(ballots).scores_
    field = Field(estimator.protocol(6), ballots)
    assert field.protocol["max_listed"] == 2 and len(field.protocol["rounds"]) == 4
    asked = field.fit(estimator).scores_
    assert np.corrcoef(asked, strengths)[0, 1] > 0.9
    np.testing.assert_allclose(asked, simulated, atol=0.05 * np.ptp(simulated))
