"""Weighted ballots: persons stay within the public bound, counts are exact, and different ids are not merged."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from oracles import profiles
from sklearn.pipeline import make_pipeline

from sklearn_dprank import DPBorda, DPStreamingBorda, LDPPairwise, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import (
    BALLOT,
    WEIGHT_GRID,
    WeightBound,
    Weights,
    clipped,
    person_numbers,
    persons_by_weight,
    refuse_large,
    shortened,
    weight_bound,
)
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection, cross_validate
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyBudget
from sklearn_dprank.queries import Histogram, NumberOfVoters, PositionalScores, ScoresByHistogram
from sklearn_dprank.sampling.bit_source import SeededBits

X = np.array([[0, 1, 2], [1, 0, np.nan], [2, 2, 0], [0, 0, 0], [2, 1, 0]])
WHO = ["ann", "bob", "ann", "cleo", "ann"]
W = [1.0, 0.25, 2.0, 3.0, 0.5]
weights = st.floats(0, 1e308) | st.floats(0, 20) | st.sampled_from([0.0, 1.0, 5e-324, 1e305, 1.7e308])
rows = st.lists(st.tuples(st.integers(0, 4), weights), min_size=1, max_size=30)


def exactly(weight, persons, most):
    """The formula in fractions: floor(D w) if the sum s of a person's w fits, else floor(most w / s)."""
    total = {}
    for w, person in zip(weight, persons, strict=True):
        total[person] = total.get(person, Fraction(0)) + Fraction(w)
    return [
        Fraction(w) * min(Fraction(WEIGHT_GRID), most / total[person]) if w else Fraction(0)
        for w, person in zip(weight, persons, strict=True)
    ]


@given(rows=rows, bound=st.sampled_from([0.7, 1, 2.5, 1000, 1e10]))
def test_no_person_has_more_than_the_bound(rows, bound):
    persons, weight = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    most = weight_bound(None, [1.0], bound).most
    each = clipped(weight, persons, most)
    assert each.min() >= 0 and np.bincount(persons, weights=each.astype(float)).max() <= most
    assert all(sum(each[persons == person].tolist()) <= most for person in set(persons.tolist()))
    for found, exact in zip(each.tolist(), exactly(weight, persons.tolist(), most), strict=True):
        assert exact * (1 - Fraction(1, 2**48)) - 1 < found <= exact * (1 + Fraction(1, 2**48))


def test_rounding_of_doubles_stays_within_the_bound():
    """Rounded separately, these two weights add up to one grid step more than the bound."""
    most = weight_bound(None, [1.0], 1e10).most
    assert clipped(np.array([8.07e10, 5.7e9]), np.array([0, 0]), most).sum() == most


@given(rows=rows, bound=st.sampled_from([0.7, 1, 2.5]))
def test_weights_depend_on_one_person(rows, bound):
    persons, weight = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    most = weight_bound(None, [1.0], bound).most
    each = clipped(weight, persons, most)
    for person in set(persons.tolist()):
        own = persons == person
        assert each[own].tolist() == clipped(weight[own], np.zeros(own.sum(), dtype=int), most).tolist()


