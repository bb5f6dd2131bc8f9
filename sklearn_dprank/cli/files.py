"""Readers of ballot files: options, headers, cells and layouts."""

from __future__ import annotations

import argparse
import codecs
import csv
import gzip
import io
import json
import re
import shlex
import sys
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import safe_repr
from ..ballots.profile import Profile
from ..ballots.reading import MAX_ITEMS, checked_names, missing, normal
from ..preprocessing import RatingsToRankings, orders_to_positions, unranked_last
from .printing import STANDARD_INPUT, own_words, tell


class Several(argparse.Action):
    """Option with several values, separated by blanks or commas; `one` converts each.

    argparse gives such an option all arguments up to the next option, also the file. If the last one is not a value but
    a file, it is set as ``file``.
    """

    def __init__(self, option_strings: list[str], dest: str, *, one: Any, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs="+", **given)
        self._one = one

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set the values and, if the last argument is a file, ``file``."""
        if len(values) > 1 and hasattr(namespace, "file") and self._is_file(values[-1]):
            *values, file = values
            set_file(namespace, Path(file), self)
        try:
            found = self._converted(*values)
        except ValueError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        if not found:
            raise argparse.ArgumentError(self, "expected at least one value")
        setattr(namespace, self.dest, found)

    def _converted(self, *values):
        return [self._one(each.strip()) for value in values for each in value.split(",") if each.strip()]

    def _is_file(self, value):
        """Return whether an argument is not a value, but standard input, exists, or ends like the name of a file."""
        try:
            self._converted(value)
        except ValueError:
            return value == "-" or Path(value).exists() or Path(value).suffix[1:2].isalpha()
        return False


class File(argparse.Action):
    """Positional argument of the file; a file that an option found is not replaced."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set ``file`` unless the argument is missing."""
        if values is not None:
            set_file(namespace, values, self)


def set_file(namespace: Any, file: Path, action: argparse.Action) -> None:
    """Set ``file``; raise ArgumentError if there is one."""
    if namespace.file is not None:
        raise argparse.ArgumentError(action, f"two files are given, {str(namespace.file)!r} and {str(file)!r}")
    namespace.file = file


