"""The best few items: all ways to choose them, what each overrules, and draws."""

from functools import partial
from itertools import combinations, permutations, product
from math import inf, perm

import numpy as np
import pytest
from audit_tools import ScriptedCoins, log_flipped_law, outcomes
from hypothesis import given, settings, strategies as st
from oracles import fit_of
from scipy import stats

from sklearn_dprank.orders import samplers as top
from sklearn_dprank.orders.samplers import (
    MOST_WAYS,
    Counted,
    Listed,
    NextSampler,
    TopSampler,
    costs_of_ways,
    largest_batch,
)
from sklearn_dprank.sampling.bit_source import SeededBits

CYCLE = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])


def margins_of(seed, m, largest=4):
    half = np.random.default_rng(seed).integers(-largest, largest + 1, (m, m))
    return half - half.T


def naive_cost(margins, way):
    """The largest margin of anybody over an item that the way puts before it."""
    rest = [x for x in range(len(margins)) if x not in way]
    return max([margins[x, s] for s in way for x in rest] + [margins[b, a] for a, b in combinations(way, 2)])


@given(st.integers(0, 2**32), st.integers(2, 6), st.data())
def test_every_way_against_the_naive_twin(seed, m, data):
    k, largest = data.draw(st.integers(1, m - 1)), data.draw(st.sampled_from([0, 1, 9]))
    margins = margins_of(seed, m, largest)
    costs, never = costs_of_ways(margins, k)
    assert never > margins.max() and costs.shape == (m**k,)
    for way, cost in zip(product(range(m), repeat=k), costs, strict=True):
        assert cost == (naive_cost(margins, way) if len(set(way)) == k else never)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 4), st.data())
def test_counted_ways_are_those_listed(seed, m, data):
    """Each as often as the others that overrule as much, and no others: all that a draw can be."""
    k, largest = data.draw(st.integers(1, m - 1)), data.draw(st.sampled_from([0, 1, 4]))
    margins = margins_of(seed, m, largest)
    listed, counted = Listed(margins, k), Counted(margins, k)
    ways = list(permutations(range(m), k))
    costs = np.array([naive_cost(margins, way) for way in ways])
    present = counted.counts > 0
    np.testing.assert_array_equal(counted.values[present], listed.values)
    np.testing.assert_array_equal(counted.counts[present], listed.counts)
    for number in np.flatnonzero(present)[:4]:
        expected = [way for way, cost in zip(ways, costs, strict=True) if cost == counted.values[number]]
        chances = dict.fromkeys(expected, 0.0)
        for chance, way in outcomes(partial(drawn_from, counted, number)):
            chances[way] += chance  # a KeyError for any other
        np.testing.assert_allclose(list(chances.values()), 1 / len(expected))


def drawn_from(ways, number, branch):
    return tuple(ways.draw(number, ScriptedCoins(branch)).tolist())


def test_sixteen_items():
    """Eight of them in any order: half a billion ways, and the majorities leave one of them."""
    margins = 5 * np.sign(np.subtract.outer(np.arange(16), np.arange(16))).T
    counted = Counted(margins, 8)
    assert counted.values.tolist() == [-5, 5] and counted.counts.tolist() == [1, perm(16, 8) - 1]
    assert TopSampler(margins, 8, 20.0, flip=True).draw(SeededBits(0)).tolist() == list(range(8))


def test_the_diagonal_does_not_matter():
    margins = margins_of(0, 5)
    np.fill_diagonal(margins, 99)
    for kind in (Listed, Counted):
        given, right = kind(margins, 3), kind(margins_of(0, 5), 3)
        np.testing.assert_array_equal(given.values[given.counts > 0], right.values[right.counts > 0])
        np.testing.assert_array_equal(given.counts[given.counts > 0], right.counts[right.counts > 0])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_unanimous_ballots_have_one_order_without_violation(k):
    margins = 100 * np.sign(np.subtract.outer(np.arange(5), np.arange(5))).T
    for ways in (Listed(margins, k), Counted(margins, k)):
        assert (ways.values.tolist(), ways.counts.tolist()) == ([-100, 100], [1, perm(5, k) - 1])
        assert ways.draw(0, SeededBits(0)).tolist() == list(range(k))


