"""Randomised response on a few pairs that each voter draws."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from ..privacy.flips import flip_probability
from ..queries import PairTallies, Tallies, n_pairs

_FLIP_GRID = 2**52  # flip probabilities are multiples of 1 / this, so they are drawn exactly
_BLOCK = 1 << 22  # pair marks held at a time while simulating


class RefusedReport(ValueError):
    """A report that does not follow the protocol; `reason` echoes nothing of it."""

    def __init__(self, reason):
        super().__init__(f"report refused: {reason}")
        self.reason = reason


class RandomizedResponse(BaseEstimator):
    """Each voter answers about `n_queries` distinct random pairs, each by randomised response.

    An answer is the voter's preference, flipped with probability f = 1 / (1 + e^(epsilon / K)), K the
    number of queries; without an opinion on the pair it is a fair coin, flipped likewise. The pairs are
    drawn before the ballot is looked at, so a report is epsilon-locally differentially private.

    Parameters
    ----------
    n_queries : int, default=1
        Pairs a voter answers; at most C(n_items, 2).

    Notes
    -----
    f is rounded up to a multiple of 2^-52 and sampled exactly, so the guarantee holds in the arithmetic
    that runs. Yan et al. print the flip the wrong way round in Algorithm 1 (lines 5-9): the true answer
    is kept with the larger probability here.

    References
    ----------
    Warner (1965); Yan, Li and Li (2020), Section 4.1.

    Examples
    --------
    >>> from sklearn_dprank.randomizers import RandomizedResponse
    >>> RandomizedResponse().protocol(epsilon=1.0, n_items=4)["randomizer"]
    'rr'
    """

    releases = PairTallies()
    arithmetic = "exact"

    def __init__(self, n_queries=1):
        self.n_queries = n_queries

    def protocol(self, epsilon, n_items):
        """Return what a client must know, as JSON-able data.

        Raises
        ------
        ValueError
            If there are fewer pairs than queries.
        """
        if not isinstance(self.n_queries, Integral) or not 1 <= int(self.n_queries) <= n_pairs(n_items):
            raise ValueError(
                f"n_queries must be an integer between 1 and the {n_pairs(n_items)} pairs of {n_items} items, "
                f"got {self.n_queries!r}."
            )
        flip = int(flip_probability(epsilon / self.n_queries) * _FLIP_GRID)
        return {
            "version": 1,
            "randomizer": "rr",
            "n_items": int(n_items),
            "n_queries": int(self.n_queries),
            "epsilon": float(epsilon),
            "flip": [flip, _FLIP_GRID],
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
        first, second, answers = _answer(protocol, ballot.table, ballot.sentinel, bits)
        return {
            "version": protocol["version"],
            "randomizer": protocol["randomizer"],
            "pairs": np.column_stack([first[0], second[0]]).tolist(),
            "answers": answers[0].astype(int).tolist(),
        }

    @staticmethod
    def counter(protocol):
        """Return an empty counter of reports."""
        return _TallyCounter(protocol)


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
        table, k = ballots.table, self._protocol["n_queries"]
        step = max(1, _BLOCK // (n_pairs(self._m) if k > 1 else 1))
        for start in range(0, table.shape[1], step):
            first, second, answers = _answer(self._protocol, table[:, start : start + step], ballots.sentinel, bits)
            winner, loser = np.where(answers, first, second), np.where(answers, second, first)
            cells = np.bincount((winner * self._m + loser).ravel(), minlength=self._m**2)
            self._wins += cells.reshape(self._m, self._m)

    def answer(self):
        """Return the tallies."""
        flip, grid = self._protocol["flip"]
        return (Tallies(flip / grid, self._wins),)

    def _checked(self, report):
        if not isinstance(report, dict):
            raise RefusedReport("not a JSON object")
        if report.get("version") != self._protocol["version"] or report.get("randomizer") != "rr":
            raise RefusedReport("wrong version")
        if set(report) != {"version", "randomizer", "pairs", "answers"}:
            raise RefusedReport("wrong keys")
        pairs, answers = report["pairs"], report["answers"]
        k = self._protocol["n_queries"]
        if not (isinstance(pairs, list) and isinstance(answers, list) and len(pairs) == len(answers) == k):
            raise RefusedReport("wrong number of answers")
        if not all(type(a) is int and a in (0, 1) for a in answers):
            raise RefusedReport("answer out of range")
        if not all(
            isinstance(p, list) and len(p) == 2 and all(type(i) is int for i in p) and 0 <= p[0] < p[1] < self._m
            for p in pairs
        ):
            raise RefusedReport("pair out of range")
        if len({tuple(p) for p in pairs}) < k:
            raise RefusedReport("pair asked twice")
        return pairs, answers


def _answer(protocol, table, sentinel, bits):
    """Draw pairs and answer them for every column of `table`: (first, second, answer), each (n, K)."""
    n_voters, k = table.shape[1], protocol["n_queries"]
    rows, columns = np.triu_indices(protocol["n_items"], 1)
    pair = distinct(n_voters, k, len(rows), bits.assignment)
    first, second = rows[pair], columns[pair]
    voter = np.arange(n_voters)[:, None]
    here, there = table[first, voter], table[second, voter]
    silent = (here == there) | (here == sentinel) | (there == sentinel)
    coins = bits.coins.coins(n_voters * k).reshape(n_voters, k)
    flips = bits.noise.integers(_FLIP_GRID, n_voters * k).reshape(n_voters, k) < protocol["flip"][0]
    return first, second, np.where(silent, coins, here < there) ^ flips


def distinct(rows, k, n, bits):
    """Return `rows` independent uniform k-subsets of 0, ..., n - 1, shape (rows, k), by Floyd's algorithm."""
    out = np.empty((rows, k), dtype=np.int64)
    if k == 1:
        out[:, 0] = bits.integers(n, rows)
        return out
    taken = np.zeros((rows, n), dtype=bool)
    every = np.arange(rows)
    for column, top in enumerate(range(n - k, n)):
        pick = bits.integers(top + 1, rows)
        pick = np.where(taken[every, pick], top, pick)
        taken[every, pick] = True
        out[:, column] = pick
    return out
