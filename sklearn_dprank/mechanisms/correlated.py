"""Correlated Gaussian noise for running totals: the noise of each period stays, in part, in all later totals.

Totals are the matrix of prefix sums times the contributions of the periods. The square root of this matrix has the same
shape. Its diagonals are c_0 = 1, c_k = c_{k-1} (2k - 1) / (2k). Each period draws one vector, a *mixture*: fresh noise
plus the contributions of all periods so far, weighted by the square root. Totals are computed from the mixtures only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..privacy.composition import Losses
from ..queries import Query, Sensitivity
from ..sampling.bit_source import BitSource
from ..uncertainty import NormalLaw
from .additive import Gaussian, GaussianNoise

_UNIT = 2**16  # weights are multiples of 1 / _UNIT, so that mixtures are integers and their noise is exact


@lru_cache(maxsize=16)
def root_weights(horizon: int) -> NDArray[np.int64]:
    """Return the first `horizon` diagonals of the square root of the prefix sums, as multiples of 2**-16.

    Rounding costs no privacy, because the noise is calibrated to the rounded weights. It costs no accuracy, because
    totals are solved with the rounded weights.

    Examples
    --------
    >>> root_weights(4) / 2**16
    array([1.    , 0.5   , 0.375 , 0.3125])
    """
    k = np.arange(1, horizon)
    weights = np.rint(_UNIT * np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))).astype(np.int64)
    weights.setflags(write=False)
    return weights


@dataclass(frozen=True)
class CorrelatedNoise:
    """Noise for the running totals of an integer vector over `horizon` periods.

    `noise` is the noise of each mixture, and `sensitivity` that of all mixtures of a stream together.

    References
    ----------
    Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters: fine-grained error bound on differentially private
    continual observation", for the weights; Denisov, McMahan, Rush, Smith and Thakurta (2022), "Improved differential
    privacy for SGD via optimal private linear operators on adaptive streams", for ballots that depend on earlier
    releases.
    """

    noise: GaussianNoise
    sensitivity: Sensitivity
    horizon: int
    arithmetic = "exact"

    @classmethod
    def calibrated(
        cls,
        query: Query,
        sensitivity: Sensitivity,
        n_items: int,
        epsilon: Fraction,
        delta: float,
        horizon: int,
        whole: Fraction,
    ) -> Self:
        """Return the noise that makes all periods together (epsilon, delta)-differentially private.

        `sensitivity` is that of one period's vector, where each ballot is in one period. `epsilon` and `delta` are the
        budget of the stream, and `whole` is the number of such streams that would use up the budget.
        """
        # A ballot of the first period is in all mixtures, a later ballot in fewer.
        squares = sum(weight**2 for weight in root_weights(horizon).tolist())
        sums = sum(root_weights(horizon).tolist())
        all_mixtures = Sensitivity(sensitivity.l1 * sums, sensitivity.l2_squared * squares)
        return cls(Gaussian().calibrated(query, all_mixtures, n_items, epsilon, delta, whole), all_mixtures, horizon)

    @property
    def how(self) -> str:
        """Short description for the guarantee."""
        return f"{self.noise.how}, correlated over {self.horizon} periods,"

    def losses(self) -> Losses:
        """Return the squared mu of the stream."""
        return self.noise.losses(self.sensitivity, 1)

    def law(self, period: int) -> NormalLaw:
        """Return the distribution of the noise on the rounded total after `period` periods.

        Its weights are again those of the square root of the prefix sums, up to rounding.
        """
        weights = root_weights(self.horizon)[:period] / _UNIT
        return NormalLaw(self.noise.sigma / _UNIT * float(np.sqrt(np.square(weights).sum())))

    def added(self, sums: NDArray[Any], published: NDArray[Any], bits: BitSource) -> NDArray[np.float64]:
        """Return the noisy contribution of the last period, shape (k,): the change of the published total.

        Parameters
        ----------
        sums : ndarray of int, shape (n_periods, k)
            Exact vectors of all periods so far.
        published : ndarray of float, shape (n_periods - 1, k)
            Results of this method for the earlier periods.
        bits : BitSource
            Source of fresh noise.

        Notes
        -----
        Only the mixture is drawn. Solving for the last period, in doubles, is post-processing.
        """
        weights = root_weights(self.horizon)[: len(sums)][::-1]
        mixture = self.noise.added(_mixed(weights, sums), bits)
        return (mixture.astype(float) - weights[:-1] @ published) / _UNIT


def _mixed(weights, sums):
    """Return ``weights @ sums`` exactly, in 64-bit integers if they are large enough."""
    if _UNIT * np.abs(sums.astype(float)).sum(axis=0).max() < 2.0**62:
        return weights @ sums.astype(np.int64)
    return weights.astype(object) @ sums.astype(object)
