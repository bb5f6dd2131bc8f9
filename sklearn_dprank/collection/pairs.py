"""Randomised response about pairs, for all of its protocols; both sides, and the best number of pairs."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import count
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import (
    COUNT_OR_NONE,
    VOTERS_OR_NONE,
    Check,
    at_least_two,
    check_choice,
    check_parameters,
    check_positive,
    check_whole,
    is_as_printed,
    is_pair,
    is_whole,
    safe_repr,
)
from .._utils.types import Amount, Items, PairNoise, Variant
from ..ballots.reading import Positions
from ..privacy.errors import BudgetExhausted
from ..queries.base import n_pairs
from ..queries.pairs import PairTallies, Tallies
from ..sampling.bit_source import Bits, BitSource
from ..sampling.poisson import many_poisson
from ..uncertainty.laws import AnswersLaw
from .base import (
    MOST_ANSWERS,
    Drawn,
    QuestionRandomizer,
    Randomizer,
    ReceivedReports,
    ReportRandomizer,
    distinct,
    flipped_answers,
    items_of,
    listed,
    random_number,
    read_comparisons,
    true_answers,
)
from .protocol import (
    FLIP_GRID,
    LARGEST_FLIP,
    UNCHANGED,
    as_text,
    cost_as_text,
    digest,
    flip_within,
    flips_cost,
    is_amount,
    is_digits,
    refuse_unless,
    total,
)
from .reports import columns, end_to_end, pair_answers, reject_unless, whole_numbers

_BLOCK = 1 << 22  # marks of drawn pairs in memory at a time, in simulations
PAIRS = ("hidden", "assigned", "shown")  # values of ``pairs``, of estimators and of protocols for a shuffler
MOST_QUERIES = 1 << 16  # of one device, whose work a curator could make endless
_LARGEST_MARKS = 1 << 27  # bytes for the marks of one device, one byte for each pair


def asks_comparisons(protocol):
    """Return whether a device holds comparisons in place of a ballot, and answers about one of the pairs shown."""
    return protocol.get("randomizer") == "rr-shown" or protocol.get("pairs") == "shown"


class PairsRandomizer(ReportRandomizer):
    """Client implementation of "rr", "laplace", "gaussian" and "rr-shown"."""

    fields: tuple[str, ...] = ("n_queries", "flip")
    draws_distinct = True  # whether the pairs that a device draws are distinct

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        n, flip = n_pairs(len(protocol["items"])), protocol["flip"]
        rule = f"an integer from 1 to the number of pairs, at most {MOST_QUERIES:,}"
        refuse_unless(is_whole(protocol["n_queries"], 1, min(n, MOST_QUERIES)), "n_queries", rule)
        refuse_unless(protocol["n_queries"] == 1 or n <= _LARGEST_MARKS, "n_queries", "1 for so many items")
        refuse_unless(protocol["n_queries"] == 1 or not asks_comparisons(protocol), "n_queries", "1 for shown pairs")
        form = type(flip) is list and len(flip) == 2 and is_whole(flip[0], 1, LARGEST_FLIP)
        form = form and is_whole(flip[1], FLIP_GRID, FLIP_GRID)
        refuse_unless(form, "flip", "[numerator, 2^52], above 0 and at most a half")

    def spent(self, protocol):
        """Return the epsilon of one report, as a Decimal: K ln((1 - f) / f)."""
        return flips_cost(protocol["flip"][0], protocol["n_queries"])

    def block(self, protocol):
        """Return the number of voters to simulate at a time."""
        return max(1, _BLOCK // (n_pairs(len(protocol["items"])) if protocol["n_queries"] > 1 else 1))

    def read(self, ballot, protocol):
        """Return what `draw` takes, and a key of the voter's ballot, or of the person's comparisons."""
        if asks_comparisons(protocol):
            return read_comparisons(ballot, len(protocol["items"]))
        return super().read(ballot, protocol)

    def draw(self, protocol, ballots, bits, pairs=None):
        """Answer `pairs`, of shape (n_voters, n_queries, 2), or draw them first, independently of the ballots.

        If a device holds comparisons, `ballots` are the comparisons of many persons. Each answers one of the own, drawn
        uniformly, independently of the outcomes.

        The result is (first, second, answers), arrays of shape (n_voters, n_queries). They hold the items of each pair,
        first < second, and whether the first is reported to precede the second.
        """
        if pairs is not None:
            first, second = pairs[..., 0], pairs[..., 1]
        elif asks_comparisons(protocol):
            first, second, shown = drawn_comparisons(ballots, bits.assignment)
            both = np.zeros_like(first)
            return first, second, flipped_answers(both, both + 1, protocol["flip"][0], shown, bits)
        else:
            n_voters, k, n = ballots.table.shape[1], protocol["n_queries"], n_pairs(len(protocol["items"]))
            if self.draws_distinct:
                number = distinct(n_voters, k, n, bits.assignment)
            else:
                number = bits.assignment.integers(n, n_voters * k).reshape(n_voters, k)
            first, second = items_of(number, len(protocol["items"]))
        return first, second, flipped_answers(first, second, protocol["flip"][0], ballots, bits)

    def message(self, drawn):
        """Return the first voter's report as JSON-able data."""
        first, second, answers = drawn
        pairs = np.column_stack([first[0], second[0]]).tolist()
        return {"pairs": pairs, "answers": answers[0].astype(int).tolist()}


