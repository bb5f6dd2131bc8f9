"""Stream reader and validator for client reports, with counts of accepted and refused reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import chain, groupby
from operator import itemgetter

import numpy as np

from ..._utils.lines import blocks, lines, parse
from ..client.answers import is_random_number
from .base import Drawn, joined

LONGEST = 1 << 22  # characters of a report; longer ones are refused before parsing
# Size of a block, in reports and in characters. In small blocks, parsed reports are freed before Python's garbage
# collector scans them, which would take longer than parsing.
_TOGETHER, _CHARACTERS = 256, 1 << 13
_HELD = 1 << 15  # bytes; smaller draws are joined before counting
RECEIVED_BEFORE, ANSWERED_BEFORE = "received before", "voter answered before"  # reasons of refusal
#: Requirement for clients, part of the remedy in `Inbox.require`.
FOLLOW = "must follow estimator.protocol(items), with the same parameters and the same items in the same order"
_FROM_FILE = (
    "pass a list of them, or an open file of JSON lines: "
    "with open(path, 'rb') as lines: estimator.fit_reports(lines, items=items)."
)


class Inbox:
    """Reader of reports that counts accepted reports and, by reason, refused ones."""

    def __init__(self):
        self.accepted = 0
        self.refused: Counter[str] = Counter()

    def read(self, reports, read):
        """Yield ``read(report)`` for each report that `read` accepts.

        Parameters
        ----------
        reports : iterable of dict, str or bytes
            JSON objects, parsed or not. A file is read line by line, and only the beginning of a line that is too long.
        read : callable of (report) -> object
            Reads a parsed report. It raises `RefusedReport` if the report does not follow the protocol.
        """
        for report in lines(reports, LONGEST):
            try:
                drawn = read(parsed(report))
            except RefusedReport as error:
                self.refused[error.reason] += 1
            else:
                self.accepted += 1
                yield drawn

    def read_together(self, reports, names, read, number=None):
        """Yield (name, drawn) for blocks of accepted reports of the same protocol.

        Parameters
        ----------
        reports : iterable of dict, str or bytes
            Reports, as for `read`.
        names : collection of str
            Accepted protocols. Reports of other protocols are refused.
        read : callable of (list of reports, name) -> object
            Reads reports of one protocol. It raises `RefusedReport` if one of them does not follow the protocol. The
            reason is counted only if the list has one report.
        number : str or None, default=None
            Field of a number of which only the first report counts, under any of the protocols.

        Yields
        ------
        name : str
            Name of the protocol.
        drawn : object
            Result of `read` for some reports.
        """
        for block in blocks(lines(reports, LONGEST), _CHARACTERS, _CHARACTERS // _TOGETHER):
            for name, mine in self._addressed(block, names, number):
                for drawn in self._accepted(mine, partial(read, name=name)):
                    yield name, drawn

    def _addressed(self, block, names, number):
        """Return pairs (protocol name, parsed reports) of a block, in the order of arrival if a number is repeated."""
        known, places = [], {name: place for place, name in enumerate(names)}
        for report in block:
            try:
                found = parsed(report)
                if (name := protocol_of(found)) not in places:
                    raise RefusedReport("another protocol")
            except RefusedReport as error:
                self.refused[error.reason] += 1
            else:
                known.append((name, found))
        numbers = [found[number] for _, found in known if type(found.get(number)) is int]
        if len(names) == 1 or len(set(numbers)) == len(numbers):
            known.sort(key=lambda one: places[one[0]])
        return [(name, [found for _, found in mine]) for name, mine in groupby(known, itemgetter(0))]

    def _accepted(self, reports, read):
        """Yield ``read(reports)``; if it refuses, try each half, so that one invalid report does not affect others."""
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
        """Counts that the release publishes."""
        return {"reports_accepted": self.accepted, "reports_refused": dict(sorted(self.refused.items()))}

    def require(self, remedy):
        """Raise ValueError, with the reasons of refusal, if no report was accepted.

        Without reports, the consensus would be a random order.

        Parameters
        ----------
        remedy : str
            End of the error message: whole sentences.
        """
        if not self.accepted:
            reasons = ", ".join(f"{count} {reason!r}" for reason, count in sorted(self.refused.items()))
            raise ValueError(
                f"no report was accepted ({f'refused: {reasons}' if reasons else 'none arrived'}). {remedy}"
            )


def as_reports(reports, name="reports", remedy=_FROM_FILE):
    """Return `reports`, unless it is a single report, a file name or not iterable.

    Parameters
    ----------
    reports : object
        Argument of the caller.
    name, remedy : str
        Name of the argument and advice, for the error message.

    Raises
    ------
    ValueError
        If `reports` is not an iterable of reports.
    """
    if isinstance(reports, (str, bytes, dict)) or hasattr(reports, "__fspath__") or not isinstance(reports, Iterable):
        raise ValueError(f"{name} must be an iterable of reports, got {type(reports).__name__}; {remedy}")
    return reports


def parsed(report):
    """Return a report as an object; parse it if it is text.

    Raises
    ------
    RefusedReport
        If the text is too long, or is not JSON in UTF-8.
    """
    found, reason = parse(report, LONGEST)
    if reason is not None:
        raise RefusedReport(reason)
    return found


def gathered(accepted, n_items):
    """Yield (name, drawn, n_reports), joining draws by name because one large batch is cheaper to count.

    Parameters
    ----------
    accepted : iterable of (str, drawn)
        Protocol names, and values that devices drew.
    n_items : int
        Number of items. It sets the size of a batch.
    """
    waiting: dict[str, list[Drawn]] = defaultdict(list)
    held, most = 0, max(_HELD, 4 * n_items**2)
    for name, drawn in accepted:
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
    """Error for a report that does not follow the protocol. `reason` contains no data of the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"report refused: {reason}")
        self.reason = reason


