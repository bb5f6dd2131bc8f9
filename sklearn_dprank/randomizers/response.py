"""Randomised response on a few pairs that each voter draws."""

from numbers import Integral

import numpy as np

from ..privacy.flips import flip_probability
from ..queries import PairTallies, Tallies, n_pairs
from ..theory.yan import best_query_count
from .answers import FLIP_GRID, counted_wins, distinct, flipped_answers, is_answer, is_pair
from .base import Randomizer, RefusedReport, fields, stamped

_BLOCK = 1 << 22  # pair marks held at a time while simulating


class PairFlips(Randomizer):
    """Base of the randomizers that flip the answers about random pairs; they differ in the flip probability.

    Parameters
    ----------
    n_queries : int or None, default=1
        Pairs a voter answers; at most C(n_items, 2). None is the integer beside epsilon / 2 with the least
        error by Yan et al.'s own error function.
    """

    releases = PairTallies()
    _name = ""
    _published_as = "rr"

    def __init__(self, n_queries=1):
        self.n_queries = n_queries

    def _flip(self, epsilon, n_queries):
        """Return the flip probability of one of the answers, and what else the protocol states.

        Parameters
        ----------
        epsilon : float
            Of the whole report.
        n_queries : int
            How many answers share it.
        """
        raise NotImplementedError

    def protocol(self, epsilon, n_items):
        """Return what a client must know, as JSON-able data.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the whole report.
        n_items : int
            Number of items.

        Raises
        ------
        ValueError
            If there are fewer pairs than queries, or a parameter is out of bounds.
        """
        k = self.n_queries
        if k is None:
            k = best_query_count(epsilon, n_items, randomizer=self._published_as, variant="published")
        if not isinstance(k, Integral) or not 1 <= int(k) <= n_pairs(n_items):
            raise ValueError(
                f"n_queries must be an integer between 1 and the {n_pairs(n_items)} pairs of {n_items} items, "
                f"got {self.n_queries!r}."
            )
        flip, stated = self._flip(epsilon, int(k))
        return {
            "version": 1,
            "randomizer": self._name,
            "n_items": int(n_items),
            "n_queries": int(k),
            "epsilon": float(epsilon),
            "flip": [int(flip * FLIP_GRID), FLIP_GRID],
            **stated,
        }

    @staticmethod
    def report(protocol, ballot, bits):
        """Randomise one ballot.

        Parameters
        ----------
        protocol : dict
            As published by the curator.
        ballot : Positions
            Of one voter.
        bits : Bits
            The voter's own randomness.

        Returns
        -------
        dict
            JSON-able; its keys and length do not depend on the ballot.
        """
        first, second, answers = _answer(protocol, ballot, bits)
        pairs = np.column_stack([first[0], second[0]]).tolist()
        return stamped(protocol, pairs=pairs, answers=answers[0].astype(int).tolist())

    @staticmethod
    def counter(protocol):
        """Return an empty counter of reports."""
        return _TallyCounter(protocol)

    @staticmethod
    def variance(protocol):
        """Return the mean square of what one report estimates the voter's margins to be, over all pairs.

        Parameters
        ----------
        protocol : dict
            As published by the curator.

        Returns
        -------
        float
            B / (K (1 - 2 f)^2) for B pairs. Less the mean square of the margins themselves (1 for a
            complete ranking), it is the variance of the unbiased estimate from one report.
        """
        flip, grid = protocol["flip"]
        return n_pairs(protocol["n_items"]) / (protocol["n_queries"] * (1 - 2 * flip / grid) ** 2)


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
    Warner (1965); Yan, Li and Liu (2020), Section 4.1.

    Examples
    --------
    >>> from sklearn_dprank.randomizers import RandomizedResponse
    >>> RandomizedResponse().protocol(epsilon=1.0, n_items=4)["randomizer"]
    'rr'
    """

    _name = "rr"

    def _flip(self, epsilon, n_queries):
        return flip_probability(epsilon / n_queries), {}


class _TallyCounter:
    """Counts answers in O(n_items^2) memory, from reports or from ballots that it randomises itself."""

    def __init__(self, protocol):
        self._protocol = protocol
        self._m = protocol["n_items"]
        self._wins = np.zeros((self._m, self._m), dtype=np.int64)

    def add_report(self, report):
        """Count one report.

        Raises
        ------
        RefusedReport
            If it does not follow the protocol; nothing is counted then.
        """
        pairs, answers = self._checked(report)
        for (i, j), first_wins in zip(pairs, answers, strict=True):
            self._wins[(i, j) if first_wins else (j, i)] += 1

    def add_ballots(self, ballots, bits):
        """Randomise and count every ballot, as if each voter had sent a report."""
        n_voters = ballots.table.shape[1]
        step = max(1, _BLOCK // (n_pairs(self._m) if self._protocol["n_queries"] > 1 else 1))
        for start in range(0, n_voters, step):
            block = ballots._replace(table=ballots.table[:, start : start + step])
            first, second, answers = _answer(self._protocol, block, bits)
            self._wins += counted_wins(first, second, answers, self._m)

    def answer(self):
        """Return the tallies."""
        flip, grid = self._protocol["flip"]
        return (Tallies(flip / grid, self._wins),)

    def _checked(self, report):
        pairs, answers = fields(report, self._protocol, "pairs", "answers")
        k = self._protocol["n_queries"]
        if not (isinstance(pairs, list) and isinstance(answers, list) and len(pairs) == len(answers) == k):
            raise RefusedReport("wrong number of answers")
        if not all(map(is_answer, answers)):
            raise RefusedReport("answer out of range")
        if not all(is_pair(pair, self._m) for pair in pairs):
            raise RefusedReport("pair out of range")
        if len({tuple(pair) for pair in pairs}) < k:
            raise RefusedReport("pair asked twice")
        return pairs, answers


def _answer(protocol, ballots, bits):
    """Draw pairs and answer them for every ballot: (first, second, answer), each (n, K)."""
    rows, columns = np.triu_indices(protocol["n_items"], 1)
    pair = distinct(ballots.table.shape[1], protocol["n_queries"], len(rows), bits.assignment)
    first, second = rows[pair], columns[pair]
    return first, second, flipped_answers(first, second, protocol["flip"][0], ballots, bits)