def number(text: str) -> float:
    """Return text as a float, with a message for users of the command."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"must be numbers, with blanks or commas between, got {text!r}") from None


# Header rows of tables, with those of survey tools, and short names of items that one question asks about.

_QUALTRICS = {  # two of these names in the first row announce two more header rows
    *("StartDate", "EndDate", "RecordedDate", "ResponseId", "DistributionChannel", "UserLanguage"),
    *("startDate", "endDate", "recordedDate", "_recordId", "distributionChannel", "userLanguage"),
    "Duration (in seconds)",
}
_QUESTION = re.compile(r"(.*QID.*)_\d+", re.ASCII)  # ImportId of one item, with that of its question
_TIMESTAMPS = {  # the first column of Google Forms, in the language of the form
    *("Timestamp", "Zeitstempel", "Horodateur", "Marca temporal", "Carimbo de data/hora", "Informazioni cronologiche"),
    *("Tijdstempel", "Sygnatura czasowa", "Отметка времени", "Tidstämpel", "Aikaleima", "Časová značka"),
    *("Zaman damgası", "タイムスタンプ", "时间戳记", "時間戳記", "타임스탬프"),
}


def plain(text: str) -> str:
    """Return a name as names are compared: `normal`, without blanks around it."""
    return normal(text).strip(" \t")


@dataclass(frozen=True)
class Header:
    """Names of the columns of a table, and for columns of a question about several items, the question and the item."""

    names: list[str]
    parts: dict[str, tuple[str, str]]
    no_items: frozenset[str] = frozenset()  # columns of a survey tool, which are not items unless they are listed
    n_lines: int = 1

    def by_item(self) -> dict[str, list[str]]:
        """Return the columns of each item by its short name, one for each question."""
        found = defaultdict(list)
        for name in self.names:
            if name in self.parts:
                found[self.parts[name][1]].append(name)
        return found

    def shortened(self, names: list[str]) -> list[str]:
        """Return the items of these columns if one question asks about them, else the names of the columns."""
        parts = [self.parts.get(name, ("", "")) for name in names]
        items = [item for _, item in parts]
        one_question = len({question for question, _ in parts}) == 1 < len(parts)
        return items if one_question and all(items) and len(set(items)) == len(items) else names

    def check_one_question(self, names: list[str], file: str) -> None:
        """Raise ValueError if a question asks about several items, and some columns are not of that question."""
        asked = [self.parts[name][0] if name in self.parts else None for name in names]
        sizes = Counter(question for question in asked if question is not None)
        if max(sizes.values(), default=1) == 1 or len(set(asked)) == 1:
            return
        question = sizes.most_common(1)[0][0]
        columns = [name for name, found in zip(names, asked, strict=True) if found == question]
        items = self.shortened(columns)
        by_item = self.by_item()
        if any(len(by_item.get(item, ())) > 1 for item in items):
            items = columns
        raise ValueError(
            f"{file} has columns of several questions. List the items of one question, such as --items "
            f"{shlex.quote(joined(items))}."
        )


def header(names: list[str], lines: Iterable[bytes] = (), delimiter: str = ",", file: str = "") -> Header:
    """Return the header of a table with these names in its first row; `lines` are all lines of a CSV file.

    The names alone decide how many rows the header has, so that no ballot affects how others are read.
    """
    if len(_QUALTRICS.intersection(names)) > 1 and lines:
        return _of_qualtrics(names, lines, delimiter, file)
    parts = {name: found for name in names if (found := _grid(name))}
    return Header(names, parts, frozenset(names[:1]) & _TIMESTAMPS)


def _of_qualtrics(names, lines, delimiter, file):
    """Return the header of an export of Qualtrics: names, texts of questions, and ImportIds, three rows in all."""
    reader = csv.reader((line.decode("utf-8") + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        texts, cells = [next(reader) for _ in range(3)][1:]
        ids = [json.loads(cell)["ImportId"] for cell in cells]
        if not len(texts) == len(ids) == len(names) or not all(isinstance(each, str) for each in ids):
            raise ValueError
    except (StopIteration, csv.Error, ValueError, LookupError, TypeError, RecursionError):
        own = ", ".join(name for name in names if name in _QUALTRICS)
        raise ValueError(
            f"{file} has columns of Qualtrics ({own}), but its third row does not hold an ImportId for each column. "
            "Export it again as CSV, or delete these columns and all header rows but the first."
        ) from None
    questions: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for name, text, own in zip(names, texts, ids, strict=True):
        if found := _QUESTION.fullmatch(own):
            questions[found[1]][name] = " ".join(normal(text).split()).split(" - ")
    parts: dict[str, tuple[str, str]] = {}
    for question, columns in questions.items():
        same = 0  # texts are "question - item", and both may hold " - "
        while same + 1 < min(map(len, columns.values())) and len({text[same] for text in columns.values()}) == 1:
            same += 1
        parts |= {name: (question, " - ".join(text[same:]) if same else name) for name, text in columns.items()}
    no_items = frozenset(name for name, own in zip(names, ids, strict=True) if "QID" not in own)
    return Header(names, parts, no_items, reader.line_num)


def _grid(name):
    """Return the question and the item in a name like "question [item]"; None if it is not like that."""
    depth = 0
    for place in range(len(name) - 1, 0, -1):
        depth += {"]": 1, "[": -1}.get(name[place], 0)
        if depth == 0:
            return (name[:place].strip(), name[place + 1 : -1].strip()) if place < len(name) - 1 else None
    return None


def joined(names: Iterable[str]) -> str:
    """Return names with commas between, as ``--items`` reads them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([name] for name in names)
    return ", ".join(out.getvalue().split("\n")[:-1])


# Cells of CSV and Parquet files, and treatment of unreadable rows.

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


# Readers of ballot files for the command line.

_SPREADSHEETS = {".xlsx", ".xls", ".ods", ".zip"}
_PREFLIB = {".soc", ".soi", ".toc", ".toi"}
_WHO = ("user", "voter", "person", "respondent", "participant", "customer")
_NO_ITEMS = {
    "#",
    "no.",
    "nr.",
    "id",
    "index",
    "timestamp",
    "wave",
    "weight",
    "designweight",
    "sampleweight",
    "collectorid",
    "completiontime",
    "durationinseconds",
    "finished",
    "lastpage",
    "progress",
    "responseid",
    "respondentid",
    "email",
    "emailaddress",
    "ipaddress",
    "startdate",
    "starttime",
    "enddate",
    *_WHO,
    *(f"{who}id" for who in _WHO),
}
_ROW_NUMBERS = re.compile(r"Unnamed: \d+")  # pandas' name of a column without a name
_WEIGHTS = "must hold weights of at least 0, and no empty cells. Decimals need a point, not a comma."
_LAYOUTS = "--ratings (larger is better), --positions (smaller is better) or --orders (items, best first)"
_LEFT_OUT = {
    "last": "count as worse than those that it lists (--unranked last)",
    "no_opinion": "count as no opinion (--unranked no_opinion)",
}


