"""Kemeny orders: optima against brute force, certified gaps, work limits, and equal proved orders by both solvers."""

import inspect
import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import random_counts
from sklearn.exceptions import ConvergenceWarning

from sklearn_dprank.orders import kemeny
from sklearn_dprank.orders.kemeny import (
    COLD,
    WARM,
    WORK_LIMIT,
    LinearOrdering,
    Relaxation,
    WarmRelaxation,
    majority_components,
    minimum_order,
    total_cost,
    warn_of_gap,
)
from sklearn_dprank.orders.subset_dp import best_order


def uniform_counts(m, n, seed):
    positions = np.random.default_rng(seed).random((n, m))
    return np.array([(positions[:, [i]] < positions).sum(axis=0) for i in range(m)])


@pytest.mark.parametrize("max_dp", [0, 5, 18])
def test_optimum_against_subset_dp(max_dp, solver):
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


@pytest.mark.slow
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
    found = minimum_order(cost, max_dp=0, work_limit=0)  # no component is left to search
    np.testing.assert_array_equal(found.order, hidden)
    assert found.value == found.bound == 7 * m * (m - 1) // 2


@pytest.mark.parametrize("spread", [1, 2, 10**3, 10**9, 10**15])
def test_optimum_at_every_magnitude(spread, solver):
    rng = np.random.default_rng(7)
    for _ in range(15):
        cost = rng.integers(-spread, spread + 1, (9, 9))
        found = minimum_order(cost, max_dp=2)
        assert found.value == total_cost(cost, found.order) == best_order(cost)[1]
        assert found.value - found.bound <= 1e-12 * 72 * spread
        assert found.bound <= found.value


def test_floats(solver):
    rng = np.random.default_rng(8)
    for max_dp in (2, 18):
        cost = rng.normal(size=(9, 9)) * 1e-7
        found = minimum_order(cost, max_dp=max_dp)
        assert found.value == pytest.approx(best_order(cost)[1], rel=1e-12)
        assert found.value == pytest.approx(total_cost(cost, found.order), rel=1e-12)
        assert found.optimal
    assert minimum_order(np.zeros((3, 3))).value == 0


@pytest.mark.parametrize("tolerance", [0.001, 0.02, 0.3])
def test_tolerance_is_certified(tolerance, solver):
    rng = np.random.default_rng(9)
    for _ in range(40):
        cost = random_counts(rng, int(rng.integers(3, 11)), 12).T
        found = minimum_order(cost, tolerance=tolerance, max_dp=2)
        assert found.bound <= best_order(cost)[1] <= found.value == total_cost(cost, found.order)
        assert found.value <= (1 + tolerance) * found.bound + 1e-9


@pytest.mark.parametrize("slack", [0, 3, 20, 10**6])
def test_slack_is_certified(slack, solver):
    rng = np.random.default_rng(17)
    gaps = []
    for _ in range(8):
        upper = np.triu(rng.integers(-20, 21, (11, 11)), 1)
        cost = np.maximum(upper.T - upper, 0)
        for scale in (1, 0.125):  # floats are rounded to another unit
            found = minimum_order(scale * cost, slack=scale * slack, max_dp=2)
            assert found.bound <= scale * best_order(cost)[1] <= found.value == scale * total_cost(cost, found.order)
            assert found.gap <= scale * slack
            gaps.append(found.gap)
    assert (max(gaps) > 0) == (slack > 0)


def two_blocks(seed):
    """Two components of 14 items: 10 beats 20 on every pair across."""
    rng = np.random.default_rng(seed)
    cost = np.full((28, 28), 20)
    cost[:14, 14:] = 10
    for start in (0, 14):
        cost[start : start + 14, start : start + 14] = rng.integers(0, 40, (14, 14))
    return cost


@pytest.fixture
def tables_last(solver, monkeypatch):
    """Linear programs come before a table of subsets from three items on, with either solver."""
    monkeypatch.setattr(kemeny, "FEW", 2)
    monkeypatch.setattr(solver, "table", 2)


