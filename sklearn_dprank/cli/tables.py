"""Files as rows of text cells: CSV, Excel, Parquet and Feather."""

from __future__ import annotations

import argparse
import codecs
import csv
import gzip
import io
import re
import shlex
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.checks import safe_repr
from ..ballots.reading import normal
from .printing import STANDARD_INPUT, tell

NOT_PUBLIC = "depends on the ballots; do not publish it."
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
LONGEST_NAME = 100  # characters of a column in a line to copy

# Names of columns.


def plain(text: str) -> str:
    """Return a name as names are compared: `normal`, without blanks around it."""
    return normal(text).strip(" \t")


def called(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD_INPUT else path.name


def joined(names: Iterable[str]) -> str:
    """Return names with commas between, as an option lists them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([name] for name in names)
    return ", ".join(out.getvalue().split("\n")[:-1])


def is_no_name(name: str) -> bool:
    """Return whether a cell is empty or a number, like the cells of a ballot, and so is not a name."""
    return not name.strip() or NUMBER.fullmatch(name) is not None


def to_copy(option: str, names: list[str]) -> str:
    """Return an option that lists these names, in quotes for a shell; empty if they may be cells of a ballot."""
    if len(names) < 2 or any(is_no_name(name) or len(name) > LONGEST_NAME for name in names):
        return ""
    return f"{option} {shlex.quote(joined(names))}"


# Rows that cannot be read.


@dataclass
class Unreadable:
    """Policy for unreadable rows: an error, or ballots without opinions.

    A refusal that depends on one ballot reveals something about it. If the choice is "empty", a file is read for any
    content of its ballots.
    """

    choice: str
    file: str
    rows: set[int] = field(default_factory=set)
    lines: list[int] = field(default_factory=list)  # the number of each row in the file, from 1
    unit: str = "row"
    can_skip: bool = True  # whether --skip-rows is for this file
    meaning: str = "ballots without opinions"

    def add(self, rows: Iterable[int], problem: str) -> None:
        """Record unreadable rows; raise ValueError with the first place and the problem if the choice is "error"."""
        for row in rows:
            if self.choice == "error":
                raise ValueError(
                    f"{self.file}, {self.unit} {self.lines[row]}: {problem} --unreadable empty counts such rows as "
                    f"{self.meaning}. This message {NOT_PUBLIC}"
                )
            self.rows.add(row)

    def tell(self, n_rows: int) -> None:
        """Tell the operator how many rows cannot be read, also if it is none, unless they are errors."""
        if self.choice == "empty":
            counted = f"{len(self.rows)} of {n_rows} rows cannot be read and count as {self.meaning}"
            tell(f"{self.file}: {counted}. This line {NOT_PUBLIC}")


# Kinds of files.

_KINDS = {".xlsx": "Excel", ".xlsm": "Excel", ".parquet": "Parquet", ".feather": "Feather", ".arrow": "Feather"}
_STARTS = {b"PK\x03\x04": "Excel", b"PAR1": "Parquet", b"ARROW1": "Feather"}  # the first bytes of each kind
_EXTRAS = {"Excel": ("openpyxl", "excel"), "Parquet": ("pyarrow", "tables"), "Feather": ("pyarrow", "tables")}
_AS_CSV = (
    'convert it to votes.csv, in which > stands between the items of lists: python -c "import pandas; '
    "pandas.read_json({}).map(lambda cell: '>'.join(map(str, cell)) if isinstance(cell, list) else cell)"
    ".to_csv('votes.csv', index=False, mode='x')\" Then rank votes.csv."
)
_IN_EXCEL = "open it in a spreadsheet, and save it as .xlsx or as CSV."
_IN_SPSS = 'export it as CSV, or convert it by the package pyreadstat: pandas.read_spss({}).to_csv("votes.csv").'
_REFUSED = {  # kinds of files that are not read, and what to do
    ".json": ("JSON", _AS_CSV),
    ".jsonl": ("JSON Lines", _AS_CSV.replace("{}", "{}, lines=True")),
    ".ndjson": ("JSON Lines", _AS_CSV.replace("{}", "{}, lines=True")),
    ".xls": ("an old Excel file", _IN_EXCEL),
    ".xlsb": ("a binary Excel file", _IN_EXCEL),
    ".ods": ("an OpenDocument file", _IN_EXCEL),
    ".numbers": ("a file of Numbers", _IN_EXCEL),
    ".sav": ("an SPSS file", _IN_SPSS),
    ".zip": ("a ZIP archive", "unpack it, and name the file in it."),
}
_SEPARATOR = re.compile(r'"?sep=([^"])"?', re.IGNORECASE)
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*[\[{])')


@dataclass
class Rows:
    """Rows of a file from the names on; rows of text are lines, which `delimiter` splits, others are lists of cells."""

    file: str
    rows: list[Any]
    lines: list[int]  # the number of each row in the file, from 1
    delimiter: str | None = None
    no_items: frozenset[str] = frozenset()  # columns that are not items, as the file states
    keeps_empty: bool = False  # whether rows of empty cells are ballots
    can_skip: bool = True  # whether rows may stand above or below the names

    def names(self, n: int) -> tuple[list[list[str]], int]:
        """Return the first `n` rows, which hold names, and the number of lines that they take.

        A quoted name may have line breaks, as in texts of questions. Raises csv.Error, UnicodeError or StopIteration.
        """
        if self.delimiter is None:
            width = max(map(len, self.rows[:n]), default=0)
            return [row + [""] * (width - len(row)) for row in self.rows[:n]], n
        reader = csv.reader((f"{line}\n" for line in self.rows), delimiter=self.delimiter, strict=True)
        found: list[list[str]] = []
        while len(found) < n:
            start = reader.line_num
            found.append(next(reader))
            first, *others = self.rows[start : reader.line_num]
            "".join([first, *others]).encode()  # raises UnicodeError if a line could not be decoded
            if any(_is_row(line, self.delimiter, len(found[0])) for line in others):
                raise csv.Error("a quote that is not closed may hide ballots")
        return found, reader.line_num

    def lists(self, unreadable: Unreadable, start: int = 0, n_cells: int | None = None) -> Iterator[list[str]]:
        """Yield the cells of each row from `start` on; none if it cannot be read.

        Rows without text are left out, each by itself, unless they are ballots.
        """
        unreadable.unit = "row" if self.delimiter is None else "line"
        unreadable.lines, unreadable.can_skip = [], self.can_skip
        n_joined = n_cells if unreadable.choice == "error" else None
        row, place, used = 0, start, 1
        while place < len(self.rows):
            unreadable.lines.append(self.lines[place])
            try:
                if self.delimiter is None:
                    cells = self.rows[place] + [""] * ((n_cells or 0) - len(self.rows[place]))
                    if re.search("[\ud800-\udfff]", "".join(cells)):
                        raise ValueError("a cell is not UTF-8 text; correct it.")
                else:
                    cells, used = _split(self.rows, place, self.delimiter, n_joined)
            except ValueError as problem:
                unreadable.add([row], str(problem))
                cells, used = [], 1
            place += used
            is_whole = bool(cells) and (self.delimiter is None or len(cells) == n_cells)
            if not self.keeps_empty and (cells == [""] or (is_whole and not "".join(cells).strip())):
                del unreadable.lines[row:]
                continue
            yield cells
            row += 1

    def table(self, unreadable: Unreadable, start: int, n_cells: int) -> np.ndarray:
        """Return the cells of the rows from `start` on; the cells of a row that cannot be read are empty."""
        cells: list[list[str]] = []
        for row, found in enumerate(self.lists(unreadable, start, n_cells)):
            if found and len(found) != n_cells:
                unreadable.add([row], f"the row has more or fewer cells than the first row, {n_cells}; correct it.")
            cells.append(found if len(found) == n_cells else [""] * n_cells)
        return np.array(cells, dtype=object).reshape(-1, n_cells)


def open_rows(options: argparse.Namespace, ids: Iterable[str | None] = (), *, has_names: bool = True) -> Rows:
    """Return the rows of ``options.file``; floats in columns of `ids`, which could merge large numbers, are errors.

    Without a row of names, the first bytes are those of a ballot, and do not affect how the file is read.
    """
    path: Path = options.file
    suffix = ending(path)
    content = getattr(options, "content", None)  # of standard input, which can be read only once
    if content is None:
        content = b"" if suffix in _REFUSED else _content(path, has_names)
    if path == STANDARD_INPUT:
        options.content = content
    if has_names and _JSON.match(content):  # its first row would be a ballot
        suffix = ".json" if content.lstrip()[:1] == b"[" else ".jsonl"
    if suffix in _REFUSED:
        what, remedy = _REFUSED[suffix]
        raise ValueError(f"{called(path)} is {what}, which dprank does not read; {remedy.format(repr(path.name))}")
    starts = [kind for start, kind in _STARTS.items() if content.startswith(start)]
    kind = _KINDS.get(suffix) or [*starts * has_names, "CSV"][0]
    kinds = {"separator": ["CSV"], "encoding": ["CSV"], "sheet": ["Excel"], "skip_rows": ["CSV", "Excel"]}
    for option, those in kinds.items():
        if getattr(options, option) is not None and kind not in those:
            raise ValueError(f"--{option.replace('_', '-')} is for {' and '.join(those)} files; leave it out.")
    if kind in ("Parquet", "Feather") and not has_names:
        raise ValueError(f"{kind} files name their columns; list those of the choices in --choices, best first.")
    # Where the number of voters is public, a row without any text is a ballot.
    keeps_empty = getattr(options, "neighboring", None) == "replace" and options.count is None
    if kind == "Excel" and keeps_empty:
        raise ValueError(
            "Excel stores no empty rows at the end, so --neighboring replace could count too few voters. Fill a column "
            "in the row of each voter, such as one with row numbers, and save the sheet as CSV."
        )
    if kind == "CSV":
        rows = _from_text(content, options, has_names)
    else:
        rows = _from_excel(content, options) if kind == "Excel" else _from_arrow(content, options, kind)
    rows.keeps_empty = keeps_empty
    if kind in ("CSV", "Excel"):
        _from_names(rows, {*(options.skip_rows or ())}, has_names)
    if kind != "CSV":
        for place, name in enumerate(plain(str(cell)) for row in rows.rows[:1] for cell in row):
            cells = (cell for row in rows.rows[1:] for cell in row[place : place + 1])
            if options.unreadable == "error" and name in ids and any(isinstance(cell, float) for cell in cells):
                raise ValueError(
                    f"column {name!r} must hold text or whole numbers, and holds floats; write it as text. This "
                    f"message {NOT_PUBLIC}"
                )
        rows.rows = _as_text(rows.rows, options.decimal or ".")
    return rows


def _from_names(rows, skipped, has_names):
    """Drop the rows of `skipped`, rows without text above the names, and empty lines that are not ballots.

    Raises ValueError if a row of `skipped` may stand below a ballot: its number would change with the ballots.
    """
    kept = [place for place, line in enumerate(rows.lines) if line not in skipped]
    while has_names and kept and rows.rows[kept[0]] in ("", [None]):
        del kept[0]
    if any(rows.lines[place] < max(skipped, default=0) for place in kept[has_names:]):
        names = "beside the row of names, " * has_names
        raise ValueError(
            f"--skip-rows lists {max(skipped)}, so {names}it must list all rows above, got "
            f"{', '.join(map(str, sorted(skipped)))}. It is for rows of titles and names, not for ballots."
        )
    kept = [place for place in kept if rows.rows[place] != "" or rows.keeps_empty]
    rows.rows, rows.lines = [rows.rows[place] for place in kept], [rows.lines[place] for place in kept]


def ending(path: Path) -> str:
    """Return the end of the name of a file in lower case, such as .csv, without .gz."""
    return next((suffix for suffix in map(str.lower, reversed(path.suffixes)) if suffix != ".gz"), "")


def _content(path, has_names):
    """Return the bytes of a file or of standard input, unpacked."""
    if path == STANDARD_INPUT and sys.stdin is None:
        raise ValueError("standard input is closed; name a file, or pass the ballots on standard input.")
    content = sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    if content.startswith(b"\x1f\x8b") if has_names else path.suffix.lower() == ".gz":
        try:
            return gzip.decompress(content)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise ValueError(f"{called(path)} is not gzipped, or is cut or damaged; get it again.") from None
    return content


# Text.


def encoding(text: str) -> str:
    """Return the value of ``--encoding``."""
    try:
        name = codecs.lookup(io.TextIOWrapper(io.BytesIO(), text).encoding).name  # LookupError if it is not of text
    except (LookupError, UnicodeError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text} is not an encoding that Python knows; try utf-8, utf-16, cp1252 (Excel in Western Europe) or "
            "shift_jis."
        ) from None
    if name.startswith(("iso2022", "hz", "utf-7", "unicode", "raw-unicode", "idna", "punycode", "undefined")):
        raise argparse.ArgumentTypeError(f"in {text}, a line can change how others are read; save the file as utf-8.")
    return name


def _escaped(error):
    """Return surrogates for bytes that cannot be decoded, so that only their line is unreadable."""
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error("dprank", _escaped)


def _from_text(content, options, has_names):
    """Return the lines of a text file. Those that cannot be decoded hold surrogates."""
    default = "\t" if ".tsv" in map(str.lower, options.file.suffixes) else ","
    delimiter = {None: default, "tab": "\t", "\\t": "\t"}.get(options.separator, options.separator)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"--separator must be one character, or tab, got {safe_repr(delimiter)}.")
    is_marked = has_names and content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = content.decode(options.encoding or ("utf-16" if is_marked else "utf-8"), "dprank")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = lines if lines[-1] else lines[:-1]
    if has_names and lines and (stated := _SEPARATOR.fullmatch(lines[0])):  # as Excel states it
        lines[0], delimiter = "", stated[1] if options.separator is None else delimiter
    return Rows(called(options.file), lines, [*range(1, len(lines) + 1)], delimiter)


def _split(lines, place, delimiter, n_cells):
    """Return the cells of the row that begins in this line, and its number of lines; raise ValueError if there is none.

    If `n_cells` is given, a quoted cell may have line breaks, if the row has that many cells, and if no other line of
    it is a row by itself: a quote that is not closed must not hide ballots. The row has no quotes within cells that are
    not quoted. So rows cannot begin at other lines because a quote above is not closed.
    """
    line, used = lines[place], 1
    try:
        if not line.isascii():
            line.encode()  # raises UnicodeError if the line could not be decoded
        if '"' not in line and len(line) <= csv.field_size_limit():
            return line.split(delimiter), used
        try:
            (cells,) = csv.reader([line], delimiter=delimiter, strict=True)
        except csv.Error:
            if not n_cells:
                raise
            below = (lines[each] for each in range(place + 1, len(lines)))
            after = takewhile(lambda each: not _is_row(each, delimiter, n_cells), below)
            reader = csv.reader((f"{each}\n" for each in chain([line], after)), delimiter=delimiter, strict=True)
            cells, used = next(reader), reader.line_num
            mark, text = re.escape(delimiter), "\n".join(lines[place : place + used])
            cell = rf'(?:"(?:[^"]|"")*+"|[^"{mark}]*+)'
            if len(cells) != n_cells or not re.fullmatch(f"{cell}(?:{mark}{cell})*+", text):
                raise
            "".join(cells).encode()
    except UnicodeError:
        raise ValueError(
            "this is not UTF-8 text. Add --encoding cp1252 if the file is from Excel in Western Europe, or utf-16 for "
            '"Unicode text", or save it as "CSV UTF-8".'
        ) from None
    except csv.Error as error:
        raise ValueError(
            f"this is not CSV ({error}). A quote in a cell must be doubled, and a cell with line breaks must be in "
            "quotes. Delete a column of free text, or export the file again, without line breaks or as .xlsx."
        ) from None
    return cells, used


def _is_row(line, delimiter, n_cells):
    """Return whether a line is a complete row by itself."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter, strict=True), [])) == n_cells
    except csv.Error:
        return False


# Excel, Parquet and Feather.


def _missing(kind):
    """Return the error about a package that is not installed."""
    package, extra = _EXTRAS[kind]
    return ImportError(
        f'{kind} files need {package}: install the extra "{extra}", by pip install "sklearn-dprank[{extra}]", or '
        f"pip install {package}"
    )


def _damaged(options, kind):
    """Return the error about a file that its package cannot read."""
    return ValueError(f"{called(options.file)} cannot be read as {kind}; it is cut, damaged or something else.")


def _as_text(rows, decimal):
    """Return rows of cells as text, with this decimal mark; missing cells are empty, and whole floats have no mark."""

    def text(cell):
        if isinstance(cell, bytes):
            return cell.decode("utf-8", "dprank")
        if cell is None or cell != cell:
            return ""
        return str(cell).removesuffix(".0").replace(".", decimal) if type(cell) in (float, Decimal) else str(cell)

    return [[text(cell) for cell in row] for row in rows]


class SeveralSheets(ValueError):
    """No option names one of the sheets."""

    def __init__(self, message: str, names: list[str]) -> None:
        super().__init__(message)
        self.names = names


def _from_excel(content, options):
    """Return the rows of the sheet that ``--sheet`` names, or of the only one; cells are numbers, text or None."""
    file, sheet = called(options.file), options.sheet
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise _missing("Excel") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles, and other parts of a workbook that are not read
        try:
            book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            names = [each.title for each in book.worksheets]
        except Exception:  # openpyxl raises many kinds
            raise _damaged(options, "Excel") from None
        if sheet is None and len(names) > 1:
            each = " or ".join(f"--sheet {shlex.quote(name)}" for name in names)
            raise SeveralSheets(f"{file} has {len(names)} sheets; name one of them: {each}.", names)
        if sheet is not None and sheet not in names:
            raise ValueError(f"--sheet {sheet!r} is none of the sheets of {file}; these are {joined(names)}.")
        try:
            found = book[sheet or names[0]]
            found.reset_dimensions()  # some programs state wrong ones
            rows = [[*row] for row in found.iter_rows(values_only=True)]
        except Exception:
            raise _damaged(options, "Excel") from None
    for row in rows:  # no row affects the width of others
        while row[1:] and row[-1] in (None, ""):
            del row[-1]
    return Rows(file, [row or [None] for row in rows], [*range(1, len(rows) + 1)])


def _from_arrow(content, options, kind):
    """Return the names and the rows of a Parquet or Feather file; cells that Python cannot hold are not UTF-8."""
    try:
        import pyarrow as pa
        from pyarrow import ipc, parquet
    except ImportError:
        raise _missing(kind) from None

    def values(column):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
            column = column.cast(pa.string())  # Python cannot hold each time
        if pa.types.is_float32(column.type):
            column = column.cast(pa.string()).cast(pa.float64())  # as it is written
        try:
            return column.to_pylist()
        except Exception:  # of one cell
            return [value(cell) for cell in column]

    def value(cell):
        try:
            return cell.as_py()
        except Exception:
            return b"\xff"  # not UTF-8

    try:
        source = pa.BufferReader(content)
        table = parquet.read_table(source) if kind == "Parquet" else ipc.open_file(source).read_all()
        rows = [[*row] for row in zip(*map(values, table.columns), strict=True)]
    except Exception:  # pyarrow raises many kinds, and some of their messages quote the data
        raise _damaged(options, kind) from None
    index = frozenset(plain(str(name)) for name in (table.schema.pandas_metadata or {}).get("index_columns", []))
    lines = [*range(len(rows) + 1)]
    return Rows(called(options.file), [table.column_names, *rows], lines, no_items=index, can_skip=False)
