"""Reports: reading in blocks of bounded size, validation, and counts that add up."""

from __future__ import annotations

import codecs
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain, groupby
from math import prod
from operator import add, itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import is_whole
from .._utils.types import Message
from ..ballots.profile import is_lazy, reduce_partitions
from .protocol import digest, is_digits

LONGEST = 1 << 22  # characters of a report or a submission; longer ones are refused before parsing
RECEIVED_BEFORE, ANSWERED_BEFORE = "received before", "voter answered before"  # reasons of refusal
#: Requirement for clients, part of the remedy in `Inbox.require`.
FOLLOW = "must follow estimator.protocol(items), with the same parameters and the same items in the same order"
# Size of a block, in reports and in characters. In small blocks, parsed reports are freed before Python's garbage
# collector scans them, which would take longer than parsing.
_TOGETHER, _CHARACTERS = 256, 1 << 13
_MOST_CHARACTERS = 1 << 20  # with many items, larger blocks: each is counted in a table of all pairs
_FROM_FILE = (
    "pass a list of them, or an open file of JSON lines: "
    "with open(path, 'rb') as lines: estimator.fit_reports(lines, items=items)."
)
_BLANK = " \t\n\r"  # what JSON takes for white space
_JSON = json.JSONDecoder(parse_constant=int)  # an error for NaN and Infinity, which RFC 8259 does not have
_PAIR = "pair out of range"


