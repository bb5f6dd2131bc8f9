"""What a curator takes from the servers of secure aggregation: one sum of each, all over the same voters."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collection.client.protocol import digest, is_whole
from ..collection.client.shares import Sum
from ..collection.curator.inbox import FOLLOW
from ..collection.curator.reports import RefusedReport, end_to_end, fields, protocol_of, whole_numbers

ONE_EACH = "pass a list of them, one of each server: estimator.fit_sums(sums, items=items)."


def combined(protocol, of, messages, inbox, question=None):
    """Return the sum of the servers' sums, int64, shape (k,), and of how many voters it is.

    Parameters
    ----------
    protocol : dict
        What devices and servers follow.
    of : Sum
        What of it was summed.
    messages : iterable of dict, str or bytes
        What the servers said.
    inbox : Inbox
        Counts the messages that are left out.
    question : str or None, default=None
        The name of the question that was asked, where the protocol asks questions.

    Raises
    ------
    ValueError
        If a server is missing, or said two sums, or they are of different voters.
    """
    heard = list(inbox.read(messages, partial(_read, protocol, of, question)))
    inbox.require(f"servers {FOLLOW}.")
    numbers = sorted(said.server for said in heard)
    if numbers != list(range(protocol["servers"])):
        raise ValueError(f"sums must hold one of each of the {protocol['servers']} servers, got those of {numbers}.")
    if len({(said.voters, said.n_reports) for said in heard}) > 1:
        raise ValueError("the servers' sums are of different voters, and add up to noise; nothing is released.")
    total = sum(said.numbers for said in heard) % of.modulus
    return np.where(total >= of.modulus // 2, total - of.modulus, total), heard[0].n_reports


class _Said(NamedTuple):
    """What one server says: of which voters, how many, and its sum."""

    server: int
    voters: str
    n_reports: int
    numbers: NDArray[np.int64]


def _read(protocol: Any, of: Sum, question: str | None, message: Any) -> _Said:
    """Return what one server says, if it follows the protocol and counts enough voters.

    Raises
    ------
    RefusedReport
        Otherwise.
    """
    if protocol_of(message) != digest(protocol):
        raise RefusedReport("another protocol")
    asked = () if question is None else ("question",)
    server, voters, n_reports, numbers, *about = fields(message, "server", "voters", "n_reports", "sum", *asked)
    if about and about != [question]:
        raise RefusedReport("another question")
    if not is_whole(server, 0, protocol["servers"] - 1):
        raise RefusedReport("server out of range")
    if type(voters) is not str:
        raise RefusedReport("no name of the voters")
    if not is_whole(n_reports, protocol["min_reports"], protocol["max_reports"]):
        raise RefusedReport("too few or too many voters")
    each = end_to_end([numbers], of.summand.numbers, "not the right numbers")
    return _Said(server, voters, n_reports, whole_numbers(each, 0, of.modulus - 1, "not the right numbers"))
