"""Files of other programs, and the refusals until a stranger who begins with ``dprank rank FILE`` has a ranking.

The stranger knows what the cells of the file are, copies a command that the refusal prints, and writes items.txt. To
add a file, add a `Case`.
"""

import csv
import gzip
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from process_tools import ROOT

from sklearn_dprank.cli import main

NAMES = ["milk", "tea", "wine"]
RATINGS = [[2, 5, 1], [1, 4, ""], [3, 4, 2], [2, 3, 1]] * 20
ORDERS = [["tea", "milk", "wine"], ["tea", "milk", ""], ["tea", "milk", "wine"], ["tea", "milk", "wine"]] * 20
POSITIONS = [["" if cell == "" else 6 - cell for cell in row] for row in RATINGS]
WORDS = {"": "", 1: "poor", 2: "fair", 3: "good", 4: "good", 5: "great"}
SCALE = "--ratings --scale poor,fair,good,great"


class Case(NamedTuple):
    """A file, what the stranger knows of its cells, and the number of refusals until tea is published as best."""

    content: Callable[[], bytes]
    ending: str = "--ratings"
    refusals: int = 1
    names: list[str] = NAMES


def text(*rows, delimiter=",", quoting=csv.QUOTE_MINIMAL, encoding="utf-8"):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting).writerows(rows)
    return out.getvalue().encode(encoding)


def google_forms(*more, table=RATINGS, parts=NAMES):
    head = ["Timestamp", *(f"How good are these? [{part}]" for part in parts), *more]
    rows = [
        [f"2026/05/01 10:0{v % 10}:00 AM GMT+2", *row, *["fine,\nI think"] * len(more)] for v, row in enumerate(table)
    ]
    return text(head, *rows, quoting=csv.QUOTE_ALL)


def qualtrics():
    own = ["StartDate", "Status", "Progress", "ResponseId", "UserLanguage"]
    ids = [*(f"own{k}" for k in range(5)), "QID4_1", "QID4_2", "QID4_3"]
    return text(
        [*own, "Q1_1", "Q1_2", "Q1_3"],
        [*own, *(f"How good\nare these? - {name}" for name in NAMES)],
        [json.dumps({"ImportId": each}) for each in ids],
        *([f"2026-05-01 10:00:{v % 60}", "0", "100", f"R_{v}", "EN", *row] for v, row in enumerate(RATINGS)),
    )


LIMESURVEY = ["id. Response ID", "submitdate. Date submitted", "lastpage. Last page", "startlanguage. Start language"]


def limesurvey(code="SQ00{}", parts=NAMES, table=RATINGS):
    asked = (f"Q1[{code.format(k)}]. How good are these? [{part}]" for k, part in enumerate(parts, start=1))
    head = [*LIMESURVEY, "seed. Seed", *asked]
    rows = ([v, "2026-05-01 10:00:00", 1, "en", 123456 + v, *row] for v, row in enumerate(table))
    return text(head, *rows, quoting=csv.QUOTE_ALL, encoding="utf-8-sig")


SURVEYMONKEY = ["Respondent ID", "Collector ID", "Start Date", "End Date", "IP Address", "Email Address", "First Name"]


def surveymonkey():
    own = [*SURVEYMONKEY, "Last Name", "Custom Data 1"]
    rows = (
        [118000 + v, 42, "05/01/2026 10:00", "05/01/2026 10:05", "192.0.2.1", "", "", "", "", *row, "none"]
        for v, row in enumerate(POSITIONS)
    )
    return text(
        [*own, "Please rank these drinks:", "", "", "Any comments?"],
        [*[""] * len(own), *NAMES, "Open-Ended Response"],
        *rows,
    )


def doodle(*months):
    answers = {5: "OK", 4: "OK", 3: "(OK)"}
    rows = [[f"Voter {v}", *(answers.get(cell, "") for cell in row)] for v, row in enumerate(RATINGS)]
    title = [['Poll "Team dinner"'], ["https://doodle.com/poll/abc"], [], *months]
    return text(*title, ["", *NAMES], *rows, ["Count", 0, 80, 0])


