"""Rank intervals against matrices of all pairs of items."""

from fractions import Fraction
from functools import partial
from time import process_time

import numpy as np
import pytest
from benchmark_tools import compare
from interval_tools import ranks, surely_above

from sklearn_dprank.uncertainty import LaplaceLaw, PublishedNoise, ShareNoise, StrengthNoise

M = 3000
RNG = np.random.default_rng(0)
SCORES = np.rint(1000 * RNG.normal(size=M))
NOISE = {
    "scores": (PublishedNoise("scores", LaplaceLaw(Fraction(1, 100))), 10),
    "shares": (ShareNoise(5000 * RNG.random(M), 100.0, 200.0, "l2", SCORES, SCORES), 10),
    "strengths": (StrengthNoise(300 * RNG.gamma(0.5, size=M)), 8),
}


@pytest.mark.parametrize("name", NOISE)
def test_against_all_pairs(benchmark, name):
    """30,000 items take .02, .002 and .02 to .1 s of processor time, and no matrix.

    Those of strengths are wider by 1 %, because similar deviations count as equal.
    """
    noise, at_least = NOISE[name]
    ours = partial(noise.rank_intervals, SCORES, 0.95)
    twin = lambda: ranks(surely_above(noise, SCORES, 0.95))  # noqa: E731
    found = compare(benchmark, ours, twin, at_least=at_least, clock=process_time)
    exact = twin()
    assert (found[:, 0] <= exact[:, 0]).all() and (exact[:, 1] <= found[:, 1]).all()
    assert np.ptp(found, axis=1).mean() <= (1.02 if name == "strengths" else 1) * np.ptp(exact, axis=1).mean()
