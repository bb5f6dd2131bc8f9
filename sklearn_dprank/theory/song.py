"""Song, Lan, Li and Li (2022): the printed noise of DDP-Helnaksort."""

from __future__ import annotations

from decimal import Decimal

from scipy.special import ndtr

from .._utils.checks import Check, check_delta
from .._utils.types import Amount
from ..collection.pairs import PairFlips
from ..collection.protocol import flip_above
from ..privacy.composition import classical_gaussian_sigma

__all__ = ["PrintedGaussian"]


class PrintedGaussian(PairFlips):
    """Thresholded Gaussian noise as printed, for ``randomizer=`` of `ShuffleHierarchical` and `LDPPairwise`.

    Each voter adds Gaussian noise with sigma = K sqrt(2 ln(1.25 / delta)) / epsilon to K answers in {0, 1} and reports
    which of them exceed 1/2. The guarantee states the true epsilon.

    Parameters
    ----------
    delta : float, default=1e-6
        Parameter of the printed noise. The guarantee of the thresholded answers has delta 0.
    n_queries : int or None, default=1
        Number of pairs K that a voter answers, at most C(n_items, 2). Estimators set it to their own `n_queries`.

    Notes
    -----
    Song et al. calibrate with the Gaussian mechanism. Thresholding leaves one bit, flipped with probability f = Phi(-1
    / (2 sigma)). The device draws that flip exactly, so the privacy loss is pure: ln((1 - f) / f). At delta = 1e-4, it
    is .184 where the paper spends 1, for one answer and for four. By the paper's own composition, K answers would spend
    K delta, not delta. Here delta is 0.

    References
    ----------
    Song et al. (2022), Algorithm 1.

    Examples
    --------
    >>> from sklearn_dprank.theory.song import PrintedGaussian
    >>> round(PrintedGaussian(delta=1e-4).spent(epsilon=1.0, items=4), 4)
    0.1838
    """

    parameter_checks: dict[str, Check] = {"delta": check_delta, **PairFlips.parameter_checks}
    name = "gaussian"
    how = "thresholded Gaussian noise"
    is_tight = False

    def __init__(self, delta: Amount = 1e-6, n_queries: int | None = 1) -> None:
        super().__init__(n_queries)
        self.delta = delta

    def flip(self, budget: str | Decimal, n_answers: int) -> int:
        """Return the flip probability of the printed noise, as a numerator over 2^52."""
        sigma = n_answers * classical_gaussian_sigma(float(budget), float(self.delta))
        return flip_above(ndtr(-0.5 / sigma))
