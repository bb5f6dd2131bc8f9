"""Kendall tau metrics against naive counts, with ties and missing opinions, and the scorer in scikit-learn."""

import re
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from long_tools import of_catalogue
from oracles import naive_counts, naive_disagreements, naive_kemeny, odd_profiles, profiles
from scipy.stats import kendalltau

from sklearn_dprank import Borda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import check_ballots, compact_positions
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import (
    average_kendall_tau,
    excess_kendall_tau,
    kemeny_positions,
    kendall_tau_distance,
    margin_error_rate,
    pairwise_error_rate,
    ranking_changed,
)

BAD_POSITIONS = [
    (["tea", "milk", "water"], "positions must hold numbers (ranks_, not consensus_): where each item stands"),
    ([0, 1], "positions must hold one position for each of the 3 items, got shape (2,)"),
    ([[0, 1, 2]], "positions must hold one position for each of the 3 items, got shape (1, 3)"),
    ([0, np.nan, 2], "positions must place every item; NaN, no opinion, is for ballots only"),
]


@pytest.mark.parametrize("seed", range(20))
def test_distance_is_kendalls_tau_on_strict_rankings(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.permutation(9), rng.permutation(9)
    tau = kendalltau(a, b).statistic
    assert kendall_tau_distance(a, b) == pytest.approx((1 - tau) / 2)
    assert kendall_tau_distance(a, b, normalize=False) == pytest.approx((1 - tau) / 2 * 36)


@settings(max_examples=100)
@given(odd_profiles())
def test_distance_of_ballots_of_every_kind(X):
    m = X.shape[1]
    before, after = [], []
    for x in (X[0], X[-1]):
        positions = compact_positions(check_ballots([x]))
        places = positions.table[:, 0]
        before.append((places[:, None] < places) & (places != positions.sentinel))
        after.append(before[-1].T)
    expected = np.count_nonzero(before[0] & after[1])
    found = kendall_tau_distance(X[0], X[-1], normalize=False)
    assert type(found) is float and found == expected
    assert kendall_tau_distance(X[-1], X[0]) == expected / (m * (m - 1) / 2)


@pytest.mark.slow
@settings(max_examples=100)
@given(profiles(), st.integers(0, 2**32 - 1), st.booleans())
def test_against_naive_twin(X, seed, tied):
    n, m = X.shape
    rng = np.random.default_rng(seed)
    ranking = rng.integers(0, 3, m) if tied else rng.permutation(m)
    pairs = m * (m - 1) // 2
    halves = sum(
        ranking[i] == ranking[j] and (x[i] < x[j] or x[i] > x[j]) for x in X for i in range(m) for j in range(i)
    )
    count = naive_disagreements(ranking, X) + halves / 2
    assert average_kendall_tau(ranking, X) == pytest.approx(count / (n * pairs))
    assert average_kendall_tau(ranking, X, normalize=False) == pytest.approx(count / n)
    assert kendall_tau_distance(ranking, X[0], normalize=False) == naive_disagreements(ranking, X[:1])
    assert kendall_tau_distance(X[0], ranking) == pytest.approx(naive_disagreements(ranking, X[:1]) / pairs)

    counts = naive_counts(X)
    against = [(i, j) for i in range(m) for j in range(m) if counts[i, j] > counts[j, i]]
    wrong = sum((ranking[i] > ranking[j]) + (ranking[i] == ranking[j]) / 2 for i, j in against)
    assert pairwise_error_rate(ranking, X) == pytest.approx(wrong / pairs)
    estimated = rng.integers(-2, 3, (m, m))
    estimated -= estimated.T
    margins = counts - counts.T
    wrong = sum(
        (margins[i, j] > 0 and estimated[i, j] < 0) or (margins[i, j] < 0 and estimated[i, j] > 0)
        for i in range(m)
        for j in range(i + 1, m)
    )
    assert margin_error_rate(estimated, X) == pytest.approx(wrong / pairs)


@pytest.mark.slow
@settings(max_examples=100)
@given(profiles(max_items=5), st.integers(0, 2**32 - 1))
def test_excess_is_zero_at_the_optimum_and_never_less(X, seed):
    n, m = X.shape
    ranking = np.random.default_rng(seed).permutation(m)
    best, orders = naive_kemeny(naive_counts(X))
    expected = (naive_disagreements(ranking, X) - best) / n
    assert excess_kendall_tau(ranking, X, normalize=False) == pytest.approx(expected, abs=1e-12)
    assert excess_kendall_tau(ranking, X) >= 0
    for order in orders:
        positions = np.argsort(order)
        assert excess_kendall_tau(positions, X) == 0
        assert excess_kendall_tau(ranking, X, optimum=positions) == excess_kendall_tau(ranking, X)
    assert tuple(np.argsort(kemeny_positions(X))) in orders


@settings(max_examples=30)
@given(profiles(max_items=4), st.integers(0, 2**32 - 1))
def test_ties_have_the_mean_distance_of_their_refinements(X, seed):
    """The distance of a ranking with ties is the mean distance of its refinements."""
    m = X.shape[1]
    ranking = np.random.default_rng(seed).integers(0, 3, m)
    finer = [np.lexsort([order, ranking]).argsort() for order in permutations(range(m))]
    for metric in (average_kendall_tau, pairwise_error_rate):
        assert metric(ranking, X) == pytest.approx(np.mean([metric(each, X) for each in finer]), abs=1e-12)
    assert excess_kendall_tau(ranking, X) >= -1e-12


def test_fagin_s_distance_of_top_lists():
    """K^(1/2) of Fagin, Kumar and Sivakumar (2003), Section 3.1, of the first two of four, by their cases."""
    top = np.array([0, 1, 2, 2])
    assert average_kendall_tau(top, [[0, 1, 2, 3]], normalize=False) == 0.5  # a pair that only the ballot orders
    assert average_kendall_tau(top, [[0, 1, 2, 2]], normalize=False) == 0  # tied by both
    assert average_kendall_tau(top, [[0, 2, 1, 3]], normalize=False) == 1.5  # and item 2 before item 1
    assert average_kendall_tau(top, [[3, 2, 1, 0]], normalize=False) == 5.5
    assert (
        average_kendall_tau(top, [[2, 2, 0, 1]], normalize=False) == 4.5
    )  # pairs that only the ballot ties do not count
    assert average_kendall_tau(top, [[0, 1, np.nan, 2]], normalize=False) == 0  # nor does what it does not know
    assert average_kendall_tau([5, 5, 5], [[0, 1, 2], [2, 1, 0]]) == 0.5


def test_margins_are_compared_by_sign_and_ties_are_correct():
    X = [[0, 1, 2, 3], [0, 1, 2, 3], [1, 0, 3, 2]]  # margins 1 or 3, in the order of the columns
    exact = Profile.from_rankings(X).margins
    for same in (exact, exact.tolist(), exact / 7, np.sign(exact), exact * 1e300):
        assert margin_error_rate(same, X) == 0 and margin_error_rate(-np.asarray(same), X) == 1
    even = np.zeros((4, 4))
    assert margin_error_rate(even, X) == 0
    assert margin_error_rate(exact, [[0, 1, 2, 3], [3, 2, 1, 0]]) == 0  # no majority
    even[0, 3], even[3, 0] = -1, 1
    assert margin_error_rate(even, X) == pytest.approx(1 / 6)
    assert margin_error_rate(even, Profile.from_rankings(X, keep="counts")) == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ([[0, "a"], ["b", 0]], "margins must hold numbers: by how much"),
        ([[0, 1, 2]], "margins must be a matrix of shape (2, 2)"),
        ([[0, 1], [1, 0]], "with margins[i, j] = -margins[j, i]"),
        ([[1, 1], [-1, 0]], "with margins[i, j] = -margins[j, i]"),
        ([[0, np.nan], [np.nan, 0]], "with margins[i, j] = -margins[j, i]"),
    ],
)
def test_bad_margins_are_refused(margins, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        margin_error_rate(margins, [[0, 1], [1, 0]])


def test_ties_and_missing_opinions_do_not_disagree():
    assert kendall_tau_distance([0, 0, 1], [1, 0, 2]) == 0
    assert kendall_tau_distance([0, np.nan, 1], [1, 0, 0]) == pytest.approx(1 / 3)
    assert average_kendall_tau([1, 0], [[0, np.nan], [1, 1], [0, 1]]) == pytest.approx(1 / 3)
    assert pairwise_error_rate([0, 1], [[0, 1], [1, 0]]) == 0  # no majority, no error


def test_metrics_need_only_pair_counts():
    X = make_mallows(80, 6, 0.7, random_state=1)
    counted = Profile.from_rankings(X, keep="counts")
    ranking = np.arange(6)
    for metric in (average_kendall_tau, excess_kendall_tau, pairwise_error_rate):
        assert metric(ranking, counted) == metric(ranking, X)
    np.testing.assert_array_equal(kemeny_positions(counted), kemeny_positions(X))


@pytest.mark.parametrize("places", [13, 6000], ids=["ties", "few ties"])
@pytest.mark.parametrize("form", ["comparisons", "ratings", "lists"])
def test_a_large_catalogue_has_the_distance_of_the_items_that_are_listed(form, places):
    """Beyond 5,000 items of long data, preferences are read from the rows, and not from a table of pairs."""
    positions = np.random.default_rng(0).integers(0, places, 5001)
    few, many = of_catalogue(form, 12), of_catalogue(form, 5001)
    expected = average_kendall_tau(positions[:12], few, normalize=False)
    assert average_kendall_tau(positions, many, normalize=False) == pytest.approx(expected, rel=1e-12)
    assert average_kendall_tau(positions, many) == pytest.approx(expected / (5001 * 2500), rel=1e-12)


@pytest.mark.parametrize("metric", [average_kendall_tau, excess_kendall_tau, pairwise_error_rate])
@pytest.mark.parametrize(("positions", "message"), BAD_POSITIONS)
def test_bad_positions_are_refused_by_metrics(metric, positions, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        metric(positions, [[0, 1, 2]])


@settings(max_examples=100)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_a_ranking_changed_where_a_pair_is_ordered_differently(m, seed, tied):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 2, m) if tied else rng.permutation(m) for _ in range(2))
    differs = any(np.sign(a[i] - a[j]) != np.sign(b[i] - b[j]) for i in range(m) for j in range(m))
    found = ranking_changed(a, b)
    assert type(found) is float and found == ranking_changed(b, a) == float(differs)
    assert ranking_changed(a, 2.5 * a - 7) == 0.0


