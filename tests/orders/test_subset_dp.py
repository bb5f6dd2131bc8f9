"""`best_order` returns the first optimum by brute force, exactly for large integers, and refuses invalid costs."""

import numpy as np
import pytest
from oracles import every_total, random_counts

from sklearn_dprank.orders.subset_dp import best_order


@pytest.mark.parametrize("seed", range(4))
def test_best_order_is_the_first_optimum_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        m = int(rng.integers(0, 7))
        cost = random_counts(rng, m, int(rng.integers(1, 12))).T
        orders, totals = every_total(cost)
        order, value = best_order(cost)
        assert value == min(totals)
        assert tuple(order) == orders[int(np.argmin(totals))]


def test_negative_costs_floats_and_the_ignored_diagonal():
    rng = np.random.default_rng(0)
    for _ in range(40):
        cost = rng.integers(-9, 9, (5, 5))
        orders, totals = every_total(cost)
        assert best_order(cost)[1] == min(totals)
        order, value = best_order(cost / 7)
        assert value == pytest.approx(min(totals) / 7)
        assert totals[orders.index(tuple(order))] == min(totals)


def test_large_integers_are_exact():
    rng = np.random.default_rng(1)
    cost = rng.integers(0, 2**56, (6, 6))
    _, totals = every_total(cost.astype(object))
    assert best_order(cost)[1] == min(totals)


@pytest.mark.parametrize("m", [11, 12, 13, 14])
def test_wider_tables_find_a_planted_order(m):
    # two halves of unequal size; the cost counts inversions of a hidden order, so the optimum is known
    rng = np.random.default_rng(m)
    hidden = rng.permutation(m)
    where = np.argsort(hidden)
    cost = (where[:, None] > where[None, :]) * rng.integers(1, 50, (m, m))
    order, value = best_order(cost)
    assert value == 0
    np.testing.assert_array_equal(order, hidden)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.full((2, 2), np.nan), "finite"),
        (np.full((2, 2), 2**62), "2\\*\\*62"),
        (np.zeros((31, 31)), "at most 30"),
    ],
)
def test_bad_costs(cost, message):
    with pytest.raises(ValueError, match=message):
        best_order(cost)
