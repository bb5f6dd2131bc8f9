"""The reading of one ballot does not depend on other ballots, in any kind of table."""

import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracles import objects
from scipy.sparse import csr_matrix

from sklearn_dprank import Borda, DPBorda
from sklearn_dprank.ballots import reading as tables
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import check_ballots, compact_positions
from sklearn_dprank.collection.base import read_ballot
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.preprocessing import RatingsToRankings, orders_to_positions, unranked_last

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
# Doubles tie some of them.
LARGE = [
    [2**53, 2**53 + 1, 2**53 + 3],
    [2**60 + 2, 2**60, 2**60 + 1],
    [-(2**60), -(2**60) - 1, -(2**60) - 2],
    [2**63 - 1, 2**63 - 3, 2**63 - 2],
    [2**62, 0, 2**62 + 1],
]
ODD = {
    "gap": [0, None, 1],
    "nan": [0, float("nan"), 1],
    "fraction": [0, 0.5, 1],
    "none": [None, None, None],
    "bool": [True, False, True],
    "float16": [np.float16(0.5), 2, 0],
    "longdouble": [np.longdouble("0.5"), 2, 0],
    "2**63": [2**63, -1, 0],
    "2**64": [2**64, -1, None],
    "2**70": [2**70, 2**70 + 1, 0],
    "Decimal": [Decimal("0.5"), 2, Decimal(2**60 + 1)],
    "Fraction": [Fraction(1, 3), 2, 0],
    "large float": [2.0**62, 1e300, -1e300],
    "gap among large": [2**60, None, 2**60 + 1],
}
NAMES = ["a", "b", "c"]


def plain(rows):
    """Return the columns of rows with None for NaN; a test that needs one type for all is skipped without."""
    return [[None if cell is None or cell != cell else cell for cell in column] for column in zip(*rows, strict=True)]


def masked(rows):
    gaps = [[cell is None or cell != cell for cell in row] for row in rows]
    return np.ma.array(
        [[0 if gap else cell for cell, gap in zip(*pair, strict=True)] for pair in zip(rows, gaps, strict=True)],
        mask=gaps,
    )


ANY = {
    "list": list,
    "tuple": lambda rows: tuple(map(tuple, rows)),
    "arrays": lambda rows: [np.array(row, dtype=object) for row in rows],
    "own arrays": lambda rows: [
        np.array([np.nan if cell is None else cell for cell in row]) if None in row else np.array(row) for row in rows
    ],
    "object array": objects,
    "masked objects": lambda rows: np.ma.array(objects(rows), mask=objects(rows) == None),  # noqa: E711
    "objects in pandas": lambda rows: pd.DataFrame(objects(rows), columns=NAMES),
}
WHOLE = {
    "masked array": masked,
    "masked rows": lambda rows: list(masked(rows)),
    "Int64": lambda rows: pd.DataFrame(
        {n: pd.array(c, dtype="Int64") for n, c in zip(NAMES, plain(rows), strict=True)}
    ),
    "Arrow in pandas": lambda rows: pd.DataFrame(
        {n: pd.array(c, dtype=pd.ArrowDtype(pyarrow.int64())) for n, c in zip(NAMES, plain(rows), strict=True)}
    ),
    "polars": lambda rows: polars.DataFrame(
        dict(zip(NAMES, plain(rows), strict=True)), schema_overrides=dict.fromkeys(NAMES, polars.Int64)
    ),
    "pyarrow": lambda rows: pyarrow.table(
        dict(zip(NAMES, (pyarrow.array(c, pyarrow.int64()) for c in plain(rows)), strict=True))
    ),
    "record batch": lambda rows: pyarrow.RecordBatch.from_pydict(
        dict(zip(NAMES, (pyarrow.array(c, pyarrow.int64()) for c in plain(rows)), strict=True))
    ),
}
GAPS = ["gap", "nan", "none", "gap among large"]
CASES = [
    pytest.param(make, odd, id=f"{name}-{kind}")
    for name, make in ANY.items()
    for kind, odd in ODD.items()
    if ("polars" not in name or kind not in ("bool", "Fraction", "Decimal", "large float"))
]
CASES += [pytest.param(make, ODD[kind], id=f"{name}-{kind}") for name, make in WHOLE.items() for kind in GAPS]


