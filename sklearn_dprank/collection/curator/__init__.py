"""Curator implementations of local randomizers: they make protocols, read reports and compute estimates."""

from .base import Randomizer
from .epsilon_grid import flip_within
from .hypercube import HypercubeSampling
from .inbox import RefusedReport
from .mallows import MallowsRandomizer
from .privunit import PrivUnitG
from .response import RandomizedResponse
from .thresholded import ThresholdedGaussian, ThresholdedLaplace

__all__ = [
    "HypercubeSampling",
    "MallowsRandomizer",
    "PrivUnitG",
    "RandomizedResponse",
    "Randomizer",
    "RefusedReport",
    "ThresholdedGaussian",
    "ThresholdedLaplace",
    "flip_within",
]
