from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import all_ballots, profiles
from scipy import stats

from sklearn_dprank.privacy.bits import SeededBits
from sklearn_dprank.profile import Profile
from sklearn_dprank.rankings import Positions, check_ballots, compact_positions, completed


def seeded(seed):
    return SeededBits(np.random.SeedSequence(seed))


def positions_of(ballots):
    return compact_positions(check_ballots(ballots))


def extensions(ballot):
    """Every strict ranking that contradicts no opinion of the ballot."""
    opinions = [(i, j) for i, j in permutations(range(len(ballot)), 2) if ballot[i] < ballot[j]]
    return [p for p in permutations(range(len(ballot))) if all(p[i] < p[j] for i, j in opinions)]


@pytest.mark.parametrize(("m", "copies"), [(3, 600), (4, 720)])
def test_completions_are_uniform_linear_extensions(m, copies):
    """All weak and partial ballots at once; one chi-square each, and the p-values together are uniform."""
    ballots = all_ballots(m)
    out = completed(positions_of(np.repeat(ballots, copies, axis=0)), seeded(m)).T.reshape(len(ballots), copies, m)
    p_values = []
    for ballot, draws in zip(ballots, out, strict=True):
        allowed = extensions(ballot)
        seen = [tuple(draw) for draw in draws.tolist()]
        assert set(seen) <= set(allowed)
        if len(allowed) > 1:
            p_values.append(stats.chisquare([seen.count(ranking) for ranking in allowed]).pvalue)
    assert min(p_values) > 1e-3 / len(p_values)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


@settings(max_examples=60, deadline=None)
@given(profiles())
def test_no_opinion_is_contradicted(X):
    """Whatever the dtype and the gaps between positions."""
    out = completed(positions_of(X), seeded(0))
    assert out.shape == X.T.shape
    assert (np.sort(out, axis=0) == np.arange(X.shape[1])[:, None]).all()
    for i, j in combinations(range(X.shape[1]), 2):
        assert (out[i] < out[j])[X[:, i] < X[:, j]].all()
        assert (out[j] < out[i])[X[:, j] < X[:, i]].all()


@settings(max_examples=40, deadline=None)
@given(profiles(strict=True))
def test_strict_ballots_stay_as_they_are(X):
    np.testing.assert_array_equal(completed(positions_of(X), seeded(1)), X.T)
    np.testing.assert_array_equal(completed(positions_of(3 * X + 7), seeded(1)), X.T)


def test_one_ballot_changes_one_column():
    """What makes the sensitivity of a histogram of completed ballots that of strict ones."""
    ballots = all_ballots(3)
    before = completed(positions_of(ballots), seeded(2))
    for voter in (0, 11, len(ballots) - 1):
        for ballot in ([0, 1, 2], [0, 0, 0], [np.nan, np.nan, np.nan], [np.nan, 1, 0]):
            changed = ballots.copy()
            changed[voter] = ballot
            after = completed(positions_of(changed), seeded(2))
            assert set(np.flatnonzero((before != after).any(axis=0))) <= {voter}


def test_coins_of_two_voters_are_independent():
    out = completed(positions_of(np.zeros((4000, 2))), seeded(3))[0]
    pairs = np.bincount(2 * out[::2] + out[1::2], minlength=4)
    assert stats.chisquare(pairs).pvalue > 1e-3


def test_no_voter():
    nobody = Positions(np.empty((3, 0), dtype=np.uint8), np.zeros(3, dtype=bool))
    assert completed(nobody, seeded(4)).shape == (3, 0)


def test_wide_ballots():
    """Above 254 items positions are 16 bits wide, and so is the mark of no opinion."""
    X = np.tile(np.arange(300.0), (2, 1))
    X[0, :7] = np.nan
    X[1, 50:60] = 50
    positions = Profile.from_rankings(X).positions
    assert positions.table.dtype == np.uint16
    out = completed(positions, seeded(5))
    assert (np.sort(out, axis=0) == np.arange(300)[:, None]).all()
    assert (np.diff(out[7:, 0]) > 0).all()
    assert set(out[50:60, 1]) == set(range(50, 60))
