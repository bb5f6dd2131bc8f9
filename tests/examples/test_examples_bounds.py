"""The page on bounds: its tables have every private estimator, are what the script finds, and the limits are right."""

import math
import re

import pytest


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


@pytest.mark.parametrize("name", ['DPBorda(noise="knorm")', "DPBorda", "LDPPairwise", "SecAggBorda"])
def test_a_cell_can_be_measured_again(bounds, name):
    sizes = (10, 1000, 0.1)
    mean, error = number(bounds.stored()[name][bounds.COLUMNS.index(sizes)])
    again = bounds.cell(bounds.BY_NAME[name], *sizes, n_trials=40, seed=1)
    assert abs(again.mean - mean) < 4 * math.hypot(again.error, error)
    assert again.error > 0
