"""A curator counts each message once: as an honest report, or by the reason that the wire pages give for its refusal.

Clients are strangers. No message may stop the fit, take unbounded memory or count without following the protocol, and
a fit without honest reports must fail: its consensus would be a random order with a privacy guarantee.
"""

import json
import random
import re
import tracemalloc
from collections import Counter
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import wire_vectors
from fuzzing import VALUES, changed, mangled
from local_tools import apart
from sklearn.base import clone

from sklearn_dprank import Aggregator, LDPBorda, LDPPairwise, LDPQuickSort, ShufflePairwise
from sklearn_dprank.channels import Local, Shuffle
from sklearn_dprank.collection import Device, RefusedReport, reports as reading
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.reports import LONGEST, Inbox, of_protocol, whole_numbers

ITEMS = ["a", "b", "c", "d"]
PAIRS = [list(pair) for pair in combinations(range(4), 2)]
REASONS = {
    *("too long", "not JSON", "not a JSON object", "another protocol", "wrong keys", "wrong number of answers"),
    *("answer out of range", "pair out of range", "pair asked twice", "not the right number of signs"),
    *("not the right number of coordinates", "coordinate out of range", "another question", "no report number"),
    *("more reports than voters asked", "shuffle out of range", "received before", "wrong number of messages"),
    *("voter not asked", "voter answered before"),
}


def messages_of(estimator, n=20, **client):
    """Honest messages of n voters. Where pairs are assigned, each is asked equally often."""
    messages = []
    for voter in range(n):
        device, ballot = estimator.client(ITEMS, voter, **client), np.random.default_rng(voter).permutation(4)
        assigned = estimator.protocol(ITEMS).get("pairs") == "assigned"
        report = device.report(ballot, [PAIRS[(2 * voter + k) % 6] for k in range(2)] if assigned else None)
        messages += apart(report) if "messages" in report else [report]
    return messages


# --- a second reading of the wire pages


def parsed(message):
    """The JSON value of a message; None where its text is not JSON in UTF-8."""
    if not isinstance(message, (str, bytes)):
        return message
    try:
        return json.loads(message if isinstance(message, str) else message.decode())
    except (ValueError, RecursionError):
        return None


def is_whole(value, low, high):
    return type(value) is int and low <= value <= high


def is_list(value, length, is_entry):
    return type(value) is list and len(value) == length and all(map(is_entry, value))


def is_bit(value):
    return is_whole(value, 0, 1)


def is_pair(value):
    return is_list(value, 2, lambda item: is_whole(item, 0, 3)) and value[0] < value[1]


def is_honest(message, protocol):
    """Whether a curator of four items must accept this message."""
    report = parsed(message)
    if type(report) is not dict or report.get("protocol") != digest(protocol):
        return False
    match protocol["randomizer"]:
        case "rr-shuffled":
            shuffles = 2 if protocol["pairs"] == "hidden" else 1
            form = {"shuffle": lambda k: is_whole(k, 0, shuffles - 1), "pair": is_pair, "answer": is_bit}
        case "hypercube":
            corners = {f"{corner << 2:02x}" for corner in range(64)}
            form = {"signs": lambda signs: type(signs) is str and signs in corners}
        case "privunit":
            most = 1024 * protocol["norm"] + 1
            form = {"vector": lambda vector: is_list(vector, 3, lambda x: is_whole(x, -most, most))}
        case _:
            k = protocol["n_queries"]
            form = {
                "pairs": lambda pairs: is_list(pairs, k, is_pair) and len(set(map(tuple, pairs))) == k,
                "answers": lambda answers: is_list(answers, k, is_bit),
            }
    return report.keys() == {"protocol", *form} and all(follows(report[name]) for name, follows in form.items())


