"""`WindowedSampler`: samples against enumeration, fixed far pairs, and a utility of sensitivity 1."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import fit_of, seeded

from sklearn_dprank.orders.samplers import MinimaxMarginSampler, WindowedSampler


def random_margins(seed, n_items, largest=4):
    half = np.random.default_rng(seed).integers(-largest, largest + 1, size=(n_items, n_items))
    return half - half.T


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
    margins, anchor = random_margins(window, 6), np.random.default_rng(window).permutation(6)
    orders, _, law = brute_force(margins, anchor, scale, window)
    draws = WindowedSampler(margins, anchor, scale, window).sample(4000, seeded(0))
    assert fit_of(draws, orders, law) > 1e-3


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.0, 0.3, 2.0]))
def test_masses_of_levels_are_exact(seed, n_items, window, scale):
    margins = random_margins(seed, n_items)
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
    for draw in place[WindowedSampler(random_margins(2, 20), anchor, 0.1, window=4).sample(50, seeded(2))]:
        assert all(x - y < 4 for x, y in combinations(draw.tolist(), 2))


@pytest.mark.slow
def test_fixed_pairs_do_not_count():
    """However much a fixed pair is violated, the law of the others stays as it is."""
    margins, anchor = random_margins(3, 5), np.arange(5)
    orders, _, law = brute_force(margins, anchor, 0.7, 2)
    margins[4, 0], margins[0, 4] = 50, -50
    draws = WindowedSampler(margins, anchor, 0.7, window=2).sample(4000, seeded(3))
    assert fit_of(draws, orders, law) > 1e-3


def test_utility_has_sensitivity_one():
    """Adding a ballot moves u by at most 1 for every order, fixed pairs included: log ratios stay in 2 * scale."""
    anchor, scale = np.array([1, 0, 3, 2]), 0.7
    margins = random_margins(4, 4)
    _, before, law = brute_force(margins, anchor, scale, 3)
    for ballot in permutations(range(4)):
        place = np.argsort(ballot)
        vote = np.sign(place[None, :] - place[:, None])
        _, after, other = brute_force(margins + vote, anchor, scale, 3)
        assert np.abs(before - after).max() <= 1
        assert np.abs(np.log(law / other)).max() <= 2 * scale + 1e-12


def test_full_window_without_inversions_is_the_prudent_law():
    """With the base measure divided out, a window as wide as the order gives the minimax-margin law."""
    margins, anchor = random_margins(5, 5), np.array([4, 2, 0, 1, 3])
    orders, violations, law = brute_force(margins, anchor, 0.4, 5)
    prudent = law * np.exp(_inversions(orders, anchor))
    draws = MinimaxMarginSampler(margins, 0.4).sample(4000, seeded(4))
    assert len(orders) == 120
    assert fit_of(draws, orders, prudent / prudent.sum()) > 1e-3
    assert len(np.unique(violations)) > 2


def test_many_items_do_not_underflow():
    margins = -200 * np.sign(np.subtract.outer(np.arange(150), np.arange(150))).T  # the anchor is the worst order
    sampler = WindowedSampler(margins, np.arange(150), 1.0)
    assert np.isfinite(sampler._log_masses[-1])
    assert sorted(sampler.sample(1, seeded(5))[0]) == list(range(150))


def test_errors():
    with pytest.raises(ValueError, match="permutation of the 3 items"):
        WindowedSampler(np.zeros((3, 3)), [0, 1, 1], 1.0)
    with pytest.raises(ValueError, match="window must be an integer from 1 to 12"):
        WindowedSampler(np.zeros((3, 3)), [0, 1, 2], 1.0, window=13)
    with pytest.raises(ValueError, match="scale"):
        WindowedSampler(np.zeros((3, 3)), [0, 1, 2], np.inf)
    assert WindowedSampler([[0]], [0], 1.0).draw(seeded(0)).tolist() == [0]
