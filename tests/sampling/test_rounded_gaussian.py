"""Rounded Gaussian noise: the measure of every cell, out to where delta is made, in high precision."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from oracles import released
from scipy import stats

from sklearn_dprank.mechanisms import GaussianNoise
from sklearn_dprank.privacy.composition import gaussian_sigma
from sklearn_dprank.sampling.bit_source import BitSource, SeededBits
from sklearn_dprank.sampling.rounded_gaussian import grid_of, rounded_gaussian, two_sided_tail

LENGTH = 63 + 64 * 4  # bits of a scripted uniform number

PI = (
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
    "8214808651328230664709384460955058223172535940812848111745028410270193852110555964462294895493038196"
)

#: (items, epsilon, delta) and the sigma of net wins.
SETTINGS = {"45": (45, 0.1, 1e-12), "10": (10, 1e-6, 1e-9), "3": (3, 1.0, 1e-9), "deep": (20, 1e-9, 1e-200)}


def sigma_of(m, epsilon, delta):
    return gaussian_sigma(epsilon, delta, math.sqrt(m * (m * m - 1) / 3))


def tail_by_continued_fraction(x, digits=140):
    """P(|N(0, 1)| > x), x at least 1: 2 phi(x) / (x + 1/(x + 2/(x + ...)))."""
    with localcontext() as context:
        context.prec = digits
        t = Decimal(x.numerator) / Decimal(x.denominator)
        ratio = t
        for k in range(6000, 0, -1):
            ratio = t + k / ratio
        pi = Decimal(PI)
        return Fraction(2 * (-t * t / 2).exp() / (2 * pi).sqrt() / ratio)


class Scripted(BitSource):
    """Deals one uniform number, bit by bit, after the sign."""

    def __init__(self, number, positive):
        super().__init__()
        words = [(number >> (LENGTH - 63)) << 1 | positive]
        words += [number >> (LENGTH - 63 - 64 * k) & (2**64 - 1) for k in range(1, 5)]
        self.left = words

    def words(self, size):
        return np.array([self.left.pop(0) for _ in range(size)], dtype=np.uint64)

    def integer(self, bound):
        return self.left.pop(0)


@pytest.mark.parametrize("deviations", [1.5, 3.0, 5.5, 7.0, 9.0])
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_cells_end_where_they_should(setting, deviations):
    """The uniform number turns one integer into the next at the exact tail, to 2^-250: no hole, no cell too wide."""
    sigma = sigma_of(*setting)
    grid = grid_of(sigma)
    cell = round(deviations * sigma / grid)
    for value in (0, 12345):
        rest = value % int(grid)
        for positive in (1, 0):
            edge = (cell + Fraction(1, 2)) * int(grid) + (-rest if positive else rest)
            end = int(tail_by_continued_fraction(edge / Fraction(sigma)) * 2**LENGTH)
            drawn = [
                int(rounded_gaussian(np.array([value]), sigma, Scripted(end + step, positive))[0])
                for step in (-(2**64), 2**64)
            ]
            sign, start = 1 if positive else -1, value - rest
            assert drawn == [start + sign * (cell + 1) * grid, start + sign * cell * grid]


@pytest.mark.slow
def test_delta_holds_for_cells_as_they_are():
    """One dimension, all cells by their ends: the hockey stick is at most the requested delta."""
    epsilon, delta, sensitivity = 1.0, 1e-6, 3
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    tails = [float(two_sided_tail((Fraction(2 * k - 1, 2)) / Fraction(sigma), 200)) / 2 for k in range(1, 400)]
    upper = np.array([*(1 - np.array(tails[::-1])), *tails])  # P(noise >= k), k = -398, ..., 399
    chance = -np.diff(upper)
    stick = np.maximum(chance[:-sensitivity] - math.exp(epsilon) * chance[sensitivity:], 0).sum()
    assert 0.98 * delta < stick <= delta


@pytest.mark.parametrize("x", [Fraction(7, 3), Fraction(12), Fraction(37)])
def test_tail_against_a_continued_fraction(x):
    exact = tail_by_continued_fraction(x)
    for precision in (70, 300):
        assert abs(two_sided_tail(x, precision) - exact) < Fraction(1, 2**precision)
    assert two_sided_tail(Fraction(0), 100) == 1


@pytest.mark.parametrize("sigma", [0.3, 2.3, 2.0**29, 2.0**45])
def test_law_of_draws(sigma):
    grid = grid_of(sigma)
    draws = rounded_gaussian(np.full(40_000, 7), sigma, SeededBits(10))
    assert draws.dtype == np.int64 and not (draws % int(grid)).any()
    if sigma > 100:
        assert stats.kstest((draws - 7) / sigma, "norm").pvalue > 1e-3
        return
    last = max(1, round(3 * sigma))  # cells -last, ..., last; the outer ones take what lies beyond
    ends = stats.norm.cdf((np.arange(-last, last) + 0.5) / sigma)
    seen = np.bincount(np.clip(draws - 7, -last, last) + last, minlength=2 * last + 1)
    assert stats.chisquare(seen, np.diff([0, *ends, 1]) * len(draws)).pvalue > 1e-3


def test_huge_noise_is_a_double_on_a_public_grid():
    for sigma in (2.0**60, 1e130):
        noise = GaussianNoise(sigma)
        draws = released(noise, None, np.arange(5000) - 2500, SeededBits(3))
        assert draws.dtype == np.float64
        assert not np.fmod(draws, grid_of(sigma)).any()
        assert stats.kstest(draws / sigma, "norm").pvalue > 1e-3
        assert 2.0**-30 <= grid_of(sigma) / sigma <= 2.0**-29


def test_shape_and_large_values():
    values = np.array([[2**60 + 1, -(2**60) - 1]])
    released = rounded_gaussian(values, 0.01, SeededBits(11))
    np.testing.assert_array_equal(released, values)
    assert released.dtype == np.int64


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_bad_sigma(sigma):
    with pytest.raises(ValueError, match="sigma must be"):
        rounded_gaussian(np.array([1]), sigma, SeededBits(0))


def test_doubles_are_refused():
    with pytest.raises(ValueError, match="values must be integers"):
        rounded_gaussian(np.array([1.0]), 1.0, SeededBits(0))
