"""State machine of one device, compared with a reference model."""

import copy
import json
import math
import pickle
from unittest import mock

import pytest
from device_tools import ASKED, protocol_of
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from state_tools import Crash, at_once, walk

from sklearn_dprank import SecAggSwissBorda
from sklearn_dprank.collection import Allowance, Device
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy import BudgetExhausted

GRID, M = 2**52, 5
REPORTING = [protocol_of(kind) for kind in ("rr", "rr-shuffled", "hypercube", "skellam-shares")]
KINDS = {**ASKED, "answers": 2, "epsilon": "9", "flips": {"each": GRID // 4, "last": GRID // 8}}
SUMS = SecAggSwissBorda(epsilon=1.0, min_reports=300).protocol(M)
PROTOCOLS = [KINDS, *REPORTING, SUMS, KINDS, KINDS]  # reports of sums take longest
BALLOTS = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 0, 1, 1, math.nan]]
SAME = [[0, 10, 20, 30, 40], [9, 8.5, 8, 7, 6], [-5, -5, 3, 3, None]]  # in other numbers
PAIRS = [[[0, 1], [1, 2]], [[2, 3]]]
GROUPS = [[[0, 1, 2, 3, 4]], [[4, 2, 0, 3, 1]]]
whose = st.sampled_from([0, 0, 0, 0, 1, 2])
numbers = st.integers(1, 4)


