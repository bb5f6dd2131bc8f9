"""Hypercube sampling: one sign for every pair, drawn jointly; both sides."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import Check, check_parameters, is_whole, one_of
from .._utils.types import Amount, Items
from ..queries.base import n_pairs
from ..queries.pairs import AllMargins
from ..uncertainty.laws import AnswersLaw
from .base import Drawn, LevelsRandomizer, Randomizer, ReceivedReports, listed, opinions
from .protocol import as_text, levels_within, refuse_unless
from .reports import columns, reject_unless

VARIANTS = ("best_cap", "half_tie")
LARGEST = 200  # items; the distribution of the number of differing signs then has 19,901 weights of about as many bits
_BLOCK = 1 << 21  # opinions in memory at a time, in simulations


class HypercubeRandomizer(LevelsRandomizer):
    """Client implementation of "hypercube"."""

    fields = ("variant", "levels", "cap")

    def check(self, protocol):
        """Raise `RefusedProtocol` unless the fields of this randomizer are valid."""
        cap, variant = protocol["cap"], protocol["variant"]
        refuse_unless(len(protocol["items"]) <= LARGEST, "items", f"at most {LARGEST}")
        refuse_unless(type(variant) is str and variant in VARIANTS, "variant", f"one of {VARIANTS}")
        super().check(protocol)
        capped = is_whole(cap, 0, (n_pairs(len(protocol["items"])) - 1) // 2) if variant == "best_cap" else cap is None
        refuse_unless(capped, "cap", "less than half the number of pairs for 'best_cap', null for 'half_tie'")

    def block(self, protocol):
        """Return the number of voters to simulate at a time."""
        return max(1, _BLOCK // n_pairs(len(protocol["items"])))

    def draw(self, protocol, ballots, bits):
        """Draw a corner near each voter's own, bool, shape (n_voters, n_pairs), with pairs in row-major order.

        True means that the first item of the pair is reported to precede the second.
        """
        corners = opinions(ballots.table, ballots.sentinel, bits.coins)
        law, _ = _differing(len(corners), protocol["variant"], protocol["cap"], *protocol["levels"])
        sizes = law.pick(bits.noise.integers(LEAD, corners.shape[1]), bits.noise)
        return corners.T ^ _subsets(sizes, len(corners), bits.noise)

    def message(self, drawn):
        """Return the first voter's report: one bit for each pair in row-major order, as hexadecimal digits."""
        return {"signs": np.packbits(drawn[0]).tobytes().hex()}


