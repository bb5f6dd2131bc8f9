"""
What the duels with other packages share
========================================

A duel is two calls that do the same, here and in a peer, and a check of their answers. `_peers_rankings` and
`_peers_privacy` have one function for each peer and task: it imports the peer and makes what a user of either side has
at hand already. The package itself never imports a peer; most of them are under other licences, and tools of the
measurement only.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ERRORS = 6  # standard errors that a sample may be off


class Duel(NamedTuple):
    """Two calls that do the same, and what says of their answers how they agree, or raises."""

    ours: Callable
    theirs: Callable
    agree: Callable


def equal(ours, theirs):
    """Ask for the same values."""
    if not np.array_equal(ours, theirs):
        raise ValueError("the answers differ")
    return "equal"


def close(ours, theirs, tolerance=1e-6):
    """Ask for numbers that differ by no more than the tolerance."""
    off = np.abs(np.subtract(ours, theirs)).max()
    if not off <= tolerance:
        raise ValueError(f"the answers differ by {off}")
    return f"within {tolerance:g}"


def converted(agree, convert):
    """Return an agreement for a peer whose answer has to be converted first; that is not timed."""
    return lambda ours, theirs: agree(ours, convert(theirs))


def expected(values, mean):
    """Raise where a sample's mean, along the first axis, is far from what its law says."""
    values = np.asarray(values, dtype=float)
    off = np.abs(values.mean(axis=0) - mean) / (values.std(axis=0) / math.sqrt(len(values)))
    if not np.all(off <= ERRORS):
        raise ValueError(f"a mean is {np.max(off):.1f} standard errors off")


def same_law(ours, theirs, check):
    """Hold each of two samples to their law."""
    check(ours)
    check(theirs)
    return "same law"