def order(row):
    """Return for each cell how many cells of its row are smaller as doubles; None for gaps."""
    cells = [None if cell is None or cell != cell else float(cell) for cell in row]
    return [None if cell is None else sum(other < cell for other in cells if other is not None) for cell in cells]


def read(X, by=Profile.from_rankings):
    """Return the order of each ballot, as it is read."""
    positions = by(X).positions
    ballots = np.where(positions.sentinel == positions.table.T, np.nan, positions.table.T)
    return [order(ballot) for ballot in ballots.tolist()]


@pytest.mark.parametrize(("make", "odd"), CASES)
def test_all_tables_compare_numbers_as_doubles(make, odd):
    rows = [*LARGE, odd, *LARGE]
    expected = [order(row) for row in rows]
    X = make(rows)
    assert read(X) == expected
    assert read(make(LARGE)) == [order(row) for row in LARGE]
    table = compact_positions(check_ballots(X))
    assert read(X, lambda X: Profile(len(rows), 3, positions=table)) == expected
    for higher in (True, False):
        found = np.asarray(RatingsToRankings(higher_is_better=higher).fit_transform(X), dtype=float).tolist()
        signed = [order([None if place is None else -place if higher else place for place in row]) for row in expected]
        np.testing.assert_array_equal(found, np.array(signed, dtype=float))
    last = np.asarray(unranked_last(X))[:, :2].tolist()
    assert [order(row) for row in last[:5]] == [order(row[:2]) for row in LARGE]


@pytest.mark.parametrize("kind", GAPS)
@pytest.mark.parametrize("name", [*ANY, *WHOLE])
def test_chunks_are_read_like_the_whole(name, kind):
    make = {**ANY, **WHOLE}[name]
    rows = [*LARGE, ODD[kind]]
    if name == "masked objects":
        rows = [*rows, *LARGE]
    parts = [make(rows[:3]), make(rows[3:])]
    whole, parted = Profile.from_rankings(make(rows)), Profile.from_chunks(parts)
    np.testing.assert_array_equal(whole.pairwise_counts, parted.pairwise_counts)
    np.testing.assert_array_equal(whole.placements, parted.placements)


def test_blocks_of_a_list_are_read_alike(monkeypatch):
    monkeypatch.setattr(tables, "_ROWS", 2)
    for odd in ODD.values():
        rows = [*LARGE, LARGE[0], odd, LARGE[1]]
        assert read(rows) == [order(row) for row in rows]
    with pytest.raises(ValueError, match="inhomogeneous"):
        check_ballots([*LARGE, LARGE[0], [0, 1], [1, 0]])


def test_columns_that_wrap_round():
    """2^64 - 1 and -1 have the same bits, and differ."""
    frame = pd.DataFrame(
        {"a": [-1] * 9, "b": np.array([2**64 - 1] * 9, dtype=np.uint64), "c": [-3] * 9, "d": [-9.0] * 9}
    )
    assert read(frame.drop(columns="b")) == [[2, 1, 0]] * 9
    assert read(frame) == [[2, 3, 1, 0]] * 9
    frame["b"] = np.array([5] * 8 + [2**64 - 1], dtype=np.uint64)
    assert read(frame) == [[2, 3, 1, 0]] * 9


def test_a_gap_in_one_ballot_moves_no_other():
    ballots = [[2**53, 2**53 + 1, 2**53 + 3]] * 50
    scores = [DPBorda(epsilon=1.0, random_state=0).fit(X).scores_ for X in (ballots, [*ballots, [0, 1, np.nan]])]
    np.testing.assert_array_equal(scores[1] - scores[0], [1, -1, 0])


