"""Client implementation of "privunit": a noisy direction that leans towards the voter's net wins."""

import math

import numpy as np

from .ballot import net_wins
from .base import ReportRandomizer
from .protocol import check_levels, is_whole, log_ratio, refuse_unless

PER_UNIT = 1024  # grid points per unit; gamma is also a multiple of 1 / PER_UNIT
_BLOCK = 1 << 18  # coordinates simulated at a time; temporaries stay in cache


class PrivUnitRandomizer(ReportRandomizer):
    """Client implementation of "privunit"."""

    fields = ("levels", "gamma", "norm", "points_per_unit")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        check_levels(protocol)
        gamma = is_whole(protocol["gamma"], -10 * PER_UNIT, 20 * PER_UNIT)
        refuse_unless(gamma, "gamma", f"an integer, in units of 1/{PER_UNIT}, for a number from -10 to 20")
        refuse_unless(is_whole(protocol["norm"], 1, 2**20), "norm", "an integer from 1 to 2^20")
        refuse_unless(is_whole(protocol["points_per_unit"], PER_UNIT, PER_UNIT), "points_per_unit", PER_UNIT)

    def spent(self, protocol):
        """Return the epsilon of one report, as a Decimal: the log ratio of the weights above and below gamma."""
        return log_ratio(*protocol["levels"])

    def block(self, protocol):
        """Return the number of voters to simulate at a time."""
        return max(1, _BLOCK // len(protocol["items"]))

    def draw(self, protocol, ballots, bits):
        """Draw a vector of sum zero for every ballot, int64, shape (n_voters, n_items), in points of the grid."""
        direction = _directions(net_wins(ballots.table, ballots.sentinel), bits.coins, bits.assignment)
        lean = _leans(protocol, len(direction), bits.noise)
        noise = _centred_normals(direction.shape, bits.noise)
        noise += (lean - np.einsum("vi,vi->v", noise, direction))[:, None] * direction
        grid = shortened(noise, protocol["norm"])
        grid *= PER_UNIT
        points = np.rint(grid, out=grid).astype(np.int64)
        points[:, -1] = -points[:, :-1].sum(axis=1)
        return points

    def message(self, drawn):
        """Return the first voter's report: the vector without its last coordinate."""
        return {"vector": drawn[0, :-1].tolist()}


def shortened(vectors, norm):
    """Return each row, scaled to length `norm` if it is longer."""
    length = np.sqrt(np.einsum("vi,vi->v", vectors, vectors, dtype=float))
    return vectors * np.minimum(1.0, norm / np.maximum(length, norm))[:, None]


def _leans(protocol, size, bits):
    """Draw components along the direction: standard normal numbers, weighted by `levels` above and below gamma."""
    gamma, (high, low) = protocol["gamma"] / PER_UNIT, protocol["levels"]
    above, below = (math.erfc(x / math.sqrt(2)) / 2 for x in (gamma, -gamma))
    rarely = bits.deep_uniform(size) * (high * above + low * below) < low * below
    out = np.empty(size)
    out[rarely] = -_above(-gamma, np.count_nonzero(rarely), bits)
    out[~rarely] = _above(gamma, size - np.count_nonzero(rarely), bits)
    return out


def _above(gamma, size, bits):
    """Draw standard normal numbers conditioned to exceed `gamma`, by rejection; their tail is not cut off.

    If gamma is positive, proposals are exponential beyond it (Robert, 1995, "Simulation of truncated normal
    variables").
    """
    out = np.empty(0)
    rate = (gamma + math.sqrt(gamma**2 + 4)) / 2
    while len(out) < size:
        tries = 2 * (size - len(out)) + 8
        if gamma > 0:
            drawn = gamma - np.log(bits.deep_uniform(tries)) / rate
            kept = bits.deep_uniform(tries) < np.exp(-((drawn - rate) ** 2) / 2)
        else:
            drawn = _normals(tries, bits)
            kept = drawn > gamma
        out = np.concatenate([out, drawn[kept]])
    return out[:size]


def _normals(size, bits):
    """Draw standard normal numbers in pairs by length and angle (Box and Muller, 1958)."""
    pairs = -(-size // 2)
    length = np.sqrt(-2 * np.log(bits.deep_uniform(pairs)))
    tangent = np.tan(math.pi * bits.uniform(pairs))  # of half the angle: one function for the cosine and the sine
    length /= 1 + tangent * tangent
    return np.concatenate([length * (1 - tangent * tangent), length * (2 * tangent)])[:size]


def _centred_normals(shape, bits):
    """Draw rows from the standard normal distribution on vectors of sum zero."""
    rows = _normals(shape[0] * shape[1], bits).reshape(shape)
    rows -= rows.mean(axis=1, keepdims=True)
    return rows


def _directions(wins, coins, spare):
    """Draw a random unit vector for each row of net wins, with mean row / R.

    R = sqrt(m (m^2 - 1) / 3) is the norm of the net wins of a complete ranking. `coins` draws the directions of a
    device. `spare` draws those of many voters, and only for ballots without opinions, so that these do not change the
    words of others.
    """
    n_voters, m = wins.shape
    square = np.einsum("vi,vi->v", wins, wins)
    # |w|^2 is an integer of at most m (m^2 - 1) / 3, so complete rankings never flip.
    share = np.sqrt(square / (m * (m * m - 1) // 3))
    flips = 2 * coins.uniform(n_voters) > 1 + share
    silent = square == 0
    if n_voters == 1:  # a device always draws a random direction: its running time must not reveal the ballot
        vector = np.where(silent[:, None], _centred_normals(wins.shape, coins), wins)
    else:
        vector = wins.astype(float)
        vector[silent] = _centred_normals((np.count_nonzero(silent), m), spare)
    vector /= np.sqrt(np.einsum("vi,vi->v", vector, vector))[:, None]
    vector *= np.where(flips, -1.0, 1.0)[:, None]
    return vector
