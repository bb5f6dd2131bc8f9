"""The voters whom a curator may ask, one question at a time: simulated here, or in the field."""

from functools import partial

import numpy as np

from ..devices import interactive as voters_half
from ..devices.protocol import digest
from ..randomizers.reports import Inbox, RefusedReport, as_reports, fields, protocol_of, require_answer, require_pair


class SimulatedCrowd:
    """Voters whose devices run here, side by side.

    Parameters
    ----------
    ballots : Positions
        Of all voters.
    protocol : dict
        What their devices follow.
    bits : Bits
        Their randomness.
    """

    def __init__(self, ballots, protocol, bits):
        self._ballots, self._protocol, self._bits = ballots, protocol, bits
        self.inbox = Inbox()

    def ask(self, number, kind, pairs, voters):
        """Return (first, second, answers): the pair that each of `voters` was asked about, and what it said."""
        ballots = self._ballots._replace(table=self._ballots.table[:, voters])
        self.inbox.accepted += len(voters)
        return voters_half.draw(self._protocol, ballots, self._bits, kind, pairs)

    def close(self):
        """Find nothing wrong: with few voters it may be that nobody was asked."""


class FieldCrowd:
    """Voters elsewhere.

    Parameters
    ----------
    messenger : callable
        Delivers a question and returns an iterable of reports.
    protocol : dict
        What their devices follow.
    """

    def __init__(self, messenger, protocol):
        self._messenger, self._protocol = messenger, protocol
        self._name = digest(protocol)
        self.inbox = Inbox()

    def ask(self, number, kind, pairs, voters):
        """Return (first, second, answers) of the reports that follow the protocol, at most one of each voter."""
        asked = pairs.tolist()
        question = {"protocol": self._name, "question": number, "kind": kind, "pairs": asked}
        said = self._messenger({**question, "voters": voters.tolist()})
        reports = as_reports(said, "what ask returns", "return a list of the devices' answers.")
        read = partial(self._read, number, set(map(tuple, asked)), self.inbox.accepted + len(voters))
        return np.array(list(self.inbox.read(reports, read)), dtype=np.int64).reshape(-1, 3).T

    def close(self):
        """Raise unless an answer was accepted."""
        self.inbox.require(
            "ask must deliver each question to the devices in question['voters'] and return their answers, devices "
            "must follow estimator.protocol(items) with the same items in the same order, and n_voters must not be so "
            "small that nobody is asked."
        )

    def _read(self, number, allowed, most, report):
        """Return (i, j, answer) of a report that follows the protocol, while there are voters who may have sent it."""
        if protocol_of(report) != self._name:
            raise RefusedReport("another protocol")
        asked, pair, said = fields(report, "question", "pair", "answer")
        if type(asked) is not int or asked != number:
            raise RefusedReport("another question")
        require_pair(pair, len(self._protocol["items"]))
        if tuple(pair) not in allowed:
            raise RefusedReport("pair out of range")
        require_answer(said)
        if self.inbox.accepted == most:
            raise RefusedReport("more reports than voters asked")
        return *pair, said
