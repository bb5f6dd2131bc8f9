"""Estimators: each a docstring, its parameters, and which channel and rule it composes."""

from .central import DPBorda, DPHistogram, DPPairwise
from .central_orders import DPKemenySampler, DPKwikSort, DPPrudentOrder
from .classic import Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
from .composed import Aggregator
from .local import LDPBorda, LDPKwikSort, LDPPairwise
from .local_interactive import LDPAdaptivePairs, LDPGroupKwikSort, LDPQuickSort
from .shuffle import ShuffleHierarchical, ShufflePairwise

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
    "LDPAdaptivePairs",
    "LDPBorda",
    "LDPGroupKwikSort",
    "LDPKwikSort",
    "LDPPairwise",
    "LDPQuickSort",
    "PositionalRule",
    "ShuffleHierarchical",
    "ShufflePairwise",
]
