"""What randomizers read from ballots, against the obvious."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import all_ballots, distinct_ballots, naive_counts, profiles
from scipy.stats import chisquare

from sklearn_dprank.devices.ballots import net_wins, opinions
from sklearn_dprank.privacy.bits import SeededBits
from sklearn_dprank.profile import Profile
from sklearn_dprank.rankings import completed


def read(function, X, *rest):
    positions = Profile.from_rankings(X).positions
    return function(positions.table, positions.sentinel, *rest)


def coins(seed=0):
    return SeededBits(np.random.SeedSequence(seed))


@given(profiles())
def test_net_wins_of_each_voter(X):
    expected = [(naive_counts([x]) - naive_counts([x]).T).sum(axis=1) for x in X]
    assert np.array_equal(read(net_wins, X), expected)


@given(profiles(), st.integers(0, 100))
def test_completions_and_opinions_keep_every_preference(X, seed):
    places, first = read(completed, X, coins(seed)), read(opinions, X, coins(seed)).T
    for x, place, says in zip(X, places, first, strict=True):
        assert sorted(place) == list(range(len(x)))
        for pair, (i, j) in enumerate(combinations(range(len(x)), 2)):
            if x[i] < x[j] or x[j] < x[i]:
                assert (place[i] < place[j]) == (x[i] < x[j]) == says[pair]


@pytest.mark.parametrize("m", [3, 4])
def test_pairs_without_opinion_are_fair_coins(m):
    ballots, size = distinct_ballots(m), 2000
    X = np.repeat(ballots, size, axis=0)
    places = read(completed, X, coins(1)).reshape(len(ballots), size, m)
    first = read(opinions, X, coins(2)).T.reshape(len(ballots), size, -1)
    worst = 0.0
    for x, place, says in zip(ballots, places, first, strict=True):
        for pair, (i, j) in enumerate(combinations(range(m), 2)):
            if not (x[i] < x[j] or x[j] < x[i]):
                for share in (np.mean(place[:, i] < place[:, j]), np.mean(says[:, pair])):
                    worst = max(worst, abs(share - 0.5) * 2 * np.sqrt(size))
    assert worst < 4.5  # standard errors, of about 1500 comparisons


def test_completions_are_uniform_within_ties():
    places = read(completed, np.zeros((12000, 3)), coins(3))
    assert chisquare(np.unique(places @ [9, 3, 1], return_counts=True)[1]).pvalue > 1e-3


def test_an_item_without_opinion_goes_to_an_end():
    for x in all_ballots(4):
        silent = np.isnan(x)
        for place in read(completed, np.tile(x, (20, 1)), coins(4)):
            ranked = place[~silent]
            assert len(ranked) == 0 or np.ptp(ranked) == len(ranked) - 1