class OneDevice(RuleBasedStateMachine):
    """`sent` is all that left the device by the name of what was asked; `kept` is the text from which it restarts."""

    def __init__(self):
        super().__init__()
        self.sent, self.device, self.ballot = {}, None, None

    @initialize(protocol=st.sampled_from(PROTOCOLS), seed=st.sampled_from([None, 3]))
    def begin(self, protocol, seed):
        self.protocol, self.asks = protocol, protocol in (KINDS, SUMS)
        self.allowance = Allowance(epsilon=99.0, delta=1e-6)
        self.device = Device(protocol, max_epsilon=99, allowance=self.allowance, random_state=seed)
        self.kept, self.account = self.device.to_json(), self.allowance.to_json()

    def question(self, number, last, which):
        """One of two questions of this number, and its name: what may be answered once."""
        question = {"protocol": digest(self.protocol), "question": number}
        if self.protocol is SUMS:
            about = {"groups": GROUPS[which]}
            return {**question, **({"margins": about} if number == 4 else about)}, (number, which)
        kind = "last" if last else "each"
        return {**question, "kind": kind, "pairs": PAIRS[which]}, (kind, number)

    def may(self, name, whose):
        """Whether the dictionary has an answer of this name for this ballot, or has room for one."""
        if self.ballot not in (None, whose):
            return False
        if name in self.sent:
            return True
        if self.protocol is SUMS:
            return name[0] > max((number for number, _ in self.sent), default=0)
        if self.protocol is KINDS:
            return sum(kind == name[0] for kind, _ in self.sent) < (2 if name[0] == "each" else 1)
        return not self.sent

    def said(self, device, ballot, question):
        return device.answer(question, ballot) if self.asks else device.report(ballot)

    def ask(self, device, name, whose, question, ballot=None):
        """It answers if it may, and the same as before; the text is kept before the answer is sent."""
        ballot = BALLOTS[whose] if ballot is None else ballot
        if not self.may(name, whose):
            with pytest.raises(BudgetExhausted):
                self.said(device, ballot, question)
            return
        said = json.dumps(self.said(device, ballot, question))
        assert self.sent.setdefault(name, said) == said
        self.ballot, self.kept = whose, device.to_json()

    def asked(self, number, last, which):
        return self.question(number, last, which) if self.asks else (None, "report")

    # --- steps

    @rule(number=numbers, last=st.booleans(), which=st.integers(0, 1), whose=whose, in_others=st.booleans())
    def say(self, number, last, which, whose, in_others):
        question, name = self.asked(number, last, which)
        self.ask(self.device, name, whose, question, (SAME if in_others else BALLOTS)[whose])

    @rule(several=st.lists(st.tuples(numbers, st.booleans(), st.integers(0, 1)), min_size=2, max_size=5))
    def say_much(self, several):
        for number, last, which in several:
            self.say(number, last, which, self.ballot or 0, False)

    @precondition(lambda self: self.sent)
    @rule(pick=st.integers(0, 9))
    def ask_again(self, pick):
        """In any order, any time later."""
        name = sorted(self.sent)[pick % len(self.sent)]
        number, last, which = 1, False, 0
        if self.protocol is SUMS:
            number, which = name
        elif self.protocol is KINDS:
            number, last = name[1], name[0] == "last"
        self.ask(self.device, name, self.ballot, self.asked(number, last, which)[0])

    @precondition(lambda self: self.asks)
    @rule(number=numbers, wrong=st.sampled_from(["protocol", "number", "kind", "more"]))
    def ask_what_was_not_agreed(self, number, wrong):
        question, _ = self.question(number, False, 0)
        changed = {"protocol": {"protocol": "0" * 16}, "number": {"question": 0}, "more": {"name": "Ada"}}
        changed["kind"] = {"kind": "first", "groups": [[0, 1, 2, 3]]}
        with pytest.raises(ValueError, match="question does not follow the protocol"):
            self.device.answer({**question, **changed[wrong]}, BALLOTS[0])

    @rule(number=numbers, last=st.booleans(), which=st.integers(0, 1), whose=whose)
    def die_before_it_is_sent(self, number, last, which, whose):
        """The answer was drawn and neither kept nor sent: another one may be drawn, for any ballot if it was first."""
        question, name = self.asked(number, last, which)
        if self.may(name, whose):
            self.said(self.device, BALLOTS[whose], question)
        self.restart()

    @rule(number=numbers, last=st.booleans(), which=st.integers(0, 1), whose=whose)
    def fail_while_drawing(self, number, last, which, whose):
        """A failed draw is not charged."""
        question, name = self.asked(number, last, which)
        if self.may(name, whose) and name not in self.sent:
            failing = mock.patch("sklearn_dprank.collection.device.json", **{"dumps.side_effect": Crash})
            with failing, pytest.raises(Crash):
                self.said(self.device, BALLOTS[whose], question)

    @precondition(lambda self: self.sent)
    @rule()
    def restart(self):
        self.allowance = Allowance.from_json(self.account)
        self.device = Device.from_json(self.kept, allowance=self.allowance)

    @precondition(lambda self: self.device is not None)
    @rule()
    def another_device_is_not_paid_for(self):
        with pytest.raises(BudgetExhausted, match="already paid for a device of this protocol"):
            Device(self.protocol, allowance=self.allowance)

    @precondition(lambda self: not self.sent)
    @rule(n=st.integers(2, 3), number=numbers, last=st.booleans(), whose=whose)
    def threads_ask_the_same(self, n, number, last, whose):
        """One thread draws, and all threads get its answer."""
        question, name = self.asked(number, last, 0)
        heard = at_once(lambda _: json.dumps(self.said(self.device, BALLOTS[whose], question)), n)
        assert len(set(heard)) == 1
        self.ballot, self.sent[name], self.kept = whose, heard[0], self.device.to_json()

    @rule(number=numbers, last=st.booleans(), which=st.integers(0, 1), whose=whose)
    def copies_repeat_and_say_nothing_new(self, number, last, which, whose):
        question, name = self.asked(number, last, which)
        assert copy.deepcopy(self.device) is self.device
        other = pickle.loads(pickle.dumps(self.device))
        if self.ballot == whose and name in self.sent:
            assert json.dumps(self.said(other, BALLOTS[whose], question)) == self.sent[name]
        else:
            with pytest.raises(BudgetExhausted):
                self.said(other, BALLOTS[whose], question)

    @invariant()
    def spends_no_more_than_agreed(self):
        """By hand: what one flip of each sort costs, for each answer that left the device; a sum for each round."""
        if self.device is None:
            return
        assert self.device.epsilon <= 99
        epsilon, delta = self.allowance.spent
        assert self.device.epsilon <= epsilon <= self.device.epsilon * (1 + 1e-15) and delta == self.device.delta
        assert self.allowance.to_json() == self.account
        if self.protocol is KINDS:
            costs = {kind: math.log((GRID - flip) / flip) for kind, flip in KINDS["flips"].items()}
            spent = sum(costs[kind] for kind, _ in self.sent)
            assert spent <= self.device.epsilon * (1 + 1e-12) <= float(KINDS["epsilon"])
        elif self.protocol is SUMS:
            asked = [number for number, _ in self.sent]
            assert asked == sorted(set(asked)) and len(asked) <= len(SUMS["rounds"])
        else:
            assert len(self.sent) <= 1
        for said in self.sent.values():
            messages = json.loads(said)
            for message in messages if isinstance(messages, list) else [messages]:
                assert message["protocol"] == digest(self.protocol)
        assert len(json.loads(self.kept)["said"]) == len(self.sent)


@pytest.mark.parametrize("walks", [(60, 20), pytest.param((800, 40, True), marks=pytest.mark.slow)])
def test_device_matches_a_reference_model(walks):
    walk(OneDevice, *walks)
