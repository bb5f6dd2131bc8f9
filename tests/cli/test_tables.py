"""Files as rows of text: kinds, encodings, line breaks, empty rows and rows above the names."""

import builtins
import csv
import datetime
import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sklearn_dprank.cli import files, main, parser

RATED = ["--ratings", "--items", "all"]
ITEMS = ["--ratings", "--items", "tea,milk,wine"]
TABLE = [[0, 1, 2], [2, 1, 0], [1, 0, 255]]  # positions of the rows 3,2,1 and 1,2,3 and 1,2 (empty)
ROWS = "3,2,1\n1,2,3\n1,2,\n"


@pytest.fixture
def read(tmp_path):
    """Return the positions in a file with this content, a row a voter."""

    def call(content, *options, name="v.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        profile = files.read(parser().parse_args(["rank", str(path), *options, "--epsilon", "1"]))[0]
        return profile.positions.table.T.tolist()

    return call


@pytest.fixture
def refused(read):
    """Return the message of a file that is refused."""

    def call(*given, error=ValueError, **more):
        with pytest.raises(error) as refusal:
            read(*given, **more)
        return str(refusal.value)

    return call


def workbook(*rows, **others):
    openpyxl = pytest.importorskip("openpyxl")
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    for name, cells in others.items():
        book.create_sheet(name).append(cells)
    book.save(out)
    return out.getvalue()


# Encodings and separators.


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_a_mark_need_no_option(encoding, read):
    assert read(f"té,milk,wine\n{ROWS}".encode(encoding), *RATED) == TABLE
    assert read(gzip.compress(f"té,milk,wine\n{ROWS}".encode(encoding)), *RATED) == TABLE


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "shift_jis", "UTF8"])
def test_other_encodings_are_stated(encoding, read):
    name = "茶" if encoding == "shift_jis" else "thé"
    content = f"{name},milk,wine\n{ROWS}".encode(encoding)
    assert read(content, "--ratings", "--items", f"{name},milk,wine", "--encoding", encoding) == TABLE


def test_a_line_that_cannot_be_decoded_is_one_unreadable_ballot(read, refused):
    content = b"tea,milk,why\n3,2,ok\n2,1,\xe9\n1,3,ok\n"
    options = ["--ratings", "--items", "tea,milk"]
    assert re.match("v.csv, line 3: this is not UTF-8 text. Add --encoding cp1252 if", refused(content, *options))
    assert read(content, *options, "--unreadable", "empty") == [[0, 1], [255, 255], [1, 0]]
    assert read(content, *options, "--encoding", "cp1252") == [[0, 1], [0, 1], [1, 0]]
    lone = "tea,milk,why\n3,2,ok\n2,1,\ud800\n1,3,ok\n".encode("utf-16", "surrogatepass")
    assert read(lone, *options, "--unreadable", "empty") == [[0, 1], [255, 255], [1, 0]]


@pytest.mark.parametrize("name", ["nonsense", "base64", ""])
def test_unknown_encodings_are_refused(name, capsys):
    assert main(["rank", "v.csv", "--encoding", name, "--epsilon", "1"]) == 2
    assert f"argument --encoding: {name} is not an encoding that Python knows; try utf-8" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["utf-7", "hz", "iso2022_jp", "iso2022_kr", "unicode_escape", "raw_unicode_escape"])
def test_encodings_are_refused_if_lines_affect_others(name, capsys):
    assert main(["rank", "v.csv", "--encoding", name, "--epsilon", "1"]) == 2
    assert f"in {name}, a line can change how others are read; save the file as utf-8" in capsys.readouterr().err


ANY_BYTES = [
    b"\x80",
    b"\xff\xff",
    b"~{",
    b"+A",
    b"\x1b$B",
    b"\x0e",
    b"\\",
    b"\xd8\x00",
    b"\x00\xd8",
    b"\xff\xff\xff\x7f",
    b"\x81\x30",
]


