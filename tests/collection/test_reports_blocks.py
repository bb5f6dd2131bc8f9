"""Reading many reports at a time accepts and refuses the same reports as reading each alone."""

import inspect
import json
import random
from collections import Counter

import numpy as np
import pytest

from sklearn_dprank import collection as randomizers
from sklearn_dprank.collection import Device, Randomizer, RefusedReport
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.reports import LONGEST, Inbox, parsed, whole_numbers

EVERY = [
    kind
    for kind in (getattr(randomizers, name) for name in randomizers.__all__)
    if inspect.isclass(kind) and issubclass(kind, Randomizer)
]
EVERY.remove(Randomizer)
ODD = [
    *(True, None, 0.0, 1, 2, 5, -1, 2**63, 10**400, "", "0" * 16, "AA", "é0"),
    *([], [0], [0, 1], [1, 0], [True, 1], {}, [[0, 1]] * 2),
]


def wire(kind, n_reports, odd_share, seed):
    """Reports of devices about five items, as objects; of some of them a part is something else."""
    rng, protocol = random.Random(seed), kind().set_params(**two_pairs(kind)).protocol(2.0, 5)
    out = []
    for voter in range(n_reports):
        report = Device(protocol, random_state=voter).report(rng.sample(range(5), 5))
        if rng.random() < odd_share:
            name = rng.choice([*report, "voter"])
            value = report.get(name)
            if isinstance(value, list) and rng.random() < 0.6:
                value[rng.randrange(len(value))] = rng.choice(ODD)
            else:
                report[name] = rng.choice(ODD)
        out.append(report)
    return protocol, out


def two_pairs(kind):
    return {"n_queries": 2} if "n_queries" in kind().get_params() else {}


def counts_of(kind, protocol, streams):
    """Counts, how many were accepted, and refusals by reason, of streams that are read one after another."""
    inbox, total, name = Inbox(), 0, digest(protocol)
    for stream in streams:
        said = inbox.read_together(stream, {name}, lambda reports, name: kind.read_all(reports, protocol))
        for heard, drawn in said:
            assert heard == name
            total = total + kind.counts(drawn, protocol)
    return total, inbox.accepted, inbox.refused


@pytest.mark.parametrize("odd_share", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_bad_reports_do_not_affect_other_reports(kind, odd_share):
    protocol, reports = wire(kind, 300, odd_share, seed=f"{kind.__name__} {odd_share}")
    together, accepted, refused = counts_of(kind, protocol, [[json.dumps(report) for report in reports]])
    alone, accepted_alone, refused_alone = counts_of(kind, protocol, [[report] for report in reports])
    np.testing.assert_array_equal(together, alone)
    assert (accepted, refused) == (accepted_alone, refused_alone)
    assert accepted + refused.total() == 300 and (refused.total() > 0) == (odd_share > 0)


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
    bodies = ["1", '{"a": 1, "a": 2}', "NaN", "-Infinity", "1e999", "", "{", "tea", "[1] 2"]
    for text in (form for body in bodies for form in (around + body, body + around)):
        try:
            expected = repr(json.loads(text))
        except ValueError:
            expected = "not JSON"
        for given in (text, text.encode()):
            try:
                assert repr(parsed(given)) == expected
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
