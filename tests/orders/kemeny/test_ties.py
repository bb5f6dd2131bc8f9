"""Among tied Kemeny optima, the first in lexicographic order is found from any optimum."""

from itertools import permutations

import numpy as np
import pytest

from sklearn_dprank.orders.kemeny.linear_ordering import first_optimum, met_optimum
from sklearn_dprank.orders.kemeny.local_search import insertion_search, total_cost
from sklearn_dprank.orders.kemeny.work import Work
from sklearn_dprank.orders.subset_dp import best_order


@pytest.mark.parametrize("m", [1, 2, 4, 6])
@pytest.mark.parametrize("helpful", [True, False])
def test_the_first_of_all_optima(m, helpful):
    """`cut` by brute force: either all that the optima have in common, or only what it was given."""
    rng = np.random.default_rng(m)
    orders = [np.array(order) for order in permutations(range(m))]
    places = [np.argsort(order) for order in orders]
    several = 0
    for _ in range(12):
        cost = rng.integers(0, 3, (m, m))
        totals = [total_cost(cost, order) for order in orders]
        optima = [place[:, None] < place for place, total in zip(places, totals, strict=True) if total == min(totals)]
        several += len(optima) > 1

        def cut(before, optima=optima):
            left = [optimum for optimum in optima if not (before & ~optimum).any()]
            if not left:
                return None
            common = np.logical_and.reduce(left)
            return (common, np.mean(left, axis=0)) if helpful else (before, rng.random(before.shape))

        first = orders[int(np.argmin(totals))]
        for optimum in optima:
            np.testing.assert_array_equal(first_optimum(cost, np.argsort(-optimum.sum(axis=1)), cut), first)
    assert several > 5 or m < 4


def test_without_an_answer_the_order_stays():
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(first_optimum(np.zeros((3, 3), dtype=int), order, lambda before: None), order)


def test_searches_meet_an_optimum():
    """Many ties: kicks or crossings from the descended order end at an optimum, the same each time."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        upper = np.triu(rng.integers(-3, 4, (11, 11)), 1)
        cost = np.maximum(upper.T - upper, 0)
        start, least = np.arange(11), best_order(cost)[1]
        met = met_optimum(cost, start, least, Work())
        assert total_cost(cost, met) == least
        np.testing.assert_array_equal(met, met_optimum(cost, start, least, Work()))
        anything = met_optimum(cost, start, 10**9, Work())
        np.testing.assert_array_equal(anything, insertion_search(cost, start))
