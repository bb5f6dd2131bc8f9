"""Queries about public segments of the voters: net wins and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, check_flag, check_whole
from .._utils.types import Neighboring
from .base import Query, Sensitivity
from .scores import NetWins


@dataclass(frozen=True)
class SegmentNetWins(Query):
    """Net wins of every segment, or of all segments together.

    A ballot is in at most one segment, so it changes the net wins of all segments as much as those of one. Let r be the
    largest L2 norm of its net wins. If a replaced ballot stays in its segment, the squared L2 norm of the change is at
    most (2 r)^2. If the ballot moves to another segment, it is at most 2 r^2. The L1 norm, and the sum of the segments'
    gauges, are at most twice those of one ballot in both cases.

    Parameters
    ----------
    n_segments : int, default=2
        Number of segments.
    together : bool, default=False
        Whether to add up the net wins of all segments.
    """

    n_segments: int = 2
    together: bool = False
    published_always = True

    def __post_init__(self):
        check_whole(self.n_segments, "n_segments")
        check_flag(self.together, "together")

    @property
    def published_as(self) -> str | None:  # type: ignore[override]
        """Name of the noisy net wins of the segments; their total is not published."""
        return None if self.together else "net_wins"

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls(2), cls(3), cls(2, together=True)]

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        wins = np.array([part.net_wins for part in profile.parts])
        return wins.sum(axis=0) if self.together else wins.ravel()

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector if self.together else vector.reshape(self.n_segments, n_items)

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        return NetWins().sensitivity(n_items, neighboring)


@dataclass(frozen=True)
class SegmentSizes(Query):
    """Number of ballots in every segment, or the sum of their weights.

    Under "replace", a ballot may move from one segment to another. So the sizes are private under both relations,
    although the number of all voters is not.

    Parameters
    ----------
    n_segments : int, default=2
        Number of segments.
    """

    n_segments: int = 2

    def __post_init__(self):
        check_whole(self.n_segments, "n_segments", 2)

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls(2), cls(3)]

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return np.array([part.total_weight for part in profile.parts], dtype=np.int64)

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        change = changed_ballots(neighboring)
        return Sensitivity(change, Fraction(change))
