"""Budget of one owner over several polls: each device is charged exactly once."""

import copy
import json
import math
import os
import pickle
import random
import time
from decimal import Decimal
from fractions import Fraction

import pytest
from device_tools import refused
from hypothesis import given, settings, strategies as st
from process_tools import KILLED, ROOT, both_at_once, finished, forking, in_child, needs_kill, process
from state_tools import at_once

from sklearn_dprank import LDPPairwise, SecAggBorda
from sklearn_dprank.collection import Allowance, Device, RefusedProtocol, allowance as allowance_module
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy import BudgetExhausted


def protocol(name, epsilon=1.0):
    return LDPPairwise(epsilon=epsilon).protocol([name, "none"])


def summed(name, delta=1e-6):
    return SecAggBorda(epsilon=1.0, delta=delta, min_reports=400).protocol([name, "none"])


def charges(allowance):
    return json.loads(allowance.to_json())["charges"]


def test_charges_of_several_polls_add_up():
    allowance = Allowance(epsilon=3.0)
    devices = [Device(protocol(name), allowance=allowance) for name in "abc"]
    assert allowance.spent == (pytest.approx(3.0, rel=1e-12), 0.0)
    assert allowance.spent[0] <= 3.0
    exact = sum(Fraction(charge["epsilon"]) for charge in charges(allowance).values())
    assert sum(Fraction(device._costs[0]) for device in devices) <= exact <= sum(Fraction(d.epsilon) for d in devices)
    assert Fraction(allowance.spent[0]) >= exact
    before = allowance.to_json()
    assert refused(lambda: Device(protocol("d", 0.01), allowance=allowance), "does not cover: epsilon=3 and")
    assert allowance.to_json() == before


def test_deltas_of_several_polls_add_up():
    allowance = Allowance(epsilon=200.0, delta=3e-6)
    for name in "abc":
        Device(summed(name), allowance=allowance)
    assert allowance.spent[1] == 3e-6
    assert refused(lambda: Device(summed("d"), allowance=allowance), "and delta=3e-06 are spent")
    Device(protocol("d"), allowance=allowance)  # needs no delta
    assert refused(lambda: Device(summed("e"), allowance=Allowance(epsilon=200.0)), "with delta of at least 1e-06")


def test_decimal_deltas_fill_the_allowance_exactly():
    """Decimal numbers, as protocols and owners write them: in doubles, ten times 1e-05 is above 1e-4."""
    allowance = Allowance(epsilon=1e4, delta=1e-4)
    for name in "abcdefghij":
        Device(summed(name, 1e-5), max_delta=1e-5, allowance=allowance)
    assert allowance.spent[1] == 1e-4
    assert refused(lambda: Device(summed("k", 1e-9), allowance=allowance), "delta=1e-09")


def test_a_second_device_of_one_protocol_is_refused():
    """It would send another report; the first one is opened again instead."""
    allowance, poll = Allowance(epsilon=9.0), protocol("a")
    first = Device(poll, allowance=allowance)
    text, said = first.to_json(), first.report([0, 1])
    for same in (allowance, allowance := Allowance.from_json(allowance.to_json())):
        for twin in (poll, dict(reversed(poll.items()))):
            with pytest.raises(BudgetExhausted, match="already paid for a device of this protocol"):
                Device(twin, allowance=same)
    again = Device.from_json(first.to_json(), allowance=allowance)
    assert again.report([0, 1]) == said
    assert len(charges(allowance)) == 1
    assert refused(lambda: Device(poll, allowance=allowance), "already paid")
    assert json.loads(text)["number"] in charges(allowance)


def test_refused_protocol_is_not_charged():
    allowance = Allowance(epsilon=9.0, delta=1e-3)
    for poll, owner in [
        ({**protocol("a"), "epsilon": "0.9"}, {}),
        (protocol("a"), {"max_epsilon": 0.5}),
        (summed("a", 1e-5), {}),
        (None, {}),
    ]:
        with pytest.raises(RefusedProtocol):
            Device(poll, allowance=allowance, **owner)
    with pytest.raises(ValueError, match="max_delta must be"):
        Device(protocol("a"), max_delta=3, allowance=allowance)
    assert allowance.spent == (0.0, 0.0)


# --- restarts