@pytest.mark.parametrize("n_ballots", [*range(1, 17), 100])
def test_a_person_counts_once_by_the_mean_of_up_to_sixteen_ballots(n_ballots):
    each = clipped(np.ones(n_ballots), np.zeros(n_ballots, dtype=int), WEIGHT_GRID)
    assert each.tolist() == [WEIGHT_GRID // n_ballots] * n_ballots
    assert (each.sum() == WEIGHT_GRID) == (n_ballots <= 16)


def test_bound_is_rounded_down_to_the_grid():
    most = weight_bound(None, [1.0], 0.7).most
    assert most == int(Fraction(0.7) * WEIGHT_GRID) == 504503  # 0.7 is below 7/10
    assert clipped(np.array([0.7, 5.0]), np.array([0, 1]), most).tolist() == [most, most]
    assert weight_bound(None, [1.0], math.nextafter(1 / WEIGHT_GRID, 1)).most == 1
    with pytest.raises(ValueError, match=r"^max_weight must be .* at most 1e10"):
        weight_bound(None, [1.0], 1.3e10)  # in grid steps, above the integers that JSON holds


def weighted_pairs(X, each):
    return sum(u * (np.less.outer(x, x)).astype(np.int64) for x, u in zip(np.asarray(X, float), each, strict=True))


@given(X=profiles(), seed=st.integers(0, 5))
def test_counts_are_sums_of_weights(X, seed):
    rng = np.random.default_rng(seed)
    who, w = rng.integers(0, 4, len(X)), rng.gamma(1, 2, len(X))
    profile = Profile.from_rankings(X, groups=who, sample_weight=w, max_weight=3)
    each = profile.weights.each.tolist()
    pairs = np.zeros((profile.n_items, profile.n_items), dtype=np.int64) + weighted_pairs(X, each)
    np.testing.assert_array_equal(profile.pairwise_counts, pairs)
    np.testing.assert_array_equal(profile.net_wins, (pairs - pairs.T).sum(axis=1))
    alone = [Profile.from_rankings([x]).placements for x in X]
    places = {}
    for rows, u in zip(alone, each, strict=True):
        for item, first, last, _ in rows.tolist():
            places[item, first, last] = places.get((item, first, last), 0) + u
    assert {tuple(row[:3]): row[3] for row in profile.placements.tolist()} == places
    assert profile.total_weight == sum(each) == NumberOfVoters().vector(profile, None)[0]


@pytest.mark.parametrize("scores", [(2.0, 1.0, 0.0), (1 / 3, 1 / 7, -5.0)])
@pytest.mark.parametrize("factor", [1, 10**9])
def test_scores_and_cells_are_sums_of_weights_however_large(scores, factor):
    strict = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    profile = Profile.from_rankings(strict, sample_weight=[1 * factor, 2 * factor, 5 * factor], max_weight=5 * factor)
    each = profile.weights.each.tolist()
    for query in (PositionalScores(scores), ScoresByHistogram(PositionalScores(scores)), Histogram()):
        coins = SeededBits(np.random.SeedSequence(0))
        alone = [query.vector(Profile.from_rankings([x]), coins).tolist() for x in strict]
        expected = [sum(u * one[k] for u, one in zip(each, alone, strict=True)) for k in range(len(alone[0]))]
        assert query.vector(profile, coins).tolist() == expected


def same(one, other):
    assert (one.bound, one.total_weight, one.n_voters) == (other.bound, other.total_weight, other.n_voters)
    np.testing.assert_array_equal(one.pairwise_counts, other.pairwise_counts)
    np.testing.assert_array_equal(one.placements, other.placements)


@pytest.mark.parametrize("keep", ["counts", "positions"])
@pytest.mark.parametrize("more", [{"groups": WHO}, {"sample_weight": W}, {"groups": WHO, "sample_weight": W}])
def test_a_person_is_clipped_over_all_chunks(keep, more):
    whole = Profile.from_rankings(X, **more, max_weight=2)
    parts = Profile.from_chunks([X[:2], X[2:2], X[2:]], keep=keep, **more, max_weight=2)
    same(whole, parts)
    if keep == "positions":
        assert parts.weights.each.tolist() == whole.weights.each.tolist()
        assert (parts.weights.persons is None) == ("groups" not in more)
    same(whole, whole.counted())
    loaded = pickle.loads(pickle.dumps(whole))
    same(whole, loaded)
    assert not loaded.pairwise_counts.flags.writeable and not loaded.weights.each.flags.writeable


@pytest.mark.parametrize(("n_weights", "message"), [(4, "have fewer values than"), (6, "have more values than")])
def test_chunks_with_another_number_of_weights_are_refused(n_weights, message):
    with pytest.raises(ValueError, match=message):
        Profile.from_chunks([X[:2], X[2:]], sample_weight=np.ones(n_weights))


def test_dask_partitions_have_no_weights():
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"^groups and sample_weight are for chunks in memory"):
        Profile.from_chunks(array.from_array(X), groups=WHO)


