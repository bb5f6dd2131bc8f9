"""Simulated rankings, comparisons and ratings: exact probabilities, expected distances, seeds and errors."""

import math
from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from sklearn_dprank.datasets import (
    make_comparisons,
    make_mallows,
    make_plackett_luce,
    make_ratings,
    make_uniform_profile,
)

SEED = "random_state must be None, an int of at least 0, a numpy Generator or a RandomState"


# --- Mallows


def distances(X, center):
    """Kendall tau distance of every row to the centre."""
    center = np.asarray(center)
    pairs = combinations(range(len(center)), 2)
    return sum((X[:, i] < X[:, j]) != (center[i] < center[j]) for i, j in pairs)


def expected_distance(n_items, phi):
    """Sum over places of the mean of V, P(V = v) proportional to phi^v on 0..place."""
    weights = [phi ** np.arange(place + 1.0) for place in range(n_items)]
    return sum(w @ np.arange(len(w)) / w.sum() for w in weights)


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.8, 1.0])
def test_every_row_is_a_permutation(phi):
    X = make_mallows(200, 7, phi, random_state=0)
    assert X.shape == (200, 7)
    assert X.dtype == np.int64
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(np.sort(X, axis=1), np.tile(np.arange(7), (200, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.2, 0.7, 1.0])
def test_probabilities_of_mallows_at_four_items(phi):
    center = [2, 0, 3, 1]
    X = make_mallows(40_000, 4, phi, center=center, random_state=1)
    rankings = np.array(list(permutations(range(4))))
    expected = phi ** distances(rankings, center).astype(float)
    seen = Counter(map(tuple, X.tolist()))
    observed = [seen[tuple(r)] for r in rankings.tolist()]
    assert chisquare(observed, expected / expected.sum() * len(X)).pvalue > 1e-3


@pytest.mark.parametrize(
    ("n_items", "phi"), [(10, 0.5), (10, 0.95), (45, 0.75), (45, 0.999), (20, 1 - 1e-12), (20, 1.0)]
)
def test_mean_distance_is_the_theory_s(n_items, phi):
    center = np.random.default_rng(2).permutation(n_items)
    d = distances(make_mallows(4000, n_items, phi, center=center, random_state=3), center)
    assert abs(d.mean() - expected_distance(n_items, phi)) < 4 * d.std() / np.sqrt(len(d))


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_probability_that_a_pair_keeps_its_order(phi):
    """Items k places apart in the centre keep their order with probability (k+1)/(1-phi^(k+1)) - k/(1-phi^k)."""
    n, m = 20_000, 8
    X = make_mallows(n, m, phi, center=range(m), random_state=4)
    for i, j in combinations(range(m), 2):
        k = j - i
        p = (k + 1) / (1 - phi ** (k + 1)) - k / (1 - phi**k)
        assert abs(np.mean(X[:, i] < X[:, j]) - p) < 4.5 * np.sqrt(p * (1 - p) / n)


def test_the_center_is_random_unless_given():
    firsts = {int(make_mallows(1, 5, 0.0, random_state=seed).argmin()) for seed in range(40)}
    assert firsts == set(range(5))


def test_random_state():
    a = make_mallows(20, 6, 0.8, random_state=5)
    np.testing.assert_array_equal(a, make_mallows(20, 6, 0.8, random_state=np.int64(5)))
    np.testing.assert_array_equal(a, make_mallows(20, 6, 0.8, random_state=np.random.default_rng(5)))
    b = make_mallows(20, 6, 0.8, random_state=np.random.RandomState(5))
    np.testing.assert_array_equal(b, make_mallows(20, 6, 0.8, random_state=np.random.RandomState(5)))
    assert not np.array_equal(make_mallows(20, 6, 0.8), make_mallows(20, 6, 0.8))
    rng = np.random.default_rng(5)
    assert not np.array_equal(make_mallows(20, 6, 0.8, random_state=rng), make_mallows(20, 6, 0.8, random_state=rng))


# --- Plackett and Luce


def probability(order, weights):
    """Draw the items of an order one by one in proportion to weight."""
    drawn = [weights[item] for item in order]
    return math.prod(weight / sum(drawn[k:]) for k, weight in enumerate(drawn))


@pytest.mark.slow
@pytest.mark.parametrize("weights", [[1.0, 2.0, 4.0, 0.5], [3, 3, 3, 3], [1e-300, 1e300, 2e300, 3e-300]])
def test_probabilities_of_plackett_luce_at_four_items(weights):
    X = make_plackett_luce(40_000, 4, weights, random_state=0)
    seen = Counter(map(tuple, np.argsort(X, axis=1).tolist()))
    expected = {order: probability(order, weights) * len(X) for order in permutations(range(4))}
    expected = {order: count for order, count in expected.items() if count > 1e-6}
    assert set(seen) <= set(expected)
    observed = [seen[order] for order in expected]
    assert chisquare(observed, np.array(list(expected.values()))).pvalue > 1e-3


def test_shape_type_and_default_weights():
    X = make_plackett_luce(500, 6, random_state=1)
    assert X.shape == (500, 6)
    assert X.dtype == np.int64
    np.testing.assert_array_equal(np.sort(X, axis=1), np.tile(np.arange(6), (500, 1)))
    np.testing.assert_array_equal(X, make_plackett_luce(500, 6, random_state=np.random.default_rng(1)))
    firsts = {int(make_plackett_luce(500, 4, random_state=seed).mean(axis=0).argmin()) for seed in range(30)}
    assert firsts == set(range(4))  # no item is favoured by default


# --- uniform profiles


def histograms(n_voters, n_items, size):
    rng = np.random.default_rng(0)
    drawn = (make_uniform_profile(n_voters, n_items, random_state=rng) for _ in range(size))
    return Counter(tuple(sorted(map(tuple, X.tolist()))) for X in drawn)


@pytest.mark.slow
@pytest.mark.parametrize(("n_voters", "n_items"), [(1, 3), (4, 2), (2, 3), (3, 3)])
def test_every_histogram_is_equally_likely(n_voters, n_items):
    """C(n + m! - 1, n) of them, at most 56 here."""
    seen = histograms(n_voters, n_items, 8000)
    assert len(seen) == math.comb(n_voters + math.factorial(n_items) - 1, n_voters)
    assert chisquare(list(seen.values())).pvalue > 1e-3


@pytest.mark.slow
def test_voters_are_in_random_order():
    """Every way to line up the voters of a histogram is equally likely too."""
    rng = np.random.default_rng(1)
    firsts = [tuple(make_uniform_profile(4, 2, random_state=rng)[:, 0].tolist()) for _ in range(8000)]
    chances = {line: 1 / 5 / math.comb(4, sum(line)) for line in product((0, 1), repeat=4)}
    assert sum(chances.values()) == pytest.approx(1)
    observed = [firsts.count(line) for line in chances]
    assert chisquare(observed, np.array(list(chances.values())) * 8000).pvalue > 1e-3


@pytest.mark.parametrize("n_items", [1, 2, 9, 25, 180])
def test_any_number_of_items(n_items):
    X = make_uniform_profile(200, n_items, random_state=3)
    assert X.shape == (200, n_items) and X.dtype == np.int64
    np.testing.assert_array_equal(np.sort(X, axis=1), np.tile(np.arange(n_items), (200, 1)))
    np.testing.assert_array_equal(X, make_uniform_profile(200, n_items, random_state=np.random.default_rng(3)))
    if n_items >= 25:  # 25! rankings: no two voters share one
        assert len(np.unique(X, axis=0)) == 200


# --- errors

CENTER = "center must be a permutation of 0, ..., 3 (where the centre puts each item)"
WEIGHTS = "weights must be 4 positive finite numbers, one an item"


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_mallows, {"n_voters": 0}, "n_voters must be a positive integer, got 0."),
        (make_mallows, {"phi": 1.5}, "phi must be a number of at least 0 and at most 1, got 1.5."),
        (make_mallows, {"phi": math.nan}, "phi must be a number of at least 0 and at most 1, got nan."),
        (make_mallows, {"center": [0, 1, 1, 3]}, f"{CENTER}, got [0 1 1 3]."),
        (make_mallows, {"center": [0, 1, 2]}, f"{CENTER}, got [0 1 2]."),
        (make_mallows, {"random_state": "x"}, f"{SEED}, got 'x'."),
        (make_plackett_luce, {"n_voters": "many"}, "n_voters must be a positive integer, got 'many'."),
        *((make_plackett_luce, {"weights": w}, f"{WEIGHTS}, got {w}.") for w in ([1, 2], [1, 0, 2, 1])),
        (make_plackett_luce, {"weights": [1, "a", 2, 1]}, "could not convert string to float: 'a'"),
        (make_plackett_luce, {"weights": [1, math.inf, 2, 1]}, f"{WEIGHTS}, got [1, inf, 2, 1]."),
        (make_plackett_luce, {"random_state": 1.5}, f"{SEED}, got 1.5."),
        (make_uniform_profile, {"n_items": 2.5}, "n_items must be a positive integer, got 2.5."),
        (make_uniform_profile, {"random_state": -1}, f"{SEED}, got -1."),
    ],
)
def test_bad_arguments(make, arguments, message):
    more = {"phi": 0.5} if make is make_mallows else {}
    with pytest.raises(ValueError) as error:
        make(**{"n_voters": 5, "n_items": 4, **more, **arguments})
    assert str(error.value) == message


