"""Whatever comes over the wire is an honest report or is refused and counted; nothing else happens."""

import copy
import json
import math
import random
import re
import tracemalloc
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import wire_vectors
from local_tools import apart
from sklearn.base import clone

from sklearn_dprank import Aggregator, LDPBorda, LDPPairwise, LDPQuickSort, ShufflePairwise
from sklearn_dprank.channels import Local, Shuffle
from sklearn_dprank.collection.client import Device
from sklearn_dprank.collection.client.protocol import digest
from sklearn_dprank.collection.curator.inbox import LONGEST, Inbox, protocol_of

ITEMS = ["a", "b", "c", "d"]
KINDS = [*wire_vectors.RANDOMIZERS, pytest.param("hidden", marks=pytest.mark.slow), "assigned"]


def estimator_of(kind):
    if kind in ("hidden", "assigned"):
        channel = Shuffle(local_epsilon=2.0, n_queries=2, pairs=kind, min_reports=6)
    else:
        randomizer = clone(wire_vectors.RANDOMIZERS[kind])
        channel = Local(1.0, randomizer.set_params(**({"n_queries": 2} if hasattr(randomizer, "n_queries") else {})))
    return Aggregator(channel, "borda", random_state=0)


def honest_reports(protocol, n):
    """Messages of n voters, and the pairs of each where they are assigned: every pair equally often."""
    out = []
    for voter in range(n):
        device = Device(protocol, random_state=voter)
        ballot = np.random.default_rng(voter).permutation(4)
        every = [list(pair) for pair in combinations(range(4), 2)]
        pairs = [every[(2 * voter + k) % 6] for k in range(2)] if protocol.get("pairs") == "assigned" else None
        said = device.report(ballot, pairs)
        out += apart(said) if "messages" in said else [said]
    return out


# --- what an honest message is, written once more


def whole(value, low, high):
    return type(value) is int and low <= value <= high


def pair(value):
    return type(value) is list and len(value) == 2 and all(whole(x, 0, 3) for x in value) and value[0] < value[1]


def honest(message, protocol):
    """Tell whether a curator must accept a message: text, bytes, or what was parsed of it."""
    if isinstance(message, (str, bytes)):
        try:
            message = json.loads(message if isinstance(message, str) else message.decode())
        except (ValueError, RecursionError):
            return False
    if type(message) is not dict or message.get("protocol") != digest(protocol):
        return False
    values = {name: value for name, value in message.items() if name != "protocol"}
    kind = protocol["randomizer"]
    if kind == "rr-shuffled":
        rounds = 2 if protocol["pairs"] == "hidden" else 1
        form = set(values) == {"shuffle", "pair", "answer"} and whole(values["shuffle"], 0, rounds - 1)
        return form and pair(values["pair"]) and whole(values["answer"], 0, 1)
    if kind == "hypercube":
        corners = [f"{corner << 2:02x}" for corner in range(64)]
        return set(values) == {"signs"} and values["signs"] in corners
    if kind == "privunit":
        most = 1024 * protocol["norm"] + 1
        form = set(values) == {"vector"} and type(values["vector"]) is list and len(values["vector"]) == 3
        return form and all(whole(x, -most, most) for x in values["vector"])
    k = protocol["n_queries"]
    form = set(values) == {"pairs", "answers"} and all(type(v) is list and len(v) == k for v in values.values())
    form = form and all(map(pair, values["pairs"])) and all(whole(x, 0, 1) for x in values["answers"])
    return form and len({tuple(p) for p in values["pairs"]}) == k


# --- what may come instead

