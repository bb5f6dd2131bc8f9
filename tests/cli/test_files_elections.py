"""Files of elections: cast vote records, rows of several voters, rules of ballots, ties and lists in one cell."""

import json
import re
import shlex
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sklearn_dprank.ballots import Profile
from sklearn_dprank.cli import files, parser
from sklearn_dprank.preprocessing import orders_to_positions, unranked_last
from sklearn_dprank.privacy import PrivacyBudget

#: As New York publishes them: several contests in a file, names of candidates with commas, and words for marks.
CONTEST = "DEM Mayor, Choice {} of 3 Citywide (026916)"
OTHER_CONTEST = "DEM Comptroller Choice {} of 3 Citywide (026917)"
NEW_YORK = [
    ["Cast Vote Record", "Precinct", *(CONTEST.format(k) for k in (1, 2, 3)), *map(OTHER_CONTEST.format, (1, 2, 3))],
    ["1", "AD 1", "Garcia, Kathryn", "Wiley, Maya", "undervote", "x", "y", "z"],
    ["2", "AD 1", "Adams, Eric", "Adams, Eric", "Wiley, Maya", "x", "y", "z"],
    ["3", "AD 2", "undervote", "overvote", "Garcia, Kathryn", "x", "y", "z"],
    ["4", "AD 2", "Write-in", "Wiley, Maya", "Adams, Eric", "x", "y", "z"],
    ["5", "AD 3", "undervote", "undervote", "undervote", "x", "y", "z"],
]
CANDIDATES = ["Adams, Eric", "Garcia, Kathryn", "Wiley, Maya"]
COUNTED = "rank1,rank2,rank3,Count\nA,B,C,60\nB,A,,40\nC,,,0\n"
#: Each distinct ballot once, and the items A, B and C.
SAN_FRANCISCO = (
    'RecordId,Tabulator,Rank 1,Rank 2,Rank 3\n1,7,A,A=B,C\n2,7,"{B,C}",,A\n3,9,skipped,C,A\n4,9,a writer,A,B\n'
)
LARGE = ["--epsilon", "500", "--format", "json"]
NOT_PUBLIC = "This message depends on the ballots; do not publish it."


def csv_text(rows):
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("candidates.txt").write_text("\n".join(CANDIDATES), encoding="utf-8")


def read(content, *options):
    """Return the profile of a file with this content."""
    Path("f.csv").write_text(content, encoding="utf-8")
    return files.read(parser().parse_args(["rank", "f.csv", *options]))[0]


def refused(content, *options):
    """Return the message of a file that is refused."""
    with pytest.raises(ValueError) as error:
        read(content, *options)
    return str(error.value)


def rows(profile):
    """Return the positions of each ballot, None for an item without an opinion."""
    return [[None if cell == 255 else cell for cell in row] for row in profile.positions.table.T.tolist()]


ABC = ["--items", "A,B,C", "--unranked", "no_opinion"]
MAYOR = ["--items", "@candidates.txt", "--unranked", "no_opinion", "--other-items", "drop"]


# --- columns of choices


@pytest.mark.parametrize(
    "choices",
    [
        CONTEST.format("*"),
        f"{CONTEST.format(1)}..{CONTEST.format(3)}",
        ",".join(f'"{CONTEST.format(k)}"' for k in (1, 2, 3)),
        f'"{CONTEST.format(1)}..{CONTEST.format(2)}","{CONTEST.format(3)}"',
    ],
)
def test_choices_name_the_columns_of_one_contest(choices):
    found = read(csv_text(NEW_YORK), "--choices", choices, *MAYOR)
    assert rows(found) == [[None, 0, 1], [0, None, 1], [None, 0, None], [1, None, 0], [None] * 3]


