"""Curator noise: integer statistics in, private statistics or orders out."""

from .additive import GaussianNoise, KNormNoise, LaplaceNoise, additive_noise
from .exponential import ExponentialMechanism, exponential_mechanism

__all__ = [
    "ExponentialMechanism",
    "GaussianNoise",
    "KNormNoise",
    "LaplaceNoise",
    "additive_noise",
    "exponential_mechanism",
]
