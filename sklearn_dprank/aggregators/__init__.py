"""Estimators: each a docstring, its parameters, and which channel and rule it composes."""

# ruff: noqa: F401 - the names that the package hands on are in its own `__all__`
from .central import DPHistogram, DPPairwise
from .central_borda import DPBorda, DPSwissBorda
from .central_orders import DPKemenySampler, DPKwikSort
from .classic import Borda, BradleyTerry, HierarchicalAggregation, Kemeny, KwikSort, PositionalRule
from .composed import Aggregator
from .local import LDPBorda, LDPKwikSort, LDPPairwise
from .local_interactive import LDPAdaptivePairs, LDPGroupKwikSort, LDPQuickSort
from .prudent import DPPrudentOrder, DPTopK
from .secure_aggregation import SecAggBorda, SecAggSwissBorda
from .shuffle import ShuffleHierarchical, ShufflePairwise
from .streaming import DPStreamingBorda