@pytest.mark.parametrize(
    "make", [np.array, lambda rows: pd.DataFrame(rows), lambda rows: polars.DataFrame(rows, orient="row")]
)
def test_a_fraction_does_not_vanish_beside_a_distant_number(make):
    """-200 is subtracted from all numbers of the ballot, and the difference of the others is below its rounding."""
    row = [-200.0, 50.0, 50.0 + 7e-15]
    assert row[1] - row[0] == row[2] - row[0]
    for rows in ([row], [row] * 9 + [[0.0, 1.0, 2.0]], [[-200.0, -199.0, -198.0]] * 9 + [row]):
        assert read(make(rows)) == [order(each) for each in rows]


def test_a_device_reads_its_ballot_like_a_table():
    for ballot in (*LARGE, np.array(LARGE[0]), np.ma.array(LARGE[1], mask=[0, 0, 1]), ODD["gap among large"]):
        positions, _ = read_ballot(ballot, 3)
        row = ballot.tolist() if hasattr(ballot, "tolist") else ballot
        assert read(None, lambda _, kept=positions: Profile(1, 3, positions=kept)) == [order(row)]


def test_positions_of_a_ballot_are_its_own():
    """A ballot gives the same bytes among any other ballots."""
    rng = np.random.default_rng(0)
    kinds = [
        rng.permutation(6) + 1,
        rng.integers(-300, 300, 6),
        rng.integers(1000, 1006, 6),
        rng.random(6),
        rng.integers(0, 3, 6) * 2.0**60,
        np.where(rng.random(6) < 0.5, np.nan, rng.integers(0, 9, 6)),
        np.full(6, np.nan),
    ]
    alone = [compact_positions(np.array([ballot], dtype=float)).table[:, 0] for ballot in kinds]
    for _ in range(50):
        drawn = rng.integers(len(kinds), size=rng.integers(1, 20))
        drawn[rng.random(len(drawn)) < rng.random()] = 0
        X = np.array([kinds[k] for k in drawn], dtype=float)
        for table in (compact_positions(X).table, Profile.from_rankings(polars.DataFrame(X)).positions.table):
            np.testing.assert_array_equal(table.T, [alone[k] for k in drawn])


SECRET = "271828"


@pytest.mark.parametrize(
    "X",
    [
        pyarrow.table({"a": ["x"], "b": [SECRET + "!"]}),
        pyarrow.RecordBatch.from_pydict({"a": ["x"], "b": [SECRET + "!"]}),
        pyarrow.table({"a": [1], "b": pyarrow.array([f"{SECRET} votes"]).dictionary_encode()}),
        pyarrow.table({"a": [1], "b": [{SECRET: 1}]}),
        pyarrow.table({"a": [1], "b": [[int(SECRET)]]}),
        polars.DataFrame({"a": [1], "b": [f"{SECRET} votes"]}),
        polars.DataFrame({"a": [1], "b": polars.Series([f"{SECRET} votes"], dtype=polars.Categorical)}),
        polars.DataFrame({"a": [1], "b": [[int(SECRET)]]}),
        pd.DataFrame({"a": [1], "b": [f"{SECRET} votes"]}),
    ],
)
@pytest.mark.parametrize(
    "use", [DPBorda().fit, Profile.from_rankings, RatingsToRankings().fit, lambda X: average_kendall_tau([0, 1], X)]
)
def test_no_error_quotes_a_ballot(X, use):
    with pytest.raises((ValueError, TypeError), match=r"column '?[b1]|column 'a'") as caught:
        use(X)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


CELLS = {
    "text": (["9", "10"], ValueError, "got text"),
    "text with an underscore": (["1_0", "9"], ValueError, "got text"),
    "Arabic digits": (["١", "٢"], ValueError, "got text"),
    "text beside numbers": (["9", 10], ValueError, "got text"),
    "bytes": ([b"9", b"10"], ValueError, "got text"),
    "a signalling Decimal": ([Decimal("sNaN"), Decimal(1)], ValueError, "a Decimal that is not a number"),
}


