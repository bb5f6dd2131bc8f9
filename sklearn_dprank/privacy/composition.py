"""What several releases reveal together, as tightly as what is known of each allows.

A pure release of epsilon reveals no more than randomised response of epsilon, and a Gaussian release no more than one
number N(0, 1) or N(mu, 1), mu its sensitivity over its noise, also where each release looks at those before. What n of
them reveal is then what n such coins and one number of mu^2 = mu_1^2 + ... reveal, and that can be written down. The
coins' losses are +-epsilon_i; delta(epsilon) is the mean, over their sum L, of the Gaussian's delta(epsilon - L).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
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

_VALUES = 1 << 14  # of the coins' losses, at most; beyond, epsilons are rounded up to a grid
_MANY, _MANY_ALIKE = 2048, 1 << 16  # coins, of several epsilons or of one
_SLACK = 1e-9  # relative; far above the rounding errors of the sums


class Losses(NamedTuple):
    """What composition needs to know of releases.

    Attributes
    ----------
    mu_squared : float
        Of the Gaussian releases together: the sum of (sensitivity / standard deviation)^2.
    pure : tuple of float
        Epsilons of the pure releases.
    approximate : tuple of (float, float)
        (epsilon, delta) of all others.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian differential privacy", Theorem 4 and Proposition 4;
    Kairouz, Oh and Viswanath (2017), "The composition theorem for differential privacy", Theorem 3.3.
    """

    mu_squared: float = 0.0
    pure: tuple[float, ...] = ()
    approximate: tuple[tuple[float, float], ...] = ()

    @classmethod
    def stated(cls, epsilon: float, delta: float) -> "Losses":
        """Return what is known of a release of which nothing but (epsilon, delta) is stated."""
        return cls(approximate=((epsilon, delta),)) if delta else cls(pure=(epsilon,))

    @classmethod
    def together(cls, losses: Iterable["Losses"]) -> "Losses":
        """Return those of all the releases of several."""
        losses = list(losses)
        return cls(
            sum_up(each.mu_squared for each in losses),
            tuple(epsilon for each in losses for epsilon in each.pure),
            tuple(pair for each in losses for pair in each.approximate),
        )

    def check(self) -> None:
        """Raise ValueError unless all numbers are at least 0, none is NaN, and deltas are at most 1."""
        try:
            numbers = [("mu_squared", self.mu_squared, math.inf), *(("pure", each, math.inf) for each in self.pure)]
            for epsilon, delta in self.approximate:
                numbers += [("approximate epsilons", epsilon, math.inf), ("approximate deltas", delta, 1)]
        except (TypeError, ValueError):
            raise ValueError("losses must hold mu_squared, a tuple pure and pairs (epsilon, delta).") from None
        for name, value, most in numbers:
            check_number(value, f"losses: {name}", least=0, most=most)

    def epsilon(self, delta: float) -> float:
        """Return about the smallest epsilon at which `delta` is enough.

        Parameters
        ----------
        delta : float
            For everything; the deltas of the approximate releases come out of it.

        Returns
        -------
        float
            Rounded up, and no more than the sum of the epsilons where nothing is Gaussian; `inf` where `delta` is not
            enough for any.

        Examples
        --------
        >>> from sklearn_dprank.privacy.calibration import gaussian_sigma
        >>> ten = Losses(10 / gaussian_sigma(0.1, 1e-7) ** 2)
        >>> round(ten.epsilon(1e-6), 3)
        0.298
        """
        return _least_epsilon(self, float(delta))

    def twice(self) -> Self:
        """Return what is known of the same releases where a neighbour is two steps away: group privacy."""
        return type(self)(
            4 * self.mu_squared,
            tuple(2 * epsilon for epsilon in self.pure),
            tuple((2 * epsilon, delta_of_two(epsilon, delta)) for epsilon, delta in self.approximate),
        )


def delta_of_two(epsilon: float, delta: float) -> float:
    """Return delta (1 + e^epsilon), rounded up: what two steps of (epsilon, delta) leave outside 2 epsilon."""
    if not delta:
        return 0.0
    growth = math.exp(min(epsilon, 700.0))  # off by less than an ulp
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
    values, weights = coin_losses(epsilons)
    mu = math.sqrt(losses.mu_squared) * (1 + 2.0**-50)

    def private(epsilon):
        return weights @ gaussian_deltas(epsilon - values, mu) <= left * (1 - _SLACK)

    tight = 0.0 if private(0.0) else smallest(private)
    return tight if losses.mu_squared else min(basic, tight)


def coin_losses(epsilons: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values that the sum of the losses of randomised responses takes, and their probabilities.

    Parameters
    ----------
    epsilons : sequence of float
        Loss of each: epsilon with probability e^epsilon / (1 + e^epsilon), else -epsilon.

    Returns
    -------
    losses, weights : ndarray of float, shape (n_values,)
        Exact while there are few values. Beyond, epsilons are rounded up to a grid, by some 3 % of their sum at most,
        and if they are very many all of them count in full: what is computed from either is an upper bound.

    Examples
    --------
    >>> losses, weights = coin_losses([1.0, 1.0])
    >>> losses.tolist(), weights.round(3).tolist()
    ([-2.0, 0.0, 2.0], [0.072, 0.393, 0.534])
    """
    groups = Counter(epsilon for epsilon in epsilons if epsilon > 0)
    n_coins = sum(groups.values())
    if n_coins > (_MANY if len(groups) > 1 else _MANY_ALIKE):
        return np.array([sum_up(epsilons)]), np.ones(1)
    if len(groups) > 1 and math.prod(count + 1 for count in groups.values()) > _VALUES:
        unit = sum_up(groups.elements()) / (_VALUES + 32 * n_coins)
        return _on_grid(groups, unit)
    losses, weights = np.zeros(1), np.ones(1)
    for epsilon, count in sorted(groups.items()):
        losses = (losses[:, None] + epsilon * np.arange(-count, count + 1, 2)).ravel()
        weights = (weights[:, None] * _heads(count, epsilon)).ravel()
    return losses, weights


def _on_grid(groups, unit):
    """Return losses and weights of epsilons rounded up to multiples of `unit`."""
    steps: Counter[int] = Counter()
    for epsilon, count in groups.items():
        steps[math.ceil(epsilon / unit * (1 + 2.0**-50))] += count
    weights = np.ones(1)
    for step, count in sorted(steps.items()):
        spread = np.zeros(step * count + 1)
        spread[::step] = _heads(count, step * unit)
        weights = np.convolve(weights, spread)
    total = len(weights) - 1
    return unit * np.arange(-total, total + 1, 2), weights


def _heads(count, epsilon):
    """Return the probabilities of 0 to `count` heads of coins that show heads e^epsilon times as often as tails."""
    heads = np.arange(count + 1)
    ways = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
    return np.exp(ways + heads * epsilon - count * np.logaddexp(0, epsilon))
