"""The page on bounds: its tables have every private estimator, are what the script finds, and the limits are right."""

import csv
import math
import re
from itertools import permutations

import numpy as np
import pytest

import sklearn_dprank
from sklearn_dprank import DPPairwise
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.theory.alabi import packing_floor


@pytest.fixture(scope="module")
def bounds(example):
    return example("measure_bounds")


@pytest.fixture(scope="module")
def limits(example):
    return example("_limits")


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


def test_floors_are_those_of_theory(bounds):
    stored = bounds.stored()
    least = stored["curator", "least"]
    assert least == [f"{100 * packing_floor(n, m, e) / math.comb(m, 2):.2f}" for m, n, e in bounds.COLUMNS]
    best = [number(said)[0] + 2 * number(said)[1] for said in stored["nobody", "limit"]]
    assert all(0 <= each < 15.5 for each in best)


# Limits


@pytest.mark.slow
def test_limit_of_two_items_is_met_by_one_noisy_margin(limits):
    """The chances of a wrong order that noise on one margin has: e^(-k epsilon)/2, and no chance may be less."""
    epsilon, ahead = 0.7, 3
    scale = 2 / epsilon  # replacing a ballot moves the margin by two
    noise = np.arange(-4000, 4001)
    law = np.exp(-np.abs(noise) / scale)
    law /= law.sum()
    margin = 2 * ahead
    found = law[noise < -margin].sum() + law[noise == -margin].sum() / 2
    assert limits.best_of_two(epsilon, ahead) == pytest.approx(found, rel=1e-9)
    wrong = 0.5
    for _ in range(ahead):  # the chance of the right order cannot rise faster from ballot to ballot
        wrong = max(wrong * math.exp(-epsilon), 1 - (1 - wrong) * math.exp(epsilon))
    assert limits.best_of_two(epsilon, ahead) == pytest.approx(wrong)
    ballots = limits.two_items(20, ahead)
    assert (ballots[:, 0] == 0).sum() == 13 and len(ballots) == 20
    simulated = limits.wrong(DPPairwise(epsilon, neighboring="replace"), ballots, 2000)
    assert simulated == pytest.approx(found, abs=4 * math.sqrt(found / 2000))


def test_majority_of_responses_by_enumeration(limits):
    true = math.e / (1 + math.e)
    wrong = 0.0
    for heard in np.ndindex(2, 2, 2, 2):  # three voters for the first item, one against
        chance = math.prod(true if bit == said else 1 - true for bit, said in zip((1, 1, 1, 0), heard, strict=True))
        wrong += chance * {True: 1.0, False: 0.0}[sum(heard) < 2] + chance * (sum(heard) == 2) / 2
    assert limits.best_response(4, 1, 1.0) == pytest.approx(wrong)


def test_noise_of_streams_from_the_matrices(limits):
    horizon = 12
    total = np.tril(np.ones((horizon, horizon)))
    assert limits.stream_floor(horizon) == pytest.approx(np.linalg.norm(total, "nuc") / horizon)
    c = [math.comb(2 * k, k) / 4**k for k in range(horizon)]
    root = np.array([[c[i - j] if i >= j else 0 for j in range(horizon)] for i in range(horizon)])
    np.testing.assert_allclose(root @ root, total)
    rows = (root**2).sum(axis=1) * (root**2).sum(axis=0).max()
    assert limits.stream_noise(horizon) == pytest.approx((math.sqrt(rows.mean()), rows[-1] ** 0.5))
    assert limits.stream_floor(horizon) < limits.stream_noise(horizon)[0]


ALL_OF_SIX = np.array(list(permutations(range(6))))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_direction_tells_more(limits, epsilon):
    rng = np.random.default_rng(0)
    ballots = ALL_OF_SIX[rng.integers(720, size=300)]
    z = limits.whitened(ballots)[0]
    np.testing.assert_allclose(z.T @ z / 300, np.eye(5), atol=1e-9)
    least, odds = limits.local_variance(ballots, epsilon), math.expm1(epsilon)
    for direction in rng.standard_normal((300, 5)):
        along = z @ direction / np.linalg.norm(direction)
        for threshold in np.quantile(along, np.linspace(0.05, 0.95, 19)):
            above = along > threshold
            told = odds * along[above].sum() / 300 / (1 + odds * above.mean())
            assert least <= 5 * math.tanh(epsilon / 2) ** 2 / told**2 * (1 + 1e-9)


def test_limits_on_the_page(bounds, limits):
    with (bounds.PAGE / "limits.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = (tuple(row) for row in csv.reader(file))
    assert header == bounds.LIMITS
    assert rows[-2:] == limits.limits_of_streams()
    assert rows[0][1] == f"{100 * limits.best_of_two(0.1, 10):.1f}"
    for _, least, measured in rows:
        for found in re.findall(r" (\d+\.\d+)", measured):
            assert float(found) > 0.93 * float(least)  # simulated, to a few in a hundred
