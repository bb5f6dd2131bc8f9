"""The page "Against others": its tables match the script, which runs without peers."""

import ast
import datetime
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("resource")  # not on Windows
pytestmark = pytest.mark.usefixtures("closed_pictures")

ROOT = Path(__file__).parents[2]
MODULES = {  # by which peers are imported
    "svvamp": "svvamp",
    "pref_voting": "pref_voting",
    "corankco": "corankco",
    "prefsampling": "prefsampling",
    "choix": "choix",
    "opendp": "opendp",
    "dp-accounting": "dp_accounting",
}


@pytest.fixture(scope="module")
def peers(example):
    return example("measure_peers")


@pytest.fixture
def common(example):
    return example("_peers")


@pytest.fixture(scope="module")
def rows(peers):
    return peers.stored()


def number(said):
    return float(said.replace(",", ""))


def text(peers, name):
    return (peers.PAGE / name).read_text(encoding="utf-8")


# The tables on the page


def test_every_row_is_there_and_was_measured(peers, rows):
    assert list(rows) == [row[:3] for row in peers.ROWS]
    assert tuple(next(iter(rows.values()))) == peers.HEADER
    for row in rows.values():
        assert peers.MISSING not in row.values() and "–" not in row.values()
        assert row["Answers"]


def test_ratios_are_of_the_times_and_say_who_is_faster(peers, rows):
    for (*_, peer), row in rows.items():
        here, there, ratio = (number(row[column]) for column in ("Here, ms", "Peer, ms", "Ratio"))
        assert ratio == pytest.approx(there / here, rel=0.02)  # three digits each
        assert row["Faster"] == peers.faster(peer, ratio)


def test_versions_are_those_that_nox_installs_and_days_are_of_one_run(peers, rows):
    noxfile = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body
    (pins,) = [
        ast.literal_eval(node.value)
        for node in noxfile
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PEERS"
    ]
    assert {row["Peer"] for row in rows.values()} == {pin.replace("==", " ") for pin in pins}
    (day,) = {row["Measured"] for row in rows.values()}
    assert datetime.date.fromisoformat(day) >= datetime.date(2026, 11, 22)
    said = text(peers, "benchmarks.inc")
    assert said.startswith(f"Measured on {day} on ") and " cores, of which one was used, with Python " in said


def test_rows_that_a_peer_wins_are_listed_with_a_reason(peers, rows):
    first, _, *lines = text(peers, "benchmarks_lost.inc").splitlines()
    lost = {key: row for key, row in rows.items() if row["Faster"] == key[2]}
    ties = sum(row["Faster"] == "tie" for row in rows.values())
    assert first == (
        f"In {len(lost)} of {len(rows)} rows, another package is faster. "
        f"{ties} rows are ties: their ratio is between 0.8 and 1.25."
    )
    told = {}
    for line in lines:
        task, peer, sizes, why = re.fullmatch(r"- \*\*(.+)\*\*: (\S+) is faster, (.+?\))\. (.+)", line).groups()
        told |= {(task, size, peer): times for times, size in re.findall(r"(\S+) times \((.+?)\)", sizes)}
        assert why != peers.UNKNOWN
    assert set(told) == set(lost)
    for key, times in told.items():
        assert number(times) == pytest.approx(1 / number(rows[key]["Ratio"]), rel=0.01)


# The script


def test_missing_peers_are_skipped(peers, monkeypatch, capsys):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    before, loaded = text(peers, "benchmarks.csv"), set(sys.modules)
    for arguments in ([], ["--full"]):
        peers.main(arguments)
        *skipped, last = capsys.readouterr().out.splitlines()
        assert [line.split(" is not installed: ")[0] for line in skipped] == sorted(MODULES)
        assert sum(int(re.search(r": (\d+) rows", line)[1]) for line in skipped) == len(peers.ROWS)
        assert last.startswith("No peer is installed, so nothing is measured")
    assert text(peers, "benchmarks.csv") == before
    assert not (set(sys.modules) - loaded) & set(MODULES.values())
