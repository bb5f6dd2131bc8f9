"""Model selection by repeated trials (`search`), by private selection (`private`) or by advice (`advice`)."""

from .advice import Alternative, Recommendation, recommend
from .parameters import with_seed
from .private import PrivateKendallTau, PrivateSelection
from .search import GridSearchCV, cross_validate, results_frame, smallest_within

__all__ = [
    "Alternative",
    "GridSearchCV",
    "PrivateKendallTau",
    "PrivateSelection",
    "Recommendation",
    "cross_validate",
    "recommend",
    "results_frame",
    "smallest_within",
    "with_seed",
]
