"""Curator implementation of Gaussian PrivUnit on centred net wins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2

from ..._utils.types import Amount, Items
from ...queries import NetWins
from ...uncertainty import NormalLaw
from ..client.privunit import PER_UNIT, PrivUnitRandomizer, shortened
from .base import Drawn, Randomizer, ReceivedReports, listed
from .epsilon_grid import as_text, levels_within
from .inbox import columns, end_to_end, whole_numbers

_CLIPPED = 1e-12  # bound on the probability that an honest report is longer than the public norm


class PrivUnitG(Randomizer):
    """Randomizer for net wins: each voter reports a noisy vector that leans towards the voter's own.

    All complete rankings have net wins w of the same norm R = sqrt(m (m^2 - 1) / 3). Let v = w / R, and let g be
    standard normal on the vectors of sum zero. The report is g with a new component along v. This component is a
    standard normal that is reweighted: the part above a public number gamma gets e^epsilon times the weight of the part
    below.

    Notes
    -----
    Tied and partial ballots have shorter net wins. Their direction is w / |w| with probability (1 + |w| / R) / 2, and
    the opposite one otherwise. If w = 0, the direction is uniform. So every device sends the same kind of vector, and
    the mean direction is w / R. Completion by coins would be noisier.

    gamma minimises the variance of the estimate. Reports are clipped at a public norm, which an honest one exceeds with
    probability at most 1e-12. They omit one coordinate, because their sum is zero. They are rounded to a public grid of
    1/1024, which is much coarser than the last bits of a double. The draws themselves are in double precision.

    For few items, the original PrivUnit on the sphere is less noisy. At 10 items, it is better by 3 % at epsilon 1 and
    by 9 % at epsilon 4. At 45 items, it is better by less than 1 % up to epsilon 2.

    References
    ----------
    Bhowmick et al. (2018), "Protection against reconstruction and its applications in private federated
    learning"; Asi, Feldman and Talwar (2022), "Optimal algorithms for mean estimation under local
    differential privacy".

    Examples
    --------
    >>> from sklearn_dprank.collection.curator import PrivUnitG
    >>> protocol = PrivUnitG().protocol(epsilon=1.0, items=10)
    >>> round(PrivUnitG.variance(protocol) ** 0.5 / 2, 1)  # half of it: in Borda scores
    21.9
    """

    name = "privunit"
    how = "PrivUnitG"
    client = PrivUnitRandomizer()
    releases = NetWins()
    arithmetic = "double precision; reports rounded to a public grid"

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        names, stated = listed(items), as_text(epsilon)
        levels = levels_within(stated)
        spent = math.log(levels[0] / levels[1])
        gamma = _best_gamma(spent, len(names))
        # The density of a report is at most 1 / `rarest` times the normal density.
        rarest = float(ndtr(-gamma) + ndtr(gamma) * math.exp(-spent))
        norm = math.ceil(math.sqrt(chi2.isf(_CLIPPED * rarest, len(names) - 1)))
        return self.make_protocol(
            names, stated, levels=levels, gamma=round(gamma * PER_UNIT), norm=norm, points_per_unit=PER_UNIT
        )

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        (vectors,) = columns(reports, "vector")
        m, largest = len(protocol["items"]), _largest(protocol)
        numbers = end_to_end(vectors, m - 1, "not the right number of coordinates")
        table = whole_numbers(numbers, -largest, largest, "coordinate out of range").reshape(-1, m - 1)
        return np.column_stack([table, -table.sum(axis=1)])

    @staticmethod
    def counts(drawn: Any, protocol: dict[str, Any]) -> NDArray[np.int64]:
        """Return the sum of the reports, clipped at the public norm.

        The sum is in integers, so it does not depend on the order of the reports.

        Parameters
        ----------
        drawn : ndarray of int64, shape (n_voters, n_items)
            Reports, in points of the public grid.
        protocol : dict
            The protocol.

        Returns
        -------
        ndarray of int64, shape (n_items,)
            The sum, in points of the public grid.
        """
        long = np.einsum("vi,vi->v", drawn, drawn, dtype=float) > _largest(protocol) ** 2
        clipped = np.rint(shortened(drawn[long], _largest(protocol))).astype(np.int64)
        return drawn.sum(axis=0) - drawn[long].sum(axis=0) + clipped.sum(axis=0)

    @staticmethod
    def are_counts(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> bool:
        m = len(protocol["items"])
        return counts.shape == (m,) and int(np.abs(counts).max()) <= n_reports * _largest(protocol)

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        scale = _radius(protocol) / float(_lean(*_shape(protocol)))
        return scale * counts / (protocol["points_per_unit"] * n_reports)

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        m = len(protocol["items"])
        gamma, epsilon = _shape(protocol)
        return (m * m - 1) / 3 * float(_relative_square(gamma, epsilon, m))

    @classmethod
    def law(cls, received: ReceivedReports) -> NormalLaw:
        """Return a normal distribution close to that of the noise on the mean of many reports.

        Let a be the component of a report along its own direction. Its mean square is 1 + gamma E a. Components across
        the direction have mean square 1. If voters rank all items, the variance is at most 1 in every direction. It can
        be larger for partial ballots. The worst case is that all voters rank the same two items only. ``most`` covers
        that case.

        Parameters
        ----------
        received : ReceivedReports
            Counts of the reports of one protocol.

        Returns
        -------
        NormalLaw
            The distribution of the noise on net wins.
        """
        gamma, epsilon = _shape(received.protocol)
        lean = float(_lean(gamma, epsilon))
        std = _radius(received.protocol) / (lean * math.sqrt(received.n_reports))
        return NormalLaw(std, grid=0.0, most=std * math.sqrt(1 + max(gamma * lean, 0.0)))


def _largest(protocol):
    """Return the largest coordinate of an honest report, in points of the grid, with rounding."""
    return protocol["norm"] * protocol["points_per_unit"] + 1


def _radius(protocol):
    """Return the norm of the net wins of a complete ranking."""
    m = len(protocol["items"])
    return math.sqrt(m * (m**2 - 1) / 3)


def _shape(protocol):
    """Return gamma, and the epsilon that the levels spend."""
    high, low = protocol["levels"]
    return protocol["gamma"] / PER_UNIT, math.log(high / low)


def _lean(gamma, epsilon):
    """Return the mean component of a report along its direction."""
    return np.exp(-(gamma**2) / 2) / math.sqrt(2 * math.pi) / (ndtr(-gamma) + 1 / math.expm1(epsilon))


def _relative_square(gamma, epsilon, n_items):
    """Return the mean squared length of a report over the squared length of its mean; E a^2 = 1 + gamma E a."""
    lean = _lean(gamma, epsilon)
    return (n_items - 1 + gamma * lean) / lean**2


def _best_gamma(epsilon, n_items):
    """Return the multiple of 1/1024 that minimises the variance."""
    grid = np.arange(-1024, math.ceil(1024 * (1 + math.sqrt(2 * epsilon)))) / 1024
    return float(grid[np.argmin(_relative_square(grid, epsilon, n_items))])
