"""The page on bounds: its tables have every private estimator, are what the script finds, and the limits are right."""

import math
import re

import pytest

import sklearn_dprank
from sklearn_dprank.ballots.profile import Shape


@pytest.fixture(scope="module")
def bounds(example):
    return example("measure_bounds")


def number(said):
    """Return (mean, standard error) of a cell."""
    if said == "0":
        return 0.0, 0.0
    mean, twice = re.fullmatch(r"(\d+\.\d\d) ± (\d+\.\d\d)", said).groups()
    return float(mean), float(twice) / 2


# The table on the page


def test_every_private_estimator_has_a_row(bounds):
    named = {re.match(r"\w+", row.name)[0] for row in bounds.ROWS}
    private = {name for name in sklearn_dprank.__all__ if "epsilon" in getattr(sklearn_dprank, name)().get_params()}
    assert named == private - {"SegmentedAggregator"}  # in each segment it is a row of DPBorda
    assert {name for name in bounds.stored() if isinstance(name, str)} == set(bounds.BY_NAME)


def test_cells_are_means_with_errors_and_refusals_are_true(bounds):
    for row in bounds.ROWS:
        for said, (m, n, epsilon) in zip(bounds.stored()[row.name], bounds.COLUMNS, strict=True):
            if said != "refused":
                number(said)
                continue
            assert row.made(m, epsilon) is None
            with pytest.raises(ValueError, match="up to"):
                type(row.made(10, epsilon))(epsilon).plan_for(Shape(m, n))


@pytest.mark.parametrize("name", ['DPBorda(noise="knorm")', "DPBorda", "LDPPairwise", "SecAggBorda"])
def test_a_cell_can_be_measured_again(bounds, name):
    sizes = (10, 1000, 0.1)
    mean, error = number(bounds.stored()[name][bounds.COLUMNS.index(sizes)])
    again = bounds.cell(bounds.BY_NAME[name], *sizes, n_trials=40, seed=1)
    assert abs(again.mean - mean) < 4 * math.hypot(again.error, error)
    assert again.error > 0


# Limits
