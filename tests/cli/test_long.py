"""Files with one rating or comparison a row, and columns of choices: end to end, and what is refused."""

import json
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest

from sklearn_dprank.ballots import Profile
from sklearn_dprank.cli import files, main, parser
from sklearn_dprank.privacy import PrivacyBudget

NAMES = ["x", "y", "z"]
ITEMS = ["--items", "@items.txt"]
RATINGS = "user,movie,stars,when\n" + "".join(f"u{k},x,5,1\nu{k},z,1,2\nu{k},y,3,3\n" for k in range(40))
DUELS = "winner,loser,judge\n" + "".join(f"x,y,u{k}\ny,z,u{k}\nx,z,u{k}\n" for k in range(40))
LOG = "model_a,model_b,winner,judge\n" + "".join(f"x,y,model_a,u{k}\nz,y,model_b,u{k}\nx,z,x,u{k}\n" for k in range(40))
CHOICES = "Rank 1,Rank 2,Rank 3,precinct\n" + "x,y,z,p\nx,undervote,z,q\nx,y,,p\n" * 40
CONTENTS = {"r.csv": RATINGS, "d.csv": DUELS, "log.csv": LOG, "c.csv": CHOICES}
LONG = ["r.csv", "--long", "user", "movie", "stars"]
COMPARED = ["log.csv", "--comparisons", "model_a", "model_b", "winner"]
CHOSEN = ["c.csv", "--choices", "Rank 1,Rank 2,Rank 3", "--no-answer", "undervote"]
NOT_PUBLIC = "This message depends on the ballots; do not publish it."


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in CONTENTS.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("items.txt").write_text("\ufeffx\n y \n\nz\n", encoding="utf-8")


@pytest.fixture
def run(finished):
    """Return what a command prints, on standard error if it is refused."""

    def call(*arguments, command="rank"):
        status, out, err = finished(*arguments, command=command)
        assert bool(out) == (status == 0)
        return err if status else out

    return call


def read(content, *options):
    """Return the profile of a file with this content."""
    Path("f.csv").write_text(content, encoding="utf-8")
    return files.read(parser().parse_args(["rank", "f.csv", *options, *ITEMS]))[0]


def refused(content, *options):
    """Return the message of a file that is refused."""
    with pytest.raises(ValueError) as error:
        read(content, *options)
    return str(error.value)


# --- every form, end to end


@pytest.mark.parametrize(
    ("options", "unit"),
    [
        ([*LONG, "--ratings"], "all rows of one person"),
        ([*LONG, "--ratings", "--max-listed", "2", "--estimator", "DPBorda"], "all rows of one person"),
        (["d.csv", "--comparisons", "winner", "loser", "--person", "judge"], "all comparisons of one person"),
        (["d.csv", "--comparisons", "winner", "loser", "--row-is-person"], "one comparison"),
        ([*COMPARED, "--row-is-person", "--estimator", "DPBorda"], "one comparison"),
        ([*COMPARED, "--person", "judge", "--max-weight", "3"], "all comparisons of one person"),
        (CHOSEN, "one ballot"),
    ],
    ids=" ".join,
)
def test_every_form_gives_the_ranking_and_the_unit(options, unit, run):
    made = json.loads(run(*options, *ITEMS, "--epsilon", "50", "--format", "json"))
    assert made["consensus"] == NAMES and made["privacy"]["unit"] == unit
    assert f"Unit: {unit}." in run(*options, *ITEMS, "--epsilon", "50") or unit.startswith("one")
    assert ("approximate" in made) == ("Bradley" in made["privacy"]["how"])
    assert (made["unranked"] is None) == ("--comparisons" in options)
    assert ("max_listed" in made) == ("--max-listed" in options)


def test_the_file_may_follow_the_columns_of_comparisons(run):
    for columns in (COMPARED[1:], COMPARED[1:-1]):
        options = [*columns, COMPARED[0], "--row-is-person", *ITEMS, "--epsilon", "50", "--format", "json"]
        assert sorted(json.loads(run(*options))["consensus"]) == NAMES


def test_files_of_tab_separated_values_need_no_separator(run):
    Path("r.tsv").write_text(RATINGS.replace(",", "\t"))
    assert "1  x" in run("r.tsv", *LONG[1:], "--ratings", *ITEMS, "--epsilon", "50")
    assert "r.tsv has one rating a row" in run("r.tsv", "--epsilon", "1")