# --- comparisons and ratings


def shares_by_zipf(counts):
    return np.sort(counts / counts.sum())[::-1]


ZIPF = 1 / np.arange(1, 7) / np.sum(1 / np.arange(1, 7))


def test_exposures_follow_zipf_or_are_even():
    """The first item is drawn by exposure, the second by exposure among the others."""
    votes, _ = make_comparisons(40_000, 6, comparisons_per_person=5, random_state=0)
    n = len(votes["first"])
    found = shares_by_zipf(np.bincount(votes["first"]))
    assert (abs(found - ZIPF) < 4.5 * np.sqrt(ZIPF * (1 - ZIPF) / n)).all()
    second = ZIPF * np.array([sum(p / (1 - p) for j, p in enumerate(ZIPF) if j != i) for i in range(6)])
    found = shares_by_zipf(np.bincount(votes["second"]))
    assert (abs(found - second) < 4.5 * np.sqrt(second * (1 - second) / n)).all()
    assert (votes["first"] != votes["second"]).all()
    even, _ = make_comparisons(20_000, 6, exposure="even", random_state=0)
    assert chisquare(np.bincount(even["first"])).pvalue > 1e-3 < chisquare(np.bincount(even["second"])).pvalue


def test_exposure_does_not_depend_on_strength():
    most = [make_comparisons(50, 5, strengths=range(5), random_state=seed)[0]["first"] for seed in range(400)]
    firsts = np.bincount([np.bincount(first, minlength=5).argmax() for first in most], minlength=5)
    assert chisquare(firsts).pvalue > 1e-3


