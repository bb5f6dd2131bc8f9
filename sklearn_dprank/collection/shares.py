"""Shares for secure aggregation: statistics of one ballot, their sensitivities, and what devices send.

A protocol states a statistic as a name, or as an object with a name and public numbers. For some statistics, each
question names a subject: a pair, several pairs, or groups of items. The protocol limits the subjects, and thereby the
cost of an answer.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from operator import mul
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ballots.reading import completed, placed
from ..privacy.skellam import SkellamRelease, skellam_epsilon
from ..sampling.poisson import skellam_noise
from .base import MOST_ANSWERS, ClientRandomizer, QuestionRandomizer, ReportRandomizer, net_wins, places
from .protocol import UNCHANGED, as_digits, canonical, digest, is_amount, is_pair, is_whole, refuse_unless

_MARGIN_SCALE, _MOST_PAIRS = 64, 2**14  # of scaled margins
_LARGEST_SCORES = 2**58  # sum of absolute scores stays below it, so that shared scores are 64-bit integers


class Summand:
    """Statistic that is a sum over voters of one integer vector each.

    `numbers` is the length of the vector, and `largest` bounds the absolute values in it. If one ballot replaces
    another, the sum changes by at most `l1` in L1 and `l2_squared` in squared L2.
    """

    states: tuple[str, ...] = ()  #: Fields of the statistic in the protocol, except its name.
    asked_about: str | None = None  #: Field of a question that names the subject.
    largest = 1

    def __init__(self, n_items: int, stated: Mapping[str, Any]) -> None:
        self.n_items = n_items
        self.numbers, self.l1, self.l2_squared = self._sizes(stated)

    def _sizes(self, stated: Mapping[str, Any]) -> tuple[int, int, int | Fraction]:
        """Return (numbers, l1, l2_squared); raise `RefusedProtocol` if the stated fields are invalid."""
        raise NotImplementedError

    def accepts(self, about: Any) -> bool:
        """Return whether a question may have this subject; the curator is not trusted."""
        return about is None

    def of(self, ballots: Any, about: Any, coins: Any) -> NDArray[np.int64]:
        """Return each ballot's vector, int64, shape (n_voters, numbers)."""
        raise NotImplementedError


