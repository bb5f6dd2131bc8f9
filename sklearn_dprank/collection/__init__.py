"""Collection of ballots without a trusted curator: devices, allowances, shufflers, servers and counts.

A module holds both sides of a randomizer: what a device draws, and how the curator reads and counts it.
"""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .allowance import Allowance as Allowance
    from .base import (
        Randomizer as Randomizer,
        ReportRandomizer as ReportRandomizer,
        net_wins as net_wins,
        opinions as opinions,
    )
    from .device import Device as Device
    from .hypercube import HypercubeSampling as HypercubeSampling
    from .pairs import RandomizedResponse as RandomizedResponse
    from .privunit import PrivUnitG as PrivUnitG
    from .protocol import (
        FLIP_GRID as FLIP_GRID,
        RefusedProtocol as RefusedProtocol,
        flip_within as flip_within,
        flips_cost as flips_cost,
        refuse_unless as refuse_unless,
    )
    from .reports import RefusedReport as RefusedReport, ReportCounts as ReportCounts
    from .servers import (
        AggregationServer as AggregationServer,
        ServerFileError as ServerFileError,
        Shuffler as Shuffler,
        agreed as agreed,
    )

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
    __getattr__, __dir__, __all__ = lazily(__name__, _HOMES, (*_HOMES, "randomizers", "shares"))
