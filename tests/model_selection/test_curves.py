"""`recommend` reads the stored error curves correctly, and the script that simulates them stores the same curves."""

import math
from importlib.resources import files

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_dprank import DPBorda, DPPrudentOrder, DPTopK, LDPPairwise
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.model_selection.advice import (
    RESOLUTION,
    RESOLUTION_OF_BEST,
    UNIT,
    curves,
    expected,
    of_random_order,
)

STORED = curves()


@pytest.fixture(scope="module")
def script(example):
    return example("simulate_recommendations")


@pytest.fixture(scope="module")
def votes_of(example):
    return example("_electorates")


# Reading


@pytest.mark.parametrize("family", STORED.families)
def test_stored_points_are_read_as_they_stand(family):
    stored = STORED.families[family]
    for (m, k), of_levels in stored.curves.items():
        resolution = RESOLUTION if k is None else RESOLUTION_OF_BEST
        for level, rows in zip(STORED.levels, of_levels, strict=True):
            worst = of_random_order(m, level, k)
            wanted = np.clip(UNIT * rows, resolution, worst)
            # Rounding of the signal must not move it below the first point.
            read = [expected(family, m, x * (1 + 1e-9) / (1 - 2 * level), level, k) for x in stored.grid]
            np.testing.assert_allclose(np.transpose(read), wanted, rtol=1e-6, atol=1e-6, err_msg=f"{m, k, level}")


@pytest.mark.parametrize("family", STORED.families)
def test_curves_fall_and_lie_around_their_mean(family):
    for (m, k), rows in STORED.families[family].curves.items():
        for level, (mean, least, largest) in zip(STORED.levels, rows, strict=True):
            where = (m, k, level)
            assert (np.diff([mean, least, largest]) <= 0).all(), where
            assert (least <= mean).all() and (mean <= largest).all(), where
            assert mean[-1] >= 0, where
            # With much noise, the error is that of a random order, within the precision of few trials.
            assert UNIT * mean[0] == pytest.approx(of_random_order(m, level, k), rel=0.35), where


def test_beyond_what_was_simulated():
    for k in (None, 2):
        for family in ("knorm", "gaussian", "top")[: 2 if k is None else 3]:
            worst = of_random_order(10, 0.35, k)
            assert expected(family, 10, 0.0, 0.35, k) == pytest.approx((worst,) * 3)
            assert expected(family, 10, 1e9, 0.35, k) == expected(family, 10, 1e4, 0.35, k)
            assert expected(family, 5000, 3.0, 0.35, k)[0] == pytest.approx(
                expected(family, 100, 3.0, 0.35, k and round(100 ** (math.log(2) / math.log(5000))))[0], abs=0.05
            )


def test_between_what_was_simulated():
    """Logarithms are linear: in ln m, in ln k / ln m, in the logarithm of 1 - 2 disagreement."""
    low, mid, high = (expected("knorm", m, 4.0, 0.35).mean for m in (16, 20, 30))
    share = math.log(20 / 16) / math.log(30 / 16)
    assert mid == pytest.approx(low ** (1 - share) * high**share, rel=0.01)
    level = 0.5 - math.sqrt((0.5 - 0.28) * (0.5 - 0.35))
    ends = [expected("knorm", 10, 1.0 / (1 - 2 * each), each).mean for each in (0.28, 0.35)]
    assert expected("knorm", 10, 1.0 / (1 - 2 * level), level).mean == pytest.approx(math.prod(ends) ** 0.5, rel=0.01)
    k = 10 ** ((math.log(1) + math.log(3)) / 2 / math.log(10))  # not a whole number: half way from 1 to 3
    ratios = [expected("top", 10, 3.0, 0.35, each).mean / (1 - each / 10) for each in (1, 3, k)]
    assert ratios[2] == pytest.approx((ratios[0] * ratios[1]) ** 0.5, rel=0.01)


# Simulating


