"""What releases may reveal whose prices depend on what was seen: against adversaries who make the most of it."""

import math
from functools import cache

import numpy as np
import pytest

from sklearn_dprank import DPBorda
from sklearn_dprank.privacy.adaptive import Account, mu_of_pure
from sklearn_dprank.privacy.calibration import gaussian_deltas, gaussian_sigma
from sklearn_dprank.privacy.composition import Losses

STEP, REACH = 0.05, 8.0
GRID = np.arange(-round(REACH / STEP), round(REACH / STEP) + 1) * STEP  # privacy losses so far


class Coin:
    """Randomised response of epsilon; after it, with probability delta, everything is known."""

    def __init__(self, epsilon, delta=0.0):
        self.losses = Losses.stated(epsilon, delta)
        self.shift, self.heads, self.leak = round(epsilon / STEP), 1 / (1 + math.exp(-epsilon)), delta

    def before(self, after):
        """Return the most that can be lost before the toss, for every loss so far, from what can be after it."""
        padded = np.pad(after, self.shift, mode="edge")
        up, down = padded[2 * self.shift :], padded[: len(after)]
        return self.leak + (1 - self.leak) * (self.heads * up + (1 - self.heads) * down)


class Normal:
    """A Gaussian release of mu, its loss N(mu^2 / 2, mu^2) cut to the grid."""

    def __init__(self, mu):
        self.losses = Losses(mu_squared=mu * mu)
        place = (GRID[None, :] - GRID[:, None] - mu * mu / 2) / mu
        weights = np.exp(-place * place / 2)
        self.weights = weights / weights.sum(1, keepdims=True)

    def before(self, after):
        return self.weights @ after


def worst(holds, releases, epsilon):
    """Return the delta at epsilon of whoever chooses the best next release for what was seen, as long as it holds."""

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
        booked = [release.losses for count, release in zip(counts, releases, strict=True) for _ in range(count)]
        return Account(account.epsilon, account.delta, account.basic_delta, tuple(booked)).holds()

    return cache(holds)


SMALL, LARGE, LEAKY = Coin(0.1), Coin(0.5), Coin(0.2, 0.01)


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 0.01), (1.0, 0.05), (1.5, 0.02)])
def test_the_best_known_bound_on_every_path_is_none_for_all_paths_together(epsilon, delta):
    """Why an account is not simply `PrivacyGuarantee.compose` again and again."""

    def holds(counts):
        few, many = counts
        return Losses(pure=(0.1,) * few + (0.5,) * many).epsilon(delta) <= epsilon

    assert worst(cache(holds), [SMALL, LARGE], epsilon) > 1.2 * delta


@pytest.mark.parametrize(
    ("releases", "account"),
    [
        ([SMALL, LARGE], Account(2.0, 0.01, 0.0)),
        ([SMALL, LARGE], Account(1.0, 0.05, 0.0)),
        ([SMALL, LARGE], Account(1.0, 0.0)),
        ([SMALL, LEAKY], Account(1.0, 0.05, 0.03)),
        ([LEAKY, LARGE], Account(1.0, 0.05, 0.05)),
        ([Normal(0.4), LARGE], Account(1.0, 0.1, 0.0)),
        ([Normal(0.3), Coin(0.1, 0.02)], Account(1.0, 0.1, 0.04)),
        ([Normal(0.3), Coin(0.1, 0.02)], Account(1.0, 0.1, 0.1)),
        ([Normal(0.3), Coin(0.1, 0.02), LARGE], Account(1.0, 0.1, 0.05)),
    ],
    ids=str,
)
def test_no_strategy_loses_more(releases, account):
    lost = worst(held(account, releases), releases, account.epsilon)
    assert lost <= account.delta * (1 + 1e-3) + 1e-12


def test_a_strategy_may_lose_nearly_all():
    """The bound is not loose: Gaussian releases lose all of delta, and so do those whose deltas add up."""
    normal, leaky = Normal(0.3), Coin(0.1, 0.02)
    assert worst(held(Account(1.0, 0.1, 0.0), [normal]), [normal], 1.0) > 0.08
    assert worst(held(Account(1.0, 0.1, 0.1), [leaky]), [leaky], 1.0) > 0.09


def test_delta_must_be_divided_beforehand():
    """Who may decide on the way which rule gets the delta gives it to Gaussian noise after great losses only."""
    normal, leaky = Normal(0.3), Coin(0.0, 0.01)

    def holds(counts):
        normals, leaks = counts
        return leaks * 0.01 + gaussian_deltas(np.ones(1), 0.3 * math.sqrt(normals))[0] <= 0.1

    assert worst(cache(holds), [normal, leaky], 1.0) > 0.13
    for kept in (0.0, 0.02, 0.05, 0.1):
        assert worst(held(Account(1.0, 0.1, kept), [normal, leaky]), [normal, leaky], 1.0) <= 0.1


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 9.99e-4, 1.001e-3, 0.1, 1.0, 5.0, 30.0, 600.0])
def test_a_pure_release_reveals_no_more_than_its_gaussian(epsilon):
    mu, at = mu_of_pure(epsilon), np.linspace(-1, 1, 101) * epsilon
    coin = 1 / (1 + np.exp(-epsilon)) - np.exp(at - np.logaddexp(0, epsilon))
    assert (gaussian_deltas(at, mu) >= coin - 1e-15).all()
    assert gaussian_deltas(np.zeros(1), mu)[0] == pytest.approx(math.tanh(epsilon / 2), rel=1e-6)


