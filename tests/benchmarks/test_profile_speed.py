"""Counting, classic rules and Mallows draws against naive twins: ratios travel between machines, times do not.

Run with ``pytest tests/benchmarks -o addopts="--import-mode=importlib"``.
"""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from benchmark_tools import compare
from scipy.stats import rankdata

from sklearn_dprank.ballots.counting import count_pairs, net_wins
from sklearn_dprank.ballots.reading import Positions, compact_positions
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.preprocessing import RatingsToRankings

PIECE = 1 << 17  # bytes: 128 KB of each row at a time


# Pairwise counts


def bare_loop(table, both_ways=False):
    """What NumPy needs at least: one comparison and one count for each pair i < j of rows; for ties, each way."""
    n_items, n_voters = table.shape
    counts = np.zeros((n_items, n_items), dtype=np.int64)
    for start in range(0, n_voters, PIECE):
        rows = list(table[:, start : start + PIECE])
        for i, j in combinations(range(n_items), 2):
            counts[i, j] += np.count_nonzero(rows[i] < rows[j])
            if both_ways:
                counts[j, i] += np.count_nonzero(rows[j] < rows[i])
    return counts


def ballots(n_voters, n_items, kind):
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(n_items), (n_voters, 1)), axis=1)
    if kind == "tied":
        return X // 2
    return np.where(rng.random(X.shape) < 0.2, np.nan, X) if kind == "partial" else X


@pytest.mark.parametrize(
    ("n_voters", "n_items", "kind", "limit"),
    [
        (100_000, 45, "strict", 2.0),  # 1.5 on a quiet machine
        (5_000, 45, "strict", 2.0),
        (1_000_000, 10, "strict", 3.0),  # with few items the check that ballots are strict weighs more
        (5_000, 10, "strict", 4.0),
        # Each direction of a pair is counted by itself where there are ties.
        (100_000, 45, "tied", 3.0),
        (100_000, 45, "partial", 4.0),
    ],
)
def test_counting(benchmark, n_voters, n_items, kind, limit):
    positions = compact_positions(ballots(n_voters, n_items, kind))
    twin = partial(bare_loop, positions.table)
    counts = compare(benchmark, partial(count_pairs, positions), twin, at_most=limit)
    if kind == "strict":
        np.testing.assert_array_equal(np.triu(counts), twin())


def many_ballots(n_voters, n_items, kind):
    """Rotations of one order, made in compact form."""
    dtype = np.uint8 if n_items < 255 else np.uint16
    first = np.random.default_rng(0).integers(n_items, size=n_voters, dtype=np.uint16)
    table = np.empty((n_items, n_voters), dtype=dtype)
    for item, row in enumerate(table):
        row[:] = (first + np.uint16(item)) % np.uint16(n_items)
    if kind == "tied":
        table //= dtype(2)
    return Positions(table, np.zeros(n_items, dtype=bool))


@pytest.mark.parametrize(
    ("n_voters", "n_items", "kind", "limit"),
    [
        (10_000_000, 10, "strict", 2.0),  # 1.5 where cores are shared, of which the check that ballots are strict .4
        (10_000_000, 10, "tied", 1.5),
        (5_000, 885, "strict", 1.0),
        (5_000, 885, "tied", 1.0),
        (12, 885, "strict", 0.2),  # few voters are added up in bytes
    ],
)
def test_counting_much(benchmark, n_voters, n_items, kind, limit):
    positions = many_ballots(n_voters, n_items, kind)
    twin = partial(bare_loop, positions.table, both_ways=kind == "tied")
    counts = compare(benchmark, partial(count_pairs, positions), twin, at_most=limit, rounds=2)
    np.testing.assert_array_equal(np.triu(counts), np.triu(twin()))


@pytest.mark.parametrize(("n_voters", "n_items", "times"), [(100_000, 45, 1.5), (20_000, 200, 4), (5_000, 885, 8)])
def test_net_wins_of_strict_ballots(benchmark, n_voters, n_items, times):
    """The check that they are strict and sums of positions, against counts of all pairs."""
    positions = many_ballots(n_voters, n_items, "strict")

    def twin():
        counts = count_pairs(positions)
        return (counts - counts.T).sum(axis=1)

    wins = compare(benchmark, partial(net_wins, positions), twin, at_least=times, rounds=2)
    np.testing.assert_array_equal(wins, twin())


@pytest.mark.parametrize("ties", [False, True])
def test_ratings_to_positions(benchmark, ties):
    """Both ways that ratings are read take less than SciPy's ranks, which are one of the two."""
    ratings = np.random.default_rng(0).normal(size=(50_000, 45))
    ratings = ratings.round(1) if ties else ratings
    twin = partial(rankdata, -ratings, method="min", axis=1)
    to_rankings = RatingsToRankings().fit(ratings)

    def ours():
        return compact_positions(-ratings), to_rankings.transform(ratings)

    _, found = compare(benchmark, ours, twin, at_most=1.5, rounds=3)
    np.testing.assert_array_equal(found, twin() - 1)


# Data


def naive_mallows(n_voters, n_items, phi, rng):
    """Repeated insertion, one voter and one item at a time."""
    out = np.empty((n_voters, n_items), dtype=np.int64)
    for row in out:
        order = []
        for item in range(n_items):
            weights = phi ** np.arange(item + 1.0)
            order.insert(item - rng.choice(item + 1, p=weights / weights.sum()), item)
        row[order] = np.arange(n_items)
    return out


@pytest.mark.parametrize(("n_voters", "n_items"), [(5_000, 45), (1_000_000, 10)])
def test_make_mallows(benchmark, n_voters, n_items):
    ours = partial(make_mallows, n_voters, n_items, 0.75, random_state=0)
    twin = partial(naive_mallows, 100, n_items, 0.75, np.random.default_rng(0))
    compare(benchmark, ours, twin, share=100 / n_voters, at_least=20, rounds=2)
