"""Curator implementation of hypercube sampling (Duchi, Jordan and Wainwright)."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._utils.checks import Check, check_parameters, one_of
from ..._utils.types import Amount, Items
from ...queries import AllMargins, n_pairs
from ...uncertainty import AnswersLaw
from ..client.hypercube import VARIANTS, HypercubeRandomizer, differing_weights
from .base import Drawn, Randomizer, ReceivedReports, listed
from .epsilon_grid import as_text, levels_within
from .inbox import RefusedReport, columns

_SIGNS = "not the right number of signs"


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
    >>> from sklearn_dprank.collection.curator import HypercubeSampling
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
        cap = _best_cap(n_pairs(len(names)), epsilon) if self.variant == "best_cap" else None
        return self.make_protocol(names, stated, variant=self.variant, levels=levels, cap=cap)

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        (signs,) = columns(reports, "signs")
        d = n_pairs(len(protocol["items"]))
        if set(map(type, signs)) != {str} or set(map(len, signs)) != {2 * -(-d // 8)}:
            raise RefusedReport(_SIGNS)
        digits = "".join(signs)
        try:
            written = bytes.fromhex(digits)
        except ValueError:
            raise RefusedReport(_SIGNS) from None
        packed = np.frombuffer(written, dtype=np.uint8).reshape(len(signs), -1)
        if (
            written.hex() != digits or (packed[:, -1] & ((1 << -d % 8) - 1)).any()
        ):  # uppercase digits, or bits after the last pair
            raise RefusedReport(_SIGNS)
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
        m = len(protocol["items"])
        out = np.zeros((m, m))
        out[np.triu_indices(m, 1)] = _scale(protocol) * (2 * counts - n_reports) / n_reports
        return out - out.T

    @staticmethod
    def variance(protocol: dict[str, Any]) -> float:
        return _scale(protocol) ** 2

    @classmethod
    def law(cls, received: ReceivedReports) -> AnswersLaw:
        return AnswersLaw(1 / _scale(received.protocol), received.n_reports)


def _scale(protocol):
    """Return the factor that makes a corner unbiased: E z = (1 - 2 E k / d) v, where k signs differ."""
    d, weights = n_pairs(len(protocol["items"])), differing_weights(protocol)
    return d * sum(weights) / sum(weight * (d - 2 * k) for k, weight in enumerate(weights))


def _best_cap(d, epsilon):
    """Return the k for which "at most k signs differ" has the smallest scale.

    If N(k) corners are in the cap, the scale is (N(k) (e^epsilon - 1) + 2^d) / ((e^epsilon - 1) C(d - 1, k)).
    """
    from scipy.stats import binom

    k = np.arange((d + 1) // 2)
    inside, edge = binom.cdf(k, d, 0.5), binom.pmf(k, d - 1, 0.5)  # in units of 2^d and of 2^(d-1)
    return int(np.argmax(edge / (inside + math.exp(-epsilon) / -math.expm1(-epsilon))))
