"""Validation of messages from devices to aggregation servers, and agreement of the servers on voters."""

from __future__ import annotations

from collections.abc import Iterable

from ..._utils.lines import parse
from ..client.protocol import is_digits, is_whole
from ..client.rounds import sums
from ..client.shares import commitment, report_number, summed

_NAMES = 1024  # characters of the names of all fields, the digests and some white space
_EACH = 80  # characters of one commitment, its quotation marks and a separator


def longest(protocol):
    """Return the largest length of a valid message, in characters, from the protocol's public numbers."""
    asks = protocol["randomizer"] == "skellam-rounds"
    every = sums(protocol) if asks else [summed(protocol)]
    shares = [one.summand.numbers * (len(str(one.modulus - 1)) + 2) for one in every]
    return _NAMES + _EACH * protocol["servers"] + max(shares)


def read(message, head, of, n_servers, limit):
    """Return (parsed message, None) if an untrusted message is valid, else (object, reason).

    `head` holds the expected protocol, server and question. Text above `limit` characters is not parsed.
    """
    message, reason = parse(message, limit)
    return message, reason or _fault(message, head, of, n_servers)


def _fault(message, head, of, n_servers):
    """Return why a message is refused, or None."""
    if not isinstance(message, dict):
        return "not a JSON object"
    if message.get("protocol") != head["protocol"]:
        return "another protocol"
    if message.keys() != {"report", "commitments", "salt", "share", *head}:
        return "wrong keys"
    if message.get("question") != head.get("question"):
        return "another question"
    if not is_whole(message["server"], head["server"], head["server"]):
        return "another server"
    if not is_digits(message["report"], 64):
        return "no report number"
    if not is_digits(message["salt"], 32):
        return "no salt"
    entries = message["commitments"]
    if type(entries) is not list or len(entries) != n_servers or not all(is_digits(each, 64) for each in entries):
        return "not one commitment for each server"
    share = message["share"]
    if type(share) is not list or len(share) != of.summand.numbers:
        return "not the right number of numbers"
    whole = set(map(type, share)) == {int}  # faster than a loop over thousands of numbers
    if not (whole and min(share) >= 0 and max(share) < of.modulus):
        return "number out of range"
    return _foreign(message)


def _foreign(message):
    """Return why a report's number, perhaps copied from another voter, does not belong to this share, or None."""
    if report_number(message["commitments"]) != message["report"]:
        return "commitments of another report"
    if commitment(message) != message["commitments"][message["server"]]:
        return "share of another report"
    return None


def agreed(reports: Iterable[Iterable[str]]) -> list[str]:
    """Return the reports that all servers have, sorted.

    Parameters
    ----------
    reports : iterable of list of str
        Results of `AggregationServer.reports`, one for each server.

    Returns
    -------
    list of str
        Numbers of the reports, for `AggregationServer.release`.

    Examples
    --------
    >>> agreed([["0a", "0b", "0d"], ["0b", "0c", "0d"]])
    ['0b', '0d']
    """
    first, *others = [set(each) for each in reports] or [set()]
    return sorted(first.intersection(*others))


def checked_voters(voters: Iterable[str]) -> list[str]:
    """Return the report numbers sorted, without repetitions; raise ValueError if they are not report numbers."""
    listed = list(voters) if isinstance(voters, Iterable) else []
    if not isinstance(voters, Iterable) or isinstance(voters, str) or not all(is_digits(each, 64) for each in listed):
        raise ValueError("voters must be the numbers of reports that all servers have; use agreed(...).")
    return sorted(set(listed))
