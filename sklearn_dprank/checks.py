"""Checks of parameters: what a number, a count or a choice must be, each with its one message."""

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any


def check_whole(value: Any, name: str, least: int = 1, most: int | None = None, *, optional: bool = False) -> None:
    """Raise unless `value` is an integer from `least` to `most`, or None where it is `optional`; no bool is one.

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
    raise ValueError(f"{name} must be {'None or ' if optional else ''}{wanted}, got {value!r}.")


def check_number(value: Any, name: str, *, least: float = -math.inf, above: float = -math.inf, below: float = math.inf):
    """Raise unless `value` is a real number, at least `least`, above `above` and below `below`; no bool is one.

    Examples
    --------
    >>> check_number(-1, "ridge", above=0)
    Traceback (most recent call last):
    ...
    ValueError: ridge must be a finite number above 0, got -1.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and least <= value and above < value < below:
        return
    bounds = [f"at least {least:g}"] if least > -math.inf else []
    bounds += [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"below {below:g}"] if below < math.inf else []
    kind = "a number" if below < math.inf else "a finite number"
    raise ValueError(f"{name} must be {' '.join([kind, ' and '.join(bounds)]).strip()}, got {value!r}.")


def check_choice(value: Any, name: str, choices: Collection[Any]) -> None:
    """Raise unless `value` is one of the `choices`.

    Examples
    --------
    >>> check_choice("typo", "noise", ("laplace", "gaussian"))
    Traceback (most recent call last):
    ...
    ValueError: noise must be one of ['laplace', 'gaussian'], got 'typo'.
    """
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}.")
