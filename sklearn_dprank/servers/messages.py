"""What servers of secure aggregation hear from devices, and from each other: read without trust in anybody."""

import json
from collections.abc import Iterable

from ..devices.protocol import is_whole

_DIGITS = frozenset("0123456789abcdef")


def read(message, head, of):
    """Return (message, None), the message parsed, if it is one; (anything, reason) otherwise.

    Parameters
    ----------
    message : dict, str or bytes
        From a device, which is not trusted.
    head : dict
        What it must say of itself: its protocol, the server that it is for, and perhaps the question.
    of : Sum
        What is summed.
    """
    try:
        said = json.loads(message) if isinstance(message, (str, bytes)) else message
    except (ValueError, RecursionError):
        return None, "not JSON"
    return said, _fault(said, head, of)


def _fault(said, head, of):
    """Return why a message is left out, or None."""
    if not isinstance(said, dict):
        return "not a JSON object"
    if said.get("protocol") != head["protocol"]:
        return "another protocol"
    if set(said) != {"report", "share", *head}:
        return "wrong keys"
    if said.get("question") != head.get("question"):
        return "another question"
    if not is_whole(said["server"], head["server"], head["server"]):
        return "another server"
    if not _is_report(said["report"]):
        return "no report number"
    share = said["share"]
    if type(share) is not list or len(share) != of.summand.numbers:
        return "not the right number of numbers"
    whole = set(map(type, share)) == {int}  # all together: there may be thousands
    return None if whole and min(share) >= 0 and max(share) < of.modulus else "number out of range"


def agreed(reports: Iterable[Iterable[str]]) -> list[str]:
    """Return the reports that all servers have, in order.

    Parameters
    ----------
    reports : iterable of list of str
        What `AggregationServer.reports` of each server returned.

    Examples
    --------
    >>> agreed([["0a", "0b", "0d"], ["0b", "0c", "0d"]])
    ['0b', '0d']
    """
    first, *others = [set(each) for each in reports] or [set()]
    return sorted(first.intersection(*others))


def checked_voters(voters: Iterable[str]) -> list[str]:
    """Return the reports in order, each once.

    Raises
    ------
    ValueError
        If they are no numbers of reports.
    """
    listed = list(voters) if isinstance(voters, Iterable) else []
    if not isinstance(voters, Iterable) or isinstance(voters, str) or not all(map(_is_report, listed)):
        raise ValueError("voters must be the numbers of reports that all servers have; use agreed(...).")
    return sorted(set(listed))


def _is_report(text):
    return type(text) is str and len(text) == 32 and set(text) <= _DIGITS