class RefusedReport(ValueError):
    """Error for a report that does not follow the protocol. `reason` contains no data of the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"report refused: {reason}")
        self.reason = reason


def reject_unless(valid, reason):
    """Raise `RefusedReport` unless a part of a report is valid."""
    if not valid:
        raise RefusedReport(reason)


# Streams of reports: blocks of bounded size, and text of bounded length.


def as_reports(reports, name="reports", remedy=_FROM_FILE, of="reports"):
    """Return `reports`, unless it is a single report, a file name or not iterable.

    Parameters
    ----------
    reports : object
        Argument of the caller.
    name, remedy, of : str
        Name of the argument, advice, and name of its elements, for the error message.

    Raises
    ------
    ValueError
        If `reports` is not an iterable of reports.
    """
    single = isinstance(reports, (str, bytes, Mapping)) or hasattr(reports, "__fspath__")
    if single or not isinstance(reports, Iterable):
        raise ValueError(f"{name} must be an iterable of {of}, got {type(reports).__name__}; {remedy}")
    return reports


def lines(messages, longest):
    """Yield messages; from a file, yield its lines, cut after `longest` + 2 characters.

    A UTF-8 text file is read as bytes if possible, because one invalid line must not stop the others.
    """
    if not hasattr(messages, "readline"):
        yield from messages
        return
    file = messages
    if isinstance(file, io.TextIOWrapper) and codecs.lookup(file.encoding).name in ("utf-8", "ascii"):
        with suppress(OSError):  # a pipe, or the caller is iterating over the file
            file.seek(file.tell())  # discards the read-ahead buffer
            file = file.buffer
    try:
        while line := file.readline(longest + len("\r\n")):
            yield line
            while line and line[-1:] not in ("\n", b"\n"):  # skip the rest of a line that is too long
                line = file.readline(longest)
    except UnicodeError:
        raise ValueError(
            "reports must be UTF-8, and this text file cannot be read as bytes; open it in binary, open(path, 'rb'), "
            "or hand over sys.stdin.buffer."
        ) from None


def blocks(messages, characters, unparsed, most=None):
    """Yield lists of at most `most` messages; the last list may be empty.

    A list ends with the message that brings its length to `characters`. A message that is not text has length
    `unparsed`.
    """
    block, room = [], characters
    for message in messages:
        block.append(message)
        room -= len(message) if isinstance(message, (str, bytes)) else unparsed
        if room <= 0 or len(block) == most:
            yield block
            block, room = [], characters
    yield block


def parsed(report, longest=LONGEST):
    """Return a report as an object; parse it if it is text.

    Raises
    ------
    RefusedReport
        If the text has more than `longest` characters, or is not JSON in UTF-8.
    """
    if not isinstance(report, (str, bytes)):
        return report
    if len(report) > longest:
        raise RefusedReport("too long")
    try:
        # Twice as fast as `json.loads`, which also detects the encoding and skips white space.
        text = (report.decode("utf-8") if isinstance(report, bytes) else report).strip(_BLANK)
        found, end = _JSON.raw_decode(text)
        if end == len(text):
            return found
    except (ValueError, RecursionError):
        pass
    raise RefusedReport("not JSON")


# Fields of untrusted reports.


def of_protocol(names, report):
    """Return a report.

    Raises
    ------
    RefusedReport
        If it is not a JSON object, or does not carry the name of one of these protocols.
    """
    if not isinstance(report, dict):
        raise RefusedReport("not a JSON object")
    name = report.get("protocol")
    if not isinstance(name, str) or name not in names:
        raise RefusedReport("another protocol")
    return report


def columns(reports, *names, also=("protocol",)):
    """Return, for each of `names`, the list of its values in all reports.

    Raises
    ------
    RefusedReport
        If the keys of a report are not exactly `names` and `also`.
    """
    keys = {*names, *also}
    reject_unless(all(report.keys() == keys for report in reports), "wrong keys")
    return [[report[name] for report in reports] for name in names]


def new_numbers(numbers, received):
    """Return the random numbers of new reports as a set of int.

    Raises
    ------
    RefusedReport
        If a number has another form than devices write, occurs twice, or is in `received`.
    """
    reject_unless(all(is_digits(number, 32) for number in numbers), "no report number")
    return new_voters([int(number, 16) for number in numbers], received, RECEIVED_BEFORE)


def new_voters(voters, received, reason=ANSWERED_BEFORE):
    """Return the numbers of registered voters as a set.

    Raises
    ------
    RefusedReport
        If a number occurs twice, or is in `received`, with this reason.
    """
    new = set(voters)
    # In this order, it takes time for `new` only.
    reject_unless(len(new) == len(voters) and received.isdisjoint(new), reason)
    return new


def end_to_end(rows, length, reason):
    """Return lists as one list.

    Raises
    ------
    RefusedReport
        If a row is not a list of this length, with this reason.
    """
    reject_unless(set(map(type, rows)) == {list} and set(map(len, rows)) == {length}, reason)
    return list(chain.from_iterable(rows))


def whole_numbers(numbers, low, high, reason):
    """Return numbers as an array of int64.

    Raises
    ------
    RefusedReport
        If a number is not an integer from `low` to `high`, with this reason. Booleans are not integers.
    """
    reject_unless(set(map(type, numbers)) == {int}, reason)
    found = np.array(numbers)  # of another dtype if a number has more than 64 bits
    reject_unless(low <= found.min() and found.max() <= high, reason)
    return found.astype(np.int64, copy=False)


def pair_answers(pairs, answers, n_items):
    """Return answers about pairs as three arrays: the items i and j of each pair, and whether i precedes j.

    Raises
    ------
    RefusedReport
        If a pair is not a list [i, j] of item indices, i < j, or an answer is not 0 or 1.
    """
    items = whole_numbers(end_to_end(pairs, 2, _PAIR), 0, n_items - 1, _PAIR)
    first, second = items[::2], items[1::2]
    reject_unless((first < second).all(), _PAIR)
    return first, second, whole_numbers(answers, 0, 1, "answer out of range").astype(bool)


# Counts of accepted and refused reports.


@dataclass
class Inbox:
    """Counts of accepted reports and, by reason, of refused ones, and readers of streams that count."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def read(self, reports, read, longest=LONGEST):
        """Yield ``read(report)`` for each report that `read` accepts, and count the others.

        Parameters
        ----------
        reports : iterable of dict, str or bytes
            JSON objects, parsed or not. A file is read line by line, and only the beginning of a line that is too long.
        read : callable of (report) -> object
            Reads a parsed report. It raises `RefusedReport` if the report does not follow the protocol.
        longest : int, default=LONGEST
            Largest number of characters of a report that is parsed.
        """
        for report in lines(reports, longest):
            try:
                drawn = read(parsed(report, longest))
            except RefusedReport as error:
                self.refused[error.reason] += 1
            else:
                yield drawn

    def read_together(self, reports, names, read, number=None, characters=_CHARACTERS):
        """Yield (name, drawn) for blocks of accepted reports of the same protocol, and count all reports.

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
        characters : int
            Size of a block.

        Yields
        ------
        name : str
            Name of the protocol.
        drawn : object
            Result of `read` for some reports.
        """
        places = {name: place for place, name in enumerate(names)}
        for block in blocks(lines(reports, LONGEST), characters, _CHARACTERS // _TOGETHER):
            known = list(self.read(block, partial(of_protocol, places)))
            numbers = [report[number] for report in known if type(report.get(number)) is int]
            if len(names) > 1 and len(set(numbers)) == len(numbers):  # the first of equal numbers must stay first
                known.sort(key=lambda report: places[report["protocol"]])
            # A stack, with the first reports on top. If `read` refuses one of several reports, it reads each half.
            waiting = [list(mine) for _, mine in groupby(known, itemgetter("protocol"))][::-1]
            while waiting:
                mine = waiting.pop()
                name, half = mine[0]["protocol"], len(mine) // 2
                try:
                    drawn = read(mine, name)
                except RefusedReport as error:
                    if half:
                        waiting += [mine[half:], mine[:half]]
                    else:
                        self.refused[error.reason] += 1
                else:
                    self.accepted += len(mine)
                    yield name, drawn

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


# Counts that add up, and the reader that counts reports in this process or in parts on dask.

_VERSION = 1  # of the text
_LARGEST = 2**53 - 1  # of a count in the text; beyond it, languages read a JSON number differently
_LONGEST_REASON = 100  # characters


class Tally(NamedTuple):
    """Counts of the reports of one protocol: their sum, int64, and their number. Without reports, `counts` is empty."""

    counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    n_reports: int = 0

    def plus(self, other: Tally) -> Tally:
        """Return the counts of both."""
        if not (self.n_reports and other.n_reports):
            return self if self.n_reports else other
        if self.counts.shape != other.counts.shape:
            raise ValueError("counts of the same protocol have different shapes; count the reports of one part again.")
        return Tally(self.counts + other.counts, self.n_reports + other.n_reports)


class ReportCounts:
    """Counts of reports that add up, for reports that are received or read in several parts.

    ``estimator.count_reports(reports, items=...)`` makes it, and ``estimator.fit_reports(counts, items=...)`` accepts
    it in place of the reports. ``counts + other`` has the reports of both, in this order. The fit is the same, to the
    last bit, as a fit on all reports one after another.

    Counts belong to one protocol and contain its digest. Counts of different protocols do not add up. A fit refuses
    counts of another protocol.

    Parameters
    ----------
    tallies : dict of {str: Tally}
        Counts by protocol: one protocol, or one for each epsilon if voters have their own. The key is the digest.
    reports_refused : mapping of {str: int}
        Number of refused messages, by reason.
    submissions : mapping of {int: bytes} or None, default=None
        Reports of which only the first with a number counts, by this number: submissions of the shuffle model, and
        reports of registered voters. They are not in `tallies`. See Privacy.
    second : str, default="received before"
        Reason of refusal of a second report with the same number.

    Attributes
    ----------
    reports_accepted : int
        Number of accepted reports, or of accepted messages in the shuffle model.
    tallies, reports_refused, submissions, second
        The parameters.

    Notes
    -----
    .. rubric:: Privacy

    Counts are sums over reports that devices have randomised. In the local model, each voter has the guarantee of the
    report. In the shuffle model, counts of fewer than ``min_reports`` voters do not hide these voters. So do not
    publish the counts of a part. A fit checks ``min_reports`` on the sum of all parts.

    If one party is both shuffler and curator and passes whole submissions, each voter counts once in all parts. The
    counts of a part therefore keep the submissions with their numbers, in memory and in a pickle. The same holds for
    reports of registered voters, which devices have randomised (``LDPPairwise(pairs="assigned")``). `to_json` refuses
    such counts.

    Examples
    --------
    >>> import json
    >>> from sklearn_dprank import LDPPairwise
    >>> from sklearn_dprank.collection import Device, ReportCounts
    >>> estimator, drinks = LDPPairwise(epsilon=2.0), ["tea", "coffee", "water"]
    >>> protocol = estimator.protocol(drinks)
    >>> monday = estimator.count_reports([Device(protocol).report([0, 1, 2]), "damaged"], items=drinks)
    >>> tuesday = estimator.count_reports([json.dumps(Device(protocol).report([1, 0, 2]))], items=drinks)
    >>> total = monday + tuesday
    >>> ReportCounts.from_json(total.to_json())
    ReportCounts(reports_accepted=2, reports_refused={'not JSON': 1})
    >>> estimator.fit_reports(total, items=drinks).reports_accepted_
    2
    """

    def __init__(
        self,
        tallies: Mapping[str, Tally],
        reports_refused: Mapping[str, int],
        submissions: Mapping[int, bytes] | None = None,
        second: str = RECEIVED_BEFORE,
    ) -> None:
        self.second = second
        self.tallies = dict(tallies)
        self.reports_refused = dict(sorted(reports_refused.items()))
        self.submissions = dict(submissions or {})
        # In the shuffle model, the messages of submissions count, not the submissions.
        counted = self.submitted() if second == RECEIVED_BEFORE else self.submissions
        self.reports_accepted = sum(tally.n_reports for tally in self.tallies.values()) + len(counted)

    def submitted(self) -> NDArray[np.int64]:
        """Return the messages of all submissions.

        Returns
        -------
        ndarray of int64, shape (n_messages,)
            Codes of the messages, as their reader made them.
        """
        return np.frombuffer(b"".join(self.submissions.values()), dtype=np.int64)

    def published(self, remedy: str) -> dict[str, Any]:
        """Return the numbers of accepted and refused reports, which a release publishes.

        Parameters
        ----------
        remedy : str
            End of the error message if no report was accepted: whole sentences.

        Returns
        -------
        dict
            ``reports_accepted`` and ``reports_refused``.

        Raises
        ------
        ValueError
            If no report was accepted.
        """
        Inbox(self.reports_accepted, Counter(self.reports_refused)).require(remedy)
        return {"reports_accepted": self.reports_accepted, "reports_refused": dict(self.reports_refused)}

    def __add__(self, other: ReportCounts) -> Self:
        if not isinstance(other, ReportCounts):
            return NotImplemented
        if self.tallies.keys() != other.tallies.keys():
            raise ValueError(
                f"counts of the protocols {sorted(self.tallies)} and {sorted(other.tallies)} do not add up; count all "
                "parts with the same estimator, items and epsilons."
            )
        tallies = {name: tally.plus(other.tallies[name]) for name, tally in self.tallies.items()}
        refused = Counter(self.reports_refused) + Counter(other.reports_refused)
        second = self.second if self.submissions else other.second  # a text does not contain it
        if twice := len(self.submissions.keys() & other.submissions.keys()):
            refused[self.second] += twice
        submissions = {**other.submissions, **self.submissions}  # the first one counts
        return type(self)(tallies, refused, submissions, second)

    def __repr__(self):
        return f"ReportCounts(reports_accepted={self.reports_accepted}, reports_refused={self.reports_refused})"

    def to_json(self) -> str:
        """Return the counts as text. Equal counts have equal texts.

        Returns
        -------
        str
            Text for `from_json`: the digest of the protocol, counts and reasons of refusal.

        Raises
        ------
        ValueError
            If the counts keep submissions of the shuffle model, or reports of registered voters.
        """
        if self.submissions and self.second == RECEIVED_BEFORE:
            raise ValueError(
                "these counts keep submissions of voters, which must not leave the shuffler; pass the submissions to a "
                "Shuffler, and count the messages that it releases."
            )
        if self.submissions:
            raise ValueError(
                "these counts keep the reports of registered voters, of which each counts once; add them up by +, "
                "and send them between machines by pickle."
            )
        tallies = {
            name: {"n_reports": n_reports, "shape": list(counts.shape), "counts": counts.ravel().tolist()}
            for name, (counts, n_reports) in self.tallies.items()
        }
        state = {"report_counts": _VERSION, "protocols": tallies, "refused": self.reports_refused}
        return json.dumps(state, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the counts from the text of `to_json`.

        Parameters
        ----------
        text : str
            Text that `to_json` returned, perhaps on another machine.

        Returns
        -------
        ReportCounts
            The counts.

        Raises
        ------
        ValueError
            If the text does not have the form of `to_json`. ``fit_reports`` also checks that the counts are possible
            for its protocol and their number of reports.
        """
        problem, tallies = "text must be what ReportCounts.to_json returned; count the reports again.", {}
        with suppress(TypeError, ValueError, AttributeError, LookupError, RecursionError):
            state = json.loads(text)
            known = set(state) == {"report_counts", "protocols", "refused"} and is_whole(state["report_counts"], 1)
            if known and state["report_counts"] != _VERSION:
                problem = (
                    f"text must have version {_VERSION} of report counts; both machines need releases of this package "
                    "that write the same version."
                )
            elif known and all(len(why) <= _LONGEST_REASON and is_whole(n, 1) for why, n in state["refused"].items()):
                tallies = {name: _stored_tally(name, stored) for name, stored in state["protocols"].items()}
        if not tallies:
            raise ValueError(problem)
        return cls(tallies, state["refused"])


def _stored_tally(name, stored):
    """Return the counts of a protocol in the text of `ReportCounts`; raise an error if they are invalid."""
    n_reports, shape, counts = (stored.pop(field) for field in ("n_reports", "shape", "counts"))
    valid = is_digits(name, 16) and is_whole(n_reports, 0) and type(shape) is type(counts) is list
    valid = valid and all(is_whole(length, 0) for length in shape) and prod(shape) == len(counts)
    if stored or not valid or (n_reports == 0) != (not counts):
        raise ValueError
    if counts:
        whole_numbers(counts, -_LARGEST, _LARGEST, "count out of range")
    return Tally(np.array(counts, dtype=np.int64).reshape(shape), n_reports)


class ReportReader:
    """Reader that counts the reports of some protocols. It can be pickled, because it runs in the workers of dask.

    A channel's subclass defines three methods. ``read(submissions, reports, name)`` returns the values in reports, and
    puts reports of which each counts once into `submissions` instead. ``counts(drawn, protocol)`` returns the sum over
    the reports with these values. ``are_counts(counts, n_reports, protocol)`` returns whether `n_reports` reports can
    have these counts.

    Parameters
    ----------
    protocols : iterable of dict
        Protocols over the same items.
    """

    #: Reason of refusal of a second report with the same number.
    second = RECEIVED_BEFORE
    #: Field of this number, if reports of several protocols have it.
    number: str | None = None
    read: Callable[..., Any]
    counts: Callable[..., NDArray[np.int64]]
    are_counts: Callable[..., bool]

    def __init__(self, protocols: Iterable[dict[str, Any]]) -> None:
        self.protocols = {digest(protocol): protocol for protocol in protocols}

    def __call__(self, reports: Iterable[Message] | ReportCounts) -> ReportCounts:
        """Return the counts of reports, or of parts of them.

        Parameters
        ----------
        reports : iterable of dict, str or bytes, ReportCounts, or dask collection
            Reports, or their counts. Parts on dask (a bag, or a list of delayed parts) are read in its workers, and
            only counts leave them. Each part is an iterable of reports or a `ReportCounts`.

        Returns
        -------
        ReportCounts
            The counts. None of the reports may have been accepted.

        Raises
        ------
        ValueError
            If `reports` is none of these, or counts belong to another protocol.
        """
        if isinstance(reports, ReportCounts):
            return self._checked(reports)
        if is_lazy(reports):
            parts = _parts(reports)
            return reduce_partitions(parts, self, partial(reduce, add)) if parts else self([])
        inbox, submissions = Inbox(), dict[int, bytes]()
        read = partial(self.read, submissions)
        n_items = len(next(iter(self.protocols.values()))["items"])
        size = min(max(_CHARACTERS, n_items**2), _MOST_CHARACTERS)  # not smaller than a table of all pairs
        accepted = inbox.read_together(as_reports(reports), self.protocols, read, self.number, size)
        tallies = dict.fromkeys(self.protocols, Tally())
        for name, drawn in accepted:
            n_reports = len(drawn[0] if isinstance(drawn, tuple) else drawn)
            tallies[name] = tallies[name].plus(Tally(self.counts(drawn, self.protocols[name]), n_reports))
        return ReportCounts(tallies, inbox.refused, submissions, self.second)

    def _checked(self, counts):
        """Return counts in the order of the own protocols; raise ValueError unless they are of these protocols."""
        if counts.tallies.keys() != self.protocols.keys():
            raise ValueError(
                f"reports holds counts of the protocols {sorted(counts.tallies)}, but this estimator has "
                f"{sorted(self.protocols)} for these items; use the parameters, items and epsilons of count_reports."
            )
        for name, (table, n_reports) in counts.tallies.items():
            if n_reports and not self.are_counts(table, n_reports, self.protocols[name]):
                raise ValueError(
                    f"reports holds counts that {n_reports} reports of the protocol {name!r} cannot have; count the "
                    "reports again."
                )
        tallies = {name: counts.tallies[name] for name in self.protocols}  # in this order, as if read here
        return ReportCounts(tallies, counts.reports_refused, counts.submissions, counts.second)


def _parts(reports):
    """Return the parts of a dask bag, of a Delayed, or of a list of them, in order."""
    if isinstance(reports, (list, tuple)):
        return [part for one in reports for part in _parts(one)]
    if not hasattr(type(reports), "to_delayed"):
        return [reports]
    if hasattr(reports, "ndim"):
        raise ValueError(
            f"reports must be a dask bag or a list of delayed parts, got a dask {type(reports).__name__}; each part is "
            "an iterable of reports."
        )
    return list(reports.to_delayed())