def test_profiles_of_one_bound_add_up():
    one, other = (Profile.from_rankings(X, sample_weight=W, max_weight=2) for _ in range(2))
    both = one + other
    np.testing.assert_array_equal(both.pairwise_counts, 2 * one.pairwise_counts)
    assert both.bound == one.bound and both.total_weight == 2 * one.total_weight
    same(both, one.counted() + other.counted())


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Profile.from_rankings(X), "same max_weight, max_listed and unit"),
        (Profile.from_rankings(X, sample_weight=W, max_weight=3), "same max_weight, max_listed and unit"),
        (Profile.from_rankings(X, groups=WHO, sample_weight=W, max_weight=2), "a person may have ballots in both"),
    ],
)
@pytest.mark.parametrize("counted", [False, True])
def test_profiles_of_different_bounds_do_not_add_up(other, message, counted):
    one = Profile.from_rankings(X, sample_weight=W, max_weight=2)
    one, other = (one.counted(), other.counted()) if counted else (one, other)
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ValueError, match=message):
            first + second
    persons = Profile.from_rankings(X, groups=WHO)
    with pytest.raises(ValueError, match="a person may have ballots in both"):
        persons + persons


def test_some_of_the_ballots_keep_their_weights():
    whole = Profile.from_rankings(X, groups=WHO, sample_weight=W, max_weight=2)
    part = whole.take(np.array([0, 2, 4]))
    assert part.bound == whole.bound and part.weights.persons.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(part.pairwise_counts, weighted_pairs(X[[0, 2, 4]], whole.weights.each[[0, 2, 4]]))
    assert part.positions.unranked.tolist() == [False] * 3 and whole.positions.unranked.tolist() == [False, False, True]
    for rows in ([0, 0], [1, -4]):
        with pytest.raises(ValueError, match="rows holds a ballot twice"):
            whole.take(np.array(rows))
    with pytest.raises(ValueError, match="keeps only counts"):
        whole.counted().take(np.array([0]))


# Persons


@pytest.mark.parametrize(
    "ids",
    [
        ["A@x", "a@x", "a @x", "A@x"],
        ["S\u00e8te", "s\u00e8te", "Sete", "\u00a0Se\u0300te "],  # composed, without outer blanks
        ["a", "a\0", "\0", "a"],
        [2**53, 2**53 + 1, 2**70, 2**53],
        np.array([2**63 + 1, 2**63, 5, 2**63 + 1], dtype=np.uint64),
        np.array(["b", "a", "ab", "b"]),
        pd.Series([3, 1, 2, 3], dtype="Int64"),
        pd.Series(["u", "v", "w", "u"], dtype="category"),
        pd.Series(["u", "v", "w", "u"]),
    ],
    ids=str,
)
def test_equal_ids_are_one_person(ids):
    assert person_numbers(ids, 4).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "ids",
    [
        [1.0, 2.0, 3.0, 1.0],
        np.array([1.0, 2, 3, 1]),
        [1, 2, None, 1],
        ["secret", "b", None, "a"],
        ["secret", "b", np.nan, "a"],
        [1, "secret", 3, 1],
        [True, False, True, True],
        pd.Series([1, None, 2, 1], dtype="Int64"),
        pd.Series([1, None, 2, 1]),
        np.ma.array([1, 2, 3, 1], mask=[0, 1, 0, 0]),
        [[1], [2], [3], [1]],
        np.array(["a", "nan", "b", "nan"]),
        ["a", " ", "b", ""],
        ["secret"] * 3,
        ["secret"] * 5,
        "abcd",
        pd.DataFrame(dict.fromkeys("abcd", [1] * 4)),
        {"a": 1, "b": 2, "c": 3, "d": 4},
    ],
    ids=str,
)
def test_ids_that_may_merge_are_refused_and_not_quoted(ids):
    with pytest.raises(ValueError, match=r"^groups (must (hold|list|have)|is a NumPy)") as error:
        person_numbers(ids, 4)
    assert "secret" not in str(error.value)


# Refusals


