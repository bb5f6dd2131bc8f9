"""The voter's half: all that runs where a ballot is, on numpy and the standard library alone."""

from .device import Device
from .protocol import RefusedProtocol

__all__ = ["Device", "RefusedProtocol"]
