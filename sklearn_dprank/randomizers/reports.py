"""What a curator takes from the wire: reports are read as a stream, refused by reason, and counted."""

import codecs
import io
import json
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from ..devices.protocol import is_pair, is_whole

LONGEST = 1 << 22  # characters of a report; a longer one is not even parsed
_TOGETHER = 256  # reports counted at a time
_FROM_FILE = (
    "pass a list of them, or an open file of JSON lines: "
    "with open(path, 'rb') as lines: estimator.fit_reports(lines, items=items)."
)


class RefusedReport(ValueError):
    """A report that does not follow the protocol; `reason` echoes nothing of it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"report refused: {reason}")
        self.reason = reason


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
        for report in _lines(reports):
            try:
                said = read(parsed(report))
            except RefusedReport as error:
                self.refused[error.reason] += 1
            else:
                self.accepted += 1
                yield said

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


def in_blocks(said):
    """Yield lists of what an iterable yields: counting a few hundred reports together takes as long as one."""
    said = iter(said)
    while block := list(islice(said, _TOGETHER)):
        yield block


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


def _lines(reports):
    """Yield reports; of a file, lines cut where they are too long to be read."""
    if not hasattr(reports, "readline"):
        yield from reports
        return
    file = _undecoded(reports)
    try:
        while line := file.readline(LONGEST + 2):
            yield line
            ends = line[-1:] in ("\n", b"\n")
            while not ends and (rest := file.readline(LONGEST)):
                ends = rest[-1:] in ("\n", b"\n")
    except UnicodeError:
        raise ValueError(
            "reports must be UTF-8, and this text file cannot be read as bytes; open it in binary, open(path, 'rb'), "
            "or hand over sys.stdin.buffer."
        ) from None


def _undecoded(file):
    """Return the bytes of a text file, from where it stands: one line in wrong UTF-8 must not stop the others."""
    if not isinstance(file, io.TextIOWrapper) or codecs.lookup(file.encoding).name not in ("utf-8", "ascii"):
        return file
    try:
        file.seek(file.tell())  # puts back what was read ahead
    except OSError:  # a pipe, or somebody iterates over it
        return file
    return file.buffer


def parsed(report):
    """Return a report as an object, reading it where it is text.

    Raises
    ------
    RefusedReport
        If it is too long, or no JSON in UTF-8.
    """
    if not isinstance(report, (str, bytes)):
        return report
    if len(report) > LONGEST:
        raise RefusedReport("too long")
    try:
        return json.loads(report.decode("utf-8") if isinstance(report, bytes) else report)
    except (ValueError, RecursionError):
        raise RefusedReport("not JSON") from None


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


def require_pair(pair, n_items):
    """Raise `RefusedReport` unless `pair` is a list [i, j] of items, i before j by index."""
    if not is_pair(pair, n_items):
        raise RefusedReport("pair out of range")


def require_answer(answer):
    """Raise `RefusedReport` unless `answer` is 0 or 1."""
    if not is_whole(answer, 0, 1):
        raise RefusedReport("answer out of range")
