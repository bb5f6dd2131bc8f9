"""Bounds of Hay et al. (2017) against enumeration and simulation, with counterexamples to printed forms."""

import itertools
import math

import numpy as np
import pytest
from oracles import kendall

from sklearn_dprank.theory import hay


def test_lower_bound_known_answers():
    assert hay.epsilon_lower_bound(10, 0.5) == pytest.approx(math.log(math.factorial(10) / 2))
    assert hay.epsilon_lower_bound(10, 0.5) == pytest.approx(14.4, abs=0.05)
    assert hay.epsilon_lower_bound(10, 0.5, variant="as_printed") == pytest.approx(7.55, abs=0.005)


@pytest.mark.parametrize("m", [2, 3, 5, 10])
def test_lower_bound_is_never_weaker_than_the_printed_one(m):
    for failure in np.concatenate([10.0 ** np.arange(-9, -1), np.linspace(0.1, 0.99, 20)]):
        printed = hay.epsilon_lower_bound(m, failure, variant="as_printed")
        assert hay.epsilon_lower_bound(m, failure) >= printed - 1e-12
        assert hay.epsilon_lower_bound(m, failure, neighboring="replace") == pytest.approx(2 * printed, abs=1e-12)


@pytest.mark.parametrize("failure", [1e-4, 0.05, 0.5, 0.8])
@pytest.mark.parametrize("m", [3, 4])
def test_lower_bound_is_attained_next_to_a_balanced_profile(m, failure):
    # uniform on the balanced profile, right with probability 1 - failure next to it
    orders = math.factorial(m)
    right, other = 1 - failure, failure / (orders - 1)
    loss = max(abs(math.log(right * orders)), abs(math.log(other * orders)))
    assert hay.epsilon_lower_bound(m, failure) == pytest.approx(loss)


def exponential_mechanism_failure(ballots, epsilon, error):
    """P(normalised error > error) of P-SAMPLE, by enumeration."""
    m = len(ballots[0])
    orders = list(itertools.permutations(range(m)))
    cost = np.array([sum(kendall(s, b) for b in ballots) for s in orders])
    excess = (cost - cost.min()) / (len(ballots) * math.comb(m, 2))
    weight = np.exp(-epsilon * (cost - cost.min()) / math.comb(m, 2))
    return weight[excess > error].sum() / weight.sum(), weight @ excess / weight.sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("m", "error", "failure"), [(2, 0.9, 0.01), (3, 0.5, 0.1), (4, 0.3, 0.2), (4, 0.6, 1e-4)])
def test_p_sample_bounds_hold(m, error, failure, seed):
    rng = np.random.default_rng(seed)
    epsilon = 1.0
    n = math.ceil(hay.p_sample_voters(m, epsilon, error, failure))
    spread = 0.1 * seed
    ballots = np.argsort(np.argsort(np.arange(m) / m + spread * rng.standard_normal((n, m)), axis=1), axis=1)
    wrong, mean = exponential_mechanism_failure(ballots.tolist(), epsilon, error)
    assert wrong <= failure
    assert mean <= hay.p_sample_expected_error(n, m, epsilon)


def test_printed_theorem_5_2_fails_for_small_delta():
    error, failure, epsilon = 0.99, 1e-6, 1.0
    n = math.ceil(hay.p_sample_voters(2, epsilon, error, failure, variant="as_printed"))
    wrong, _ = exponential_mechanism_failure([(0, 1)] * n, epsilon, error)
    assert wrong > 1000 * failure
    n = math.ceil(hay.p_sample_voters(2, epsilon, error, failure))
    assert exponential_mechanism_failure([(0, 1)] * n, epsilon, error)[0] <= failure


def test_p_sample_replace_needs_twice_the_voters():
    once = hay.p_sample_voters(5, 1.0, 0.1, 0.1)
    assert hay.p_sample_voters(5, 1.0, 0.1, 0.1, neighboring="replace") == pytest.approx(2 * once)
    assert hay.p_sample_voters(200, 1.0, 0.1, 0.1, variant="as_printed") < math.inf


