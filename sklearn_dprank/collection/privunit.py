"""PrivUnit: a noisy direction that leans towards the voter's net wins; both sides.

All complete rankings have net wins w of the same norm R. A report is a standard normal vector, but its component along
v = w / R has another law. There, the part above a public number `gamma` gets e^epsilon times the weight of the part
below: the two `levels` of a protocol. The mean component along v is the `lean`. Reports are shortened to a public
`norm`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_whole, is_whole
from .._utils.types import Amount, Items
from ..queries import NetWins
from ..uncertainty import NormalLaw
from .base import Drawn, LevelsRandomizer, Randomizer, ReceivedReports, listed, net_wins
from .protocol import as_text, check_max_listed, levels_within, refuse_unless
from .reports import columns, end_to_end, whole_numbers

PER_UNIT = 1024  # grid points per unit; gamma is also a multiple of 1 / PER_UNIT
_BLOCK = 1 << 18  # coordinates simulated at a time; temporaries stay in cache


class PrivUnitRandomizer(LevelsRandomizer):
    """Client implementation of "privunit"."""

    fields = ("levels", "gamma", "norm", "points_per_unit")
    optional = ("max_listed",)

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        super().check(protocol)
        check_max_listed(protocol)
        gamma = is_whole(protocol["gamma"], -10 * PER_UNIT, 20 * PER_UNIT)
        refuse_unless(gamma, "gamma", f"an integer, in units of 1/{PER_UNIT}, for a number from -10 to 20")
        refuse_unless(is_whole(protocol["norm"], 1, 2**20), "norm", "an integer from 1 to 2^20")
        refuse_unless(is_whole(protocol["points_per_unit"], PER_UNIT, PER_UNIT), "points_per_unit", PER_UNIT)

    def block(self, protocol):
        """Return the number of voters to simulate at a time."""
        return max(1, _BLOCK // len(protocol["items"]))

    def draw(self, protocol, ballots, bits):
        """Draw a vector of sum zero for every ballot, int64, shape (n_voters, n_items), in points of the grid."""
        wins = net_wins(ballots.table, ballots.sentinel).T.astype(float)
        direction = _directions(wins, bits.coins, bits.assignment, _square(protocol))
        lean = _leans(protocol, direction.shape[1], bits.noise)
        vectors = _centred_normals(direction.shape, bits.noise)
        vectors += direction * (lean - np.einsum("iv,iv->v", vectors, direction))
        vectors *= PER_UNIT * _shortening(vectors.T, protocol["norm"])
        points = np.rint(vectors).astype(np.int64)
        points[-1] = -points[:-1].sum(axis=0)
        return points.T

    def message(self, drawn):
        """Return the first voter's report: the vector without its last coordinate."""
        return {"vector": drawn[0, :-1].tolist()}


def _shortening(vectors, norm):
    """Return a factor for each row of floats that scales it to length `norm` if it is longer."""
    length = np.sqrt(np.einsum("vi,vi->v", vectors, vectors))
    return np.minimum(1.0, norm / np.maximum(length, norm))


def _leans(protocol, size, bits):
    """Draw components along the direction: standard normal numbers, weighted by `levels` above and below gamma."""
    gamma, (high, low) = protocol["gamma"] / PER_UNIT, protocol["levels"]
    above, below = (math.erfc(x / math.sqrt(2)) / 2 for x in (gamma, -gamma))
    rarely = bits.deep_uniform(size) * (high * above + low * below) < low * below
    out = np.empty(size)
    for side, sign, rows in ((-gamma, -1, np.flatnonzero(rarely)), (gamma, 1, np.flatnonzero(~rarely))):
        out[rows] = sign * _above(side, len(rows), bits)
    return out


def _above(gamma, size, bits):
    """Draw standard normal numbers conditioned to exceed `gamma`, by rejection; their tail is not cut off.

    If gamma is positive, proposals are exponential beyond it (Robert, 1995, "Simulation of truncated normal
    variables").
    """
    out = np.empty(0)
    rate = (gamma + math.sqrt(gamma**2 + 4)) / 2
    accepted = math.erfc(gamma / math.sqrt(2)) / 2
    if gamma > 0:  # from 3/4 at 0 to 1
        accepted *= math.sqrt(2 * math.pi) * rate * math.exp(gamma * rate - rate**2 / 2)
    while len(out) < size:
        missing = size - len(out)
        tries = max(10, math.ceil(missing / accepted + 4 * math.sqrt(missing)))
        if gamma > 0:
            drawn = gamma - np.log(bits.deep_uniform(tries)) / rate
            kept = bits.deep_uniform(tries) < np.exp(-((drawn - rate) ** 2) / 2)
        else:
            drawn = _normals(tries, bits)
            kept = drawn > gamma
        out = np.concatenate([out, drawn.take(np.flatnonzero(kept)[:missing])])
    return out