@pytest.mark.parametrize(
    "name", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030", "shift_jis", "cp1252", "cp037"]
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_any_bytes_of_a_ballot_leave_the_others_alone_in_each_encoding(name, place, read):
    ending, width = "\n".encode(name), len("a".encode(name))
    for ballot in ANY_BYTES:
        lines = [text.encode(name) for text in ("milk,tea", "tea,milk")]
        lines.insert(place, ballot + b"\0" * (-len(ballot) % width))
        options = ("--orders", "--items", "tea,milk", "--unreadable", "empty", "--encoding", name)
        found = read(ending.join([*lines, b""]), *options)
        assert [found.pop(place), *found] == [[0, 0], [1, 0], [0, 1]]


def test_a_file_of_utf_16_may_end_within_a_letter(read):
    content = "tea,milk\n1,2\n2,1".encode("utf-16") + b"\0"
    assert read(content, *RATED, "--unreadable", "empty") == [[1, 0], [255, 255]]


def test_the_line_of_excel_states_the_separator(read):
    content = "tea;milk;wine\n" + ROWS.replace(",", ";")
    for line in ("sep=;\r\n", '"sep=;"\n', "SEP=;\n"):
        assert read(line + content, *RATED) == TABLE
    assert read("sep=;\ntea,milk,wine\n" + ROWS, *RATED, "--separator", ",") == TABLE


def test_the_line_of_excel_is_a_ballot_of_orders(read, refused):
    """It would change how all other ballots are read."""
    options = ["--orders", "--items", "tea,milk"]
    assert "line 1: cell 1 is not one of the 2 items" in refused("sep=;\ntea,milk\n", *options)
    assert read("sep=;\ntea,milk\n", *options, "--unreadable", "empty") == [[0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("first", "added"),
    [
        ("tea;milk;wine", ["--separator", ";", "--decimal", ","]),
        ("tea\tmilk\twine", ["--separator", "tab"]),
        ("tea|milk|wine", ["--separator", "|"]),
        ("Poll\n\ntea,milk,wine", ["--skip-rows", "1"]),
        ("Poll\nMay\ntea;milk;wine", ["--separator", ";", "--decimal", ",", "--skip-rows", "1,2"]),
    ],
)
def test_a_first_row_with_one_cell_gives_the_options(first, added, read, refused):
    content = first + "\n" + ROWS.replace(",", first[3] if first[3] in ";\t|" else ";" if ";" in first else ",")
    assert refused(content, *RATED).endswith(" ".join(added).replace(";", "';'").replace("|", "'|'"))
    assert read(content, *RATED, *added) == TABLE


def test_a_first_row_that_may_be_a_ballot_gives_no_command(refused):
    for row in ("secret;4;5", "3;4;5", "secret", "secret;"):
        message = refused(f"{row}\n{row}\n", *RATED)
        assert "secret" not in message and "Then run" not in message
    scale = ["--ratings", "--scale", "bad,secret"]
    for content in ("secret;bad\nbad;bad\n", "Poll\nsecret,bad\n", "Poll\nsecret;secret\n"):
        assert "secret" not in refused(content, *scale)
    message = refused("Poll\nsecret,hidden\n", "--ratings")  # nobody said that the first row is a title
    assert message.endswith("--ratings --skip-rows 1") and "secret" not in message and "hidden" not in message


# Decimal commas.


def test_decimal_commas(read, refused):
    content = 'tea;milk;wine\n"3,5";2,25;1\n,5;2;3,\n1;2;\n'
    options = [*RATED, "--separator", ";"]
    assert read(content, *options, "--decimal", ",") == [[0, 1, 2], [2, 1, 0], [1, 0, 255]]
    assert "column 'tea' must hold numbers (up to 1e+300), or empty cells. For decimal commas, add --decimal ','." in (
        refused(content, *options)
    )
    point = refused("tea;milk\n1;1.500\n", *options, "--decimal", ",")  # it may be a thousand and a half
    assert "Decimals need a comma, as --decimal says, and thousands have no mark." in point


def test_decimal_commas_of_weights_and_codes(read):
    options = ["--separator", ";", "--decimal", ","]
    weights = ["--weight", "w", "--max-weight", "3"]
    assert read("tea;milk;w\n2;1;1,5\n", *RATED, *options, *weights) == [[0, 1]]
    assert read("tea;milk\n99,0;1\n", *RATED, *options, "--no-answer", "99") == [[255, 0]]


def test_decimal_commas_of_long_data(tmp_path):
    (tmp_path / "v.csv").write_text("who;what;stars\na;tea;2,5\na;milk;3\n")
    options = ["--long", "who", "what", "stars", "--ratings", "--items", "tea,milk", "--separator", ";"]
    options = ["rank", str(tmp_path / "v.csv"), *options, "--decimal", ",", "--epsilon", "1"]
    assert files.read(parser().parse_args(options))[0].pairwise_counts.tolist() == [[0, 0], [720720, 0]]


# Line breaks in quotes.


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_complete_quotes_may_hold_line_breaks(ending, read, refused):
    rows = ['3,2,1,"good', "", 'so, it ""is', '"', "1,2,3,", '1,2,,"a', 'b"']
    content = ending.join(["tea,milk,wine,why", *rows])
    assert read(content, *ITEMS) == TABLE
    assert "v.csv, line 9: " in refused(f"{content}{ending}1,2,x,", *ITEMS)


def test_line_breaks_add_and_hide_no_ballots(read, refused):
    """A line that is a row by itself may be a ballot that two quotes hide, or one that a comment adds."""
    content = 'tea,milk,why\n1,2,"so\n2,1,ok\n1,2,x"\n'
    assert "v.csv, line 2: this is not CSV (unexpected end of data)" in refused(
        content, "--ratings", "--items", "tea,milk"
    )
    options = ["--ratings", "--items", "tea,milk", "--unreadable", "empty"]
    assert read(content, *options) == [[255, 255], [0, 1], [1, 0]]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(comments=st.lists(st.text('a1",\n\r', max_size=12), min_size=3, max_size=3))
def test_comments_of_any_text_change_no_ballot(comments, tmp_path_factory):
    """A program that writes correct CSV may quote any text: the file is read as it was meant, or refused."""
    path = tmp_path_factory.getbasetemp() / "comments.csv"
    with path.open("w", newline="") as file:
        rows = [[3, 2, 1], [1, 2, 3], [1, 2, ""]]
        csv.writer(file).writerows(
            [["tea", "milk", "wine", "why"], *([*row, c] for row, c in zip(rows, comments, strict=True))]
        )
    options = parser().parse_args(["rank", str(path), *ITEMS, "--epsilon", "1"])
    try:
        found = files.read(options)[0].positions.table.T.tolist()
    except ValueError as refusal:
        assert "this is not CSV (unexpected end of data)" in str(refusal)
        assert any(comment.count(",") >= 3 for comment in comments)  # a line like a ballot
    else:
        assert found == TABLE


def test_one_line_is_one_ballot_if_unreadable_rows_are_empty(read):
    """Otherwise, the quotes of one ballot could change how the next one is read."""
    options = [*ITEMS, "--unreadable", "empty"]
    assert read('tea,milk,wine,why\n3,2,1,"a\nb"\n1,2,3,\n', *options) == [[255] * 3, [255] * 3, [2, 1, 0]]


def test_a_quote_that_is_not_closed_moves_no_other_ballot(read, refused):
    shaped = '9,"\n4,x",5,"\ny"\n'  # one row, of which the last two lines look like another row
    options = ("--ratings", "--items", "a,b")
    assert read("a,t,b,u\n1,z,2,w\n" + shaped, *options) == [[1, 0], [0, 1]]
    assert "v.csv, line 4: this is not CSV" in refused('a,t,b,u\n1,z,2,"\n' + shaped, *options)


def test_names_may_have_line_breaks(read, refused):
    content = '"How good?\nRate [tea]","How good?\nRate [milk]"\n2,1\n'
    assert read(content, "--ratings") == [[0, 1]]
    assert "secret" not in refused('tea,"milk\nsecret,2\n3,"\n', *RATED)


# Rows without text, and rows above the names.


@pytest.mark.parametrize("line", ["", ",,", " , ,\t", '"","",""'])
def test_rows_without_text_are_left_out(line, read):
    assert read(f"tea,milk,wine\n{ROWS}{line}\n{line}\n", *RATED) == TABLE
    assert read(f"{line}\ntea,milk,wine\n{line}\n{ROWS}", *RATED) == TABLE if not line else True
    assert read(workbook(["tea", "milk", "wine"], [3, 2, 1], [None, " "], [1, 2, 3], [1, 2], [], [""]), *RATED) == TABLE


def test_rows_without_text_count_where_the_number_of_voters_is_public(read):
    content = f"tea,milk,wine\n{ROWS},,\n"
    assert read(content, *RATED, "--neighboring", "replace") == [*TABLE, [255] * 3]


@pytest.mark.parametrize("first", ["", "tea,milk"])
def test_empty_lists_count_where_the_number_of_voters_is_public(first, read):
    options, tied = ("--orders", "--items", "tea,milk", "--neighboring", "replace"), [0, 0]
    expected = [[0, 1] if first else tied, tied, [1, 0], tied]
    assert read(f"{first}\n\nmilk\n\n", *options) == expected
    assert read(f"{first}\n\nmilk\n\n", *options[:3]) == [[0, 1]] * bool(first) + [[1, 0]]
    counted = f"3,{first}\n\n1,milk\n" if first else "\n1,milk\n"
    assert read(counted, *options, "--count", "1") == [[0, 1]] * 3 * bool(first) + [[1, 0]]


def test_sheets_are_refused_where_the_number_of_voters_is_public(refused):
    message = refused(workbook(["tea", "milk"], [1, 2], [None]), *RATED, "--neighboring", "replace")
    assert message.startswith("Excel stores no empty rows at the end, so --neighboring replace could count too few")


def test_an_empty_line_is_a_ballot_where_the_number_of_voters_is_public(read, refused):
    content, options = "\ntea,milk\n1,2\n\n2,1\n", [*RATED, "--neighboring", "replace"]
    assert "line 4: the row has more or fewer cells than the first row, 2" in refused(content, *options)
    assert read(content, *options, "--unreadable", "empty") == [[1, 0], [255, 255], [0, 1]]
    assert read(content, *RATED) == [[1, 0], [0, 1]]


FIRST = [
    b"PAR1",
    b"ARROW1,milk",
    b"PK\3\4",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\x1f\x8b\x08",
    b"\xef\xbb\xbf\xef\xbb\xbf",
    b"[{",
]


@pytest.mark.parametrize("first", [*FIRST, b"sep=;", b"\0", b'"', b"\xff\xfe\0\0"])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_the_first_list_does_not_choose_the_kind_of_the_file(first, neighboring, read):
    options = ("--orders", "--items", "tea,milk", "--unreadable", "empty", "--neighboring", neighboring)
    assert read(first + b"\nmilk,tea\n", *options) == [[0, 0], [1, 0]]


def test_lists_are_unpacked_by_the_name_of_the_file(read, refused):
    options, content = ("--orders", "--items", "tea,milk"), gzip.compress(b"milk,tea\n")
    assert read(content, *options, name="v.csv.gz") == [[1, 0]]
    assert "v.csv, line 1: this is not UTF-8 text" in refused(content, *options)
    assert "v.csv.gz is not gzipped, or is cut or damaged; get it again." in refused(
        b"tea\n", *options, name="v.csv.gz"
    )
    assert read("milk\n".encode("utf-16"), *options, "--encoding", "utf-16") == [[1, 0]]


def test_rows_of_titles_are_skipped(read, refused):
    content = f"Poll,,\n\nof May,,\ntea,milk,wine\nhow good,,\n{ROWS}"
    options = [*RATED, "--skip-rows", "1,3"]
    assert read(content, *options, "5") == TABLE
    assert "v.csv, line 5: " in refused(content, *options)
    assert "If line 5 is a second row of names, and no ballot, add --skip-rows 5." in refused(content, *options)
    assert read("a,b\n1,2\nmilk,tea\n", "--orders", "--items", "tea,milk", "--skip-rows", "1", "2") == [[1, 0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*RATED, "--skip-rows", "4"], "--skip-rows lists 4, so beside the row of names, it must list all rows above"),
        ([*RATED, "--skip-rows", "1,4"], "got 1, 4. It is for rows of titles and names, not for ballots."),
        ([*RATED, "--skip-rows", "3"], "--skip-rows lists 3, so beside the row of names, it must list all rows above"),
        (["--orders", "--items", "1,2,3", "--skip-rows", "2"], "--skip-rows lists 2, so it must list all rows above"),
    ],
)
def test_rows_of_ballots_are_not_skipped(options, message, refused):
    """Their numbers would change with the ballots above them."""
    assert message in refused(f"tea,milk,wine\n{ROWS}", *options)