@pytest.mark.parametrize(("n_items", "reach"), [(2, 1), (7, 1), (30, 3), (45, 4)])
def test_matched_opponents_are_a_tenth_of_the_items_on_each_side(n_items, reach):
    votes, strengths = make_comparisons(3000, n_items, matched=1.0, exposure="even", random_state=1)
    place = np.argsort(np.argsort(strengths))
    steps = place[votes["second"]] - place[votes["first"]]
    assert set(np.unique(steps)) == {*range(-reach, reach + 1)} - {0}
    middle = steps[(place[votes["first"]] >= reach) & (place[votes["first"]] < n_items - reach)]
    assert n_items == 2 or chisquare(np.unique(middle, return_counts=True)[1]).pvalue > 1e-3
    lowest = np.unique(steps[place[votes["first"]] == 0], return_counts=True)[1]
    assert chisquare(lowest).pvalue > 1e-3 if reach > 1 else len(lowest) == 1


def test_some_opponents_are_matched():
    """The others are neighbours by chance: 8 of 39."""
    votes, strengths = make_comparisons(5000, 40, matched=0.6, exposure="even", random_state=2)
    place = np.argsort(np.argsort(strengths))
    first, second = place[votes["first"]], place[votes["second"]]
    inner = (first >= 4) & (first < 36)
    near = (abs(second - first) <= 4)[inner]
    assert abs(near.mean() - (0.6 + 0.4 * 8 / 39)) < 4.5 * near.std() / np.sqrt(len(near))


def test_winners_follow_bradley_terry_and_ties_do_not_depend_on_strength():
    strengths = np.array([1.5, 0.0, -0.5])
    votes, truth = make_comparisons(20_000, 3, ties=0.3, matched=0.5, strengths=strengths, random_state=3)
    np.testing.assert_array_equal(truth, strengths)
    for i, j in product(range(3), repeat=2):
        winner = votes["winner"][(votes["first"] == i) & (votes["second"] == j)]
        if i != j:
            chances = 0.7 / (1 + np.exp(strengths[j] - strengths[i]))
            counts = [np.sum(winner == word) for word in ("first", "second", "tie")]
            assert chisquare(counts, np.array([chances, 0.7 - chances, 0.3]) * len(winner)).pvalue > 1e-3
    assert set(make_comparisons(50, 3, ties=0, random_state=0)[0]["winner"]) == {"first", "second"}
    assert set(make_comparisons(50, 3, ties=1, random_state=0)[0]["winner"]) == {"tie"}