def test_restored_device_is_charged_if_it_reported():
    """The program died between the two files: a device that has reported is charged, whether or not it fits."""
    device = Device(protocol("a"))
    fresh, _ = device.to_json(), device.report([0, 1])
    for epsilon in (5.0, 0.5):
        allowance = Allowance(epsilon=epsilon)
        Device.from_json(device.to_json(), allowance=allowance)
        assert allowance.spent[0] == pytest.approx(1.0, rel=1e-12)
        Device.from_json(device.to_json(), allowance=allowance)
        assert len(charges(allowance)) == 1
    assert refused(lambda: Device(protocol("b", 0.001), allowance=allowance), "epsilon=1 and delta=0 are spent")
    assert refused(lambda: Device.from_json(fresh, allowance=Allowance(epsilon=0.5)), "does not cover")
    allowance = Allowance(epsilon=5.0)
    Device.from_json(fresh, allowance=allowance)
    other = Device(protocol("a"))
    assert refused(lambda: Device.from_json(other.to_json(), allowance=allowance), "already paid")
    other.report([1, 0])  # two reports for one poll are two losses
    Device.from_json(other.to_json(), allowance=allowance)
    assert allowance.spent[0] == pytest.approx(2.0, rel=1e-12)


def test_allowance_text_round_trips():
    allowance = Allowance(epsilon=Fraction(1, 3), delta=1e-7)
    assert (allowance.epsilon, allowance.delta) == (1 / 3, 1e-7)
    Device(protocol("a", 0.3), allowance=allowance)
    again = Allowance.from_json(allowance.to_json())
    assert (again.epsilon, again.delta, again.spent) == (allowance.epsilon, allowance.delta, allowance.spent)
    assert again.to_json() == allowance.to_json()
    assert json.loads(Allowance(epsilon=1).to_json()) == {"allowance": 1, "epsilon": 1.0, "delta": 0.0, "charges": {}}


CHARGE = {"protocol": "0" * 16, "epsilon": "1", "delta": "0"}


def text(**changes):
    state = {"allowance": 1, "epsilon": 3.0, "delta": 0.0, "charges": {"f" * 32: CHARGE}}
    return json.dumps({**state, **changes})


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "{}", "[]", "null", "[" * 100_000, '{"a":' * 3000, None, 5, b"\xff"),
        *(text(**wrong) for wrong in ({"allowance": 2}, {"allowance": True}, {"more": 1}, {"delta": 1.0})),
        *(text(epsilon=epsilon) for epsilon in (math.nan, 0, "3")),
        *(text(charges=charges) for charges in ([], None, {"f" * 31: CHARGE}, {"F" * 32: CHARGE}, {"f" * 32: None})),
        *(
            text(charges={"f" * 32: {**CHARGE, **wrong}})
            for wrong in ({"epsilon": 1}, {"epsilon": "-1"}, {"delta": "nan"}, {"protocol": "x"}, {"more": "0"})
        ),
        text(charges={"f" * 32: {"protocol": "0" * 16, "epsilon": "1"}}),
    ],
    ids=lambda wrong: repr(wrong)[:60],
)
def test_invalid_state_text_is_refused(wrong):
    Allowance.from_json(text())
    with pytest.raises(
        ValueError, match=r"text must be what Allowance\.to_json returned. .* would forget what was spent"
    ):
        Allowance.from_json(wrong)


# --- copies, forks, threads


def test_copies_share_the_budget():
    allowance = Allowance(epsilon=1.5)
    for other in (copy.copy(allowance), copy.deepcopy(allowance), copy.deepcopy([allowance])[0]):
        assert other is allowance
    Device(protocol("a"), allowance=copy.deepcopy(allowance))
    assert refused(lambda: Device(protocol("b"), allowance=allowance), "does not cover")


def test_pickled_allowance_cannot_be_charged():
    allowance = Allowance(epsilon=9.0)
    Device(protocol("a"), allowance=allowance)
    other = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(allowance))))
    assert (other.spent, other.to_json()) == (allowance.spent, allowance.to_json())
    assert refused(lambda: Device(protocol("b"), allowance=other), "copy of an allowance")
    reported = Device(protocol("b"))
    reported.report([0, 1])
    assert refused(lambda: Device.from_json(reported.to_json(), allowance=other), "copy of an allowance")
    Device(protocol("b"), allowance=allowance)


class TestFork:
    pytestmark = forking

    def test_forked_allowance_cannot_be_charged(self):
        allowance = Allowance(epsilon=9.0)
        Device(protocol("a"), allowance=allowance)
        with allowance._lock:  # of a thread of the parent
            assert in_child(lambda: refused(lambda: Device(protocol("b"), allowance=allowance), "copy of an allowance"))
            assert json.loads(in_child(allowance.to_json)) == json.loads(allowance.to_json())
        assert in_child(lambda: Device(protocol("b"), allowance=Allowance(epsilon=1.0)).epsilon <= 1)


