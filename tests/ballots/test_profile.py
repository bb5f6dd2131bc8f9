"""`Profile`: counts against a naive implementation, addition of parts, chunks, names, pickling and errors."""

import inspect
import pickle
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from oracles import assert_same_profile, naive_counts, naive_placements, odd_profiles, profiles
from process_tools import forking, in_child

from sklearn_dprank.ballots import counting
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import Positions
from sklearn_dprank.datasets import make_mallows


def placements(profile):
    return {(i, a, b): c for i, a, b, c in profile.placements.tolist()}


@pytest.mark.slow
@settings(max_examples=200)
@given(profiles())
def test_counts_equal_naive_counts(X):
    profile, counts = Profile.from_rankings(X), naive_counts(X)
    assert (profile.n_voters, profile.n_items) == X.shape
    np.testing.assert_array_equal(profile.pairwise_counts, counts)
    np.testing.assert_array_equal(profile.margins, counts - counts.T)
    np.testing.assert_array_equal(profile.net_wins, (counts - counts.T).sum(axis=1))
    assert placements(profile) == naive_placements(X)
    assert profile.without_opinions == (counts.sum() == 0) == Profile.from_rankings(X, keep="counts").without_opinions
    for statistic in (profile.pairwise_counts, profile.margins, profile.net_wins, profile.placements):
        assert statistic.dtype == np.int64


@pytest.mark.slow
@settings(max_examples=100)
@given(odd_profiles())
def test_counts_of_odd_dtypes_masks_and_widths(X):
    """float16 and int8 beyond 254 items, extreme spreads, masks: against a loop over voters and pairs of doubles."""
    doubles = np.ma.filled(np.ma.asarray(X).astype(np.float64), np.nan)
    expected = np.zeros((X.shape[1], X.shape[1]), dtype=np.int64)
    for row in doubles:
        with np.errstate(invalid="ignore"):
            expected += row[:, None] < row[None, :]
    profile = Profile.from_rankings(X)
    np.testing.assert_array_equal(profile.pairwise_counts, expected)
    silent = np.array([[value != value for value in row] for row in doubles])
    np.testing.assert_array_equal(profile.positions.sentinel == profile.positions.table.T, silent)
    np.testing.assert_array_equal(profile.positions.unranked, silent.any(axis=0))


@pytest.mark.parametrize("n_items", [8, 9, 16, 17, 33, 64, 65, 70, 128, 130, 254, 255, 300])
@pytest.mark.parametrize("flaw", ["none", "tie", "gap", "missing"])
def test_strict_rankings_of_any_width(n_items, flaw):
    """One tied, gapped or partial ballot among strict ones must not be taken for strict."""
    X = np.random.default_rng(n_items).permuted(np.tile(np.arange(float(n_items)), (3, 1)), axis=1)
    last = X[1].argmax()
    X[1, last] = {"none": n_items - 1, "tie": n_items - 2, "gap": n_items, "missing": np.nan}[flaw]
    profile = Profile.from_rankings(X)
    np.testing.assert_array_equal(profile.pairwise_counts, naive_counts(X))
    assert placements(profile) == naive_placements(X)


@pytest.mark.parametrize("keep", ["positions", "counts"])
@pytest.mark.parametrize(
    "others",
    [{}, {"sample_weight": [0.5, 1, 2], "max_weight": 2}, {"max_listed": 2}, {"voter_epsilon": [1.0, 2.0, 1.0]}],
)
def test_counts_are_so_many_ballots(keep, others):
    X, counts = np.array([[0, 1, 2], [1, 0, np.nan], [np.nan, np.nan, 0]]), [3, 2, 0]
    found = Profile.from_rankings(X, counts=counts, keep=keep, **others)
    repeated = {name: np.repeat(each, counts) if np.ndim(each) else each for name, each in others.items()}
    expected = Profile.from_rankings(np.repeat(X, counts, axis=0), keep=keep, **repeated)
    assert (found.n_voters, found.total_weight, found.bound) == (5, expected.total_weight, expected.bound)
    np.testing.assert_array_equal(found.pairwise_counts, expected.pairwise_counts)
    np.testing.assert_array_equal(found.placements, expected.placements)
    np.testing.assert_array_equal(found.voter_epsilon, expected.voter_epsilon)
    if keep == "positions":
        np.testing.assert_array_equal(found.positions.table, expected.positions.table)
        np.testing.assert_array_equal(found.positions.unranked, [False, False, True])


