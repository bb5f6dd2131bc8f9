"""Prudent orders by minimax margin: level counts and samples against enumeration."""

from functools import partial
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from audit_tools import ScriptedCoins, outcomes
from hypothesis import given, settings, strategies as st
from oracles import fit_of, seeded

from sklearn_dprank.orders.samplers import Counts, MinimaxMarginSampler, _levels, level_log_weights

CYCLE = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])
TRANSITIVE = np.array([[0, 2, 5, 3], [-2, 0, 2, 4], [-5, -2, 0, 2], [-3, -4, -2, 0]])
TIES = np.zeros((4, 4), dtype=int)


def all_orders(n_items):
    return np.array(list(permutations(range(n_items))))


def respects(order, before):
    return all(not before[i][j] for place, i in enumerate(order) for j in order[:place])


def worst_violation(order, margins):
    return max((margins[i, j] for place, i in enumerate(order) for j in order[:place]), default=0)


def test_known_counts():
    """All orders of 16 items, one order, and Euler's number of the zigzag 0 < 1 > 2 < 3 ..."""
    zigzag = np.zeros((8, 8), dtype=np.int64)
    zigzag[range(0, 8, 2), range(1, 8, 2)] = zigzag[range(2, 8, 2), range(1, 7, 2)] = 1
    chain = np.triu(np.ones((16, 16), dtype=np.int64), 1)
    for relation, count in ((np.zeros_like(chain), factorial(16)), (chain, 1), (zigzag, 1385)):
        assert int(Counts(relation, 1).of_all[0]) == count


@pytest.mark.parametrize("margins", [CYCLE, TRANSITIVE, TIES, CYCLE * 1.5])
@pytest.mark.parametrize("scale", [0, 0.2, 1.5])
def test_prudent_law_matches_enumeration(margins, scale):
    orders = all_orders(4)
    law = np.exp([-scale * worst_violation(order, margins) for order in orders])
    draws = MinimaxMarginSampler(margins, scale).sample(6000, seeded(1))
    assert fit_of(draws, orders, law / law.sum()) > 1e-3


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([0.0, 0.1, 0.7, 3.0]))
def test_mixture_of_levels_is_the_law(seed, n_items, scale):
    """The probabilities of the levels and the counts, without sampling: exact to rounding."""
    half = np.random.default_rng(seed).integers(-4, 5, size=(n_items, n_items))
    margins = half - half.T
    violations = np.array([worst_violation(order, margins) for order in all_orders(n_items)])
    law = np.exp(-scale * violations)
    sampler = MinimaxMarginSampler(margins, scale)
    mixture = np.exp(sampler._log_weights)
    values = np.unique(margins[~np.eye(n_items, dtype=bool)])[-len(mixture) :] if n_items > 1 else [0]
    got = [np.sum(mixture[v <= values] / sampler._extensions.of_all[v <= values]) for v in violations]
    np.testing.assert_allclose(np.array(got) / np.sum(got), law / law.sum(), rtol=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 4))
def test_orders_of_exactly_one_level_are_counted(seed, n_items, largest):
    """Differences of counts, and every path of a draw: each order of the level comes once, no other does."""
    half = np.random.default_rng(seed).integers(-largest, largest + 1, size=(n_items, n_items))
    orders = all_orders(n_items)
    violations = np.array([worst_violation(order, half - half.T) for order in orders])
    values, counts = counted(half - half.T)
    exactly = np.diff(counts.of_all, prepend=0)
    for column, value in enumerate(values):
        expected = {tuple(order) for order in orders[violations == value].tolist()}
        assert exactly[column] == len(expected)
        if expected:
            chances = dict.fromkeys(expected, 0.0)
            for chance, order in outcomes(partial(drawn_from, counts, column)):
                chances[order] += chance  # a KeyError for any other
            np.testing.assert_allclose(list(chances.values()), 1 / len(expected))


def counted(margins):
    values, level = _levels(margins, ~np.eye(len(margins), dtype=bool))
    return values, Counts(level, len(values))


def drawn_from(counts, column, branch):
    return tuple(counts.draw(column, ScriptedCoins(branch), first=True).tolist())


def test_flips_never_draw_what_they_do_not_count():
    """Sixteen items, all margins equal: the majority order alone overrules none of them."""
    margins = 5 * np.sign(np.subtract.outer(np.arange(16), np.arange(16))).T
    values, counts = counted(margins)
    assert values.tolist() == [-5, 5] and np.diff(counts.of_all, prepend=0).tolist() == [1, factorial(16) - 1]
    assert counts.draw(0, seeded(0), first=True).tolist() == list(range(16))
    assert all(counts.draw(1, seeded(k), first=True).tolist() != list(range(16)) for k in range(20))
    assert MinimaxMarginSampler([[0]], 1.0, flip=True).sample(1, seeded(0)).tolist() == [[0]]


def test_huge_margins_do_not_overflow():
    margins = 10**9 * TRANSITIVE
    draws = MinimaxMarginSampler(margins, 10.0).sample(20, seeded(2))
    np.testing.assert_array_equal(draws, np.tile(np.arange(4), (20, 1)))
    weights = level_log_weights(np.log([1.0, 24.0]), np.array([-1e12, 1e12]), 1.0)
    np.testing.assert_allclose(weights, [1e12, np.log(24) - 1e12])


def test_small_and_wrong_input():
    assert MinimaxMarginSampler([[0]], 1.0).sample(1, seeded(0)).tolist() == [[0]]
    assert MinimaxMarginSampler(CYCLE, 1.0).sample(0, seeded(0)).shape == (0, 4)
    with pytest.raises(ValueError, match="1 to 16 items, got 17"):
        MinimaxMarginSampler(np.zeros((17, 17)), 1.0)
    with pytest.raises(ValueError, match="scale must be a finite number of at least 0"):
        MinimaxMarginSampler(CYCLE, -1.0)
    with pytest.raises(ValueError, match="finite"):
        MinimaxMarginSampler([[0, np.nan], [0, 0]], 1.0)
