"""The comparison of ratios with their history catches what is much worse, and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TOY = """
import pytest

@pytest.mark.parametrize("what", ["times_faster_than_a_loop", "times_the_twin", "seconds"])
def test_toy(benchmark, what):
    benchmark.pedantic(int, rounds=1)
    benchmark.extra_info[what] = 10.0

def test_too_slow(benchmark):
    benchmark.pedantic(int, rounds=1)
    benchmark.extra_info["times_faster_than_a_loop"] = 1.0
    assert benchmark.extra_info["times_faster_than_a_loop"] > 5
"""
FASTER, TWIN = (f"test_toy.py::test_toy[{what}] {what}" for what in ("times_faster_than_a_loop", "times_the_twin"))


@pytest.fixture
def failures(tmp_path):
    """Run the toy benchmarks, which measure 10.0, against these records; return the messages of what failed."""
    shutil.copy(BENCHMARKS / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_toy.py").write_text(TOY)

    def run(records, *options):
        lines = (json.dumps({"name": name, "ratio": ratio}) + "\n" for name, ratio in records)
        (tmp_path / "ratios.jsonl").write_text("".join(lines))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *options]
        env = {**os.environ, "PYTHONPATH": str(BENCHMARKS.parents[1]), "COLUMNS": "250"}
        ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        return re.findall(r"^FAILED test_toy\.py::(.*)$", ran.stdout, flags=re.MULTILINE)

    return run


LIMIT = "test_too_slow - assert 1.0 > 5"


@pytest.mark.slow
def test_as_good_as_on_record_or_a_little_worse(failures):
    assert failures([(FASTER, 29.0), (TWIN, 3.5)]) == [LIMIT]
    assert failures([(FASTER, 0.1), (TWIN, 1000.0)]) == [LIMIT]  # better is not refused


@pytest.mark.slow
def test_much_worse_than_on_record(failures):
    faster, twin, limit = failures([(FASTER, 31.0), (TWIN, 3.2)])
    assert faster.endswith(f"{FASTER}: 10.0 is 3.1 times worse than the last records [31.0]")
    assert twin.endswith(f"{TWIN}: 10.0 is 3.1 times worse than the last records [3.2]")
    assert limit == LIMIT


@pytest.mark.slow
def test_the_worst_of_the_last_three_counts(failures):
    assert failures([(FASTER, ratio) for ratio in (90, 12, 90, 90)] + [(TWIN, ratio) for ratio in (1, 4, 1)]) == [LIMIT]
    found = failures([(FASTER, ratio) for ratio in (12, 90, 90, 90)] + [(TWIN, ratio) for ratio in (4, 1, 1, 1)])
    assert re.findall(r"test_toy\[(\w+)\] - ", " ".join(found)) == [FASTER.split()[1], TWIN.split()[1]]
    assert found[2:] == [LIMIT]


@pytest.mark.slow
def test_a_ratio_without_a_record_fails_until_it_is_recorded(failures, tmp_path):
    missing = failures([(TWIN, 10.0)])
    assert missing[0].endswith(f"{FASTER}: no record in ratios.jsonl, `nox -s bench -- --record` makes one")
    assert failures([(TWIN, 10.0)], "--record") == [LIMIT]
    lines = [json.loads(line) for line in (tmp_path / "ratios.jsonl").read_text().splitlines()]
    assert [(line["name"], line["ratio"]) for line in lines] == [(TWIN, 10.0), (FASTER, 10.0), (TWIN, 10.0)]


def test_the_history_names_benchmarks_that_are_there():
    for line in (BENCHMARKS / "ratios.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        assert set(entry) == {"date", "version", "ratio", "name"}
        module, test = re.fullmatch(r"(\w+\.py)::(\w+).* times_\w+", entry["name"]).groups()
        assert f"def {test}(" in (BENCHMARKS / module).read_text(encoding="utf-8")
