"""Servers of secure aggregation and the shuffler, on NumPy and the standard library alone."""

from .aggregation import AggregationServer
from .checked_file import ServerFileError
from .messages import agreed
from .shuffler import Shuffler

__all__ = ["AggregationServer", "ServerFileError", "Shuffler", "agreed"]
