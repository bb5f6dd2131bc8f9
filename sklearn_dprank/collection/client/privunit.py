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
        wins = net_wins(ballots.table, ballots.sentinel).T.astype(float)
        direction = _directions(wins, bits.coins, bits.assignment)
        lean = _leans(protocol, direction.shape[1], bits.noise)
        vectors = _centred_normals(direction.shape, bits.noise)
        lean -= np.einsum("iv,iv->v", vectors, direction)
        direction *= lean
        vectors += direction
        vectors *= PER_UNIT * _shortening(vectors.T, protocol["norm"])
        points = np.rint(vectors, out=vectors).astype(np.int64)
        points[-1] = -points[:-1].sum(axis=0)
        return points.T

    def message(self, drawn):
        """Return the first voter's report: the vector without its last coordinate."""
        return {"vector": drawn[0, :-1].tolist()}


def shortened(vectors, norm):
    """Return each row, scaled to length `norm` if it is longer."""
    return vectors * _shortening(vectors, norm)[:, None]


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
            drawn = bits.deep_uniform(tries)
            np.log(drawn, out=drawn)
            drawn /= -rate
            drawn += gamma
            least = drawn - rate
            least *= least
            least *= -0.5
            kept = bits.deep_uniform(tries) < np.exp(least, out=least)
        else:
            drawn = _normals(tries, bits)
            kept = drawn > gamma
        out = np.concatenate([out, drawn.take(np.flatnonzero(kept)[:missing])])
    return out


def _normals(size, bits):
    """Draw standard normal numbers in pairs by length and angle (Box and Muller, 1958)."""
    pairs = -(-size // 2)
    length = bits.deep_uniform(pairs)
    np.log(length, out=length)
    length *= -2
    np.sqrt(length, out=length)
    tangent = bits.uniform(pairs)  # of half the angle: one function for the cosine and the sine
    tangent *= math.pi
    np.tan(tangent, out=tangent)
    square = tangent * tangent
    out = np.empty((2, pairs))
    cosines, sines = out
    length /= np.add(square, 1, out=cosines)
    np.subtract(1, square, out=cosines)
    cosines *= length
    np.multiply(length, tangent, out=sines)
    sines *= 2
    return out.ravel()[:size]


def _centred_normals(shape, bits):
    """Draw columns from the standard normal distribution on vectors of sum zero."""
    m, n_voters = shape
    if n_voters == 1:  # as the wire format states
        column = _normals(m, bits).reshape(shape)
        return column - column.mean()
    # A reflection turns vectors whose last number is 0 into vectors of sum zero, so m - 1 numbers are enough.
    free = _normals((m - 1) * n_voters, bits).reshape(m - 1, n_voters)
    total = free.sum(axis=0)
    columns = np.empty(shape)
    np.subtract(free, total / (m + math.sqrt(m)), out=columns[:-1])
    np.divide(total, -math.sqrt(m), out=columns[-1])
    return columns


def _directions(wins, coins, spare):
    """Turn each column of net wins (doubles) into a random unit vector with mean column / R, and return the array.

    R = sqrt(m (m^2 - 1) / 3) is the norm of the net wins of a complete ranking. `coins` draws the directions of a
    device. `spare` draws those of many voters, and only for ballots without opinions, so that these do not change the
    words of others.
    """
    m, n_voters = wins.shape
    # |w|^2 is an integer of at most R^2 < 2^53, so it is exact, and complete rankings never flip.
    length = np.sqrt(np.einsum("iv,iv->v", wins, wins))
    flips = 2 * coins.uniform(n_voters) > 1 + length / math.sqrt(m * (m * m - 1) // 3)
    silent = length == 0
    if n_voters == 1:  # a device always draws a random direction: its running time must not reveal the ballot
        wins = np.where(silent, _centred_normals(wins.shape, coins), wins)
        length = np.sqrt(np.einsum("iv,iv->v", wins, wins))
    elif silent.any():
        anywhere = _centred_normals((m, np.count_nonzero(silent)), spare)
        wins[:, silent], length[silent] = anywhere, np.sqrt(np.einsum("iv,iv->v", anywhere, anywhere))
    wins *= np.where(flips, -1.0, 1.0) / length
    return wins
