"""Checks of privacy parameters, each with its one message."""

import math
from numbers import Real
from typing import Any

from .guarantee import NEIGHBORING


def check_epsilon(epsilon: Any, name="epsilon"):
    """Raise unless `epsilon` is a positive, finite number."""
    if not isinstance(epsilon, Real) or not 0 < float(epsilon) < math.inf:
        raise ValueError(f"{name} must be a positive, finite number (in nats), got {epsilon!r}.")


def check_delta(delta: Any, name="delta"):
    """Raise unless `delta` is a number in [0, 1)."""
    if not isinstance(delta, Real) or not 0 <= float(delta) < 1:
        raise ValueError(f"{name} must be a number in [0, 1), got {delta!r}.")


def check_neighboring(neighboring: Any):
    """Raise unless `neighboring` is a known relation."""
    if neighboring not in NEIGHBORING:
        raise ValueError(f"neighboring must be one of {sorted(NEIGHBORING)}, got {neighboring!r}.")
