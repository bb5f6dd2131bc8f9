"""Parameter checks and their error messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sized
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Function of a parameter's value and name that raises ValueError if the value is invalid.
Check = Callable[[Any, str], None]

#: Neighbouring relations, and how many contributions of one voter to a count differ between neighbours.
CHANGED_BALLOTS = {"add_remove": 1, "replace": 2}
#: A smaller epsilon is not a ratio of the small integers with which exact noise is drawn.
LEAST_EPSILON = 1e-9
#: A smaller delta, divided among a few answers, comes close to the smallest double.
LEAST_DELTA = 1e-200
_LONGEST = 200  # characters of a value in a message
_LARGEST_INTEGER = 2**53 - 1  # beyond it, languages read a JSON number differently


def check_parameters(part: Any) -> None:
    """Raise ValueError unless the parameters of an estimator, rule or channel pass its ``parameter_checks``."""
    for name, check in part.parameter_checks.items():
        check(getattr(part, name), name)


def check_whole(value: Any, name: str, least: int = 1, most: int | None = None, *, optional: bool = False) -> None:
    """Raise ValueError unless `value` is an integer (not a bool) from `least` to `most`, or None if `optional`.

    Examples
    --------
    >>> check_whole(0, "n_queries")
    Traceback (most recent call last):
    ...
    ValueError: n_queries must be a positive integer, got 0.
    >>> check_whole(13, "window", 2, 12, optional=True)
    Traceback (most recent call last):
    ...
    ValueError: window must be None or an integer from 2 to 12, got 13.
    """
    if optional and value is None:
        return
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and least <= int(value) and (most is None or int(value) <= most):
        return
    if most is not None:
        wanted = f"an integer from {least} to {most}"
    else:
        wanted = "a positive integer" if least == 1 else f"an integer of at least {least}"
    raise ValueError(f"{name} must be {'None or ' if optional else ''}{wanted}, got {safe_repr(value)}.")


def is_whole(value: Any, low: int, high: int = _LARGEST_INTEGER) -> bool:
    """Return whether untrusted `value` is an integer from `low` to `high`, and not a boolean."""
    return type(value) is int and low <= value <= high


def is_pair(pair: Any, n_items: int) -> bool:
    """Return whether untrusted `pair` is a list [i, j] of item indices, i < j."""
    return (
        type(pair) is list and len(pair) == 2 and is_whole(pair[0], 0) and is_whole(pair[1], pair[0] + 1, n_items - 1)
    )


def refuse_unknown(estimator: Any, names: Iterable[str], method: str = "fit") -> None:
    """Raise TypeError if a method (of no estimator: a function) got unknown parameters; say where they belong."""
    for name in names:
        also, at = "", "estimator, " * (estimator is None)
        if name in ("groups", "counts", "sample_weight", "max_weight", "max_listed", "voter_epsilon"):
            also = f" Persons and weights belong to the ballots: {method}({at}Profile.from_rankings(X, {name}=...))."
        elif name == "segments":
            also = " Use SegmentedAggregator(classes).fit(X, segments=...)."
        called = method if estimator is None else f"{type(estimator).__name__}.{method}"
        raise TypeError(f"{called} got an unexpected keyword argument {name!r}.{also}")


def check_number(
    value: Any,
    name: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    most: float | None = None,
    optional: bool = False,
) -> None:
    """Raise ValueError unless `value` is a real number (not a bool) within bounds, or None if `optional`.

    Infinity is accepted only if `most` is infinity.

    Examples
    --------
    >>> check_number(-1, "ridge", above=0)
    Traceback (most recent call last):
    ...
    ValueError: ridge must be a finite number above 0, got -1.
    >>> check_number(2, "flip", above=0, most=0.5)
    Traceback (most recent call last):
    ...
    ValueError: flip must be a number above 0 and at most 0.5, got 2.
    """
    if optional and value is None:
        return
    number = value if type(value) is float else as_double(value)
    low = math.isnan(number) or value < least or value <= above
    if not low and (number < below if most is None else number <= most):
        return
    bounds = [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"of at least {least:g}"] if least > -math.inf else []
    bounds += [f"below {below:g}"] if below < math.inf else []
    bounds += [f"at most {most:g}"] if most is not None and most < math.inf else []
    kind = "a finite number" if below == math.inf and most is None else "a number"
    wanted = " ".join([kind, " and ".join(bounds)]).strip()
    raise ValueError(f"{name} must be {'None or ' if optional else ''}{wanted}, got {safe_repr(value)}.")


def check_choice(value: Any, name: str, choices: Collection[Any]) -> None:
    """Raise ValueError unless `value` is one of the `choices`.

    Examples
    --------
    >>> check_choice("typo", "noise", ("laplace", "gaussian"))
    Traceback (most recent call last):
    ...
    ValueError: noise must be one of ['laplace', 'gaussian'], got 'typo'.
    """
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {list(choices)}, got {safe_repr(value)}.")


def check_positive(**values: Any) -> None:
    """Raise ValueError unless all keyword arguments are positive, finite numbers.

    Examples
    --------
    >>> check_positive(epsilon=1.0, sigma=0)
    Traceback (most recent call last):
    ...
    ValueError: sigma must be a finite number above 0, got 0.
    """
    for name, value in values.items():
        check_number(value, name, above=0)


def check_probability(**values: Any) -> None:
    """Raise ValueError unless all keyword arguments are strictly between 0 and 1."""
    for name, value in values.items():
        check_number(value, name, above=0, below=1)


def at_least_two(**values: Any) -> None:
    """Raise ValueError unless all keyword arguments are integers of at least 2, such as numbers of items to rank."""
    for name, value in values.items():
        check_whole(value, name, 2)


def check_square(matrix: np.ndarray, name: str) -> None:
    """Raise ValueError unless `matrix` has as many rows as columns."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}.")