def number_of(message, protocol, question):
    """The report number of an honest answer to this question, and None of anything else."""
    answer = parsed(message)
    form = {
        "protocol": lambda name: name == digest(protocol),
        "question": lambda number: type(number) is int and number == question["question"],
        "report": lambda number: type(number) is str and re.fullmatch("[0-9a-f]{32}", number),
        "pair": lambda pair: is_pair(pair) and pair in question["pairs"],
        "answer": is_bit,
    }
    honest = type(answer) is dict and answer.keys() == form.keys() and all(form[name](answer[name]) for name in form)
    return answer["report"] if honest else None


# --- fuzzed messages

NEARLY = [
    *("00", "fc", "FC", "ff", "0x", "0" * 16, "g" * 16, "7" * 32, "answers", -(10**400), 4, [1], 1e9),
    *([0, 0], [0, 4], [-1, 0], [0, 1, 2], [True, False], [0, 1.0], [[1, 0]], [[0, 4]], [[0, 1, 2]]),
    *([[0, 1], [2, 3]], [[0, 1], [0, 1]], [0, 0, 0], [0, 1, 2, 4], [0.0, 1, 2], [None] * 3, [2**63] * 3, [10**400] * 3),
]


def fuzzed(report, rng):
    """An honest report or a damaged one, as an object, text or bytes."""
    report = json.loads(json.dumps(report))
    if rng.random() < 0.75:
        report = changed(report, rng, VALUES + NEARLY)
    if rng.random() < 0.25:
        return report
    text = json.dumps(report, ensure_ascii=rng.random() < 0.5)
    content = text.encode("utf-8", "surrogatepass")
    match rng.randrange(8):
        case 0:
            content = mangled(content, rng)
        case 1:  # a name twice: the later value counts
            content = content.replace(b"}", b', "protocol": 5}').replace(b"{", b'{"answers": 7, ', 1)
        case 2:
            content = rng.choice([b"", b" ", b"null", b"1" * 5000, b'{"a":' * 5000, b" " + content + b"\n"])
        case 3:
            return text + rng.choice(["\ud800", "\ufeff", "\x00", ""])
    return content if rng.random() < 0.5 else content.decode("utf-8", "replace")


def estimator_of(kind):
    if kind in ("hidden", "assigned"):
        channel = Shuffle(local_epsilon=2.0, n_queries=2, pairs=kind, min_reports=6)
    else:
        randomizer = clone(wire_vectors.RANDOMIZERS[kind])
        two_queries = {"n_queries": 2} if "n_queries" in randomizer.get_params() else {}
        channel = Local(1.0, randomizer.set_params(**two_queries))
    return Aggregator(channel, "borda", random_state=0)


