"""What an account of releases may hold where the next price may depend on what the releases before it said.

`PrivacyGuarantee.compose` is for prices that are fixed beforehand. Whoever chooses the next epsilon by what was seen
can get more out of a bound on every path than the bound itself: two kinds of coins, each path within the optimal bound
of Kairouz, Oh and Viswanath, have up to 2.2 times its delta together. (That it is so of optimal bounds in general is
shown by Tran, Koskela, Raisa and Honkela, 2026.) What holds on all paths at once is:

- *Gaussian releases*, as long as their mu^2 add up to at most a total that was fixed beforehand; a pure release of
  epsilon counts as mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), which dominates randomised response of epsilon.
- *Sums.* As long as the epsilons add up to epsilon, nothing is lost beyond it but the deltas, whose total, too, must be
  fixed beforehand: who has seen that one kind of loss did not come true could otherwise spend its delta on the other.
  Pure releases lose no delta here, so on every path either rule will do for them.

Delta is thus divided, before anything is released, into what the first rule uses and what is left to the second.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np
from scipy.special import expit, ndtri

from ._search import smallest
from .calibration import gaussian_deltas
from .composition import Losses
from .guarantee import PrivacyGuarantee
from .rounding import rounded_down, sum_up

_SLACK = 5e-11  # relative, of delta; half of what `gaussian_sigma` leaves, and far above rounding errors
_ALIKE = 1e-12  # relative: how far sums of floats may exceed what they may be
_ROOM = 1e-9  # relative; what a search by halves, and the inverse of the normal distribution, may be off

_PURE, _GAUSSIAN, _STATED = Losses(pure=(1.0,)), Losses(mu_squared=1.0), Losses.stated(1.0, 0.5)


@dataclass(frozen=True)
class Account:
    """What was released, and what may be.

    Parameters
    ----------
    epsilon, delta : float
        The most that all releases together may reveal.
    basic_delta : float or None, default=None
        How much of delta is kept for releases whose deltas add up. None: as the first release needs it; all of it if
        only an (epsilon, delta) is known of it, none if it is Gaussian, and else half.
    booked : tuple of Losses, default=()
        Of the releases made.

    References
    ----------
    Smith and Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy"; Rogers, Roth, Ullman and
    Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition"; Tran, Koskela, Raisa and Honkela (2026),
    "f-differential privacy filters: validity and approximate solutions".
    """

    epsilon: float
    delta: float
    basic_delta: float | None = None
    booked: tuple[Losses, ...] = ()

    def booking(self, guarantee: PrivacyGuarantee) -> Losses | None:
        """Return as what a release can be booked: what is known of it, or what is stated; None if neither fits."""
        for losses in (guarantee.losses or Losses(), Losses.stated(guarantee.epsilon, guarantee.delta)):
            if self.with_one_more(losses).holds():
                return losses
        return None

    def with_one_more(self, losses: Losses) -> Self:
        """Return the account after one more release."""
        return replace(self, booked=(*self.booked, losses))

    def holds(self) -> bool:
        """Tell whether the releases fit, whatever they were chosen by."""
        total = Losses.together(self.booked)
        kept, left = self._deltas()
        if not _within(sum_up(delta for _, delta in total.approximate), kept):
            return False
        if not total.mu_squared and _within(_sum_of_epsilons(total), self.epsilon):
            return True
        return left > 0 and _delta_of(self.epsilon, _mu_of(total)) <= left * (1 - _SLACK)

    def spent(self) -> tuple[float, float]:
        """Return the epsilon and delta of the releases, counted as `holds` does."""
        total = Losses.together(self.booked)
        _, left = self._deltas()
        lost = sum_up(delta for _, delta in total.approximate)
        basic = math.inf if total.mu_squared else _sum_of_epsilons(total)
        tight = self._tight(_mu_of(total), left) if self.booked and left > 0 else math.inf
        return (basic, lost) if basic <= tight else (tight, sum_up([lost, left]))

    def _tight(self, mu, left):
        """Return about the smallest epsilon at which what is left of delta is enough; within the account's if it is."""

        def enough(epsilon):
            return _delta_of(epsilon, mu) <= left * (1 - _SLACK)

        if math.isinf(mu):
            return math.inf
        least = 0.0 if enough(0.0) else smallest(enough)
        return min(least, self.epsilon) if enough(self.epsilon) else least

    def pure_left(self) -> float:
        """Return about the largest epsilon of one more pure release that fits."""
        total = Losses.together(self.booked)
        left = Fraction(self.epsilon) - Fraction(_sum_of_epsilons(total))
        basic = 0.0 if total.mu_squared or left < 0 else _tidy(left, self.epsilon, _sum_of_epsilons(total))
        room = self._room(total, _PURE)
        return max(basic, _largest(lambda epsilon: _mu_of(Losses(pure=(epsilon,))) <= room, self.epsilon))

    def mu_left(self) -> float:
        """Return about the largest mu of one more Gaussian release that fits."""
        return self._room(Losses.together(self.booked), _GAUSSIAN)

    def delta_left(self) -> float:
        """Return how much is left for releases whose deltas add up."""
        kept, _ = self._deltas(_STATED)
        lost = sum_up(delta for losses in self.booked for _, delta in losses.approximate)
        return _tidy(max(Fraction(0), Fraction(kept) - Fraction(lost)), kept, lost)

    def _room(self, total, following):
        """Return how large the mu of what follows may be, rounded down."""
        _, left = self._deltas(following)
        if left == 0:
            return 0.0
        most, spent = _most_mu(self.epsilon, left), _mu_of(total)
        return math.sqrt(max(0.0, (most - spent) * (most + spent))) * (1 - _ROOM)

    def _deltas(self, following=_PURE):
        """Return what is kept of delta for sums, and what is left of it for the Gaussian rule.

        Where it is decided by the first release that may say something, and there is none, it is what follows.
        """
        kept = self.basic_delta
        if kept is None:
            telling = (one for one in self.booked if one.mu_squared or any(one.pure) or one.approximate)
            kept = self.delta * _share_of_sums(next(telling, following))
        return kept, rounded_down(Fraction(self.delta) - Fraction(kept))


