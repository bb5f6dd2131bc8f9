"""Additive noise, calibrated to a query's sensitivity."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..orders.permutohedron import knorm_noise
from ..privacy.calibration import gaussian_sigma
from ..privacy.gaussian import rounded_gaussian
from ..privacy.noise import discrete_laplace, round_down

_LIMIT = 2**48  # terms of a rate of Laplace noise stay below it
_SMALL = Fraction(1, 2**16)  # below it a rate of terms below 2**31 may be some 2**-15 too small
_BLOCK = 1 << 17  # entries that get noise at a time: a histogram has millions


@dataclass(frozen=True)
class LaplaceNoise:
    """Exact discrete Laplace noise, P(z) proportional to exp(-rate |z|) (Canonne, Kamath and Steinke 2020)."""

    rate: Fraction
    arithmetic = "exact"
    how = "discrete Laplace noise"

    def release(self, query, vector, bits):
        """Return the integer vector with independent noise on every entry, drawn block by block."""
        if len(vector) <= _BLOCK:
            return vector + discrete_laplace(self.rate, len(vector), bits)
        out = np.array(vector)
        for start in range(0, len(out), _BLOCK):
            block = out[start : start + _BLOCK]
            block += discrete_laplace(self.rate, len(block), bits)
        return out


@dataclass(frozen=True)
class GaussianNoise:
    """A continuous Gaussian around the value, rounded to an integer: post-processing of the Gaussian mechanism."""

    sigma: float
    arithmetic = "exact"
    how = "rounded Gaussian noise"

    def release(self, query, vector, bits):
        """Return the integer vector with independent noise on every entry, on a coarser public grid if it is huge."""
        return rounded_gaussian(vector, self.sigma, bits)


@dataclass(frozen=True)
class KNormNoise:
    """K-norm noise on net wins, shaped like the permutohedron; only the order is released.

    References
    ----------
    Hardt and Talwar (2010); Joseph and Yu (2023).
    """

    scale: float
    arithmetic = "double precision K-norm sampler; only the order is released"
    how = "K-norm noise"

    def release(self, query, vector, bits):
        """Return net wins that have the noisy order and nothing else of the noisy values."""
        n_items = len(vector)
        # The sampler speaks centred Borda scores; net wins are twice as wide.
        noisy = vector + 2 * knorm_noise(n_items, self.scale, bits)
        out = np.empty(n_items, dtype=np.int64)
        out[np.argsort(noisy)] = np.arange(1 - n_items, n_items, 2)
        return out


def additive_noise(noise, sensitivity, epsilon, delta, times=1):
    """Return the noise that makes `times` adaptive answers (epsilon, delta)-differentially private together.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "knorm"}
        Which noise.
    sensitivity : Sensitivity
        Of one answer.
    epsilon : Fraction
        Budget of all answers together.
    delta : float
        Likewise; 0 for pure noise.
    times : int, default=1
        How many answers.

    Returns
    -------
    LaplaceNoise, GaussianNoise or KNormNoise
        Pure noise splits epsilon evenly (basic composition); `times` Gaussian answers are one Gaussian
        answer of sqrt(times) the sensitivity.
    """
    if noise == "laplace":
        rate = Fraction(epsilon) / times / sensitivity.l1
        if rate * (_LIMIT - 1) < 1:
            least = 1.001 * times * sensitivity.l1 / _LIMIT
            raise ValueError(
                f"epsilon={float(epsilon):g} is too small for {times} answers of sensitivity {sensitivity.l1}; "
                f"use at least {least:.3g}."
            )
        return LaplaceNoise(round_down(rate) if rate > _SMALL else round_down(rate, _LIMIT))
    if noise == "knorm":
        return KNormNoise(float(times * sensitivity.gauge / Fraction(epsilon)))
    # Up by one ulp twice: the square root and the fraction's conversion each round.
    l2 = math.nextafter(math.sqrt(math.nextafter(float(sensitivity.l2_squared * times), math.inf)), math.inf)
    return GaussianNoise(gaussian_sigma(float(epsilon), delta, l2))
