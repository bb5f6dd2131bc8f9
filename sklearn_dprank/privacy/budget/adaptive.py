"""Budget limits for releases whose epsilon and delta depend on earlier results.

`PrivacyGuarantee.compose` is for epsilons and deltas that are fixed in advance. If the next epsilon depends on earlier
results, a bound on every path need not hold for all paths together. In an example with two kinds of coins, each path
satisfies the optimal bound of Kairouz, Oh and Viswanath. All paths together have up to 2.2 times its delta. Tran,
Koskela, Raisa and Honkela (2026) show that optimal bounds in general fail in this way. Two rules remain valid for
adaptive choices:

- *Sums.* The epsilons add up to at most epsilon. The deltas add up to at most the part of delta for this rule.
- *One Gaussian.* The mu^2 of Gaussian releases add up to at most that of one Gaussian release of epsilon and of the
  rest of delta. A pure release of epsilon counts as mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)). A Gaussian release of
  this mu dominates randomised response of epsilon. If any release is neither Gaussian nor pure, this rule does not
  hold.

The releases fit if one of the two rules holds. The total delta is then the sum of the two parts:

- If the first rule holds at the end, it held throughout, because sums only grow. These outcomes are also outcomes of an
  analyst who stops before this rule is broken. Those with a loss above epsilon therefore have a probability of at most
  the first part of delta.
- In the same way, the second part of delta covers all outcomes at whose end only the second rule holds.

Delta must therefore be divided before the first release. If each rule had all of delta, it would be spent twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from scipy.special import expit, ndtri

from .._search import smallest
from ..calibration import gaussian_deltas, gaussian_epsilon
from ..composition import Losses
from ..guarantee import PrivacyGuarantee
from ..rounding import rounded_down, rounded_up, sum_up

_SLACK = 5e-11  # relative, of delta; half of the slack of `gaussian_sigma`, and far above rounding errors
_ALIKE = 1e-12  # relative; sums of floats may exceed a limit by this much
_LARGEST = 1e150  # limit on pure epsilons and on mu; above it, mu^2 overflows
_ROOM = 1e-9  # relative; error limit of a bisection, and of the inverse normal distribution
_TENTH, _HALF = 0.1, 0.5


class Remaining(NamedTuple):
    """Limits for one more release. Each limit is for one kind of release, which would use up the budget.

    Attributes
    ----------
    epsilon : float
        Limit for a pure release.
    mu : float
        Limit for a Gaussian release: sensitivity over standard deviation.
    basic_epsilon, basic_delta : float
        Limits for a release that is neither pure nor Gaussian.
    """

    epsilon: float
    mu: float
    basic_epsilon: float
    basic_delta: float

    def gaussian_epsilon(self, delta: float) -> float:
        """Return, up to rounding, the largest epsilon of one more Gaussian release with its own `delta`.

        Examples
        --------
        >>> from sklearn_dprank.privacy import PrivacyBudget
        >>> round(PrivacyBudget(1.0, 1e-6).remaining.gaussian_epsilon(1e-8), 3)
        1.22
        """
        tight = gaussian_epsilon(delta, 1 / self.mu) * (1 - 1e-8) if self.mu else 0.0
        return max(tight, self.basic_epsilon if delta <= self.basic_delta else 0.0)


class Totals(NamedTuple):
    """Exact sums over releases, for an account whose charges take the same time however many there are.

    `epsilon` and `delta` are inf if one of them is. `mu_squared` counts pure releases as Gaussian ones, and is inf if a
    release is neither. `first` is the first release with a positive epsilon or delta, and `unit` that of all.
    """

    epsilon: Fraction | float = Fraction(0)
    delta: Fraction = Fraction(0)
    mu_squared: Fraction | float = Fraction(0)
    first: PrivacyGuarantee | None = None
    unit: str | None = None

    def plus(self, guarantee: PrivacyGuarantee) -> Totals:
        """Return the sums with one more release."""
        first = guarantee if self.first is None and (guarantee.epsilon or guarantee.delta) else self.first
        return Totals(
            _plus(self.epsilon, guarantee.epsilon),
            self.delta + Fraction(guarantee.delta),
            _plus(self.mu_squared, *_mu_squared_of(guarantee)),
            first,
            self.unit or guarantee.unit,
        )

    @property
    def mu(self) -> float:
        """Return the mu of one Gaussian release that covers all releases, rounded up; inf if there is none."""
        return math.sqrt(rounded_up(self.mu_squared)) * (1 + 2.0**-50)


def _plus(total, *numbers):
    """Return the exact sum of a total and of numbers, inf if one of them is."""
    if math.isinf(total) or not all(map(math.isfinite, numbers)):
        return math.inf
    return total + sum(map(Fraction, numbers))


def _mu_squared_of(guarantee):
    """Return numbers whose sum is at least mu^2 of a release; inf is among them if it is neither Gaussian nor pure."""
    losses = guarantee.losses or Losses()
    pure = [*losses.pure, *(epsilon for epsilon, _ in losses.approximate)]
    if any(delta for _, delta in losses.approximate) or max(pure, default=0.0) > _LARGEST:
        return [math.inf]
    return [losses.mu_squared, *(mu_of_pure(epsilon) ** 2 for epsilon in pure)]


_NOTHING = Totals()


@dataclass(frozen=True)
class Account:
    """Limits of a budget, and the totals of the releases charged to it.

    `epsilon`, `delta` and `basic_delta` have the meaning of the parameters of `PrivacyBudget`.

    References
    ----------
    Smith and Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy"; Rogers, Roth, Ullman and
    Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition"; Tran, Koskela, Raisa and Honkela (2026),
    "f-differential privacy filters: validity and approximate solutions".
    """

    epsilon: float
    delta: float
    basic_delta: float | None = None
    totals: Totals = _NOTHING

    def with_one_more(self, guarantee: PrivacyGuarantee) -> Self:
        """Return the account after one more release."""
        return replace(self, totals=self.totals.plus(guarantee))

    def holds(self) -> bool:
        """Return whether the releases fit, even if they were chosen adaptively."""
        epsilon, delta = self._sums
        if _within(epsilon, self.epsilon) and _within(delta, self._kept):
            return True
        return _is_one_gaussian(self.totals.mu, self.epsilon, self._rest(self._kept))

    def spent(self) -> tuple[float, float]:
        """Return the smaller epsilon of the two rules, with its delta."""
        sums = self._sums if _within(self._sums[1], self._kept) else (math.inf, 0.0)
        gaussian = self._one_gaussian(self._rest(self._kept))
        return min(sums, gaussian)

    def left(self) -> Remaining:
        """Return the limits for one more release."""
        fresh = self.totals.first is None and self.basic_delta is None  # the first release decides how delta is divided
        kept = self.delta if fresh else self._kept
        epsilon, delta = (_tidy(*pair) for pair in zip((self.epsilon, kept), self._sums, strict=True))
        basic = (
            (epsilon, delta) if _within(self._sums[0], self.epsilon) and _within(self._sums[1], kept) else (0.0, 0.0)
        )
        mu = self._room(self.delta if fresh else self._rest(kept))
        pure = _largest(lambda epsilon: mu_of_pure(epsilon) <= mu) if mu and not fresh else 0.0
        return Remaining(max(basic[0], pure), mu, *basic)

    @property
    def _sums(self):
        return rounded_up(self.totals.epsilon), rounded_up(self.totals.delta)

    @property
    def _kept(self):
        """Return the part of delta for the rule of sums."""
        if self.basic_delta is not None:
            return self.basic_delta
        first = self.totals.first
        if first is None or not first.delta:
            return self.delta * _HALF
        mu, tenth = _NOTHING.plus(first).mu, self.delta * _TENTH
        if math.isinf(mu):
            return self.delta
        return tenth if _is_one_gaussian(mu, self.epsilon, self._rest(tenth)) else 0.0

    def _rest(self, kept):
        return rounded_down(Fraction(self.delta) - Fraction(kept))

    def _one_gaussian(self, delta):
        """Return (epsilon, delta) of the second rule; epsilon is at most that of the account if the rule holds."""
        mu = self.totals.mu
        if math.isinf(mu) or not delta:
            return math.inf, delta
        if _is_one_gaussian(mu, 0.0, delta):
            return 0.0, delta
        least = smallest(lambda epsilon: _is_one_gaussian(mu, epsilon, delta))
        return (min(least, self.epsilon) if _is_one_gaussian(mu, self.epsilon, delta) else least), delta

    def _room(self, delta):
        """Return the mu of one more Gaussian release that satisfies the second rule, rounded down."""
        mu = self.totals.mu
        if math.isinf(mu) or not delta:
            return 0.0
        most = _most_mu(self.epsilon, delta)
        return math.sqrt(max(0.0, (most - mu) * (most + mu))) * (1 - _ROOM)


def _within(total, most):
    """Return whether a rounded-up sum is within a limit, with tolerance: ten doubles 0.1 add up to more than 1."""
    return total <= most * (1 + _ALIKE)


def _tidy(most, spent):
    """Return the difference of limit and spent, to 12 digits if that much can still be spent."""
    if math.isinf(spent):
        return 0.0
    left = max(Fraction(0), Fraction(most) - Fraction(spent))
    short = float(f"{float(left):.12g}")
    return short if _within(sum_up([spent, short]), most) else rounded_down(left)


def _is_one_gaussian(mu, epsilon, delta):
    """Return whether one Gaussian release of mu is (epsilon, delta)-private."""
    return delta > 0 and mu < math.inf and bool(gaussian_deltas(np.array([epsilon]), mu)[0] <= delta * (1 - _SLACK))


@lru_cache(maxsize=4096)
def mu_of_pure(epsilon: float) -> float:
    """Return the mu of a Gaussian release that dominates every pure release of epsilon, rounded up.

    Returns
    -------
    float
        2 Phi^-1(e^epsilon / (1 + e^epsilon)), at most epsilon sqrt(pi / 2). The Gaussian trade-off curve is convex and
        passes through the corner of the curve of randomised response.

    Examples
    --------
    >>> round(mu_of_pure(1.0), 4)
    1.232
    """
    linear = epsilon * math.sqrt(math.pi / 2) * (1 + 2.0**-50)
    return linear if epsilon < 1e-3 else min(linear, float(-2 * ndtri(expit(-epsilon))) * (1 + _ROOM))


@lru_cache(maxsize=256)
def _most_mu(epsilon, delta):
    """Return about the largest mu for which Gaussian releases are (epsilon, delta)-private, rounded down."""
    return _largest(lambda mu: _is_one_gaussian(mu, epsilon, delta))


def _largest(fits: Callable[[float], bool]) -> float:
    """Return, up to rounding, the largest positive number for which the monotone `fits` holds; it holds there."""
    return _LARGEST if fits(_LARGEST) else 1 / smallest(lambda inverse: fits(1 / inverse))
