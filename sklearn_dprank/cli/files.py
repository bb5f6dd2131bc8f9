"""Ballots from a file, which never guesses what a row means."""

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import read_preflib
from ..preprocessing import RatingsToRankings, orders_to_positions, unranked_last
from ..profile import Profile

_PREFLIB = {".soc", ".soi", ".toc", ".toi"}
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
    added.add_argument("--items", help="with --orders: the names of all items, with commas between")
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
    names, values = _parquet(path) if suffixes[-1:] == [".parquet"] else _csv(path)
    names, values = _persons(names, values, options.person)
    return _from_columns(names, _as_numbers(names, values), options)


def _csv(path):
    """Return the names in the first row, and the cells of the others."""
    with path.open(newline="", encoding="utf-8-sig") as lines:
        names, *rows = list(csv.reader(lines)) or [[]]
    rows = [row for row in rows if row]
    if len(names) < 2 or not rows:
        raise ValueError(f"{path.name} must have a first row with the names of at least two items, and a row a voter.")
    if any(len(row) != len(names) for row in rows):
        raise ValueError(f"{path.name} has rows with more or fewer cells than its first row, {len(names)}; mend them.")
    return names, np.array(rows, dtype=object)


def _parquet(path):
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('Parquet needs pandas and pyarrow: install the extra "plot", and pyarrow') from None
    frame = pd.read_parquet(path)
    return [str(name) for name in frame.columns], frame.to_numpy(dtype=object)


def _persons(names, values, person):
    """Return the names of the items, and pairs of whose row it is (None: each is a person's own) and its cells."""
    if person is None:
        return names, (None, values)
    if person not in names:
        raise ValueError(f"--person {person!r} is none of the columns; these are {', '.join(names)}.")
    own = names.index(person)
    return names[:own] + names[own + 1 :], (values[:, own].astype(str), np.delete(values, own, axis=1))


def _as_numbers(names, persons_and_cells):
    """Return the cells as floats, NaN where they are empty; rows of one person become their mean."""
    persons, cells = persons_and_cells
    numbers = np.empty(cells.shape)
    for column, name in enumerate(names):
        try:
            numbers[:, column] = [np.nan if cell is None or cell == "" else float(cell) for cell in cells[:, column]]
        except (TypeError, ValueError):
            raise ValueError(
                f"column {name!r} holds something that is no number; mend it, or name it by --person."
            ) from None
    if persons is None:
        return numbers
    _, whose = np.unique(persons, return_inverse=True)
    said = ~np.isnan(numbers)
    counts, sums = (np.zeros((whose.max() + 1, len(names))) for _ in range(2))
    np.add.at(counts, whose, said)
    np.add.at(sums, whose, np.where(said, numbers, 0.0))
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _from_columns(names, numbers, options):
    if options.items:
        raise ValueError("--items goes with --orders; here the first row names the items.")
    positions = RatingsToRankings().fit_transform(numbers) if options.layout == "ratings" else numbers
    return _counted(positions, names, options.unranked)


def _from_orders(path, options):
    if not options.items:
        raise ValueError("--orders needs --items: which items there are is public, and not read off the ballots.")
    if options.person:
        raise ValueError("--person goes with --ratings and --positions: orders of one person have no mean.")
    names = [name.strip() for name in options.items.split(",")]
    with path.open(newline="", encoding="utf-8-sig") as lines:
        orders = [[cell.strip() or None for cell in row] for row in csv.reader(lines) if row]
    return _counted(orders_to_positions(orders, item_names=names), names, options.unranked)


def _counted(positions: Any, names: list[str], unranked: str | None) -> Profile:
    positions = np.asarray(positions)
    if unranked is None and positions.dtype.kind == "f" and np.isnan(positions).any():
        raise ValueError("ballots leave items out: say --unranked last (they are worse) or no_opinion (not asked).")
    complete = unranked_last(positions) if unranked == "last" else positions
    return Profile.from_rankings(complete, item_names=names, keep="positions")
