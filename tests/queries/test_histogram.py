"""Histogram of rankings: completion of ballots, answers derived from its cells, sensitivity and size limits."""

import math
from collections import Counter
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from audit_tools import ScriptedCoins, outcomes
from hypothesis import given, settings, strategies as st
from oracles import all_ballots, derived, profiles, rankings, released, seeded
from scipy import stats

from sklearn_dprank import DPHistogram
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.orders.permutations import permutation_index
from sklearn_dprank.privacy import gaussian_sigma
from sklearn_dprank.queries import AllMargins, Histogram, NetWins, PairMargin, PositionalScores, ScoresByHistogram
from sklearn_dprank.queries.histogram import items_of
from sklearn_dprank.rules import HierarchicalRule, KemenyRule, KwikSortRule, SortByScore
from sklearn_dprank.sampling.bit_source import Bits

SCORES = {3: (2.0, 1.0, 0.0), 4: (1.0, 0.0, 0.0, 0.0), 5: (0.5, 0.25, 0.2, 0.1, -3.0)}


def histogram(X, seed=0):
    return Histogram().vector(Profile.from_rankings(X), seeded(seed))


def test_strict_ballots_do_not_depend_on_coins():
    X = make_mallows(200, 5, 0.8, random_state=0)
    for query in (Histogram(), Histogram(unseen_last=True), ScoresByHistogram(NetWins())):
        one, other = (query.vector(Profile.from_rankings(X), seeded(seed)) for seed in (0, 1))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("noise", "delta", "m"), [("laplace", 0.0, 5), ("gaussian", 1e-6, 11)])
def test_random_words_of_a_fit_do_not_depend_on_ties(noise, delta, m):
    """A tie of one voter does not change the number of random words that a fit draws."""
    strict = make_mallows(3000, m, 0.8, random_state=0).astype(float)
    one_tie, silent = strict.copy(), strict.copy()
    one_tie[1234, :2] = 3
    silent[17] = np.nan
    channel, rule = DPHistogram(noise=noise, delta=delta)._compose()
    plan = channel.plan(rule.asks(m), m)
    left = set()
    for X in (strict, one_tie, silent):
        bits = Bits.from_random_state(3)
        plan.open(Profile.from_rankings(X))(bits)
        left.add(tuple(int(stream.words(1)[0]) for stream in bits[:3]))
    assert len(left) == 1


def expected(query, source, ballot):
    """Return the mean answer from the histogram of one ballot, over all coins."""
    profile = Profile.from_rankings([ballot])
    return sum(
        chance * np.asarray(derived(query, source, vector), dtype=float)
        for chance, vector in outcomes(lambda branch: source.vector(profile, ScriptedCoins(branch)))
    )


def test_expected_net_wins_of_a_partial_ballot():
    np.testing.assert_allclose(expected(NetWins(), Histogram(), [0, 1, 2, np.nan]), [2, 0, -2, 0], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 4])
def test_expected_answers_are_those_of_the_ballot(m):
    """Complete margins fairly, and positional scores with unseen items last."""
    for ballot in all_ballots(m)[:: m - 2]:
        profile = Profile.from_rankings([ballot])
        np.testing.assert_allclose(expected(AllMargins(), Histogram(), ballot), profile.margins, atol=1e-12)
        for scores in [(3.0, 1.0, 0.0, -1.0)[:m], (1.0, 0.0, 0.0, 0.0)[:m]]:
            query, last = PositionalScores(scores), Histogram(unseen_last=True)
            exact = query.read(query.vector(profile, None), m)
            np.testing.assert_allclose(expected(query, last, ballot), exact, atol=1e-12)


@pytest.mark.parametrize(
    ("rule", "unseen_last"),
    [
        (SortByScore(), False),
        (SortByScore("borda"), True),
        (SortByScore("plurality"), True),
        (KemenyRule(), False),
        (KwikSortRule(), False),
        (HierarchicalRule(), False),
    ],
)
def test_rule_decides_how_ballots_are_completed(rule, unseen_last):
    plan = Central(release=Histogram()).plan(rule.asks(4), 4)
    assert list(plan.prices) == [Histogram(unseen_last=unseen_last)]


