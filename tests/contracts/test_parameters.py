"""Every parameter has one check, and whoever refuses a value says the same."""

import inspect
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import sklearn_dprank
from sklearn_dprank import Borda, DPBorda, LDPPairwise, channels, rules
from sklearn_dprank._utils.checks import (
    CHANGED_BALLOTS,
    COUNT_OR_NONE,
    as_double,
    at_least_two,
    changed_ballots,
    check_choice,
    check_flag,
    check_number,
    check_positive,
    check_probability,
    check_random_state,
    check_whole,
    is_as_printed,
    one_of,
    or_none,
    safe_repr,
    taken_by,
)
from sklearn_dprank.aggregators.base import RankAggregator
from sklearn_dprank.channels import Central
from sklearn_dprank.collection import curator as randomizers
from sklearn_dprank.privacy.guarantee import NEIGHBORING
from sklearn_dprank.rules import KwikSortRule

BALLOTS = [[0, 1, 2]] * 9
BAD = ["?", -1, math.nan, math.inf, -(10**5000), Fraction(-1, 3), 1j, object(), (0, 2, 1, 3), np.array([[0, 2, 1, 3]])]


def classes_of(module, base):
    found = [getattr(module, name) for name in module.__all__]
    return [cls for cls in found if inspect.isclass(cls) and issubclass(cls, base)]


ESTIMATORS = classes_of(sklearn_dprank, RankAggregator)
PARTS = [
    cls
    for module in (rules, channels, randomizers)
    for cls in classes_of(module, BaseEstimator)
    if "parameter_checks" in vars(cls)
]


def parameters(cls):
    return list(inspect.signature(cls).parameters) if cls.__init__ is not object.__init__ else []


def refusal(call, *arguments):
    """What a call says against its arguments, or None."""
    try:
        call(*arguments)
    except ValueError as error:
        return str(error)
    return None


def fit_refusal(estimator):
    return refusal(estimator.fit, BALLOTS)


@pytest.mark.parametrize("cls", PARTS, ids=lambda cls: cls.__name__)
def test_every_parameter_has_a_check_and_passes_it_by_default(cls):
    assert list(cls.parameter_checks) == parameters(cls)
    part = cls()
    for name, check in cls.parameter_checks.items():
        check(getattr(part, name), name)


