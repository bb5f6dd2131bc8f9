"""Client implementation of "rr-assigned": randomised response on the public pairs of a registered voter.

The pairs follow from the protocol and the voter's number, so a device verifies them and a curator needs no table. They
do not depend on a ballot. A voter who lies can spoil only the own pairs.
"""

from hashlib import sha256
from itertools import count

import numpy as np

from ..._utils.checks import check_whole
from .answers import flipped_answers, items_of
from .base import with_digest
from .pairs import PairsRandomizer
from .protocol import is_digits, is_whole, n_pairs, refuse_unless

SEED_DIGITS = 32  # hexadecimal digits of the public seed
MOST_HASHES = 1 << 17  # expected number for the pairs of one voter


class AssignedRandomizer(PairsRandomizer):
    """Client implementation of "rr-assigned".

    `draw` is for simulations: as a random seed does, it gives each voter uniform pairs.
    """

    fields = ("n_queries", "flip", "n_voters", "assignment_seed")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        super().check(protocol)
        refuse_unless(is_whole(protocol["n_voters"], 1), "n_voters", "a positive integer")
        seed = is_digits(protocol["assignment_seed"], SEED_DIGITS)
        refuse_unless(seed, "assignment_seed", f"{SEED_DIGITS} lowercase hexadecimal digits")
        few = _expected_hashes(protocol["n_queries"], n_pairs(protocol)) <= MOST_HASHES
        refuse_unless(few, "n_queries", f"so small that {MOST_HASHES:,} hashes find its pairs")

    def assigned(self, pairs, protocol, voter):
        """Return (voter, first, second): the voter's number and its pairs, arrays of shape (1, K).

        The curator is not trusted. ValueError is raised if `voter` is not registered, or `pairs` are given and are not
        those of this voter.
        """
        if voter is None:
            raise ValueError(
                "voter must be given, because this protocol assigns pairs to registered voters: "
                "device.report(ballot, voter=17), say."
            )
        check_whole(voter, "voter", 0, protocol["n_voters"] - 1)
        first, second = public_pairs(protocol, [int(voter)])
        if pairs is not None and not np.array_equal(pairs, np.column_stack([first[0], second[0]])):
            raise ValueError(
                f"pairs must be those that follow from the protocol and voter={int(voter)}, in this order: "
                f"{np.column_stack([first[0], second[0]]).tolist()}. Leave pairs out, and the device computes them."
            )
        return int(voter), first, second

    def report(self, protocol, ballots, bits, assigned):
        """Draw the first voter's report on its public pairs as JSON-able data."""
        voter, first, second = assigned
        answers = flipped_answers(first, second, protocol["flip"][0], ballots, bits)
        return with_digest(protocol, {"voter": voter, **self.message((first, second, answers))})


def public_pairs(protocol, voters):
    """Return (first, second), arrays of shape (len(voters), K): the items of the pairs of registered voters."""
    seed, k, n = protocol["assignment_seed"], protocol["n_queries"], n_pairs(protocol)
    numbers = np.array([_numbers(seed, voter, k, n) for voter in voters], dtype=np.int64)
    return items_of(numbers, len(protocol["items"]))


def _expected_hashes(k, n):
    """Return a bound on the expected number of hashes of `_numbers`: each draws one of 2^b numbers."""
    return sum(-(-(1 << (n - 1).bit_length()) // (n - found)) for found in range(k))


def _numbers(seed, voter, k, n):
    """Return the first `k` distinct numbers below `n` in the public sequence of a voter; each is exactly uniform.

    Only `k` depends on the epsilon of a protocol. So a voter who chooses the own epsilon cannot choose other pairs.
    """
    mask = (1 << (n - 1).bit_length()) - 1
    found: dict[int, None] = {}  # a dict keeps the order
    for step in count():
        number = int(sha256(f"{seed}/{voter}/{step}".encode()).hexdigest()[:16], 16) & mask
        if number < n:
            found[number] = None
            if len(found) == k:
                return list(found)
