"""What the reproductions of papers share: votes, scores, claims, tables and pictures.

A failure means that an example measures something else than it states, or draws it wrongly.
"""

import gzip

import numpy as np
import pytest

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import read_preflib

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture
def shared(example):
    return example("_shared")


# Votes


def test_votes_without_a_file_are_replaced_and_the_output_states_it(shared, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["plot.py"])
    shared.begin()
    printed = capsys.readouterr().out
    assert "TurkDots, TurkPuzzle, SUSHI" in printed and "stand in" in printed
    votes = shared.real("TurkDots")
    assert votes.title == "Mallows in place of TurkDots" and votes.ballots.shape == (795, 4)
    (tmp_path / "00024-00000001.soc").write_text("# NUMBER ALTERNATIVES: 4\n3: 2,1,3,4\n1: 4,3,2,1\n")
    monkeypatch.setenv("SKLEARN_DPRANK_DATA", str(tmp_path))
    assert shared.real("SUSHI").title == "Mallows in place of SUSHI"
    shared.begin()
    printed = capsys.readouterr().out
    assert "for TurkPuzzle, SUSHI" in printed and "Real rankings: TurkDots." in printed
    shared.begin(("TurkDots",))
    assert capsys.readouterr().out == "Real rankings: TurkDots.\n"


def test_votes_are_read_from_files(shared, tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_DPRANK_DATA", str(tmp_path))
    (tmp_path / "00024-00000001.soc").write_text("# NUMBER ALTERNATIVES: 4\n3: 2,1,3,4\n1: 4,3,2,1\n")
    title, ballots = shared.real("TurkDots")
    assert title == "TurkDots"
    assert sorted(ballots.tolist()) == [[1, 0, 2, 3]] * 3 + [[3, 2, 1, 0]]
    with gzip.open(tmp_path / "jester100.csv.gz", "wt") as table:
        table.write("joke1,joke2,joke3\n-1.5,9.0,8.25\n7,7,-10\n")
    assert shared.real("JESTER").ballots.tolist() == [[2, 0, 1], [0, 0, 2]]


def test_votes_are_downloaded_only_with_the_option(shared, tmp_path, monkeypatch, capsys):
    asked = []

    def fetch(name):
        asked.append(name)
        return read_preflib(tmp_path / name)

    monkeypatch.setattr(shared, "fetch_preflib", fetch)
    for name, order in (("00024-00000001.soc", "2,1,3,4"), ("00025-00000001.soc", "4,3,2,1")):
        (tmp_path / name).write_text(f"# NUMBER ALTERNATIVES: 4\n3: {order}\n")
    monkeypatch.setattr("sys.argv", ["plot.py", "--download"])
    shared.begin(("TurkDots", "TurkPuzzle", "SUSHI", "JESTER"))
    assert asked == ["00024-00000001.soc", "00025-00000001.soc"]
    assert shared.real("TurkPuzzle").title == "TurkPuzzle"
    assert shared.real("TurkPuzzle").ballots.tolist() == [[3, 2, 1, 0]] * 3
    assert shared.real("SUSHI").title == "Mallows in place of SUSHI"
    printed = capsys.readouterr().out
    assert "No files for SUSHI, JESTER (" in printed and "Real rankings: TurkDots, TurkPuzzle." in printed
    asked.clear()
    monkeypatch.setattr("sys.argv", ["plot.py"])
    shared.begin()
    assert asked == [] and shared.real("TurkDots").title == "Mallows in place of TurkDots"


@pytest.mark.parametrize(
    ("name", "distance"), [("TurkDots", 0.4075), ("TurkPuzzle", 0.3892), ("SUSHI", 0.3420), ("JESTER", 0.3806)]
)
def test_replacements_are_spread_like_the_real_votes(shared, name, distance):
    """The distance is that of Borda's order from the real votes."""
    profile = Profile.from_rankings(shared.real(name).ballots)
    borda = np.argsort(np.argsort(-profile.net_wins))
    assert shared.average_kendall_tau(borda, profile) == pytest.approx(distance, abs=0.015)


# Scores


# Printed results


def test_claims_are_counted_and_summed_up(shared, capsys):
    shared.claim("one", [True, True], "so")
    shared.claim("two: a long claim is wrapped", [True, False])
    shared.claim("three", False)
    shared.claim("four", [np.nan, np.nan])
    shared.claim("five", [1, 0, np.nan])
    assert capsys.readouterr().out == (
        "* one\n  held, 2 of 2: so\n* two: a long claim is wrapped\n  in part, 1 of 2\n* three\n  failed\n"
        "* four\n  not enough power, 0 of 2\n* five\n  in part, 1 of 3, 1 undecided\n"
    )
    shared.summary(width=16)
    assert capsys.readouterr().out.splitlines() == [
        "What is claimed   What was found",
        "-" * 16 + "  " + "-" * 24,
        "one               held, 2 of 2",
        "two: a long       in part, 1 of 2",
        "claim is wrapped",
        "three             failed",
        "four              not enough power, 0 of 2",
        "five              in part, 1 of 3, 1 undecided",
    ]
    shared.summary()
    assert len(capsys.readouterr().out.splitlines()) == 2  # the next example starts without claims


# Pictures
