"""``dprank rank --segments``: every listed segment is ranked by its own rows, and everything is charged once."""

import json

import pytest

from sklearn_dprank.channels.segmented import SegmentedProfile, segment_numbers
from sklearn_dprank.cli import files, main, parser, ranking as segments
from sklearn_dprank.privacy import PrivacyBudget

RATED = ["--ratings", "--items", "all"]
NAMES = ["tea", "milk", "rye"]
REGIONS = ["--segments", "region", "--segment-values", "north,south"]
LARGE = ["--epsilon", "500"]
UP, DOWN = [3, 2, 1], [1, 2, 3]  # ratings of the items
OPPOSITE = [["north", *UP]] * 40 + [["south", *DOWN]] * 40


def write(path, rows, header=("region", *NAMES)):
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n", encoding="utf-8")
    return str(path)


def parsed(path, *options):
    return parser().parse_args(["rank", str(path), *RATED, "--epsilon", "1", *options])


def read_labels(path, names, *options):
    """Return the name of each row's segment, and the profile."""
    profile, cells = files.read(parsed(path, "--segments", "region", *options))
    return [label if label in names else None for label in segments.labels(cells, names)], profile


@pytest.fixture
def run(capsys):
    def run_it(*arguments):
        status = main(["rank", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert (status == 2) == (not out)
        return err if status else out

    return run_it


@pytest.fixture
def printed(run):
    """Return the JSON of a release, and the consensus of each segment."""

    def call(*arguments):
        made = json.loads(run(*arguments, "--format", "json"))
        return made, {each["segment"]: each["consensus"] for each in made["segments"]}

    return call


def test_each_listed_segment_has_its_own_order(tmp_path, printed):
    """Rows without a listed name would decide both orders."""
    rows = [*OPPOSITE, *[["", 1, 3, 1], ["abroad", 1, 3, 1], ["North", 1, 3, 1]] * 300]
    made, orders = printed(write(tmp_path / "v.csv", rows), *RATED, *REGIONS, *LARGE)
    assert orders == {"north": NAMES, "south": NAMES[::-1]}
    assert [each["size"] for each in made["segments"]] == pytest.approx([40, 40], abs=2)
    assert made["segments"][0]["intervals"] == {"tea": [1, 1], "milk": [2, 2], "rye": [3, 3]}
    assert made["unranked"] == "no_opinion" and made["level"] == 0.95
    assert (made["privacy"]["epsilon"], made["privacy"]["delta"]) == (500, 1e-6)


def test_names_with_commas_and_segments_without_rows(tmp_path, printed):
    rows = [[f'" {region}"' if "," in region else region, *votes] for region, *votes in OPPOSITE]
    rows = [['"north, east"' if row[0] == "north" else row[0], *row[1:]] for row in rows]
    values = 'south, "north, east", islands'
    made, orders = printed(
        write(tmp_path / "v.csv", rows), *RATED, "--segments", "region", "--segment-values", values, *LARGE
    )
    assert list(orders) == ["south", "north, east", "islands"] and sorted(orders["islands"]) == sorted(NAMES)
    assert orders["north, east"] == NAMES and abs(made["segments"][2]["size"]) < 3


@pytest.mark.parametrize(
    ("cells", "names", "expected"),
    [
        ([" north", "north\t", "", "  ", "north east", "NORTH"], ["north"], ["north", "north", None, None, None, None]),
        (["1", "1.0", " 1.00 ", "01", "1.5", "11", "1."], ["1"], ["1", "1", "1", None, None, None, None]),
        (["1", "1.0", "-1.0", "nan"], ["1", "-1", "nan"], ["1", "1", "-1", "nan"]),
    ],
)
def test_cells_are_compared_as_text(cells, names, expected, tmp_path):
    path = write(tmp_path / "v.csv", [[cell, 1, 2, 3] for cell in cells])
    assert read_labels(path, names)[0] == expected


@pytest.mark.parametrize(
    ("cells", "dtype", "expected"),
    [
        ([1, None, 2], "Int64", ["1", None, "2"]),
        ([1.0, None, 2.0, 1.5], "float64", ["1", None, "2", None]),
        (["1", " 2", None], "category", ["1", "2", None]),
        ([True, False, None], "boolean", ["True", None, None]),
        ([b"1", b"2", None], object, ["1", "2", None]),
    ],
)
def test_cells_of_parquet_are_compared_as_text(cells, dtype, expected, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({name: range(len(cells)) for name in NAMES})
    frame.assign(region=pd.Series(cells, dtype=dtype)).to_parquet(tmp_path / "v.parquet")
    found, profile = read_labels(tmp_path / "v.parquet", ["1", "2", "True"])
    assert found == expected and list(profile.item_names) == NAMES


def test_without_delta_only_orders_are_published(tmp_path, run, printed):
    arguments = [write(tmp_path / "v.csv", OPPOSITE), *RATED, *REGIONS, *LARGE, "--delta", "0"]
    made, orders = printed(*arguments)
    assert orders == {"north": NAMES, "south": NAMES[::-1]} and made["privacy"]["delta"] == 0
    assert all(set(each) == {"segment", "consensus"} for each in made["segments"]) and "level" not in made
    said = run(*arguments)
    assert said.startswith("north:\nrank  item\n   1  tea\n") and "No intervals: only orders are published." in said


def test_persons_are_clipped_over_all_rows(tmp_path, printed):
    """Ten persons of weight 4 in the north would outvote thirty, but half of their limit goes to rows elsewhere."""
    rows = [[f"p{i}", 1, "north", *UP] for i in range(30)] + [[f"q{i}", 1, "south", *DOWN] for i in range(30)]
    rows += [[f"r{i}", 4, region, *DOWN] for i in range(10) for region in ("north", "abroad")]
    path = write(tmp_path / "v.csv", rows, ["who", "w", "region", *NAMES])
    options = ["--person", "who", "--weight", "w", "--max-weight", "4"]
    found, profile = read_labels(path, ["north", "south"], *options)
    parts = SegmentedProfile(profile, segment_numbers(found, ["north", "south"], 80), 2).parts
    assert [(part.weights.each / 720720).tolist() for part in parts] == [[1] * 30 + [2] * 10, [1] * 30]
    made, orders = printed(path, *RATED, *options, *REGIONS, *LARGE)
    assert orders == {"north": NAMES, "south": NAMES[::-1]}
    assert made["privacy"]["unit"] == "all ballots of one person"
    assert [each["size"] for each in made["segments"]] == pytest.approx([50, 30], abs=8)


@pytest.mark.parametrize(
    ("options", "needed"),
    [(REGIONS, "delta = 1e-06"), (["--items", "tea,milk", "--noise", "gaussian", "--delta", "0.01"], "delta = 0.01")],
)
def test_a_new_budget_without_enough_delta_is_not_created(options, needed, tmp_path, run):
    account = ["--budget", tmp_path / "account.sqlite", "--budget-epsilon", "1"]
    arguments = [write(tmp_path / "v.csv", OPPOSITE), *RATED, *options, "--epsilon", "1", *account]
    for more in ([], ["--budget-delta", "1e-7"]):
        assert f"this release has {needed}: give the new budget that much with" in run(*arguments, *more)
    assert not (tmp_path / "account.sqlite").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--segments", "region"], "--segments needs --segment-values, the public list"),
        (["--segment-values", "north,south"], "say which column with --segments"),
        ([*REGIONS[:3], "north"], "--segment-values must list 2 to 1000 names, with commas between, got 1"),
        ([*REGIONS[:3], ",".join(map(str, range(1001)))], "must list 2 to 1000 names, with commas between, got 1001"),
        ([*REGIONS[:3], "north,,south"], "--segment-values has an empty name"),
        ([*REGIONS[:3], "north,south, north"], "--segment-values must be distinct, and 'north' stands twice"),
        ([*REGIONS[:3], "1,2,1.0"], "--segment-values must be distinct, and '1' stands twice"),
        ([*REGIONS[:3], "a\nb"], "--segment-values must list names with commas between"),
        (["--segments", "area", *REGIONS[2:]], "--segments 'area' is none of the columns; these are region, tea"),
        ([*REGIONS, "--top", "2"], "leave out --estimator, --noise, --top and --window"),
        ([*REGIONS, "--estimator", "DPSwissBorda"], "leave out --estimator, --noise, --top and --window"),
        ([*REGIONS, "--person", "region"], "is also named by --person, --weight, --count or --items"),
        ([*REGIONS, "--items", "tea,region"], "is also named by --person, --weight, --count or --items"),
        ([*REGIONS, "--level", "95"], "--level must be a number above 0 and below 1, got 95"),
    ],
)
def test_refusals_precede_a_charge(options, message, tmp_path, run):
    account = ["--budget", tmp_path / "account.sqlite", "--budget-epsilon", "9", "--budget-delta", "1e-6"]
    PrivacyBudget.open(tmp_path / "account.sqlite", 9, 1e-6)
    said = run(write(tmp_path / "v.csv", OPPOSITE), *RATED, *options, "--epsilon", "1", *account)
    assert said.startswith("dprank rank: ") and message in said and said.count("\n") == 1
    assert PrivacyBudget.open(tmp_path / "account.sqlite").releases_ == ()


@pytest.mark.parametrize("rows", [[], [["abroad", *UP]], [["", "", "", ""]] * 3])
def test_a_file_without_listed_rows_is_released(rows, tmp_path, printed):
    _, orders = printed(write(tmp_path / "v.csv", rows), *RATED, *REGIONS, "--epsilon", "1")
    assert [sorted(order) for order in orders.values()] == [sorted(NAMES)] * 2


@pytest.mark.parametrize("cell", ["S\u00e8te", "Se\u0300te", " S\u00e8te\u00a0"])
@pytest.mark.parametrize("listed", ["S\u00e8te", "Se\u0300te"])
def test_segments_typed_on_other_keyboards_have_their_voters(cell, listed, tmp_path, run, capsys):
    path = write(tmp_path / "t.csv", [[cell, 5, 3, 1], ["Nord", 1, 3, 5]] * 500)
    given = ["--segments", "region", "--segment-values", f"{listed},Nord", "--epsilon", "5"]
    assert main(["rank", path, *RATED, *given, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    made = {each["segment"]: each for each in json.loads(out)["segments"]}
    assert made["S\u00e8te"]["consensus"] == ["tea", "milk", "rye"]
    assert made["S\u00e8te"]["size"] == pytest.approx(500, abs=40)
    assert err == ""


@pytest.mark.parametrize("listed", ["sète", "SÈTE", "Sè te", "Sè\u200dte"])
def test_the_operator_learns_of_names_that_differ_only_in_case_or_blanks(listed, tmp_path, capsys):
    """The line depends on the ballots, so it is not part of the result."""
    path = write(tmp_path / "t.csv", [["Sète", 5, 3, 1], ["Nord", 1, 3, 5]] * 20)
    report = tmp_path / "r.html"
    given = f"--segments region --epsilon 5 --report {report} --segment-values".split()
    assert main(["rank", path, *RATED, *given, f"{listed},Nord,Süd"]) == 0
    out, err = capsys.readouterr()
    assert err.count("differs only in case, blanks or invisible characters") == 1
    assert repr(listed) in err and "do not publish it" in err and "Sète" not in err
    assert "only in case" not in out + report.read_text(encoding="utf-8")