def drawn_comparisons(compared, bits):
    """Draw one comparison of each person, uniformly; return its items, shape (n_persons, 1), and ballots on both."""
    own = np.bincount(compared.person, minlength=compared.n_voters)
    place = np.cumsum(own) - own + bits.integers(own, len(own))
    row = np.argsort(compared.person, kind="stable")[place]
    winner, loser, tied = (each[row] for each in (compared.winner, compared.loser, compared.tied))
    table = np.stack([(winner > loser) & ~tied, (winner < loser) & ~tied]).astype(np.uint8)
    first, second = np.minimum(winner, loser), np.maximum(winner, loser)
    return first[:, None], second[:, None], Positions(table, np.zeros(2, dtype=bool))


# Fast simulation of the counts from many devices that draw their own pairs. Devices do not use it.

_HIDDEN_BLOCK = 1 << 18  # messages simulated at a time


def hidden_wins(protocol, ballots, bits):
    """Draw how many messages put i before j, int64, shape (n_items, n_items), with one draw for all random answers.

    The protocol has one pair per voter ("rr", "laplace", "gaussian") or K hidden pairs ("rr-shuffled"). The counts have
    the distribution of the counts of individual reports.

    An answer is flipped with probability f = numerator / 2^52. This is equivalent to a true answer with probability
    1 - 2 f, and a fair coin otherwise. For randomised response, 1 - 2 f is tanh(epsilon / 2). A coin about a uniform
    pair is uniform over the 2 C(n_items, 2) possible answers, for any ballot. So only true answers depend on ballots,
    and all other answers are one multinomial draw.

    The simulation is exact. The probability has the 52 bits of the device, pairs are uniform, and the multinomial
    counts are drawn in integers. Messages must be independent. The K distinct pairs of a voter under "rr" are
    dependent, so this method does not apply to them.
    """
    cells, unflipped = 2 * n_pairs(len(protocol["items"])), FLIP_GRID - 2 * protocol["flip"][0]
    n_voters, coins = ballots.table.shape[1], 0
    answers = np.zeros(cells, dtype=np.int64)  # of each pair: second before first, first before second
    first, second = np.nonzero(~np.tri(len(ballots.table), dtype=bool))  # faster than np.triu_indices
    for _ in range(protocol["n_queries"]):
        for start in range(0, n_voters, _HIDDEN_BLOCK):
            kept = bits.noise.trials(unflipped, min(_HIDDEN_BLOCK, n_voters - start))
            voters = start + np.flatnonzero(kept)
            pair = bits.assignment.many_integers(len(first), len(voters)).astype(np.int64)
            truth = true_answers(first.take(pair), second.take(pair), voters, ballots, bits.coins)
            answers += np.bincount(2 * pair + truth, minlength=cells)
            coins += len(kept) - len(voters)
    answers += multinomial(coins, cells, bits.noise)
    wins = np.zeros((len(ballots.table),) * 2, dtype=np.int64)
    wins[first, second], wins[second, first] = answers[1::2], answers[::2]
    return wins


_THROWS = 64  # average balls per cell above which Poisson numbers are faster than single throws


