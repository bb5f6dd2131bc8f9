"""Randomised response on a few pairs that each voter draws: the curator's half."""

from numbers import Integral

import numpy as np

from ..devices.protocol import FLIP_GRID
from ..privacy.questions import best_query_count
from ..queries import PairTallies, Tallies, n_pairs
from .base import Randomizer, as_text, drafted, flip_within, listed
from .reports import RefusedReport, fields, require_answer, require_pair


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
        """Return the flip of one of the answers, over 2^52, and the epsilon of all, as text.

        Parameters
        ----------
        epsilon : float
            Of the whole report.
        n_queries : int
            How many answers share it.
        """
        raise NotImplementedError

    def protocol(self, epsilon, items):
        """Return what a device must know, as JSON-able data.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the whole report.
        items : int or list
            Number or names of the items.

        Raises
        ------
        ValueError
            If there are fewer pairs than queries, or a parameter is out of bounds.
        """
        names = listed(items)
        k, most = self.n_queries, n_pairs(len(names))
        if k is None:
            k = best_query_count(epsilon, len(names), randomizer=self._published_as, variant="published")
        if not isinstance(k, Integral) or not 1 <= int(k) <= most:
            raise ValueError(
                f"n_queries must be an integer between 1 and the {most} pairs of {len(names)} items, "
                f"got {self.n_queries!r}."
            )
        flip, stated = self._flip(epsilon, int(k))
        return drafted(self._name, names, stated, n_queries=int(k), flip=[flip, FLIP_GRID])

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
    Warner (1965); Yan, Li and Liu (2020), Section 4.1.

    Examples
    --------
    >>> from sklearn_dprank.randomizers import RandomizedResponse
    >>> RandomizedResponse().protocol(epsilon=1.0, items=4)["randomizer"]
    'rr'
    """

    _name = "rr"

    def _flip(self, epsilon, n_queries):
        stated = as_text(epsilon)
        return flip_within(stated, n_queries), stated


class _TallyCounter:
    """Counts answers in O(n_items^2) memory."""

    def __init__(self, protocol):
        self._protocol = protocol
        self._m = len(protocol["items"])
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

    def add(self, drawn):
        """Count what many devices drew together."""
        first, second, answers = drawn
        self._wins += counted_wins(first, second, answers, self._m)

    def answer(self):
        """Return the tallies."""
        flip, grid = self._protocol["flip"]
        return (Tallies(flip / grid, self._wins),)

    def _checked(self, report):
        pairs, answers = fields(report, "pairs", "answers")
        k = self._protocol["n_queries"]
        if not (isinstance(pairs, list) and isinstance(answers, list) and len(pairs) == len(answers) == k):
            raise RefusedReport("wrong number of answers")
        for answer in answers:
            require_answer(answer)
        for pair in pairs:
            require_pair(pair, self._m)
        if len({tuple(pair) for pair in pairs}) < k:
            raise RefusedReport("pair asked twice")
        return pairs, answers


def counted_wins(first, second, answers, n_items):
    """Return how many answers put i before j, int64, shape (n_items, n_items)."""
    winner, loser = np.where(answers, first, second), np.where(answers, second, first)
    return np.bincount((winner * n_items + loser).ravel(), minlength=n_items**2).reshape(n_items, n_items)
