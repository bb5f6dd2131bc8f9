"""Devices and client implementations of randomizers. They need NumPy and the standard library only."""

from .allowance import Allowance
from .ballot import net_wins, opinions
from .base import ReportRandomizer
from .device import Device
from .protocol import FLIP_GRID, RefusedProtocol, flips_cost, refuse_unless

__all__ = [
    "FLIP_GRID",
    "Allowance",
    "Device",
    "RefusedProtocol",
    "ReportRandomizer",
    "flips_cost",
    "net_wins",
    "opinions",
    "refuse_unless",
]
