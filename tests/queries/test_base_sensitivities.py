"""Sensitivities of all queries of the package and of the test extensions, against all weak and partial ballots."""

import importlib
import pkgutil
import re
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from oracles import all_ballots, cost_of, distinct_ballots, naive_counts, permutohedron_gauge, rankings, seeded
from query_examples import examples

import sklearn_dprank
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels.plan import stated
from sklearn_dprank.channels.segmented import SegmentedProfile, SegmentNetWins, SegmentSizes
from sklearn_dprank.queries import (
    AllMargins,
    Ask,
    NetWins,
    OrderUtility,
    PairMargin,
    PersonsByWeight,
    Query,
    ScoresByHistogram,
)

EXTENSIONS = Path(__file__).parents[1] / "support" / "extensions"
NEIGHBORING = ["add_remove", "replace"]
SIZES = [3, 4]
SEGMENTED = {SegmentNetWins, SegmentSizes}
RATE = 0.7  # of the law exp(-rate cost) that the privacy loss per unit of rate is read from


def every_query():
    """Return the query classes that state a sensitivity."""
    for module in pkgutil.walk_packages(sklearn_dprank.__path__, "sklearn_dprank."):
        if "plotting" not in module.name:  # it has no queries and takes a second
            importlib.import_module(module.name)
    for path in EXTENSIONS.glob("*.py"):
        if not path.name.startswith("test_"):
            importlib.import_module(f"extensions.{path.stem}")
    waiting, found = [Query], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        stated = kind.sensitivity is not Query.sensitivity or kind.summed_as is not Query.summed_as
        stated |= kind.device_statistic is not None
        if kind.__module__.startswith(("sklearn_dprank.", "extensions.")) and stated:
            found.add(kind)
    return sorted(found, key=lambda kind: kind.__name__)


def test_a_statement_says_in_plain_words_what_each_query_of_the_package_asks():
    for kind in every_query():
        if kind.__module__.startswith("sklearn_dprank."):
            for query in examples(kind, 4):
                assert re.fullmatch(r"the [a-z ]+", stated(query).replace("Bradley-Terry", "")), query


def test_a_statement_names_a_query_that_inherits_its_words():
    class OfWomen(NetWins):
        pass

    assert stated(OfWomen()) == "OfWomen"


def cases(wanted):
    """Return (query, number of items) for the classes that satisfy `wanted`."""
    return [
        pytest.param(query, m, id=f"{query!r}-{m}")
        for kind in every_query()
        if wanted(kind)
        for m in SIZES
        for query in examples(kind, m)
    ]


VECTORS = cases(lambda kind: not issubclass(kind, OrderUtility))
ORDERS = cases(lambda kind: issubclass(kind, OrderUtility))


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("kind", every_query(), ids=lambda kind: kind.__name__)
def test_every_query_has_valid_examples(kind, m):
    queries = examples(kind, m)
    assert queries and all(type(query) is kind for query in queries) and NetWins in every_query()
    for query in queries:
        query.check(m)


# Vectors


def in_segments(query, ballots):
    """Return a profile of the ballots, or for a query about segments one profile for each segment and one for none."""
    profile = Profile.from_rankings(ballots)
    if type(query) not in SEGMENTED:
        return [profile]
    numbers = [np.full(len(ballots), number) for number in range(-1, query.n_segments)]
    return [SegmentedProfile(profile, each, query.n_segments) for each in numbers]


@lru_cache(maxsize=64)
def contributions(query, m):
    """Return the vector of each ballot alone, with several completions by coins."""
    alone = [profile for ballot in all_ballots(m) for profile in in_segments(query, [ballot])]
    return np.array([[query.vector(profile, seeded(seed)) for profile in alone] for seed in range(4)])


def steps(query, m, neighboring):
    """Return all differences between neighbours."""
    every = np.unique(np.concatenate(contributions(query, m)), axis=0)
    if neighboring == "add_remove":
        return every
    return np.unique((every[:, None] - every).reshape(-1, every.shape[1]), axis=0)


def gauges(moved, m):
    """Return the gauge of each change; gauges of segments add up, because their noise is independent."""
    return [sum(map(permutohedron_gauge, change.reshape(-1, m))) for change in moved]


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize(("query", "m"), VECTORS)
def test_no_ballot_moves_the_vector_further(query, m, neighboring):
    moved, stated = steps(query, m, neighboring), query.sensitivity(m, neighboring)
    assert np.abs(moved).sum(axis=1).max() <= stated.l1
    assert (moved**2).sum(axis=1).max() <= stated.l2_squared
    if stated.gauge is not None:
        assert max(gauges(moved, m)) <= stated.gauge


