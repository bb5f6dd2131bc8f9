"""New SQLite files that hold a spent budget: they exist as a whole, or not at all."""

import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress


def make_whole(path: str | os.PathLike[str], fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a new file beside `path` and link it to that name: whoever opens it finds nothing, or all of it.

    Nothing happens if another process has made the file meanwhile.

    Parameters
    ----------
    path : str or path-like
        Of the file; its folder must support hard links.
    fill : callable
        Writes the tables, given an open connection.

    Raises
    ------
    OSError or sqlite3.Error
        If the file cannot be written or linked.
    """
    beside = f"{path}.{secrets.token_hex(8)}.new"
    try:
        with closing(sqlite3.connect(beside, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            fill(connection)
            connection.execute("COMMIT")
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)
