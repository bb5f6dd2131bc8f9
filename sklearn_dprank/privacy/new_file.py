"""Atomic creation of SQLite files that store a spent budget."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress


def make_whole(path: str | os.PathLike[str], fill: Callable[[sqlite3.Connection], None]) -> None:
    """Create an SQLite file at `path` atomically; keep the existing file if another process has created one.

    ``fill(connection)`` writes the tables to a temporary file, which is then hard-linked to `path`. Other processes see
    the complete file or none.

    Raises
    ------
    OSError or sqlite3.Error
        If the file cannot be written, or if its folder does not support hard links.
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
