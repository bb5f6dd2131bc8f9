"""Budget in an SQLite file, so that charges survive restarts and processes can share it.

A charge is one transaction. It takes the only write lock before it reads the account, and holds it until the charge is
on the disk (``BEGIN IMMEDIATE``, ``synchronous = EXTRA``). Two processes therefore charge one after the other, and a
killed process has charged completely or not at all. A new file is created under another name and then linked, so a file
is never incomplete.

Every write, a charge or an amendment, adds a row with a random token to the table ``writes``. An open budget remembers
the last write that it read. If the file no longer has it, it is an old copy. Otherwise, only the writes after it are
read, so a charge takes the same time however many were made before.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ..guarantee import PrivacyGuarantee
from ..new_file import make_whole
from .adaptive import Account
from .charging import Before, account_of
from .releases import Release, Terms, guarantee_as_text, guarantee_from_text

_OURS = 0x44505242  # "DPRB", SQLite's application id for the kind of file
_VERSION = 3
_WAIT = 60.0  # seconds to wait for other processes' charges, which take milliseconds
_TABLES = (
    "CREATE TABLE terms (epsilon TEXT NOT NULL, delta TEXT NOT NULL, neighboring TEXT NOT NULL, basic_delta TEXT, "
    "simulation INTEGER NOT NULL, identity TEXT NOT NULL)",
    "CREATE TABLE releases (number INTEGER PRIMARY KEY, charged TEXT NOT NULL, what TEXT NOT NULL, "
    "guarantee TEXT NOT NULL, release_id TEXT)",
    "CREATE INDEX identifiers ON releases (release_id)",
    "CREATE TABLE writes (number INTEGER PRIMARY KEY, release INTEGER NOT NULL, token TEXT NOT NULL)",
    f"PRAGMA application_id = {_OURS}",
    f"PRAGMA user_version = {_VERSION}",
)
_COLUMNS = "SELECT charged, what, guarantee, release_id FROM releases"


class _Seen(NamedTuple):
    """Number and token of the last write that was read, and the releases and the account after it."""

    number: int
    token: str
    n_releases: int
    account: Account


class KeptInFile:
    """Terms and releases of one budget in a file.

    `terms` are for a new file, if there is none; None never creates one. `seen` holds the identity, the terms and what
    a pickled object had read; None accepts any budget.

    Raises
    ------
    FileNotFoundError
        If the file does not exist and `terms` is None.
    ValueError
        If the file is not a budget, is damaged, has a later version, or is not the budget that was `seen`.
    TimeoutError
        If other processes hold the lock too long.
    """

    def __init__(
        self, path: str | os.PathLike[str], terms: Terms | None, seen: tuple[str, Terms, _Seen] | None = None
    ) -> None:
        self.path = Path(path).absolute()
        self._seen: _Seen | None = None
        if seen is not None:
            self._identity, self.terms, self._seen = seen
        if not self.path.exists():
            if terms is None:
                raise FileNotFoundError(
                    f"the budget file {self.path} does not exist; check the path, or state the epsilon of a new one."
                    f"{self._last_seen}"
                )
            _make(self.path, terms)
        with self._transaction() as connection:
            found = _opened(connection)
            if seen is None:
                self.terms, self._identity = found
            self._read(connection)

    def __reduce__(self):
        return type(self), (self.path, None, (self._identity, self.terms, self._seen))

    def releases(self) -> list[Release]:
        """Return all charged releases."""
        with self._transaction() as connection:
            self._read(connection)
            return _releases(connection)

    def account(self) -> Account:
        """Return the account of all charged releases."""
        with self._transaction() as connection:
            return self._read(connection)

    def add(self, decide: Callable[[Before], Release]) -> int:
        """Charge ``decide(what was charged before)``; return its number, for `amend`.

        If `decide` raises, no release is charged.
        """
        with self._transaction() as connection:

            def find(release_id):
                return next(iter(_releases(connection, "WHERE release_id = ?", release_id)), None)

            account = self._read(connection)
            release = decide(Before(account, find, lambda: _releases(connection)))
            values = release.when.isoformat(), release.what, guarantee_as_text(release.guarantee), release.release_id
            command = "INSERT INTO releases (charged, what, guarantee, release_id) VALUES (?, ?, ?, ?)"
            number: int = connection.execute(command, values).lastrowid  # type: ignore[assignment]
            seen = _written(connection, number, number, account.with_one_more(release.guarantee))
        self._seen = seen
        return number

    def amend(self, number: int, guarantee: PrivacyGuarantee) -> None:
        """Replace the charged guarantee of a release."""
        with self._transaction() as connection:
            self._read(connection)
            command = "UPDATE releases SET guarantee = ? WHERE number = ?"
            connection.execute(command, (guarantee_as_text(guarantee), number))
            releases = _releases(connection)
            seen = _written(connection, number, len(releases), account_of(self.terms, releases))
        self._seen = seen

    def _read(self, connection) -> Account:
        """Return the account in the file; raise if it is another file, or an old copy of this one."""
        terms, identity = _stored(connection)
        if identity != self._identity or terms != self.terms:
            raise _Damaged(
                "is not the budget that was opened: that one was deleted, moved or replaced. Put it back; open a new "
                "one for other voters only."
            )
        seen = self._seen or _Seen(0, "", 0, account_of(terms, []))
        command = "SELECT number, release, token FROM writes WHERE number >= ? ORDER BY number"
        writes = [(0, 0, "")] * (seen.number == 0) + connection.execute(command, (max(seen.number, 1),)).fetchall()
        if not writes or (writes[0][0], writes[0][2]) != (seen.number, seen.token):
            raise _Damaged("is an old copy of the budget that was opened: charges are missing. Put the latest back.")
        written, account = [release for _, release, _ in writes[1:]], seen.account
        new = range(seen.n_releases + 1, seen.n_releases + len(written) + 1)
        if written == list(new):
            for release in _releases(connection, "WHERE number > ?", seen.n_releases) if written else ():
                account = account.with_one_more(release.guarantee)
        else:  # an earlier charge was amended
            account = account_of(terms, _releases(connection))
        number, _, token = writes[-1]
        self._seen = _Seen(number, token, max([seen.n_releases, *written]), account)
        return account

    @property
    def _last_seen(self):
        """Return a sentence with the budget spent at the last read, or ""."""
        if self._seen is None or not self._seen.number:
            return ""
        epsilon, delta = self._seen.account.spent()
        return f" Spent when it was last read: epsilon = {epsilon:g} and delta = {delta:g}."

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the file and hold its write lock; commit unless an exception is raised."""
        try:
            address = f"{self.path.as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("BEGIN IMMEDIATE")
                _check_kind(connection)
                yield connection
                connection.execute("COMMIT")  # if an exception skips this line, closing rolls back
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter if a message quotes damaged text
            raise _explained(error, self.path, self._last_seen) from error
        except _Damaged as error:
            raise ValueError(f"{self.path} {error}{self._last_seen}") from error


