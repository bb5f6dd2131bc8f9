"""Channels: trust models that price a rule's queries and answer them."""

from .central import Central
from .exact import Exact, NonPrivateSurvey
from .interactive import Groups, Interactive, Rounds, Slots
from .local import Local
from .plan import Answers, Channel, Plan
from .secure_aggregation import SecureAggregation
from .shuffle import Shuffle, balanced_design
from .streaming import Streaming

__all__ = [
    "Answers",
    "Central",
    "Channel",
    "Exact",
    "Groups",
    "Interactive",
    "Local",
    "NonPrivateSurvey",
    "Plan",
    "Rounds",
    "SecureAggregation",
    "Shuffle",
    "Slots",
    "Streaming",
    "balanced_design",
]