def test_linear_programs_leave_the_first_optimum_of_each_component(tables_last):
    """Ties are many, and the order is that of one table of all subsets."""
    rng = np.random.default_rng(19)
    for spread in (1, 3, 100):
        for m in (5, 9, 13):
            upper = np.triu(rng.integers(-spread, spread + 1, (m, m)), 1)
            cost = np.maximum(upper.T - upper, 0)
            cost[:2], cost[:, :2] = 0, 0  # two items are tied with all others
            part = majority_components(cost.T - cost)
            found = minimum_order(cost)
            alone = [items[best_order(cost[np.ix_(items, items)])[0]] for items in part]
            assert found.order.tolist() == np.concatenate(alone).tolist()
            assert found.value == found.bound == best_order(cost)[1]


@pytest.mark.parametrize("limits", [{"work_limit": 0}, {"work_limit": 1}, {"time_limit": 0.0}])
def test_tables_are_exact_without_work(limits, tables_last):
    cost = np.maximum(hard_margins(11).T, 0)
    order, value = best_order(cost)
    found = minimum_order(cost, **limits)
    assert found.order.tolist() == order.tolist()
    assert found.value == found.bound == value


@pytest.mark.slow
def test_several_large_components_share_the_limits(solver):
    for seed in range(5):
        cost = two_blocks(seed)
        exact = minimum_order(cost)
        assert exact.optimal
        for limits in ({"tolerance": 0.05}, {"slack": 40}, {"work_limit": 0}, {"work_limit": 60}, {"time_limit": 0.0}):
            found = minimum_order(cost, max_dp=5, **limits)
            assert found.bound <= exact.value <= found.value == total_cost(cost, found.order)
        assert minimum_order(cost, max_dp=5, tolerance=0.05).value <= 1.05 * exact.value
        assert minimum_order(cost, max_dp=5, slack=40).value <= 40 + exact.value
        assert minimum_order(cost, max_dp=5).value == exact.value


@pytest.mark.slow
def test_limits_never_claim_too_much(solver):
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
        # the pairwise minima and one cycle if the work limit is 0
        minima = np.triu(np.minimum(cost, cost.T), 1).sum()
        assert minima < bounds[0] <= minima + np.abs(cost - cost.T).max() or bounds[0] == optimum
    assert stopped > 12


def test_search_branches_to_the_optimum(solver):
    # dense random tournaments of unit weights have fractional programs: branching is needed
    rng = np.random.default_rng(11)
    for _ in range(6):
        sign = np.triu(rng.choice([-1, 1], (13, 13)), 1)
        cost = np.maximum(sign - sign.T, 0)
        found = LinearOrdering(cost)
        assert found.value == found.bound == best_order(cost)[1]


@pytest.mark.slow
def test_a_wrong_answer_of_the_solver_gives_no_false_proof(solver, monkeypatch):
    rng = np.random.default_rng(12)
    cost = rng.integers(0, 100, (12, 12))
    optimum = best_order(cost)[1]

    class Failing(solver):
        def solve(self, low, high, work):
            super().solve(low, high, work)

    class Lying(solver):
        def solve(self, low, high, work):
            honest = super().solve(low, high, work)
            return honest and honest._replace(x=rng.random(len(low)), multipliers=rng.random(len(self.right)))

    for liar in (Failing, Lying):
        monkeypatch.setattr(kemeny, "relaxation", liar)
        found = minimum_order(cost, max_dp=2, work_limit=200)
        assert found.bound <= optimum <= found.value
    monkeypatch.setattr(kemeny, "relaxation", Failing)
    # what alternating directions prove needs no solver
    minima = int(np.triu(np.minimum(cost, cost.T), 1).sum())
    assert minimum_order(cost, max_dp=2).bound > minima + 0.9 * (optimum - minima)


def with_each(cost, monkeypatch, **limits):
    found = []
    for solver in (Relaxation, WarmRelaxation):
        monkeypatch.setattr(kemeny, "relaxation", solver)
        found.append(minimum_order(cost, max_dp=2, **limits))
    return found


