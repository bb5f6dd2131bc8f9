"""Sensitivities under a bound on the length of a ballot, against all weak and partial ballots, also longer ones."""

from functools import lru_cache
from itertools import combinations, permutations
from math import comb, isqrt

import numpy as np
import pytest
from oracles import all_ballots, cost_of, distinct_ballots, permutohedron_gauge, seeded
from query_examples import examples
from scipy.stats import chisquare

from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.reading import compact_positions
from sklearn_dprank.ballots.weights import BALLOT, WEIGHT_GRID, WeightBound
from sklearn_dprank.channels.segmented import SegmentedProfile, SegmentNetWins, SegmentSizes
from sklearn_dprank.model_selection.private import NetAgreement
from sklearn_dprank.queries import (
    AllMargins,
    GroupNetWins,
    Histogram,
    KemenyUtility,
    MaxViolatedMargin,
    MaxViolatedPrefixMargin,
    NetWins,
    PairMargin,
    PairTallies,
    PositionalScores,
    ScaledMargins,
)
from sklearn_dprank.queries.base import weighted_sensitivity
from sklearn_dprank.queries.statistics import cut_scores, random_items, statistic

SIZES = [(4, 2), (4, 3), (4, 4), (5, 2), (5, 3), (5, 4)]  # items, and items that a ballot lists
NEIGHBORING = ["add_remove", "replace"]
RATE = 0.7


@lru_cache(maxsize=16)
def alone(m, k):
    """Return the profile of each ballot alone, and whether it is within the bound."""
    ballots = all_ballots(m)
    return [Profile.from_rankings([ballot], max_listed=k) for ballot in ballots], (~np.isnan(ballots)).sum(axis=1) <= k


@lru_cache(maxsize=64)
def contributions(query, m, k):
    """Return what each ballot adds, in units of 1 / 720720, and whether it is within the bound."""
    one_each, within = alone(m, k)
    if type(query) not in (SegmentNetWins, SegmentSizes):
        return np.array([query.vector(profile, seeded(0)) for profile in one_each]), within
    segments = range(-1, query.n_segments)
    split = [SegmentedProfile(one, np.array([s]), query.n_segments) for one in one_each for s in segments]
    return np.array([query.vector(profile, None) for profile in split]), np.repeat(within, len(segments))


