"""A device sends one report about one ballot, also with threads, copies, forks and restarts.

A failure: a voter's ballot is randomized twice, and the curator can average the noise away.
"""

import copy
import json
import math
import pickle
import random
import sys
import time
from decimal import Decimal

import numpy as np
import pytest
from device_tools import BALLOT, about_groups, every_kind, protocol_of, question, refused, say
from process_tools import forking, in_child, python
from scipy import stats
from state_tools import at_once

from sklearn_dprank import LDPPairwise, SecAggBorda, SecAggSwissBorda, ShufflePairwise
from sklearn_dprank.collection import Allowance, Device, RefusedProtocol
from sklearn_dprank.collection.hypercube import HypercubeRandomizer
from sklearn_dprank.collection.pairs import PairsRandomizer
from sklearn_dprank.collection.protocol import VERSION, decimal_of, digest


def random_report():
    """A device whose two draws hardly ever agree."""
    return Device(LDPPairwise(epsilon=1.0, randomizer="djw").protocol(20))


def test_own_code_does_not_run_under_a_built_in_name():
    protocol = LDPPairwise().protocol(3)
    for own in (HypercubeRandomizer(), type("Own", (PairsRandomizer,), {})()):
        with pytest.raises(RefusedProtocol, match="randomizer must be a name of its own"):
            Device(protocol, randomizer=own)
    with pytest.raises(ValueError, match="object of a ReportRandomizer subclass"):
        Device(protocol, randomizer=PairsRandomizer)
    assert Device(protocol, randomizer=PairsRandomizer()).epsilon <= 1.0


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
    if kind == "rr-shown":
        given["ballot"] = [[0, 1, 1], [2, 1, None]]
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


@pytest.mark.parametrize("wrong", [3.0, "{}", {"epsilon": 3.0}, Allowance])
def test_invalid_allowance_raises(wrong):
    for run in (
        lambda: Device(protocol_of("rr"), allowance=wrong),
        lambda: LDPPairwise().client(3, allowance=wrong),
        lambda: Device.from_json(Device(protocol_of("rr")).to_json(), allowance=wrong),
    ):
        with pytest.raises(ValueError, match="allowance must be an Allowance or None"):
            run()


def test_wrong_limits():
    for wrong in (0, -1.0, math.nan, True, "1", [1], 1j):
        with pytest.raises(ValueError, match="max_epsilon must be a positive number or None"):
            Device(protocol_of("rr"), max_epsilon=wrong)
    for wrong in (None, -1e-9, 1, 1.0, 2, math.nan, math.inf, True, "1e-6", [1e-6]):
        with pytest.raises(ValueError, match="max_delta must be a number of at least 0 and below 1"):
            Device(protocol_of("rr"), max_delta=wrong)


# --- the delta of secure aggregation, which a curator chooses

#: States epsilon 0 and sends the ballot with noise of variance 4: it holds except with probability .99.
BARE = {
    "version": VERSION,
    "randomizer": "skellam-shares",
    "items": ["A", "B"],
    "epsilon": "0.01",
    "statistic": "margins",
    "servers": 2,
    "modulus_bits": 14,
    "rate": [2097152, 1048576],
    "delta": "0.99",
    "local_epsilon": "0.01",
    "min_reports": 1,
    "max_reports": 10,
}
NOISE = {"statistic": "margins", "modulus_bits": 14, "rate": [2097152, 1048576], "times": 1}
BARE_ROUNDS = {name: value for name, value in BARE.items() if name not in NOISE}
BARE_ROUNDS |= {"randomizer": "skellam-rounds", "rounds": [NOISE]}
BORDA = SecAggBorda(epsilon=1.0, min_reports=1000)
SWISS = SecAggSwissBorda(epsilon=1.0, min_reports=1000)


def refuses(protocol, **owner):
    with pytest.raises(RefusedProtocol, match=r"above max_delta="):
        Device(protocol, **owner)
    return True


@pytest.mark.parametrize("protocol", [BARE, BARE_ROUNDS], ids=["shares", "rounds"])
def test_delta_above_max_delta_is_refused(protocol):
    assert refuses(protocol)
    assert refuses(protocol, max_epsilon=3.0)
    assert refuses(protocol, max_delta=0.5)


@pytest.mark.parametrize(
    ("delta", "limit", "kept"),
    [
        *(("1e-06", 1e-6, True), ("0.000001", 1e-6, True), ("0.1", 0.1, True), ("1e-05", 1e-5, True)),
        *(("1e-300", 1e-300, True), ("0.00000100000000000000000000000001", 1e-6, False), ("1.1e-6", 1e-6, False)),
        *(("1e-05", 1e-6, False), ("1e-06", 0, False), ("1e-300", 0.0, False)),
    ],
)
def test_max_delta_is_compared_exactly(delta, limit, kept):
    protocol = {**BORDA.protocol(3), "delta": delta, "epsilon": "9999", "local_epsilon": "9999"}
    if not kept:
        assert refuses(protocol, max_delta=limit)
        return
    device = Device(protocol, max_delta=limit)
    assert decimal_of(device.delta) >= Decimal(delta)
    assert decimal_of(math.nextafter(device.delta, 0)) < Decimal(delta)
    assert device.delta == limit


