"""Orders by the largest margin that they overrule: counts and draws of whole orders, of windows and of the best few."""

from functools import partial
from itertools import combinations, permutations, product
from math import factorial, inf, perm

import numpy as np
import pytest
from audit_tools import ScriptedCoins, log_flipped_law, outcomes
from hypothesis import given, settings, strategies as st
from oracles import fit_of, seeded
from scipy import stats

from sklearn_dprank.orders import samplers as top
from sklearn_dprank.orders.samplers import (
    MOST_WAYS,
    Counted,
    Counts,
    Listed,
    MinimaxMarginSampler,
    NextSampler,
    TopSampler,
    WindowedSampler,
    _levels,
    costs_of_ways,
    largest_batch,
    level_log_weights,
)
from sklearn_dprank.sampling.bit_source import SeededBits

# Whole orders


CYCLE = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])
TRANSITIVE = np.array([[0, 2, 5, 3], [-2, 0, 2, 4], [-5, -2, 0, 2], [-3, -4, -2, 0]])
TIES = np.zeros((4, 4), dtype=int)


def margins_of(seed, m, largest=4):
    half = np.random.default_rng(seed).integers(-largest, largest + 1, (m, m))
    return half - half.T


def all_orders(n_items):
    return np.array(list(permutations(range(n_items))))


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
    margins = margins_of(seed, n_items)
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
    margins, orders = margins_of(seed, n_items, largest), all_orders(n_items)
    violations = np.array([worst_violation(order, margins) for order in orders])
    values, counts = counted_levels(margins)
    exactly = np.diff(counts.of_all, prepend=0)
    for column, value in enumerate(values):
        expected = {tuple(order) for order in orders[violations == value].tolist()}
        assert exactly[column] == len(expected)
        if expected:
            chances = dict.fromkeys(expected, 0.0)
            for chance, order in outcomes(partial(drawn_order, counts, column)):
                chances[order] += chance  # a KeyError for any other
            np.testing.assert_allclose(list(chances.values()), 1 / len(expected))


def counted_levels(margins):
    values, level = _levels(margins, ~np.eye(len(margins), dtype=bool))
    return values, Counts(level, len(values))


def drawn_order(counts, column, branch):
    return tuple(counts.draw(column, ScriptedCoins(branch), first=True).tolist())


def test_flips_never_draw_what_they_do_not_count():
    """Sixteen items, all margins equal: the majority order alone overrules none of them."""
    margins = 5 * np.sign(np.subtract.outer(np.arange(16), np.arange(16))).T
    values, counts = counted_levels(margins)
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


# Windows around an anchor


def brute_force(margins, anchor, scale, window):
    """All the orders allowed, their largest violated margins within the window and their probabilities."""
    place = np.argsort(anchor)
    orders, violations, inversions = [], [], []
    for order in permutations(range(len(anchor))):
        turned = [(i, j) for i, j in combinations(order, 2) if place[i] > place[j]]
        if all(place[i] - place[j] < window for i, j in turned):
            orders.append(order)
            inversions.append(len(turned))
            near = [(i, j) for i, j in combinations(order, 2) if abs(place[i] - place[j]) < window]
            violations.append(max((margins[j, i] for i, j in near), default=0))
    law = np.exp(-np.array(inversions) - scale * np.array(violations))
    return np.array(orders), np.array(violations), law / law.sum()


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("scale", [0, 0.2, 1.5])
def test_law_matches_enumeration(window, scale):
    margins, anchor = margins_of(window, 6), np.random.default_rng(window).permutation(6)
    orders, _, law = brute_force(margins, anchor, scale, window)
    draws = WindowedSampler(margins, anchor, scale, window).sample(4000, seeded(0))
    assert fit_of(draws, orders, law) > 1e-3


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.0, 0.3, 2.0]))
def test_masses_of_levels_are_exact(seed, n_items, window, scale):
    margins = margins_of(seed, n_items)
    anchor = np.random.default_rng(seed).permutation(n_items)
    orders, violations, law = brute_force(margins, anchor, scale, window)
    sampler = WindowedSampler(margins, anchor, scale, window)
    base = law * np.exp(scale * (violations - violations.min()))
    mixture = np.exp(sampler._log_weights - sampler._log_weights.max())
    mixture /= mixture.sum()
    # values of u that the sampler tells apart: those of the orders are among them
    masses = np.exp(sampler._log_masses)
    np.testing.assert_allclose(masses[-1] * base / base.sum(), np.exp(-_inversions(orders, anchor)), rtol=1e-9)
    reached = np.array([np.exp(-_inversions(orders[violations <= v], anchor)).sum() for v in np.unique(violations)])
    assert np.all([np.isclose(masses, value, rtol=1e-9).any() for value in reached])


def _inversions(orders, anchor):
    places = np.argsort(anchor)[orders]
    return np.array([sum(x > y for x, y in combinations(row, 2)) for row in places.tolist()], dtype=float)


def test_strong_margins_repair_the_anchor_within_the_window():
    truth = np.arange(45)
    margins = 200 * np.subtract.outer(truth, truth).T
    rng = np.random.default_rng(0)
    anchor = np.concatenate([start + rng.permutation(5) for start in range(0, 45, 5)])
    np.testing.assert_array_equal(WindowedSampler(margins, anchor, 1.0).draw(seeded(1)), truth)


def test_far_pairs_never_move():
    anchor = np.random.default_rng(1).permutation(20)
    place = np.argsort(anchor)
    for draw in place[WindowedSampler(margins_of(2, 20), anchor, 0.1, window=4).sample(50, seeded(2))]:
        assert all(x - y < 4 for x, y in combinations(draw.tolist(), 2))


def test_many_items_do_not_underflow():
    margins = -200 * np.sign(np.subtract.outer(np.arange(150), np.arange(150))).T  # the anchor is the worst order
    sampler = WindowedSampler(margins, np.arange(150), 1.0)
    assert np.isfinite(sampler._log_masses[-1])
    assert sorted(sampler.sample(1, seeded(5))[0]) == list(range(150))


def test_wrong_anchors_and_windows_are_refused():
    with pytest.raises(ValueError, match="permutation of the 3 items"):
        WindowedSampler(np.zeros((3, 3)), [0, 1, 1], 1.0)
    with pytest.raises(ValueError, match="window must be an integer from 1 to 12"):
        WindowedSampler(np.zeros((3, 3)), [0, 1, 2], 1.0, window=13)
    with pytest.raises(ValueError, match="scale"):
        WindowedSampler(np.zeros((3, 3)), [0, 1, 2], np.inf)
    assert WindowedSampler([[0]], [0], 1.0).draw(seeded(0)).tolist() == [0]


# The best few items


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
        for chance, way in outcomes(partial(drawn_way, counted, number)):
            chances[way] += chance  # a KeyError for any other
        np.testing.assert_allclose(list(chances.values()), 1 / len(expected))


def drawn_way(ways, number, branch):
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
