"""Protocol format: validation, digest, privacy cost, and probabilities on the public grid."""

from __future__ import annotations

import hashlib
import json
import math
import re
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from .._utils.checks import check_epsilon, is_whole, safe_repr
from ..privacy.rounding import rounded_up

VERSION = 3
FLIP_GRID = 2**52  # probabilities are multiples of 1 / FLIP_GRID, so they are sampled exactly
LARGEST_FLIP = FLIP_GRID // 2  # numerator of a fair coin
#: End of messages that refuse a question.
UNCHANGED = "it must be what the curator asked the devices of this very protocol, unchanged"
LARGEST_NAME = 1000  # characters of an item's name
_UP = Context(prec=80, rounding=ROUND_CEILING)  # own context: a caller may change the context of the process
_DIGITS = frozenset("0123456789abcdef")
_SURROGATE = re.compile("[\ud800-\udfff]")  # alone, it has no UTF-8 encoding
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,19})(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?", re.ASCII)


class RefusedProtocol(ValueError):
    """Error for a protocol that a device refuses.

    The protocol has another form, spends more than it states, or exceeds the limits of the device's owner.
    """


def canonical(protocol):
    """Return the canonical text of a protocol as UTF-8 bytes.

    It is the form of RFC 8785 for text, integers, null, lists and objects.

    Examples
    --------
    >>> canonical({"b": [1, 2], "a": "tea"})
    b'{"a":"tea","b":[1,2]}'
    """
    return json.dumps(protocol, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def digest(protocol):
    """Return the name of a protocol: the first 16 hexadecimal digits of the SHA-256 of its canonical text."""
    return hashlib.sha256(canonical(protocol)).hexdigest()[:16]


def refuse_unless(valid: bool, name: str, rule: object) -> None:
    """Raise `RefusedProtocol` unless a field of a protocol is valid.

    Parameters
    ----------
    valid : bool
        Whether the field is valid.
    name : str
        Name of the field, for the error message. The message does not show the field's value.
    rule : object
        What the field must be, for the error message.

    Raises
    ------
    RefusedProtocol
        If `valid` is False.
    """
    if not valid:
        raise RefusedProtocol(f"this device does not follow the protocol: {name} must be {rule}.")


def is_amount(text):
    """Return whether `text` is a positive decimal number as text.

    Protocols state such numbers as text, because languages print doubles differently.
    """
    return type(text) is str and len(text) <= 64 and _DECIMAL.fullmatch(text) is not None and Decimal(text) > 0


def is_digits(text, length):
    """Return whether `text` consists of `length` lowercase hexadecimal digits, as digests and random numbers do."""
    return type(text) is str and len(text) == length and _DIGITS.issuperset(text)


def are_items(items):
    """Return whether `items` is a list of 2 to 65,534 distinct names, text or integers, that JSON can represent."""
    if type(items) is not list or not 2 <= len(items) <= 65534:
        return False
    names = set()
    for item in items:
        text = type(item) is str and len(item) <= LARGEST_NAME and not _SURROGATE.search(item)
        if text or (type(item) is int and abs(item) < 2**53):
            names.add(item)
    return len(names) == len(items)


def decimal_of(number):
    """Return a float as a Decimal: the larger of its exact value and its printed decimal value.

    Examples
    --------
    >>> decimal_of(1e-06)
    Decimal('0.000001')
    """
    return max(Decimal(number), Decimal(repr(number)))


def float_above(number, read=Decimal):
    """Return the smallest float that is not below a Decimal; `read` converts a float for this comparison."""
    near = float(number)
    return near if read(near) >= number else math.nextafter(near, math.inf)


@lru_cache(maxsize=256)  # of public numbers; a plan and its protocol need the same logarithm several times
def log_ratio(high, low, times=1):
    """Return `times` ln(high / low), an epsilon, as a Decimal that is rounded up in the 50th digit.

    Examples
    --------
    >>> round(log_ratio(3, 1, times=2), 6)
    Decimal('2.197225')
    """
    with localcontext(_UP):  # ratios other than 1 exceed 1 + 2^-53: 80 digits leave more than 50 in the logarithm
        return times * (Decimal(high) / Decimal(low)).ln() * (1 + Decimal("1e-50"))


def total(costs):
    """Return the sum of epsilons or deltas, rounded up."""
    with localcontext(_UP):
        return sum(costs, Decimal(0))


def flips_cost(flip: int, times: int = 1) -> Decimal:
    """Return the epsilon of randomised answers with a given flip probability.

    Parameters
    ----------
    flip : int
        Numerator of the flip probability, over 2^52.
    times : int, default=1
        Number of answers.

    Returns
    -------
    Decimal
        `times` ln((2^52 - flip) / flip), rounded up.
    """
    return log_ratio(FLIP_GRID - flip, flip, times)


def check_max_listed(protocol):
    """Raise `RefusedProtocol` unless ``max_listed`` is absent or an integer from 2 to less than the number of items."""
    if "max_listed" in protocol:
        most = len(protocol["items"]) - 1
        refuse_unless(is_whole(protocol["max_listed"], 2, most), "max_listed", "from 2 to the number of items less 1")


# Flip probabilities and levels for a given epsilon, on a grid of 2^-52.


def as_text(number):
    """Return an epsilon as protocol text, the `repr` of its float; raise ValueError unless positive and finite."""
    check_epsilon(number)
    return repr(float(number))


def lower_reading(epsilon):
    """Return an epsilon as a Decimal, rounded down to its float if that is smaller: what answers may spend at most."""
    return min(Decimal(epsilon), Decimal(float(epsilon)))


@lru_cache(maxsize=256)
def flip_within(epsilon: str | Decimal, times: int = 1) -> int:
    """Return the smallest flip probability, as a numerator over 2^52, with which answers spend at most `epsilon`.

    Parameters
    ----------
    epsilon : str or Decimal
        Epsilon that the protocol states.
    times : int, default=1
        Number of answers that share it.

    Returns
    -------
    int
        Numerator of the flip probability.

    Raises
    ------
    ValueError
        If epsilon is so small that every answer would be a fair coin.

    Examples
    --------
    >>> flip_within("1.0") / 2**52
    0.2689414213699952
    """
    budget = lower_reading(epsilon)
    with localcontext(prec=60):
        # Above about 36 per answer, the result is the smallest numerator, 1.
        flip = max(1, math.ceil(FLIP_GRID / (1 + min(budget / times, Decimal(64)).exp())))
    while flip < LARGEST_FLIP and flips_cost(flip, times) > budget:
        flip += 1
    if flip >= LARGEST_FLIP:
        raise ValueError(
            f"epsilon={float(epsilon)} is too small for {safe_repr(times)} answer(s): each would be a fair coin; it "
            f"must be above {Decimal(times) * Decimal('1e-15'):.6g}."
        )
    return flip


def flip_above(probability):
    """Return the smallest numerator over 2^52, from 1 to 2^51, whose flip probability is at least `probability`.

    The factor covers the rounding errors of a few elementary functions.
    """
    return min(max(math.ceil(probability * (1 + 2.0**-50) * FLIP_GRID), 1), LARGEST_FLIP)


def cost_as_text(spent):
    """Return a spent epsilon, a Decimal, as text that is rounded up in the twelfth digit."""
    with localcontext(prec=12, rounding=ROUND_CEILING):
        return str(+spent).lower()


def stated_epsilon(protocol, client):
    """Return the epsilon that a protocol states, as a float that is not below what its numbers spend."""
    stated, spent = float(protocol["epsilon"]), client.spent(protocol)
    return stated if spent <= Decimal(stated) else rounded_up(Fraction(spent))


def levels_within(epsilon):
    """Return [2^52, low]: integer weights with the largest ratio that spends at most `epsilon`, given as text.

    ValueError is raised if epsilon is so small that both weights would be equal.
    """
    budget = lower_reading(epsilon)
    with localcontext(prec=60):
        low = max(1, math.ceil(FLIP_GRID / min(budget, Decimal(64)).exp()))
    while low < FLIP_GRID and log_ratio(FLIP_GRID, low) > budget:
        low += 1
    if low >= FLIP_GRID:
        raise ValueError(f"epsilon must be above 1e-15, got {epsilon}; smaller ones leave no information in a report.")
    return [FLIP_GRID, low]
