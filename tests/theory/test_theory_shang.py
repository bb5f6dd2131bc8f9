"""Error bounds of Shang et al. (2014): recorded values, simulated error rates and the densities behind them."""

import itertools
import math

import numpy as np
import pytest

from sklearn_dprank.theory import shang
from sklearn_dprank.theory.shang import _directions, central_density, slab_probability, webb_density_bound

BORDA, PLURALITY, VETO = (2, 1, 0), (1, 0, 0), (1, 1, 0)


def score_matrix(scores):
    """Points of each candidate (row) under each ranking (column)."""
    m = len(scores)
    return np.array([[scores[order.index(i)] for order in itertools.permutations(range(m))] for i in range(m)])


def simulate(scores, n, sigma, runs, seed):
    """Error rate and its standard error, with uniform profiles."""
    rng = np.random.default_rng(seed)
    points = score_matrix(scores)
    weights = rng.exponential(size=(runs, points.shape[1]))
    counts = n * weights / weights.sum(axis=1, keepdims=True)
    clean = np.argsort(counts @ points.T, axis=1)
    noisy = np.argsort((counts + sigma * rng.standard_normal(counts.shape)) @ points.T, axis=1)
    wrong = (clean != noisy).any(axis=1).mean()
    return wrong, math.sqrt(wrong * (1 - wrong) / runs)


# n = 2000, delta = 5e-5: epsilon: Theorem 2, halved, Lemma 3, Borda bound
TABLE = {
    0.05: (1.408, 0.925, 0.389, 0.265),
    0.08: (1.077, 0.652, 0.2435, 0.1657),
    0.10: (0.925, 0.547, 0.1948, 0.1325),
    0.15: (0.685, 0.394, 0.1299, 0.0884),
    0.20: (0.547, 0.310, 0.0974, 0.0663),
    0.24: (0.473, 0.2655, 0.0812, 0.0552),
}


@pytest.mark.parametrize("epsilon", TABLE)
def test_bounds_known_answers(epsilon):
    theorem, half, lemma, borda = TABLE[epsilon]
    sigma = shang.printed_sigma(epsilon, 5e-5)
    assert shang.theorem_2(2000, 3, sigma) == pytest.approx(theorem, abs=6e-4)
    assert shang.theorem_2(2000, 3, sigma, half=True) == pytest.approx(half, abs=6e-4)
    assert shang.lemma_3(2000, 3, sigma) == pytest.approx(lemma, abs=6e-4)
    assert shang.borda_bound(2000, sigma) == pytest.approx(borda, abs=6e-4)
    assert shang.equation_27(2000, 3, sigma) == pytest.approx(theorem, rel=0.01)


@pytest.mark.parametrize("scores", [BORDA, PLURALITY, VETO, (3, 2, 1, 0), (1, 0, 0, 0)])
def test_rules_stay_below_their_bounds(scores):
    n, m, sigma = 3000, len(scores), 10.0
    rate, error = simulate(scores, n, sigma, 20_000, seed=2)
    own = shang.lemma_3(n, m, sigma, density=central_density(scores))
    assert rate <= own + 4 * error
    simple = shang.simple_bound(n, m, sigma, density=central_density(scores))
    chain = [own, simple, shang.simple_bound(n, m, sigma), shang.theorem_2(n, m, sigma)]
    assert (np.diff(chain) >= -1e-12).all()
    assert shang.lemma_3(n, m, sigma) <= chain[2] + 1e-12


@pytest.mark.parametrize(
    ("scores", "density"),
    [(BORDA, 25 * math.sqrt(3) / 18), (PLURALITY, 2.5), (VETO, 2.5), ((3, 2, 1, 0), 9.6805), ((1, 0, 0, 0), 9.8037)],
)
def test_central_density_known_answers(scores, density):
    assert central_density(scores) == pytest.approx(density, rel=1e-5)
    assert central_density(np.multiply(scores, 7.0) - 3) == pytest.approx(density, rel=1e-5)


@pytest.mark.parametrize(("m", "bound"), [(2, 1 / math.sqrt(2)), (3, 3.5355), (4, 16.2635)])
def test_webb_bound_known_answers(m, bound):
    assert webb_density_bound(m) == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6, 7, 8])
def test_webb_bound_covers_every_rule(m):
    rng = np.random.default_rng(m)
    for scores in [np.arange(m), np.arange(m) == 0, rng.exponential(size=m)]:
        assert central_density(scores) <= webb_density_bound(m) * (1 + 1e-9)


def test_directions_are_the_unit_vector_over_rankings():
    for scores in (BORDA, (5, 2, 2, 0)):
        points = score_matrix(scores)
        full = points[0] - points[1]
        entries, repeats = _directions(scores)
        np.testing.assert_allclose(np.sort(np.repeat(entries, repeats)), np.sort(full / np.linalg.norm(full)))


@pytest.mark.parametrize("scores", [BORDA, PLURALITY, (3, 2, 1, 0)])
def test_slab_probability_matches_simulation(scores):
    rng = np.random.default_rng(5)
    points = score_matrix(scores)
    b = (points[0] - points[1]) / np.linalg.norm(points[0] - points[1])
    weights = rng.exponential(size=(100_000, len(b)))
    distance = np.abs(weights @ b / weights.sum(axis=1))
    for width in (0.002, 0.02, 0.1):
        p = slab_probability(width, scores)
        assert np.mean(distance <= width) == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / len(distance)))
        assert p <= 2 * width * central_density(scores)  # Lemma 1


def test_lemma_2_holds_for_every_split():
    n, sigma = 2000, shang.printed_sigma(0.1, 5e-5)
    rate, error = simulate(BORDA, n, sigma, 40_000, seed=4)
    widths = np.geomspace(1e-3, 0.3, 12)
    bounds = [shang.lemma_2(n, 3, sigma, w, slab_probability(w, BORDA)) for w in widths]
    assert min(bounds) >= rate - 4 * error
    # the exact slab improves on its linear bound, and Theorem 2 is the best split of that
    linear = [shang.lemma_2(n, 3, sigma, w, 2 * w * webb_density_bound(3)) for w in widths]
    assert (np.array(bounds) <= linear).all()
    assert shang.theorem_2(n, 3, sigma) <= min(linear)


def test_theorem_2_below_its_condition():
    assert shang.theorem_2(10, 3, 100.0) == pytest.approx(3 / 2)
    with pytest.raises(ValueError, match=r"n_voters must exceed .* 1772"):
        shang.equation_27(10, 3, 100.0)


@pytest.mark.parametrize("scores", [BORDA, PLURALITY, (4, 3, 1, 0), (0.5, 0.2, 0.0, -2.0)])
def test_score_noise_from_the_covariance(scores):
    points = score_matrix(scores).astype(float)
    covariance = 4.0 * points @ points.T
    alpha, beta = covariance[0, 0], covariance[0, 1]
    np.testing.assert_allclose(covariance, (alpha - beta) * np.eye(len(scores)) + beta)
    assert shang.score_noise_std(scores, 2.0) == pytest.approx(math.sqrt(alpha - beta))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shang.printed_sigma(2.0, 1e-5), "epsilon must be a number above 0 and at most 1"),
        (lambda: shang.printed_sigma(0.5, 1e-5, form="1.25/delta"), "form must be"),
        (lambda: central_density([1, 1, 1]), "scores must not all be equal"),
        (lambda: shang.simple_bound(0, 3, 1.0), "n_voters must be a finite number above 0"),
    ],
)
def test_invalid_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
