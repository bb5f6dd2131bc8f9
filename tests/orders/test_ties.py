"""Among tied Kemeny optima, the first in lexicographic order is found from any optimum."""

from itertools import permutations

import numpy as np
import pytest

from sklearn_dprank.orders.kemeny import LinearOrdering, first_optimum, insertion_search, total_cost
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


def test_among_many_optima_the_search_ends_at_the_one_that_local_search_meets(monkeypatch):
    """It does not matter which optimum the linear programs lead to."""
    rng = np.random.default_rng(4)
    insertions = 0
    for _ in range(20):
        upper = np.triu(rng.integers(-3, 4, (11, 11)), 1)
        cost = np.maximum(upper.T - upper, 0)
        optimum, least = best_order(cost)
        found = LinearOrdering(cost)
        assert found.value == found.bound == least == total_cost(cost, found.order)
        start = np.argsort((cost - cost.T).sum(axis=1), kind="stable")
        descended = insertion_search(cost, start)
        if total_cost(cost, descended) == least:
            insertions += 1
            np.testing.assert_array_equal(found.order, descended)
        monkeypatch.setattr(LinearOrdering, "_search", lambda self, optimum=optimum: self._offer(optimum) or self._best)
        np.testing.assert_array_equal(LinearOrdering(cost).order, found.order)
        monkeypatch.undo()
    assert insertions > 5