NASTY = [
    *(None, True, False, 0, 1, 2, 3, 4, -1, 0.0, 1.0, 0.5, 2**31, 2**53, 2**63, 2**64, 10**400, -(10**400)),
    *(math.nan, math.inf, -math.inf, "", "0", "1", "00", "fc", "FC", "ff", "0x", "é", "\ud800", "\x00", "a" * 5000),
    *(
        [],
        [[]],
        [0],
        [1],
        [0, 1],
        [[0, 1]],
        [[0, 1], [2, 3]],
        [[0, 1], [0, 1]],
        [0, 0],
        [1, 0],
        [True, False],
        [0, 1, 2],
    ),
    *([0, 1, 2, 3], [3, 2, 1, 0], [0, 0, 0], [0, 1, 2, 4], [0.0, 1, 2, 3], {}, {"0": 1}, [None] * 3, [1e9] * 3),
    *("0" * 16, "g" * 16, [[0, 4]], [[-1, 0]], [[0, 1, 2]], "answers", [10**400] * 3, [2**63] * 3),
]
NAMES = [
    "protocol",
    "pairs",
    "answers",
    "pair",
    "answer",
    "signs",
    "positions",
    "vector",
    "shuffle",
    "voter",
    "",
    "\ud800",
]


def nasty(rng):
    return copy.deepcopy(rng.choice(NASTY))


def changed(report, rng):
    """An honest report, or one that is not, as an object, text or bytes."""
    report = json.loads(json.dumps(report))
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        how, name = rng.random(), rng.choice(list(report) or [""])
        value = report.get(name)
        if how < 0.2:
            report.pop(name, None)
        elif how < 0.35:
            report[rng.choice(NAMES)] = nasty(rng)
        elif how < 0.65 or not isinstance(value, list) or not value:
            report[name] = nasty(rng)
        elif how < 0.8:
            value[rng.randrange(len(value))] = nasty(rng)
        elif how < 0.9:
            value.append(rng.choice([value[0], nasty(rng)]))
        else:
            rng.shuffle(value)
    how = rng.random()
    if how < 0.25:
        return report
    text = json.dumps(report, ensure_ascii=rng.random() < 0.5)
    if how < 0.4:
        text = torn(text, rng)
    return text if rng.random() < 0.5 else text.encode("utf-8", "surrogatepass")


def torn(text, rng):
    """Text that was cut, or into which something slipped."""
    at = rng.randrange(len(text) + 1)
    return rng.choice(
        [
            text[:at],
            text[at:],
            text[:at] + chr(rng.randrange(0x250)) + text[at:],
            text[:at] + "\ud800" + text[at:],
            f"[{text}]",
            text + text,
            "\ufeff" + text,
            text.replace("1", "NaN"),
            text.replace("0", "1e999"),
            text.replace("}", ', "protocol": 5}'),
            text.replace("{", '{"answers": 7, ', 1),
            "[" * 5000 + text,
            '{"a":' * 5000,
            "1" * 5000,
            "",
            " ",
            "null",
            " " + text + "\n",
        ]
    )


def fuzz(kind, times, seed):
    """Fit on honest and other messages; the counts must be those of the test's own reading."""
    estimator, rng = estimator_of(kind), random.Random(f"{kind} {seed}")
    protocol = estimator.protocol(ITEMS)
    reports = honest_reports(protocol, 36)
    expected = Counter()

    def field():
        yield from reports
        for _ in range(times):
            message = changed(rng.choice(reports), rng)
            expected[honest(message, protocol)] += 1
            yield message

    estimator.fit_reports(field(), items=ITEMS)
    assert estimator.reports_accepted_ == len(reports) + expected[True]
    assert sum(estimator.reports_refused_.values()) == expected[False]
    assert sorted(estimator.consensus_) == ITEMS
    return expected, estimator.reports_refused_


@pytest.mark.parametrize("kind", KINDS)
def test_fuzzed_messages(kind):
    expected, refused = fuzz(kind, 4000, seed=0)
    assert min(expected.values()) > 500
    assert {"not JSON", "not a JSON object", "another protocol", "wrong keys"} <= set(refused)
    assert set(refused) <= REASONS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_messages(kind):
    assert fuzz(kind, 100_000, seed=1)[0].total() == 100_000