def _share_of_sums(first):
    """Return which share of delta an account keeps for sums whose first release is this one: 0, 1 or 1/2."""
    if bool(first.mu_squared) == bool(first.approximate):
        return 0.5
    return 0.0 if first.mu_squared else 1.0


def _within(total, most):
    """Tell whether a sum, rounded up, is at most what it may be: ten times .1, as floats, is a little more than 1."""
    return total <= most * (1 + _ALIKE)


def _tidy(left, most, spent):
    """Return what is left, without the dust of a subtraction where that may be spent, too."""
    short = float(f"{float(left):.12g}")
    return short if _within(sum_up([spent, short]), most) else rounded_down(left)


def _sum_of_epsilons(total):
    return sum_up([*total.pure, *(epsilon for epsilon, _ in total.approximate)])


def _mu_of(total):
    """Return the mu of a Gaussian release that reveals as much as all, rounded up; deltas are not in it."""
    squares = (mu_of_pure(epsilon) ** 2 for epsilon in [*total.pure, *(epsilon for epsilon, _ in total.approximate)])
    return math.sqrt(sum_up([total.mu_squared, *squares])) * (1 + 2.0**-50)


def _delta_of(epsilon, mu):
    return float(gaussian_deltas(np.array([epsilon]), mu)[0])


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
    return _largest(lambda mu: _delta_of(epsilon, mu) <= delta * (1 - _SLACK), 2.0**10)


def _largest(fits: Callable[[float], bool], most: float) -> float:
    """Return about the largest number up to `most` for which the monotone `fits` holds; it does hold there, or is 0."""
    if fits(most):
        return most
    low = most
    while not fits(low):
        low /= 2
        if low < most * 2.0**-100:
            return 0.0
    high = 2 * low
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
