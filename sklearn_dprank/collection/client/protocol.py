"""What a curator publishes and a device obeys: its exact form, its name, and what its numbers cost."""

import hashlib
import json
import math
import re
from decimal import ROUND_CEILING, Context, Decimal, localcontext

VERSION = 3
FLIP_GRID = 2**52  # probabilities are multiples of 1 / this, so they are drawn exactly
UNCHANGED = "it must be what the curator asked the devices of this very protocol, unchanged"
LARGEST_NAME = 1000  # characters of an item's name
_UP = Context(prec=80, rounding=ROUND_CEILING)  # of its own: a caller may have set another for the whole process
_LARGEST_INTEGER = 2**53 - 1  # beyond, languages read a JSON number differently
_DIGITS = frozenset("0123456789abcdef")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,19})(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?", re.ASCII)


class RefusedProtocol(ValueError):
    """A protocol that a device does not follow: not of the exact form, or dearer than it says."""


def canonical(protocol):
    """Return the one text of a protocol, as bytes: RFC 8785 for text, integers, lists and objects.

    Examples
    --------
    >>> canonical({"b": [1, 2], "a": "tea"})
    b'{"a":"tea","b":[1,2]}'
    """
    return json.dumps(protocol, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def digest(protocol):
    """Return the name of a protocol that every report carries: 16 hexadecimal digits of the SHA-256 of its text."""
    return hashlib.sha256(canonical(protocol)).hexdigest()[:16]


def refuse_unless(valid: bool, name: str, rule: object) -> None:
    """Raise `RefusedProtocol` unless a field is valid; the message names the field, not what it holds."""
    if not valid:
        raise RefusedProtocol(f"this device does not follow the protocol: {name} must be {rule}.")


def is_whole(value, low, high=_LARGEST_INTEGER):
    """Tell whether `value` is an integer, no boolean, from `low` to `high`."""
    return type(value) is int and low <= value <= high


def is_amount(text):
    """Tell whether `text` is a positive decimal number, as text: languages print a double differently."""
    return type(text) is str and len(text) <= 64 and _DECIMAL.fullmatch(text) is not None and Decimal(text) > 0


def is_digits(text, length):
    """Tell whether `text` is so many hexadecimal digits in lower case, as digests and random numbers are."""
    return type(text) is str and len(text) == length and _DIGITS.issuperset(text)


def as_digits(words):
    """Return 64-bit words as hexadecimal digits in lower case."""
    return "".join(f"{word:016x}" for word in words)


def are_items(items):
    """Tell whether `items` is a list of at least two distinct names, text or integers, that JSON can carry."""
    if type(items) is not list or not 2 <= len(items) <= 65534:
        return False
    for item in items:
        if type(item) is str:
            if len(item) > LARGEST_NAME or any("\ud800" <= c <= "\udfff" for c in item):
                return False  # half a character has no UTF-8
        elif not is_whole(item, -_LARGEST_INTEGER):
            return False
    return len({(type(item), item) for item in items}) == len(items)


def check_form(protocol, fields):
    """Raise `RefusedProtocol` unless a protocol has the common fields, those of its randomizer, and no others."""
    version, other = protocol.get("version", VERSION), ""  # first, because another version has other fields
    if is_whole(version, 0):  # anything else may be too deep, or too long, to be written
        other = f", got {version}: curator and device need releases of this package that speak the same"
    refuse_unless(is_whole(version, VERSION, VERSION), "version", f"{VERSION}{other}")
    expected = {"version", "randomizer", "items", "epsilon", *fields}
    unlike = f"exact; {len(set(protocol) - expected)} too many, and missing {sorted(expected - set(protocol))}"
    refuse_unless(set(protocol) == expected, "its set of fields", unlike)
    refuse_unless(are_items(protocol["items"]), "items", "a list of 2 to 65,534 distinct names (text or integers)")
    refuse_unless(is_amount(protocol["epsilon"]), "epsilon", "a positive decimal number as text")


def decimal_of(number):
    """Return a float as a Decimal: the larger of its exact value and the decimal number that it is printed as.

    Examples
    --------
    >>> decimal_of(1e-06)
    Decimal('0.000001')
    """
    return max(Decimal(number), Decimal(repr(number)))


def float_above(number, read=Decimal):
    """Return the least float that is not below a Decimal; `read` says what number a float is."""
    near = float(number)
    return near if read(near) >= number else math.nextafter(near, math.inf)


def log_ratio(high, low, times=1):
    """Return `times` ln(high / low), rounded up in the 50th digit: an epsilon, as a Decimal.

    Examples
    --------
    >>> round(log_ratio(3, 1, times=2), 6)
    Decimal('2.197225')
    """
    with localcontext(_UP):  # a ratio is above 1 + 2^-53, so that 80 digits of it leave more than 50 of its logarithm
        return times * (Decimal(high) / Decimal(low)).ln() * (1 + Decimal("1e-50"))


def total(costs):
    """Return the sum of epsilons, rounded up."""
    with localcontext(_UP):
        return sum(costs, Decimal(0))


def is_flip(flip):
    """Tell whether `flip` is a numerator of a flip probability above 0 and at most 1/2."""
    return is_whole(flip, 1, FLIP_GRID // 2)


def flips_cost(flip: int, times: int = 1) -> Decimal:
    """Return the epsilon of `times` answers, each flipped with probability flip / 2^52, as a Decimal."""
    return log_ratio(FLIP_GRID - flip, flip, times)


def check_levels(protocol):
    """Raise `RefusedProtocol` unless ``levels`` is two integer weights, the larger first and on the grid of flips."""
    levels = protocol["levels"]
    form = type(levels) is list and len(levels) == 2 and is_whole(levels[0], FLIP_GRID, FLIP_GRID)
    refuse_unless(form and is_whole(levels[1], 1, FLIP_GRID), "levels", "[2^52, an integer from 1 to 2^52]")


def is_pair(pair, n_items):
    """Tell whether `pair` is a list [i, j] of items, i before j by index."""
    return (
        type(pair) is list and len(pair) == 2 and is_whole(pair[0], 0) and is_whole(pair[1], pair[0] + 1, n_items - 1)
    )


def n_pairs(protocol):
    """Return how many pairs of items there are."""
    return math.comb(len(protocol["items"]), 2)
