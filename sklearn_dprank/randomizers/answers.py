"""One randomised answer about one pair: the atom of every pairwise protocol."""

import json

import numpy as np

from .base import RefusedReport

FLIP_GRID = 2**52  # flip probabilities are multiples of 1 / this, so they are drawn exactly


def flipped_answers(first, second, flip, ballots, bits):
    """Answer whether `first` goes before `second`, flipped with probability flip / 2^52.

    Parameters
    ----------
    first, second : ndarray of int, shape (n_voters, k)
        The items of each voter's pairs.
    flip : int
        Numerator of the flip probability.
    ballots : Positions
        Of these voters.
    bits : Bits
        `coins` answer where a voter has no opinion; `noise` flips.

    Returns
    -------
    ndarray of bool, shape (n_voters, k)
        The answers that leave the devices.
    """
    voter = np.arange(first.shape[0])[:, None]
    here, there = ballots.table[first, voter], ballots.table[second, voter]
    silent = (here == there) | (here == ballots.sentinel) | (there == ballots.sentinel)
    coins = bits.coins.coins(first.size).reshape(first.shape)
    flips = bits.noise.integers(FLIP_GRID, first.size).reshape(first.shape) < flip
    return np.where(silent, coins, here < there) ^ flips


def counted_wins(first, second, answers, n_items):
    """Return how many answers put i before j, int64, shape (n_items, n_items)."""
    winner, loser = np.where(answers, first, second), np.where(answers, second, first)
    return np.bincount((winner * n_items + loser).ravel(), minlength=n_items**2).reshape(n_items, n_items)


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


def parsed(report):
    """Return a report as an object, reading it where it is text.

    Raises
    ------
    RefusedReport
        If it is no JSON.
    """
    if not isinstance(report, (str, bytes)):
        return report
    try:
        return json.loads(report)
    except (ValueError, RecursionError):
        raise RefusedReport("not JSON") from None


def is_pair(pair, n_items):
    """Tell whether a report's `pair` is a list [i, j] of items, i before j by index."""
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and all(type(item) is int for item in pair)
        and 0 <= pair[0] < pair[1] < n_items
    )


def is_answer(answer):
    """Tell whether a report's `answer` is 0 or 1."""
    return type(answer) is int and answer in (0, 1)
