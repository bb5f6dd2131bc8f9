"""The files of a poll: its question and reports, its shuffler, and the page with its result."""

import json
import os
import secrets
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.collection import Shuffler

TABLES = (
    "CREATE TABLE IF NOT EXISTS poll (question TEXT, protocol TEXT, trust TEXT, epsilon REAL, id TEXT)",
    # sorted by a random number: not even the order of arrival is stored
    "CREATE TABLE IF NOT EXISTS reports (ticket TEXT PRIMARY KEY, report TEXT NOT NULL) WITHOUT ROWID",
)


def begin(path, question, estimator, items):
    """Write a new poll into a file, in one transaction; a poll that is there already stays.

    Raises
    ------
    ValueError
        If the shuffler or the result of an earlier poll is beside the file.
    """
    for left in (shuffler_file(path), result_page(path)):
        if left.exists() and not is_begun(path):
            raise ValueError(f"{left} belongs to an earlier poll. Move it away, or use another file for the new poll.")
    trust = "shuffle" if isinstance(estimator, ShufflePairwise) else "local"
    epsilon = estimator.local_epsilon if trust == "shuffle" else estimator.epsilon
    protocol = json.dumps(estimator.protocol(items))
    with closing(sqlite3.connect(path, isolation_level=None)) as kept:
        kept.execute("PRAGMA secure_delete = ON")
        kept.execute("BEGIN IMMEDIATE")
        for table in TABLES:
            kept.execute(table)
        poll = "INSERT INTO poll SELECT ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT * FROM poll)"
        kept.execute(poll, (question, protocol, trust, epsilon, secrets.token_hex(16)))
        kept.execute("COMMIT")


def is_begun(path):
    """Return whether a file holds a poll; a process that was killed may have left an empty one."""
    if not Path(path).exists():
        return False
    with closing(sqlite3.connect(path)) as kept:
        (tables,) = kept.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return tables > 0 and kept.execute("SELECT count(*) FROM poll").fetchone() != (0,)


def read_id(path):
    """Return the random id of a poll. Two polls with the same items and parameters differ in it only."""
    with closing(sqlite3.connect(path, timeout=30)) as kept:
        return kept.execute("SELECT id FROM poll").fetchone()[0]


class OtherPoll(ValueError):
    """Error for a file that holds another poll now."""


@contextmanager
def writing(path, poll):
    """Open the poll of this id for one transaction, which is on the disk at the end or has no effect.

    Raises
    ------
    OtherPoll
        If the file holds another poll.
    """
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as kept:
        kept.execute("PRAGMA synchronous = EXTRA")
        kept.execute("BEGIN IMMEDIATE")
        if kept.execute("SELECT count(*) FROM poll WHERE id = ?", (poll,)).fetchone() != (1,):
            raise OtherPoll("the file holds another poll now")
        yield kept
        kept.execute("COMMIT")


def read_poll(path):
    """Return the question, the protocol and an estimator with the poll's parameters.

    Raises
    ------
    ValueError
        If the file holds no poll, or one of another version of the package.
    """
    if not is_begun(path):
        raise ValueError(f"{path} holds no poll. Start one with collector.py.")
    with closing(sqlite3.connect(path)) as kept:
        question, text, trust, epsilon = kept.execute("SELECT question, protocol, trust, epsilon FROM poll").fetchone()
    protocol = json.loads(text)
    if trust == "local":
        estimator = LDPPairwise(epsilon=epsilon, n_queries=protocol["n_queries"])
    else:
        estimator = ShufflePairwise(
            local_epsilon=epsilon, min_reports=protocol["min_reports"], n_queries=protocol["n_queries"]
        )
    if estimator.protocol(protocol["items"]) != protocol:
        raise ValueError(
            f"the poll in {path} follows version {protocol['version']} of the wire format, or other parameters. "
            "Use the version of sklearn_dprank that began it, or begin a new poll."
        )
    return question, protocol, estimator


def shuffler_file(path):
    """Return the path of the file of a poll's shuffler."""
    return beside(path, ".shuffler")


def beside(path, suffix):
    """Return the path of another file of a poll. It contains the whole name: poll.db and poll.sqlite are two polls."""
    return Path(path).with_name(Path(path).name + suffix)


def open_shuffler(path, protocol):
    """Return the shuffler of a poll, whose file is beside that of the poll, or None if the poll has none."""
    if protocol["randomizer"] != "rr-shuffled":
        return None
    return Shuffler(protocol, shuffler_file(path))


def read_reports(path, protocol):
    """Yield all reports in a random order as text, or all messages that the shuffler releases.

    Raises
    ------
    ValueError
        If the shuffler has not released a batch and has too few voters for one.
    """
    shuffler = open_shuffler(path, protocol)
    if shuffler is None:
        with closing(sqlite3.connect(path)) as kept:
            for (report,) in kept.execute("SELECT report FROM reports ORDER BY ticket"):
                yield report
        return
    with closing(shuffler):
        if shuffler.batches == 0 or shuffler.waiting >= protocol["min_reports"]:
            shuffler.release()
        for number in range(shuffler.batches):
            yield from shuffler.batch(number)


def has_ticket(kept, ticket):
    """Return whether a ticket has its report."""
    return kept.execute("SELECT count(*) FROM reports WHERE ticket = ?", (ticket,)).fetchone() == (1,)


def add_report(kept, ticket, report):
    """Add the report of a new ticket. None stands for a report that a shuffler holds, apart from its ticket."""
    kept.execute("INSERT INTO reports VALUES (?, ?)", (ticket, "" if report is None else json.dumps(report)))


def result_page(path):
    """Return the path of the page with the result of a poll.

    Raises
    ------
    ValueError
        If the file has the suffix of such a page: a result could replace the poll.
    """
    if Path(path).suffix.lower() == ".html":
        raise ValueError(f"{path} could be overwritten by a result. Use another suffix, such as .sqlite.")
    return beside(path, ".html")


def write_whole(path, text):
    """Write a file so that a reader sees the old text or the new one, and nothing between them."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
