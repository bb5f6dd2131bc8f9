"""The page of measurements: a row for every estimator, sizes and refusals that are true, and a measure that ends."""

import csv
import math
import re

import pytest

import sklearn_dprank
from sklearn_dprank._utils.checks import MOST_MEASURED
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.collection import ReportCounts

pytest.importorskip("matplotlib")
pytest.importorskip("resource")  # not on Windows


#: Beyond what is supported it may take some fifteen seconds to a proof, and has nothing to warn of then.
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
            if name not in SLOW:  # nothing takes long without a word
                assert row["beyond"].startswith(("warns", "ends and warns"))


@pytest.mark.slow
def test_a_fit_is_measured_in_a_process_of_its_own(scale):
    found = scale.fit("DPBorda", 200, 5)
    assert 0 < found.seconds < 1 and found.megabytes >= 0 and found.within
    assert scale.fit("DPPrudentOrder", 50, 25).said.startswith("refuses: the prudent order of 25 items")


def test_a_sweep_ends_with_the_first_size_that_is_not_supported(scale):
    takes = {1: scale.Fit(1.0, 2.0), 2: scale.Fit(4.0, 2.0), 3: scale.Fit(11.0, 2.0), 4: None}
    found = scale.sweep("any", takes, takes.get)
    assert list(found) == [1, 2, 3]
    assert scale._largest(found) == 2
    assert scale._growth({1: takes[1], 2: takes[2]}) == pytest.approx(2)
    assert scale._growth({1: takes[1]}) is None
    assert (
        scale._beyond("Borda", found)
        == f"takes more than 10 s; time grows as the power {math.log(11 / 4) / math.log(1.5):.1f}"
    )
    assert scale._beyond("Borda", {1: takes[1], 9: scale.Fit(said="refuses: too many items")}) == "refuses"
    assert (
        scale._beyond("Borda", {1: takes[1], 9: scale.Fit(8.0, 1.0, "warns: no proof")})
        == "ends and warns (9 items: 8 s)"
    )
    assert scale._beyond("Borda", {1: takes[1], 2: takes[2]}) == "warns; time grows as the power 2.0"


def test_words(scale):
    assert scale._taken(scale.Fit(0.0123, 3.2)) == "12 ms, 3 MB"
    assert scale._taken(scale.Fit(2.34, 310)) == "2.3 s, 310 MB"
    assert scale._taken(scale.Fit(said="refuses")) == scale._taken(None) == "–"


def test_the_table_of_reports_states_what_is_extrapolated(scale):
    with (scale.DOCS / "user_guide" / "scale_reports.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert [row[0] for row in rows] == list(scale.REPORTS)
    for row, (_, sizes) in zip(rows, scale.REPORTS.values(), strict=True):
        for size in scale.REPORTED:
            said = row[header.index(f"{size:,} reports")]
            assert said.endswith(", extrapolated") == (size not in sizes), said
    assert 10**8 in scale.REPORTS["``LDPPairwise``"][1]


@pytest.mark.slow
def test_reports_are_counted_in_parts(scale, monkeypatch):
    monkeypatch.setattr(scale, "PART", 70)
    monkeypatch.setattr(scale, "DEVICES", 30)
    for name in scale.REPORTS:
        estimator = scale.REPORTS[name][0]
        if "min_reports" in estimator.get_params():
            estimator = sklearn_dprank.ShufflePairwise(min_reports=100)
        lines = scale.report_lines(estimator)
        assert len(lines) == 30 and all(line.endswith(b"}\n") for line in lines)
        seconds, text = scale.count(estimator, lines, 200)
        counts = ReportCounts.from_json(text)
        assert seconds > 0 and (counts.reports_accepted, counts.reports_refused) == (200, {})
        assert estimator.reports_accepted_ == 200
        row = scale.report_row(name, estimator, (200,))
        assert [each.endswith(", extrapolated") for each in row[2:-1]] == [True] * len(scale.REPORTED)
