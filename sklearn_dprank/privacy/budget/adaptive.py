"""What an account of releases may hold where the next price may depend on what the releases before it said.

`PrivacyGuarantee.compose` is for prices that are fixed beforehand. Whoever chooses the next epsilon by what was seen
can get more out of a bound on every path than the bound itself: two kinds of coins, each path within the optimal bound
of Kairouz, Oh and Viswanath, have up to 2.2 times its delta together. (That it is so of optimal bounds in general is
shown by Tran, Koskela, Raisa and Honkela, 2026.) Two rules hold for whatever is chosen:

- *Sums.* The epsilons add up to at most epsilon, and the deltas to at most what is kept of delta for this rule.
- *One Gaussian.* The mu^2 of Gaussian releases add up to at most that of one Gaussian release of epsilon and of what is
  left of delta. A pure release of epsilon counts as one of mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), which dominates
  randomised response of epsilon. What is neither Gaussian nor pure does not count, and may not be there.

The releases fit as long as *one of the rules* holds: of the outcomes at whose end the first rule holds, those that lose
more than epsilon have at most the delta of whoever stops before it is broken, for it held all the way; so have the
others of the second; and the two deltas add up to delta. That is why delta is divided before anything is released.
Where each rule had all of delta, it would be spent twice.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np
from scipy.special import expit, ndtri

from .._search import smallest
from ..calibration import gaussian_deltas
from ..composition import Losses
from ..guarantee import PrivacyGuarantee
from ..rounding import rounded_down, sum_up

_SLACK = 5e-11  # relative, of delta; half of what `gaussian_sigma` leaves, and far above rounding errors
_ALIKE = 1e-12  # relative: how far sums of floats may exceed what they may be
_LARGEST = 1e150  # of pure epsilons, and of mu: beyond it mu^2 is no double
_ROOM = 1e-9  # relative; what a search by halves, and the inverse of the normal distribution, may be off
_TENTH, _HALF = 0.1, 0.5


class Left(NamedTuple):
    """How much one more release may reveal, by its kind; see `sklearn_dprank.privacy.budget.charging.Remaining`."""

    pure: float
    mu: float
    basic: tuple[float, float]


@dataclass(frozen=True)
class Account:
    """What was released, and what may be.

    Parameters
    ----------
    epsilon, delta : float
        The most that all releases together may reveal.
    basic_delta : float or None, default=None
        How much of delta is kept for sums. None: all of it if of the first release only an (epsilon, delta) is known;
        half of it if that is pure; and if it is Gaussian a tenth, or nothing where it needs all of delta itself.
    releases : tuple of PrivacyGuarantee, default=()
        What was released.

    References
    ----------
    Smith and Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy"; Rogers, Roth, Ullman and
    Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition"; Tran, Koskela, Raisa and Honkela (2026),
    "f-differential privacy filters: validity and approximate solutions".
    """

    epsilon: float
    delta: float
    basic_delta: float | None = None
    releases: tuple[PrivacyGuarantee, ...] = ()

    def with_one_more(self, guarantee: PrivacyGuarantee) -> Self:
        """Return the account after one more release."""
        return replace(self, releases=(*self.releases, guarantee))

    def holds(self) -> bool:
        """Tell whether the releases fit, whatever they were chosen by."""
        epsilon, delta = self._sums
        if _within(epsilon, self.epsilon) and _within(delta, self._kept):
            return True
        return _is_one_gaussian(self._mu, self.epsilon, self._rest(self._kept))

    def spent(self) -> tuple[float, float]:
        """Return the smaller epsilon of the two rules, with its delta."""
        sums = self._sums if _within(self._sums[1], self._kept) else (math.inf, 0.0)
        gaussian = self._one_gaussian(self._rest(self._kept))
        return min(sums, gaussian)

    def left(self) -> Left:
        """Return how much one more release may reveal, for each kind of release."""
        fresh = self._first is None and self.basic_delta is None  # then it is what follows that divides delta
        kept = self.delta if fresh else self._kept
        epsilon, delta = (_tidy(*pair) for pair in zip((self.epsilon, kept), self._sums, strict=True))
        basic = (
            (epsilon, delta) if _within(self._sums[0], self.epsilon) and _within(self._sums[1], kept) else (0.0, 0.0)
        )
        mu = self._room(self.delta if fresh else self._rest(kept))
        pure = _largest(lambda epsilon: mu_of_pure(epsilon) <= mu) if mu and not fresh else 0.0
        return Left(max(basic[0], pure), mu, basic)

    @cached_property
    def _sums(self):
        return sum_up(g.epsilon for g in self.releases), sum_up(g.delta for g in self.releases)

    @cached_property
    def _mu(self):
        """Return the mu of one Gaussian release that reveals as much as all, rounded up; infinite if there is none."""
        return _mu_of(self.releases)

    @cached_property
    def _first(self):
        """Return the first release that may have said something, or None."""
        return next((g for g in self.releases if g.epsilon or g.delta), None)

    @cached_property
    def _kept(self):
        """Return what is kept of delta for sums."""
        if self.basic_delta is not None:
            return self.basic_delta
        if self._first is None or not self._first.delta:
            return self.delta * _HALF
        mu, tenth = _mu_of([self._first]), self.delta * _TENTH
        if math.isinf(mu):
            return self.delta
        return tenth if _is_one_gaussian(mu, self.epsilon, self._rest(tenth)) else 0.0

    def _rest(self, kept):
        return rounded_down(Fraction(self.delta) - Fraction(kept))

    def _one_gaussian(self, delta):
        """Return about the smallest epsilon of the second rule; the account's or less, if it holds."""
        if math.isinf(self._mu) or not delta:
            return math.inf, delta
        if _is_one_gaussian(self._mu, 0.0, delta):
            return 0.0, delta
        least = smallest(lambda epsilon: _is_one_gaussian(self._mu, epsilon, delta))
        return (min(least, self.epsilon) if _is_one_gaussian(self._mu, self.epsilon, delta) else least), delta

    def _room(self, delta):
        """Return the mu of the Gaussian release that the second rule leaves room for, rounded down."""
        if math.isinf(self._mu) or not delta:
            return 0.0
        most = _most_mu(self.epsilon, delta)
        return math.sqrt(max(0.0, (most - self._mu) * (most + self._mu))) * (1 - _ROOM)


