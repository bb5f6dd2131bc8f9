"""Channels are trust models: they price a rule's questions, then answer them."""

from .central import Central
from .exact import Exact
from .interactive import Interactive, InteractiveClient
from .local import Client, Local
from .plan import Plan, Session
from .schedules import Groups, Rounds, Slots
from .shuffle import Shuffle, ShuffleClient, balanced_design

__all__ = [
    "Central",
    "Client",
    "Exact",
    "Groups",
    "Interactive",
    "InteractiveClient",
    "Local",
    "Plan",
    "Rounds",
    "Session",
    "Shuffle",
    "ShuffleClient",
    "Slots",
    "balanced_design",
]
