"""Simulated and remote clients that answer the curator's questions one at a time."""

from functools import partial
from numbers import Integral

import numpy as np

from ..collection.client.interactive import InteractiveRandomizer
from ..collection.client.protocol import digest
from ..collection.curator.base import joined
from ..collection.curator.inbox import (
    FOLLOW,
    Inbox,
    RefusedReport,
    as_reports,
    bits_of,
    columns,
    new_numbers,
    pairs_of,
    whole_numbers,
)


class SimulatedClients:
    """Clients simulated in this process, one for each column of ``ballots.table``."""

    def __init__(self, ballots, protocol, bits):
        self._ballots, self._protocol, self._bits = ballots, protocol, bits
        self.inbox = Inbox()

    def ask(self, number, kind, pairs, voters):
        """Return (first, second, answers), arrays of shape (n_asked, 1): each client's pair and randomised answer."""
        self.inbox.accepted += len(voters)
        return InteractiveRandomizer().draw(self._protocol, self._ballots, self._bits, kind, pairs, voters)

    def close(self):
        """Accept a session without answers, which is possible with few voters."""


class RemoteClients:
    """Remote clients; ``messenger(question)`` returns an iterable of reports or of pairs (voter, report)."""

    def __init__(self, messenger, protocol):
        self._messenger, self._protocol = messenger, protocol
        self._name = digest(protocol)
        self.inbox = Inbox()

    def ask(self, number, kind, pairs, voters):
        """Return (first, second, answers) of the valid reports, at most as many as voters were asked.

        A report contains a random number of its device, and each number is accepted once per question. Of pairs
        (voter, report), only the first of each voter who was asked is read.
        """
        asked = pairs.tolist()
        question = {"protocol": self._name, "question": number, "kind": kind, "pairs": asked}
        reports = self._messenger({**question, "voters": voters.tolist()})
        reports = as_reports(reports, "what ask returns", "return a list of the devices' answers.")
        if not hasattr(reports, "readline"):
            reports = self._of_voters(reports, set(voters.tolist()))
        read = partial(self._read, number, pairs, self.inbox.accepted + len(voters), set())
        answers = [drawn for _, drawn in self.inbox.read_together(reports, {self._name}, read)]
        return joined(answers) if answers else np.empty((3, 0), dtype=np.int64)

    def close(self):
        """Raise ValueError if no answer was accepted."""
        self.inbox.require(
            "The function ask must deliver each question to the devices in question['voters'], and return their "
            f"answers. Devices {FOLLOW}. A larger n_voters may be needed, so that somebody is asked."
        )

    def _of_voters(self, reports, asked):
        """Yield reports; of pairs (voter, report), yield the first of each voter who was asked and count the rest."""
        waiting = set(asked)
        for report in reports:
            if type(report) is tuple and len(report) == 2:
                voter, report = report
                if not isinstance(voter, Integral) or voter not in waiting:
                    known = isinstance(voter, Integral) and voter in asked
                    self.inbox.refused["voter answered before" if known else "voter not asked"] += 1
                    continue
                waiting.remove(voter)
            yield report

    def _read(self, number, allowed, most, received, reports, name):
        """Return (first, second, answers); refuse invalid reports and reports beyond `most` accepted in total."""
        asked, numbers, pairs, answers = columns(reports, "question", "report", "pair", "answer")
        whole_numbers(asked, number, number, "another question")
        n_items = len(self._protocol["items"])
        first, second = pairs_of(pairs, n_items)
        if not np.isin(first * n_items + second, allowed @ (n_items, 1)).all():
            raise RefusedReport("pair out of range")
        answered = bits_of(answers)
        new = new_numbers(numbers, received)
        if self.inbox.accepted + len(reports) > most:
            raise RefusedReport("more reports than voters asked")
        received |= new
        return first, second, answered