def add_arguments(added: argparse.ArgumentParser, optional: bool = False) -> None:
    """Add the options for the file and its layout."""
    help_file = (
        "CSV or Parquet with one row a voter, or a PrefLib file (soc, soi, toc, toi); CSV and PrefLib files may be "
        "gzipped, and - is CSV from standard input"
    )
    added.add_argument("file", nargs="?" if optional else None, type=Path, action=File, help=help_file)
    layout = added.add_mutually_exclusive_group()
    layout.add_argument("--ratings", dest="layout", action="store_const", const="ratings", help="larger is better")
    layout.add_argument("--positions", dest="layout", action="store_const", const="positions", help="smaller is better")
    layout.add_argument(
        "--orders",
        dest="layout",
        action="store_const",
        const="orders",
        help="items, best first; no header, see --items",
    )
    added.add_argument(
        "--items",
        help="names of the items, with commas between: of all with --orders, else of the columns that are items, or of "
        "the items of one question (without it, all columns that no other option names)",
    )
    added.add_argument(
        "--scale",
        metavar="WORST,...,BEST",
        help="answers in words for --ratings, the worst first, such as bad,fair,good: public, and not read off the "
        "file. Case and blanks around an answer do not matter",
    )
    added.add_argument(
        "--no-answer",
        metavar="A,B,C",
        help='answers that count as empty cells, such as "no idea,99": public, and not read off the file. Case and '
        "blanks do not matter",
    )
    added.add_argument("--separator", help="what stands between the cells of a CSV file; default: a comma")
    added.add_argument(
        "--unranked",
        choices=list(_LEFT_OUT),
        help="what it means that a ballot leaves an item out: it is worse than all listed, or was not asked about; "
        "default: no_opinion with --ratings and --positions, last with --orders and PrefLib files",
    )
    added.add_argument(
        "--person",
        type=plain,
        help="a column that says whose row it is; the guarantee then protects all rows of one person. Persons whose "
        "cells differ, also in case, count as two",
    )
    added.add_argument("--weight", type=plain, help="a column with the weight of each row; needs --max-weight")
    added.add_argument(
        "--max-weight",
        type=_max_weight,
        help="public bound on the weight of a person, for --person and --weight: larger weights are scaled down to it. "
        "Noise is proportional to it. Without --weight, a person counts for at most so many rows; default: 1. With "
        '"auto", rank chooses 1, 2, 4, ..., or 2048 privately, which needs Gaussian noise',
    )
    added.add_argument(
        "--unreadable",
        choices=["error", "empty"],
        default="error",
        help="what happens if a row of a CSV or Parquet file cannot be read: an error, or the row counts as a ballot "
        "without opinions; default: %(default)s",
    )


def check_no_layout(options: argparse.Namespace) -> None:
    """Raise ValueError if options describe a file, and none is given."""
    if given := _describing(options):
        raise ValueError(
            f"no file is given, but {', '.join(given)} describe{'s' * (len(given) == 1)} one. Name the file, or "
            "leave out these options for simulated ballots."
        )


def _describing(options):
    """Return the given options that describe a file."""
    names = ("items", "scale", "no_answer", "separator", "unranked", "person", "weight", "max_weight")
    return [
        *([f"--{options.layout}"] if options.layout else []),
        *(f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is not None),
        *(["--unreadable"] if options.unreadable != "error" else []),
    ]


