"""Durable SQLite files for servers, which detect damage.

A file holds one state (JSON) and rows of bytes. Each row has a checksum. The state has a checksum, the number of rows
and the sum of their checksums. So the file detects rows that are changed, lost, repeated or restored.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

from ..._utils.checks import safe_repr
from ...privacy.new_file import make_whole

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
