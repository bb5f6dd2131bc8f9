"""What a device reads from its voter's ballot: net wins, and opinions on pairs."""

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
    """Read one ballot where its voter is.

    Parameters
    ----------
    ballot : array-like of shape (n_items,)
        Where this voter puts each item; smaller is better, equal is tied, NaN, None or masked is no opinion.
    n_items : int
        How many items the protocol has.

    Returns
    -------
    positions : Positions
        The ballot in compact form.
    key : bytes
        Equal for ballots that say the same.

    Raises
    ------
    ValueError
        If the ballot does not have one number for each item.
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
    """Return which places each ballot gives to its items; tied items share them, and silent ones are tied last.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions; those without an opinion have the largest.

    Returns
    -------
    order : ndarray of int, shape (n_voters, n_items)
        The items of each ballot, first ones first, as `sorted_rows` counts them.
    first, last : ndarray of int, shape (n_voters, n_items)
        Of the items in that order, the first and the last place that each shares.
    ordered : ndarray, shape (n_voters, n_items)
        Their positions.
    """
    ballots = np.ascontiguousarray(table.T)
    order, changes = sorted_rows(ballots)
    place, n_items = np.arange(len(table)), len(table)
    first = np.maximum.accumulate(changes * place, axis=1)
    last = np.full(ballots.shape, n_items - 1)
    np.minimum.accumulate(np.where(changes[:, 1:], place[:-1], n_items - 1)[:, ::-1], axis=1, out=last[:, -2::-1])
    return order, first, last, ballots.ravel()[order]


def net_wins(table: NDArray[Any], sentinel: int) -> NDArray[np.int64]:
    """Return each voter's net wins: items placed behind minus items placed before.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions.
    sentinel : int
        The position that means no opinion.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Ties and missing opinions count 0.
    """
    # Of many voters, who are simulated: what a device of one does takes as long whatever the ballot says.
    odd = odd_ballots(table) if table.shape[1] > 1 else None
    if odd is None:
        return _net_wins(table, sentinel)
    wins = len(table) - 1 - 2 * np.ascontiguousarray(table.T).astype(np.int64)
    if len(odd):
        wins[odd] = _net_wins(table[:, odd], sentinel)
    return wins


def _net_wins(table, sentinel):
    """Return the net wins of voters whose ballots have ties or missing opinions."""
    order, first, last, ordered = places(table)
    n_items = len(table)
    silent = ordered == sentinel
    n_ranked = n_items - np.count_nonzero(silent, axis=1, keepdims=True)
    return placed(np.where(silent, 0, n_ranked - 1 - last - first), order)


def opinions(table: NDArray[Any], sentinel: int, coins: BitSource) -> NDArray[np.bool_]:
    """Return each voter's preference on every pair; a fair coin where the voter has none.

    Parameters
    ----------
    table, sentinel
        As for `net_wins`.
    coins : BitSource
        The voters' own coins.

    Returns
    -------
    ndarray of bool, shape (n_pairs, n_voters)
        Whether the first item of the pair goes before the second; pairs in row-major order.
    """
    rows, columns = np.triu_indices(len(table), 1)
    first, second = table[rows], table[columns]
    silent = (first == second) | (first == sentinel) | (second == sentinel)
    return np.where(silent, coins.coins(silent.size).reshape(silent.shape), first < second)
