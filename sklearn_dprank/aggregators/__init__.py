"""Estimators, each composed of a channel and a rule."""

# ruff: noqa: F401 - the package re-exports these names; its `__all__` lists them
from .central import DPHistogram, DPPairwise
from .central_borda import DPBorda, DPSwissBorda
from .central_orders import DPKemenySampler, DPKwikSort
from .classic import Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
from .composed import Aggregator
from .local import LDPBorda, LDPKwikSort, LDPPairwise
from .local_interactive import LDPAdaptivePairs, LDPGroupKwikSort, LDPQuickSort
from .prudent import DPPrudentOrder, DPTopK
from .secure_aggregation import SecAggBorda, SecAggSwissBorda
from .segmented import SegmentedAggregator
from .shuffle import ShuffleHierarchical, ShufflePairwise
from .streaming import DPStreamingBorda
