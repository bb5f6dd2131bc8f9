import inspect
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from sklearn_dprank.orders import kemeny, linear_ordering
from sklearn_dprank.orders import work as work_module
from sklearn_dprank.orders.components import majority_components
from sklearn_dprank.orders.kemeny import minimum_order, warn_of_gap
from sklearn_dprank.orders.linear_ordering import LinearOrdering, dual_bound
from sklearn_dprank.orders.local_search import insertion_search, total_cost
from sklearn_dprank.orders.memetic import memetic_search
from sklearn_dprank.orders.subset_dp import best_order
from sklearn_dprank.orders.work import WORK_LIMIT, Work, program_steps
from sklearn_dprank.privacy.bits import SeededBits


def random_counts(rng, m, n):
    """Pairwise counts of n weak rankings with missing items."""
    ballots = rng.integers(0, m, (n, m)).astype(float)
    ballots[rng.random((n, m)) < 0.2] = np.nan
    return (ballots[:, :, None] < ballots[:, None, :]).sum(axis=0)


def uniform_counts(m, n, seed):
    positions = np.random.default_rng(seed).random((n, m))
    return np.array([(positions[:, [i]] < positions).sum(axis=0) for i in range(m)])


@pytest.mark.parametrize("max_dp", [0, 5, 18])
def test_optimum_against_subset_dp(max_dp):
    # best_order is checked by brute force in its own tests; small components go through branch and cut too
    rng = np.random.default_rng(max_dp)
    for _ in range(80):
        m = int(rng.integers(0, 11))
        cost = random_counts(rng, m, int(rng.integers(1, 15))).T
        found = minimum_order(cost, max_dp=max_dp)
        assert found.value == found.bound == total_cost(cost, found.order) == best_order(cost)[1]
        assert found.optimal and found.gap == 0
        assert sorted(found.order.tolist()) == list(range(m))


def first_optimum(cost, items):
    """Of the orders of these items with the least total, the first in lexicographic order, by trying all."""
    return list(min(permutations(items), key=lambda order: total_cost(cost, list(order)))) if items else []


@given(st.integers(0, 6), st.integers(0, 3), st.sampled_from([np.int64, np.float64, np.int8, np.uint16]), st.data())
def test_the_documented_optimum_by_brute_force(m, spread, dtype, data):
    low = 0 if dtype is np.uint16 else -spread
    entries = data.draw(st.lists(st.integers(low, spread), min_size=m * m, max_size=m * m))
    cost = np.array(entries, dtype=dtype).reshape(m, m)
    wide = cost.astype(np.int64)  # small types would wrap in the twin
    found = minimum_order(cost)
    parts = majority_components(wide.T - wide)
    assert found.order.tolist() == [item for part in parts for item in first_optimum(wide, part.tolist())]
    assert found.value == found.bound == total_cost(wide, first_optimum(wide, range(m)))
    assert found.order.dtype == np.int64


@pytest.mark.parametrize("m", [3, 10, 40])
def test_a_transitive_majority_is_the_order(m):
    rng = np.random.default_rng(m)
    hidden = rng.permutation(m)
    place = np.argsort(hidden)
    cost = (place[:, None] > place[None, :]) * rng.integers(1, 50, (m, m)) + 7
    found = minimum_order(cost, max_dp=0, work_limit=0)  # nothing is left to search
    np.testing.assert_array_equal(found.order, hidden)
    assert found.value == found.bound == 7 * m * (m - 1) // 2


@pytest.mark.parametrize("spread", [1, 2, 10**3, 10**9, 10**15])
def test_optimum_at_every_magnitude(spread):
    rng = np.random.default_rng(7)
    for _ in range(15):
        cost = rng.integers(-spread, spread + 1, (9, 9))
        found = minimum_order(cost, max_dp=2)
        assert found.value == total_cost(cost, found.order) == best_order(cost)[1]
        assert found.value - found.bound <= 1e-12 * 72 * spread
        assert found.bound <= found.value


def test_floats():
    rng = np.random.default_rng(8)
    for max_dp in (2, 18):
        cost = rng.normal(size=(9, 9)) * 1e-7
        found = minimum_order(cost, max_dp=max_dp)
        assert found.value == pytest.approx(best_order(cost)[1], rel=1e-12)
        assert found.value == pytest.approx(total_cost(cost, found.order), rel=1e-12)
        assert found.optimal
    assert minimum_order(np.zeros((3, 3))).value == 0


