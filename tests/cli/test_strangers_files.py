"""Files of other programs, the first command that a stranger types, and the refusals until there is a ranking.

The stranger copies what a refusal prints: the whole command, or else its first option. To add a file, add a `Case`.
"""

import csv
import gzip
import io
import json
import re
import shlex
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


class Case(NamedTuple):
    """A file, the first command after ``dprank rank``, and the number of refusals until tea is published as best."""

    content: Callable[[], bytes]
    command: str
    refusals: int = 0
    names: list[str] = NAMES


def text(*rows, delimiter=",", quoting=csv.QUOTE_MINIMAL, encoding="utf-8"):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting).writerows(rows)
    return out.getvalue().encode(encoding)


def google_forms(*more):
    head = ["Timestamp", *(f"How good are these? [{name}]" for name in NAMES), *more]
    rows = [
        [f"2026/05/01 10:0{v % 10}:00 AM GMT+2", *row, *["fine,\nI think"] * len(more)] for v, row in enumerate(RATINGS)
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


def limesurvey():
    head = [*LIMESURVEY, "seed. Seed", *(f"Q1[SQ00{k}]. How good are these? [{name}]" for k, name in enumerate(NAMES))]
    rows = ([v, "2026-05-01 10:00:00", 1, "en", 123456 + v, *row] for v, row in enumerate(RATINGS))
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


def doodle():
    answers = {5: "OK", 4: "OK", 3: "(OK)"}
    rows = [[f"Voter {v}", *(answers.get(cell, "") for cell in row)] for v, row in enumerate(RATINGS)]
    title = [['Poll "Team dinner"'], ["https://doodle.com/poll/abc"], []]
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
FILES = {
    "forms.csv": Case(google_forms, "forms.csv --ratings"),
    "forms with comments.csv": Case(lambda: google_forms("Any comments?"), "'forms with comments.csv' --ratings", 1),
    "qualtrics.csv": Case(qualtrics, "qualtrics.csv --ratings"),
    "limesurvey.csv": Case(limesurvey, "limesurvey.csv --ratings"),
    "surveymonkey.csv": Case(surveymonkey, "surveymonkey.csv --positions", 1),
    "doodle.csv": Case(doodle, "doodle.csv --ratings --scale '(OK),OK' --unranked last", 3),
    "two sheets.xlsx": Case(
        lambda: workbook(Votes=[NAMES, *RATINGS], Notes=[["made in May"]]), "'two sheets.xlsx' --ratings --items all", 1
    ),
    "title.xlsx": Case(lambda: workbook(A=[["Drinks"], [], NAMES, *RATINGS]), "title.xlsx --ratings --items all", 1),
    "microsoft forms.xlsx": Case(
        lambda: workbook(
            Sheet1=[
                ["ID", "Start time", "Completion time", "Email", "Name", *NAMES],
                *([v, "5/1/26 10:00:00", "5/1/26 10:01:00", "anonymous", "", *row] for v, row in enumerate(RATINGS)),
            ]
        ),
        "'microsoft forms.xlsx' --ratings",
        1,
    ),
    "sep.csv": Case(lambda: b"sep=;\r\n" + text(NAMES, *RATINGS, delimiter=";"), "sep.csv --ratings --items all"),
    "utf16.csv": Case(
        lambda: text(GERMAN, *RATINGS, delimiter="\t", encoding="utf-16"), "utf16.csv --ratings", 1, GERMAN
    ),
    "german.csv": Case(
        lambda: text(GERMAN, *commas(RATINGS), delimiter=";", encoding="cp1252"), "german.csv --ratings", 1, GERMAN
    ),
    "semicolons.csv": Case(
        lambda: text(["id", *NAMES, "Alter"], *([v, *row, 33] for v, row in enumerate(RATINGS)), delimiter=";"),
        "semicolons.csv --ratings --items all",
        1,
    ),
    "comments.csv": Case(
        lambda: text([*NAMES, "Comments"], *([*row, 'I say "good",\n\nand so on'] for row in RATINGS)),
        "comments.csv --ratings --items all",
        1,
    ),
    "trailing.csv": Case(lambda: text(NAMES, *RATINGS, *[[""] * 3] * 5), "trailing.csv --ratings --items all"),
    "totals.csv": Case(
        lambda: text(["Zeitstempel", *NAMES, "Total", "Comments"], *(["1.5.2026", *row, 8, ""] for row in RATINGS)),
        "totals.csv --ratings --items all",
        1,
    ),
    "pandas.csv": Case(
        lambda: text(["", *NAMES], *([v, *row] for v, row in enumerate(RATINGS))), "pandas.csv --ratings --items all", 1
    ),
    "votes.parquet": Case(parquet, "votes.parquet --ratings --items all"),
    "votes.feather": Case(feather, "votes.feather --ratings --items all"),
    "votes.tsv": Case(lambda: text(NAMES, *RATINGS, delimiter="\t"), "votes.tsv --ratings --items all"),
    "new york.csv": Case(
        lambda: text(
            ["Ballot", "Precinct", *(f"Choice {k} of 3 Best drink, Citywide (026)" for k in (1, 2, 3))],
            *([v, "AD 1", *row] for v, row in enumerate(ORDERS)),
            [80, "AD 2", "undervote", "overvote", "tea"],
            [81, "AD 2", "tea", "Write-in", "milk"],
        ),
        "'new york.csv'",
        2,
    ),
    "counted.csv": Case(
        lambda: text(["id", "rank1", "rank2", "rank3", "Count"], *([k, *ORDERS[k], 20] for k in range(4))),
        "counted.csv",
        1,
    ),
    "positions.csv": Case(lambda: text(NAMES, *POSITIONS), "positions.csv --positions --items all", 1),
    "orders.csv": Case(lambda: text(*ORDERS), "orders.csv --orders --items tea,milk,wine"),
    "ties.csv": Case(lambda: text(*[["tea", "milk=wine"]] * 80), "ties.csv --orders --items tea,milk,wine"),
    "lists in cells.csv": Case(
        lambda: text(["id", "drinks"], *([v, " > ".join(filter(None, row))] for v, row in enumerate(ORDERS))),
        "'lists in cells.csv' --choices drinks --items tea,milk,wine --list-separator '>'",
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
        "shop.csv --ratings",
        1,
    ),
    "arena.csv": Case(
        lambda: text(
            ["model_a", "model_b", "winner", "judge"],
            *([*pair, "model_a", v] for v in range(80) for pair in (["tea", "milk"], ["milk", "wine"])),
        ),
        "arena.csv",
        1,
    ),
    "votes.soi": Case(
        lambda: (
            b"# FILE NAME: votes.soi\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: milk\n"
            b"# ALTERNATIVE NAME 2: tea\n# ALTERNATIVE NAME 3: wine\n60: 2,1,3\n20: 2,1\n"
        ),
        "votes.soi",
    ),
    "votes.csv.gz": Case(lambda: gzip.compress(text(NAMES, *RATINGS)), "votes.csv.gz --ratings --items all"),
}

_OPTION = re.compile(r"(--(?:items|sheet|encoding|separator|decimal|skip-rows) (?:'[^']*'|\w+))")


def copied(words, message):
    """Return the words of the next command: those that the message prints, or else the first option in it.

    In a message about one row, the stranger sees that the row is not a ballot.
    """
    if re.search(r", (line|row) \d+: ", message):
        return [*words, "--unreadable", "empty"]
    if "--positions needs --unranked" in message:
        words = [*words, "--unranked", "last"]
    if whole := re.search(r"Then run: dprank (.*)$", message):
        return shlex.split(whole[1])
    found = _OPTION.search(message)
    assert found or "--unranked" in words, message
    return words + (shlex.split(found[1]) if found else [])


@pytest.mark.parametrize("name", FILES)
def test_refusals_lead_to_the_ranking(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    case = FILES[name]
    Path(name).write_bytes(case.content())
    Path("items.txt").write_text("\n".join(case.names), encoding="utf-8")  # which the command for long data names
    words, messages = ["rank", *shlex.split(case.command), "--epsilon", "50", "--format", "json"], []
    while status := main(words):
        out, err = capsys.readouterr()
        assert (status, out) == (2, "") and len(messages) < 5, err
        messages.append(err.strip())
        words = copied(words, messages[-1])
    consensus = json.loads(capsys.readouterr().out)["consensus"]
    assert sorted(consensus) == sorted(case.names) and consensus[0] == "tea"
    assert len(messages) == case.refusals, messages


def test_the_commands_of_the_guide_rank_the_exports(tmp_path, monkeypatch, capsys):
    guide = Path(ROOT, "docs/user_guide/ballots.rst").read_text(encoding="utf-8")
    commands = [shlex.split(found) for found in re.findall(r"``dprank rank ([^`]+)``", guide)]
    commands = [words for words in commands if words[0] in FILES]
    tools = ["forms", "qualtrics", "limesurvey", "surveymonkey", "doodle"]
    assert {words[0] for words in commands} >= {f"{tool}.csv" for tool in tools} | {"two sheets.xlsx"}
    monkeypatch.chdir(tmp_path)
    for words in commands:
        Path(words[0]).write_bytes(FILES[words[0]].content())
        assert main(["rank", *words, "--epsilon", "50", "--format", "json"]) == 0
        consensus = json.loads(capsys.readouterr().out)["consensus"]
        assert sorted(consensus) == NAMES and consensus[0] == "tea"


def test_at_most_one_file_in_ten_has_more_than_one_refusal():
    assert len(FILES) >= 30
    assert len([case for case in FILES.values() if case.refusals > 1]) <= len(FILES) / 10
