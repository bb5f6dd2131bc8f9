"""Completed ballots: their law against its definition, and work that does not depend on the ballots."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from audit_tools import ScriptedCoins, outcomes
from hypothesis import given, settings
from oracles import all_ballots, profiles, seeded
from scipy import stats

from sklearn_dprank.ballots.reading import check_ballots, compact_positions, completed


def positions_of(ballots):
    return compact_positions(check_ballots(ballots))


def complete(ballots, coins, **options):
    positions = positions_of(ballots)
    return completed(positions.table, positions.sentinel, coins, **options)


def law(ballot, **options):
    """{completed ranking: probability}, by following every coin."""
    out = Counter()
    for chance, ranking in outcomes(lambda branch: complete([ballot], ScriptedCoins(branch), **options)[:, 0]):
        out[tuple(ranking.tolist())] += Fraction(chance).limit_denominator(10**6)
    return out


def fair_law(ballot, sides=(-1, 9)):
    """The same by the definition: unseen items on one side together, then every tie in every order."""
    out = Counter()
    for side in sides:
        whole = np.where(np.isnan(ballot), side, ballot)
        fitting = [
            r
            for r in permutations(range(len(ballot)))
            if (np.sign(np.subtract.outer(whole, whole)) * np.sign(np.subtract.outer(r, r)) >= 0).all()
        ]
        for ranking in fitting:
            out[ranking] += Fraction(1, len(sides) * len(fitting))
    return out


@pytest.mark.parametrize("m", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_the_law_of_every_ballot(m):
    for ballot in all_ballots(m):
        found = law(ballot)
        assert found == fair_law(ballot)
        assert law(ballot, unseen_last=True) == fair_law(ballot, sides=[9])
        for i, j in combinations(range(m), 2):  # a pair without an opinion is fair
            ahead = sum(chance for ranking, chance in found.items() if ranking[i] < ranking[j])
            assert ahead == (1 if ballot[i] < ballot[j] else 0 if ballot[j] < ballot[i] else Fraction(1, 2))


@pytest.mark.slow
def test_many_voters_follow_the_law_of_one():
    """All weak and partial ballots at once; one chi-square each, and the p-values together are uniform."""
    ballots, copies = all_ballots(4), 720
    out = complete(np.repeat(ballots, copies, axis=0), seeded(4)).T.reshape(len(ballots), copies, 4)
    p_values = []
    for ballot, draws in zip(ballots, out, strict=True):
        allowed = fair_law(ballot)
        seen = Counter(tuple(draw) for draw in draws.tolist())
        assert set(seen) <= set(allowed)
        if len(allowed) > 1:
            expected = [copies * float(chance) for chance in allowed.values()]
            p_values.append(stats.chisquare([seen[ranking] for ranking in allowed], expected).pvalue)
    assert min(p_values) > 1e-3 / len(p_values)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("unseen_last", [False, True])
@pytest.mark.parametrize("m", [3, 10, 25, 300])
def test_work_does_not_depend_on_the_ballots(m, unseen_last):
    """As many words for strict ballots as for all others: the streams stand at the same place after."""
    strict = np.tile(np.arange(float(m)), (900, 1))
    one_tie, partial = strict.copy(), strict.copy()
    one_tie[77, :2] = 0
    partial[5, 0] = np.nan
    left = set()
    for X in (strict, one_tie, partial, np.zeros_like(strict), np.full_like(strict, np.nan)):
        bits = seeded(6)
        complete(X, bits, unseen_last=unseen_last)
        left.add(tuple(bits.words(4).tolist()))
    assert len(left) == 1


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles())
def test_no_opinion_is_contradicted(X):
    out = complete(X, seeded(0))
    assert out.shape == X.T.shape
    assert (np.sort(out, axis=0) == np.arange(X.shape[1])[:, None]).all()
    for i, j in combinations(range(X.shape[1]), 2):
        assert (out[i] < out[j])[X[:, i] < X[:, j]].all()
        assert (out[j] < out[i])[X[:, j] < X[:, i]].all()


@settings(max_examples=40)
@given(profiles(strict=True))
def test_strict_ballots_stay_as_they_are(X):
    np.testing.assert_array_equal(complete(X, seeded(1)), X.T)
    np.testing.assert_array_equal(complete(3 * X + 7, seeded(1)), X.T)


def test_one_ballot_changes_one_column():
    """So a histogram of completed ballots has the sensitivity of one of strict ballots."""
    ballots = all_ballots(3)
    before = complete(ballots, seeded(2))
    for voter in (0, 11, len(ballots) - 1):
        for ballot in ([0, 1, 2], [0, 0, 0], [np.nan, np.nan, np.nan], [np.nan, 1, 0]):
            changed = ballots.copy()
            changed[voter] = ballot
            after = complete(changed, seeded(2))
            assert set(np.flatnonzero((before != after).any(axis=0))) <= {voter}


def test_no_voter():
    assert completed(np.empty((3, 0), dtype=np.uint8), 255, seeded(4)).shape == (3, 0)


def test_wide_ballots():
    """Above 254 items positions are 16 bits wide, and so is the mark of no opinion."""
    X = np.tile(np.arange(300.0), (2, 1))
    X[0, :7] = np.nan
    X[1, 50:60] = 50
    assert positions_of(X).table.dtype == np.uint16
    out = complete(X, seeded(5)).astype(int)
    assert (np.sort(out, axis=0) == np.arange(300)[:, None]).all()
    assert set(out[:7, 0]) in (set(range(7)), set(range(293, 300)))
    assert (np.diff(out[7:, 0]) > 0).all()
    assert set(out[50:60, 1]) == set(range(50, 60))
