"""Checks of privacy parameters, each with its one message."""

import math
from numbers import Real
from typing import Any

from .guarantee import NEIGHBORING

#: Below it epsilon is no ratio of the small integers that exact noise is drawn with.
LEAST_EPSILON = 1e-9
#: Below it delta, shared out among a few answers, comes near the end of the doubles that noise is calibrated with.
LEAST_DELTA = 1e-200


def check_epsilon(epsilon: Any, name="epsilon"):
    """Raise unless `epsilon` is a positive, finite number of at least `LEAST_EPSILON`."""
    if not isinstance(epsilon, Real) or not 0 < _double(epsilon) < math.inf:
        raise ValueError(f"{name} must be a positive, finite number (in nats), got {epsilon!r}.")
    if _double(epsilon) < LEAST_EPSILON:
        raise ValueError(f"{name}={epsilon!r} is too small for the arithmetic; use at least {LEAST_EPSILON:g}.")


def check_delta(delta: Any, name="delta"):
    """Raise unless `delta` is 0 or a number in [`LEAST_DELTA`, 1)."""
    if not isinstance(delta, Real) or not 0 <= _double(delta) < 1:
        raise ValueError(f"{name} must be a number in [0, 1), got {delta!r}.")
    if 0 < _double(delta) < LEAST_DELTA:
        raise ValueError(f"{name}={delta!r} is too small for the arithmetic; use at least {LEAST_DELTA:g}, or 0.")


def check_neighboring(neighboring: Any):
    """Raise unless `neighboring` is a known relation."""
    if neighboring not in NEIGHBORING:
        raise ValueError(f"neighboring must be one of {sorted(NEIGHBORING)}, got {neighboring!r}.")


def _double(x):
    try:
        return float(x)
    except OverflowError:  # an integer beyond all doubles
        return math.inf
