"""Aggregation servers and the shuffler, and the files in which they keep what they received."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import sqlite3
import struct
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice, takewhile
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._utils.checks import safe_repr
from ..privacy.ledger import BudgetExhausted
from ..privacy.new_file import make_whole
from ..sampling.bit_source import SecureBits
from .base import is_random_number
from .protocol import digest, is_digits, is_pair, is_whole, refuse_unless
from .randomizers import checked
from .reports import blocks, lines, parse, several
from .shares import RoundsRandomizer, commitment, report_number, sum_about, summed, sums

_NAMES = 1024  # characters of the names of all fields, the digests and some white space
_EACH = 80  # characters of one commitment, its quotation marks and a separator


def longest(protocol):
    """Return the largest length of a valid message, in characters, from the protocol's public numbers."""
    asks = protocol["randomizer"] == "skellam-rounds"
    every = sums(protocol) if asks else [summed(protocol)]
    shares = [one.summand.numbers * (len(str(one.modulus - 1)) + 2) for one in every]
    return _NAMES + _EACH * protocol["servers"] + max(shares)


def read(message, head, of, n_servers, limit):
    """Return (parsed message, None) if an untrusted message is valid, else (object, reason).

    `head` holds the expected protocol, server and question. Text above `limit` characters is not parsed.
    """
    message, reason = parse(message, limit)
    return message, reason or _fault(message, head, of, n_servers)


def _fault(message, head, of, n_servers):
    """Return why a message is refused, or None."""
    if not isinstance(message, dict):
        return "not a JSON object"
    if message.get("protocol") != head["protocol"]:
        return "another protocol"
    if message.keys() != {"report", "commitments", "salt", "share", *head}:
        return "wrong keys"
    if message.get("question") != head.get("question"):
        return "another question"
    if not is_whole(message["server"], head["server"], head["server"]):
        return "another server"
    if not is_digits(message["report"], 64):
        return "no report number"
    if not is_digits(message["salt"], 32):
        return "no salt"
    entries = message["commitments"]
    if type(entries) is not list or len(entries) != n_servers or not all(is_digits(each, 64) for each in entries):
        return "not one commitment for each server"
    share = message["share"]
    if type(share) is not list or len(share) != of.summand.numbers:
        return "not the right number of numbers"
    whole = set(map(type, share)) == {int}  # faster than a loop over thousands of numbers
    if not (whole and min(share) >= 0 and max(share) < of.modulus):
        return "number out of range"
    return _foreign(message)


def _foreign(message):
    """Return why a report's number, perhaps copied from another voter, does not belong to this share, or None."""
    if report_number(message["commitments"]) != message["report"]:
        return "commitments of another report"
    if commitment(message) != message["commitments"][message["server"]]:
        return "share of another report"
    return None


def agreed(reports: Iterable[Iterable[str]]) -> list[str]:
    """Return the reports that all servers have, sorted.

    Parameters
    ----------
    reports : iterable of list of str
        Results of `AggregationServer.reports`, one for each server.

    Returns
    -------
    list of str
        Numbers of the reports, for `AggregationServer.release`.

    Examples
    --------
    >>> agreed([["0a", "0b", "0d"], ["0b", "0c", "0d"]])
    ['0b', '0d']
    """
    first, *others = [set(each) for each in reports] or [set()]
    return sorted(first.intersection(*others))


def checked_voters(voters: Iterable[str]) -> list[str]:
    """Return the report numbers sorted, without repetitions; raise ValueError if they are not report numbers."""
    listed = list(voters) if isinstance(voters, Iterable) else []
    if not isinstance(voters, Iterable) or isinstance(voters, str) or not all(is_digits(each, 64) for each in listed):
        raise ValueError("voters must be the numbers of reports that all servers have; use agreed(...).")
    return sorted(set(listed))


# Durable SQLite files for servers, which detect damage.
#
# A file holds one state (JSON) and rows of bytes. Each row has a checksum. The state has a checksum, the number of
# rows
# and the sum of their checksums. So the file detects rows that are changed, lost, repeated or restored.

_FORMAT = 1
_TOGETHER = 500  # keys in one query
_WIDTH = 16  # bytes of a checksum
_TABLES = (
    "CREATE TABLE server (body BLOB, checksum BLOB)",
    "CREATE TABLE rows (key BLOB PRIMARY KEY, value BLOB, checksum BLOB) WITHOUT ROWID",
)
_DAMAGED = (
    "It releases nothing. If a sum or a batch was released from it, the budget of its voters is spent: collect no more "
    "under this protocol. If nothing was released, move the file away and let all devices send their messages again. "
    "Do not restore an older copy: it would not know what was released."
)


