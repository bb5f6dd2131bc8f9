"""One device, one report: for threads, copies, forks and restarts; and nothing but numpy to run it."""

import copy
import json
import math
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import wire_vectors
from process_tools import forking, in_child, python

from sklearn_dprank import LDPPairwise, LDPQuickSort
from sklearn_dprank.collection.client import Device, RefusedProtocol
from sklearn_dprank.collection.client.hypercube import HypercubeRandomizer
from sklearn_dprank.collection.client.protocol import digest
from sklearn_dprank.collection.client.randomizers import CLIENT_RANDOMIZERS
from sklearn_dprank.privacy.ledger import BudgetExhausted
from sklearn_dprank.sampling.streams import SecureBits

VECTORS = wire_vectors.load()
FIRST = {v["protocol"]["randomizer"]: v["protocol"] for v in reversed(VECTORS["reports"] + VECTORS["answers"])}
ASKED = {**FIRST["rr-interactive"], "answers": 3, "epsilon": "4"}
BALLOT = list(range(5))


def shortly(value):
    return repr(value)[:40]


every_kind = pytest.mark.parametrize("kind", sorted(CLIENT_RANDOMIZERS))


def question(number, kind="each", pairs=((0, 1), (1, 2)), protocol=ASKED):
    return {"protocol": digest(protocol), "question": number, "kind": kind, "pairs": [list(pair) for pair in pairs]}


def protocol_of(kind):
    return ASKED if kind == "rr-interactive" else {**FIRST[kind], "items": BALLOT}


def about_groups(protocol, groups=([0, 1, 2], [3, 4])):
    return {"protocol": digest(protocol), "question": 1, "groups": list(groups)}


def say(device, ballot=BALLOT):
    """What a device of any kind says first."""
    kind = device.protocol["randomizer"]
    if kind == "rr-interactive":
        return device.answer(question(1), ballot)
    if kind == "skellam-rounds":
        return device.answer(about_groups(device.protocol), ballot)
    if device.protocol.get("pairs") == "assigned":
        return device.report(ballot, pairs=[[0, 1], [1, 4]])
    return device.report(ballot)


def random_report():
    """A device whose two draws hardly ever agree."""
    return Device(LDPPairwise(epsilon=1.0, randomizer="djw").protocol(20))


def refused(run, match):
    with pytest.raises(BudgetExhausted, match=match):
        run()
    return True


# --- a process of its own


@pytest.mark.slow
def test_loads_numpy_and_the_standard_library_only():
    code = (
        "import sys, sklearn_dprank.collection.client as d\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('sklearn_dprank')))"
    )
    everything, own = python(code).splitlines()
    loaded = set(everything.split()) - set(python("import sys, numpy; print(*sys.modules)").split())
    assert {"scipy", "sklearn", "joblib", "pandas", "matplotlib"}.isdisjoint(loaded)
    assert loaded - {"sklearn_dprank"} <= set(sys.stdlib_module_names)
    rooms = {name.split(".")[1] for name in own.split() if "." in name}
    assert {"aggregators", "channels", "randomizers", "mechanisms", "queries", "orders", "profile"}.isdisjoint(rooms)


@pytest.mark.slow
@every_kind
def test_a_protocol_is_all_that_another_process_needs(kind):
    code = (
        "import json, sys\n"
        "from sklearn_dprank.collection.client import Device\n"
        "given = json.loads(sys.stdin.read())\n"
        "device = Device(given['protocol'])\n"
        "print(json.dumps(device.answer(given['question'], given['ballot']) if given['question'] "
        "else device.report(given['ballot'], given['pairs'])))\n"
        "assert 'scipy' not in sys.modules and 'sklearn' not in sys.modules"
    )
    protocol = protocol_of(kind)
    given = {"protocol": protocol, "ballot": [0, None, 1, 1, 2], "question": None, "pairs": None}
    if kind == "rr-interactive":
        given["question"] = question(1)
    if kind == "skellam-rounds":
        given["question"] = about_groups(protocol)
    if protocol.get("pairs") == "assigned":
        given["pairs"] = [[0, 1], [2, 3]]
    said = json.loads(python(code, json.dumps(given)))
    for message in said if isinstance(said, list) else [said]:
        assert message["protocol"] == digest(protocol)


# --- one report