class _Damaged(Exception):
    """Defect of a file."""


def _make(path, terms):
    """Create a new file with these terms, unless another process has created it."""

    def fill(connection):
        for command in _TABLES:
            connection.execute(command)
        numbers = (None if x is None else x.hex() for x in (terms.epsilon, terms.delta, terms.basic_delta))
        epsilon, delta, basic_delta = numbers
        row = epsilon, delta, terms.neighboring, basic_delta, int(terms.simulation), secrets.token_hex(16)
        connection.execute("INSERT INTO terms VALUES (?, ?, ?, ?, ?, ?)", row)

    try:
        make_whole(path, fill)
    except sqlite3.Error as error:
        raise _explained(error, path, "") from error
    except OSError as error:
        raise OSError(f"{path} cannot be made ({error}); no result is released.") from error


def _check_kind(connection):
    """Raise unless the file is a budget of the known version."""
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise _Damaged(f"is empty; {_RESTORE} If no release was ever charged to it, delete it.")
    kind, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if kind != _OURS:
        raise _Damaged("is an SQLite file, but not a budget; give the path of one that PrivacyBudget.open made.")
    if version != _VERSION:
        raise _Damaged(f"has version {version} of the format, and this package knows {_VERSION}; install its version.")


def _opened(connection):
    """Return the terms and the identity in a file, after a check for damage."""
    if (found := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
        raise _Damaged(f"is damaged ({found}); {_RESTORE}")
    counts = "SELECT (SELECT count(*) FROM releases), max(release), count(DISTINCT release) FROM writes"
    n_releases, last, written = connection.execute(counts).fetchone()
    if (n_releases, last or 0) != (written, written):
        raise _Damaged(f"is damaged (releases are missing); {_RESTORE}")
    return _stored(connection)


def _stored(connection):
    """Return the terms and the identity in a file."""
    rows = connection.execute("SELECT epsilon, delta, neighboring, basic_delta, simulation, identity FROM terms")
    try:
        ((epsilon, delta, neighboring, basic_delta, simulation, identity),) = rows.fetchall()
        kept = None if basic_delta is None else float.fromhex(basic_delta)
        terms = Terms(float.fromhex(epsilon), float.fromhex(delta), neighboring, kept, bool(simulation)).checked()
        if not identity:
            raise ValueError("no identity")
        return terms, identity
    except (TypeError, ValueError, OverflowError) as error:
        raise _Damaged(f"is damaged (its terms: {_cut(error)}); {_RESTORE}") from error


def _releases(connection, where="", *values):
    """Return the releases in a file that meet a condition, oldest first."""
    try:
        return [
            Release(_when(charged), what, guarantee_from_text(text), name)
            for charged, what, text, name in connection.execute(f"{_COLUMNS} {where} ORDER BY number", values)
        ]
    except (TypeError, ValueError, OverflowError) as error:
        raise _Damaged(f"is damaged (a release: {_cut(error)}); {_RESTORE}") from error


def _written(connection, release, n_releases, account):
    """Record that a release was charged or amended, with the account after it."""
    token = secrets.token_hex(16)
    number = connection.execute("INSERT INTO writes (release, token) VALUES (?, ?)", (release, token)).lastrowid
    return _Seen(number, token, n_releases, account)


def _cut(error):
    """Return the first 200 characters of an error, which may quote the file at length."""
    return str(error)[:200]


def _when(charged):
    return datetime.fromisoformat(charged).astimezone(UTC)


_RESTORE = "restore the newest copy and charge again what was released since. A new budget would forget what was spent."


def _explained(error, path, last_seen):
    """Return an exception that explains an error of SQLite and the remedy."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return TimeoutError(f"other processes held {path} for {_WAIT:g} s; nothing was charged, try again.")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR", "SQLITE_FULL")):
        return OSError(f"{path} cannot be opened and written ({error}); no result is released.{last_seen}")
    return ValueError(f"{path} is no budget, or damaged ({error}); {_RESTORE}{last_seen}")
