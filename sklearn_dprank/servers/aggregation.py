"""One server of secure aggregation: it keeps its shares, agrees on whom to count, and says one sum a question."""

import hashlib
import json
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from ..devices import rounds
from ..devices.halves import checked
from ..devices.protocol import digest, is_whole, refuse_unless
from ..devices.shares import summed
from ..privacy.ledger import BudgetExhausted
from .messages import checked_voters, read

_TOGETHER = 1024  # reports kept, or added up, at a time
_TABLES = (
    "CREATE TABLE IF NOT EXISTS server (protocol TEXT, number INTEGER, question INTEGER, name TEXT, said TEXT)",
    "CREATE TABLE IF NOT EXISTS shares (report BLOB PRIMARY KEY, share BLOB) WITHOUT ROWID",
)


class AggregationServer:
    """One of several servers among which voters split their noisy ballots.

    It sees uniform random numbers, and says their sum: once, over the voters on whom all servers agree, and over no
    fewer than the protocol's ``min_reports``. Two sums over different voters would differ by few ballots, so after one
    it says no other, in this process or after a restart. Where a protocol has several questions, it says one sum for
    each, and never goes back to an earlier one. Run servers where they do not share what they keep: one that is honest
    is enough.

    Parameters
    ----------
    protocol : dict
        As published by the curator (``estimator.protocol(items)``); it is checked as devices check it.
    number : int
        Which of the protocol's servers this is, from 0.
    path : str or path-like, default=":memory:"
        A file that outlives a restart: opened again, the server goes on where it was. Shares are kept in it until
        the sum is said, then dropped. ":memory:" forgets everything with the process.

    Attributes
    ----------
    refused : dict of {str: int}
        How many messages this process has left out, by reason.

    Raises
    ------
    RefusedProtocol
        If the protocol is not of the form, or states less than it spends.
    ValueError
        If the file is that of another server or protocol.

    Notes
    -----
    A server cannot see that a voter's numbers are out of range: one voter who sends nonsense can move the sum by any
    amount. Nor can it see who is a voter: somebody who sends ``min_reports`` - 1 reports of his own, and lets one other
    through, reads that one all but bare. Take messages only from those who are known to be voters, one of each.

    Examples
    --------
    >>> from sklearn_dprank import SecAggBorda
    >>> from sklearn_dprank.servers import AggregationServer, agreed
    >>> curator = SecAggBorda(epsilon=2.0, min_reports=300)
    >>> protocol = curator.protocol(["tea", "coffee", "water"])
    >>> servers = [AggregationServer(protocol, number) for number in range(2)]
    >>> for voter in range(300):
    ...     messages = curator.client(["tea", "coffee", "water"]).report([1, 0, 2])
    ...     for server, message in zip(servers, messages):
    ...         _ = server.receive([message])
    >>> voters = agreed(server.reports() for server in servers)
    >>> sums = [server.release(voters) for server in servers]
    >>> curator.fit_sums(sums, items=["tea", "coffee", "water"]).consensus_.tolist()
    ['coffee', 'tea', 'water']
    """

    def __init__(self, protocol: dict[str, Any], number: int, path: Any = ":memory:") -> None:
        self._protocol = checked(protocol)
        self._asks = self._protocol["randomizer"] == "skellam-rounds"
        known = self._asks or self._protocol["randomizer"] == "skellam-shares"
        refuse_unless(known, "randomizer", "skellam-shares or skellam-rounds")
        if not is_whole(number, 0, self._protocol["servers"] - 1):
            raise ValueError(f"number must be an integer from 0 to {self._protocol['servers'] - 1}, got {number!r}.")
        self._name, self._number = digest(self._protocol), number
        self._refused: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._kept = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._kept.close)  # a server that is dropped leaves no open file
        self._kept.execute("PRAGMA secure_delete = ON")
        self._open(path)

    def _open(self, path):
        """Make the tables, or go on with those that are there."""
        with self._transaction():
            for table in _TABLES:
                self._kept.execute(table)
            rows = self._kept.execute("SELECT protocol, number FROM server").fetchall()
            if not rows:
                self._kept.execute("INSERT INTO server VALUES (?, ?, 0, NULL, NULL)", (self._name, self._number))
        if rows and rows != [(self._name, self._number)]:
            self.close()
            raise ValueError(f"path={str(path)!r} is the file of another server, or of another protocol.")

    def ask(self, question: Mapping[str, Any]) -> None:
        """Turn to a question; where the protocol has none, there is nothing to turn to.

        Shares of the question before are dropped: if its sum was not said, it never is.

        Parameters
        ----------
        question : dict
            As devices get it; checked as they check it. The one at hand again changes nothing.

        Raises
        ------
        BudgetExhausted
            If this server has turned to a later question, or to another of this number.
        ValueError
            If the question does not follow the protocol.
        """
        if not self._asks:
            raise ValueError("this protocol asks no questions: voters report once.")
        asked = rounds.asked(question, self._protocol)
        with self._lock, self._transaction():
            number, name = self._question()
            if (number, name) == (asked.number, asked.name):
                return
            if asked.number <= number:
                raise BudgetExhausted(f"this server has turned to question {number}, and to no earlier or second one.")
            self._kept.execute("UPDATE server SET question = ?, name = ?, said = NULL", (asked.number, asked.name))
            self._kept.execute("DELETE FROM shares")

    @property
    def refused(self) -> dict[str, int]:
        return dict(self._refused)

    def receive(self, messages: Iterable[Mapping[str, Any] | str | bytes]) -> int:
        """Keep shares; each message that does not follow the protocol is left out and counted in `refused`.

        Parameters
        ----------
        messages : iterable of dict, str or bytes
            One a voter, as its device wrote it for this server: a JSON object, parsed or not; an open file has one a
            line. Read once, as a stream. A report that comes again is counted once; what came first stays.

        Returns
        -------
        int
            How many reports were new.

        Raises
        ------
        BudgetExhausted
            If the sum has been said: who comes now is in no other.
        """
        new, stream = 0, iter(messages)
        while block := list(islice(stream, _TOGETHER)):
            with self._lock, self._transaction():
                rows = list(self._read(block, *self._about()))
                if self._said() is not None:
                    raise BudgetExhausted("this server has said its sum; whoever comes now is not in it.")
                before = self._kept.total_changes
                self._kept.executemany("INSERT OR IGNORE INTO shares VALUES (?, ?)", rows)
                new += self._kept.total_changes - before
        return new

    def reports(self) -> list[str]:
        """Return the random numbers of the reports that are here, in order: the servers' meeting point.

        They say nothing of the voters, and who sees them can count no voter twice.
        """
        with self._lock:
            return [report.hex() for (report,) in self._kept.execute("SELECT report FROM shares ORDER BY report")]

    def release(self, voters: Iterable[str]) -> dict[str, Any]:
        """Return the sum of the shares of these voters, once.

        Parameters
        ----------
        voters : iterable of str
            Random numbers of the reports that all servers have, as `agreed` gives them.

        Returns
        -------
        dict
            JSON-able, for ``estimator.fit_sums``. Asked again for the same voters, the same.

        Raises
        ------
        BudgetExhausted
            If a sum over other voters has been said.
        ValueError
            If there are fewer voters than ``min_reports``, more than ``max_reports``, or some whom this server does
            not have.
        """
        chosen = checked_voters(voters)
        name = hashlib.sha256("".join(chosen).encode()).hexdigest()
        with self._lock, self._transaction():
            said = self._said()
            if said is None:
                said = json.dumps(self._summed(chosen, name))
                # One transaction: the sum is on disk before anybody hears it, and the shares are gone.
                self._kept.execute("UPDATE server SET said = ?", (said,))
                self._kept.execute("DELETE FROM shares")
        if json.loads(said)["voters"] != name:
            raise BudgetExhausted("this server has said its sum, over other voters; two would tell them apart.")
        return json.loads(said)

    def _summed(self, chosen, name):
        """Return the message with the sum, block by block, if there are enough voters and all are here."""
        least, most = self._protocol["min_reports"], self._protocol["max_reports"]
        if not least <= len(chosen) <= most:
            raise ValueError(
                f"{len(chosen)} voters are agreed on, where {least} to {most} were promised; no sum is said."
            )
        (question, of), missing = self._about(), len(chosen)
        total = np.zeros(of.summand.numbers, dtype=np.int64)
        stream = iter(chosen)
        while block := [bytes.fromhex(report) for report in islice(stream, 512)]:
            asked = f"SELECT share FROM shares WHERE report IN ({', '.join('?' * len(block))})"
            found = self._kept.execute(asked, block).fetchall()
            missing -= len(found)
            shares = np.frombuffer(b"".join(share for (share,) in found), dtype="<i8")
            total = (total + shares.reshape(len(found), len(total)).sum(axis=0)) % of.modulus
        if missing:
            raise ValueError(f"{missing} of the voters agreed on are not here; let all servers agree again.")
        about = {"protocol": self._name, **question, "server": self._number, "voters": name, "n_reports": len(chosen)}
        return {**about, "sum": total.tolist()}

    def close(self) -> None:
        """Close the file."""
        self._kept.close()

    def _said(self):
        return self._kept.execute("SELECT said FROM server").fetchone()[0]

    def _question(self):
        return self._kept.execute("SELECT question, name FROM server").fetchone()

    def _about(self):
        """Return what messages say of the question at hand, and what it sums."""
        if not self._asks:
            return {}, summed(self._protocol)
        number, name = self._question()
        if not number:
            raise ValueError("this server has not been asked anything yet: server.ask(question).")
        return {"question": name}, rounds.sum_about(self._protocol, number)

    @contextmanager
    def _transaction(self):
        """All of what is done inside, on disk at its end, or nothing; and nobody is locked out after an error."""
        try:
            self._kept.execute("BEGIN IMMEDIATE")
            yield
            self._kept.execute("COMMIT")
        finally:
            self._kept.rollback()  # after a COMMIT there is nothing to take back

    def _read(self, messages, question, of):
        """Yield (report, share) as bytes of messages that follow the protocol, and count why others do not."""
        head = {"protocol": self._name, "server": self._number, **question}
        for message in messages:
            said, reason = read(message, head, of)
            if reason is None:
                yield bytes.fromhex(said["report"]), np.array(said["share"], dtype="<i8").tobytes()
            else:
                self._refused[reason] += 1
