"""`HierarchicalRule` against the algorithm of Song et al., with ties and the error of the printed sum."""

import numpy as np
import pytest
from oracles import ScriptedAnswers, margins_of_order, random_margins

from sklearn_dprank.queries import AllMargins
from sklearn_dprank.rules import HierarchicalRule


def order_of(margins, **options):
    return HierarchicalRule().aggregate(ScriptedAnswers(margins, fair_ties=False, **options)).order.tolist()


def naive_hra(margins, items=None, printed=False):
    """Song et al., Algorithm 2: preference 1, 1/2 or 0 a pair, levels by its sum, recursion into levels.

    With `printed`, the sum runs over the other index, as in their line 11.
    """
    items = list(range(len(margins))) if items is None else items
    if len(items) <= 1:
        return items
    preference = {(i, j): (np.sign(margins[i, j]) + 1) / 2 for i in items for j in items if i != j}
    level = {j: sum(preference[(i, j) if printed else (j, i)] for i in items if i != j) for j in items}
    if len(set(level.values())) == 1:
        best = max(items, key=lambda j: (sum(margins[j, i] for i in items), -j))
        return [best, *naive_hra(margins, [item for item in items if item != best], printed)]
    return [
        item
        for height in sorted(set(level.values()), reverse=True)
        for item in naive_hra(margins, [j for j in items if level[j] == height], printed)
    ]


def test_by_hand():
    """Items 0..4 beat 3, 3, 2, 2, 0 others: levels {0, 1}, {2, 3}, {4}.

    0 beats 1, 2, 4; 1 beats 2, 3, 4; 2 beats 3, 4; 3 beats 0, 4. Within the first level 0 beats 1,
    within the second 2 beats 3. Borda alone would start with 1, whose wins are larger.
    """
    margins = np.zeros((5, 5), dtype=int)
    for winner, loser, margin in [
        (0, 1, 1), (0, 2, 1), (0, 4, 1),
        (1, 2, 5), (1, 3, 5), (1, 4, 5),
        (2, 3, 1), (2, 4, 1),
        (3, 0, 1), (3, 4, 9),
    ]:  # fmt: skip
        margins[winner, loser], margins[loser, winner] = margin, -margin
    assert order_of(margins) == [0, 1, 2, 3, 4]
    assert np.argsort(-margins.sum(axis=1), kind="stable").tolist() == [1, 3, 0, 2, 4]


def test_a_level_that_does_not_split_yields_its_net_winner():
    """A three-cycle: every item beats one. Item 2 wins by most; of the rest 0 beats 1."""
    margins = np.array([[0, 1, -3], [-1, 0, 2], [3, -2, 0]])
    assert margins.sum(axis=1).tolist() == [-2, 1, 1]
    assert order_of(margins) == [1, 2, 0]  # net wins 1 and 1: the smaller index; then 2 beats 0
    assert order_of(margins + np.array([[0, 0, -2], [0, 0, 0], [2, 0, 0]])) == [2, 0, 1]


@pytest.mark.parametrize("m", [2, 3, 4, 5, 7, 10])
def test_against_naive_twin(m):
    rng = np.random.default_rng(m)
    for high in (1, 2, 50):
        for _ in range(40):
            margins = random_margins(rng, m, high)
            assert order_of(margins) == naive_hra(margins)


def test_the_printed_sum_ranks_in_reverse():
    """L(j) += PPR(i, j) counts the opponents that beat j, so the loser comes out first."""
    rng = np.random.default_rng(0)
    for m in (3, 4, 6):
        order = rng.permutation(m).tolist()
        margins = margins_of_order(order)
        assert order_of(margins) == naive_hra(margins) == order
        assert naive_hra(margins, printed=True) == order[::-1]


def test_a_pair_nobody_was_asked_about_is_a_tie():
    """Song et al.'s preference is 0/0 there; here both get half."""
    margins = np.array([[0.0, 0.0, 0.4], [0.0, 0.0, 0.9], [-0.4, -0.9, 0.0]])
    assert order_of(margins) == [0, 1, 2]  # 0 and 1 both have 1.5, and level with one another: index
    margins = margins[::-1, ::-1]
    assert order_of(margins) == [1, 2, 0]
    assert order_of(np.zeros((4, 4))) == [0, 1, 2, 3]


def test_coins_break_ties_on_private_channels():
    level = np.zeros((3, 3), dtype=int)
    seen = {tuple(HierarchicalRule().aggregate(ScriptedAnswers(level, seed=seed)).order) for seed in range(60)}
    assert len(seen) == 6


def test_asks_for_all_margins_once():
    (ask,) = HierarchicalRule().asks(7)
    assert (ask.query, ask.times, ask.share) == (AllMargins(), 1, 1)
