"""Insertion search reaches local optima, perturbed search never worsens an order, and both keep to their work limit."""

import numpy as np
import pytest

from sklearn_dprank.orders.kemeny.local_search import _Descent, insertion_search, perturbed_search, total_cost
from sklearn_dprank.orders.kemeny.work import Work
from sklearn_dprank.orders.subset_dp import best_order
from sklearn_dprank.sampling.streams import SeededBits


def best_insertion(cost, order):
    """The least total after moving one item, by trying all of them: the naive twin."""
    totals = [total_cost(cost, order)]
    for item in order:
        rest = [other for other in order if other != item]
        totals += [total_cost(cost, rest[:gap] + [item] + rest[gap:]) for gap in range(len(order))]
    return min(totals)


@pytest.mark.parametrize("dtype", [int, float])
def test_insertion_search_stops_at_a_local_optimum(dtype):
    rng = np.random.default_rng(0)
    for _ in range(60):
        m = int(rng.integers(0, 9))
        cost = rng.integers(0, 20, (m, m)).astype(dtype) / (1 if dtype is int else 7)
        start = rng.permutation(m)
        order = insertion_search(cost, start)
        assert sorted(order.tolist()) == list(range(m))
        assert total_cost(cost, order) <= total_cost(cost, start)
        assert best_insertion(cost, order.tolist()) >= total_cost(cost, order) - 1e-9


def test_one_step_is_the_best_one():
    # the order is one move away from free, and no other move is
    cost = np.tril(np.ones((7, 7), dtype=int), -1)
    np.testing.assert_array_equal(insertion_search(cost, [1, 2, 3, 4, 5, 0, 6]), np.arange(7))


def test_what_a_descent_says_it_saved():
    rng = np.random.default_rng(4)
    for m in (2, 9, 30):
        cost, start = rng.integers(0, 50, (m, m)), rng.permutation(m)
        found = _Descent(cost - cost.T, start.copy())
        for place, gap in rng.integers(0, m, (5, 2)).tolist():
            item = found.order[place]
            rest = [other for other in found.order.tolist() if other != item]
            expected = rest[: gap - (gap > place)] + [item] + rest[gap - (gap > place) :]
            found.move(place, gap)
            assert found.order.tolist() == expected
            assert found.saved == total_cost(cost, start) - total_cost(cost, found.order)
        found.run(Work())
        assert found.saved == total_cost(cost, start) - total_cost(cost, found.order)


@pytest.mark.parametrize("search", [insertion_search, perturbed_search])
def test_work_is_looked_at_before_each_item(search):
    """The order reached is never worse than the start, and what is overdrawn is one row or one kick."""
    rng = np.random.default_rng(3)
    cost, start = rng.integers(0, 1000, (120, 120)), rng.permutation(120)
    totals = []
    for limit in (0, 0.1, 0.5, 2, 50):
        work = Work(limit)
        order = search(cost, start, work=work)
        totals.append(total_cost(cost, order))
        assert sorted(order.tolist()) == list(range(120))
        assert work.left > -1e5
    assert totals[0] == total_cost(cost, start)
    assert totals == sorted(totals, reverse=True) and totals[1] > totals[-1]


@pytest.mark.slow
@pytest.mark.parametrize("bits", [None, SeededBits(np.random.SeedSequence(0))])
def test_perturbed_search_is_near_the_optimum(bits):
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(30):
        m = int(rng.integers(1, 12))
        cost = rng.integers(0, 1000, (m, m))
        start = rng.permutation(m)
        order = perturbed_search(cost, start, bits=bits)
        value, optimum = total_cost(cost, order), best_order(cost)[1]
        assert optimum <= value <= total_cost(cost, insertion_search(cost, start))
        assert best_insertion(cost, order.tolist()) == value
        hits += value == optimum
    assert hits >= 28


def test_without_bits_the_result_is_a_function_of_its_arguments():
    cost = np.random.default_rng(2).integers(0, 1000, (30, 30))
    start = np.arange(30)
    kept = cost.copy()
    np.testing.assert_array_equal(perturbed_search(cost, start), perturbed_search(cost, start))
    np.testing.assert_array_equal(cost, kept)
    np.testing.assert_array_equal(start, np.arange(30))
    np.testing.assert_array_equal(perturbed_search(cost, start, kicks=0), insertion_search(cost, start))


def test_totals_of_large_integers_are_exact():
    cost = np.full((3, 3), 2**60)
    assert total_cost(cost, [2, 0, 1]) == 3 * 2**60


def test_a_total_that_is_enough_ends_the_kicks():
    rng = np.random.default_rng(21)
    cost = rng.integers(0, 100, (25, 25))
    start = np.arange(25)
    descended, best = insertion_search(cost, start), perturbed_search(cost, start, kicks=60)
    assert total_cost(cost, best) < total_cost(cost, descended)
    np.testing.assert_array_equal(perturbed_search(cost, start, kicks=60, enough=10**6), descended)
    np.testing.assert_array_equal(perturbed_search(cost, start, kicks=60, enough=0), best)
    met = perturbed_search(cost, start, kicks=10**6, enough=total_cost(cost, best))
    assert total_cost(cost, met) == total_cost(cost, best)
