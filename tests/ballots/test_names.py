"""Item names become plain strings or integers, and names that differ between tables are detected."""

import numpy as np
import pandas as pd
import pytest

from sklearn_dprank import DPBorda, DPTopK, SegmentedAggregator
from sklearn_dprank.ballots.names import checked_names, column_names, names_differ, names_of


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Index, pd.Series, iter, dict.fromkeys])
def test_names_are_plain_strings(make):
    plain = checked_names(make(["b", "a"]), "items")
    assert plain == ["b", "a"]
    assert {type(name) for name in plain} == {str}


@pytest.mark.parametrize("names", [[30, 10], range(30, 0, -20), np.array([30, 10], dtype=np.uint8), pd.Index([30, 10])])
def test_names_are_plain_integers(names):
    plain = checked_names(names, "items")
    assert plain == [30, 10]
    assert {type(name) for name in plain} == {int}


def test_columns_that_only_count_are_no_names():
    X = np.zeros((1, 3))
    assert column_names(X) is None
    assert column_names([[0, 1]]) is None
    assert column_names(pd.DataFrame(X)) is None
    assert column_names(pd.DataFrame(X, columns=[0.0, 1.0, 2.0]).rename(columns=int)) is None
    assert column_names(pd.DataFrame(X, columns=[2, 1, 0])) == [2, 1, 0]
    assert column_names(pd.DataFrame(X, columns=["0", "1", "2"])) == ["0", "1", "2"]


def test_when_names_differ():
    assert not names_differ(None, None)
    assert not names_differ(["a", "b"], None)
    assert not names_differ(None, [7, 8])
    assert not names_differ(None, [0, 1])
    assert names_differ(None, [1, 0])
    assert names_differ([1, 0], None)
    assert names_differ(["a", "b"], ["b", "a"])
    assert names_differ(["1", "2"], [1, 2])
    assert not names_differ(np.array([1, 2], dtype=object), [1, 2])


@pytest.mark.parametrize("names", [["tea", "milk", "beer", "mate"], [30, 10, 20, 40]])
def test_names_of_a_fit(names):
    """In the order of the columns: of one order, of the best few, and of several segments."""
    X, halves = pd.DataFrame([[2, 0, 1, 3]] * 30 + [[3, 2, 1, 0]] * 30, columns=names), ["old"] * 30 + ["new"] * 30
    segments = SegmentedAggregator(["old", "new"], epsilon=20.0).fit(X, segments=halves)
    assert segments.consensus_[:, 0].tolist() == [names[1], names[3]]
    for fitted in (DPBorda().fit(X), DPTopK(2).fit(X), SegmentedAggregator().fit(X), segments):
        assert list(names_of(fitted)) == names
    assert names_of(DPBorda().fit(X.to_numpy())) is None
    assert segments.score(X, segments=halves) == 0
    with pytest.raises(ValueError, match="same order"):
        segments.score(X[names[::-1]], segments=halves)
