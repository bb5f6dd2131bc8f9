"""Queries of scores: net wins of groups, scaled margins, and positional scores by way of a histogram."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import factorial, isqrt

import numpy as np
import pytest
from audit_tools import sampled_orders
from hypothesis import given, strategies as st
from oracles import all_ballots, derived, naive_counts, profiles, rankings, seeded
from scipy import stats

from sklearn_dprank import DPHistogram
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.weights import PERSON, WeightBound
from sklearn_dprank.queries import GroupNetWins, Histogram, NetWins, PositionalScores, ScaledMargins, ScoresByHistogram
from sklearn_dprank.queries.base import weighted_sensitivity
from sklearn_dprank.queries.scores import NetWinProducts
from sklearn_dprank.queries.statistics import MOST_PAIRS
from sklearn_dprank.rules import SortByScore


def naive_group_wins(X, groups):
    """Sum the margins of each item against the items of its group."""
    counts = naive_counts(X)
    wins = [0] * len(counts)
    for group in groups:
        for i in group:
            wins[i] = sum(counts[i, j] - counts[j, i] for j in group)
    return wins


@pytest.mark.slow
@given(profiles(), st.data())
def test_group_net_wins_equal_naive_counts(X, data):
    m = np.shape(X)[1]
    order = data.draw(st.permutations(range(m)))
    cuts = sorted(data.draw(st.sets(st.integers(0, m))))
    groups = tuple(tuple(order[a:b]) for a, b in pairwise(cuts))  # some items may be in none
    found = GroupNetWins(groups, 3).vector(Profile.from_rankings(X), None)
    assert found.dtype == np.int64
    assert found.tolist() == naive_group_wins(X, groups)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_sensitivity_of_groups_depends_on_their_sizes_only(neighboring):
    one, other = (GroupNetWins(groups).sensitivity(9, neighboring) for groups in GROUPS)
    moves = 1 if neighboring == "add_remove" else 2
    assert one == other
    assert one == (moves * (8 + 4 + 2), moves**2 * Fraction(4 * 15 + 3 * 8 + 2 * 3, 3), None)
    whole, net = (query.sensitivity(9, neighboring) for query in (GroupNetWins(), NetWins()))
    assert (whole.l1, whole.l2_squared) == (net.l1, net.l2_squared)


GROUPS = [((0, 1, 2, 3), (4, 5, 6), (7, 8)), ((8, 1), (7, 3, 5, 0), (6, 2, 4))]


@pytest.mark.parametrize("groups", [((0, 1), (1, 2)), ((0, 0),), ((-1, 0),), ((0, 1), (2, -8))])
def test_overlapping_groups_are_refused(groups):
    """Overlap would raise the sensitivity above that of the sizes; of 10 items, -8 is item 2."""
    with pytest.raises(ValueError, match="none of them twice"):
        GroupNetWins(groups)


def test_groups_of_unknown_items_are_refused():
    for groups in (((0, 4),), ((),), ()):
        GroupNetWins(groups).check(5)
    with pytest.raises(ValueError, match="some of the 5 items, 0 to 4"):
        GroupNetWins(((0, 1), (2, 5))).check(5)


@pytest.mark.slow
@given(profiles(), st.data())
def test_scaled_margins_equal_naive_counts(X, data):
    counts = naive_counts(X)
    every = [(i, j) for i in range(len(counts)) for j in range(len(counts)) if i != j]
    pairs = tuple(data.draw(st.lists(st.sampled_from(every), min_size=1, unique_by=frozenset)))
    query, profile = ScaledMargins(pairs), Profile.from_rankings(X)
    found = query.vector(profile, None)
    assert found.dtype == np.int64
    scale = isqrt(4096 * len(counts) * (len(counts) ** 2 - 1) // 3 // len(pairs))
    assert query.scale(profile.n_items) == scale
    assert found.tolist() == [scale * (counts[i, j] - counts[j, i]) for i, j in pairs]
    assert query.read(np.append(found, [7, 7]), profile.n_items).tolist() == found.tolist()


def partitions(items):
    """Every partition of a list of items."""
    if not items:
        yield ()
        return
    first, *rest = items
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            for more in partitions([item for item in rest if item not in others]):
                yield ((first, *others), *more)


def every_query(m):
    pairs = list(combinations(range(m), 2))
    yield from (ScaledMargins(some) for size in range(1, len(pairs) + 1) for some in combinations(pairs, size))
    yield from (ScaledMargins(groups=groups) for groups in partitions(list(range(m))))


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("m", [3, 4])
def test_no_ballot_moves_scaled_margins_further(m, neighboring):
    """Try all partitions, sets of pairs and ballots; the sensitivity is used up to rounding."""
    alone = [Profile.from_rankings([ballot]) for ballot in all_ballots(m)]
    for query in every_query(m):
        vectors = np.unique([query.vector(profile, None) for profile in alone], axis=0)
        moved = vectors if neighboring == "add_remove" else (vectors[:, None] - vectors).reshape(-1, vectors.shape[1])
        stated = query.sensitivity(m, neighboring)
        assert stated == ScaledMargins().sensitivity(m, neighboring)
        assert np.abs(moved).sum(axis=1).max() <= stated.l1
        worst = (moved**2).sum(axis=1).max()
        assert worst <= stated.l2_squared
        if moved.any():  # groups of one item have no margins
            assert worst > stated.l2_squared * (1 - 1 / 32)


@pytest.mark.parametrize("m", [2, 3, 9, 45, 200, 885])
def test_scales_use_almost_all_of_the_sensitivity(m):
    whole = GroupNetWins().sensitivity(m, "add_remove").l2_squared
    assert ScaledMargins().scale(m) == 64
    assert ScaledMargins().sensitivity(m, "add_remove").l2_squared == 4096 * whole
    for size in (1, m, MOST_PAIRS):
        if size <= m * (m - 1) // 2:
            pairs = tuple(zip(*(index[:size].tolist() for index in np.triu_indices(m, 1)), strict=True))
            query = ScaledMargins(pairs)
            query.check(m)
            used = Fraction(query.scale(m) ** 2 * size, 4096 * whole)
            assert (1 - Fraction(1, 32)) < used <= 1


def test_scaled_sensitivity_grows_with_the_weight_of_a_person():
    stated = weighted_sensitivity(ScaledMargins(((0, 1),)), 5, "replace", WeightBound(PERSON, 3 * 720720))
    plain = ScaledMargins().sensitivity(5, "replace")
    assert (stated.l1, stated.l2_squared) == (3 * 720720 * plain.l1, (3 * 720720) ** 2 * plain.l2_squared)


def test_scaled_margins_of_large_weights_do_not_overflow():
    class Heavy:
        n_items, max_listed = 200, None
        margins = np.full((200, 200), 2**55)

    query = ScaledMargins(((0, 1),))
    (found,) = query.vector(Heavy(), None)
    assert found == query.scale(200) * 2**55 > 2**63


@pytest.mark.parametrize("pairs", [(), ((0, 0),), ((-1, 0),), ((0, 1, 2),), ((0, 1.0),), [(0, 1)], "01"])
def test_malformed_pairs_are_refused(pairs):
    with pytest.raises(ValueError, match="pairs must be None or 1 to 16384 pairs of different items"):
        ScaledMargins(pairs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScaledMargins(((0, 1),), ((0, 1),)), "without groups"),
        (lambda: ScaledMargins(groups=((0, 1), (1, 2))), "none of them twice"),
        (lambda: ScaledMargins(((0, 5),)).check(5), "some of the 5 items, 0 to 4"),
        (lambda: ScaledMargins(groups=((0, 5),)).check(5), "some of the 5 items, 0 to 4"),
        (lambda: ScaledMargins(((0, 1), (1, 2), (0, 1))), "no pair twice"),
        (lambda: ScaledMargins(((0, 1), (1, 0))), "no pair twice"),
        (lambda: ScaledMargins(tuple((0, k) for k in range(1, MOST_PAIRS + 2))), "1 to 16384 pairs"),
    ],
)
def test_scaled_margins_outside_their_limits_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


RULES = {
    "net wins": lambda m: NetWins(),
    "borda": lambda m: PositionalScores(tuple(range(m - 1, -1, -1))),
    "plurality": lambda m: PositionalScores(tuple([1.0] + [0.0] * (m - 1))),
    "veto": lambda m: PositionalScores(tuple([1.0] * (m - 1) + [0.0])),
    "squares": lambda m: PositionalScores(tuple(float((m - k) ** 2) for k in range(m))),
    "fractions": lambda m: PositionalScores(tuple(1 / (k + 3) for k in range(m))),
}


def score_of_each_cell(query, m):
    """Return the score of every item in every ranking, shape (m, m!), in units of the answer."""
    unit = np.eye(factorial(m), dtype=np.int64)
    return np.array([derived(query, Histogram(), cell) for cell in unit], dtype=float).T


def spread(query, m):
    """Return the variance of the shortcut's noise over that of a cell's noise, in units of the answer."""
    by_histogram = ScoresByHistogram(query)
    one = by_histogram.read(np.ones(m, dtype=np.int64), m)[0]
    ratio = by_histogram.sensitivity(m, "replace").l2_squared / Histogram().sensitivity(m, "replace").l2_squared
    return float(ratio) * float(one) ** 2


@pytest.mark.parametrize("m", [3, 4, 5])
@pytest.mark.parametrize("name", RULES)
def test_noise_sorts_like_noise_on_every_cell(name, m):
    """Cell noise of variance 1 gives scores the covariance (alpha - beta) I + beta 11'; sorting uses contrasts."""
    query = RULES[name](m)
    cells = score_of_each_cell(query, m)
    covariance = cells @ cells.T
    s = cells[0, np.unique(rankings(m)[:, 0], return_index=True)[1]]  # the score of each position
    alpha = factorial(m - 1) * (s**2).sum()
    beta = factorial(m - 2) * (s.sum() ** 2 - (s**2).sum())
    np.testing.assert_allclose(covariance, (alpha - beta) * np.eye(m) + beta, rtol=1e-9, atol=1e-9 * alpha)
    contrasts = np.eye(m) - 1 / m
    independent = spread(query, m) * np.eye(m)
    np.testing.assert_allclose(
        contrasts @ covariance @ contrasts, contrasts @ independent @ contrasts, rtol=1e-9, atol=1e-9 * alpha
    )


