"""Channels are trust models: they price a rule's questions, then answer them."""

from .central import Central
from .exact import Exact
from .local import Client, Local
from .plan import Plan, Session

__all__ = ["Central", "Client", "Exact", "Local", "Plan", "Session"]
