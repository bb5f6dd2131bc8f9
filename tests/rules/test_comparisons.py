"""The rule that solves for strengths by noisy residuals: values of its parts, and what it recovers."""

import numpy as np
import pytest
from long_tools import compared, make_votes, rated
from scipy.stats import kendalltau

from sklearn_dprank import Aggregator, DPBorda, DPBradleyTerry
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import Central, Exact
from sklearn_dprank.datasets import make_comparisons, make_ratings
from sklearn_dprank.queries import BradleyTerryResiduals, NetWinsAndExposures
from sklearn_dprank.queries.comparisons import ONE
from sklearn_dprank.rules import NewtonBradleyTerryRule
from sklearn_dprank.rules.comparisons import blend, curvature, mixed_weights, posterior_exposures


def tau(estimator, truth):
    return kendalltau(estimator.strengths_, truth).statistic


def test_exposures_are_posterior_means():
    means, variances = posterior_exposures(np.array([0.0, 10.0, 100.0]), 10.0)
    np.testing.assert_allclose(means, [10.430, 14.6685, 100], atol=5e-4)
    np.testing.assert_allclose(variances, [34.0806, 51.4394, 100], atol=5e-5)


def test_equal_exposures_are_assumed_without_evidence_against_them():
    noisy = 50 + np.random.default_rng(0).normal(scale=20, size=40)
    means, variances = posterior_exposures(noisy, 20.0)
    assert set(means) == {noisy.mean()} and not variances.any()


def test_posterior_exposures_integrate_the_prior():
    """Against a quadrature over the whole line for the shape that is chosen, 2."""
    e, noise = np.array([0.0, 10.0, 100.0]), 10.0
    t = np.linspace(1e-6, 300, 400_001)
    chance = t * np.exp(-2 * t / e.mean() - ((e[:2, None] - t) / noise) ** 2 / 2)
    means = (chance * t).sum(axis=1) / chance.sum(axis=1)
    np.testing.assert_allclose(posterior_exposures(e, noise)[0][:2], means, rtol=2e-3)


def test_blended_shares_have_their_values():
    shares = blend(np.array([30.0, -10.0, -20.0]), np.array([40.0, 40.0, 80.0]), 4.0, 8.0)
    np.testing.assert_allclose(shares.shares, [0.59294, -0.19765, -0.23764], atol=5e-6)
    assert round(shares.spread, 5) == 0.14874


@pytest.mark.parametrize("n_items", [5, 600])
def test_curvature_is_the_derivative_of_expected_residuals(n_items):
    """Opponents come by exposure, so the expected net wins of i are the sum of f_i f_j tanh((s_i - s_j) / 2)."""
    rng = np.random.default_rng(2)
    strengths, exposures = rng.normal(size=n_items), rng.uniform(5, 50, size=n_items)
    f, step = exposures / np.sqrt(exposures.sum()), 1e-5

    def expected(i, s):
        moved = strengths.copy()
        moved[i] += s
        return (f[i] * f * np.tanh((moved[i] - moved) / 2)).sum()

    slopes = [(expected(i, step) - expected(i, -step)) / (2 * step) for i in range(5)]
    np.testing.assert_allclose(curvature(strengths, exposures)[:5], slopes, rtol=1e-3)


def test_mixed_weights_minimise_residuals_and_distance_from_the_default():
    rng = np.random.default_rng(3)
    residuals, noise, h = rng.normal(size=(4, 9)), rng.uniform(0.1, 1, size=4), rng.uniform(1, 2, size=9)
    default = np.array([0.4, 0.3, 0.2, 0.1])
    weights = mixed_weights(residuals, noise, h, default)

    def loss(a):
        return ((a @ residuals) ** 2 / h).sum() + 3 * ((a - default) ** 2 * noise**2).sum() * (1 / h).sum()

    assert weights.sum() == pytest.approx(1)
    for _ in range(50):
        step = rng.normal(size=4) * 0.01
        assert loss(weights) <= loss(weights + step - step.mean())
    np.testing.assert_allclose(mixed_weights(residuals / 1e4, noise, h, default), default, atol=1e-4)  # noise alone
    free = mixed_weights(residuals, noise / 1e6, h, default)  # residuals alone
    assert ((free @ residuals) ** 2 / h).sum() < ((weights @ residuals) ** 2 / h).sum()


def test_rounds_reach_the_maximum_of_the_likelihood_with_hardly_any_noise():
    """At the strengths of the last round, residuals are near 0, in spite of opponents of similar strength."""
    truth, *votes = make_votes(12, 20_000, 10, np.random.default_rng(4), matched=True)
    profile = compared(*votes, 12, max_weight=1000)
    fitted = DPBradleyTerry(epsilon=1e4, random_state=0).fit(profile)
    query = BradleyTerryResiduals(tuple(fitted.strengths_.tolist()))
    assert np.abs(query.vector(profile, None) / ONE / fitted.exposures_).max() < 0.01
    assert tau(fitted, truth) > 0.93
    exact = Aggregator(Exact(), NewtonBradleyTerryRule()).fit(profile)
    np.testing.assert_allclose(exact.strengths_, fitted.strengths_, atol=0.05)