def test_an_empty_ballot_above_a_skipped_row_changes_nothing(refused):
    message = refused(f"tea,milk,wine\n\n{ROWS}", *RATED, "--skip-rows", "3")
    assert message == refused(f"tea,milk,wine\n{ROWS}", *RATED, "--skip-rows", "3")


# Workbooks.


def test_a_workbook_is_a_table(read, refused):
    content = workbook(["tea", "milk", "wine"], [3, 2.0, "1"], [1, "2", 3.5], [True, 2, None])
    assert read(content, *RATED, name="v.xlsx") == read(content, *RATED, "--decimal", ",", name="v.xlsx") == TABLE
    assert read(content, *RATED, name="no ending") == TABLE
    lists = workbook(["tea", "milk"], ["milk"])
    assert read(lists, "--orders", "--items", "tea,milk", name="v.xlsx") == [[0, 1], [1, 0]]
    message = refused(workbook(["Poll"], ["tea", "milk"], [1, 2], [1, "x"]), *RATED, "--skip-rows", "1")
    assert message.startswith("v.csv, row 4: column 'milk' must hold numbers")


def test_sheets_are_named(read, refused):
    content = workbook(["tea", "milk"], [2, 1], Notes=["a"], **{"More votes": ["b"]})
    message = refused(content, *RATED)
    assert message == "v.csv has 3 sheets; name one of them: --sheet Sheet or --sheet Notes or --sheet 'More votes'."
    assert read(content, *RATED, "--sheet", "Sheet") == [[0, 1]]
    assert "--sheet 'votes' is none of the sheets of v.csv; these are Sheet, Notes, More votes." in (
        refused(content, *RATED, "--sheet", "votes")
    )