@pytest.mark.parametrize(("mean", "expected"), [(20, 20.0), (3, 3.1), (1, 1.4)])
def test_activity_is_log_normal_and_at_least_one(mean, expected):
    votes, _ = make_comparisons(40_000, 3, comparisons_per_person=mean, random_state=4)
    activity = np.bincount(votes["person"])
    assert len(activity) == 40_000 and activity.min() == 1
    assert activity.mean() == pytest.approx(expected, rel=0.04)
    if mean == 20:  # the median is exp(-1.2^2 / 2) of the mean, and one in a hundred has 8 times the mean
        assert np.median(activity) == pytest.approx(20 * np.exp(-0.72), abs=1)
        assert np.quantile(activity, 0.99) == pytest.approx(20 * np.exp(1.2 * 2.326 - 0.72), rel=0.05)


@pytest.mark.parametrize("seen", [1, 2])
def test_people_choose_what_they_expect_to_like(seen):
    """The first rating of a person is never dropped, so it follows the stated law."""
    strengths = np.array([1.0, -0.5, 0.3, 0.0])
    ratings, _ = make_ratings(
        60_000, 4, ratings_per_person=1, exposure="even", seen=seen, strengths=strengths, random_state=5
    )
    firsts = ratings["item"][np.unique(ratings["person"], return_index=True)[1]]
    wins = norm.cdf((strengths[:, None] - strengths) / np.sqrt(2))
    shares = np.full(4, 1 / 4) if seen == 1 else (1 + 2 * (wins.sum(axis=1) - 1 / 2)) / 16
    assert shares.sum() == pytest.approx(1)
    assert chisquare(np.bincount(firsts), shares * 60_000).pvalue > 1e-3


@pytest.mark.slow
def test_stars_are_normal_around_strengths():
    """The variance is 1 by taste and 1/4 by generosity, which all ratings of a person share."""
    ratings, _ = make_ratings(40_000, 2, ratings_per_person=4, seen=1, strengths=[0.7, -0.4], random_state=6)
    for item, strength in enumerate([0.7, -0.4]):
        stars = ratings["stars"][ratings["item"] == item]
        ends = np.array([-np.inf, 1.5, 2.5, 3.5, 4.5, np.inf])
        shares = np.diff(norm.cdf((ends - 2.5 - strength) / np.sqrt(5 / 4)))
        assert chisquare(np.bincount(stars, minlength=6)[1:], shares * len(stars)).pvalue > 1e-3
    of = [
        dict(zip(*(ratings[key][ratings["item"] == item] for key in ("person", "stars")), strict=True))
        for item in (0, 1)
    ]
    both = [(of[0][person], of[1][person]) for person in of[0].keys() & of[1].keys()]
    assert np.corrcoef(np.transpose(both))[0, 1] == pytest.approx(0.2, abs=0.03)


def test_a_person_rates_an_item_once():
    ratings, _ = make_ratings(500, 6, random_state=7)
    pairs = ratings["person"] * 6 + ratings["item"]
    assert len(set(pairs)) == len(pairs) and set(ratings["person"]) == set(range(500))
    assert (np.diff(ratings["person"]) >= 0).all()


@pytest.mark.parametrize("make", [make_comparisons, make_ratings])
def test_seeds_of_long_data(make):
    def equal(some, other):
        return np.array_equal(some[1], other[1]) and all(np.array_equal(some[0][key], other[0][key]) for key in some[0])

    assert equal(make(20, 6, random_state=5), make(20, 6, random_state=np.random.default_rng(5)))
    assert not equal(make(20, 6, random_state=5), make(20, 6, random_state=6))
    assert not equal(make(20, 6), make(20, 6))
    given = np.arange(6.0)
    truth = make(20, 6, strengths=given, random_state=0)[1]
    truth[0] = 9
    assert given[0] == 0


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_comparisons, {"n_items": 1}, "n_items must be an integer of at least 2, got 1"),
        (make_comparisons, {"n_persons": 0}, "n_persons must be a positive integer, got 0"),
        (make_comparisons, {"matched": 1.5}, "matched must be"),
        (make_comparisons, {"ties": -0.1}, "ties must be"),
        (make_comparisons, {"comparisons_per_person": 0}, "comparisons_per_person must be"),
        (make_comparisons, {"exposure": "odd"}, r"exposure must be one of \['zipf', 'even'\], got 'odd'"),
        (make_comparisons, {"strengths": [1, 2]}, r"strengths must be 4 finite numbers, one an item"),
        (make_ratings, {"strengths": [1, 2, 3, np.inf]}, "strengths must be 4 finite numbers"),
        (make_ratings, {"seen": 0}, "seen must be a positive integer, got 0"),
        (make_ratings, {"ratings_per_person": np.nan}, "ratings_per_person must be"),
        (make_ratings, {"n_persons": 2.5}, "n_persons must be a positive integer"),
    ],
)
def test_wrong_arguments_of_long_data(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**{"n_persons": 10, "n_items": 4, "random_state": 0, **options})
