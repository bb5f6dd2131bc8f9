"""What a curator takes from the wire: reports are read as a stream, many at a time, refused by reason, and counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from ..._utils.lines import blocks, lines, parse
from .base import Drawn, joined
from .reports import RefusedReport, protocol_of

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
