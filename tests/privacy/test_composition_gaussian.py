"""Gaussian noise against numerical integration and the figures of the literature."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, reject, strategies as st
from scipy.integrate import IntegrationWarning, quad

from sklearn_dprank.privacy.composition import (
    classical_gaussian_sigma,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
)
from sklearn_dprank.sampling.rounded_gaussian import two_sided_tail


def integrated_delta(epsilon, sigma, sensitivity=1.0):
    """The hockey-stick divergence by quadrature, over the region where the loss exceeds epsilon."""
    start = sigma**2 * epsilon / sensitivity + sensitivity / 2

    def excess(x):
        loss = (x * sensitivity - sensitivity**2 / 2) / sigma**2
        return math.exp(-(((x - sensitivity) / sigma) ** 2) / 2) * -math.expm1(epsilon - loss)

    knots = sorted({start} | {max(start, sensitivity) + k * sigma for k in (0, 1, 2, 4, 8, 20, 50)})
    total = sum(quad(excess, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in pairwise(knots))
    return total / (sigma * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("epsilon", [0, 1e-8, 1e-3, 0.1, 1, 5, 50, 1000])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.01, 0.5])
def test_sigma_spends_delta_and_never_more(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    assert gaussian_delta(epsilon, sigma) <= delta
    assert integrated_delta(epsilon, sigma) == pytest.approx(delta, rel=1e-8)
    assert gaussian_epsilon(delta, sigma) == pytest.approx(epsilon, rel=1e-8, abs=1e-9 * delta)


@given(st.floats(0, 20), st.floats(0.05, 100), st.floats(0.1, 10))
def test_delta_is_the_hockey_stick(epsilon, sigma, sensitivity):
    try:
        expected = integrated_delta(epsilon, sigma, sensitivity)
    except IntegrationWarning:  # the integral of far tails is inaccurate
        reject()
    assert gaussian_delta(epsilon, sigma, sensitivity) == pytest.approx(expected, rel=1e-8, abs=1e-250)


@pytest.mark.slow
@given(st.floats(1e-3, 100), st.floats(1e-12, 0.9), st.floats(1e-3, 1e6))
def test_sigma_scales_with_sensitivity_and_stays_safe(epsilon, delta, sensitivity):
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    assert sigma == pytest.approx(sensitivity * gaussian_sigma(epsilon, delta), rel=1e-14)
    assert gaussian_delta(epsilon, sigma, sensitivity) <= delta
    assert gaussian_epsilon(delta, sigma, sensitivity) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(1, 1e-4, 3.1857), (0.1, 5e-5, 26.5), (1, 1e-6, 28.3 / math.sqrt(45))],
)
def test_known_analytic_sigmas(epsilon, delta, sigma):
    assert gaussian_sigma(epsilon, delta) == pytest.approx(sigma, rel=2e-3)


@pytest.mark.parametrize(
    ("arguments", "sigma"),
    [
        ((0.1, 5e-5, 1.0, "dwork_roth"), 45.0),
        ((0.1, 5e-5, 1.0, "dwork_2006"), 44.0),
        ((0.1, 5e-5, 1.0, "two"), 46.0),
        ((1, 1e-4), 4.3436),
        ((1, 1e-4, 4), 4 * 4.3436),
    ],
)
def test_published_sigmas(arguments, sigma):
    assert classical_gaussian_sigma(*arguments) == pytest.approx(sigma, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("constant", ["dwork_roth", "dwork_2006", "two"])
@given(epsilon=st.floats(1e-3, 1), delta=st.floats(1e-12, 0.1))
def test_published_sigmas_hold_up_to_epsilon_one(constant, epsilon, delta):
    sigma = classical_gaussian_sigma(epsilon, delta, constant=constant)
    assert gaussian_delta(epsilon, sigma) <= delta
    assert sigma >= gaussian_sigma(epsilon, delta) * (1 - 1e-9)


def test_epsilon_is_zero_when_delta_covers_all():
    assert gaussian_epsilon(0.5, 10.0) == 0


@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan, 9e-291])
@pytest.mark.parametrize("function", [gaussian_sigma, classical_gaussian_sigma])
def test_delta_out_of_bounds_is_refused(function, delta):
    with pytest.raises(ValueError, match="delta must be a number of at least 1e-290 and below 1"):
        function(1.0, delta)


@pytest.mark.parametrize("epsilon", [0, 1e-9, 1e-3, 0.1, 1, 50, 500])
@pytest.mark.parametrize("delta", [1e-290, 1e-200, 1e-100, 1e-30, 1e-12])
def test_tiny_deltas_are_accurate(epsilon, delta):
    """Compare with the formula in two thousand bits."""
    sigma = gaussian_sigma(epsilon, delta)

    def upper(x):
        tail = two_sided_tail(abs(x), 2400) / 2
        return tail if x >= 0 else 1 - tail

    r = 1 / Fraction(sigma)
    x = Fraction(epsilon) / r
    with localcontext() as context:
        context.prec = 800
        spent = upper(x - r / 2) - Fraction(Decimal(epsilon).exp()) * upper(x + r / 2)
    assert 1 - Fraction(1, 10**8) < spent / Fraction(delta) <= 1


def test_single_precision_is_converted_to_double():
    epsilon, delta = np.float32(0.1), np.float32(1e-9)
    assert gaussian_sigma(epsilon, delta, np.float32(3)) == gaussian_sigma(float(epsilon), float(delta), 3.0)
    assert gaussian_delta(epsilon, np.float32(20)) == gaussian_delta(float(epsilon), 20.0)
    assert gaussian_epsilon(delta, np.float32(20)) == gaussian_epsilon(float(delta), 20.0)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (gaussian_sigma, (-1, 0.1), "epsilon must be a finite number of at least 0, got -1"),
        (gaussian_sigma, (1, 0.1, 0), "sensitivity must be a finite number above 0"),
        (gaussian_delta, (1, 0), "sigma must be a finite number above 0"),
        (gaussian_epsilon, (1.5, 1), "delta must be a number of at least 1e-290 and below 1"),
        (classical_gaussian_sigma, (0, 0.1), "epsilon must be a finite number above 0"),
        (classical_gaussian_sigma, (1, 0.9, 1, "dwork_2006"), "at least 1e-290 and below 0.8"),
        (classical_gaussian_sigma, (1, 0.1, 1, "three"), "constant must be one of"),
    ],
)
def test_errors_name_the_gaussian_parameter(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)
