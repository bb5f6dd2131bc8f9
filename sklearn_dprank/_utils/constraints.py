"""The checks of parameters that estimators, rules and channels share, by name.

A part says what it takes in ``parameter_checks``, a dict of its parameters; whoever hands a value on takes the check
from whoever reads it, so that both refuse it in the same words.
"""

from functools import partial
from typing import Any

from .checks import (
    CALIBRATIONS,
    Check,
    check_choice,
    check_delta,
    check_epsilon,
    check_neighboring,
    check_random_state,
    check_whole,
)


def one_of(*choices: Any) -> Check:
    """Return a check that a parameter is one of the `choices`."""
    return partial(check_choice, choices=choices)


def or_none(check: Check) -> Check:
    """Return a check that a parameter is None or passes another."""

    def checked(value: Any, name: str) -> None:
        if value is not None:
            check(value, name)

    return checked


def taken_by(part: Any, *names: str) -> dict[str, Check]:
    """Return the checks of some of a part's parameters."""
    return {name: part.parameter_checks[name] for name in names}


COUNT: Check = check_whole
COUNT_OR_NONE: Check = partial(check_whole, optional=True)
#: How many voters; more are no promise that a protocol can state.
VOTERS_OR_NONE: Check = partial(check_whole, most=2**40, optional=True)
EPSILON: dict[str, Check] = {"epsilon": check_epsilon}
DELTA: dict[str, Check] = {"delta": check_delta}
NEIGHBORING: dict[str, Check] = {"neighboring": check_neighboring}
CALIBRATION: dict[str, Check] = {"calibration": one_of(*CALIBRATIONS)}
RANDOM_STATE: dict[str, Check] = {"random_state": check_random_state}
