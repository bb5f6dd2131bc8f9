"""Quantiles of ranges: known ones, and enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import studentized_range

from sklearn_dprank.uncertainty import LaplaceLaw, NormalLaw
from sklearn_dprank.uncertainty.laws import range_quantile


@pytest.mark.parametrize("m", [2, 10, 45])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_normal_noise_has_the_studentized_range(m, level):
    expected = 7.0 * studentized_range.ppf(level, m, np.inf)
    for law in (NormalLaw(7.0, 0.0), NormalLaw(7.0, 2.0**-20)):
        assert 0 <= range_quantile(law, m, level) - expected < 0.005 * 7
    # rounded to integers: no value between, and rounding moves a range by one at most
    assert range_quantile(NormalLaw(7.0), m, level) in np.arange(np.floor(expected), np.ceil(expected) + 2)


def by_enumeration(law, m, level, reach):
    """The smallest k with P(range <= k) >= level, from the law of every tuple of integers."""
    values = np.arange(-reach, reach + 1)
    chance = law.tail(values) - law.tail(values + 1)
    assert chance.sum() == pytest.approx(1, abs=1e-9)
    within = np.zeros(2 * reach + 1)
    for rows in product(range(len(values)), repeat=m):
        rows = list(rows)
        within[max(rows) - min(rows)] += chance[rows].prod()
    return int(np.argmax(within.cumsum() >= level))


@pytest.mark.parametrize("law", [LaplaceLaw(Fraction(3, 2)), LaplaceLaw(Fraction(9)), NormalLaw(0.7), NormalLaw(1.9)])
@pytest.mark.parametrize(("m", "level"), [(2, 0.5), (2, 0.95), (3, 0.95), (3, 0.99)])
def test_noise_on_integers_is_exact(law, m, level):
    assert range_quantile(law, m, level) == by_enumeration(law, m, level, 17)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "level"), [(4, 0.95), (30, 0.8)])
def test_wide_laplace_noise_against_many_draws(m, level):
    """The continuous law, drawn; of noise so wide the integers are too near to matter."""
    drawn = np.ptp(np.random.default_rng(0).laplace(scale=4e6, size=(200_000, m)), axis=1)
    quantile = range_quantile(LaplaceLaw(Fraction(1, 4_000_000)), m, level)
    assert level - 0.003 < (drawn <= quantile).mean() < level + 0.005


def test_no_level_is_too_high_and_no_noise_too_little():
    law = LaplaceLaw(Fraction(1, 10))
    assert range_quantile(law, 10, 1 - 2**-53) < np.inf
    assert range_quantile(LaplaceLaw(Fraction(2**31)), 10, 0.999) == 0
    assert range_quantile(NormalLaw(0.01), 10, 0.999) == 0
    assert range_quantile(NormalLaw(1e12, 1024.0), 3, 0.9) == pytest.approx(
        1e12 * studentized_range.ppf(0.9, 3, np.inf), rel=5e-3
    )
