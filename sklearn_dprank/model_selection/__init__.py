"""Sweeps over privacy parameters: repeated randomised trials, private selection, and advice."""

from ._refit import smallest_within
from ._search import GridSearchCV
from ._subjects import with_seed
from ._validation import cross_validate
from .private_scorer import PrivateKendallTau
from .private_selection import PrivateSelection
from .recommendation import Alternative, Recommendation, recommend

__all__ = [
    "Alternative",
    "GridSearchCV",
    "PrivateKendallTau",
    "PrivateSelection",
    "Recommendation",
    "cross_validate",
    "recommend",
    "smallest_within",
    "with_seed",
]
