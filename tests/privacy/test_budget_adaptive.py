"""Accounts of adaptive releases hold against the best adversary, who chooses each release after the earlier ones."""

import math
from fractions import Fraction
from functools import cache, reduce

import numpy as np
import pytest

from sklearn_dprank import DPBorda
from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.privacy.budget import Account, mu_of_pure
from sklearn_dprank.privacy.composition import Losses, gaussian_delta, gaussian_deltas

STEP, REACH = 0.05, 8.0
GRID = np.arange(-round(REACH / STEP), round(REACH / STEP) + 1) * STEP  # privacy losses so far


def stated(epsilon, delta=0.0, losses=None):
    return PrivacyGuarantee(epsilon, delta, "central", "add_remove", "noise", losses=losses)


class Coin:
    """Randomised response of epsilon, which reveals the whole ballot with probability delta."""

    def __init__(self, epsilon, delta=0.0):
        self.name = f"Coin({epsilon}, {delta})"
        self.guarantee = stated(epsilon, delta)
        self.shift, self.heads, self.leak = round(epsilon / STEP), 1 / (1 + math.exp(-epsilon)), delta

    def __repr__(self):
        return self.name

    def before(self, after):
        """Return the largest delta before the toss for every loss so far, from those after it."""
        padded = np.pad(after, self.shift, mode="edge")
        up, down = padded[2 * self.shift :], padded[: len(after)]
        return self.leak + (1 - self.leak) * (self.heads * up + (1 - self.heads) * down)


class Normal:
    """A Gaussian release of mu, its loss N(mu^2 / 2, mu^2) cut to the grid; stated at some epsilon."""

    def __init__(self, mu, epsilon=0.5):
        self.name = f"Normal({mu}, {epsilon})"
        self.guarantee = stated(epsilon, gaussian_delta(epsilon, 1 / mu), Losses(mu_squared=mu * mu))
        place = (GRID[None, :] - GRID[:, None] - mu * mu / 2) / mu
        weights = np.exp(-place * place / 2)
        self.weights = weights / weights.sum(1, keepdims=True)

    def __repr__(self):
        return self.name

    def before(self, after):
        return self.weights @ after


def worst(holds, releases, epsilon):
    """Return the delta at epsilon of the best adaptive choice of releases, as long as the account holds."""

    @cache
    def most(counts):
        best = np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - GRID)))
        for kind, release in enumerate(releases):
            more = tuple(count + (kind == place) for place, count in enumerate(counts))
            if holds(more):
                best = np.maximum(best, release.before(most(more)))
        return best

    return most((0,) * len(releases))[len(GRID) // 2]


def held(account, releases):
    def holds(counts):
        made = [release.guarantee for count, release in zip(counts, releases, strict=True) for _ in range(count)]
        return after(account, *made).holds()

    return cache(holds)


SMALL, LARGE, LEAKY, TINY = Coin(0.1), Coin(0.5), Coin(0.2, 0.01), Coin(0.0, 0.005)


@pytest.mark.parametrize(
    ("releases", "account"),
    [
        ([SMALL, LARGE], Account(2.0, 0.01, 0.0)),
        ([SMALL, LARGE], Account(1.0, 0.05, 0.0)),
        ([SMALL, LARGE], Account(1.0, 0.0)),
        ([SMALL, LEAKY], Account(1.0, 0.05, 0.03)),
        ([LEAKY, LARGE], Account(1.0, 0.05, 0.05)),
        ([Normal(0.4), LARGE], Account(1.0, 0.1, 0.0)),
        ([Normal(0.4), LARGE], Account(1.0, 0.1)),
        ([Normal(0.2, 0.4), TINY], Account(1.0, 0.1, 0.05)),
        ([Normal(0.2, 0.4), TINY], Account(1.0, 0.1, 0.01)),
        ([Normal(0.2, 0.4), TINY], Account(1.0, 0.1, 0.09)),
        ([Normal(0.3, 0.6), LEAKY, LARGE], Account(1.0, 0.1, 0.05)),
    ],
    ids=str,
)
def test_no_strategy_loses_more(releases, account):
    assert worst(held(account, releases), releases, account.epsilon) <= account.delta + 1e-12


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 9.99e-4, 1.001e-3, 0.1, 1.0, 5.0, 30.0, 600.0])
def test_a_pure_release_reveals_no_more_than_its_gaussian(epsilon):
    mu, at = mu_of_pure(epsilon), np.linspace(-1, 1, 101) * epsilon
    coin = 1 / (1 + np.exp(-epsilon)) - np.exp(at - np.logaddexp(0, epsilon))
    assert (gaussian_deltas(at, mu) >= coin - 1e-15).all()
    assert gaussian_deltas(np.zeros(1), mu)[0] == pytest.approx(math.tanh(epsilon / 2), rel=1e-6)
    for tiny in (epsilon * k / 1e13 for k in range(1, 50)):  # where mu is epsilon sqrt(pi / 2), rounded up
        assert Fraction(mu_of_pure(tiny)) >= Fraction("1.25331413731550025") * Fraction(tiny)


