"""Majority components against reachability, and Kemeny optima as concatenations of component optima."""

import numpy as np
import pytest

from sklearn_dprank.orders.kemeny import majority_components


def reachable(beats):
    """Transitive closure by the textbook's three loops."""
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


def components_by_definition(margins):
    """Peel off the component with the smallest item among those that no remaining component beats."""
    reach = reachable(margins > 0)
    left, parts = list(range(len(margins))), []
    while left:
        free = [i for i in left if all(reach[i, j] for j in left if reach[j, i])]
        parts.append([j for j in left if reach[free[0], j] and reach[j, free[0]]])
        left = [i for i in left if i not in parts[-1]]
    return parts


@pytest.mark.parametrize("ties", [0.0, 0.4, 0.8, 0.95])
def test_components_by_definition(ties):
    rng = np.random.default_rng(int(100 * ties) + 2)
    for m in [*range(10), 12, 17, 31]:
        for _ in range(5):
            margins = random_margins(rng, m, ties)
            assert [part.tolist() for part in majority_components(margins)] == components_by_definition(margins)


@pytest.mark.parametrize("m", [31, 32, 33, 63, 64, 65, 70])
def test_masks_of_any_width(m):
    # cycles of three in a random order of items, then what is left over, one by one
    items = np.random.default_rng(m).permutation(m)
    place = np.argsort(items)
    margins = np.sign(place[None, :] - place[:, None])
    cycles = np.split(items[: m // 3 * 3], m // 3)
    for first, _, last in cycles:
        margins[first, last], margins[last, first] = -1, 1
    expected = [sorted(cycle.tolist()) for cycle in cycles] + [[i] for i in items[m // 3 * 3 :].tolist()]
    assert [part.tolist() for part in majority_components(margins)] == expected


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
