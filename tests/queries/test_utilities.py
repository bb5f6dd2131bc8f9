"""Costs of orders and of prefixes: stated losses and limits.

`test_base_sensitivities.py` compares the stated losses with enumeration.
"""

import re

import numpy as np
import pytest
from oracles import naive_counts

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.queries import KemenyUtility, MaxViolatedMargin, MaxViolatedPrefixMargin, n_pairs
from sklearn_dprank.rules import Choose, ChooseNearAnchor
from sklearn_dprank.sampling.bit_source import SeededBits

BALLOTS = [[0, 1, 2, 3]] * 5 + [[3, 0, 0, 1], [np.nan, 1, 0, 2], [3, 2, 1, 0]]


def margins_of_ballots(ballots):
    counts = naive_counts(ballots)
    return counts - counts.T


# Refusals: public parameters only


@pytest.mark.parametrize(
    ("query", "n_items", "message"),
    [
        (MaxViolatedMargin(), 17, r"17 items needs a window \(without one at most 16 items\); set window=7"),
        (MaxViolatedMargin(window=1), 5, "window must be None or an integer from 2 to 12, got 1"),
        (MaxViolatedMargin(window=2.5), 5, "window must be None or an integer from 2 to 12, got 2.5"),
        (MaxViolatedMargin((0, 1, 2)), 3, "anchor has no effect without a window"),
        (MaxViolatedMargin((0, 1, 1), 2), 3, "anchor must be an order of the 3 items"),
    ],
)
def test_windows_and_anchors_out_of_bounds_are_refused(query, n_items, message):
    with pytest.raises(ValueError, match=message):
        query.check(n_items)
    for accepted, m in ((MaxViolatedMargin(), 16), (MaxViolatedMargin(window=7), 500)):
        accepted.check(m)
    MaxViolatedMargin((2, 0, 1), np.int64(2)).check(3)


@pytest.mark.parametrize(("neighboring", "ballots"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("m", [3, 4, 20])
def test_stated_losses_are_those_of_the_proofs(m, neighboring, ballots):
    """C(m, 2) for disagreements, because ballots only add them, and 2 for the largest overruled margin."""
    assert KemenyUtility().sensitivity(m, neighboring)[:2] == (ballots * n_pairs(m), (ballots * n_pairs(m)) ** 2)
    for query in (MaxViolatedMargin(), MaxViolatedMargin(tuple(range(m)), 2)):
        assert query.sensitivity(m, neighboring)[:2] == (2 * ballots, 4 * ballots**2)


@pytest.mark.parametrize("query", [KemenyUtility(), MaxViolatedMargin(), MaxViolatedMargin((0, 1, 2, 3), 2)], ids=str)
def test_orders_are_drawn_from_the_margins(query):
    vector = query.vector(Profile.from_rankings(BALLOTS), SeededBits(np.random.SeedSequence(0)))
    np.testing.assert_array_equal(vector.reshape(4, 4), margins_of_ballots(BALLOTS))


def test_rules_of_orders_need_a_query_that_decides():
    assert [(str(ask.query), ask.share) for ask in ChooseNearAnchor(5).asks(9)] == [
        ("NetWins", 0.5),
        ("MaxViolatedMargin within 5", 0.5),
    ]
    with pytest.raises(ValueError, match="a window needs an anchor; set anchor, or use ChooseNearAnchor"):
        Choose(MaxViolatedMargin(window=5)).asks(9)
    with pytest.raises(ValueError, match=r"query must be one that decides, as .*, got 'kemeny'"):
        Choose("kemeny").asks(9)


@pytest.mark.parametrize(
    ("query", "n_items", "message"),
    [
        (MaxViolatedPrefixMargin(5), 5, "k=5 must be below 5, the number of items to choose from; take k up to 4"),
        (MaxViolatedPrefixMargin(2, (0, 1)), 4, "k=2 must be below 2, the number"),
        (MaxViolatedPrefixMargin(1, (0, 0)), 4, "placed must hold different items, from 0 to 3"),
        (
            MaxViolatedPrefixMargin(4),
            45,
            r"3.6e\+06 ways to choose 4 of 45 items in order, too many to list; choose up to 3 at once",
        ),
    ],
)
def test_prefixes_out_of_bounds_are_refused(query, n_items, message):
    with pytest.raises(ValueError, match=message):
        query.check(n_items)


def test_too_few_public_voters_for_a_prefix_warn():
    """Half of n epsilon is below the log of 85,140 choices, 11.4."""
    plan = Central(0.1, noise="permute_and_flip", neighboring="replace").plan
    asks = Choose(MaxViolatedPrefixMargin(3)).asks(45)
    with pytest.warns(UserWarning, match=re.escape("the best 3 of 45 items are little better than chance")):
        plan(asks, 45, 220)
    plan(asks, 45, 230)
