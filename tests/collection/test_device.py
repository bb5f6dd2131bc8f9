"""A device sends one report about one ballot, also with threads, copies, forks and restarts.

A failure: a voter's ballot is randomized twice, and the curator can average the noise away.
"""

import copy
import json
import math
import pickle
import sys
import time

import pytest
from device_tools import BALLOT, about_groups, every_kind, protocol_of, question, refused, say
from process_tools import forking, in_child, python
from state_tools import at_once

from sklearn_dprank import LDPPairwise
from sklearn_dprank.collection import Device, RefusedProtocol
from sklearn_dprank.collection.hypercube import HypercubeRandomizer
from sklearn_dprank.collection.protocol import digest


def random_report():
    """A device whose two draws hardly ever agree."""
    return Device(LDPPairwise(epsilon=1.0, randomizer="djw").protocol(20))


# --- a process of its own


@pytest.mark.slow
def test_loads_numpy_and_the_standard_library_only():
    code = (
        "import sys; from sklearn_dprank.collection import Allowance, Device\n"
        "Allowance.from_json(Allowance(epsilon=1.0).to_json())\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('sklearn_dprank', 'numpy.random'))))"
    )
    everything, own = python(code).splitlines()
    loaded = set(everything.split()) - set(python("import sys, numpy; print(*sys.modules)").split())
    assert {"scipy", "sklearn", "joblib", "pandas", "matplotlib"}.isdisjoint(loaded)
    assert loaded - {"sklearn_dprank"} <= set(sys.stdlib_module_names)
    rooms = {name.split(".")[1] for name in own.split() if "." in name}
    assert {"channels", "mechanisms", "rules"}.isdisjoint(rooms)
    assert {"numpy.random", "sklearn_dprank.collection.servers"}.isdisjoint(own.split())
    servers = python(
        "import sys; from sklearn_dprank.collection import AggregationServer, Shuffler; print(*sys.modules)"
    )
    assert {"scipy", "sklearn", "joblib", "pandas"}.isdisjoint(servers.split())


@pytest.mark.slow
@every_kind
def test_device_works_from_the_protocol_alone(kind):
    code = (
        "import json, sys\n"
        "from sklearn_dprank.collection import Device\n"
        "given = json.loads(sys.stdin.read())\n"
        "device = Device(given['protocol'])\n"
        "print(json.dumps(device.answer(given['question'], given['ballot']) if given['question'] "
        "else device.report(given['ballot'], given['pairs'], voter=given['voter'])))\n"
        "assert 'scipy' not in sys.modules and 'sklearn' not in sys.modules"
    )
    protocol = protocol_of(kind)
    given = {"protocol": protocol, "ballot": [0, None, 1, 1, 2], "question": None, "pairs": None, "voter": None}
    if kind == "rr-interactive":
        given["question"] = question(1)
    if kind == "skellam-rounds":
        given["question"] = about_groups(protocol)
    if protocol.get("pairs") == "assigned":
        given["pairs"] = [[0, 1], [2, 3]]
    if "assignment_seed" in protocol:
        given["voter"] = 1
    said = json.loads(python(code, json.dumps(given)))
    for message in said if isinstance(said, list) else [said]:
        assert message["protocol"] == digest(protocol)


# --- one report


def emptied(value):
    """Empty every list and object inside some JSON."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            emptied(inner)
    value.clear()


@every_kind
def test_stored_report_cannot_be_changed_from_outside(kind):
    given = json.loads(json.dumps(protocol_of(kind)))
    device = Device(given)
    kept = json.dumps(say(device))
    for handed_out in (say(device), device.protocol, given):
        emptied(handed_out)
    assert device.protocol == protocol_of(kind)
    assert json.dumps(say(device)) == kept


def test_concurrent_calls_wait_for_each_other(monkeypatch):
    """The same without luck: the first thread draws slowly, and the second comes meanwhile."""
    draw = HypercubeRandomizer.draw

    def slowly(*arguments):
        time.sleep(0.2)
        return draw(*arguments)

    monkeypatch.setattr(HypercubeRandomizer, "draw", slowly)
    device = random_report()
    assert len(set(at_once(lambda _: json.dumps(device.report(range(20))), 2))) == 1


@every_kind
def test_copying_a_device_returns_the_device(kind):
    device = Device(protocol_of(kind))
    assert copy.copy(device) is device
    assert copy.deepcopy([device])[0] is device


@every_kind
def test_pickled_device_repeats_its_report_only(kind):
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

    @every_kind
    def test_forked_device_repeats_its_report_only(self, kind):
        device = Device(protocol_of(kind))
        assert in_child(lambda: refused(lambda: say(device), "copy of a device"))
        said = say(device)
        assert in_child(lambda: say(device)) == said
        assert in_child(lambda: refused(lambda: say(device, BALLOT[::-1]), "another ballot"))
        if kind == "rr-interactive":
            assert in_child(lambda: refused(lambda: device.answer(question(2), BALLOT), "copy of a device"))

    def test_forked_device_does_not_wait_for_locks_of_the_parent(self):
        device = Device(protocol_of("rr"))
        text = json.loads(device.to_json())
        with device._lock:
            assert in_child(lambda: refused(lambda: device.report(BALLOT), "copy of a device"))
            assert json.loads(in_child(device.to_json)) == text


# --- a restart


def state(**changes):
    device = Device(protocol_of("rr"))
    device.report(BALLOT)
    return json.dumps({**json.loads(device.to_json()), **changes})


WRONG_FIELDS = {
    "device": [1, 3, True],
    "number": ["7", None],
    "max_delta": [None, 1.0],
    "said": [5, [], {}],
    "ballot": [None],
    "max_epsilon": ["many", 0.01],
    "more": [1],
    "protocol": [{**protocol_of("rr"), "flip": [0, 2**52]}, None],
}
WRONG_TEXTS = ["", "{}", "[]", "null", "{" * 100_000, "[" * 100_000, None, 5]
WRONG_TEXTS += [state(**{name: value}) for name, values in WRONG_FIELDS.items() for value in values]


@pytest.mark.parametrize("text", WRONG_TEXTS, ids=range(len(WRONG_TEXTS)))  # the texts hold random numbers
def test_invalid_state_text_is_refused(text):
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
