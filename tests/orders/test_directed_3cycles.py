"""Violated directed 3-cycles against enumeration, and cycle packings as lower bounds for Kemeny optima."""

import numpy as np
import pytest

from sklearn_dprank.orders import kemeny
from sklearn_dprank.orders.kemeny import LinearOrdering, Work, packed_cycles, total_cost, violated_cycles
from sklearn_dprank.orders.subset_dp import best_order


@pytest.mark.parametrize("at_once", [1, 40, 2**14])
def test_violated_cycles_equal_enumeration(at_once, monkeypatch):
    """Whether one item is scanned at a time, a few, or all."""
    monkeypatch.setattr(kemeny, "_AT_ONCE", at_once)
    rng = np.random.default_rng(14)
    for _ in range(20):
        m = int(rng.integers(3, 9))
        before = np.triu(rng.choice([0, 0.25, 0.5, 0.9, 1.0], (m, m)), 1)
        before += np.tril(1 - before.T, -1)
        amount = {
            (i, j, k): before[i, j] + before[j, k] + before[k, i] - 2
            for i in range(m)
            for j in range(i + 1, m)
            for k in range(i + 1, m)
            if j != k
        }
        expected = sorted((value for value in amount.values() if value > 1e-6), reverse=True)
        for limit in (3, 10**6):
            found = [amount[tuple(cycle)] for cycle in violated_cycles(before, limit, Work()).tolist()]
            assert found == pytest.approx(expected[:limit])


def test_many_cycles_are_kept_within_bounds():
    """What is dropped on the way is not among the most violated."""
    rng = np.random.default_rng(0)
    before = np.triu(rng.random((25, 25)), 1)
    before += np.tril(1 - before.T, -1)
    every = violated_cycles(before, 10**6, Work())
    assert len(every) > 500
    for limit in (1, 10, 60):
        np.testing.assert_array_equal(violated_cycles(before, limit, Work()), every[:limit])


def test_a_scan_stops_when_its_work_is_over(monkeypatch):
    monkeypatch.setattr(kemeny, "_AT_ONCE", 1000)
    before = np.triu(np.random.default_rng(1).integers(0, 2, (30, 30)), 1).astype(float)
    before += np.tril(1 - before.T, -1)
    every = {tuple(cycle) for cycle in violated_cycles(before, 10**6, Work()).tolist()}
    some = {tuple(cycle) for cycle in violated_cycles(before, 10**6, Work(0.05)).tolist()}
    assert set() < some < every
    assert len(violated_cycles(before, 10**6, Work(0))) == 0


def margins_of(rng, m, high):
    upper = np.triu(rng.integers(-high, high + 1, (m, m)), 1)
    return upper - upper.T


@pytest.mark.parametrize("limit", [0, 0.03, np.inf])
@pytest.mark.parametrize("high", [1, 2, 1000])
def test_packed_cycles_cost_every_order(high, limit):
    rng = np.random.default_rng(high)
    some = 0
    for _ in range(60):
        cost = np.maximum(margins_of(rng, int(rng.integers(0, 11)), high), 0)
        bound, optimum = packed_cycles(cost - cost.T, Work(limit)), best_order(cost)[1]
        assert 0 <= bound <= optimum
        # with no work at all, one cycle is followed, where the largest majorities lead to one
        some += bound > 0 or optimum == 0
    assert some >= (55 if limit == np.inf else 40)


def test_disjoint_cycles_are_all_found():
    """Three cycles of three in a row, of weights 1, 2 and 3: every order overrules 6."""
    cost = np.zeros((9, 9), dtype=int)
    for block, weight in enumerate((1, 2, 3)):
        for item in range(3):
            cost[3 * block + (item + 1) % 3, 3 * block + item] = weight
    assert packed_cycles(cost - cost.T, Work()) == 6 == total_cost(cost, np.arange(9))
    assert packed_cycles(cost - cost.T, Work(0)) == 1


def test_long_cycle_among_ties_is_packed():
    cost = np.zeros((6, 6), dtype=int)
    for item in range(6):
        cost[(item + 1) % 6, item] = 4 + item
    assert packed_cycles(cost - cost.T, Work()) == packed_cycles(cost - cost.T, Work(0)) == 4


@pytest.mark.parametrize(("m", "limit"), [(30, 8), (60, 36)])
def test_a_stopped_search_leaves_enough_work_for_the_packing(m, limit):
    """It reserves at most a quarter of the limit for it."""
    excess, whole = margins_of(np.random.default_rng(m), m, 100), Work(10**6)
    packed = packed_cycles(excess, whole)
    assert (10**12 - whole.left) / 10**6 < limit / 4
    found = LinearOrdering(np.maximum(excess, 0), work=Work(limit))
    assert packed <= found.bound < found.value