def test_a_star_stands_for_a_number():
    head = ",".join(f"rank{k}" for k in (10, 2, 1, 3))
    expected = rows(read("rank1,rank2,rank3,rank10\nA,B,,C\n", "--choices", "rank1..rank10", *ABC))
    assert rows(read(f"{head}\nC,B,A,\n", "--choices", "rank*", *ABC)) == expected == [[0, 1, 2]]
    notes = "Choice 1 (first),Choice 2 (second),Choices\nA,B,C\n"
    assert rows(read(notes, "--choices", "Choice *", *ABC)) == [[0, 1, None]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--choices", "DEM*"],
            "--choices, with a number in place of *, 'DEM*' is none of the columns; these are Cast",
        ),
        (["--choices", "Choice 1..Choice 9"], "--choices 'Choice 1..Choice 9' is none of the columns; these are Cast"),
        (
            ["--choices", f"{CONTEST.format(3)}..{CONTEST.format(1)}"],
            f"--choices '{CONTEST.format(3)}..{CONTEST.format(1)}' must name the left column first; swap both names.",
        ),
        (["--choices", "Precinct,Precinct*"], "--choices, with a number in place of *, 'Precinct*' is none of"),
        (
            ["--choices", f"Precinct..{CONTEST.format(3)}", "--person", "Precinct"],
            "--choices covers the column 'Precinct', which another option names; list the columns of choices",
        ),
        (
            ["--choices", f'"{CONTEST.format("*")}","{CONTEST.format(2)}"'],
            "--choices must name different columns, and names one twice.",
        ),
    ],
)
def test_columns_that_choices_cannot_mean_are_refused(options, message):
    assert message in refused(csv_text(NEW_YORK), *options, *MAYOR)


def test_two_contests_with_one_beginning_need_the_text_behind_the_number():
    content = "Choice 1 Mayor,Choice 2 Mayor,Choice 1 Judge,Choice 2 Judge\nA,B,C,A\n"
    message = refused(content, "--choices", "Choice *", *ABC)
    assert "finds several columns with one number" in message
    (shown,) = re.findall(r"as in --choices ('.*?') for 'Choice 1 Mayor'", message)
    assert rows(read(content, "--choices", shlex.split(shown)[0], *ABC)) == [[0, 1, None]]


def test_a_record_without_options_is_answered_by_its_command(finished):
    Path("cvr.csv").write_text(csv_text(NEW_YORK), encoding="utf-8")
    status, _, said = finished("cvr.csv", *LARGE)
    (command,) = re.findall(r"Then run: dprank (.*)$", said.strip())
    words = [*shlex.split(command), "--other-items", "drop"]
    assert status == 2 and words[words.index("--choices") + 1] == CONTEST.format("*")
    words[words.index("@items.txt")] = "@candidates.txt"
    assert finished(*words[1:], command=words[0])[0] == 0
    Path("counted.csv").write_text(COUNTED, encoding="utf-8")
    said = finished("counted.csv", *LARGE)[2]
    assert "--choices rank1..rank3 --count Count --items @items.txt" in said
    assert "--count states that a row is of so many voters; leave it out if it is not." in said


# --- rows of several voters

