"""Collecting ballots without a trusted curator: client, account, shuffler and server."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from ..servers import AggregationServer, ServerFileError, Shuffler, agreed
    from .client import Allowance, Device

__all__ = ["AggregationServer", "Allowance", "Device", "ServerFileError", "Shuffler", "agreed"]

# Loaded when first used: a client imports through this package and needs no server.
if not TYPE_CHECKING:
    _CLIENT, _SERVER = ("Allowance", "Device"), ("AggregationServer", "ServerFileError", "Shuffler", "agreed")
    _HOMES = {**dict.fromkeys(_CLIENT, "collection.client"), **dict.fromkeys(_SERVER, "servers")}
    __getattr__, __dir__ = lazily("sklearn_dprank", _HOMES)