def protocol_of(report):
    """Return the name of the protocol that a report carries, or None.

    Raises
    ------
    RefusedReport
        If the report is not a JSON object.
    """
    if not isinstance(report, dict):
        raise RefusedReport("not a JSON object")
    name = report.get("protocol")
    return name if isinstance(name, str) else None


def fields(report, *names):
    """Return the values of `names` in a report.

    Raises
    ------
    RefusedReport
        If the report's keys are not exactly "protocol" and `names`.
    """
    if set(report) != {"protocol", *names}:
        raise RefusedReport("wrong keys")
    return [report[name] for name in names]


def columns(reports, *names, also=("protocol",)):
    """Return, for each of `names`, the list of its values in all reports.

    Raises
    ------
    RefusedReport
        If the keys of a report are not exactly `names` and `also`.
    """
    keys = {*names, *also}
    if not all(report.keys() == keys for report in reports):
        raise RefusedReport("wrong keys")
    return [[report[name] for report in reports] for name in names]


def new_numbers(numbers, received):
    """Return the random numbers of new reports as a set of int.

    Raises
    ------
    RefusedReport
        If a number has another form than devices write, occurs twice, or is in `received`.
    """
    if not all(map(is_random_number, numbers)):
        raise RefusedReport("no report number")
    new = {int(number, 16) for number in numbers}
    if len(new) < len(numbers) or not received.isdisjoint(new):  # in this order, it takes time for `new` only
        raise RefusedReport(RECEIVED_BEFORE)
    return new


def new_voters(voters, received):
    """Return the numbers of registered voters as a set.

    Raises
    ------
    RefusedReport
        If a number occurs twice, or is in `received`.
    """
    new = set(voters)
    if len(new) < len(voters) or not received.isdisjoint(new):  # in this order, it takes time for `new` only
        raise RefusedReport(ANSWERED_BEFORE)
    return new


def end_to_end(rows, length, reason):
    """Return lists as one list.

    Raises
    ------
    RefusedReport
        If a row is not a list of this length, with this reason.
    """
    if set(map(type, rows)) != {list} or set(map(len, rows)) != {length}:
        raise RefusedReport(reason)
    return list(chain.from_iterable(rows))


def whole_numbers(numbers, low, high, reason):
    """Return numbers as an array of int64.

    Raises
    ------
    RefusedReport
        If a number is not an integer from `low` to `high`, with this reason. Booleans are not integers.
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
    """Return the items (i, j) of pairs as two arrays.

    Raises
    ------
    RefusedReport
        If a pair is not a list [i, j] of item indices, i < j.
    """
    items = whole_numbers(end_to_end(asked, 2, _PAIR), 0, n_items - 1, _PAIR)
    first, second = items[::2], items[1::2]
    if not (first < second).all():
        raise RefusedReport(_PAIR)
    return first, second


def bits_of(answers):
    """Return answers as an array of bool.

    Raises
    ------
    RefusedReport
        If an answer is not 0 or 1.
    """
    return whole_numbers(answers, 0, 1, "answer out of range").astype(bool)
