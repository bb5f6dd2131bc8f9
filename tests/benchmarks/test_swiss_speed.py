"""Swiss Borda: its decoder against a general solver, and fits of many items."""

from time import perf_counter

import numpy as np
import pytest
from scipy.optimize import least_squares

from sklearn_dprank import DPSwissBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.rules.swiss import Round, fitted


def solved(rounds, n, ridge):
    """The same strengths and log(nu / n) by SciPy's least squares, with the derivatives written out."""
    m = len(rounds[0].wins)
    together = [np.ones((m, m)) if each.groups is None else same_group(each.groups, m) for each in rounds]

    def missed(x):
        s, voters = x[:-1], n * np.exp(x[-1])
        margins = voters * np.tanh((s[:, None] - s) / 2)
        parts = [((margins * t).sum(axis=1) - r.wins) / r.deviation for t, r in zip(together, rounds, strict=True)]
        return np.concatenate([*parts, np.sqrt(2 * ridge) * s, x[-1:] / np.sqrt(2)])

    def derivatives(x):
        s, voters = x[:-1], n * np.exp(x[-1])
        bend = voters / 2 / np.cosh((s[:, None] - s) / 2) ** 2
        margins = voters * np.tanh((s[:, None] - s) / 2)
        parts = [
            np.column_stack([np.diag((bend * t).sum(axis=1)) - bend * t, (margins * t).sum(axis=1)]) / r.deviation
            for t, r in zip(together, rounds, strict=True)
        ]
        return np.vstack([*parts, np.diag(np.append(np.full(m, np.sqrt(2 * ridge)), np.sqrt(0.5)))])

    start, most = np.append(np.zeros(m), -1e-9), np.append(np.full(m, np.inf), 0.0)
    return least_squares(missed, start, derivatives, bounds=(-np.inf, most)).x


def same_group(groups, m):
    label = np.full(m, -1)
    for k, group in enumerate(groups):
        label[list(group)] = k
    return (label[:, None] == label).astype(float)


def test_decoder(benchmark):
    """100 items in four rounds."""
    rng = np.random.default_rng(0)
    s, n, m = 2 * rng.normal(size=100), 5000, 100
    margins = n * np.tanh((s[:, None] - s) / 2)
    rounds = []
    for size, deviation in ((100, 20_000.0), (40, 6000.0), (20, 2000.0), (20, 2000.0)):
        groups = tuple(tuple(group.tolist()) for group in np.split(np.argsort(-s), range(size, m, size)))
        wins = (margins * same_group(groups, m)).sum(axis=1) + deviation * rng.normal(size=m)
        rounds.append(Round(groups, np.rint(wins), deviation))
    began = perf_counter()
    expected = solved(rounds, n, 0.15)
    general = perf_counter() - began
    found = benchmark(fitted, rounds, n, 0.15)
    np.testing.assert_allclose(found.strengths, expected[:-1] - expected[:-1].mean(), atol=0.02)
    ratio = general / benchmark.stats.stats.median
    benchmark.extra_info["times_faster_than_a_general_solver"] = round(ratio, 1)
    assert ratio > 2


@pytest.mark.parametrize(("m", "seconds"), [(100, 0.1), (216, 0.5)])
def test_fit(benchmark, m, seconds):
    """Bounds are five and more times what a quiet machine takes."""
    profile = Profile.from_rankings(make_mallows(5000, m, 0.9, random_state=0)).counted()
    profile.margins  # noqa: B018 computed once, not timed
    benchmark(DPSwissBorda(0.1, random_state=0).fit, profile)
    assert benchmark.stats.stats.median < seconds