def check_flag(value: Any, name: str) -> None:
    """Raise ValueError unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {safe_repr(value)}.")


def check_made(value: Any, name: str, what: str) -> None:
    """Raise ValueError if `value` is a class in place of an object.

    Examples
    --------
    >>> check_made(dict, "rule", "Rule")
    Traceback (most recent call last):
    ...
    ValueError: rule must be a Rule object, got the class dict; use rule=dict().
    """
    if isinstance(value, type):
        made = f"{name}={value.__name__}()"
        raise ValueError(f"{name} must be a {what} object, got the class {value.__name__}; use {made}.")


def check_epsilon(epsilon: Any, name: str = "epsilon", *, optional: bool = False) -> None:
    """Raise ValueError unless `epsilon` is a finite number of at least `LEAST_EPSILON`, or None if `optional`."""
    if optional and epsilon is None:
        return
    number = as_double(epsilon)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be a positive, finite number (in nats), got {safe_repr(epsilon)}.")
    if number < LEAST_EPSILON:
        raise ValueError(
            f"{name} is too small for the arithmetic, got {safe_repr(epsilon)}; use at least {LEAST_EPSILON:g}."
        )


def check_delta(delta: Any, name: str = "delta") -> None:
    """Raise ValueError unless `delta` is 0 or a number in [`LEAST_DELTA`, 1)."""
    number = as_double(delta)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be a number in [0, 1), got {safe_repr(delta)}.")
    if 0 < number < LEAST_DELTA:
        raise ValueError(
            f"{name} is too small for the arithmetic, got {safe_repr(delta)}; use at least {LEAST_DELTA:g}, or 0."
        )


def changed_ballots(neighboring: Any) -> int:
    """Return the number of ballots by which neighbours differ: 1 ("add_remove") or 2 ("replace": one out, one in)."""
    if not isinstance(neighboring, str) or neighboring not in CHANGED_BALLOTS:
        check_choice(neighboring, "neighboring", CHANGED_BALLOTS)
    return CHANGED_BALLOTS[neighboring]


def is_as_printed(variant: Any) -> bool:
    """Return whether `variant` selects the formula as printed, not the corrected one."""
    check_choice(variant, "variant", ("corrected", "as_printed"))
    return variant == "as_printed"


def check_random_state(random_state: Any, name: str = "random_state") -> None:
    """Raise ValueError unless `random_state` is None, an integer of at least 0, or a NumPy generator."""
    if random_state is None or isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or int(random_state) < 0:
        raise ValueError(
            f"{name} must be None, an int of at least 0, a numpy Generator or a RandomState, "
            f"got {safe_repr(random_state)}."
        )


def as_double(value: Any) -> float:
    """Return a real number as a double, infinite if it exceeds all doubles; NaN for bools and other objects."""
    number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def safe_repr(value: Any) -> str:
    """Return the text of a value for error messages; containers and very long values show only their type.

    Examples
    --------
    >>> safe_repr("typo"), safe_repr(10**5000), safe_repr([[0, 1, 2]])
    ("'typo'", 'an int that is too long to print', 'a list')
    """
    kind = type(value).__name__
    kind = f"{'an' if kind[0].lower() in 'aeiou' or kind == 'ndarray' else 'a'} {kind}"
    is_table = hasattr(type(value), "shape") and not isinstance(value, np.generic)
    if is_table or (isinstance(value, Sized) and not isinstance(value, str)):  # it may be ballots, passed by mistake
        return kind
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers with thousands of digits
        return f"{kind} that is too long to print"
    return text if len(text) <= _LONGEST else f"{kind} that is too long to print"


def one_of(*choices: Any) -> Check:
    """Return a check that a parameter is one of the `choices`."""
    return partial(check_choice, choices=choices)


COUNT: Check = check_whole
COUNT_OR_NONE: Check = partial(check_whole, optional=True)
LISTED_OR_NONE: Check = partial(check_whole, least=2, optional=True)
#: Number of voters, up to the largest number that a protocol can state.
VOTERS_OR_NONE: Check = partial(check_whole, most=2**40, optional=True)
EPSILON: dict[str, Check] = {"epsilon": check_epsilon}
DELTA: dict[str, Check] = {"delta": check_delta}
NEIGHBORING: dict[str, Check] = {"neighboring": one_of(*CHANGED_BALLOTS)}
