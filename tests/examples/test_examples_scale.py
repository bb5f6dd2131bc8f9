"""The page of measurements: a row for every estimator, sizes and refusals that are true, and a measure that ends."""

import csv
import re

import pytest

import sklearn_dprank
from sklearn_dprank._utils.checks import MOST_MEASURED
from sklearn_dprank.ballots.profile import Shape

pytest.importorskip("matplotlib")
pytest.importorskip("resource")  # not on Windows


#: Beyond the supported sizes, these may end with a proof after some seconds, without a warning.
SLOW = {"DPPairwise", "Kemeny"}


@pytest.fixture(scope="module")
def scale(example):
    return example("measure_scale")


@pytest.fixture(scope="module")
def rows(scale):
    with (scale.DOCS / "user_guide" / "scale.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = (tuple(row) for row in csv.reader(file))
    assert header == scale.HEADER
    return {row[0].strip("`"): dict(zip(header, row, strict=True)) for row in rows}


def whole(said):
    return int(said.replace(",", ""))


def test_every_estimator_has_a_row_in_its_place(scale, rows):
    assert list(rows) == scale.NAMES
    made_of_others = {"Aggregator", "SegmentedAggregator"}
    assert {name.split("(")[0] for name in scale.NAMES} == set(sklearn_dprank.__all__) - made_of_others
    assert (scale.DOCS / "images" / "scale.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    made = (scale.DOCS / "user_guide" / "scale.inc").read_text(encoding="utf-8")
    assert re.match(r"Measured on 20\d\d-\d\d-\d\d on \d+ cores .* sklearn_dprank \d", made)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
def test_supported_sizes_and_refusals_match_the_plans(scale, rows):
    """Plans read public numbers only, so refusals are independent of the ballots."""
    assert scale.ITEMS[-1] == MOST_MEASURED
    for name, row in rows.items():
        largest = whole(row[scale.HEADER[1]])
        scale.estimator(name).plan_for(Shape(largest, 1000))
        if row["beyond"] == "refuses":
            beyond = scale.ITEMS[scale.ITEMS.index(largest) + 1]
            with pytest.raises(ValueError, match=r"items"):
                scale.estimator(name).plan_for(Shape(beyond, 1000))
        else:
            assert largest == MOST_MEASURED or not row["beyond"].startswith("warns")
            if name not in SLOW:
                assert row["beyond"].startswith(("warns", "ends and warns"))


@pytest.mark.slow
def test_a_fit_is_measured_in_a_process_of_its_own(scale):
    found = scale.fit("DPBorda", 200, 5)
    assert 0 < found.seconds < 1 and found.megabytes >= 0 and found.within
    assert scale.fit("DPPrudentOrder", 50, 25).said.startswith("refuses: the prudent order of 25 items")


def test_the_table_of_reports_states_what_is_extrapolated(scale):
    with (scale.DOCS / "user_guide" / "scale_reports.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert [row[0] for row in rows] == list(scale.REPORTS)
    for row, (_, sizes) in zip(rows, scale.REPORTS.values(), strict=True):
        for size in scale.REPORTED:
            said = row[header.index(f"{size:,} reports")]
            assert said.endswith(", extrapolated") == (size not in sizes), said
    assert 10**8 in scale.REPORTS["``LDPPairwise``"][1]
