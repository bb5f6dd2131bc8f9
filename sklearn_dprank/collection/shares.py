"""Shares for secure aggregation: noisy statistics of one ballot, split among servers.

A protocol states a statistic as a name, or as an object with a name and public numbers. For some statistics, each
question names a subject: a pair, several pairs, or groups of items. The protocol limits the subjects, and thereby the
cost of an answer.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from .._utils.checks import is_whole
from ..privacy.errors import BudgetExhausted
from ..privacy.skellam import SkellamRelease, skellam_epsilon
from ..queries.statistics import Statistic, statistic
from ..sampling.poisson import skellam_noise
from .base import MOST_ANSWERS, ClientRandomizer, QuestionRandomizer, ReportRandomizer
from .protocol import UNCHANGED, RefusedProtocol, canonical, check_max_listed, digest, is_amount, refuse_unless


def summand(stated: Any, n_items: int, max_listed: int | None = None) -> Statistic:
    """Return the statistic that a protocol names; raise `RefusedProtocol` if it is unknown or invalid."""
    try:
        return statistic(stated, n_items, max_listed)
    except ValueError as error:
        raise RefusedProtocol(f"this device does not follow the protocol: {error}.") from None


# "skellam-shares": a noisy statistic, split among servers.
#
# A device adds Skellam noise to its statistic, modulo a power of two, and splits the result into shares. All shares but
# the last are uniform, and the last is the difference. If any share is missing, the others are uniform noise. The noise
# of `min_reports` voters together hides each of them.
#
# The number of a report is a hash of commitments to all of its shares. So a person who sees the number at one server
# cannot register it with another share at another server. Each commitment has a salt of 128 bits, which only the server
# of this share receives. Without the salt, the commitment does not reveal the share.

PARTIES = ("servers", "delta", "local_epsilon", "min_reports", "max_reports")
NOISE = ("statistic", "modulus_bits", "rate")
RATE_GRID = 2**20  # noise rates are multiples of 1 / RATE_GRID, or whole numbers
MOST_SERVERS = 20
MOST_BITS = 53  # bits of a share: every language reads such integers in JSON alike
MOST_NUMBERS = 200_000  # numbers in a message, which then has at most 2^22 characters
_OVERFLOW = 2**-40  # largest probability that a sum leaves the range of the modulus


class Sum(NamedTuple):
    """One sum that a protocol of secure aggregation names, or several of one kind.

    `rate` is half the variance of the noise that each voter adds to each number. Numbers are sent and added modulo
    `modulus`, a power of two. There are at most `times` such sums.
    """

    summand: Statistic
    rate: Fraction
    modulus: int
    times: int


def sums(protocol: Any) -> list[Sum]:
    """Return the sums of all kinds of questions, in order, or the only sum of a protocol that asks none."""
    found = []
    for kind in protocol.get("rounds", [protocol]):
        what = summand(kind["statistic"], len(protocol["items"]), protocol.get("max_listed"))
        rate = Fraction(*kind["rate"])
        found.append(Sum(what, rate, 1 << kind["modulus_bits"], kind.get("times", 1)))
    return found


def sum_about(protocol: Any, number: int = 1) -> Sum:
    """Return the sum for the question of this number; questions are numbered from 1 through all kinds in order."""
    kinds = protocol.get("rounds", [protocol])
    last_numbers = list(accumulate(kind.get("times", 1) for kind in kinds))
    (found,) = sums({**protocol, "rounds": [kinds[bisect_left(last_numbers, number)]]})
    return found


def modulus_bits(what: Statistic, max_reports: int, rate: float) -> int:
    """Return the smallest k such that sums over `max_reports` voters stay within 2^k, except with probability 2^-40.

    Consider noise of variance v = 2 rate max_reports on one of d numbers, and let L = ln(2 d 2^40). By Bernstein's
    inequality, it exceeds t = L / 3 + sqrt(L^2 / 9 + 2 v L) in size with probability at most 2^-40 / d.
    """
    log = math.log(2 * what.numbers / _OVERFLOW)
    noise = log / 3 + math.sqrt(log**2 / 9 + 4 * rate * max_reports * log)  # L / 3 + sqrt(L^2 / 9 + 2 v L)
    return (2 * (max_reports * what.largest + math.ceil(noise)) + 1).bit_length()


class SummedRandomizer(ClientRandomizer):
    """Base class of both client implementations of secure aggregation."""

    epsilon_field = "local_epsilon"  # holds without trust; "epsilon" needs an honest server and other voters
    optional = ("max_listed",)

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid and give the stated epsilon."""
        least = protocol["min_reports"]
        check_max_listed(protocol)
        refuse_unless(is_whole(protocol["servers"], 2, MOST_SERVERS), "servers", f"an integer from 2 to {MOST_SERVERS}")
        refuse_unless(is_whole(least, 1, 2**40), "min_reports", "an integer from 1 to 2^40")
        form = is_whole(protocol["max_reports"], least, 2**40)
        refuse_unless(form, "max_reports", "an integer from min_reports to 2^40")
        for name in ("delta", "local_epsilon"):
            refuse_unless(is_amount(protocol[name]), name, "a positive decimal number as text")
        refuse_unless(0 < float(protocol["delta"]) < 1, "delta", "below 1")
        for stated in protocol.get("rounds", [protocol]):
            what = summand(stated["statistic"], len(protocol["items"]), protocol.get("max_listed"))
            rate = stated["rate"]
            refuse_unless(what.numbers <= MOST_NUMBERS, "items", f"so few that {MOST_NUMBERS:,} numbers are sent")
            form = type(rate) is list and len(rate) == 2 and is_whole(rate[0], 1) and is_whole(rate[1], 1, RATE_GRID)
            refuse_unless(form and rate[1] in (1, RATE_GRID), "rate", "[numerator, 2^20] or [numerator, 1], above 0")
            enough = modulus_bits(what, protocol["max_reports"], rate[0] / rate[1])
            form = is_whole(stated["modulus_bits"], enough, MOST_BITS)
            refuse_unless(form, "modulus_bits", "large enough for max_reports, and at most 53")
            if "rounds" not in protocol:
                rule = "one that needs no question, where voters report once"
                refuse_unless(what.asked_about is None, "statistic", rule)
        covered = self.spent(protocol, least) <= Decimal(protocol["epsilon"])
        refuse_unless(covered, "epsilon", "what min_reports give")

    def spent(self, protocol, n_voters=1):
        """Return the epsilon at `delta` of all sums of `n_voters` voters, as a Decimal.

        That of a single voter holds if all servers collude.
        """
        releases = []
        for one in sums(protocol):
            l1, l2_squared, _ = one.summand.sensitivity("replace")
            releases.append(SkellamRelease(2 * one.rate * n_voters, l1, l2_squared, one.times))
        return Decimal(skellam_epsilon(float(protocol["delta"]), releases))

    def delta(self, protocol):
        """Return the delta at which `spent` holds, as a Decimal."""
        return Decimal(protocol["delta"])


