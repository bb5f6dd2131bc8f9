"""The voter's side: one ballot in, one report out, and how a curator counts reports."""

from .response import RandomizedResponse, RefusedReport

__all__ = ["RandomizedResponse", "RefusedReport"]
