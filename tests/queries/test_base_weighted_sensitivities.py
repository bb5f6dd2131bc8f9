"""Sensitivities on weighted ballots, against all pairs of ballots of one person."""

from functools import lru_cache
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import pytest
from oracles import cost_of, distinct_ballots, naive_counts, permutohedron_gauge
from query_examples import examples

from sklearn_dprank.ballots import Profile, weights
from sklearn_dprank.ballots.weights import COMPARISONS, WeightBound
from sklearn_dprank.model_selection.private import NetAgreement
from sklearn_dprank.queries import (
    AllMargins,
    GroupNetWins,
    Histogram,
    KemenyUtility,
    MaxViolatedMargin,
    MaxViolatedPrefixMargin,
    NetWins,
    NumberOfVoters,
    PairMargin,
    PairTallies,
    PersonsByWeight,
    PositionalScores,
)
from sklearn_dprank.queries.base import weighted_sensitivity
from sklearn_dprank.sampling.bit_source import SeededBits

M, BOUND, GRID = 3, 2.5, 6  # a coarse grid: a person has at most 15 units
LISTED = [None, 2]
VECTORS = [NetWins, AllMargins, PairMargin, PairTallies, GroupNetWins, PositionalScores, Histogram, NumberOfVoters]
VECTORS += [NetAgreement]
ORDERS = [KemenyUtility, MaxViolatedMargin, MaxViolatedPrefixMargin]
RATE = 0.2
NEIGHBORING = ["add_remove", "replace"]


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    monkeypatch.setattr(weights, "WEIGHT_GRID", GRID)


def persons(max_listed):
    """Yield profiles of one person with one or two ballots, with weights below and above the bound."""
    limits = {"max_weight": BOUND, "max_listed": max_listed}
    ballots = distinct_ballots(M)
    for x in ballots:
        yield Profile.from_rankings([x], groups=[0], sample_weight=[9], **limits)
    for x, y in combinations_with_replacement(ballots, 2):
        for w in ([1, 1], [0.5, 2], [9, 1], [9, 9]):
            yield Profile.from_rankings([x, y], groups=[0, 0], sample_weight=w, **limits)


@lru_cache(maxsize=32)
def contributions(query, max_listed):
    coins = SeededBits(np.random.SeedSequence(0))
    return np.unique([query.vector(person, coins) for person in persons(max_listed)], axis=0)


def stated(query, neighboring, max_listed=None):
    return weighted_sensitivity(query, M, neighboring, weights.weight_bound([0], None, BOUND, max_listed))


@pytest.mark.parametrize("max_listed", LISTED)
@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("query", [query for kind in VECTORS for query in examples(kind, M)], ids=repr)
def test_no_person_moves_the_vector_further(query, neighboring, max_listed):
    """A person may come or go under "replace" too, because the total weight is private."""
    every, limit = contributions(query, max_listed), stated(query, neighboring, max_listed)
    moved = every
    if neighboring == "replace":
        moved = np.concatenate([every, (every[:, None] - every).reshape(-1, every.shape[1])])
        moved = np.unique(moved, axis=0)
    assert limit.l1 / 2 < np.abs(moved).sum(axis=1).max() <= limit.l1 or not moved.any()
    assert limit.l2_squared / 4 < (moved**2).sum(axis=1).max() <= limit.l2_squared or not moved.any()
    if limit.gauge is not None:
        assert limit.gauge / 2 < max(map(permutohedron_gauge, moved)) <= limit.gauge + 1e-12


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("others", [[], [1, 2, 2, 9, 5000]])
def test_a_person_is_in_at_most_one_class(others, neighboring):
    """Try persons of up to three ballots with weights on both sides of each limit, alone and with other persons."""
    limits = [0, 0.5, 1, *(2**k + side for k in range(1, 13) for side in (-1, 0)), 9999]
    some = [[w] for w in limits] + [[w, v] for w, v in combinations(limits[::3], 2)] + [[w] * 3 for w in limits]
    counts = []
    for own in [[], *some]:
        rows = np.zeros((len(others) + len(own), M))
        groups = [*range(len(others)), *[99] * len(own)]
        w = np.array([*others, *own], dtype=float)
        profile = Profile.from_rankings(rows, groups=groups, sample_weight=w, max_weight="auto")
        counts.append(PersonsByWeight().vector(profile, None))
    counts, limit = np.array(counts), PersonsByWeight().sensitivity(M, neighboring)
    moved = counts[1:] - counts[0] if neighboring == "add_remove" else (counts[:, None] - counts).reshape(-1, 12)
    assert np.abs(moved).sum(axis=1).max() == limit.l1 == {"add_remove": 1, "replace": 2}[neighboring]
    assert (moved**2).sum(axis=1).max() == limit.l2_squared == limit.l1
    assert len(np.unique(counts[1:] - counts[0], axis=0)) == 13  # every class, and none without a positive weight


def log_law(query, margins):
    costs = np.array([cost_of(query, margins, order) for order in permutations(range(M))], dtype=float)
    kept = -RATE * costs[np.isfinite(costs)]
    return kept - np.logaddexp.reduce(kept)


@pytest.mark.parametrize("max_listed", LISTED)
@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("query", [query for kind in ORDERS for query in examples(kind, M)], ids=repr)
def test_no_person_costs_more_than_the_loss_stated(query, neighboring, max_listed):
    added, worst = np.unique([person.margins for person in persons(max_listed)], axis=0), 0.0
    bases = [[], [[0, 1, 2]] * 9, [[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 3, [[2, 1, 0]] * 4 + [[0, 0, 1]] * 3]
    for base in bases:
        counts = naive_counts(base) if base else np.zeros((M, M), dtype=int)
        margins = counts - counts.T
        laws = np.array([log_law(query, margins + one) for one in added])
        if neighboring == "replace":
            worst = max(worst, np.ptp(laws, axis=0).max())
        worst = max(worst, np.abs(laws - log_law(query, margins)).max())
    limit = stated(query, neighboring, max_listed)
    assert limit.l1 / 2 < worst / RATE <= limit.l1 * (1 + 1e-12)


@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_total_weight_is_private_under_both_relations(neighboring):
    assert stated(NumberOfVoters(), neighboring) == (15, 225, None)
    assert weighted_sensitivity(NumberOfVoters(), M, "replace") == NumberOfVoters().sensitivity(M, "replace")


@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_a_bound_in_l2_is_one_in_l1_for_all_numbers_of_a_query(neighboring):
    for m in (3, 40):
        bound = WeightBound(COMPARISONS, 720720, form="comparisons")
        limit = weighted_sensitivity(AllMargins(), m, neighboring, bound, "l2")
        assert limit.l2_squared == {"add_remove": 1, "replace": 4}[neighboring] * 720720**2 * m * (m - 1) / 2
        assert limit.l1**2 >= limit.l2_squared * m * (m - 1) / 2  # by Cauchy and Schwarz