@pytest.mark.parametrize(
    ("cls", "name"),
    [(cls, name) for cls in ESTIMATORS for name in parameters(cls)],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_fit_refuses_by_name_and_never_shows_what_is_long_or_may_be_ballots(cls, name):
    refused = 0
    for bad in BAD:
        said = fit_refusal(cls().set_params(**{name: bad}))
        if said is not None and said.startswith(f"{name} must "):
            refused += 1
            assert "0, 2, 1, 3" not in said and "00000000000000000000" not in said and len(said) < 400
            assert said.endswith(".")
    assert refused >= (2 if name == "scores" else 7)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_an_estimator_checks_no_parameter_that_its_parts_check_alike(cls):
    """It checks names that it resolves, and values of which it offers fewer than the part."""
    channel, rule = cls()._compose()
    for name, check in cls.parameter_checks.items():
        for part in (channel, rule):
            assert getattr(part, "parameter_checks", {}).get(name) != check, name


def test_the_parameters_of_a_rule_from_outside_are_checked():
    """Also if its `asks` does not check them."""

    class Trusting(rules.SortByScore):
        parameter_checks = {"depth": check_whole}

        def __init__(self, depth=1):
            self.depth, self.scores = depth, "borda"

        def asks(self, n_items):
            return rules.SortByScore().asks(n_items)

    nested = sklearn_dprank.Aggregator(Central(), Trusting()).set_params(rule__depth=0)
    for estimator in (sklearn_dprank.Aggregator(Central(), Trusting(0)), nested):
        assert fit_refusal(estimator) == "depth must be a positive integer, got 0."


def handed():
    """(estimator, a parameter, the part that reads it): where an estimator hands a value on under its own name.

    An estimator's ``randomizer`` is a word; what it hands on is an object.
    """
    for cls in ESTIMATORS:
        for part in cls()._compose():
            for name in parameters(type(part)):
                if name != "randomizer" and name in parameters(cls) and name in getattr(part, "parameter_checks", {}):
                    yield pytest.param(cls, name, part, id=f"{cls.__name__}-{name}-{type(part).__name__}")


def wording(message):
    """A refusal without the choices, of which an estimator may offer fewer than the part."""
    return re.sub(r"\[.*?\]( or a mechanism object)?", "[...]", message)


@pytest.mark.parametrize(("cls", "name", "part"), list(handed()))
def test_an_estimator_refuses_in_the_words_of_the_part_that_it_hands_a_value_to(cls, name, part):
    for bad in BAD:
        said = fit_refusal(cls().set_params(**{name: bad}))
        changed = clone(part).set_params(**{name: bad})
        if isinstance(part, rules.Rule):
            heard = refusal(changed.asks, 3)
        else:
            heard = refusal(changed.plan, cls()._compose()[1].asks(3), 3)
        assert said is not None and heard is not None, bad
        assert wording(said) == wording(heard)


def test_one_error_for_one_fault():
    for bad in (-1, 0, "much", math.nan, True):
        message = f"epsilon must be a positive, finite number (in nats), got {bad!r}."
        assert fit_refusal(DPBorda(bad)) == refusal(Central(bad).plan, [], 3) == message
        assert fit_refusal(LDPPairwise(bad)) == message


def test_an_unknown_parameter_in_the_list_is_noticed():
    class Misspelt(Borda):
        parameter_checks = {"epsilom": check_whole}

    with pytest.raises(AttributeError, match="epsilom"):
        Misspelt().fit(BALLOTS)


# The checks themselves


@pytest.mark.parametrize(
    ("check", "good", "bad", "wanted"),
    [
        (check_whole, [1, np.int8(3), 10**40], [0, True, 1.0, None, "1", math.nan], "a positive integer"),
        (COUNT_OR_NONE, [None, 1], [0, False, 2.5], "None or a positive integer"),
        (lambda v, n: check_whole(v, n, 0), [0, 7], [-1, None], "an integer of at least 0"),
        (lambda v, n: check_whole(v, n, 2, 12), [2, 12], [1, 13], "an integer from 2 to 12"),
        (
            lambda v, n: check_number(v, n),
            [-1, 0.5, Fraction(1, 3)],
            [math.inf, math.nan, True, 10**400, "1"],
            "a finite number",
        ),
        (
            lambda v, n: check_number(v, n, above=0),
            [5e-324, Fraction(1, 10**400)],
            [0, -0.0, None],
            "a finite number above 0",
        ),
        (lambda v, n: check_number(v, n, least=0), [0, -0.0], [-1, -math.inf], "a finite number of at least 0"),
        (
            lambda v, n: check_number(v, n, least=0, most=math.inf),
            [0, math.inf],
            [-1, math.nan],
            "a number of at least 0",
        ),
        (lambda v, n: check_number(v, n, least=0, most=1), [0, 1], [1.5, -1], "a number of at least 0 and at most 1"),
        (lambda v, n: check_number(v, n, above=0, optional=True), [None, 1], [0], "None or a finite number above 0"),
        (lambda v, n: check_probability(**{n: v}), [0.5, 1e-300], [0, 1, math.nan], "a number above 0 and below 1"),
        (lambda v, n: check_positive(**{n: v}), [1, 0.5], [0, math.inf], "a finite number above 0"),
        (lambda v, n: at_least_two(**{n: v}), [2, np.int64(9)], [1, 2.0], "an integer of at least 2"),
        (one_of("a", None), ["a", np.str_("a"), None], ["b", 0, False], "one of ['a', None]"),
        (check_flag, [True, np.False_], [0, 1, None, "yes"], "True or False"),
        (or_none(check_flag), [None, False], [0], "True or False"),
        (
            check_random_state,
            [None, 0, np.int64(3), np.random.default_rng(0), np.random.RandomState(0)],
            [-1, 1.0, True, "0"],
            "None, an int of at least 0, a numpy Generator or a RandomState",
        ),
    ],
)
def test_checks(check, good, bad, wanted):
    for value in good:
        check(value, "x")
    for value in bad:
        assert refusal(check, value, "x") == f"x must be {wanted}, got {safe_repr(value)}."


def test_relations_and_variants():
    assert (changed_ballots("add_remove"), changed_ballots("replace")) == (1, 2)
    assert set(CHANGED_BALLOTS) == set(NEIGHBORING)
    assert refusal(changed_ballots, "swap") == "neighboring must be one of ['add_remove', 'replace'], got 'swap'."
    assert is_as_printed("as_printed") and not is_as_printed("corrected")
    assert refusal(is_as_printed, "paper") == "variant must be one of ['corrected', 'as_printed'], got 'paper'."


def test_values_are_shown_without_what_they_hold():
    assert [safe_repr(x) for x in (1.5, "a", None, 10**20)] == ["1.5", "'a'", "None", "1" + 20 * "0"]
    assert [safe_repr(x) for x in ([1], np.ones(3), {})] == ["a list", "an ndarray", "a dict"]
    assert safe_repr(10**5000) == "an int that is too long to print"
    assert safe_repr("x" * 300) == "a str that is too long to print"
    assert (as_double(10**400), as_double(-(10**400)), as_double(Fraction(1, 4))) == (math.inf, -math.inf, 0.25)
    assert math.isnan(as_double("1")) and math.isnan(as_double(True))


def test_checks_are_taken_from_the_part():
    taken = taken_by(KwikSortRule, "max_queries")
    assert taken == {"max_queries": KwikSortRule.parameter_checks["max_queries"]}
    assert refusal(check_choice, [1], "x", ("a",)) == "x must be one of ['a'], got a list."
