"""Ballots from a file, which never guesses what a row means."""

import argparse
import csv
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import shown
from ..datasets import read_preflib
from ..preprocessing import RatingsToRankings, orders_to_positions, unranked_last
from ..profile import Profile
from ..tables import missing

_PREFLIB = {".soc", ".soi", ".toc", ".toi"}
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_WHO = ("user", "voter", "person", "respondent", "participant", "customer")
_NO_ITEMS = {"id", "index", "timestamp", *_WHO, *(f"{who}id" for who in _WHO)}
_LARGEST = 1e300  # what a cell may hold: ratings of one person are added up
_LAYOUTS = "--ratings (larger is better), --positions (smaller is better) or --orders (items, best first)"


def add_arguments(added: argparse.ArgumentParser, optional: bool = False) -> None:
    """Add the file and what it holds."""
    help_file = "CSV or Parquet with one row a voter, or a PrefLib file (soc, soi, toc, toi; gzipped too)"
    added.add_argument("file", nargs="?" if optional else None, type=Path, help=help_file)
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
        help="names of the items, with commas between: of all with --orders, else of the columns that are items "
        "(without it, all but --person)",
    )
    added.add_argument("--separator", help="what stands between the cells of a CSV file; default: a comma")
    added.add_argument(
        "--unranked",
        choices=["last", "no_opinion"],
        help="what it means that a ballot leaves an item out: it is worse than all listed, or was not asked about",
    )
    added.add_argument("--person", help="a column that says whose row it is; the rows of one person count as one")


def read(options: argparse.Namespace) -> Profile:
    """Return what the ballots in ``options.file`` say together.

    Raises
    ------
    ValueError
        If it is not said what a row means, or the file does not hold that. Messages quote no ballot.
    """
    path: Path = options.file
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in _PREFLIB:
        if options.layout or options.items or options.person:
            raise ValueError(
                "a PrefLib file says itself what its lines mean: leave out --ratings, --items and the like."
            )
        return read_preflib(path, options.unranked).profile
    if not options.layout:
        raise ValueError(f"nothing tells what a row of {path.name} means: say {_LAYOUTS}.")
    if options.layout == "orders":
        return _from_orders(path, options)
    names, values = _parquet(path) if suffixes[-1:] == [".parquet"] else _csv(path, options)
    names, values = _persons(names, values, options.person)
    names, values = _items(names, values, options.items)
    return _from_columns(names, _as_numbers(names, values), options)


def _csv(path, options):
    """Return the names in the first row, and the cells of the others."""
    names, *rows = _rows(path, options.separator) or [[]]
    if len(names) < 2 or not rows:
        raise ValueError(
            f"{path.name} must have a first row with the names of at least two items, and a row a voter; if cells are "
            "separated by something else than commas, say so: --separator ';' or --separator tab."
        )
    if any(len(row) != len(names) for row in rows):
        raise ValueError(f"{path.name} has rows with more or fewer cells than its first row, {len(names)}; mend them.")
    if all(_no_name(name) for name in names if name != options.person):
        raise ValueError(  # a ballot there would be published as names, and not counted
            f"the first row of {path.name} must name the items, and holds numbers; if it is a ballot, put a row of "
            "names before it, and if they are names, write one of them with a letter."
        )
    return names, np.array(rows, dtype=object)


def _no_name(name):
    """Tell whether a cell is a number or empty, as those of a ballot are, and no name."""
    return not name.strip() or _NUMBER.fullmatch(name)


def _rows(path, separator):
    """Return the rows of a CSV file that are not empty."""
    separator = {None: ",", "tab": "\t", "\\t": "\t"}.get(separator, separator)
    if len(separator) != 1 or separator in '"\r\n':
        raise ValueError(f"--separator must be one character, or tab, got {shown(separator)}.")
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            return [row for row in csv.reader(lines, delimiter=separator) if row]
    except UnicodeDecodeError:
        raise ValueError(
            f"{path.name} is not UTF-8 text, as CSV must be; unpack it first, or save it again as UTF-8 (in a "
            'spreadsheet "CSV UTF-8").'
        ) from None
    except csv.Error as error:
        raise ValueError(f"{path.name} is no CSV file ({error}); mend it.") from None


def _parquet(path):
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('Parquet needs pandas and pyarrow: install the extra "plot", and pyarrow') from None
    try:
        frame = pd.read_parquet(path)
    except (ImportError, FileNotFoundError, PermissionError):
        raise
    except Exception:  # of pyarrow, which has many, some of which quote what they found
        raise ValueError(f"{path.name} cannot be read as Parquet; it is cut, damaged or something else.") from None
    if frame.empty:
        raise ValueError(f"{path.name} holds no ballots.")
    return [str(name) for name in frame.columns], frame.to_numpy(dtype=object)