def gaussian(epsilon, delta):
    return DPBorda(epsilon=epsilon, delta=delta, noise="gaussian").fit([[0, 1, 2]] * 9).privacy_


def after(account, *releases):
    return reduce(Account.with_one_more, releases, account)


def test_a_hundred_releases_fit():
    one = gaussian(0.1, 1e-8)
    account = after(Account(0.92, 1e-6), *[one] * 100)
    assert account.holds()
    assert not account.with_one_more(one).holds()
    assert account.spent() == (pytest.approx(0.9188, abs=1e-4), 9e-7)
    all_of_delta = after(Account(0.92, 1e-6, 0.0), *[one] * 100)
    assert all_of_delta.spent() == (pytest.approx(0.9137, abs=1e-4), 1e-6)
    assert not after(Account(0.91, 1e-6, 0.0), *[one] * 100).holds()


@pytest.mark.parametrize("delta", [1e-200, 1e-12, 1e-6, 0.01, 0.5])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 1.0, 8.0])
def test_one_release_may_use_all(epsilon, delta):
    for release in (gaussian(epsilon, delta), stated(epsilon, delta), stated(epsilon)):
        account = after(Account(epsilon, delta), release)
        assert account.holds()
        assert account.spent() <= (epsilon, delta)
        if release.delta:  # pure releases may also use delta
            assert not account.with_one_more(release).holds()


def test_sums_are_not_rounded_down():
    assert not after(Account(1.0, 0.0), stated(1.0 + 1e-11)).holds()
    assert not after(Account(1.0, 0.0), stated(0.5), stated(0.5 + 1e-11)).holds()
    assert not after(Account(1.0, 1e-6), stated(0.1, 1e-6 * (1 + 1e-11))).holds()
    normal, delta = Normal(0.3).guarantee, gaussian_delta(1.0, 1 / 0.3)
    assert not after(Account(1.0, delta, 0.0), normal).holds()  # a little of delta is left for rounding errors
    assert after(Account(1.0, delta * (1 + 1e-9), 0.0), normal).holds()


def test_an_epsilon_whose_square_overflows_is_counted_by_sums():
    assert after(Account(1e300, 1e-6), stated(1e200)).holds()


@pytest.mark.parametrize(
    ("first", "kept"),
    [
        (gaussian(0.1, 1e-8), 1e-7),
        (gaussian(1.0, 1e-6), 0.0),
        (stated(0.1), 5e-7),
        (stated(0.1, 1e-8), 1e-6),
        (stated(0.3, 1e-8, Losses(0.001, (), ((0.1, 1e-9),))), 1e-6),
    ],
    ids=str,
)
def test_delta_is_divided_by_the_first_release_with_a_loss(first, kept):
    for releases in ([stated(0.0), first], [first, stated(0.05, 1e-9)], [first, gaussian(0.01, 1e-9)]):
        asked, fixed = (after(Account(1.0, 1e-6, division), *releases) for division in (None, kept))
        assert asked.left() == fixed.left()
        assert asked.spent() == fixed.spent()
        assert asked.holds() == fixed.holds()


def test_a_gaussian_release_needs_delta():
    for delta, kept in ((0.0, None), (1e-6, 1e-6)):
        assert not after(Account(1.0, delta, kept), gaussian(0.1, 1e-5)).holds()
        assert Account(1.0, delta, kept).left().mu == 0
    nearly_all = after(Account(1.0, 1e-6), gaussian(0.99, 1e-6))
    assert nearly_all.left().epsilon < 0.1
    assert nearly_all.with_one_more(stated(nearly_all.left().epsilon)).holds()
    assert not nearly_all.with_one_more(stated(0.2)).holds()


BEFORE = [(), (stated(0.3),), (gaussian(0.3, 1e-7),), (gaussian(0.9, 1e-8),), (stated(0.3, 1e-7),)]


@pytest.mark.parametrize("before", BEFORE, ids=str)
@pytest.mark.parametrize("basic_delta", [None, 3e-7])
def test_the_limits_of_an_account_are_tight(before, basic_delta):
    account = after(Account(1.0, 1e-6, basic_delta), *before)
    pure, mu, epsilon, delta = account.left()
    assert account.with_one_more(stated(pure)).holds()
    assert not account.with_one_more(stated(pure * (1 + 1e-6) + 1e-14)).holds()
    assert account.with_one_more(stated(epsilon, delta)).holds()
    assert not account.with_one_more(stated(epsilon * (1 + 1e-6) + 1e-14, max(delta, 1e-15))).holds()
    assert not account.with_one_more(stated(epsilon, delta * (1 + 1e-6) + 1e-15)).holds()
    for at, fits in ((1.0, True), (1.0 + 1e-6, False)):
        losses = Losses(mu_squared=(mu * at) ** 2)
        hopeless = stated(2.0, gaussian_delta(2.0, 1 / (mu * at)), losses) if mu else stated(2.0, 1e-3)
        assert account.with_one_more(hopeless).holds() == (fits and mu > 0)
