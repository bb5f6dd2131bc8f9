"""
Shared parts of the comparisons with other packages
===================================================

A duel is two calls that do the same, here and in another package (a peer), and a check of their answers.
`_peers_rankings` and `_peers_privacy` have one function for each peer and task. It imports the peer and prepares what
users of either package would already have. The package itself never imports a peer. Most peers have other licences, and
are used for the measurement only.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ERRORS = 6  # largest accepted deviation of a sample, in standard errors


class Duel(NamedTuple):
    """Two calls that do the same, and a function that describes how their answers agree, or raises ValueError."""

    ours: Callable
    theirs: Callable
    agree: Callable


def equal(ours, theirs):
    """Require the same values."""
    if not np.array_equal(ours, theirs):
        raise ValueError("the answers differ")
    return "equal"


def close(ours, theirs, tolerance=1e-6):
    """Require numbers that differ by at most the tolerance."""
    off = np.abs(np.subtract(ours, theirs)).max()
    if not off <= tolerance:
        raise ValueError(f"the answers differ by {off}")
    return f"within {tolerance:g}"


def converted(agree, convert):
    """Return an agreement that first converts the peer's answer; the conversion is not timed."""
    return lambda ours, theirs: agree(ours, convert(theirs))


def expected(values, mean):
    """Raise ValueError if a sample's mean, along the first axis, is far from the mean of its distribution."""
    values = np.asarray(values, dtype=float)
    off = np.abs(values.mean(axis=0) - mean) / (values.std(axis=0) / math.sqrt(len(values)))
    if not np.all(off <= ERRORS):
        raise ValueError(f"a mean is {np.max(off):.1f} standard errors off")


def same_law(ours, theirs, check):
    """Check each of two samples against their distribution."""
    check(ours)
    check(theirs)
    return "same law"