def test_script_stores_what_is_read(script):
    found = {
        family: {key: np.rint(rows).astype(int).tolist() for key, rows in each.curves.items()}
        for family, each in STORED.families.items()
    }
    text = files("sklearn_dprank.model_selection").joinpath("curves.json").read_text(encoding="utf-8")
    assert script.as_text(found) == text
    assert tuple(STORED.levels) == script.LEVELS
    for family, (_, grid, sizes) in script.FAMILIES.items():
        assert tuple(STORED.families[family].grid) == grid
        assert tuple(m for m, k in STORED.families[family].curves if k is None) == sizes
    of_top = STORED.families["top"].curves
    assert {m: tuple(k for size, k in of_top if size == m) for m in script.BEST} == script.BEST


@pytest.mark.slow
def test_stored_curves_are_simulated_again(script, capsys):
    """Other electorates, seeds and fewer trials: between the least and the largest that are stored, and a little."""
    rows = script.spot_checks()
    assert {row[0] for row in rows} == set(script.SPOT_CHECKS)
    for family, curve, _, mean, least, largest, found in rows:
        slack = 0.1 * mean + (0.002 if curve[1] is None else 0.05)
        assert least - slack <= found <= largest + slack, (family, curve)


@pytest.mark.parametrize("kind", ["mallows", "plackett_luce", "mixture"])
@pytest.mark.parametrize(("n_items", "level"), [(3, 0.2), (10, 0.05), (10, 0.35), (45, 0.42)])
def test_electorates_have_the_stated_disagreement(votes_of, kind, n_items, level):
    found = [
        average_kendall_tau(votes.best, votes.profile)
        for votes in votes_of.electorates(n_items, level, 4, 1000, kinds=(getattr(votes_of, kind),))
    ]
    assert np.mean(found) == pytest.approx(level, abs=0.03 if kind == "mixture" else 0.01)


def test_errors_of_rows_are_those_of_the_metrics(votes_of):
    (votes,) = votes_of.electorates(6, 0.35, 1, 50, kinds=(votes_of.mixture,))
    ranks = np.array([np.random.default_rng(i).permutation(6) for i in range(20)])
    optimum = average_kendall_tau(votes.best, votes.profile)
    np.testing.assert_allclose(
        votes.excess(ranks), [average_kendall_tau(row, votes.profile) - optimum for row in ranks], atol=1e-12
    )
    best = set(np.flatnonzero(votes.best < 2))
    assert votes.missed(ranks, 2).tolist() == [1 - len(best & set(np.flatnonzero(row < 2))) / 2 for row in ranks]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "n_items", "signal", "estimator"),
    [
        ("knorm", 6, 6.0, lambda n: DPBorda(6.0 * 6 / n, noise="knorm")),
        ("gaussian", 6, 12.0, lambda n: DPBorda(math.sqrt(2) * 18 / (2 * n * 6 / 12.0))),  # Laplace's, as wide
        ("prudent", 5, 4.0, lambda n: DPPrudentOrder(4.0 * math.log(120) / n)),
        ("prudent", 10, 4.0, lambda n: DPPrudentOrder(4.0 * math.lgamma(11) / n)),
        ("peeled", 10, 4.0, lambda n: DPPrudentOrder(0.02268 * 2000 / n, 1e-6)),
        ("top", 10, 4.0, lambda n: DPTopK(3, epsilon=4.0 * math.log(720) / n)),
        ("pairs", 6, 12.0, lambda n: LDPPairwise(2 * math.atanh(math.sqrt(5 * 12.0**2 / 8 / n)))),
    ],
)
def test_noise_that_is_added_at_once_has_the_law_of_the_estimator(script, votes_of, family, n_items, signal, estimator):
    votes = votes_of.electorates(n_items, 0.35, 1, 2000, kinds=(votes_of.plackett_luce,))[0]
    k = 3 if family == "top" else None
    simulate = script.FAMILIES[family][0]
    (fast,) = simulate(votes, [signal], 400, 5, *([3] if k else []))
    slow = votes_of.fits(clone(estimator(votes.n_voters)), votes, 400, 9)
    errors = [votes.missed(ranks, k) if k else votes.excess(ranks) for ranks in (fast, slow)]
    noise = math.hypot(*(each.std(ddof=1) / 20 for each in errors))
    assert errors[0].mean() > 0 and errors[1].mean() > 0
    assert abs(errors[0].mean() - errors[1].mean()) <= 4 * noise + (0.1 * errors[1].mean() if family != "top" else 0)
