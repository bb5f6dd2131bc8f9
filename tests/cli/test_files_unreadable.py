"""Whether and how the command reads a file never depends on what one ballot holds."""

import json
import re

import pytest
from hypothesis import assume, given, settings, strategies as st

from sklearn_dprank.cli import files, main, parser

RATED, PLACED = ["--ratings", "--items", "all"], ["--positions", "--unranked", "no_opinion", "--items", "all"]
NAMES = ["tea", "coffee", "water"]
RATINGS = ["--ratings", "--items", ",".join(NAMES)]
ORDERS = ["--orders", "--items", ",".join(NAMES)]
NOT_PUBLIC = "depends on the ballots; do not publish it."


def read(path, content, *options):
    """Return the profile of a file with this content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return files.read(parser().parse_args(["rank", str(path), *options, "--epsilon", "1"]))[0]


def ballots(profile):
    """Return a row a voter, the largest number for no opinion."""
    return profile.positions.table.T.tolist()


@pytest.fixture
def rank(tmp_path, capsys):
    """Return the status, the JSON and standard error of a release of a file with this content."""

    def call(content, *options, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        status = main(["rank", str(path), *options, "--epsilon", "50", "--format", "json"])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else None, err

    return call


def poll(comments):
    """Return a CSV file with one comment a voter; voters take turns to favour each item."""
    lines = ["tea,coffee,water,comment"]
    lines += [f"{','.join(str((i + k) % 3) for i in range(3))},{comment}" for k, comment in enumerate(comments)]
    return "\n".join(lines) + "\n"


def test_a_quote_that_is_not_closed_hides_no_voter(tmp_path):
    """The reader took all lines between two such quotes for one comment: 15 of 21 voters were not counted."""
    plain, hiding = ["ok"] * 21, ["ok"] * 21
    hiding[2], hiding[17] = '"so', 'x"'
    everybody = read(tmp_path / "v.csv", poll(plain), *RATINGS)
    with pytest.raises(ValueError, match=r"^v\.csv, line 4: this is not CSV .* do not publish it\.$"):
        read(tmp_path / "v.csv", poll(hiding), *RATINGS)
    found = read(tmp_path / "v.csv", poll(hiding), *RATINGS, "--unreadable", "empty")
    expected = ballots(everybody)
    expected[2] = [255] * 3
    assert found.n_voters == everybody.n_voters == 21 and ballots(found) == expected


@pytest.mark.slow
@settings(deadline=None)
@given(line=st.one_of(st.binary(min_size=1), st.text(min_size=1).map(lambda text: text.encode("utf-8", "replace"))))
@pytest.mark.parametrize("options", [RATINGS, PLACED, ORDERS, [*PLACED, "--person", "tea"]])
def test_any_line_is_one_ballot_and_leaves_the_others_alone(tmp_path_factory, options, line):
    line = line.replace(b"\n", b"").replace(b"\r", b"")
    assume(re.sub('[,"]', "", line.decode("utf-8", "replace")).strip())  # a row without text is not a ballot
    path = tmp_path_factory.getbasetemp() / "line.csv"
    head, rows = (b"", [b"tea,water", b"coffee"]) if options is ORDERS else (b"tea,coffee,water\n", [b"1,2,3", b"2,1,"])
    found = read(path, head + b"\n".join([rows[0], line, rows[1]]), *options, "--unreadable", "empty")
    alone = read(path, head + b"\n".join(rows), *options, "--unreadable", "empty")
    assert ballots(found)[::2] == ballots(alone) and (alone.n_voters, found.n_voters) == (2, 3)


@pytest.mark.parametrize(
    ("bad", "empty", "options"),
    [
        ("1,2,x", "NA,,", RATINGS),
        ("1,2,inf", "NA,,", RATINGS),
        ("1,2,1e999", "NA,,", PLACED),
        ("1,2,3,4", "NA,,", RATINGS),
        ("1,2", "NA,,", RATINGS),
        (b"1,2,\xff", "NA,,", RATINGS),
        ('1,2,"3', "NA,,", RATINGS),
        ("tea,milk", ",", ORDERS),
        ("tea,coffee,tea", ",", [*ORDERS, "--repeated", "error"]),
        (b"tea,\xff", ",", ORDERS),
    ],
)
@pytest.mark.parametrize("unranked", ["last", "no_opinion"])
def test_a_row_that_cannot_be_read_counts_as_a_ballot_without_opinions(
    bad, empty, options, unranked, tmp_path, rank, capsys
):
    bad, empty = (text if isinstance(text, bytes) else text.encode() for text in (bad, empty))
    is_order = "--orders" in options
    head, rows = (b"", [b"tea,water", b"coffee"]) if is_order else (b"tea,coffee,water\n", [b"1,2,3", b"2,1,"])
    content = head + b"\n".join([rows[0], bad, rows[1]])
    status, made, said = rank(content, *options)
    assert status == 2 and made is None and said.endswith(f"{NOT_PUBLIC}\n") and "--unreadable empty" in said
    options = [*options, "--unreadable", "empty", "--unranked", unranked]
    found = read(tmp_path / "v.csv", content, *options)
    expected = read(tmp_path / "v.csv", head + b"\n".join([rows[0], empty, rows[1]]), *options)
    assert found.n_voters == 3 and ballots(found) == ballots(expected)
    capsys.readouterr()
    status, made, said = rank(content, *options)
    assert status == 0 and said == (
        f"votes.csv: 1 of 3 rows cannot be read and count as ballots without opinions. This line {NOT_PUBLIC}\n"
    )
    assert "3 rows" not in json.dumps(made) and made["unranked"] == unranked


@pytest.mark.parametrize("person", ["", "  ", "nan"])
def test_a_row_without_a_person_counts_as_a_ballot_without_opinions(person, tmp_path):
    content = f"who,tea,coffee\nann,0,2\n{person},0,1\nann,2,1\n,1,x\nbob,x,0\nbob,1,0\n"
    options = [*PLACED, "--person", "who"]
    with pytest.raises(ValueError, match=r"^v\.csv, line \d: column '(who|tea)' .*do not publish it\.$"):
        read(tmp_path / "v.csv", content, *options)
    found = read(tmp_path / "v.csv", content, *options, "--unreadable", "empty")
    nobody = [255, 255]
    second = [0, 1] if person == "nan" else nobody  # text is a name
    assert ballots(found) == [[0, 2], second, [1, 0], nobody, nobody, [1, 0]]
    assert found.weights.persons.tolist() == [0, 1, 0, 2, 3, 3]  # a row without a person has one of its own
    # and no weight, because many such rows may be of one person
    assert (found.weights.each / 720720).tolist() == [0.5, float(person == "nan"), 0.5, 0, 0.5, 0.5]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_messages_state_the_line_of_the_file(ending, start, tmp_path):
    """Lines are counted from 1, with the first row and with empty lines, which are not ballots."""
    lines = ["", "who,tea,milk", "ann,1,2", "", "", "bob,1,secret"]
    with pytest.raises(ValueError, match=r"^v\.csv, line 6: column 'milk' must hold numbers") as refusal:
        read(tmp_path / "v.csv", start + ending.join(lines), *RATED, "--person", "who")
    assert "secret" not in str(refusal.value) and "bob" not in str(refusal.value)
    lines = ["", "milk,", "", "milk,,secret"]
    with pytest.raises(ValueError, match=r"^v\.csv, line 4: cell 3 is not one of the 2 items in --items") as refusal:
        read(tmp_path / "v.csv", start + ending.join(lines), "--orders", "--items", "tea,milk")
    assert "secret" not in str(refusal.value)


GAPS = ["", " ", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", " NaN ", "null", "NULL", "None"]


@pytest.mark.parametrize("gap", GAPS)
def test_pandas_gaps_mean_no_opinion(gap, tmp_path):
    expected = ballots(read(tmp_path / "v.csv", "tea,coffee,water\n1,,3\n,1,0\n", *RATED))
    for options, content in ((RATED, "1,{0},3\n{0},1,0\n"), (PLACED, "1,{0},0\n{0},0,1\n")):
        assert ballots(read(tmp_path / "v.csv", "tea,coffee,water\n" + content.format(gap), *options)) == expected
    found = read(tmp_path / "v.csv", f"water,{gap},tea\n{gap},\ncoffee\n", *ORDERS)
    assert ballots(found) == ballots(read(tmp_path / "v.csv", "water,tea\n,\ncoffee\n", *ORDERS))


def test_the_operator_is_told_that_every_row_could_be_read(rank):
    assert rank("tea,milk\n1,2\n", *RATED, "--unreadable", "empty")[2].startswith("votes.csv: 0 of 1 rows cannot")
    assert rank("tea,milk\n1,2\n", *RATED)[2] == ""


PREFLIB = "# NUMBER ALTERNATIVES: 3\n# DATA TYPE: {}\n"


@pytest.mark.parametrize(
    ("options", "name", "complete", "gap", "default"),
    [
        (RATED, "v.csv", "a,b,c\n1,2,3\n", "4,,5\n", "no_opinion"),
        (PLACED, "v.csv", "a,b,c\n1,2,3\n", "4,,5\n", "no_opinion"),
        (["--orders", "--items", "a,b,c"], "v.csv", "a,b,c\n", "c\n", "last"),
        ([], "v.soi", PREFLIB.format("soi") + "1: 1,2,3\n", "1: 3\n", "last"),
        ([], "v.toi", PREFLIB.format("toi") + "1: 1,{2,3}\n", "1: 3\n", "last"),
        ([], "v.soc", PREFLIB.format("soc") + "1: 1,2,3\n", "", "last"),
    ],
)
def test_the_layout_decides_what_left_out_items_mean(options, name, complete, gap, default, tmp_path, rank, capsys):
    """With a gap or without, the same meaning is used and printed; no ballot makes the command ask for it."""
    status, made, said = rank(complete, *options, name=name)
    other = rank(complete + gap, *options, name=name)
    assert (status, made["unranked"], said) == (other[0], other[1]["unranked"], other[2]) == (0, default, "")
    found, meant = (read(tmp_path / name, complete + gap, *options, *more) for more in ([], ["--unranked", default]))
    assert ballots(found) == ballots(meant)
    assert main(["rank", str(tmp_path / name), *options, "--epsilon", "1"]) == 0
    assert f"--unranked {default}" in " ".join(capsys.readouterr().out.split())
    asked = "last" if default == "no_opinion" else "no_opinion"
    assert rank(complete, *options, "--unranked", asked, name=name)[1]["unranked"] == asked


@pytest.mark.parametrize(
    ("options", "name", "content"),
    [
        (RATED, "v.csv", "tea,coffee,water\n"),
        ([*PLACED, "--unranked", "last"], "v.csv", "tea,coffee,water"),
        ([*PLACED, "--person", "who"], "v.csv", "who,tea,coffee,water\n"),
        (ORDERS, "v.csv", ""),
        ([], "v.soc", PREFLIB.format("soc") + "# NUMBER VOTERS: 0\n"),
    ],
)
def test_a_file_without_ballots_is_released(options, name, content, rank, tmp_path, capsys):
    status, made, said = rank(content, *options, name=name)
    assert status == 0 and said == "" and len(made["consensus"]) == 3
    assert main(["compare", str(tmp_path / name), "--public", *options, "--picture", str(tmp_path / "c.png")]) == 2
    assert f"{name} holds no ballots; add ballots to compare" in capsys.readouterr().err


def test_parquet(tmp_path, rank):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "v.parquet"
    pd.DataFrame({"tea": ["1", "x", None], "milk": ["2", "0", "1"]}).to_parquet(path)
    status, made, said = rank(path.read_bytes(), *PLACED, "--unreadable", "empty", name="v.parquet")
    assert status == 0 and made["consensus"] == ["tea", "milk"] and said.startswith("v.parquet: 1 of 3 rows")
    said = rank(path.read_bytes(), *PLACED, name="v.parquet")[2]
    assert said.startswith("dprank rank: v.parquet, row 2: column 'tea' must hold numbers")
    pd.DataFrame({"tea": [], "milk": []}).to_parquet(path)
    assert rank(path.read_bytes(), *PLACED, name="v.parquet")[0] == 0


def test_a_row_without_a_person_merges_no_other_persons(tmp_path):
    """Numbers of persons beyond 2^53 stay apart, also beside a missing one, which makes pandas read doubles."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    persons = [2**53, 2**53 + 1, 2**53 + 2, None]
    table = arrow.table({"who": persons, "tea": [1, 9, 5, 5], "milk": [9, 1, 6, 5]})
    parquet.write_table(table, tmp_path / "v.parquet")
    options = [*RATED, "--person", "who", "--unreadable", "empty", "--epsilon", "1"]
    profile = files.read(parser().parse_args(["rank", str(tmp_path / "v.parquet"), *options]))[0]
    assert profile.weights.persons.tolist() == [0, 1, 2, 3]
    assert (profile.pairwise_counts / 720720).tolist() == [[0, 1], [2, 0]]
    table = table.set_column(0, "who", arrow.array([2.0**53, 2.0**53 + 2, 3.0, None]))
    parquet.write_table(table, tmp_path / "v.parquet")
    profile = files.read(parser().parse_args(["rank", str(tmp_path / "v.parquet"), *options]))[0]
    assert profile.weights.persons.tolist() == [0, 1, 2, 3]
    message = r"^column 'who' must hold text or whole numbers, and holds floats; write it as text\."
    with pytest.raises(ValueError, match=message):
        files.read(parser().parse_args(["rank", str(tmp_path / "v.parquet"), *options, "--unreadable", "error"]))
