"""Pooled estimates of segments: against dense matrices, under relabelling, in the limits, and in the rule."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.linalg import null_space
from scipy.special import softmax
from scipy.stats import multivariate_normal

from sklearn_dprank.channels import Answers, segmented as pooling
from sklearn_dprank.channels.segmented import SegmentNetWins, SegmentRule, SegmentSizes, pooled
from sklearn_dprank.sampling.bit_source import SeededBits


def random_answers(seed, n_segments, n_items, spread=3.0, deviation=80.0, total_deviation=200.0):
    """Return noisy answers of segments that differ by `spread` per voter, as arguments of `pooled`."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(5, 400, n_segments)
    wins = sizes[:, None] * (rng.normal(0, 2, n_items) + rng.normal(0, spread, (n_segments, n_items)))
    total = wins.sum(axis=0) + rng.normal(0, total_deviation, n_items)
    return wins + rng.normal(0, deviation, wins.shape), total, sizes, deviation, total_deviation


def dense(wins, total, sizes, deviation, total_deviation):
    """Return means, own weights and standard deviations from full matrices over all segments and contrasts of items.

    The likelihood is the density of the contrasts of the observations, and estimates solve Henderson's equations for
    the shared mean and all deviations.
    """
    n_segments, n_items = wins.shape
    basis = null_space(np.ones((1, n_items)))
    design = np.vstack([np.eye(n_segments), sizes / sizes.sum()])
    noise = np.append((deviation / sizes) ** 2, (total_deviation / sizes.sum()) ** 2)
    observed = np.vstack([wins / sizes[:, None], total / sizes.sum()]) @ basis
    contrasts, eye = null_space(np.ones((1, n_segments + 1))), np.eye(n_items - 1)
    found = []
    for between, within in product(pooling._BETWEEN, pooling._WITHIN):
        spread = (n_items**2 - 1) / 3 * (between + within / sizes)
        covariance = contrasts.T @ (design @ np.diag(spread) @ design.T + np.diag(noise)) @ contrasts
        law = multivariate_normal(cov=np.kron(covariance, eye))
        effects = np.kron(np.hstack([np.ones((n_segments + 1, 1)), design]), eye)  # of the shared mean and deviations
        information = effects.T @ np.diag(np.repeat(1 / noise, n_items - 1)) @ effects
        information += np.diag(np.repeat([0, *1 / spread], n_items - 1))
        posterior = np.linalg.inv(information)
        right = effects.T @ (observed / noise[:, None]).ravel()
        to_means = np.kron(np.hstack([np.ones((n_segments, 1)), np.eye(n_segments)]), eye)
        means = (to_means @ posterior @ right).reshape(n_segments, n_items - 1) @ basis.T
        variances = np.diag(to_means @ posterior @ to_means.T).reshape(n_segments, n_items - 1).mean(axis=1)
        found.append((law.logpdf((contrasts.T @ observed).ravel()), means, variances, spread / (spread + noise[:-1])))
    logs, means, variances, own_weights = map(np.array, zip(*found, strict=True))
    chances = softmax(logs)
    mean = np.einsum("k,ksi->si", chances, means)
    apart = ((means - mean) ** 2).sum(axis=2) / (n_items - 1)
    return mean, chances @ own_weights, np.sqrt(chances @ (variances + apart))


def check_against_twin(answers):
    for found, expected in zip(pooled(*answers), dense(*answers), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.fixture
def small_grid(monkeypatch):
    monkeypatch.setattr(pooling, "_BETWEEN", [0.0, 0.001, 0.1, 1.0])
    monkeypatch.setattr(pooling, "_WITHIN", [0.1, 1.0])


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize(("deviation", "total_deviation"), [(80.0, 200.0), (400.0, 30.0), (5.0, 1e4)])
@pytest.mark.parametrize(("n_segments", "n_items", "spread"), [(2, 2, 0.0), (3, 4, 0.3), (5, 3, 2.0), (2, 6, 5.0)])
def test_pooled_estimates_equal_dense_matrices(n_segments, n_items, spread, deviation, total_deviation):
    check_against_twin(random_answers(n_segments, n_segments, n_items, spread, deviation, total_deviation))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_pooled_estimates_on_the_whole_grid_equal_dense_matrices(seed):
    check_against_twin(random_answers(seed, 4, 4, spread=seed / 2))


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(2, 5), st.data())
def test_relabelling_relabels_pooled_estimates(seed, n_segments, n_items, data):
    wins, total, sizes, *deviations = random_answers(seed, n_segments, n_items)
    segments = data.draw(st.permutations(range(n_segments)))
    items = data.draw(st.permutations(range(n_items)))
    found = pooled(wins, total, sizes, *deviations)
    renamed = pooled(wins[segments][:, items], total[items], sizes[segments], *deviations)
    np.testing.assert_allclose(renamed.means, found.means[segments][:, items], atol=1e-9)
    np.testing.assert_allclose(renamed.own_weights, found.own_weights[segments], rtol=1e-9)
    np.testing.assert_allclose(renamed.std, found.std[segments], rtol=1e-9)