LAYOUTS = {
    "choices": ("rank1,rank2,rank3,n\nA,B,C,{}\nB,A,,{}\nC,,,{}\n", ["--choices", "rank*", *ABC], "n"),
    "ratings": ("A,B,C,n\n3,2,1,{}\n2,3,,{}\n,,1,{}\n", ["--ratings", "--items", "all"], "n"),
    "positions": ("n,A,B,C\n{},1,2,3\n{},2,1,\n{},,,1\n", ["--positions", *ABC], "n"),
    "orders": ("{},A,B,C\n{},B,A\n{},C\n", ["--orders", *ABC], "1"),
    "orders, at the end": ("A,B,C,{}\nB,A,,{}\nC,,,{}\n", ["--orders", *ABC], "4"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_count_is_so_many_rows(layout):
    content, options, column = LAYOUTS[layout]
    found = read(content.format(3, " 2.0", 0), *options, "--count", column)
    expected = [[0, 1, 2]] * 3 + [[1, 0, None]] * 2
    assert rows(found) == expected and found.bound is None
    assert found.n_voters == 5 and list(found.item_names) == ["A", "B", "C"]


@pytest.mark.parametrize("bad", ["", "x", "-1", "1.5", "1e9", "nan", "inf", "1,000"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_count_that_cannot_be_read_is_one_ballot_without_opinions(layout, bad):
    content, options, column = LAYOUTS[layout]
    content, options = content.format(2, f'"{bad}"', 1), [*options, "--count", column]
    message = refused(content, *options)
    assert "must hold whole numbers of persons, 0 to 100000000" in message and message.endswith(NOT_PUBLIC)
    found = read(content, *options, "--unreadable", "empty")
    assert rows(found) == [[0, 1, 2]] * 2 + [[None] * 3, [None, None, 0]]


def test_persons_of_a_count_are_protected_one_by_one(finished):
    """60 voters in one row change the result 60 times as much as one; with --weight, they would be one person."""
    Path("counted.csv").write_text(COUNTED, encoding="utf-8")
    options = ["counted.csv", "--choices", "rank*", "--items", "A,B,C", *LARGE]
    made = json.loads(finished(*options, "--count", "Count", "--unranked", "last")[1])
    assert made["consensus"] == ["A", "B", "C"] and made["privacy"]["unit"] == "one ballot"
    weighted = read(COUNTED, *options[1:5], "--count", "Count", "--weight", "Count", "--max-weight", "50")
    assert weighted.n_voters == 100 and weighted.total_weight == 720720 * (60 * 50 + 40 * 40)


def test_a_count_has_the_decimal_mark_of_the_file():
    content = "x;y;n\n1,5;2,5;3,0\n2,5;1,5;1\n"
    options = ["--ratings", "--items", "x,y", "--separator", ";", "--decimal", ",", "--count", "n"]
    assert read(content, *options).n_voters == 4


def test_segments_belong_to_the_persons_of_a_count(finished):
    content = "rank1,rank2,n,where\n" + "A,B,50,north\nB,A,40,south\nA,B,3,south\n"
    Path("s.csv").write_text(content, encoding="utf-8")
    options = ["s.csv", "--choices", "rank*", "--items", "A,B", "--count", "n", *LARGE]
    made = json.loads(finished(*options, "--segments", "where", "--segment-values", "north,south", "--delta", "0")[1])
    assert [each["consensus"] for each in made["segments"]] == [["A", "B"], ["B", "A"]]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            COUNTED,
            ["--choices", "rank*", "--count", "Count", "--person", "rank1"],
            "--count counts persons, and --pers",
        ),
        (COUNTED, ["--choices", "rank*", "--count", "Counts"], "'Counts' is none of the columns; these are rank1, ra"),
        (COUNTED, ["--choices", "rank1..Count", "--count", "Count"], "--choices covers the column 'Count'"),
        (COUNTED, ["--choices", "rank*", "--count", "rank1"], "--choices covers the column 'rank1'"),
        ("60,A,B\n", ["--orders", "--count", "Count"], "--count must be the number of a column for --orders"),
        ("p,i,v\nx,A,1\n", ["--ratings", "--long", "p", "i", "v", "--count", "v"], "--long does not take --count; le"),
        ("a,b\nA,B\n", ["--comparisons", "a", "b", "--row-is-person", "--count", "a"], "does not take --count; le"),
    ],
)
def test_counts_without_a_meaning_are_refused(content, options, message):
    assert message in refused(content, *options, "--items", "A,B,C")


def test_counts_beyond_the_memory_are_refused_before_they_are_read(monkeypatch):
    monkeypatch.setattr("sklearn_dprank.ballots.reading.cells_in_memory", lambda: 100)
    message = refused(COUNTED, "--choices", "rank*", "--count", "Count", *ABC)
    assert message.startswith("--count adds up to more voters than fit into memory")


# --- rules of ballots

RULES = list(product(["first", "drop"], ["tie", "skip", "end"], ["close", "1", "2"], ["drop"]))


def ruled(repeated, overvote, skipped, other_items):
    """Return the options and the keywords of rules."""
    keywords = {"repeated": repeated, "overvote": overvote, "skipped": skipped, "other_items": other_items}
    options = [word for name, rule in keywords.items() for word in (f"--{name.replace('_', '-')}", rule)]
    return options, {**keywords, "skipped": {"1": 1, "2": 2}.get(skipped, skipped)}


@pytest.mark.parametrize("rules", RULES)
def test_the_command_and_python_have_the_same_rules(rules):
    """For all ballots of three ranks with these cells."""
    cells = {"A": "A", "B": "B", "": None, "overvote": "overvote", "A=B": ["A", "B"], "{C,nobody}": ["C", "nobody"]}
    ballots = list(product(cells, repeat=3))
    options, keywords = ruled(*rules)
    content = csv_text([["id", "r1", "r2", "r3"], *(["x", *ballot] for ballot in ballots)])
    found = read(content, "--choices", "r1..r3", "--items", "A,B,C", *options)
    orders = [[cells[cell] for cell in ballot] for ballot in ballots]
    expected = Profile.from_rankings(unranked_last(orders_to_positions(orders, items=["A", "B", "C"], **keywords)))
    np.testing.assert_array_equal(found.positions.table, expected.positions.table)


def test_a_record_of_san_francisco():
    options = ["--choices", "Rank *", *ABC, "--other-items", "drop"]
    assert rows(read(SAN_FRANCISCO, *options)) == [[0, 1, 2], [1, 0, 0], [1, None, 0], [0, 1, None]]
    end = rows(read(SAN_FRANCISCO, *options, "--overvote", "end", "--skipped", "1", "--repeated", "drop"))
    assert end == [[0, None, None], [None] * 3, [None] * 3, [0, 1, None]]
    skip = rows(read(SAN_FRANCISCO, *options, "--overvote", "skip", "--no-answer", "a writer", "--skipped", "1"))
    assert skip == [[0, None, 1], [None] * 3, [None] * 3, [None] * 3]


def test_words_of_a_record_are_items_if_the_list_says_so():
    content = "r1,r2\nOvervote,skipped\nWrite-in,overvote\n"
    assert rows(read(content, "--choices", "r*", "--items", "overvote,skipped,Write-in", *ABC[2:])) == [
        [None, 0, None],
        [1, None, 0],
    ]


def test_the_number_of_changed_ballots_goes_to_the_operator_only(finished):
    Path("cvr.csv").write_text(csv_text(NEW_YORK), encoding="utf-8")
    options = ["cvr.csv", "--choices", CONTEST.format("*"), *MAYOR]
    status, out, said = finished(*options, "--epsilon", "1", "--report", "r.html")
    assert status == 0 and said == (
        "cvr.csv: by the rules of ballots, some marks do not count in 3 of 5 rows. "
        "If these are many, check the names in --items. This line depends on the ballots; do not publish it.\n"
    )
    page = Path("r.html").read_text(encoding="utf-8")
    printed = [out, page, finished(*options, *LARGE)[1]]
    assert not any("marks" in text or "3 of 5" in text for text in printed)


def test_a_file_without_broken_rules_has_no_line_on_standard_error(finished):
    Path("c.csv").write_text("rank1,rank2,n\nA,B,3\nB,,2\n,A,1\n", encoding="utf-8")
    assert finished("c.csv", "--choices", "rank*", "--items", "A,B", "--epsilon", "1")[2] == ""


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "r1,r2\nA,A\n",
            ["--repeated", "error"],
            "f.csv, line 2: the ballot lists an item twice; correct it",
        ),
        (
            "r1,r2\nA=B,C\n",
            ["--overvote", "error"],
            "line 2: the ballot has several items in one rank; correct it",
        ),
        ("r1,r2\nA,secret\n", [], "f.csv, line 2: cell 2 is not one of the 3 items in --items. Add it, correct"),
        ("r1,r2\nA,B=secret\n", [], "--other-items drop leaves out write-ins and other names."),
        ("r1,r2\nA,B>C\n", [], "If a cell lists several items, add what stands between them, as in --list-separator"),
    ],
)
def test_ballots_that_break_a_rule_are_refused_before_a_charge(content, options, message, finished):
    Path("f.csv").write_text(content, encoding="utf-8")
    command = ["f.csv", "--choices", "r*", *ABC, *options, "--epsilon", "1"]
    budget = ["--budget", "b", "--budget-epsilon", "9"]
    status, _, said = finished(*command, *budget)
    assert status == 2 and message in said and said.endswith(f"{NOT_PUBLIC}\n") and "secret" not in said
    assert not Path("b").exists()
    assert finished(*command, *budget, "--unreadable", "empty")[0] == 0
    assert len(PrivacyBudget.open("b").releases_) == 1
    assert rows(read(content, "--choices", "r*", *ABC, *options, "--unreadable", "empty")) == [[None] * 3]


