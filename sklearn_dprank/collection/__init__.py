"""Collection of ballots without a trusted curator: devices, allowances, shufflers, servers and counts."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from . import client, curator, server  # noqa: F401
    from .client import Allowance, Device
    from .curator import ReportCounts
    from .server import AggregationServer, ServerFileError, Shuffler, agreed

__all__ = ["AggregationServer", "Allowance", "Device", "ReportCounts", "ServerFileError", "Shuffler", "agreed"]

# Loaded on first use, because a client imports this package and does not need the other modules.
if not TYPE_CHECKING:
    _CLIENT, _SERVER = ("Allowance", "Device"), ("AggregationServer", "ServerFileError", "Shuffler", "agreed")
    _HOMES = {**dict.fromkeys(_CLIENT, "client"), **dict.fromkeys(_SERVER, "server"), "ReportCounts": "curator"}
    __getattr__, __dir__ = lazily(__name__, _HOMES, ("client", "curator", "server"))
