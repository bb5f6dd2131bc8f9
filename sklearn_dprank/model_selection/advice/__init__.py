"""Advice from public inputs: which estimator, and what error to expect of it."""

from .curves import Alternative
from .recommendation import Recommendation, recommend

__all__ = ["Alternative", "Recommendation", "recommend"]
