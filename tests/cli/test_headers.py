"""Messages for commands without a layout: no cell of a ballot, and no command with a wrong ranking."""

import io
import re
import shlex
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refusal(finished):
    """Return the message about a file with this content."""

    def call(content, *options):
        Path("v.csv").write_bytes(content.encode("utf-8", "surrogateescape"))
        status, _, said = finished("v.csv", "--epsilon", "1", *options)
        assert status == 2
        return said

    return call


def commands(message):
    """Return the commands of a message, as lists of words."""
    return [
        shlex.split(found)
        for found in re.findall(r"^  (dprank .*)|Then run: (dprank .*)", message, re.M)
        for found in found
        if found
    ]


@pytest.mark.parametrize(
    "content", ["id,tea,milk\n1,2,3\n", "Title\nid;tea;milk\n1;2;3\n", "Rank 1,Rank 2\ntea,milk\n"]
)
def test_standard_input_is_answered_as_a_file_is(content, refusal, monkeypatch, finished):
    expected = refusal(content).replace("v.csv --epsilon", "- --epsilon").replace("v.csv", "standard input")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    status, _, said = finished("-", "--epsilon", "1")
    assert (status, said) == (2, expected)


@pytest.mark.parametrize(
    "ballot",
    [
        "Ann [Labour],secret [Green]",
        "email,secret",
        "date,secret,fig",
        "Nr. 3,secret",
        "Participant 3,secret",
        "age,secret,salary",
        "notes,secret",
    ],
)
def test_a_ballot_with_words_of_headers_is_not_printed(ballot, refusal):
    said = refusal(f"{ballot}\n{ballot}\n")
    assert "--orders" in said
    assert not [cell for cell in ballot.split(",") if re.search(rf"\b{re.escape(cell)}(?!\w)", said)]
    assert "Participant 3" not in said


@pytest.mark.parametrize(
    "first", ["Ann,secret", "Ann;secret", "\udcffnn,secret", "Ann,,secret", "secret", "Ann,Ann,secret"]
)
def test_a_first_row_that_may_be_a_ballot_is_not_printed(first, refusal):
    said = refusal(f"{first}\nAnn,Bob\n")
    assert "secret" not in said and "Ann" not in said and "--orders" in said


@pytest.mark.parametrize("options", [["--choices", "r1,r2", "--items", "Ann,Bob"], ["--ratings", "--items", "r1,r2"]])
def test_a_column_of_counts_is_not_left_out_in_silence(options, refusal, finished):
    cells = "Ann,Bob" if "--choices" in options else "2,1"
    said = refusal(f"r1,r2,Count\n{cells},30\n", *options)
    assert "If each row is of so many voters, add --count Count." in said
    assert finished("v.csv", "--epsilon", "1", *options, "--count", "Count")[0] == 0


def test_best_and_worst_are_not_offered_as_choices(refusal):
    said = refusal("id,Best,Worst\n1,tea,milk\n")
    assert "Best" in said and "--choices" not in said


def test_ballots_of_one_item_are_not_skipped(refusal):
    said = refusal("Ann\nBob\nBob,Ann,Carl\n")
    (orders,) = [words for words in commands(said) if "--orders" in words]
    assert "--skip-rows" not in orders
    assert "depends on the ballots" in said
    assert "depends on the ballots" not in refusal("Drinks\nid,tea,milk\n1,2,3\n")


def test_the_first_ballot_does_not_state_the_cells_of_doodle(refusal):
    assert refusal("a,b\nx,doodle.com\n") == refusal("a,b\nx,example.com\n")


def test_two_lists_of_choices_are_not_mixed(refusal):
    said = refusal("Rank 1,Rank 2,Rank 3,Choice 1,Choice 2,Choice 3,Choice 4\na,b,c,d,e,f,g\n")
    (words,) = commands(said)
    assert words[words.index("--choices") + 1] == "Choice 1..Choice 4"
    assert "one of 2 lists of choices" in said
    assert "lists of choices" not in refusal("Rank 1,Rank 2,Rank 3\na,b,c\n")


