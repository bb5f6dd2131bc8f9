"""Curator mechanisms: their interface before and after calibration, and additive noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._utils.estimators import BaseEstimator, parametrized
from ..orders.samplers import knorm_noise
from ..privacy.composition import Losses, gaussian_sigma
from ..privacy.rounding import root_up, round_down, rounded_up, smallest
from ..queries import Query, Sensitivity, TopListScores
from ..sampling.bit_source import BitSource
from ..sampling.discrete_laplace import LEAST_RATE, discrete_laplace, many_laplace
from ..sampling.poisson import many_poisson
from ..sampling.rounded_gaussian import grid_of, rounded_gaussian
from ..uncertainty import LaplaceLaw, NormalLaw, SkellamLaw

#: Number of answers that would use up a budget. A fraction if other answers have a share of it.
Times: TypeAlias = int | Fraction


#: Sampler of private answers about one set of ballots. Each call draws one answer: an integer vector of the same length
#: for "vector" mechanisms, or an order.
Sampler: TypeAlias = Callable[[BitSource], NDArray[Any]]


class Calibrated(Protocol):
    """Mechanism calibrated to a budget and a sensitivity.

    Attributes
    ----------
    how : str
        Short description for the guarantee.
    arithmetic : str
        "exact", or a description of the rounding loss, for the guarantee.
    law : LaplaceLaw, NormalLaw, SkellamLaw or None
        Distribution of the independent noise on each number of an answer. None, or missing, if it is unknown, or if the
        numbers are not released. Then only the results of rules are published.
    deviation : float
        Standard deviation of the noise on each number. Only queries with `needs_noise_scale` need it.
    losses : callable of (sensitivity, times) -> Losses or None
        Privacy losses of `times` answers of this sensitivity. None, or missing, if only the budget is known.
    spent : callable of (sensitivity, times, delta) -> Fraction
        True epsilon of `times` answers, never rounded down. Only noise with a scale as printed in a paper has it,
        because that scale need not spend the epsilon that was asked for.
    """

    how: str
    arithmetic: str

    def sampler(self, query: Query, vector: NDArray[Any]) -> Sampler:
        """Return a sampler of answers to a query, given its exact vector."""


class AnyQuery(BaseEstimator):
    """Base class for mechanisms that accept all queries of their kind; by default, pure noise on numbers."""

    answers_with: Literal["vector", "order"] = "vector"
    pure = True
    takes_delta = False

    def refusal(self, query: Query, n_items: int) -> str:
        """Return "": accept every query."""
        return ""


class Mechanism(Protocol):
    """Mechanism that answers queries privately, before calibration to a budget.

    Attributes
    ----------
    answers_with : {"vector", "order"}
        Kind of answer; see `Query.answered_with`.
    pure : bool
        Whether it satisfies delta = 0. Other mechanisms need a positive delta.
    takes_delta : bool
        Whether a pure mechanism also accepts a positive delta, for a tighter composition of its answers. Optional;
        False if it is missing.
    """

    answers_with: Literal["vector", "order"]
    pure: bool

    def refusal(self, query: Query, n_items: int) -> str:
        """Return the remedy if it cannot answer this query, or "" if it can; uses public inputs only."""

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times
    ) -> Calibrated:
        """Return the mechanism whose `times` adaptive answers are together (epsilon, delta)-differentially private.

        Other answers may use the rest of the budget. Each answer uses one part in `times`, in the unit in which the
        answers of the mechanism add up. This unit is epsilon, or the squared mu for Gaussian noise.

        Parameters
        ----------
        query : Query
            Query to answer.
        sensitivity : Sensitivity
            Sensitivity of one answer.
        n_items : int
            Number of items.
        epsilon : Fraction
            Total epsilon of all answers.
        delta : float
            Total delta of all answers; 0 for pure mechanisms that do not take a delta.
        times : int or Fraction
            Number of answers that would use up the whole budget; a fraction if others have a share of it.

        Raises
        ------
        ValueError
            If the budget is too small for the arithmetic.
        """


# Additive noise, calibrated to a query's sensitivity.

_LIMIT = 2**48  # limit on the numerator and the denominator of a rate of Laplace noise
_SMALL = Fraction(1, 2**16)  # smaller rates use terms below `_LIMIT`, because terms below 2**31 end at rate 2**-31
_sigma = lru_cache(maxsize=256)(gaussian_sigma)  # cached: bisection is slow, and repeated fits use the same values
_SLACK = 1e-10  # relative; far above the rounding errors of `log_ndtr`
_BLOCK = 1 << 17  # entries per block of noise; a histogram can have millions


class _Noise:
    """Base class for calibrated noise. ``added(vector, bits)`` returns an integer vector with fresh noise."""

    arithmetic = "exact"
    law: LaplaceLaw | NormalLaw | SkellamLaw | None = None
    added: Callable[[NDArray[Any], BitSource], NDArray[Any]]

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each number."""
        return self.law.std  # type: ignore[union-attr]  # K-norm noise has no law, and its numbers are not released

    def sampler(self, query: Query, vector: NDArray[Any]) -> Sampler:
        """Return a sampler of noisy vectors."""
        return partial(self.added, vector)


