"""One message a shuffle, about a pair that is hidden or assigned: the voter's half of "rr-shuffled"."""

import numpy as np

from .answers import flipped_answers, items_of
from .pairs import check as check_answers
from .pairs import spent
from .protocol import is_amount, is_pair, is_whole, n_pairs, refuse_unless

FIELDS = ("n_queries", "flip", "pairs", "delta", "local_epsilon", "min_reports")
STATED = "local_epsilon"  # what a device can hold the curator to; "epsilon" needs the shuffler and the crowd
__all__ = ["FIELDS", "STATED", "assigned", "check", "draw", "messages", "spent"]


def check(protocol):
    """Raise `RefusedProtocol` unless the fields of this randomizer are of their form."""
    check_answers(protocol)
    refuse_unless(protocol["pairs"] in ("hidden", "assigned"), "pairs", "'hidden' or 'assigned'")
    refuse_unless(is_amount(protocol["delta"]), "delta", "a positive decimal number as text")
    refuse_unless(is_amount(protocol["local_epsilon"]), "local_epsilon", "a positive decimal number as text")
    refuse_unless(is_whole(protocol["min_reports"], 1), "min_reports", "a positive integer")


def assigned(pairs, protocol):
    """Return the curator's assignment, shape (1, K, 2), if it is K distinct pairs: the curator is not trusted.

    Raises
    ------
    ValueError
        If it is not, or the protocol has every device draw its own pairs.
    """
    k = protocol["n_queries"]
    if (pairs is not None) != (protocol["pairs"] == "assigned"):
        raise ValueError("pairs must be given if and only if the protocol assigns them.")
    if pairs is None:
        return None
    try:
        asked = np.asarray(pairs).tolist()
    except ValueError:  # ragged
        asked = None
    known = type(asked) is list and all(is_pair(pair, len(protocol["items"])) for pair in asked)
    if not (known and len(asked) == len({tuple(pair) for pair in asked}) == k):
        raise ValueError(f"pairs must hold {k} distinct pairs (i, j) of items, i < j.")
    return np.array(asked, dtype=np.int64)[None]


def draw(protocol, ballots, bits, pairs=None):
    """Answer assigned pairs for every ballot, or K independent uniform ones, drawn before a ballot is looked at.

    Parameters
    ----------
    protocol, ballots, bits
        As for every voter's half.
    pairs : ndarray of int64, shape (n_voters, n_queries, 2), or None
        The curator's assignment, where the protocol has one.

    Returns
    -------
    first, second, answers : ndarray of shape (n_voters, n_queries)
        The items of each pair, and whether the first is reported to go first.
    """
    if pairs is None:
        shape = ballots.table.shape[1], protocol["n_queries"]
        number = bits.assignment.integers(n_pairs(protocol), shape[0] * shape[1]).reshape(shape)
        first, second = items_of(number, len(protocol["items"]))
    else:
        first, second = pairs[..., 0], pairs[..., 1]
    return first, second, flipped_answers(first, second, protocol["flip"][0], ballots, bits)


def messages(protocol, drawn):
    """Return the first voter's messages, as JSON-able data, each with the number of the shuffle that it goes to.

    Assigned pairs all go to shuffle 0, where those with one pair hide each other.
    """
    hidden = protocol["pairs"] == "hidden"
    answers = zip(*(column[0].tolist() for column in drawn), strict=True)
    return [
        {"shuffle": number if hidden else 0, "pair": [first, second], "answer": int(answer)}
        for number, (first, second, answer) in enumerate(answers)
    ]