def workbook(**sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([None if cell == "" else cell for cell in row])
    book.save(out)
    return out.getvalue()


def arrow(write):
    pyarrow, out = pytest.importorskip("pyarrow"), io.BytesIO()
    columns = [[None if cell == "" else cell for cell in column] for column in zip(*RATINGS, strict=True)]
    write(pyarrow.table(dict(zip(NAMES, columns, strict=True))), out)
    return out.getvalue()


def parquet():
    return arrow(pytest.importorskip("pyarrow.parquet").write_table)


def feather():
    return arrow(pytest.importorskip("pyarrow.feather").write_feather)


def commas(rows):
    """Return numbers with decimal commas."""
    return [[f"{cell},5" if cell != "" else "" for cell in row] for row in rows]


GERMAN = ["Käse", "tea", "Brötchen"]
RANKS = ["Rank 1", "Rank 2", "Rank 3"]
CHOICES = ["1st choice", "2nd choice", "3rd choice"]
BY_CODES = [[str(1 + NAMES.index(cell)) if cell else "" for cell in row] for row in ORDERS]
FILES = {
    "forms.csv": Case(google_forms),
    "forms with comments.csv": Case(lambda: google_forms("Any comments?")),
    "forms in words.csv": Case(lambda: google_forms(table=[[WORDS[cell] for cell in row] for row in RATINGS]), SCALE),
    "forms with places.csv": Case(
        lambda: google_forms(table=[[["", *CHOICES, "", ""][cell or 0] for cell in row] for row in POSITIONS]),
        "--ratings --scale '3rd choice,2nd choice,1st choice' --unranked last",
    ),
    "forms with choices.csv": Case(lambda: google_forms(table=ORDERS, parts=CHOICES)),
    "qualtrics.csv": Case(qualtrics),
    "limesurvey.csv": Case(limesurvey),
    "limesurvey ranking.csv": Case(lambda: limesurvey("{}", RANKS, ORDERS)),
    "limesurvey codes.csv": Case(lambda: limesurvey("{}", RANKS, BY_CODES), names=["1", "2", "3"]),
    "surveymonkey.csv": Case(surveymonkey, "--positions --unranked last"),
    "doodle.csv": Case(doodle, "--ratings --scale '(OK),OK' --unranked last --unreadable empty"),
    "doodle with months.csv": Case(
        lambda: doodle(["", "May 2026"]), "--ratings --scale '(OK),OK' --unranked last --unreadable empty"
    ),
    "two sheets.xlsx": Case(lambda: workbook(Notes=[["made in May"]], Votes=[NAMES, *RATINGS])),
    "title.xlsx": Case(lambda: workbook(A=[["Drinks"], [], NAMES, *RATINGS])),
    "microsoft forms.xlsx": Case(
        lambda: workbook(
            Sheet1=[
                ["ID", "Start time", "Completion time", "Email", "Name", *NAMES],
                *([v, "5/1/26 10:00:00", "5/1/26 10:01:00", "anonymous", "", *row] for v, row in enumerate(RATINGS)),
            ]
        ),
    ),
    "microsoft ranking.xlsx": Case(
        lambda: workbook(
            Sheet1=[
                ["ID", "Start time", "Completion time", "Email", "Name", "Please rank these drinks, best first"],
                *(
                    [v, "5/1/26 10:00:00", "5/1/26 10:01:00", "anonymous", "", "".join(f"{cell};" for cell in row)]
                    for v, row in enumerate(ORDERS)
                ),
            ]
        ),
        "--choices 'Please rank these drinks, best first' --list-separator ';'",
    ),
    "sep.csv": Case(lambda: b"sep=;\r\n" + text(NAMES, *RATINGS, delimiter=";")),
    "utf16.csv": Case(lambda: text(GERMAN, *RATINGS, delimiter="\t", encoding="utf-16"), names=GERMAN),
    "german.csv": Case(lambda: text(GERMAN, *commas(RATINGS), delimiter=";", encoding="cp1252"), names=GERMAN),
    "semicolons.csv": Case(
        lambda: text(["id", *NAMES, "Alter"], *([v, *row, 33] for v, row in enumerate(RATINGS)), delimiter=";")
    ),
    "comments.csv": Case(
        lambda: text([*NAMES, "Comments"], *([*row, 'I say "good",\n\nand so on'] for row in RATINGS))
    ),
    "trailing.csv": Case(lambda: text(NAMES, *RATINGS, *[[""] * 3] * 5)),
    "totals.csv": Case(
        lambda: text(["Zeitstempel", *NAMES, "Total", "Comments"], *(["1.5.2026", *row, 8, ""] for row in RATINGS))
    ),
    "pandas.csv": Case(lambda: text(["", *NAMES], *([v, *row] for v, row in enumerate(RATINGS)))),
    "votes.parquet": Case(parquet),
    "votes.feather": Case(feather),
    "votes.tsv": Case(lambda: text(NAMES, *RATINGS, delimiter="\t")),
    "new york.csv": Case(
        lambda: text(
            ["Ballot", "Precinct", *(f"Choice {k} of 3 Best drink, Citywide (026)" for k in (1, 2, 3))],
            *([v, "AD 1", *row] for v, row in enumerate(ORDERS)),
            [80, "AD 2", "undervote", "overvote", "tea"],
            [81, "AD 2", "tea", "Write-in", "milk"],
        ),
    ),
    "counted.csv": Case(
        lambda: text(["id", "rank1", "rank2", "rank3", "Count"], *([k, *ORDERS[k], 20] for k in range(4)))
    ),
    "columns of choices.csv": Case(
        lambda: text(["id", "one", "two", "three"], *([k, *row] for k, row in enumerate(ORDERS))),
        "--choices one..three",
    ),
    "positions.csv": Case(lambda: text(NAMES, *POSITIONS), "--positions --unranked last"),
    "orders.csv": Case(lambda: text(*ORDERS), "--orders"),
    "ties.csv": Case(lambda: text(*[["tea", "milk=wine"]] * 80), "--orders"),
    "lists in cells.csv": Case(
        lambda: text(["id", "drinks"], *([v, " > ".join(filter(None, row))] for v, row in enumerate(ORDERS))),
        "--choices drinks --list-separator '>'",
    ),
    "shop.csv": Case(
        lambda: text(
            ["user", "item", "rating"],
            *(
                [v, name, cell]
                for v, row in enumerate(RATINGS)
                for name, cell in zip(NAMES, row, strict=True)
                if cell != ""
            ),
        ),
    ),
    "arena.csv": Case(
        lambda: text(
            ["model_a", "model_b", "winner", "judge"],
            *([*pair, "model_a", v] for v in range(80) for pair in (["tea", "milk"], ["milk", "wine"])),
        ),
    ),
    "votes.soi": Case(
        lambda: (
            b"# FILE NAME: votes.soi\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: milk\n"
            b"# ALTERNATIVE NAME 2: tea\n# ALTERNATIVE NAME 3: wine\n60: 2,1,3\n20: 2,1\n"
        ),
        refusals=0,
    ),
    "votes.csv.gz": Case(lambda: gzip.compress(text(NAMES, *RATINGS))),
}


def copied(message, ending):
    """Return the words of a command that the message prints, for the cells that the stranger knows.

    The answers of ``--scale`` and the mark of ``--list-separator`` are the stranger's; the options are the message's.
    """
    if whole := re.search(r"Then run: dprank (.*)$", message):
        return shlex.split(whole[1])
    commands = [shlex.split(found) for found in re.findall(r"^  dprank (.*)$", message, re.M)]
    known = shlex.split(ending)
    for words in commands:
        if known[0] in words:  # such as --orders, or --choices with its columns
            assert {word for word in known if word[:2] == "--"} <= {*words} and {*known[1:2]} <= {*words}, message
            return [*words, *known[2:]]
    offered = [shlex.split(found) for found in re.findall(r"^    (--.*?)(?:  .*)?$", message, re.M)]
    options = [[word for word in words if word[:2] == "--"] for words in offered]
    assert [word for word in known if word[:2] == "--" and word != "--unranked"] in [
        [word for word in words if word != "--unranked"] for words in options
    ], message
    return [*commands[0], *known]


@pytest.mark.parametrize("name", FILES)
def test_refusals_lead_to_the_ranking(name, tmp_path, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    case = FILES[name]
    Path(name).write_bytes(case.content())
    Path("items.txt").write_text("\n".join(case.names), encoding="utf-8")  # as the message asks
    words, messages = [name, "--epsilon", "50", "--format", "json"], []
    while (result := finished(*words))[0]:
        status, out, err = result
        assert (status, out) == (2, "") and len(messages) < 3, err
        messages.append(err.strip())
        command, *words = copied(messages[-1], case.ending)
        assert command == "rank"
    consensus = json.loads(result[1])["consensus"]
    assert sorted(consensus) == sorted(case.names)
    assert consensus[0] == ("2" if "1" in case.names else "tea")
    assert len(messages) == case.refusals, messages


@pytest.mark.parametrize("name", ["limesurvey codes.csv", "forms with choices.csv"])
@pytest.mark.parametrize("layout", [["--positions", "--unranked", "last"], ["--ratings"]])
def test_ranks_are_not_published_as_items(name, layout, tmp_path, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(FILES[name].content())
    status, _, said = finished(name, "--epsilon", "1", *layout)
    assert status == 2
    assert "has one list of choices a row" in said and "--choices" in said.partition("Then run: ")[2]


@pytest.mark.parametrize(("layout", "words"), [("--ratings", "larger is better"), ("--positions", "smaller is better")])
def test_the_result_and_the_page_state_how_cells_were_read(layout, words, tmp_path, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("tea,milk\n1,2\n")
    options = ["--items", "all", layout, "--unranked", "last", "--epsilon", "1"]
    status, printed, _ = finished("v.csv", *options, "--report", "r.html")
    assert status == 0
    assert words in printed and words in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("lines", [True, False])
def test_the_conversion_of_json_keeps_lists_and_files(lines, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rows = [{"id": v, "drinks": [cell for cell in row if cell]} for v, row in enumerate(ORDERS)]
    name = "v.jsonl" if lines else "v.json"
    Path(name).write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    assert main(["rank", name, "--epsilon", "50"]) == 2
    program = re.search(r'python -c "(.*)" Then', capsys.readouterr().err)[1]
    subprocess.run([sys.executable, "-c", program], check=True)
    options = ["--choices", "drinks", "--list-separator", ">", "--items", "milk,tea,wine", "--epsilon", "50"]
    assert main(["rank", "votes.csv", *options, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["consensus"] == ["tea", "milk", "wine"]
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode  # votes.csv stays


def test_the_commands_of_the_guide_rank_the_exports(tmp_path, monkeypatch, capsys):
    guide = Path(ROOT, "docs/user_guide/ballots.rst").read_text(encoding="utf-8")
    commands = [shlex.split(found) for found in re.findall(r"``dprank rank ([^`]+)``", guide)]
    commands = [words for words in commands if words[0] in FILES]
    tools = ["forms", "qualtrics", "limesurvey", "surveymonkey", "doodle"]
    assert {words[0] for words in commands} >= {f"{tool}.csv" for tool in tools} | {"two sheets.xlsx"}
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("\n".join(NAMES), encoding="utf-8")
    for words in commands:
        Path(words[0]).write_bytes(FILES[words[0]].content())
        assert main(["rank", *words, "--epsilon", "50", "--format", "json"]) == 0
        consensus = json.loads(capsys.readouterr().out)["consensus"]
        assert sorted(consensus) == NAMES and consensus[0] == "tea"


def test_at_most_one_file_in_ten_has_more_than_one_refusal():
    assert len(FILES) >= 30
    assert len([case for case in FILES.values() if case.refusals > 1]) <= len(FILES) / 10