@dataclass(frozen=True)
class NoNoise(_Noise):
    """Exact answer, for queries with sensitivity 0."""

    how = "no noise"
    deviation = 0.0

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses:
        """Return no loss."""
        return Losses()

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the vector unchanged."""
        return vector


@dataclass(frozen=True)
class LaplaceNoise(_Noise):
    """Exact discrete Laplace noise, P(z) proportional to exp(-rate |z|) (Canonne, Kamath and Steinke 2020)."""

    rate: Fraction
    how = "discrete Laplace noise"

    @property
    def law(self) -> LaplaceLaw:  # type: ignore[override]
        """Distribution of the noise on each number."""
        return LaplaceLaw(self.rate)

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the integer vector with independent noise on every entry, in blocks if it is long."""
        draw = many_laplace if len(vector) > _BLOCK and self.rate >= LEAST_RATE else discrete_laplace
        out = np.array(vector)
        for start in range(0, len(out), _BLOCK):
            block = out[start : start + _BLOCK]
            block += draw(self.rate, len(block), bits)
        return out


@dataclass(frozen=True)
class GaussianNoise(_Noise):
    """Gaussian noise rounded to an integer, which is post-processing of the Gaussian mechanism."""

    sigma: float
    how = "rounded Gaussian noise"

    @property
    def law(self) -> NormalLaw:  # type: ignore[override]
        """Distribution of the noise on each number."""
        return NormalLaw(self.sigma, grid_of(self.sigma))

    def losses(self, sensitivity: Sensitivity, times: int) -> Losses:
        """Return the total squared mu of `times` answers."""
        return Losses(rounded_up(sensitivity.l2_squared * times / Fraction(self.sigma) ** 2))

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the integer vector with independent noise on every entry.

        For a sigma above 2**30, the entries are rounded to a coarser public grid.
        """
        return rounded_gaussian(vector, self.sigma, bits)


@dataclass(frozen=True)
class ThresholdNoise(_Noise):
    """Rounded Gaussian noise on positive numbers; results up to the threshold become 0, as do numbers without noise.

    The threshold is a multiple of the grid g of the results. A result above it is at least the threshold plus g, so the
    noisy number before rounding is at least the threshold plus g / 2. Rounding therefore lets nothing pass that would
    not pass without it.
    """

    sigma: float
    threshold: int
    how = "rounded Gaussian noise above a threshold, each with half of delta,"

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the noisy numbers that are above the threshold, and 0 for all others."""
        listed = np.flatnonzero(vector)
        noisy = rounded_gaussian(vector[listed], self.sigma, bits)
        out = np.zeros(len(vector), dtype=noisy.dtype)
        out[listed] = np.where(noisy > self.threshold, noisy, 0)
        return out


