"""Rule for one Borda order per public segment, with or without pooling."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from .._utils.checks import Check, check_flag, check_parameters, check_whole
from ..queries import Ask
from ..queries.segments import SegmentNetWins, SegmentSizes
from .base import Consensus, Rule, descending
from .pooling import pooled

_OF_SIZES, _OF_TOTAL = Fraction(5, 100), Fraction(15, 100)  # shares of the budget; the segments have the rest


class SegmentRule(Rule):
    """Rule that sorts the items of each segment by their net wins; its consensus has one order per segment.

    With pooling, a segment's estimates are drawn towards those of all segments. The less its own noisy answer says, and
    the more alike segments are, the more they are drawn.

    Parameters
    ----------
    n_segments : int, default=2
        Number of segments.
    pooling : bool, default=True
        Whether to pool segments.

    Notes
    -----
    Noise of S segments adds up to S times the variance of one. The net wins of all segments together are therefore
    asked again, for 15 % of the budget. The sizes of the segments have 5 %.

    Examples
    --------
    >>> from sklearn_dprank.rules.segments import SegmentRule
    >>> [float(ask.share) for ask in SegmentRule(4).asks(10)]
    [0.8, 0.15, 0.05]
    """

    parameter_checks: dict[str, Check] = {"n_segments": partial(check_whole, least=2), "pooling": check_flag}

    def __init__(self, n_segments: int = 2, pooling: bool = True) -> None:
        self.n_segments = n_segments
        self.pooling = pooling

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        own = SegmentNetWins(self.n_segments)
        if not self.pooling:
            return [Ask(own)]
        total, sizes = SegmentNetWins(self.n_segments, together=True), SegmentSizes(self.n_segments)
        return [Ask(own, share=1 - _OF_TOTAL - _OF_SIZES), Ask(total, share=_OF_TOTAL), Ask(sizes, share=_OF_SIZES)]

    def aggregate(self, session: Any) -> Consensus:
        asked = [ask.query for ask in self.asks(session.n_items)]
        wins, *others = [session.answer(query) / session.grid for query in asked]
        if not self.pooling:
            return Consensus(_orders(wins, session))
        total, sizes = others
        noise, total_noise, least = [session.deviation(query) / session.grid for query in asked]
        found = pooled(wins, total, np.maximum(sizes, least), noise, total_noise)
        published = {"scores": found.means, "score_std": found.std, "own_weights": found.own_weights, "sizes": sizes}
        return Consensus(_orders(found.means, session), published)


def _orders(scores, session):
    """Return the items of each segment by descending score, shape (n_segments, n_items)."""
    return np.array([descending(each, session) for each in scores])
