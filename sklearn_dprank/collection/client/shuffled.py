"""Client half of "rr-shuffled": K randomised answers about hidden or assigned pairs, in one submission.

A device sends its submission to the shuffler. The shuffler checks it and mixes the messages of all voters.

The device guarantees `epsilon`, which is local: the cost of its K messages without any trust. `central_epsilon` and
`central_delta` are the curator's claim. They hold only with an honest shuffler and `min_reports` honest voters. A
device checks their form and nothing else.
"""

import numpy as np

from .answers import flipped_answers, items_of, random_number
from .pairs import check as check_answers
from .pairs import spent
from .protocol import is_amount, is_pair, is_whole, n_pairs, refuse_unless

FIELDS = ("n_queries", "flip", "pairs", "min_reports", "central_epsilon", "central_delta")
__all__ = ["FIELDS", "assigned", "check", "draw", "spent", "submission"]


def check(protocol):
    """Raise `RefusedProtocol` unless the fields of this randomizer are of their form."""
    check_answers(protocol)
    refuse_unless(protocol["pairs"] in ("hidden", "assigned"), "pairs", "'hidden' or 'assigned'")
    refuse_unless(is_whole(protocol["min_reports"], 1), "min_reports", "a positive integer")
    for name in ("central_epsilon", "central_delta"):
        refuse_unless(is_amount(protocol[name]), name, "a positive decimal number as text")


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


def submission(protocol, drawn, bits):
    """Return what the first voter sends to the shuffler, as JSON-able data.

    Each message names its shuffle. Assigned pairs all go to shuffle 0, where messages about one pair hide each other.
    The random number of the report lets the shuffler refuse a submission that comes again. It is never released.
    """
    hidden = protocol["pairs"] == "hidden"
    answers = zip(*(column[0].tolist() for column in drawn), strict=True)
    messages = [
        {"shuffle": number if hidden else 0, "pair": [first, second], "answer": int(answer)}
        for number, (first, second, answer) in enumerate(answers)
    ]
    return {"report": random_number(bits), "messages": messages}
