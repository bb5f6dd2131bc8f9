"""Selection on private ballots: a private score, and private selection from a random number of releases."""

from .scorer import PrivateKendallTau
from .selection import PrivateSelection

__all__ = ["PrivateKendallTau", "PrivateSelection"]
