"""Queries of each class with different sensitivities, for proofs over all ballots of three and four items."""

from dataclasses import fields
from itertools import combinations

from sklearn_dprank.channels.segmented import SegmentNetWins, SegmentSizes
from sklearn_dprank.model_selection.private import NetAgreement
from sklearn_dprank.queries import (
    BradleyTerryResiduals,
    GroupNetWins,
    Histogram,
    MaxViolatedMargin,
    MaxViolatedPrefixMargin,
    NetWins,
    NetWinsAndExposures,
    PairMargin,
    PairTallies,
    PositionalScores,
    ScaledMargins,
    ScoresByHistogram,
    TopListScores,
)


def _positional(m):
    borda, thirds = [float(m - 1 - k) for k in range(m)], [1 / (k + 3) for k in range(m)]
    plurality, veto = [float(k == 0) for k in range(m)], [float(k < m - 1) for k in range(m)]
    rising, constant = [-score for score in borda], [5.0] * m
    return [PositionalScores(tuple(scores)) for scores in (borda, plurality, veto, thirds, rising, constant)]


def _prudent(m):
    other = (1, 0, *range(2, m))[::-1]
    return [MaxViolatedMargin(*given) for given in [(), (tuple(range(m)), 2), (other, 2), (other, 3)]]


def _scaled(m):
    groups, every = ((0, m - 1), tuple(range(1, m - 1))), tuple(combinations(range(m), 2))
    by_pairs = [ScaledMargins(pairs) for pairs in (every, ((2, 0), (1, 2)), ((1, 0),))]
    return [ScaledMargins(), ScaledMargins(groups=groups), ScaledMargins(groups=((2, 0),)), *by_pairs]


PARAMETERS = {
    Histogram: lambda m: [(), (True,)],
    PairTallies: lambda m: [(), (((0, 1),),), (((2, 0), (1, 2)),), (((0, 1), (0, 2), (1, 2)), 1)],
    PairMargin: lambda m: list(combinations(range(m), 2)),
    ScoresByHistogram: lambda m: [(scores,) for scores in (NetWins(), *_positional(m))],
    GroupNetWins: lambda m: [(), (((0, m - 1), tuple(range(1, m - 1))),), (((m - 1, 0),), 2), ((tuple(range(1, m)),),)],
    MaxViolatedPrefixMargin: lambda m: [(), (2,), (m - 2, (1,))],
    NetAgreement: lambda m: [(tuple(range(m)),), ((m - 1, *range(m - 1)),), ((0, *[1] * (m - 1)),)],
    NetWinsAndExposures: lambda m: [(), (4,), (4, "l1")],
    BradleyTerryResiduals: lambda m: [(), (tuple(2.0 - k for k in range(m)),), (tuple(9.0 * k for k in range(m)),)],
    SegmentNetWins: lambda m: [(2,), (3,), (2, True)],
    TopListScores: lambda m: [(), ((1.0,) * m,), (tuple(float(m - k) for k in range(m)),)],
    SegmentSizes: lambda m: [(2,), (3,)],
}
QUERIES = {PositionalScores: _positional, MaxViolatedMargin: _prudent, ScaledMargins: _scaled}


def examples(kind, m):
    """Return queries of this class about m items; a class with parameters must be listed above."""
    if kind in QUERIES:
        return QUERIES[kind](m)
    return [kind(*given) for given in (PARAMETERS[kind](m) if fields(kind) else [()])]
