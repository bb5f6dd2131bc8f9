"""Insertion search reaches local optima and keeps to its work limit."""

import numpy as np

from sklearn_dprank.orders.kemeny import insertion_search, total_cost


def best_insertion(cost, order):
    """The least total after moving one item, by trying all of them."""
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


def test_first_move_is_the_best_one():
    # the order is one move away from free, and no other move is
    cost = np.tril(np.ones((7, 7), dtype=int), -1)
    np.testing.assert_array_equal(insertion_search(cost, [1, 2, 3, 4, 5, 0, 6]), np.arange(7))


def test_totals_of_large_integers_are_exact():
    cost = np.full((3, 3), 2**60)
    assert total_cost(cost, [2, 0, 1]) == 3 * 2**60
