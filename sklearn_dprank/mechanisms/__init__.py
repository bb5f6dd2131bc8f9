"""Curator noise: integer statistics in, private statistics out."""

from .additive import GaussianNoise, KNormNoise, LaplaceNoise, additive_noise

__all__ = ["GaussianNoise", "KNormNoise", "LaplaceNoise", "additive_noise"]
