"""Aggregation servers and the shuffler. They need NumPy and the standard library only."""

from .aggregation import AggregationServer
from .checked_file import ServerFileError
from .messages import agreed
from .shuffler import Shuffler

__all__ = ["AggregationServer", "ServerFileError", "Shuffler", "agreed"]
