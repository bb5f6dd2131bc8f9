"""Validation of submissions to the shuffler, and of the design that assigns pairs to voters."""

import math

import numpy as np

from ..._utils.lines import parse
from ..client.answers import is_random_number
from ..client.protocol import is_pair, is_whole

LONGEST = 1 << 22  # characters of a submission under any protocol
_HEAD, _EACH = 256, 128  # characters of a submission without messages, and of one message, with some white space


def longest(protocol):
    """Return the largest number of characters of a submission; a longer text is not parsed."""
    return min(LONGEST, _HEAD + _EACH * protocol["n_queries"])


def read(text, protocol, name):
    """Return (parsed submission, None) if it follows the protocol with digest `name`, else (object, reason)."""
    submission, reason = parse(text, longest(protocol))
    return submission, reason or _fault(submission, protocol, name)


def _fault(submission, protocol, name):
    """Return why a submission is refused, or None."""
    if not isinstance(submission, dict):
        return "not a JSON object"
    if submission.get("protocol") != name:
        return "another protocol"
    if set(submission) != {"protocol", "report", "messages"}:
        return "wrong keys"
    if not is_random_number(submission["report"]):
        return "no report number"
    messages, k = submission["messages"], protocol["n_queries"]
    if type(messages) is not list or len(messages) != k:
        return "wrong number of messages"
    if not all(isinstance(message, dict) for message in messages):
        return "not a JSON object"
    if any(set(message) != {"shuffle", "pair", "answer"} for message in messages):
        return "wrong keys"
    shuffles, hidden = [message["shuffle"] for message in messages], protocol["pairs"] == "hidden"
    if not all(is_whole(shuffle, 0) for shuffle in shuffles):
        return "shuffle out of range"
    if sorted(shuffles) != (list(range(k)) if hidden else [0] * k):
        return "shuffle out of range"
    if not all(is_pair(message["pair"], len(protocol["items"])) for message in messages):
        return "pair out of range"
    if not all(is_whole(message["answer"], 0, 1) for message in messages):
        return "answer out of range"
    return "pair asked twice" if not hidden and len(pairs_of(submission)) < k else None


def pairs_of(submission):
    """Return the pairs of a submission as a set of tuples."""
    return {tuple(message["pair"]) for message in submission["messages"]}


def checked_design(design, protocol):
    """Return the design as int64, shape (n_voters, K, 2), or None if the protocol hides the pairs.

    ValueError is raised if the design does not fit the protocol. It needs K distinct pairs (i, j), i < j, for each of
    at least `min_reports` voters. All pairs must be equally frequent, or differ by 1.
    """
    if protocol["pairs"] == "hidden":
        if design is not None:
            raise ValueError("design must be None: each device draws its own pairs under this protocol.")
        return None
    m, k = len(protocol["items"]), protocol["n_queries"]
    rule = f"design must be an integer array of shape (n_voters, {k}, 2), as balanced_design returns it"
    if design is None:
        raise ValueError(f"{rule}: this protocol assigns pairs to voters.")
    rows = np.asarray(design)
    if rows.ndim != 3 or rows.shape[1:] != (k, 2) or rows.dtype.kind not in "iu":
        raise ValueError(f"{rule}; got {rows.dtype} of shape {rows.shape}.")
    if len(rows) < protocol["min_reports"]:
        raise ValueError(f"design must have at least min_reports={protocol['min_reports']} rows, got {len(rows)}.")
    first, second = rows[..., 0], rows[..., 1]
    if (first < 0).any() or (first >= second).any() or (second >= m).any():
        raise ValueError(f"{rule}, of pairs (i, j) of items, i < j.")
    pairs = np.sort(first.astype(np.int64) * m + second, axis=1)
    if (pairs[:, 1:] == pairs[:, :-1]).any():
        raise ValueError(f"{rule}, with distinct pairs for each voter.")
    found, counts = np.unique(pairs, return_counts=True)
    least = counts.min() if len(found) == math.comb(m, 2) else 0
    if counts.max() > least + 1:
        raise ValueError("design must be balanced: each pair equally often, or once more, as balanced_design makes it.")
    return rows.astype(np.int64)
