"""Each parameter has one check and one default: an estimator, its channel and its rule refuse a value in one text."""

import inspect
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from every_estimator import CLASSES, every_class, parameters, refusal
from sklearn.base import BaseEstimator, clone

from sklearn_dprank import Aggregator, Borda, channels, collection as curator, rules
from sklearn_dprank._utils.checks import check_whole
from sklearn_dprank.channels import Central

BALLOTS = [[0, 1, 2]] * 9
BAD = ["?", -1, math.nan, math.inf, -(10**5000), Fraction(-1, 3), 1j, object(), (0, 2, 1, 3), np.array([[0, 2, 1, 3]])]
PARTS = [
    cls
    for cls in (getattr(module, name) for module in (rules, channels, curator) for name in module.__all__)
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and "parameter_checks" in vars(cls)
]
DEFAULTS = {"epsilon": 1.0, "neighboring": "add_remove", "random_state": None, "rule": None}


@every_class
def test_defaults_are_those_of_all_estimators(cls):
    found = cls().get_params(deep=False)
    for name in DEFAULTS.keys() & found.keys():
        assert found[name] == DEFAULTS[name], name
    if "delta" in found and "LDP" not in cls.__name__:
        needs_delta = cls.__name__.startswith(
            ("Shuffle", "DPSwiss", "DPBradley", "DPPositional", "DPStreaming", "SecAgg", "Segmented")
        )
        assert found["delta"] == (1e-6 if needs_delta else 0.0)
    if cls.__name__.startswith(("DP", "LDP", "Shuffle", "SecAgg")):
        assert {"epsilon", "random_state"} <= set(found)
    if cls.__name__.startswith("DP"):
        assert "neighboring" in found


@pytest.mark.parametrize("cls", PARTS, ids=lambda cls: cls.__name__)
def test_every_parameter_of_a_part_has_a_check_that_its_default_passes(cls):
    assert list(cls.parameter_checks) == parameters(cls)
    part = cls()
    for name, check in cls.parameter_checks.items():
        assert refusal(check, getattr(part, name), name) is None


def handed_on(cls):
    """Yield (name, part, call that checks a part) of each value that an estimator gives to its channel or rule."""
    channel, rule = cls()._compose()
    for part, call in ((channel, lambda part: part.plan(rule.asks(3), 3)), (rule, lambda part: part.asks(3))):
        names = set(parameters(cls)) & set(getattr(part, "parameter_checks", {}))
        for name in sorted(names - {"randomizer"}):  # a word in the estimator, an object in the channel
            yield name, part, call


def without_choices(message):
    """Return a message without its list of choices, which may be shorter for an estimator than for its part."""
    return re.sub(r"\[.*?\]( or a mechanism object)?", "[...]", message)


@every_class
def test_an_estimator_refuses_a_value_in_the_text_of_its_channel_or_rule(cls):
    for name, part, call in handed_on(cls):
        for bad in BAD:
            of_estimator = refusal(cls().set_params(**{name: bad}).fit, BALLOTS)
            of_part = refusal(call, clone(part).set_params(**{name: bad}))
            assert of_estimator and of_part, f"{name} accepts a value of type {type(bad).__name__}"
            assert without_choices(of_estimator) == without_choices(of_part)


def test_most_estimators_hand_values_on():
    """Otherwise the test above would compare no message."""
    assert sum(len(list(handed_on(cls))) for cls in CLASSES) > 50


def test_parameters_of_a_rule_outside_of_the_package_are_checked():
    """Even if its `asks` does not check them."""

    class Unchecked(rules.SortByScore):
        parameter_checks = {"depth": check_whole}

        def __init__(self, depth=1):
            self.depth, self.scores = depth, "borda"

        def asks(self, n_items):
            return rules.SortByScore().asks(n_items)

    nested = Aggregator(Central(), Unchecked()).set_params(rule__depth=0)
    for estimator in (Aggregator(Central(), Unchecked(0)), nested):
        assert refusal(estimator.fit, BALLOTS) == "depth must be a positive integer, got 0."


def test_a_check_of_an_unknown_parameter_is_an_error():
    class Misspelt(Borda):
        parameter_checks = {"epsilom": check_whole}

    with pytest.raises(AttributeError, match="epsilom"):
        Misspelt().fit(BALLOTS)
