"""Tight composition of pure, Gaussian and other releases.

A pure release of epsilon reveals at most as much as randomised response of epsilon (a coin). A Gaussian release reveals
at most as much as one number from N(0, 1) or N(mu, 1). Here, mu is its sensitivity over its standard deviation. Both
hold for adaptive releases. Together, releases therefore reveal at most as much as one coin per pure release and one
Gaussian number. For this number, mu^2 = mu_1^2 + ... The privacy loss of coin i is +-epsilon_i. With L the sum of these
losses, delta(epsilon) is the mean of the Gaussian's delta(epsilon - L).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._utils.checks import check_number
from ._search import smallest
from .calibration import gaussian_deltas
from .rounding import rounded_up, sum_up

_VALUES = 1 << 14  # largest number of values of the coins' total loss; beyond it, an integral replaces their sum
_SLACK = 1e-9  # relative; far above the rounding errors of the sums
_SMOOTHED = 1e-4  # mu^2 of a Gaussian release that the integral adds, relative to the sum of the squared epsilons
_ALIKE = 5e-3  # relative; epsilons of many releases are rounded up by at most this much


class Losses(NamedTuple):
    """Privacy losses of releases, in the form that composition needs.

    Attributes
    ----------
    mu_squared : float
        Sum of (sensitivity / standard deviation)^2 over the Gaussian releases.
    pure : tuple of float
        Epsilons of the pure releases.
    approximate : tuple of (float, float)
        (epsilon, delta) of all other releases.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian differential privacy", Theorem 4 and Proposition 4;
    Kairouz, Oh and Viswanath (2017), "The composition theorem for differential privacy", Theorem 3.3.
    """

    mu_squared: float = 0.0
    pure: tuple[float, ...] = ()
    approximate: tuple[tuple[float, float], ...] = ()

    @classmethod
    def stated(cls, epsilon: float, delta: float) -> Losses:
        """Return the losses of a release with known (epsilon, delta) only."""
        return cls(approximate=((epsilon, delta),)) if delta else cls(pure=(epsilon,))

    @classmethod
    def together(cls, losses: Iterable[Losses]) -> Losses:
        """Return the combined losses of several releases."""
        losses = list(losses)
        return cls(
            sum_up(each.mu_squared for each in losses),
            tuple(epsilon for each in losses for epsilon in each.pure),
            tuple(pair for each in losses for pair in each.approximate),
        )

    def check(self) -> None:
        """Raise ValueError if a number is negative or NaN, or a delta is above 1."""
        try:
            numbers = [("mu_squared", self.mu_squared, math.inf), *(("pure", each, math.inf) for each in self.pure)]
            for epsilon, delta in self.approximate:
                numbers += [("approximate epsilons", epsilon, math.inf), ("approximate deltas", delta, 1)]
        except (TypeError, ValueError):
            raise ValueError("losses must hold mu_squared, a tuple pure and pairs (epsilon, delta).") from None
        for name, value, most in numbers:
            check_number(value, f"losses: {name}", least=0, most=most)

    def epsilon(self, delta: float) -> float:
        """Return about the smallest epsilon at total `delta`, which includes the deltas of approximate releases.

        Returns
        -------
        float
            Rounded up; `inf` if `delta` is too small for any epsilon. Without Gaussian releases, at most the sum of the
            epsilons.

        Examples
        --------
        >>> from sklearn_dprank.privacy.calibration import gaussian_sigma
        >>> ten = Losses(10 / gaussian_sigma(0.1, 1e-7) ** 2)
        >>> round(ten.epsilon(1e-6), 3)
        0.298
        """
        return _least_epsilon(self, float(delta))

    def twice(self) -> Self:
        """Return the losses of the same releases for neighbours at distance 2 (group privacy)."""
        return type(self)(
            4 * self.mu_squared,
            tuple(2 * epsilon for epsilon in self.pure),
            tuple((2 * epsilon, delta_of_two(epsilon, delta)) for epsilon, delta in self.approximate),
        )


def delta_of_two(epsilon: float, delta: float) -> float:
    """Return delta (1 + e^epsilon), rounded up: the delta of group privacy at distance 2 and 2 epsilon."""
    if not delta:
        return 0.0
    growth = math.exp(min(epsilon, 700.0))  # the error is less than one ulp
    growth = math.nextafter(math.nextafter(growth, math.inf), math.inf)
    return min(1.0, rounded_up(Fraction(delta) * (1 + Fraction(growth))))


@lru_cache(maxsize=256)
def _least_epsilon(losses, delta):
    epsilons = [*losses.pure, *(epsilon for epsilon, _ in losses.approximate)]
    basic = sum_up(epsilons)
    left = delta - sum_up(each for _, each in losses.approximate)
    if left < 0 or (left == 0 and losses.mu_squared):
        return math.inf
    if left == 0 or math.isinf(basic):
        return basic
    groups = Counter(epsilon for epsilon in epsilons if epsilon > 0)
    if math.prod(count + 1 for count in groups.values()) <= _VALUES:
        values, weights = coin_losses(groups)
        mu = math.sqrt(losses.mu_squared) * (1 + 2.0**-50)

        def delta_at(epsilon):
            return weights @ gaussian_deltas(epsilon - values, mu)
    else:
        delta_at = _deltas_of_many(groups, losses.mu_squared, left)

    def private(epsilon):
        return delta_at(epsilon) <= left * (1 - _SLACK)

    tight = 0.0 if private(0.0) else smallest(private)
    return tight if losses.mu_squared else min(basic, tight)


def coin_losses(groups: Mapping[float, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the possible total losses of several randomised responses, rounded up, and their probabilities.

    Parameters
    ----------
    groups : dict of float to int
        Numbers of responses by epsilon. Each response loses epsilon with probability e^epsilon / (1 + e^epsilon), else
        -epsilon.

    Returns
    -------
    losses, weights : ndarray of float, shape (n_values,)

    Examples
    --------
    >>> losses, weights = coin_losses({1.0: 2})
    >>> losses.round(3).tolist(), weights.round(3).tolist()
    ([-2.0, 0.0, 2.0], [0.072, 0.393, 0.534])
    """
    losses, weights = np.zeros(1), np.ones(1)
    for epsilon, count in sorted(groups.items()):
        losses = (losses[:, None] + epsilon * np.arange(-count, count + 1, 2)).ravel()
        weights = (weights[:, None] * _heads(count, epsilon)).ravel()
    return losses + losses.max(initial=0) * (len(groups) + 1) * 2.0**-52, weights