@pytest.mark.parametrize(
    ("counts", "others", "message"),
    [
        ([1, 0.5], {}, "counts must hold whole numbers, and one has a fraction; use sample_weight for weights."),
        ([1, -1], {}, "counts must hold one finite number of at least 0 for each ballot."),
        ([1, np.nan], {}, "counts must hold one finite number of at least 0 for each ballot."),
        ([1], {}, "counts must hold one finite number of at least 0 for each ballot."),
        (["a", "b"], {}, "counts must hold numbers."),
        ([1, 1e300], {}, "counts adds up to more voters than fit into memory; check that it counts voters."),
        ([1, 1], {"groups": ["a", "b"]}, "counts counts persons, and groups names them; leave one of them out."),
    ],
)
def test_counts_that_are_not_numbers_of_voters_are_refused(counts, others, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Profile.from_rankings([[0, 1], [1, 0]], counts=counts, **others)


@pytest.mark.parametrize("strict", [True, False])
def test_pieces_add_up(monkeypatch, strict):
    monkeypatch.setattr(counting, "_PIECE", 16)
    monkeypatch.setattr(counting, "_TABLE", 15)  # 3 voters at a time
    monkeypatch.setattr(counting, "_PLACED", 30)
    rng = np.random.default_rng(2)
    X = rng.permuted(np.tile(np.arange(5.0), (151, 1)), axis=1)
    if not strict:
        X[60:100] = rng.integers(0, 3, (40, 5))  # strict pieces, then tied ones
        X[rng.random(X.shape) < 0.1] = np.nan
    profile = Profile.from_rankings(X)
    np.testing.assert_array_equal(profile.pairwise_counts, naive_counts(X))
    assert placements(profile) == naive_placements(X)


@pytest.mark.slow
@settings(max_examples=100)
@given(profiles(max_voters=20), st.lists(st.integers(0, 20), max_size=4), st.sampled_from(["counts", "positions"]))
def test_chunks_are_the_whole(X, cuts, keep):
    cuts = sorted({cut for cut in cuts if 0 < cut < len(X)})
    profile = Profile.from_chunks(iter(np.split(X, cuts)), keep=keep)
    assert (profile.positions is None) == (keep == "counts")
    assert_same_profile(profile, Profile.from_rankings(X))


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles(max_voters=8), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_profiles_add(X, seed, first_counted, second_counted):
    Y = np.random.default_rng(seed).integers(-3, 3, (5, X.shape[1])) / 2
    one = Profile.from_rankings(X, keep="counts" if first_counted else "positions")
    other = Profile.from_rankings(Y, keep="counts" if second_counted else "positions")
    total = one + other
    assert (total.positions is None) == (first_counted or second_counted)
    assert_same_profile(total, Profile.from_rankings(np.concatenate([X.astype(float), Y])))
    assert_same_profile(total, other + one)


def test_counts_only_forgets_the_ballots():
    profile = Profile.from_rankings([[0, 1, 2], [1, np.nan, 1]], items=["a", "b", "c"], keep="counts")
    assert profile.positions is None
    assert not any(isinstance(value, Positions) for value in vars(profile).values())
    np.testing.assert_array_equal(profile.pairwise_counts, [[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert profile.item_names.tolist() == ["a", "b", "c"]


def test_statistics_are_read_only():
    for profile in (Profile.from_rankings([[0, 1]]), Profile.from_rankings([[0, 1]], keep="counts")):
        for statistic in (profile.pairwise_counts, profile.margins, profile.net_wins, profile.placements):
            with pytest.raises(ValueError, match="read-only"):
                statistic[0] = 5


@pytest.mark.parametrize("keep", ["counts", "positions"])
def test_pickle(keep):
    profile = Profile.from_rankings([[0, 1, np.nan], [2, 1, 1]], items=["a", "b", "c"], keep=keep)
    profile.net_wins  # noqa: B018
    copy = pickle.loads(pickle.dumps(profile))
    assert not any(array.flags.writeable for array in (copy.pairwise_counts, copy.placements, copy.net_wins))
    assert_same_profile(copy, profile)
    np.testing.assert_array_equal(copy.net_wins, profile.net_wins)
    assert copy.item_names.tolist() == ["a", "b", "c"]


def test_names():
    frame = pd.DataFrame([[0, 1], [1, 0]], columns=["tea", "milk"])
    assert Profile.from_rankings(frame).item_names.tolist() == ["tea", "milk"]
    assert Profile.from_rankings(frame, items=["a", "b"]).item_names.tolist() == ["a", "b"]
    assert Profile.from_rankings(frame.to_numpy()).item_names is None
    assert Profile.from_chunks([frame, frame]).item_names.tolist() == ["tea", "milk"]
    nameless = Profile.from_rankings([[0, 1]])
    assert (nameless + Profile.from_rankings(frame)).item_names.tolist() == ["tea", "milk"]
    assert (Profile.from_rankings(frame) + nameless).item_names.tolist() == ["tea", "milk"]


def test_names_may_be_whole_numbers():
    X, ids = [[0, 1, 2], [1, 0, 2]], [30, 10, 20]
    frame = pd.DataFrame(X, columns=ids)
    for profile in (
        Profile.from_rankings(frame),
        Profile.from_rankings(X, items=ids),
        Profile.from_chunks([X, frame]),
        Profile.from_chunks([X], items=np.array(ids)),
        Profile.from_rankings(frame, keep="counts") + Profile.from_rankings(X),
    ):
        assert profile.item_names.tolist() == ids
        assert [type(name) for name in profile.item_names] == [int] * 3
    assert Profile.from_rankings(pd.DataFrame(X)).item_names is None  # just numbered
    moved = pd.DataFrame(X)[[2, 0, 1]]
    assert Profile.from_rankings(moved).item_names.tolist() == [2, 0, 1]
    for other in (X, pd.DataFrame(X), frame, frame[[10, 20, 30]]):
        with pytest.raises(ValueError, match="the same names in another order, do not add up"):
            Profile.from_chunks([moved, other])


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ("votes.soc", "chunks is a str, not ballots; read a PrefLib file with sklearn_dprank.datasets.read_preflib"),
        ({"monday": [[0, 1]]}, "chunks is a dict, not a table"),
        (np.array([[0, 1], [1, 0]]), "chunks is one table of ballots; read it with Profile.from_rankings, or pass"),
        (pd.DataFrame([[0, 1]]), "chunks is one table of ballots"),
    ],
    ids=["path", "dict", "table", "frame"],
)
def test_wrong_chunks_are_refused(chunks, expected):
    with pytest.raises(ValueError, match=f"^{expected}"):
        Profile.from_chunks(chunks)


@pytest.mark.parametrize("keep", ["counts", "positions"])
def test_epsilons_stay_with_the_profile(keep):
    X, own = np.array([[0, 1, 2], [2, 1, 0]]), np.array([1.0, 2.0])
    plain = Profile.from_rankings(X, keep=keep)
    given_later = plain.with_voter_epsilon(own)
    given_at_once = Profile.from_rankings(X, keep=keep, voter_epsilon=own)
    own[:] = 7  # the profile has a copy
    for profile in (given_later, given_at_once, given_later.counted(), pickle.loads(pickle.dumps(given_later))):
        assert_same_profile(profile, plain)
        assert profile.voter_epsilon.tolist() == [1, 2]
        with pytest.raises(ValueError, match="read-only"):
            profile.voter_epsilon[0] = 5
    assert plain.voter_epsilon is None
    total = given_later + given_at_once
    assert total.voter_epsilon.tolist() == [1, 2, 1, 2]
    assert_same_profile(total, plain + plain)


def test_addition_keeps_epsilons():
    X = [[0, 1, 2], [2, 1, 0]]
    for first, second in [("counts", "counts"), ("counts", "positions"), ("positions", "counts")]:
        one = Profile.from_rankings(X, keep=first, voter_epsilon=[1, 2])
        other = Profile.from_rankings(X, keep=second, voter_epsilon=[3, 4])
        assert (one + other).voter_epsilon.tolist() == [1, 2, 3, 4]
        with pytest.raises(ValueError, match="with and without voter_epsilon do not add up"):
            one + Profile.from_rankings(X, keep=second)


def test_errors():
    with pytest.raises(ValueError, match=r"keep must be one of \['positions', 'counts'\], got 'all'"):
        Profile.from_rankings([[0, 1]], keep="all")
    with pytest.raises(ValueError, match="items has 3 names for 2 items; give one name an item"):
        Profile.from_rankings([[0, 1]], items=["a", "b", "c"])
    with pytest.raises(ValueError, match="chunks is empty"):
        Profile.from_chunks([])
    with pytest.raises(ValueError, match="profiles over 2 and 3 items do not add up"):
        Profile.from_chunks([[[0, 1]], [[0, 1, 2]]])
    one = Profile.from_rankings([[0, 1]], items=["a", "b"])
    with pytest.raises(ValueError, match="the same names in another order, do not add up"):
        one + Profile.from_rankings([[0, 1]], items=["b", "a"])
    with pytest.raises(TypeError):
        one + 1


def test_strict_profiles():
    assert Profile.from_rankings(make_mallows(500, 6, 0.8, random_state=0)).strict
    assert not Profile.from_rankings([[0, 1, 1], [0, 1, 2]]).strict
    assert not Profile.from_rankings([[0, 1, np.nan], [0, 1, 2]]).strict
    assert not Profile.from_rankings([[0, 1, 2]], keep="counts").strict  # the ballots are not there


@forking[0]
@forking[1]
@pytest.mark.parametrize("name", ["net_wins", "pairwise_counts", "placements"])
def test_a_fork_does_not_wait_for_a_thread_that_counts(name):
    """On Python 3.11, `functools.cached_property` locks its class while it computes, and a child keeps that lock."""
    inside, leave = threading.Event(), threading.Event()
    prepared = inspect.getattr_static(Profile, name)

    def slow(profile):
        inside.set()
        leave.wait(60)
        return prepared.func(profile)

    slow.__name__ = name
    watched = type("Watched", (Profile,), {name: type(prepared)(slow)})
    thread = threading.Thread(target=lambda: getattr(watched.from_rankings([[0, 1, 2]]), name))
    thread.start()
    inside.wait(60)

    def child():
        leave.set()
        return getattr(watched.from_rankings([[0, 1, 2]]), name).tolist()

    try:
        assert in_child(child) == getattr(Profile.from_rankings([[0, 1, 2]]), name).tolist()
    finally:
        leave.set()
        thread.join()


# Chunks


@pytest.mark.parametrize("more", [{}, {"sample_weight": np.ones(250)}])
def test_one_chunk_at_a_time(more):
    """While a chunk is made, no earlier chunk is alive."""
    import weakref

    class Chunk(np.ndarray):
        pass

    alive = []

    def chunks():
        for seed in range(5):
            assert not any(ref() is not None for ref in alive)
            chunk = np.random.default_rng(seed).random((50, 4)).view(Chunk)
            alive.append(weakref.ref(chunk))
            yield chunk
            del chunk

    assert Profile.from_chunks(chunks(), **more).n_voters == 250


@pytest.mark.parametrize("keep", ["counts", "positions"])
def test_chunks_without_rows_add_no_voter(keep):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[0.0, 1.0], [np.nan, 0.0], [1.0, 0.0]], columns=["tea", "milk"])
    empty = frame.iloc[:0]
    total = Profile.from_chunks([empty, frame, empty, frame, empty], keep=keep)
    assert_same_profile(total, Profile.from_rankings(pd.concat([frame, frame])))
    assert total.item_names.tolist() == ["tea", "milk"]
    none = Profile.from_chunks([empty, empty.astype("datetime64[ns]")], keep=keep)
    assert none.n_voters == 0 and none.item_names.tolist() == ["tea", "milk"]
    assert Profile.from_chunks([frame, empty], items=["a", "b"], keep=keep).item_names.tolist() == ["a", "b"]


def test_size_counts_the_arrays():
    X = np.tile(np.arange(10), (1000, 1))
    kept, counted = Profile.from_rankings(X), Profile.from_rankings(X, keep="counts")
    assert 10_000 < sys.getsizeof(kept) < 11_000  # a byte an entry
    assert counted.pairwise_counts.nbytes < sys.getsizeof(counted) < 2000
