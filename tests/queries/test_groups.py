"""Net wins within groups, and the number of voters: against the obvious, and what is refused."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import naive_counts, profiles

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.queries import GroupNetWins, NetWins, NumberOfVoters


def naive_group_wins(X, groups):
    """Each item's margins, one opponent of its group after the other."""
    counts = naive_counts(X)
    wins = [0] * len(counts)
    for group in groups:
        for i in group:
            wins[i] = sum(counts[i, j] - counts[j, i] for j in group)
    return wins


@pytest.mark.slow
@given(profiles(), st.data())
def test_groups_against_the_obvious(X, data):
    m = np.shape(X)[1]
    order = data.draw(st.permutations(range(m)))
    cuts = sorted(data.draw(st.sets(st.integers(0, m))))
    groups = tuple(tuple(order[a:b]) for a, b in pairwise(cuts))  # some items may be in none
    found = GroupNetWins(groups, 3).vector(Profile.from_rankings(X), None)
    assert found.dtype == np.int64
    assert found.tolist() == naive_group_wins(X, groups)


@pytest.mark.slow
@given(profiles())
def test_one_group_of_all_is_net_wins(X):
    profile = Profile.from_rankings(X)
    everybody = (tuple(range(profile.n_items)),)
    for query in (GroupNetWins(), GroupNetWins(everybody)):
        np.testing.assert_array_equal(query.vector(profile, None), profile.net_wins)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_sensitivity_depends_on_the_sizes_only(neighboring):
    one, other = (GroupNetWins(groups).sensitivity(9, neighboring) for groups in GROUPS)
    moves = 1 if neighboring == "add_remove" else 2
    assert one == other
    assert one == (moves * (8 + 4 + 2), moves**2 * Fraction(4 * 15 + 3 * 8 + 2 * 3, 3), None)
    whole, net = (query.sensitivity(9, neighboring) for query in (GroupNetWins(), NetWins()))
    assert (whole.l1, whole.l2_squared) == (net.l1, net.l2_squared)


GROUPS = [((0, 1, 2, 3), (4, 5, 6), (7, 8)), ((8, 1), (7, 3, 5, 0), (6, 2, 4))]


@pytest.mark.parametrize("groups", [((0, 1), (1, 2)), ((0, 0),), ((-1, 0),), ((0, 1), (2, -8))])
def test_groups_that_overlap_cannot_be_made(groups):
    """Their sensitivity would be larger than that of their sizes; of 10 items -8 is 2."""
    with pytest.raises(ValueError, match="none of them twice"):
        GroupNetWins(groups)


def test_only_items_are_asked_about():
    GroupNetWins(((0, 4),)).check(5)
    GroupNetWins(((),)).check(5)
    GroupNetWins(()).check(5)
    with pytest.raises(ValueError, match="some of the 5 items, 0 to 4"):
        GroupNetWins(((0, 1), (2, 5))).check(5)


def test_rounds_are_kinds():
    assert GroupNetWins(GROUPS[0], 1).kind == GroupNetWins(GROUPS[1], 1).kind == GroupNetWins(None, 1).kind
    assert len({GroupNetWins(None, number).kind for number in range(4)}) == 4


@pytest.mark.slow
@given(profiles())
def test_number_of_voters(X):
    profile = Profile.from_rankings(X)
    vector = NumberOfVoters().vector(profile, None)
    assert vector.dtype == np.int64
    assert NumberOfVoters().read(vector, profile.n_items) == len(X)
    assert NumberOfVoters().sensitivity(profile.n_items, "add_remove") == (1, 1, None)
    assert not any(NumberOfVoters().sensitivity(profile.n_items, "replace"))
