"""Client implementation of "rr", "laplace" and "gaussian": randomised response on a few random pairs."""

import numpy as np

from .answers import distinct, flipped_answers, items_of
from .base import ReportRandomizer
from .protocol import FLIP_GRID, flips_cost, is_flip, is_whole, n_pairs, refuse_unless

_BLOCK = 1 << 22  # marks of drawn pairs in memory at a time, in simulations
MOST_QUERIES = 1 << 16  # of one device, whose work a curator could make endless
_LARGEST_MARKS = 1 << 27  # bytes for the marks of one device, one byte for each pair


class PairsRandomizer(ReportRandomizer):
    """Client implementation of "rr", "laplace" and "gaussian"."""

    fields: tuple[str, ...] = ("n_queries", "flip")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        most, flip = n_pairs(protocol), protocol["flip"]
        rule = f"an integer from 1 to the number of pairs, at most {MOST_QUERIES:,}"
        refuse_unless(is_whole(protocol["n_queries"], 1, min(most, MOST_QUERIES)), "n_queries", rule)
        refuse_unless(protocol["n_queries"] == 1 or most <= _LARGEST_MARKS, "n_queries", "1 for so many items")
        form = type(flip) is list and len(flip) == 2 and is_flip(flip[0]) and is_whole(flip[1], FLIP_GRID, FLIP_GRID)
        refuse_unless(form, "flip", "[numerator, 2^52], above 0 and at most a half")

    def spent(self, protocol):
        """Return the epsilon of one report, as a Decimal: K ln((1 - f) / f)."""
        return flips_cost(protocol["flip"][0], protocol["n_queries"])

    def block(self, protocol):
        """Return the number of voters to simulate at a time."""
        return max(1, _BLOCK // (n_pairs(protocol) if protocol["n_queries"] > 1 else 1))

    def draw(self, protocol, ballots, bits):
        """Draw pairs, independently of the ballots, and answer them.

        The result is (first, second, answers), arrays of shape (n_voters, n_queries). They hold the items of each pair,
        first < second, and whether the first is reported to precede the second.
        """
        pair = distinct(ballots.table.shape[1], protocol["n_queries"], n_pairs(protocol), bits.assignment)
        first, second = items_of(pair, len(protocol["items"]))
        return first, second, flipped_answers(first, second, protocol["flip"][0], ballots, bits)

    def message(self, drawn):
        """Return the first voter's report as JSON-able data."""
        first, second, answers = drawn
        pairs = np.column_stack([first[0], second[0]]).tolist()
        return {"pairs": pairs, "answers": answers[0].astype(int).tolist()}
