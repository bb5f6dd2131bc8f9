"""Discrete Laplace draws against the algorithm of the paper, one draw at a time."""

from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest

from sklearn_dprank.privacy.bits import SeededBits
from sklearn_dprank.privacy.noise import discrete_laplace

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
    bits = SeededBits(np.random.SeedSequence(0))
    rng = np.random.default_rng(0)
    began = perf_counter()
    for _ in range(DRAWS):
        naive_draw(rate, rng)
    naive_seconds = perf_counter() - began
    benchmark(discrete_laplace, rate, DRAWS, bits)
    ratio = naive_seconds / benchmark.stats.stats.median
    benchmark.extra_info["times_faster_than_a_loop"] = round(ratio, 1)
    assert ratio > 5
