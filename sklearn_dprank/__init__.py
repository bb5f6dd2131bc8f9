"""Differentially private rank aggregation with the scikit-learn API.

A channel answers queries about ballots under a trust model. A rule turns the answers into a consensus.
"""

from typing import TYPE_CHECKING

from ._utils.lazy import lazily

if TYPE_CHECKING:
    from . import (
        ballots as ballots,
        channels as channels,
        collection as collection,
        datasets as datasets,
        mechanisms as mechanisms,
        metrics as metrics,
        model_selection as model_selection,
        orders as orders,
        plotting as plotting,
        preprocessing as preprocessing,
        privacy as privacy,
        queries as queries,
        rules as rules,
        sampling as sampling,
        theory as theory,
        uncertainty as uncertainty,
    )
    from .channels.central import (
        DPBorda as DPBorda,
        DPBradleyTerry as DPBradleyTerry,
        DPHistogram as DPHistogram,
        DPKemenySampler as DPKemenySampler,
        DPKwikSort as DPKwikSort,
        DPPairwise as DPPairwise,
        DPPositionalRule as DPPositionalRule,
        DPPrudentOrder as DPPrudentOrder,
        DPSwissBorda as DPSwissBorda,
        DPTopK as DPTopK,
    )
    from .channels.composed import Aggregator as Aggregator
    from .channels.exact import (
        Borda as Borda,
        BradleyTerry as BradleyTerry,
        HierarchicalAggregation as HierarchicalAggregation,
        Kemeny as Kemeny,
        KwikSort as KwikSort,
        PositionalRule as PositionalRule,
    )
    from .channels.interactive import (
        LDPAdaptivePairs as LDPAdaptivePairs,
        LDPGroupKwikSort as LDPGroupKwikSort,
        LDPQuickSort as LDPQuickSort,
    )
    from .channels.local import LDPBorda as LDPBorda, LDPKwikSort as LDPKwikSort, LDPPairwise as LDPPairwise
    from .channels.secure_aggregation import SecAggBorda as SecAggBorda, SecAggSwissBorda as SecAggSwissBorda
    from .channels.segmented import SegmentedAggregator as SegmentedAggregator
    from .channels.shuffle import ShuffleHierarchical as ShuffleHierarchical, ShufflePairwise as ShufflePairwise
    from .channels.streaming import DPStreamingBorda as DPStreamingBorda

__version__ = "0.4.0"

# Loaded on first use, because clients import this package too and do not need scikit-learn.
if not TYPE_CHECKING:  # type checkers would accept any name as one of the package's
    _MODULES = (
        *("ballots", "channels", "collection", "datasets", "mechanisms", "metrics", "model_selection"),
        *("orders", "plotting", "preprocessing", "privacy", "queries", "rules", "sampling", "theory", "uncertainty"),
    )
    _ESTIMATORS = {
        "central": "DPBorda DPBradleyTerry DPHistogram DPKemenySampler DPKwikSort DPPairwise DPPositionalRule "
        "DPPrudentOrder DPSwissBorda DPTopK",
        "composed": "Aggregator",
        "exact": "Borda BradleyTerry HierarchicalAggregation Kemeny KwikSort PositionalRule",
        "interactive": "LDPAdaptivePairs LDPGroupKwikSort LDPQuickSort",
        "local": "LDPBorda LDPKwikSort LDPPairwise",
        "secure_aggregation": "SecAggBorda SecAggSwissBorda",
        "segmented": "SegmentedAggregator",
        "shuffle": "ShuffleHierarchical ShufflePairwise",
        "streaming": "DPStreamingBorda",
    }
    _ESTIMATORS = {f"channels.{module}": names for module, names in _ESTIMATORS.items()}
    __getattr__, __dir__, __all__ = lazily(__name__, _ESTIMATORS, _MODULES)
