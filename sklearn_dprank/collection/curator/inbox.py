"""Reports that a curator receives: parsed as a stream, validated, and counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ..._utils.lines import blocks, lines, parse
from ..client.answers import is_random_number
from .base import Drawn, joined

LONGEST = 1 << 22  # characters of a report; a longer one is not even parsed
# Reports read together, and their characters: what is parsed is then gone before Python's garbage collector looks
# through it, which would take longer than reading does.
_TOGETHER, _CHARACTERS = 256, 1 << 13
_HELD = 1 << 15  # bytes of draws that are counted together at least
#: What whoever sends must have done, for the remedy of `Inbox.require`.
FOLLOW = "must follow estimator.protocol(items), with the same parameters and the same items in the same order"
_FROM_FILE = (
    "pass a list of them, or an open file of JSON lines: "
    "with open(path, 'rb') as lines: estimator.fit_reports(lines, items=items)."
)


class Inbox:
    """Reads reports one by one, and counts those that were accepted and, by reason, those that were refused."""

    def __init__(self):
        self.accepted = 0
        self.refused: Counter[str] = Counter()

    def read(self, reports, read):
        """Yield what `read` returns of each report that it accepts.

        Parameters
        ----------
        reports : iterable of dict, str or bytes
            JSON objects, parsed or not. A file is read line by line, and of a line no more than is looked at.
        read : callable of (report) -> object
            Gets the report as an object, and raises `RefusedReport` where it does not follow the protocol.
        """
        for report in lines(reports, LONGEST):
            try:
                said = read(parsed(report))
            except RefusedReport as error:
                self.refused[error.reason] += 1
            else:
                self.accepted += 1
                yield said

    def read_together(self, reports, names, read):
        """Yield (name, drawn) of the reports that are accepted, a few hundred at a time.

        Parameters
        ----------
        reports : iterable of dict, str or bytes
            As for `read`.
        names : collection of str
            The protocols that are read; reports of another are refused.
        read : callable of (list of reports, name) -> object
            Gets reports of one protocol, and raises `RefusedReport` where one of them does not follow it; of one report
            alone, for the reason that is counted.

        Yields
        ------
        name : str
            Of the protocol.
        drawn : object
            What `read` returned of some reports.
        """
        for block in blocks(lines(reports, LONGEST), _CHARACTERS, _CHARACTERS // _TOGETHER):
            for name, mine in self._addressed(block, names).items():
                for drawn in self._accepted(mine, partial(read, name=name)):
                    yield name, drawn

    def _addressed(self, block, names):
        """Return the reports of a block as objects, by the protocol that they name."""
        said: dict[str, list[Any]] = {name: [] for name in names}
        for report in block:
            try:
                found = parsed(report)
                if (name := protocol_of(found)) not in said:
                    raise RefusedReport("another protocol")
            except RefusedReport as error:
                self.refused[error.reason] += 1
            else:
                said[name].append(found)
        return said

    def _accepted(self, reports, read):
        """Yield what `read` returns of these reports together; of either half where there is one that it refuses."""
        if not reports:
            return
        try:
            drawn = read(reports)
        except RefusedReport as error:
            if len(reports) == 1:
                self.refused[error.reason] += 1
                return
            half = len(reports) // 2
            yield from self._accepted(reports[:half], read)
            yield from self._accepted(reports[half:], read)
        else:
            self.accepted += len(reports)
            yield drawn

    @property
    def published(self):
        """What is published of it."""
        return {"reports_accepted": self.accepted, "reports_refused": dict(self.refused)}

    def require(self, remedy):
        """Raise unless a report was accepted: a consensus of nothing is a random order.

        Raises
        ------
        ValueError
            With the reasons for which reports were refused.
        """
        if not self.accepted:
            reasons = ", ".join(f"{count} {reason!r}" for reason, count in sorted(self.refused.items()))
            raise ValueError(
                f"no report could be used ({f'refused: {reasons}' if reasons else 'there were none'}); {remedy}"
            )


def as_reports(reports, name="reports", remedy=_FROM_FILE):
    """Return an iterable of reports.

    Parameters
    ----------
    reports : object
        What was handed over.
    name, remedy : str
        What an error calls it and proposes.

    Raises
    ------
    ValueError
        If this is one report, or the name of a file, in place of many reports.
    """
    if isinstance(reports, (str, bytes, dict)) or hasattr(reports, "__fspath__") or not isinstance(reports, Iterable):
        raise ValueError(f"{name} must be an iterable of reports, got {type(reports).__name__}; {remedy}")
    return reports


def parsed(report):
    """Return a report as an object, reading it where it is text.

    Raises
    ------
    RefusedReport
        If it is too long, or no JSON in UTF-8.
    """
    found, reason = parse(report, LONGEST)
    if reason is not None:
        raise RefusedReport(reason)
    return found


def gathered(said, n_items):
    """Yield (name, drawn, n_reports) of draws by name, put together: counting many takes little longer than a few.

    Parameters
    ----------
    said : iterable of (str, drawn)
        What some devices of a protocol drew.
    n_items : int
        Number of items; draws are held while they are small beside the counts of all pairs.
    """
    waiting: dict[str, list[Drawn]] = defaultdict(list)
    held, most = 0, max(_HELD, 4 * n_items**2)
    for name, drawn in said:
        waiting[name].append(drawn)
        held += sum(part.nbytes for part in (drawn if isinstance(drawn, tuple) else [drawn]))
        if held > most:
            yield from _put_together(waiting)
            waiting.clear()
            held = 0
    yield from _put_together(waiting)


def _put_together(waiting):
    for name, draws in waiting.items():
        drawn = joined(draws)
        yield name, drawn, len(drawn[0] if isinstance(drawn, tuple) else drawn)


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
