from itertools import permutations

import numpy as np
import pytest

from sklearn_dprank.orders.components import majority_components
from sklearn_dprank.orders.subset_dp import best_order


def reachable(beats):
    """Transitive closure by the textbook's three loops: the naive twin."""
    m = len(beats)
    reach = beats | np.eye(m, dtype=bool)
    for k in range(m):
        for i in range(m):
            for j in range(m):
                reach[i, j] |= reach[i, k] and reach[k, j]
    return reach


def random_margins(rng, m, ties):
    margins = np.triu(rng.integers(1, 9, (m, m)) * rng.choice([-1, 1], (m, m)), 1)
    margins[rng.random((m, m)) < ties] = 0
    return margins - margins.T


@pytest.mark.parametrize("ties", [0.0, 0.3, 0.7])
def test_components_against_reachability(ties):
    rng = np.random.default_rng(int(10 * ties))
    for _ in range(60):
        m = int(rng.integers(1, 10))
        margins = random_margins(rng, m, ties)
        parts = majority_components(margins)
        reach = reachable(margins > 0)
        assert sorted(np.concatenate(parts).tolist()) == list(range(m))
        for place, part in enumerate(parts):
            assert (np.diff(part) > 0).all()
            assert reach[np.ix_(part, part)].all()
            for later in parts[place + 1 :]:
                assert not reach[np.ix_(later, part)].any()


@pytest.mark.parametrize("ties", [0.0, 0.2, 0.6])
def test_concatenated_optima_are_a_kemeny_optimum(ties):
    rng = np.random.default_rng(int(10 * ties) + 1)
    for _ in range(80):
        m = int(rng.integers(1, 7))
        cost = np.maximum(-random_margins(rng, m, ties), 0) + rng.integers(0, 3)
        parts = majority_components(cost.T - cost)
        order = np.concatenate([part[best_order(cost[np.ix_(part, part)])[0]] for part in parts])
        totals = [np.triu(cost[np.ix_(o, o)], 1).sum() for o in permutations(range(m))]
        assert np.triu(cost[np.ix_(order, order)], 1).sum() == min(totals)


def test_known_cases():
    assert majority_components(np.zeros((0, 0))) == []
    # all tied: by index, alone
    assert [part.tolist() for part in majority_components(np.zeros((3, 3)))] == [[0], [1], [2]]
    # 2 beats 0, and 1 is tied with both: 1 may come first, 0 may not
    margins = np.zeros((3, 3))
    margins[2, 0], margins[0, 2] = 1, -1
    assert [part.tolist() for part in majority_components(margins)] == [[1], [2], [0]]
    # a transitive tournament in reverse
    upside_down = np.sign(np.subtract.outer(np.arange(5), np.arange(5)))
    assert [part.tolist() for part in majority_components(upside_down)] == [[4], [3], [2], [1], [0]]
