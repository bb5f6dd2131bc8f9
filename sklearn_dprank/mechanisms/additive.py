"""Additive noise, calibrated to a query's sensitivity."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..orders.samplers.permutohedron import knorm_noise
from ..privacy.calibration import classical_gaussian_sigma, gaussian_epsilon, gaussian_sigma
from ..privacy.composition import Losses
from ..privacy.rounding import round_down, rounded_up
from ..queries import Query, Sensitivity
from ..sampling.bit_source import BitSource
from ..sampling.discrete_laplace import LEAST_RATE, discrete_laplace, many_laplace
from ..sampling.rounded_gaussian import grid_of, rounded_gaussian
from ..sampling.skellam import many_skellam
from ..uncertainty import LaplaceLaw, NormalLaw, SkellamLaw
from .base import OfBudget, Published, Sampler, Times, Unprinted

_LIMIT = 2**48  # terms of a rate of Laplace noise stay below it
_SMALL = Fraction(1, 2**16)  # below it a rate of terms below 2**31 may be some 2**-15 too small
_sigma = lru_cache(maxsize=256)(gaussian_sigma)  # found by bisection; repeated fits ask for the same few
_BLOCK = 1 << 17  # entries that get noise at a time: a histogram has millions


@dataclass(slots=True)
class _Noisy:
    """One exact vector, and the noise to be put on it."""

    noise: Any
    vector: Any

    def draw(self, bits: BitSource) -> NDArray[Any]:
        """Return the vector with fresh noise."""
        return self.noise.added(self.vector, bits)


class _Noise(OfBudget):
    """Base of calibrated noises."""

    def sampler(self, query: Query, vector: NDArray[Any]) -> Sampler:
        """Return what draws noisy vectors."""
        return _Noisy(self, vector)


@dataclass(frozen=True)
class NoNoise(_Noise):
    """The exact answer, for what no ballot moves."""

    arithmetic = "exact"
    how = "no noise"
    deviation = 0.0

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses:
        """Return no loss."""
        return Losses()

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the vector."""
        return vector


@dataclass(frozen=True)
class LaplaceNoise(_Noise):
    """Exact discrete Laplace noise, P(z) proportional to exp(-rate |z|) (Canonne, Kamath and Steinke 2020)."""

    rate: Fraction
    arithmetic = "exact"
    how = "discrete Laplace noise"

    @property
    def law(self) -> LaplaceLaw:  # type: ignore[override]
        """Of the noise on each number."""
        return LaplaceLaw(self.rate)

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return self.law.std

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the integer vector with independent noise on every entry: on many, block by block and by a table."""
        if len(vector) <= _BLOCK:
            return vector + discrete_laplace(self.rate, len(vector), bits)
        draw = discrete_laplace if self.rate < LEAST_RATE else many_laplace
        out = np.array(vector)
        for start in range(0, len(out), _BLOCK):
            block = out[start : start + _BLOCK]
            block += draw(self.rate, len(block), bits)
        return out


@dataclass(frozen=True)
class GaussianNoise(_Noise):
    """A continuous Gaussian around the value, rounded to an integer: post-processing of the Gaussian mechanism."""

    sigma: float
    arithmetic = "exact"
    how = "rounded Gaussian noise"

    @property
    def law(self) -> NormalLaw:  # type: ignore[override]
        """Of the noise on each number."""
        return NormalLaw(self.sigma, grid_of(self.sigma))

    @property
    def deviation(self) -> float:
        """Standard deviation, before rounding."""
        return self.sigma

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses:
        """Return the squared mu of all answers."""
        return Losses(rounded_up(sensitivity.l2_squared * times / Fraction(self.sigma) ** 2))

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the integer vector with independent noise on every entry, on a coarser public grid if it is huge."""
        return rounded_gaussian(vector, self.sigma, bits)


@dataclass(frozen=True)
class SkellamNoise(_Noise):
    """The difference of two Poisson numbers: what the noise of many voters adds up to."""

    rate: Fraction
    arithmetic = "exact"
    how = "Skellam noise"

    @property
    def law(self) -> SkellamLaw:  # type: ignore[override]
        """Of the noise on each number."""
        return SkellamLaw(self.rate)

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return math.sqrt(2 * self.rate)

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the integer vector with independent noise of variance 2 rate on every entry."""
        return vector + many_skellam(self.rate, len(vector), bits)


@dataclass(frozen=True)
class KNormNoise(_Noise):
    """K-norm noise on net wins, shaped like the permutohedron; only the order is released.

    References
    ----------
    Hardt and Talwar (2010); Joseph and Yu (2023).
    """

    scale: float
    arithmetic = "double precision K-norm sampler; only the order is released"
    how = "K-norm noise"

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return net wins that have the noisy order and nothing else of the noisy values."""
        n_items = len(vector)
        # The sampler speaks centred Borda scores; net wins are twice as wide.
        noisy = vector + 2 * knorm_noise(n_items, self.scale, bits)
        out = np.empty(n_items, dtype=np.int64)
        out[np.argsort(noisy)] = np.arange(1 - n_items, n_items, 2)
        return out


