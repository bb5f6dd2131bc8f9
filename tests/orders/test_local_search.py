"""Insertion search reaches local optima and keeps to its work limit."""

import numpy as np

from sklearn_dprank.orders.kemeny import Work, insertion_search, total_cost


def best_insertion(cost, order):
    """The least total after moving one item, by trying all of them: the naive twin."""
    totals = [total_cost(cost, order)]
    for item in order:
        rest = [other for other in order if other != item]
        totals += [total_cost(cost, rest[:gap] + [item] + rest[gap:]) for gap in range(len(order))]
    return min(totals)


def test_insertion_search_stops_at_a_local_optimum():
    rng = np.random.default_rng(0)
    for _ in range(60):
        m = int(rng.integers(0, 9))
        cost, start = rng.integers(0, 20, (m, m)), rng.permutation(m)
        kept = start.copy()
        order = insertion_search(cost, start)
        np.testing.assert_array_equal(start, kept)
        assert sorted(order.tolist()) == list(range(m))
        assert total_cost(cost, order) <= total_cost(cost, start)
        assert best_insertion(cost, order.tolist()) == total_cost(cost, order)


def test_one_step_is_the_best_one():
    # the order is one move away from free, and no other move is
    cost = np.tril(np.ones((7, 7), dtype=int), -1)
    np.testing.assert_array_equal(insertion_search(cost, [1, 2, 3, 4, 5, 0, 6]), np.arange(7))


def test_work_is_looked_at_before_each_item():
    """The order reached is never worse than the start, and what is overdrawn is one row."""
    rng = np.random.default_rng(3)
    cost, start = rng.integers(0, 1000, (120, 120)), rng.permutation(120)
    totals = []
    for limit in (0, 0.1, 0.5, 2, 50):
        work = Work(limit)
        order = insertion_search(cost, start, work)
        totals.append(total_cost(cost, order))
        assert sorted(order.tolist()) == list(range(120))
        assert work.left > -1e4
    assert totals[0] == total_cost(cost, start)
    assert totals == sorted(totals, reverse=True) and totals[1] > totals[-1]


def test_totals_of_large_integers_are_exact():
    cost = np.full((3, 3), 2**60)
    assert total_cost(cost, [2, 0, 1]) == 3 * 2**60
