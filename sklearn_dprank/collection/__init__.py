"""Collection of ballots without a trusted curator: devices, allowances, shufflers, servers and counts.

A module holds both sides of a randomizer: what a device draws, and how the curator reads and counts it.
"""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .allowance import Allowance
    from .base import Randomizer, ReportRandomizer, net_wins, opinions
    from .device import Device
    from .hypercube import HypercubeSampling
    from .pairs import RandomizedResponse
    from .privunit import PrivUnitG
    from .protocol import FLIP_GRID, RefusedProtocol, flip_within, flips_cost, refuse_unless
    from .reports import RefusedReport, ReportCounts
    from .servers import AggregationServer, ServerFileError, Shuffler, agreed

__all__ = [
    "FLIP_GRID",
    "AggregationServer",
    "Allowance",
    "Device",
    "HypercubeSampling",
    "PrivUnitG",
    "RandomizedResponse",
    "Randomizer",
    "RefusedProtocol",
    "RefusedReport",
    "ReportCounts",
    "ReportRandomizer",
    "ServerFileError",
    "Shuffler",
    "agreed",
    "flip_within",
    "flips_cost",
    "net_wins",
    "opinions",
    "refuse_unless",
]

# Loaded on first use, because a device needs few of the modules.
if not TYPE_CHECKING:
    _HOMES = {
        "allowance": "Allowance",
        "base": "Randomizer ReportRandomizer net_wins opinions",
        "device": "Device",
        "hypercube": "HypercubeSampling",
        "pairs": "RandomizedResponse",
        "privunit": "PrivUnitG",
        "protocol": "FLIP_GRID RefusedProtocol flip_within flips_cost refuse_unless",
        "reports": "RefusedReport ReportCounts",
        "servers": "AggregationServer ServerFileError Shuffler agreed",
    }
    _MODULES = (*_HOMES, "randomizers", "shares")
    _names = {name: module for module, names in _HOMES.items() for name in names.split()}
    __getattr__, __dir__ = lazily(__name__, _names, _MODULES)
