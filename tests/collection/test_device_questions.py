"""A device answers each question of its protocol once, about one ballot.

A wrong question or a wrong ballot is refused, is not charged and does not fix the ballot. Reports have the
probabilities of randomized response.
"""

import json
import math
from itertools import combinations, product

import numpy as np
import pytest
from device_tools import ASKED, BALLOT, every_kind, protocol_of, question, refused, say
from local_tools import law_of
from oracles import flip_probability

from sklearn_dprank import LDPQuickSort, ShufflePairwise
from sklearn_dprank.collection import Device
from sklearn_dprank.collection.protocol import digest, is_digits

NAN = math.nan
WITHOUT_LAST = {**ASKED, "flips": {"each": ASKED["flips"]["each"], "last": None}}
ASSIGNED = {**protocol_of("rr-shuffled"), "pairs": "assigned"}


def shortly(value):
    return repr(value)[:40]


def state(device):
    """What a device has sent, and about which ballot."""
    kept = json.loads(device.to_json())
    return kept["said"], kept["ballot"]


# --- what is refused, and costs nothing


def test_the_method_that_the_protocol_has():
    with pytest.raises(ValueError, match=r"use device.answer"):
        Device(ASKED).report(BALLOT)
    with pytest.raises(ValueError, match=r"use device.report"):
        Device(protocol_of("rr")).answer(question(1), BALLOT)
    for kind in ("rr", "rr-shuffled"):
        with pytest.raises(ValueError, match="if and only if the protocol assigns them"):
            Device(protocol_of(kind)).report(BALLOT, pairs=[[0, 1], [2, 4]])


@pytest.mark.parametrize(
    "pairs",
    [
        *(None, "01", "0112", 7, {"0": 1}, {(0, 1): 1}, [], [[0, 1]], [[0, 1], [0, 2], [0, 3]]),
        [[0, 1], [0, 1]],  # two messages of one voter in one crowd
        *([[0, 1], [1, 0]], [[0, 1], [2, 2]], [[0, 1], [0, 5]], [[0, 1], [-1, 2]], [[0, 1], [-1, -1]]),
        *([[0, 1], [0.0, 2.0]], [[0, 1], [0.0, 1.5]], [[0, 1], ["0", "2"]], [[False, True], [True, True]]),
        *([[0, 1, 2], [1, 2, 3]], [[0, 1], [0, 1, 2]], [[0, 1], [2]], [[0, 1], None], [[0, 10**400], [0, 1]]),
    ],
    ids=shortly,
)
def test_a_wrong_assignment_of_pairs(pairs):
    device = Device(ASSIGNED)
    with pytest.raises(ValueError, match="pairs must"):
        device.report(BALLOT, pairs=pairs)
    assert len(device.report(BALLOT[::-1], pairs=np.array([[0, 1], [2, 4]]))["messages"]) == 2


WRONG = {
    "protocol": ["", None, "0" * 16, 5, digest({**ASKED, "answers": 2})],
    "question": [0, -1, 2**60, 10**400, 1.0, True, None, "1", [], [1]],
    "kind": ["last", "every", "all", None, [], ["each"], 1],
    "pairs": [
        *([], None, "01", [0, 1], {"0": 1}, [None], [[0, 1]] * 11, [[0, 1, 2]], [[0, 1], [0, NAN]]),
        *([[1, 0]], [[0, 0]], [[0, 5]], [[-1, 1]], [[0, 10**400]], [[0, True]], [[False, True]]),
        *([[0, 1.0]], [[0, 1.5]], [["0", "1"]]),
    ],
}


@pytest.mark.parametrize(("name", "wrong"), [(n, w) for n, values in WRONG.items() for w in values], ids=shortly)
def test_a_question_with_a_wrong_field(name, wrong):
    device, right = Device(WITHOUT_LAST), question(1, protocol=WITHOUT_LAST)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        device.answer({**right, name: wrong}, BALLOT)
    assert state(device) == ({}, None)


@pytest.mark.parametrize(
    "asked",
    [
        *(None, "each", [1], {}, {**question(1), "ballot": 1}, {**question(1), "version": 2}),
        *({key: value for key, value in question(1).items() if key != name} for name in WRONG),
    ],
    ids=shortly,
)
def test_a_question_of_another_form(asked):
    device = Device(ASKED)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        device.answer(asked, BALLOT)
    assert state(device) == ({}, None)
    assert device.answer({**question(1), "voters": [3]}, BALLOT)["question"] == 1