def _deltas_of_many(groups, mu_squared, delta):
    """Return an upper bound on delta as a function of epsilon, for `groups` of coins and a Gaussian number.

    Let K(t) = log E[e^(t L)] for the total loss L. For any c > 0, delta(epsilon) is the integral over y of
    e^(K(t) - t epsilon) / (2 pi t (t + 1)), t = c + iy. The trapezoidal rule with step 2 pi / T adds the values of
    delta at epsilon + T k, times e^(c T k): it errs upwards, by a negligible amount if T is large. An additional small
    Gaussian release makes the integrand vanish beyond 10 / mu. Gopi, Lee and Wutschitz (2021) and Zhu, Dong and Wang
    (2022) describe this inversion.
    """
    steps: Counter[float] = Counter()
    for epsilon, count in groups.items():  # few different epsilons remain
        steps[epsilon if len(groups) < 500 else epsilon_up(epsilon)] += count
    total = sum(count * epsilon**2 for epsilon, count in steps.items())
    mu_squared = max(mu_squared, 0.0) + _SMOOTHED * total

    def log_moments(t):
        return t * (t + 1) * mu_squared / 2 + sum(
            count * (_log_cosh(epsilon * (t + 0.5)) - _log_cosh(np.array([epsilon / 2])))
            for epsilon, count in steps.items()
        )

    c = np.logspace(-4, 5, 400) / math.sqrt(total + mu_squared)
    bounds = (log_moments(c) + c * np.log(c) - (c + 1) * np.log1p(c) - math.log(delta)) / c  # Chernoff's, of epsilon
    best = np.argmin(bounds)
    c, most = c[best], bounds[best]
    width = (60 - math.log(delta)) / c + 2 * max(most, 0.0)
    y = np.arange(0.0, 10 / math.sqrt(mu_squared), 2 * math.pi / width)
    t, top = c + 1j * y, log_moments(c[None])[0]
    values = np.exp(log_moments(t) - top) / (t * (t + 1)) * np.where(y > 0, 2, 1) / width

    largest = sum(count * epsilon for epsilon, count in steps.items())
    rounding = 1e-13 * (1 + largest) * np.abs(values).sum()  # decides if epsilon is far below `most`

    def delta_at(epsilon):
        exponent = top - c * epsilon
        found = max((values * np.exp(-1j * y * epsilon)).real.sum(), 0.0) + rounding
        return math.inf if exponent > 700 else math.exp(exponent) * found

    return delta_at


def epsilon_up(epsilon: float) -> float:
    """Return epsilon rounded up by at most half a percent, to one of few values."""
    return math.exp(math.ceil(math.log(epsilon) / _ALIKE) * _ALIKE) * (1 + 1e-12)


def _log_cosh(x):
    """Return log cosh of numbers whose real part is at least 0, with a small relative error."""
    far = x.real > 20
    a, b = np.where(far, 0, x.real), x.imag  # log1p of a complex number has an absolute error
    size = np.log1p(np.sinh(a) ** 2 - np.sin(b) ** 2) / 2
    near = size if np.isrealobj(x) else size + 1j * np.arctan2(np.sinh(a) * np.sin(b), np.cosh(a) * np.cos(b))
    return np.where(far, x - math.log(2) + np.log1p(np.exp(-2 * np.where(far, x, 0))), near)


def _heads(count, epsilon):
    """Return the probabilities of 0 to `count` heads of coins whose odds of heads are e^epsilon to 1."""
    heads = np.arange(count + 1)
    ways = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
    return np.exp(ways + heads * epsilon - count * np.logaddexp(0, epsilon))
