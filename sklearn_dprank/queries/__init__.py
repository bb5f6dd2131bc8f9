"""Queries about profiles, with their sensitivities and derivations.

`Query.vector` computes a vector of integers, to which a channel may add noise. `Query.read` converts the vector into
the answer for a rule. A query that follows from an answered query costs no budget.
"""

from .base import Ask, Query, Sensitivity, n_pairs
from .comparisons import BradleyTerryResiduals, NetWinsAndExposures
from .histogram import Histogram
from .lists import TopListScores
from .pairs import AllMargins, PairMargin, PairTallies, Tallies, estimated_margins
from .scores import (
    SCORE_GRID,
    GroupNetWins,
    NetWins,
    NumberOfVoters,
    PersonsByWeight,
    PositionalScores,
    ScaledMargins,
    ScoresByHistogram,
)
from .utilities import KemenyUtility, MaxViolatedMargin, MaxViolatedPrefixMargin, OrderUtility

__all__ = [
    "SCORE_GRID",
    "AllMargins",
    "Ask",
    "BradleyTerryResiduals",
    "GroupNetWins",
    "Histogram",
    "KemenyUtility",
    "MaxViolatedMargin",
    "MaxViolatedPrefixMargin",
    "NetWins",
    "NetWinsAndExposures",
    "NumberOfVoters",
    "OrderUtility",
    "PairMargin",
    "PairTallies",
    "PersonsByWeight",
    "PositionalScores",
    "Query",
    "ScaledMargins",
    "ScoresByHistogram",
    "Sensitivity",
    "Tallies",
    "TopListScores",
    "estimated_margins",
    "n_pairs",
]
