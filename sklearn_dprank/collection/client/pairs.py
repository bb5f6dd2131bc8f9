"""Randomised response on a few pairs that the device draws: the voter's half of "rr", "laplace" and "gaussian"."""

import numpy as np

from .answers import distinct, flipped_answers, items_of
from .protocol import FLIP_GRID, flips_cost, is_flip, is_whole, n_pairs, refuse_unless

FIELDS = ("n_queries", "flip")
_BLOCK = 1 << 22  # pair marks held at a time while simulating
_LARGEST_MARKS = 1 << 27  # pairs that a device marks as drawn, a byte each


def check(protocol):
    """Raise `RefusedProtocol` unless the fields of this randomizer are of their form."""
    most, flip = n_pairs(protocol), protocol["flip"]
    refuse_unless(is_whole(protocol["n_queries"], 1, most), "n_queries", "an integer from 1 to the number of pairs")
    refuse_unless(protocol["n_queries"] == 1 or most <= _LARGEST_MARKS, "n_queries", "1 for so many items")
    form = type(flip) is list and len(flip) == 2 and is_flip(flip[0]) and is_whole(flip[1], FLIP_GRID, FLIP_GRID)
    refuse_unless(form, "flip", "[numerator, 2^52], above 0 and at most a half")


def spent(protocol):
    """Return the epsilon of one report, as a Decimal: K ln((1 - f) / f)."""
    return flips_cost(protocol["flip"][0], protocol["n_queries"])


def block(protocol):
    """Return how many voters are simulated at a time."""
    return max(1, _BLOCK // (n_pairs(protocol) if protocol["n_queries"] > 1 else 1))


def draw(protocol, ballots, bits):
    """Draw pairs, before a ballot is looked at, and answer them.

    Returns
    -------
    first, second, answers : ndarray of shape (n_voters, n_queries)
        The items of each pair, first < second, and whether the first is reported to go first.
    """
    pair = distinct(ballots.table.shape[1], protocol["n_queries"], n_pairs(protocol), bits.assignment)
    first, second = items_of(pair, len(protocol["items"]))
    return first, second, flipped_answers(first, second, protocol["flip"][0], ballots, bits)


def message(drawn):
    """Return what the first voter sends."""
    first, second, answers = drawn
    pairs = np.column_stack([first[0], second[0]]).tolist()
    return {"pairs": pairs, "answers": answers[0].astype(int).tolist()}
