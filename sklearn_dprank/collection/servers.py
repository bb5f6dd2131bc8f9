"""Aggregation servers and the shuffler, and the files in which they keep what they received."""

from __future__ import annotations

import hashlib
import json
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
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._utils.checks import check_whole, is_pair, is_whole, safe_repr
from ..privacy.errors import BudgetExhausted
from ..privacy.new_file import make_whole
from ..queries.base import n_pairs
from ..sampling.bit_source import SecureBits
from .protocol import digest, is_digits, refuse_unless
from .randomizers import checked
from .reports import LONGEST, Inbox, as_reports, blocks, columns, lines, of_protocol, parsed, reject_unless
from .shares import RoundsRandomizer, commitment, report_number, sum_about, sums

# Durable SQLite files, which detect damage. A file holds one state (JSON) and rows of bytes. Each row has a checksum.
# The state has a checksum, the number of rows and the sum of their checksums. So the file detects rows that are
# changed, lost, repeated or restored, which SQLite's own checks do not notice.

_FORMAT = 1
_WIDTH = 16  # bytes of a checksum
_SUMS = 1 << 8 * _WIDTH  # modulus of the sum of the rows' checksums, which does not depend on the order of rows
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
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._head: dict[str, Any] = {}
        about = {"format": _FORMAT, "kind": kind, "owner": dict(owner)}
        body = json.dumps({**about, "state": dict(state), "rows": 0, "digest": 0}, sort_keys=True).encode()

        def fill(connection):
            for command in _TABLES:
                connection.execute(command)
            connection.execute("INSERT INTO server VALUES (?, ?)", (body, _checksum(body)))

        try:
            place = os.fsdecode(path)
            if place != ":memory:":
                place = os.path.abspath(place)
                if not os.path.lexists(place):
                    make_whole(place, fill)
                if os.path.isfile(place) and not os.path.getsize(place):
                    raise self._damaged("is empty")
            self._connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
            self.close = weakref.finalize(self, _close, self._connection, self._pid)  # runs for a discarded object, too
            self._connection.text_factory = bytes  # damaged text may not be UTF-8
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.execute("PRAGMA synchronous = EXTRA")
            if place == ":memory:":
                fill(self._connection)
        except ServerFileError:
            raise
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            raise self._unusable(error) from error
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
        if self._pid != os.getpid():  # the lock and the connection belong to the parent
            raise ServerFileError(
                f"{self._shown} was opened by another process, and this one is a fork of it. Open the file again here."
            )
        try:
            with self._lock, self._connection as connection:  # an error rolls back
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                stored = connection.execute("SELECT body, checksum FROM server").fetchall()
                if len(stored) != 1 or any(type(part) is not bytes for part in stored[0]):
                    raise self._damaged("has no state")
                before, checksum = stored[0]
                if checksum != _checksum(before):
                    raise self._damaged("has a damaged state")
                self._head = json.loads(before)
                yield self._head["state"]
                if write:  # otherwise, the end of the block ends the snapshot
                    after = json.dumps(self._head, sort_keys=True).encode()
                    if after != before:
                        connection.execute("UPDATE server SET body = ?, checksum = ?", (after, _checksum(after)))
                    connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def add(self, rows: Mapping[bytes, bytes]) -> int:
        """Add the rows whose keys are new, within a transaction, and return their number."""
        new, total = 0, self._head["digest"]
        for key, value in rows.items():
            row = key, value, _checksum(key, value)
            if self._connection.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?)", row).rowcount:
                new, total = new + 1, (total + int.from_bytes(row[2])) % _SUMS
        self._head.update(rows=self._head["rows"] + new, digest=total)
        return new

    def rows(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) of all rows in the order of their keys, within a transaction.

        Do not use a row before the last one is read, because lost rows are detected at the end.
        """
        last, count, total = None, 0, 0
        for row in self._connection.execute("SELECT key, value, checksum FROM rows ORDER BY key"):
            key, value, checksum = row
            if any(type(part) is not bytes for part in row) or checksum != _checksum(key, value):
                raise self._damaged("has a damaged row")
            if last is not None and key <= last:
                raise self._damaged("has rows out of order")
            last, count, total = key, count + 1, (total + int.from_bytes(checksum)) % _SUMS
            yield key, value
        if (count, total) != (self._head["rows"], self._head["digest"]):
            raise self._damaged("has lost rows")

    def clear(self) -> None:
        """Delete all rows, within a transaction; their bytes in the file are overwritten."""
        self._connection.execute("DELETE FROM rows")
        self._head.update(rows=0, digest=0)

    def _damaged(self, damage):
        """Return an error that states the damage."""
        return ServerFileError(f"{self._shown} {damage}. {_DAMAGED}")

    def _unusable(self, error):
        """Return the error that states what is wrong with the file, given an error of SQLite or of the system."""
        name = getattr(error, "sqlite_errorname", "")
        reason = name or type(error).__name__
        outside = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR", "SQLITE_AUTH")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            problem = "is locked by another process; nothing was changed. Try again, or end the other process."
        elif name.startswith("SQLITE_FULL"):
            problem = "is on a full disk; this step changed nothing. Free space, then try again."
        elif isinstance(error, sqlite3.ProgrammingError):
            problem = "is closed, or misused; nothing was changed. Open it again."
        elif name.startswith(outside) or not isinstance(error, sqlite3.Error):
            problem = (
                f"cannot be opened and written ({reason}). Check the path, its folder, the permissions and the disk."
            )
        else:
            return self._damaged(f"is damaged, or not a server's file ({reason})")
        return ServerFileError(f"{self._shown} {problem}")


def _close(connection, pid):
    """Close the file, unless this process is a fork of the one that opened it."""
    if pid == os.getpid():  # closing in a fork would roll back a transaction of the parent
        connection.close()


def _checksum(*parts):
    """Return the checksum of `parts`, which are hashed with their lengths."""
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()[:_WIDTH]


_REMEDY_FOR_ONE = "put a single one into a list."
_MESSAGES_TOGETHER, _CHARACTERS = 1024, 1 << 20  # messages and characters in one transaction


class _Receiver:
    """Base class of `AggregationServer` and `Shuffler`: the file, and counts of refused messages."""

    def __init__(self, kind, path, owner, state):
        self.refused: dict[str, int] = {}  # replaced as a whole, so that readers need no lock
        self._counting = threading.Lock()
        self._file = CheckedFile(path, kind, owner, state)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# Servers of secure aggregation: they collect shares and release one sum for each question.

_NAMES = 1024  # characters of the names of all fields, the digests and some white space
_EACH = 80  # characters of one commitment, its quotation marks and a separator


def read(head, target, n_servers, message):
    """Return (report, share), as bytes, of an untrusted message for the sum `target`; raise `RefusedReport` if invalid.

    `head` holds the expected protocol, server and question.
    """
    of_protocol({head["protocol"]}, message)
    reject_unless(message.keys() == {"report", "commitments", "salt", "share", *head}, "wrong keys")
    reject_unless(message.get("question") == head.get("question"), "another question")
    reject_unless(is_whole(message["server"], head["server"], head["server"]), "another server")
    reject_unless(is_digits(message["report"], 64), "no report number")
    reject_unless(is_digits(message["salt"], 32), "no salt")
    commitments, share = message["commitments"], message["share"]
    each = type(commitments) is list and len(commitments) == n_servers
    each = each and all(is_digits(one, 64) for one in commitments)
    reject_unless(each, "not one commitment for each server")
    reject_unless(type(share) is list and len(share) == target.summand.numbers, "not the right number of numbers")
    whole = set(map(type, share)) == {int}  # faster than a loop over thousands of numbers
    reject_unless(whole and min(share) >= 0 and max(share) < target.modulus, "number out of range")
    # The number of a report may be copied from another voter.
    reject_unless(report_number(commitments) == message["report"], "commitments of another report")
    reject_unless(commitment(message) == commitments[message["server"]], "share of another report")
    return bytes.fromhex(message["report"]), np.array(share, dtype="<i8").tobytes()


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


class AggregationServer(_Receiver):
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
        check_whole(number, "number", 0, self._protocol["servers"] - 1)
        self._name, self._number = digest(self._protocol), int(number)
        # The largest length of a valid message, in characters, from the protocol's public numbers.
        shares = [one.summand.numbers * (len(str(one.modulus - 1)) + 2) for one in sums(self._protocol)]
        self._longest = _NAMES + _EACH * self._protocol["servers"] + max(shares)
        owner = {"protocol": self._name, "server": self._number}
        # State: number (0 before the first) and name of the current question, and the sum released for it, if any.
        super().__init__("AggregationServer", path, owner, {"question": 0, "name": None, "said": None})

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
        stream = lines(as_reports(messages, "messages", _REMEDY_FOR_ONE, "messages"), self._longest)
        new = 0
        for block in filter(None, blocks(stream, _CHARACTERS, self._longest, _MESSAGES_TOGETHER)):
            rows: dict[bytes, bytes] | None = None
            read_for: str | None = None  # name of the question for which `rows` were read
            # The first pass takes the state without the write lock, then reads the messages for its question, while
            # others can write. The next pass stores them if the question is still the same, else it reads them again.
            while True:
                with self._file.transaction(write=rows is not None) as state:
                    if state["said"] is not None:
                        raise BudgetExhausted("this server has released its sum and accepts no more reports.")
                    if rows is not None and state["name"] == read_for:
                        new += self._file.add(rows)
                        break
                read_for, inbox = state["name"], Inbox()
                head, target = self._about(state)
                valid = partial(read, head, target, self._protocol["servers"])
                rows = dict(inbox.read(block, valid, self._longest))
            with self._counting:
                self.refused = dict(Counter(self.refused) + inbox.refused)
        return new

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
        are_several = isinstance(voters, Iterable) and not isinstance(voters, str)
        listed = list(voters) if are_several else []
        if not are_several or not all(is_digits(each, 64) for each in listed):
            raise ValueError("voters must be the numbers of reports that all servers have; use agreed(...).")
        chosen = sorted(set(listed))
        name = hashlib.sha256("".join(chosen).encode()).hexdigest()
        with self._file.transaction() as state:
            if state["said"] is None:
                least, most = self._protocol["min_reports"], self._protocol["max_reports"]
                if not least <= len(chosen) <= most:
                    raise ValueError(
                        f"voters must be {least} to {most} agreed reports (min_reports, max_reports), got "
                        f"{len(chosen)}. No sum is released."
                    )
                head, target = self._about(state)
                wanted, found = set(map(bytes.fromhex, chosen)), 0
                total = np.zeros(target.summand.numbers, dtype=np.int64)
                for report, share in self._file.rows():  # all of them, so that damage anywhere is detected
                    if report in wanted:
                        total = (total + np.frombuffer(share, dtype="<i8")) % target.modulus
                        found += 1
                if missing := len(chosen) - found:
                    raise ValueError(f"{missing} of the voters agreed on are not here; let all servers agree again.")
                # One transaction: the sum is on disk, and the shares are dropped, before the sum is returned.
                state["said"] = {**head, "voters": name, "n_reports": len(chosen), "sum": total.tolist()}
                self._file.clear()
            released = state["said"]
        if released["voters"] != name:
            raise BudgetExhausted(
                "this server has released its sum over other voters. It releases no second one, because the difference "
                "would reveal ballots."
            )
        return released

    def _about(self, state):
        """Return the first fields of messages in this state, and the sum that they are about."""
        head = {"protocol": self._name, "server": self._number}
        if not self._asks:
            return head, sum_about(self._protocol)
        if not state["question"]:
            raise ValueError("this server has not been asked anything yet: server.ask(question).")
        return {**head, "question": state["name"]}, sum_about(self._protocol, state["question"])


# Shuffler: accepts submissions under one protocol, mixes their messages and releases them in batches.

_HEAD, _EACH_MESSAGE = 256, 128  # characters of a submission without messages, and of one message, with white space
_MESSAGE = struct.Struct("<4q")  # shuffle, first item, second item, answer
# First byte of a row's key, by the content of the row. Numbers, voters and messages are never in one row.
_NUMBER, _VOTER, _WAITING, _RELEASED = b"n", b"v", b"w", b"x"


def checked_design(design, protocol):
    """Return the design as int64, shape (n_voters, K, 2), or None if the protocol hides the pairs.

    ValueError is raised if the design does not fit the protocol. It needs K distinct pairs (i, j), i < j, for each of
    at least `min_reports` voters. All pairs must be equally frequent, or differ by 1.
    """
    if protocol["pairs"] != "assigned":
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
    pairs = np.sort(first.astype(np.int64) * m + second, axis=1)
    inside = (first >= 0).all() and (first < second).all() and (second < m).all()
    if not inside or (pairs[:, 1:] == pairs[:, :-1]).any():
        raise ValueError(f"{rule}, of distinct pairs (i, j) of items, i < j, for each voter.")
    found, counts = np.unique(pairs, return_counts=True)
    least = counts.min() if len(found) == n_pairs(len(protocol["items"])) else 0
    if counts.max() > least + 1:
        raise ValueError("design must be balanced: each pair equally often, or once more, as balanced_design makes it.")
    return rows.astype(np.int64)


class Shuffler(_Receiver):
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
    *each* batch must be honest; with shown pairs, that many for each pair that is released. An attacker who sends all
    submissions of a batch but one learns as much about that one as its local epsilon allows. Accept submissions from
    registered voters, one from each. Decide when to release by numbers and dates only.

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
        self._longest = min(LONGEST, _HEAD + _EACH_MESSAGE * self._protocol["n_queries"])  # of a submission's text
        checksum = None if self._design is None else hashlib.sha256(self._design.astype("<i8").tobytes()).hexdigest()
        super().__init__("Shuffler", path, {"protocol": self._name, "design": checksum}, {"waiting": 0, "batches": 0})

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
        new, limit = 0, self._longest
        stream = lines(as_reports(submissions, "submissions", _REMEDY_FOR_ONE, "submissions"), limit)
        for block in blocks(stream, _CHARACTERS, unparsed=_CHARACTERS // _MESSAGES_TOGETHER):  # or 1,024 parsed ones
            inbox, accepted = Inbox(), 0
            valid = list(inbox.read(block, self._read, limit))  # outside the transaction: others can write meanwhile
            with self._file.transaction() as state:
                for keys, messages in valid:
                    # It stops at the first known key, so a voter's key may be added alone; see `_read`.
                    is_new = all(self._file.add({key: b""}) for key in keys)
                    if is_new:
                        self._file.add({_WAITING + secrets.token_bytes(16): message for message in messages})
                        accepted += 1
                state["waiting"] += accepted
            inbox.refused["received before"] += len(valid) - accepted
            with self._counting:
                self.refused = dict(Counter(self.refused) + inbox.refused)
            new += accepted
        return new

    def release(self) -> list[dict[str, Any]]:
        """Release the messages of all waiting voters, mixed, as the next batch.

        Returns
        -------
        list of dict
            JSON-able messages in a random order, without voters or numbers, for ``estimator.fit_reports``. `batch`
            returns them again. With shown pairs, messages about a pair with fewer than ``min_reports`` remain waiting.

        Raises
        ------
        ValueError
            If fewer than ``min_reports`` voters are waiting, too few messages are about an assigned pair, or no shown
            pair has ``min_reports`` messages. The release fails, and the voters remain waiting.
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
            kept = dict(self._file.rows())
            waiting = [kept.pop(key) for key in list(kept) if key.startswith(_WAITING)]
            if self._design is not None:  # a voter hides among the messages about each assigned pair
                pairs = n_pairs(len(self._protocol["items"]))
                counts = Counter(_MESSAGE.unpack(message)[1:3] for message in waiting)
                required = least * self._protocol["n_queries"] // pairs
                fewest = min(counts.values()) if len(counts) == pairs else 0
                if fewest < required:
                    raise ValueError(
                        f"release needs at least {required} waiting messages about each pair, got {fewest}. No message "
                        "is released; wait for more submissions."
                    )
            held = []  # messages about shown pairs that have too few
            if self._protocol["pairs"] == "shown":
                counts = Counter(_MESSAGE.unpack(message)[1:3] for message in waiting)
                hides = [counts[_MESSAGE.unpack(message)[1:3]] >= least for message in waiting]
                held = [message for message, each in zip(waiting, hides, strict=True) if not each]
                waiting = [message for message, each in zip(waiting, hides, strict=True) if each]
                if not waiting:
                    raise ValueError(
                        f"release needs a pair with at least min_reports={least} waiting messages. No message is "
                        "released; wait for more submissions."
                    )
            # This permutation removes the order of arrival, and so does clearing the rows.
            mixed = [waiting[place] for place in SecureBits().permutation(len(waiting)).tolist()]
            head = _RELEASED + number.to_bytes(8, "big")
            kept |= {head + place.to_bytes(8, "big"): message for place, message in enumerate(mixed)}
            kept |= {_WAITING + secrets.token_bytes(16): message for message in held}
            self._file.clear()
            self._file.add(kept)
            state.update(waiting=len(held), batches=number + 1)
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
            check_whole(number, "number", 0, state["batches"] - 1)
            head = _RELEASED + int(number).to_bytes(8, "big")
            mixed = [value for key, value in self._file.rows() if key.startswith(head)]
        return [self._message(message) for message in mixed]

    def _read(self, submission):
        """Return (keys, messages), as bytes, of a submission; raise `RefusedReport` if it is invalid."""
        keys, hidden = [], self._design is None
        if not hidden:
            reject_unless(type(submission) is tuple and len(submission) == 2, "no voter")
            voter, submission = submission
            known = isinstance(voter, Integral) and not isinstance(voter, bool) and 0 <= int(voter) < len(self._design)
            reject_unless(known, "no voter")
            # The voter comes first: a voter who sends another voter's submission uses up only their own row.
            keys.append(_VOTER + int(voter).to_bytes(8, "big"))
            submission = parsed(submission, self._longest)
        k = self._protocol["n_queries"]
        of_protocol({self._name}, submission)
        reject_unless(submission.keys() == {"protocol", "report", "messages"}, "wrong keys")
        reject_unless(is_digits(submission["report"], 32), "no report number")
        messages = submission["messages"]
        reject_unless(type(messages) is list and len(messages) == k, "wrong number of messages")
        reject_unless(all(isinstance(message, dict) for message in messages), "not a JSON object")
        shuffles, pairs, answers = columns(messages, "shuffle", "pair", "answer", also=())
        numbered = sorted(shuffles) if set(map(type, shuffles)) == {int} else None
        reject_unless(numbered == (list(range(k)) if hidden else [0] * k), "shuffle out of range")
        reject_unless(all(is_pair(pair, len(self._protocol["items"])) for pair in pairs), "pair out of range")
        reject_unless(all(is_whole(answer, 0, 1) for answer in answers), "answer out of range")
        if not hidden:
            reject_unless(len(set(map(tuple, pairs))) == k, "pair asked twice")
            reject_unless(sorted(pairs) == sorted(self._design[int(voter)].tolist()), "not the voter's pairs")
        keys.append(_NUMBER + bytes.fromhex(submission["report"]))
        return keys, [_MESSAGE.pack(one["shuffle"], *one["pair"], one["answer"]) for one in messages]

    def _message(self, packed):
        """Return a message as JSON-able data, given a value of a row."""
        shuffle, first, second, answer = _MESSAGE.unpack(packed)
        return {"protocol": self._name, "shuffle": shuffle, "pair": [first, second], "answer": answer}
