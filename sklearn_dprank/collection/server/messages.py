"""What servers of secure aggregation hear from devices, and from each other: read without trust in anybody."""

from collections.abc import Iterable

from ..._utils.lines import parse
from ..client import rounds
from ..client.protocol import is_digits, is_whole
from ..client.shares import commitment, report_number, summed

_NAMES = 1024  # characters of the names of all fields, the digests and some white space
_EACH = 80  # characters of one commitment, its quotation marks and a separator


def longest(protocol):
    """Return the most characters of a message that follows a protocol, from its public numbers."""
    asks = protocol["randomizer"] == "skellam-rounds"
    sums = rounds.sums(protocol) if asks else [summed(protocol)]
    shares = [one.summand.numbers * (len(str(one.modulus - 1)) + 2) for one in sums]
    return _NAMES + _EACH * protocol["servers"] + max(shares)


def read(message, head, of, n_servers, limit):
    """Return (message, None), the message parsed, if it is one; (anything, reason) otherwise.

    Parameters
    ----------
    message : dict, str or bytes
        From a device, which is not trusted.
    head : dict
        What it must say of itself: its protocol, the server that it is for, and perhaps the question.
    of : Sum
        What is summed.
    n_servers : int
        How many servers there are.
    limit : int
        The most characters of text that is parsed.
    """
    said, reason = parse(message, limit)
    return said, reason or _fault(said, head, of, n_servers)


def _fault(said, head, of, n_servers):
    """Return why a message is left out, or None."""
    if not isinstance(said, dict):
        return "not a JSON object"
    if said.get("protocol") != head["protocol"]:
        return "another protocol"
    if said.keys() != {"report", "commitments", "salt", "share", *head}:
        return "wrong keys"
    if said.get("question") != head.get("question"):
        return "another question"
    if not is_whole(said["server"], head["server"], head["server"]):
        return "another server"
    if not is_digits(said["report"], 64):
        return "no report number"
    if not is_digits(said["salt"], 32):
        return "no salt"
    entries = said["commitments"]
    if type(entries) is not list or len(entries) != n_servers or not all(is_digits(each, 64) for each in entries):
        return "not one commitment for each server"
    share = said["share"]
    if type(share) is not list or len(share) != of.summand.numbers:
        return "not the right number of numbers"
    whole = set(map(type, share)) == {int}  # all together: there may be thousands
    if not (whole and min(share) >= 0 and max(share) < of.modulus):
        return "number out of range"
    return _foreign(said)


def _foreign(said):
    """Return why a report's number does not belong to this share, or None: somebody may have seen another's number."""
    if report_number(said["commitments"]) != said["report"]:
        return "commitments of another report"
    if commitment(said) != said["commitments"][said["server"]]:
        return "share of another report"
    return None


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
    if not isinstance(voters, Iterable) or isinstance(voters, str) or not all(is_digits(each, 64) for each in listed):
        raise ValueError("voters must be the numbers of reports that all servers have; use agreed(...).")
    return sorted(set(listed))
