"""Noise that is added to a voter's answer and then thresholded: randomised response under other names."""

from decimal import Decimal

from ..._utils.checks import CALIBRATION, check_delta, check_parameters, or_none
from ..._utils.types import Amount, Calibration
from ...privacy.calibration import classical_gaussian_sigma
from ...privacy.flips import thresholded_gaussian_flip, thresholded_laplace_flip
from ..client.protocol import FLIP_GRID
from .epsilon_grid import flip_within
from .response import PairFlips


class _Thresholded(PairFlips):
    """Base of the two noises: exact ones spend all of epsilon, published ones what the paper's noise spends."""

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
        """Return the flip probability of the noise that the paper prints."""
        raise NotImplementedError


class ThresholdedLaplace(_Thresholded):
    """LDP-KwikSort:Lap: each voter adds Laplace noise to a few answers in {0, 1} and reports which exceed 1/2.

    Parameters
    ----------
    n_queries : int or None, default=1
        Pairs K that a voter answers; at most C(n_items, 2).
    calibration : {"exact", "published"}, default="exact"
        "published" is Laplace(K / epsilon), as printed; "exact" is the smaller noise that spends all of
        epsilon, which is randomised response.

    Notes
    -----
    Yan et al. send the noisy numbers and let the curator threshold them. Numbers spend all of epsilon and
    the curator reads no more than their bits, so the device thresholds here. A bit is flipped with
    probability f = e^(-1 / (2 scale)) / 2, which the device draws exactly. Its privacy loss is
    ln((1 - f) / f): with the published scale only .832 of an epsilon of 1. The paper claims local
    individual differential privacy (LiDP) only; numbers and bits are plainly locally differentially
    private, and `RandomizedResponse` uses the room that the bits leave.

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
    """DDP-Helnaksort's device: each voter adds Gaussian noise to a few answers and reports which exceed 1/2.

    Parameters
    ----------
    n_queries : int or None, default=1
        Pairs K that a voter answers; at most C(n_items, 2).
    delta : float or None, default=None
        Enters the published noise, and nothing else: the guarantee is pure.
    calibration : {"exact", "published"}, default="exact"
        "published" is sigma = K sqrt(2 ln(1.25 / delta)) / epsilon, as printed; "exact" is the smaller
        noise that spends all of epsilon, which is randomised response.

    Notes
    -----
    Song et al. calibrate by the Gaussian mechanism. Thresholding leaves one bit, flipped with
    probability f = Phi(-1 / (2 sigma)), so the device draws that flip, exactly, and the loss is pure:
    ln((1 - f) / f), which is .184 where the paper spends 1 at delta = 1e-4, for one answer as for
    four. Composed as the paper does it, K answers would spend K delta, not delta; here delta is 0.

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
