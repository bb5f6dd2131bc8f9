"""Client implementation of "rr-shuffled": K randomised answers about hidden or assigned pairs, in one submission.

A device sends its submission to the shuffler. The shuffler checks it and mixes the messages of all voters.

The device guarantees the local `epsilon`: the cost of its K messages without any trust. `central_epsilon` and
`central_delta` are the curator's claim. They hold only with an honest shuffler and `min_reports` honest voters. A
device checks only their form.
"""

import numpy as np

from .answers import flipped_answers, items_of, random_number
from .base import refuse_voter, with_digest
from .pairs import PairsRandomizer
from .protocol import is_amount, is_pair, is_whole, n_pairs, refuse_unless


class ShuffledRandomizer(PairsRandomizer):
    """Client implementation of "rr-shuffled"."""

    fields = ("n_queries", "flip", "pairs", "min_reports", "central_epsilon", "central_delta")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        super().check(protocol)
        refuse_unless(protocol["pairs"] in ("hidden", "assigned"), "pairs", "'hidden' or 'assigned'")
        refuse_unless(is_whole(protocol["min_reports"], 1), "min_reports", "a positive integer")
        for name in ("central_epsilon", "central_delta"):
            refuse_unless(is_amount(protocol[name]), name, "a positive decimal number as text")

    def assigned(self, pairs, protocol, voter):
        """Return the curator's assignment as an array of shape (1, K, 2), or None if devices draw their own pairs.

        The curator is not trusted. ValueError is raised if `pairs` are not K distinct pairs, or if the protocol
        requires or forbids them.
        """
        refuse_voter(voter)
        k = protocol["n_queries"]
        if (pairs is not None) != (protocol["pairs"] == "assigned"):
            raise ValueError("pairs must be given if and only if the protocol assigns them.")
        if pairs is None:
            return None
        try:
            asked = np.asarray(pairs).tolist()
        except ValueError:  # rows of different lengths
            asked = None
        known = type(asked) is list and all(is_pair(pair, len(protocol["items"])) for pair in asked)
        if not (known and len(asked) == len({tuple(pair) for pair in asked}) == k):
            raise ValueError(f"pairs must hold {k} distinct pairs (i, j) of items, i < j.")
        return np.array(asked, dtype=np.int64)[None]

    def draw(self, protocol, ballots, bits, assigned=None):
        """Answer assigned pairs, or K independent uniform pairs that are drawn independently of the ballots.

        `assigned` has shape (n_voters, K, 2). The result is (first, second, answers), arrays of shape (n_voters, K).
        They hold the items of each pair, and whether the first is reported to precede the second.
        """
        if assigned is None:
            shape = ballots.table.shape[1], protocol["n_queries"]
            number = bits.assignment.integers(n_pairs(protocol), shape[0] * shape[1]).reshape(shape)
            first, second = items_of(number, len(protocol["items"]))
        else:
            first, second = assigned[..., 0], assigned[..., 1]
        return first, second, flipped_answers(first, second, protocol["flip"][0], ballots, bits)

    def report(self, protocol, ballots, bits, assigned):
        """Draw the first voter's submission to the shuffler as JSON-able data.

        Each message names its shuffle. Assigned pairs all go to shuffle 0, where messages about the same pair hide each
        other. The shuffler uses the report's random number to refuse repeated submissions, and never releases it.
        """
        drawn, hidden = self.draw(protocol, ballots, bits, assigned), protocol["pairs"] == "hidden"
        answers = zip(*(column[0].tolist() for column in drawn), strict=True)
        messages = [
            {"shuffle": number if hidden else 0, "pair": [first, second], "answer": int(answer)}
            for number, (first, second, answer) in enumerate(answers)
        ]
        return with_digest(protocol, {"report": random_number(bits), "messages": messages})