def _persons(names, values, person):
    """Return the names of the items, and pairs of whose row it is (None: each is a person's own) and its cells."""
    if person is None:
        return names, (None, values)
    if person not in names:
        header = not any(map(_no_name, names))  # else a ballot, perhaps, which no message quotes
        these = f"; these are {', '.join(names)[:200]}" if header else ""
        raise ValueError(f"--person {person!r} is none of the columns{these}.")
    own = names.index(person)
    whose = np.array([str(cell).strip() for cell in values[:, own]], dtype=object)  # of any lengths
    if (missing(values[:, own]) | (whose == "")).any():
        raise ValueError(f"column {person!r} has empty cells, so whose rows these are is not known; fill or drop them.")
    return names[:own] + names[own + 1 :], (whose, np.delete(values, own, axis=1))


def _items(names, persons_and_cells, items):
    """Return the columns that are items: those that are listed, or all, if none looks like something else."""
    persons, cells = persons_and_cells
    if items is not None:
        chosen = _listed(items)
        for name in chosen:
            if name not in names:
                raise ValueError(f"--items names {shown(name)}, which is none of the columns; mend the spelling.")
        return chosen, (persons, cells[:, [names.index(name) for name in chosen]])
    for column, name in enumerate(names, start=1):
        if not name.strip():
            raise ValueError(
                f"column {column} has no name; row numbers, which pandas writes without index=False, are no item: "
                "delete the column, or list the items with --items."
            )
        if re.sub("[^a-z]", "", name.lower()) in _NO_ITEMS:
            raise ValueError(
                f"column {shown(name)} is hardly an item; if it says whose row it is, name it by --person; otherwise "
                "list the items with --items."
            )
    return names, persons_and_cells


def _listed(items):
    """Return the names in ``--items``; one with a comma in it stands in quotes."""
    return [name.strip() for name in next(csv.reader([items], skipinitialspace=True), [])]


def _as_numbers(names, persons_and_cells):
    """Return the cells as floats, NaN where they are empty; rows of one person become their mean."""
    persons, cells = persons_and_cells
    numbers = np.empty(cells.shape)
    for column, name in enumerate(names):
        try:
            numbers[:, column] = _column(cells[:, column])
        except (TypeError, ValueError, OverflowError):
            called = column + 1 if _no_name(name) else shown(name)
            raise ValueError(
                f"column {called} holds something that is no number (up to {_LARGEST:g}); leave a cell empty where "
                "there is no opinion; if the column says whose row it is, name it by --person; and if a line is one "
                "rating (voter, item, rating), turn the table first, so that a line is a voter and a column an item."
            ) from None
    if persons is None:
        return numbers
    _, whose = np.unique(persons, return_inverse=True)
    said = ~np.isnan(numbers)
    counts, sums = (np.zeros((whose.max() + 1, len(names))) for _ in range(2))
    np.add.at(counts, whose, said)
    np.add.at(sums, whose, np.where(said, numbers, 0.0))
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _column(cells):
    """Return cells as floats, NaN where they are empty; raise where one will not do."""
    found = np.array([np.nan if gap else _number(cell) for gap, cell in zip(missing(cells), cells, strict=True)])
    if np.nanmax(np.abs(found), initial=0.0) > _LARGEST:
        raise ValueError
    return found


def _number(cell):
    """Return a cell as a float, NaN where it is empty; text is a number only as everybody writes one."""
    if isinstance(cell, (bytes, np.ndarray)):  # older NumPy makes a number of an array of one
        raise TypeError
    if isinstance(cell, str):
        if cell.strip() in ("", "nan", "NaN"):
            return np.nan
        if not _NUMBER.fullmatch(cell):
            raise ValueError
    return float(cell)


def _from_columns(names, numbers, options):
    positions = RatingsToRankings().fit_transform(numbers) if options.layout == "ratings" else numbers
    return _counted(positions, names, options.unranked)


def _from_orders(path, options):
    if not options.items:
        raise ValueError("--orders needs --items: which items there are is public, and not read off the ballots.")
    if options.person:
        raise ValueError("--person goes with --ratings and --positions: orders of one person have no mean.")
    names = _listed(options.items)
    orders = [[cell.strip() or None for cell in row] for row in _rows(path, options.separator)]
    try:
        positions = orders_to_positions(orders, item_names=names)
    except ValueError as error:
        raise ValueError(str(error).replace("item_names", "--items")) from None
    return _counted(positions, names, options.unranked)


def _counted(positions: Any, names: list[str], unranked: str | None) -> Profile:
    positions = np.asarray(positions)
    if unranked is None and positions.dtype.kind == "f" and np.isnan(positions).any():
        raise ValueError("ballots leave items out: say --unranked last (they are worse) or no_opinion (not asked).")
    complete = unranked_last(positions) if unranked == "last" else positions
    return Profile.from_rankings(complete, item_names=names, keep="positions")
