"""Compact ballots keep every opinion for all dtypes and layouts."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from oracles import profiles
from sklearn.utils import check_array

from sklearn_dprank.ballots import reading as compact
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import check_ballots, compact_positions, missing


def opinions(X):
    """Return whether voter v strictly prefers i to j, at [v, i, j], as doubles; NaN is a missing opinion."""
    X = np.asarray(X, dtype=np.float64)
    return X[:, :, None] < X[:, None, :]


def compact_opinions(positions):
    """Return `opinions` of the compact form."""
    table = positions.table.T.astype(float)
    table[table == positions.sentinel] = np.nan
    return opinions(table)


def check_compact(X):
    """Check that the compact form has exactly the opinions of X."""
    positions = compact_positions(X)
    np.testing.assert_array_equal(compact_opinions(positions), opinions(X))
    missing = np.isnan(X) if X.dtype.kind == "f" else np.zeros(X.shape, dtype=bool)
    np.testing.assert_array_equal(positions.sentinel == positions.table.T, missing)
    np.testing.assert_array_equal(positions.unranked, missing.any(axis=0))
    assert positions.table.flags.c_contiguous
    beside = np.concatenate([X + X.dtype.type(1), X, X]) if X.dtype.kind == "f" else np.tile(X, (3, 1))
    np.testing.assert_array_equal(compact_positions(beside).table[:, len(X) :], np.tile(positions.table, 2))
    return positions


@pytest.mark.slow
@settings(max_examples=200)
@given(profiles())
def test_compact_form_has_the_opinions_of_the_ballots(X):
    positions = check_compact(X)
    assert positions.table.dtype == np.uint8
    assert positions.sentinel == 255


@pytest.mark.parametrize(
    "X",
    [
        np.array([[True, False, True], [False, False, True]]),
        np.array([[-128, 127, 0], [5, 5, -3]], dtype=np.int8),  # a range of 255: one too many for uint8 as is
        np.array([[-127, 127, 0]], dtype=np.int8),  # wraps round in int8, and is right in uint8
        np.array([[2**62, 2**62 + 1, -(2**62)]]),
        np.array([[np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0]]),
        np.array([[2**64 - 1, 2**64 - 2, 0], [3, 2**63, 1]], dtype=np.uint64),
        np.array([[2**64 - 1, 2**64 - 2, 2**64 - 9]], dtype=np.uint64),
        np.array([[1e300, -1e300, 1e-300], [0.0, -0.0, 5e-324]]),
        np.array([[1.5, 1.25, np.nan], [7.0, np.nan, np.nan]], dtype=np.float32),
        np.array([[0.5, 2.0, 1.0]], dtype=np.float16),
        np.array([[2.0, np.nan, 254.0], [0.0, 1.0, np.nan]]),
        np.array([[0.0, 255.0, np.nan]]),  # 255 would be taken for the sentinel
        np.full((3, 4), 7),
        np.full((3, 4), np.nan),
        # More items than a byte can number, in a dtype that cannot hold the differences.
        np.array([[1.0, *range(2048, 2048 + 2 * 299, 2)]], dtype=np.float16),
        np.array([[*range(-128, 128), *range(0, 44)]], dtype=np.int8),
        np.array([[*range(-32768, -32468), 32766]], dtype=np.int16),
        np.tile([True, False], (2, 150)),
    ],
    ids=lambda X: f"{X.dtype}-{X.ravel()[0]}",
)
def test_every_dtype_and_range(X):
    check_compact(X)


def test_blocks_are_independent(monkeypatch):
    """Each block chooses its own conversion."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.integers(0, 5, (9, 5)), rng.integers(-(10**9), 10**9, (9, 5))]).astype(float)
    X[3:12][rng.random((9, 5)) < 0.3] = np.nan
    X[12:15] = np.nan
    monkeypatch.setattr(compact, "_BLOCK", 10)  # two voters at a time
    check_compact(X)


def test_layouts():
    X = np.random.default_rng(0).integers(0, 9, (40, 6))
    expected = compact_positions(X).table
    np.testing.assert_array_equal(compact_positions(np.asfortranarray(X)).table, expected)
    np.testing.assert_array_equal(compact_positions(np.repeat(X, 2, axis=0)[::2]).table, expected)


def test_too_many_items():
    with pytest.raises(ValueError, match="X has 65535 items; at most 65534 are supported"):
        compact_positions(np.zeros((1, 65535), dtype=np.int8))
    assert compact_positions(np.zeros((1, 65534), dtype=np.int8)).table.shape == (65534, 1)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "i8", "f2", "f4", "f8", "g", "c16"])
@pytest.mark.parametrize("shape", [(3,), (0, 3), (3, 0), (3, 1), (1, 2), (4, 3), (2, 2, 2)])
@pytest.mark.parametrize("odd", [0, np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore")
def test_arrays_are_accepted_as_by_scikit_learn(dtype, shape, odd):
    X = np.zeros(shape)
    X.ravel()[-1:] = odd
    X = X.astype(dtype)
    try:
        plain = X.astype(float) if X.dtype.char == "g" else X  # old versions accept infinite long doubles
        check_array(plain, dtype="numeric", ensure_all_finite="allow-nan", ensure_min_features=2)
    except ValueError:
        with pytest.raises(ValueError, match="X"):
            check_ballots(X)
    else:
        np.testing.assert_array_equal(check_ballots(X), X)


def test_missing_values_without_pandas(monkeypatch):
    cells = np.array([None, np.nan, np.float64("nan"), "nan", 0, "", 1.5], dtype=object)
    expected = [True, True, True, False, False, False, False]
    assert missing(cells).tolist() == expected
    monkeypatch.delitem(sys.modules, "pandas")
    assert missing(cells).tolist() == expected


def test_the_error_for_a_shifted_table_names_the_remedy():
    """The first ballot has one cell too many, and pandas takes the first cells of all rows for their names."""
    shifted = pd.read_csv(io.StringIO("tea,milk,wine,comment\n1,2,3,hello, world\n4,5,6,ok\n"))
    with pytest.raises(ValueError, match=r"got text in column 'wine'.*read_csv\(path, index_col=False\)"):
        Profile.from_rankings(shifted)
