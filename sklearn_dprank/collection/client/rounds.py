"""Client implementation of "skellam-rounds": answers to several questions, split among servers.

The protocol lists all questions by kind, in order. The cost of a kind does not depend on the subject of a question. So
a device knows the cost of all its answers in advance. A device answers each question once, and only if it follows the
protocol. It does not return to a question before one that it has answered. It may skip questions, because the voters
who answer hide each other.
"""

from bisect import bisect_left
from itertools import accumulate
from typing import Any, NamedTuple

from .base import MOST_ANSWERS, QuestionRandomizer
from .protocol import UNCHANGED, digest, is_whole, refuse_unless
from .shares import (
    NOISE,
    PARTIES,
    SummedRandomizer,
    check_among,
    check_noise,
    check_parties,
    epsilon_among,
    messages,
    split,
    sum_of,
)

_MOST_KINDS = 1000  # of questions


class Asked(NamedTuple):
    """Question that follows the protocol: its number, the digest of its text, and its subject."""

    number: int
    name: str
    about: Any


class RoundsRandomizer(SummedRandomizer, QuestionRandomizer):
    """Client implementation of "skellam-rounds"."""

    fields = ("rounds", *PARTIES)

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid and give the stated epsilon."""
        check_parties(protocol)
        rounds = protocol["rounds"]
        form = type(rounds) is list and all(type(kind) is dict and set(kind) == {"times", *NOISE} for kind in rounds)
        refuse_unless(
            form and 1 <= len(rounds) <= _MOST_KINDS,
            "rounds",
            f"a list of at most {_MOST_KINDS:,} kinds of questions, exact in their fields",
        )
        times = all(is_whole(kind["times"], 1, MOST_ANSWERS) for kind in rounds)
        few = times and sum(kind["times"] for kind in rounds) <= MOST_ANSWERS
        refuse_unless(few, "times", f"{MOST_ANSWERS:,} questions together, at most")
        for kind in rounds:
            check_noise(kind, protocol)
        check_among(protocol, sums(protocol))

    def spent(self, protocol):
        """Return the epsilon at `delta` of all answers of a device, as a Decimal. It holds if all servers collude."""
        return epsilon_among(protocol, sums(protocol), 1)

    def asked(self, question, protocol):
        """Return a question of an untrusted curator as `Asked`; raise ValueError if it does not follow the protocol."""
        if type(question) is dict and question.get("protocol") == digest(protocol):
            number: Any = question.get("question")
            if is_whole(number, 1, sum(kind["times"] for kind in protocol["rounds"])):
                what = sum_about(protocol, number).summand
                names = {"protocol", "question", what.asked_about} - {None}
                about = question.get(what.asked_about)
                if set(question) == names and what.accepts(about):
                    return Asked(number, digest(question), about)
        raise ValueError(f"question does not follow the protocol: {UNCHANGED}.")

    def key(self, asked):
        """Return the key under which a device stores its answer."""
        return f"{asked.number} {asked.name}"

    def refusal(self, answered, asked, protocol):
        """Return why a device that stores answers under the keys `answered` gives no new one, or None if it may."""
        numbers = {int(key.partition(" ")[0]) for key in answered}
        if asked.number in numbers:
            return "has answered another question of this number"
        if asked.number < max(numbers, default=0):
            return "has answered a later question, and none comes back"
        return None

    def answer(self, protocol, ballots, bits, asked):
        """Draw the first voter's answer as JSON-able data: one message per server."""
        drawn = split(protocol, sum_about(protocol, asked.number), ballots, asked.about, bits)
        return messages(protocol, drawn, question=asked.name)


def sums(protocol):
    """Return the sums of all kinds of questions, in order."""
    return [sum_of(kind, protocol, kind["times"]) for kind in protocol["rounds"]]


def sum_about(protocol, number):
    """Return the sum for the question of this number; questions are numbered from 1 through all kinds in order."""
    last = list(accumulate(kind["times"] for kind in protocol["rounds"]))
    kind = protocol["rounds"][bisect_left(last, number)]
    return sum_of(kind, protocol, kind["times"])
