"""The stop on columns that no option calls items: no budget is charged, and the printed remedy works."""

import json
import re
import shlex
from pathlib import Path

import pytest

from sklearn_dprank.cli import main
from sklearn_dprank.privacy import PrivacyBudget

BUDGET = ["--budget", "b", "--budget-epsilon", "100", "--budget-delta", "1e-5"]
ALL = ["--items", "all"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("x\ny\nz\n", encoding="utf-8")


@pytest.fixture
def rank(capsys):
    """Return the JSON of a release of a file with this content, or the message of a refusal."""

    def call(content, *options, command="rank"):
        if content is not None:
            Path("my votes.csv").write_text(content, encoding="utf-8")
        status = main([command, *options, "--format", "json"])
        out, err = capsys.readouterr()
        assert (status, bool(out)) in ((0, True), (2, False))
        return err if status else json.loads(out)

    return call


def printed_command(message):
    """Return the words of the command at the end of a message."""
    first, *words = shlex.split(re.search(r" Then run: (dprank .*)\n$", message)[1])
    assert first == "dprank" and message.count("\n") == 1
    return words


WIDE = "tea,rye bread,milk\n3,2,1\n"


@pytest.mark.parametrize("layout", ["--ratings", "--positions"])
def test_columns_are_items_only_if_somebody_says_so(layout, rank):
    file = ["my votes.csv", layout, "--unranked", "last"]
    said = rank(WIDE, *file, "--epsilon", "50", *BUDGET)
    assert said.startswith("dprank rank: say which of the 3 columns of my votes.csv are items. Copy this, and drop")
    assert "If all are, add --items all." in said and not Path("b").exists()
    option = shlex.split(re.search(r"(--items '.*?')", said)[1])
    made = [rank(None, *file, "--epsilon", "50", *BUDGET, *more) for more in (option, ALL)]
    assert sorted(made[0]["consensus"]) == sorted(made[1]["consensus"]) == ["milk", "rye bread", "tea"]
    assert len(PrivacyBudget.open("b").releases_) == 2


def test_all_leaves_out_the_columns_of_other_options(rank):
    content = "who,w,where,tea,milk\nann,1,n,2,1\nbob,2,s,2,1\n"
    others = ["--person", "who", "--weight", "w", "--max-weight", "2"]
    others += ["--segments", "where", "--segment-values", "n,s"]
    file = ["my votes.csv", "--positions", "--unranked", "last", "--epsilon", "1", *others]
    assert "the 2 columns of my votes.csv are items. Copy this, and drop what is not an item: --items 'tea, milk'" in (
        rank(content, *file)
    )
    made = rank(content, *file, *ALL)
    assert sorted(made["segments"][0]["consensus"]) == ["milk", "tea"]
    assert "column 'who' does not look" in rank(content.replace("who", "voter"), *file[:6], *ALL).replace(
        "voter", "who"
    )


def test_a_grid_of_one_question_is_confirmed_by_its_names(rank):
    made = rank("Rate [tea],Rate [milk]\n1,2\n", "my votes.csv", "--positions", "--unranked", "last", "--epsilon", "1")
    assert sorted(made["consensus"]) == ["milk", "tea"]
    for content in ("taste [tea],price [tea]\n1,2\n", "Timestamp,tea,milk\n2024,1,2\n"):
        said = rank(content, "my votes.csv", "--positions", "--unranked", "last", "--epsilon", "1")
        assert "the 2 columns of my votes.csv are items." in said


@pytest.mark.parametrize("names", ["secret,5,4", "7,secret", "secret,"])
def test_a_first_row_that_may_be_a_ballot_is_not_shown(names, rank):
    said = rank(f"{names}\n{names}\n", "my votes.csv", "--positions", "--unranked", "last", "--epsilon", "1")
    assert "secret" not in said and ("List them with --items" in said or "must have a first row with the names" in said)


LOG = "model_a,model_b,winner{}\n" + "x,y,model_a{}\nx,z,model_a{}\nz,y,tie{}\n" * 30
MOVIES = "userId,movieId,rating,timestamp\n" + "".join(f"{k},x,5,1\n{k},y,3,1\n{k},z,1,1\n" for k in range(30))
FORMS = {
    "an arena log": (LOG.replace("{}", ""), "--comparisons model_a model_b winner --row-is-person"),
    "a log with judges": (
        "".join(f"{line},u{k}\n" for k, line in enumerate(LOG.replace("{}", "").splitlines())).replace(
            "u0", "judge", 1
        ),
        "--comparisons model_a model_b winner --person judge",
    ),
    "duels": ("loser,winner\n" + "y,x\nz,x\nz,y\n" * 30, "--comparisons winner loser --row-is-person"),
    "ratings of films": (MOVIES, "--long userId movieId rating"),
    "choices": (
        "Choice 2 of 3,id,Choice 1 of 3,Choice 3 of 3\n" + "y,1,x,z\nz,2,x,\n" * 30,
        "--choices 'Choice 1 of 3, Choice 2 of 3, Choice 3 of 3'",
    ),
    "ranks": ("rank_1,rank_2,precinct\n" + "x,y,p\n" * 30, "--choices 'rank_1, rank_2'"),
    "ordinals": ("1st choice,2nd choice\n" + "x,y\n" * 30, "--choices '1st choice, 2nd choice'"),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    "options",
    [
        ["my votes.csv"],
        ["my votes.csv", "--ratings"],
        ["--ratings", "my votes.csv", "--unranked=last"],
        ["my votes.csv", "--ratin", "--unranked", "no_opinion", "--scale", "1,3,5"],
    ],
    ids=" ".join,
)
def test_names_that_suggest_a_form_give_the_whole_command(name, options, rank):
    """The command has the names of this file and the typed options, and works if it is copied."""
    content, expected = FORMS[name]
    said = rank(content, *options, "--epsilon", "50", *BUDGET)
    assert said.startswith("dprank rank: my votes.csv has one ") and "If these are items, add --items all." in said
    assert f" {expected} " in said and not Path("b").exists()
    assert ("--row-is-person states that" in said) == ("--row-is-person" in expected)
    _, *words = printed_command(said)
    assert set(BUDGET) <= {*words} and "my votes.csv" in words
    made = rank(None, *words)
    assert made["consensus"][0] == "x"
    assert len(PrivacyBudget.open("b").releases_) == 1


def test_a_chosen_mechanism_stays_in_the_command(rank):
    content, _ = FORMS["an arena log"]
    for options in (["--noise", "gaussian"], ["--noise", "gaussian", "--estimator", "DPPairwise"]):
        said = rank(content, "my votes.csv", "--ratings", *options, "--epsilon", "50", "--delta", "1e-6")
        made = rank(None, *printed_command(said)[1:])
        assert made["consensus"][0] == "x" and "Gaussian" in made["privacy"]["how"] and "approximate" not in made


def test_items_confirm_columns_of_any_name(rank):
    options = ["my votes.csv", "--ratings", "--epsilon", "50"]
    assert rank("winner,loser,age\n3,1,9\n", *options, "--items", "winner,loser")["consensus"] == [
        "winner",
        "loser",
    ]
    said = rank(None, *options, *ALL)
    assert "column 'age' does not look like an item. Copy this, and correct it: --items 'winner, loser'." in said


def test_columns_of_public_files_are_confirmed_too(rank):
    pytest.importorskip("matplotlib")
    options = ["my votes.csv", "--public", "--positions", "--unranked", "last", "--trials", "1", "--epsilons", "1"]
    assert "are items. Copy this" in rank(WIDE, *options, command="compare")
    content, _ = FORMS["ratings of films"]
    command, *words = printed_command(rank(content, *options, command="compare"))
    assert command == "compare" and rank(None, *words, command=command)["not_private"]