@pytest.mark.parametrize("rules", ["--repeated first", "--overvote tie", "--skipped 1", "--other-items drop"])
@pytest.mark.parametrize(
    "layout",
    ["--ratings", "--positions --unranked last", "--long a b c --ratings", "--comparisons a b --row-is-person"],
)
def test_rules_are_for_lists_of_items(layout, rules):
    message = refused("a,b,c\n1,2,3\n", *layout.split(), "--items", "a,b,c", *rules.split())
    assert f"does not take {rules.split()[0]}; leave that out." in message


# --- ties and lists in one cell


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("B,A=C", []),
        ('B,"{A,C}"', []),
        ("B,{A,C}", []),
        ("B,{ A , C }", []),
        ("B > A = C", ["--list-separator", ">"]),
        ("B > A = C", ["--separator", ">"]),
        ('"B;{A,C};"', ["--list-separator", ";"]),
        ("B;{A,C}", ["--separator", ";"]),
    ],
)
def test_ties_in_a_line(line, options):
    assert rows(read(f"{line}\nC\n", "--orders", *ABC, *options)) == [[1, 0, 1], [None, None, 0]]


def test_names_that_look_like_ties_are_items():
    names = ["--items", "A=B,{C},A,B", "--unranked", "no_opinion"]
    assert rows(read("A=B,{C},A\nB={C}\n", "--orders", *names)) == [[0, 1, 2, None], [None, 0, None, 0]]


