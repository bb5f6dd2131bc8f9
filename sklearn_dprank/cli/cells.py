"""Cells of CSV and Parquet files, and treatment of unreadable rows."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import safe_repr
from ..ballots.cells import missing
from ..ballots.names import normal
from .headers import Header, header, plain
from .words import tell

STANDARD_INPUT = Path("-")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
GAPS = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"}  # as pandas reads text
_LARGEST = 1e300  # limit of a cell, because the ratings of one person are added up
_NOT_PUBLIC = "depends on the ballots; do not publish it."


class Unreadable:
    """Policy for unreadable rows: an error, or ballots without opinions.

    A refusal that depends on one ballot reveals something about it. With ``choice="empty"``, a file is read for any
    content of its ballots, and `report` tells the operator the number of unreadable rows.
    """

    def __init__(self, choice: str, file: str) -> None:
        self._choice, self._file = choice, file
        self.rows: set[int] = set()
        self.lines: list[int] | None = None  # the line of each row in a file of text, from 1

    def add(self, row: int, problem: str) -> None:
        """Record an unreadable row; raise ValueError with its place and the problem if the choice is "error"."""
        if self._choice == "error":
            place = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
            names = " If this row holds names and is not a ballot, delete it." if row == 0 else ""
            raise ValueError(
                f"{self._file}, {place}: {problem}{names} --unreadable empty counts such rows as ballots without "
                f"opinions. This message {_NOT_PUBLIC}"
            )
        self.rows.add(row)

    def report(self, n_rows: int) -> None:
        """Print the number of unreadable rows, even if it is 0, to standard error if the choice is "empty"."""
        if self._choice == "empty":
            tell(
                f"{self._file}: {len(self.rows)} of {n_rows} rows cannot be read and count as ballots without "
                f"opinions. This line {_NOT_PUBLIC}"
            )


def read_csv(path: Path, separator: str | None, unreadable: Unreadable) -> tuple[Header, NDArray[Any]]:
    """Return the header and the cells of the lines after it; a row that cannot be read holds None.

    Names have no blanks around them.
    """
    delimiter = _delimiter(separator)
    lines, numbers = _lines(path)
    try:
        names = [plain(name) for name in _split(lines[0], delimiter)] if lines else []
    except UnicodeDecodeError:
        raise ValueError(f"{called(path)} {_ENCODING}") from None
    except csv.Error as error:
        raise ValueError(f"the first line of {called(path)} cannot be read as CSV ({error}); correct it.") from None
    if len(names) < 2:
        raise ValueError(
            f"{called(path)} must have a first row with the names of at least two items, and a row a voter; if cells "
            "are separated by something else than commas, say so: --separator ';' or --separator tab."
        )
    head = header(names, lines, delimiter, called(path))
    unreadable.lines = numbers[head.n_lines :]
    lines = lines[head.n_lines :]
    cells = np.full((len(lines), len(names)), None, dtype=object)
    for row, found in enumerate(_rows(lines, delimiter, unreadable)):
        if found is not None and len(found) != len(names):
            unreadable.add(row, f"the row has more or fewer cells than the first row, {len(names)}; correct it.")
        elif found is not None:
            cells[row] = found
    return head, cells


def csv_rows(path: Path, separator: str | None, unreadable: Unreadable) -> list[list[str] | None]:
    """Return the cells of every line of a CSV file without a header; None for a line that cannot be read."""
    delimiter = _delimiter(separator)
    lines, unreadable.lines = _lines(path)
    return list(_rows(lines, delimiter, unreadable))


_ENCODING = (
    'is not UTF-8 text, as CSV must be; unpack it first, or save it again as UTF-8 (in a spreadsheet "CSV UTF-8").'
)


def called(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD_INPUT else path.name


def _lines(path):
    """Return the lines of a file that are not empty, as bytes, and their numbers from 1; the file may be gzipped."""
    if path == STANDARD_INPUT and sys.stdin is None:
        raise ValueError("standard input is closed; name a file, or pass the ballots on standard input.")
    content = sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise ValueError(f"{called(path)} is gzipped, and cut or damaged; get it again.") from None
    lines = content.removeprefix(codecs.BOM_UTF8).splitlines()
    return [line for line in lines if line], [number for number, line in enumerate(lines, start=1) if line]


def _rows(lines, delimiter, unreadable):
    """Yield the cells of each line; None if it cannot be read.

    Each line is parsed separately, so that an unclosed quote does not affect the following lines.
    """
    for row, line in enumerate(lines):
        try:
            yield _split(line, delimiter)
            continue
        except UnicodeDecodeError:
            problem = f"this line {_ENCODING}"
        except csv.Error as error:
            problem = (
                f"this is not CSV ({error}). Each ballot must be on one line, and a quote in a cell must be doubled. "
                "Correct it, delete a column of free text, or export the file again without line breaks."
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


def read_parquet(path: Path) -> tuple[Header, NDArray[Any]]:
    """Return the header and the cells of a Parquet file."""
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
    return header([plain(str(name)) for name in frame.columns]), frame.to_numpy(dtype=object)


def as_numbers(
    names: list[str],
    cells: NDArray[Any],
    header: Header,
    unreadable: Unreadable,
    scale: dict[str, float] | None = None,
    must: str = "",
) -> NDArray[np.float64]:
    """Return cells as floats; empty cells, and all cells of a row that cannot be read, are NaN.

    `header` is that of the file. With a `scale`, cells hold its answers, as `answer` returns them. `must` says what the
    columns hold if they are not items.
    """
    numbers = np.empty(cells.shape)
    places = {name: place for place, name in reversed([*enumerate(header.names, start=1)])}
    for column, name in enumerate(names):
        shown = places[name] if is_no_name(name) else safe_repr(name)
        problem = f"column {shown} {must or f'{_NUMBERS if scale is None else _ANSWERS} {_NO_ITEM}'}"
        numbers[:, column] = _column(cells[:, column], problem, unreadable, scale)
    numbers[list(unreadable.rows)] = np.nan
    return numbers


_NUMBERS = (
    f"must hold numbers (up to {_LARGEST:g}), or empty cells. Decimals need a point, not a comma. For answers in "
    "words, use --scale."
)
_ANSWERS = "must hold answers of --scale, or empty cells, which mean no opinion."
_NO_ITEM = (
    'List answers such as "do not know" in --no-answer. If the column is not an item, list the items with '
    "--items. If it is the voter's, use --person. If each line is one rating, pivot the table."
)


def answer(text: str) -> str:
    """Return an answer in words without differences of case, blanks and apostrophes."""
    return " ".join(normal(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split()).casefold()


def code(cell: Any) -> str | float:
    """Return a cell in the form in which cells are compared with ``--no-answer``: 99 is the same as 99.0."""
    text = str(cell)
    return float(text) if _NUMBER.fullmatch(text) else answer(text)


def emptied(cells: NDArray[Any], codes: set[str | float]) -> NDArray[Any]:
    """Return cells with None in place of those whose `code` is one of these."""
    if not codes:
        return cells
    made = cells.copy()
    made[np.frompyfunc(lambda cell: code(cell) in codes, 1, 1)(cells).astype(bool)] = None
    return made


def _column(cells, problem, unreadable, scale):
    """Return the cells of one column as floats; cells that are empty or cannot be read are NaN."""

    def read(cell):
        try:
            return _number(cell) if scale is None else _on_scale(cell, scale)
        except (TypeError, ValueError, OverflowError, LookupError):
            return None

    listed = np.where(missing(cells), "", cells).tolist()
    known = {cell: read(cell) for cell in {cell for cell in listed if type(cell) is str}}  # few are distinct
    found = [known[cell] if type(cell) is str else read(cell) for cell in listed]
    for row in [row for row, value in enumerate(found) if value is None]:
        unreadable.add(row, problem)
        found[row] = np.nan
    return found


def _on_scale(cell, scale):
    """Return the place of an answer on the scale, NaN if the cell is empty; an answer may look like a gap."""
    text = str(cell)
    return np.nan if answer(text) not in scale and text.strip() in GAPS else scale[answer(text)]


def _number(cell):
    """Return a cell as a float, NaN if it is empty; text must be a number in the usual notation."""
    if isinstance(cell, (bytes, np.ndarray)):  # older NumPy converts an array of one element to a number
        raise TypeError
    if isinstance(cell, str):
        if cell.strip() in GAPS:
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
