"""One sign for every pair, all drawn together: the curator's half of Duchi, Jordan and Wainwright's randomizer."""

import math

import numpy as np
from scipy.stats import binom

from ..devices.hypercube import VARIANTS, differing_weights
from ..queries import AllMargins, n_pairs
from .base import Randomizer, as_text, drafted, levels_within, listed
from .reports import RefusedReport, fields


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
    >>> protocol = HypercubeSampling().protocol(epsilon=1.0, items=10)
    >>> round(HypercubeSampling.variance(protocol) ** 0.5, 1)
    16.9
    """

    releases = AllMargins()

    def __init__(self, variant="best_cap"):
        self.variant = variant

    def protocol(self, epsilon, items):
        """Return what a device must know, as JSON-able data.

        Raises
        ------
        ValueError
            If epsilon or the variant is invalid, or there are more than 200 items.
        """
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {VARIANTS}, got {self.variant!r}.")
        names, stated = listed(items), as_text(epsilon)
        levels = levels_within(stated)
        cap = _best_cap(n_pairs(len(names)), epsilon) if self.variant == "best_cap" else None
        return drafted("hypercube", names, stated, variant=self.variant, levels=levels, cap=cap)

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
        return _scale(protocol) ** 2


class _CornerCounter:
    """Counts, for each pair, the reports that put its first item first."""

    def __init__(self, protocol):
        self._protocol = protocol
        self._m = len(protocol["items"])
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
        (signs,) = fields(report, "signs")
        size = -(-self._n_pairs // 8)
        if not isinstance(signs, str) or len(signs) != 2 * size or not set(signs) <= set("0123456789abcdef"):
            raise RefusedReport("not the right number of signs")
        every = np.unpackbits(np.frombuffer(bytes.fromhex(signs), dtype=np.uint8))
        if every[self._n_pairs :].any():
            raise RefusedReport("not the right number of signs")
        self._first += every[: self._n_pairs]
        self._n_reports += 1

    def add(self, drawn):
        """Count what many devices drew together."""
        self._first += np.count_nonzero(drawn, axis=1)
        self._n_reports += drawn.shape[1]

    def answer(self):
        """Return the estimated margins, divided by the number of reports; 0 without reports."""
        out = np.zeros((self._m, self._m))
        signs = 2 * self._first - self._n_reports
        out[np.triu_indices(self._m, 1)] = _scale(self._protocol) * signs / max(1, self._n_reports)
        return out - out.T


def _scale(protocol):
    """Return the multiple of a corner that is unbiased: E z = (1 - 2 E k / d) v, k signs differing."""
    d, weights = n_pairs(len(protocol["items"])), differing_weights(protocol)
    return d * sum(weights) / sum(weight * (d - 2 * k) for k, weight in enumerate(weights))


def _best_cap(d, epsilon):
    """Return the k at which "at most k signs differ" gives the smallest scale.

    With N(k) corners in the cap, the scale is (N(k) (e^epsilon - 1) + 2^d) / ((e^epsilon - 1) C(d - 1, k)).
    """
    k = np.arange((d + 1) // 2)
    inside, edge = binom.cdf(k, d, 0.5), binom.pmf(k, d - 1, 0.5)  # in units of 2^d and of 2^(d-1)
    return int(np.argmax(edge / (inside + math.exp(-epsilon) / -math.expm1(-epsilon))))