@lru_cache(maxsize=16)
def _differing(d, variant, cap, high, low):
    """Return the distribution of the number of signs, of d, that differ from the voter's own, and its weights."""
    if variant == "half_tie":
        middle = [high + low] if d % 2 == 0 else []  # half of the signs differ
        level = [2 * high] * ((d + 1) // 2) + middle + [2 * low] * ((d + 1) // 2)
    else:
        level = [high] * (cap + 1) + [low] * (d - cap)
    corners = accumulate(range(1, d + 1), lambda c, k: c * (d - k + 1) // k, initial=1)  # C(d, 0), ..., C(d, d)
    weights = [number * relative for number, relative in zip(corners, level, strict=True)]
    return WeightedLaw(weights), weights


def _subsets(sizes, n, bits):
    """Return a uniform subset of 0, ..., n - 1 for each size, as booleans of shape (len(sizes), n)."""
    rows = len(sizes)
    keys = bits.words(-(-rows * n // 2)).view(np.uint32)[: rows * n].reshape(rows, n)
    largest = np.sort(keys, axis=1)[np.arange(rows), np.maximum(sizes, 1) - 1]
    out = (keys <= largest[:, None]) & (sizes > 0)[:, None]
    # Draw again where keys at the boundary are equal; such ties favour no subset.
    tied = np.flatnonzero(np.count_nonzero(out, axis=1) != sizes)
    if len(tied):
        out[tied] = _subsets(sizes[tied], n, bits)
    return out


# Exact draws from finite distributions with integer weights of any size.

#: `WeightedLaw.pick` takes uniform integers below this.
LEAD = 2**63


class WeightedLaw:
    """Distribution of an index k with probability proportional to the positive integer weights[k].

    A draw locates a uniform real number among the cumulative weights. At first, only its leading 63 bits are drawn. If
    they do not determine the index, more bits are drawn. So probabilities are never rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> law, bits = WeightedLaw([1, 10**400, 1]), SeededBits(np.random.SeedSequence(0))
    >>> law.pick(bits.integers(LEAD, 3), bits).tolist()
    [1, 1, 1]
    """

    def __init__(self, weights):
        *self._steps, self._total = accumulate(weights)
        self._leads = np.array([step * LEAD // self._total for step in self._steps], dtype=np.int64)

    def pick(self, leads, bits):
        """Return the index for each of `leads`, uniform integers below `LEAD`; `bits` supplies further bits."""
        index = self._leads.searchsorted(leads)
        ambiguous = index != self._leads.searchsorted(leads, side="right")  # a step lies within the lead
        for row in ambiguous.nonzero()[0]:
            # A uniform point in total * [low, low + 1) / scale: draw bits until its index is determined.
            low, scale, least, most = int(leads[row]), LEAD, 0, 1
            while least < most:
                least = bisect_right(self._steps, low * self._total // scale)
                most = bisect_left(self._steps, -(-(low + 1) * self._total // scale))
                if least < most:
                    low, scale = low << 64 | int(bits.words(1)[0]), scale << 64
            index[row] = least
        return index


_SIGNS = "not the right number of signs"
_DIGITS = re.compile("[0-9a-f]*")


class HypercubeSampling(Randomizer):
    """Randomizer for all margins: each voter reports one sign for every pair.

    The voter's opinions on the d = C(n_items, 2) pairs are a corner v of {-1, 1}^d. Fair coins complete pairs without
    an opinion. The report is a random corner z. Its probability depends only on the number of signs that differ from v.
    It is at most e^epsilon times the probability of any other corner.

    Parameters
    ----------
    variant : {"best_cap", "half_tie"}, default="best_cap"
        "best_cap": a corner is e^epsilon times likelier if at most k of its signs differ. The public number k minimises
        the variance. "half_tie": a corner is e^epsilon times likelier if fewer than half of its signs differ. If
        exactly half differ, it gets the mean of both weights. "best_cap" is better for every epsilon and d.

    Notes
    -----
    Duchi, Jordan and Wainwright draw z from the half space <z, v> >= 0 or from <z, v> <= 0. For even d, both half
    spaces contain the corners with <z, v> = 0. The mechanism is then only ln(1 + e^epsilon)-private (1.313 at epsilon =
    1), and its scale is too small. C(m, 2) is even for m = 4, 5, 8, 9. Both variants of this class are exactly
    epsilon-private and unbiased for any d. For odd d, "half_tie" is the printed mechanism.

    e^epsilon is rounded down to a ratio of integers. The number of differing signs is drawn with integer weights of any
    size. So the guarantee also holds for the computed report.

    References
    ----------
    Duchi, Jordan and Wainwright (2018), "Minimax optimal procedures for locally private estimation";
    Alabi et al. (2022), Theorem 8.

    Examples
    --------
    >>> from sklearn_dprank.collection import HypercubeSampling
    >>> protocol = HypercubeSampling().protocol(epsilon=1.0, items=10)
    >>> round(HypercubeSampling.variance(protocol) ** 0.5, 1)
    16.9
    """

    parameter_checks: dict[str, Check] = {"variant": one_of(*VARIANTS)}
    name = "hypercube"
    how = "hypercube sampling"
    client = HypercubeRandomizer()
    releases = AllMargins()

    def __init__(self, variant: Literal["best_cap", "half_tie"] = "best_cap") -> None:
        self.variant = variant

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        check_parameters(self)
        names, stated = listed(items), as_text(epsilon)
        levels = levels_within(stated)
        cap = None
        if self.variant == "best_cap":
            # With N(k) corners where at most k signs differ, the scale is
            # (N(k) (e^epsilon - 1) + 2^d) / ((e^epsilon - 1) C(d - 1, k)).
            from scipy.stats import binom

            d = n_pairs(len(names))
            k = np.arange((d + 1) // 2)
            inside, edge = binom.cdf(k, d, 0.5), binom.pmf(k, d - 1, 0.5)  # in units of 2^d and of 2^(d-1)
            # The smallest scale has the largest edge / (inside + 1 / (e^epsilon - 1)).
            rest = math.exp(-epsilon) / -math.expm1(-epsilon)  # 1 / (e^epsilon - 1), without overflow
            cap = int(np.argmax(edge / (inside + rest)))
        return self.make_protocol(names, stated, variant=self.variant, levels=levels, cap=cap)

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        (signs,) = columns(reports, "signs")
        d = n_pairs(len(protocol["items"]))
        form = set(map(type, signs)) == {str} and set(map(len, signs)) == {2 * -(-d // 8)}
        reject_unless(form and _DIGITS.fullmatch("".join(signs)), _SIGNS)
        packed = np.frombuffer(bytes.fromhex("".join(signs)), dtype=np.uint8).reshape(len(signs), -1)
        after_the_last_pair = packed[:, -1] & ((1 << -d % 8) - 1)
        reject_unless(not after_the_last_pair.any(), _SIGNS)
        return np.unpackbits(packed, axis=1, count=d).view(bool)

    @staticmethod
    def counts(drawn: Drawn, protocol: dict[str, Any]) -> NDArray[np.int64]:
        return np.count_nonzero(drawn, axis=0)

    @staticmethod
    def are_counts(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> bool:
        d = n_pairs(len(protocol["items"]))
        return counts.shape == (d,) and counts.min() >= 0 and counts.max() <= n_reports

    @staticmethod
    def estimate(counts: NDArray[np.int64], n_reports: int, protocol: dict[str, Any]) -> Any:
        margins = _scale(protocol) * (2 * counts - n_reports) / n_reports
        return AllMargins().read(margins, len(protocol["items"]))

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        return _scale(protocol) ** 2

    @classmethod
    def law(cls, received: ReceivedReports) -> AnswersLaw:
        return AnswersLaw(1 / _scale(received.protocol), received.n_reports)


def _scale(protocol):
    """Return the factor that makes a corner unbiased: E z = (1 - 2 E k / d) v, where k signs differ."""
    d = n_pairs(len(protocol["items"]))
    _, weights = _differing(d, protocol["variant"], protocol["cap"], *protocol["levels"])
    return d * sum(weights) / sum(weight * (d - 2 * k) for k, weight in enumerate(weights))