def p_sort_with_perfect_answers(m, max_queries, rng):
    """P-SORT on items whose true order is 0, 1, ...; returns the output order."""
    paid = max_queries

    def sort(items):
        nonlocal paid
        if len(items) < 2:
            return items
        pivot = items[rng.integers(len(items))]
        lower, upper = [], []
        for item in items:
            if item != pivot:
                before = item < pivot if paid > 0 else rng.random() < 0.5
                paid -= 1
                (lower if before else upper).append(item)
        return sort(lower) + [pivot] + sort(upper)

    return sort(list(rng.permutation(m)))


@pytest.mark.slow
@pytest.mark.parametrize(("m", "max_queries", "runs"), [(10, 29, 6000), (10, 20, 3000), (6, 4, 3000), (4, 0, 3000)])
def test_p_sort_floors_match_simulation(m, max_queries, runs):
    rng = np.random.default_rng(m + max_queries)
    outputs = [p_sort_with_perfect_answers(m, max_queries, rng) for _ in range(runs)]
    distances = np.array([kendall(o, range(m)) for o in outputs])
    floor = hay.p_sort_failure_floor(m, max_queries)
    assert np.mean(distances > 0) == pytest.approx(floor, abs=4 * math.sqrt(floor * (1 - floor) / runs))
    share = distances / math.comb(m, 2)
    assert share.mean() == pytest.approx(hay.p_sort_error_floor(m, max_queries), abs=4 * share.std() / runs**0.5)


def test_p_sort_floors_at_the_ends():
    for m in (2, 3, 8):
        assert hay.p_sort_error_floor(m, 0) == pytest.approx(0.5)
        assert hay.p_sort_error_floor(m, math.comb(m, 2)) == pytest.approx(0, abs=1e-12)
        assert hay.p_sort_failure_floor(m, math.comb(m, 2)) == 0
    # with coins only, each order has its own probability: 2^-Q, averaged
    assert hay.p_sort_failure_floor(3, 0) == pytest.approx(1 - (1 / 3 * 2**-2 + 2 / 3 * 2**-3))


def test_p_sort_is_not_consistent():
    assert hay.p_sort_voters(10, 1e9, 0.01, 0.05) == math.inf
    assert hay.p_sort_voters(10, 1e9, 0.01, 0.05, max_queries=45) < math.inf


def test_theorem_5_3_needs_the_sampling_term():
    # without privacy (large epsilon) the printed bound asks for no voters at all
    assert hay.p_sort_voters(10, 1e6, 0.9, 0.05, variant="as_printed") < 1
    assert hay.p_sort_voters(10, 1e6, 0.9, 0.05, max_queries=45) > 8 * (1.9 / 0.1) ** 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hay.epsilon_lower_bound(1, 0.5), "n_items must be an integer of at least 2, got 1"),
        (lambda: hay.epsilon_lower_bound(5, 1.0), "failure must be a number above 0 and below 1, got 1.0"),
        (lambda: hay.epsilon_lower_bound(5, 0.5, variant="paper"), "variant must be"),
        (lambda: hay.p_sample_voters(5, 0.0, 0.1, 0.1), "epsilon must be a finite number above 0, got 0.0"),
        (lambda: hay.p_sample_voters(5, 1.0, 0.1, 0.1, neighboring="zero_out"), "neighboring must be"),
        (lambda: hay.p_sort_voters(5, 1.0, 1.0, 0.1), "phi must lie in"),
    ],
)
def test_invalid_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        call()


def test_noise_needs_a_paid_comparison():
    """Every answer is a coin: what is left to the sample is all that counts."""
    left = 0.9 - hay.p_sort_failure_floor(2, 0)
    assert hay.p_sort_voters(2, 1e-6, 0.5, 0.9, max_queries=0) == pytest.approx(8 * 9 * math.log(2 / left))
