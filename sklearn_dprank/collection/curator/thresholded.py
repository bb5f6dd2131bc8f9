"""Randomizers that threshold noisy answers: randomised response with other flip probabilities."""

from decimal import Decimal

from ..._utils.checks import CALIBRATION, check_delta, check_parameters, or_none
from ..._utils.types import Amount, Calibration
from ...privacy.calibration import classical_gaussian_sigma
from ...privacy.flips import thresholded_gaussian_flip, thresholded_laplace_flip
from ..client.protocol import FLIP_GRID
from .epsilon_grid import flip_within
from .response import PairFlips


class _Thresholded(PairFlips):
    """Base class of thresholded noise, calibrated exactly or as printed."""

    calibration: Calibration

    @property
    def spends_all(self) -> bool:
        return self.calibration == "exact"

    def flip(self, budget: str | Decimal, n_answers: int) -> int:
        check_parameters(self)
        if self.spends_all:
            return flip_within(budget, n_answers)
        return int(self._published_flip(float(budget), n_answers) * FLIP_GRID)

    def _published_flip(self, epsilon, n_answers):
        """Return the flip probability of the noise as printed."""
        raise NotImplementedError


class ThresholdedLaplace(_Thresholded):
    """Thresholded Laplace noise of LDP-KwikSort:Lap, for comparison with its paper.

    Each voter adds Laplace noise to a few answers in {0, 1} and reports which of them exceed 1/2.

    Parameters
    ----------
    n_queries : int or None, default=1
        Number of pairs K that a voter answers, at most C(n_items, 2).
    calibration : {"exact", "published"}, default="exact"
        "published" is Laplace(K / epsilon), as printed. "exact" is the smaller noise that spends all of epsilon, which
        is randomised response.

    Notes
    -----
    In the protocol of Yan et al., voters send the noisy numbers and the curator thresholds them. The numbers spend all
    of epsilon, but the curator uses only the bits. So the device thresholds here. A bit is flipped with probability f =
    e^(-1 / (2 scale)) / 2, which the device draws exactly. Its privacy loss is ln((1 - f) / f). With the printed scale,
    this is only .832 for an epsilon of 1. The paper claims only local individual differential privacy (LiDP). In fact,
    both the numbers and the bits are locally differentially private. `RandomizedResponse` spends all of epsilon on the
    bits.

    References
    ----------
    Yan, Li and Liu (2020), Section 4.5, Algorithms 3 and 4.

    Examples
    --------
    >>> from sklearn_dprank.collection.curator import ThresholdedLaplace
    >>> round(ThresholdedLaplace(calibration="published").spent(epsilon=1.0, items=4), 3)
    0.832
    """

    parameter_checks = {**PairFlips.parameter_checks, **CALIBRATION}
    name = "laplace"
    called = "thresholded Laplace noise"
    _published_as = "laplace"

    def __init__(self, n_queries: int | None = 1, calibration: Calibration = "exact") -> None:
        super().__init__(n_queries)
        self.calibration = calibration

    def _published_flip(self, epsilon, n_answers):
        return thresholded_laplace_flip(n_answers / epsilon)


class ThresholdedGaussian(_Thresholded):
    """Thresholded Gaussian noise of DDP-Helnaksort, for comparison with its paper.

    Each voter adds Gaussian noise to a few answers in {0, 1} and reports which of them exceed 1/2.

    Parameters
    ----------
    n_queries : int or None, default=1
        Number of pairs K that a voter answers, at most C(n_items, 2).
    delta : float or None, default=None
        Parameter of the printed noise, required for ``calibration="published"``. The guarantee has delta 0. With
        ``calibration="exact"``, it must be None or 0.
    calibration : {"exact", "published"}, default="exact"
        "published" is sigma = K sqrt(2 ln(1.25 / delta)) / epsilon, as printed. "exact" is the smaller noise that
        spends all of epsilon, which is randomised response.

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
    >>> from sklearn_dprank.collection.curator import ThresholdedGaussian
    >>> round(ThresholdedGaussian(delta=1e-4, calibration="published").spent(epsilon=1.0, items=4), 4)
    0.1838
    """

    parameter_checks = {**PairFlips.parameter_checks, "delta": or_none(check_delta), **CALIBRATION}
    name = "gaussian"
    called = "thresholded Gaussian noise"

    def __init__(
        self, n_queries: int | None = 1, delta: Amount | None = None, calibration: Calibration = "exact"
    ) -> None:
        super().__init__(n_queries)
        self.delta = delta
        self.calibration = calibration

    def flip(self, budget: str | Decimal, n_answers: int) -> int:
        check_parameters(self)
        if self.spends_all and self.delta:
            raise ValueError(f"calibration='exact' is pure: delta must be None or 0, got {self.delta!r}.")
        return super().flip(budget, n_answers)

    def _published_flip(self, epsilon, n_answers):
        if self.delta is None:
            raise ValueError("calibration='published' needs a delta between 0 and 1, got None.")
        return thresholded_gaussian_flip(n_answers * classical_gaussian_sigma(epsilon, float(self.delta)))
