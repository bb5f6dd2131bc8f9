"""Ranks of rows against counting by hand."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sklearn_dprank.ballots.reading import placed, smaller_values, sorted_rows

TABLES = st.sampled_from([np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64]).flatmap(
    lambda dtype: arrays(
        dtype,
        array_shapes(min_dims=2, max_dims=2, max_side=7),
        elements=st.integers(0, 4) if np.dtype(dtype).kind != "f" else st.sampled_from([-np.inf, -0.0, 0.0, 0.5, 7.0]),
    )
)


@pytest.mark.slow
@settings(max_examples=100)
@given(TABLES)
def test_smaller_values_are_counted(X):
    smaller = [[sum(y < x for y in row) for x in row] for row in X.tolist()]
    assert smaller_values(X).tolist() == smaller
    assert smaller_values(X).dtype == np.int64


@pytest.mark.slow
@settings(max_examples=100)
@given(TABLES)
def test_sorted_rows(X):
    for table in (X, np.asfortranarray(X)):
        order, changes = sorted_rows(table)
        ordered = table.ravel()[order]
        assert ordered.tolist() == np.sort(X, axis=1).tolist()
        assert not changes[:, 0].any()
        assert (changes[:, 1:] == (ordered[:, 1:] > ordered[:, :-1])).all()
        assert placed(ordered, order).tolist() == X.tolist()