def _max_weight(text):
    """Return a bound on weights as a number, or "auto"."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number or auto, got {text!r}") from None


def read(options: argparse.Namespace) -> Profile:
    """Return the ballots in ``options.file`` as a profile, which is empty if the file contains no ballots.

    Raises ValueError if the options do not state the layout, or the file does not match it. Messages quote no ballot.
    """
    return read_with_segments(options, None)[0]


def read_with_segments(options: argparse.Namespace, column: str | None) -> tuple[Profile, list[str]]:
    """Return the ballots as `read`, and the cells of the column of ``--segments``, which is not an item.

    Cells are text without blanks around it, empty where the file has none or the line cannot be read. The list is empty
    if the column is None, or the layout has no columns.
    """
    path: Path = options.file
    _check_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in _PREFLIB:
        return _from_preflib(path, options), []
    if suffixes and suffixes[-1] in _SPREADSHEETS:
        raise ValueError(f'{called(path)} is not a text file. Unpack it, or save it in a spreadsheet as "CSV UTF-8".')
    if not options.layout:
        raise ValueError(f"the layout of {called(path)} is not stated. Add {_LAYOUTS}.")
    scale = _scale(options)
    unreadable = Unreadable(options.unreadable, called(path))
    if options.layout == "orders":
        return _from_orders(path, options, unreadable), []
    codes = _codes(options, scale or {}, "--scale")
    if suffixes[-1:] == [".parquet"]:
        if options.separator is not None:
            raise ValueError("--separator is for CSV files; leave it out.")
        header, cells = read_parquet(path)
    else:
        header, cells = read_csv(path, options.separator, unreadable)
        _check_header(path, header.names, (options.person, options.weight, column), {*(scale or {}), *codes})
    segments, names, cells = _segments(header.names, cells, column)
    persons, weights, names, cells = _persons_and_weights(names, cells, options, header, unreadable)
    items, names, cells = _items(names, cells, options, header)
    numbers = as_numbers(names, emptied(cells, codes), header, unreadable, scale)
    unreadable.report(len(numbers))
    return _profile(numbers, items, options, persons, weights), segments


def unranked(options: argparse.Namespace) -> Literal["no_opinion", "last"]:
    """Return the meaning of left-out items: ``--unranked``, or the default of the layout; ballots never change it."""
    if options.unranked:
        return options.unranked
    return "no_opinion" if options.layout in ("ratings", "positions") else "last"


def about_unranked(choice: str) -> str:
    """Return the meaning of left-out items as a sentence."""
    return f"Items that a ballot leaves out {_LEFT_OUT[choice]}."


def _from_preflib(path, options):
    if set(_describing(options)) - {"--unranked"}:
        raise ValueError(
            "--ratings, --positions, --orders, --items, --scale, --no-answer, --separator, --person, --weight, "
            "--max-weight and --unreadable do not apply to PrefLib files. Leave them out."
        )
    from ..datasets import read_preflib

    try:
        return read_preflib(path, unranked(options)).profile
    except ValueError as error:
        raise ValueError(f"{error} This message depends on the ballots; do not publish it.") from None


def _check_file(path):
    """Raise ValueError if there is no such file."""
    if path == STANDARD_INPUT:
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Name a file in it.")
    if not path.exists():
        raise ValueError(f"there is no file {path}. Check its name, and the folder in which you run the command.")


def _check_header(path, names, others, answers):
    """Raise if the first row may be a ballot, because its cells would be published as names and not counted."""
    if any(answer(name) in answers for name in names):
        raise ValueError(
            f"the first row of {called(path)} must name the items, but it holds answers of --scale or --no-answer. If "
            "it is a ballot, put a row of names before it. If these are names, rename the columns."
        )
    if all(is_no_name(name) or name in GAPS for name in names if name not in others):
        raise ValueError(
            f"the first row of {called(path)} must name the items, but it holds only numbers or gaps. If it is a "
            "ballot, put a row of names before it. If these are names, add a letter to one of them."
        )


def _segments(names, cells, column):
    """Return the text in the column of ``--segments``, and the names and the cells of the other columns."""
    if column is None:
        return [], names, cells
    own = _place_of(names, "--segments", column)
    text = ["" if gap else plain(str(cell)) for gap, cell in zip(missing(cells[:, own]), cells[:, own], strict=True)]
    return text, names[:own] + names[own + 1 :], np.delete(cells, own, axis=1)


def _persons_and_weights(names, cells, options, header, unreadable):
    """Return the person and the weight of each row, and the names and the cells of the other columns.

    Persons are None without ``--person``, weights without both options. A row without a person or a weight does not
    count.
    """
    if options.weight is not None and options.max_weight is None:
        raise ValueError(
            "--weight needs --max-weight, a public bound on the weight of a person: about the 95th percentile of the "
            "weights in the survey's design, not of this file."
        )
    persons = weights = None
    if options.person is not None:
        column = cells[:, _place_of(names, "--person", options.person)]
        cells_there = [None if gap else cell for gap, cell in zip(missing(column), column, strict=True)]
        if any(isinstance(cell, (float, np.floating)) for cell in cells_there):  # two large ids may be one float
            raise ValueError(f"column {options.person!r} must hold text or whole numbers, and holds floats.")
        named = ["" if cell is None else unicodedata.normalize("NFC", str(cell).strip()) for cell in cells_there]
        unnamed = [row for row, who in enumerate(named) if not who]
        for row in unnamed:
            problem = "has an empty cell, so it is not known whose row this is; fill it, or drop the row."
            unreadable.add(row, f"column {options.person!r} {problem}")
        numbers: dict[str | int, int] = {}
        persons = [numbers.setdefault(who or row, len(numbers)) for row, who in enumerate(named)]
    if options.weight is not None:
        own = _place_of(names, "--weight", options.weight)
        weights = as_numbers([options.weight], cells[:, [own]], header, unreadable, must=_WEIGHTS)[:, 0]
        for row in np.flatnonzero(~(weights >= 0)).tolist():
            weights[row] = 0.0
            unreadable.add(row, f"column {options.weight!r} {_WEIGHTS}")
    if persons is not None:
        weights = np.ones(len(persons)) if weights is None else weights
        weights[unnamed] = 0.0  # many such rows may be of one person
    kept = [column for column, name in enumerate(names) if name not in (options.person, options.weight)]
    return persons, weights, [names[column] for column in kept], cells[:, kept]


def _place_of(names, option, name):
    """Return the index of the column that an option names."""
    if name not in names:
        header = not any(map(is_no_name, names))  # otherwise it may be a ballot, which must not be quoted
        these = (
            f"; these are {joined(names)[:200]}."
            if header
            else ". Correct the spelling. If other rows stand above the names, delete them."
        )
        raise ValueError(f"{option} {name!r} is none of the columns{these}")
    if names.count(name) > 1:
        raise ValueError(f"{option} {name!r} names two columns; rename one of them.")
    return names.index(name)


def _items(names, cells, options, header: Header):
    """Return the names of the items, and the names and the cells of their columns.

    They are those in ``--items``, or those of all columns if none looks like something else.
    """
    if options.items is None:
        given = columns = [name for name in names if name not in header.no_items]
        if len(columns) > MAX_ITEMS:
            raise ValueError(f"{called(options.file)} has {len(columns)} columns; at most {MAX_ITEMS} can be items.")
        _check_items(columns, header.names)
        header.check_one_question(columns, called(options.file))
    else:
        given = _listed_items(options.items)
        by_item, count = header.by_item(), Counter(names)
        columns = [item if count[item] == 1 else _column_of(item, names, header, by_item, count) for item in given]
        if len(set(columns)) < len(columns):
            raise ValueError("--items lists a column twice, by its name and by that of the item; leave one out.")
    items = header.shortened(columns) if given == columns else given
    items = checked_names(items, "--items" if options.items else f"the first row of {called(options.file)}")
    place = {name: column for column, name in enumerate(names)}
    return items, columns, cells[:, [place[name] for name in columns]]


def _column_of(item, names, header, by_item, count):
    """Return the name of the column that ``--items`` names, itself or by the item that a question asks about."""
    found = [] if item in count else [name for name in by_item.get(item, ()) if name in count]
    if len(found) > 1:
        raise ValueError(
            f"--items {item!r} is an item of {len(found)} questions. List the names of the columns: {joined(found)}."
        )
    if not found and item not in count:
        names = [header.parts.get(name, ("", name))[1] for name in names if name not in header.no_items]
    return found[0] if found else names[_place_of(names, "--items", item)]


def _check_items(names, header):
    """Raise if a column has no name or the name of another one, or looks like something else than an item."""
    found = defaultdict(list)
    for place, name in enumerate(header, start=1):
        found[name].append(place)
    for name in names:
        places = found[name]
        if not name or _ROW_NUMBERS.fullmatch(name):
            raise ValueError(
                f"column {places[0]} has no name. If it holds row numbers, which pandas writes without index=False, "
                "delete it, or list the items with --items. If a title stands above the names, delete its row."
            )
        if len(places) > 1:
            raise ValueError(
                f"columns {places[0]} and {places[1]} have the same name; rename one of them, or list the items with "
                "--items."
            )
        if _NO_ITEMS.intersection([name.lower(), re.sub("[^a-z]", "", name.lower())]):
            raise ValueError(
                f"column {safe_repr(name)} does not look like an item. If it identifies the voter, name it with "
                "--person, and if it holds weights, with --weight. Otherwise list the items with --items."
            )


def listed(names: str, option: str) -> list[str]:
    """Return the names that an option lists; names that contain a comma are in quotes."""
    try:
        return [plain(name) for name in next(csv.reader([names], skipinitialspace=True), [])]
    except csv.Error as error:
        raise ValueError(f"{option} must list names with commas between; it cannot be read ({error}).") from None


def _listed_items(items):
    """Return the names in ``--items``; raise ValueError if one is empty, or two are equal."""
    names = listed(items, "--items")
    if "" in names:
        raise ValueError("--items has an empty name; leave it out.")
    return checked_names(names, "--items")


def _scale(options):
    """Return the place of each answer in ``--scale``, None without it."""
    if options.scale is None:
        return None
    if options.layout != "ratings":
        raise ValueError("--scale lists answers, the worst first; use it with --ratings.")
    answers = [answer(text) for text in listed(options.scale, "--scale")]
    if len(answers) < 2 or "" in answers:
        raise ValueError("--scale must list at least two answers, the worst first, and no empty one.")
    if len(set(answers)) < len(answers):
        twice = max(answers, key=answers.count)
        raise ValueError(f"--scale lists {twice!r} twice, apart from case and blanks; leave one out.")
    return {text: float(place) for place, text in enumerate(answers)}


def _codes(options, others, option):
    """Return the `code` of each cell in ``--no-answer``; raise ValueError if `option` lists one of them, too."""
    codes = {code(cell) for cell in listed(options.no_answer or "", "--no-answer")}
    if options.no_answer is not None and ("" in codes or not codes):
        raise ValueError("--no-answer has an empty answer, but empty cells always count as empty; leave it out.")
    for other in others:
        if code(other) in codes:
            raise ValueError(f"--no-answer lists {safe_repr(other)}, which is also in {option}; leave one out.")
    return codes


def _from_orders(path, options, unreadable):
    if not options.items:
        raise ValueError("--orders needs --items: which items there are is public, and not read off the ballots.")
    if options.person or options.weight or options.max_weight is not None:
        raise ValueError("--person, --weight and --max-weight name columns; use them with --ratings or --positions.")
    names = _listed_items(options.items)
    codes = _codes(options, names, "--items")
    rows = csv_rows(path, options.separator, unreadable)
    index = {name: item for item, name in enumerate(names)}
    orders = [_order(cells or [], index, codes, row, unreadable) for row, cells in enumerate(rows)]
    unreadable.report(len(orders))
    positions = orders_to_positions(orders, len(names)) if orders else np.empty((0, len(names)))
    return _profile(positions, names, options)


def _order(cells, index, codes, row, unreadable):
    """Return the indices of the items that a ballot lists, best first; ``[None]`` (no item) if it cannot be read."""
    order: dict[int, None] = {}
    for column, cell in enumerate(cells, start=1):
        name = plain(cell)
        if index.get(name) in order:
            unreadable.add(row, f"cell {column} repeats an item of this ballot; mend or drop the ballot.")
        elif name in index:
            order[index[name]] = None
        elif name not in GAPS and code(name) not in codes:
            unreadable.add(
                row,
                f"cell {column} is not one of the {len(index)} items in --items. Add it, correct the spelling, or "
                "delete a column that holds no items, such as a time.",
            )
    return list(order) if order and row not in unreadable.rows else [None]


def _profile(values, names, options, persons=None, weights=None):
    """Return a profile of ratings or positions of shape (n_voters, n_items), NaN where a ballot leaves an item out."""
    if len(names) < 2:
        raise ValueError(f"a ranking needs at least two items, got {len(names)}; name them with --items.")
    if len(values):
        if options.layout == "ratings":
            values = RatingsToRankings().fit_transform(values)
        if unranked(options) == "last":
            values = unranked_last(values)
    if persons is None and weights is None and options.max_weight is not None:
        raise ValueError("--max-weight is for --person or --weight; add one of them, or leave it out.")
    most = 1 if options.max_weight is None else options.max_weight
    with own_words(max_weight="max-weight"):
        return Profile.from_rankings(values, items=names, groups=persons, sample_weight=weights, max_weight=most)
