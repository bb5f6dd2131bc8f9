"""Profiles of chunks equal those of tables, and need the memory of one chunk."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles import assert_same_profile, profiles

from sklearn_dprank.ballots.profile import Profile, is_lazy


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


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles(max_voters=15, max_items=5), st.data())
def test_merging_is_associative_and_commutative(X, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), min_size=2, max_size=2)))
    a, b, c = (Profile.from_rankings(part, keep="counts") for part in np.split(X, cuts))
    assert_same_profile((a + b) + c, a + (b + c))
    assert_same_profile(a + b + c, c + a + b)
    assert_same_profile(Profile._sum([a, b, c]), Profile.from_rankings(X))


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
    with pytest.raises(ValueError, match="profiles over 2 and 3 items do not add up"):
        Profile.from_chunks([frame, np.empty((0, 3))], keep=keep)
    with pytest.raises(ValueError, match="names in another order, do not add up"):
        Profile.from_chunks([frame, empty[["milk", "tea"]]], keep=keep)


def test_wrong_keep_is_refused_before_any_chunk_is_read():
    def chunks():
        raise AssertionError("read")
        yield

    with pytest.raises(ValueError, match=r"keep must be one of \['positions', 'counts'\], got 'all'"):
        Profile.from_chunks(chunks(), keep="all")


def test_size_counts_the_arrays():
    X = np.tile(np.arange(10), (1000, 1))
    kept, counted = Profile.from_rankings(X), Profile.from_rankings(X, keep="counts")
    assert 10_000 < sys.getsizeof(kept) < 11_000  # a byte an entry
    assert counted.pairwise_counts.nbytes < sys.getsizeof(counted) < 2000


def test_is_lazy_reads_the_class():
    class Yes:
        def __getattr__(self, name):
            return None

    class Collection:
        def __dask_graph__(self):
            return {}

    assert not is_lazy(Yes()) and not is_lazy([]) and not is_lazy(np.eye(2)) and not is_lazy([[[0, 1]]])
    assert is_lazy(Collection()) and is_lazy([Collection(), Collection()])
    assert not is_lazy([Collection(), [[0, 1]]])