@dataclass(frozen=True)
class SkellamNoise(_Noise):
    """Skellam noise: the difference of two Poisson numbers, and the sum of such noise from many voters."""

    rate: Fraction
    how = "Skellam noise"

    @property
    def law(self) -> SkellamLaw:  # type: ignore[override]
        """Distribution of the noise on each number."""
        return SkellamLaw(self.rate)

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return the integer vector with independent noise of variance 2 rate on every entry."""
        size = len(vector)
        return vector + many_poisson(self.rate, size, bits) - many_poisson(self.rate, size, bits)


@dataclass(frozen=True)
class KNormNoise(_Noise):
    """K-norm noise on net wins, shaped like the permutohedron; only the order is released.

    The net wins of several segments have independent noise.

    References
    ----------
    Hardt and Talwar (2010); Joseph and Yu (2023).
    """

    scale: float
    n_items: int
    arithmetic = "double precision K-norm sampler; only the order is released"
    how = "K-norm noise"

    def added(self, vector: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Return integers with the order of the noisy net wins; they reveal only that order."""
        m = self.n_items
        out = np.empty((len(vector) // m, m), dtype=np.int64)
        for wins, released in zip(vector.reshape(out.shape), out, strict=True):
            # The sampler uses centred Borda scores; net wins are twice as large.
            released[np.argsort(wins + 2 * knorm_noise(m, self.scale, bits))] = np.arange(1 - m, m, 2)
        return out.ravel()


class Laplace(AnyQuery):
    """Exact discrete Laplace noise, calibrated to the L1 sensitivity; answers share epsilon evenly.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from sklearn_dprank.mechanisms import Laplace
    >>> from sklearn_dprank.queries import NetWins
    >>> Laplace().calibrated(NetWins(), NetWins().sensitivity(4, "add_remove"), 4, Fraction(1), 0.0)
    LaplaceNoise(rate=Fraction(1, 8))
    """

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> LaplaceNoise:
        """Return noise of rate epsilon / (times l1), rounded down to a ratio of small integers.

        Raises
        ------
        ValueError
            If epsilon is too small for such a ratio.
        """
        rate = Fraction(epsilon) / times / sensitivity.l1
        if rate * (_LIMIT - 1) < 1:
            least = 1.006 * times * sensitivity.l1 / _LIMIT  # three digits may round it down by .5 %
            raise ValueError(
                f"epsilon={float(epsilon):g} is too small for {float(times):.10g} answers of sensitivity "
                f"{sensitivity.l1}; use at least {float(least):.3g}."
            )
        return LaplaceNoise(round_down(rate) if rate > _SMALL else round_down(rate, _LIMIT))


class Gaussian(AnyQuery):
    """Rounded Gaussian noise, calibrated to the L2 sensitivity.

    `times` answers count as one answer of sqrt(times) times the sensitivity.
    """

    pure = False

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> GaussianNoise:
        """Return noise with the analytic sigma (Balle and Wang 2018)."""
        return GaussianNoise(_sigma(float(epsilon), delta, root_up(sensitivity.l2_squared * times)))


@parametrized
class GaussianThreshold(AnyQuery):
    """Gaussian noise that publishes only items above a threshold, so that the items may be private.

    Half of delta is for the noise on items that other persons list too. For the other half, let delta2 =
    1 - exp(-delta / 2). With probability 1 - delta2, no item passes the threshold that one person alone lists.

    Parameters
    ----------
    max_listed : int
        Public bound on the number of items of a list that count.
    """

    max_listed: int

    pure = False

    def refusal(self, query: Query, n_items: int) -> str:
        """Return the remedy for a query that does not state what one person can add to private items, else ""."""
        return "" if type(query) is TopListScores else "items='private' is for the rule of DPPositionalRule."

    def calibrated(
        self, query: Any, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> ThresholdNoise:
        """Return the noise, with the smallest threshold that the contributions of a person allow."""
        sigma = _sigma(float(epsilon), delta / 2, root_up(sensitivity.l2_squared * times))
        least = sigma * least_threshold(query.family(self.max_listed) / sigma, -math.expm1(-delta / 2))
        grid = int(grid_of(sigma))
        return ThresholdNoise(sigma, math.ceil(least / grid) * grid)


def least_threshold(family: NDArray[np.float64], delta: float) -> float:
    """Return the smallest threshold that the first j numbers of row j, with normal noise, exceed at most with delta.

    In row j, one or more of them exceed it with probability 1 - prod Phi(threshold - number). Zeros count, too:
    if all items of a list are tied, they share the scores of all its positions, and each gets noise.

    Examples
    --------
    >>> round(least_threshold(np.tril(np.ones((10, 10))), 1e-6), 5)
    6.19934
    """
    from scipy.special import log_ndtr

    def exceeds(threshold):
        return -np.expm1(np.tril(log_ndtr(threshold - family)).sum(axis=1).min())

    return smallest(lambda threshold: exceeds(threshold) <= delta * (1 - _SLACK))


class KNorm(AnyQuery):
    """K-norm noise for net wins, calibrated to the gauge of the permutohedron; only the order is released."""

    def refusal(self, query: Query, n_items: int) -> str:
        """Return the remedy for a query without a gauge, else ""."""
        if query.sensitivity(n_items, "add_remove").gauge is not None:
            return ""
        return "noise='knorm' is for NetWins (the Borda rule); use noise='laplace'."

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> KNormNoise:
        """Return the noise; answers share epsilon evenly."""
        return KNormNoise(float(times * sensitivity.gauge / Fraction(epsilon)), n_items)  # type: ignore[operator]  # no gauge: refused