def _within(total, most):
    """Tell whether a sum, rounded up, is at most what it may be: ten times .1, as floats, is a little more than 1."""
    return total <= most * (1 + _ALIKE)


def _tidy(most, spent):
    """Return what is left, without the dust of a subtraction where that may be spent, too."""
    if math.isinf(spent):
        return 0.0
    left = max(Fraction(0), Fraction(most) - Fraction(spent))
    short = float(f"{float(left):.12g}")
    return short if _within(sum_up([spent, short]), most) else rounded_down(left)


def _mu_of(releases: Iterable[PrivacyGuarantee]) -> float:
    total = Losses.together(g.losses or Losses() for g in releases)
    if any(delta for _, delta in total.approximate):
        return math.inf
    pure = [*total.pure, *(epsilon for epsilon, _ in total.approximate)]
    if max(pure, default=0.0) > _LARGEST:
        return math.inf
    return math.sqrt(sum_up([total.mu_squared, *(mu_of_pure(epsilon) ** 2 for epsilon in pure)])) * (1 + 2.0**-50)


def _is_one_gaussian(mu, epsilon, delta):
    """Tell whether delta is enough at epsilon for one Gaussian release of mu."""
    return delta > 0 and mu < math.inf and bool(gaussian_deltas(np.array([epsilon]), mu)[0] <= delta * (1 - _SLACK))


@lru_cache(maxsize=4096)
def mu_of_pure(epsilon: float) -> float:
    """Return the mu of a Gaussian release that reveals no less than any pure one of epsilon, rounded up.

    Parameters
    ----------
    epsilon : float
        Not negative.

    Returns
    -------
    float
        2 Phi^-1(e^epsilon / (1 + e^epsilon)), at most epsilon sqrt(pi / 2): its trade-off curve passes through the one
        corner of randomised response's, and is convex.

    Examples
    --------
    >>> round(mu_of_pure(1.0), 4)
    1.232
    """
    linear = epsilon * math.sqrt(math.pi / 2) * (1 + 2.0**-50)
    return linear if epsilon < 1e-3 else min(linear, float(-2 * ndtri(expit(-epsilon))) * (1 + _ROOM))


@lru_cache(maxsize=256)
def _most_mu(epsilon, delta):
    """Return about the largest mu of Gaussian releases that delta is enough for at epsilon; it is."""
    return _largest(lambda mu: _is_one_gaussian(mu, epsilon, delta))


def _largest(fits: Callable[[float], bool]) -> float:
    """Return about the largest positive number for which the monotone `fits` holds; it does hold there."""
    return _LARGEST if fits(_LARGEST) else 1 / smallest(lambda inverse: fits(1 / inverse))
