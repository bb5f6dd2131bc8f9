"""A curator beside plain counts: answers and reports that come late, twice, spoiled or never, and questions again."""

import json
import random

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from local_tools import apart
from state_tools import walk

from sklearn_dprank import ShufflePairwise
from sklearn_dprank.channels import Interactive, Slots
from sklearn_dprank.collection import Device
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import Ask, NetWins, PairMargin
from sklearn_dprank.sampling.bit_source import Bits

N, M, LEAST, QUESTIONS, SLOTS = 8, 4, 4, 4, 2
PLAN = Interactive(2.0, Slots(SLOTS)).plan([Ask(PairMargin(), times=QUESTIONS)], M, N)
EACH = N * SLOTS // QUESTIONS  # voters who are asked one question
SHUFFLED = ShufflePairwise(local_epsilon=2.0, min_reports=LEAST, random_state=0)
PROTOCOL = SHUFFLED.protocol(M)
BALLOTS = [random.Random(voter).sample(range(M), M) for voter in range(N)]
SPOILED = {
    "not JSON": lambda said: json.dumps(said)[:-1],
    "not a JSON object": lambda said: [said],
    "another protocol": lambda said: {**said, "protocol": "0" * 16},
    "wrong keys": lambda said: {**said, "name": "Ada"},
}
some = st.lists(st.sampled_from([(i, j) for j in range(M) for i in range(j)]), min_size=1, max_size=3)
voters = st.integers(0, N - 1)
shuffles = st.integers(0, 99)
picks = st.lists(st.integers(0, 99), max_size=3)
spoils = st.lists(st.tuples(st.sampled_from(sorted(SPOILED)), st.integers(0, 99)), max_size=2)


