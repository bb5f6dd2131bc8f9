"""Long data becomes profiles, row by row; the cases of reading ratings, comparisons and lists."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from sklearn_dprank import DPBorda
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import WEIGHT_GRID as D

DRINKS = ["tea", "milk", "wine"]
RATINGS = {
    "who": ["ann", "ann", "ann", "bob", "bob"],
    "what": ["tea", "milk", "wine", "tea", "milk"],
    "stars": [5, 3, 1, 2, 4],
}
WINS = [1, 1, -2]  # ann: 2, 0, -2; bob: -1, 1, 0
VOTES = {
    "a": ["x", "y", "x", "z"],
    "b": ["y", "z", "z", "x"],
    "won": ["a", "tie", "b", "tie (bothbad)"],
    "judge": ["u1", "u1", "u2", "u2"],
}


def wins(profile):
    """Net wins in votes."""
    return (profile.net_wins / D).tolist()


def rated(table=RATINGS, items=DRINKS, **more):
    direction = {} if {"position", "rating"} & more.keys() else {"rating": "stars"}
    return Profile.from_long(table, "who", "what", items=items, **direction, **more)


def changed(**columns):
    return {**RATINGS, **columns}


def with_rows(*rows):
    return {name: [*RATINGS[name], *(row[k] for row in rows)] for k, name in enumerate(RATINGS)}


def compared(table=VOTES, **more):
    return Profile.from_comparisons(
        table, "a", "b", **{"outcome": "won", "person": "judge", "items": list("xyz"), **more}
    )


TABLES = {
    "dict": lambda table: table,
    "pandas": pd.DataFrame,
    "pandas objects": lambda table: pd.DataFrame(table, dtype=object),
    "pandas categories": lambda table: pd.DataFrame(table).astype("category"),
    "pandas of Arrow": lambda table: pd.DataFrame(table).convert_dtypes(dtype_backend="pyarrow"),
    "Polars": pl.DataFrame,
    "Polars categories": lambda table: pl.DataFrame(table).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "Arrow": pa.table,
    "Arrow dictionaries": lambda table: pa.table({k: pa.array(v).dictionary_encode() for k, v in table.items()}),
    "structured": lambda table: pd.DataFrame(table).to_records(index=False),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_all_kinds_of_tables_have_equal_counts(make):
    assert wins(rated(make(RATINGS))) == WINS
    assert wins(compared(make(VOTES))) == [0, -1, 1]
    shuffled = {name: [column[k] for k in (4, 2, 0, 3, 1)] for name, column in RATINGS.items()}
    assert wins(rated(make(shuffled))) == WINS


def test_ratings_and_positions_have_opposite_directions():
    assert wins(rated()) == WINS
    assert wins(rated(position="stars")) == [-1, -1, 2]
    assert rated().n_voters == 2 and rated().bound.unit == "all rows of one person"


def test_an_unrated_item_has_no_wins():
    assert wins(rated(items=[*DRINKS, "gin"])) == [*WINS, 0]


def test_repeated_ratings_count_by_their_mean():
    again = with_rows(("bob", "tea", 8))  # mean 5, above 4
    assert wins(rated(again)) == [3, -1, -2]
    assert wins(rated({name: column[::-1] for name, column in again.items()})) == [3, -1, -2]
    assert wins(rated(with_rows(("bob", "tea", 6)))) == [2, 0, -2]  # mean 4 is a tie


def test_one_rating_gives_no_wins():
    single = {name: column[:1] for name, column in RATINGS.items()}
    assert wins(rated(single)) == [0, 0, 0] and rated(single).n_voters == 1


def test_stored_zeros_of_sparse_ratings_are_ratings():
    stored = sp.coo_array(([4, 2, 0, 1, 3], ([0, 0, 0, 1, 1], [0, 1, 2, 0, 1])), shape=(2, 3))
    assert wins(Profile.from_long(person=stored.row, item=stored.col, rating=stored.data, items=range(3))) == WINS


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, ""], ids=repr)
def test_rows_without_person_item_or_value_are_ignored(missing):
    value = np.nan if isinstance(missing, float) else None
    rows = [(missing, "tea", 9), ("ann", missing, 9), ("bob", "wine", value), (missing, missing, value)]
    assert wins(rated(with_rows(*rows))) == WINS
    votes = {
        name: [
            *VOTES[name],
            *(row[k] for row in [(missing, "x", "a", "u1"), ("x", "y", missing, "u1"), ("x", "y", "a", missing)]),
        ]
        for k, name in enumerate(VOTES)
    }
    assert wins(compared(votes)) == [0, -1, 1]


def test_no_row_is_a_profile_of_zeros():
    none = {name: [] for name in RATINGS}
    assert wins(rated(none)) == [0, 0, 0] and rated(none).n_voters == 0
    assert wins(compared({name: [] for name in VOTES})) == [0, 0, 0]
    assert wins(Profile.from_orders([], items=DRINKS)) == [0, 0, 0]
    assert len(DPBorda(epsilon=1.0).fit(rated(none)).consensus_) == 3


def test_text_is_compared_in_one_unicode_form():
    table = changed(what=["the\u0301", " milk ", "wine", "th\u00e9", "milk"])
    assert wins(rated(table, items=["th\u00e9", "milk", "wine"])) == WINS


def test_large_whole_numbers_stay_apart():
    big = 2**60
    table = changed(who=[big, big, big, big + 1, big + 1])
    assert rated(table).n_voters == 2 and rated(pd.DataFrame(table)).n_voters == 2


SECRET = "secret-4711"
WRONG = {
    "no direction": (lambda: Profile.from_long(RATINGS, "who", "what", items=DRINKS), "rating= if larger"),
    "both directions": (lambda: rated(rating="stars", position="stars"), "rating= if larger"),
    "an empty name": (lambda: rated(items=[*DRINKS, ""]), "items has an empty name; leave it out"),
    "one item": (lambda: rated(items=["tea"]), "at least two items"),
    "unknown item": (
        lambda: rated(with_rows(("ann", SECRET, 2))),
        "item (column 'what') must hold items of the public list",
    ),
    "kinds of ids": (lambda: rated(changed(who=[1, "1", 2, 2, 2])), "person (column 'who') must hold ids"),
    "true beside 1": (lambda: rated(changed(who=[1, True, 2, 2, 2])), "person (column 'who') must hold ids"),
    "float ids": (lambda: rated(changed(who=[1.0, 1.0, 2.0, 2.0, 2.0])), "'Int64'"),
    "float ids of pandas": (lambda: rated(pd.DataFrame(changed(who=[1.0, 1.0, None, 2.0, 2.0]))), "'Int64'"),
    "kind of items": (
        lambda: rated(changed(what=[1, 2, 3, 1, 2])),
        "item (column 'what') holds whole numbers, and items lists text",
    ),
    "infinite": (
        lambda: rated(changed(stars=[5, 3, np.inf, 2, 4])),
        "rating (column 'stars') must hold finite numbers",
    ),
    "text value": (
        lambda: rated(changed(stars=[5, 3, SECRET, 2, 4])),
        "rating (column 'stars') must hold finite numbers",
    ),
    "wrong column": (lambda: Profile.from_long(RATINGS, "user", "what", rating="stars", items=DRINKS), "'what'"),
    "lengths": (lambda: Profile.from_long(person=[1, 2], item=["tea"], rating=[1], items=DRINKS), "different lengths"),
    "no table": (lambda: rated([[1, 2]]), "named columns"),
    "max_listed": (lambda: rated(max_listed=1), "max_listed must be"),
    "itself": (lambda: compared({**VOTES, "b": ["x", "z", "z", "x"]}), "different items"),
    "outcome": (lambda: compared({**VOTES, "won": ["a", "tie", "b", SECRET]}), "outcome (column 'won') must hold"),
    "third item": (lambda: compared({**VOTES, "won": ["a", "tie", "b", "y"]}), "one of the two items"),
    "ambiguous": (lambda: compared(items=["x", "y", "z", "tie"]), "may be an item"),
    "blanks apart": (
        lambda: Profile.from_comparisons(
            {"a": ["x"], "a ": ["y"], "won": ["a"]}, "a", "a ", outcome="won", person=None, items=list("xyz")
        ),
        "may be an item, a column or a tie",
    ),
    "tie like a column": (lambda: compared({**VOTES, "won": ["a"] * 4}, ties=["a"]), "may be an item, a column"),
    "words of ties": (lambda: compared({**VOTES, "won": [SECRET] * 4}, ties=["same", "none"]), "now 'same', 'none'."),
    "missing item as text": (
        lambda: Profile.from_orders([np.array(["tea", "nan"])], items="private", max_listed=2),
        "orders is a NumPy array of text",
    ),
    "missing choice as text": (
        lambda: Profile.from_orders(np.array([["tea", "nan"]]), items="private", max_listed=2),
        "orders is a NumPy array of text",
    ),
    "text as ties": (lambda: compared(ties="tie"), "ties must list"),
    "max_weight": (lambda: compared(max_weight=0), "max_weight must be"),
    "no second": (lambda: Profile.from_comparisons(VOTES, "a", items=list("xyz"), person=None), "second must be given"),
    "listed twice": (lambda: Profile.from_orders([["tea", "tea"]], items=DRINKS), "at most once"),
    "text as a list": (lambda: Profile.from_orders(["tea"], items=DRINKS), "list the items"),
    "kinds of persons in parts": (
        lambda: rated([pd.DataFrame(RATINGS), pd.DataFrame(changed(who=[1, 1, 1, 2, 2]))]),
        "person (column 'who') must hold ids",
    ),
    "no part": (lambda: rated([]), "at least one table"),
    "unknown item in a part": (
        lambda: rated([pd.DataFrame(RATINGS), pd.DataFrame(with_rows(("ann", SECRET, 2)))]),
        "item (column 'what') must hold items of the public list",
    ),
    "query": (lambda: rated(pl.DataFrame(RATINGS).lazy()), "load it with collect()"),
    "row as a part": (lambda: rated(iter([{"who": SECRET, "what": "tea", "stars": 1}])), "one entry for each row"),
    "indexes": (
        lambda: rated({**RATINGS, "what": pd.Series(RATINGS["what"]), "stars": pd.Series(RATINGS["stars"])[::-1]}),
        "another index",
    ),
    "indexes of lists": (
        lambda: Profile.from_orders(
            pd.Series([["tea"], ["milk"]]), items=DRINKS, person=pd.Series(["ann", "bob"], index=[1, 0])
        ),
        "another index",
    ),
    **{
        f"missing person as text, {text}": (
            lambda text=text: rated(changed(who=np.array(["ann", text] * 2 + ["bob"]))),
            "may stand for a missing id",
        )
        for text in ("nan", "None", "NaT", "<NA>")
    },
    "unknown in a list": (lambda: Profile.from_orders([["tea", SECRET]], items=DRINKS), "orders must hold items"),
}


@pytest.mark.parametrize("call, words", WRONG.values(), ids=WRONG)
def test_wrong_tables_are_refused_without_a_cell(call, words):
    with pytest.raises(ValueError, match=re.escape(words)) as refusal:
        call()
    shown = refusal.value
    while shown is not None:
        assert SECRET not in str(shown)
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)


# Tables in parts.

N = 300
RNG = np.random.default_rng(0)
LOG = pd.DataFrame({"who": [f"p{k}" for k in RNG.integers(0, 20, N)], "what": RNG.choice([*DRINKS, "gin"], N)})
LOG["stars"] = np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 4, N) / 2)
LOG["b"] = LOG["what"].map(dict(zip([*DRINKS, "gin"], ["milk", "wine", "gin", "tea"], strict=True)))
LOG["won"] = RNG.choice(["what", "b", "tie"], N)
ENDS = [0, 1, 1, 7, 150, N]  # persons have rows in several parts, and one part is empty


def in_parts(table):
    return [table[start:end] for start, end in pairwise(ENDS)]


def read_log(table, form, who="who"):
    items = [*DRINKS, "gin"]
    if form == "comparisons":
        return Profile.from_comparisons(table, "what", "b", outcome="won", person=who, items=items, max_weight=1.5)
    private = form == "private"
    return Profile.from_long(
        table, who, "what", rating="stars", items="private" if private else items, max_listed=2 if private else None
    )


def csv_of(table, folder):
    table.to_csv(folder / "log.csv", index=False)
    return pd.read_csv(folder / "log.csv", chunksize=37)


def parquet_of(table, folder):
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), folder / "log.parquet")
    return pq.ParquetFile(folder / "log.parquet").iter_batches(batch_size=37)


PARTS = {
    "list": lambda table, _: in_parts(table),
    "one": lambda table, _: [table],
    "stream": lambda table, _: iter(in_parts(table)),
    "CSV": csv_of,
    "Parquet": parquet_of,
    "Polars": lambda table, _: in_parts(pl.from_pandas(table)),
    "dicts": lambda table, _: (part.to_dict("list") for part in in_parts(table)),
}


@pytest.mark.parametrize("form", ["ratings", "private", "comparisons"])
@pytest.mark.parametrize("cut", PARTS.values(), ids=PARTS)
def test_parts_of_a_table_are_read_as_the_whole(cut, form, tmp_path):
    whole, found = read_log(LOG, form), read_log(cut(LOG, tmp_path), form)
    for one, other in zip(whole.rows[:4], found.rows[:4], strict=True):
        np.testing.assert_array_equal(one, other)
    assert (found.n_voters, found.bound, found.total_weight) == (whole.n_voters, whole.bound, whole.total_weight)
    assert found.item_names.tolist() == whole.item_names.tolist()
    for norm in ("l1", "l2"):
        np.testing.assert_array_equal(found.clipped(norm).net_wins, whole.clipped(norm).net_wins)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, "Int64"])
@pytest.mark.parametrize("form", ["ratings", "comparisons"])
def test_persons_with_whole_numbers_are_joined_over_the_parts(form, dtype):
    numbered = LOG.assign(who=LOG["who"].str[1:].astype(int).astype(dtype))
    for table in (numbered, in_parts(numbered), in_parts(numbered)[::-1]):
        found = read_log(table, form)
        np.testing.assert_array_equal(found.pairwise_counts, read_log(LOG, form).pairwise_counts)
        assert found.n_voters == 20


KINDS = {
    "whole": [lambda who: who.astype(np.int64), lambda who: who.astype("Int64"), lambda who: who.astype(np.uint64)],
    "text": [lambda who: "th\u00e9" + who.astype(str), lambda who: ("the\u0301" + who.astype(str)).astype("category")],
}
KINDS["text"].append(lambda who: (" th\u00e9" + who.astype(str) + " ").astype(object))


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_the_same_person_may_be_written_otherwise_in_each_part(kinds):
    whole = LOG["who"].str[1:].astype(int)
    cuts = [slice(0, 90), slice(90, 91), slice(91, N)]
    parts = [LOG[cut].assign(who=kind(whole[cut])) for kind, cut in zip(kinds, cuts, strict=True)]
    for form in ("ratings", "comparisons"):
        found = read_log(parts, form)
        assert found.n_voters == 20
        np.testing.assert_array_equal(found.pairwise_counts, read_log(LOG, form).pairwise_counts)


def test_rows_of_other_persons_add_up_over_the_parts():
    found = read_log(in_parts(LOG), "comparisons", who=None)
    assert (found.n_voters, found.bound.unit) == (N, "one comparison")
    np.testing.assert_array_equal(found.net_wins, read_log(LOG, "comparisons", who=None).net_wins)


@pytest.mark.parametrize("left_out", ["items", "person"])
def test_public_list_and_unit_must_be_stated(left_out):
    stated = {"items": list("xyz"), "person": "judge"}
    del stated[left_out]
    with pytest.raises(TypeError, match=left_out):
        Profile.from_comparisons(VOTES, "a", "b", **stated)
    with pytest.raises(TypeError, match="items"):
        Profile.from_long(RATINGS, "who", "what", rating="stars")


def test_outcomes_name_a_column_an_item_or_a_tie():
    items = {**VOTES, "won": ["x", "draw", "z", "both_bad"]}
    assert wins(compared(items)) == [0, -1, 1]
    assert wins(compared({**VOTES, "won": ["x", "same", "z", "same"]}, ties=["same"])) == [0, -1, 1]
    around = {"a ": VOTES["a"], "b": VOTES["b"], "won": ["x", " draw", "z", "draw"], "judge": VOTES["judge"]}
    by_column = {**around, "won": ["a ", " draw", "b", "draw"]}
    stated = {"person": "judge", "outcome": "won", "items": list("xyz"), "ties": ["draw "]}
    one, other = (Profile.from_comparisons(table, "a ", "b", **stated) for table in (around, by_column))
    assert wins(one) == wins(other)
    first_won = compared(outcome=None)
    assert first_won.clipped("l2").rows.winner.tolist() == [0, 1, 0, 2]


def test_comparisons_without_persons_protect_one_comparison():
    assert compared(person=None).n_voters == 4 and compared().n_voters == 2
    for person, unit in (("judge", "all comparisons of one person"), (None, "one comparison")):
        guarantee = DPBorda(epsilon=1.0).fit(compared(person=person)).privacy_
        assert guarantee.unit == unit and f"Unit: {unit}." in guarantee.statement()


def test_lists_may_have_any_length_and_missing_entries():
    lists = [["tea", "milk"], ["wine", "tea", "milk"]]
    for orders in (
        lists,
        [["tea", None, "milk"], ("wine", "tea", "milk")],
        pd.DataFrame([[*lists[0], None], lists[1]]),
        pl.DataFrame([["tea", "wine"], ["milk", "tea"], [None, "milk"]], schema=["1", "2", "3"]),
        pd.Series(lists),
    ):
        assert wins(Profile.from_orders(orders, items=DRINKS)) == [1, -3, 2]
    # The first list alone, and both lists of one person, who counts by their mean.
    both = Profile.from_orders(lists, items=DRINKS, person=["ann", "ann"])
    assert wins(both) == [0.5, -1.5, 1] and both.bound.unit == "all ballots of one person"
    assert wins(Profile.from_orders(lists, items=DRINKS, person=["ann", None])) == [1, -1, 0]


def test_masked_ids_are_missing():
    persons, item = [1, 1, 2, 2, 2], ["tea", "milk", "tea", "milk", "wine"]
    columns = {"item": item, "rating": [5, 3, 2, 4, 1], "items": DRINKS}
    masked = Profile.from_long(person=np.ma.array(persons, mask=[0, 0, 0, 0, 1]), **columns)
    assert wins(masked) == wins(Profile.from_long(person=[1, 1, 2, 2, None], **columns)) == [0, 0, 0]
    texts = np.ma.array(item, mask=[0, 0, 0, 0, 1])
    assert wins(Profile.from_long(**{**columns, "item": texts}, person=persons)) == [0, 0, 0]
    with pytest.raises(ValueError, match="person must hold ids that are all text or all whole numbers"):
        Profile.from_long(person=np.ma.array(persons, dtype=float), **columns)
    lists = np.ma.array([[0, 1, 2], [2, 0, 1]], mask=[[0, 0, 1], [0, 0, 0]])
    assert wins(Profile.from_orders(lists, items=[0, 1, 2])) == [1, -3, 2]


def test_a_list_inside_a_list_ties_its_items():
    ties = [["tea", ["milk", "wine"]], [("milk", "tea")], [[], ["wine"], "tea"]]
    table = [[0, 1, 1], [0, 0, None], [1, None, 0]]
    for person in (None, ["ann", "ann", "bob"]):
        found = Profile.from_orders(ties, items=DRINKS, person=person)
        expected = Profile.from_rankings(table, items=DRINKS, groups=person)
        unit = 1 if person is None else 720720  # weights of tables without persons are 1
        np.testing.assert_array_equal(found.pairwise_counts * unit, expected.pairwise_counts * 720720)
    with pytest.raises(ValueError, match="at most once"):
        Profile.from_orders([["tea", ["milk", "tea"]]], items=DRINKS)


def test_profiles_of_lists_add_up_and_persons_do_not():
    lists = [["tea", "milk"], ["wine", "tea", "milk"], []]
    one, two = (Profile.from_orders(part, items=DRINKS, max_listed=2) for part in (lists[:1], lists[1:]))
    whole = Profile.from_orders(lists, items=DRINKS, max_listed=2)
    assert ((one + two).pairwise_counts == whole.pairwise_counts).all() and (one + two).n_voters == 3
    pooled = compared(person=None) + compared(person=None)
    assert (pooled.net_wins == 2 * compared(person=None).net_wins).all()
    assert pooled.total_weight == 2 * compared(person=None).total_weight
    with pytest.raises(ValueError, match="a person may have ballots in both"):
        rated() + rated()