@pytest.mark.parametrize("tolerance", [0.001, 0.02, 0.3])
def test_tolerance_is_certified(tolerance):
    rng = np.random.default_rng(9)
    for _ in range(40):
        cost = random_counts(rng, int(rng.integers(3, 11)), 12).T
        found = minimum_order(cost, tolerance=tolerance, max_dp=2)
        assert found.bound <= best_order(cost)[1] <= found.value == total_cost(cost, found.order)
        assert found.value <= (1 + tolerance) * found.bound + 1e-9


def two_blocks(seed):
    """Two components of 14 items: 10 beats 20 on every pair across."""
    rng = np.random.default_rng(seed)
    cost = np.full((28, 28), 20)
    cost[:14, 14:] = 10
    for start in (0, 14):
        cost[start : start + 14, start : start + 14] = rng.integers(0, 40, (14, 14))
    return cost


def test_several_large_components_share_the_limits():
    for seed in range(5):
        cost = two_blocks(seed)
        exact = minimum_order(cost)
        assert exact.optimal
        for limits in ({"tolerance": 0.05}, {"work_limit": 0}, {"work_limit": 60}, {"time_limit": 0.0}):
            found = minimum_order(cost, max_dp=5, **limits)
            assert found.bound <= exact.value <= found.value == total_cost(cost, found.order)
        assert minimum_order(cost, max_dp=5, tolerance=0.05).value <= 1.05 * exact.value
        assert minimum_order(cost, max_dp=5).value == exact.value


def test_limits_never_claim_too_much():
    rng = np.random.default_rng(10)
    stopped = 0
    for _ in range(12):
        cost = rng.integers(0, 100, (12, 12))
        optimum = best_order(cost)[1]
        bounds = []
        for work_limit in (0, 1, 4, 12, 20_000):
            found = minimum_order(cost, max_dp=2, work_limit=work_limit)
            assert found.bound <= optimum <= found.value
            bounds.append(found.bound)
            stopped += not found.optimal
        assert bounds == sorted(bounds)
        assert bounds[-1] == optimum
        # the pairwise minima and one circle when there is no work to spend
        minima = np.triu(np.minimum(cost, cost.T), 1).sum()
        assert minima < bounds[0] <= minima + np.abs(cost - cost.T).max() or bounds[0] == optimum
    assert stopped > 12


def test_search_branches_to_the_optimum():
    # dense random tournaments of unit weights have fractional programs: branching is needed
    rng = np.random.default_rng(11)
    for _ in range(6):
        sign = np.triu(rng.choice([-1, 1], (13, 13)), 1)
        cost = np.maximum(sign - sign.T, 0)
        found = LinearOrdering(cost)
        assert found.value == found.bound == best_order(cost)[1]


def test_repeats_and_random_kicks():
    cost = uniform_counts(30, 200, 0).T
    first, second = minimum_order(cost), minimum_order(cost)
    np.testing.assert_array_equal(first.order, second.order)
    kicked = minimum_order(cost, bits=SeededBits(np.random.SeedSequence(0)))
    assert first.optimal and kicked.optimal and first.value == kicked.value


def test_a_solver_that_fails_or_lies_proves_nothing_false(monkeypatch):
    rng = np.random.default_rng(12)
    cost = rng.integers(0, 100, (12, 12))
    optimum = best_order(cost)[1]
    honest = linear_ordering.linprog

    def failing(*args, **kwargs):
        result = honest(*args, **kwargs)
        result.status = 4
        return result

    def lying(*args, **kwargs):
        result = honest(*args, **kwargs)
        if result.status == 0:
            result.x = rng.random(len(result.x))
            result.ineqlin.marginals = -rng.random(len(result.slack))
        return result

    for solver in (failing, lying):
        monkeypatch.setattr(linear_ordering, "linprog", solver)
        found = minimum_order(cost, max_dp=2, work_limit=200)
        assert found.bound <= optimum <= found.value
    monkeypatch.setattr(linear_ordering, "linprog", failing)
    assert not minimum_order(cost, max_dp=2).optimal


def test_dual_bound_is_below_every_order():
    rng = np.random.default_rng(13)
    m = 7
    i, j = np.triu_indices(m, 1)
    cost = rng.integers(0, 50, (m, m))
    search = LinearOrdering(cost, work=Work(20))
    weights, rows, right = search._w, search._rows, search._right
    assert len(right) > 0
    low, high = np.zeros(len(weights), dtype=np.int64), np.ones(len(weights), dtype=np.int64)
    for size in (0.0, 1.0, 1e6, 1e30):
        bound, reduced, shift = dual_bound(weights, rows, right, size * rng.random(len(right)), low, high)
        for _ in range(50):
            position = rng.permutation(m)
            x = (position[i] < position[j]).astype(int)
            assert bound <= int(weights @ x) << shift
            # the price of the pair in its worse order comes on top
            assert (bound + np.where((reduced > 0) == (x == 1), np.abs(reduced), 0) <= int(weights @ x) << shift).all()