def multinomial(n: int, cells: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw the counts of `n` balls in `cells` cells of equal probability.

    Parameters
    ----------
    n : int
        Number of balls, at least 0.
    cells : int
        Number of cells, at least 1.
    bits : BitSource
        Source of uniform integers.

    Returns
    -------
    ndarray of int64, shape (cells,)
        The counts. They add up to `n`.

    Notes
    -----
    Independent Poisson numbers of one rate, given their sum s, are distributed as the counts of s balls. The sampler
    draws one Poisson number per cell. The rate is chosen so that a few balls usually remain, and these are thrown one
    by one. If the sum is above n, all numbers are drawn again. For any s, adding the counts of n - s further balls
    gives the distribution of n balls. Poisson numbers and throws are exact, so the counts are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> int(multinomial(10**9, 6, SeededBits(np.random.SeedSequence(0))).sum())
    1000000000
    """
    if n < _THROWS * cells:
        return np.bincount(bits.integers(cells, n), minlength=cells)
    rate = Fraction(n - 3 * isqrt(n), cells)  # the sum exceeds n about once in 700 times
    while True:
        counts = many_poisson(rate, cells, bits)
        left = n - int(counts.sum())
        if left >= 0:
            return counts + np.bincount(bits.integers(cells, left), minlength=cells)


# "rr-assigned": randomised response on the public pairs of a registered voter.
#
# The pairs follow from the protocol and the voter's number, so a device verifies them and a curator needs no table.
# They do not depend on a ballot. A voter who lies can spoil only the own pairs.

SEED_DIGITS = 32  # hexadecimal digits of the public seed
MOST_HASHES = 1 << 17  # expected number for the pairs of one voter


class AssignedRandomizer(PairsRandomizer):
    """Client implementation of "rr-assigned".

    `draw` without pairs is for simulations: uniform pairs have the law of assigned pairs over random seeds.
    """

    fields = ("n_queries", "flip", "n_voters", "assignment_seed")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        super().check(protocol)
        refuse_unless(is_whole(protocol["n_voters"], 1), "n_voters", "a positive integer")
        seed = is_digits(protocol["assignment_seed"], SEED_DIGITS)
        refuse_unless(seed, "assignment_seed", f"{SEED_DIGITS} lowercase hexadecimal digits")
        # Each hash draws one of 2^b numbers, which is a new pair with probability (n - found) / 2^b.
        n = n_pairs(len(protocol["items"]))
        hashes = sum(-(-(1 << (n - 1).bit_length()) // (n - found)) for found in range(protocol["n_queries"]))
        refuse_unless(hashes <= MOST_HASHES, "n_queries", f"so small that {MOST_HASHES:,} hashes find its pairs")

    def assigned(self, pairs, protocol, voter):
        """Return (voter, pairs): the voter's number and its pairs, an array of shape (1, K, 2).

        The curator is not trusted. ValueError is raised if `voter` is not registered, or `pairs` are given and are not
        those of this voter.
        """
        if voter is None:
            raise ValueError(
                "voter must be given, because this protocol assigns pairs to registered voters: "
                "device.report(ballot, voter=17), say."
            )
        check_whole(voter, "voter", 0, protocol["n_voters"] - 1)
        own = np.stack(public_pairs(protocol, [int(voter)]), axis=-1)
        if pairs is not None and not np.array_equal(pairs, own[0]):
            raise ValueError(
                f"pairs must be those that follow from the protocol and voter={int(voter)}, in this order: "
                f"{own[0].tolist()}. Leave pairs out, and the device computes them."
            )
        return int(voter), own

    def report(self, protocol, ballots, bits, assigned):
        """Draw the first voter's report on its public pairs as JSON-able data."""
        voter, pairs = assigned
        answers = self.draw(protocol, ballots, bits, pairs)
        return {"protocol": digest(protocol), "voter": voter, **self.message(answers)}


def public_pairs(protocol, voters):
    """Return (first, second), arrays of shape (len(voters), K): the items of the pairs of registered voters."""
    seed, k, n = protocol["assignment_seed"], protocol["n_queries"], n_pairs(len(protocol["items"]))
    mask, numbers = (1 << (n - 1).bit_length()) - 1, []
    for voter in voters:
        # The first k distinct numbers below n in the public sequence of a voter; each is exactly uniform. Only k
        # depends on the epsilon of a protocol. So a voter who chooses the own epsilon cannot choose other pairs.
        found: dict[int, None] = {}  # a dict keeps the order
        steps = count()
        while len(found) < k:
            number = int(sha256(f"{seed}/{voter}/{next(steps)}".encode()).hexdigest()[:16], 16) & mask
            if number < n:
                found[number] = None
        numbers.append(list(found))
    return items_of(np.array(numbers, dtype=np.int64), len(protocol["items"]))


# "rr-shuffled": K randomised answers about hidden or assigned pairs, or one about a shown pair, in one submission.
#
# A device sends its submission to the shuffler. The shuffler checks it and mixes the messages of all voters.
#
# The device guarantees the local `epsilon`: the cost of its K messages without any trust. `central_epsilon` and
# `central_delta` are the curator's claim. They hold only with an honest shuffler and `min_reports` honest voters. A
# device checks only their form.


class ShuffledRandomizer(PairsRandomizer):
    """Client implementation of "rr-shuffled"."""

    draws_distinct = False  # each message goes to its own shuffle
    fields = ("n_queries", "flip", "pairs", "min_reports", "central_epsilon", "central_delta")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        super().check(protocol)
        refuse_unless(protocol["pairs"] in PAIRS, "pairs", f"one of {list(PAIRS)}")
        refuse_unless(is_whole(protocol["min_reports"], 1), "min_reports", "a positive integer")
        for name in ("central_epsilon", "central_delta"):
            refuse_unless(is_amount(protocol[name]), name, "a positive decimal number as text")

    def assigned(self, pairs, protocol, voter):
        """Return the curator's assignment as an array of shape (1, K, 2), or None if devices draw their own pairs.

        The curator is not trusted. ValueError is raised if `pairs` are not K distinct pairs, or if the protocol
        requires or forbids them.
        """
        super().assigned(None, protocol, voter)  # refuses the number of a voter
        k = protocol["n_queries"]
        if (pairs is not None) != (protocol["pairs"] == "assigned"):
            raise ValueError("pairs must be given if and only if the protocol assigns them.")
        if pairs is None:
            return None
        try:
            asked = np.asarray(pairs).tolist()
        except ValueError:  # rows of different lengths
            asked = None
        are_pairs = type(asked) is list and all(is_pair(pair, len(protocol["items"])) for pair in asked)
        if not (are_pairs and len(asked) == len({tuple(pair) for pair in asked}) == k):
            raise ValueError(f"pairs must hold {k} distinct pairs (i, j) of items, i < j.")
        return np.array(asked, dtype=np.int64)[None]

    def report(self, protocol, ballots, bits, assigned):
        """Draw the first voter's submission to the shuffler as JSON-able data.

        Each message names its shuffle. Assigned pairs all go to shuffle 0, where messages about the same pair hide each
        other. The shuffler uses the report's random number to refuse repeated submissions, and never releases it.
        """
        drawn, hidden = self.draw(protocol, ballots, bits, assigned), protocol["pairs"] == "hidden"
        answers = zip(*(column[0].tolist() for column in drawn), strict=True)
        messages = [
            {"shuffle": number if hidden else 0, "pair": [first, second], "answer": int(answer)}
            for number, (first, second, answer) in enumerate(answers)
        ]
        return {"protocol": digest(protocol), "report": random_number(bits), "messages": messages}


# "rr-interactive": answers to the curator's questions, about one pair each.

KINDS = ("each", "last")  # of flips: for the planned answers, and for a last resort beyond them


class InteractiveRandomizer(QuestionRandomizer):
    """Client implementation of "rr-interactive"."""

    fields = ("answers", "flips", "flip_grid")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        flips = protocol["flips"]
        rule = f"an integer from 1 to {MOST_ANSWERS:,}"
        refuse_unless(is_whole(protocol["answers"], 1, MOST_ANSWERS), "answers", rule)
        refuse_unless(is_whole(protocol["flip_grid"], FLIP_GRID, FLIP_GRID), "flip_grid", "2^52")
        form = type(flips) is dict and set(flips) == set(KINDS) and is_whole(flips["each"], 1, LARGEST_FLIP)
        form = form and (flips["last"] is None or is_whole(flips["last"], 1, LARGEST_FLIP))
        rule = "{'each': numerator, 'last': numerator or null}, above 0 and at most a half of 2^52"
        refuse_unless(form, "flips", rule)

    def spent(self, protocol):
        """Return the epsilon of all answers of a device, the last resort included, as a Decimal."""
        each, last = (protocol["flips"][kind] for kind in KINDS)
        return total([flips_cost(each, protocol["answers"]), *([] if last is None else [flips_cost(last)])])

    def asked(self, question, protocol):
        """Return (key, number, kind, pairs) of a question; raise ValueError if it does not follow the protocol.

        The curator is not trusted. The field "voters" is for the messenger and is ignored.
        """
        if type(question) is dict and set(question) - {"voters"} == {"protocol", "question", "kind", "pairs"}:
            number, kind, pairs = question["question"], question["kind"], question["pairs"]
            follows = question["protocol"] == digest(protocol) and is_whole(number, 1)
            follows = follows and type(kind) is str and kind in KINDS and protocol["flips"][kind] is not None
            if follows and type(pairs) is list and 1 <= len(pairs) <= n_pairs(len(protocol["items"])):
                if all(is_pair(pair, len(protocol["items"])) for pair in pairs):
                    return f"{kind} {number}", number, kind, pairs
        raise ValueError(f"question does not follow the protocol: {UNCHANGED}.")

    def answer(self, protocol, ballots, bits, asked, answered):
        """Draw the first voter's answer as JSON-able data, with its own random number."""
        _, number, kind, pairs = asked
        if sum(key.startswith(kind) for key in answered) >= {"each": protocol["answers"], "last": 1}[kind]:
            raise BudgetExhausted("this device has given every answer that its budget pays for.")
        first, second, answers = self.draw(protocol, ballots, bits, kind, pairs)
        pair = [int(first[0, 0]), int(second[0, 0])]
        answer = {"question": number, "report": random_number(bits), "pair": pair, "answer": int(answers[0, 0])}
        return {"protocol": digest(protocol), **answer}

    def draw(self, protocol, ballots, bits, kind, pairs, voters=None):
        """Draw one of `pairs` for each voter and answer it; `kind` ("each" or "last") selects the flip probability.

        `voters` are the columns of ``ballots.table`` that are asked; None is all of them. The result is (first, second,
        answers), arrays of shape (n_asked, 1). They hold the items of each pair, and whether the first is reported to
        precede the second.
        """
        n_asked = ballots.table.shape[1] if voters is None else len(voters)
        assignment = bits.assignment
        draw = assignment.integers if n_asked == 1 else assignment.many_integers  # wire format: one word
        pick = np.asarray(pairs).take(draw(len(pairs), n_asked), axis=0)
        first, second = pick[:, :1], pick[:, 1:]
        return first, second, flipped_answers(first, second, protocol["flips"][kind], ballots, bits, voters)


# The curator's side.


class PairFlips(Randomizer):
    """Base class of randomizers that flip answers about random pairs; subclasses set the flip probability.

    Channels that ask about pairs themselves (`Interactive`, `Shuffle`) use its `flip`.

    Parameters
    ----------
    n_queries : int or None, default=1
        Number of pairs K that a voter answers, at most C(n_items, 2). None selects an integer next to
        epsilon / 2, by the error function of Yan et al.

    Attributes
    ----------
    how : str
        Name of the randomizer in a guarantee.
    """

    parameter_checks: dict[str, Check] = {"n_queries": COUNT_OR_NONE}
    client = PairsRandomizer()
    releases = PairTallies()
    how: str
    is_tight = True  # whether the answers spend all of epsilon; otherwise they spend what a printed scale spends
    _count_for: PairNoise = "rr"

    def __init__(self, n_queries: int | None = 1) -> None:
        self.n_queries = n_queries

    def flip(self, budget: str | Decimal, n_answers: int) -> int:
        """Return the flip probability of each answer as a numerator over 2^52.

        Parameters
        ----------
        budget : str or Decimal
            Epsilon of all answers together.
        n_answers : int
            Number of answers that share it.

        Returns
        -------
        int
            Numerator of the flip probability.
        """
        return flip_within(budget, n_answers)

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        check_parameters(self)
        names = listed(items)
        k, most = self.n_queries, n_pairs(len(names))
        if k is None:
            k = best_query_count(float(epsilon), len(names), randomizer=self._count_for, variant="as_printed")
        check_whole(k, "n_queries", 1, most)
        budget = as_text(epsilon)
        flip = self.flip(budget, int(k))
        stated = budget if self.is_tight else cost_as_text(flips_cost(flip, int(k)))
        return self.make_protocol(names, stated, n_queries=int(k), flip=[flip, FLIP_GRID])

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        also = ("protocol", "voter") if cls.names_voters else ("protocol",)
        pairs, answers = columns(reports, "pairs", "answers", also=also)
        m, k, reason = len(protocol["items"]), protocol["n_queries"], "wrong number of answers"
        read = pair_answers(end_to_end(pairs, k, reason), end_to_end(answers, k, reason), m)
        first, second, answered = (column.reshape(-1, k) for column in read)
        ordered = np.sort(first * m + second, axis=1)
        reject_unless((ordered[:, 1:] != ordered[:, :-1]).all(), "pair asked twice")
        return first, second, answered

    @staticmethod
    def counts(drawn: Drawn, protocol: dict[str, Any]) -> NDArray[np.int64]:
        first, second, answers = drawn
        return counted_wins(first, second, answers, len(protocol["items"]))

    @staticmethod
    def are_counts(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> bool:
        return are_wins(counts, n_reports * protocol["n_queries"], n_reports, len(protocol["items"]))

    def simulated(self, protocol: dict[str, Any], ballots: Positions, bits: Bits) -> NDArray[np.int64]:
        """Return the counts of simulated devices.

        With one pair per voter, one multinomial draw replaces all random answers. The counts have exactly the
        distribution of those of devices (see `sklearn_dprank.collection.pairs`).

        Parameters
        ----------
        protocol : dict
            The protocol.
        ballots : Positions
            Ballots of the voters.
        bits : Bits
            Randomness of the devices.

        Returns
        -------
        ndarray of int64, shape (n_items, n_items)
            Numbers of answers that put i before j.
        """
        if protocol["n_queries"] == 1 and type(self.client) is PairsRandomizer:
            return hidden_wins(protocol, ballots, bits)
        return super().simulated(protocol, ballots, bits)

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        return (Tallies(protocol["flip"][0] / FLIP_GRID, counts),)

    @classmethod
    def law(cls, received: ReceivedReports) -> AnswersLaw | None:
        return cls.estimate(received.counts, received.n_reports, received.protocol)[0].law

    def combined(self, groups: list[ReceivedReports]) -> Any:
        """Return the tallies of all protocols. Rules weight each tally by its flip probability.

        Parameters
        ----------
        groups : list of ReceivedReports
            Counts of each protocol with reports.

        Returns
        -------
        tuple of Tallies
            One for each protocol.
        """
        return tuple(self.estimate(one.counts, one.n_reports, one.protocol)[0] for one in groups)

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        """Return the mean square of the margins that one report estimates.

        Parameters
        ----------
        protocol : dict
            The protocol.

        Returns
        -------
        float
            B / (K (1 - 2 f)^2) for B = C(n_items, 2) pairs, K queries and flip probability f.
        """
        gain = 1 - 2 * protocol["flip"][0] / FLIP_GRID
        return n_pairs(len(protocol["items"])) / (protocol["n_queries"] * gain**2)


class RandomizedResponse(PairFlips):
    """Default randomizer for answers about pairs: randomised response on random pairs.

    Each voter answers about `n_queries` distinct random pairs. An answer is the voter's preference, flipped with
    probability f = 1 / (1 + e^(epsilon / K)), where K is the number of queries. Without an opinion on the pair, the
    answer is a fair coin, which is flipped too. The pairs are drawn independently of the ballot. So a report is
    epsilon-locally differentially private.

    Parameters
    ----------
    n_queries : int or None, default=1
        Number of pairs K that a voter answers, at most C(n_items, 2). None selects an integer next to
        epsilon / 2, by the error function of Yan et al.

    Notes
    -----
    f is rounded up to a multiple of 2^-52 and sampled exactly, so the guarantee also holds for the computed report.
    Algorithm 1 of Yan et al. (lines 5-9) prints the flip the wrong way round. Here, the true answer has the larger
    probability.

    References
    ----------
    Warner (1965); Yan, Li and Liu (2020), Section 4.3.

    Examples
    --------
    >>> from sklearn_dprank.collection import RandomizedResponse
    >>> RandomizedResponse().protocol(epsilon=1.0, items=4)["randomizer"]
    'rr'
    """

    name = "rr"
    how = "randomized response"


def counted_wins(first, second, answers, n_items):
    """Return how many answers put i before j, int64, shape (n_items, n_items)."""
    numbers = np.where(answers, first * n_items + second, second * n_items + first)
    return np.bincount(numbers.ravel(), minlength=n_items**2).reshape(n_items, n_items)


def are_wins(wins, n_answers, most, n_items):
    """Return whether `wins` can count `n_answers` answers about pairs of items, at most `most` about one pair."""
    if wins.shape != (n_items, n_items) or wins.min() < 0 or np.diagonal(wins).any():
        return False
    return int(wins.sum()) == n_answers and int((wins + wins.T).max()) <= most


def check_seed(value, name):
    """Raise ValueError unless `value` is a public seed of an assignment, or None."""
    if value is not None and not is_digits(value, SEED_DIGITS):
        raise ValueError(
            f"{name} must be None or {SEED_DIGITS} lowercase hexadecimal digits, such as secrets.token_hex(16), "
            f"got {safe_repr(value)}."
        )


class AssignedPairs(PairFlips):
    """Randomizer whose registered voters answer about public pairs, with the flips of another randomizer.

    A report names its voter, by a number below `n_voters`. The voter's pairs follow from `assignment_seed` and this
    number. Reports on other pairs are refused, and so is a second report of a voter.

    Parameters
    ----------
    flips : PairFlips
        Randomizer of the answers. It also sets the number of pairs per voter.
    n_voters : int or None, default=None
        Number of registered voters. None is only for simulations.
    assignment_seed : str or None, default=None
        Public seed of the assignment, 32 lowercase hexadecimal digits. None is only for simulations.
    """

    parameter_checks = {"n_voters": VOTERS_OR_NONE, "assignment_seed": check_seed}
    client = AssignedRandomizer()
    name = "rr-assigned"
    how = "randomized response on assigned pairs"
    names_voters = True

    def __init__(self, flips: Randomizer, n_voters: int | None = None, assignment_seed: str | None = None) -> None:
        self.flips = flips
        self.n_voters = n_voters
        self.assignment_seed = assignment_seed

    def simulating(self, n_voters: int) -> Randomizer:
        """Return the randomizer that a simulation draws from: voters with pairs of their own, by the same law.

        Over random seeds, the assigned pairs of all voters are independent and uniform, as pairs are that voters draw.
        """
        check_parameters(self)
        if self.n_voters is not None and n_voters > self.n_voters:
            raise ValueError(
                f"n_voters={self.n_voters} is below the {n_voters} ballots of X; set it to the number of registered "
                "voters."
            )
        if not isinstance(self.flips, PairFlips):
            raise ValueError(
                f"pairs='assigned' needs answers about single pairs, which {type(self.flips).__name__} does not give; "
                "use randomizer='rr', or pairs='hidden'."
            )
        return self.flips

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        free = self.simulating(0).protocol(epsilon, items)  # checks the parameters, too
        if self.n_voters is None or self.assignment_seed is None:
            raise ValueError(
                "n_voters and assignment_seed must be given for devices, got "
                f"n_voters={self.n_voters}, assignment_seed={self.assignment_seed}: each voter's pairs follow from "
                "them. Register the voters first. Then set n_voters to their number, and assignment_seed to a public "
                "random number: secrets.token_hex(16), say."
            )
        own = {"n_voters": int(self.n_voters), "assignment_seed": self.assignment_seed}
        return {**free, "randomizer": self.name, **own}

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        first, second, answered = super().read_all(reports, protocol)
        voters = [report["voter"] for report in reports]
        whole_numbers(voters, 0, protocol["n_voters"] - 1, "no voter")
        reject_unless(np.array_equal((first, second), public_pairs(protocol, voters)), "not the voter's pairs")
        return first, second, answered


class ShownPairs(RandomizedResponse):
    """Randomizer of persons who compared two items at a time, if it is public which ones.

    The device draws one of the person's comparisons uniformly, and reports its items and its outcome, flipped as in
    `RandomizedResponse`. A tie is a fair coin. The draw does not depend on the outcomes, so a report is
    epsilon-locally differentially private with respect to all outcomes of the person.
    """

    name = "rr-shown"
    how = "randomized response on the outcome of one comparison of each person"

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        made = super().protocol(epsilon, items)
        if made["n_queries"] != 1:
            raise ValueError(
                "pairs='shown' needs n_queries=1, because a device answers about one comparison, got "
                f"n_queries={self.n_queries}."
            )
        return made

    def simulated(self, protocol: dict[str, Any], ballots: Any, bits: Bits) -> NDArray[np.int64]:
        return self.counts(self.client.draw(protocol, ballots, bits), protocol)


# Optimal number of questions per voter, and the accuracy of each answer.
#
# A voter who answers K questions spends epsilon/K on each. More answers are therefore less accurate answers. If voters
# answer in groups, K is the largest number of questions to one group.

# epsilon/K that maximises K (p - q)^2: the roots of sinh x = 2 x and of e^(x/2) = 1 + x
BEST_BUDGET = {"rr": 2.1773189849653067, "laplace": 2.512862417252339}


def truth_gap(
    epsilon: float, n_queries: float, *, randomizer: PairNoise = "rr", variant: Variant = "corrected"
) -> float:
    """Return P(an answer is reported correctly) - P(it is reported incorrectly), for one of K answers.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    n_queries : float
        Number K of answers.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "as_printed"}, default="corrected"
        The exact gap, or the paper's lower bound for randomised response.

    Returns
    -------
    float
        tanh(epsilon/2K) for randomised response, 1 - e^(-epsilon/2K) for Laplace.

    Notes
    -----
    For randomised response, the paper continues with epsilon/(epsilon + 2 K), which follows from e^x >= 1 + x. This
    bound is smaller, and close only if epsilon/K is small.

    References
    ----------
    Yan et al. (2020), equation (3) and Section 5.2.2.

    Examples
    --------
    >>> round(truth_gap(2, 1), 4), truth_gap(2, 1, variant="as_printed")
    (0.7616, 0.5)
    """
    check_choice(randomizer, "randomizer", BEST_BUDGET)
    check_positive(epsilon=epsilon, n_queries=n_queries)
    as_printed = is_as_printed(variant)
    if randomizer == "laplace":
        return -math.expm1(-epsilon / (2 * n_queries))
    return epsilon / (epsilon + 2 * n_queries) if as_printed else math.tanh(epsilon / (2 * n_queries))


def optimal_queries(epsilon: float, *, randomizer: PairNoise = "rr", variant: Variant = "corrected") -> float:
    """Return the real number K of answers that maximises the signal, K (p - q)^2.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "as_printed"}, default="corrected"
        The exact optimum, or the paper's.

    Returns
    -------
    float
        epsilon/2.177 for randomised response and epsilon/2.513 for Laplace; epsilon/2 as printed.

    Notes
    -----
    epsilon/2 maximises the signal of the paper's lower bound epsilon/(epsilon + 2 K), not of the gap itself. For
    Laplace noise, the paper states only K < epsilon/2.

    References
    ----------
    Yan et al. (2020), Section 5.2, after Theorems 2 and 3.

    Examples
    --------
    >>> round(optimal_queries(10), 2), round(optimal_queries(10, randomizer="laplace"), 2)
    (4.59, 3.98)
    """
    check_choice(randomizer, "randomizer", BEST_BUDGET)
    check_positive(epsilon=epsilon)
    return epsilon / (2 if is_as_printed(variant) else BEST_BUDGET[randomizer])


def best_query_count(
    epsilon: float, n_items: int, *, randomizer: PairNoise = "rr", variant: Variant = "corrected"
) -> int:
    """Return the integer number of answers next to `optimal_queries`, from 1 to C(m, 2), with the largest signal.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a voter.
    n_items : int
        Number m of items.
    randomizer : {"rr", "laplace"}, default="rr"
        Randomised response, or Laplace noise and a threshold at 1/2.
    variant : {"corrected", "as_printed"}, default="corrected"
        "as_printed" returns the integer next to epsilon/2 with the smaller printed mu.

    Returns
    -------
    int
        K. One question is best up to epsilon of about 3.

    References
    ----------
    Yan et al. (2020), Section 5.2.

    Examples
    --------
    >>> [best_query_count(epsilon, 10) for epsilon in (1, 2, 4, 8)]
    [1, 1, 2, 4]
    """
    at_least_two(n_items=n_items)
    below = math.floor(optimal_queries(epsilon, randomizer=randomizer, variant=variant))
    candidates = {min(max(k, 1), math.comb(n_items, 2)) for k in (below, below + 1)}
    return max(sorted(candidates), key=lambda k: k * truth_gap(epsilon, k, randomizer=randomizer, variant=variant) ** 2)


def group_overflow_bound(q: int, n_items: int, load: int) -> float:
    """Return a bound on the probability that some group of voters is asked more than `load` of q questions.

    Each question goes to one of m groups, uniformly at random. The bound is m P(Bin(q, 1/m) > load), a union bound over
    the groups.

    Parameters
    ----------
    q : int
        Number of questions.
    n_items : int
        Number m of items, and of groups.
    load : int
        Number of questions that the budget of a group allows.

    Returns
    -------
    float
        Bound on the probability, possibly above 1.

    Notes
    -----
    In the paper, every group answers up to 2 q/m questions, and the probability of an overflow is at most exp(-q/(10
    m)). The paper requires q >= 10 m ln m. Quicksort needs 3 to 8 times fewer questions (m = 5 to 100). With so few
    questions, a load of 2 q/m overflows with probability .04 to .18.

    References
    ----------
    Alabi et al. (2022), Lemma 10 and Algorithm 2.

    Examples
    --------
    >>> round(group_overflow_bound(150, 20, 15), 3)
    0.072
    """
    from scipy.stats import binom

    return float(n_items * binom.sf(load, q, 1 / n_items))


@lru_cache(maxsize=1024)
def group_load(q: int, n_items: int, xi: float = 1.0) -> int:
    """Return tau, the smallest number of questions that the budget of a group must allow in LDPKwikSort.

    tau is the smallest integer with m P(Bin(q, 1/m) > tau) <= xi/m^4.

    Parameters
    ----------
    q : int
        Number of questions; `quicksort_query_bound(n_items, xi)` for quicksort.
    n_items : int
        Number m of items, and of groups.
    xi : float, default=1.0
        Largest increase of the approximation ratio through the fallback.

    Returns
    -------
    int
        tau, at most q. If tau is q, a group cannot overflow.

    References
    ----------
    Alabi et al. (2022), Algorithms 2 and 3 (there tau = 2 q/m and Omega(log m)).

    Examples
    --------
    >>> from sklearn_dprank.orders.permutations import quicksort_query_bound
    >>> from sklearn_dprank.collection.pairs import group_load
    >>> [group_load(quicksort_query_bound(m), m) for m in (5, 10, 20, 50)]
    [7, 15, 24, 35]
    """
    check_positive(xi=xi)
    return next(load for load in range(q + 1) if group_overflow_bound(q, n_items, load) <= xi / n_items**4)