@pytest.mark.parametrize(("query", "m"), VECTORS)
def test_vector_of_a_profile_is_the_sum_over_its_ballots(query, m):
    """So the change by one ballot does not depend on other ballots."""
    by_coins = (contributions(query, m) != contributions(query, m)[0]).any()
    ballots = rankings(m)[::5] if by_coins else all_ballots(m)[::3]
    alone = [[query.vector(one, seeded(0)) for one in in_segments(query, [ballot])] for ballot in ballots]
    for segment, profile in enumerate(in_segments(query, ballots)):
        together = query.vector(profile, seeded(1))
        assert together.dtype == np.int64 and together.ndim == 1
        np.testing.assert_array_equal(together, np.sum([each[segment] for each in alone], axis=0))


# ScoresByHistogram states the sensitivity of all m! cells. Without weights, all ballots are in one class of
# PersonsByWeight; test_base_weighted_sensitivities.py tests the others.
LOOSE = {ScoresByHistogram, PersonsByWeight}


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize(
    "kind", [k for k in every_query() if not issubclass(k, OrderUtility) and k not in LOOSE], ids=lambda k: k.__name__
)
def test_sensitivities_are_less_than_twice_the_largest_change(kind, neighboring):
    for m in SIZES:
        seen = set()
        for query in examples(kind, m):
            moved, stated = steps(query, m, neighboring), query.sensitivity(m, neighboring)
            seen |= {"l1"} if np.abs(moved).sum(axis=1).max() > stated.l1 / 2 else set()
            seen |= {"l2"} if (moved**2).sum(axis=1).max() > stated.l2_squared / 2 else set()
            seen |= set() if any(stated) else {"l1", "l2"}
            if stated.gauge is None or max(gauges(moved, m)) > stated.gauge / 2:
                seen.add("gauge")
        assert seen == {"l1", "l2", "gauge"}


# Orders: the loss of the law exp(-rate cost), per unit of rate


def others(m):
    """Return ballots of other voters: unanimous, with one opponent, a cycle, ties and gaps."""
    ranking = np.arange(m)
    return [
        [ranking] * 60,
        [ranking] * 60 + [ranking[::-1]],
        [ranking[::-1]] * 60,
        [np.roll(ranking, k) for k in range(m)] * 5,
        [[0] * m, [0, 0, *range(1, m - 1)], [np.nan, *range(m - 1)]] * 3,
        [ranking, np.roll(ranking, 1)],
    ]


def log_law(query, counts):
    margins = counts - counts.T
    costs = np.array([cost_of(query, margins, order) for order in permutations(range(len(margins)))], dtype=float)
    weights = -RATE * costs[np.isfinite(costs)]
    return weights - np.logaddexp.reduce(weights)


@lru_cache(maxsize=32)
def laws(query, m):
    """Return for each base profile the log laws with each extra ballot, and the log law without one."""
    votes = [naive_counts([ballot]) for ballot in distinct_ballots(m)]
    bases = [np.zeros((m, m), dtype=int), *map(naive_counts, others(m))]
    return [(np.array([log_law(query, base + vote) for vote in votes]), log_law(query, base)) for base in bases]


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize(("query", "m"), ORDERS)
def test_no_ballot_costs_more_than_the_loss_stated(query, m, neighboring):
    worst = 0.0
    for added, base in laws(query, m):
        worst = max(worst, np.ptp(added, axis=0).max() if neighboring == "replace" else np.abs(added - base).max())
    stated = query.sensitivity(m, neighboring)
    assert worst / RATE <= stated.l1 * (1 + 1e-12)
    assert worst / RATE >= stated.l1 * 0.99
    assert stated.l2_squared == stated.l1**2


def test_an_ask_is_one_answer_for_the_whole_budget_by_default():
    assert Ask(NetWins())[1:] == (1, 1)


@pytest.mark.parametrize("method", ["vector", "sensitivity", "derive_from"])
def test_a_query_without_a_definition_is_not_answered(method):
    with pytest.raises(NotImplementedError):
        getattr(Query(), method)(3, "add_remove")


def test_an_answer_follows_from_itself_and_from_what_it_is_derived_from():
    assert all(query.is_derivable_from(AllMargins()) for query in (AllMargins(), NetWins(), PairMargin(0, 1)))
    assert not any(query.is_derivable_from(NetWins()) for query in (AllMargins(), PairMargin(0, 1)))


def test_a_kind_is_the_query_or_its_type_and_the_parameters_in_kind_by():
    assert NetWins().kind == NetWins()
    assert PairMargin(0, 1).kind == PairMargin(2, 1).kind != NetWins().kind
