"""The curator's half of local protocols: what devices are told, and what their reports say together."""

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