class ArrayLike:
    """Object that NumPy converts to an array."""

    def __init__(self, cells):
        self._cells, self.shape = cells, cells.shape

    def __array__(self, dtype=None, copy=None):
        return self._cells if dtype is None else self._cells.astype(dtype)

    def __len__(self):
        return len(self._cells)


CONTAINERS = {
    "array-like": lambda cells: ArrayLike(objects([[cell, 1] for cell in cells])),
    "list": lambda cells: [[cell, 1] for cell in cells],
    "array": lambda cells: objects([[cell, 1] for cell in cells]),
    "masked array": lambda cells: np.ma.array(objects([[cell, 1] for cell in cells])),
    "pandas": lambda cells: pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": 1}),
    "pandas text": lambda cells: pd.DataFrame({"a": pd.Series(cells, dtype="string"), "b": 1}),
    "ordered categories": lambda cells: pd.DataFrame({"a": pd.Categorical(cells, ordered=True), "b": 1}),
    "polars": lambda cells: polars.DataFrame({"a": polars.Series(cells, dtype=polars.String), "b": [1, 1]}),
    "categories in polars": lambda cells: polars.DataFrame(
        {"a": polars.Series(cells, dtype=polars.Categorical), "b": [1, 1]}
    ),
    "Arrow": lambda cells: pyarrow.table({"a": cells, "b": [1, 1]}),
}
TEXT_ONLY = {"pandas text", "ordered categories", "polars", "categories in polars", "Arrow"}
WAYS = {
    "fit": Borda().fit,
    "profile": Profile.from_rankings,
    "chunks": lambda X: Profile.from_chunks([X]),
    "ratings": RatingsToRankings().fit_transform,
    "unranked last": unranked_last,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_cells_that_are_not_numbers_are_refused_in_every_container(container, cells, way):
    given, error, message = CELLS[cells]
    if container in TEXT_ONLY and not all(isinstance(cell, str) for cell in given):
        pytest.skip("this container holds text only")
    with pytest.raises(error, match=message):
        WAYS[way](CONTAINERS[container](given))


def test_the_remedy_for_words_of_a_scale_reads_them():
    X = pd.DataFrame({"a": pd.Categorical(["bad", "good", None], ordered=True), "b": ["good", "bad", "bad"]})
    with pytest.raises(ValueError, match=r"X\.map\(numbers\.__getitem__, na_action='ignore'\)"):
        Profile.from_rankings(X)
    numbers = {"good": 0, "bad": 1}
    read = Profile.from_rankings(X.astype(object).map(numbers.__getitem__, na_action="ignore"))
    assert read.pairwise_counts.tolist() == [[0, 1], [1, 0]]


def test_approvals_and_items_in_another_order_are_refused():
    approved = pd.DataFrame({"tea": [True, True], "milk": [False, True]})
    for table in (approved, approved.astype("boolean"), approved.to_numpy()):
        with pytest.raises(ValueError, match=r"True would be worse than False.*RatingsToRankings"):
            Profile.from_rankings(table)
    assert Profile.from_rankings(RatingsToRankings().fit_transform(approved)).net_wins.tolist() == [1, -1]
    with pytest.raises(ValueError, match="items has the names of X's columns in another order"):
        Profile.from_rankings(approved.astype(int), items=["milk", "tea"])


def test_items_rename_columns_that_have_no_names_of_their_own():
    for columns in ([0, 1], ["tea", "tea"]):
        table = pd.DataFrame([[1, 2]], columns=columns)
        assert [*Profile.from_rankings(table, items=["milk", "wine"]).item_names] == ["milk", "wine"]
    assert [*Profile.from_rankings(pd.DataFrame([[1, 2]]), items=[1, 0]).item_names] == [1, 0]


def test_lists_of_truth_values_are_read_alike_whatever_another_list_holds():
    for other in ([True, True], [0, 1]):
        assert Profile.from_rankings([[True, False], other]).n_voters == 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (polars.LazyFrame({"a": [1, 2], "b": [2, 1]}), ValueError, r"LazyFrame.*pass X\.collect\(\)"),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), ValueError, "structured array.*pandas.DataFrame"),
        (csr_matrix([[1, 2], [2, 1]]), TypeError, r"Sparse.*person=c\.row, item=c\.col, rating=c\.data.*toarray"),
        (pd.DataFrame.sparse.from_spmatrix(csr_matrix([[1, 2], [2, 1]])), TypeError, r"Sparse.*X\.sparse\.to_coo"),
        ([(0, 2), (2, 1)], ValueError, r"list of pairs.*Profile\.from_comparisons\(None, pairs"),
    ],
    ids=["query", "structured", "sparse", "sparse frame", "pairs"],
)
def test_tables_that_are_not_ballots_are_refused_with_the_remedy(X, error, message, way):
    with pytest.raises(error, match=message):
        WAYS[way](X)