def test_persons_of_workbooks_are_not_floats(read, refused):
    options = [*RATED, "--person", "who"]
    assert read(workbook(["who", "tea", "milk"], [7, 2.5, 1]), *options) == [[0, 1]]
    message = refused(workbook(["who", "tea", "milk"], [7.5, 2, 1]), *options)
    assert message.startswith("column 'who' must hold text or whole numbers, and holds floats; write it as text. This")


# Parquet and Feather.


def test_a_cell_beyond_the_names_of_a_sheet_changes_no_other_row(read, refused):
    rows = [["tea", "milk", "wine"], [1, 2, 3, None, "x"], [1, 2], [3, None, 1]]
    assert "row 2: the row has more or fewer cells" in refused(workbook(*rows), *RATED, name="v.xlsx")
    found = read(workbook(*rows), *RATED, "--unreadable", "empty", name="v.xlsx")
    assert found == [[255, 255, 255], [1, 0, 255], [0, 255, 1]]


def test_floats_of_persons_are_their_own_ids_if_unreadable_rows_are_empty(read):
    rows = [["who", "tea", "milk"], [1, 1, 2], [1.5, 2, 1]]
    options = ("--ratings", "--items", "tea,milk", "--person", "who", "--unreadable", "empty")
    assert read(workbook(*rows), *options, name="v.xlsx") == [[1, 0], [0, 1]]