@pytest.mark.parametrize(
    "bad",
    [[1, 2], np.ones((5, 1)), *([1, 2, 3, 4, last] for last in (-0.001, np.nan, np.inf)), ["x"] * 5, [10**400] * 5],
)
def test_weights_are_one_finite_number_at_least_zero_for_each_ballot(bad):
    with pytest.raises(ValueError, match=r"^sample_weight must") as error:
        Profile.from_rankings(X, sample_weight=bad)
    assert "0.001" not in str(error.value)


@pytest.mark.parametrize("bound", [0, -1, np.inf, np.nan, 1e-7, 1e11, "2", None, True])
def test_the_bound_is_a_number_that_the_grid_can_hold(bound):
    with pytest.raises(ValueError, match=r"^max_weight must"):
        Profile.from_rankings(X, groups=WHO, max_weight=bound)
    with pytest.raises(ValueError, match=r"^max_weight=2 is for ballots with groups"):
        Profile.from_rankings(X, max_weight=2)


def test_counts_beyond_64_bits_are_refused():
    Profile.from_rankings(np.zeros((1000, 16)), sample_weight=np.ones(1000), max_weight=1e7)
    with pytest.raises(ValueError, match=r"^max_weight is too large"):
        Profile.from_rankings(np.zeros((1000, 20)), sample_weight=np.ones(1000), max_weight=1e10)
    bound = WeightBound(BALLOT, 2**52)
    refuse_large(127, 2, bound)
    with pytest.raises(ValueError, match=r"^max_weight is too large"):
        refuse_large(128, 2, bound)  # 128 x 2^52 x 2^2 = 2^61


def test_empty_columns_keep_the_bound_and_the_guarantee():
    X = np.empty((0, 3))
    profile = Profile.from_rankings(X, groups=[], sample_weight=[])
    assert (profile.n_voters, profile.bound) == (0, Profile.from_rankings([[0, 1, 2]], groups=["a"]).bound)
    assert Profile.from_rankings(X, voter_epsilon=[]).n_voters == 0
    assert DPBorda().fit(profile).privacy_ == DPBorda().fit(Profile.from_rankings([[0, 1, 2]], groups=["a"])).privacy_


TABLE = pd.DataFrame({"who": ["p", "q", "p", "q"], "w": [1.0, 0.5, 2.0, 1.0], "a": [1, 2, 1, 2], "b": [2, 1, 2, 1]})
TURNED = TABLE.sort_values("w", ascending=False)


@pytest.mark.parametrize("name", ["groups", "sample_weight", "voter_epsilon"])
def test_columns_of_other_rows_are_refused(name):
    column = TABLE["who" if name == "groups" else "w"]
    ballots = TURNED[["a", "b"]]
    with pytest.raises(ValueError, match=rf"{name} has another index than the ballots.*Pass {name}\.loc\[X\.index\]"):
        Profile.from_rankings(ballots, **{name: column})
    aligned = Profile.from_rankings(ballots, **{name: column.loc[ballots.index]})
    by_position = Profile.from_rankings(ballots.to_numpy(), **{name: column.loc[ballots.index]})
    for profile in (aligned, by_position, Profile.from_rankings(ballots, **{name: TURNED[column.name].tolist()})):
        if name == "voter_epsilon":
            assert profile.voter_epsilon.tolist() == TURNED["w"].tolist()
        else:
            assert profile.weights.each.tolist() == aligned.weights.each.tolist()


@pytest.mark.parametrize(("name", "column"), [("groups", "who"), ("sample_weight", "w")])
def test_columns_of_other_rows_are_refused_in_chunks(name, column):
    chunks = [TURNED[["a", "b"]].iloc[:3], TURNED[["a", "b"]].iloc[3:]]
    with pytest.raises(ValueError, match="has another index than the ballots"):
        Profile.from_chunks(chunks, **{name: TABLE[column]})
    assert Profile.from_chunks(chunks, **{name: TURNED[column]}).n_voters == 4


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_a_fit_refuses_columns_of_other_rows(in_pipeline):
    by_segment, own = SegmentedAggregator(["p", "q"]), LDPPairwise()
    if in_pipeline:
        by_segment, own = (make_pipeline(RatingsToRankings(), estimator) for estimator in (by_segment, own))
    prefix = ["segmentedaggregator__", "ldppairwise__"] if in_pipeline else ["", ""]
    with pytest.raises(ValueError, match="segments has another index than the ballots"):
        by_segment.fit(TURNED[["a", "b"]], **{f"{prefix[0]}segments": TABLE["who"]})
    with pytest.raises(ValueError, match="voter_epsilon has another index than the ballots"):
        own.fit(TURNED[["a", "b"]], **{f"{prefix[1]}voter_epsilon": TABLE["w"]})
    by_segment.fit(TURNED[["a", "b"]], **{f"{prefix[0]}segments": TURNED["who"]})