@pytest.mark.parametrize(
    ("matched", "parameters", "least"),
    [
        (False, {}, 0.85),
        (True, {}, 0.85),
        (False, {"n_rounds": 1}, 0.83),
        (False, {"delta": 0.0}, 0.82),
    ],
)
def test_strengths_are_recovered_from_few_comparisons_of_each_person(matched, parameters, least):
    found = []
    for seed in range(6):
        truth, *votes = make_votes(30, 2000, 10, np.random.default_rng(seed), matched=matched)
        found.append(tau(DPBradleyTerry(epsilon=1.0, random_state=seed, **parameters).fit(compared(*votes, 30)), truth))
    assert np.mean(found) > least


def test_rounds_see_opponents_and_net_wins_do_not():
    truth, *votes = make_votes(30, 5000, 10, np.random.default_rng(5), matched=True)
    profile = compared(*votes, 30)
    rounds, shares = (DPBradleyTerry(n_rounds=n, random_state=0).fit(profile) for n in (None, 1))
    borda = DPBorda(noise="gaussian", delta=1e-6, random_state=0).fit(profile)
    assert tau(rounds, truth) > tau(shares, truth) + 0.1
    assert tau(rounds, truth) > kendalltau(borda.scores_, truth).statistic + 0.1


def test_ratings_are_not_biased_by_popularity():
    """Popular items are rated up to 60 times as often, whether they are good or not; net wins grow with that."""
    rng = np.random.default_rng(6)
    truth, popularity = rng.normal(size=(2, 40))
    persons, items = np.nonzero(rng.random((3000, 40)) < (0.1 * np.exp(1.5 * popularity)).clip(0.015, 0.9))
    profile = rated(persons, items, np.rint(truth[items] + rng.normal(size=len(items))), 40)
    fitted = DPBradleyTerry(epsilon=3.0, random_state=0).fit(profile)
    assert tau(fitted, truth) > max(0.85, kendalltau(profile.net_wins, truth).statistic + 0.15)


def test_later_rounds_need_gaussian_noise():
    with pytest.raises(ValueError, match=r"n_rounds=3 needs Gaussian noise; set delta=1e-6"):
        DPBradleyTerry(delta=0.0, n_rounds=3).fit([[0, 1], [1, 0]])


def test_each_round_has_its_share_of_the_budget():
    asks = NewtonBradleyTerryRule(5).asks(7)
    assert [type(ask.query) for ask in asks] == [NetWinsAndExposures, BradleyTerryResiduals]
    assert [ask.times for ask in asks] == [1, 4] and sum(ask.share for ask in asks) == 1
    prices = Central(1.0, 1e-6, "gaussian").plan(asks, 7).prices.values()
    mu_squared = [float(price.sensitivity.l2_squared) * price.times / price.mechanism.sigma**2 for price in prices]
    np.testing.assert_allclose(np.array(mu_squared) / sum(mu_squared), [0.12, 0.88], rtol=1e-9)


@pytest.mark.parametrize(("n_items", "matched", "epsilon"), [(10, False, 1.0), (10, True, 3.0), (30, True, 0.3)])
def test_rank_intervals_hold_in_a_population(n_items, matched, epsilon):
    held = []
    for seed in range(10):
        truth, *votes = make_votes(n_items, 2000, 10, np.random.default_rng(seed), matched=matched)
        fitted = DPBradleyTerry(epsilon, random_state=seed).fit(compared(*votes, n_items))
        ranks = (truth > truth[:, None]).sum(axis=1)
        best, worst = fitted.rank_intervals().T
        held.append(((best <= ranks) & (ranks <= worst)).all())
        assert (worst - best).mean() < n_items - 1
    assert np.mean(held) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_items", "n_persons", "mean", "laws"),
    [
        (10, 1000, 1, {}),
        (20, 3000, 5, {"matched": 0.3, "ties": 0.5, "exposure": "even"}),
        (30, 1000, 30, {"matched": 0.8}),
        (50, 20_000, 3, {"matched": 0.6, "ties": 0.35}),
        (300, 40_000, 10, {"matched": 0.5}),
        (10, 2000, 3, {"seen": 1}),
        (50, 5000, 20, {"seen": 1}),
    ],
    ids=str,
)
def test_rank_intervals_hold_in_populations_of_all_kinds(n_items, n_persons, mean, laws):
    """Comparisons, with at least a fifth of all opponents chosen regardless of strength, or ratings (`seen`)."""
    held = []
    for seed in range(8 if n_items < 300 else 3):
        strengths = np.random.default_rng(100 + seed).exponential(size=n_items)  # few are much better than the others
        laws = {**laws, "strengths": strengths, "random_state": seed}
        if "seen" in laws:
            rows, _ = make_ratings(n_persons, n_items, ratings_per_person=mean, **laws)
            profile = rated(rows["person"], rows["item"], rows["stars"], n_items)
        else:
            rows, _ = make_comparisons(n_persons, n_items, comparisons_per_person=mean, **laws)
            named = {"outcome": "winner", "person": "person", "items": range(n_items)}
            profile = Profile.from_comparisons(rows, "first", "second", **named)
        ranks = (strengths > strengths[:, None]).sum(axis=1)
        for epsilon in (0.3, 1.0, 3.0):
            best, worst = DPBradleyTerry(epsilon, random_state=seed).fit(profile).rank_intervals().T
            held.append(((best <= ranks) & (ranks <= worst)).all())
    assert np.mean(held) >= 0.95
