"""A noisy count split among servers: the voter's half of "skellam-shares", where nobody sees more than sums.

A device adds Skellam noise to what its ballot says, modulo a power of two, and splits the result: all shares but the
last are uniform, the last is the difference. Any of them missing, the others are noise and nothing else. Noise of
`min_reports` voters together hides each of them.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ..privacy.skellam import SkellamRelease, skellam_epsilon, skellam_noise
from .ballots import net_wins
from .protocol import is_amount, is_whole, n_pairs, refuse_unless

FIELDS = (
    "statistic",
    "servers",
    "modulus_bits",
    "rate",
    "delta",
    "local_epsilon",
    "min_reports",
    "max_reports",
)
STATED = "local_epsilon"  # what a device can hold the curator to; "epsilon" needs a server, and other voters
RATE_GRID = 2**20  # rates of noise are multiples of 1 / this
MOST_SERVERS = 20
MOST_BITS = 53  # of a share: what every language reads alike in JSON
_MOST_NUMBERS = 200_000  # in a message of at most 2^22 characters
_NEVER = 2**-40  # the chance that a sum leaves the range of the modulus stays below it
STATISTICS = ("net_wins", "margins")


def numbers(protocol):
    """Return how many numbers a voter sends to each server."""
    return len(protocol["items"]) if protocol["statistic"] == "net_wins" else n_pairs(protocol)


def movement(protocol):
    """Return how far one ballot in place of another moves the sum, in l1 and squared l2."""
    m, pairs = len(protocol["items"]), n_pairs(protocol)
    if protocol["statistic"] == "net_wins":
        return 2 * (m * m // 2), Fraction(4 * m * (m * m - 1), 3)
    return 2 * pairs, Fraction(4 * pairs)


def modulus_bits(statistic, n_items, max_reports, rate):
    """Return the least k such that sums of at most `max_reports` voters stay within 2^k, but for a chance of 2^-40.

    By Bernstein's inequality, noise of variance v = 2 rate max_reports on one of d numbers goes beyond t = L / 3 +
    sqrt(L^2 / 9 + 2 v L) with a chance of at most 2^-40 / d, where L = ln(2 d 2^40).
    """
    largest, d = (n_items - 1, n_items) if statistic == "net_wins" else (1, math.comb(n_items, 2))
    tail = math.log(2 * d / _NEVER)
    noise = tail / 3 + math.sqrt(tail**2 / 9 + 4 * rate * max_reports * tail)
    return (2 * (max_reports * largest + math.ceil(noise)) + 1).bit_length()


def check(protocol):
    """Raise `RefusedProtocol` unless the fields of this randomizer are of their form, and keep what they state."""
    bits, rate, least = protocol["modulus_bits"], protocol["rate"], protocol["min_reports"]
    known = type(protocol["statistic"]) is str and protocol["statistic"] in STATISTICS
    refuse_unless(known, "statistic", f"one of {STATISTICS}")
    refuse_unless(numbers(protocol) <= _MOST_NUMBERS, "items", f"so few that {_MOST_NUMBERS:,} numbers are sent")
    refuse_unless(is_whole(protocol["servers"], 2, MOST_SERVERS), "servers", f"an integer from 2 to {MOST_SERVERS}")
    form = type(rate) is list and len(rate) == 2 and is_whole(rate[0], 1) and is_whole(rate[1], RATE_GRID, RATE_GRID)
    refuse_unless(form, "rate", "[numerator, 2^20], above 0")
    refuse_unless(is_whole(least, 1, 2**40), "min_reports", "an integer from 1 to 2^40")
    refuse_unless(is_whole(protocol["max_reports"], least, 2**40), "max_reports", "an integer from min_reports to 2^40")
    for name in ("delta", "local_epsilon"):
        refuse_unless(is_amount(protocol[name]), name, "a positive decimal number as text")
    refuse_unless(0 < float(protocol["delta"]) < 1, "delta", "below 1")
    enough = modulus_bits(protocol["statistic"], len(protocol["items"]), protocol["max_reports"], rate[0] / rate[1])
    refuse_unless(is_whole(bits, enough, MOST_BITS), "modulus_bits", "large enough for max_reports, and at most 53")
    refuse_unless(epsilon_among(protocol, least) <= Decimal(protocol["epsilon"]), "epsilon", "what min_reports give")


def epsilon_among(protocol, n_voters):
    """Return the epsilon of the sum, as a Decimal, where so many voters add their noise."""
    variance = 2 * Fraction(*protocol["rate"]) * n_voters
    return Decimal(skellam_epsilon(float(protocol["delta"]), [SkellamRelease(variance, *movement(protocol))]))


def spent(protocol):
    """Return the epsilon at `delta`, as a Decimal, of one voter's shares together: with all servers against it."""
    return epsilon_among(protocol, 1)


def draw(protocol, ballots, bits):
    """Draw what every voter sends.

    Returns
    -------
    names : ndarray of uint64, shape (n_voters, 2)
        A random number for each report, by which servers agree on whom to count.
    shares : ndarray of int64, shape (n_voters, servers, numbers)
        Below 2^modulus_bits; they add up to the noisy statistic, modulo 2^modulus_bits.
    """
    said = _STATISTIC[protocol["statistic"]](ballots.table, ballots.sentinel)
    modulus = 1 << protocol["modulus_bits"]
    noise = skellam_noise(Fraction(*protocol["rate"]), said.size, bits.noise).reshape(said.shape)
    others = protocol["servers"] - 1
    shares = bits.noise.integers(modulus, others * said.size).reshape(len(said), others, -1)
    last = (said + noise - shares.sum(axis=1)) & (modulus - 1)
    names = bits.assignment.words(2 * len(said)).reshape(len(said), 2)
    return names, np.concatenate([shares, last[:, None]], axis=1)


def messages(protocol, drawn):
    """Return the first voter's messages, as JSON-able data, each with the number of the server that it goes to."""
    names, shares = drawn
    name = "".join(f"{word:016x}" for word in names[0].tolist())
    return [{"report": name, "server": number, "share": share.tolist()} for number, share in enumerate(shares[0])]


def _margins(table, sentinel):
    """Return each voter's margins of all pairs, int64, shape (n_voters, n_pairs): 0 where the ballot does not say."""
    rows, columns = np.triu_indices(len(table), 1)
    first, second = table[rows], table[columns]
    silent = (first == sentinel) | (second == sentinel)
    return np.where(silent, 0, (first < second).astype(np.int64) - (first > second)).T


_STATISTIC = dict(zip(STATISTICS, (net_wins, _margins), strict=True))
