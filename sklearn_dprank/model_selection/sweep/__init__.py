"""Repeated fits of candidates with fresh noise, on ballots that are counted once."""

from .refit import smallest_within
from .results import results_frame
from .search import GridSearchCV
from .validation import cross_validate

__all__ = ["GridSearchCV", "cross_validate", "results_frame", "smallest_within"]
