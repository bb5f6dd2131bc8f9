"""Readers of ballot files for the command line."""

from __future__ import annotations

import argparse
import csv
import re
from pathlib import Path
from typing import Literal

import numpy as np

from .._utils.checks import safe_repr
from ..ballots.cells import missing
from ..ballots.names import checked_names
from ..ballots.profile import Profile
from ..datasets import read_preflib
from ..preprocessing import RatingsToRankings, orders_to_positions, unranked_last
from .cells import Unreadable, as_numbers, csv_rows, is_no_name, read_csv, read_parquet

_PREFLIB = {".soc", ".soi", ".toc", ".toi"}
_WHO = ("user", "voter", "person", "respondent", "participant", "customer")
_NO_ITEMS = {"id", "index", "timestamp", *_WHO, *(f"{who}id" for who in _WHO)}
_LAYOUTS = "--ratings (larger is better), --positions (smaller is better) or --orders (items, best first)"
_LEFT_OUT = {
    "last": "count as worse than those that it lists (--unranked last)",
    "no_opinion": "count as no opinion (--unranked no_opinion)",
}


def add_arguments(added: argparse.ArgumentParser, optional: bool = False) -> None:
    """Add the options for the file and its layout."""
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
        choices=list(_LEFT_OUT),
        help="what it means that a ballot leaves an item out: it is worse than all listed, or was not asked about; "
        "default: no_opinion with --ratings and --positions, last with --orders and PrefLib files",
    )
    added.add_argument("--person", help="a column that says whose row it is; the rows of one person count as one")
    added.add_argument(
        "--unreadable",
        choices=["error", "empty"],
        default="error",
        help="what happens if a row of a CSV or Parquet file cannot be read: an error, or the row counts as a ballot "
        "without opinions; default: %(default)s",
    )


def read(options: argparse.Namespace) -> Profile:
    """Return the ballots in ``options.file`` as a profile, which is empty if the file contains no ballots.

    Raises ValueError if the options do not state the layout, or the file does not match it. Messages quote no ballot.
    """
    path: Path = options.file
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in _PREFLIB:
        return _from_preflib(path, options)
    if not options.layout:
        raise ValueError(f"the layout of {path.name} is not stated. Add {_LAYOUTS}.")
    unreadable = Unreadable(options.unreadable)
    if options.layout == "orders":
        return _from_orders(path, options, unreadable)
    if suffixes[-1:] == [".parquet"]:
        names, cells = read_parquet(path)
    else:
        names, cells = read_csv(path, options.separator, unreadable)
        _check_header(path, names, options.person)
    names, cells, persons = _persons(names, cells, options.person, unreadable)
    names, cells = _items(names, cells, options.items)
    numbers = as_numbers(names, cells, unreadable)
    unreadable.report(path, len(numbers))
    return _profile(numbers if persons is None else _merged(numbers, persons), names, options)


def unranked(options: argparse.Namespace) -> Literal["no_opinion", "last"]:
    """Return the meaning of left-out items: ``--unranked``, or the default of the layout; ballots never change it."""
    if options.unranked:
        return options.unranked
    return "no_opinion" if options.layout in ("ratings", "positions") else "last"


def about_unranked(choice: str) -> str:
    """Return the meaning of left-out items as a sentence."""
    return f"Items that a ballot leaves out {_LEFT_OUT[choice]}."


def _from_preflib(path, options):
    if options.layout or options.items or options.person or options.unreadable != "error":
        raise ValueError(
            "--ratings, --positions, --orders, --items, --person and --unreadable do not apply to PrefLib files. Leave "
            "them out."
        )
    try:
        return read_preflib(path, unranked(options)).profile
    except ValueError as error:
        raise ValueError(f"{error} This message depends on the ballots; do not publish it.") from None


def _check_header(path, names, person):
    """Raise if the first row may be a ballot, because its cells would be published as names and not counted."""
    if all(is_no_name(name) for name in names if name != person):
        raise ValueError(
            f"the first row of {path.name} must name the items, but it holds only numbers. If it is a ballot, put a "
            "row of names before it. If these are names, add a letter to one of them."
        )


