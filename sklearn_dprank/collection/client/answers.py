"""Randomised answers about pairs, random pairs, and random identifiers of reports."""

import numpy as np

from .protocol import FLIP_GRID, as_digits, is_digits


def flipped_answers(first, second, flip, ballots, bits, voters=None):
    """Return whether `first` precedes `second` in each ballot, flipped with probability flip / 2^52.

    `first`, `second` and the answers have shape (n_voters, k). `voters` are the columns of ``ballots.table``, or None
    for all of them. ``bits.coins`` answers where a voter has no opinion, and ``bits.noise`` flips.
    """
    voters = np.arange(first.shape[0]) if voters is None else voters
    truth = true_answers(first, second, voters[:, None], ballots, bits.coins)
    return truth ^ _random_flips(flip, first.shape, bits.noise)


def _random_flips(flip, shape, noise):
    """Return booleans, each True with probability flip / 2^52.

    A device uses one word for each, as the wire format states. Most flips of many voters use one byte.
    """
    if shape[0] == 1:
        return noise.integers(FLIP_GRID, shape[1]).reshape(shape) < flip
    return noise.trials(flip, shape[0] * shape[1]).reshape(shape)


def true_answers(first, second, voter, ballots, coins):
    """Return whether `first` precedes `second` in ballot `voter`; a coin answers where the voter has no opinion.

    `voter` is a column of ``ballots.table``. The three index arrays broadcast to the shape of `first`.
    """
    here, there = (_taken(ballots.table, item, voter) for item in (first, second))
    silent = (here == there) | (here == ballots.sentinel) | (there == ballots.sentinel)
    return np.where(silent, coins.coins(first.size).reshape(first.shape), here < there)


def _taken(table, item, voter):
    """Return ``table[item, voter]``. One flat index is several times as fast if the table is contiguous."""
    n_items, n_voters = table.shape
    if table.flags.c_contiguous:
        return table.ravel().take(item * n_voters + voter)
    if table.flags.f_contiguous:
        return table.T.ravel().take(voter * n_items + item)
    return table[item, voter]


def random_number(bits):
    """Return a random identifier of one report, 32 hexadecimal digits. The receiver uses it to drop duplicates."""
    return as_digits(bits.assignment.words(2).tolist())


def is_random_number(text):
    """Return whether `text` has the form of `random_number`."""
    return is_digits(text, 32)


def distinct(rows, k, n, bits):
    """Return `rows` independent uniform k-subsets of 0, ..., n - 1, shape (rows, k), by Floyd's algorithm."""
    out = np.empty((rows, k), dtype=np.int64)
    if k == 1:
        out[:, 0] = bits.integers(n, rows)
        return out
    taken = np.zeros((rows, n), dtype=bool)
    every = np.arange(rows)
    for column, top in enumerate(range(n - k, n)):
        pick = bits.integers(top + 1, rows)
        pick = np.where(taken[every, pick], top, pick)
        taken[every, pick] = True
        out[:, column] = pick
    return out


def items_of(pair, n_items):
    """Return the items (i, j), i < j, of pairs by their number in row-major order: (0, 1), (0, 2), ..., (1, 2), ...

    Examples
    --------
    >>> import numpy as np
    >>> items_of(np.arange(3), 3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    starts = np.concatenate([[0], np.cumsum(np.arange(n_items - 1, 0, -1))])  # number of the first pair of each row
    first = starts.searchsorted(pair, side="right") - 1
    return first, pair - starts[first] + first + 1
