"""Test vectors: the package and a device written from the wire pages give the same bytes."""

import hashlib
import json
from collections import Counter
from functools import partial

import plain_device
import pytest
import wire_vectors
from wire_vectors import STREAMS, numbers

from sklearn_dprank.collection import Device, RefusedProtocol
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.randomizers import CLIENT_RANDOMIZERS
from sklearn_dprank.privacy import BudgetExhausted

VECTORS = wire_vectors.load()
by_name = partial(pytest.mark.parametrize, ids=lambda vector: vector["name"])


def assert_same(vector, said):
    """Numbers that come from logarithms and cosines may differ by the tolerance that the vector states."""
    if "tolerance" in vector:
        vector, said = vector["report"] | {"tolerance": vector["tolerance"]}, dict(said)
        pairs = zip(said.pop("vector"), vector["vector"], strict=True)
        assert all(abs(x - y) <= vector["tolerance"] for x, y in pairs)
        assert said == {"protocol": vector["protocol"]}
    else:
        assert json.dumps(said) == json.dumps(vector["report"])


@pytest.mark.slow
def test_vectors_match_the_code():
    # If the wire format was changed on purpose: python tests/support/wire_vectors.py, and say so on the page.
    assert wire_vectors.as_text(wire_vectors.vectors()) == wire_vectors.FILE.read_text(encoding="utf-8")


def test_every_randomizer_has_vectors():
    kinds = Counter(vector["protocol"]["randomizer"] for vector in VECTORS["reports"] + VECTORS["answers"])
    assert set(kinds) == set(CLIENT_RANDOMIZERS)
    assert min(kinds.values()) >= 5


@by_name("vector", VECTORS["reports"])
def test_report(vector):
    made = wire_vectors.device(vector["protocol"], numbers(vector["words"]))
    assert_same(vector, made.report(vector["ballot"], vector.get("pairs"), voter=vector.get("voter")))
    assert wire_vectors.dealt(made) == vector["words"]  # no word more, none less


@by_name("vector", VECTORS["answers"])
def test_answers(vector):
    made = wire_vectors.device(vector["protocol"], numbers(vector["words"]))
    assert [made.answer(question, vector["ballot"]) for question in vector["questions"]] == vector["answers"]
    assert wire_vectors.dealt(made) == vector["words"]


@by_name("vector", VECTORS["refused_protocols"])
def test_refused_protocol(vector):
    with pytest.raises(RefusedProtocol):
        Device(vector["protocol"])


@by_name("vector", VECTORS["refused_texts"])
def test_refused_text_of_a_protocol(vector):
    with pytest.raises(ValueError):
        Device(json.loads(vector["text"]))


@by_name("vector", VECTORS["accepted_protocols"])
def test_protocol_at_a_limit_is_accepted(vector):
    assert Device(vector["protocol"]).protocol == vector["protocol"]


@pytest.mark.parametrize("vector", VECTORS["refused_ballots"], ids=lambda vector: json.dumps(vector["ballot"]))
def test_refused_ballot(vector):
    with pytest.raises(ValueError, match="ballot must"):
        Device(vector["protocol"]).report(vector["ballot"])


@by_name("vector", VECTORS["refused_questions"])
def test_refused_question(vector):
    """The device still gives its earlier answers, which differ from new draws except with probability 2^-128."""
    made, ballot = Device(vector["protocol"]), list(range(5))
    answers = [made.answer(question, ballot) for question in vector["answered"]]
    with pytest.raises((ValueError, BudgetExhausted), match=r"follow the protocol|has (answered|given)"):
        made.answer(vector["question"], ballot)
    assert [made.answer(question, ballot) for question in vector["answered"]] == answers


@pytest.mark.parametrize("vector", VECTORS["refused_reports"], ids=lambda vector: vector["text"][:60])
def test_refused_report(vector):
    assert vector["reason"] is not None
    given = vector["protocol"], vector.get("question"), vector["text"]
    assert wire_vectors.reason_for(*given) == vector["reason"]


@pytest.mark.parametrize("vector", VECTORS["refused_messages"], ids=lambda vector: vector["reason"])
def test_refused_message(vector):
    assert vector["reason"] is not None
    given = vector["protocol"], vector.get("question"), vector["text"]
    assert wire_vectors.reason_of_server(*given) == vector["reason"]


def test_sum_of_a_server():
    """It names the voters by the hash of their report numbers, sorted and joined."""
    (vector,) = VECTORS["sums"]
    protocol, messages, voters = vector["protocol"], vector["messages"], vector["agreed"]
    assert wire_vectors.sum_over(protocol, messages, voters) == vector["sum"]
    assert vector["sum"]["voters"] == hashlib.sha256("".join(sorted(voters)).encode("ascii")).hexdigest()
    assert voters != sorted(voters) and len(voters) < len(messages)


@by_name("vector", VECTORS["reports"] + VECTORS["answers"])
def test_digest(vector):
    assert plain_device.digest(vector["protocol"]) == digest(vector["protocol"]) == vector["digest"]
    shuffled = dict(reversed(vector["protocol"].items()))
    assert digest(shuffled) == vector["digest"]


@by_name("vector", VECTORS["reports"] + VECTORS["answers"])
def test_plain_device(vector):
    words = {stream: plain_device.Words(numbers(vector["words"])[stream]) for stream in STREAMS}
    if "answers" in vector:
        run = partial(plain_device.answer, vector["protocol"], vector["ballot"], words=words)
        assert [run(question) for question in vector["questions"]] == vector["answers"]
    else:
        said = plain_device.report(
            vector["protocol"], vector["ballot"], words, vector.get("pairs"), vector.get("voter")
        )
        assert_same(vector, said)
    assert not any(stream.left for stream in words.values())


def test_vectors_cover_retries_and_rejected_words():
    """Vectors with rejected words, coins, repeated pairs and additional bits."""
    named = {vector["name"]: vector for vector in VECTORS["reports"]}
    assert any(len(v["words"]["assignment"]) > v["protocol"].get("n_queries", 0) for v in VECTORS["reports"])
    assert len(named["hypercube, a lead on the edge"]["words"]["noise"]) == 2 + 2
    assert len(named["hypercube, equal keys"]["words"]["noise"]) == 1 + 2 + 2
    first, second = named["privunit, far in the tail"]["report"]["vector"]
    assert first**2 + second**2 + (first + second) ** 2 > (12 * 1024) ** 2  # no grid of 2^-53 reaches beyond 8.3