class SharesRandomizer(SummedRandomizer, ReportRandomizer):
    """Client implementation of "skellam-shares"."""

    fields = (*NOISE, *PARTIES)

    def draw(self, protocol, ballots, bits):
        """Draw the messages of every voter: (salts, shares).

        `salts` has dtype uint64 and shape (n_voters, servers, 2): random numbers that hide the shares in their
        commitments. `shares` has dtype int64 and shape (n_voters, servers, numbers). The shares of a voter lie in
        [0, 2^modulus_bits) and add up to the noisy statistic modulo 2^modulus_bits.
        """
        return split(protocol, sum_about(protocol), ballots, None, bits)

    def report(self, protocol, ballots, bits, assigned):
        """Draw the first voter's messages as JSON-able data, one for each server."""
        return messages(protocol, self.draw(protocol, ballots, bits))


def split(protocol, target, ballots, about, bits):
    """Draw (salts, shares) of every voter for one sum of a protocol, as in `draw`."""
    vectors = target.summand.counted(ballots, about, bits.coins)  # shape (n_voters, numbers)
    noise = skellam_noise(target.rate, vectors.size, bits.noise).reshape(vectors.shape)
    others = protocol["servers"] - 1
    shares = bits.noise.integers(target.modulus, others * vectors.size).reshape(len(vectors), others, -1)
    last = (vectors + noise - shares.sum(axis=1)) & (target.modulus - 1)
    salts = bits.noise.words(2 * (others + 1) * len(vectors)).reshape(len(vectors), -1, 2)
    return salts, np.concatenate([shares, last[:, None]], axis=1)


