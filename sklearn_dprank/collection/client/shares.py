"""Client implementation of "skellam-shares": a noisy statistic, split among servers.

A device adds Skellam noise to its statistic, modulo a power of two, and splits the result into shares. All shares but
the last are uniform, and the last is the difference. If any share is missing, the others are uniform noise. The noise
of `min_reports` voters together hides each of them.

The number of a report is a hash of commitments to all of its shares. So a person who sees the number at one server
cannot register it with another share at another server. Each commitment has a salt of 128 bits, which only the server
of this share receives. Without the salt, the commitment does not reveal the share.
"""

from __future__ import annotations

import hashlib
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...privacy.skellam import SkellamRelease, skellam_epsilon
from ...sampling.skellam import skellam_noise
from .base import ClientRandomizer, ReportRandomizer
from .protocol import as_digits, canonical, digest, is_amount, is_whole, refuse_unless
from .summands import Summand, summand

PARTIES = ("servers", "delta", "local_epsilon", "min_reports", "max_reports")
NOISE = ("statistic", "modulus_bits", "rate")
RATE_GRID = 2**20  # noise rates are multiples of 1 / RATE_GRID, or whole numbers
MOST_SERVERS = 20
MOST_BITS = 53  # bits of a share: every language reads such integers in JSON alike
MOST_NUMBERS = 200_000  # numbers in a message, which then has at most 2^22 characters
_NEVER = 2**-40  # bound on the probability that a sum leaves the range of the modulus


class Sum(NamedTuple):
    """One sum that a protocol of secure aggregation names, or several of one kind.

    `rate` is half the variance of the noise that each voter adds to each number. Numbers are sent and added modulo
    `modulus`, a power of two. There are at most `times` such sums.
    """

    summand: Summand
    rate: Fraction
    modulus: int
    times: int = 1

    def release(self, n_voters: int) -> SkellamRelease:
        """Return these sums with the noise of `n_voters` voters, for privacy accounting."""
        moved = self.summand.l1, self.summand.l2_squared
        return SkellamRelease(2 * self.rate * n_voters, *moved, self.times)


def summed(protocol: Any) -> Sum:
    """Return the only sum of a validated "skellam-shares" protocol."""
    return sum_of(protocol, protocol)


def sum_of(stated: Any, protocol: Any, times: int = 1) -> Sum:
    """Return the sum that the fields `stated` describe."""
    what = summand(stated["statistic"], len(protocol["items"]))
    return Sum(what, Fraction(*stated["rate"]), 1 << stated["modulus_bits"], times)


def modulus_bits(what: Summand, max_reports: int, rate: float) -> int:
    """Return the smallest k such that sums over `max_reports` voters stay within 2^k, except with probability 2^-40.

    Consider noise of variance v = 2 rate max_reports on one of d numbers, and let L = ln(2 d 2^40). By Bernstein's
    inequality, it exceeds t = L / 3 + sqrt(L^2 / 9 + 2 v L) in size with probability at most 2^-40 / d.
    """
    tail = math.log(2 * what.numbers / _NEVER)
    noise = tail / 3 + math.sqrt(tail**2 / 9 + 4 * rate * max_reports * tail)
    return (2 * (max_reports * what.largest + math.ceil(noise)) + 1).bit_length()


class SummedRandomizer(ClientRandomizer):
    """Base class of both client implementations of secure aggregation."""

    epsilon_field = "local_epsilon"  # holds without trust; "epsilon" needs an honest server and other voters

    def delta(self, protocol):
        """Return the delta at which `spent` holds, as a Decimal."""
        return Decimal(protocol["delta"])