@every_kind
@pytest.mark.parametrize(
    "ballot",
    [
        *([], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5], [[0, 1, 2, 3, 4]], [0, 1, 2, 3, [4]], {1, 2, 3, 4, 5}),
        *(None, 7, "01234"),
        *([0, 1, 2, 3, math.inf], [0, 1, 2, 3, 10**400], [0, 1, 2, 3, 1j], ["a"] * 5),
        *([0, 1, 2, 3, "4"], [0, 1, 2, 3, True], [True, False] * 2 + [True], np.arange(5) > 2),
    ],
    ids=shortly,
)
def test_a_wrong_ballot(kind, ballot):
    device = Device(protocol_of(kind))
    shown = kind == "rr-shown"
    rule = "list one or more comparisons" if shown else r"have one position .* for each of the 5 items"
    with pytest.raises(ValueError, match=f"ballot must {rule}"):
        device.report(ballot) if shown else say(device, ballot)
    assert not state(device)[0] and state(device)[1] is None


# --- one ballot, and each answer once


def test_a_new_question_about_another_ballot():
    device = Device(ASKED)
    device.answer(question(1), BALLOT)
    for number in (1, 2):
        refused(lambda number=number: device.answer(question(number), BALLOT[::-1]), "another ballot")
    assert device.answer(question(2), BALLOT)["question"] == 2


# --- what is sent


def test_answers_are_flipped_preferences_or_fair_coins():
    """The exact law of an answer about one of three pairs, for each way to have an opinion on them."""
    protocol = LDPQuickSort(1.0).protocol(3)
    pairs, flip = list(combinations(range(3), 2)), flip_probability(1.0)
    asked = question(1, pairs=pairs, protocol=protocol)
    for ballot in OPINIONS:

        def pair_and_answer(ballot=ballot):
            answer = Device(protocol).answer(asked, ballot)
            assert set(answer) == {"protocol", "question", "report", "pair", "answer"}
            return [answer["pair"], answer["answer"]]

        expected = {
            json.dumps([pair, answer]): chance_of([answer], [pair], ballot, flip) / 3
            for pair, answer in product(pairs, (0, 1))
        }
        assert law_of(pair_and_answer, protocol["flips"]["each"]) == pytest.approx(expected, rel=1e-9), ballot


OPINIONS = [[0, 1, 2], [2, 1, 0], [0, 0, 1], [NAN, 0, 1]]


def chance_of(answers, pairs, ballot, flip):
    """The probability of these answers about these pairs: preferences that are flipped, or fair coins."""
    yes = (1 - flip if ballot[i] < ballot[j] else flip if ballot[i] > ballot[j] else 0.5 for i, j in pairs)
    return math.prod(p if answer else 1 - p for p, answer in zip(yes, answers, strict=True))


@pytest.mark.parametrize("ballot", OPINIONS)
def test_the_exact_law_of_shuffled_messages(ballot):
    """Pairs are drawn with replacement, and the answer to each is flipped by itself."""
    protocol, flip = shuffled("hidden", m=3), flip_probability(2.0 / 2)

    def messages():
        return [[message["pair"], message["answer"]] for message in Device(protocol).report(ballot)["messages"]]

    pairs = list(product(combinations(range(3), 2), repeat=2))
    assert law_of(messages, protocol["flip"][0]) == pytest.approx(
        {
            json.dumps([[list(pair), answer] for pair, answer in zip(both, answers, strict=True)]): chance_of(
                answers, both, ballot, flip
            )
            / len(pairs)
            for both in pairs
            for answers in product((0, 1), repeat=2)
        },
        rel=1e-9,
    )


def shuffled(pairs, m=4):
    parameters = {"min_reports": 50, "pairs": pairs, "n_queries": 2, "local_epsilon": 2.0}
    return ShufflePairwise(**parameters).protocol(m)


@pytest.mark.parametrize(("pairs", "asked"), [("hidden", None), ("assigned", [[0, 1], [1, 3]])])
@pytest.mark.parametrize("ballot", [[0, 1, 2, 3], [3, 0, 0, 0], [NAN, 1, NAN, 0], [NAN] * 4, [0, 0, 0, 0]])
def test_shuffled_messages_hold_pair_and_answer_only(pairs, asked, ballot):
    """The pairs and the number of a submission are drawn apart from the ballot: they are the same for all ballots."""
    protocol = shuffled(pairs)
    submission, of_another = (Device(protocol, random_state=0).report(b, asked) for b in (ballot, [0, 1, 2, 3]))
    assert set(submission) == {"protocol", "report", "messages"}
    assert submission["protocol"] == digest(protocol)
    assert is_digits(submission["report"], 32)
    assert (
        submission["report"] == of_another["report"] != Device(protocol, random_state=1).report(ballot, asked)["report"]
    )
    messages = submission["messages"]
    assert [message["shuffle"] for message in messages] == ([0, 1] if pairs == "hidden" else [0, 0])
    assert all(set(message) == {"shuffle", "pair", "answer"} and message["answer"] in (0, 1) for message in messages)
    drawn = [message["pair"] for message in messages]
    assert drawn == [message["pair"] for message in of_another["messages"]]
    assert asked in (None, drawn)
