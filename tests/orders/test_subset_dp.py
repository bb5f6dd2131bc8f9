"""Orders of least cost by tables of subsets, against brute force, with ties in lexicographic order."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import every_total, random_counts

from sklearn_dprank.orders.subset_dp import FEW, best_of_few, best_order


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


# Up to 12 items


def gain_matrices(entries):
    """Square matrices of up to 6 items with a zero diagonal; few distinct entries make many ties."""
    square = st.integers(0, 6).flatmap(lambda m: st.lists(entries, min_size=m * m, max_size=m * m).map(np.array))

    def build(flat):
        m = round(len(flat) ** 0.5)
        gain = flat.reshape(m, m) if m else np.zeros((0, 0), dtype=np.int64)
        np.fill_diagonal(gain, 0)
        return gain

    return square.map(build)


def by_every_order(gain):
    """The first in lexicographic order of the orders of largest total."""
    m = len(gain)
    orders = list(permutations(range(m)))
    totals = [sum(gain[o[a], o[b]].item() for a in range(m) for b in range(a + 1, m)) for o in orders]
    return list(orders[totals.index(max(totals))]), max(totals)


def by_every_set(gain):
    """Held and Karp (1962), one set at a time."""
    m = len(gain)
    rows = gain.tolist()

    @cache
    def best(left):
        items = [i for i in range(m) if left >> i & 1]
        return max(((sum(rows[i][j] for j in items) + best(left ^ 1 << i)[0], -i) for i in items), default=(0, 0))

    left, order = 2**m - 1, []
    while left:
        order.append(-best(left)[1])
        left ^= 1 << order[-1]
    return order, best(2**m - 1)[0]


INTEGERS = gain_matrices(st.integers(-2, 2)) | gain_matrices(st.integers(-(2**55), 2**55))
# Multiples of 1 / 1024 are summed exactly, so that even ties must be broken alike.
FLOATS = gain_matrices(st.floats(-1e3, 1e3).map(lambda x: round(x * 1024) / 1024))


@pytest.mark.slow
@given(INTEGERS | FLOATS)
def test_few_items_against_every_order(gain):
    order, total = best_of_few(gain)
    assert (order.tolist(), total) == by_every_order(gain)
    assert order.dtype == np.int64


@pytest.mark.parametrize("m", range(7, FEW + 1))
@pytest.mark.parametrize("spread", [1, 10**6])
def test_more_items_against_every_set(m, spread):
    gain = np.random.default_rng(m).integers(-spread, spread + 1, (m, m))
    np.fill_diagonal(gain, 0)
    order, total = best_of_few(gain)
    assert (order.tolist(), total) == by_every_set(gain)


def test_no_preference_keeps_the_order_of_items():
    for m in range(FEW + 1):
        order, total = best_of_few(np.zeros((m, m), dtype=np.int64))
        assert (order.tolist(), total) == (list(range(m)), 0)