@pytest.mark.parametrize("name", RULES)
def test_shortcut_gives_the_answer_of_the_histogram(name):
    """The same coins complete ties and missing items."""
    X = all_ballots(4)
    profile, query = Profile.from_rankings(X), RULES[name](4)
    by_histogram = ScoresByHistogram(query)
    answer = by_histogram.read(by_histogram.vector(profile, seeded(1)), 4)
    source = Histogram(unseen_last=name != "net wins")
    direct = derived(query, source, source.vector(profile, seeded(1)))
    np.testing.assert_allclose(answer, direct, rtol=1e-12, atol=1e-12)
    assert by_histogram.vector(profile, seeded(1)).dtype == np.int64


def test_constant_scores_have_no_noise_and_random_order():
    query = ScoresByHistogram(PositionalScores((5.0, 5.0, 5.0)))
    assert not query.vector(Profile.from_rankings(all_ballots(3)), seeded()).any()
    assert query.sensitivity(3, "replace").l2_squared == 0
    X = np.tile(np.arange(12), (5, 1))
    rule = SortByScore([1.0] * 12)
    first = [DPHistogram(delta=1e-6, noise="gaussian", rule=rule, random_state=k).fit(X).ranks_[0] for k in range(40)]
    assert len(set(first)) > 6  # coins