def test_pooled_scores_sum_to_zero_and_ignore_a_common_shift():
    """Net wins sum to 0, so a shift of all items is noise."""
    wins, total, *rest = random_answers(0, 4, 5)
    found = pooled(wins, total, *rest)
    np.testing.assert_allclose(found.means.sum(axis=1), 0, atol=1e-9)
    shifted = pooled(wins + [[1e3], [-2e3], [0], [5e2]], total + 7e3, *rest)
    np.testing.assert_allclose(shifted.means, found.means, atol=1e-9)
    np.testing.assert_allclose(shifted.std, found.std)


def test_without_noise_segments_keep_their_own_means():
    wins, total, sizes, *_ = random_answers(1, 6, 5, deviation=1e-3, total_deviation=1.0)
    found = pooled(wins, total, sizes, 1e-3, 1.0)
    own = wins / sizes[:, None]
    np.testing.assert_allclose(found.means, own - own.mean(axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(found.own_weights, 1, atol=1e-5)
    np.testing.assert_allclose(found.std, 1e-3 / sizes, rtol=1e-3)


def test_one_mean_if_segments_cannot_differ(monkeypatch):
    """It is the mean of the answers, weighted by precision."""
    monkeypatch.setattr(pooling, "_BETWEEN", [0.0])
    monkeypatch.setattr(pooling, "_WITHIN", [0.0])
    wins, total, sizes, deviation, total_deviation = random_answers(2, 5, 4)
    found = pooled(wins, total, sizes, deviation, total_deviation)
    observed = np.vstack([wins / sizes[:, None], total / sizes.sum()])
    precisions = np.append((sizes / deviation) ** 2, (sizes.sum() / total_deviation) ** 2)
    mean = np.average(observed - observed.mean(axis=1, keepdims=True), axis=0, weights=precisions)
    np.testing.assert_allclose(found.means, np.tile(mean, (5, 1)))
    np.testing.assert_array_equal(found.own_weights, np.zeros(5))
    np.testing.assert_allclose(found.std, precisions.sum() ** -0.5)


@pytest.mark.parametrize("n_items", [1, 2])
def test_pooled_estimates_of_few_items_are_finite(n_items):
    found = pooled(np.arange(2.0 * n_items).reshape(2, -1), np.ones(n_items), np.array([5.0, 9.0]), 3.0, 4.0)
    assert all(np.isfinite(part).all() for part in found)
    assert found.means.shape == (2, n_items)


class Answers(Answers):
    """Scripted noisy answers, in units of one vote over `grid`."""

    def __init__(self, wins, total, sizes, deviations, grid=1):
        super().__init__(len(total), SeededBits(np.random.SeedSequence(0)))
        self.grid = grid
        parts = (SegmentNetWins(len(wins)), SegmentNetWins(len(wins), together=True), SegmentSizes(len(wins)))
        self._answers = dict(zip(parts, (wins, total, sizes), strict=True))
        self._deviations = dict(zip(parts, deviations, strict=True))

    def answer(self, query):
        return np.rint(np.asarray(self._answers[query]) * self.grid).astype(np.int64)

    def deviation(self, query):
        return self._deviations[query] * self.grid


def released(*answers, grid=1):
    return SegmentRule(len(answers[0]), pooling=True).aggregate(Answers(*answers, grid=grid))


def test_pooled_estimates_do_not_depend_on_the_weight_grid():
    wins, total, sizes, *deviations = random_answers(3, 4, 6)
    answers = np.rint(wins), np.rint(total), np.rint(sizes), (*deviations, 15.0)
    votes, units = released(*answers), released(*answers, grid=720720)
    np.testing.assert_array_equal(votes.order, units.order)
    for name, value in votes.published.items():
        np.testing.assert_allclose(value, units.published[name], rtol=1e-9, err_msg=name)


def test_small_noisy_sizes_are_raised_to_their_noise():
    """Published sizes keep their noise."""
    wins, total, sizes, *deviations = random_answers(4, 4, 6)
    sizes[:2] = [-37, 0]
    found = released(wins, total, sizes, (*deviations, 15.0))
    np.testing.assert_array_equal(found.published["sizes"], np.rint(sizes))
    least = np.maximum(np.rint(sizes), 15.0)
    expected = pooled(np.rint(wins), np.rint(total), least, *deviations)
    np.testing.assert_allclose(found.published["scores"], expected.means)
    np.testing.assert_allclose(found.published["score_std"], expected.std)
    np.testing.assert_allclose(found.published["own_weights"], expected.own_weights)
    assert found.published["own_weights"][:2].max() < found.published["own_weights"][2:].max()
    np.testing.assert_array_equal(found.order, (-expected.means).argsort(axis=1))