@pytest.mark.parametrize("n_messages", [4000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "kind", [*wire_vectors.RANDOMIZERS, "assigned", pytest.param("hidden", marks=pytest.mark.slow)]
)
def test_fuzzed_reports(kind, n_messages):
    """A failure: the curator counts a report that the page forbids, refuses an honest one, or stops."""
    estimator, rng, expected = estimator_of(kind), random.Random(f"{kind} {n_messages}"), Counter()
    protocol, reports = estimator.protocol(ITEMS), messages_of(estimator, 36)

    shuffles = Counter(report.get("shuffle") for report in reports)

    def arriving():
        yield from reports
        for _ in range(n_messages):
            message = fuzzed(rng.choice(reports), rng)
            honest = is_honest(message, protocol)
            expected[honest] += 1
            if honest:
                shuffles[parsed(message).get("shuffle")] += 1
            yield message

    estimator.fit_reports(arriving(), items=ITEMS)
    refused = estimator.reports_refused_
    if hasattr(estimator, "channel") and hasattr(estimator.channel, "min_reports"):  # voters, not messages
        accepted = min(shuffles.values()) if kind == "hidden" else shuffles.total() // estimator.channel.n_queries
    else:
        accepted = shuffles.total()
    assert estimator.reports_accepted_ == accepted
    assert sum(refused.values()) == expected[False]
    assert sorted(estimator.consensus_) == ITEMS
    assert min(expected.values()) > n_messages / 8, "the fuzzer makes too few messages of one kind"
    assert {"not JSON", "not a JSON object", "another protocol", "wrong keys"} <= set(refused) <= REASONS


@pytest.mark.slow
@pytest.mark.parametrize("n_messages", [4000, 100_000])
def test_fuzzed_answers(n_messages):
    """As above, for answers to questions: each number counts once, and no more answers than voters were asked."""
    estimator, rng, expected = LDPQuickSort(random_state=0), random.Random(n_messages), Counter()
    protocol = estimator.protocol(ITEMS)

    def ask(question):
        accepted: set[str] = set()
        for voter in question["voters"]:
            honest, of_another = (
                Device(protocol, random_state=k).answer(question, range(4)) for k in (voter, voter + 999)
            )
            copies = [fuzzed(honest, rng) for _ in range(n_messages // 20)]
            for message in [honest, *copies, *rng.choice([[], [], [of_another]])]:
                number = number_of(message, protocol, question)
                counts = number is not None and number not in accepted and len(accepted) < len(question["voters"])
                accepted |= {number} if counts else set()
                expected[counts] += 1
                yield message

    estimator.fit_interactive(ask, items=ITEMS, n_voters=40)
    assert estimator.reports_accepted_ == expected[True]
    assert sum(estimator.reports_refused_.values()) == expected[False]
    assert min(expected.values()) >= 20 and expected.total() >= n_messages
    assert "more reports than voters asked" in estimator.reports_refused_
    assert set(estimator.reports_refused_) <= REASONS


def test_an_answer_about_a_pair_that_was_not_asked():
    """A failure: a client chooses the pair that its answer counts for."""

    def ask(question):
        (asked,) = question["pairs"]
        answer = {"protocol": question["protocol"], "question": question["question"], "report": "7" * 32, "answer": 1}
        return [{**answer, "pair": pair} for pair in PAIRS if pair != asked] + [{**answer, "pair": asked}]

    fitted = LDPQuickSort(random_state=0).fit_interactive(ask, items=ITEMS, n_voters=40)
    assert fitted.reports_refused_ == {"pair out of range": 5 * fitted.reports_accepted_}


# --- files, and messages that are too large


@pytest.fixture
def path(tmp_path):
    return tmp_path / "reports.jsonl"


@pytest.fixture
def two_lines():
    return [json.dumps(report).encode() + b"\n" for report in messages_of(LDPPairwise(), 2)]


def fit_on_file(path, mode="rb", **how):
    """(accepted, refused by reason) of a fit on the lines of a file."""
    with open(path, mode, **how) as lines:
        fitted = LDPPairwise(random_state=0).fit_reports(lines, items=ITEMS)
    return fitted.reports_accepted_, fitted.reports_refused_


def peak_memory(run):
    """(result of run, bytes that it took at most)."""
    tracemalloc.start()
    try:
        return run(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


as_text_or_binary = pytest.mark.parametrize(
    "how", [{"mode": "rb"}, {"mode": "r", "encoding": "utf-8"}], ids=lambda how: how["mode"]
)


@pytest.mark.slow
@as_text_or_binary
def test_a_line_of_a_hundred_megabytes_is_not_held(path, two_lines, how):
    with open(path, "wb") as file:
        file.write(two_lines[0])
        file.seek(100_000_000, 1)
        file.write(b"\n" + two_lines[1])
    counts, peak = peak_memory(lambda: fit_on_file(path, **how))
    assert counts == (2, {"too long": 1})
    assert peak < 30e6


@pytest.mark.slow
def test_the_most_that_a_message_may_hold():
    """Empty lists take twenty times the memory of their text; longer text is not parsed."""
    fullest = "[" + "[]," * ((LONGEST - 4) // 3) + "[]]"
    assert len(fullest) <= LONGEST < len(fullest) + 5
    inbox = Inbox()
    messages = [fullest, fullest + " " * 5, fullest.encode() + b" " * 5]
    accepted, peak = peak_memory(lambda: list(inbox.read(messages, partial(of_protocol, ()))))
    assert (accepted, inbox.refused) == ([], {"not a JSON object": 1, "too long": 2})
    assert peak < 250e6


@as_text_or_binary
def test_invalid_utf8_refuses_one_line(path, two_lines, how):
    path.write_bytes(two_lines[0] + b'{"\xff\xfe": 1}\n' + b"\n" + two_lines[1].rstrip())
    assert fit_on_file(path, **how) == (2, {"not JSON": 2})


def test_a_file_is_read_from_its_current_position(path, two_lines):
    beyond_what_is_read_ahead = two_lines[0] * 500
    path.write_bytes(b"a heading: \xc3\xa9\n" + b"".join(two_lines) + b"\xff\n" + beyond_what_is_read_ahead)
    with open(path, encoding="utf-8", errors="replace") as lines:
        assert lines.readline().startswith("a heading")
        fitted = LDPPairwise(random_state=0).fit_reports(lines, items=ITEMS)
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (502, {"not JSON": 1})


def test_a_file_in_another_encoding_is_refused_with_a_remedy(path):
    path.write_bytes(b"{}\n")
    with pytest.raises(ValueError, match=r"reports must be UTF-8.*open\(path, 'rb'\)"):
        fit_on_file(path, "r", encoding="utf-16")


# --- no consensus without an honest report


def assert_unfitted(estimator):
    assert not hasattr(estimator, "consensus_") and not hasattr(estimator, "privacy_")


@pytest.mark.parametrize("estimator", [LDPPairwise(), LDPBorda(), ShufflePairwise(min_reports=1)], ids=repr)
@pytest.mark.parametrize(
    ("reports", "match"),
    [
        ([], r"no report was accepted \(none arrived\)"),
        ((), r"no report was accepted \(none arrived\)"),
        ([{}, {}, "{"], r"no report was accepted \(refused: 2 'another protocol', 1 'not JSON'\)"),
        ("reports.jsonl", r"reports must be an iterable of reports, got str; .*open\(path, 'rb'\)"),
        (b"{}", "reports must be an iterable of reports, got bytes"),
        (Path("reports.jsonl"), "reports must be an iterable of reports, got (Posix|Windows)Path"),
        ({"protocol": "0" * 16}, "reports must be an iterable of reports, got dict"),
        (None, "reports must be an iterable of reports, got NoneType"),
        (17, "reports must be an iterable of reports, got int"),
    ],
    ids=repr,
)
def test_a_fit_without_honest_reports_fails(estimator, reports, match):
    with pytest.raises(ValueError, match=match):
        estimator.fit_reports(reports, items=ITEMS)
    assert_unfitted(estimator)


@pytest.mark.parametrize(
    ("answers", "match"),
    [
        ([], r"no report was accepted \(none arrived\)\. The function ask must deliver"),
        ([{}] * 3, r"refused: \d+ 'another protocol'\)\. The function ask must deliver"),
        (None, "what ask returns must be an iterable of reports, got NoneType; return a list"),
        ({"protocol": "0" * 16}, "what ask returns must be .* got dict"),
        ("{}", "what ask returns must be .* got str"),
    ],
    ids=repr,
)
def test_a_fit_without_honest_answers_fails(answers, match):
    estimator = LDPQuickSort()
    with pytest.raises(ValueError, match=match):
        estimator.fit_interactive(lambda question: answers, items=ITEMS, n_voters=30)
    assert_unfitted(estimator)


# --- reports of another protocol


@pytest.mark.parametrize(
    ("epsilon", "items"),
    [
        (0.1, ITEMS),  # the curator would state a guarantee of .1 for devices that spend 4
        (4.0, ["b", "a", "c", "d"]),
        (4.0, ["a", "b", "c", "e"]),
        (4.0, ["a", "b", "c", "d", "e"]),
        (4.0, 4),
    ],
    ids=repr,
)
def test_another_epsilon_or_other_items_are_another_protocol(epsilon, items):
    """A failure: a consensus of other items, or a guarantee that is not the voters'."""
    reports = messages_of(LDPPairwise(epsilon=4.0))
    assert LDPPairwise(epsilon=4.0).fit_reports(reports, items=ITEMS).reports_accepted_ == 20
    with pytest.raises(ValueError, match=r"refused: 20 'another protocol'.*same items in the same order"):
        LDPPairwise(epsilon=epsilon).fit_reports(reports, items=items)


def test_epsilons_that_the_curator_does_not_name():
    reports = [report for epsilon in (0.5, 2.0) for report in messages_of(LDPPairwise(), epsilon=epsilon)]
    with pytest.raises(ValueError, match=r"refused: 40 'another protocol'.*give epsilons="):
        LDPPairwise().fit_reports(reports, items=ITEMS)
    with pytest.raises(ValueError, match="refused: 40 'another protocol'"):
        LDPPairwise().fit_reports(reports, items=ITEMS, epsilons=[0.6, 2.1])
    fitted = LDPPairwise().fit_reports(reports, items=ITEMS, epsilons=[0.5, 1.0])
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (20, {"another protocol": 20})
    assert fitted.privacy_.epsilon == 1.0


def test_accepted_and_refused_reports_add_up():
    """The counts are those of one fit: a second fit starts at 0."""
    honest, other = messages_of(LDPBorda()), messages_of(LDPBorda(epsilon=2.0), 5)
    fitted = LDPBorda().fit_reports([*honest, *other, "{", {**honest[0], "vector": [0]}], items=ITEMS)
    refused = {"another protocol": 5, "not JSON": 1, "not the right number of coordinates": 1}
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (20, refused)
    again = fitted.fit_reports(honest, items=ITEMS)
    assert (again.reports_accepted_, again.reports_refused_) == (20, {})


# --- many reports at a time


@pytest.mark.parametrize(
    ("numbers", "fine"),
    [
        *[([0, 3, 1], True), ([3], True), ([0, 4], False), ([-1, 0], False)],
        *[([0, True], False), ([True], False), ([1.0], False), ([0, 1.0], False), (["1"], False), ([None], False)],
        *[([10**30], False), ([0, -(2**63) - 1], False), ([[1]], False), ([{}], False), ([], False)],
    ],
)
def test_whole_numbers_are_read_as_they_are_checked(numbers, fine):
    if fine:
        found = whole_numbers(numbers, 0, 3, "out of range")
        assert found.dtype == np.int64 and found.tolist() == numbers
    else:
        with pytest.raises(RefusedReport, match="report refused: out of range"):
            whole_numbers(numbers, 0, 3, "out of range")


@pytest.mark.parametrize("around", ["", " ", "\t\r\n ", "\x0b", "\x0c", "\x00", "\xa0", "\u2028", "\ufeff", "//"])
def test_json_parsing_agrees_with_the_standard_library(around):
    """Except for NaN and Infinity, which are not JSON."""
    bodies = ["1", '{"a": 1, "a": 2}', "NaN", "-Infinity", "1e999", "", "{", "tea", "[1] 2"]
    for text in (form for body in bodies for form in (around + body, body + around)):
        try:
            expected = repr(json.loads(text, parse_constant=int))
        except ValueError:
            expected = "not JSON"
        for given in (text, text.encode()):
            try:
                assert repr(reading.parsed(given)) == expected
            except RefusedReport as error:
                assert error.reason == expected


def test_a_stream_is_not_read_far_ahead():
    """Reports that are long are not held together: parsed, they may take a hundred times the memory."""
    longest, ahead = json.dumps({"protocol": "a", "x": "y" * (LONGEST - 100)}), Counter()

    def stream():
        for _ in range(10):
            ahead["read"] += 1
            yield longest

    said = Inbox().read_together(stream(), {"a"}, lambda reports, name: len(reports))
    for number, (_, n_reports) in enumerate(said, start=1):
        assert n_reports == 1 and ahead["read"] == number
    assert ahead["read"] == 10
