"""Exact draws of orders, against the obvious way to make their table."""

import math
from functools import partial

import numpy as np
import pytest
from benchmark_tools import compare

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.samplers import PartitionTable


def mallows(n, m, phi, seed=0):
    profile = Profile.from_rankings(make_mallows(n, m, phi, random_state=seed))
    profile.margins, profile.net_wins  # noqa: B018 computed once, not timed
    return profile


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
    cost, scale = np.maximum(mallows(200, 12, 0.9).margins.T, 0).astype(float), 1.0 / 66
    ours, twin = (partial(make, cost, scale) for make in (PartitionTable, naive_partition))
    table = compare(benchmark, ours, twin, at_least=5, rounds=2)
    assert table.log_partition == pytest.approx(twin(), rel=1e-12)
