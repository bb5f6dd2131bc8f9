"""Skellam noise against exact divergences, and its law."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from sklearn_dprank.privacy.skellam import SkellamRelease, skellam_epsilon, skellam_renyi, skellam_unit
from sklearn_dprank.sampling.bit_source import SeededBits
from sklearn_dprank.sampling.poisson import skellam_noise


def law(variance, points):
    """P of Skellam noise: e^-v I_k(v), v its variance."""
    return special.ive(np.abs(points), variance)


def exact_renyi(alpha, variance, shift):
    far = int(12 * math.sqrt(alpha * variance) + 12 * alpha * shift) + 60
    points = np.arange(-far, far + shift + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = alpha * np.log(law(variance, points - shift)) - (alpha - 1) * np.log(law(variance, points))
    return special.logsumexp(terms[np.isfinite(terms)]) / (alpha - 1)


def exact_delta(epsilon, variance, shift):
    far = int(40 * math.sqrt(variance)) + 40 + shift
    points = np.arange(-far, far + 1)
    first, second = (law(variance, points - by) for by in (shift, 0))
    return np.maximum(first - math.exp(epsilon) * second, 0).sum()


@pytest.mark.parametrize("variance", [0.3, 2.0, 10.0, 200.0])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_bound_holds_and_is_near(variance, shift):
    alphas = [2, 3, 5, 10, 30]
    bounds = skellam_renyi(np.array(alphas, dtype=float), variance, shift, shift**2)
    exact = [exact_renyi(alpha, variance, shift) for alpha in alphas]
    assert all(bounds >= np.array(exact) * (1 - 1e-9))
    if variance >= 200 and shift == 1:
        np.testing.assert_allclose(bounds, exact, rtol=0.05)  # the bound is close


@pytest.mark.parametrize(
    ("alpha", "variance", "l1", "l2_squared", "expected"),
    [(2, 100, 4, 8, 0.08 + 48 / 40_000), (10, 2, 6, 6, 15 + 4.5), (3, 2, 1, 1, 0.75 + 11 / 16), (2, 1, 4, 8, 8 + 6)],
)
def test_the_bound_by_hand(alpha, variance, l1, l2_squared, expected):
    found = skellam_renyi(np.array([float(alpha)]), variance, l1, l2_squared)
    assert found[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("variance", [4.0, 50.0, 3000.0])
@pytest.mark.parametrize("shift", [1, 4])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_epsilon_holds_exactly(variance, shift, delta):
    epsilon = skellam_epsilon(delta, [SkellamRelease(variance, shift, shift**2)])
    found = exact_delta(epsilon, variance, shift)
    assert found <= delta
    assert found > 0.01 * delta or variance < 1000  # with little noise the bound is loose


def test_two_releases_by_convolution():
    variance, delta, far = 30.0, 1e-4, 90
    points = np.arange(-far, far + 1)
    first = np.multiply.outer(law(variance, points - 2), law(variance, points - 2))
    second = np.multiply.outer(law(variance, points), law(variance, points))
    two = skellam_epsilon(delta, [SkellamRelease(variance, 2, 4)] * 2)
    assert two == skellam_epsilon(delta, [SkellamRelease(variance, 2, 4, times=2)])
    found = np.maximum(first - math.exp(two) * second, 0).sum()
    assert 0.01 * delta < found <= delta
    assert two > 1.3 * skellam_epsilon(delta, [SkellamRelease(variance, 2, 4)])


def test_the_conversion_is_that_of_canonne_kamath_and_steinke():
    release, delta = SkellamRelease(500.0, 3, 5), 1e-5
    found = min(
        a * 5 / 1000
        + min(((2 * a - 1) * 5 + 18) / 1_000_000, 9 / 1000)
        + (math.log(1 / delta) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        for a in range(2, 400)
    )
    assert skellam_epsilon(delta, [release]) == pytest.approx(found, rel=2e-4)
    assert skellam_epsilon(delta, [release]) >= found * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", [1e-5, 0.03, 1.0, 20.0])
def test_the_unit_is_the_least(epsilon):
    releases = [SkellamRelease(3, 8, 10), SkellamRelease(Fraction(5), 4, 4, 3)]

    def grown(unit):
        return [release._replace(variance=float(release.variance) * unit) for release in releases]

    unit = skellam_unit(epsilon, 1e-6, releases)
    assert epsilon * (1 - 1e-6) < skellam_epsilon(1e-6, grown(unit)) <= epsilon
    assert skellam_epsilon(1e-6, grown(unit * 0.999)) > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 1.0), (9e-7, 1e-6), (1.1e100, 1e-6)])
def test_parameters_out_of_range_are_refused(epsilon, delta):
    with pytest.raises(ValueError, match="^delta must be" if epsilon == 1 else "^epsilon must be"):
        skellam_unit(epsilon, delta, [SkellamRelease(1, 4, 8)])


def test_the_law_of_the_noise_and_of_sums_of_it():
    """The noise of ten voters is that of one with ten times the rate."""
    rate = Fraction(7, 20)
    bits = SeededBits(np.random.SeedSequence(1))
    sums = skellam_noise(rate, 15_000, bits).reshape(-1, 10).sum(axis=1)
    at_once = skellam_noise(10 * rate, 1500, bits)
    cells = np.arange(-6, 7)
    expected = np.diff([0, *stats.skellam.cdf(cells, 3.5, 3.5), 1]) * 1500
    for drawn in (sums, at_once):
        found = np.diff([0, *(np.count_nonzero(drawn <= k) for k in cells), 1500])
        assert stats.chisquare(found, expected).pvalue > 1e-3
