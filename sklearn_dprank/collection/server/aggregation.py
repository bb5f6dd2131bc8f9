"""Server of secure aggregation: collects shares and releases one sum for each question."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from ..._utils.checks import safe_repr
from ..._utils.lines import blocks, lines, several
from ...privacy.ledger import BudgetExhausted
from ..client.protocol import digest, is_whole, refuse_unless
from ..client.randomizers import checked
from ..client.rounds import RoundsRandomizer, sum_about
from ..client.shares import summed
from .checked_file import CheckedFile
from .messages import checked_voters, longest, read

_TOGETHER = 1024  # messages in a block
_CHARACTERS = 1 << 20  # characters of the messages in a block
_ADDED = 1 << 17  # numbers added at a time


class AggregationServer:
    """One of several servers that add up the shares of voters' noisy ballots.

    Run the servers at independent parties; one honest server is enough. A server sees uniform random numbers, and
    salted commitments to the shares of the other servers. It releases one sum, over at least ``min_reports`` voters on
    whom all servers agree. It never releases a second sum, even after a restart: two sums over different voters would
    differ by few ballots. If a protocol has several questions, the server releases one sum for each and does not return
    to an earlier question.

    Parameters
    ----------
    protocol : dict
        Protocol from the curator (``estimator.protocol(items)``). The server validates it as devices do.
    number : int
        Number of this server in the protocol, from 0.
    path : str or path-like, default=":memory:"
        File that survives a restart. A server that opens it again continues where it stopped. The file holds the shares
        until the sum is released, and then drops them. ":memory:" ends with the process. The file detects damage; see
        Notes.

    Attributes
    ----------
    refused : dict of {str: int}
        Number of messages that this process has refused, by reason. "commitments of another report" and "share of
        another report" count messages that use the number of another voter's report.

    Raises
    ------
    RefusedProtocol
        If the protocol has another form, or spends more than it states.
    ValueError
        If the number is not that of a server, or the file belongs to another server or protocol.
    ServerFileError
        If the file cannot be opened or written, or is damaged or locked. All methods raise this error if they cannot
        use the file.

    Notes
    -----
    Each row of the file has a checksum, and the state holds the number of rows and a digest of them. A server with a
    damaged file raises `ServerFileError` and does not release a sum. Do not restore an older copy of the file. Such a
    copy is not damaged, but it does not know which sums were released. A forked process must open the file again.

    A server cannot detect that a voter's numbers are out of range: one dishonest voter can change the sum by any
    amount. It also cannot tell who is a voter. Suppose that an attacker sends ``min_reports`` - 1 reports and lets one
    other report through. The attacker then sees the ballot of that report with little noise. Accept messages only from
    registered voters, one report from each.

    Examples
    --------
    >>> from sklearn_dprank import SecAggBorda
    >>> from sklearn_dprank.collection import AggregationServer, agreed
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
            raise ValueError(
                f"number must be an integer from 0 to {self._protocol['servers'] - 1}, got {safe_repr(number)}."
            )
        self._name, self._number, self._longest = digest(self._protocol), number, longest(self._protocol)
        self._refused: Counter[str] = Counter()
        self._counting = threading.Lock()
        owner = {"protocol": self._name, "server": number}
        self._file = CheckedFile(path, "AggregationServer", owner, {"question": 0, "name": None, "said": None})

    def ask(self, question: Mapping[str, Any]) -> None:
        """Start a question of a protocol with several questions.

        The shares of the previous question are dropped. If its sum was not released, it never will be.

        Parameters
        ----------
        question : dict
            The question as devices receive it. The server validates it as they do. Repeating the current question has
            no effect.

        Raises
        ------
        BudgetExhausted
            If this server has started a later question, or another question of this number.
        ValueError
            If the question does not follow the protocol, or the protocol does not ask questions.
        """
        if not self._asks:
            raise ValueError("this protocol asks no questions: voters report once.")
        asked = RoundsRandomizer().asked(question, self._protocol)
        with self._file.transaction() as state:
            number = state["question"]
            if (number, state["name"]) == (asked.number, asked.name):
                return
            if asked.number <= number:
                raise BudgetExhausted(f"this server has turned to question {number}, and to no earlier or second one.")
            state.update(question=asked.number, name=asked.name, said=None)
            self._file.clear()

    @property
    def refused(self) -> dict[str, int]:
        with self._counting:
            return dict(self._refused)

    def receive(self, messages: Iterable[Mapping[str, Any] | str | bytes]) -> int:
        """Store the shares of valid messages, and count the others in `refused`.

        Parameters
        ----------
        messages : iterable of dict, str or bytes
            One message per voter, as the voter's device made it for this server: a JSON object, parsed or not. An open
            file has one message per line. The iterable is read once, as a stream. A repeated report counts once. Text
            that is longer than any message of the protocol is refused before parsing.

        Returns
        -------
        int
            Number of new reports.

        Raises
        ------
        BudgetExhausted
            If the sum was released.
        ValueError
            If `messages` is a single message, or the protocol asks questions and `ask` was not called.
        """
        stream = blocks(lines(several(messages, "messages"), self._longest), _CHARACTERS, self._longest, _TOGETHER)
        return sum(self._received(block) for block in stream if block)

    def reports(self) -> list[str]:
        """Return the numbers of the received reports, sorted.

        `agreed` compares those of all servers. The numbers are hashes of salted commitments and reveal no ballot.

        Returns
        -------
        list of str
            Numbers of the reports.
        """
        with self._file.transaction(write=False):
            return [report.hex() for report, _ in self._file.rows()]

    def release(self, voters: Iterable[str]) -> dict[str, Any]:
        """Return the sum of the shares of some voters, once.

        Parameters
        ----------
        voters : iterable of str
            Numbers of the reports that all servers have, from `agreed`.

        Returns
        -------
        dict
            JSON-able, for ``estimator.fit_sums``. A second call with the same voters returns the same sum.

        Raises
        ------
        BudgetExhausted
            If a sum over other voters was released.
        ValueError
            If there are fewer voters than ``min_reports`` or more than ``max_reports``, if this server lacks some of
            them, or if `voters` are not numbers of reports.
        """
        chosen = checked_voters(voters)
        name = hashlib.sha256("".join(chosen).encode()).hexdigest()
        with self._file.transaction() as state:
            if state["said"] is None:
                # One transaction: the sum is on disk, and the shares are dropped, before the sum is returned.
                state["said"] = self._summed(chosen, name, state)
                self._file.clear()
            released = state["said"]
        if released["voters"] != name:
            raise BudgetExhausted(
                "this server has released its sum over other voters. It releases no second one, because the difference "
                "would reveal ballots."
            )
        return released

    def _received(self, block):
        """Store the shares of a list of messages, and return how many were new."""
        while True:  # messages are parsed outside the write lock, for the question at that time
            with self._file.transaction(write=False) as asked:
                _refuse_after_release(asked)
            rows, refused = self._read(block, asked)
            with self._file.transaction() as state:
                _refuse_after_release(state)
                if state["name"] == asked["name"]:
                    new = self._file.add(rows)
                    break
        with self._counting:
            self._refused += refused
        return new

    def _read(self, messages, state):
        """Return {report: share}, as bytes, of the valid messages, and {reason: number} of the others."""
        rows: dict[bytes, bytes] = {}
        refused: Counter[str] = Counter()
        question, of = self._about(state)
        head = {"protocol": self._name, "server": self._number, **question}
        for message in messages:
            parsed, reason = read(message, head, of, self._protocol["servers"], self._longest)
            if reason is None:
                rows[bytes.fromhex(parsed["report"])] = np.array(parsed["share"], dtype="<i8").tobytes()
            else:
                refused[reason] += 1
        return rows, refused

    def _summed(self, chosen, name, state):
        """Return the message with the sum; raise ValueError if voters are too few, too many or missing."""
        least, most = self._protocol["min_reports"], self._protocol["max_reports"]
        if not least <= len(chosen) <= most:
            raise ValueError(
                f"voters must be {least} to {most} agreed reports (min_reports, max_reports), got {len(chosen)}. No "
                "sum is released."
            )
        question, of = self._about(state)
        total, found, shares = np.zeros(of.summand.numbers, dtype=np.int64), 0, self._shares_of(chosen)
        while block := list(islice(shares, max(1, min(512, _ADDED // len(total))))):
            numbers = np.frombuffer(b"".join(block), dtype="<i8").reshape(len(block), len(total))
            total = (total + numbers.sum(axis=0)) % of.modulus
            found += len(block)
        if missing := len(chosen) - found:
            raise ValueError(f"{missing} of the voters agreed on are not here; let all servers agree again.")
        about = {"protocol": self._name, **question, "server": self._number, "voters": name, "n_reports": len(chosen)}
        return {**about, "sum": total.tolist()}

    def _shares_of(self, chosen):
        """Yield the shares of sorted reports; read all rows, so that damage anywhere is detected."""
        wanted = iter(chosen)
        following = next(wanted, None)
        for report, share in self._file.rows():
            while following is not None and following < report.hex():
                following = next(wanted, None)
            if following == report.hex():
                yield share

    def _about(self, state):
        """Return the question fields of messages in this state, and the sum for this question."""
        if not self._asks:
            return {}, summed(self._protocol)
        if not state["question"]:
            raise ValueError("this server has not been asked anything yet: server.ask(question).")
        return {"question": state["name"]}, sum_about(self._protocol, state["question"])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _refuse_after_release(state):
    if state["said"] is not None:
        raise BudgetExhausted("this server has released its sum and accepts no more reports.")
