"""Differentially private rank aggregation with the scikit-learn API.

A channel answers queries about ballots under a trust model. A rule turns the answers into a consensus.
"""

from typing import TYPE_CHECKING

from ._utils.lazy import lazily

if TYPE_CHECKING:
    from . import (  # noqa: F401
        ballots,
        channels,
        collection,
        datasets,
        mechanisms,
        metrics,
        model_selection,
        orders,
        plotting,
        preprocessing,
        privacy,
        queries,
        rules,
        sampling,
        theory,
        uncertainty,
    )
    from .channels.central import (
        DPBorda,
        DPHistogram,
        DPKemenySampler,
        DPKwikSort,
        DPPairwise,
        DPPrudentOrder,
        DPSwissBorda,
        DPTopK,
    )
    from .channels.composed import Aggregator
    from .channels.exact import Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
    from .channels.interactive import LDPAdaptivePairs, LDPGroupKwikSort, LDPQuickSort
    from .channels.local import LDPBorda, LDPKwikSort, LDPPairwise
    from .channels.secure_aggregation import SecAggBorda, SecAggSwissBorda
    from .channels.segmented import SegmentedAggregator
    from .channels.shuffle import ShuffleHierarchical, ShufflePairwise
    from .channels.streaming import DPStreamingBorda

__version__ = "0.3.0"

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
    "DPStreamingBorda",
    "DPSwissBorda",
    "DPTopK",
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
    "SecAggBorda",
    "SecAggSwissBorda",
    "SegmentedAggregator",
    "ShuffleHierarchical",
    "ShufflePairwise",
]

# Loaded on first use, because clients import this package too and do not need scikit-learn.
if not TYPE_CHECKING:  # type checkers would accept any name as one of the package's
    _MODULES = (
        *("ballots", "channels", "collection", "datasets", "mechanisms", "metrics", "model_selection"),
        *("orders", "plotting", "preprocessing", "privacy", "queries", "rules", "sampling", "theory", "uncertainty"),
    )
    _HOMES = {
        "central": "DPBorda DPHistogram DPKemenySampler DPKwikSort DPPairwise DPPrudentOrder DPSwissBorda DPTopK",
        "composed": "Aggregator",
        "exact": "Borda BradleyTerry HierarchicalAggregation Kemeny KwikSort PositionalRule",
        "interactive": "LDPAdaptivePairs LDPGroupKwikSort LDPQuickSort",
        "local": "LDPBorda LDPKwikSort LDPPairwise",
        "secure_aggregation": "SecAggBorda SecAggSwissBorda",
        "segmented": "SegmentedAggregator",
        "shuffle": "ShuffleHierarchical ShufflePairwise",
        "streaming": "DPStreamingBorda",
    }
    _names = {name: f"channels.{module}" for module, names in _HOMES.items() for name in names.split()}
    __getattr__, __dir__ = lazily(__name__, _names, _MODULES)