def test_histogram_with_unseen_items_last_does_not_determine_margins():
    with pytest.raises(ValueError, match=r"release=Histogram\(unseen_last=True\) does not determine it"):
        Central(release=Histogram(unseen_last=True)).plan(KemenyRule().asks(4), 4)


@settings(max_examples=60)
@given(profiles(strict=True))
def test_histogram_counts_rankings_in_lexicographic_order(X):
    seen = Counter(map(tuple, X.tolist()))
    expected = [seen[ranking] for ranking in permutations(range(X.shape[1]))]  # lexicographic order, as numbered
    assert histogram(X).tolist() == expected


@pytest.mark.parametrize("m", [3, 4, 5])
def test_answers_are_linear_in_the_cells(m):
    """Noisy cells may be negative."""
    counts = np.random.default_rng(m).integers(-50, 50, factorial(m))
    every = rankings(m)
    wins = m - 1 - 2 * every
    np.testing.assert_array_equal(derived(NetWins(), Histogram(), counts), counts @ wins)
    margins = np.einsum("c,cij->ij", counts, np.sign(every[:, None, :] - every[:, :, None]))
    np.testing.assert_array_equal(derived(AllMargins(), Histogram(), counts), margins)
    assert derived(PairMargin(0, m - 1), Histogram(), counts) == margins[0, m - 1]
    scores = np.array(SCORES[m])
    shifted = scores - np.sort(scores)[m // 2]
    followed = derived(PositionalScores(SCORES[m]), Histogram(), counts)
    np.testing.assert_allclose(followed, counts @ shifted[every.astype(int)], atol=1e-3)  # off the grid by 1/720720


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=3)
def test_net_wins_of_nine_items_follow_from_the_cells(seed):
    positions = np.random.default_rng(seed).permuted(np.tile(np.arange(9), (7, 1)), axis=1)
    counts = np.bincount(permutation_index(positions.T), minlength=factorial(9))
    np.testing.assert_array_equal(derived(NetWins(), Histogram(), counts), (8 - 2 * positions).sum(axis=0))
    assert items_of(counts) == 9


def test_histogram_needs_ballots():
    profile = Profile.from_rankings([[0, 1, 2]], keep="counts")
    for read in (lambda: Histogram().vector(profile, seeded()), lambda: DPHistogram().fit(profile)):
        with pytest.raises(ValueError, match="keep='positions'"):
            read()


# The estimator


def test_large_sizes_warn_or_are_refused():
    estimator = DPHistogram(delta=1e-6, noise="gaussian", random_state=0)
    with pytest.warns(UserWarning, match="the noise of a histogram of all 13! rankings hides nearly"):
        estimator.fit(make_mallows(50, 13, 0.5, random_state=0))
    with pytest.raises(ValueError, match="at most 150 items are accepted: use DPBorda"):
        estimator.fit(make_mallows(50, 151, 0.5, random_state=0))


@pytest.mark.filterwarnings("ignore:the noise of a histogram")
@pytest.mark.parametrize("m", [21, 45, 150])
def test_noise_beyond_64_bits_has_the_stated_law(m):
    """Noise of more than 64 bits is the stated Gaussian on a coarser grid."""
    estimator = DPHistogram(delta=1e-6, noise="gaussian")
    channel, rule = estimator._compose()
    plan = channel.plan(rule.asks(m), m)
    [price] = plan.prices.values()
    sensitivity = ScoresByHistogram(NetWins()).sensitivity(m, "add_remove")
    sigma = gaussian_sigma(1.0, 1e-6, math.sqrt(sensitivity.l2_squared))
    assert price.mechanism.sigma == pytest.approx(sigma, rel=1e-12)
    noise = released(price.mechanism, None, np.zeros(4000, dtype=np.int64), Bits.from_random_state(m).noise)
    assert stats.kstest(noise / sigma, "norm").pvalue > 1e-3
    assert sorted(estimator.fit(make_mallows(50, m, 0.5, random_state=0)).ranks_) == list(range(m))
