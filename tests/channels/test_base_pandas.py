"""Tables of published numbers, ranks with the names of pandas, and what notebooks show."""

import sys

import numpy as np
import pandas as pd
import pytest
from every_estimator import N_ITEMS, NAMES, X, every, seeded
from sklearn.exceptions import NotFittedError

from sklearn_dprank import DPBorda, DPKemenySampler, DPTopK, SegmentedAggregator

FRAME = pd.DataFrame(X, columns=NAMES)


@every
def test_the_table_has_the_published_numbers_of_each_item(estimator):
    fitted = seeded(estimator).fit(FRAME)
    table = fitted.to_frame(0.9)
    assert sorted(table.index) == sorted(NAMES) and table["rank"].is_monotonic_increasing
    assert table.index[: len(fitted.consensus_)].tolist() == fitted.consensus_.tolist()
    in_columns = table.loc[NAMES]
    assert (in_columns["rank"] - 1).tolist() == np.asarray(fitted.ranks_).tolist()
    published = {name[:-2]: name for name in ("scores_", "strengths_", "exposures_") if hasattr(fitted, name)}
    ends = ["best", "worst"] if hasattr(fitted, "rank_intervals") else []
    assert table.columns.tolist() == ["rank", *ends, *published]
    for column, name in published.items():
        assert in_columns[column].tolist() == getattr(fitted, name).tolist()
    if ends:
        assert (in_columns[ends] - 1).to_numpy().tolist() == fitted.rank_intervals(0.9).tolist()
        assert "level 0.9" in table.attrs["intervals"] or "level about 0.9" in table.attrs["intervals"]
    else:
        assert table.attrs == {}


def test_the_table_of_segments_has_a_part_for_each_segment():
    ballots, region = [[0, 1, 2]] * 300 + [[2, 1, 0]] * 300, ["north"] * 300 + ["south"] * 300
    fitted = SegmentedAggregator(["south", "north"], random_state=0).fit(ballots, segments=region)
    table = fitted.to_frame()
    assert table.index.tolist() == [(s, i) for s, order in (("south", [2, 1, 0]), ("north", [0, 1, 2])) for i in order]
    assert table["rank"].tolist() == [1, 2, 3, 1, 2, 3]
    assert table.loc["north", "score"].sort_index().tolist() == fitted.scores_[1].tolist()
    ends = table.loc["south", ["best", "worst"]].sort_index()
    assert (ends - 1).to_numpy().tolist() == fitted.rank_intervals()[0].tolist()
    assert table.attrs["intervals"] == "of these voters, level 0.95 in each segment"


def test_items_without_names_are_numbers_in_the_table():
    table = DPTopK(k=2, random_state=0).fit(X).to_frame()
    assert sorted(table.index) == list(range(N_ITEMS)) and table["rank"].tolist() == [1, 2, 3, 3, 3]


def test_a_table_needs_a_fit_and_pandas(monkeypatch):
    with pytest.raises(NotFittedError):
        DPBorda().to_frame()
    fitted = DPBorda(random_state=0).fit(X)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        fitted.to_frame()


def test_a_table_refuses_intervals_that_the_release_does_not_have():
    with pytest.raises(AttributeError, match="has no attribute 'rank_intervals'"):
        DPKemenySampler(random_state=0).fit(X).to_frame(of="voters")
    with pytest.raises(ValueError, match='of="population" is unknown'):
        DPBorda(random_state=0).fit(X).to_frame(of="population")
    with pytest.raises(ValueError, match="level"):
        DPBorda(random_state=0).fit(X).to_frame(level=1.0)
