"""Distributions of published noise, and the intervals and confidences that follow at no privacy cost."""

from .laws import AnswersLaw, LaplaceLaw, NormalLaw, PublishedNoise, SkellamLaw
from .strengths import ShareNoise, StrengthNoise

__all__ = ["AnswersLaw", "LaplaceLaw", "NormalLaw", "PublishedNoise", "ShareNoise", "SkellamLaw", "StrengthNoise"]
