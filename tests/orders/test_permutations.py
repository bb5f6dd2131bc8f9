"""Numbers of rankings, opposite pairs, and the comparisons of quicksort."""

import itertools
import math
from fractions import Fraction
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sklearn_dprank.orders.permutations import (
    FEW,
    indexed_permutations,
    opposite_pairs,
    p_sort_max_queries,
    permutation_index,
    quicksort_comparisons,
    quicksort_comparisons_up_to,
    quicksort_query_bound,
)

# Lehmer codes


@pytest.mark.parametrize("m", range(1, 8))
def test_numbers_are_a_bijection(m):
    """The rankings in lexicographic order have the numbers 0 to m! - 1."""
    every = np.array(list(permutations(range(m)))).T
    np.testing.assert_array_equal(permutation_index(every), np.arange(factorial(m)))
    np.testing.assert_array_equal(indexed_permutations(np.arange(factorial(m)), m), every)


def overrun_probability(m, paid):
    """P(comparisons > paid), for correct answers."""
    return quicksort_comparisons(m)[paid + 1 :].sum()


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


# Opposite pairs


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


# Comparisons of quicksort


def exact_law(m):
    """The recursion in exact fractions."""
    laws = [{0: Fraction(1)}, {0: Fraction(1)}]
    for k in range(2, m + 1):
        law = {}
        for j in range(k):
            for (a, p), (b, q) in itertools.product(laws[j].items(), laws[k - 1 - j].items()):
                law[a + b + k - 1] = law.get(a + b + k - 1, 0) + p * q / k
        laws.append(law)
    return laws[m]


@pytest.mark.parametrize("m", [0, 1, 2, 3, 7, 12])
def test_law_is_exact(m):
    exact = np.zeros(math.comb(m, 2) + 1)
    for count, p in exact_law(m).items():
        exact[count] = float(p)
    np.testing.assert_allclose(quicksort_comparisons(m), exact, atol=1e-14)


def test_law_has_the_known_mean():
    for m in (20, 100):
        law = quicksort_comparisons(m)
        harmonic = sum(1 / k for k in range(1, m + 1))
        assert law @ np.arange(len(law)) == pytest.approx(2 * (m + 1) * harmonic - 4 * m, rel=1e-10)
        assert law.sum() == pytest.approx(1)


@pytest.mark.parametrize("m", [0, 1, 2, 9, 40])
def test_laws_of_all_sizes_at_once(m):
    laws = quicksort_comparisons_up_to(m)
    assert laws.shape == (m + 1, math.comb(m, 2) + 1)
    for k, law in enumerate(laws):
        alone = quicksort_comparisons(k)
        np.testing.assert_allclose(law[: len(alone)], alone, atol=1e-14)
        np.testing.assert_allclose(law[len(alone) :], 0, atol=1e-14)


def test_law_cannot_be_spoiled_through_the_cache():
    with pytest.raises(ValueError, match="read-only"):
        quicksort_comparisons(5)[0] = 1


KNOWN = {12: (64, 66), 15: (95, 99), 20: (150, 158), 25: (210, 222), 30: (273, 289), 40: (409, 432), 50: (554, 583)}


@pytest.mark.parametrize("m", KNOWN)
def test_query_bound_known_answers(m):
    assert (quicksort_query_bound(m), quicksort_query_bound(m, 0.1)) == KNOWN[m]


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6, 8, 10])
def test_small_sorts_pay_for_every_pair(m):
    assert quicksort_query_bound(m) == math.comb(m, 2)


@pytest.mark.parametrize("xi", [1.0, 0.1])
@pytest.mark.parametrize("m", [12, 20, 40, 100])
def test_query_bound_holds_for_the_exact_law(m, xi):
    assert overrun_probability(m, quicksort_query_bound(m, xi)) <= xi / m**4


def test_query_bound_refuses_bad_xi():
    with pytest.raises(ValueError, match="xi must lie"):
        quicksort_query_bound(20, 0)


def test_p_sort_pays_for_the_printed_number_rounded_down():
    """The number is floor((m - 1) log2 m), computed exactly. It is positive, and at most the number of pairs."""
    for m in range(1, 301):
        paid = p_sort_max_queries(m)
        assert 2**paid <= m ** (m - 1) < 2 ** (paid + 1), f"{m} items"
        assert min(1, m - 1) <= paid <= math.comb(m, 2), f"{m} items"


def test_p_sort_by_the_natural_logarithm():
    assert [p_sort_max_queries(m, log="ln") for m in (1, 2, 3, 10, 40)] == [0, 0, 2, 20, 143]
    with pytest.raises(ValueError, match=r"log must be one of \['log2', 'ln'\], got 'log10'"):
        p_sort_max_queries(5, log="log10")