@pytest.mark.parametrize("estimator", [BORDA, SWISS], ids=["shares", "rounds"])
def test_max_delta_holds_for_clients_and_restored_devices(estimator):
    wide = type(estimator)(epsilon=1.0, min_reports=1000, delta=1e-5)
    protocol = wide.protocol(4)
    assert estimator.client(4).delta == 1e-6
    with pytest.raises(RefusedProtocol, match="max_delta=1e-06"):
        wide.client(4)
    device = wide.client(4, max_delta=1e-5)
    assert device.delta == 1e-5
    again = Device.from_json(device.to_json())
    assert again.delta == pickle.loads(pickle.dumps(device)).delta == 1e-5
    state = json.loads(device.to_json())
    assert state["max_delta"] == 1e-5
    for changed in ({**state, "max_delta": 1e-6}, {**state, "protocol": {**protocol, "delta": "0.00002"}}):
        with pytest.raises(ValueError, match="text must be what to_json returned"):
            Device.from_json(json.dumps(changed))


@pytest.mark.parametrize("protocol", [LDPPairwise().protocol(3), ShufflePairwise(min_reports=900).protocol(3)])
def test_pure_protocols_need_no_delta(protocol):
    """Of the shuffle model a device vouches for the local epsilon, which needs no delta."""
    device = Device(protocol, max_delta=0)
    assert device.delta == 0


# --- what a device states is true, whatever the numbers


def hockey_stick(epsilon, noise):
    """The true delta at epsilon where sums with this noise, (rate, shift) each, are seen by everybody."""
    first, second = np.ones(1), np.ones(1)
    for rate, shift in noise:
        far = math.ceil(2 * rate + 14 * math.sqrt(2 * rate)) + 24 + abs(shift)
        points = np.arange(-far, far + 1)
        law = stats.skellam.pmf(points, rate, rate), stats.skellam.pmf(points - shift, rate, rate)
        first, second = (np.multiply.outer(one, more).ravel() for one, more in zip((first, second), law, strict=True))
    return np.maximum(first - math.exp(min(epsilon, 700)) * second, 0).sum()


#: Of two items: how far two strict ballots lie apart in each number of a sum.
APART = {"margins": [2], "pair_margin": [2], "net_wins": [2, -2], "histogram": [1, -1], "positional_scores": [3, -3]}


def any_protocol(rng, rounds):
    """Numbers as a curator may choose them, and (rate, shift) of each number that is sent."""
    names = ["margins", "pair_margin"] if rounds else [rng.choice(sorted(set(APART) - {"pair_margin"}))]
    kinds, noise = [], []
    for name in names:
        statistic = {"name": name, "scores": [1, -2]} if name == "positional_scores" else name
        rate = rng.choice([[1, 2**20], [2**10, 2**20], [2**18, 2**20], [2**20, 2**20], [2, 1], [30, 1]])
        kinds.append({"statistic": statistic, "modulus_bits": rng.randint(44, 53), "rate": rate, "times": 1})
        noise += [(rate[0] / rate[1], shift) for shift in APART[name]]
    if not rounds:
        kinds[0].pop("times")
    least = rng.choice([1, 7, 10**6])
    made = {
        "version": VERSION,
        "randomizer": "skellam-rounds" if rounds else "skellam-shares",
        "items": ["A", "B"],
        "epsilon": "1e15",
        **({"rounds": kinds} if rounds else kinds[0]),
        "servers": rng.randint(2, 20),
        "delta": rng.choice(["1e-06", "1e-9", "0.001", "0.3", "0.9", "0.99", "0.999999"]),
        "local_epsilon": "1e15",
        "min_reports": least,
        "max_reports": least * rng.choice([1, 1000]),
    }
    return made, noise


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [False, True], ids=["shares", "rounds"])
def test_stated_epsilon_and_delta_hold_for_random_protocols(rounds):
    """By the law of the noise: delta bounds what epsilon leaves over, and no smaller epsilon may be stated."""
    rng, worst = random.Random(f"numbers {rounds}"), 0.0
    for _ in range(100):
        protocol, noise = any_protocol(rng, rounds)
        device = Device(protocol, max_delta=0.9999999)
        found = hockey_stick(device.epsilon, noise)
        assert found <= device.delta, protocol
        worst = max(worst, found / device.delta)
        if device.epsilon > 0:
            less = f"{Decimal(device.epsilon) * Decimal('0.999999'):.17e}"
            with pytest.raises(RefusedProtocol, match="local_epsilon must be at least what its numbers spend"):
                Device({**protocol, "local_epsilon": less}, max_delta=0.9999999)
    assert worst > 0.1
