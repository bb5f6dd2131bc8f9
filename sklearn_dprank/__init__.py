"""Differentially private rank aggregation with the scikit-learn API.

Votes -> a channel answers queries under a trust model -> a rule turns answers into a consensus.
"""

from .aggregators import (
    Aggregator,
    Borda,
    BradleyTerry,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    HierarchicalAggregation,
    Kemeny,
    KwikSort,
    LDPAdaptivePairs,
    LDPBorda,
    LDPGroupKwikSort,
    LDPKwikSort,
    LDPPairwise,
    LDPQuickSort,
    PositionalRule,
    ShuffleHierarchical,
    ShufflePairwise,
)

__version__ = "0.1.0"

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
