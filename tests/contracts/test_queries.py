"""Queries: values and sensitivities against brute force over all small ballots, and which answers derive from which."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles import all_ballots, derived, naive_counts, naive_scores, permutohedron_gauge, profiles, rankings
from scipy.stats import binom

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.queries import (
    SCORE_GRID,
    AllMargins,
    Histogram,
    NetWins,
    PairMargin,
    PairTallies,
    PositionalScores,
    Query,
    Tallies,
    estimated_margins,
)
from sklearn_dprank.sampling.bit_source import SeededBits

COINS = SeededBits(np.random.SeedSequence(0))
NEIGHBORING = ["add_remove", "replace"]
# Positional scores by name: integers, a tie of scores, negative ones, and ones off the grid.
SCORES = {
    "borda": lambda m: range(m - 1, -1, -1),
    "plurality": lambda m: [1] + [0] * (m - 1),
    "veto": lambda m: [1] * (m - 1) + [0],
    "negative": lambda m: [-(k**2) for k in range(m)],
    "thirds": lambda m: [1 / (k + 3) for k in range(m)],
    "irrational": lambda m: [np.sqrt(2) * np.pi**-k for k in range(m)],
    "large": lambda m: [1e9 - k for k in range(m)],
    "constant": lambda m: [5] * m,
    "rising": lambda m: range(m),
}


def positional(name, m):
    return PositionalScores(tuple(float(score) for score in SCORES[name](m)))


def exact(query, X):
    profile = Profile.from_rankings(X)
    return query.read(query.vector(profile, COINS), profile.n_items)


def vectors(query, ballots):
    """What each ballot alone contributes."""
    return np.array([query.vector(Profile.from_rankings([ballot]), COINS) for ballot in ballots])


# Values


@pytest.mark.slow
@settings(max_examples=100)
@given(profiles())
def test_values_against_naive_counts(X):
    counts, m = naive_counts(X), X.shape[1]
    np.testing.assert_array_equal(exact(AllMargins(), X), counts - counts.T)
    np.testing.assert_array_equal(exact(NetWins(), X), counts.sum(axis=1) - counts.sum(axis=0))
    for i, j in combinations(range(m), 2):
        assert exact(PairMargin(i, j), X) == counts[i, j] - counts[j, i]
    ((flip, wins),) = exact(PairTallies(), X)
    assert flip == 0
    np.testing.assert_array_equal(wins, counts)
    ((_, wins),) = exact(PairTallies(pairs=((1, 0),)), X)
    assert wins[0, 1] == counts[0, 1] and wins[1, 0] == counts[1, 0]
    assert wins.sum() == counts[0, 1] + counts[1, 0]


@pytest.mark.slow
@settings(max_examples=100)
@given(profiles(), st.sampled_from(sorted(SCORES)))
def test_positional_scores_against_fractions(X, name):
    n, m = X.shape
    query = positional(name, m)
    naive = np.array([float(total) for total in naive_scores(X, query.scores)])
    read = exact(query, X)
    # The same number for every item is missing: n times the median score.
    shift = n * sorted(query.scores)[m // 2]
    scale = n * max(np.abs(query.scores).max(), 1)
    np.testing.assert_allclose(read + shift, naive, rtol=0, atol=scale * (2 / SCORE_GRID + 1e-12))


@pytest.mark.slow
@settings(max_examples=100)
@given(profiles(), st.sampled_from(["borda", "plurality", "veto", "negative", "constant", "rising"]))
def test_integer_scores_are_exact(X, name):
    """Ties of up to 16 items share integer scores without any rounding."""
    n, m = X.shape
    query = positional(name, m)
    naive = naive_scores(X, query.scores)
    median = Fraction(sorted(query.scores)[m // 2])
    vector = query.vector(Profile.from_rankings(X), COINS).tolist()
    assert [Fraction(value, SCORE_GRID) + n * median for value in vector] == naive


def test_borda_scores_are_net_wins():
    X = all_ballots(4)
    X = np.where(np.isnan(X), 9, X)  # with everything ranked, net wins are twice the centred scores
    borda, wins = exact(positional("borda", 4), X), exact(NetWins(), X)
    np.testing.assert_allclose(2 * (borda - borda.mean()), wins, atol=1e-9)


# Sensitivity: the most that one ballot moves the vector, by brute force


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("m", [5, 6])
def test_sensitivity_over_every_ranking(m, neighboring):
    """Relabelling items moves any pair of rankings to one with the identity: it alone need be replaced."""
    every = rankings(m)
    for query in [NetWins(), AllMargins(), positional("borda", m), positional("irrational", m)]:
        contributions = vectors(query, every)
        moves = contributions - contributions[0] if neighboring == "replace" else contributions
        stated = query.sensitivity(m, neighboring)
        l1, l2_squared = int(np.abs(moves).sum(axis=1).max()), int((moves**2).sum(axis=1).max())
        if isinstance(query, PositionalScores):
            assert l1 <= stated.l1 <= l1 + m
            assert l2_squared <= stated.l2_squared
        else:
            assert (l1, l2_squared) == (stated.l1, stated.l2_squared)


@pytest.mark.parametrize(("m", "l1", "l2_squared"), [(3, 4, 8), (4, 8, 20), (10, 50, 330), (45, 1012, 30360)])
def test_known_sensitivity_of_net_wins(m, l1, l2_squared):
    """floor(m^2 / 2) and m (m^2 - 1) / 3; twice and four times as much when a ballot is replaced."""
    assert NetWins().sensitivity(m, "add_remove") == (l1, l2_squared, 1)
    assert NetWins().sensitivity(m, "replace") == (2 * l1, 4 * l2_squared, 2)


@pytest.mark.parametrize("m", [5, 6])
def test_gauge_of_every_ranking(m):
    contributions = vectors(NetWins(), rankings(m))
    assert {permutohedron_gauge(w) for w in contributions} == {1.0}  # vertices
    assert max(permutohedron_gauge(w - contributions[0]) for w in contributions) == 2


# Derivations


@settings(max_examples=60)
@given(profiles())
def test_derived_is_direct_on_exact_answers(X):
    m = X.shape[1]
    margins = exact(AllMargins(), X)
    np.testing.assert_array_equal(derived(NetWins(), AllMargins(), margins), exact(NetWins(), X))
    for i, j in permutations(range(m), 2):
        assert derived(PairMargin(i, j), AllMargins(), margins) == margins[i, j]
    for query in (NetWins(), AllMargins(), PairTallies(), PairMargin(1, 0), positional("borda", m)):
        answer = object()
        assert derived(query, query, answer) is answer


@settings(max_examples=60)
@given(profiles(strict=True))
def test_tallies_determine_margins_of_complete_rankings(X):
    n, m = X.shape
    tallies = exact(PairTallies(), X)
    margins = exact(AllMargins(), X)
    np.testing.assert_allclose(derived(AllMargins(), PairTallies(), tallies) * n, margins, atol=1e-9)
    np.testing.assert_allclose(derived(NetWins(), PairTallies(), tallies) * n, exact(NetWins(), X), atol=1e-9)
    assert derived(PairMargin(0, m - 1), PairTallies(), tallies) * n == pytest.approx(margins[0, m - 1], abs=1e-9)


def follow_from(query):
    """Independent statement of what follows from what."""
    return {
        NetWins: {NetWins, AllMargins, PairTallies, Histogram},
        AllMargins: {AllMargins, PairTallies, Histogram},
        PairMargin: {PairMargin, AllMargins, PairTallies, Histogram},
        PairTallies: {PairTallies},
        PositionalScores: {PositionalScores, Histogram},
        Histogram: {Histogram},
    }[type(query)]


def test_what_follows_from_what():
    queries = [NetWins(), AllMargins(), PairMargin(0, 1), PairTallies(), positional("borda", 3), Histogram()]
    X = [[0, 1, 2], [1, 2, 0]]
    for query in queries:
        for released in queries:
            assert query.is_derivable_from(released) == (type(released) in follow_from(query))
            if not query.is_derivable_from(released):
                with pytest.raises(LookupError, match=f"{query} does not follow from {released}") as caught:
                    derived(query, released, exact(released, X))
                assert isinstance(caught.value, LookupError)


def test_other_arguments_do_not_follow():
    for query, released in [
        (PairMargin(0, 1), PairMargin(0, 2)),
        (positional("borda", 3), positional("veto", 3)),
        (AllMargins(), PairTallies(pairs=((0, 1),))),
    ]:
        assert not query.is_derivable_from(released)
        with pytest.raises(LookupError):
            derived(query, released, None)


def test_queries_are_values():
    assert {PairMargin(0, 1): "paid"}[PairMargin(0, 1)] == "paid"
    assert positional("borda", 3) == positional("borda", 3) != positional("veto", 3)
    with pytest.raises(AttributeError):
        PairMargin(0, 1).i = 2
    with pytest.raises(NotImplementedError):
        Query().vector(None, COINS)


# Estimates from randomised answers


@pytest.mark.parametrize("preference", [0.0, 0.3, 1.0])
def test_estimated_margins_are_unbiased(preference):
    """Sum over every outcome: four answers flipped with probability .2, three with .4, one with .45."""
    groups = [(0.2, 4), (0.4, 3), (0.45, 1)]
    laws = [binom(size, flip + (1 - 2 * flip) * preference) for flip, size in groups]
    expectation = 0.0
    for wins in np.ndindex(*(size + 1 for _, size in groups)):
        tallies = [
            Tallies(flip, np.array([[0, won], [size - won, 0]])) for (flip, size), won in zip(groups, wins, strict=True)
        ]
        chance = np.prod([law.pmf(won) for law, won in zip(laws, wins, strict=True)])
        estimate = estimated_margins(tallies)
        assert estimate[0, 1] == -estimate[1, 0]
        expectation += chance * estimate[0, 1]
    assert expectation == pytest.approx(2 * preference - 1, abs=1e-12)


def test_groups_are_weighted_by_inverse_variance():
    """A flat answer's variance is 1 / (1 - 2 flip)^2 after debiasing: no other weights do better."""
    tallies = [Tallies(0.0, np.array([[0, 3], [1, 0]])), Tallies(0.25, np.array([[0, 1], [5, 0]]))]
    means, weights = np.array([2 / 4, -4 / 6 / 0.5]), np.array([4, 6 * 0.25])
    assert estimated_margins(tallies)[0, 1] == pytest.approx(means @ weights / weights.sum())


def test_pairs_without_questions_get_zero():
    wins = np.array([[0, 3, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(estimated_margins([Tallies(0.0, wins)]), [[0, 0.5, 0], [-0.5, 0, 0], [0, 0, 0]])
