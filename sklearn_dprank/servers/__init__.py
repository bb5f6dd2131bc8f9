"""Servers that add up shares of ballots without seeing one, on numpy and the standard library alone."""

from .aggregation import AggregationServer
from .messages import agreed

__all__ = ["AggregationServer", "agreed"]