class Laplace(Unprinted):
    """Exact discrete Laplace noise, by the sum of absolute changes; answers share epsilon evenly.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from sklearn_dprank.mechanisms import Laplace
    >>> from sklearn_dprank.queries import NetWins
    >>> Laplace().calibrated(NetWins(), NetWins().sensitivity(4, "add_remove"), 4, Fraction(1), 0.0)
    LaplaceNoise(rate=Fraction(1, 8))
    """

    answers_with: Literal["vector", "order"] = "vector"
    pure = True
    adds_up = False

    def calibrated(
        self,
        query: Query,
        sensitivity: Sensitivity,
        n_items: int,
        epsilon: Fraction,
        delta: float,
        times: Times = 1,
    ) -> LaplaceNoise:
        """Return the noise: rate epsilon / (times l1), rounded down to a ratio of small integers.

        Raises
        ------
        ValueError
            If epsilon is so small that there is none.
        """
        rate = Fraction(epsilon) / times / sensitivity.l1
        if rate * (_LIMIT - 1) < 1:
            least = 1.001 * times * sensitivity.l1 / _LIMIT
            raise ValueError(
                f"epsilon={float(epsilon):g} is too small for {float(times):.10g} answers of sensitivity "
                f"{sensitivity.l1}; use at least {float(least):.3g}."
            )
        return LaplaceNoise(round_down(rate) if rate > _SMALL else round_down(rate, _LIMIT))

    def published(
        self,
        query: Query,
        sensitivity: Sensitivity,
        n_items: int,
        epsilon: Fraction,
        delta: float,
        times: Times = 1,
    ) -> Published | None:
        """Return the noise of the printed l1: it spends the more, the further a ballot really moves the answer."""
        l1 = query.published_l1(n_items)
        if l1 is None:
            return None
        noise = self.calibrated(query, sensitivity._replace(l1=l1), n_items, epsilon, delta, times)
        return Published(noise, Fraction(epsilon) * Fraction(sensitivity.l1, l1))


class Gaussian(Unprinted):
    """Rounded Gaussian noise, by the sum of squared changes.

    `times` answers are one answer of sqrt(times) the sensitivity.
    """

    answers_with: Literal["vector", "order"] = "vector"
    pure = False
    adds_up = True

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> GaussianNoise:
        """Return the noise, with the analytic sigma (Balle and Wang 2018)."""
        return GaussianNoise(_sigma(float(epsilon), delta, _root(sensitivity.l2_squared * times)))

    def published(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> Published | None:
        """Return the noise of the printed sigma, and the smallest epsilon that it keeps at this delta."""
        printed = query.published_gaussian(n_items)
        if printed is None:
            return None
        sigma = classical_gaussian_sigma(float(epsilon), delta, _root(printed[0] * times), printed[1])
        spent = gaussian_epsilon(delta, sigma, _root(sensitivity.l2_squared * times))
        # An epsilon of millions, told from half a square that is as large, is off by some 2**-52 of itself.
        return Published(GaussianNoise(sigma), Fraction(spent) * (1 + Fraction(1, 2**48)))


class KNorm(Unprinted):
    """K-norm noise, by the gauge of the permutohedron: for net wins, of which it releases the order only."""

    answers_with: Literal["vector", "order"] = "vector"
    pure = True
    adds_up = False

    def refusal(self, query: Query, n_items: int) -> str:
        """Refuse what has no gauge."""
        if query.sensitivity(n_items, "add_remove").gauge is not None:
            return ""
        return "noise='knorm' is for NetWins (the Borda rule); use noise='laplace'."

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> KNormNoise:
        """Return the noise: answers share epsilon evenly."""
        return KNormNoise(float(times * sensitivity.gauge / Fraction(epsilon)))  # type: ignore[operator]  # no gauge: refused


def _root(l2_squared):
    """Return a square root that is not below the exact one."""
    # Up by one ulp twice: the square root and the fraction's conversion each round.
    return math.nextafter(math.sqrt(math.nextafter(float(l2_squared), math.inf)), math.inf)