def test_large_positions_are_compared_exactly():
    assert ranking_changed([2**53, 2**53 + 1], [0, 0]) == 1.0  # doubles would tie them


@pytest.mark.parametrize(("positions", "message"), BAD_POSITIONS)
def test_bad_positions_are_refused_by_ranking_changed(positions, message):
    with pytest.raises(ValueError, match=re.escape(message.replace("positions", "b", 1))):
        ranking_changed([0, 1, 2], positions)


def test_distances_compare_ballots_as_doubles():
    """The other ranking does not change which positions are equal."""
    big = 2**53
    for other in ([2.5, np.nan], [2.5, 1.5], [1, 0]):
        assert kendall_tau_distance([big, big + 1], other) == 0
        assert kendall_tau_distance([big, big + 2], other) == (other[1] < other[0])
    assert kendall_tau_distance([2**63 + 2**11, 2**63, -1], [0, 1, 2], normalize=False) == 3


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0, 1, 2], [0, 1], "must rank the same items, got 3 and 2 positions"),
        (np.arange(70_000), np.arange(70_000.0), "X has 70000 items; at most 65534 are supported"),
        (["tea", "milk"], ["tea", "milk"], "X must hold numbers"),
    ],
)
def test_bad_rankings_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        kendall_tau_distance(a, b)


