"""Discrete Laplace draws against the paper's algorithm, one draw at a time; and histograms of millions of cells."""

from fractions import Fraction
from functools import partial
from math import factorial

import numpy as np
import pytest
from benchmark_tools import compare

from sklearn_dprank import DPHistogram
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.sampling.bit_source import SeededBits
from sklearn_dprank.sampling.discrete_laplace import discrete_laplace, many_laplace

DRAWS = 1000


def bernoulli_exp(x, rng):
    k = 1
    while rng.integers(x.denominator * k) < x.numerator:
        k += 1
    return k % 2 == 1


def naive_draw(rate, rng):
    """Algorithm 2 of Canonne, Kamath and Steinke (2020), line by line."""
    while True:
        start = int(rng.integers(rate.denominator))
        if not bernoulli_exp(Fraction(start, rate.denominator), rng):
            continue
        turns = 0
        while bernoulli_exp(Fraction(1), rng):
            turns += 1
        magnitude = (start + rate.denominator * turns) // rate.numerator
        negative = bool(rng.integers(2))
        if magnitude or not negative:
            return -magnitude if negative else magnitude


@pytest.mark.parametrize("rate", [Fraction(1, 990), Fraction(3, 10), Fraction(5)], ids=str)
def test_discrete_laplace_speed(benchmark, rate):
    bits, rng = SeededBits(np.random.SeedSequence(0)), np.random.default_rng(0)

    def in_a_loop():
        for _ in range(DRAWS):
            naive_draw(rate, rng)

    compare(benchmark, partial(discrete_laplace, rate, DRAWS, bits), in_a_loop, at_least=5, rounds=2)


# measured 150 and 40, the table at hand; room for a busy machine
@pytest.mark.parametrize(("rate", "least"), [(Fraction(1, 2), 40), (Fraction(1, 100), 15)], ids=["1/2", "1/100"])
def test_laplace_by_a_table(benchmark, rate, least):
    """A million draws, against vectors of the paper's algorithm."""
    ours, twin = (
        partial(draw, rate, 2**20, SeededBits(np.random.SeedSequence(0))) for draw in (many_laplace, discrete_laplace)
    )
    compare(benchmark, ours, twin, at_least=least, rounds=3)


def test_histogram_of_ten_items(benchmark):
    """3,628,800 cells in a second."""
    profile = Profile.from_rankings(make_mallows(100_000, 10, 0.9, random_state=0))
    estimator = DPHistogram(epsilon=1.0, random_state=0)
    benchmark.pedantic(lambda: estimator.fit(profile), rounds=3, warmup_rounds=1)
    assert len(estimator.histogram_) == factorial(10)
    benchmark.extra_info["seconds"] = round(benchmark.stats.stats.min, 2)
    assert benchmark.stats.stats.min < 1