@pytest.mark.parametrize("make", [pd.DataFrame, polars.DataFrame, pyarrow.table])
@pytest.mark.parametrize(
    ("names", "call"),
    [
        (
            ["userId", "movieId", "rating", "timestamp"],
            "from_long(X, 'userId', 'movieId', rating='rating', items=[...])",
        ),
        (["item_id", "person", "Rank"], "from_long(X, 'person', 'item_id', position='Rank', items=[...])"),
        (["winner", "loser", "day"], "from_comparisons(X, 'winner', 'loser', person=..., items=[...])"),
        (["model_a", "model_b", "winner"], "from_comparisons(X, 'model_a', 'model_b', outcome='winner', person=..., "),
    ],
)
def test_long_tables_are_refused_by_their_column_names(names, call, make):
    table = make({name: [1, 2] for name in names})
    for read in (Borda().fit, Borda().guarantee_before, Profile.from_rankings):
        with pytest.raises(ValueError, match=re.escape(f"Profile.{call}")):
            read(table)
    left_out = make({name: [1, 2] for name in names[:-2]} | {"tea": [2, 1], "milk": [1, 2]})
    assert Profile.from_rankings(left_out).n_items == len(names)


TABLES = {
    "table": lambda data: pyarrow.table(data),
    "record batch": lambda data: pyarrow.RecordBatch.from_pydict({name: pyarrow.array(c) for name, c in data.items()}),
    "polars": lambda data: polars.DataFrame(data),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_columns_keep_their_names(make):
    X, turned = make({"tea": [0, 1], "milk": [1, 0]}), make({"milk": [1, 0], "tea": [0, 1]})
    profile = Profile.from_rankings(X)
    assert profile.item_names.tolist() == ["tea", "milk"]
    with pytest.raises(ValueError, match="do not add up"):
        Profile.from_chunks([X, turned])
    with pytest.raises(ValueError, match=r"chunks is one table of ballots"):
        Profile.from_chunks(X)
    assert Profile.from_chunks([X, X.slice(0, 0), X]).n_voters == 4
    fitted = Borda().fit(X)
    assert fitted.feature_names_in_.tolist() == ["tea", "milk"]
    assert set(fitted.consensus_) == {"tea", "milk"}
    assert fitted.score(X) == fitted.score(profile)
    with pytest.raises(ValueError, match="names"):
        fitted.score(turned)
    to_rankings = RatingsToRankings().fit(X)
    assert to_rankings.feature_names_in_.tolist() == ["tea", "milk"]
    assert Profile.from_rankings(to_rankings.transform(X)).item_names.tolist() == ["tea", "milk"]
    assert type(to_rankings.transform(X)) is type(X)
    with pytest.raises(ValueError, match="names"):
        to_rankings.transform(turned)
    with pytest.raises(ValueError, match=r"contains infinity"):
        Borda().fit(make({"tea": [0.0, np.inf], "milk": [1, 0]}))
    with pytest.raises(ValueError, match=r"minimum of 1 is required"):
        Borda().fit(X.slice(0, 0))


@pytest.mark.parametrize("make", [lambda X: X, list, tuple], ids=["array", "rows", "tuple of rows"])
@pytest.mark.parametrize("named", [False, True])
def test_masked_orders_list_what_is_not_masked(make, named):
    items, names = np.array([[2, 0, 1], [1, 2, 0]]), {"items": ["x", "y", "z"]} if named else {"n_items": 3}
    cells = np.array(["x", "y", "z"])[items] if named else items
    orders = make(np.ma.array(cells, mask=[[0, 0, 0], [0, 1, 1]]))
    np.testing.assert_array_equal(orders_to_positions(orders, **names), [[1, 2, 0], [np.nan, 0, np.nan]])


DTYPES = ["int8", "uint64", "float16", "float32", "float64", "longdouble", "object"]
DTYPES += ["Int8", "UInt64", "Float32", "Float64", "int64[pyarrow]", "double[pyarrow]"]


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
def test_each_ballot_of_a_frame_of_mixed_dtypes_is_read_by_itself(first, second):
    """The first dtype has whole numbers, the second the numbers that it can hold, in particular large ones and gaps."""
    cells = [[0, 1, 1, 0]]
    for cell in (1, 100, 2.5, None):
        held = [0, 0, 1, cell]
        try:
            pd.Series(held, dtype=second)
        except (TypeError, ValueError, OverflowError, pyarrow.ArrowException):
            continue
        cells.append(held)
    dtypes = [first, second] + [second] * (len(cells) - 2)
    data = {k: pd.Series(column, dtype=dtype) for k, (column, dtype) in enumerate(zip(cells, dtypes, strict=True))}
    frame = pd.DataFrame(data)
    whole = Profile.from_rankings(frame).pairwise_counts
    np.testing.assert_array_equal(whole, sum(Profile.from_rankings(frame[k : k + 1]).pairwise_counts for k in range(4)))
    objects_only = pd.DataFrame(dict(zip(data, map(list, data.values()), strict=True)), dtype=object)
    np.testing.assert_array_equal(whole, Profile.from_rankings(objects_only).pairwise_counts)


@pytest.mark.parametrize("others", [{}, {"b": pd.array([1, 2], dtype="Int64")}, {"b": [True, False]}], ids=str)
@pytest.mark.parametrize("make", [lambda frame: frame, pd.DataFrame.to_numpy, lambda frame: frame.to_numpy().tolist()])
def test_numbers_beyond_doubles_are_refused_in_every_table(make, others):
    frame = pd.DataFrame({"a": np.array(["1e400", "2"], dtype=np.longdouble), "b": [1, 2]}).assign(**others)
    with pytest.raises(ValueError, match="contains infinity"):
        Profile.from_rankings(make(frame))


@pytest.mark.slow
def test_a_client_loads_no_library_of_tables():
    """The module that reads ballots loads NumPy and the standard library only."""
    others = {"pandas", "polars", "pyarrow", "sklearn", "scipy"}
    code = f"import sys, sklearn_dprank.ballots.reading; print(*{others} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert run.stdout.split() == []


@pytest.mark.parametrize("m", [3, 300])
@pytest.mark.parametrize("dtype", [">i2", ">u2", ">i4", ">i8", ">f8"])
def test_numbers_in_another_byte_order(dtype, m):
    rng = np.random.default_rng(m)
    ballots = np.array([rng.permutation(m) for _ in range(40)])
    if dtype != ">u2":
        ballots[::3] *= -100  # not yet positions
    foreign = ballots.astype(dtype)
    tables = [foreign, pd.DataFrame(foreign), pd.DataFrame({f"c{k}": foreign[:, k] for k in range(m)})]
    tables[-1]["c0"] = foreign[:, 0].astype(float)
    for table in tables:
        np.testing.assert_array_equal(
            Profile.from_rankings(table).pairwise_counts, Profile.from_rankings(ballots).pairwise_counts
        )
