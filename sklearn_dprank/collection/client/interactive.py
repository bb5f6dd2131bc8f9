"""Client implementation of "rr-interactive": answers to the curator's questions, about one pair each."""

import numpy as np

from .answers import flipped_answers, random_number
from .base import MOST_ANSWERS, QuestionRandomizer, with_digest
from .protocol import (
    FLIP_GRID,
    UNCHANGED,
    digest,
    flips_cost,
    is_flip,
    is_pair,
    is_whole,
    n_pairs,
    refuse_unless,
    total,
)

KINDS = ("each", "last")


class InteractiveRandomizer(QuestionRandomizer):
    """Client implementation of "rr-interactive"."""

    fields = ("answers", "flips", "flip_grid")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        flips = protocol["flips"]
        rule = f"an integer from 1 to {MOST_ANSWERS:,}"
        refuse_unless(is_whole(protocol["answers"], 1, MOST_ANSWERS), "answers", rule)
        refuse_unless(is_whole(protocol["flip_grid"], FLIP_GRID, FLIP_GRID), "flip_grid", "2^52")
        form = type(flips) is dict and set(flips) == set(KINDS) and is_flip(flips["each"])
        rule = "{'each': numerator, 'last': numerator or null}, above 0 and at most a half of 2^52"
        refuse_unless(form and (flips["last"] is None or is_flip(flips["last"])), "flips", rule)

    def spent(self, protocol):
        """Return the epsilon of all answers of a device, as a Decimal."""
        return flips_spent(protocol["flips"], protocol["answers"])

    def asked(self, question, protocol):
        """Return (number, kind, pairs) of a question; raise ValueError if it does not follow the protocol.

        The curator is not trusted. The field "voters" is for the messenger and is ignored.
        """
        if type(question) is dict and set(question) - {"voters"} == {"protocol", "question", "kind", "pairs"}:
            number, kind, pairs = question["question"], question["kind"], question["pairs"]
            known = question["protocol"] == digest(protocol) and is_whole(number, 1)
            known = known and type(kind) is str and kind in KINDS and protocol["flips"][kind] is not None
            if known and type(pairs) is list and 1 <= len(pairs) <= n_pairs(protocol):
                if all(is_pair(pair, len(protocol["items"])) for pair in pairs):
                    return number, kind, pairs
        raise ValueError(f"question does not follow the protocol: {UNCHANGED}.")

    def key(self, asked):
        """Return the key under which a device stores its answer."""
        number, kind, _ = asked
        return f"{kind} {number}"

    def refusal(self, answered, asked, protocol):
        """Return why a device that stores answers under the keys `answered` gives no new one, or None if it may."""
        _, kind, _ = asked
        if sum(key.startswith(kind) for key in answered) >= allowance(protocol)[kind]:
            return "has given every answer that its budget pays for"
        return None

    def answer(self, protocol, ballots, bits, asked):
        """Draw the first voter's answer as JSON-able data, with its own random number."""
        number, kind, pairs = asked
        first, second, answers = self.draw(protocol, ballots, bits, kind, pairs)
        pair = [int(first[0, 0]), int(second[0, 0])]
        answer = {"question": number, "report": random_number(bits), "pair": pair, "answer": int(answers[0, 0])}
        return with_digest(protocol, answer)

    def draw(self, protocol, ballots, bits, kind, pairs, voters=None):
        """Draw one of `pairs` for each voter and answer it; `kind` ("each" or "last") selects the flip probability.

        `voters` are the columns of ``ballots.table`` that are asked; None is all of them. The result is (first, second,
        answers), arrays of shape (n_asked, 1). They hold the items of each pair, and whether the first is reported to
        precede the second.
        """
        n_asked = ballots.table.shape[1] if voters is None else len(voters)
        assignment = bits.assignment
        draw = assignment.integers if n_asked == 1 else assignment.many_integers  # a device uses one word
        pick = np.asarray(pairs).take(draw(len(pairs), n_asked), axis=0)
        first, second = pick[:, :1], pick[:, 1:]
        return first, second, flipped_answers(first, second, protocol["flips"][kind], ballots, bits, voters)


def flips_spent(flips, answers):
    """Return the epsilon of `answers` "each" answers and, if it has a flip, one "last" answer, as a Decimal."""
    each, last = (flips[kind] for kind in KINDS)
    return total([flips_cost(each, answers), *([] if last is None else [flips_cost(last)])])


def allowance(protocol):
    """Return the number of answers of each kind that a device gives."""
    return {"each": protocol["answers"], "last": int(protocol["flips"]["last"] is not None)}