# Series of positions


def test_a_series_in_another_order_is_refused():
    ballots = pd.DataFrame([[0, 1, 2], [0, 2, 1], [1, 0, 2]], columns=["tea", "milk", "wine"])
    ranks = Borda().fit(ballots).ranks_
    turned = ranks.sort_values(ascending=False)
    for call in (average_kendall_tau, pairwise_error_rate, excess_kendall_tau):
        assert call(turned.loc[ballots.columns], ballots) == call(ranks.to_numpy(), ballots) == call(ranks, ballots)
        assert call(ranks.tolist(), ballots) == call(pd.Series(ranks.tolist()), ballots)
        with pytest.raises(ValueError, match="positions is a Series with other items than X, or the same in"):
            call(turned, ballots)
    numbered = pd.DataFrame(ballots.to_numpy(), columns=[2, 1, 0])
    assert average_kendall_tau(ranks.tolist(), numbered) == average_kendall_tau(ranks, ballots)
    with pytest.raises(ValueError, match="positions is a Series"):
        average_kendall_tau(turned.set_axis([2, 1, 0]), ballots.to_numpy())
    for call in (kendall_tau_distance, ranking_changed):
        assert call(ranks, ranks.tolist()) == call(ranks, ranks) == 0
        with pytest.raises(ValueError, match="b is a Series with other items than a"):
            call(ranks, turned)