class SharesRandomizer(SummedRandomizer, ReportRandomizer):
    """Client implementation of "skellam-shares"."""

    fields = (*NOISE, *PARTIES)

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid and give the stated epsilon."""
        check_parties(protocol)
        check_noise(protocol, protocol)
        asks = summed(protocol).summand.asked_about is not None
        refuse_unless(not asks, "statistic", "one that needs no question, where voters report once")
        check_among(protocol, [summed(protocol)])

    def spent(self, protocol):
        """Return the epsilon at `delta` of all shares of one voter, as a Decimal. It holds if all servers collude."""
        return epsilon_among(protocol, [summed(protocol)], 1)

    def draw(self, protocol, ballots, bits):
        """Draw the messages of every voter: (salts, shares).

        `salts` has dtype uint64 and shape (n_voters, servers, 2): random numbers that hide the shares in their
        commitments. `shares` has dtype int64 and shape (n_voters, servers, numbers). The shares of a voter lie in
        [0, 2^modulus_bits) and add up to the noisy statistic modulo 2^modulus_bits.
        """
        return split(protocol, summed(protocol), ballots, None, bits)

    def report(self, protocol, ballots, bits, assigned):
        """Draw the first voter's messages as JSON-able data, one for each server."""
        return messages(protocol, self.draw(protocol, ballots, bits))


def check_parties(protocol):
    """Raise `RefusedProtocol` unless the fields about servers and voters are valid."""
    least = protocol["min_reports"]
    refuse_unless(is_whole(protocol["servers"], 2, MOST_SERVERS), "servers", f"an integer from 2 to {MOST_SERVERS}")
    refuse_unless(is_whole(least, 1, 2**40), "min_reports", "an integer from 1 to 2^40")
    refuse_unless(is_whole(protocol["max_reports"], least, 2**40), "max_reports", "an integer from min_reports to 2^40")
    for name in ("delta", "local_epsilon"):
        refuse_unless(is_amount(protocol[name]), name, "a positive decimal number as text")
    refuse_unless(0 < float(protocol["delta"]) < 1, "delta", "below 1")


def check_noise(stated, protocol):
    """Raise `RefusedProtocol` unless a statistic, its noise and its modulus are valid."""
    what, rate = summand(stated["statistic"], len(protocol["items"])), stated["rate"]
    refuse_unless(what.numbers <= MOST_NUMBERS, "items", f"so few that {MOST_NUMBERS:,} numbers are sent")
    form = type(rate) is list and len(rate) == 2 and is_whole(rate[0], 1) and is_whole(rate[1], 1, RATE_GRID)
    refuse_unless(form and rate[1] in (1, RATE_GRID), "rate", "[numerator, 2^20] or [numerator, 1], above 0")
    enough = modulus_bits(what, protocol["max_reports"], rate[0] / rate[1])
    form = is_whole(stated["modulus_bits"], enough, MOST_BITS)
    refuse_unless(form, "modulus_bits", "large enough for max_reports, and at most 53")


def check_among(protocol, sums):
    """Raise `RefusedProtocol` unless the noise of `min_reports` voters gives the stated epsilon."""
    kept = epsilon_among(protocol, sums, protocol["min_reports"]) <= Decimal(protocol["epsilon"])
    refuse_unless(kept, "epsilon", "what min_reports give")


def epsilon_among(protocol, sums, n_voters):
    """Return the epsilon of all sums together, as a Decimal, if `n_voters` voters add noise to each."""
    return Decimal(skellam_epsilon(float(protocol["delta"]), [one.release(n_voters) for one in sums]))


def split(protocol, of, ballots, about, bits):
    """Draw (salts, shares) of every voter for one sum of a protocol, as in `draw`."""
    statistic = of.summand.of(ballots, about, bits.coins)
    noise = skellam_noise(of.rate, statistic.size, bits.noise).reshape(statistic.shape)
    others = protocol["servers"] - 1
    shares = bits.noise.integers(of.modulus, others * statistic.size).reshape(len(statistic), others, -1)
    last = (statistic + noise - shares.sum(axis=1)) & (of.modulus - 1)
    salts = bits.noise.words(2 * (others + 1) * len(statistic)).reshape(len(statistic), -1, 2)
    return salts, np.concatenate([shares, last[:, None]], axis=1)


def messages(protocol, drawn, **question):
    """Return the first voter's messages as JSON-able data, one for each server."""
    salts, shares = drawn
    head = {"protocol": digest(protocol), **question}
    parts = [
        {"server": number, "salt": as_digits(salt), "share": share}
        for number, (salt, share) in enumerate(zip(salts[0].tolist(), shares[0].tolist(), strict=True))
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
