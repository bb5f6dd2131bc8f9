"""Curator implementations of local randomizers: they make protocols, read reports and compute estimates."""

from .base import Randomizer
from .epsilon_grid import flip_within
from .hypercube import HypercubeSampling
from .inbox import RefusedReport
from .privunit import PrivUnitG
from .report_counts import ReportCounts
from .response import RandomizedResponse

__all__ = [
    "HypercubeSampling",
    "PrivUnitG",
    "RandomizedResponse",
    "Randomizer",
    "RefusedReport",
    "ReportCounts",
    "flip_within",
]
