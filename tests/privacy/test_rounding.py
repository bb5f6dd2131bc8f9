"""Directed rounding of stated numbers, and the search for thresholds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from sklearn_dprank.privacy.rounding import root_up, round_down, rounded_down, rounded_up, smallest, sum_up

BIG = 2**31 - 1
POSITIVE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


@given(POSITIVE)
def test_rounded_up_is_the_next_float(x):
    stated = rounded_up(x)
    assert math.nextafter(stated, 0) < x <= stated


@given(POSITIVE)
def test_rounded_down_is_the_previous_float(x):
    stated = rounded_down(x)
    assert stated <= x < math.nextafter(stated, math.inf)


@given(st.lists(st.floats(0, 1e9), max_size=9))
def test_sum_up_is_the_next_float_above_the_exact_sum(numbers):
    exact, stated = sum(map(Fraction, numbers), Fraction(0)), sum_up(numbers)
    assert stated >= exact and (stated == 0 or math.nextafter(stated, 0) < exact)


def test_sum_up_of_infinity_is_infinite():
    assert sum_up([1.0, math.inf]) == math.inf


@given(POSITIVE)
def test_root_up_is_at_least_the_root_and_close(x):
    assert x <= Fraction(root_up(x)) ** 2 <= x * (1 + Fraction(1, 2**49))


@pytest.mark.parametrize("threshold", [1e-9, 0.3, 1.0, 7.0, 1e9])
def test_smallest_finds_the_threshold_and_holds_there(threshold):
    found = smallest(lambda x: x >= threshold)
    assert threshold <= found <= threshold * (1 + 1e-12)
    assert smallest(lambda x: x >= threshold, from_zero=True) == found
    assert smallest(lambda x: x >= 0, from_zero=True) == 0


@given(st.floats(min_value=2**-30, max_value=2.0**31 - 1))
@example(math.pi / 10)  # of such numbers about every second has its nearest fraction above
@example(math.e / 10)
@example(math.sqrt(2) / 2)
@example(math.log(2))
@example(1 / math.pi)
def test_round_down_is_below_and_close(x):
    fraction = round_down(x)
    assert fraction <= Fraction(x)
    assert fraction.numerator < 2**31
    assert fraction.denominator < 2**31
    assert Fraction(x) - fraction < Fraction(x) * Fraction(2, 2**31)


@pytest.mark.slow
@given(st.fractions(min_value=Fraction(1, 24), max_value=40, max_denominator=500), st.integers(25, 40))
def test_round_down_is_the_largest_fraction(x, limit):
    best = max(Fraction(min(math.floor(x * q), limit - 1), q) for q in range(1, limit))
    assert round_down(x, limit) == best


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1, Fraction(1)),
        (Fraction(2, 3), Fraction(2, 3)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(3), Fraction(3)),
        (2.0**40, Fraction(BIG)),
        (Fraction(1, BIG), Fraction(1, BIG)),
    ],
)
def test_round_down_known_values(x, expected):
    assert round_down(x) == expected


@pytest.mark.parametrize("x", [0, -1.0, math.nan, math.inf])
def test_round_down_refuses_other_than_positive_numbers(x):
    with pytest.raises(ValueError, match="x must be a finite number above 0"):
        round_down(x)


@pytest.mark.parametrize("x", [1e-10, Fraction(1, 2**31)])
def test_round_down_refuses_to_give_zero(x):
    with pytest.raises(ValueError, match="too small"):
        round_down(x)
