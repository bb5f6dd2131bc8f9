"""Comparison counts of quicksort: exact distribution, overrun probabilities and query bounds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sklearn_dprank.orders.permutations import (
    _log_moments,
    p_sort_max_queries,
    quicksort_comparisons,
    quicksort_comparisons_up_to,
    quicksort_query_bound,
)


def overrun_probability(m, paid):
    """P(comparisons > paid), for correct answers."""
    return quicksort_comparisons(m)[paid + 1 :].sum()


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


@pytest.mark.parametrize(
    ("m", "log", "expected"), [(10, np.log2, 0.11), (40, np.log2, 0.20), (10, np.log, 0.88), (40, np.log, 1.0)]
)
def test_overrun_of_p_sort(m, log, expected):
    assert overrun_probability(m, int((m - 1) * log(m))) == pytest.approx(expected, abs=0.005)


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


@pytest.mark.parametrize("m", [12, 20, 50, 100])
def test_query_bound_is_the_best_chernoff_bound(m):
    level = math.log(m**4)
    t = np.geomspace(1e-3, 5, 400)
    grid = min((_log_moments(s, m)[-1] + level) / s for s in t)
    assert quicksort_query_bound(m) in (math.ceil(grid), math.ceil(grid) - 1)


@pytest.mark.slow
def test_query_bound_grows_like_m_log_m():
    for m in range(12, 201):
        assert quicksort_query_bound(m) <= 3.15 * m * math.log(m)


def test_log_moments_are_those_of_the_law():
    for m, t in [(6, 0.7), (15, 0.2), (30, 0.05)]:
        law = quicksort_comparisons(m)
        assert _log_moments(t, m)[-1] == pytest.approx(math.log(law @ np.exp(t * np.arange(len(law)))))


def comparisons_on(beats, items):
    """The law of KwikSort's comparisons on one tournament, by the definition."""
    if len(items) < 2:
        return {0: 1.0}
    law = {}
    for pivot in items:
        lower = tuple(j for j in items if beats[j, pivot])
        upper = tuple(j for j in items if j != pivot and not beats[j, pivot])
        a, b = comparisons_on(beats, lower), comparisons_on(beats, upper)
        for (x, p), (y, q) in itertools.product(a.items(), b.items()):
            key = x + y + len(items) - 1
            law[key] = law.get(key, 0) + p * q / len(items)
    return law


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 4, 5])
def test_transitive_tournament_has_the_largest_moments(m):
    pairs = list(itertools.combinations(range(m), 2))
    for t in (0.1, 1.0, 3.0):
        worst = math.exp(_log_moments(t, m)[-1])
        moments = []
        for bits in itertools.product([False, True], repeat=len(pairs)):
            beats = np.zeros((m, m), dtype=bool)
            for (i, j), wins in zip(pairs, bits, strict=True):
                beats[i, j], beats[j, i] = wins, not wins
            law = comparisons_on(beats, tuple(range(m)))
            moments.append(sum(p * math.exp(t * count) for count, p in law.items()))
        assert max(moments) == pytest.approx(worst)


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
