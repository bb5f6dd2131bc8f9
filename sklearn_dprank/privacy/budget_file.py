"""A budget kept in a file: an SQLite database, so that no charge is forgotten and none is made twice over.

A charge is one transaction, which holds the only write lock from before the account is read until the charge is on the
disk (``BEGIN IMMEDIATE``, ``synchronous = EXTRA``). Two processes thus charge one after the other, and one that is
killed has either charged or not.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from .releases import Release, Terms, guarantee_as_text, guarantee_from_text

_OURS = 0x44505242  # "DPRB", where SQLite keeps what kind of file this is
_VERSION = 1
_WAIT = 60.0  # seconds for another process's charge, which takes some thousandths of one
_TABLES = (
    "CREATE TABLE terms (epsilon TEXT NOT NULL, delta TEXT NOT NULL, neighboring TEXT NOT NULL, basic_delta TEXT, "
    "simulation INTEGER NOT NULL)",
    "CREATE TABLE releases (number INTEGER PRIMARY KEY, charged TEXT NOT NULL, what TEXT NOT NULL, "
    "guarantee TEXT NOT NULL)",
    f"PRAGMA application_id = {_OURS}",
    f"PRAGMA user_version = {_VERSION}",
)


class KeptInFile:
    """The terms and releases of one budget, in a file.

    Parameters
    ----------
    path : str or path-like
        Of the file.
    terms : Terms or None
        What a new file is made with, if there is none yet; None never makes one.

    Raises
    ------
    FileNotFoundError
        If there is no file, and no terms to make one with.
    ValueError
        If the file is no budget of this package, damaged, or made by a later version.
    TimeoutError
        If other processes held it too long.
    """

    def __init__(self, path: str | os.PathLike[str], terms: Terms | None) -> None:
        self.path = Path(path).absolute()
        if terms is None and not self.path.exists():
            raise FileNotFoundError(
                f"there is no budget at {self.path}; check the path, or state the epsilon of a new one."
            )
        with self._transaction("rw" if terms is None else "rwc") as connection:
            self.terms = _terms_of(connection, terms)

    def __reduce__(self):
        return type(self), (self.path, None)

    def releases(self) -> list[Release]:
        """Return all releases that were charged."""
        with self._transaction() as connection:
            return _releases_of(connection)

    def add(self, decide: Callable[[Sequence[Release]], Release]) -> None:
        """Charge the release that `decide` returns for the releases before it, or nothing where it raises."""
        with self._transaction() as connection:
            if _stored(connection) != self.terms:
                raise _Damaged("is another budget than when it was opened; open it again.")
            release = decide(_releases_of(connection))
            row = release.when.isoformat(), release.what, guarantee_as_text(release.guarantee)
            connection.execute("INSERT INTO releases (charged, what, guarantee) VALUES (?, ?, ?)", row)

    @contextmanager
    def _transaction(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """Open the file and hold its write lock; keep what was written if nothing was raised."""
        try:
            address = f"{self.path.as_uri()}?mode={mode}"
            with closing(sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("BEGIN IMMEDIATE")
                if mode == "rw":
                    _check_kind(connection)
                yield connection
                connection.execute("COMMIT")  # if it was not reached, closing takes all back
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where a message quotes what is damaged
            raise _explained(error, self.path) from error
        except _Damaged as error:
            raise ValueError(f"{self.path} {error}") from error


class _Damaged(Exception):
    """What is wrong with a file."""


def _check_kind(connection):
    kind, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if kind != _OURS:
        raise _Damaged("is an SQLite file, but not a budget; give the path of one that PrivacyBudget.open made.")
    if version != _VERSION:
        raise _Damaged(f"has version {version} of the format, and this package knows {_VERSION}; install its version.")


def _terms_of(connection, terms):
    """Return the terms in a file, after writing them if it is new."""
    if terms is not None:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for command in _TABLES:
                connection.execute(command)
            numbers = (None if x is None else x.hex() for x in (terms.epsilon, terms.delta, terms.basic_delta))
            epsilon, delta, basic_delta = numbers
            row = epsilon, delta, terms.neighboring, basic_delta, int(terms.simulation)
            connection.execute("INSERT INTO terms VALUES (?, ?, ?, ?, ?)", row)
        _check_kind(connection)
    if (found := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
        raise _Damaged(f"is damaged ({found}); {_RESTORE}")
    return _stored(connection)


def _stored(connection):
    try:
        ((epsilon, delta, neighboring, basic_delta, simulation),) = connection.execute("SELECT * FROM terms").fetchall()
        kept = None if basic_delta is None else float.fromhex(basic_delta)
        return Terms(float.fromhex(epsilon), float.fromhex(delta), neighboring, kept, bool(simulation)).checked()
    except (TypeError, ValueError, OverflowError) as error:
        raise _Damaged(f"is damaged (its terms: {_cut(error)}); {_RESTORE}") from error


def _releases_of(connection):
    rows = connection.execute("SELECT charged, what, guarantee FROM releases ORDER BY number").fetchall()
    try:
        return [Release(_when(charged), what, guarantee_from_text(text)) for charged, what, text in rows]
    except (TypeError, ValueError, OverflowError) as error:
        raise _Damaged(f"is damaged (a release: {_cut(error)}); {_RESTORE}") from error


def _cut(error):
    """Return the first words of an error, which may quote the file at length."""
    return str(error)[:200]


def _when(charged):
    return datetime.fromisoformat(charged).astimezone(UTC)


_RESTORE = "restore it from a copy. A new budget would forget what was spent."


def _explained(error, path):
    """Return an error of SQLite as one that says what to do."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return TimeoutError(f"other processes held {path} for {_WAIT:g} s; nothing was charged, try again.")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR", "SQLITE_FULL")):
        return OSError(f"{path} cannot be opened and written ({error}); nothing is released.")
    return ValueError(f"{path} is no budget, or damaged ({error}); {_RESTORE}")
