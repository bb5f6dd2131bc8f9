"""Client implementation of "hypercube": one sign for every pair, drawn jointly."""

from functools import lru_cache
from itertools import accumulate

import numpy as np

from .ballot import opinions
from .base import ReportRandomizer
from .protocol import check_levels, is_whole, log_ratio, n_pairs, refuse_unless
from .weighted import WeightedLaw

VARIANTS = ("best_cap", "half_tie")
LARGEST = 200  # items; the distribution of the number of differing signs then has 19,901 weights of about as many bits
_BLOCK = 1 << 21  # opinions in memory at a time, in simulations


class HypercubeRandomizer(ReportRandomizer):
    """Client implementation of "hypercube"."""

    fields = ("variant", "levels", "cap")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        cap, variant = protocol["cap"], protocol["variant"]
        refuse_unless(len(protocol["items"]) <= LARGEST, "items", f"at most {LARGEST}")
        refuse_unless(type(variant) is str and variant in VARIANTS, "variant", f"one of {VARIANTS}")
        check_levels(protocol)
        capped = is_whole(cap, 0, (n_pairs(protocol) - 1) // 2) if variant == "best_cap" else cap is None
        refuse_unless(capped, "cap", "less than half the number of pairs for 'best_cap', null for 'half_tie'")

    def spent(self, protocol):
        """Return the epsilon of one report, as a Decimal: the largest log ratio between probabilities of corners."""
        return log_ratio(*protocol["levels"])

    def block(self, protocol):
        """Return the number of voters to simulate at a time."""
        return max(1, _BLOCK // n_pairs(protocol))

    def draw(self, protocol, ballots, bits):
        """Draw a corner near each voter's own, bool, shape (n_voters, n_pairs), with pairs in row-major order.

        True means that the first item of the pair is reported to precede the second.
        """
        corners = opinions(ballots.table, ballots.sentinel, bits.coins)
        differing = differing_law(protocol).sample(ballots.table.shape[1], bits.noise)
        return corners.T ^ _subsets(differing, len(corners), bits.noise)

    def message(self, drawn):
        """Return the first voter's report: one bit for each pair in row-major order, as hexadecimal digits."""
        return {"signs": np.packbits(drawn[0]).tobytes().hex()}


def differing_law(protocol):
    """Return the distribution of the number of signs that differ from the voter's own."""
    return _law_of(n_pairs(protocol), protocol["variant"], protocol["cap"], *protocol["levels"])[0]


def differing_weights(protocol):
    """Return the integer weights of `differing_law`, for 0, ..., C(n_items, 2) signs."""
    return _law_of(n_pairs(protocol), protocol["variant"], protocol["cap"], *protocol["levels"])[1]


@lru_cache(maxsize=16)
def _law_of(d, variant, cap, high, low):
    if variant == "half_tie":
        level = [2 * high if 2 * k < d else 2 * low if 2 * k > d else high + low for k in range(d + 1)]
    else:
        level = [high if k <= cap else low for k in range(d + 1)]
    weights = [corners * relative for corners, relative in zip(_binomials(d), level, strict=True)]
    return WeightedLaw(weights), weights


def _binomials(d):
    """Return C(d, 0), ..., C(d, d)."""
    return list(accumulate(range(1, d + 1), lambda c, k: c * (d - k + 1) // k, initial=1))


def _subsets(sizes, n, bits):
    """Return a uniform subset of 0, ..., n - 1 for each size, as booleans of shape (len(sizes), n)."""
    rows = len(sizes)
    keys = bits.words(-(-rows * n // 2)).view(np.uint32)[: rows * n].reshape(rows, n)
    ordered = np.sort(keys, axis=1)
    largest = ordered[np.arange(rows), np.maximum(sizes, 1) - 1]
    out = (keys <= largest[:, None]) & (sizes > 0)[:, None]
    tied = np.flatnonzero(np.count_nonzero(out, axis=1) != sizes)  # equal keys at the boundary: draw again
    if len(tied):
        out[tied] = _subsets(sizes[tied], n, bits)
    return out
