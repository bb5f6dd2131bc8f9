"""The page "Against others": its tables match the script, which runs without peers."""

import ast
import csv
import datetime
import re
import sys
from importlib import metadata
from itertools import permutations
from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize(("ratio", "who"), [(0.79, "choix"), (0.81, "tie"), (1, "tie"), (1.24, "tie"), (1.26, "here")])
def test_ratios_near_1_are_ties(peers, ratio, who):
    assert peers.faster("choix", ratio) == who


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


def test_optima_epsilons_and_searches_are_as_the_page_has_them(peers, rows):
    for (task, size, _), row in rows.items():
        if task == peers.COMPOSED:
            here, there = map(float, re.findall(r"\d\.\d{4}", row["Answers"]))
            assert there < here if "Laplace" in size else here <= there <= here + 0.003
        else:
            exact = {peers.KEMENY: "same cost", peers.PAIRS: "equal", peers.BORDA: "equal", peers.OF_TWO: "equal"}
            assert row["Answers"] == exact.get(task, row["Answers"])


def test_calls_are_told_for_every_row_and_the_picture_is_there(peers, rows, is_picture):
    assert set(peers.CALLS) == {(task, peer) for task, _, peer in rows}
    told = list(csv.reader(text(peers, "benchmarks_calls.csv").splitlines()))[1:]
    assert {(task, peer): (here.strip("`"), there.strip("`")) for task, peer, here, there in told} == peers.CALLS
    assert is_picture(peers.DOCS / "images" / "benchmarks.png")
    page = text(peers, "measurements.rst")
    for name in ("benchmarks.inc", "benchmarks_lost.inc", "benchmarks.csv", "benchmarks_calls.csv", "benchmarks.png"):
        assert name in page


# The script


@pytest.mark.parametrize("module", ["_peers", "_peers_rankings", "_peers_privacy", "measure_peers"])
def test_peers_are_imported_by_the_function_that_needs_them(peers, module):
    assert set(peers.PEERS) == set(MODULES)
    tree = ast.parse((ROOT / "tests" / "benchmarks" / f"{module}.py").read_text(encoding="utf-8"))
    found = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert not {name.split(".")[0] for name in found} & set(MODULES.values())


def test_the_package_and_its_extras_know_no_peer():
    names = "|".join(map(re.escape, {*MODULES, *MODULES.values()}))
    assert not re.search(names, (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for path in (ROOT / "sklearn_dprank").rglob("*.py"):
        assert not re.search(rf"^ *(from|import) ({names})\b", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


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


def test_one_peer_that_is_missing_is_said_in_its_rows(peers, monkeypatch):
    duel = peers.rankings.Duel(lambda: 1, lambda: 1, lambda ours, theirs: "equal")
    made = [peers.Row("a", "1", "choix", lambda: duel), peers.Row("b", "2", "svvamp", None)]
    monkeypatch.setattr(peers, "ROWS", made)
    monkeypatch.setattr(peers, "installed", lambda peer: "1.2" if peer == "choix" else None)
    ticks = iter(range(1000))
    monkeypatch.setattr(peers, "_clock", lambda: next(ticks))
    found = peers.results()
    assert peers.cells(made[0], found["a", "1", "choix"], "2030-01-02") == (
        *("a", "1", "choix 1.2", "1,000", "1,000", "1.00", "tie", "equal", "2030-01-02"),
    )
    assert peers.cells(made[1], found["b", "2", "svvamp"], "2030-01-02")[7] == "not installed"
    first = "In {} of 1 rows, another package is faster. {} rows are ties: their ratio is between 0.8 and 1.25."
    assert peers.lost(found).splitlines() == [first.format(0, 1)]
    found["a", "1", "choix"] = peers.Measured(1.0, 0.5, "equal")
    lines = first.format(1, 0), "", "- **a**: choix is faster, 2.00 times (1). The reason is unknown."
    assert peers.lost(found).splitlines() == [*lines]


@pytest.fixture
def clock(peers, monkeypatch):
    """A clock that calls move on: `clock(seconds, ...)` returns a call that takes so long, in turn."""
    now = [0.0]
    monkeypatch.setattr(peers, "_clock", lambda: now[0])

    def call(*seconds):
        turn = [0]

        def work():
            now[0] += seconds[min(turn[0], len(seconds) - 1)]
            turn[0] += 1
            return turn[0]

        return work

    return call


def test_medians_of_calls_in_turn(peers, clock):
    slow_once = clock(9.0, 0.5, 0.5, 9.0, 0.5, 0.5, 0.5)  # the first call is not timed, the median forgives another
    found = peers.measure(peers.rankings.Duel(slow_once, clock(0.25), lambda ours, theirs: f"{ours} and {theirs}"))
    assert found == (pytest.approx(500), pytest.approx(250), "1 and 1")
    assert found.ratio == pytest.approx(0.5)


def test_short_calls_are_repeated_and_long_ones_are_few(peers, clock):
    short, long = clock(0.001), clock(2.0)
    assert peers.measure(peers.rankings.Duel(short, long, lambda *_: "")).ratio == pytest.approx(2000)
    assert long() == 6  # for the answer, to see how long it takes, and three readings
    assert short() > 3 * 20


def test_answers_that_differ_end_it(peers, clock, common):
    with pytest.raises(ValueError, match="differ"):
        peers.measure(common.Duel(clock(1.0), lambda: [7], common.equal))


def test_agreements(common):
    assert common.equal([1, 2], np.array([1, 2])) == "equal"
    assert common.close([1.0], [1.0 + 1e-7]) == "within 1e-06"
    with pytest.raises(ValueError, match=r"differ by 0\.1"):
        common.close([0.0], [0.1])
    with pytest.raises(ValueError, match="differ"):
        common.converted(common.equal, np.argsort)([2, 0, 1], [2, 0, 1])
    assert common.converted(common.equal, np.argsort)([1, 2, 0], [2, 0, 1]) == "equal"
    good, bad = np.tile([0.0, 1.0], 50), np.tile([0.0, 1.0, 1.0, 1.0, 1.0], 50)
    assert common.same_law(good, good, lambda values: common.expected(values, 0.5)) == "same law"
    with pytest.raises(ValueError, match="standard errors off"):
        common.same_law(good, bad, lambda values: common.expected(values, 0.5))


def test_mean_distance_of_mallows_rankings(peers):
    inversions = [sum(a > b for i, a in enumerate(p) for b in p[i + 1 :]) for p in permutations(range(5))]
    mass = 0.75 ** np.array(inversions)
    assert peers.rankings._mean_distance(5, 0.75) == pytest.approx(mass @ inversions / mass.sum())


def test_numbers_in_words(peers):
    assert [peers.short(x) for x in (0.01234, 1.0, 99.9, 123.4, 1234.6)] == ["0.0123", "1.00", "99.9", "123", "1,235"]


def test_the_picture_has_every_ratio(peers, rows):
    ratios = {key: number(row["Ratio"]) for key, row in rows.items()}
    (ax,) = peers.draw(ratios).axes
    drawn = sorted(x for line in ax.lines if line.get_label() in peers.PEERS for x in line.get_xdata())
    assert drawn == sorted(ratios.values())
    low, high = ax.get_xlim()
    assert low < drawn[0] and drawn[-1] < high
    assert len(ax.get_yticks()) == len({key[:2] for key in rows})