@pytest.mark.parametrize(
    "names", [("First", "Second", "Third"), ("1st choice", "2nd choice", "3rd choice"), ("1", "2", "3")]
)
def test_the_ranks_of_a_grid_are_choices(names, refusal):
    (words,) = commands(refusal(f"Timestamp,{','.join(f'Best? [{name}]' for name in names)}\nx,a,b,c\n"))
    assert words[words.index("--choices") + 1] == f"{names[0]}..{names[-1]}"


def test_a_range_of_choices_has_no_column_between(refusal):
    said = refusal("id,best,Comment,next\n1,a,,b\n")
    assert "--choices 'best, next'" in said and ".." not in said


def test_brackets_of_each_candidate_are_part_of_the_name(refusal):
    assert "--items 'Ann [Labour], Bob [Green]'" in refusal("id,Ann [Labour],Bob [Green]\n1,2,3\n")


@pytest.mark.parametrize(
    ("names", "option"),
    [
        ("id,Mayor Rank 1,Mayor Rank 2", "--choices 'Mayor Rank *'"),
        ("id,Rep. 1st Choice D2,Rep. 2nd Choice D2", "--choices 'Rep. 1st Choice D2, Rep. 2nd Choice D2'"),
        ("1. Wahl,2. Wahl,Anzahl", "--choices '1. Wahl, 2. Wahl' --count Anzahl"),
        ("player1,player2,winner", "--comparisons player1 player2 winner"),
        ("home,away,winner", "--comparisons home away winner"),
        ("voter,candidate,rank", "--long voter candidate rank --positions"),
        ("CaseID,tea,milk", "--items 'tea, milk'\n"),
    ],
)
def test_the_names_of_columns_give_the_options(names, option, refusal):
    assert option in refusal(f"{names}\n{','.join('1' * (1 + names.count(',')))}\n")


@pytest.mark.parametrize(
    ("name", "hint"), [("Weight", "--weight or --count"), ("design_weight", "add --weight design_weight --max-weight")]
)
def test_a_column_of_weights_is_not_left_out_in_silence(name, hint, refusal):
    assert hint in refusal(f"tea,milk,{name}\n1,2,3\n")
    assert hint not in refusal(f"tea,milk,{name}\n1,2,3\n", "--weight", name, "--max-weight", "2")


def test_voters_with_several_lists_of_choices_need_person(refusal):
    assert "add --person Voter" in refusal("Voter,Rank 1,Rank 2\nv,a,b\n")


def test_ids_of_ratings_are_not_ratings(refusal):
    (words,) = commands(refusal("user_id,movie_id,rating,rating_id\n1,a,3,1\n"))
    assert words[words.index("--long") + 3] == "rating"


@pytest.mark.parametrize(
    "names", ["Rank 1,Rank 10,Rank 2", "Rank 1,Rank 3,Rank 2,Rank 4,Rank 10", "Rank 1,Reason 1,Rank 2,Reason 2,Rank 10"]
)
def test_a_range_over_columns_in_another_order_is_refused(names, refusal):
    options = ["--choices", "Rank 1..Rank 10", "--items", "a,b"]
    said = refusal(f"{names}\n", *options)
    assert "not numbered one after the other; write * in place of the number" in said


@pytest.mark.parametrize("names", ["Opt 1,Opt 10,Opt 2", "Opt 10,Opt 2,Opt 1"])
def test_numbered_columns_are_choices_in_the_order_of_their_numbers(names, refusal):
    assert "--choices 'Opt 1, Opt 2, Opt 10'" in refusal(f"id,{names}\n1,a,b,c\n")


def test_ordinal_numbers_alone_are_choices(refusal):
    assert "--choices 'First, Second, Third'" in refusal("Third,First,Second\na,b,c\n")
