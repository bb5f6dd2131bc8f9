"""What a curator takes from a report, and why it refuses one: many reports at a time, by the same checks as one."""

from itertools import chain

import numpy as np

from ..client.answers import is_random_number

_PAIR = "pair out of range"


class RefusedReport(ValueError):
    """A report that does not follow the protocol; `reason` echoes nothing of it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"report refused: {reason}")
        self.reason = reason


def protocol_of(report):
    """Return the name of the protocol that a report carries, or None.

    Raises
    ------
    RefusedReport
        If the report is no JSON object.
    """
    if not isinstance(report, dict):
        raise RefusedReport("not a JSON object")
    name = report.get("protocol")
    return name if isinstance(name, str) else None


def fields(report, *names):
    """Return the values of `names` in a report that has these and its protocol, and nothing else.

    Raises
    ------
    RefusedReport
        Otherwise.
    """
    if set(report) != {"protocol", *names}:
        raise RefusedReport("wrong keys")
    return [report[name] for name in names]


def columns(reports, *names, also=("protocol",)):
    """Return, for each of `names`, what all reports say there, if they have these fields, `also`, and nothing else.

    Raises
    ------
    RefusedReport
        Otherwise.
    """
    keys = {*names, *also}
    if not all(report.keys() == keys for report in reports):
        raise RefusedReport("wrong keys")
    return [[report[name] for report in reports] for name in names]


def new_numbers(numbers, received):
    """Return the random numbers of reports as a set of int, if none of them comes twice or was received before.

    Raises
    ------
    RefusedReport
        Otherwise, or if one of them does not have the form that devices write.
    """
    if not all(map(is_random_number, numbers)):
        raise RefusedReport("no report number")
    new = {int(number, 16) for number in numbers}
    if len(new) < len(numbers) or not new.isdisjoint(received):
        raise RefusedReport("received before")
    return new


def end_to_end(rows, length, reason):
    """Return lists as one, if each of them has this length.

    Raises
    ------
    RefusedReport
        Otherwise, for this reason.
    """
    if set(map(type, rows)) != {list} or set(map(len, rows)) != {length}:
        raise RefusedReport(reason)
    return list(chain.from_iterable(rows))


def whole_numbers(numbers, low, high, reason):
    """Return numbers as an array of int64, if all are integers, no booleans, from `low` to `high`.

    Raises
    ------
    RefusedReport
        Otherwise, for this reason.
    """
    if set(map(type, numbers)) != {int}:
        raise RefusedReport(reason)
    try:
        found = np.array(numbers, dtype=np.int64)
    except OverflowError:
        raise RefusedReport(reason) from None
    if found.min() < low or found.max() > high:
        raise RefusedReport(reason)
    return found


def pairs_of(asked, n_items):
    """Return the items (i, j) of pairs as arrays, if all are lists [i, j], i before j by index.

    Raises
    ------
    RefusedReport
        Otherwise.
    """
    items = whole_numbers(end_to_end(asked, 2, _PAIR), 0, n_items - 1, _PAIR)
    first, second = items[::2], items[1::2]
    if not (first < second).all():
        raise RefusedReport(_PAIR)
    return first, second


def bits_of(answers):
    """Return answers as an array of bool, if all are 0 or 1.

    Raises
    ------
    RefusedReport
        Otherwise.
    """
    return whole_numbers(answers, 0, 1, "answer out of range").astype(bool)
