"""What a release says about its own certainty: the law of its noise, and what follows from it for free."""

from .laws import AnswersLaw, LaplaceLaw, NormalLaw, SkellamLaw
from .published_noise import PublishedNoise

__all__ = ["AnswersLaw", "LaplaceLaw", "NormalLaw", "PublishedNoise", "SkellamLaw"]