@pytest.mark.parametrize("second", [1, None])
def test_a_missing_cell_changes_no_other_whole_number(second, tmp_path, read):
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    pd.DataFrame({"Rank 1": [2, 2], "Rank 2": [1, second]}).to_parquet(tmp_path / "t.parquet")
    options = ("--choices", "Rank *", "--items", "1,2", "--decimal", ",")
    assert read((tmp_path / "t.parquet").read_bytes(), *options, name="v.parquet") == [[1, 0], [1, 0]]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columns_of_arrow(kind, read, refused):
    arrow = pytest.importorskip("pyarrow")
    module, out = pytest.importorskip(f"pyarrow.{kind}"), io.BytesIO()
    table = {"when": arrow.array([1, 2, 3, 4], arrow.timestamp("ns")), "tea": [3.0, np.nan, None, True * 1.0]}
    table |= {"milk": arrow.array(["2", None, None, "0"]).dictionary_encode(), "why": [["a"], None, None, ["b"]]}
    getattr(module, "write_table" if kind == "parquet" else "write_feather")(arrow.table(table), out)
    options = ["--ratings", "--items", "tea,milk"]
    for name in (f"v.{kind}", "votes"):
        assert read(out.getvalue(), *options, name=name) == [[0, 1], [255, 255], [255, 255], [0, 1]]
    assert "column 'tea' must hold text or whole numbers" in refused(
        out.getvalue(), "--ratings", "--items", "milk,why", "--person", "tea"
    )
    assert "name their columns; list those of the choices in --choices" in refused(
        out.getvalue(), "--orders", "--items", "tea,milk", name=f"v.{kind}"
    )


