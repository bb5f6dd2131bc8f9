"""Swiss Borda: the noise of each round, what it promises, and what it saves."""

import math

import numpy as np
import pytest

from sklearn_dprank import DPBorda, DPSwissBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms import NoNoise
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.privacy import PrivacyGuarantee, gaussian_sigma
from sklearn_dprank.privacy.rounding import round_down

NEIGHBORING = ["add_remove", "replace"]
# Sizes of the groups of each round, by hand: see tests/rules/test_swiss.py.
GROUPS = {
    10: [[10]] * 3,
    45: [[45], [18, 18, 9], [4, 9, 9, 9, 9, 5]],
}


def plan_of(estimator, m):
    channel, rule = estimator._compose()
    return channel.plan(rule.asks(m), m)


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("m", GROUPS)
def test_noise_of_each_round(m, neighboring):
    """sigma_r = s1 sqrt(sum_groups k (k^2 - 1) / 3 / f_r), twice that under replace, where n is free.

    The last answer has 64 times the sigma of the net wins of all items, for the same share and any pairs.
    """
    plan = plan_of(DPSwissBorda(0.3, 1e-6, neighboring), m)
    counted, *rounds, last = (price.mechanism for price in plan.prices.values())
    s1 = gaussian_sigma(0.3, 1e-6)
    rest = 0.98 if neighboring == "add_remove" else 1.0
    for mechanism, share, sizes in zip([*rounds, last], (0.30, 0.20, 0.25, 0.25), [*GROUPS[m], [m]], strict=True):
        squared = sum(k * (k * k - 1) / 3 for k in sizes)
        moves = 1 if neighboring == "add_remove" else 2
        times = 64 if mechanism is last else 1
        assert mechanism.sigma == pytest.approx(times * s1 * moves * math.sqrt(squared / (share * rest)), rel=1e-9)
    if neighboring == "add_remove":
        assert counted.sigma == pytest.approx(s1 / math.sqrt(0.02), rel=1e-9)
    else:
        assert counted == NoNoise()


@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_the_answers_spend_exactly_the_budget(neighboring):
    plan = plan_of(DPSwissBorda(0.7, 1e-5, neighboring), 30)
    assert sum(price.epsilon * price.times for price in plan.prices.values()) == round_down(0.7)
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (0.7, 1e-5)
    assert plan.guarantee.losses.mu_squared == pytest.approx(gaussian_sigma(0.7, 1e-5) ** -2, rel=1e-9)
    assert (plan.guarantee.trust, plan.guarantee.arithmetic) == ("central", "exact")
    ten = PrivacyGuarantee.compose([plan_of(DPSwissBorda(0.1, 1e-7), 20).guarantee] * 10, delta=1e-6)
    assert ten.epsilon == pytest.approx(0.298, abs=5e-4)


@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_scores_are_the_order_if_the_model_explains_them(neighboring):
    X = make_mallows(500, 30, 0.8, random_state=0)
    fitted = DPSwissBorda(0.5, neighboring=neighboring, random_state=0).fit(X)
    np.testing.assert_array_equal(fitted.ranks_, (-fitted.scores_).argsort().argsort())
    assert abs(fitted.scores_.sum()) < 1e-6
    refitted = DPSwissBorda(0.5, neighboring=neighboring, random_state=0).fit(Profile.from_rankings(X))
    np.testing.assert_array_equal(refitted.scores_, fitted.scores_)


@pytest.mark.parametrize("m", [2, 3])
def test_few_items(m):
    for epsilon in (0.1, 100.0):
        fitted = DPSwissBorda(epsilon, random_state=0).fit([list(range(m))] * 50)
        assert sorted(fitted.ranks_) == list(range(m))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 50.0, 1e4])
@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_any_budget_ends_in_an_order(epsilon, neighboring):
    X = np.tile(np.random.default_rng(0).permutation(25), (200, 1))
    fitted = DPSwissBorda(epsilon, neighboring=neighboring, random_state=0).fit(X)
    assert sorted(fitted.ranks_) == list(range(25)) and np.isfinite(fitted.scores_).all()
    if epsilon > 1:
        np.testing.assert_array_equal(fitted.ranks_, X[0])


def errors(estimator, profile, size):
    """Average distance of fits to the voters."""
    fits = (estimator.set_params(random_state=seed).fit(profile).ranks_ for seed in range(size))
    return np.mean([average_kendall_tau(ranks, profile) for ranks in fits])


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_it_saves_noise_where_voters_agree(neighboring):
    """45 items, 5,000 voters, phi .75, epsilon .1: .019 points against .125 under add_remove."""
    centre = np.random.default_rng(1).permutation(45)
    profile = Profile.from_rankings(make_mallows(5000, 45, 0.75, center=centre, random_state=0)).counted()
    best = average_kendall_tau(centre, profile)
    swiss = errors(DPSwissBorda(0.1, 1e-6, neighboring), profile, 8) - best
    borda = errors(DPBorda(0.1, 1e-6, "gaussian", neighboring), profile, 8) - best
    assert 0 <= swiss < borda / 2
    if neighboring == "add_remove":
        assert swiss < 6e-4 and 5e-4 < borda < 25e-4
