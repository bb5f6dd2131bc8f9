"""The JSON Schema of the wire format accepts what the library makes, and refuses values of another form as it does."""

import json
import random
from copy import deepcopy
from functools import cache

import fuzzing
import pytest
import wire_vectors
from device_tools import BALLOT, FIRST, about_groups, every_kind, protocol_of, question, say
from every_estimator import ESTIMATORS
from share_tools import collected
from sklearn.base import clone

from sklearn_dprank import LDPQuickSort, SecAggBorda, ShufflePairwise
from sklearn_dprank.collection import Device, RefusedProtocol, Shuffler
from sklearn_dprank.collection.randomizers import CLIENT_RANDOMIZERS

jsonschema = pytest.importorskip("jsonschema", reason="needs the extra test")
SCHEMA = json.loads(wire_vectors.FILE.with_name("wire_schema.json").read_text(encoding="utf-8"))
VECTORS = wire_vectors.load()
WITH_QUESTIONS = ("rr-interactive", "skellam-rounds")
#: Values that no field of a protocol or message has, but for `gamma` and `cap`.
WRONG = (None, True, -1, 0.5, "x", "1\n", [], {}, [[]], 2**60)


@cache
def validator(part):
    schema = {"$schema": SCHEMA["$schema"], "$ref": f"#/$defs/{part}", "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(schema)


def accepts(part, value):
    return validator(part).is_valid(value)


def flat(messages):
    """Return the messages of one report or answer, which are several for secure aggregation."""
    return messages if isinstance(messages, list) else [messages]


def changed(good):
    """Yield copies of an object: without a field, with another one, and with a wrong value in each field."""
    yield {**good, "more": 1}
    for name in good:
        yield {key: value for key, value in good.items() if key != name}
        yield from ({**good, name: deepcopy(wrong)} for wrong in WRONG)


def test_schema_follows_its_own_rules():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(FIRST["rr"]["protocol"])
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid({})


@pytest.mark.parametrize("vector", VECTORS["reports"] + VECTORS["answers"], ids=lambda vector: vector["name"])
def test_schema_accepts_the_vectors(vector):
    kind = vector["protocol"]["randomizer"]
    assert accepts("protocol", vector["protocol"])
    assert all(accepts(f"question-{kind}", question) for question in vector.get("questions", []))
    for sent in vector.get("answers", [vector.get("report")]):
        assert all(accepts(f"report-{kind}", message) for message in flat(sent))


def test_schema_accepts_protocols_and_reports_of_every_estimator():
    kinds = set()
    for estimator in ESTIMATORS:
        if hasattr(estimator, "protocol"):
            lacking = [name for name, value in estimator.get_params().items() if "min_reports" in name and not value]
            protocol = clone(estimator).set_params(**dict.fromkeys(lacking, 1000)).protocol(5)
            kinds.add(protocol["randomizer"])
            assert accepts("protocol", protocol)
            if protocol["randomizer"] not in WITH_QUESTIONS:
                pairs = [[0, 1]] if protocol.get("pairs") == "assigned" else None
                sent = Device(protocol).report(BALLOT, pairs)
                assert all(accepts(f"report-{protocol['randomizer']}", message) for message in flat(sent))
    assert kinds >= {"rr", "rr-shuffled", "rr-interactive", "hypercube", "privunit", "skellam-shares", "skellam-rounds"}


def test_schema_accepts_what_servers_and_shufflers_release():
    for total in collected(SecAggBorda(min_reports=3, delta=0.4).protocol(3), [[0, 1, 2]] * 3):
        assert accepts("sum-skellam-shares", total)
    protocol = ShufflePairwise(1.0, min_reports=1).protocol(3)
    shuffler = Shuffler(protocol)
    shuffler.receive([Device(protocol).report([0, 1, 2])])
    (message,) = shuffler.release()
    assert accepts("released-rr-shuffled", message)


#: Refused protocols of a good form: limits that depend on other fields, and what the numbers spend.
OF_GOOD_FORM = {
    *("dearer than stated", "dearer by one point", "cap 2", "max_reports below min_reports"),
    *("levels of 36 for 1", "too few voters for the noise", "too little noise", "a modulus that is too small"),
    *("dearer alone than stated", "a bound of all items", "a longer bound than is paid for"),
    *("without the bound that is paid for", "a delta of almost one", "a delta that is too large"),
    *("a delta just above the limit", "rounds for too few voters", "a round more than is paid for"),
    *("a round asked twice", "a round with less noise", "larger groups than are paid for"),
    *("scaled margins with less noise", "groups that leave an item out", "rounds dearer alone than stated"),
    "rounds of a large delta",
}


def test_schema_refuses_the_protocols_of_another_form():
    vectors = VECTORS["refused_protocols"]
    names = {vector["name"] for vector in vectors}
    at_limits = {name for name in names if name.endswith((", dearer than stated", ", a small modulus"))}
    accepted = {vector["name"] for vector in vectors if accepts("protocol", vector["protocol"])}
    assert len(names) == len(vectors) and accepted == OF_GOOD_FORM | at_limits
    assert all(accepts("protocol", vector["protocol"]) for vector in VECTORS["accepted_protocols"])


def follows(protocol):
    """Return whether a device accepts a protocol."""
    try:
        return Device(protocol) is not None
    except RefusedProtocol:
        return False


@pytest.mark.slow
@every_kind
def test_schema_and_device_refuse_the_same_fields_of_protocols(kind):
    protocol = protocol_of(kind)
    assert accepts("protocol", protocol) and follows(protocol)
    for one in changed(protocol):
        assert accepts("protocol", one) == follows(one), one


@pytest.mark.slow
@every_kind
def test_schema_accepts_every_protocol_that_a_device_follows(kind):
    """Of random changes at any depth; a device follows some of the changed protocols."""
    rng = random.Random(kind)
    tried = [fuzzing.changed(protocol_of(kind), rng) for _ in range(300)]
    followed = [protocol for protocol in tried if follows(protocol)]
    assert len(followed) > 3 and all(accepts("protocol", protocol) for protocol in followed)


@pytest.mark.parametrize("kind", WITH_QUESTIONS)
def test_schema_and_device_refuse_the_same_fields_of_questions(kind):
    protocol = protocol_of(kind)
    good = question(1) if kind == "rr-interactive" else about_groups(protocol)

    def answers(asked):
        try:
            return bool(Device(protocol).answer(asked, BALLOT))
        except ValueError:
            return False

    assert accepts(f"question-{kind}", good) and answers(good)
    for one in changed(good):
        if "groups" in one or kind == "rr-interactive":  # whether a question has groups depends on the protocol
            assert not accepts(f"question-{kind}", one) and not answers(one), one


def received(kind, protocol, message):
    """Return whether the curator, the shuffler or the first server receives a message."""
    if kind == "rr-shuffled":
        return Shuffler(protocol).receive([message]) == 1
    if kind == "skellam-shares":
        return wire_vectors.reason_of_server(protocol, None, json.dumps(message)) is None
    if kind == "skellam-rounds":
        return wire_vectors.reason_of_server(protocol, about_groups(protocol), json.dumps(message)) is None
    return wire_vectors.reason_for(protocol, None, json.dumps(message)) is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({*CLIENT_RANDOMIZERS} - {"rr-interactive"}))
def test_schema_and_curator_refuse_the_same_fields_of_messages(kind):
    protocol = protocol_of(kind)
    (good, *_) = flat(say(Device(protocol)))
    assert accepts(f"report-{kind}", good) and received(kind, protocol, good)
    for one in changed(good):
        assert not accepts(f"report-{kind}", one) and not received(kind, protocol, one), one


def test_schema_and_curator_refuse_the_same_fields_of_interactive_answers():
    estimator, wrong = LDPQuickSort(epsilon=1.0), []

    def ask(question):
        good, other = (Device(estimator.protocol(["tea", "milk"])).answer(question, [0, 1]) for _ in range(2))
        assert accepts("report-rr-interactive", good)
        wrong.extend(changed(good))
        return [other, *wrong]

    fitted = estimator.fit_interactive(ask, items=["tea", "milk"], n_voters=500)
    assert (fitted.reports_accepted_, sum(fitted.reports_refused_.values())) == (1, len(wrong))
    assert not any(accepts("report-rr-interactive", one) for one in wrong)