def fuzz_answers(times, seed):
    """As `fuzz`, for answers to questions."""
    estimator, rng = LDPQuickSort(random_state=0), random.Random(seed)
    protocol = estimator.protocol(ITEMS)
    sent, expected = Counter(), Counter()
    voters = 40

    def ask(question):
        accepted: set[str] = set()
        for voter in question["voters"]:
            said, other = (
                Device(protocol, random_state=each).answer(question, [0, 1, 2, 3]) for each in (voter, voter + 999)
            )
            for message in [said, *(changed(said, rng) for _ in range(times // 20)), *rng.choice([[], [], [other]])]:
                sent[question["question"]] += 1
                good = honest_answer(message, protocol, question) and len(accepted) < len(question["voters"])
                number = (
                    json.loads(message)["report"] if good and type(message) is not dict else good and message["report"]
                )
                good = good and number not in accepted
                accepted |= {number} if good else set()
                expected[good] += 1
                yield message

    estimator.fit_interactive(ask, items=ITEMS, n_voters=voters)
    assert estimator.reports_accepted_ == expected[True]
    assert sum(estimator.reports_refused_.values()) == expected[False]
    assert "more reports than voters asked" in estimator.reports_refused_
    assert set(estimator.reports_refused_) <= REASONS
    return expected


def honest_answer(message, protocol, question):
    if isinstance(message, (str, bytes)):
        try:
            message = json.loads(message if isinstance(message, str) else message.decode())
        except (ValueError, RecursionError):
            return False
    form = type(message) is dict and set(message) == {"protocol", "question", "report", "pair", "answer"}
    form = form and type(message["report"]) is str and re.fullmatch("[0-9a-f]{32}", message["report"]) is not None
    form = form and message["protocol"] == digest(protocol) and type(message["question"]) is int
    form = form and message["question"] == question["question"] and pair(message["pair"])
    return form and message["pair"] in question["pairs"] and whole(message["answer"], 0, 1)


@pytest.mark.slow
def test_fuzzed_answers():
    assert min(fuzz_answers(4000, seed=0).values()) >= 20


@pytest.mark.slow
def test_a_hundred_thousand_answers():
    assert fuzz_answers(100_000, seed=1).total() >= 100_000


def test_an_answer_about_what_was_not_asked():
    protocol = LDPQuickSort().protocol(ITEMS)
    every = [list(pair) for pair in combinations(range(4), 2)]

    def ask(question):
        (asked,) = question["pairs"]
        said = {"protocol": digest(protocol), "question": question["question"], "report": "7" * 32, "answer": 1}
        return [{**said, "pair": pair} for pair in every if pair != asked] + [{**said, "pair": asked}]

    fitted = LDPQuickSort(random_state=0).fit_interactive(ask, items=ITEMS, n_voters=40)
    assert set(fitted.reports_refused_) == {"pair out of range"}
    assert fitted.reports_refused_["pair out of range"] == 5 * fitted.reports_accepted_


PAGE = " ".join((Path(__file__).parents[3] / "docs" / "user_guide" / "wire.rst").read_text(encoding="utf-8").split())
REASONS = {
    *("too long", "not JSON", "not a JSON object", "another protocol", "wrong keys", "wrong number of answers"),
    *("answer out of range", "pair out of range", "pair asked twice", "not the right number of signs"),
    "not the right number of coordinates",
    *("coordinate out of range", "another question", "more reports than voters asked", "shuffle out of range"),
    *("no report number", "received before", "wrong number of messages", "voter not asked", "voter answered before"),
}


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_the_page_names_every_reason(reason):
    assert f'"{reason}"' in PAGE


# --- files, and messages that are too large


def reading(path, mode="rb", **how):
    estimator = LDPPairwise(random_state=0)
    with open(path, mode, **how) as lines:
        return estimator.fit_reports(lines, items=ITEMS)


@pytest.fixture
def two_lines():
    protocol = LDPPairwise().protocol(ITEMS)
    return [json.dumps(report).encode() + b"\n" for report in honest_reports(protocol, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "how"), [("rb", {}), ("r", {"encoding": "utf-8"})], ids=["binary", "text"])
def test_a_line_of_a_hundred_megabytes(tmp_path, two_lines, mode, how):
    path = tmp_path / "reports.jsonl"
    with open(path, "wb") as file:
        file.write(two_lines[0])
        file.seek(100_000_000, 1)
        file.write(b"\n" + two_lines[1])
    tracemalloc.start()
    fitted = reading(path, mode, **how)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (2, {"too long": 1})
    assert peak < 30e6


@pytest.mark.slow
def test_the_most_that_a_message_may_hold():
    """Empty lists take twenty times the memory of their text; more text is not read."""
    fullest = "[" + "[]," * ((LONGEST - 4) // 3) + "[]]"
    assert len(fullest) <= LONGEST
    inbox = Inbox()
    tracemalloc.start()
    assert not list(inbox.read([fullest, fullest + "     ", fullest.encode() + b"     "], protocol_of))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert inbox.refused == {"not a JSON object": 1, "too long": 2}
    assert peak < 250e6


@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
def test_wrong_utf8_in_a_file_costs_one_line(tmp_path, two_lines, text):
    path = tmp_path / "reports.jsonl"
    path.write_bytes(two_lines[0] + b'{"\xff\xfe": 1}\n' + b"\n" + two_lines[1].rstrip())
    fitted = reading(path, **({"mode": "r", "encoding": "utf-8"} if text else {}))
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (2, {"not JSON": 2})


def test_a_file_is_read_from_where_it_stands(tmp_path, two_lines):
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"a heading: \xc3\xa9\n" + b"".join(two_lines) + b"\xff\n")
    long_enough = path.read_bytes() + two_lines[0] * 500  # beyond what a text file reads ahead
    path.write_bytes(long_enough)
    with open(path, encoding="utf-8", errors="replace") as lines:
        assert lines.readline().startswith("a heading")
        fitted = LDPPairwise(random_state=0).fit_reports(lines, items=ITEMS)
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (502, {"not JSON": 1})


def test_a_file_in_another_encoding_is_refused_with_a_remedy(tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises(ValueError, match=r"reports must be UTF-8.*open\(path, 'rb'\)"):
        reading(path, "r", encoding="utf-16")


# --- reports of no use are no consensus


def unfitted(estimator):
    return not hasattr(estimator, "consensus_") and not hasattr(estimator, "privacy_")


@pytest.mark.parametrize("estimator", [LDPPairwise(), LDPBorda(), ShufflePairwise(min_reports=1)], ids=repr)
@pytest.mark.parametrize(
    ("reports", "match"),
    [
        ([], r"no report could be used \(there were none\)"),
        ((), r"no report could be used \(there were none\)"),
        ([{}, {}, "{"], r"no report could be used \(refused: 2 'another protocol', 1 'not JSON'\)"),
        ("reports.jsonl", r"reports must be an iterable of reports, got str; .*open\(path, 'rb'\)"),
        (b"{}", "reports must be an iterable of reports, got bytes"),
        (Path("reports.jsonl"), "reports must be an iterable of reports, got PosixPath|WindowsPath"),
        ({"protocol": "0" * 16}, "reports must be an iterable of reports, got dict"),
        (None, "reports must be an iterable of reports, got NoneType"),
        (17, "reports must be an iterable of reports, got int"),
    ],
    ids=repr,
)
def test_nothing_to_read(estimator, reports, match):
    with pytest.raises(ValueError, match=match):
        estimator.fit_reports(reports, items=ITEMS)
    assert unfitted(estimator)


def said_by(estimator, items, n=20, **client):
    return [estimator.client(items, voter, **client).report([0, 1, 2, 3]) for voter in range(n)]


def test_another_epsilon_is_another_protocol():
    """Devices at 4 and a curator at .1: once, a guarantee of .1 was printed."""
    reports = said_by(LDPPairwise(epsilon=4.0), ITEMS)
    with pytest.raises(ValueError, match=r"refused: 20 'another protocol'.*same items in the same order"):
        LDPPairwise(epsilon=0.1).fit_reports(reports, items=ITEMS)
    assert LDPPairwise(epsilon=4.0).fit_reports(reports, items=ITEMS).reports_accepted_ == 20


@pytest.mark.parametrize("items", [["b", "a", "c", "d"], ["a", "b", "c", "e"], 4, ["a", "b", "c", "d", "e"]], ids=repr)
def test_other_items_are_another_protocol(items):
    reports = said_by(LDPPairwise(), ITEMS)
    with pytest.raises(ValueError, match="refused: 20 'another protocol'"):
        LDPPairwise().fit_reports(reports, items=items)


def test_forgotten_epsilons():
    reports = said_by(LDPPairwise(), ITEMS, epsilon=0.5) + said_by(LDPPairwise(), ITEMS, epsilon=2.0)
    with pytest.raises(ValueError, match=r"refused: 40 'another protocol'.*give epsilons="):
        LDPPairwise().fit_reports(reports, items=ITEMS)
    with pytest.raises(ValueError, match="refused: 40 'another protocol'"):
        LDPPairwise().fit_reports(reports, items=ITEMS, epsilons=[0.6, 2.1])
    fitted = LDPPairwise().fit_reports(reports, items=ITEMS, epsilons=[0.5, 1.0])
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (20, {"another protocol": 20})
    assert fitted.privacy_.epsilon == 1.0


def test_another_collection_of_the_same_kind():
    theirs = ShufflePairwise(min_reports=20).client(ITEMS, 0).report([0, 1, 2, 3])
    for sent in ([theirs] * 30, apart(theirs) * 30):
        with pytest.raises(ValueError, match="another protocol"):
            ShufflePairwise(min_reports=21).fit_reports(sent, items=ITEMS)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        (lambda question: [], r"no report could be used \(there were none\); ask must deliver"),
        (lambda question: [{}] * 3, r"refused: \d+ 'another protocol'\); ask must deliver"),
        (lambda question: None, "what ask returns must be an iterable of reports, got NoneType; return a list"),
        (lambda question: {"protocol": question["protocol"]}, "what ask returns must be .* got dict"),
        (lambda question: "{}", "what ask returns must be .* got str"),
    ],
)
def test_no_answer(said, match):
    estimator = LDPQuickSort()
    with pytest.raises(ValueError, match=match):
        estimator.fit_interactive(said, items=ITEMS, n_voters=30)
    assert unfitted(estimator)


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
def test_devices_of_another_conversation():
    device = LDPQuickSort(epsilon=4.0).client(ITEMS)

    def ask(question):
        try:
            return [device.answer(question, [0, 1, 2, 3])]
        except ValueError:  # the device refuses a curator who asks by another protocol
            return []

    with pytest.raises(ValueError, match="there were none"):
        LDPQuickSort(epsilon=0.1).fit_interactive(ask, items=ITEMS, n_voters=30)


def test_what_was_used_and_what_was_not_add_up():
    good = said_by(LDPBorda(), ITEMS)
    other = said_by(LDPBorda(epsilon=2.0), ITEMS, 5)
    fitted = LDPBorda().fit_reports([*good, *other, "{", "[]", {**good[0], "vector": [0]}], items=ITEMS)
    assert fitted.reports_accepted_ == 20
    assert fitted.reports_refused_ == {
        "another protocol": 5,
        "not JSON": 1,
        "not a JSON object": 1,
        "not the right number of coordinates": 1,
    }
    again = fitted.fit_reports(good, items=ITEMS)
    assert (again.reports_accepted_, again.reports_refused_) == (20, {})
