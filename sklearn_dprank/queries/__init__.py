"""What may be asked of a profile, how much one ballot can change the answer, and what follows from what.

An answer starts as a vector of integers (`vector`), to which a channel may add noise, and is then shaped
for a rule (`read`). A query that follows from one already answered is free (`Publication`).
"""

from .base import Ask, Publication, Query, Sensitivity, n_pairs
from .histogram import Histogram
from .pairs import AllMargins, PairMargin, PairTallies, Tallies, estimated_margins
from .scores import SCORE_GRID, GroupNetWins, NetWins, PositionalScores, ScoresByHistogram
from .utilities import KemenyUtility, MaxViolatedMargin, MaxViolatedPrefixMargin, OrderUtility
from .voters import NumberOfVoters

__all__ = [
    "SCORE_GRID",
    "AllMargins",
    "Ask",
    "GroupNetWins",
    "Histogram",
    "KemenyUtility",
    "MaxViolatedMargin",
    "MaxViolatedPrefixMargin",
    "NetWins",
    "NumberOfVoters",
    "OrderUtility",
    "PairMargin",
    "PairTallies",
    "PositionalScores",
    "Publication",
    "Query",
    "ScoresByHistogram",
    "Sensitivity",
    "Tallies",
    "estimated_margins",
    "n_pairs",
]