@pytest.mark.parametrize(("separator", "cell"), [(">", "B > A"), (";", "B;A;"), (" -> ", "B -> A"), (",", '"B,A"')])
def test_a_column_of_whole_lists(separator, cell):
    content = f"voter,answer\nv,{cell}\nw,\nx,C\n"
    found = read(content, "--choices", "answer", "--list-separator", separator, *ABC)
    assert rows(found) == [[1, 0, None], [None] * 3, [None, None, 0]]


def test_lists_are_for_one_column():
    content = "r1,r2\nA;B,C\n"
    assert "--list-separator is for one column with whole lists" in refused(
        content, "--choices", "r*", *ABC, "--list-separator", ";"
    )
    assert "--list-separator must not be empty" in refused(content, "--choices", "r1", *ABC, "--list-separator", "")


# --- positions


@pytest.mark.parametrize("command", ["rank", "compare"])
def test_positions_need_the_meaning_of_blanks(command, finished):
    """Whether a file has blanks does not matter, because a refusal must not depend on it."""
    for content in ("A,B\n" + "1,\n" * 60 + "2,1\n" * 40, "A,B\n1,2\n"):
        Path("p.csv").write_text(content, encoding="utf-8")
        options = ["p.csv", "--positions"] + ["--public"] * (command == "compare")
        options += ["--epsilon", "50", "--format", "json"] * (command == "rank")
        status, _, said = finished(*options, "--items", "all", command=command)
        assert status == 2 and "--positions needs --unranked, the meaning of an empty cell" in said
        assert "--unranked last" in said and "--unranked no_opinion" in said
        assert "--items all" in finished(*options, command=command)[2]


@pytest.mark.parametrize(("meaning", "best"), [("last", "A"), ("no_opinion", "B")])
def test_the_release_states_the_meaning_of_blanks(meaning, best, finished):
    Path("p.csv").write_text("A,B\n" + "1,\n" * 60 + "2,1\n" * 40, encoding="utf-8")
    options = ["p.csv", "--positions", "--items", "all", "--unranked", meaning, "--epsilon", "50", "--report", "r.html"]
    out = finished(*options)[1]
    assert f"--unranked {meaning}" in " ".join(out.split())
    assert json.loads(finished(*options, "--format", "json")[1])["consensus"][0] == best
    stated = {"last": "worse than those that it lists", "no_opinion": "count as no opinion"}[meaning]
    assert stated in Path("r.html").read_text(encoding="utf-8")


def test_lists_with_scores_need_no_meaning_of_blanks(finished):
    Path("p.csv").write_text("A,B,C\n1,2,\n1,,\n", encoding="utf-8")
    options = ["p.csv", "--positions", "--items", "all", "--estimator", "DPPositionalRule", *LARGE]
    assert json.loads(finished(*options, "--max-listed", "2", "--delta", "1e-6")[1])["unranked"] == "no_score"


# --- short lists of many items


@pytest.mark.parametrize("others", [[], ["--person", "who"], ["--count", "n"]])
def test_lists_with_scores_are_no_table(others):
    """The rows of lists have the scores of the table that other estimators need."""
    content = 'who,n,r1,r2\nann,2,A,"{B,C}"\nann,1,B,\ncyd,1,C,A\nbob,3,C,C\n'
    options = ["--choices", "r*", "--items", "A,B,C", *others]
    lists = read(content, *options, "--estimator", "DPPositionalRule", "--max-listed", "2")
    table = read(content, *options, "--unranked", "no_opinion", "--max-listed", "2")
    assert lists.positions is None and lists.rows.n_voters == table.n_voters
    np.testing.assert_array_equal(lists.net_wins, table.net_wins)
    assert (lists.bound.unit, lists.bound.most, lists.max_listed) == (table.bound.unit, table.bound.most, 2)


def test_typed_lists_have_rules_and_counts(finished):
    content = "first,second,n\n" + "tea,tea,300\nmilk,undervote,300\ntea,secret,1\n"
    Path("t.csv").write_text(content, encoding="utf-8")
    options = ["t.csv", "--choices", "first,second", "--items", "private", "--max-listed", "3", "--count", "n"]
    status, out, said = finished(*options, "--epsilon", "2", "--delta", "1e-6", "--format", "json")
    assert status == 0 and sorted(json.loads(out)["consensus"]) == ["milk", "tea"]
    assert "in 1 of 3 rows" in said and "secret" not in out + said
    assert (
        "--items private does not take --overvote; leave that out."
        in finished(*options, "--overvote", "tie", *LARGE)[2]
    )
