"""One bit: exact epsilons against the definition and the figures of the literature."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, norm

from sklearn_dprank.privacy.calibration import classical_gaussian_sigma, gaussian_sigma
from sklearn_dprank.privacy.flips import (
    flip_epsilon,
    flip_probability,
    thresholded_gaussian_epsilon,
    thresholded_gaussian_flip,
    thresholded_gaussian_sigma,
    thresholded_laplace_epsilon,
    thresholded_laplace_flip,
    thresholded_laplace_scale,
)

EPSILONS = st.floats(1e-6, 30)
FLIPS = [
    (flip_probability, 1.0, 0.268941421369995),
    (thresholded_gaussian_flip, 4.3436, 0.4542),
    (thresholded_gaussian_flip, 2.0, norm.sf(0.25)),
    (thresholded_laplace_flip, 1.0, math.exp(-0.5) / 2),
    (thresholded_laplace_flip, 2.0, laplace.sf(0.25)),
]


@pytest.mark.parametrize(("flip", "parameter", "expected"), FLIPS)
def test_flip_probabilities(flip, parameter, expected):
    assert flip(parameter) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("flip", [flip_probability, lambda e: thresholded_laplace_flip(1 / e)])
@given(epsilon=st.floats(1e-6, 1000))
def test_flips_are_on_the_grid_and_never_zero(flip, epsilon):
    on_grid = Fraction(flip(epsilon)) * 2**52
    assert on_grid.denominator == 1
    assert 1 <= on_grid <= 2**51


@given(epsilon=EPSILONS)
def test_randomized_response_spends_epsilon_and_never_more(epsilon):
    flip = flip_probability(epsilon)
    assert flip_epsilon(flip) <= epsilon * (1 + 1e-9)
    assert flip == pytest.approx(1 / (1 + math.exp(epsilon)), abs=2**-50)
    assert (1 - Fraction(flip)) / Fraction(flip) <= Fraction(math.exp(epsilon)) * Fraction(1 + 1e-13)


@given(st.floats(1e-12, 0.5))
def test_flip_epsilon_is_the_log_ratio(flip):
    ratio = (1 - Fraction(flip)) / Fraction(flip)
    assert flip_epsilon(flip) == pytest.approx(math.log(ratio), rel=1e-12, abs=1e-15)


def test_a_fair_coin_is_perfectly_private():
    assert flip_epsilon(flip_probability(0.0)) == 0


@pytest.mark.parametrize(("epsilon", "n_queries", "true"), [(1, 1, 0.1838), (0.5, 1, 0.0919), (1, 4, 0.0459)])
def test_songs_thresholded_gaussian_is_over_private(epsilon, n_queries, true):
    sigma = classical_gaussian_sigma(epsilon, 1e-4, n_queries)
    assert thresholded_gaussian_epsilon(sigma) == pytest.approx(true, abs=6e-5)


def test_other_known_answers():
    assert thresholded_gaussian_epsilon(gaussian_sigma(1, 1e-4)) == pytest.approx(0.2507, abs=5e-5)
    assert thresholded_gaussian_sigma(1.0) == pytest.approx(0.8117, abs=5e-5)
    assert thresholded_laplace_epsilon(1.0) == pytest.approx(0.832, abs=5e-4)


@given(st.floats(0.02, 1e6))
def test_thresholded_gaussian_against_its_definition(sigma):
    x = 0.5 / sigma
    # The difference of logarithms cancels where x is small, the inverse hyperbolic tangent where it is large.
    expected = 2 * math.atanh(math.erf(x / math.sqrt(2))) if x < 1 else norm.logcdf(x) - norm.logcdf(-x)
    assert thresholded_gaussian_epsilon(sigma) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(st.floats(0.02, 1e6))
def test_thresholded_laplace_against_its_definition(scale):
    x = 0.5 / scale
    expected = math.log(2 * math.exp(x) - 1)
    assert thresholded_laplace_epsilon(scale) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("inverse", "forward"),
    [
        (thresholded_gaussian_sigma, thresholded_gaussian_epsilon),
        (thresholded_laplace_scale, thresholded_laplace_epsilon),
    ],
)
@given(epsilon=st.floats(1e-6, 600))
def test_inverses_spend_epsilon_and_never_more(inverse, forward, epsilon):
    assert forward(inverse(epsilon)) <= epsilon * (1 + 1e-15)
    assert forward(inverse(epsilon)) == pytest.approx(epsilon, rel=1e-12)


@given(epsilon=st.floats(0.01, 20))
def test_randomized_response_flips_least(epsilon):
    assert flip_probability(epsilon) <= thresholded_laplace_flip(1 / epsilon)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (flip_probability, -1),
        (flip_epsilon, 0),
        (flip_epsilon, 0.6),
        (thresholded_gaussian_flip, 0),
        (thresholded_gaussian_epsilon, -1.0),
        (thresholded_gaussian_sigma, 0),
        (thresholded_gaussian_sigma, 701),
        (thresholded_laplace_flip, 0),
        (thresholded_laplace_epsilon, math.nan),
        (thresholded_laplace_scale, math.inf),
    ],
)
def test_parameters_out_of_bounds(function, value):
    with pytest.raises(ValueError, match="must"):
        function(value)


def test_numbers_of_every_kind():
    """Single precision is not calculated with, and fractions are rounded to the side that protects more."""
    for function in (
        flip_probability,
        thresholded_gaussian_sigma,
        thresholded_laplace_scale,
        thresholded_gaussian_flip,
    ):
        assert function(np.float32(0.3)) == function(float(np.float32(0.3)))
        assert function(Fraction(1, 4)) == function(0.25)
    assert 1 / flip_probability(Fraction(1, 3)) - 1 <= math.exp(1 / 3)
