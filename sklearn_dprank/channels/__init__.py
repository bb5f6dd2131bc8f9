"""Channels: trust models that price a rule's queries and answer them."""

from .central import Central
from .exact import Exact, NonPrivateSurvey
from .interactive import Groups, Interactive, Rounds, Slots
from .local import Local
from .plan import Channel, Plan, Session
from .secure_aggregation import SecureAggregation
from .shuffle import Shuffle, balanced_design
from .streaming import Streaming

__all__ = [
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
    "Session",
    "Shuffle",
    "Slots",
    "Streaming",
    "balanced_design",
]