def gaussian(epsilon, delta):
    return DPBorda(epsilon=epsilon, delta=delta, noise="gaussian").fit([[0, 1, 2]] * 9).privacy_.losses


def after(account, *losses):
    for one in losses:
        account = account.with_one_more(one)
    return account


def test_a_hundred_releases_fit():
    account = after(Account(0.92, 1e-6), *[gaussian(0.1, 1e-8)] * 100)
    assert account.holds()
    epsilon, delta = account.spent()
    assert 0.9137 < epsilon < 0.9138
    assert delta == 1e-6
    assert not after(Account(0.91, 1e-6), *account.booked).holds()


@pytest.mark.parametrize("delta", [1e-200, 1e-12, 1e-6, 0.01, 0.5])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 1.0, 8.0])
def test_one_release_may_use_all(epsilon, delta):
    for known in (gaussian(epsilon, delta), Losses.stated(epsilon, delta), Losses(pure=(epsilon,))):
        account = after(Account(epsilon, delta), known)
        assert account.holds()
        assert account.spent()[0] <= epsilon
        assert account.spent()[1] <= delta
        if not known.pure:  # which need no delta, and may use what there is of it
            assert not account.with_one_more(known).holds()


def test_sums_are_not_rounded_down():
    """Ten times .1 is a little more than 1, as floats; that much is allowed, and said."""
    ten = after(Account(1.0, 0.0), *[Losses(pure=(0.1,))] * 10)
    assert ten.holds()
    assert ten.spent() == (1.0000000000000002, 0.0)
    assert not after(Account(1.0, 0.0), Losses(pure=(1.0 + 1e-11,))).holds()
    assert not after(Account(1.0, 0.0), Losses(pure=(0.5,)), Losses(pure=(0.5 + 1e-11,))).holds()
    assert not after(Account(1.0, 1e-6), Losses.stated(0.1, 1e-6 * (1 + 1e-11))).holds()


def test_delta_is_divided_by_the_first_release_that_says_something():
    nothing, pure, normal, stated = (
        Losses(pure=(0.0,)),
        Losses(pure=(0.1,)),
        gaussian(0.1, 1e-8),
        Losses.stated(0.1, 1e-8),
    )
    for first, kept in ((normal, 0.0), (stated, 1e-6), (pure, 5e-7), (Losses(0.01, (), ((0.1, 1e-8),)), 5e-7)):
        asked = Account(1.0, 1e-6, None, (nothing, first))
        fixed = Account(1.0, 1e-6, kept, (first,))
        assert asked.mu_left() == fixed.mu_left()
        assert (
            asked.delta_left()
            == fixed.delta_left()
            == pytest.approx(max(0, kept - sum(d for _, d in first.approximate)))
        )
    assert Account(1.0, 1e-6, None, (nothing,)).delta_left() == 1e-6


def test_where_no_delta_is_left_nothing_gaussian_fits():
    assert not after(Account(100.0, 0.0), Losses(mu_squared=1e-12)).holds()
    assert not after(Account(1.0, 1e-6, 1e-6), Losses(mu_squared=1e-12)).holds()
    assert Account(1.0, 0.0).mu_left() == 0
    with_gaussian = after(Account(1.0, 1e-6), gaussian(0.9, 1e-6))
    assert with_gaussian.pure_left() < 0.1
    assert after(with_gaussian, Losses(pure=(with_gaussian.pure_left(),))).holds()


@pytest.mark.parametrize("before", [(), (Losses(pure=(0.3,)),), (gaussian(0.3, 1e-7),), (Losses.stated(0.3, 1e-7),)])
@pytest.mark.parametrize("basic_delta", [None, 3e-7])
def test_what_is_left_fits_and_no_more(before, basic_delta):
    account = after(Account(1.0, 1e-6, basic_delta), *before)
    pure, mu, delta = account.pure_left(), account.mu_left(), account.delta_left()
    for most, losses in (
        (pure, lambda x: Losses(pure=(x,))),
        (mu, lambda x: Losses(mu_squared=x * x)),
        (delta, lambda x: Losses.stated(0.0, x)),
    ):
        if most:
            assert account.with_one_more(losses(most)).holds()
        assert not account.with_one_more(losses(most * (1 + 1e-6) + 1e-14)).holds()


def test_many_small_pure_releases_cost_less_than_their_sum():
    account = after(Account(1.0, 1e-6), *[Losses(pure=(0.01,))] * 300)
    assert account.holds()
    assert account.spent()[0] == pytest.approx(0.944, abs=1e-3)
    assert Losses.together(account.booked).epsilon(1e-6) < account.spent()[0]
    assert gaussian_sigma(1.0, 5e-7) ** -2 > 300 * mu_of_pure(0.01) ** 2


def test_what_is_known_is_used_before_what_is_stated():
    guarantee = DPBorda(epsilon=0.5, delta=1e-7, noise="gaussian").fit([[0, 1, 2]] * 9).privacy_
    assert Account(1.0, 1e-6).booking(guarantee) == guarantee.losses
    assert Account(0.5, 1e-7, 1e-7).booking(guarantee) == Losses.stated(0.5, 1e-7)
    assert Account(0.4, 1e-7).booking(guarantee) is None
