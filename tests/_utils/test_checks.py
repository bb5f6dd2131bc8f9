"""Each check of a parameter accepts good values and refuses bad ones with one message, which shows no ballots."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from every_estimator import refusal

from sklearn_dprank._utils.checks import (
    CHANGED_BALLOTS,
    COUNT_OR_NONE,
    as_double,
    at_least_two,
    changed_ballots,
    check_delta,
    check_epsilon,
    check_flag,
    check_number,
    check_positive,
    check_probability,
    check_random_state,
    check_whole,
    is_as_printed,
    one_of,
    safe_repr,
)
from sklearn_dprank.privacy.guarantee import NEIGHBORING


@pytest.mark.parametrize(
    ("check", "good", "bad", "wanted"),
    [
        (
            check_epsilon,
            [1, 1e-9, 700.0, Fraction(1, 3), np.float32(2), np.int64(3)],
            [0, -0.0, -1, math.inf, -math.inf, math.nan, "1", None, [1.0], 1j, Decimal(1), np.float64("nan"), 10**400],
            "a positive, finite number (in nats)",
        ),
        (
            check_delta,
            [0, 0.0, 1e-200, 0.5, Fraction(1, 3), np.float32(0.25)],
            [-1e-300, 1, 1.0, 2, math.inf, math.nan, "0", None, [0.1]],
            "a number in [0, 1)",
        ),
        (one_of("a", "b"), ["a", "b"], ["swap", None, "", 1, ["a"]], "one of ['a', 'b']"),
        (check_whole, [1, np.int8(3), 10**40], [0, True, 1.0, None, "1", math.nan], "a positive integer"),
        (COUNT_OR_NONE, [None, 1], [0, False, 2.5], "None or a positive integer"),
        (partial(check_whole, least=0), [0, 7], [-1, None], "an integer of at least 0"),
        (partial(check_whole, least=2, most=12), [2, 12], [1, 13], "an integer from 2 to 12"),
        (check_number, [-1, 0.5, Fraction(1, 3)], [math.inf, math.nan, True, 10**400, "1"], "a finite number"),
        (partial(check_number, above=0), [5e-324, Fraction(1, 10**400)], [0, -0.0, None], "a finite number above 0"),
        (partial(check_number, least=0), [0, -0.0], [-1, -math.inf], "a finite number of at least 0"),
        (partial(check_number, least=0, most=math.inf), [0, math.inf], [-1, math.nan], "a number of at least 0"),
        (partial(check_number, least=0, most=1), [0, 1], [1.5, -1], "a number of at least 0 and at most 1"),
        (partial(check_number, above=0, optional=True), [None, 1], [0], "None or a finite number above 0"),
        (lambda v, n: check_probability(**{n: v}), [0.5, 1e-300], [0, 1, math.nan], "a number above 0 and below 1"),
        (lambda v, n: check_positive(**{n: v}), [1, 0.5], [0, math.inf], "a finite number above 0"),
        (lambda v, n: at_least_two(**{n: v}), [2, np.int64(9)], [1, 2.0], "an integer of at least 2"),
        (one_of("a", None), ["a", np.str_("a"), None], ["b", 0, False], "one of ['a', None]"),
        (check_flag, [True, np.False_], [0, 1, None, "yes"], "True or False"),
        (partial(check_epsilon, optional=True), [None, 1], [0], "a positive, finite number (in nats)"),
        (
            check_random_state,
            [None, 0, np.int64(3), np.random.default_rng(0), np.random.RandomState(0)],
            [-1, 1.0, True, "0"],
            "None, an int of at least 0, a numpy Generator or a RandomState",
        ),
    ],
)
def test_good_values_pass_and_bad_ones_are_refused(check, good, bad, wanted):
    for value in good:
        assert refusal(check, value, "x") is None
    for value in bad:
        assert refusal(check, value, "x") == f"x must be {wanted}, got {safe_repr(value)}."


@pytest.mark.parametrize(
    ("check", "values", "remedy"),
    [
        (check_epsilon, [5e-324, 9.99e-10, Fraction(1, 2**31), np.float32(1e-10)], "use at least 1e-09"),
        (check_delta, [5e-324, 1e-201, Fraction(1, 10**300)], "use at least 1e-200, or 0"),
    ],
)
def test_values_below_the_arithmetic_are_refused(check, values, remedy):
    for value in values:
        assert refusal(check, value, "x") == f"x is too small for the arithmetic, got {safe_repr(value)}; {remedy}."


def test_neighboring_relations_change_one_or_two_ballots():
    assert (changed_ballots("add_remove"), changed_ballots("replace")) == (1, 2)
    assert set(CHANGED_BALLOTS) == set(NEIGHBORING)
    assert refusal(changed_ballots, "swap") == "neighboring must be one of ['add_remove', 'replace'], got 'swap'."


def test_variants_of_theory():
    assert is_as_printed("as_printed") and not is_as_printed("corrected")
    assert refusal(is_as_printed, "paper") == "variant must be one of ['corrected', 'as_printed'], got 'paper'."


def test_numbers_beyond_doubles_are_infinite_and_other_types_are_not_numbers():
    assert (as_double(10**400), as_double(-(10**400)), as_double(Fraction(1, 4))) == (math.inf, -math.inf, 0.25)
    assert math.isnan(as_double("1")) and math.isnan(as_double(True))