def test_an_index_of_pandas_is_not_an_item(read):
    pd, out = pytest.importorskip("pandas"), io.BytesIO()
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"tea": [2, 1], "milk": [1, 2]}, index=pd.Index(["ann", "bob"], name="known as"))
    frame.to_parquet(out)
    assert read(out.getvalue(), *RATED) == [[0, 1], [1, 0]]
    assert read(out.getvalue(), *RATED, "--person", "known as") == [[0, 1], [1, 0]]


def arrow_file(**columns):
    arrow, feather, out = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather"), io.BytesIO()
    feather.write_feather(arrow.table(columns), out)
    return out.getvalue()


CELLS = {  # of Arrow, in each of three rows; Python or UTF-8 cannot hold some of them
    "text": (["a", b"\xff", None], "binary"),
    "invalid text": (["a", b"\xff\xfe", None], "text"),
    "times": ([1, 2**62, None], "timestamp[ns, tz=UTC]"),
    "seconds": ([1, 2**62, None], "timestamp[s]"),
    "days": ([1, 2**31 - 1, None], "date32[day]"),
    "durations": ([1, 2**62, None], "duration[ns]"),
    "decimals": ([1, 2**62, None], "decimal128(38, 2)"),
    "lists": ([["a"], [None, "\0"], None], "list"),
    "pairs": ([{"a": 1}, {"a": None}, None], "struct"),
    "empty": ([None] * 3, "null"),
}


