"""Collection of ballots without a trusted curator: devices, allowances, shufflers and aggregation servers."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .client import Allowance, Device
    from .server import AggregationServer, ServerFileError, Shuffler, agreed

__all__ = ["AggregationServer", "Allowance", "Device", "ServerFileError", "Shuffler", "agreed"]

# Loaded on first use, because a client imports this package and does not need the server modules.
if not TYPE_CHECKING:
    _CLIENT, _SERVER = ("Allowance", "Device"), ("AggregationServer", "ServerFileError", "Shuffler", "agreed")
    _HOMES = {**dict.fromkeys(_CLIENT, "client"), **dict.fromkeys(_SERVER, "server")}
    __getattr__, __dir__ = lazily(__name__, _HOMES)
