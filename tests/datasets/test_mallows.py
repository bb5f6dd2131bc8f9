"""`make_mallows`: exact probabilities, expected distances, reproducible seeds and errors."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from sklearn_dprank.datasets import make_mallows

CENTER = "center must be a permutation of 0, ..., 3 (where the centre puts each item)"
SEED = "random_state must be None, an int of at least 0, a numpy Generator or a RandomState"


def distances(X, center):
    """Kendall tau distance of every row to the centre."""
    center = np.asarray(center)
    pairs = combinations(range(len(center)), 2)
    return sum((X[:, i] < X[:, j]) != (center[i] < center[j]) for i, j in pairs)


def expected_distance(n_items, phi):
    """Sum over places of the mean of V, P(V = v) proportional to phi^v on 0..place."""
    weights = [phi ** np.arange(place + 1.0) for place in range(n_items)]
    return sum(w @ np.arange(len(w)) / w.sum() for w in weights)


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.8, 1.0])
def test_every_row_is_a_permutation(phi):
    X = make_mallows(200, 7, phi, random_state=0)
    assert X.shape == (200, 7)
    assert X.dtype == np.int64
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(np.sort(X, axis=1), np.tile(np.arange(7), (200, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.2, 0.7, 1.0])
def test_probabilities_at_four_items(phi):
    center = [2, 0, 3, 1]
    X = make_mallows(40_000, 4, phi, center=center, random_state=1)
    rankings = np.array(list(permutations(range(4))))
    expected = phi ** distances(rankings, center).astype(float)
    seen = Counter(map(tuple, X.tolist()))
    observed = [seen[tuple(r)] for r in rankings.tolist()]
    assert chisquare(observed, expected / expected.sum() * len(X)).pvalue > 1e-3


@pytest.mark.parametrize(
    ("n_items", "phi"), [(10, 0.5), (10, 0.95), (45, 0.75), (45, 0.999), (20, 1 - 1e-12), (20, 1.0)]
)
def test_mean_distance_is_the_theory_s(n_items, phi):
    center = np.random.default_rng(2).permutation(n_items)
    d = distances(make_mallows(4000, n_items, phi, center=center, random_state=3), center)
    assert abs(d.mean() - expected_distance(n_items, phi)) < 4 * d.std() / np.sqrt(len(d))


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_probability_that_a_pair_keeps_its_order(phi):
    """Items k places apart in the centre keep their order with probability (k+1)/(1-phi^(k+1)) - k/(1-phi^k)."""
    n, m = 20_000, 8
    X = make_mallows(n, m, phi, center=range(m), random_state=4)
    for i, j in combinations(range(m), 2):
        k = j - i
        p = (k + 1) / (1 - phi ** (k + 1)) - k / (1 - phi**k)
        assert abs(np.mean(X[:, i] < X[:, j]) - p) < 4.5 * np.sqrt(p * (1 - p) / n)


def test_the_center_is_random_unless_given():
    firsts = {int(make_mallows(1, 5, 0.0, random_state=seed).argmin()) for seed in range(40)}
    assert firsts == set(range(5))


def test_random_state():
    a = make_mallows(20, 6, 0.8, random_state=5)
    np.testing.assert_array_equal(a, make_mallows(20, 6, 0.8, random_state=np.int64(5)))
    np.testing.assert_array_equal(a, make_mallows(20, 6, 0.8, random_state=np.random.default_rng(5)))
    b = make_mallows(20, 6, 0.8, random_state=np.random.RandomState(5))
    np.testing.assert_array_equal(b, make_mallows(20, 6, 0.8, random_state=np.random.RandomState(5)))
    assert not np.array_equal(make_mallows(20, 6, 0.8), make_mallows(20, 6, 0.8))
    rng = np.random.default_rng(5)
    assert not np.array_equal(make_mallows(20, 6, 0.8, random_state=rng), make_mallows(20, 6, 0.8, random_state=rng))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_voters": 0}, "n_voters must be a positive integer, got 0."),
        ({"phi": 1.5}, "phi must be a number of at least 0 and at most 1, got 1.5."),
        ({"phi": float("nan")}, "phi must be a number of at least 0 and at most 1, got nan."),
        ({"center": [0, 1, 1, 3]}, f"{CENTER}, got [0 1 1 3]."),
        ({"center": [0, 1, 2]}, f"{CENTER}, got [0 1 2]."),
        ({"random_state": -1}, f"{SEED}, got -1."),
        ({"random_state": "x"}, f"{SEED}, got 'x'."),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError) as error:
        make_mallows(**{"n_voters": 3, "n_items": 4, "phi": 0.5, **arguments})
    assert str(error.value) == message