def arrow_column(cells, kind):
    arrow = pytest.importorskip("pyarrow")
    if kind in ("list", "struct", "null"):
        return arrow.array(cells)
    if kind in ("binary", "text"):
        column = arrow.array([cell.encode() if isinstance(cell, str) else cell for cell in cells], arrow.binary())
        return column.view(arrow.string()) if kind == "text" else column
    types = {
        "timestamp[ns, tz=UTC]": arrow.timestamp("ns", "UTC"),
        "timestamp[s]": arrow.timestamp("s"),
        "date32[day]": arrow.date32(),
        "duration[ns]": arrow.duration("ns"),
        "decimal128(38, 2)": arrow.decimal128(38, 2),
    }
    whole = arrow.array(cells, arrow.int32() if kind == "date32[day]" else arrow.int64())
    return whole.cast(types[kind])


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("is_ballot", [False, True])
def test_any_cell_of_arrow_leaves_the_other_rows_alone(name, is_ballot, read):
    column = arrow_column(*CELLS[name])
    names = ["tea", "milk", *["odd"] * is_ballot]
    content = arrow_file(tea=[1, 2, 3], milk=[3, 1, 2], odd=column)
    found = read(content, "--ratings", "--items", ",".join(names), "--unreadable", "empty", name="v.feather")
    readable = {"times", "seconds", "days", "durations", "decimals", "lists", "pairs", "empty"}
    if not is_ballot:
        assert found == [[1, 0], [0, 1] if name in readable else [255, 255], [0, 1]]
    assert len(found) == 3 and found[2] == [0, 1, *[255] * is_ballot]


def test_numbers_of_arrow_are_the_same_text_in_each_type(read):
    arrow = pytest.importorskip("pyarrow")
    types = [arrow.int64(), arrow.float64(), arrow.decimal128(20, 0), arrow.string()]
    for kind in [*types, arrow.dictionary(arrow.int8(), arrow.float64())]:
        first = arrow.array(["2", "9007199254740991", None]).cast(arrow.int64()).cast(arrow.float64())
        value = getattr(kind, "value_type", kind)
        column = first.cast(arrow.int64()).cast(arrow.decimal128(20, 0)) if arrow.types.is_decimal(value) else first
        column = column.cast(arrow.int64()).cast(value) if arrow.types.is_string(value) else column.cast(value)
        column = column.dictionary_encode() if arrow.types.is_dictionary(kind) else column
        content, items = arrow_file(a=column, b=["2", "2", "2"]), "2,9007199254740991"
        assert read(content, "--choices", "a", "--items", items) == [[0, 1], [1, 0], [0, 0]]


@pytest.mark.parametrize("decimal", [[], ["--decimal", ","]])
def test_fractions_of_arrow_need_no_decimal_mark(decimal, read):
    arrow = pytest.importorskip("pyarrow")
    short = arrow.array([99.9, 1.5], arrow.float32())
    half = arrow.array([1.5, 2.5]).cast(arrow.decimal128(3, 1))
    shared = arrow.array([2.5, 0.5]).dictionary_encode()
    content, code = arrow_file(tea=short, milk=half, wine=shared), "'99,9'" if decimal else "99.9"
    assert read(content, *RATED, *decimal) == [[0, 2, 1], [1, 0, 2]]
    if not decimal:
        assert read(content, *RATED, "--no-answer", code) == [[255, 1, 0], [1, 0, 2]]


def test_a_fraction_that_is_missing_names_no_person(read, refused):
    arrow = pytest.importorskip("pyarrow")
    options = ["--ratings", "--items", "tea,milk", "--person", "who"]
    for who in (arrow.array([1.5, np.nan, np.nan]), arrow.array([1.5, None, None]).dictionary_encode()):
        content = arrow_file(who=who, tea=[1, 2, 3], milk=[2, 1, 1])
        assert read(content, *options, "--unreadable", "empty") == [[1, 0], [255, 255], [255, 255]]
        assert "column 'who' must hold text or whole numbers, and holds floats" in refused(content, *options)


# Cells of sheets.


