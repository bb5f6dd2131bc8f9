"""Scores of top lists: values, and what one list or person adds, against brute force in exact integers."""

from itertools import combinations
from math import isqrt

import numpy as np
import pytest
from list_tools import STEPS, private_profile, totals
from oracles import all_ballots

from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import WEIGHT_GRID
from sklearn_dprank.queries import TopListScores
from sklearn_dprank.queries.base import weighted_sensitivity

SCORES = {"logarithmic": None, "equal": (1.0, 1.0, 1.0, 1.0), "falling": (7.0, 2.5, 0.5, 0.0), "first": (1.0, 0, 0, 0)}
EVERY = all_ballots(4)
every_scores = pytest.mark.parametrize("name", SCORES)
every_k = pytest.mark.parametrize("k", [2, 3])


def scores_of(name, k):
    return None if SCORES[name] is None else SCORES[name][:k]


def contributions(k, scores):
    """What each ballot on four items adds to the scores of a public catalogue."""
    ballots = [Profile.from_rankings([ballot], max_listed=k) for ballot in EVERY]
    return np.array([TopListScores(scores).vector(ballot, None) // WEIGHT_GRID for ballot in ballots])


def naive(ballot, k, scores):
    """The scores of one ballot by position, groups of ties one by one."""
    scores = 1 / np.log2(np.arange(2, k + 2)) if scores is None else scores
    whole = [round(score / scores[0] * 2**15) for score in scores]
    places = sorted({place for place in ballot if place == place})
    j = min(sum(place == place for place in ballot), k)
    norm = sum(score**2 for score in whole[:j])
    out, first = [0] * len(ballot), 0
    for place in places:
        tied = [i for i, other in enumerate(ballot) if other == place]
        own = [isqrt(2**32 * score**2 // norm) for score in whole[first:j]][: len(tied)]
        for i in tied:
            out[i] = sum(own) // len(tied)
        first += len(tied)
    return out


@every_k
@every_scores
def test_values_of_every_ballot_on_four_items(k, name):
    scores = scores_of(name, k)
    np.testing.assert_array_equal(contributions(k, scores), [naive(ballot, k, scores) for ballot in EVERY])


def test_a_list_of_one_item_gives_it_one_vote():
    alone = contributions(3, None)[np.isnan(EVERY).sum(axis=1) == 3]
    assert len(alone) == 4 and (alone.max(axis=1) == STEPS).all() and (alone.sum(axis=1) == STEPS).all()


@every_k
@every_scores
def test_sensitivity_over_every_pair_of_ballots(k, name):
    """The squared L2 norm of what one ballot adds, or moves, and the L1 norm; the first two are reached."""
    scores = scores_of(name, k)
    added = contributions(k, scores)
    moved = np.array([one - other for one, other in combinations(added, 2)])
    for neighboring, changes in (("add_remove", added), ("replace", moved)):
        stated = TopListScores(scores).sensitivity(4, neighboring, k)
        squares = (changes**2).sum(axis=1).max()
        assert squares <= stated.l2_squared
        assert squares >= 0.999 * float(stated.l2_squared) or (neighboring == "replace" and k == 3)
        assert np.abs(changes).sum(axis=1).max() <= stated.l1


@every_k
def test_several_lists_of_a_person_add_no_more_than_one(k):
    rng = np.random.default_rng(0)
    for _ in range(50):
        lists = [rng.permutation(4)[: rng.integers(1, 5)].tolist() for _ in range(rng.integers(1, 4))]
        profile = Profile.from_orders(lists, items=range(4), person=["p"] * len(lists), max_listed=k)
        found = TopListScores().vector(profile, None)
        limit = weighted_sensitivity(TopListScores(), 4, "add_remove", profile.bound)
        assert (found.astype(object) ** 2).sum() <= limit.l2_squared and found.sum() <= limit.l1


@every_k
def test_totals_are_sums_over_ballots(k):
    added = contributions(k, None)
    whole = TopListScores().vector(Profile.from_rankings(EVERY, max_listed=k), None)
    np.testing.assert_array_equal(whole, added.sum(axis=0) * WEIGHT_GRID)
    by_row = TopListScores().vector(Profile.from_rankings(EVERY[::-1]), None)
    np.testing.assert_array_equal(by_row, TopListScores().vector(Profile.from_rankings(EVERY), None))


def is_in_family(part, k, scores):
    """Whether a contribution has at most k items, and partial sums, largest first, of at most those of a row."""
    row = TopListScores(scores).family(k)[min(np.count_nonzero(part), k) - 1] // WEIGHT_GRID
    sums = np.sort(part)[::-1][:k].cumsum()
    return np.count_nonzero(part) <= k and (sums <= np.sort(row)[::-1].cumsum()).all()


@every_k
@pytest.mark.parametrize("scores", [None, "equal"])
def test_a_ballot_on_private_items_is_in_the_family_of_the_threshold(k, scores):
    """Also if many items are tied. A symmetric convex and rising function is largest at a row of the family."""
    scores = None if scores is None else (1.0,) * k
    for ballot in EVERY:
        for seed in range(4):
            part = totals(private_profile([ballot], k), 4, scores, seed)
            assert not part.any() or is_in_family(part, k, scores)


@every_k
def test_lists_of_a_person_become_one_list_of_private_items(k):
    rng = np.random.default_rng(1)
    for _ in range(50):
        lists = [rng.permutation(6)[: rng.integers(1, 7)].tolist() for _ in range(rng.integers(1, 4))]
        profile = Profile.from_orders(lists, items="private", person=["p"] * len(lists), max_listed=k)
        assert profile.n_voters == 1 and is_in_family(totals(profile, 6), k, None)


def test_lists_of_a_person_are_merged_by_mean_place():
    lists, persons = [[5, 6, 4, 7], [7, 5], [8], [9]], ["p", "p", "q", None]
    profile = Profile.from_orders(lists, items="private", person=persons, max_listed=3)
    merged = Profile.from_orders([[5, 6, 7, 4], [8]], items="private", max_listed=3)
    np.testing.assert_array_equal(totals(profile, 10), [*totals(merged, 9), 0])


def test_coins_choose_among_items_tied_over_the_last_position():
    """Each of four tied items is equally often among the two that count."""
    tied, n = np.zeros((1, 4)), 300
    counted = np.array([totals(private_profile(tied, 2), 4, seed=seed) > 0 for seed in range(n)])
    assert (counted.sum(axis=1) == 2).all()
    assert np.abs(counted.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(n)


def test_totals_of_private_items_do_not_depend_on_the_order_of_rows_or_on_other_persons():
    rng = np.random.default_rng(2)
    ballots = np.array([[0, 1, 2, np.nan], [2, np.nan, 0, 1], [np.nan, 0, np.nan, np.nan]])
    person, item = np.nonzero(~np.isnan(ballots))
    expected = totals(private_profile(ballots, 3), 4)
    for _ in range(10):
        order = rng.permutation(len(person))
        rows = {"person": person[order], "item": item[order], "position": ballots[person, item][order]}
        np.testing.assert_array_equal(totals(Profile.from_long(**rows, items="private", max_listed=3), 4), expected)
    parts = [totals(private_profile([ballot], 3), 4) for ballot in ballots]
    np.testing.assert_array_equal(np.sum(parts, axis=0), expected)


@pytest.mark.parametrize("scores", [(), (0.0, 0.0), (1.0, 2.0), (1.0, -1.0), (np.nan, 0.0), [2.0, 1.0], (1.0, "x"), 3])
def test_scores_that_are_not_falling_numbers_are_refused(scores):
    with pytest.raises(ValueError, match="scores must be"):
        TopListScores(scores)


def test_one_score_is_needed_for_each_position_that_counts():
    with pytest.raises(ValueError, match=r"each of the 3 positions that count .* got 2"):
        TopListScores((2.0, 1.0)).sensitivity(9, "replace", 3)
