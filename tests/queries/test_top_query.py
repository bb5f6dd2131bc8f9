"""The margins that the best few overrule, as a query; `test_sensitivities.py` has its loss by brute force."""

import re
from itertools import permutations
from math import inf

import numpy as np
import pytest
from oracles import distinct_ballots, naive_counts

from sklearn_dprank.channels import Central
from sklearn_dprank.queries import MaxViolatedMargin, MaxViolatedPrefixMargin
from sklearn_dprank.rules import Choose


def margins_of(ballots):
    counts = naive_counts(ballots)
    return counts - counts.T


BALLOTS = [[0, 1, 2, 3]] * 5 + [[3, 0, 0, 1], [np.nan, 1, 0, 2], [3, 2, 1, 0]]


@pytest.mark.parametrize("placed", [None, (2,), (3, 0)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_ballot_moves_a_cost_by_more_than_one(k, placed):
    """So that permute-and-flip, too, loses at most twice the rate; replacing one moves it by two at most."""
    query, base = MaxViolatedPrefixMargin(k, placed), margins_of(BALLOTS)
    if k + len(placed or ()) > 3:
        return
    ways = [way for way in permutations(range(4), k) if not set(way) & set(placed or ())]
    costs = np.array([query.cost(base, way) for way in ways])
    moved = [
        np.array([query.cost(base + margins_of([ballot]), way) for way in ways]) - costs
        for ballot in distinct_ballots(4)[::2]
    ]
    assert np.abs(moved).max() == 1
    assert np.ptp(moved, axis=0).max() <= 2


def test_all_but_one_are_an_order():
    margins = margins_of([[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0]] * 2)
    for order in permutations(range(3)):
        assert MaxViolatedPrefixMargin(2).cost(margins, order) == MaxViolatedMargin().cost(margins, order)


def test_what_was_placed_is_never_drawn():
    margins = margins_of(BALLOTS)
    assert MaxViolatedPrefixMargin(2, (1,)).cost(margins, [0, 1]) == inf
    assert MaxViolatedPrefixMargin(1, (0,)).cost(margins, [1]) == max(margins[2, 1], margins[3, 1])


def test_batches_of_one_size_are_one_kind():
    assert MaxViolatedPrefixMargin(2).kind == MaxViolatedPrefixMargin(2, (3, 0)).kind
    assert MaxViolatedPrefixMargin(2).kind != MaxViolatedPrefixMargin(1).kind
    assert str(MaxViolatedPrefixMargin(2)) == "MaxViolatedPrefixMargin of 2"


@pytest.mark.parametrize(
    ("query", "n_items", "message"),
    [
        (MaxViolatedPrefixMargin(0), 5, "k must be a positive integer, got 0"),
        (MaxViolatedPrefixMargin(5), 5, "k=5 of 5 items is all of them, in order; take DPPrudentOrder, or k up to 4"),
        (MaxViolatedPrefixMargin(2, (0, 1)), 4, "k=2 of 2 items is all of them"),
        (MaxViolatedPrefixMargin(6), 5, "k=6 is more than the 5 items there are to choose from; take k up to 4"),
        (MaxViolatedPrefixMargin(1, (0, 0)), 4, "placed must hold different items, from 0 to 3"),
        (MaxViolatedPrefixMargin(1, (4,)), 4, "placed must hold different items, from 0 to 3"),
        (
            MaxViolatedPrefixMargin(4),
            45,
            r"3.6e\+06 ways to choose 4 of 45 items in order, too many to list; choose up to 3 at once",
        ),
    ],
)
def test_refusals(query, n_items, message):
    with pytest.raises(ValueError, match=message):
        query.check(n_items)


def test_few_voters_are_warned_of_where_their_number_is_public():
    """Half of n epsilon against the log of 85,140 choices, 11.4."""
    plan = Central(0.1, noise="permute_and_flip", neighboring="replace").plan
    asks = Choose(MaxViolatedPrefixMargin(3)).asks(45)
    with pytest.warns(UserWarning, match=re.escape("the best 3 of 45 items are little better than chance")):
        plan(asks, 45, 220)
    plan(asks, 45, 230)