def test_a_warning_is_one_line_in_the_words_of_the_command(capsys):
    names = ",".join(f"item {k}" for k in range(1001))
    Path("f.csv").write_text("a,b\n")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["rank", "f.csv", "--orders", "--items", names, "--epsilon", "1", "--unreadable", "empty"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[1].startswith("dprank rank: 1,001 items are more than the 1,000")


def test_positions_are_the_other_direction(run):
    made = json.loads(run(*LONG, "--positions", *ITEMS, "--epsilon", "50", "--format", "json"))
    assert made["consensus"] == NAMES[::-1]


def test_a_leaderboard_is_the_default_for_ratings_and_comparisons(run):
    made = json.loads(run(*LONG, "--ratings", *ITEMS, "--epsilon", "50", "--format", "json"))
    assert made["approximate"] and made["privacy"]["delta"] == 1e-6
    budget = ["--budget", "b", "--budget-epsilon", "3"]
    said = run(*COMPARED, "--row-is-person", *ITEMS, "--epsilon", "1", *budget)
    assert "this release has delta = 1e-06: give the new budget that much" in said and not Path("b").exists()
    pure = json.loads(run(*COMPARED, "--row-is-person", *ITEMS, "--epsilon", "50", "--delta", "0", "--format", "json"))
    assert pure["privacy"]["delta"] == 0 and pure["of"] == "voters" and "approximate" not in pure
    options = [*COMPARED, "--row-is-person", *ITEMS, "--epsilon", "50", "--delta", "0", "--of", "population"]
    sampled = json.loads(run(*options, "--format", "json"))
    assert (sampled["of"], sampled["approximate"], sampled["assumes"]) == ("population", True, "")
    assert "with probability about 0.95. They may be published." in " ".join(run(*options).split())
    options = [*COMPARED, "--person", "judge", *ITEMS, "--epsilon", "1", *budget, "--budget-delta", "1e-6"]
    said = run(*options, "--report", "r.html")
    (release,) = PrivacyBudget.open("b").releases_
    assert (release.what, release.guarantee.unit) == ("DPBradleyTerry", "all comparisons of one person")
    assert "ranks of a population, approximately, all at once" in " ".join(said.split())
    page = Path("r.html").read_text(encoding="utf-8")
    for text in (said, page):
        assert "no group of items meets only its own members" in " ".join(text.split())
        assert "If a person has more than 1 comparison, each of them may count less." in text
        assert "without noise" not in text.lower()


def test_one_of_the_best_and_comparisons_of_public_files(run):
    assert json.loads(run(*COMPARED, "--row-is-person", *ITEMS, "--top", "1", "--epsilon", "50", "--format", "json"))[
        "consensus"
    ] == ["x"]
    pytest.importorskip("matplotlib")
    common = ["--public", "--trials", "1", "--epsilons", "1", *ITEMS]
    said = run(*COMPARED, "--row-is-person", *common, command="compare")
    assert "120 ballots, 3 items" in said and "worse than" not in said
    assert "120 ballots, 3 items" in run(*CHOSEN, *common, command="compare")


# --- the same profile as in Python


def test_rows_are_read_as_in_python():
    rows = ["a,x,5", "a,y,", "a,y,2", "b,y,1", ",y,9", "b,,3", "a,y,4", "b,x,1", "c,z,NA", "é,z,4", "e\u0301,x,2"]
    found = read("\n".join(["user,movie,stars", *rows]), "--ratings", "--long", "user", "movie", "stars")
    persons, items, values = zip(*(row.split(",") for row in rows), strict=True)
    values = [float(value) if value not in ("", "NA") else np.nan for value in values]
    expected = Profile.from_long(person=[*persons], item=[*items], rating=values, items=NAMES)
    assert found.net_wins.tolist() == expected.net_wins.tolist() and found.n_voters == expected.n_voters == 3


def test_outcomes_are_read_as_in_python():
    table = {"a": ["x", "y", "z", "x", "x"], "b": ["y", "z", "x", "z", "y"], "won": ["a", "z", "tie", "b", None]}
    rows = zip(table["a"], table["b"], [word or "" for word in table["won"]], strict=True)
    content = "\n".join(["a,b,won", *map(",".join, rows)])
    expected = Profile.from_comparisons(table, "a", "b", outcome="won", person=None, items=NAMES)
    found = read(content, "--comparisons", "a", "b", "won", "--row-is-person")
    assert found.net_wins.tolist() == expected.net_wins.tolist() == [0, -2 * 720720, 2 * 720720]
    half = read(content.replace("tie", "Remis"), "--comparisons", "a", "b", "won", "--row-is-person", "--ties", "Remis")
    assert half.net_wins.tolist() == expected.net_wins.tolist()


def test_numbers_of_persons_and_items_are_text():
    """The ids 1 and 01 are two persons, whatever other rows hold."""
    for other in ("2", "ann"):
        content = f"who,a,b\n1,x,y\n01,y,z\n{other},x,z\n"
        assert read(content, "--comparisons", "a", "b", "--person", "who").n_voters == 3
    Path("items.txt").write_text("1\n2\n10\n")
    found = read("who,a,b\np,1,2\n", "--comparisons", "a", "b", "--person", "who")
    assert found.item_names.tolist() == ["1", "2", "10"] and found.net_wins[0] > 0


def test_answers_in_words_rate_items():
    scale = ["--scale", "bad,fair,good", "--no-answer", "unknown"]
    found = read("u,m,s\na,x,Good\na,y,bad\na,z,unknown\n", "--ratings", "--long", "u", "m", "s", *scale)
    assert (found.net_wins / 720720).tolist() == [1, -1, 0]


def test_choices_are_the_orders_of_their_rows():
    content = "p,one,two,three\nq,x,,z\nq,,,\nr,y,x,NA\n"
    found = read(content, "--choices", "one,two,three")
    assert found.positions.table.T.tolist() == [[0, 2, 1], [0, 0, 0], [1, 0, 2]]
    persons = read(content, "--choices", "one,two,three", "--person", "p", "--unranked", "no_opinion")
    assert persons.weights.persons.tolist() == [0, 0, 1] and persons.bound.unit == "all ballots of one person"
    back = read(content, "--choices", "two,one", "--unranked", "no_opinion")
    assert back.positions.table.T.tolist() == [[0, 255, 255], [255] * 3, [0, 1, 255]]


def test_choices_by_segment(run):
    segments = ["--segments", "precinct", "--segment-values", "p,q"]
    made = json.loads(run(*CHOSEN, *ITEMS, *segments, "--epsilon", "50", "--format", "json"))
    assert [each["consensus"][0] for each in made["segments"]] == ["x", "x"]


def test_parquet(run):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"who": [2**53, 2**53 + 1, None], "a": ["x", "x", "y"], "b": ["y", "z", "z"]})
    frame["who"] = pd.array([2**53, 2**53 + 1, None], dtype="Int64")
    frame.to_parquet("f.parquet")
    options = ["f.parquet", "--comparisons", "a", "b", "--person", "who", *ITEMS, "--epsilon", "1"]
    assert files.read(parser().parse_args(["rank", *options]))[0].n_voters == 2
    frame.assign(who=[1.0, 2.0, 3.0]).to_parquet("f.parquet")
    assert "column 'who' must hold text or whole numbers, and holds floats; write it as text." in run(*options)
    assert "--separator is for CSV files; leave it out." in run(*options, "--separator", ";")


