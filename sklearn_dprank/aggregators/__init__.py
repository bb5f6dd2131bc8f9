"""Estimators: each a docstring, its parameters, and which channel and rule it composes."""

from .central import DPBorda, DPKwikSort, DPPairwise
from .classic import Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
from .composed import Aggregator
from .local import LDPPairwise

__all__ = [
    "Aggregator",
    "Borda",
    "BradleyTerry",
    "DPBorda",
    "DPKwikSort",
    "DPPairwise",
    "HierarchicalAggregation",
    "Kemeny",
    "KwikSort",
    "LDPPairwise",
    "PositionalRule",
]
