"""Readers of ballot files for the command line."""

from __future__ import annotations

import argparse
import csv
import re
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path
from typing import Literal

import numpy as np

from .._utils.checks import safe_repr
from ..ballots.cells import missing
from ..ballots.compact import MAX_ITEMS
from ..ballots.names import checked_names
from ..ballots.profile import Profile
from ..preprocessing import RatingsToRankings, orders_to_positions, unranked_last
from .cells import (
    GAPS,
    STANDARD_INPUT,
    Unreadable,
    answer,
    as_numbers,
    called,
    code,
    csv_rows,
    emptied,
    is_no_name,
    read_csv,
    read_parquet,
)
from .headers import Header, joined, plain
from .several import File
from .words import own_words

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
    from ..datasets import read_preflib  # only such files need it

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
    own = _column(names, "--segments", column)
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
        column = cells[:, _column(names, "--person", options.person)]
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
        own = _column(names, "--weight", options.weight)
        weights = as_numbers([options.weight], cells[:, [own]], header, unreadable, must=_WEIGHTS)[:, 0]
        for row in np.flatnonzero(~(weights >= 0)).tolist():
            weights[row] = 0.0
            unreadable.add(row, f"column {options.weight!r} {_WEIGHTS}")
    if persons is not None:
        weights = np.ones(len(persons)) if weights is None else weights
        weights[unnamed] = 0.0  # many such rows may be of one person
    kept = [column for column, name in enumerate(names) if name not in (options.person, options.weight)]
    return persons, weights, [names[column] for column in kept], cells[:, kept]


def _column(names, option, name):
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
    return found[0] if found else names[_column(names, "--items", item)]


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
