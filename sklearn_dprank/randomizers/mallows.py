"""A whole ranking as a report: Mallows' model around the voter's own."""

import math
from functools import lru_cache

import numpy as np

from ..privacy.checks import check_epsilon
from ..queries import NetWins, n_pairs
from ..rankings import completed
from .base import Randomizer, RefusedReport, fields, stamped
from .weighted import LEAD, WeightedLaw

_GRID = 2**52
_BLOCK = 1 << 20  # positions held at a time while simulating


class MallowsRandomizer(Randomizer):
    """Each voter reports a random ranking, likelier the fewer pairs it puts the other way round.

    A ranking at Kendall tau distance k from the voter's own has probability proportional to
    e^(-theta k), theta = epsilon / C(n_items, 2). Tied and partial ballots are completed by fair coins.

    Notes
    -----
    Distances range over 0, ..., C(n_items, 2) and the normaliser is the same for every centre, so this is
    exactly epsilon-private without a factor 2. Rankings are drawn by repeated insertion with weights
    e^(-theta v) rounded up to multiples of 2^-52, from which the draw is exact: the largest ratio is that
    of all smallest to all largest weights, at most e^epsilon.

    The channel from rankings to reports is invertible, so there is one unbiased estimate of net wins and
    no other: the item reported at place q (0 is best) gets the score s(q), with

        s(q - 1) - s(q) = 2 (1 - phi^m) / ((1 - phi^q) (1 - phi^(m - q))),  phi = e^-theta,  sum s = 0.

    For the first j items reported are a set of true places with probability proportional to
    phi^(sum of the places); how much likelier place p is in that set than place p + 1, weighted by the
    steps of s and summed over j, is 2: the difference of their net wins. Linear scores are biased.

    This is far noisier than `PrivUnitG` (3.3 times at 10 items, epsilon 1). It is for those who must
    release rankings.

    References
    ----------
    Mallows (1957); Doignon, Pekec and Regenwetter (2004), for repeated insertion; Zagier (1992),
    "Realizability of a model in infinite statistics", for the inverse.

    Examples
    --------
    >>> from sklearn_dprank.randomizers import MallowsRandomizer
    >>> protocol = MallowsRandomizer().protocol(epsilon=1.0, n_items=10)
    >>> round(MallowsRandomizer.variance(protocol) ** 0.5 / 2, 1)  # half of it: in Borda scores
    71.4
    """

    releases = NetWins()

    def protocol(self, epsilon, n_items):
        """Return what a client must know, as JSON-able data.

        Raises
        ------
        ValueError
            If epsilon is invalid.
        """
        check_epsilon(epsilon)
        theta = epsilon / n_pairs(n_items)
        up = 1 + 2.0**-50 * (1 + epsilon)  # more than the rounding of the exponential
        weights = [min(_GRID, math.ceil(math.exp(-theta * v) * up * _GRID)) for v in range(n_items)]
        return {
            "version": 1,
            "randomizer": "mallows",
            "n_items": int(n_items),
            "epsilon": float(epsilon),
            "weights": [max(1, weight) for weight in weights],
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
            JSON-able: ``positions`` says where the report puts each item; 0 is best.
        """
        return stamped(protocol, positions=_answer(protocol, ballot.table, ballot.sentinel, bits)[0].tolist())

    @staticmethod
    def counter(protocol):
        """Return an empty counter of reports."""
        return _PlaceCounter(protocol)

    @staticmethod
    def variance(protocol):
        """Return the mean square of what one report estimates the voter's net wins to be, over all items.

        Parameters
        ----------
        protocol : dict
            As published by the curator.

        Returns
        -------
        float
            Less the mean square of the net wins themselves ((m^2 - 1) / 3 for a complete ranking), it is
            the variance of the unbiased estimate from one report, averaged over the items.
        """
        return float(np.mean(_scores(protocol) ** 2))


class _PlaceCounter:
    """Counts how often each item is reported at each place."""

    def __init__(self, protocol):
        self._protocol = protocol
        self._m = protocol["n_items"]
        self._n_reports = 0
        self._counts = np.zeros((self._m, self._m), dtype=np.int64)

    def add_report(self, report):
        """Count one report.

        Raises
        ------
        RefusedReport
            If it does not follow the protocol; nothing is counted then.
        """
        (positions,) = fields(report, self._protocol, "positions")
        if not isinstance(positions, list) or len(positions) != self._m:
            raise RefusedReport("not one position for each item")
        if not all(type(p) is int for p in positions) or sorted(positions) != list(range(self._m)):
            raise RefusedReport("not a ranking")
        self._counts[np.arange(self._m), positions] += 1
        self._n_reports += 1

    def add_ballots(self, ballots, bits):
        """Randomise and count every ballot, as if each voter had sent a report."""
        table = ballots.table
        step = max(1, _BLOCK // self._m)
        for start in range(0, table.shape[1], step):
            positions = _answer(self._protocol, table[:, start : start + step], ballots.sentinel, bits)
            cells = np.bincount((np.arange(self._m) * self._m + positions).ravel(), minlength=self._m**2)
            self._counts += cells.reshape(self._m, self._m)
        self._n_reports += table.shape[1]

    def answer(self):
        """Return the estimated net wins, divided by the number of reports; 0 without reports."""
        return self._counts @ _scores(self._protocol) / max(1, self._n_reports)


def _scores(protocol):
    """Return the score of each reported place whose mean is the voter's net wins."""
    m = protocol["n_items"]
    theta = protocol["epsilon"] / n_pairs(m)
    q = np.arange(1, m)
    steps = -2 * math.expm1(-theta * m) / (np.expm1(-theta * q) * np.expm1(-theta * (m - q)))
    return steps.sum() / 2 - np.concatenate([[0.0], np.cumsum(steps)])


def _answer(protocol, table, sentinel, bits):
    """Draw a ranking for every column of `table` by repeated insertion: positions, shape (n, n_items)."""
    places = completed(table, sentinel, bits.coins).T
    m, n_voters = table.shape
    leads = bits.noise.integers(LEAD, m * n_voters).reshape(m, n_voters)
    at = np.empty((m, n_voters), dtype=np.int64)  # where each place of the ballot is put
    for place, law in enumerate(_overtaking(tuple(protocol["weights"]))):
        earlier = at[:place]
        at[place] = place - law.pick(leads[place], bits.noise)
        earlier += earlier >= at[place]
    return np.take_along_axis(at.T, places, axis=1)


@lru_cache(maxsize=16)
def _overtaking(weights):
    """Return for each place the law of how many of its predecessors it overtakes."""
    return [WeightedLaw(weights[: place + 1]) for place in range(len(weights))]
