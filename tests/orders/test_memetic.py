"""Memetic search: batch descents, crossover, best known orders of benchmark instances, and work limits."""

import os
from pathlib import Path

import numpy as np
import pytest

from sklearn_dprank.orders.kemeny import (
    Work,
    descended,
    insertion_search,
    memetic_search,
    total_cost,
)
from sklearn_dprank.orders.subset_dp import best_order

DATA = os.environ.get("SKLEARN_DPRANK_DATA")


def test_batch_descents_equal_single_descents():
    rng = np.random.default_rng(0)
    for m in (0, 1, 2, 3, 9, 40):
        cost = rng.integers(0, 20, (m, m))
        starts = np.array([rng.permutation(m) for _ in range(12)])
        kept = starts.copy()
        orders, totals = descended(cost - cost.T, starts, Work())
        np.testing.assert_array_equal(starts, kept)
        alone = [insertion_search(cost, start) for start in starts]
        assert sorted(orders.tolist()) == sorted(order.tolist() for order in alone)
        assert totals.tolist() == [total_cost(cost - cost.T, order) for order in orders]


@pytest.mark.slow
def test_memetic_search_finds_optima_that_descents_miss():
    rng = np.random.default_rng(3)
    found = alone = 0
    for _ in range(8):
        cost, start = rng.integers(0, 1000, (15, 15)), rng.permutation(15)
        optimum = best_order(cost)[1]
        found += total_cost(cost, memetic_search(cost, start)) == optimum
        alone += total_cost(cost, insertion_search(cost, start)) == optimum
    assert found == 8
    assert alone < 6


@pytest.mark.slow
def test_crossover_beats_three_hundred_descents():
    rng = np.random.default_rng(6)
    cost = rng.integers(0, 1000, (70, 70))
    starts = np.array([rng.permutation(70) for _ in range(300)])
    _, totals = descended(cost - cost.T, starts, Work())
    assert total_cost(cost - cost.T, memetic_search(cost, starts[0])) < totals.min()


@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_few_items(m):
    cost = np.arange(m * m).reshape(m, m)
    np.testing.assert_array_equal(memetic_search(cost, np.arange(m)[::-1]), np.arange(m))


@pytest.mark.parametrize(("search", "overdrawn"), [(insertion_search, 1e4), (memetic_search, 5e4)])
def test_searches_check_the_work_before_each_item(search, overdrawn):
    """The order is never worse than the start, and the work exceeds the limit by the step of one item at most."""
    rng = np.random.default_rng(5)
    cost, start = rng.integers(0, 1000, (120, 120)), rng.permutation(120)
    totals = []
    for limit in (0, 0.1, 0.5, 2, 10, 50):
        work = Work(limit)
        order = search(cost, start, work=work)
        totals.append(total_cost(cost, order))
        assert sorted(order.tolist()) == list(range(120))
        assert work.left > -overdrawn
    assert totals[0] == total_cost(cost, start)
    assert totals == sorted(totals, reverse=True) and totals[1] > totals[-1]


def test_totals_beyond_the_integers_of_doubles():
    rng = np.random.default_rng(7)
    cost = rng.integers(0, 2**57, (8, 8))
    orders, totals = descended(cost - cost.T, np.array([rng.permutation(8) for _ in range(9)]), Work())
    assert totals.tolist() == [total_cost(cost - cost.T, order) for order in orders]
    assert any(int(float(total)) != total for total in totals.tolist())


INSTANCES = {
    "IO-be75eec": 236_464,
    "IO-stabu70": 362_512,
    "IO-usa79": 1_813_986,
    "RandB-p40-02": 27_482,
    "RandB-p44-01": 35_948,
}


def linear_ordering_instance(name):
    numbers = np.array(Path(DATA, "linear-ordering", f"{name}.txt").read_text().split(), dtype=int)
    return numbers[1:].reshape(numbers[0], numbers[0]) * (1 - np.eye(numbers[0], dtype=int))


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="SKLEARN_DPRANK_DATA is not set")
@pytest.mark.parametrize("name", INSTANCES)
def test_best_known_orders(name):
    gain = linear_ordering_instance(name)
    order = memetic_search(-gain, np.argsort(gain.sum(axis=0) - gain.sum(axis=1), kind="stable"))
    assert total_cost(gain, order) == INSTANCES[name]


@pytest.mark.slow
def test_a_total_that_is_enough_ends_the_search():
    cost = np.random.default_rng(21).integers(0, 100, (25, 25))
    start, generations = np.arange(25), []
    best = total_cost(cost, memetic_search(cost, start))

    class Counted(Work):
        def spend(self, steps):
            generations.append(steps)
            super().spend(steps)

    spent = []
    for enough in (10**6, best, 0):
        generations.clear()
        met = memetic_search(cost, start, work=Counted(), enough=enough)
        spent.append(len(generations))
        assert total_cost(cost, met) <= max(enough, best)
    assert spent[0] < spent[1] < spent[2]
