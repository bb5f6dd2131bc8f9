"""Curator implementation of randomised response on random pairs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._utils.checks import COUNT_OR_NONE, Check, check_parameters, check_whole
from ..._utils.types import Amount, Items, PairNoise
from ...ballots.compact import Positions
from ...queries import PairTallies, Tallies, n_pairs
from ...sampling.streams import Bits
from ...uncertainty import AnswersLaw
from ..client import hidden
from ..client.pairs import PairsRandomizer
from ..client.protocol import FLIP_GRID, flips_cost
from .base import Drawn, Randomizer, ReceivedReports, listed
from .epsilon_grid import as_text, cost_as_text, flip_within
from .inbox import RefusedReport, bits_of, columns, end_to_end, pairs_of
from .query_count import best_query_count


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

    def stated(self, epsilon: Amount, spent: Decimal) -> str:
        """Return the epsilon that a protocol states, as text.

        Parameters
        ----------
        epsilon : float
            Requested epsilon.
        spent : Decimal
            Epsilon that the answers spend.

        Returns
        -------
        str
            `epsilon` if the answers spend all of it, else `spent`.
        """
        return as_text(epsilon) if self.is_tight else cost_as_text(spent)

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        check_parameters(self)
        names = listed(items)
        k, most = self.n_queries, n_pairs(len(names))
        if k is None:
            k = best_query_count(float(epsilon), len(names), randomizer=self._count_for, variant="as_printed")
        check_whole(k, "n_queries", 1, most)
        flip = self.flip(as_text(epsilon), int(k))
        stated = self.stated(epsilon, flips_cost(flip, int(k)))
        return self.make_protocol(names, stated, n_queries=int(k), flip=[flip, FLIP_GRID])

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        pairs, answers = columns(reports, "pairs", "answers")
        return answers_of(pairs, answers, protocol)

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
        distribution of those of devices (see `sklearn_dprank.collection.client.hidden`).

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
            return hidden.counted_wins(protocol, ballots, bits)
        return super().simulated(protocol, ballots, bits)

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        flip, grid = protocol["flip"]
        return (Tallies(flip / grid, counts),)

    @classmethod
    def law(cls, received: ReceivedReports) -> AnswersLaw | None:
        (tallies,) = cls.estimate(received.counts, received.n_reports, received.protocol)
        return tallies.law

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
        return tuple(
            tally
            for received in groups
            for tally in self.estimate(received.counts, received.n_reports, received.protocol)
        )

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
        flip, grid = protocol["flip"]
        return n_pairs(len(protocol["items"])) / (protocol["n_queries"] * (1 - 2 * flip / grid) ** 2)


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
    >>> from sklearn_dprank.collection.curator import RandomizedResponse
    >>> RandomizedResponse().protocol(epsilon=1.0, items=4)["randomizer"]
    'rr'
    """

    name = "rr"
    how = "randomized response"


def answers_of(pairs, answers, protocol):
    """Return (first, second, answers) of the fields of reports, arrays of shape (n_reports, n_queries).

    Raises
    ------
    RefusedReport
        If a report does not have one answer to each of K distinct pairs.
    """
    m, k = len(protocol["items"]), protocol["n_queries"]
    flat = end_to_end(answers, k, "wrong number of answers")
    asked = end_to_end(pairs, k, "wrong number of answers")
    answered = bits_of(flat).reshape(-1, k)
    first, second = (items.reshape(-1, k) for items in pairs_of(asked, m))
    ordered = np.sort(first * m + second, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise RefusedReport("pair asked twice")
    return first, second, answered


def counted_wins(first, second, answers, n_items):
    """Return how many answers put i before j, int64, shape (n_items, n_items)."""
    if np.size(answers) < n_items**2 // 64:  # for a few answers, do not compute a number for each pair
        wins = np.zeros((n_items, n_items), dtype=np.int64)
        np.add.at(wins.reshape(-1), numbered_wins(first, second, answers, n_items).ravel(), 1)
        return wins
    cells = 2 * (first * n_items + second) + answers
    lost, won = np.bincount(cells.ravel(), minlength=2 * n_items**2).reshape(n_items, n_items, 2).transpose(2, 0, 1)
    return won + lost.T


def numbered_wins(first, second, answers, n_items):
    """Return the number i n_items + j of each answer that puts i before j."""
    return np.where(answers, first, second) * n_items + np.where(answers, second, first)


def are_wins(wins, n_answers, most, n_items):
    """Return whether `wins` can count `n_answers` answers about pairs of items, at most `most` about one pair."""
    if wins.shape != (n_items, n_items) or wins.min() < 0 or np.diagonal(wins).any():
        return False
    return int(wins.sum()) == n_answers and int((wins + wins.T).max()) <= most
