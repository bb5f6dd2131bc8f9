"""The table of memory on the page of measurements: its bounds hold."""

import csv
import math
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("resource")  # not on Windows

with Path(__file__).parents[2].joinpath("docs", "user_guide", "memory.csv").open(encoding="utf-8", newline="") as table:
    _, *ROWS = (tuple(row) for row in csv.reader(table))
STATED = {name.strip("`"): said for name, *said in ROWS}


@pytest.fixture(scope="module")
def memory(example):
    return example("measure_memory")


def most(said):
    """Return the megabytes that words promise."""
    number, unit = said.split()
    assert unit == "MB"
    return int(number.replace(",", ""))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["10 million voters", "1,000 items"])
@pytest.mark.parametrize("name", STATED)
def test_no_more_than_stated(memory, monkeypatch, name, place):
    """Half as much again and 50 MB, for other versions of NumPy and SciPy."""
    monkeypatch.setattr(memory.scale, "STOP", 120)  # seconds of processor time, on a busy machine
    said, found = STATED[name][place], memory.measured(name, *memory.SIZES[place])
    if said == "refuses":
        assert found.said.startswith("refuses")
    else:
        assert not math.isnan(found.megabytes)
        assert found.megabytes < 1.5 * most(said) + 50
