from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from sklearn_dprank.orders.block_insertion import (
    BlockInsertionSampler,
    _joining,
    _masses,
    _merge,
)
from sklearn_dprank.privacy.bits import SeededBits


def seeded(seed):
    return SeededBits(np.random.SeedSequence(seed))


def random_margins(seed, n_items, largest=3):
    half = np.random.default_rng(seed).integers(-largest, largest + 1, size=(n_items, n_items))
    return half - half.T


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


@pytest.mark.parametrize(("core", "block"), [(1, 1), (1, 4), (2, 2), (3, 1), (3, 3), (2, 3), (16, 7)])
@pytest.mark.parametrize("scale", [0, 0.15, 0.6])
def test_law_matches_enumeration(core, block, scale):
    margins = random_margins(core + block, 5)
    draws = BlockInsertionSampler(margins, scale, core=core, block=block).sample(4000, seeded(0))
    assert fit_of(draws, *kendall_law(margins, scale)) > 1e-3


@pytest.mark.parametrize("margins", [np.zeros((6, 6)), random_margins(9, 6), np.sign(random_margins(3, 6))])
def test_law_at_six_items(margins):
    draws = BlockInsertionSampler(margins, 0.2, "smallest_last", core=2, block=3).sample(15_000, seeded(1))
    assert fit_of(draws, *kendall_law(margins, 0.2)) > 1e-3


def test_mass_of_a_merge_is_the_sum_over_orders():
    """The mass of the whole block, against a sum over all the orders that keep the placed items in their order."""
    margins, scale = random_margins(5, 6), 0.3
    placed, items = [2, 0, 1], [3, 4, 5]
    weights = np.exp(
        [
            [
                -scale * sum(max(0, margins[i, j] if k < gap else margins[j, i]) for k, j in enumerate(placed))
                for i in items
            ]
            for gap in range(4)
        ]
    )[:, :, None]
    mass = _masses(weights, _joining(margins[np.ix_(items, items)], scale))[-1, -1, 0]
    orders, all_weights = kendall_law(margins, scale)
    kept = [[i for i in order if i < 3] == placed for order in orders.tolist()]
    inside = np.exp(-scale * sum(max(0, margins[i, j]) for k, i in enumerate(placed) for j in placed[:k]))
    np.testing.assert_allclose(mass * inside, all_weights[kept].sum(), rtol=1e-12)


def test_rate_of_acceptance_is_mass_over_bound():
    margins = random_margins(6, 5)
    sampler = BlockInsertionSampler(margins, 0.3, core=2, block=3)
    bound = sampler._blocks[0][-1]
    most = np.exp(sampler._core.log_partition) * bound
    expected = kendall_law(margins, 0.3)[1].sum() / most
    accepted = len(sampler.tries(10_000, seeded(2)))
    assert stats.binomtest(accepted, 10_000, expected).pvalue > 1e-3


def test_merge_keeps_gaps_and_places():
    orders, items = np.array([[1, 0, 2]]), np.array([3, 4, 5])
    merged = _merge(orders, items, gaps=np.array([[3, 1, 1]]), places=np.array([[2, 1, 0]]))
    assert merged.tolist() == [[1, 5, 4, 0, 2, 3]]


def test_sixty_items_with_default_blocks():
    margins = 40 * np.subtract.outer(np.arange(60), np.arange(60)).T
    name = np.random.default_rng(0).permutation(60)
    draws = BlockInsertionSampler(margins[np.ix_(name, name)], 0.5).sample(2, seeded(3))
    np.testing.assert_array_equal(name[draws], np.tile(np.arange(60), (2, 1)))


def test_progress_and_errors():
    seen = []
    sampler = BlockInsertionSampler(random_margins(7, 5), 0.1, core=2, block=2, clock=lambda: seen.append)
    sampler.sample(200, seeded(4))
    assert seen == sorted(seen) != []
    assert BlockInsertionSampler([[0]], 1.0).draw(seeded(0)).tolist() == [0]
    with pytest.raises(ValueError, match="antisymmetric"):
        BlockInsertionSampler([[0, 3], [2, 0]], 1.0)
    with pytest.raises(ValueError, match="core must be a positive integer"):
        BlockInsertionSampler(np.zeros((2, 2)), 1.0, core=0)
    with pytest.raises(ValueError, match="block must be an integer from 1 to 10"):
        BlockInsertionSampler(np.zeros((2, 2)), 1.0, block=11)
