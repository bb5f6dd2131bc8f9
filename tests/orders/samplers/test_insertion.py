"""`InsertionSampler`: samples and acceptance rate against enumeration, gap costs and input errors."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import seeded
from scipy import stats

from sklearn_dprank.orders.samplers.insertion import (
    InsertionSampler,
    gap_costs,
    insert_at,
    insertion_order,
    least_gap_costs,
)

CYCLE = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])
TRANSITIVE = np.array([[0, 2, 5, 3], [-2, 0, 2, 4], [-5, -2, 0, 2], [-3, -4, -2, 0]])
TIES = np.zeros((4, 4), dtype=int)


def kendall_law(margins, scale):
    orders = np.array(list(permutations(range(len(margins)))))
    costs = [sum(max(0, margins[i, j]) for k, i in enumerate(order) for j in order[:k]) for order in orders]
    weights = np.exp(-scale * np.array(costs))
    return orders, weights


def fit_of(draws, orders, weights):
    law = weights / weights.sum()
    index = {tuple(order): k for k, order in enumerate(orders.tolist())}
    seen = np.bincount([index[tuple(draw)] for draw in draws.tolist()], minlength=len(orders))
    large = law * len(draws) >= 5
    seen, law = np.append(seen[large], seen[~large].sum()), np.append(law[large], law[~large].sum())
    seen, law = seen[law > 1e-12], law[law > 1e-12]
    return stats.chisquare(seen, law / law.sum() * seen.sum()).pvalue


@pytest.mark.parametrize("margins", [CYCLE, TRANSITIVE, TIES, CYCLE * 0.7])
@pytest.mark.parametrize("scale", [0, 0.1, 0.6])
@pytest.mark.parametrize("order", ["borda", "smallest_last", "index", [3, 1, 0, 2]])
def test_law_matches_enumeration(margins, scale, order):
    draws = InsertionSampler(margins, scale, order).sample(4000, seeded(0))
    assert fit_of(draws, *kendall_law(margins, scale)) > 1e-3


@pytest.mark.slow
def test_law_at_six_items():
    half = np.random.default_rng(0).integers(-3, 4, size=(6, 6))
    margins = half - half.T
    draws = InsertionSampler(margins, 0.2).sample(20_000, seeded(1))
    assert fit_of(draws, *kendall_law(margins, 0.2)) > 1e-3


def test_rate_of_acceptance_is_mass_over_bound():
    sampler = InsertionSampler(CYCLE, 0.4)
    expected = kendall_law(CYCLE, 0.4)[1].sum() / np.exp(np.sum(sampler._log_bounds))
    accepted = len(sampler.tries(20_000, seeded(2)))
    assert stats.binomtest(accepted, 20_000, expected).pvalue > 1e-3


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 7), st.sampled_from([0.0, 0.2, 3.0]))
def test_gap_costs_and_their_bound(seed, n_placed, scale):
    rng = np.random.default_rng(seed)
    row = rng.integers(-5, 6, size=n_placed)  # margins of the new item over the placed ones
    order = rng.permutation(n_placed)
    costs = gap_costs(row, order[None], scale)[0]
    naive = [
        scale * (sum(max(0, row[j]) for j in order[:gap]) + sum(max(0, -row[j]) for j in order[gap:]))
        for gap in range(n_placed + 1)
    ]
    np.testing.assert_allclose(costs, naive, atol=1e-12)
    assert np.all(least_gap_costs(row, scale) <= costs + 1e-12)
    np.testing.assert_allclose(least_gap_costs(row, scale), gap_costs(row, np.argsort(row)[None], scale)[0], atol=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_insert_at(seed, length):
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(length) for _ in range(5)])
    gaps = rng.integers(0, length + 1, size=5)
    expected = [np.insert(order, gap, length) for order, gap in zip(orders, gaps, strict=True)]
    np.testing.assert_array_equal(insert_at(orders, length, gaps), expected)


def test_orders_of_insertion():
    assert insertion_order(TRANSITIVE, 0.1).tolist() == [0, 1, 2, 3]
    assert insertion_order(TRANSITIVE, 0.1, "index").tolist() == [0, 1, 2, 3]
    assert insertion_order(-TRANSITIVE, 0.1).tolist() == [3, 2, 1, 0]
    order = insertion_order(CYCLE, 0.5, "smallest_last")
    bounds = [np.exp(-least_gap_costs(np.delete(CYCLE[i], i), 0.5)).sum() for i in range(4)]
    assert order[-1] == np.argmin(bounds)
    assert sorted(order) == [0, 1, 2, 3]


def test_forty_five_items_near_unanimity():
    margins = 40 * np.subtract.outer(np.arange(45), np.arange(45)).T
    draws = InsertionSampler(margins, 0.5).sample(3, seeded(4))
    np.testing.assert_array_equal(draws, np.tile(np.arange(45), (3, 1)))


def test_huge_costs_do_not_overflow():
    draws = InsertionSampler(10**9 * TRANSITIVE, 10.0).sample(3, seeded(5))
    np.testing.assert_array_equal(draws, np.tile(np.arange(4), (3, 1)))


def test_small_and_wrong_input():
    assert InsertionSampler([[0]], 1.0).draw(seeded(0)).tolist() == [0]
    assert InsertionSampler(CYCLE, 1.0).sample(0, seeded(0)).shape == (0, 4)
    with pytest.raises(ValueError, match="antisymmetric"):
        InsertionSampler([[0, 3], [2, 0]], 1.0)
    with pytest.raises(ValueError, match="margins must be finite"):
        InsertionSampler([[0, np.inf], [-np.inf, 0]], 1.0)
    with pytest.raises(ValueError, match="scale must be a finite number of at least 0"):
        InsertionSampler(CYCLE, np.nan)
    with pytest.raises(ValueError, match="order must be"):
        InsertionSampler(CYCLE, 1.0, order="random")
    with pytest.raises(ValueError, match="permutation of the 4 items"):
        InsertionSampler(CYCLE, 1.0, order=[0, 1])
