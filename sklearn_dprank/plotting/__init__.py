"""Displays: ``from_*`` computes them, and ``plot`` draws them with matplotlib (the extra ``plot``)."""

from ._errors import PrivacyUtilityDisplay, QueryCountDisplay
from ._rankings import ConsensusDisplay, PairwiseMarginDisplay, RankIntervalDisplay, SegmentsDisplay

__all__ = [
    "ConsensusDisplay",
    "PairwiseMarginDisplay",
    "PrivacyUtilityDisplay",
    "QueryCountDisplay",
    "RankIntervalDisplay",
    "SegmentsDisplay",
]