def _normals(size, bits):
    """Draw standard normal numbers in pairs by length and angle (Box and Muller, 1958)."""
    pairs = -(-size // 2)
    length = np.sqrt(-2 * np.log(bits.deep_uniform(pairs)))
    tangent = np.tan(math.pi * bits.uniform(pairs))  # of half the angle: one function for the cosine and the sine
    square = tangent**2
    length /= 1 + square
    return np.concatenate([(1 - square) * length, 2 * tangent * length])[:size]


def _centred_normals(shape, bits):
    """Draw columns from the standard normal distribution on vectors of sum zero."""
    m, n_voters = shape
    if n_voters == 1:  # as the wire format states
        column = _normals(m, bits).reshape(shape)
        return column - column.mean()
    # A reflection turns vectors whose last number is 0 into vectors of sum zero, so m - 1 numbers are enough.
    free = _normals((m - 1) * n_voters, bits).reshape(m - 1, n_voters)
    total = free.sum(axis=0)
    return np.vstack([free - total / (m + math.sqrt(m)), total / -math.sqrt(m)])


def _square(protocol):
    """Return R^2 = k (k^2 - 1) / 3, the squared norm of the net wins of k items, the most that a ballot lists."""
    k = protocol.get("max_listed", len(protocol["items"]))
    return k * (k * k - 1) // 3


def _directions(wins, coins, spare, square):
    """Turn each column of net wins (doubles) into a random unit vector with mean column / R, and return the array.

    return _square(protocol) / m * (along + (m - 2) * across) / lean**2  # the mean square is R^2 / m
    """
    m, n_voters = wins.shape
    # |w|^2 is an integer below 2^53, so it is exact, and strict ballots of full length never flip.
    length = np.sqrt(np.einsum("iv,iv->v", wins, wins))
    flips = 2 * coins.uniform(n_voters) > 1 + length / math.sqrt(square)
    silent = length == 0
    if n_voters == 1:  # a device always draws a random direction: its running time must not reveal the ballot
        wins = np.where(silent, _centred_normals(wins.shape, coins), wins)
        length = np.sqrt(np.einsum("iv,iv->v", wins, wins))
    elif silent.any():
        anywhere = _centred_normals((m, np.count_nonzero(silent)), spare)
        wins[:, silent], length[silent] = anywhere, np.sqrt(np.einsum("iv,iv->v", anywhere, anywhere))
    wins *= np.where(flips, -1.0, 1.0) / length
    return wins


_NODES = 48  # of a quadrature, per interval
_REACH = 9.0  # standard deviations beyond which a normal density is left out


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

    With ``max_listed=k``, R = sqrt(k (k^2 - 1) / 3) is the norm for k items. The error is smaller by the factor
    (k / m)^1.5. A ballot with longer net wins counts as if they had the length R.

    Parameters
    ----------
    max_listed : int or None, default=None
        Public bound on the number of items that a ballot lists, at least 2. None is no bound.

    gamma minimises the variance of the estimate from reports of any length. Reports are shortened to a public norm,
    about half the root of m - 1, so almost every report has this length. The estimate divides by the mean component
    that is left. The length of a report is noise: without it, the error is smaller by 6 % for 4 items, 2 % for 10 and
    1 % for 20 items, at epsilon 1. A voter who lies cannot send a longer vector, which lowers the weight of a lie to a
    fifth, a third and two fifths.

    Reports omit one coordinate, because their sum is zero. They are rounded to a public grid of 1/1024, which is much
    coarser than the last bits of a double. The draws themselves are in double precision.

    References
    ----------
    Bhowmick et al. (2018), "Protection against reconstruction and its applications in private federated
    learning"; Asi, Feldman and Talwar (2022), "Optimal algorithms for mean estimation under local
    differential privacy".

    Examples
    --------
    >>> from sklearn_dprank.collection import PrivUnitG
    >>> protocol = PrivUnitG().protocol(epsilon=1.0, items=10)
    >>> round(PrivUnitG.variance(protocol) ** 0.5 / 2, 1)  # half of it: in Borda scores
    21.3
    """

    name = "privunit"
    how = "PrivUnitG"
    client = PrivUnitRandomizer()
    releases = NetWins()
    arithmetic = "double precision; reports rounded to a public grid"

    def __init__(self, max_listed: int | None = None) -> None:
        self.max_listed = max_listed

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        check_whole(self.max_listed, "max_listed", 2, optional=True)
        names, stated = listed(items), as_text(epsilon)
        short = self.max_listed is not None and self.max_listed < len(names)
        bound = {"max_listed": int(self.max_listed)} if short else {}  # type: ignore[arg-type]
        levels = levels_within(stated)
        spent = math.log(levels[0] / levels[1])
        # gamma minimises the variance of the estimate before shortening, among multiples of 1/1024. Let a be the
        # component along the direction, with mean `lean`. The mean squared length of a report is m - 1 + gamma lean.
        from scipy.special import ndtr

        gammas = np.arange(-PER_UNIT, math.ceil(PER_UNIT * (1 + math.sqrt(2 * spent)))) / PER_UNIT
        lean = np.exp(-(gammas**2) / 2) / math.sqrt(2 * math.pi) / (ndtr(-gammas) + 1 / math.expm1(spent))
        gamma = float(gammas[np.argmin((len(names) - 1 + gammas * lean) / lean**2)])
        norm = max(1, math.isqrt(len(names) - 1) // 2)
        return self.make_protocol(
            names, stated, levels=levels, gamma=round(gamma * PER_UNIT), norm=norm, points_per_unit=PER_UNIT, **bound
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
        points, norm = drawn.astype(float), _largest(protocol)
        long = np.einsum("vi,vi->v", points, points) > norm**2
        clipped = np.rint(points[long] * _shortening(points[long], norm)[:, None]).astype(np.int64)
        return drawn.sum(axis=0) - drawn[long].sum(axis=0) + clipped.sum(axis=0)

    @staticmethod
    def are_counts(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> bool:
        m = len(protocol["items"])
        return counts.shape == (m,) and int(np.abs(counts).max()) <= n_reports * _largest(protocol)

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        radius, lean, *_ = _moments(protocol)
        return radius / lean * counts / (protocol["points_per_unit"] * n_reports)

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        m, (_, lean, along, across) = len(protocol["items"]), _moments(protocol)
        return _square(protocol) / m * (along + (m - 2) * across) / lean**2  # the mean square is R^2 / m

    @classmethod
    def law(cls, received: ReceivedReports) -> NormalLaw:
        """Return a normal distribution close to that of the noise on the mean of many reports.

        If voters rank all items, the variance of a report in every direction is at most that across its own direction,
        or that along it if that is larger. Partial ballots have random directions, so the mean square along the
        direction counts. The worst case is that all voters rank the same two items only. ``most`` covers that case.

        Parameters
        ----------
        received : ReceivedReports
            Counts of the reports of one protocol.

        Returns
        -------
        NormalLaw
            The distribution of the noise on net wins.
        """
        radius, lean, along, across = _moments(received.protocol)
        unit = radius / (lean * math.sqrt(received.n_reports))
        std, most = (unit * math.sqrt(max(across, square)) for square in (along - lean**2, along))
        return NormalLaw(std, grid=0.0, most=most)


def _largest(protocol):
    """Return the largest coordinate of an honest report, in points of the grid, with rounding."""
    return protocol["norm"] * protocol["points_per_unit"] + 1


def _moments(protocol):
    """Return (radius, lean, along, across): the norm of net wins at full length, and moments of a shortened report.

    `lean` is the mean component along the report's direction. `along` and `across` are the mean squares along it, and
    in one direction across it.
    """
    m = len(protocol["items"])
    moments = _quadrature(protocol["gamma"] / PER_UNIT, *protocol["levels"], m, protocol["norm"])
    return math.sqrt(_square(protocol)), *moments


@lru_cache(maxsize=256)
def _quadrature(gamma, high, low, n_items, norm):
    """Return (lean, along, across).

    Let a be the component along the direction before the report is shortened, and b the length across it, which has the
    chi distribution with m - 2 degrees of freedom. The report is multiplied by min(1, norm / sqrt(a^2 + b^2)).
    """
    from scipy.special import xlogy

    # Gauss-Legendre quadrature needs smooth pieces: the density of a jumps at gamma, and shortening begins at `norm`.
    ends = min(gamma, 0.0) - _REACH, max(gamma, 0.0) + _REACH
    edges = sorted({gamma, *ends, *(edge for edge in (-norm, norm) if ends[0] < edge < ends[1])})
    a, weights = (np.concatenate(parts)[:, None] for parts in zip(*map(_nodes, edges[:-1], edges[1:]), strict=True))
    weights = weights * np.exp(-(a**2) / 2) * np.where(a > gamma, 1.0, low / high)
    b, degrees = np.zeros_like(a), n_items - 2
    if degrees:
        middle = math.sqrt(degrees)
        ends = max(middle - _REACH, 0.0), middle + _REACH
        edge = np.clip(np.sqrt(np.maximum(norm**2 - a**2, 0.0)), *ends)  # the report has length `norm` from here on
        b, widths = (np.hstack(parts) for parts in zip(_nodes(ends[0], edge), _nodes(edge, ends[1]), strict=True))
        weights = weights * widths * np.exp(xlogy(degrees - 1, b / middle) - (b**2 - degrees) / 2)
    weights = weights / weights.sum()
    kept = np.minimum(1.0, norm / np.hypot(a, b))
    lean, along, beside = (float((weights * of).sum()) for of in (kept * a, (kept * a) ** 2, (kept * b) ** 2))
    return lean, along, beside / max(degrees, 1)


def _nodes(low, high):
    """Return nodes in an interval and their weights, by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return low + (high - low) / 2 * (1 + nodes), (high - low) / 2 * weights