def test_largest_batches():
    assert [largest_batch(m) for m in (2, 3, 16)] == [1, 2, 15]
    for m in (17, 31, 32, 100, 101, 1000, 1001):
        k = largest_batch(m)
        assert (k == 1 or m**k <= MOST_WAYS) and m ** (k + 1) > MOST_WAYS


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("margins", "k"), [(CYCLE, 1), (CYCLE, 2), (margins_of(1, 5), 2), (np.zeros((4, 4)), 3)])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("listed", [True, False])
def test_draws_follow_the_law(flip, margins, k, rate, listed, monkeypatch):
    for name in ("Listed", "Counted"):
        monkeypatch.setattr(top, name, Listed if listed else Counted)
    every = list(permutations(range(len(margins)), k))
    costs = np.array([naive_cost(margins, way) for way in every], dtype=float)
    law = np.exp(log_flipped_law(rate * costs)) if flip else np.exp(-rate * costs)
    draws = TopSampler(margins, k, rate, flip=flip).sample(3000, SeededBits(2))
    assert fit_of(draws, every, law / law.sum()) > 1e-3


@pytest.mark.parametrize("flip", [False, True])
def test_items_placed_before_do_not_matter(flip):
    """Whatever their margins: the law is that of the others alone."""
    margins, left = margins_of(3, 6), [0, 2, 3, 5]
    alone = TopSampler(margins[np.ix_(left, left)], 2, 0.4, flip=flip).sample(200, SeededBits(3))
    margins[[1, 4]], margins[:, [1, 4]] = 50, -50
    among_all = TopSampler(margins, 2, 0.4, placed=(4, 1), flip=flip).sample(200, SeededBits(3))
    np.testing.assert_array_equal(among_all, np.take(left, alone))


def test_large_margins_and_wrong_ones():
    margins = 2**31 * np.sign(np.subtract.outer(np.arange(9), np.arange(9))).T
    for flip in (False, True):
        assert TopSampler(margins, 3, 5.0, flip=flip).draw(SeededBits(0)).tolist() == [0, 1, 2]
        with pytest.raises(ValueError, match="scale must be a finite number of at least 0"):
            TopSampler(margins, 3, inf, flip=flip)
        with pytest.raises(ValueError, match="square"):
            TopSampler(margins[:2], 1, 1.0, flip=flip)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("placed", [(), (2,), (3, 0)])
@pytest.mark.parametrize("margins", [CYCLE, margins_of(1, 5), np.zeros((5, 5), int)], ids=["cycle", "five", "ties"])
def test_the_next_item_follows_the_law(margins, placed, rate):
    left = [item for item in range(len(margins)) if item not in placed]
    costs = np.array([max(margins[other, item] for other in left if other != item) for item in left])
    law = np.exp(-rate * costs)
    draws = NextSampler(margins, rate, placed).sample(3000, SeededBits(4))[:, 0]
    seen = np.array([(draws == item).sum() for item in left])
    assert seen.sum() == 3000
    assert stats.chisquare(seen, 3000 * law / law.sum()).pvalue > 1e-3


def test_the_next_item_is_drawn_with_its_exact_probability_however_small():
    """Twice item 1 loses to item 0 by 900 votes; all other items lose by more than any uniform double can tell."""
    margins = np.array([[0, 900, 800], [-900, 0, 700], [-800, -700, 0]])
    item = NextSampler(margins, 1.0)._item
    assert item.at(-1599.0) == 0 and item.at(-1699.9) == 2 and item.at(-1801.0) == 1
    assert NextSampler(margins, 1e-3, placed=[0, 2]).draw(SeededBits(0)).tolist() == [1]
