"""Reading many reports at a time accepts and refuses the same reports as reading each alone."""

import json
from collections import Counter

import numpy as np
import pytest

from sklearn_dprank.collection import RefusedReport
from sklearn_dprank.collection.reports import LONGEST, Inbox, parsed, whole_numbers


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
