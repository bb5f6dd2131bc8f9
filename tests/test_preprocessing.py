"""Orders, truncated ballots and ratings convert to positions without loss, also in scikit-learn pipelines."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.pipeline import make_pipeline
from sklearn_checks import own_checks

from sklearn_dprank import Borda
from sklearn_dprank.preprocessing import RatingsToRankings, orders_to_positions, unranked_last

NAMES = ["milk", "tea", "water", "wine", "juice", "beer"]


@st.composite
def ballots(draw):
    """Draw (n_items, orders): lists of distinct items, of any lengths, one of them not empty."""
    n_items = draw(st.integers(1, 6))
    order = st.permutations(range(n_items))
    lengths = st.integers(0, n_items)
    orders = draw(st.lists(st.tuples(order, lengths).map(lambda drawn: drawn[0][: drawn[1]]), max_size=5))
    return n_items, [*orders, draw(order)]


def read_back(positions):
    """Return the items that each row of positions lists, best first."""
    return [sorted(np.flatnonzero(~np.isnan(row)).tolist(), key=row.__getitem__) for row in positions]


@pytest.mark.slow
@given(ballots())
def test_orders_round_trip(drawn):
    n_items, orders = drawn
    positions = orders_to_positions(orders, n_items)
    assert positions.shape == (len(orders), n_items)
    assert read_back(positions) == orders
    width = max(map(len, orders))
    for empty in (np.nan, None):
        filled = np.array([[*order, *[empty] * (width - len(order))] for order in orders], dtype=object)
        np.testing.assert_array_equal(orders_to_positions(filled, n_items), positions)
        np.testing.assert_array_equal(orders_to_positions(pd.DataFrame(filled), n_items), positions)
    named = [[NAMES[item] for item in order] for order in orders]
    np.testing.assert_array_equal(orders_to_positions(named, items=NAMES[:n_items]), positions)


def test_complete_orders_are_inverted_as_integers():
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(9), (50, 1)), axis=1)
    for dtype in (np.int64, np.uint8, np.float64):
        positions = orders_to_positions(orders.astype(dtype))
        assert positions.dtype == np.int64
        assert positions.base is None
        np.testing.assert_array_equal(positions, np.argsort(orders, axis=1))
    shuffled = [["tea", "milk"], ["milk", "tea"]]
    assert orders_to_positions(shuffled, items=["milk", "tea"]).to_numpy().tolist() == [[1, 0], [0, 1]]
    assert orders_to_positions(np.array(shuffled), items=["milk", "tea"]).to_numpy().tolist() == [[1, 0], [0, 1]]


def test_named_orders_keep_their_names():
    orders, names = [["milk", "tea"], ["milk"]], ["tea", "water", "milk"]
    expected = pd.DataFrame([[1, np.nan, 0], [np.nan, np.nan, 0.0]], columns=names, dtype=float)
    pd.testing.assert_frame_equal(orders_to_positions(orders, items=names), expected)
    fitted = Borda().fit(unranked_last(orders_to_positions(orders, items=names)))
    assert fitted.consensus_.tolist() == ["milk", "tea", "water"]
    complete = orders_to_positions(pd.DataFrame([[7, 5], [5, 7]], index=["ann", "bob"]), items=[5, 7])
    pd.testing.assert_frame_equal(complete, pd.DataFrame({5: [1, 0], 7: [0, 1]}, index=["ann", "bob"]))


def test_named_orders_are_arrays_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    positions = orders_to_positions([["milk", "tea"], ["tea", "milk"]], items=["tea", "milk"])
    assert type(positions) is np.ndarray and positions.tolist() == [[1, 0], [0, 1]]


TWICE = "and one lists an item twice. Correct or drop it, or pass repeated='first' or 'drop'."
OUTSIDE = "orders must hold item indices 0, ..., {} (n_items={}), and one holds another number. "
SHAPE = "orders must be two-dimensional and not empty"
TEXT = "orders must hold item indices (whole numbers from 0; NaN or None for no item), got something else. "
UNKNOWN = "orders must hold only names in items, and a ballot names another item than these 2. "


@pytest.mark.parametrize(
    ("orders", "arguments", "message"),
    [
        ([[0, 1, 1]], {}, TWICE),
        ([[7, 8, 7]], {"n_items": 20}, TWICE),
        ([[0, 1, 0, 1]], {"n_items": 2}, TWICE),
        ([[1, 2, 3]], {}, OUTSIDE.format(2, 3)),
        ([[7, 2]], {"n_items": 7}, OUTSIDE.format(6, 7)),
        *(([[0, wrong]], {}, OUTSIDE.format(1, 2)) for wrong in (-1, 0.5, np.inf)),
        *((text, {}, TEXT) for text in ([["tea", "milk"]], [["1", "0"]], np.array([["1", None]], dtype=object))),
        ([["tea", "coffee"]], {"items": ["tea", "milk"]}, UNKNOWN),
        ([["tea", ["milk"]]], {"items": ["tea", "milk"]}, UNKNOWN),
        ([["tea"]], {"items": ["tea", "tea"]}, "items must be distinct, and 'tea' stands twice"),
        ([["tea"]], {"items": ["a", "b"], "n_items": 3}, "n_items=3, but items has 2 names; leave n_items out."),
        ([[0, 1]], {"n_items": 0}, "n_items must be None or a positive integer, got 0."),
        ([[0, 1]], {"n_items": "two"}, "n_items must be None or a positive integer, got 'two'."),
        *((wrong, {}, SHAPE) for wrong in ([0, 1], None, [[]])),
        (["tea", "milk"], {"items": ["tea", "milk"]}, SHAPE),
        ([["a"]], {"items": "abc"}, "items must list one name an item, got 'abc'"),
        ([["a"]], {"items": {"a", "b"}}, "items must list one name an item, got a set"),
        ([["a"]], {"items": [("a", 1), ("b", 2)]}, "items must be all strings or all whole numbers, got tuple"),
    ],
)
def test_bad_orders_are_refused(orders, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        orders_to_positions(orders, **arguments)


@pytest.mark.parametrize("rules", [{}, {"repeated": "first"}], ids=["strict", "rules"])
def test_the_longest_ballot_does_not_decide_the_number_of_items(rules):
    """The number of items is published, and one voter may list more than all others."""
    for orders in ([[0, 1], [1, 0], [1, 0, 2]], [np.array([0, 1]), (1, 0, 2)]):
        with pytest.raises(ValueError, match=r"^n_items must be given, got None: ballots differ in length"):
            orders_to_positions(orders, **rules)
        assert orders_to_positions(orders, 4, **rules).shape == (len(orders), 4)


@pytest.mark.parametrize("rules", [{}, {"other_items": "drop"}], ids=["strict", "rules"])
def test_large_numbers_that_a_gap_turned_into_floats_are_refused(rules):
    """A gap in another row makes pandas round the id of an item to that of another item."""
    items = [2**53, 2**53 + 1]
    np.testing.assert_array_equal(orders_to_positions(pd.DataFrame([[2**53 + 1]]), items=items, **rules), [[np.nan, 0]])
    gap = pd.DataFrame({"first": [2**53 + 1, None]})
    with pytest.raises(ValueError, match=r"2\^53.* 'Int64'"):
        orders_to_positions(gap, items=items, **rules)
    for exact in (gap.astype("Int64") * 0 + 2**53 + 1, pl.DataFrame({"first": [2**53 + 1, None]})):
        read = orders_to_positions(exact, items=items, **rules)
        np.testing.assert_array_equal(read, [[np.nan, 0], [np.nan, np.nan]])


@pytest.mark.parametrize(
    "orders",
    ["votes.soc", Path("votes.soc"), {"ann": [0, 1]}, (row for row in [[0, 1]]), []],
    ids=lambda x: type(x).__name__,
)
def test_other_objects_than_tables_of_orders_are_refused(orders):
    with pytest.raises(ValueError, match=r"^orders is an? .*(read_preflib|from_chunks)"):
        orders_to_positions(orders)


def test_gaps_list_no_item():
    """NaN among names is a gap, also if an item has the name nan."""
    names = ["tea", "nan", "None", "<NA>"]
    for gap in (np.nan, None, pd.NA, np.float32("nan")):
        orders = [["tea", gap, gap, gap], ["nan", "tea", gap, gap]]
        for table in (orders, np.array(orders, dtype=object), pd.DataFrame(orders)):
            out = orders_to_positions(table, items=names)
            np.testing.assert_array_equal(out, [[0, np.nan, np.nan, np.nan], [1, 0, np.nan, np.nan]])
        ids = orders_to_positions([[20, gap], [10, 20]], items=[10, 20])
        np.testing.assert_array_equal(ids, [[np.nan, 0], [0, 1]])
        np.testing.assert_array_equal(orders_to_positions([[1, gap], [0, 1]]), [[np.nan, 0], [0, 1]])
    assert orders_to_positions(np.array([["nan", "tea"]]), items=["tea", "nan"]).to_numpy().tolist() == [[1, 0]]


#: Positions of tea, milk and wine on a ballot by rules, which are named in the order of the keywords.
RULED = [
    (["tea", "tea", "milk"], ("first", "error", "close", "error"), [0, 1, None]),
    (["tea", "tea", "milk"], ("drop", "error", "close", "error"), [None] * 3),
    (["tea", ["milk", "wine"], "tea"], ("first", "tie", "close", "error"), [0, 1, 1]),
    (["tea", ["milk", "wine"], "milk"], ("first", "tie", "close", "error"), [0, 1, 1]),
    (["tea", ["milk", "wine"], "milk"], ("first", "skip", "close", "error"), [0, 1, None]),
    (["tea", ["milk", "wine"], "milk"], ("first", "end", "close", "error"), [0, None, None]),
    (["tea", ["milk", "tea"], "wine"], ("first", "tie", "close", "error"), [0, 1, 2]),
    (["tea", ["milk", "tea"], "wine"], ("drop", "skip", "close", "error"), [0, None, 1]),
    (["tea", ["milk", "milk"], "wine"], ("error", "error", "close", "drop"), [0, 1, 2]),
    (["overvote", "tea"], ("first", "tie", "close", "error"), [0, None, None]),
    (["overvote", "tea"], ("first", "end", "close", "error"), [None] * 3),
    (["tea", None, "milk"], ("error", "error", 1, "error"), [0, None, None]),
    (["tea", None, "milk"], ("error", "error", 2, "error"), [0, 1, None]),
    (["tea", "undervote", np.nan, "milk"], ("error", "error", 2, "error"), [0, None, None]),
    (["skipped", "tea", None, "milk", None], ("error", "error", 2, "error"), [0, 1, None]),
    (["tea", None, ["milk", "wine"], None, "milk"], ("first", "skip", 2, "error"), [0, 1, None]),
    (["tea", "somebody", None, "milk"], ("error", "error", 2, "drop"), [0, 1, None]),
    (["tea", "somebody", "somebody", "milk"], ("error", "error", 1, "drop"), [0, 1, None]),
    (["tea", ["milk", "somebody"], "wine"], ("error", "tie", "close", "drop"), [0, 1, 2]),
    (["tea", ["milk", "somebody"], "wine"], ("error", "skip", "close", "drop"), [0, None, 1]),
    ([], ("first", "tie", 1, "drop"), [None] * 3),
]


def by_rules(orders, rules, **arguments):
    return orders_to_positions(
        orders, **dict(zip(["repeated", "overvote", "skipped", "other_items"], rules, strict=True)), **arguments
    )


@pytest.mark.parametrize(("ballot", "rules", "expected"), RULED)
def test_rules_of_ballots(ballot, rules, expected):
    """Alone and beside other ballots, as names and as indices."""
    names = ["tea", "milk", "wine"]
    expected = np.array(expected, dtype=float)
    np.testing.assert_array_equal(by_rules([ballot], rules, items=names).to_numpy(), [expected])
    beside = by_rules([["wine"], ballot, ["milk", "tea"]], rules, items=names).to_numpy()
    np.testing.assert_array_equal(beside, [[np.nan, np.nan, 0], expected, [1, 0, np.nan]])
    index = {"tea": 0, "milk": 1, "wine": 2, "somebody": 9}
    numbers = [[index[name] for name in rank] if isinstance(rank, list) else index.get(rank, rank) for rank in ballot]
    np.testing.assert_array_equal(by_rules([numbers], rules, n_items=3), [expected])


def test_rules_take_every_kind_of_table():
    names, rules = ["tea", "milk"], ("first", "skip", 2, "drop")
    orders, expected = [["tea", "tea", "milk"], ["milk", "x", "overvote"]], [[0, 1], [np.nan, 0]]
    for table in (orders, tuple(map(tuple, orders)), np.array(orders), np.array(orders, dtype=object)):
        np.testing.assert_array_equal(by_rules(table, rules, items=names), expected)
    found = by_rules(pd.DataFrame(orders, index=["ann", "bob"]), rules, items=names)
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected, columns=names, index=["ann", "bob"], dtype=float))
    numbers = by_rules(np.ma.masked_equal([[0, 0, 1], [1, 9, 9]], 9), rules)
    np.testing.assert_array_equal(numbers, [[0, 1, np.nan], [np.nan, 0, np.nan]])
    assert by_rules([[1, 0, 1]], rules, n_items=2).dtype == np.int64


@pytest.mark.parametrize(
    ("orders", "arguments", "message"),
    [
        (
            [["a", "a"]],
            {"overvote": "tie"},
            "orders break a rule: a ballot lists an item twice. Correct or drop",
        ),
        (
            [["a", ["a", "b"]]],
            {"repeated": "first"},
            "orders break a rule: a ballot has several items in one rank. Correct",
        ),
        (
            [["a", "overvote"]],
            {"repeated": "first"},
            "orders break a rule: a ballot has several items in one rank. Correct",
        ),
        ([["a", "secret"]], {"repeated": "first"}, "a ballot names another item than these 2. Correct or drop it"),
        ([["a", ["b", {}]]], {"overvote": "tie"}, "a ballot names another item than these 2."),
        ([["a", ["b"]]], {}, "For tied items, pass overvote='tie'."),
        ([["a"]], {"repeated": "last"}, "repeated must be one of ['error', 'first', 'drop'], got 'last'."),
        ([["a"]], {"overvote": None}, "overvote must be one of ['error', 'tie', 'skip', 'end'], got None."),
        ([["a"]], {"skipped": 3}, "skipped must be one of ['close', 1, 2], got 3."),
        ([["a"]], {"other_items": "first"}, "other_items must be one of ['error', 'drop'], got 'first'."),
        *((wrong, {"repeated": "first"}, SHAPE) for wrong in (["a", "b"], None, np.zeros(2), [["a"], None])),
    ],
)
def test_orders_that_break_a_rule_are_refused(orders, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        orders_to_positions(orders, items=["a", "b"], **arguments)
    assert "secret" not in str(error.value)


cells = st.one_of(st.floats(-1e308, 1e308), st.integers(-3, 3).map(float))
holes = st.one_of(cells, st.just(np.nan))
gaps = st.tuples(st.integers(1, 4), st.integers(2, 6)).flatmap(lambda shape: arrays(float, shape, elements=holes))


@pytest.mark.slow
@given(gaps)
def test_unranked_last_keeps_the_ranked_and_puts_the_rest_below(X):
    out = unranked_last(X)
    assert out.dtype == np.int64
    for row, after in zip(X, out, strict=True):
        ranked = ~np.isnan(row)
        order = np.unique(row[ranked], return_inverse=True)[1]
        assert after[ranked].tolist() == [int(np.sum(order < level)) for level in order]
        assert set(after[~ranked]) <= {ranked.sum()}
    np.testing.assert_array_equal(unranked_last(out), out)


def test_unranked_last_keeps_names_and_compares_doubles():
    frame = pd.DataFrame({"tea": [0, np.nan], "milk": [np.nan, 3.0]}, index=["ann", "bob"])
    expected = pd.DataFrame({"tea": [0, 1], "milk": [1, 0]}, index=["ann", "bob"])
    pd.testing.assert_frame_equal(unranked_last(frame), expected)
    assert unranked_last(np.array([[2**60 + 1, 2**60]])).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([["first", 2]], dtype=object), "^X must hold numbers"),
        ([[0, np.inf]], "Input X contains infinity"),
        ([[0], [1]], r"minimum of 2 is required"),
        (np.empty((0, 3)), r"minimum of 1 is required"),
    ],
)
def test_bad_positions(X, message):
    with pytest.raises(ValueError, match=message):
        unranked_last(X)


@pytest.mark.slow
@given(gaps, st.booleans())
def test_ratings_are_ranked_row_by_row(X, higher_is_better):
    out = RatingsToRankings(higher_is_better).fit_transform(X)
    for row, after in zip(X if higher_is_better else -X, out, strict=True):
        naive = [np.nan if np.isnan(x) else sum(other > x for other in row) for x in row]
        np.testing.assert_array_equal(after, naive)


def test_unsigned_and_boolean_ratings():
    assert RatingsToRankings().fit_transform(np.array([[0, 255, 3]], dtype=np.uint8)).tolist() == [[2, 0, 1]]
    assert RatingsToRankings().fit_transform(np.array([[True, False]])).tolist() == [[0, 1]]


@pytest.mark.parametrize("columns", [["tea", "milk", "wine"], [30, 10, 20]])
def test_a_pipeline_from_a_frame_knows_the_items_by_name(columns):
    ratings = pd.DataFrame([[5, 4, np.nan], [1, 1, 2]], columns=columns, index=["ann", "bob"])
    out = RatingsToRankings().fit_transform(ratings)
    expected = pd.DataFrame([[0.0, 1.0, np.nan], [1.0, 1.0, 0.0]], columns=columns, index=["ann", "bob"])
    pd.testing.assert_frame_equal(out, expected)
    pipeline = make_pipeline(RatingsToRankings(), Borda()).fit(ratings)
    assert pipeline[-1].consensus_.tolist() == [columns[2], columns[0], columns[1]]
    assert pipeline.score(ratings) == Borda().fit(out).score(out)
    assert isinstance(RatingsToRankings().fit(ratings.to_numpy()).transform(ratings.to_numpy()), np.ndarray)


@pytest.mark.parametrize("container", ["default", "pandas", "polars"])
def test_ranks_are_a_table_of_the_container_that_was_set(container):
    ratings = pd.DataFrame([[5, 3, 4], [1, 2, 2]], columns=NAMES[:3])
    transformer = RatingsToRankings().set_output(transform=container).fit(ratings)
    ranks = transformer.transform(ratings)
    assert type(ranks) is (pl.DataFrame if container == "polars" else pd.DataFrame)
    assert list(ranks.columns) == transformer.get_feature_names_out().tolist() == NAMES[:3]
    assert ranks.to_numpy().tolist() == [[0, 2, 1], [2, 0, 0]]
    assert transformer.n_features_in_ == 3 and transformer.feature_names_in_.tolist() == NAMES[:3]


def test_whole_numbers_stay_names_unless_a_container_is_set():
    ratings = pd.DataFrame([[5, 3, 4]], columns=[30, 10, 20])
    assert RatingsToRankings().fit_transform(ratings).columns.tolist() == [30, 10, 20]
    ranks = RatingsToRankings().set_output(transform="pandas").fit_transform(ratings)
    assert ranks.columns.tolist() == ["x0", "x1", "x2"]


def test_missing_ratings_after_a_complete_first_row():
    ratings = [[5, 4, 3], [np.nan, 2, 1], [1, np.nan, 2]]
    np.testing.assert_array_equal(
        RatingsToRankings().fit_transform(ratings), [[0, 1, 2], [np.nan, 0, 1], [1, np.nan, 0]]
    )
    objects = pd.DataFrame(ratings, columns=["a", "b", "c"]).astype(object).replace(np.nan, pd.NA)
    np.testing.assert_array_equal(RatingsToRankings().fit_transform(objects)["a"], [0, np.nan, 1])


@pytest.mark.parametrize(
    ("higher_is_better", "X", "message"),
    [
        ("yes", [[1, 2]], r"^higher_is_better must be True or False, got 'yes'\.$"),
        (1, [[1, 2]], r"^higher_is_better must be True or False, got 1\.$"),
        (True, [["good", "bad"]], r"^X must hold numbers \(NaN for no opinion\), got text in column 0\. Leave out a"),
        (True, [[1, -np.inf]], "^Input X contains infinity"),
    ],
)
def test_bad_ratings(higher_is_better, X, message):
    with pytest.raises(ValueError, match=message):
        RatingsToRankings(higher_is_better).fit(X)


@pytest.mark.parametrize(
    ("name", "estimator", "check"), [case for higher in (True, False) for case in own_checks(RatingsToRankings(higher))]
)
def test_checks_of_scikit_learn(name, estimator, check):
    check(estimator)