def test_a_proved_order_is_the_same_with_and_without_highspy(monkeypatch):
    pytest.importorskip("highspy", reason="needs the extra solver")
    rng = np.random.default_rng(14)
    for spread in (1, 2, 5):
        for m in (8, 12, 18):
            upper = np.triu(rng.integers(-spread, spread + 1, (m, m)), 1)
            cold, warm = with_each(np.maximum(upper.T - upper, 0), monkeypatch)
            assert cold.optimal and warm.optimal
            np.testing.assert_array_equal(cold.order, warm.order)


DATA = os.environ.get("SKLEARN_DPRANK_DATA")


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")
@pytest.mark.parametrize(("name", "most"), [("IO-be75eec", 236_464), ("IO-stabu70", 362_512), ("IO-usa79", 1_813_986)])
def test_known_optima_of_input_output_tables(solver, name, most):
    size, *entries = Path(DATA, "linear-ordering", f"{name}.txt").read_text().split()
    gain = np.array(entries, dtype=np.int64).reshape(int(size), int(size))
    np.fill_diagonal(gain, 0)
    found = minimum_order(-gain)
    assert found.value == found.bound == -most
    assert total_cost(gain, found.order) == most


def test_uniform_profile_of_45_items_is_solved(solver):
    found = minimum_order(uniform_counts(45, 5000, 0).T)
    assert found.optimal


def hard_margins(m, seed=0):
    """Noise alone: one component, and cycles everywhere."""
    margins = np.triu(np.rint(np.random.default_rng(seed).laplace(0, 1e5, (m, m))).astype(int), 1)
    return margins - margins.T


@pytest.mark.parametrize("work_limit", [0, 1, 30, pytest.param(300, marks=pytest.mark.slow)])
def test_no_loop_overdraws_the_work(monkeypatch, work_limit, solver):
    """Between two looks at what is left no more is spent than a row, a closure or one linear program takes."""
    kept = []

    class Seen(LinearOrdering):
        def __init__(self, cost, tolerance, elsewhere, work, slack):
            kept.append(work)
            super().__init__(cost, tolerance, elsewhere, work, slack)

    monkeypatch.setattr(kemeny, "LinearOrdering", Seen)
    for m in (40, 90):
        found = minimum_order(np.maximum(hard_margins(m).T, 0), work_limit=work_limit)
        assert 0 < found.bound < found.value
        assert kept[-1].left > -1e6 - 2 * m**3 - max(pace.steps(3 * m * m, 0, 0) for pace in (COLD, WARM))


@pytest.mark.slow
def test_the_default_limit_is_a_count_that_repeats(solver):
    cost = np.maximum(hard_margins(60).T, 0)
    first, second = (minimum_order(cost, work_limit=200) for _ in range(2))
    np.testing.assert_array_equal(first.order, second.order)
    assert first.bound == second.bound
    assert inspect.signature(minimum_order).parameters["work_limit"].default == WORK_LIMIT == 6_000


def test_time_limit_is_looked_at_in_every_loop(monkeypatch):
    """A clock that runs out after so many looks: what is left to do then is not done."""
    cost = np.maximum(hard_margins(60).T, 0)
    looks = 0

    def clock():
        nonlocal looks
        looks += 1
        return 0.0 if looks < 500 else 10.0

    monkeypatch.setattr(kemeny.time, "monotonic", clock)
    found = minimum_order(cost, time_limit=5.0, work_limit=np.inf)
    assert 0 < found.bound < found.value
    assert looks < 600


@pytest.mark.slow
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
    with pytest.warns(ConvergenceWarning):
        warn_of_gap(stopped, 1e-9, 0.9 * stopped.gap)
    warn_of_gap(stopped, 1e-9, 1.1 * stopped.gap)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.full((2, 2), np.inf), "finite"),
        (np.full((2, 2), 2**60), "2\\*\\*60"),
        (np.array([["a"]]), "convert|numbers"),
    ],
)
def test_bad_costs(cost, message):
    with pytest.raises(ValueError, match=message):
        minimum_order(cost)


@pytest.mark.parametrize("tolerance", [-0.1, np.nan, np.inf])
def test_bad_tolerance(tolerance):
    for name in ("tolerance", "slack"):
        with pytest.raises(ValueError, match=name):
            minimum_order(np.zeros((2, 2)), **{name: tolerance})