def test_uniform_profile_of_45_items_is_solved():
    found = minimum_order(uniform_counts(45, 5000, 0).T)
    assert found.optimal


def hard_margins(m, seed=0):
    """Noise alone: one component, and circles everywhere."""
    margins = np.triu(np.rint(np.random.default_rng(seed).laplace(0, 1e5, (m, m))).astype(int), 1)
    return margins - margins.T


@pytest.mark.parametrize("work_limit", [0, 1, 30, 300])
def test_no_loop_overdraws_the_work(monkeypatch, work_limit):
    """Between two looks at what is left no more is spent than a row, a closure or one linear program takes."""
    kept = []

    class Seen(LinearOrdering):
        def __init__(self, cost, tolerance, elsewhere, work, bits):
            kept.append(work)
            super().__init__(cost, tolerance, elsewhere, work, bits)

    monkeypatch.setattr(kemeny, "LinearOrdering", Seen)
    for m in (40, 90):
        found = minimum_order(np.maximum(hard_margins(m).T, 0), work_limit=work_limit)
        assert 0 < found.bound < found.value
        assert kept[-1].left > -1e6 - 2 * m**3 - program_steps(3 * m * m, 0)


def test_good_orders_are_found_where_nothing_is_proved():
    """Of many items before the linear programs, which end nothing here; of fewer after them."""
    for m, work_limit, searching in ((110, 200, 60), (40, 300, 50)):
        cost = np.maximum(hard_margins(m).T, 0)
        found = minimum_order(cost, work_limit=work_limit)
        start = np.argsort((cost - cost.T).sum(axis=1))
        assert not found.optimal
        assert found.value < total_cost(cost, insertion_search(cost, start))
        assert found.value <= total_cost(cost, memetic_search(cost, start, work=Work(searching)))


def test_the_default_limit_is_a_count_that_repeats():
    cost = np.maximum(hard_margins(60).T, 0)
    first, second = (minimum_order(cost, work_limit=200) for _ in range(2))
    np.testing.assert_array_equal(first.order, second.order)
    assert first.bound == second.bound
    assert inspect.signature(minimum_order).parameters["work_limit"].default == WORK_LIMIT == 10_000


@pytest.mark.parametrize("work_limit", [0, 1, 50])
def test_bounds_are_above_the_pairs_whatever_the_work(work_limit):
    """Every component costs something beyond its pairs, ties or not, so that a relative gap is finite."""
    rng = np.random.default_rng(5)
    for m in (19, 40):
        for high in (1, 3, 1000):
            upper = np.triu(rng.integers(-high, high + 1, (m, m)), 1)
            margins = upper - upper.T
            found = minimum_order(np.maximum(margins.T, 0), work_limit=work_limit)
            assert 0 < found.bound <= found.value == total_cost(np.maximum(margins.T, 0), found.order)


def test_time_limit_is_looked_at_in_every_loop(monkeypatch):
    """A clock that runs out after so many looks: what is left to do then is not done."""
    cost = np.maximum(hard_margins(60).T, 0)
    looks = 0

    def clock():
        nonlocal looks
        looks += 1
        return 0.0 if looks < 500 else 10.0

    monkeypatch.setattr(work_module.time, "monotonic", clock)
    found = minimum_order(cost, time_limit=5.0, work_limit=np.inf)
    assert 0 < found.bound < found.value
    assert looks < 600


def test_warns_of_a_gap_that_was_not_asked_for():
    cost = np.maximum(hard_margins(30).T, 0)
    stopped, done = minimum_order(cost, work_limit=1), minimum_order(cost)
    with pytest.warns(ConvergenceWarning, match="not proved to be optimal.*optimal_gap.*work_limit"):
        warn_of_gap(stopped)
    with pytest.warns(ConvergenceWarning):
        warn_of_gap(stopped, tolerance=0.9 * stopped.gap / stopped.bound)
    warn_of_gap(stopped, tolerance=1.1 * stopped.gap / stopped.bound)
    warn_of_gap(done)
    warn_of_gap(minimum_order(cost, tolerance=0.2), 0.2)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.full((2, 2), np.inf), "finite"),
        (np.full((2, 2), 2**60), "2\\*\\*60"),
        (np.array([["a"]]), "dtype"),
    ],
)
def test_bad_costs(cost, message):
    with pytest.raises(ValueError, match=message):
        minimum_order(cost)


@pytest.mark.parametrize("tolerance", [-0.1, np.nan, np.inf])
def test_bad_tolerance(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        minimum_order(np.zeros((2, 2)), tolerance=tolerance)