@every_kind
def test_the_same_message_again_and_no_other_ballot(kind):
    device = Device(protocol_of(kind))
    first = json.dumps(say(device))
    assert json.dumps(say(device, [10 * place for place in BALLOT])) == first  # the same ballot in other numbers
    refused(lambda: say(device, BALLOT[::-1]), "another ballot")
    refused(lambda: say(device, [0, 1, 2, 3, math.nan]), "another ballot")
    assert json.dumps(say(device)) == first


def test_a_new_question_about_another_ballot():
    device = Device(ASKED)
    device.answer(question(1), BALLOT)
    refused(lambda: device.answer(question(2), BALLOT[::-1]), "another ballot")
    assert device.answer(question(2), BALLOT)["question"] == 2


def test_what_was_said_cannot_be_changed_from_outside():
    device = Device(protocol_of("rr"))
    kept = json.dumps(device.report(BALLOT))
    device.report(BALLOT)["answers"].clear()
    device.protocol["items"].clear()
    assert json.dumps(device.report(BALLOT)) == kept
    given = json.loads(json.dumps(protocol_of("rr")))
    device = Device(given)
    given["flip"][0] = 1  # the curator's object is not the device's
    assert device.protocol == protocol_of("rr")


@pytest.fixture
def restless():
    """Threads change places as often as Python lets them."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(*runs):
    """What each returns, started at one time in a thread each; None where the budget was exhausted."""
    barrier = threading.Barrier(len(runs))

    def one(run):
        barrier.wait()
        try:
            return json.dumps(run())
        except BudgetExhausted:
            return None

    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(one, runs))


@pytest.mark.slow
def test_threads_get_one_report(restless):
    for _ in range(30):
        device = random_report()
        assert len(set(together(*[lambda device=device: device.report(range(20))] * 16))) == 1


@pytest.mark.slow
def test_threads_with_different_ballots_get_one_of_them(restless):
    for _ in range(30):
        device = random_report()
        ballots = [np.roll(range(20), shift) for shift in range(16)]
        said = together(*[lambda device=device, ballot=ballot: device.report(ballot) for ballot in ballots])
        assert len([message for message in said if message is not None]) == 1


def test_a_thread_waits_for_one_that_draws(monkeypatch):
    """The same without luck: the first thread draws slowly, and the second comes meanwhile."""
    draw = HypercubeRandomizer.draw

    def slowly(*arguments):
        time.sleep(0.2)
        return draw(*arguments)

    monkeypatch.setattr(HypercubeRandomizer, "draw", slowly)
    device = random_report()
    assert len(set(together(*[lambda: device.report(range(20))] * 2))) == 1


@pytest.mark.slow
def test_threads_share_one_budget_of_answers(restless):
    for _ in range(20):
        device = Device(ASKED)
        asked = [lambda device=device, n=n: device.answer(question(n), BALLOT) for n in range(1, 17)]
        said = together(*asked)
        assert len([message for message in said if message is not None]) == ASKED["answers"]
        assert together(*asked) == said


@every_kind
def test_copies_are_the_device(kind):
    device = Device(protocol_of(kind))
    assert copy.copy(device) is device
    assert copy.deepcopy([device])[0] is device


@every_kind
def test_a_pickled_copy_repeats_and_says_nothing_new(kind):
    device = Device(protocol_of(kind), max_epsilon=100)
    early = pickle.loads(pickle.dumps(device))
    refused(lambda: say(early), "copy of a device")
    said = say(device)
    late = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(device))))
    assert say(late) == said
    refused(lambda: say(late, BALLOT[::-1]), "another ballot")
    if kind == "rr-interactive":
        refused(lambda: late.answer(question(2), BALLOT), "copy of a device")
        assert device.answer(question(2), BALLOT)["question"] == 2


class TestFork:
    pytestmark = forking

    def test_a_child_repeats_what_was_said(self):
        device = random_report()
        said = device.report(range(20))
        assert in_child(lambda: device.report(range(20))) == said
        assert in_child(lambda: refused(lambda: device.report(range(19, -1, -1)), "another ballot"))

    @every_kind
    def test_a_child_says_nothing_new(self, kind):
        device = Device(protocol_of(kind))
        assert in_child(lambda: refused(lambda: say(device), "copy of a device"))
        say(device)
        if kind == "rr-interactive":
            assert in_child(lambda: refused(lambda: device.answer(question(2), BALLOT), "copy of a device"))

    def test_a_child_does_not_wait_for_its_parents_threads(self):
        device = Device(protocol_of("rr"))
        text = json.loads(device.to_json())
        with device._lock:
            assert in_child(lambda: refused(lambda: device.report(BALLOT), "copy of a device"))
            assert json.loads(in_child(device.to_json)) == text

    def test_a_child_deals_other_words(self):
        bits = SecureBits()
        bits.words(3)  # the buffer has more
        theirs = in_child(lambda: bits.words(8).tolist())
        assert set(theirs).isdisjoint(bits.words(400).tolist())

    def test_a_device_made_in_the_child_is_its_own(self):
        said = in_child(lambda: random_report().report(range(20)))
        assert said != random_report().report(range(20))


# --- a restart


@every_kind
def test_after_a_restart_the_same_message(kind):
    device = Device(protocol_of(kind))
    fresh = Device.from_json(device.to_json())
    assert fresh.protocol == device.protocol
    assert json.dumps(say(fresh)) == json.dumps(say(fresh))
    said = say(device)
    again = Device.from_json(device.to_json())
    assert json.dumps(say(again)) == json.dumps(said)
    assert again.to_json() == device.to_json()
    refused(lambda: say(again, BALLOT[::-1]), "another ballot")


def test_after_a_restart_the_rest_of_the_budget():
    device = Device({**ASKED, "flips": {"each": 2**51 - 2**48, "last": 2**50}})
    ask = question
    protocol = device.protocol
    first = [device.answer(ask(number, protocol=protocol), BALLOT) for number in (3, 7)]
    device = Device.from_json(device.to_json())
    assert [device.answer(ask(number, protocol=protocol), BALLOT) for number in (3, 7)] == first
    device.answer(ask(8, protocol=protocol), BALLOT)
    device = Device.from_json(device.to_json())
    refused(lambda: device.answer(ask(9, protocol=protocol), BALLOT), "budget pays for")
    assert device.answer(ask(9, "last", protocol=protocol), BALLOT)["question"] == 9
    device = Device.from_json(device.to_json())
    refused(lambda: device.answer(ask(10, "last", protocol=protocol), BALLOT), "budget pays for")
    refused(lambda: device.answer(ask(10, protocol=protocol), BALLOT), "budget pays for")


def state(**changes):
    device = Device(protocol_of("rr"))
    device.report(BALLOT)
    return json.dumps({**json.loads(device.to_json()), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "{" * 100_000,
        "[" * 100_000,
        None,
        5,
        state(device=1),
        state(device=3),
        state(device=True),
        state(number="7"),
        state(number=None),
        state(max_delta=None),
        state(max_delta=1.0),
        state(said=5),
        state(said=[]),
        state(said={}),
        state(ballot=None),
        state(max_epsilon="many"),
        state(max_epsilon=0.01),
        state(more=1),
        state(protocol={**protocol_of("rr"), "flip": [0, 2**52]}),
        state(protocol=None),
    ],
    ids=range(24),  # the texts hold random numbers
)
def test_only_what_to_json_returned(text):
    with pytest.raises(ValueError, match="text must be what to_json returned"):
        Device.from_json(text)


# --- what the owner allows


@every_kind
def test_max_epsilon(kind):
    protocol = protocol_of(kind)
    epsilon = Device(protocol).epsilon
    assert Device(protocol, max_epsilon=epsilon).epsilon == epsilon
    below = math.nextafter(epsilon, 0)
    with pytest.raises(RefusedProtocol, match="max_epsilon"):
        Device(protocol, max_epsilon=math.nextafter(below, 0))
    device = Device.from_json(Device(protocol, max_epsilon=epsilon).to_json())
    assert json.loads(device.to_json())["max_epsilon"] == epsilon


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan, True, "1", [1], 1j])
def test_wrong_max_epsilon(wrong):
    with pytest.raises(ValueError, match="max_epsilon must be a positive number or None"):
        Device(protocol_of("rr"), max_epsilon=wrong)


def test_hidden_pairs_are_not_assigned():
    with pytest.raises(ValueError, match="if and only if the protocol assigns them"):
        Device(protocol_of("rr-shuffled")).report(BALLOT, pairs=[[0, 1], [2, 4]])


def test_client_is_a_device():
    device = LDPPairwise(epsilon=2.0).client(["a", "b"], epsilon=1.0, max_epsilon=1.0)
    assert type(device) is Device
    assert device.epsilon <= 1
    with pytest.raises(RefusedProtocol, match="above max_epsilon"):
        LDPPairwise(epsilon=2.0).client(3, max_epsilon=1.9)


# --- what a device is asked


def test_the_method_that_the_protocol_has():
    with pytest.raises(ValueError, match=r"use device.answer"):
        Device(ASKED).report(BALLOT)
    with pytest.raises(ValueError, match=r"use device.report"):
        Device(protocol_of("rr")).answer(question(1), BALLOT)
    with pytest.raises(ValueError, match="if and only if"):
        Device(protocol_of("rr")).report(BALLOT, pairs=[[0, 1]])


@pytest.mark.parametrize(
    "pairs",
    [
        None,
        [],
        [[0, 1]],
        [[0, 1], [0, 1]],
        [[0, 1], [1, 0]],
        [[0, 1], [0, 5]],
        [[0, 1], [-1, 2]],
        [[0, 1], [0.0, 2.0]],
        [[0, 1], [0, 2], [0, 3]],
        [[0, 1, 2], [1, 2, 3]],
        [[0, 1], [2]],
        [[False, True], [True, True]],
        [[0, 10**400], [0, 1]],
        "01",
        {(0, 1): 1},
        7,
    ],
    ids=shortly,
)
def test_assigned_pairs_that_are_none(pairs):
    device = Device({**protocol_of("rr-shuffled"), "pairs": "assigned"})
    with pytest.raises(ValueError, match="pairs must"):
        device.report(BALLOT, pairs=pairs)
    assert len(device.report(BALLOT, pairs=np.array([[0, 1], [2, 4]]))["messages"]) == 2  # and nothing was spent


WRONG_QUESTIONS = {
    "protocol": ["", None, "0" * 16, 5],
    "question": [0, -1, 1.0, True, None, "1", 10**400, []],
    "kind": ["last", "every", None, [], 1],
    "pairs": [
        [],
        None,
        "01",
        [[0, 1]] * 11,
        [[1, 0]],
        [[0, 0]],
        [[0, 5]],
        [[0, 1, 2]],
        [[0, True]],
        [[0, 1.0]],
        [0, 1],
        {"0": 1},
        [[0, 10**400]],
    ],
}


@pytest.mark.parametrize(
    ("name", "wrong"), [(n, w) for n, values in WRONG_QUESTIONS.items() for w in values], ids=shortly
)
def test_questions_that_are_none(name, wrong):
    protocol = {**ASKED, "flips": {"each": ASKED["flips"]["each"], "last": None}}
    device, asked = Device(protocol), question(1, protocol=protocol)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        device.answer({**asked, name: wrong}, BALLOT)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        device.answer({key: value for key, value in asked.items() if key != name}, BALLOT)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        device.answer({**asked, "ballot": 1}, BALLOT)
    assert json.loads(device.to_json())["said"] == {}
    assert device.answer({**asked, "voters": [3]}, BALLOT)["question"] == 1


@every_kind
@pytest.mark.parametrize(
    "ballot",
    [[], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5], [[0, 1, 2, 3, 4]], [0, 1, 2, 3, math.inf], ["a"] * 5, None, 7, "01234"]
    + [[0, 1, 2, 3, 10**400], [0, 1, 2, 3, 1j], {1, 2, 3, 4, 5}, [0, 1, 2, 3, [4]]],
    ids=shortly,
)
def test_ballots_that_are_none(kind, ballot):
    device = Device(protocol_of(kind))
    with pytest.raises(ValueError, match=r"ballot must have one position .* for each of the 5 items"):
        say(device, ballot)
    assert json.loads(device.to_json())["ballot"] is None


def test_a_device_of_an_estimator_that_asks():
    estimator = LDPQuickSort(epsilon=2.0)
    protocol = estimator.protocol(3)
    device = estimator.client(3)
    said = device.answer(question(1, protocol=protocol), [0, 1, 2])
    assert said["protocol"] == digest(protocol)
    assert said["pair"] in ([0, 1], [1, 2])
