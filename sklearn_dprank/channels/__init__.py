"""Channels: trust models that price a rule's queries and answer them."""

from .central import Central
from .exact import Exact
from .interactive import Interactive
from .local import Local
from .nonprivate_survey import NonPrivateSurvey
from .plan import Channel, Plan, Session
from .schedules import Groups, Rounds, Slots
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
