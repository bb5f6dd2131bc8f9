"""Estimators: each a docstring, its parameters, and which channel and rule it composes."""

from .central import DPBorda, DPHistogram, DPPairwise
from .central_orders import DPKemenySampler, DPKwikSort, DPPrudentOrder
from .classic import Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
from .composed import Aggregator
from .local import LDPPairwise

__all__ = [
    "Aggregator",
    "Borda",
    "BradleyTerry",
    "DPBorda",
    "DPHistogram",
    "DPKemenySampler",
    "DPKwikSort",
    "DPPairwise",
    "DPPrudentOrder",
    "HierarchicalAggregation",
    "Kemeny",
    "KwikSort",
    "LDPPairwise",
    "PositionalRule",
]
