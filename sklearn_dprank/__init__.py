"""Differentially private rank aggregation with the scikit-learn API.

A channel answers queries about ballots under a trust model. A rule turns the answers into a consensus.
"""

from typing import TYPE_CHECKING

from ._utils.lazy import lazily

if TYPE_CHECKING:
    from . import (  # noqa: F401
        aggregators,
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
    from .aggregators.central import DPHistogram, DPPairwise
    from .aggregators.central_borda import DPBorda, DPSwissBorda
    from .aggregators.central_orders import DPKemenySampler, DPKwikSort
    from .aggregators.classic import Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
    from .aggregators.composed import Aggregator
    from .aggregators.local import LDPBorda, LDPKwikSort, LDPPairwise
    from .aggregators.local_interactive import LDPAdaptivePairs, LDPGroupKwikSort, LDPQuickSort
    from .aggregators.prudent import DPPrudentOrder, DPTopK
    from .aggregators.secure_aggregation import SecAggBorda, SecAggSwissBorda
    from .aggregators.segmented import SegmentedAggregator
    from .aggregators.shuffle import ShuffleHierarchical, ShufflePairwise
    from .aggregators.streaming import DPStreamingBorda

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
        *("aggregators", "ballots", "channels", "collection", "datasets", "mechanisms", "metrics", "model_selection"),
        *("orders", "plotting", "preprocessing", "privacy", "queries", "rules", "sampling", "theory", "uncertainty"),
    )
    _HOMES = {
        "central": "DPHistogram DPPairwise",
        "central_borda": "DPBorda DPSwissBorda",
        "central_orders": "DPKemenySampler DPKwikSort",
        "classic": "Borda BradleyTerry HierarchicalAggregation Kemeny KwikSort PositionalRule",
        "composed": "Aggregator",
        "local": "LDPBorda LDPKwikSort LDPPairwise",
        "local_interactive": "LDPAdaptivePairs LDPGroupKwikSort LDPQuickSort",
        "prudent": "DPPrudentOrder DPTopK",
        "secure_aggregation": "SecAggBorda SecAggSwissBorda",
        "segmented": "SegmentedAggregator",
        "shuffle": "ShuffleHierarchical ShufflePairwise",
        "streaming": "DPStreamingBorda",
    }
    _names = {name: f"aggregators.{module}" for module, names in _HOMES.items() for name in names.split()}
    __getattr__, __dir__ = lazily(__name__, _names, _MODULES)
