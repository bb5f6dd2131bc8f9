"""Displays: ``from_*`` computes them, and ``plot`` draws them with matplotlib (the extra ``plot``)."""

from ._consensus import ConsensusDisplay
from ._intervals import RankIntervalDisplay
from ._margins import PairwiseMarginDisplay
from ._queries import QueryCountDisplay
from ._segments import SegmentsDisplay
from ._utility import PrivacyUtilityDisplay

__all__ = [
    "ConsensusDisplay",
    "PairwiseMarginDisplay",
    "PrivacyUtilityDisplay",
    "QueryCountDisplay",
    "RankIntervalDisplay",
    "SegmentsDisplay",
]
