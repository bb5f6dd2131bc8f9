"""Error bounds of Yan et al. (2020) against enumeration and simulation, as printed and corrected."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sklearn_dprank.collection import RandomizedResponse
from sklearn_dprank.theory import yan

RANDOMIZERS = ["rr", "laplace"]


def mallows_law(m, phi):
    """Every ranking (positions; reference 0, 1, ..., m - 1) and its probability."""
    rankings = list(itertools.permutations(range(m)))
    distances = [sum(r[i] > r[j] for i, j in itertools.combinations(range(m), 2)) for r in rankings]
    weights = float(phi) ** np.array(distances, dtype=float)
    return np.array(rankings), weights / weights.sum()


@pytest.mark.parametrize("phi", [0.0, 0.2, 0.7, 0.99, 1.0])
def test_pair_probability_by_enumeration(phi):
    m = 6
    rankings, law = mallows_law(m, phi)
    for i, j in itertools.combinations(range(m), 2):
        exact = law[rankings[:, i] < rankings[:, j]].sum()
        assert yan.mallows_pair_probability(phi, gap=j - i) == pytest.approx(exact)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("k", [1, 3])
def test_spent_epsilon_is_the_log_ratio(epsilon, k):
    for randomizer in RANDOMIZERS:
        gap = yan.truth_gap(epsilon, k, randomizer=randomizer)
        spent = k * math.log((1 + gap) / (1 - gap))
        assert yan.spent_epsilon(epsilon, k, randomizer=randomizer) == pytest.approx(spent)
    assert yan.spent_epsilon(epsilon, k, randomizer="laplace") < epsilon


def wrong_pairs(n, m, epsilon, phi, k, randomizer, runs, seed):
    """Simulate the protocol; returns how many pairs have the wrong (or no) estimated order, a run each."""
    rng = np.random.default_rng(seed)
    rankings, law = mallows_law(m, phi)
    pairs = np.array(list(itertools.combinations(range(m), 2)))
    truths = np.where(rankings[:, pairs[:, 0]] < rankings[:, pairs[:, 1]], 1, -1)
    flip = (1 - yan.truth_gap(epsilon, k, randomizer=randomizer)) / 2
    out = np.empty(runs, dtype=int)
    for run in range(runs):
        answers = truths[rng.choice(len(law), size=n, p=law)]
        answers = np.where(rng.random(answers.shape) < flip, -answers, answers)
        asked = np.argsort(rng.random(answers.shape), axis=1) < k
        out[run] = np.sum((answers * asked).sum(axis=0) <= 0)
    return out


SETTINGS = [
    (200, 4, 1.0, 0.5, 1),
    (200, 4, 4.0, 0.5, 2),
    (400, 4, 2.0, 0.2, 1),
    (60, 3, 8.0, 0.3, 3),
    (30, 4, 9.0, 0.0, 1),
]


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
@pytest.mark.parametrize(("n", "m", "epsilon", "phi", "k"), SETTINGS)
def test_bounds_hold_in_simulation(n, m, epsilon, phi, k, randomizer):
    wrong = wrong_pairs(n, m, epsilon, phi, k, randomizer, runs=600, seed=n + m)
    mu = yan.expected_errors(n, m, epsilon, phi, n_queries=k, randomizer=randomizer)
    printed = yan.expected_errors(n, m, epsilon, phi, n_queries=k, randomizer=randomizer, variant="as_printed")
    slack = 4 * wrong.std() / math.sqrt(len(wrong))
    assert wrong.mean() - slack <= mu <= printed / 2
    assert np.mean(wrong > 0) - slack <= mu
    assert np.mean(wrong >= 6 * mu) <= yan.many_errors_probability(mu) + slack


@given(
    st.integers(1, 10**5),
    st.integers(2, 12),
    st.floats(0.05, 20),
    st.floats(0, 1),
    st.sampled_from(RANDOMIZERS),
    st.data(),
)
def test_corrected_bound_is_at_most_half_the_printed_one(n, m, epsilon, phi, randomizer, data):
    k = data.draw(st.integers(1, math.comb(m, 2)))
    args = {"n_queries": k, "randomizer": randomizer}
    printed = yan.expected_errors(n, m, epsilon, phi, variant="as_printed", **args)
    assert yan.expected_errors(n, m, epsilon, phi, **args) <= printed / 2 * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize("n", [50, 500])
def test_printed_bound_is_the_printed_formula(n):
    m, eps, theta, k = 8, 1.5, 0.4, 2
    star = theta / (2 - theta)
    rr = 2 * 28 * math.exp(-(eps**2 * k / (eps + 2 * k) ** 2) * star**2 * n / (m * (m - 1)))
    lap = 2 * 28 * math.exp(-((1 - math.exp(-eps / (2 * k))) ** 2) * k * star**2 * n / (m * (m - 1)))
    kwargs = {"n_queries": k, "variant": "as_printed"}
    assert yan.expected_errors(n, m, eps, 1 - theta, **kwargs) == pytest.approx(rr)
    assert yan.expected_errors(n, m, eps, 1 - theta, randomizer="laplace", **kwargs) == pytest.approx(lap)


def test_chernoff_step_fails_for_dependent_errors():
    # 45 errors that happen together with probability 1/10: mean 4.5, and 27 or more with probability 1/10
    mu = 45 / 10
    assert yan.many_errors_probability(mu, variant="as_printed") < 1e-8 < 1 / 10 <= yan.many_errors_probability(mu)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: yan.spent_epsilon(1.0, 1, randomizer="gaussian"), "randomizer must be"),
        (lambda: yan.mallows_pair_probability(1.5), "phi must lie in"),
        (lambda: yan.expected_errors(10, 3, 1.0, 0.5, n_queries=4), "n_queries must lie between 1 and 3"),
        (lambda: yan.spent_epsilon(0, 1), "epsilon must be a finite number above 0"),
    ],
)
def test_invalid_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# What runs


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.5, 9.0])
@pytest.mark.parametrize(("randomizer", "name"), [(RandomizedResponse, "rr"), (yan.PrintedLaplace, "laplace")])
def test_voters_answer_the_published_number_of_questions(randomizer, name, epsilon):
    protocol = randomizer(n_queries=None).protocol(epsilon, 6)
    assert protocol["n_queries"] == yan.best_query_count(epsilon, 6, randomizer=name, variant="as_printed")