@pytest.mark.parametrize(
    "ballot",
    [
        [datetime.date(2020, 1, 2), datetime.time(1, 2), datetime.timedelta(9)],
        ["#DIV/0!", "#N/A", True],
        ["=1/0", "=A1", 2],
        [1e308, -1e308, 10**300],
        ["\ud7ff", "x" * 32767, "_xD800_"],
        ["a\nb", '"', "\t"],
        [None, None, 1, None, None, "beyond"],
        ["", " ", "1,2"],
        [1, 2, 3] * 100,
        [10**16, 1e16, 1.0],
    ],
)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_any_row_of_a_sheet_leaves_the_others_alone(ballot, place, read):
    rows = [["tea", "milk", "wine"], [3, 2, 1], [1, 2, 3]]
    rows.insert(place, ballot)
    options = ("--unreadable", "empty")
    found = read(workbook(*rows), *ITEMS, *options, name="v.xlsx")
    del found[place - 1]
    assert found == [[0, 1, 2], [2, 1, 0]]
    rows[0] = ["3", "1", "2"]
    lists = read(workbook(*rows), "--orders", "--items", "1,2,3", *options, name="v.xlsx")
    del lists[place]
    assert lists == [[1, 2, 0], [2, 1, 0], [0, 1, 2]]


def test_merged_cells_are_those_of_the_first_row(read):
    openpyxl, out = pytest.importorskip("openpyxl"), io.BytesIO()
    book = openpyxl.load_workbook(io.BytesIO(workbook(["tea", "milk", "who"], [1, 2, "a"], [2, 1, "b"], [2, 1, "c"])))
    book.active.merge_cells("A2:B3")
    book.save(out)
    assert read(out.getvalue(), "--ratings", "--items", "tea,milk") == [[0, 255], [255, 255], [0, 1]]


# Files that are not read.


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "v.json",
            "v.json is JSON, which dprank does not read; convert it to votes.csv, in which > stands",
        ),
        (
            "v.JSONL",
            "v.JSONL is JSON Lines, which dprank does not read; convert it to votes.csv, in which > stands",
        ),
        ("v.ndjson.gz", "pandas.read_json('v.ndjson.gz', lines=True).map("),
        (
            "v.xls",
            "v.xls is an old Excel file, which dprank does not read; open it in a spreadsheet, and save it as .xlsx",
        ),
        (
            "v.ods",
            "v.ods is an OpenDocument file, which dprank does not read; open it in a spreadsheet, and save it as",
        ),
        ("v.sav", "v.sav is an SPSS file, which dprank does not read; export it as CSV"),
        ("v.zip", "v.zip is a ZIP archive, which dprank does not read; unpack it"),
    ],
)
def test_other_kinds_are_refused_by_name(name, message, refused):
    assert message in refused("", *RATED, name=name)


@pytest.mark.parametrize(
    "content", ['{"tea": "secret", "milk": 2}\n', '[{"tea": "secret", "milk": 2}]', '[["secret", 1], [2]]']
)
def test_json_of_any_name_is_refused_without_a_ballot(content, refused):
    message = refused(content, "--ratings", name="votes.txt")
    assert message.startswith("votes.txt is JSON") and "secret" not in message


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("v.xlsx", "openpyxl", "excel"), ("v.parquet", "pyarrow", "tables"), ("v.feather", "pyarrow", "tables")],
)
def test_a_missing_package_is_named(name, package, extra, refused, monkeypatch):
    found = builtins.__import__

    def missing(module, *given, **more):
        if module.partition(".")[0] == package:
            raise ImportError(module)
        return found(module, *given, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    message = refused(b"", *RATED, name=name, error=ImportError)
    assert f'the extra "{extra}", by pip install "sklearn-dprank[{extra}]", or pip install {package}' in message


@pytest.mark.parametrize(
    ("options", "content", "message"),
    [
        (["--sheet", "A"], b"tea,milk\n1,2\n", "--sheet is for Excel files; leave it out."),
        (["--separator", ";"], b"PK\x03\x04", "--separator is for CSV files; leave it out."),
        (["--encoding", "cp1252"], b"PAR1", "--encoding is for CSV files; leave it out."),
        (["--skip-rows", "1"], b"PAR1", "--skip-rows is for CSV and Excel files; leave it out."),
    ],
)
def test_options_of_other_kinds_are_refused(options, content, message, refused):
    assert refused(content, *RATED, *options) == message
