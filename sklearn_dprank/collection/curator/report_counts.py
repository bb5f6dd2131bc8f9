"""Mergeable counts of reports, and the reader that counts reports in this process or in parts on dask."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial, reduce
from math import prod
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..._utils.types import Message
from ...ballots.profile import is_lazy, reduce_partitions
from ..client.protocol import digest, is_digits, is_whole
from .inbox import RECEIVED_BEFORE, Inbox, as_reports, gathered, whole_numbers

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

    @property
    def reports_accepted(self) -> int:
        numbered = self.submitted() if self.second == RECEIVED_BEFORE else self.submissions
        return sum(tally.n_reports for tally in self.tallies.values()) + len(numbered)

    def submitted(self) -> NDArray[np.int64]:
        """Return the messages of all submissions.

        Returns
        -------
        ndarray of int64, shape (n_messages,)
            Codes of the messages, as their reader made them.
        """
        return np.frombuffer(b"".join(self.submissions.values()), dtype=np.int64)

    def inbox(self, remedy: str) -> Inbox:
        """Return an inbox with these numbers of accepted and refused reports.

        Parameters
        ----------
        remedy : str
            End of the error message if no report was accepted: whole sentences.

        Returns
        -------
        Inbox
            The inbox.

        Raises
        ------
        ValueError
            If no report was accepted.
        """
        inbox = Inbox()
        inbox.accepted, inbox.refused = self.reports_accepted, Counter(self.reports_refused)
        inbox.require(remedy)
        return inbox

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
        if self.submissions and self.second != RECEIVED_BEFORE:
            raise ValueError(
                "these counts keep the reports of registered voters, of which each counts once; add them up by +, and "
                "send them between machines by pickle."
            )
        if self.submissions:
            raise ValueError(
                "these counts keep submissions of voters, which must not leave the shuffler; pass the submissions to a "
                "Shuffler, and count the messages that it releases."
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
        try:
            state = json.loads(text)
            if set(state) != {"report_counts", "protocols", "refused"} or not is_whole(state["report_counts"], 1):
                raise ValueError
            if state["report_counts"] != _VERSION:
                raise _OtherVersion
            refused = state["refused"]
            if not all(len(reason) <= _LONGEST_REASON and is_whole(n, 1) for reason, n in refused.items()):
                raise ValueError
            tallies = {name: _tally(name, **fields) for name, fields in state["protocols"].items()}
            if not tallies:
                raise ValueError
        except _OtherVersion:
            raise ValueError(
                f"text must have version {_VERSION} of report counts; both machines need releases of this package that "
                "write the same version."
            ) from None
        except (TypeError, ValueError, AttributeError, RecursionError):
            raise ValueError("text must be what ReportCounts.to_json returned; count the reports again.") from None
        return cls(tallies, refused)


class _OtherVersion(Exception):
    """Text of another version."""


def _tally(name: str, n_reports: Any, shape: Any, counts: Any) -> Tally:
    """Return the counts of one protocol; raise ValueError or TypeError if the stored form is invalid."""
    valid = is_digits(name, 16) and is_whole(n_reports, 0) and type(shape) is list and type(counts) is list
    valid = valid and all(is_whole(length, 0) for length in shape) and prod(shape) == len(counts)
    if not valid or (n_reports == 0) != (not counts):
        raise ValueError
    found = whole_numbers(counts, -_LARGEST, _LARGEST, "count out of range") if counts else np.zeros(0, dtype=np.int64)
    return Tally(found.reshape(shape), n_reports)


class ReportReader:
    """Reader that counts the reports of some protocols; a channel's subclass defines `read`, `counts`, `are_counts`.

    It can be pickled, because it runs in the workers of dask.

    Parameters
    ----------
    protocols : iterable of dict
        Protocols over the same items.
    """

    #: Reason of refusal of a second report with the same number.
    second = RECEIVED_BEFORE
    #: Field of this number, if reports of several protocols have it.
    number: str | None = None

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
            return reduce_partitions(parts, self, _total) if parts else self([])
        inbox, submissions = Inbox(), dict[int, bytes]()
        read = partial(self.read, submissions)
        accepted = inbox.read_together(as_reports(reports), self.protocols, read, self.number)
        tallies = dict.fromkeys(self.protocols, Tally())
        n_items = len(next(iter(self.protocols.values()))["items"])
        for name, drawn, n_reports in gathered(accepted, n_items):
            tallies[name] = tallies[name].plus(Tally(self.counts(drawn, self.protocols[name]), n_reports))
        return ReportCounts(tallies, inbox.refused, submissions, self.second)

    def read(self, submissions: dict[int, bytes], reports: list[dict[str, Any]], name: str) -> Any:
        """Return the values in reports; put reports of which each counts once into `submissions` instead."""
        raise NotImplementedError

    def counts(self, drawn: Any, protocol: dict[str, Any]) -> NDArray[np.int64]:
        """Return the sum over the reports with these values."""
        raise NotImplementedError

    def are_counts(self, counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> bool:
        """Return whether `n_reports` reports can have these counts."""
        raise NotImplementedError

    def _checked(self, received):
        """Return counts; raise ValueError if they belong to other protocols, or are impossible."""
        if received.tallies.keys() != self.protocols.keys():
            raise ValueError(
                f"reports holds counts of the protocols {sorted(received.tallies)}, but this estimator has "
                f"{sorted(self.protocols)} for these items; use the parameters, items and epsilons of count_reports."
            )
        for name, (counts, n_reports) in received.tallies.items():
            if n_reports and not self.are_counts(counts, n_reports, self.protocols[name]):
                raise ValueError(
                    f"reports holds counts that {n_reports} reports of the protocol {name!r} cannot have; count the "
                    "reports again."
                )
        tallies = {name: received.tallies[name] for name in self.protocols}  # in this order, as if read here
        return ReportCounts(tallies, received.reports_refused, received.submissions, received.second)


def _total(parts: Collection[ReportCounts]) -> ReportCounts:
    """Return the counts of all parts, in order."""
    return reduce(add, parts)


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
