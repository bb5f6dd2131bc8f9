"""Kemeny optima, against the same recurrence set by set and against components left together."""

from functools import cache, partial
from time import process_time

import numpy as np
import pytest
from benchmark_tools import compare
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.kemeny import (
    WORK_LIMIT,
    Work,
    minimum_order,
    violated_cycles,
)
from sklearn_dprank.orders.subset_dp import best_order


def naive_best(cost):
    """Held and Karp (1962), one set at a time."""
    m = len(cost)
    rows = cost.tolist()

    @cache
    def best(left):
        items = [i for i in range(m) if left >> i & 1]
        return min((sum(rows[i][j] for j in items) + best(left ^ 1 << i) for i in items), default=0)

    return best((1 << m) - 1)


def uniform_margins(m, n, seed):
    return Profile.from_rankings(make_mallows(n, m, 1.0, random_state=seed)).margins


def test_all_subsets(benchmark):
    """Subset dynamic programming at 12 items: layers of sets at once."""
    cost = np.maximum(uniform_margins(12, 50, 0).T, 0)
    _, value = compare(benchmark, partial(best_order, cost), partial(naive_best, cost), at_least=5)
    assert value == naive_best(cost)


def test_components_are_solved_apart(benchmark):
    """Mallows majorities of 20 items fall apart: far cheaper than one table of 2^20 sets."""
    cost = np.maximum(Profile.from_rankings(make_mallows(50, 20, 0.9, random_state=2)).margins.T, 0)
    found = compare(benchmark, partial(minimum_order, cost), partial(best_order, cost), at_least=5, rounds=1)
    assert found.optimal
    assert found.value == best_order(cost)[1]


@pytest.mark.parametrize("m", [60, 100, 216, 885])
def test_the_default_limit_takes_about_ten_seconds(benchmark, m):
    """Noise alone has directed 3-cycles everywhere, which makes the hardest programs."""
    upper = np.triu(np.random.default_rng(m).integers(-(10**6), 10**6, (m, m)), 1)
    cost = np.maximum(upper.T - upper, 0)
    began = process_time()
    found = benchmark.pedantic(minimum_order, args=(cost,), rounds=1)
    benchmark.extra_info["processor_seconds"] = process_time() - began
    benchmark.extra_info["certified_gap"] = float(found.gap / found.bound)
    assert benchmark.extra_info["processor_seconds"] < 3 * WORK_LIMIT / 1000
    assert found.bound > 0


def lazy_circles(cost):
    """The peer: HiGHS's integer programs (scipy.optimize.milp), with the circles that their solutions run in added."""
    m = len(cost)
    i, j = np.triu_indices(m, 1)
    pair = np.zeros((m, m), dtype=np.int64)
    pair[i, j] = pair[j, i] = np.arange(len(i))
    weights, rows, right = (cost - cost.T)[i, j], csr_array((0, len(i))), np.empty(0)
    while True:
        limits = [LinearConstraint(rows, ub=right)] if len(right) else []
        x = milp(weights, integrality=np.ones(len(i)), bounds=Bounds(0, 1), constraints=limits).x
        before = np.zeros((m, m))
        before[i, j], before[j, i] = np.rint(x), 1 - np.rint(x)
        circles = violated_cycles(before, 3000, Work())
        if not len(circles):
            return int(np.rint(weights @ x)) + int(np.tril(cost, -1).sum())
        following = np.roll(circles, -1, axis=1)
        sign, start = np.where(circles < following, 1, -1), np.arange(0, 3 * len(circles) + 1, 3)
        new = csr_array((sign.ravel(), pair[circles, following].ravel(), start), (len(circles), len(i)))
        rows, right = vstack([rows, new], format="csr"), np.append(right, 2 - (sign < 0).sum(axis=1))


@pytest.mark.parametrize(("m", "n", "phi"), [(61, 60, 0.97), (40, 200, 0.985)])
def test_against_lazy_circles(benchmark, solver, m, n, phi):
    """One large component of voters who agree a little: the rows where the peer was faster."""
    cost = np.maximum(Profile.from_rankings(make_mallows(n, m, phi, random_state=7)).margins.T, 0)
    found = compare(benchmark, partial(minimum_order, cost), partial(lazy_circles, cost), at_least=0.5, rounds=3)
    assert found.value == found.bound == lazy_circles(cost)
