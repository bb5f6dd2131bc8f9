"""Randomised response on a few pairs that each voter draws: the curator's half."""

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
from ..client import pairs as voters_half
from ..client.protocol import FLIP_GRID, flips_cost
from .base import Drawn, Heard, Randomizer, listed
from .epsilon_grid import as_text, cost_as_text, flip_within
from .inbox import RefusedReport, bits_of, columns, end_to_end, pairs_of
from .query_count import best_query_count


class PairFlips(Randomizer):
    """Base of the randomizers that flip the answers about random pairs; they differ in the flip probability.

    Channels that ask about pairs themselves (`Interactive`, `Shuffle`) take their flips from here.

    Parameters
    ----------
    n_queries : int or None, default=1
        Pairs a voter answers; at most C(n_items, 2). None is the integer beside epsilon / 2 with the least
        error by Yan et al.'s own error function.

    Attributes
    ----------
    called : str
        What it is called in a guarantee.
    """

    parameter_checks: dict[str, Check] = {"n_queries": COUNT_OR_NONE}
    half = voters_half
    releases = PairTallies()
    called: str
    _published_as: PairNoise = "rr"

    def __init__(self, n_queries: int | None = 1) -> None:
        self.n_queries = n_queries

    @property
    def spends_all(self) -> bool:
        """Whether the answers spend all of epsilon, or what a paper's noise happens to spend."""
        return True

    def flip(self, budget: str | Decimal, n_answers: int) -> int:
        """Return the flip of each of `n_answers` answers that share a budget: the numerator of a probability over 2^52.

        Parameters
        ----------
        budget : str or Decimal
            The epsilon of all together.
        n_answers : int
            How many answers share it.
        """
        return flip_within(budget, n_answers)

    def stated(self, epsilon: Amount, spent: Decimal) -> str:
        """Return the epsilon that a protocol states, as text: what was asked for if all of it is spent."""
        return as_text(epsilon) if self.spends_all else cost_as_text(spent)

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        check_parameters(self)
        names = listed(items)
        k, most = self.n_queries, n_pairs(len(names))
        if k is None:
            k = best_query_count(float(epsilon), len(names), randomizer=self._published_as, variant="published")
        check_whole(k, "n_queries", 1, most)
        flip = self.flip(as_text(epsilon), int(k))
        stated = self.stated(epsilon, flips_cost(flip, int(k)))
        return self.drafted(names, stated, n_queries=int(k), flip=[flip, FLIP_GRID])

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        pairs, answers = columns(reports, "pairs", "answers")
        m, k = len(protocol["items"]), protocol["n_queries"]
        said = end_to_end(answers, k, "wrong number of answers")
        asked = end_to_end(pairs, k, "wrong number of answers")
        answered = bits_of(said).reshape(-1, k)
        first, second = (items.reshape(-1, k) for items in pairs_of(asked, m))
        ordered = np.sort(first * m + second, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            raise RefusedReport("pair asked twice")
        return first, second, answered

    @staticmethod
    def counts(drawn: Drawn, protocol: dict[str, Any]) -> NDArray[np.int64]:
        first, second, answers = drawn
        return counted_wins(first, second, answers, len(protocol["items"]))

    def simulated(self, protocol: dict[str, Any], ballots: Positions, bits: Bits) -> NDArray[np.int64]:
        """Return the counts of what devices draw; with one pair a voter, those who do not tell the truth all at once.

        See `sklearn_dprank.collection.client.hidden`: the law is that of the devices, exactly.
        """
        if protocol["n_queries"] == 1 and self.half is voters_half:
            return hidden.counted_wins(protocol, ballots, bits)
        return super().simulated(protocol, ballots, bits)

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        flip, grid = protocol["flip"]
        return (Tallies(flip / grid, counts),)

    @classmethod
    def law(cls, heard: Heard) -> AnswersLaw | None:
        (tallies,) = cls.estimate(heard.counts, heard.n_reports, heard.protocol)
        return tallies.law

    def combined(self, groups: list[Heard]) -> Any:
        """Return the tallies of all protocols side by side: what reads them knows how much to make of each flip."""
        return tuple(tally for said in groups for tally in self.estimate(said.counts, said.n_reports, said.protocol))

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        """Return the mean square of the margins that one report estimates: B / (K (1 - 2 f)^2) for B pairs."""
        flip, grid = protocol["flip"]
        return n_pairs(len(protocol["items"])) / (protocol["n_queries"] * (1 - 2 * flip / grid) ** 2)


class RandomizedResponse(PairFlips):
    """Each voter answers about `n_queries` distinct random pairs, each by randomised response.

    An answer is the voter's preference, flipped with probability f = 1 / (1 + e^(epsilon / K)), K the
    number of queries; without an opinion on the pair it is a fair coin, flipped likewise. The pairs are
    drawn before the ballot is looked at, so a report is epsilon-locally differentially private.

    Parameters
    ----------
    n_queries : int or None, default=1
        Pairs a voter answers; at most C(n_items, 2). None is the integer beside epsilon / 2 with the least
        error by Yan et al.'s own error function.

    Notes
    -----
    f is rounded up to a multiple of 2^-52 and sampled exactly, so the guarantee holds in the arithmetic
    that runs. Yan et al. print the flip the wrong way round in Algorithm 1 (lines 5-9): the true answer
    is kept with the larger probability here.

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
    called = "randomized response"


def counted_wins(first, second, answers, n_items):
    """Return how many answers put i before j, int64, shape (n_items, n_items)."""
    winner, loser = np.where(answers, first, second), np.where(answers, second, first)
    return np.bincount((winner * n_items + loser).ravel(), minlength=n_items**2).reshape(n_items, n_items)