def test_concurrent_calls_wait_for_each_other(monkeypatch):
    """The same without luck: the first thread adds up slowly, and the second comes meanwhile."""
    added = allowance_module._totals

    def slowly(costs):
        found = added(costs)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(allowance_module, "_totals", slowly)
    allowance = Allowance(epsilon=1.0)

    def is_paid_for(k):
        try:
            return Device(protocol(f"item {k}"), allowance=allowance) is not None
        except BudgetExhausted:
            return False

    assert sorted(at_once(is_paid_for, 2)) == [False, True]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.floats(0.1, 9),
    st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from([0.1, 0.5, 1.0, 3.0]), st.booleans(), st.booleans()), max_size=25
    ),
)
def test_allowance_matches_a_reference_model(limit, steps):
    """Polls come and come again, with restarts of either text between; the sum is that of a dictionary."""
    allowance, paid = Allowance(epsilon=limit), {}
    for name, epsilon, restart, report in steps:
        poll = protocol(str(name), epsilon)
        cost = Fraction(Device(poll)._costs[0])
        try:
            device = Device(poll, allowance=allowance)
        except BudgetExhausted:
            assert digest(poll) in paid or sum(paid.values()) + cost > Fraction(limit)
        else:
            assert digest(poll) not in paid
            paid[digest(poll)] = cost
            if report:
                device.report([0, 1])
            if restart:
                allowance = Allowance.from_json(allowance.to_json())
            Device.from_json(device.to_json(), allowance=allowance)
        assert sum(paid.values()) <= Fraction(allowance.spent[0])
        assert Decimal(allowance.spent[0]) <= max(Decimal(limit), Decimal(repr(limit)))
        assert len(charges(allowance)) == len(paid)


# --- who may use it


def test_wrong_limits_of_an_allowance():
    for epsilon in (0, -1, math.nan, math.inf, None, "1", True, [1]):
        with pytest.raises(ValueError, match="epsilon must be a finite number above 0"):
            Allowance(epsilon=epsilon)
    for delta in (-1e-9, 1, math.nan, None, "0", True):
        with pytest.raises(ValueError, match="delta must be a number of at least 0 and below 1"):
            Allowance(epsilon=1.0, delta=delta)


def test_numbers_of_devices_come_from_the_operating_system(monkeypatch):
    random.seed(0)
    polls = [Device(protocol("a"), random_state=0) for _ in range(20)]
    assert len({json.loads(device.to_json())["number"] for device in polls}) == 20
    monkeypatch.setattr(os, "urandom", lambda size: b"\x01" * size)
    assert json.loads(Device(protocol("a")).to_json())["number"] == "01" * 16


# --- the recipe of the user guide: allowance, device and report in one transaction

RECIPE = (ROOT / "examples" / "small_poll" / "one_person.py").read_text(encoding="utf-8")
SPEND = f"""
import json
from sklearn_dprank import LDPPairwise
from sklearn_dprank.privacy import BudgetExhausted
{RECIPE}
polls = {{name: LDPPairwise(epsilon=1.0).protocol([name, "none"]) for name in "abcdef"}}
ready()
for name, protocol in polls.items():
    try:
        print(json.dumps([name, report_once(path, protocol, name, [0, 1], 4.0)]), flush=True)
    except BudgetExhausted:
        print(json.dumps([name, None]), flush=True)
"""  # six polls for epsilon 1 each, of an allowance of 4


def test_a_poll_may_have_the_name_of_the_allowance(tmp_path):
    recipe = {}
    exec(RECIPE, recipe)
    for name, epsilon in (("allowance", 3.0), ("poll", 1.0), ("allowance", 3.0)):
        protocol = LDPPairwise(epsilon=epsilon).protocol([name, "none"])
        report = recipe["report_once"](tmp_path / "state", protocol, name, [0, 1], 4.0)
        assert report["protocol"] == digest(protocol)
    with pytest.raises(BudgetExhausted):
        recipe["report_once"](tmp_path / "state", LDPPairwise(epsilon=1.0).protocol(["a", "b"]), "c", [0, 1], 4.0)


def answers_of(ended):
    """Return the answers to each poll that a process printed."""
    lines, code = ended
    assert code == 0
    return dict(map(json.loads, lines))


@pytest.mark.slow
def test_two_processes_are_one_device_and_spend_one_allowance(tmp_path):
    one, other = map(answers_of, both_at_once(tmp_path / "state", SPEND))
    assert one == other
    assert sum(report is not None for report in one.values()) == 4


@pytest.mark.slow
@needs_kill
@pytest.mark.parametrize("kill_after", ["BEGIN", "SELECT", "INSERT", "COMMIT"])
def test_killed_process_keeps_every_report_it_could_send(tmp_path, kill_after):
    assert finished(process(tmp_path / "state", "sqlite3.connect = killing\n" + SPEND, kill_after)) == ([], KILLED)
    after, again = (answers_of(finished(process(tmp_path / "state", SPEND))) for _ in range(2))
    assert after == again
    assert sum(report is not None for report in after.values()) == 4
