"""Exact draws of orders, against the obvious ways to make them."""

import math
from itertools import permutations
from time import perf_counter

import numpy as np
import pytest
from oracles import seeded

from sklearn_dprank import DPBorda, DPPrudentOrder, DPTopK
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.samplers import MinimaxMarginSampler, PartitionTable


def mallows(n, m, phi, seed=0):
    profile = Profile.from_rankings(make_mallows(n, m, phi, random_state=seed))
    profile.margins, profile.net_wins  # noqa: B018 computed once, not timed
    return profile


def median_seconds(function, rounds):
    out = []
    for _ in range(rounds):
        began = perf_counter()
        function()
        out.append(perf_counter() - began)
    return float(np.median(out))


def naive_partition(cost, scale):
    """The mass of all orders, one set at a time."""
    m = len(cost)
    rows = (-scale * cost).tolist()
    mass = {0: 1.0}
    for left in range(1, 2**m):
        items = [i for i in range(m) if left >> i & 1]
        mass[left] = sum(math.exp(sum(rows[i][j] for j in items)) * mass[left ^ 1 << i] for i in items)
    return math.log(mass[2**m - 1])


def test_table_of_subsets(benchmark):
    """Twelve items: layers of sets at once against one set at a time."""
    margins = mallows(200, 12, 0.9).margins
    cost, scale = np.maximum(margins.T, 0).astype(float), 1.0 / 66
    began = perf_counter()
    naive = naive_partition(cost, scale)
    naive_seconds = perf_counter() - began
    table = benchmark(PartitionTable, cost, scale)
    assert table.log_partition == pytest.approx(naive, rel=1e-12)
    ratio = naive_seconds / benchmark.stats.stats.median
    benchmark.extra_info["times_faster_than_set_by_set"] = round(ratio, 1)
    assert ratio > 5


def naive_prudent(margins, scale, bits):
    """List all orders with their largest overruled margin, and pick."""
    orders = np.array(list(permutations(range(len(margins)))))
    worst = np.full(len(orders), -np.inf)
    for a in range(len(margins)):
        for b in range(a):
            worst = np.maximum(worst, margins[orders[:, a], orders[:, b]])
    mass = np.exp(-scale * (worst - worst.min())).cumsum()
    return orders[np.searchsorted(mass, bits.uniform(1)[0] * mass[-1])]


def test_prudent_orders_of_eight(benchmark):
    margins, bits = mallows(500, 8, 0.9).margins, seeded(2)
    naive_seconds = median_seconds(lambda: naive_prudent(margins, 0.05, bits), 5)
    benchmark(lambda: MinimaxMarginSampler(margins, 0.05).sample(1, bits))
    ratio = naive_seconds / benchmark.stats.stats.median
    benchmark.extra_info["times_faster_than_listing_orders"] = round(ratio, 1)
    assert ratio > 3


@pytest.mark.parametrize(("m", "k"), [(16, 8), (45, 3), (45, 10), (200, 10)])
def test_top_k(benchmark, m, k):
    benchmark(DPTopK(k, epsilon=0.1, random_state=0).fit, mallows(1000, m, 0.75))


@pytest.mark.parametrize("m", [10, 15, 16])
def test_prudent_order(benchmark, m):
    """Prototype: .2 s at 15 items."""
    benchmark(DPPrudentOrder(epsilon=0.1, random_state=0).fit, mallows(1000, m, 0.75))


@pytest.mark.parametrize("m", [45, 200])
def test_peeled_order(benchmark, m):
    """The range of one choice is computed once for all fits: .06 s for 45 items, .3 s for 200."""
    benchmark(DPPrudentOrder(epsilon=0.1, delta=1e-6, random_state=0).fit, mallows(1000, m, 0.75))


@pytest.mark.parametrize("window", [5, 7, 9])
def test_two_stages(benchmark, window):
    """Prototype: 14 ms at 45 items with window 7."""
    benchmark(DPPrudentOrder(epsilon=0.1, window=window, random_state=0).fit, mallows(5000, 45, 0.75))


def test_knorm_borda(benchmark):
    benchmark(DPBorda(noise="knorm", random_state=0).fit, mallows(5000, 45, 0.75))
