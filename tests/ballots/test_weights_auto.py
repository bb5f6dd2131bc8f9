"""Profiles with `max_weight="auto"` keep the weights that the choice of a bound needs."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import BALLOT, N_CLASSES, PERSON, WEIGHT_GRID, Weights, reduced

RNG = np.random.default_rng(0)
X = RNG.permuted(np.tile(np.arange(4.0), (60, 1)), axis=1)
WHO = RNG.integers(0, 12, 60)
W = RNG.gamma(1, 4, 60)
BOUNDS = [2**k for k in range(N_CLASSES)]
weights = st.floats(0, 1e308) | st.floats(0, 5000) | st.sampled_from([0.0, 1.0, 2.0, 5e-324, 1e305])
rows = st.lists(st.tuples(st.integers(0, 4), weights), min_size=1, max_size=30)


def auto(**more):
    return Profile.from_rankings(X, **more, max_weight="auto")


def with_bound(profile, max_weight):
    return profile.bounded(profile.bound.chosen(max_weight))


@pytest.mark.parametrize("more", [{"groups": WHO}, {"sample_weight": W}, {"groups": WHO, "sample_weight": W}])
@pytest.mark.parametrize("max_weight", BOUNDS)
def test_chosen_bound_gives_the_weights_of_a_given_one(more, max_weight):
    """Weights are rounded down to the grid before they are scaled, and again after, so at most a unit is lost."""
    chosen = with_bound(auto(**more), max_weight)
    stated = Profile.from_rankings(X, **more, max_weight=max_weight)
    assert chosen.bound == stated.bound and chosen.bound.max_weight == max_weight
    lost = stated.weights.each - chosen.weights.each
    assert lost.min() >= -1 and lost.max() <= 1
    assert "sample_weight" in more or not lost.any()  # the same unless doubles are rounded


@given(rows=rows, power=st.integers(0, N_CLASSES - 1))
@example(rows=[], power=0)
def test_no_person_has_more_than_the_chosen_bound(rows, power):
    persons, weight = [row[0] for row in rows], [row[1] for row in rows]
    profile = Profile.from_rankings(np.zeros((len(rows), 2)), groups=persons, sample_weight=weight, max_weight="auto")
    most = 2**power * WEIGHT_GRID
    before, after = (np.zeros(5, dtype=object) for _ in range(2))
    np.add.at(before, persons, profile.weights.each.tolist())
    np.add.at(after, persons, with_bound(profile, 2**power).weights.each.tolist())
    for person in set(persons):
        size = persons.count(person)
        assert min(before[person], most) - size < after[person] <= min(before[person], most)
    assert profile.persons_by_weight.sum() == (before > 0).sum()


@given(rows=rows)
def test_reduced_weights_depend_on_one_person(rows):
    persons, weight = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    each = Weights((np.minimum(weight, 4000 / len(rows)) * WEIGHT_GRID).astype(np.int64), persons)
    for person in set(persons.tolist()):
        own = persons == person
        alone = reduced(Weights(each.each[own], np.zeros(own.sum(), dtype=int)), 8 * WEIGHT_GRID)
        assert reduced(each, 8 * WEIGHT_GRID).each[own].tolist() == alone.each.tolist()


ONES = [(1, 1.0, 0), (2, 1.0, 1), (3, 1.0, 1), (4, 1.0, 2), (2047, 1.0, 10), (2048, 1.0, 11), (5000, 1.0, 11)]


@pytest.mark.parametrize(
    ("n_ballots", "weight", "place"), [*ONES, (1, 1e-5, 0), (1, 3.9999, 1), (1, 4.0, 2), (3, 1e308, 11)]
)
def test_a_person_is_in_one_class_by_total_weight(n_ballots, weight, place):
    rows, people = np.zeros((n_ballots + 1, 3)), [7] * n_ballots + [8]
    counts = Profile.from_rankings(
        rows, groups=people, sample_weight=[weight] * n_ballots + [0.0], max_weight="auto"
    ).persons_by_weight
    assert counts.tolist() == [int(k == place) for k in range(N_CLASSES)]
    assert not counts.flags.writeable


def test_without_groups_a_row_is_a_person():
    profile = auto(sample_weight=np.arange(60))
    assert (profile.bound.unit, auto(groups=WHO).bound.unit, profile.bound.most) == (BALLOT, PERSON, None)
    assert profile.persons_by_weight[:6].tolist() == [1, 2, 4, 8, 16, 28]
    assert Profile.from_rankings(X).persons_by_weight.tolist() == [60] + [0] * 11


def same(one, other):
    assert (one.bound, one.n_voters, one.total_weight) == (other.bound, other.n_voters, other.total_weight)
    np.testing.assert_array_equal(one.persons_by_weight, other.persons_by_weight)
    np.testing.assert_array_equal(with_bound(one, 4).pairwise_counts, with_bound(other, 4).pairwise_counts)


@pytest.mark.parametrize("more", [{"groups": WHO}, {"sample_weight": W}, {"groups": WHO, "sample_weight": W}])
def test_chunks_pickles_and_parts_keep_the_weights(more):
    whole = auto(**more)
    same(whole, Profile.from_chunks([X[:20], X[20:20], X[20:]], keep="positions", **more, max_weight="auto"))
    same(whole, pickle.loads(pickle.dumps(whole)))
    for chunks in ([X], [X[:20], X[20:]]):
        read = Profile.from_chunks(chunks, keep="positions", **more, max_weight="auto")
        assert not read.weights.each.flags.writeable  # a larger weight would exceed the bound
    same(whole, whole.take(np.arange(60)))
    some = np.flatnonzero(WHO < 9)
    part = {name: value[some] for name, value in more.items()}
    same(whole.take(some), Profile.from_rankings(X[some], **part, max_weight="auto"))
    assert not pickle.loads(pickle.dumps(whole)).persons_by_weight.flags.writeable


def test_profiles_of_ballots_add_up_and_those_of_persons_do_not():
    one, other = (Profile.from_rankings(X[s], sample_weight=W[s], max_weight="auto") for s in np.split(range(60), [25]))
    same(one + other, auto(sample_weight=W))
    with pytest.raises(ValueError, match="a person may have ballots in both"):
        auto(groups=WHO) + auto(groups=WHO)
    with pytest.raises(ValueError, match="same max_weight, max_listed and unit"):
        one + Profile.from_rankings(X, sample_weight=W, max_weight=4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: auto(groups=WHO, keep="counts"),
        lambda: Profile.from_chunks([X], groups=WHO, max_weight="auto"),
        lambda: auto(groups=WHO).counted(),
    ],
)
def test_counts_alone_are_not_enough(make):
    with pytest.raises(ValueError, match=r"^max_weight='auto' needs the ballots, .* use keep='positions'\.$"):
        make()
    with pytest.raises(ValueError, match="keeps only counts"):
        Profile.from_rankings(X, groups=WHO).counted().persons_by_weight  # noqa: B018


def test_wrong_bounds_are_refused():
    with pytest.raises(ValueError, match=r"^max_weight must be a number or 'auto', got 'most'"):
        Profile.from_rankings(X, groups=WHO, max_weight="most")
    with pytest.raises(ValueError, match=r"^max_weight='auto' is for ballots with groups or sample_weight"):
        auto()
    Profile.from_rankings(np.zeros((1000, 10)), sample_weight=np.ones(1000), max_weight="auto")
    with pytest.raises(ValueError, match=r"^max_weight='auto', which may be 2048, is too large for so many ballots"):
        Profile.from_rankings(np.zeros((10_000, 300)), sample_weight=np.ones(10_000), max_weight="auto")


def test_only_auto_profiles_take_a_chosen_bound():
    fixed, bound = Profile.from_rankings(X, groups=WHO, max_weight=1e9), auto(groups=WHO).bound
    for profile in (fixed, fixed.counted(), Profile.from_rankings(X)):
        with pytest.raises(ValueError, match=r"^only a Profile with max_weight='auto' can be given a bound"):
            profile.bounded(bound.chosen(2))
    with pytest.raises(ValueError, match="can be given a bound that a fit has chosen"):
        auto(groups=WHO).bounded(bound)