def _persons(names, cells, person, unreadable):
    """Return the names of the other columns, their cells, and the person of each row.

    The last is None without ``--person``. A row without a person counts as a person of its own.
    """
    if person is None:
        return names, cells, None
    if person not in names:
        header = not any(map(is_no_name, names))  # otherwise it may be a ballot, which must not be quoted
        these = f"; these are {', '.join(names)[:200]}" if header else ""
        raise ValueError(f"--person {person!r} is none of the columns{these}.")
    own = names.index(person)
    persons = np.array([None if gap else str(cell).strip() for gap, cell in _with_gaps(cells[:, own])], dtype=object)
    for row in np.flatnonzero([not who for who in persons]).tolist():
        if row not in unreadable.rows:
            unreadable.add(
                row, f"column {person!r} has empty cells, so whose rows these are is not known; fill or drop them."
            )
    return names[:own] + names[own + 1 :], np.delete(cells, own, axis=1), persons


def _with_gaps(cells):
    return zip(missing(cells), cells, strict=True)


def _items(names, cells, items):
    """Return the item columns: those in ``--items``, or all columns if none looks like something else."""
    if items is None:
        _check_items(names)
        return names, cells
    chosen = _listed(items)
    for name in chosen:
        if name not in names:
            raise ValueError(f"--items names {safe_repr(name)}, which is none of the columns; mend the spelling.")
    return chosen, cells[:, [names.index(name) for name in chosen]]


def _check_items(names):
    for column, name in enumerate(names, start=1):
        if not name.strip():
            raise ValueError(
                f"column {column} has no name; row numbers, which pandas writes without index=False, are not an item: "
                "delete the column, or list the items with --items."
            )
        if re.sub("[^a-z]", "", name.lower()) in _NO_ITEMS:
            raise ValueError(
                f"column {safe_repr(name)} does not look like an item. If it identifies the voter, name it with "
                "--person. Otherwise list the items with --items."
            )


def _listed(items):
    """Return the names in ``--items``; names that contain a comma are in quotes."""
    return [name.strip() for name in next(csv.reader([items], skipinitialspace=True), [])]


def _merged(numbers, persons):
    """Return one row per person: the mean of their rows for each item, without NaN."""
    known = np.array([bool(who) for who in persons], dtype=bool)
    whose = np.empty(len(persons), dtype=int)
    _, whose[known] = np.unique(persons[known], return_inverse=True)
    whose[~known] = whose[known].max(initial=-1) + 1 + np.arange(np.count_nonzero(~known))
    present = ~np.isnan(numbers)
    counts, sums = (np.zeros((whose.max(initial=-1) + 1, numbers.shape[1])) for _ in range(2))
    np.add.at(counts, whose, present)
    np.add.at(sums, whose, np.where(present, numbers, 0.0))
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _from_orders(path, options, unreadable):
    if not options.items:
        raise ValueError("--orders needs --items: which items there are is public, and not read off the ballots.")
    if options.person:
        raise ValueError("--person goes with --ratings and --positions: orders of one person have no mean.")
    names = checked_names(_listed(options.items), "--items")
    rows = csv_rows(path, options.separator, unreadable)
    orders = [_order(cells or [], names, row, unreadable) for row, cells in enumerate(rows)]
    unreadable.report(path, len(orders))
    positions = orders_to_positions(orders, item_names=names) if orders else np.empty((0, len(names)))
    return _profile(positions, names, options)


def _order(cells, names, row, unreadable):
    """Return the items that a ballot lists, best first; ``[None]`` (no item) if it cannot be read."""
    order = [name for cell in cells if (name := cell.strip())]
    if not set(order) <= set(names):
        unreadable.add(
            row,
            f"a ballot names something else than these {len(names)} items; add it to --items, or mend the spelling.",
        )
    elif len(set(order)) < len(order):
        unreadable.add(row, "a ballot lists an item twice; mend or drop it.")
    return order if order and row not in unreadable.rows else [None]


def _profile(values, names, options):
    """Return a profile of ratings or positions of shape (n_voters, n_items), NaN where a ballot leaves an item out."""
    if len(names) < 2:
        raise ValueError(f"a ranking needs at least two items, got {len(names)}; name them with --items.")
    if len(values):
        if options.layout == "ratings":
            values = RatingsToRankings().fit_transform(values)
        if unranked(options) == "last":
            values = unranked_last(values)
    return Profile.from_rankings(values, item_names=names, keep="positions")
