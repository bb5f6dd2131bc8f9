"""Alternating directions give valid lower bounds, within five percent of the optimum, and keep to their work limit."""

import numpy as np
import pytest

from sklearn_dprank.orders import kemeny
from sklearn_dprank.orders.kemeny import Relaxation, Work, alternating_prices, dual_bound
from sklearn_dprank.orders.subset_dp import best_order


def noise(m, spread, seed=0):
    upper = np.triu(np.rint(np.random.default_rng(seed).laplace(0, spread, (m, m))).astype(np.int64), 1)
    return upper - upper.T


def proved(excess, cycles, prices):
    """The bound of the prices, on what an order costs beyond the cheaper order of each pair."""
    m = len(excess)
    i, j = np.triu_indices(m, 1)
    pair = np.zeros((m, m), dtype=np.int64)
    pair[i, j] = pair[j, i] = np.arange(len(i))
    program, following = Relaxation(excess[i, j]), np.roll(cycles, -1, axis=1)
    program.add(pair[cycles, following], np.where(cycles < following, 1, -1))
    low = np.zeros(len(i), dtype=np.int64)
    bound, *_, shift = dual_bound(program, prices, low, low + 1)
    return (bound >> shift) - int(np.minimum(excess[i, j], 0).sum())


@pytest.mark.slow
@pytest.mark.parametrize(("m", "spread"), [(12, 3), (15, 1e6), (20, 1000)])
def test_within_five_percent_of_the_optimum(m, spread):
    """Where the relaxation has an integral solution, or nearly so: no bound of cycles can be above it."""
    excess = noise(m, spread)
    optimum = best_order(np.maximum(excess, 0))[1]
    cycles, prices, least, before = alternating_prices(excess, Work())
    assert 0.95 * optimum < proved(excess, cycles, prices) <= optimum
    assert (prices > 0).all() and least > 0
    assert (cycles[:, 0] < cycles[:, 1:].min(axis=1)).all() and (cycles[:, 1] != cycles[:, 2]).all()
    np.testing.assert_allclose(before + before.T, 1, atol=1e-4)


@pytest.mark.slow
def test_alternating_directions_stop_at_the_work_limit():
    excess = noise(30, 100)
    whole = Work(limit=10**6)
    best = proved(excess, *alternating_prices(excess, whole)[:2])
    iteration = (10**12 - whole.left) / 200
    work = Work(limit=10 * iteration / 1e6 + 1e-3)
    some = proved(excess, *alternating_prices(excess, work)[:2])
    assert 0 <= work.left < iteration
    assert len(alternating_prices(excess, Work(limit=0))[0]) == 0
    assert some < best


def test_more_items_than_memory_allows(monkeypatch):
    monkeypatch.setattr(kemeny, "_MOST_CELLS", 100)
    cycles, prices, _, before = alternating_prices(noise(30, 100), Work())
    assert cycles.shape == (0, 3) and prices.shape == (0,) and before.shape == (30, 30)


def test_tables_without_a_decision():
    cycles, prices, _, _ = alternating_prices(np.zeros((5, 5), dtype=np.int64), Work())
    assert len(cycles) == len(prices) == 0
