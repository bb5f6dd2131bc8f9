"""Cells of CSV and Parquet files, and treatment of unreadable rows."""

from __future__ import annotations

import codecs
import csv
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import safe_repr
from ..ballots.cells import missing

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LARGEST = 1e300  # limit of a cell, because the ratings of one person are added up
_NOT_PUBLIC = "depends on the ballots; do not publish it."


class Unreadable:
    """Policy for unreadable rows: an error, or ballots without opinions.

    A refusal that depends on one ballot reveals something about it. With ``choice="empty"``, a file is read for any
    content of its ballots, and `report` tells the operator the number of unreadable rows.
    """

    def __init__(self, choice: str) -> None:
        self._choice = choice
        self.rows: set[int] = set()

    def add(self, row: int, problem: str) -> None:
        """Record an unreadable row; raise ValueError with the problem if the choice is "error"."""
        if self._choice == "error":
            raise ValueError(
                f"{problem} --unreadable empty counts such rows as ballots without opinions. This message {_NOT_PUBLIC}"
            )
        self.rows.add(row)

    def report(self, path: Path, n_rows: int) -> None:
        """Print the number of unreadable rows, even if it is 0, to standard error if the choice is "empty"."""
        if self._choice == "empty":
            print(
                f"{path.name}: {len(self.rows)} of {n_rows} rows cannot be read and count as ballots without opinions. "
                f"This line {_NOT_PUBLIC}",
                file=sys.stderr,
            )


def read_csv(path: Path, separator: str | None, unreadable: Unreadable) -> tuple[list[str], NDArray[Any]]:
    """Return the names in the first line and the cells of the others; a row that cannot be read holds None."""
    lines, delimiter = _lines(path), _delimiter(separator)
    try:
        names = _split(lines[0], delimiter) if lines else []
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} {_ENCODING}") from None
    except csv.Error as error:
        raise ValueError(f"the first line of {path.name} cannot be read as CSV ({error}); correct it.") from None
    if len(names) < 2:
        raise ValueError(
            f"{path.name} must have a first row with the names of at least two items, and a row a voter; if cells are "
            "separated by something else than commas, say so: --separator ';' or --separator tab."
        )
    cells = np.full((len(lines) - 1, len(names)), None, dtype=object)
    for row, found in enumerate(_rows(path, lines[1:], delimiter, unreadable)):
        if found is not None and len(found) != len(names):
            unreadable.add(
                row, f"{path.name} has rows with more or fewer cells than its first row, {len(names)}; correct them."
            )
        elif found is not None:
            cells[row] = found
    return names, cells


def csv_rows(path: Path, separator: str | None, unreadable: Unreadable) -> list[list[str] | None]:
    """Return the cells of every line of a CSV file without a header; None for a line that cannot be read."""
    return list(_rows(path, _lines(path), _delimiter(separator), unreadable))


_ENCODING = (
    'is not UTF-8 text, as CSV must be; unpack it first, or save it again as UTF-8 (in a spreadsheet "CSV UTF-8").'
)


def _lines(path):
    """Return the lines of a file that are not empty, as bytes."""
    return [line for line in path.read_bytes().removeprefix(codecs.BOM_UTF8).splitlines() if line]


def _rows(path, lines, delimiter, unreadable):
    """Yield the cells of each line; None if it cannot be read.

    Each line is parsed separately, so that an unclosed quote does not affect the following lines.
    """
    for row, line in enumerate(lines):
        try:
            yield _split(line, delimiter)
            continue
        except UnicodeDecodeError:
            problem = f"{path.name} {_ENCODING}"
        except csv.Error as error:
            problem = (
                f"{path.name} has a line that is not CSV ({error}). Each ballot must be on one line, and a quote in a "
                "cell must be doubled; correct it, or delete a column of free text."
            )
        unreadable.add(row, problem)
        yield None


def _delimiter(separator):
    """Return the character that ``--separator`` names."""
    delimiter = {None: ",", "tab": "\t", "\\t": "\t"}.get(separator, separator)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"--separator must be one character, or tab, got {safe_repr(delimiter)}.")
    return delimiter


def _split(line, delimiter):
    """Return the cells of one line; raise UnicodeDecodeError or csv.Error if it is not CSV."""
    (cells,) = csv.reader([line.decode("utf-8")], delimiter=delimiter, strict=True)
    return cells


def read_parquet(path: Path) -> tuple[list[str], NDArray[Any]]:
    """Return the column names and the cells of a Parquet file."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('Parquet needs pandas and pyarrow: install the extra "plot", and pyarrow') from None
    try:
        # Columns of integers with nulls stay integers, because two large person numbers could be equal as doubles.
        frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
    except (ImportError, FileNotFoundError, PermissionError):
        raise
    except Exception:  # pyarrow raises many kinds, and some of their messages quote the data
        raise ValueError(f"{path.name} cannot be read as Parquet; it is cut, damaged or something else.") from None
    return [str(name) for name in frame.columns], frame.to_numpy(dtype=object)


def as_numbers(names: list[str], cells: NDArray[Any], unreadable: Unreadable) -> NDArray[np.float64]:
    """Return cells as floats; empty cells, and all cells of a row that cannot be read, are NaN."""
    numbers = np.empty(cells.shape)
    for column, name in enumerate(names):
        shown = column + 1 if is_no_name(name) else safe_repr(name)
        problem = (
            f"column {shown} must hold numbers (up to {_LARGEST:g}) or empty cells, which mean no opinion. If the "
            "column identifies the voter, name it with --person. If each line is one rating (voter, item, rating), "
            "pivot the table first: one line for each voter, one column for each item."
        )
        numbers[:, column] = _column(cells[:, column], problem, unreadable)
    numbers[list(unreadable.rows)] = np.nan
    return numbers


def _column(cells, problem, unreadable):
    """Return the cells of one column as floats; cells that are empty or cannot be read are NaN."""
    found = []
    for row, (cell, gap) in enumerate(zip(cells, missing(cells), strict=True)):
        try:
            found.append(np.nan if gap else _number(cell))
        except (TypeError, ValueError, OverflowError):
            unreadable.add(row, problem)
            found.append(np.nan)
    return found


def _number(cell):
    """Return a cell as a float, NaN if it is empty; text must be a number in the usual notation."""
    if isinstance(cell, (bytes, np.ndarray)):  # older NumPy converts an array of one element to a number
        raise TypeError
    if isinstance(cell, str):
        if cell.strip() in ("", "nan", "NaN"):
            return np.nan
        if not _NUMBER.fullmatch(cell):
            raise ValueError
    number = float(cell)
    if abs(number) > _LARGEST:
        raise ValueError
    return number


def is_no_name(name: str) -> bool:
    """Return whether a cell is empty or a number, like the cells of a ballot, and so is not a name."""
    return not name.strip() or _NUMBER.fullmatch(name) is not None