def messages(protocol, drawn, **question):
    """Return the first voter's messages as JSON-able data, one for each server."""
    salts, shares = drawn
    head = {"protocol": digest(protocol), **question}
    parts = [
        {"server": number, "salt": salt.astype(">u8").tobytes().hex(), "share": share.tolist()}
        for number, (salt, share) in enumerate(zip(salts[0], shares[0], strict=True))
    ]
    commitments = [commitment({**head, **part}) for part in parts]
    common = {**head, "report": report_number(commitments), "commitments": commitments}
    return [{**common, **part} for part in parts]


def commitment(message):
    """Return the commitment to a share: the SHA-256 of its message without the fields "report" and "commitments"."""
    opened = {name: value for name, value in message.items() if name not in ("report", "commitments")}
    return hashlib.sha256(canonical(opened)).hexdigest()


def report_number(commitments):
    """Return the number of the report with these commitments, one for each server."""
    return hashlib.sha256(canonical(commitments)).hexdigest()


# "skellam-rounds": answers to several questions, split among servers.
#
# The protocol lists all questions by kind, in order. The cost of a kind does not depend on the subject of a question.
# So a device knows the cost of all its answers in advance. A device answers each question once, and only if it follows
# the protocol. It does not return to a question before one that it has answered. It may skip questions, because the
# voters who answer hide each other.

_MOST_KINDS = 1000  # of questions


class Asked(NamedTuple):
    """Question that follows the protocol: the key of its answer, its number, the digest of its text, its subject."""

    key: str
    number: int
    name: str
    about: Any


class RoundsRandomizer(SummedRandomizer, QuestionRandomizer):
    """Client implementation of "skellam-rounds"."""

    fields = ("rounds", *PARTIES)

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid and give the stated epsilon."""
        rounds = protocol["rounds"]
        form = type(rounds) is list and all(type(kind) is dict and set(kind) == {"times", *NOISE} for kind in rounds)
        rule = f"a list of at most {_MOST_KINDS:,} kinds of questions, exact in their fields"
        refuse_unless(form and 1 <= len(rounds) <= _MOST_KINDS, "rounds", rule)
        times = [kind["times"] for kind in rounds]
        form = all(is_whole(each, 1, MOST_ANSWERS) for each in times) and sum(times) <= MOST_ANSWERS
        refuse_unless(form, "times", f"{MOST_ANSWERS:,} questions together, at most")
        super().check(protocol)

    def asked(self, question, protocol):
        """Return a question of an untrusted curator as `Asked`; raise ValueError if it does not follow the protocol."""
        if type(question) is dict and question.get("protocol") == digest(protocol):
            number: Any = question.get("question")
            if is_whole(number, 1, sum(kind["times"] for kind in protocol["rounds"])):
                what = sum_about(protocol, number).summand
                names = {"protocol", "question", what.asked_about} - {None}
                about = question.get(what.asked_about)
                if set(question) == names and what.accepts(about):
                    name = digest(question)
                    return Asked(f"{number} {name}", number, name, about)
        raise ValueError(f"question does not follow the protocol: {UNCHANGED}.")

    def answer(self, protocol, ballots, bits, asked, answered):
        """Draw the first voter's answer as JSON-able data: one message per server."""
        numbers = {int(key.partition(" ")[0]) for key in answered}
        if asked.number in numbers:
            raise BudgetExhausted("this device has answered another question of this number.")
        if asked.number < max(numbers, default=0):
            raise BudgetExhausted("this device has answered a later question, and none comes back.")
        drawn = split(protocol, sum_about(protocol, asked.number), ballots, asked.about, bits)
        return messages(protocol, drawn, question=asked.name)
