"""`BradleyTerry` of comparisons: counts with ties, strengths, standard errors, and groups without comparisons."""

import tracemalloc
import warnings
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from long_tools import compared, make_votes
from scipy.special import expit

from sklearn_dprank import BradleyTerry, DPBradleyTerry
from sklearn_dprank.ballots import Profile, profile as profile_module, rows as rows_module
from sklearn_dprank.queries import Tallies
from sklearn_dprank.rules.bradley_terry import bradley_terry_strengths

GRID = 720720
ALL = 1e6  # max_weight with which each comparison counts once


def naive_outcomes(votes, n_items, max_weight, norm):
    """Counts of all pairs in half steps, with each person's own counts scaled down by exact fractions."""
    total = np.zeros((n_items, n_items), dtype=np.int64)
    persons = np.asarray(votes[0])
    for person in np.unique(persons):
        own = np.zeros((n_items, n_items), dtype=np.int64)
        for first, second, outcome in np.transpose(votes[1:])[persons == person].tolist():
            own[first, second] += 1 + outcome
            own[second, first] += 1 - outcome
        if norm == "l1":
            factor = int(2 * Fraction(max_weight) * GRID) // int(own.sum())
        else:
            factor = isqrt(int(4 * Fraction(max_weight) * GRID**2) // int((own**2).sum()))
        total += min(factor, GRID) * own
    return total


@pytest.mark.parametrize("max_weight", [0.5, 1, 2, 9, ALL])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("n_items", [3, 40])
@pytest.mark.parametrize("mean", [1, 4])
def test_counts_are_those_of_each_person_by_itself(max_weight, norm, n_items, mean):
    _, *votes = make_votes(n_items, 30, mean, np.random.default_rng(mean))
    rows = compared(*votes, n_items, max_weight=max_weight).rows._replace(norm=norm)
    i, j, counts = rows.pair_outcomes(n_items)
    expected = naive_outcomes(votes, n_items, max_weight, norm)
    table = np.zeros_like(expected)
    table[i, j] = counts
    np.testing.assert_array_equal(table, expected)
    assert len(set(zip(i.tolist(), j.tolist(), strict=True))) == len(i)


@pytest.mark.parametrize("n_items", [5, 70, 150])
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_strengths_without_ties_are_those_of_the_counts_of_pairs(n_items, share):
    rng = np.random.default_rng(n_items)
    _, *votes = make_votes(n_items, int(share * n_items**2), 3, rng, exposure="even", ties=0)
    profile = compared(*votes, n_items, max_weight=2)
    counts = profile.clipped("l2").pairwise_counts / GRID
    expected = bradley_terry_strengths((Tallies(0.0, counts),), 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few votes do not connect all items
        found = BradleyTerry().fit(profile).strengths_
    np.testing.assert_allclose(found, expected, atol=2e-8)


def test_a_tie_is_half_a_win_of_each():
    rng = np.random.default_rng(0)
    _, persons, first, second, outcome = make_votes(8, 200, 3, rng, exposure="even", ties=0.4)
    decided = np.where(outcome == 0, 1, outcome), np.where(outcome == 0, -1, outcome)  # a tie is a win and a loss
    twice = [np.tile(each, 2) for each in (persons, first, second)]
    with_ties = BradleyTerry(0.5).fit(compared(persons, first, second, outcome, 8, ALL))
    without = BradleyTerry(1.0).fit(compared(*twice, np.concatenate(decided), 8, ALL))
    np.testing.assert_allclose(with_ties.strengths_, without.strengths_, atol=2e-8)
    np.testing.assert_allclose(with_ties.strength_std_, np.sqrt(2) * without.strength_std_, atol=2e-8)


@pytest.mark.parametrize("ridge", [1e-6, 0.01, 2.0])
def test_standard_errors_are_those_of_numerical_second_derivatives(ridge):
    _, *votes = make_votes(6, 40, 3, np.random.default_rng(3), exposure="even")
    fitted = BradleyTerry(ridge).fit(compared(*votes, 6, ALL))
    wins = naive_outcomes(votes, 6, ALL, "l2") / (2 * GRID)

    def loss(s):
        return ridge / 2 * s @ s - (wins * np.log(expit(s[:, None] - s))).sum()

    basis = np.linalg.svd(np.ones((1, 6)))[2][1:].T  # of the vectors with sum 0
    s, steps = fitted.strengths_, 1e-3 * basis.T
    second = [[loss(s + a + b) - loss(s + a - b) - loss(s - a + b) + loss(s - a - b) for b in steps] for a in steps]
    covariance = basis @ np.linalg.inv(np.array(second) / 4e-6) @ basis.T
    np.testing.assert_allclose(fitted.strength_std_, np.sqrt(np.diag(covariance)), rtol=1e-4)
    assert abs(s.sum()) < 1e-7


@pytest.mark.parametrize(("ties", "spread"), [(0.0, (0.9, 1.1)), (0.5, (0.55, 0.85))])
def test_standard_errors_are_those_of_repeated_samples(ties, spread):
    """If half of the comparisons are ties, strengths vary by the square root of 1/2 of the standard error."""
    rng, found = np.random.default_rng(5), []
    truth = np.linspace(-1, 1, 8)
    for _ in range(150):
        first, second = rng.integers(0, 8, (2, 1500))
        first, second = first[first != second], second[first != second]
        outcome = np.where(rng.random(len(first)) < expit(truth[first] - truth[second]), 1, -1)
        outcome[rng.random(len(first)) < ties] = 0
        fitted = BradleyTerry().fit(compared(np.arange(len(first)), first, second, outcome, 8))
        found.append((fitted.strengths_, fitted.strength_std_))
    strengths, stated = np.transpose(found, (1, 0, 2))
    assert spread[0] < (strengths.std(axis=0) / stated.mean(axis=0)).mean() < spread[1]
    if not ties:
        np.testing.assert_allclose(strengths.mean(axis=0), truth, atol=0.02)


def test_groups_without_comparisons_are_named():
    log = compared([0, 1, 2], [0, 1, 3], [1, 0, 4], [1, 1, 0], 6)
    with pytest.warns(UserWarning, match=r"4 groups .* \(items without comparisons: 2\)") as seen:
        fitted = BradleyTerry().fit(log)
    assert seen[0].filename == __file__
    assert np.isfinite(fitted.strengths_).all() and (fitted.strength_std_ > 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BradleyTerry().fit(compared([0, 1], [0, 1], [1, 2], [1, 0], 3))
        DPBradleyTerry(random_state=0).fit(log)


def test_many_items_need_no_matrix():
    _, *votes = make_votes(20_000, 10_000, 3, np.random.default_rng(1), exposure="even")
    profile = compared(*votes, 20_000, max_weight=ALL)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many items, and of groups
        fitted = BradleyTerry().fit(profile)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # a matrix has 3.2 GB
    assert not hasattr(fitted, "strength_std_")
    residual, margins = np.zeros(20_000), fitted.strengths_[votes[1]] - fitted.strengths_[votes[2]]
    np.add.at(residual, votes[1], (1 + votes[3]) / 2 - expit(margins))
    np.add.at(residual, votes[2], expit(margins) - (1 + votes[3]) / 2)
    np.testing.assert_allclose(residual, 0.01 * fitted.strengths_, atol=1e-6)  # the score equations


def test_lists_of_many_items_have_the_counts_of_few(monkeypatch):
    """Lists with ties and weights, by the pairs that occur and by the table of all pairs."""
    rng = np.random.default_rng(2)
    persons, items = rng.integers(0, 60, 400), rng.integers(0, 30, 400)
    lists = Profile.from_long(None, persons, items, rating=rng.integers(0, 3, 400), items=range(30), max_listed=4)
    tables = lists.pair_outcomes
    monkeypatch.setattr(profile_module, "_MOST_PAIRED", 10)
    monkeypatch.setattr(rows_module, "_PAIRED", 50)  # pairs come in parts
    for found, expected in zip(lists.pair_outcomes, tables, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_ballots_have_strengths_and_no_standard_errors():
    """The answers of one ballot are not independent. Later fits do not keep the attribute."""
    fitted = BradleyTerry().fit(compared([0, 1], [0, 1], [1, 2], [1, 0], 3))
    assert hasattr(fitted, "strength_std_")
    X = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    counts = Profile.from_rankings(X).pairwise_counts
    assert not hasattr(fitted.fit(X), "strength_std_")
    np.testing.assert_allclose(fitted.strengths_, bradley_terry_strengths((Tallies(0.0, counts),), 0.01), atol=2e-9)
    weighted = Profile.from_rankings(X, sample_weight=[1, 4, 2], max_weight=4)
    repeated = BradleyTerry(3.0).fit(np.repeat(X, [1, 4, 2], axis=0)).strengths_
    np.testing.assert_allclose(BradleyTerry(3.0).fit(weighted).strengths_, repeated, atol=2e-9)
