"""`opposite_pairs` against a comparison of all pairs, for any number of items, with ties and extreme values."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sklearn_dprank.orders.permutations import FEW, opposite_pairs


def naive_opposite(first, second):
    """All pairs at once."""
    first, second = (np.asarray(x, dtype=float) for x in (first, second))
    return np.count_nonzero((first[:, None] < first) & (second[:, None] > second))


@pytest.mark.parametrize("m", [0, 1, 2, FEW - 1, FEW, FEW + 1, 255, 256, 257, 511, 513, 1000, 1025])
def test_reversed_and_equal_orders(m):
    order = np.arange(m, dtype=np.uint16)
    assert opposite_pairs(order, order[::-1]) == m * (m - 1) // 2
    assert opposite_pairs(order, order) == opposite_pairs(order, order * 0) == 0


@pytest.mark.parametrize("m", [2, 3, 5, 11, 12, 13, 14, 40])
@pytest.mark.parametrize("kind", ["strict", "tied", "unranked"])
def test_few_items_against_all_pairs(m, kind):
    """In a loop and at once."""
    rng = np.random.default_rng(m)
    for _ in range(20):
        first, second = rng.permuted(np.tile(np.arange(m), (2, 1)), axis=1)
        if kind == "tied":
            first, second = first // 2, second // 3
        if kind == "unranked":
            first, second = (np.where(rng.random(m) < 0.2, np.nan, ballot) for ballot in (first, second))
        found = opposite_pairs(first, second)
        assert type(found) is int and found == naive_opposite(first, second)


@settings(max_examples=60)
@given(
    st.integers(FEW + 1, 700),
    st.sampled_from([2, 10, 255, 65535]),
    st.sampled_from([np.uint8, np.uint16]),
    st.integers(0, 2**32 - 1),
)
def test_many_items_against_all_pairs(m, places, dtype, seed):
    """With ties, up to the largest value of the dtype."""
    top = np.iinfo(dtype).max
    first, second = top - np.random.default_rng(seed).integers(0, min(places, top), (2, m), endpoint=True).astype(dtype)
    found = opposite_pairs(first, second)
    assert type(found) is int and found == naive_opposite(first, second)


def test_few_items_are_any_numbers():
    first, second = [0.5, np.nan, -np.inf, 3.0, 3.0], [2**53 + 1, 0, 2**53, 2**53 - 1, 7]
    assert opposite_pairs(np.array(first), np.array(second)) == 4  # pairs with 3.0, and not of the two


def test_more_pairs_than_four_bytes_count():
    order = np.arange(65_534, dtype=np.uint16)
    assert opposite_pairs(order, order[::-1]) == 65_534 * 65_533 // 2