class Curator(RuleBasedStateMachine):
    """Voters' devices, the post between, and one curator: who asks questions, and who collects reports elsewhere."""

    def __init__(self):
        super().__init__()
        self.answering = [Device(PLAN.protocol) for _ in range(N)]
        self.reporting = [Device(PROTOCOL) for _ in range(N)]
        self.post, self.answers, self.refused, self.accepted = [], {}, {}, 0  # every answer sent; and what was heard
        self.collected = {}  # reports by the voter's ticket

    @initialize(seed=st.integers(0, 9))
    def begin(self, seed):
        self.session = PLAN.open(self.deliver)(Bits.from_random_state(seed))

    # --- questions

    def deliver(self, question):
        """Ask those who are there; bring what they say in any order, with old answers, spoiled ones and some twice."""
        question = json.loads(json.dumps(question))
        assert len(question["voters"]) == len(set(question["voters"])) == EACH
        there = [voter for voter in question["voters"] if voter not in self.trouble["away"]]
        sent = [self.answering[voter].answer(question, BALLOTS[voter]) for voter in there]
        everything = [*self.post, *sent]
        self.post += sent
        if everything:
            sent += [everything[pick % len(everything)] for pick in self.trouble["again"]]
        if self.post:
            sent += [SPOILED[how](self.post[pick % len(self.post)]) for how, pick in self.trouble["spoiled"]]
        random.Random(self.trouble["order"]).shuffle(sent)
        self.expected = self.count(question, sent)
        return [message if k % 2 else as_text(message) for k, message in enumerate(sent)]

    def count(self, question, sent):
        """What a plain count makes of it: the first answers to this very question, as many as voters were asked."""
        margin, heard = 0, set()
        for message in sent:
            reason = reason_of(message)
            if reason is None and message["question"] != question["question"]:
                reason = "another question"
            if reason is None and message["report"] in heard:
                reason = "received before"
            if reason is None and len(heard) == EACH:
                reason = "more reports than voters asked"
            if reason is None:
                margin += 1 if message["answer"] else -1
                heard.add(message["report"])
            else:
                self.refused[reason] = self.refused.get(reason, 0) + 1
        self.accepted += len(heard)
        return margin

    @rule(several=some, away=st.sets(voters, max_size=3), again=picks, spoiled=spoils, order=shuffles)
    def ask(self, several, away, again, spoiled, order):
        self.trouble = {"away": away, "again": again, "spoiled": spoiled, "order": order}
        for pair in several:
            self.ask_one(pair)

    def ask_one(self, pair):
        if pair in self.answers:
            n_sent = len(self.post)
            assert self.session.answer(PairMargin(*pair)) == self.answers[pair]
            assert len(self.post) == n_sent  # a repeated query asks no voter
        elif len(self.answers) == QUESTIONS:
            with pytest.raises(BudgetExhausted):
                self.session.answer(PairMargin(*pair))
        else:
            found = self.session.answer(PairMargin(*pair))
            assert found == self.expected
            self.answers[pair] = found

    @precondition(lambda self: len(self.answers) == QUESTIONS)
    @rule()
    def ask_what_was_not_agreed(self):
        with pytest.raises(BudgetExhausted, match="no answer was planned"):
            self.session.answer(NetWins())

    @rule(voter=voters)
    def restart(self, voter):
        self.answering[voter] = Device.from_json(self.answering[voter].to_json())
        self.reporting[voter] = Device.from_json(self.reporting[voter].to_json())

    # --- reports

    @rule(some=st.sets(voters, min_size=1))
    def collect(self, some):
        """A device sends the same again."""
        for voter in some:
            submission = self.reporting[voter].report(BALLOTS[voter])
            assert self.collected.setdefault(voter, submission) == submission

    @precondition(lambda self: self.collected)
    @rule(spoiled=spoils, order=shuffles, whole=st.booleans(), again=st.integers(0, 3))
    def fit(self, spoiled, order, whole, again):
        """Reports give the same result in any order and with refused ones between; too few give an error."""
        submissions = [self.collected[voter] for voter in sorted(self.collected)]
        kept = [message for submission in submissions for message in apart(submission)]
        sent = submissions if whole else kept
        again = min(again, len(sent)) if whole else 0  # messages without a number are as good as others
        sent = [*sent, *(SPOILED[how](sent[pick % len(sent)]) for how, pick in spoiled), *sent[:again]]
        random.Random(order).shuffle(sent)
        if len(kept) < LEAST:
            with pytest.raises(ValueError, match="min_reports"):
                SHUFFLED.fit_reports(sent, items=M)
            return
        fitted = SHUFFLED.fit_reports(map(as_text, sent), items=M)
        assert (fitted.reports_accepted_, sum(fitted.reports_refused_.values())) == (len(kept), len(spoiled) + again)
        expected = {how: [each for each, _ in spoiled].count(how) for how, _ in spoiled}
        expected |= {"received before": again} if again else {}
        assert fitted.reports_refused_ == expected
        for i, j in {tuple(message["pair"]) for message in kept}:
            said = [message["answer"] for message in kept if message["pair"] == [i, j]]
            assert (fitted.margins_[i, j] > 0) == (2 * sum(said) > len(said))
            assert fitted.margins_[i, j] == -fitted.margins_[j, i]

    @invariant()
    def devices_have_said_no_more_than_agreed(self):
        for number, device in enumerate(self.answering):
            assert len(json.loads(device.to_json())["said"]) <= SLOTS, number
        inbox = self.session._inbox
        assert (inbox.accepted, dict(inbox.refused)) == (self.accepted, self.refused)


def as_text(message):
    return message if isinstance(message, str) else json.dumps(message)


def reason_of(message):
    """Return the reason why a curator refuses this report, or None."""
    if isinstance(message, str):
        return "not JSON"
    if not isinstance(message, dict):
        return "not a JSON object"
    if message["protocol"] == "0" * 16:
        return "another protocol"
    return "wrong keys" if "name" in message else None


@pytest.mark.parametrize("walks", [(20, 15), pytest.param((400, 40, True), marks=pytest.mark.slow)])
def test_a_curator_and_plain_counts(walks):
    walk(Curator, *walks)
