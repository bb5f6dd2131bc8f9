"""Curator mechanisms: noise for integer statistics, and random choice of orders."""

from .additive import (
    Calibrated,
    Gaussian,
    GaussianNoise,
    GaussianThreshold,
    KNorm,
    KNormNoise,
    Laplace,
    LaplaceNoise,
    Mechanism,
    NoNoise,
    SkellamNoise,
    ThresholdNoise,
)
from .exponential import Exponential, ExponentialNoise, PermuteAndFlip, PermuteAndFlipNoise

#: Mechanisms by their names in ``noise=``.
MECHANISMS: dict[str, Mechanism] = {
    "laplace": Laplace(),
    "gaussian": Gaussian(),
    "knorm": KNorm(),
    "exponential": Exponential(),
    "permute_and_flip": PermuteAndFlip(),
}

__all__ = [
    "MECHANISMS",
    "Calibrated",
    "Exponential",
    "ExponentialNoise",
    "Gaussian",
    "GaussianNoise",
    "GaussianThreshold",
    "KNorm",
    "KNormNoise",
    "Laplace",
    "LaplaceNoise",
    "Mechanism",
    "NoNoise",
    "PermuteAndFlip",
    "PermuteAndFlipNoise",
    "SkellamNoise",
    "ThresholdNoise",
]