class _NetWins(Summand):
    def _sizes(self, stated):
        m = self.n_items
        self.largest = m - 1
        return m, 2 * (m * m // 2), Fraction(4 * m * (m * m - 1), 3)

    def of(self, ballots, about, coins):
        return net_wins(ballots.table, ballots.sentinel)


class _Margins(Summand):
    def _sizes(self, stated):
        pairs = math.comb(self.n_items, 2)
        return pairs, 2 * pairs, 4 * pairs

    def of(self, ballots, about, coins):
        return _margins(ballots, *np.triu_indices(self.n_items, 1))


class _PairMargin(Summand):
    """Margin of one item over another; each question names the two items, in either order."""

    asked_about = "pair"

    def _sizes(self, stated):
        return 1, 2, 4

    def accepts(self, about):
        return _is_either_way(about, self.n_items)

    def of(self, ballots, about, coins):
        return _margins(ballots, *np.array(about)[:, None])


class _PairCounts(Summand):
    """For each ordered pair of items, 1 if the first precedes the second; 0 if the question does not name the pair."""

    asked_about = "pairs"

    def _sizes(self, stated):
        pairs = math.comb(self.n_items, 2)
        return self.n_items**2, 2 * pairs, 2 * pairs

    def accepts(self, about):
        form = type(about) is list and len(about) <= math.comb(self.n_items, 2)
        form = form and all(is_pair(pair, self.n_items) for pair in about)
        return form and len(set(map(tuple, about))) == len(about)

    def of(self, ballots, about, coins):
        m, (first, second) = self.n_items, np.array(about, dtype=np.int64).reshape(-1, 2).T
        margins = _margins(ballots, first, second)
        counts = np.zeros((len(margins), m, m), dtype=np.int64)
        counts[:, first, second], counts[:, second, first] = margins > 0, margins < 0
        return counts.reshape(len(margins), -1)


class _GroupNetWins(Summand):
    """Net wins within groups: the protocol fixes their sizes, and each question names their members."""

    states = ("sizes",)
    asked_about = "groups"

    def _sizes(self, stated):
        sizes = stated["sizes"]
        form = type(sizes) is list and all(is_whole(size, 1, self.n_items) for size in sizes)
        refuse_unless(form and sum(sizes) == self.n_items, "sizes", "those of groups that hold each item once")
        self.largest, self._groups = max(sizes) - 1, sizes
        l2_squared = Fraction(4 * sum(k * (k * k - 1) for k in sizes), 3)
        return self.n_items, 2 * sum(k * k // 2 for k in sizes), l2_squared

    def accepts(self, about):
        return _are_groups(about, self.n_items) and [len(group) for group in about] == self._groups

    def of(self, ballots, about, coins):
        return _group_wins(ballots, about)


class _ScaledMargins(Summand):
    """Margins of pairs, or net wins within groups, times an integer scale, then zeros.

    The scale is the largest for which the squared L2 sensitivity of adding a ballot is at most that of 64 times the
    net wins of all items. So each question has the same cost.
    """

    asked_about = "margins"

    def _sizes(self, stated):
        m = self.n_items
        self._squared, pairs = _MARGIN_SCALE**2 * (m * (m * m - 1) // 3), min(math.comb(m, 2), _MOST_PAIRS)
        self.largest = math.isqrt(self._squared)
        numbers = max(m, pairs)
        return numbers, 2 * math.isqrt(self._squared * numbers), 4 * self._squared

    def accepts(self, about):
        if type(about) is not dict or set(about) not in ({"pairs"}, {"groups"}):
            return False
        (name, lists), m = next(iter(about.items())), self.n_items
        if name == "groups":
            return _are_groups(lists, m) and all(lists)
        few = type(lists) is list and 1 <= len(lists) <= self.numbers
        return few and all(_is_either_way(pair, m) for pair in lists)

    def of(self, ballots, about, coins):
        if "groups" in about:
            values = _group_wins(ballots, about["groups"])
            squared = sum(k * (k * k - 1) // 3 for k in map(len, about["groups"]))
        else:
            first, second = np.array(about["pairs"], dtype=np.int64).reshape(-1, 2).T
            values, squared = _margins(ballots, first, second), len(about["pairs"])
        scale = max(1, math.isqrt(self._squared // max(squared, 1)))
        return np.pad(scale * values, ((0, 0), (0, self.numbers - values.shape[1])))


class _PositionalScores(Summand):
    """Scores of the items' places; tied items share their mean score, and items without a position are tied last."""

    states = ("scores",)

    def _sizes(self, stated):
        scores = stated["scores"]
        form = type(scores) is list and len(scores) == self.n_items and set(map(type, scores)) == {int}
        form = form and is_whole(min(scores), 1 - 2**53) and is_whole(max(scores), 1 - 2**53)
        refuse_unless(form and sum(map(abs, scores)) < _LARGEST_SCORES, "scores", "an integer for each place")
        array = np.array(scores)
        self.largest, self._sums = int(np.abs(array).max()), np.concatenate([[0], array.cumsum()])
        ordered = np.sort(array)
        moved = ordered[::-1] - ordered  # from an order to its reverse
        squares = sum(map(mul, moved.tolist(), moved.tolist()))  # beyond 64 bits
        # Shared scores are rounded. This adds at most 1 per item: m in L1, and sqrt(m) in L2.
        l2_squared = squares + 2 * (math.isqrt(squares * self.n_items) + 1) + self.n_items
        return self.n_items, int(np.abs(moved).sum()) + self.n_items, l2_squared

    def of(self, ballots, about, coins):
        order, first, last, _ = places(ballots.table)
        size = last - first + 1
        share = (2 * (self._sums[last + 1] - self._sums[first]) + size) // (2 * size)
        return placed(share, order)


class _Histogram(Summand):
    """Indicator of the ballot's ranking; the voter's own coins complete ties and missing opinions."""

    unseen_last = False

    def _sizes(self, stated):
        refuse_unless(self.n_items <= 10, "items", "at most 10 for a histogram of all rankings")
        return math.factorial(self.n_items), 2, 2

    def of(self, ballots, about, coins):
        complete = completed(ballots.table, ballots.sentinel, coins, unseen_last=self.unseen_last)
        cells = np.zeros((complete.shape[1], self.numbers), dtype=np.int64)
        cell = np.zeros(len(cells), dtype=np.int64)
        for item in range(self.n_items):  # number of items with a larger index and a better place
            cell = cell * (self.n_items - item) + np.count_nonzero(complete[item + 1 :] < complete[item], axis=0)
        cells[np.arange(len(cells)), cell] = 1
        return cells


class _HistogramUnseenLast(_Histogram):
    unseen_last = True


#: Statistics by their names in protocols.
SUMMANDS: Mapping[str, type[Summand]] = MappingProxyType(
    {
        "net_wins": _NetWins,
        "margins": _Margins,
        "pair_margin": _PairMargin,
        "pair_counts": _PairCounts,
        "group_net_wins": _GroupNetWins,
        "scaled_margins": _ScaledMargins,
        "positional_scores": _PositionalScores,
        "histogram": _Histogram,
        "histogram_unseen_last": _HistogramUnseenLast,
    }
)


def summand(statistic: Any, n_items: int) -> Summand:
    """Return the statistic that a protocol names; raise `RefusedProtocol` if it is unknown or invalid.

    Examples
    --------
    >>> groups = summand({"name": "group_net_wins", "sizes": [2, 2]}, 4)
    >>> groups.numbers, groups.l1, groups.accepts([[0, 3], [1, 2]]), groups.accepts([[0, 3], [0, 2]])
    (4, 8, True, False)
    """
    whole = statistic if type(statistic) is dict else {"name": statistic}
    name = whole.get("name")
    kind = SUMMANDS.get(name) if type(name) is str else None
    bare = type(statistic) is dict and len(whole) == 1  # a name without fields must be text, so that each has one form
    known = kind is not None and set(whole) == {"name", *kind.states} and not bare
    refuse_unless(known, "statistic", f"one of {list(SUMMANDS)}, with what belongs to it and nothing else")
    stated = {key: value for key, value in whole.items() if key != "name"}
    return SUMMANDS[str(name)](n_items, stated)


def _is_either_way(pair, n_items):
    """Return whether untrusted content is a list of two distinct items, in either order."""
    return type(pair) is list and (is_pair(pair, n_items) or is_pair(pair[::-1], n_items))


def _are_groups(groups, n_items):
    """Return whether untrusted content is a list of lists that together hold each item once."""
    if type(groups) is not list or not all(type(group) is list for group in groups):
        return False
    items = [item for group in groups for item in group]
    return set(map(type, items)) == {int} and sorted(items) == list(range(n_items))


def _group_wins(ballots, groups):
    """Return each voter's net wins within groups that together hold each item once."""
    wins = np.zeros(ballots.table.shape[::-1], dtype=np.int64)
    for group in groups:
        wins[:, group] = net_wins(ballots.table[group], ballots.sentinel)
    return wins


def _margins(ballots, rows, columns):
    """Return each voter's margins of pairs, int64, shape (n_voters, n_pairs); 0 for ties and missing opinions."""
    first, second = ballots.table[rows], ballots.table[columns]
    silent = (first == ballots.sentinel) | (second == ballots.sentinel)
    return np.where(silent, 0, (first < second).astype(np.int64) - (first > second)).T


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


def sum_of(stated: Any, protocol: Any) -> Sum:
    """Return the sum that the fields `stated` of a validated protocol describe."""
    what = summand(stated["statistic"], len(protocol["items"]))
    return Sum(what, Fraction(*stated["rate"]), 1 << stated["modulus_bits"], stated.get("times", 1))


def summed(protocol: Any) -> Sum:
    """Return the only sum of a validated "skellam-shares" protocol."""
    return sum_of(protocol, protocol)


def sums(protocol: Any) -> list[Sum]:
    """Return the sums of all kinds of questions, in order, or the only sum of a protocol that asks none."""
    return [sum_of(kind, protocol) for kind in protocol.get("rounds", [protocol])]


def sum_about(protocol: Any, number: int) -> Sum:
    """Return the sum for the question of this number; questions are numbered from 1 through all kinds in order."""
    last = list(accumulate(kind["times"] for kind in protocol["rounds"]))
    return sum_of(protocol["rounds"][bisect_left(last, number)], protocol)


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

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid and give the stated epsilon."""
        least = protocol["min_reports"]
        refuse_unless(is_whole(protocol["servers"], 2, MOST_SERVERS), "servers", f"an integer from 2 to {MOST_SERVERS}")
        refuse_unless(is_whole(least, 1, 2**40), "min_reports", "an integer from 1 to 2^40")
        most = is_whole(protocol["max_reports"], least, 2**40)
        refuse_unless(most, "max_reports", "an integer from min_reports to 2^40")
        for name in ("delta", "local_epsilon"):
            refuse_unless(is_amount(protocol[name]), name, "a positive decimal number as text")
        refuse_unless(0 < float(protocol["delta"]) < 1, "delta", "below 1")
        for stated in protocol.get("rounds", [protocol]):
            check_sum(stated, protocol)
        kept = epsilon_among(protocol, sums(protocol), least) <= Decimal(protocol["epsilon"])
        refuse_unless(kept, "epsilon", "what min_reports give")

    def spent(self, protocol):
        """Return the epsilon at `delta` of everything a voter sends, as a Decimal. It holds if all servers collude."""
        return epsilon_among(protocol, sums(protocol), 1)

    def delta(self, protocol):
        """Return the delta at which `spent` holds, as a Decimal."""
        return Decimal(protocol["delta"])


class SharesRandomizer(SummedRandomizer, ReportRandomizer):
    """Client implementation of "skellam-shares"."""

    fields = (*NOISE, *PARTIES)

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid and give the stated epsilon."""
        super().check(protocol)
        asks = summed(protocol).summand.asked_about is not None
        refuse_unless(not asks, "statistic", "one that needs no question, where voters report once")

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


def check_sum(stated, protocol):
    """Raise `RefusedProtocol` unless the statistic that `stated` describes, its noise and its modulus are valid."""
    what, rate = summand(stated["statistic"], len(protocol["items"])), stated["rate"]
    refuse_unless(what.numbers <= MOST_NUMBERS, "items", f"so few that {MOST_NUMBERS:,} numbers are sent")
    form = type(rate) is list and len(rate) == 2 and is_whole(rate[0], 1) and is_whole(rate[1], 1, RATE_GRID)
    refuse_unless(form and rate[1] in (1, RATE_GRID), "rate", "[numerator, 2^20] or [numerator, 1], above 0")
    enough = modulus_bits(what, protocol["max_reports"], rate[0] / rate[1])
    form = is_whole(stated["modulus_bits"], enough, MOST_BITS)
    refuse_unless(form, "modulus_bits", "large enough for max_reports, and at most 53")


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


# "skellam-rounds": answers to several questions, split among servers.
#
# The protocol lists all questions by kind, in order. The cost of a kind does not depend on the subject of a question.
# So a device knows the cost of all its answers in advance. A device answers each question once, and only if it follows
# the protocol. It does not return to a question before one that it has answered. It may skip questions, because the
# voters who answer hide each other.

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
