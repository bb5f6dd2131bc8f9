"""`results_frame` has one row per trial, keeps parameter values as they are and gives the seed of each fit."""

import numpy as np
import pytest

from sklearn_dprank import DPBorda, DPKwikSort, PositionalRule
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import GridSearchCV, results_frame

pytest.importorskip("pandas")
NAN = float("nan")
X = make_mallows(60, 4, 0.7, random_state=0)


def test_every_row(searched):
    params = [{"epsilon": 0.1, "noise": "knorm"}, {"epsilon": 1.0}]
    search = searched(params, a=[[[1, 2, 3], [4, 5, 6]], [[7, 8, NAN], [10, 11, 12]]], b=[np.ones((2, 3))] * 2)
    frame = results_frame(search)
    assert frame.columns.tolist() == ["candidate", "epsilon", "noise", "split", "trial", "seed", "a", "b"]
    assert frame["candidate"].tolist() == [0] * 6 + [1] * 6
    assert frame["epsilon"].tolist() == [0.1] * 6 + [1.0] * 6
    assert frame["noise"].tolist()[:6] == ["knorm"] * 6
    assert frame["noise"].isna().tolist()[6:] == [True] * 6
    assert frame["split"].tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert frame["trial"].tolist() == [0, 1, 2] * 4
    assert frame["seed"].tolist() == [*range(6), *range(100, 106)]
    np.testing.assert_array_equal(frame["a"], [1, 2, 3, 4, 5, 6, 7, 8, NAN, 10, 11, 12])
    assert frame["epsilon"].dtype == frame["a"].dtype == float
    assert frame["seed"].dtype.kind == frame["split"].dtype.kind == "i"


def test_objects_stay_whole(searched):
    borda, kwiksort, scores = DPBorda(), DPKwikSort(), np.array([3.0, 2.0, 1.0])
    params = [{"aggregator": borda, "scores": scores}, {"aggregator": kwiksort, "scores": [1, 2]}]
    frame = results_frame(searched(params, score=[[[1, 2]], [[3, 4]]]))
    assert [each is borda for each in frame["aggregator"]] == [True, True, False, False]
    assert [each is scores for each in frame["scores"]] == [True, True, False, False]


def test_none_is_a_value(searched):
    """Not the lack of one."""
    search = searched([{"n_queries": None}, {"n_queries": 2}, {"epsilon": 1.0}], score=[[[1.0, 2.0]]] * 3)
    column = results_frame(search)["n_queries"].tolist()
    assert column[:4] == [None, None, 2, 2]
    assert np.isnan(column[4:]).all()


def test_a_parameter_called_like_a_column(searched):
    frame = results_frame(searched([{"seed": 5, "score": 6}], score=[[[1, 2]]]))
    assert frame.columns.tolist() == ["candidate", "param_seed", "param_score", "split", "trial", "seed", "score"]
    assert frame["param_seed"].tolist() == [5, 5] and frame["seed"].tolist() == [0, 1]
    assert frame["param_score"].tolist() == [6, 6] and frame["score"].tolist() == [1, 2]


def test_real_search():
    """Means of the table are those of the search."""
    search = GridSearchCV(DPBorda(), {"epsilon": [0.1, 1.0]}, n_trials=3, cv=2, random_state=0, refit=False).fit(X)
    frame = results_frame(search)
    assert len(frame) == 12
    means = frame.groupby("candidate")["score"].mean()
    np.testing.assert_allclose(means, search.cv_results_["mean_test_score"])


def test_refusals(searched, without):
    with pytest.raises(ValueError, match="search is not fitted"):
        results_frame(GridSearchCV(PositionalRule(), {}))
    without("pandas")
    with pytest.raises(ImportError, match='results_frame needs pandas: install the extra "plot"'):
        results_frame(searched([{}], score=[[[1]]]))
