"""Sums in rounds: the voter's half of "skellam-rounds", whose devices answer several questions by shares.

The protocol states all that will ever be asked, in order: question 1 is of the first kind, and so on, and what each
kind costs whatever it is about. So a device knows beforehand what all of its answers reveal together. It answers each
question once, never one that comes before one that it has answered, and nothing that is not as promised. It may miss
questions: those who answer hide each other.
"""

from bisect import bisect_left
from itertools import accumulate
from typing import Any, NamedTuple

from .protocol import UNCHANGED, digest, is_whole, refuse_unless
from .shares import (
    CROWD,
    NOISE,
    STATED,
    check_among,
    check_crowd,
    check_noise,
    delta,
    epsilon_among,
    messages,
    split,
    sum_of,
)

__all__ = ["FIELDS", "STATED", "answered", "asked", "check", "delta", "named", "refusal", "spent", "sum_about", "sums"]

FIELDS = ("rounds", *CROWD)
_MOST = 2**20  # questions, all together


class Asked(NamedTuple):
    """A question that follows the protocol: its number, the name of its text, and what it is about."""

    number: int
    name: str
    about: Any


def check(protocol):
    """Raise `RefusedProtocol` unless the fields of this randomizer are of their form, and keep what they state."""
    check_crowd(protocol)
    rounds = protocol["rounds"]
    form = type(rounds) is list and all(type(kind) is dict and set(kind) == {"times", *NOISE} for kind in rounds)
    refuse_unless(form and 1 <= len(rounds) <= _MOST, "rounds", "a list of kinds of questions, exact in their fields")
    times = all(is_whole(kind["times"], 1, _MOST) for kind in rounds)
    refuse_unless(times and sum(kind["times"] for kind in rounds) <= _MOST, "times", "2^20 questions together, at most")
    for kind in rounds:
        check_noise(kind, protocol)
    check_among(protocol, sums(protocol))


def spent(protocol):
    """Return the epsilon at `delta`, as a Decimal, of all that a device will ever say: with all servers against it."""
    return epsilon_among(protocol, sums(protocol), 1)


def sums(protocol):
    """Return all kinds of sums, in order."""
    return [sum_of(kind, protocol, kind["times"]) for kind in protocol["rounds"]]


def sum_about(protocol, number):
    """Return the sum that a question of this number asks for: the k-th of a kind comes after all of those before."""
    last = list(accumulate(kind["times"] for kind in protocol["rounds"]))
    kind = protocol["rounds"][bisect_left(last, number)]
    return sum_of(kind, protocol, kind["times"])


def asked(question, protocol):
    """Return a question as `Asked`, if it follows the protocol; the curator is not trusted.

    Raises
    ------
    ValueError
        If it does not.
    """
    if type(question) is dict and question.get("protocol") == digest(protocol):
        number: Any = question.get("question")
        if is_whole(number, 1, sum(kind["times"] for kind in protocol["rounds"])):
            what = sum_about(protocol, number).summand
            names = {"protocol", "question"} if what.asked_about is None else {"protocol", "question", what.asked_about}
            about = question.get(what.asked_about)
            if set(question) == names and what.accepts(about):
                return Asked(number, digest(question), about)
    raise ValueError(f"question does not follow the protocol: {UNCHANGED}.")


def named(asked):
    """Return the name under which a device keeps its answer."""
    return f"{asked.number} {asked.name}"


def refusal(said, asked, protocol):
    """Return why a device that has said all this under such names does not answer, or None."""
    numbers = {int(name.partition(" ")[0]) for name in said}
    if asked.number in numbers:
        return "has answered another question of this number"
    if asked.number < max(numbers, default=0):
        return "has answered a later question, and none comes back"
    return None


def answered(protocol, ballots, bits, asked):
    """Return what the first voter answers, as JSON-able data: one message a server."""
    drawn = split(protocol, sum_about(protocol, asked.number), ballots, asked.about, bits)
    return messages(protocol, drawn, question=asked.name)
