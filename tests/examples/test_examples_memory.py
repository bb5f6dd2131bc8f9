"""The table of memory on the page of measurements: a row for all that reads ballots, and bounds that hold."""

import csv
import math
from pathlib import Path

import pytest

from sklearn_dprank.ballots.profile import Shape

pytest.importorskip("matplotlib")
pytest.importorskip("resource")  # not on Windows

MOST = 8000  # megabytes, more than which nothing may take
with Path(__file__).parents[2].joinpath("docs", "user_guide", "memory.csv").open(encoding="utf-8", newline="") as table:
    HEADER, *ROWS = (tuple(row) for row in csv.reader(table))
STATED = {name.strip("`"): said for name, *said in ROWS}


@pytest.fixture(scope="module")
def memory(example):
    return example("measure_memory")


def most(said):
    """Return the megabytes that words promise."""
    number, unit = said.split()
    assert unit == "MB"
    return int(number.replace(",", ""))


def test_all_that_reads_ballots_has_a_row(memory):
    assert list(STATED) == [*memory.scale.NAMES, *memory.READERS]
    assert HEADER == memory.HEADER
    for name, row in STATED.items():
        for (n_voters, n_items), said in zip(memory.SIZES, row, strict=True):
            if said == "refuses":  # by public numbers, and before a ballot is read
                with pytest.raises(ValueError, match="items"):
                    memory.scale.estimator(name).plan_for(Shape(n_items, n_voters))
            else:
                assert 0 < most(said) < MOST


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