@pytest.mark.slow
@pytest.mark.parametrize("rule", [None, SortByScore("plurality")])
def test_shortcut_orders_have_the_law_of_the_explicit_histogram(rule, monkeypatch):
    """Fit four items by the explicit histogram and by the shortcut."""
    X = [[0, 1, 2, 3]] * 12 + [[1, 0, 3, 2]] * 6 + [[0, 0, 1, np.nan]] * 5 + [[3, np.nan, 0, 0]] * 4
    profile = Profile.from_rankings(X)

    estimator = DPHistogram(epsilon=0.3, delta=1e-3, noise="gaussian", rule=rule)
    explicit = np.bincount(sampled_orders(estimator, profile, 1500, seed=0), minlength=24)
    monkeypatch.setattr(Histogram, "largest", 2)
    shortcut = np.bincount(sampled_orders(estimator, profile, 1500, seed=1), minlength=24)
    seen = (explicit + shortcut) >= 10
    table = np.array([np.append(c[seen], c[~seen].sum()) for c in (explicit, shortcut)])
    table = table[:, table.sum(axis=0) > 0]
    assert table.shape[1] >= 15
    assert stats.chi2_contingency(table).pvalue > 1e-3


@pytest.mark.parametrize(
    ("noisy", "nearest"),
    [((20, 10), (13, 3)), ((30, 10), (16, 0)), ((9, -5), (9, 0)), ((-5, -9), (0, 0)), ((9, 5), (9, 5))],
)
def test_an_estimated_covariance_is_as_near_to_the_noisy_one_as_ballots_can_be(noisy, nearest):
    """Two ballots of three items have net wins of squared norm 16 at most, and 8 random ones add 32 to the diagonal."""
    directions = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    products = directions.T @ np.diag(noisy) @ directions + 7  # the constant is common to all items
    law = NetWinProducts.law(np.zeros(3), products, 2.0, 5.0, 0.0)
    np.testing.assert_allclose(law.covariance, directions.T @ np.diag(nearest) @ directions + 32 * np.eye(3), atol=1e-9)


def test_an_estimated_covariance_leaves_out_the_mean_and_adds_half_of_the_deviation_of_its_noise():
    scores, rest = np.array([2.0, 0.0, -2.0]), np.array([[1.0, -2.0, 1.0], [-2.0, 4.0, -2.0], [1.0, -2.0, 1.0]])
    law = NetWinProducts.law(scores + 1, np.outer(scores, scores) / 4 + rest, 4.0, 5.0, 0.0)
    np.testing.assert_allclose(law.covariance, rest + 32 * np.eye(3), atol=1e-9)
    noisy = NetWinProducts.law(scores + 1, np.outer(scores, scores) / 4 + rest, 4.0, 5.0, 2.0)
    np.testing.assert_allclose(noisy.covariance - law.covariance, 0.5 * np.sqrt(6) * np.eye(3), atol=1e-9)
