"""Server files of release 0.2.0: they are not continued, and the error states what they have spent."""

import json
import os
import sqlite3
from contextlib import closing

from ..._utils.checks import shown
from .checked_file import ServerFileError


def refuse_old_file(path):
    """Raise `ServerFileError` if `path` is a server's file of release 0.2.0; leave all others to `CheckedFile`."""
    try:
        place = os.fsdecode(path)
        if place == ":memory:" or not os.path.isfile(place) or not os.path.getsize(place):
            return
        with closing(sqlite3.connect(place)) as connection:
            ((protocol, number, question, said),) = connection.execute(
                "SELECT protocol, number, question, said FROM server"
            ).fetchall()
            ((shares,),) = connection.execute("SELECT count(*) FROM shares").fetchall()
    except (OSError, TypeError, ValueError, sqlite3.Error):
        return  # not such a file, or damaged: `CheckedFile` refuses it
    raise ServerFileError(
        f"path={shown(path)} was written by release 0.2.0 for server {number} of protocol {protocol}. "
        f"{_spent(question, said, shares)} This release cannot continue the file, because its reports have no "
        "commitments. Keep it as a record of what was spent; release 0.2.0 can repeat its sum. Use a new path for "
        "a new protocol."
    )


def _spent(question, said, shares):
    """Return what a file says of the budget of its voters, in words."""
    earlier = (
        f" It has turned to question {question}: all questions up to {question} count as spent." if question else ""
    )
    if said is not None:
        return f"It has released its sum over {_voters(said)} voters: the budget of this protocol is spent.{earlier}"
    return f"It has released no sum{' for this question' if question else ''} and holds {shares} reports.{earlier}"


def _voters(said):
    try:
        return int(json.loads(said)["n_reports"])
    except (KeyError, TypeError, ValueError):
        return "an unknown number of"
