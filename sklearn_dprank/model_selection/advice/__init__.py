"""Advice from public inputs: which estimator, and what error to expect of it."""

from .recommendation import Recommendation, recommend
from .rules import Alternative

__all__ = ["Alternative", "Recommendation", "recommend"]
