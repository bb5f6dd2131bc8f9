"""Devices that release 0.2.0 stored: they repeat what they sent, and are never read as fresh."""

import json
import pickle
from copy import deepcopy
from pathlib import Path

import pytest

from sklearn_dprank import LDPPairwise
from sklearn_dprank.collection.client import Allowance, Device, RefusedProtocol
from sklearn_dprank.collection.client.protocol import digest
from sklearn_dprank.privacy import BudgetExhausted

#: Written by release 0.2.0, a device of each kind with a seed: its text, its pickle, the ballot, and what it sent.
STORED = json.loads((Path(__file__).parent / "devices_0_2_0.json").read_text())
REPORTED = [name for name in STORED if "said" in STORED[name]]
every = pytest.mark.parametrize("name", REPORTED)


def say(device, stored, ballot=None, **changes):
    ballot = stored["ballot"] if ballot is None else ballot
    if "question" in stored:
        return device.answer({**stored["question"], **changes}, ballot)
    return device.report(ballot)


@every
def test_it_repeats_what_it_sent_and_nothing_else(name):
    stored = STORED[name]
    device = Device.from_json(stored["text"])
    assert device.protocol["version"] == 2
    for _ in range(2):
        assert say(device, stored) == stored["said"]
    with pytest.raises(BudgetExhausted, match="has already reported another ballot"):
        say(device, stored, stored["ballot"][::-1])
    assert device.to_json() == Device.from_json(device.to_json()).to_json()
    assert json.loads(device.to_json()) == json.loads(stored["text"])
    for copied in (pickle.loads(pickle.dumps(device)), deepcopy(device)):
        assert say(copied, stored) == stored["said"]
        assert json.loads(copied.to_json()) == json.loads(stored["text"])


@every
def test_its_pickle_does_not_load_in_part(name):
    with pytest.raises(ImportError, match=r"^sklearn_dprank\.devices has moved: import "):
        pickle.loads(bytes.fromhex(STORED[name]["pickle"]))


@pytest.mark.parametrize("name", ["rr-interactive", "skellam-rounds"])
def test_it_answers_no_other_question(name):
    stored = STORED[name]
    device = Device.from_json(stored["text"])
    with pytest.raises(
        BudgetExhausted, match=r"stored by release 0\.2\.0.*\(epsilon=.*, delta=.*\) and creates no new reports"
    ):
        say(device, stored, question=2)


def test_a_fresh_one_says_nothing():
    device = Device.from_json(STORED["fresh"]["text"])
    with pytest.raises(BudgetExhausted, match=r"stored by release 0\.2\.0"):
        device.report(STORED["fresh"]["ballot"])
    allowance = Allowance(epsilon=0.1)
    Device.from_json(STORED["fresh"]["text"], allowance=allowance)
    assert allowance.spent == (0, 0)


@every
def test_what_it_spent_is_stated_and_charged_once(name):
    allowance = Allowance(epsilon=0.001)
    for _ in range(2):
        device = Device.from_json(STORED[name]["text"], allowance=allowance)
        assert allowance.spent[0] == pytest.approx(device.epsilon, rel=1e-15)
        assert allowance.spent[1] == device.delta == (1e-6 if "skellam" in name else 0)
    stated = {"rr-shuffled": "local_epsilon", "skellam-shares": "local_epsilon", "skellam-rounds": "local_epsilon"}
    assert 0.99 * float(device.protocol[stated.get(name, "epsilon")]) < device.epsilon
    with pytest.raises(BudgetExhausted, match="does not cover"):
        Device(LDPPairwise(epsilon=0.001).protocol(3), allowance=allowance)


@every
def test_its_protocol_makes_no_new_device(name):
    protocol = json.loads(STORED[name]["text"])["protocol"]
    with pytest.raises(RefusedProtocol, match=r"version must be 3, got 2|set of fields"):
        Device(protocol)
    old, new = json.loads(STORED[name]["text"]), json.loads(Device(LDPPairwise().protocol(3)).to_json())
    for changed in ({**new, "protocol": protocol}, {**new, "device": 1}, {**old, "device": 2}):
        with pytest.raises(ValueError, match="text must be what to_json returned"):
            Device.from_json(json.dumps(changed))


@pytest.mark.parametrize(
    "changes",
    [
        {"said": {}},
        {"ballot": None},
        {"protocol": None},
        {"protocol": {}},
        {"protocol": {"version": 3, "randomizer": "rr"}},
        {"protocol": {"version": 2, "randomizer": "rr"}},
        {"protocol": {"version": 2, "randomizer": "of my own"}},
        {"more": 1},
    ],
    ids=str,
)
def test_a_damaged_text_is_never_fresh(changes):
    state = json.loads(STORED["rr"]["text"])
    with pytest.raises(ValueError, match="text must be what to_json returned"):
        Device.from_json(json.dumps({**state, **changes}))


def test_the_fixture_is_of_version_2():
    for stored in STORED.values():
        state = json.loads(stored["text"])
        assert (state["device"], state["protocol"]["version"]) == (1, 2)
        if "question" in stored:
            assert stored["question"]["protocol"] == digest(state["protocol"])