def largest(vectors, neighboring):
    """Return the largest L1 and squared L2 norms of a change, in units."""
    unit = int(np.gcd.reduce(vectors, axis=None))  # without it, squares of scores exceed 64 bits
    vectors = np.unique(vectors // unit, axis=0) if unit else vectors[:1]
    if neighboring == "add_remove":
        vectors = np.append(vectors, np.zeros_like(vectors[:1]), axis=0)
        moved = [vectors]
    else:
        moved = (vectors - one for one in vectors)
    norms = [(np.abs(some).sum(axis=1).max(), (some**2).sum(axis=1).max()) for some in moved]
    l1, l2_squared = (int(max(norm)) for norm in zip(*norms, strict=True))
    return l1 * unit, l2_squared * unit**2


def fill(sizes, k):
    """Return L1 and squared L2 of net wins within groups, largest groups first."""
    inside = [max(0, min(size, k - sum(sorted(sizes)[::-1][:place]))) for place, size in enumerate(sorted(sizes)[::-1])]
    return sum(t * t // 2 for t in inside), sum(t * (t * t - 1) // 3 for t in inside)


def opposite(l1, l2_squared):
    return [(l1, l2_squared), (2 * l1, 4 * l2_squared)]


def disjoint(count):
    return [(count, count), (2 * count, 2 * count)]


GROUPS = {4: ((0, 3), (1, 2)), 5: ((0, 2, 4), (1, 3))}
#: Rows of the table: the query, and its (L1, squared L2) under both relations, all of them attained.
ROWS = {
    "net wins": (lambda m: NetWins(), lambda m, k: opposite(k * k // 2, k * (k * k - 1) // 3)),
    "net wins of segments": (lambda m: SegmentNetWins(2), lambda m, k: opposite(k * k // 2, k * (k * k - 1) // 3)),
    "all margins": (lambda m: AllMargins(), lambda m, k: opposite(comb(k, 2), comb(k, 2))),
    "all tallies": (lambda m: PairTallies(), lambda m, k: disjoint(comb(k, 2))),
    "tallies of a triangle": (
        lambda m: PairTallies(((0, 1), (1, 2), (0, 2))),
        lambda m, k: disjoint(min(3, comb(k, 2))),
    ),
    "group net wins": (lambda m: GroupNetWins(GROUPS[m]), lambda m, k: opposite(*fill([*map(len, GROUPS[m])], k))),
    "one margin": (lambda m: PairMargin(0, 2), lambda m, k: opposite(1, 1)),
    "net agreement": (lambda m: NetAgreement(tuple(range(m))), lambda m, k: opposite(comb(k, 2), comb(k, 2) ** 2)),
    "sizes of segments": (lambda m: SegmentSizes(2), lambda m, k: disjoint(1)),
    "histogram": (lambda m: Histogram(), lambda m, k: disjoint(1)),
}


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize(("m", "k"), SIZES)
@pytest.mark.parametrize("row", ROWS)
def test_sensitivity_under_a_bound_is_attained(row, m, k, neighboring):
    query, formula = ROWS[row][0](m), ROWS[row][1]
    expected = formula(m, k)[NEIGHBORING.index(neighboring)]
    assert query.sensitivity(m, neighboring, k)[:2] == expected
    vectors, within = contributions(query, m, k)
    for some in (vectors, vectors[within]):  # longer ballots change nothing
        assert largest(some, neighboring) == (expected[0] * WEIGHT_GRID, expected[1] * WEIGHT_GRID**2)


VECTORS = [GroupNetWins, NetAgreement, PairTallies, PositionalScores, ScaledMargins]


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("query", [query for kind in VECTORS for query in examples(kind, 4)], ids=repr)
def test_no_ballot_moves_the_vector_beyond_a_bound(query, k, neighboring):
    stated = weighted_sensitivity(query, 4, neighboring, WeightBound(BALLOT, WEIGHT_GRID, k))
    l1, l2_squared = largest(contributions(query, 4, k)[0], neighboring)
    assert l1 <= stated.l1 and l2_squared <= stated.l2_squared
    assert query.sensitivity(4, neighboring, 4) == query.sensitivity(4, neighboring)


@pytest.mark.parametrize(("m", "k"), SIZES)
def test_gauge_under_a_bound_is_attained(m, k):
    vectors = np.unique(contributions(NetWins(), m, k)[0], axis=0) / WEIGHT_GRID
    for neighboring, moved in (("add_remove", vectors), ("replace", vectors[0] - vectors)):
        stated = NetWins().sensitivity(m, neighboring, k).gauge
        assert max(map(permutohedron_gauge, moved)) <= float(stated) + 1e-12
    best = max(map(permutohedron_gauge, vectors))
    assert best == pytest.approx((k - 1) / (m - 1)) == float(NetWins().sensitivity(m, "add_remove", k).gauge)


def test_groups_share_the_items_that_a_ballot_lists():
    groups = statistic({"name": "group_net_wins", "sizes": [2, 3]}, 5, 4)
    assert (groups.sensitivity("add_remove")[:2], groups.sensitivity("replace")[:2]) == ((4, 8), (8, 32))
    query = GroupNetWins(((0, 1, 2), (3, 4)))
    assert largest(contributions(query, 5, 4)[0], "replace") == (8 * WEIGHT_GRID, 32 * WEIGHT_GRID**2)


@pytest.mark.parametrize(("m", "k"), [(4, 2), (5, 3)])
def test_scaled_margins_use_almost_all_of_their_sensitivity(m, k):
    target = 4096 * k * (k * k - 1) // 3
    every, groups = tuple(combinations(range(m), 2)), GROUPS[m]
    for query, squared in (
        (ScaledMargins(), k * (k * k - 1) // 3),
        (ScaledMargins(every), comb(k, 2)),
        (ScaledMargins(every[:1]), 1),
        (ScaledMargins(groups=groups), fill([*map(len, groups)], k)[1]),
    ):
        assert query.scale(m, k) == isqrt(target // squared)
        assert query.sensitivity(m, "replace", k).l2_squared == 4 * target
        assert largest(contributions(query, m, k)[0], "add_remove")[1] > 0.96 * target * WEIGHT_GRID**2


# Positional scores


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("scores", [(4.0, 3.0, 2.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0, 0.0), (7.0, 4.0, 4.0, -3.0, -9.0)])
def test_positional_scores_count_the_first_items(scores, k):
    """Scores of integers have exact means here, so both counts are equal up to a number that all items share."""
    query = PositionalScores(scores)
    for order in permutations(range(5)):
        whole = np.argsort(order).astype(float)
        first = np.where(whole < k, whole, np.nan)
        cut, plain = (
            query.vector(Profile.from_rankings([whole], max_listed=k), None),
            query.vector(Profile.from_rankings([first]), None) * WEIGHT_GRID,
        )
        assert len(set((cut - plain).tolist())) == 1


def test_cut_scores_are_centred_and_cut_once():
    assert cut_scores([9, 5, 2, 0, -1], 2) == [9, 5, 0, 0, 0]
    assert cut_scores([9, 5, 3, 0, -2], 2) == [9, 5, 0, 0, 0]
    assert cut_scores([9, 6, 4, 2, 0], 2) == [7, 4, 0, 0, 0]
    assert cut_scores(cut_scores([9, 6, 4, 2, 0], 2), 2) == [7, 4, 0, 0, 0]
    assert cut_scores([3, 1, 2], 3) == [3, 1, 2]


# Orders: the loss of the law exp(-rate cost), per unit of rate


def log_law(query, margins):
    costs = np.array([cost_of(query, margins, order) for order in permutations(range(len(margins)))])
    weights = -RATE * costs[np.isfinite(costs)]
    return weights - np.logaddexp.reduce(weights)


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    ("query", "per_ballot"),
    [
        (KemenyUtility(), lambda k: comb(k, 2)),
        (MaxViolatedMargin(), lambda k: 2),
        (MaxViolatedPrefixMargin(1, (2,)), lambda k: 2),
    ],
    ids=["Kemeny", "prudent", "prefix"],
)
def test_loss_of_orders_under_a_bound_is_attained(query, per_ballot, k, neighboring):
    m, ranking = 4, np.arange(4)
    stated = query.sensitivity(m, neighboring, k)
    assert stated == ((1 + (neighboring == "replace")) * per_ballot(k), stated.l1**2, None)
    votes = [Profile.from_rankings([b], max_listed=k).margins / WEIGHT_GRID for b in distinct_ballots(m)]
    close = [ranking] * 40 + [[1, 0, 2, 3]] * 20  # only one pair decides
    bases = [[ranking] * 60, [ranking[::-1]] * 60, [np.roll(ranking, j) for j in range(m)] * 5, close]
    worst = 0.0
    for base in (Profile.from_rankings(some).margins for some in bases):
        laws, without = np.array([log_law(query, base + vote) for vote in votes]), log_law(query, base)
        worst = max(worst, np.ptp(laws, axis=0).max() if neighboring == "replace" else np.abs(laws - without).max())
    assert stated.l1 * 0.99 <= worst / RATE <= stated.l1 * (1 + 1e-12)


# Devices cut long ballots by coins

STATED = [
    "net_wins",
    "margins",
    "pair_margin",
    "pair_counts",
    {"name": "group_net_wins", "sizes": [2, 2]},
    "scaled_margins",
    {"name": "positional_scores", "scores": [9, 4, 1, 0]},
    "histogram",
]
ABOUT = {
    "pair_margin": [0, 2],
    "pair_counts": [[i, j] for i, j in combinations(range(4), 2)],
    "group_net_wins": [[0, 3], [1, 2]],
    "scaled_margins": {"pairs": [[0, 1], [2, 1], [0, 3]]},
}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("stated", STATED, ids=str)
def test_no_ballot_moves_what_devices_count_further(stated, k):
    """For 12 seeds of the coins; long ballots do not add to the changes by short ones."""
    what = statistic(stated, 4, k)
    about = ABOUT.get(stated if isinstance(stated, str) else stated["name"])
    ballots = compact_positions(all_ballots(4))
    vectors = np.concatenate([what.counted(ballots, about, seeded(seed)) for seed in range(12)])
    assert np.abs(vectors).max() <= what.largest and vectors.shape[1] == what.numbers
    for neighboring in NEIGHBORING:
        limit = what.sensitivity(neighboring)
        l1, l2_squared = largest(vectors, neighboring)
        assert l1 <= limit.l1 and l2_squared <= limit.l2_squared
        if stated in ("net_wins", "margins", "pair_margin", "pair_counts", "histogram"):
            assert (l1, l2_squared) == limit[:2]


def test_items_of_a_long_ballot_are_chosen_uniformly():
    ballots = compact_positions(np.tile([2.0, 0, np.nan, 1, 3], (6000, 1)))
    cut = random_items(ballots, 2, seeded(0))
    listed = cut.table != cut.sentinel
    assert (listed.sum(axis=0) == 2).all() and not listed[2].any() and cut.unranked.all()
    assert (cut.table[listed] == ballots.table[listed]).all()
    counts = np.bincount(2 ** np.arange(5) @ listed, minlength=32)
    assert chisquare(counts[counts > 0]).pvalue > 1e-3 and np.count_nonzero(counts) == 6


@pytest.mark.parametrize("n_items", [3, 255, 256, 300])
def test_short_ballots_are_not_cut(n_items):
    X = np.full((40, n_items), np.nan)
    X[:, [0, n_items - 1]] = [1, 0]
    X[0] = np.nan
    for k in (2, n_items - 1):
        np.testing.assert_array_equal(
            random_items(compact_positions(X), k, seeded(1)).table, compact_positions(X).table
        )


def test_coins_of_a_device_do_not_depend_on_its_ballot():
    left = set()
    for ballot in all_ballots(4)[::7]:
        coins = seeded(3)
        statistic("net_wins", 4, 2).counted(compact_positions(ballot[None]), None, coins)
        left.add(coins.integer(2**60))
    assert len(left) == 1
