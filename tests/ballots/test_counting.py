"""Counts of pairs, net wins and placements, against naive counts and in pieces of any size."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles import naive_counts, profiles

from sklearn_dprank.ballots import counting
from sklearn_dprank.ballots.counting import count_pairs, net_wins, odd_ballots
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import Positions, compact_positions
from sklearn_dprank.datasets import make_mallows


@pytest.mark.slow
@pytest.mark.parametrize("by_bytes", [True, False])
@settings(max_examples=150)
@given(profiles(max_voters=12), st.integers(1, 12), st.integers(1, 40), st.integers(0, 3))
def test_pairs_by_pieces(by_bytes, X, width, tests, n_strict):
    """Strict ballots before others, so that pieces of both kinds come together."""
    m = X.shape[1]
    strict = [list(np.roll(np.arange(float(m)), k)) for k in range(n_strict)]
    X = np.vstack([*strict, X.astype(float)]) if strict else X
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_PIECE", width)
        patch.setattr(counting, "_TESTS", tests)
        patch.setattr(counting, "_BYTE", 255 if by_bytes else 0)
        np.testing.assert_array_equal(count_pairs(compact_positions(X)), naive_counts(X))


@pytest.mark.parametrize("kind", ["strict", "tied", "missing"])
@pytest.mark.parametrize(("n_voters", "n_items"), [(255, 5), (256, 5), (300, 260)])
def test_pairs_of_255_and_more_voters_and_items(n_voters, n_items, kind):
    """Numbers of voters and of items around the limit of one byte."""
    rng = np.random.default_rng(n_voters)
    X = rng.permuted(np.tile(np.arange(float(n_items)), (n_voters, 1)), axis=1)
    X[:, :2] = [-2, -1]  # all voters agree: counts of a pair are all of them and none
    if kind == "tied":
        X[:, 2:] //= 2
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    expected = sum((np.less.outer(x, x).astype(int) for x in X), np.zeros((n_items, n_items), dtype=int))
    np.testing.assert_array_equal(count_pairs(compact_positions(X)), expected)


@pytest.mark.parametrize("word", [64, 2])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_strict_among_all_tables_of_positions(monkeypatch, m, word):
    """A table is strict if every ballot has all positions 0 to m - 1. Other ballots have ties or gaps."""
    monkeypatch.setattr(counting, "_WORD", word)
    good = np.arange(m)
    for ballot in product(range(m + 1), repeat=m):
        table = np.array([good, ballot, good[::-1]], dtype=np.uint8).T
        strict = sorted(ballot) == good.tolist()
        assert Profile(3, m, positions=Positions(table, np.zeros(m, dtype=bool))).strict == strict
        monkeypatch.setattr(counting, "_MANY", 3)
        np.testing.assert_array_equal(odd_ballots(table), [] if strict else [1])
        monkeypatch.setattr(counting, "_MANY", 4)
        assert (odd_ballots(table) is None) != strict


@settings(max_examples=60)
@given(st.integers(2, 9), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_net_wins_of_strict_ballots(n_items, n_voters, seed):
    X = make_mallows(n_voters, n_items, 0.8, random_state=seed)
    wins = naive_counts(X)
    found = net_wins(compact_positions(X))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, (wins - wins.T).sum(axis=1))


def test_sums_of_positions_leave_32_bits(monkeypatch):
    monkeypatch.setattr(counting, "odd_ballots", lambda table: np.empty(0, dtype=np.intp))
    n_items, n_voters = 40_000, 120_000
    table = np.broadcast_to(np.arange(n_items, dtype=np.uint16)[:, None], (n_items, n_voters))
    found = net_wins(Positions(table[[0, -1]], np.zeros(2, dtype=bool)))
    assert (found == n_voters - 2 * n_voters * np.array([0, n_items - 1])).all()


@pytest.mark.parametrize("by_bytes", [True, False])
@pytest.mark.parametrize(
    "odd", [[0, 0, 1, 2, 3], [np.nan, 0, 1, 2, 3], [0, 2, 4, 6, 9], [np.nan] * 5, [1e6, 1e6, -1, 2, 0]]
)
def test_few_ballots_that_are_not_strict(monkeypatch, odd, by_bytes):
    """Ballots in four pieces: one has one odd ballot, another has two."""
    monkeypatch.setattr(counting, "_BYTE", 255 if by_bytes else 0)
    monkeypatch.setattr(counting, "_PIECE", 16)
    monkeypatch.setattr(counting, "_PLACED", 16 * 5)
    monkeypatch.setattr(counting, "_SUMMED", 16)
    X = make_mallows(64, 5, 0.9, random_state=0).astype(float)
    X[[3, 20, 30]] = odd
    positions, wins = compact_positions(X), naive_counts(X)
    np.testing.assert_array_equal(odd_ballots(positions.table), [3, 20, 30])
    np.testing.assert_array_equal(count_pairs(positions), wins)
    np.testing.assert_array_equal(counting.net_wins(positions), (wins - wins.T).sum(axis=1))
    placed = counting.merge_placements([counting.count_placements(compact_positions(X[v : v + 1])) for v in range(64)])
    np.testing.assert_array_equal(counting.count_placements(positions), placed)


@pytest.mark.parametrize("kind", ["strict", "some strict", "ties", "gaps", "short lists"])
@pytest.mark.parametrize(("weighted", "n_items"), [(False, 1000), (False, 1001), (True, 100), (True, 101)])
def test_net_wins_of_many_items_are_the_sums_of_their_margins(kind, weighted, n_items, monkeypatch):
    """Sorted ballots, beyond the limits, in pieces that do not divide the ballots evenly."""
    monkeypatch.setattr(counting, "_PLACED", 3 * n_items)
    rng = np.random.default_rng(n_items)
    X = rng.random((20, n_items)).argsort(axis=1).astype(float)
    tied = slice(2, 5) if kind == "some strict" else slice(None)
    if kind != "strict":
        X[tied] //= {"gaps": 1, "ties": 4}.get(kind, 2)
    if kind in ("gaps", "short lists"):
        X[rng.random(X.shape) < {"gaps": 0.1}.get(kind, 0.98)] = np.nan
    X[-1] = np.nan if kind == "gaps" else X[-1]
    columns = {"groups": rng.integers(0, 6, 20), "max_weight": 2, "max_listed": 10} if weighted else {}
    one, other = (Profile.from_rankings(X, **columns) for _ in range(2))
    np.testing.assert_array_equal(one.net_wins, other.margins.sum(axis=1))
    assert n_items in (100, 1000) or "pairwise_counts" not in vars(one)  # no table of pairs was made
