"""The voter's side: one ballot in, one report out, and how a curator counts reports."""

from .base import Randomizer, RefusedReport
from .hypercube import HypercubeSampling
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
]
