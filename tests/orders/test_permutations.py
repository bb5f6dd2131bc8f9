"""Lehmer codes number the rankings of up to 20 items one to one, in lexicographic order."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sklearn_dprank.orders.permutations import indexed_permutations, permutation_index


@pytest.mark.parametrize("m", range(1, 8))
def test_numbers_are_a_bijection(m):
    """The rankings in lexicographic order have the numbers 0 to m! - 1."""
    every = np.array(list(permutations(range(m)))).T
    np.testing.assert_array_equal(permutation_index(every), np.arange(factorial(m)))
    np.testing.assert_array_equal(indexed_permutations(np.arange(factorial(m)), m), every)


def naive_index(positions):
    """Lehmer code: item by item, how many later items stand before it."""
    index = 0
    for i, place in enumerate(positions):
        index = index * (len(positions) - i) + sum(later < place for later in positions[i + 1 :])
    return index


@given(st.integers(1, 20).flatmap(lambda m: st.permutations(range(m))))
def test_there_and_back(ranking):
    """To m = 20, the most that 64 bits hold."""
    positions = np.array([ranking, ranking[::-1]]).T
    index = permutation_index(positions)
    assert index.tolist() == [naive_index(ranking), naive_index(ranking[::-1])]
    np.testing.assert_array_equal(indexed_permutations(index, len(positions)), positions)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
def test_small_dtypes_do_not_overflow(dtype):
    reverse = np.arange(20)[::-1, None].astype(dtype)
    assert permutation_index(reverse).tolist() == [factorial(20) - 1]


def test_no_ranking():
    assert permutation_index(np.empty((3, 0), dtype=np.int64)).tolist() == []
    assert indexed_permutations(np.empty(0, dtype=np.int64), 3).shape == (3, 0)
