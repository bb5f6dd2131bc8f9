"""A randomizer from outside takes one module with both implementations, and no protocol chooses its code."""

import ast
import importlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from extensions import one_item
from extensions.one_item import OneItem, OneItemClient
from local_tools import law_of, same_law, simulated_answer, worst_ratio
from oracles import distinct_ballots, naive_counts

from sklearn_dprank import Aggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Local
from sklearn_dprank.collection import Device, RefusedProtocol
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy import BudgetExhausted
from sklearn_dprank.sampling.bit_source import Bits

NAMES = ["tea", "milk", "water"]


def estimator(epsilon=1.5, seed=None):
    return Aggregator(Local(epsilon, OneItem()), rule="borda", random_state=seed)


def test_one_module_two_classes_public_names():
    tree = ast.parse(Path(one_item.__file__).read_text())
    assert [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] == ["OneItemClient", "OneItem"]
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and "sklearn_dprank" in node.module]
    assert taken
    for node in taken:
        assert {name.name for name in node.names} <= set(importlib.import_module(node.module).__all__)
    assert not [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")]


@pytest.mark.slow
def test_reports_have_exactly_the_stated_epsilon():
    protocol = estimator().protocol(3)
    laws = [
        law_of(lambda b=ballot: estimator().client(3).report(b), protocol["flip"]) for ballot in distinct_ballots(3)
    ]
    stated = estimator().fit([[0, 1, 2]] * 3).privacy_
    assert (stated.epsilon, stated.trust, stated.certified) == (1.5, "local", True)
    assert 0.999 * 1.5 < worst_ratio(laws) <= 1.5 + 1e-12


def test_its_estimate_is_unbiased():
    X = np.array([[0, 1, 2, 3], [0, 0, 1, np.nan], [3, 1, 0, 2]])
    profile = Profile.from_rankings(np.repeat(X, 50_000, axis=0))
    protocol = OneItem().protocol(2.0, 4)
    counts = naive_counts(X)
    error = simulated_answer(OneItem, protocol, profile.positions, Bits.from_random_state(0)) - (counts - counts.T).sum(
        axis=1
    ) / len(X)
    assert np.abs(error).max() < 4 * np.sqrt(OneItem.variance(protocol) / profile.n_voters)


@pytest.mark.slow
def test_fit_and_devices_have_one_law():
    ballots = [[0, 1, 2], [0, 1, 2], [0, 0, 1], [2, 1, 0]]
    simulated, collected, protocol = [], [], estimator(3.0).protocol(3)
    for seed in range(400):
        simulated.append(tuple(estimator(3.0, seed).fit(ballots).consensus_))
        devices = [Device(protocol, random_state=10**6 + 4 * seed + k, randomizer=OneItemClient()) for k in range(4)]
        sent = [json.dumps(device.report(ballot)) for device, ballot in zip(devices, ballots, strict=True)]
        collected.append(tuple(estimator(3.0, 10**7 + seed).fit_reports(sent, items=3).consensus_))
    assert same_law(simulated, collected) > 1e-3
    assert len(set(simulated)) == 6


def test_voters_may_have_different_epsilons():
    ballots = make_mallows(4000, 3, 0.4, center=[1, 0, 2], random_state=0)
    made = estimator(seed=0).fit(ballots, voter_epsilon=np.repeat([1.0, 6.0], 2000))
    assert made.consensus_.tolist() == [1, 0, 2] and made.privacy_.epsilon == 6.0


def test_no_protocol_chooses_code():
    protocol = json.loads(json.dumps(estimator().protocol(NAMES)))
    with pytest.raises(RefusedProtocol, match="randomizer must be one of"):
        Device(protocol)
    for name in ("extensions.one_item", "OneItemClient", "rr", None, ["one-item"]):
        with pytest.raises(RefusedProtocol):
            Device({**protocol, "randomizer": name})


@pytest.mark.parametrize(
    "changed", [{"flip": 0}, {"flip": 2**51 + 1}, {"flip": 1}, {"epsilon": "1.4"}, {"note": ""}, {"version": 1}]
)
def test_devices_check_the_protocol(changed):
    protocol = estimator().protocol(NAMES)
    Device(protocol, randomizer=OneItemClient())
    with pytest.raises(RefusedProtocol):
        Device({**protocol, **changed}, randomizer=OneItemClient())
    with pytest.raises(RefusedProtocol, match="above max_epsilon"):
        Device(protocol, randomizer=OneItemClient(), max_epsilon=1.0)


def test_devices_survive_a_restart_and_copies_only_repeat():
    device = estimator().client(NAMES)
    first = device.report([0, 1, 2])
    again = Device.from_json(device.to_json(), randomizer=OneItemClient())
    assert again.report([0, 1, 2]) == first
    with pytest.raises(ValueError, match="text must be"):
        Device.from_json(device.to_json())
    copy = pickle.loads(pickle.dumps(device))
    assert copy.report([0, 1, 2]) == first
    with pytest.raises(BudgetExhausted, match="copy of a device"):
        pickle.loads(pickle.dumps(estimator().client(NAMES))).report([0, 1, 2])
