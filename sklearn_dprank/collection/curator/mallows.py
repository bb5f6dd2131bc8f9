"""Curator implementation of the Mallows randomizer, whose reports are rankings."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._utils.checks import check_epsilon
from ..._utils.types import Amount, Items
from ...queries import NetWins, n_pairs
from ..client import mallows as voters_half
from ..client.protocol import FLIP_GRID
from .base import Drawn, Randomizer, listed
from .inbox import RefusedReport, columns, end_to_end, whole_numbers


class MallowsRandomizer(Randomizer):
    """Randomizer for reports that must be rankings: a random ranking around the voter's own.

    Let theta = epsilon / C(n_items, 2). A ranking at Kendall tau distance k from the voter's own has probability
    proportional to e^(-theta k). Fair coins complete tied and partial ballots. `PrivUnitG` is much less noisy: the
    noise here is 3.3 times as large at 10 items and epsilon 1.

    Notes
    -----
    Distances range over 0, ..., C(n_items, 2), and the normaliser is the same for every centre. So the report is
    exactly epsilon-private, without a factor 2. Rankings are drawn by repeated insertion. Its weights e^(-theta v) are
    rounded up to multiples of 2^-52, and the draw from these weights is exact. The largest ratio of probabilities is
    that of all smallest to all largest weights, at most e^epsilon.

    The map from the distribution of rankings to that of reports is invertible. So net wins have exactly one unbiased
    estimate. It gives the item reported at place q (0 is best) the score s(q), with

        s(q - 1) - s(q) = 2 (1 - phi^m) / ((1 - phi^q) (1 - phi^(m - q))),  phi = e^-theta,  sum s = 0.

    The first j reported items are a set of true places, with probability proportional to phi^(sum of the places).
    Consider the probability that place p is in that set, minus the probability that place p + 1 is. Weight this
    difference by the steps of s and sum over j. The result is 2, the difference of the net wins of both places. Linear
    scores are biased.

    References
    ----------
    Mallows (1957); Doignon, Pekec and Regenwetter (2004), for repeated insertion; Zagier (1992),
    "Realizability of a model in infinite statistics", for the inverse.

    Examples
    --------
    >>> from sklearn_dprank.collection.curator import MallowsRandomizer
    >>> protocol = MallowsRandomizer().protocol(epsilon=1.0, items=10)
    >>> round(MallowsRandomizer.variance(protocol) ** 0.5 / 2, 1)  # half of it: in Borda scores
    71.4
    """

    name = "mallows"
    called = "Mallows sampling"
    half = voters_half
    releases = NetWins()

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        check_epsilon(epsilon)
        names = listed(items)
        theta = epsilon / n_pairs(len(names))
        up = 1 + 2.0**-50 * (1 + epsilon)  # more than the rounding of the exponential
        weights = [min(FLIP_GRID, math.ceil(math.exp(-theta * v) * up * FLIP_GRID)) for v in range(len(names))]
        return self.drafted(names, epsilon, weights=[max(1, weight) for weight in weights])

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        (positions,) = columns(reports, "positions")
        m = len(protocol["items"])
        numbers = end_to_end(positions, m, "not one position for each item")
        places = whole_numbers(numbers, 0, m - 1, "not a ranking").reshape(-1, m)
        if (np.sort(places, axis=1) != np.arange(m)).any():
            raise RefusedReport("not a ranking")
        return places

    @staticmethod
    def counts(drawn: Drawn, protocol: dict[str, Any]) -> NDArray[np.int64]:
        """Return the number of reports that put each item at each place, shape (n_items, n_items).

        Parameters
        ----------
        drawn : ndarray of int64, shape (n_voters, n_items)
            Reported positions.
        protocol : dict
            The protocol.

        Returns
        -------
        ndarray of int64, shape (n_items, n_items)
            The numbers, one row for each item.
        """
        m = len(protocol["items"])
        return np.bincount((np.arange(m) * m + drawn).ravel(), minlength=m**2).reshape(m, m)

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        return counts @ _scores(protocol) / n_reports

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        return float(np.mean(_scores(protocol) ** 2))


def _scores(protocol):
    """Return the score of each reported place; the mean score of an item is the voter's net wins."""
    m = len(protocol["items"])
    theta = float(protocol["epsilon"]) / n_pairs(m)
    q = np.arange(1, m)
    steps = -2 * math.expm1(-theta * m) / (np.expm1(-theta * q) * np.expm1(-theta * (m - q)))
    return steps.sum() / 2 - np.concatenate([[0.0], np.cumsum(steps)])
