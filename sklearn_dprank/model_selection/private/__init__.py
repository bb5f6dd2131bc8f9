"""Choosing on private ballots: a private score, and the best by it of a secret number of releases."""

from .scorer import PrivateKendallTau
from .selection import PrivateSelection

__all__ = ["PrivateKendallTau", "PrivateSelection"]
