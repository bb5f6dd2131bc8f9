"""The page of measurements: a row for every estimator, sizes and refusals that are true, and a measure that ends."""

import csv

import pytest

from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.channels.base import MOST_MEASURED

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
