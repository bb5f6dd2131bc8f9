"""The distance of two orders, with all its checks, against bare twins that make none."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from benchmark_tools import compare

from sklearn_dprank.metrics import kendall_tau_distance


def two_orders(m):
    rng = np.random.default_rng(0)
    return rng.permutation(m), rng.permutation(m)


def loop(a, b):
    """Pair by pair in Python, of lists, the items in the first order."""
    second = [place for _, place in sorted(zip(a, b, strict=True))]
    return sum(before > after for before, after in combinations(second, 2))


def all_pairs(a, b):
    return np.count_nonzero((a[:, None] < a) & (b[:, None] > b))


@pytest.mark.parametrize(("m", "at_least"), [(5, 0.2), (10, 0.4), (45, 3)])
def test_few_items_against_a_loop(benchmark, m, at_least):
    a, b = two_orders(m)
    twin = repeated(partial(loop, a.tolist(), b.tolist()))
    found = compare(benchmark, repeated(partial(kendall_tau_distance, a, b, normalize=False)), twin, at_least=at_least)
    assert found == twin()


@pytest.mark.parametrize(("m", "at_least"), [(300, 0.6), (1000, 3), (5000, 8)])
def test_many_items_against_all_pairs(benchmark, m, at_least):
    a, b = two_orders(m)
    twin = partial(all_pairs, a, b)
    found = compare(benchmark, partial(kendall_tau_distance, a, b, normalize=False), twin, at_least=at_least)
    assert found == twin()


def repeated(function, times=100):
    """Return a function that calls another one so often that a clock can tell."""

    def run():
        for _ in range(times):
            found = function()
        return found

    return run
