"""Tables of published numbers, ranks with the names of pandas, and what notebooks show."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from every_estimator import N_ITEMS, NAMES, X, every, seeded
from sklearn import config_context, model_selection as sklearn_search
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_dprank import Borda, DPBorda, DPKemenySampler, DPStreamingBorda, DPTopK, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection

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
        assert "level 0.9" in table.attrs["intervals"]
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
    assert table.attrs["intervals"] == "of these voters, not of a population, level 0.95 in each segment"


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


# Ranks as a Series


@every
def test_ranks_are_a_series_if_columns_of_pandas_name_the_items(estimator):
    plain = seeded(estimator).fit(X)
    for ballots in (FRAME, Profile.from_rankings(FRAME)):
        named = seeded(estimator).fit(ballots)
        assert isinstance(named.ranks_, pd.Series) and named.ranks_.index.tolist() == NAMES
        assert named.ranks_.tolist() == plain.ranks_.tolist() and named.ranks_.dtype == np.int64
        assert named.ranks_[named.consensus_].tolist() == list(range(len(named.consensus_)))
        assert named.score(FRAME) == plain.score(X)
    assert isinstance(named.fit(X).ranks_, np.ndarray)  # of the last fit


@pytest.mark.parametrize(
    "ballots",
    [
        X,
        X.tolist(),
        pd.DataFrame(X),  # without names
        pl.DataFrame(dict(zip(NAMES, X.T, strict=True))),
        Profile.from_rankings(X, items=NAMES),
        Profile.from_orders([NAMES] * 9, items=pd.Index(NAMES)),
    ],
    ids=["array", "list", "no names", "polars", "items", "lists"],
)
def test_ranks_are_an_array_if_no_columns_of_pandas_name_the_items(ballots):
    assert isinstance(Borda().fit(ballots).ranks_, np.ndarray)


def test_ranks_of_numbered_columns_have_these_labels():
    fitted = DPTopK(k=2, random_state=0).fit(pd.DataFrame(X, columns=[50, 10, 40, 20, 30]))
    assert fitted.ranks_[fitted.consensus_].tolist() == [0, 1]
    assert fitted.score(pd.DataFrame(X, columns=[50, 10, 40, 20, 30])) == fitted.score(X)


def test_ranks_of_segments_are_a_frame():
    region = ["north", "south"] * (len(X) // 2) + ["south"]
    by_region = SegmentedAggregator(["south", "north"], random_state=0)
    fitted, plain = (clone(by_region).fit(ballots, segments=region) for ballots in (FRAME, X))
    assert fitted.ranks_.loc["north"].index.tolist() == NAMES
    assert fitted.ranks_.to_numpy().tolist() == plain.ranks_.tolist()
    assert fitted.score(FRAME, segments=region) == plain.score(X, segments=region)
    assert fitted.to_frame().loc["north", "rank"].to_dict() == (1 + fitted.ranks_.loc["north"]).to_dict()


def test_each_period_and_search_keeps_the_series():
    stream = DPStreamingBorda(horizon=3, random_state=0)
    for _ in range(2):
        assert stream.partial_fit(FRAME).ranks_.index.tolist() == NAMES
    grid = {"epsilon": [0.5, 1.0]}
    search = GridSearchCV(DPBorda(random_state=0), grid, n_trials=1, public_ballots=True).fit(FRAME)
    assert search.best_estimator_.ranks_.index.tolist() == NAMES
    selection = PrivateSelection(DPBorda(), grid, score_epsilon=1.0, random_state=0).fit(FRAME)
    assert selection.ranks_.index.tolist() == selection.best_estimator_.ranks_.index.tolist() == NAMES
    search = sklearn_search.GridSearchCV(DPBorda(random_state=0), grid, cv=2).fit(FRAME)
    assert search.best_estimator_.ranks_.index.tolist() == NAMES


def test_a_series_survives_a_pickle_and_is_not_part_of_the_ballots():
    frame = FRAME.copy()
    fitted = pickle.loads(pickle.dumps(DPBorda(random_state=0).fit(frame)))
    frame.columns = NAMES[::-1]
    assert fitted.ranks_.index.tolist() == fitted.feature_names_in_.tolist() == NAMES


def test_other_tables_are_ranked_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ballots in (X, Profile.from_rankings(X, items=NAMES), pl.DataFrame(dict(zip(NAMES, X.T, strict=True)))):
        assert isinstance(Borda().fit(ballots).ranks_, np.ndarray)


# Notebooks


@every
def test_a_notebook_shows_the_guarantee_of_a_fit_and_nothing_private(estimator):
    fitted = seeded(estimator)
    assert "epsilon =" not in fitted._repr_html_()
    fitted.fit(X)
    for html in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert html.endswith(fitted.privacy_._repr_html_())
        assert type(fitted).__name__ in html
        assert str(len(X)) not in html or fitted.privacy_.neighboring == "replace"
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}


def test_a_notebook_shows_no_state_of_a_stream():
    stream = DPStreamingBorda(horizon=3, random_state=0).partial_fit(X)
    assert repr(stream.stream_) == "Stream(period=1)"  # which scikit-learn shows as a fitted attribute
    assert str(len(X)) not in stream._repr_html_()


def test_a_notebook_shows_the_guarantee_of_a_search():
    search = GridSearchCV(DPBorda(random_state=0), {"epsilon": [1.0]}, n_trials=1).fit(X)
    assert search._repr_html_().endswith("</details>") and "<summary>not private</summary>" in search._repr_html_()
