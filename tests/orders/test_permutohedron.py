"""K-norm noise: uniform points of the permutohedron, and gauge at most 1 for every ballot."""

from itertools import product

import numpy as np
import pytest
from oracles import seeded
from scipy import stats

from sklearn_dprank.orders.samplers import knorm_noise, sample_ball


def gauge(u):
    """Norm of centred scores: the largest sum of any k of them over its bound k (m - k) / 2 (Rado's theorem)."""
    m = np.shape(u)[-1]
    k = np.arange(1, m)
    return np.max(np.cumsum(-np.sort(-u, axis=-1), axis=-1)[..., :-1] / (k * (m - k) / 2), axis=-1)


def sample(n_items, bits, size):
    return np.array([sample_ball(n_items, bits) for _ in range(size)])


def partial_ballots(n_items):
    """All distinct sets of strict opinions of one weak or partial ballot, as (m, m) boolean matrices."""
    levels = [*range(n_items), np.nan]
    return np.unique([np.less.outer(row, row) for row in np.array(list(product(levels, repeat=n_items)))], axis=0)


@pytest.mark.parametrize("n_items", [*range(3, 13), 45])
def test_gauge_power_is_uniform(n_items):
    values = gauge(sample(n_items, seeded(n_items), 1500))
    assert values.max() <= 1 + 1e-12
    assert stats.kstest(values ** (n_items - 1), "uniform").pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [3, 4])
def test_moments_match_rejection_sampling(n_items):
    rng = np.random.default_rng(n_items)
    radius = np.sqrt(n_items * (n_items**2 - 1) / 12)
    basis = np.linalg.svd(np.ones((1, n_items)))[2][1:]
    box = rng.uniform(-radius, radius, size=(200_000, n_items - 1)) @ basis
    expected = box[gauge(box) <= 1][:20_000]
    points = sample(n_items, seeded(1), 20_000)
    for power in (2, 4):
        spread = expected[:, 0] ** power
        error = np.sqrt(spread.var() * 2 / 20_000)
        assert np.all(abs((points**power).mean(axis=0) - spread.mean()) < 4.5 * error)
    assert stats.ks_2samp(points[:, 0] * points[:, 1], expected[:, 0] * expected[:, 1]).pvalue > 1e-3


@pytest.mark.slow
def test_symmetry():
    points = sample(6, seeded(2), 20_000)
    np.testing.assert_allclose(points.sum(axis=1), 0, atol=1e-12)
    order = np.argsort(points, axis=1)
    first, last = np.bincount(order[:, 0], minlength=6), np.bincount(order[:, -1], minlength=6)
    assert stats.chisquare(first).pvalue > 1e-3
    assert stats.chisquare(last).pvalue > 1e-3
    assert stats.ks_2samp(points[:, 0], -points[:, 5]).pvalue > 1e-3


@pytest.mark.parametrize(("n_items", "how_many"), [(3, 19), (4, 135)])
def test_every_ballot_has_gauge_at_most_one(n_items, how_many):
    beats = partial_ballots(n_items)
    assert len(beats) == how_many
    scores = (beats.sum(axis=1) - beats.sum(axis=2)) / 2  # centred Borda: minus half the net wins
    values = gauge(scores)
    assert values.max() == 1
    complete = beats.sum(axis=(1, 2)) == n_items * (n_items - 1) // 2
    np.testing.assert_array_equal(values[complete], 1)


def test_gauge_is_the_norm_of_the_hull():
    rng = np.random.default_rng(0)
    vertices = np.array([rng.permutation(5) - 2.0 for _ in range(7)])
    assert gauge(rng.dirichlet(np.ones(7), size=200) @ vertices).max() <= 1
    np.testing.assert_allclose(gauge(3 * vertices), 3)


def test_knorm_radius_and_small_sizes():
    bits = seeded(4)
    noise = np.array([knorm_noise(4, 2.0, bits) for _ in range(3000)])
    assert stats.kstest(gauge(noise) / 2, stats.gamma(3).cdf).pvalue > 1e-3  # Gamma(m) times U ** (1 / (m - 1))
    assert knorm_noise(1, 1.0, bits).tolist() == [0]


def test_errors():
    with pytest.raises(ValueError, match="n_items must be a positive integer"):
        sample_ball(0, seeded(0))
    with pytest.raises(ValueError, match="scale must be a finite number above 0"):
        knorm_noise(3, 0.0, seeded(0))