class ServerFileError(OSError, ValueError):
    """Error for a server's file that cannot be used: the disk is full, or the file is damaged, locked or closed.

    The message states the remedy. The failed step does not change the file and does not release a sum or a batch. A
    `receive` of many messages keeps the blocks before the error.
    """


class CheckedFile:
    """One state and many rows in an SQLite file that detects damage.

    Threads may share an object, and processes may share a file. A forked process must open the file again. `kind` and
    `owner` (JSON-able) identify the file. `state` is the first state of a new file. ValueError is raised if an existing
    file has another kind or owner, and ServerFileError if the file cannot be used.
    """

    def __init__(self, path: Any, kind: str, owner: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self._shown = f"path={safe_repr(path)}"
        self._lock, self._home = threading.Lock(), os.getpid()
        self._head: dict[str, Any] = {}
        about = {"format": _FORMAT, "kind": kind, "owner": dict(owner)}
        first = _body({**about, "state": dict(state), "rows": 0, "digest": 0})
        with self._explained(OSError, TypeError, ValueError):
            place = os.fsdecode(path)
            if place != ":memory:":
                place = os.path.abspath(place)
                if not os.path.lexists(place):
                    make_whole(place, partial(_fill, first=first))
                if os.path.isfile(place) and not os.path.getsize(place):
                    raise _Damaged("is empty")
            self._connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
            weakref.finalize(self, _close, self._connection, self._home)  # close the file of a discarded object
            self._connection.text_factory = bytes  # damaged text may not be UTF-8
            for command in ("PRAGMA secure_delete = ON", "PRAGMA synchronous = EXTRA"):
                self._connection.execute(command)
            if place == ":memory:":
                _fill(self._connection, first)
        with self.transaction():
            found = {name: self._head[name] for name in about}
            for _ in self.rows():  # detect damage now, and again before a release
                pass
        if found != about:
            self.close()
            raise ValueError(
                f"{self._shown} is the file of another server or shuffler, or of another protocol or design."
            )

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the state, to be changed in place; keep all changes at the end, or none after an error.

        With `write`, the write lock is held and changes are kept. Without it, the state and the rows are a snapshot.
        ServerFileError is raised if the file cannot be used, or if this is a forked process.
        """
        if self._home != os.getpid():  # the lock and the connection belong to the parent
            raise ServerFileError(
                f"{self._shown} was opened by another process, and this one is a fork of it. Open the file again here."
            )
        with self._lock, self._explained():
            try:
                self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                before = self._stored()
                self._head = json.loads(before)
                yield self._head["state"]
                after = _body(self._head)
                if write and after != before:
                    self._connection.execute("UPDATE server SET body = ?, checksum = ?", (after, _checksum(after)))
                if write:
                    self._connection.execute("COMMIT")
            finally:
                self._connection.rollback()  # no effect after COMMIT

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return those of `keys` that the file contains, within a transaction."""
        asked, found = iter(keys), set[bytes]()
        while block := list(islice(asked, _TOGETHER)):
            command = f"SELECT key FROM rows WHERE key IN ({', '.join('?' * len(block))})"
            found.update(key for (key,) in self._connection.execute(command, block))
        return found

    def add(self, rows: Mapping[bytes, bytes]) -> int:
        """Add the rows whose keys are new, within a transaction, and return their number."""
        known = self.known(rows)
        new = [(key, value, _checksum(key, value)) for key, value in rows.items() if key not in known]
        self._connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", new)
        self._head["rows"] += len(new)
        self._head["digest"] = _added(self._head["digest"], *(checksum for _, _, checksum in new))
        return len(new)

    def rows(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) of all rows in the order of their keys, within a transaction.

        Do not use a row before the last one is read, because lost rows are detected at the end.
        """
        last, count, digest = None, 0, 0
        for row in self._connection.execute("SELECT key, value, checksum FROM rows ORDER BY key"):
            key, value, checksum = row
            if any(type(part) is not bytes for part in row) or checksum != _checksum(key, value):
                raise _Damaged("has a damaged row")
            if last is not None and key <= last:
                raise _Damaged("has rows out of order")
            last, count, digest = key, count + 1, _added(digest, checksum)
            yield key, value
        if (count, digest) != (self._head["rows"], self._head["digest"]):
            raise _Damaged("has lost rows")

    def clear(self) -> None:
        """Delete all rows, within a transaction; their bytes in the file are overwritten."""
        self._connection.execute("DELETE FROM rows")
        self._head.update(rows=0, digest=0)

    def close(self) -> None:
        """Close the file."""
        _close(self._connection, self._home)

    def _stored(self):
        """Return the text of the state; raise an error if its checksum is wrong."""
        found = self._connection.execute("SELECT body, checksum FROM server").fetchall()
        if len(found) != 1 or any(type(part) is not bytes for part in found[0]):
            raise _Damaged("has no state")
        body, checksum = found[0]
        if checksum != _checksum(body):
            raise _Damaged("has a damaged state")
        return body

    @contextmanager
    def _explained(self, *others):
        """Convert errors of SQLite, and `others`, to a `ServerFileError` with a remedy."""
        try:
            yield
        except ServerFileError:
            raise
        except _Damaged as error:
            raise ServerFileError(f"{self._shown} {error}. {_DAMAGED}") from None
        except (sqlite3.Error, *others) as error:
            raise ServerFileError(f"{self._shown} {_remedy(error)}") from error


class _Damaged(Exception):
    """Error that states the damage of a file."""


def _remedy(error):
    """Return the problem of a file, given an error, and the remedy."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "is locked by another process; nothing was changed. Try again, or end the other process."
    if name.startswith("SQLITE_FULL"):
        return "is on a full disk; this step changed nothing. Free space, then try again."
    if isinstance(error, sqlite3.ProgrammingError):
        return "is closed, or misused; nothing was changed. Open it again."
    known = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR", "SQLITE_AUTH")
    if name.startswith(known) or not isinstance(error, sqlite3.Error):
        reason = name or type(error).__name__
        return f"cannot be opened and written ({reason}). Check the path, its folder, the permissions and the disk."
    return f"is damaged, or not a server's file ({name or type(error).__name__}). {_DAMAGED}"


def _fill(connection, first):
    """Write the tables and the first state of a new file."""
    for command in _TABLES:
        connection.execute(command)
    connection.execute("INSERT INTO server VALUES (?, ?)", (first, _checksum(first)))


def _close(connection, home):
    if home == os.getpid():  # closing in a fork would roll back a transaction of the parent
        connection.close()


def _body(head):
    return json.dumps(head, sort_keys=True).encode()


def _checksum(*parts):
    """Return the checksum of `parts`, which are hashed with their lengths."""
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()[:_WIDTH]


def _added(digest, *checksums):
    """Return the digest of rows after adding some: the sum of their checksums, in any order."""
    return (digest + sum(int.from_bytes(checksum, "big") for checksum in checksums)) % (1 << 8 * _WIDTH)


# Validation of submissions to the shuffler, and of the design that assigns pairs to voters.

LONGEST = 1 << 22  # characters of a submission under any protocol
_HEAD, _EACH_SUBMISSION = (
    256,
    128,
)  # characters of a submission without messages, and of one message, with some white space


def longest_submission(protocol):
    """Return the largest number of characters of a submission; a longer text is not parsed."""
    return min(LONGEST, _HEAD + _EACH_SUBMISSION * protocol["n_queries"])


def read_submission(text, protocol, name):
    """Return (parsed submission, None) if it follows the protocol with digest `name`, else (object, reason)."""
    submission, reason = parse(text, longest_submission(protocol))
    return submission, reason or _submission_fault(submission, protocol, name)


def _submission_fault(submission, protocol, name):
    """Return why a submission is refused, or None."""
    if not isinstance(submission, dict):
        return "not a JSON object"
    if submission.get("protocol") != name:
        return "another protocol"
    if set(submission) != {"protocol", "report", "messages"}:
        return "wrong keys"
    if not is_random_number(submission["report"]):
        return "no report number"
    messages, k = submission["messages"], protocol["n_queries"]
    if type(messages) is not list or len(messages) != k:
        return "wrong number of messages"
    if not all(isinstance(message, dict) for message in messages):
        return "not a JSON object"
    if any(set(message) != {"shuffle", "pair", "answer"} for message in messages):
        return "wrong keys"
    shuffles, hidden = [message["shuffle"] for message in messages], protocol["pairs"] == "hidden"
    if not all(is_whole(shuffle, 0) for shuffle in shuffles):
        return "shuffle out of range"
    if sorted(shuffles) != (list(range(k)) if hidden else [0] * k):
        return "shuffle out of range"
    if not all(is_pair(message["pair"], len(protocol["items"])) for message in messages):
        return "pair out of range"
    if not all(is_whole(message["answer"], 0, 1) for message in messages):
        return "answer out of range"
    return "pair asked twice" if not hidden and len(pairs_of(submission)) < k else None


def pairs_of(submission):
    """Return the pairs of a submission as a set of tuples."""
    return {tuple(message["pair"]) for message in submission["messages"]}


def checked_design(design, protocol):
    """Return the design as int64, shape (n_voters, K, 2), or None if the protocol hides the pairs.

    ValueError is raised if the design does not fit the protocol. It needs K distinct pairs (i, j), i < j, for each of
    at least `min_reports` voters. All pairs must be equally frequent, or differ by 1.
    """
    if protocol["pairs"] == "hidden":
        if design is not None:
            raise ValueError("design must be None: each device draws its own pairs under this protocol.")
        return None
    m, k = len(protocol["items"]), protocol["n_queries"]
    rule = f"design must be an integer array of shape (n_voters, {k}, 2), as balanced_design returns it"
    if design is None:
        raise ValueError(f"{rule}: this protocol assigns pairs to voters.")
    rows = np.asarray(design)
    if rows.ndim != 3 or rows.shape[1:] != (k, 2) or rows.dtype.kind not in "iu":
        raise ValueError(f"{rule}; got {rows.dtype} of shape {rows.shape}.")
    if len(rows) < protocol["min_reports"]:
        raise ValueError(f"design must have at least min_reports={protocol['min_reports']} rows, got {len(rows)}.")
    first, second = rows[..., 0], rows[..., 1]
    if (first < 0).any() or (first >= second).any() or (second >= m).any():
        raise ValueError(f"{rule}, of pairs (i, j) of items, i < j.")
    pairs = np.sort(first.astype(np.int64) * m + second, axis=1)
    if (pairs[:, 1:] == pairs[:, :-1]).any():
        raise ValueError(f"{rule}, with distinct pairs for each voter.")
    found, counts = np.unique(pairs, return_counts=True)
    least = counts.min() if len(found) == math.comb(m, 2) else 0
    if counts.max() > least + 1:
        raise ValueError("design must be balanced: each pair equally often, or once more, as balanced_design makes it.")
    return rows.astype(np.int64)


# Server of secure aggregation: collects shares and releases one sum for each question.

_MESSAGES_TOGETHER = 1024  # messages in a block
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
        stream = blocks(
            lines(several(messages, "messages"), self._longest), _CHARACTERS, self._longest, _MESSAGES_TOGETHER
        )
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


# Shuffler: accepts submissions under one protocol, mixes their messages and releases them in batches.

_MESSAGES_TOGETHER, _CHARACTERS = 1024, 1 << 20  # submissions and characters in one transaction
_MESSAGE = struct.Struct("<4q")  # shuffle, first item, second item, answer
# First byte of a row's key, by the content of the row. Numbers, voters and messages are never in one row.
_NUMBER, _VOTER, _WAITING, _RELEASED = b"n", b"v", b"w", b"x"


class Shuffler:
    """Trusted shuffler of the shuffle model: mixes the messages of voters and removes their origin.

    It accepts submissions under one public protocol. Each submission carries a random number of its device. The
    shuffler refuses a number that it received before, even after a restart. It checks the number of messages and their
    shuffles, and releases the messages of at least ``min_reports`` voters together.

    Parameters
    ----------
    protocol : dict
        Protocol from the curator (``estimator.protocol(items)``). The shuffler validates it as devices do. Give all
        voters this protocol and no other. A voter with a different protocol can be traced by its digest.
    path : str or path-like, default=":memory:"
        File that survives a restart. ":memory:" ends with the process.
    design : array-like of int, shape (n_voters, n_queries, 2), or None, default=None
        Public `~sklearn_dprank.channels.balanced_design`, if the protocol has ``"pairs": "assigned"``. Row v holds the
        pairs of voter v.

    Attributes
    ----------
    refused : dict of {str: int}
        Number of submissions that this process has refused, by reason.
    waiting : int
        Number of voters who have submitted since the last release.
    batches : int
        Number of released batches.

    Raises
    ------
    RefusedProtocol
        If the protocol is not of the shuffle model, or spends more than it states.
    ValueError
        If the design does not fit the protocol, or the file belongs to another shuffler, protocol or design.
    ServerFileError
        If the file cannot be opened or written, or is damaged.

    Notes
    -----
    .. rubric:: Privacy

    The shuffler sees which messages come from one voter, and its operator sees where they come from. Voters must trust
    that both are forgotten. This class does not store names, addresses or times. To refuse duplicates, it stores random
    numbers (and rows of the design), apart from the messages. Until a release, its file is as secret as the
    submissions, because the layout of the file may reveal what arrived together. A release overwrites the waiting
    messages and keeps only the mixed batch.

    A batch has at least ``min_reports`` voters, and no voter is in two batches. So the central guarantee of the
    protocol holds for each batch, and several batches cost a voter no more than one. ``min_reports`` of the voters in
    *each* batch must be honest. An attacker who sends all submissions of a batch but one learns as much about that one
    as its local epsilon allows. Accept submissions from registered voters, one from each. Decide when to release by
    numbers and dates only.

    The shuffler does not verify ``central_epsilon``, which needs SciPy. Its operator can compare it with
    `~sklearn_dprank.privacy.shuffle_amplification`.

    Examples
    --------
    >>> from sklearn_dprank import ShufflePairwise
    >>> from sklearn_dprank.collection import Device, Shuffler
    >>> curator = ShufflePairwise(min_reports=300)
    >>> protocol = curator.protocol(["tea", "coffee", "water"])
    >>> shuffler = Shuffler(protocol)
    >>> shuffler.receive(Device(protocol).report([1, 0, 2]) for voter in range(300))
    300
    >>> messages = shuffler.release()
    >>> curator.fit_reports(messages, items=["tea", "coffee", "water"]).reports_accepted_
    300
    """

    def __init__(self, protocol: dict[str, Any], path: Any = ":memory:", *, design: ArrayLike | None = None) -> None:
        self._protocol = checked(protocol)
        refuse_unless(self._protocol["randomizer"] == "rr-shuffled", "randomizer", "rr-shuffled")
        self._design = checked_design(design, self._protocol)
        self._name = digest(self._protocol)
        self._refused: Counter[str] = Counter()
        self._counting = threading.Lock()
        drawn = None if self._design is None else hashlib.sha256(self._design.astype("<i8").tobytes()).hexdigest()
        owner = {"protocol": self._name, "design": drawn}
        self._file = CheckedFile(path, "Shuffler", owner, {"waiting": 0, "batches": 0})

    @property
    def refused(self) -> dict[str, int]:
        with self._counting:
            return dict(self._refused)

    @property
    def waiting(self) -> int:
        with self._file.transaction(write=False) as state:
            return state["waiting"]

    @property
    def batches(self) -> int:
        with self._file.transaction(write=False) as state:
            return state["batches"]

    def receive(self, submissions: Iterable[Any]) -> int:
        """Store the messages of new submissions, and count the others in `refused`.

        Parameters
        ----------
        submissions : iterable of dict, str or bytes, or of (int, submission)
            One submission per voter, as the voter's device made it: a JSON object, parsed or not. An open file has one
            submission per line. If the protocol assigns pairs, pass tuples (voter, submission), where `voter` is the
            row of the design. The iterable is read once, as a stream.

        Returns
        -------
        int
            Number of new submissions.

        Raises
        ------
        ValueError
            If `submissions` is a single submission.
        ServerFileError
            If the file cannot be written, or is damaged. Blocks of submissions before the error are kept.
        """
        new, stream = 0, lines(several(submissions, "submissions"), longest_submission(self._protocol))
        for block in blocks(stream, _CHARACTERS, _CHARACTERS // _MESSAGES_TOGETHER):
            parsed, refused = [], Counter[str]()
            for submission in block:  # outside the transaction, so that other processes can write meanwhile
                keys, messages, reason = self._read(submission)
                if reason is None:
                    parsed.append((keys, messages))
                else:
                    refused[reason] += 1
            accepted, rows = 0, dict[bytes, bytes]()
            with self._file.transaction() as state:
                taken = self._file.known(key for keys, _ in parsed for key in keys)
                for keys, messages in parsed:
                    new_keys = _before(taken, keys)
                    taken.update(new_keys)
                    rows |= dict.fromkeys(new_keys, b"")
                    if len(new_keys) == len(keys):
                        rows |= {_WAITING + secrets.token_bytes(16): message for message in messages}
                        accepted += 1
                self._file.add(rows)
                state["waiting"] += accepted
            refused["received before"] += len(parsed) - accepted
            with self._counting:
                self._refused += refused
            new += accepted
        return new

    def release(self) -> list[dict[str, Any]]:
        """Release the messages of all waiting voters, mixed, as the next batch.

        Returns
        -------
        list of dict
            JSON-able messages in a random order, without voters or numbers, for ``estimator.fit_reports``. `batch`
            returns them again.

        Raises
        ------
        ValueError
            If fewer than ``min_reports`` voters are waiting, or too few messages are about an assigned pair. The
            release fails, and the voters remain waiting.
        ServerFileError
            If the file cannot be written, or is damaged. The release fails.
        """
        with self._file.transaction() as state:
            number, least = state["batches"], self._protocol["min_reports"]
            if state["waiting"] < least:
                raise ValueError(
                    f"release needs at least min_reports={least} waiting voters, got {state['waiting']}. No "
                    "message is released; wait for more submissions."
                )
            kept, waiting = {}, []
            for key, value in self._file.rows():
                if key.startswith(_WAITING):
                    waiting.append(value)
                else:
                    kept[key] = value
            self._check_mixed(waiting)
            # This permutation removes the order of arrival, and so does clearing the rows.
            mixed = [waiting[place] for place in SecureBits().permutation(len(waiting)).tolist()]
            kept |= {_place(number, place): message for place, message in enumerate(mixed)}
            self._file.clear()
            self._file.add(kept)
            state.update(waiting=0, batches=number + 1)
        return [self._message(message) for message in mixed]

    def batch(self, number: int) -> list[dict[str, Any]]:
        """Return a released batch again, in the same order.

        Parameters
        ----------
        number : int
            Number of the batch, from 0 to `batches` - 1, in the order of release.

        Returns
        -------
        list of dict
            The messages that `release` returned.

        Raises
        ------
        ValueError
            If there is no such batch.
        ServerFileError
            If the file is damaged.
        """
        with self._file.transaction(write=False) as state:
            if not state["batches"]:
                raise ValueError("number must be that of a released batch, and no batch has been released yet.")
            if not is_whole(number, 0, state["batches"] - 1):
                raise ValueError(
                    f"number must be an integer from 0 to {state['batches'] - 1}, got {safe_repr(number)}."
                )
            head = _RELEASED + number.to_bytes(8, "big")
            mixed = [value for key, value in self._file.rows() if key.startswith(head)]
        return [self._message(message) for message in mixed]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, submission):
        """Return (keys, messages, None) of a submission that follows the protocol, or (None, None, reason)."""
        voter = None
        if self._design is not None:
            if type(submission) is not tuple or len(submission) != 2:
                return None, None, "no voter"
            voter, submission = submission
            if isinstance(voter, bool) or not isinstance(voter, Integral) or not 0 <= int(voter) < len(self._design):
                return None, None, "no voter"
            voter = int(voter)
        parsed, reason = read_submission(submission, self._protocol, self._name)
        if reason is None and voter is not None:
            if pairs_of(parsed) != set(map(tuple, self._design[voter].tolist())):
                reason = "not the voter's pairs"
        if reason is not None:
            return None, None, reason
        # The voter comes first: a voter who sends another voter's submission uses up only their own row.
        keys = [] if voter is None else [_VOTER + voter.to_bytes(8, "big")]
        keys.append(_NUMBER + bytes.fromhex(parsed["report"]))
        return keys, [_MESSAGE.pack(one["shuffle"], *one["pair"], one["answer"]) for one in parsed["messages"]], None

    def _check_mixed(self, waiting):
        """Raise ValueError unless each assigned pair has enough messages, among which a voter hides."""
        if self._design is None:
            return
        n_pairs = math.comb(len(self._protocol["items"]), 2)
        counts = Counter(_MESSAGE.unpack(message)[1:3] for message in waiting)
        required = self._protocol["min_reports"] * self._protocol["n_queries"] // n_pairs
        least = min(counts.values()) if len(counts) == n_pairs else 0
        if least < required:
            raise ValueError(
                f"release needs at least {required} waiting messages about each pair, got {least}. No message "
                "is released; wait for more submissions."
            )

    def _message(self, packed):
        shuffle, first, second, answer = _MESSAGE.unpack(packed)
        return {"protocol": self._name, "shuffle": shuffle, "pair": [first, second], "answer": answer}


def _before(taken, keys):
    """Return the keys before the first one that is taken."""
    return list(takewhile(lambda key: key not in taken, keys))


def _place(batch, place):
    """Return the key of a released message."""
    return _RELEASED + batch.to_bytes(8, "big") + place.to_bytes(8, "big")
