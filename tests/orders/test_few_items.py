"""Orders of largest total gain for up to 12 items against enumeration, with ties in lexicographic order."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sklearn_dprank.orders.subset_dp import FEW, best_of_few


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


@pytest.mark.slow
@given(gain_matrices(st.integers(-2, 2)) | gain_matrices(st.integers(-(2**55), 2**55)))
def test_integers_against_every_order(gain):
    order, total = best_of_few(gain)
    assert (order.tolist(), total) == by_every_order(gain)
    assert order.dtype == np.int64


@pytest.mark.slow
@given(gain_matrices(st.floats(-1e3, 1e3).map(lambda x: round(x * 1024) / 1024)))
def test_floats_against_every_order(gain):
    # multiples of 1 / 1024 are summed exactly, so that even ties must be broken alike
    order, total = best_of_few(gain)
    assert (order.tolist(), total) == by_every_order(gain)


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
