"""Recommendation of an estimator, with its expected error, from public inputs."""

from .curves import Alternative
from .recommendation import Recommendation, recommend

__all__ = ["Alternative", "Recommendation", "recommend"]
