"""Compact positions, net wins and pair opinions of voters' ballots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ballots.cells import as_doubles
from ...ballots.compact import compact_positions
from ...ballots.counting import odd_ballots
from ...ballots.rankings import ballot_key
from ...ballots.sorting import placed, sorted_rows
from ...ballots.tables import as_numbers
from ...sampling.bit_source import BitSource


def read_ballot(ballot, n_items):
    """Return (positions, key) of one ballot, array-like of shape (n_items,).

    NaN, None and masked entries are missing opinions. Ballots with the same order, ties and missing opinions have the
    same `key` (bytes). ValueError is raised unless the ballot has one position for each item.
    """
    try:
        rows = as_doubles(as_numbers([ballot]))
    except (TypeError, ValueError, OverflowError):
        rows = np.empty(0)
    if rows.shape != (1, n_items) or rows.dtype.kind != "f" or np.isinf(rows).any():
        raise ValueError(f"ballot must have one position (a finite number, or NaN) for each of the {n_items} items.")
    positions = compact_positions(rows)
    return positions, ballot_key(positions)


def places(table: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return (order, first, last, ordered) of each ballot, arrays of shape (n_voters, n_items).

    `order` lists the items of each ballot, best first, as indices into the ravelled transpose of `table`. `first` and
    `last` are the first and the last place that an item shares with the items tied with it. Items without an opinion
    are tied last. `ordered` contains the positions. `table` has shape (n_items, n_voters).
    """
    ballots = np.ascontiguousarray(table.T)
    order, changes = sorted_rows(ballots)
    place, n_items = np.arange(len(table)), len(table)
    first = np.maximum.accumulate(changes * place, axis=1)
    last = np.full(ballots.shape, n_items - 1)
    np.minimum.accumulate(np.where(changes[:, 1:], place[:-1], n_items - 1)[:, ::-1], axis=1, out=last[:, -2::-1])
    return order, first, last, ballots.ravel()[order]


def net_wins(table: NDArray[Any], sentinel: int) -> NDArray[np.int64]:
    """Return each voter's net wins: for each item, the items that it beats minus the items that beat it.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions.
    sentinel : int
        Position of items without an opinion.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Net wins. Ties and missing opinions count 0.
    """
    # Fast path for simulations of many voters. A device has one voter and must not use it: its running time would
    # reveal whether the ballot has ties or missing opinions.
    odd = odd_ballots(table) if table.shape[1] > 1 else None
    if odd is None:
        return _net_wins(table, sentinel)
    wins = table.astype(np.int64).T
    wins *= -2
    wins += len(table) - 1
    if len(odd):
        wins[odd] = _net_wins(table[:, odd], sentinel)
    return wins


def _net_wins(table, sentinel):
    """Return the net wins of ballots that may have ties or missing opinions, shape (n_voters, n_items)."""
    order, first, last, ordered = places(table)
    n_items = len(table)
    silent = ordered == sentinel
    n_ranked = n_items - np.count_nonzero(silent, axis=1, keepdims=True)
    return placed(np.where(silent, 0, n_ranked - 1 - last - first), order)


def opinions(table: NDArray[Any], sentinel: int, coins: BitSource) -> NDArray[np.bool_]:
    """Return each voter's preference on every pair. A fair coin replaces a missing preference.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions.
    sentinel : int
        Position of items without an opinion.
    coins : BitSource
        The voters' own coins.

    Returns
    -------
    ndarray of bool, shape (n_pairs, n_voters)
        Whether the first item of the pair precedes the second. Pairs are in row-major order.
    """
    rows, columns = np.triu_indices(len(table), 1)
    first, second = table[rows], table[columns]
    silent = (first == second) | (first == sentinel) | (second == sentinel)
    return np.where(silent, coins.coins(silent.size).reshape(silent.shape), first < second)
