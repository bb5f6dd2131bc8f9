"""One bit for every pair, all drawn together: Duchi, Jordan and Wainwright's randomizer of the hypercube."""

import math
from functools import lru_cache
from itertools import accumulate

import numpy as np
from scipy.stats import binom

from ..privacy.checks import check_epsilon
from ..queries import AllMargins, n_pairs
from .ballots import opinions
from .base import Randomizer, RefusedReport, fields, stamped
from .weighted import WeightedLaw

_GRID = 2**52
_BLOCK = 1 << 21  # opinions held at a time while simulating
_VARIANTS = ("best_cap", "half_tie")


class HypercubeSampling(Randomizer):
    """Each voter reports one sign for every pair; together they are a random corner near the voter's own.

    The voter's opinions on the d = C(n_items, 2) pairs are a corner v of {-1, 1}^d, pairs without an
    opinion completed by fair coins. The report z is a corner whose probability depends on how many signs
    differ from v only, and is at most e^epsilon times that of any other.

    Parameters
    ----------
    variant : {"best_cap", "half_tie"}, default="best_cap"
        "best_cap": z is e^epsilon times likelier where at most k signs differ, k being the public number
        that makes the variance least. "half_tie": where fewer than half differ, and where exactly half
        do, the mean of both. "best_cap" is better for every epsilon and d.

    Notes
    -----
    Duchi, Jordan and Wainwright draw z from the half space <z, v> >= 0 or from <z, v> <= 0. At even d
    both hold the corners with <z, v> = 0, which makes their scale too small for what is then only
    ln(1 + e^epsilon)-private (1.313 at epsilon = 1): C(m, 2) is even for m = 4, 5, 8, 9. Both variants
    here are exactly epsilon-private and unbiased for any d; "half_tie" is the printed mechanism at odd d.

    e^epsilon is rounded down to a ratio of integers, and counts of differing signs are drawn with integer
    weights of any size, so the guarantee holds in the arithmetic that runs.

    References
    ----------
    Duchi, Jordan and Wainwright (2018), "Minimax optimal procedures for locally private estimation";
    Alabi et al. (2022), Theorem 8.

    Examples
    --------
    >>> from sklearn_dprank.randomizers import HypercubeSampling
    >>> protocol = HypercubeSampling().protocol(epsilon=1.0, n_items=10)
    >>> round(HypercubeSampling.variance(protocol) ** 0.5, 1)
    16.9
    """

    releases = AllMargins()

    def __init__(self, variant="best_cap"):
        self.variant = variant

    def protocol(self, epsilon, n_items):
        """Return what a client must know, as JSON-able data.

        Raises
        ------
        ValueError
            If epsilon or the variant is invalid.
        """
        check_epsilon(epsilon)
        if self.variant not in _VARIANTS:
            raise ValueError(f"variant must be one of {_VARIANTS}, got {self.variant!r}.")
        # Rounded up, so that _GRID / low is at most e^epsilon.
        low = min(_GRID, max(1, math.ceil(math.exp(-epsilon) * (1 + 2.0**-50 * (1 + epsilon)) * _GRID)))
        return {
            "version": 1,
            "randomizer": "hypercube",
            "n_items": int(n_items),
            "epsilon": float(epsilon),
            "variant": self.variant,
            "levels": [_GRID, low],
            "cap": _best_cap(n_pairs(n_items), epsilon) if self.variant == "best_cap" else None,
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
            JSON-able: ``signs`` is a bit a pair in row-major order, 1 where the first item goes first,
            as hexadecimal digits.
        """
        corner = _answer(protocol, ballot.table, ballot.sentinel, bits)[:, 0]
        return stamped(protocol, signs=np.packbits(corner).tobytes().hex())

    @staticmethod
    def counter(protocol):
        """Return an empty counter of reports."""
        return _CornerCounter(protocol)

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
            Less the mean square of the margins themselves (1 for a complete ranking), it is the variance
            of the unbiased estimate from one report.
        """
        return _law(protocol)[1] ** 2


class _CornerCounter:
    """Counts, for each pair, the reports that put its first item first."""

    def __init__(self, protocol):
        self._protocol = protocol
        self._m = protocol["n_items"]
        self._n_pairs = n_pairs(self._m)
        self._n_reports = 0
        self._first = np.zeros(self._n_pairs, dtype=np.int64)

    def add_report(self, report):
        """Count one report.

        Raises
        ------
        RefusedReport
            If it does not follow the protocol; nothing is counted then.
        """
        (signs,) = fields(report, self._protocol, "signs")
        size = -(-self._n_pairs // 8)
        if not isinstance(signs, str) or len(signs) != 2 * size or not set(signs) <= set("0123456789abcdef"):
            raise RefusedReport("not the right number of signs")
        every = np.unpackbits(np.frombuffer(bytes.fromhex(signs), dtype=np.uint8))
        if every[self._n_pairs :].any():
            raise RefusedReport("not the right number of signs")
        self._first += every[: self._n_pairs]
        self._n_reports += 1

    def add_ballots(self, ballots, bits):
        """Randomise and count every ballot, as if each voter had sent a report."""
        table = ballots.table
        step = max(1, _BLOCK // self._n_pairs)
        for start in range(0, table.shape[1], step):
            corners = _answer(self._protocol, table[:, start : start + step], ballots.sentinel, bits)
            self._first += np.count_nonzero(corners, axis=1)
        self._n_reports += table.shape[1]

    def answer(self):
        """Return the estimated margins, divided by the number of reports; 0 without reports."""
        out = np.zeros((self._m, self._m))
        signs = 2 * self._first - self._n_reports
        out[np.triu_indices(self._m, 1)] = _law(self._protocol)[1] * signs / max(1, self._n_reports)
        return out - out.T


def _answer(protocol, table, sentinel, bits):
    """Draw a corner for every column of `table`, shape (n_pairs, n)."""
    corners = opinions(table, sentinel, bits.coins)
    differing = _law(protocol)[0].sample(table.shape[1], bits.noise)
    return corners ^ _subsets(differing, len(corners), bits.noise).T


def _law(protocol):
    """Return the law of the number of signs that differ, and the scale that makes corners unbiased."""
    return _law_of(n_pairs(protocol["n_items"]), protocol["variant"], protocol["cap"], *protocol["levels"])


@lru_cache(maxsize=16)
def _law_of(d, variant, cap, high, low):
    if variant == "half_tie":
        level = [2 * high if 2 * k < d else 2 * low if 2 * k > d else high + low for k in range(d + 1)]
    else:
        level = [high if k <= cap else low for k in range(d + 1)]
    weights = [corners * relative for corners, relative in zip(_binomials(d), level, strict=True)]
    # E z = (1 - 2 E k / d) v, so that this multiple of z is unbiased.
    scale = d * sum(weights) / sum(weight * (d - 2 * k) for k, weight in enumerate(weights))
    return WeightedLaw(weights), scale


def _binomials(d):
    """Return C(d, 0), ..., C(d, d)."""
    return list(accumulate(range(1, d + 1), lambda c, k: c * (d - k + 1) // k, initial=1))


def _best_cap(d, epsilon):
    """Return the k at which "at most k signs differ" gives the smallest scale.

    With N(k) corners in the cap, the scale is (N(k) (e^epsilon - 1) + 2^d) / ((e^epsilon - 1) C(d - 1, k)).
    """
    k = np.arange((d + 1) // 2)
    inside, edge = binom.cdf(k, d, 0.5), binom.pmf(k, d - 1, 0.5)  # in units of 2^d and of 2^(d-1)
    return int(np.argmax(edge / (inside + math.exp(-epsilon) / -math.expm1(-epsilon))))


def _subsets(sizes, n, bits):
    """Return for each size a uniform subset of 0, ..., n - 1 as booleans, shape (len(sizes), n)."""
    rows = len(sizes)
    keys = bits.words(-(-rows * n // 2)).view(np.uint32)[: rows * n].reshape(rows, n)
    ordered = np.sort(keys, axis=1)
    largest = ordered[np.arange(rows), np.maximum(sizes, 1) - 1]
    out = (keys <= largest[:, None]) & (sizes > 0)[:, None]
    tied = np.flatnonzero(np.count_nonzero(out, axis=1) != sizes)  # two equal keys at the edge: draw again
    if len(tied):
        out[tied] = _subsets(sizes[tied], n, bits)
    return out