@pytest.mark.parametrize("name", ["groups", "sample_weight", "max_weight"])
def test_error_of_fit_names_the_place_of_persons_and_weights(name):
    budget = PrivacyBudget(1.0)
    searches = GridSearchCV(DPBorda(), {}), PrivateSelection(DPBorda(), {})
    fits = [estimator.fit for estimator in (DPBorda(), SegmentedAggregator(), *searches)]
    for fit in (*fits, DPStreamingBorda().partial_fit, lambda X, **more: budget.fit(DPBorda(), X, **more)):
        with pytest.raises(TypeError, match=rf"fit\(Profile\.from_rankings\(X, {name}=\.\.\.\)\)"):
            fit([[0, 1]], **{name: [1]})
    with pytest.raises(TypeError, match=r"Use SegmentedAggregator\(classes\)"):
        DPBorda().fit([[0, 1]], segments=["a"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        DPBorda().fit([[0, 1]], weights=[1])
    assert budget.releases_ == ()


@pytest.mark.parametrize("name", ["groups", "sample_weight"])
def test_error_of_score_names_the_place_of_persons_and_weights(name):
    X = [[0, 1]] * 9
    search = GridSearchCV(DPBorda(), {}, n_trials=1, progress=False).fit(X)
    scores = DPBorda().fit(X).score, search.score, PrivateSelection(DPBorda(), {}).fit(X).score
    for score in (*scores, SegmentedAggregator().score):
        with pytest.raises(TypeError, match=rf"\.score got .* score\(Profile\.from_rankings\(X, {name}=\.\.\.\)\)"):
            score(X, **{name: [1] * 9})
    belongs = rf"^cross_validate got .* cross_validate\(estimator, Profile\.from_rankings\(X, {name}=\.\.\.\)\)"
    with pytest.raises(TypeError, match=belongs):
        cross_validate(DPBorda(), X, **{name: [1] * 9})


def test_a_person_with_the_smallest_weight_is_counted():
    weights = Weights(np.array([1, 0, WEIGHT_GRID]), np.array([0, 1, 2]))
    assert persons_by_weight(weights).tolist() == [2] + [0] * 11


# The bound on the length of a ballot

LISTS = np.array([[0, 1, 2, 3], [1, 0, np.nan, np.nan], [2, 2, 0, np.nan], [np.nan] * 4, [3, 2, 1, 0], [0, np.nan] * 2])


@given(X=profiles(), k=st.integers(2, 7), seed=st.integers(0, 5))
def test_long_ballots_count_less(X, k, seed):
    w = np.random.default_rng(seed).gamma(1, 2, len(X))
    profile = Profile.from_rankings(X, sample_weight=w, max_weight=3, max_listed=k)
    plain = Profile.from_rankings(X, sample_weight=w, max_weight=3)
    lengths = (~np.isnan(X.astype(float))).sum(axis=1).tolist()
    exact = [
        each * (WEIGHT_GRID * k * (k - 1) // (n * (n - 1)) if n > k else WEIGHT_GRID) // WEIGHT_GRID
        for each, n in zip(plain.weights.each.tolist(), lengths, strict=True)
    ]
    np.testing.assert_array_equal(profile.pairwise_counts, np.zeros_like(plain.margins) + weighted_pairs(X, exact))
    np.testing.assert_array_equal(profile.placements, plain.placements)
    assert profile.total_weight == plain.total_weight and profile.max_listed == k


@pytest.mark.parametrize("most", [2**52, 1e10 * WEIGHT_GRID])
def test_weights_of_long_ballots_do_not_overflow(most):
    each = np.array([int(most), int(most) - 1])
    n_listed = Profile.from_rankings([range(1000)] * 2).positions.n_listed
    assert n_listed.tolist() == [1000, 1000]
    for k in (2, 500, 999):
        share = WEIGHT_GRID * k * (k - 1) // (1000 * 999)
        assert shortened(each, n_listed, k).tolist() == [w * share // WEIGHT_GRID for w in each.tolist()]
    assert shortened(each, n_listed, 10**30).tolist() == each.tolist()
    longest = np.array([65_534, 65_534], dtype=np.uint16)
    assert shortened(each, longest, 65_533).tolist() == [
        w * (WEIGHT_GRID * 65_532 // 65_534) // WEIGHT_GRID for w in each.tolist()
    ]


def test_weight_of_a_long_ballot_depends_on_no_other_ballot():
    for k in (2, 3):
        together = Profile.from_rankings(LISTS, max_listed=k)
        alone = [Profile.from_rankings([x], max_listed=k).pairwise_counts for x in LISTS]
        np.testing.assert_array_equal(together.pairwise_counts, np.sum(alone, axis=0))


LIMITS = [{}, {"groups": ["a", "b", "a", "c", "d", "b"]}, {"sample_weight": [1, 2, 0.5, 1, 3, 1], "max_weight": 2}]


@pytest.mark.parametrize("keep", ["counts", "positions"])
@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: " ".join(limits) or "none")
def test_bound_is_the_same_in_chunks_pickles_and_parts(limits, keep):
    whole = Profile.from_rankings(LISTS, max_listed=2, **limits)
    same(whole, Profile.from_chunks([LISTS[:1], LISTS[1:1], LISTS[1:]], keep=keep, max_listed=2, **limits))
    same(whole, pickle.loads(pickle.dumps(whole)))
    same(whole, whole.counted())
    first, rest = (whole.take(rows) for rows in ([0, 1], [2, 3, 4, 5]))
    np.testing.assert_array_equal(first.pairwise_counts + rest.pairwise_counts, whole.pairwise_counts)
    assert first.bound == whole.bound and whole.max_listed == 2
    if "groups" not in limits:
        same(whole, first + rest)
        same(whole, first.counted() + rest.counted())


def test_bound_is_the_same_in_dask_partitions():
    array = pytest.importorskip("dask.array")
    same(
        Profile.from_rankings(LISTS, max_listed=2),
        Profile.from_chunks(array.from_array(LISTS, chunks=(2, 4)), max_listed=2),
    )


@pytest.mark.parametrize(
    "other", [{}, {"max_listed": 3}, {"max_listed": 2, "sample_weight": np.ones(6), "max_weight": 2}]
)
@pytest.mark.parametrize("counted", [False, True])
def test_profiles_of_different_lengths_do_not_add_up(other, counted):
    one, other = Profile.from_rankings(LISTS, max_listed=2), Profile.from_rankings(LISTS, **other)
    one, other = (one.counted(), other.counted()) if counted else (one, other)
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ValueError, match="same max_weight, max_listed and unit"):
            first + second


@pytest.mark.parametrize("bad", [1, 0, -2, 2.5, "3", True, np.nan, [2]])
@pytest.mark.parametrize("read", [Profile.from_rankings, lambda X, **more: Profile.from_chunks([X], **more)])
def test_bound_on_the_length_is_an_integer_of_at_least_two(bad, read):
    with pytest.raises(ValueError, match=r"^max_listed must be None or an integer of at least 2"):
        read(LISTS, max_listed=bad)


def test_many_short_ballots_fit_into_64_bits():
    items = np.zeros((3000, 2000))
    weights = {"sample_weight": np.ones(3000), "max_weight": 1000}
    with pytest.raises(ValueError, match=r"^max_weight is too large"):
        Profile.from_rankings(items, **weights)
    assert Profile.from_rankings(items, **weights, max_listed=20).bound.most == 1000 * WEIGHT_GRID