def test_a_file_of_items_may_hold_commas_and_quotes(run):
    names = ['Alien, 1979 "cut"', "@x", "Brazil"]
    Path("items.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    Path("v.csv").write_text('"Alien, 1979 ""cut""",@x,Brazil,age\n1,2,3,0\n')
    options = ["v.csv", "--positions", "--unranked", "last", *ITEMS, "--epsilon", "500", "--format", "json"]
    assert json.loads(run(*options))["consensus"] == names


# --- names that no public list holds

PRIVATE = ["--items", "private", "--max-listed", "2"]
TYPED = "1st,2nd,3rd,who\n" + "tea,milk,NA,p{k}\nno idea,tea,milk,p{k}\n" * 300 + "a secret,,,q\n"
TYPED = "".join(line.replace("{k}", str(k)) + "\n" for k, line in enumerate(TYPED.splitlines()))
LISTED = "u,m,s\n" + "".join(f"{k},tea,5\n{k},milk,3\n{k},beer,1\n" for k in range(300)) + "q,a secret,5\n"
FREE = {
    "choices": (TYPED, ["--choices", "1st,2nd,3rd", "--no-answer", "no idea"]),
    "choices of persons": (TYPED, ["--choices", "1st,2nd,3rd", "--no-answer", "no idea", "--person", "who"]),
    "rows": (LISTED, ["--long", "u", "m", "s", "--ratings"]),
    "orders": ("tea,milk\ntea,,milk\n" * 150 + "a secret\n", ["--orders"]),
}


@pytest.mark.parametrize("form", FREE)
def test_names_that_many_persons_list_are_published_best_first(form, run):
    content, options = FREE[form]
    Path("f.csv").write_text(content, encoding="utf-8")
    command = ["f.csv", *options, *PRIVATE, "--epsilon", "5"]
    made = json.loads(run(*command, "--format", "json"))
    assert made["consensus"] == ["tea", "milk"] and made["private_items"] and made["max_listed"] == 2
    assert (made["privacy"]["epsilon"], made["privacy"]["delta"]) == (5, 1e-6)
    assert not {"intervals", "level"} & made.keys()
    said = run(*command, "--report", "r.html")
    for text in (said, Path("r.html").read_text(encoding="utf-8")):
        text = " ".join(text.split())
        assert "any of these is published is at most 5e-07, half of delta." in text
        assert "above a threshold, each with half of delta" in text and "secret" not in text
        assert "get no score from it." in text and "Only the first 2 items of a list count." in text
    assert said.index("1  tea") < said.index("2  milk") and "Delta = 1e-06" in said


def test_private_names_are_read_as_in_python():
    content, options = FREE["choices of persons"]
    Path("f.csv").write_text(content + ",beer,,\nbeer,,,p3\n", encoding="utf-8")
    free = parser().parse_args(["rank", "f.csv", *options, *PRIVATE, "--unreadable", "empty"])
    rows = [line.split(",") for line in content.splitlines()[1:]] + [["beer", "", "", "p3"]]
    lists = [[name for name in names if name not in ("", "NA", "no idea")] for *names, _ in rows]
    expected = Profile.from_orders(lists, items="private", person=[row[3] for row in rows], max_listed=2)
    found = files.read(free)[0]
    assert found.item_names.tolist() == expected.item_names.tolist()
    for one, other in zip(found.rows, expected.rows, strict=True):
        assert np.array_equal(one, other)


def test_few_lists_publish_no_name(run):
    Path("f.csv").write_text("a secret\n")
    said = run("f.csv", "--orders", *PRIVATE, "--public", command="compare")
    assert "--items private is for rank; list the items of public ballots." in said
    said = run("f.csv", "--orders", *PRIVATE, "--epsilon", "1")
    assert "No name has enough." in said and "secret" not in said


def test_control_characters_of_a_name_reach_no_terminal(run, capsys):
    content = "\x1b[31mred,tea\n" + "tea,milk\n" * 200
    Path("f.csv").write_text(content, encoding="utf-8")
    options = ["f.csv", "--orders", *PRIVATE, "--epsilon", "1"]
    said = run(*options)
    assert "line 1: cell 1 is not a name without control characters" in said and said.endswith(f"{NOT_PUBLIC}\n")
    assert "1  tea" in run(*options, "--unreadable", "empty")


def test_a_file_of_one_name_is_not_the_word_for_private_items(run):
    Path("none.txt").write_text("private\n")
    assert "must have at least two lines, with one item each, got 1" in run(
        "f.csv", "--orders", "--items", "@none.txt", "--max-listed", "2", "--epsilon", "1"
    )


def test_lists_of_a_public_catalogue_have_scores_and_intervals(run):
    content, _ = FREE["orders"]
    Path("f.csv").write_text(content, encoding="utf-8")
    options = ["f.csv", "--orders", "--items", "milk,tea,beer,a secret", "--estimator", "DPPositionalRule"]
    made = json.loads(run(*options, "--epsilon", "20", "--format", "json"))
    assert made["consensus"][:2] == ["tea", "milk"] and made["intervals"]["tea"] == [1, 1]
    assert made["unranked"] == "no_score" and "private_items" not in made


# --- refusals

LOW = ["--ratings", "--long", "u", "m", "s"]
PAIRS = ["--row-is-person", "--comparisons", "a", "b"]
WON = [*PAIRS, "w"]


@pytest.mark.parametrize(
    ("content", "options", "place"),
    [
        ("u,m,s\na,x,1\nb,secret,2\n", LOW, "line 3: column 'm' must hold one of the 3 items in --items. Add it"),
        ("u,m,s\na,x,secret\n", LOW, "line 2: column 's' must hold numbers"),
        ("u,m,s\na,x,inf\n", LOW, "line 2: column 's' must hold numbers"),
        ("u,m,s\na,x\n", LOW, "line 2: the row has more or fewer cells"),
        ("a,b\nx,y\nz,z\n", PAIRS, "line 3: the row compares an item with itself; drop it."),
        ("a,b,w\nx,y,secret\n", WON, "line 2: column 'w' must hold one of the two items of its row, 'a' or 'b', or a"),
        ("a,b,w\nx,y,z\n", WON, "line 2: column 'w' must hold one of the two items of its row"),
        ("one,two\nx,secret\n", ["--choices", "one,two"], "line 2: cell 2 is not one of the 3 items in --items"),
        ("one,two\nx,x\n", ["--choices", "one,two", "--repeated", "error"], "line 2: the ballot lists an item twice"),
    ],
)
def test_a_row_that_cannot_be_read_counts_nothing(content, options, place, capsys):
    """It is an error, or changes nothing but the number of rows."""
    message = refused(content, *options)
    assert message.startswith(f"f.csv, {place}") and message.endswith(NOT_PUBLIC) and "secret" not in message
    assert "--unreadable empty" in message
    head, *rows = content.splitlines()
    bad = next(k for k, row in enumerate(rows) if place.startswith(f"line {k + 2}"))
    kept = "\n".join([head, *rows[:bad], *rows[bad + 1 :]])
    found, alone = read(content, *options, "--unreadable", "empty"), read(kept, *options)
    assert found.net_wins.tolist() == alone.net_wins.tolist()
    assert f"1 of {len(rows)} rows cannot be read and count as" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (LONG, "--long needs --ratings (larger is better) or --positions (smaller is better); add one."),
        ([*LONG, "--items", ""], "add one, and --items with the public list of all items, such as --items @items.txt."),
        (
            [*COMPARED, "--items", ""],
            "another person, and --items with the public list of all items, such as --items @",
        ),
        ([*LONG, "--ratings", "--items", "x"], "at least two items for --long, got 1; put commas between them, or @"),
        ([*LONG, "--ratings", "--person", "user"], "--long does not take --person; leave that out."),
        ([*LONG, "--ratings", "--weight", "w", "--max-weight", "2"], "--long does not take --weight, --max-weight;"),
        (["r.csv", "--ratings", "--long", "user", "film", "stars"], "--long 'film' is none of the columns; these are "),
        (["r.csv", "--ratings", "--long", "user", "user", "stars"], "--long must name different columns"),
        ([*LONG, "--ratings", "--segments", "when", "--segment-values", "1,2"], "--segments names a column with one"),
        ([*LONG, "--ratings", "--scale", "good"], "--scale must list at least two answers"),
        (COMPARED, "--comparisons needs either --person COLUMN, who compared, or --row-is-person if"),
        ([*COMPARED, "--person", "judge", "--row-is-person"], "--comparisons needs either --person COLUMN"),
        ([*COMPARED, "--person", "who"], "--person 'who' is none of the columns; these are model_a"),
        ([*COMPARED, "--person", "winner"], "--comparisons with --person must name different columns"),
        ([*COMPARED, "extra", "--row-is-person"], "perhaps that of the result, got 4; name the file before it"),
        ([*COMPARED[:-2], "--row-is-person"], "perhaps that of the result, got 1; name the file before it"),
        ([*COMPARED, "--row-is-person", "--scale", "a,b"], "--comparisons does not take --scale; leave"),
        ([*COMPARED, "--row-is-person", "--max-listed", "2"], "--comparisons does not take --max-listed; leave"),
        (
            [*COMPARED, "--row-is-person", "--max-weight", "auto"],
            "--max-weight auto is for ballots; give --comparisons",
        ),
        ([*COMPARED, "--row-is-person", "--max-weight", "0"], "--max-weight must be"),
        ([*COMPARED, "--row-is-person", "--noise", "laplace"], "DPBradleyTerry has no --noise; leave it out, or name"),
        (
            [*COMPARED, "--row-is-person", "--ties", "x"],
            "--items lists 'x', which is also a word of --ties or the name",
        ),
        ([*COMPARED[:-1], "--row-is-person", "--ties", "tie"], "--ties lists words in a column of results; name it"),
        (
            [*COMPARED, "--row-is-person", "--no-answer", "x"],
            "--no-answer lists 'x', which is also in --items or --tie",
        ),
        ([*CHOSEN, "--row-is-person"], "--choices does not take --row-is-person; leave that out."),
        ([*CHOSEN, "--max-listed", "2"], "--max-listed is for --estimator DPPositionalRule"),
        (["c.csv", "--choices", "Rank 1,Rank 4"], "--choices 'Rank 4' is none of the columns; these are Rank 1, Rank"),
        (["c.csv", "--ratings", "--ties", "a"], "--ratings does not take --ties; leave that out."),
        (
            [*CHOSEN, "--items", "private"],
            "--items private needs --max-listed, a public bound on the number of items of a list that count; add",
        ),
        ([*CHOSEN, *PRIVATE, "--delta", "0"], "DPPositionalRule needs --delta above 0, because its noise is Gaussian"),
        ([*CHOSEN, *PRIVATE[:-1], "1"], "--max-listed must be an integer from 2 to 1000, got 1."),
        ([*CHOSEN, *PRIVATE, "--estimator", "DPBorda"], "the only estimator that can publish names of the ballots."),
        ([*CHOSEN, *PRIVATE, "--top", "1"], "Leave out --estimator, --top and --segments, or list the items with"),
        ([*CHOSEN, *PRIVATE, "--noise", "laplace"], "DPPositionalRule has no --noise; leave it out"),
        ([*CHOSEN, *PRIVATE, "--unranked", "last"], "--unranked is not for DPPositionalRule, where items left out"),
        (
            [*CHOSEN, *PRIVATE, "--weight", "precinct", "--max-weight", "2"],
            "--items private does not take --weight, --max-weight; leave",
        ),
        ([*CHOSEN, *PRIVATE, "--plot", "p.png"], "--plot draws rank intervals"),
        (
            [*COMPARED, "--row-is-person", *PRIVATE[:2]],
            "--items private is for names in cells, by --long, --choices or",
        ),
        (["r.csv", "--ratings", *PRIVATE], "--items private is for names in cells, by --long, --choices or --orders;"),
        ([*COMPARED, "--ratings", "--row-is-person"], "argument --ratings: not allowed with argument --comparisons"),
        (
            ["c.csv"],
            "the layout of c.csv is not stated. Run this command with the ending that says what the",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals_precede_a_charge(arguments, message, run):
    items = [] if "--items" in arguments else ITEMS
    budget = ["--budget", "b", "--budget-epsilon", "9", "--budget-delta", "1e-6"]
    assert message in run(*arguments, *items, "--epsilon", "1", *budget)
    assert not Path("b").exists()


@pytest.mark.parametrize("options", [[*LONG, "--ratings"], [*COMPARED, "--row-is-person"], CHOSEN], ids=" ".join)
def test_items_are_public_and_never_read_off_the_rows(options, run):
    said = run(*options, "--epsilon", "1")
    assert "needs --items: which items there are is public" in said
    (remedy,) = re.findall(r"--items @items\.txt", said)
    assert "1  x" in run(*options, *shlex.split(remedy), "--epsilon", "50")


def test_a_first_row_of_items_is_not_read_as_names():
    for options in (PAIRS, LOW, ["--choices", "a,b"]):
        message = refused("secret,x,5\nsecret,y,4\n", *options)
        assert message.startswith("the first row of f.csv must name the columns, but it holds items of --items.")
        assert "secret" not in message


@pytest.mark.parametrize(("content", "why"), [(None, "No such file or directory"), (b"\xff", "not UTF-8 text")])
def test_a_file_of_items_that_cannot_be_read(content, why, run):
    if content:
        Path("none.txt").write_bytes(content)
    said = run(*LONG, "--ratings", "--items", "@none.txt", "--epsilon", "1")
    assert f"@none.txt cannot be read ({why}); name a file with one item a line" in said
