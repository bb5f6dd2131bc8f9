"""Distributions of published noise, and the intervals and confidences that follow at no privacy cost."""

from .laws import AnswersLaw, LaplaceLaw, NormalLaw, SkellamLaw
from .published_noise import PublishedNoise

__all__ = ["AnswersLaw", "LaplaceLaw", "NormalLaw", "PublishedNoise", "SkellamLaw"]
