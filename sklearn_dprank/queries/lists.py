"""Scores of the items on top lists, of which each person contributes a vector of bounded length."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, check_number, safe_repr
from .._utils.types import Neighboring
from ..ballots import rows
from ..ballots.weights import WEIGHT_GRID
from .base import Query, Sensitivity

_NORM = 1 << 16  # Euclidean norm of what a list contributes, in grid steps
_TOP = 1 << 15  # score of the first position, in steps; _NORM and _TOP squared multiply to less than 2^63


@dataclass(frozen=True)
class TopListScores(Query):
    """Scores of items by their positions on lists of at most k items; an item that a list leaves out gets nothing.

    A list of j items, or of more than j = k, gives the item at position i the score s_i / |(s_1, ..., s_j)|, rounded
    down to a multiple of 2^-16. So its contribution has a Euclidean norm of at most 1. The scores of tied items are
    their mean. All numbers are integers, in steps of 2^-16.

    Items that are tied over the last position share its scores. If items are private, coins choose which of them count,
    so that a list gives scores to at most k items.

    Parameters
    ----------
    scores : tuple of float or None, default=None
        Score of each of the k positions: at least 0, not increasing, and above 0 at the first one. None is
        1 / log2(i + 1) at position i. k is ``max_listed`` of the profile, or the number of items without it.

    Raises
    ------
    ValueError
        If `scores` are not such numbers.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.queries import TopListScores
    >>> profile = Profile.from_rankings([[0, 1, None], [None, None, 0]])
    >>> (TopListScores((2.0, 1.0, 0.0)).vector(profile, None) / 2**16).round(3)
    array([0.894, 0.447, 1.   ])
    """

    scores: tuple[float, ...] | None = None
    in_words = "the scores of items by their positions on lists"
    needs = "lists"
    published_as = "scores"
    steps = _NORM

    def __post_init__(self):
        if self.scores is None:
            return
        for score in self.scores if isinstance(self.scores, tuple) else ():
            check_number(score, "each of scores", least=0)
        if (
            not isinstance(self.scores, tuple)
            or not self.scores
            or not self.scores[0]
            or np.diff(self.scores).max(initial=0) > 0
        ):
            raise ValueError(
                "scores must be numbers that do not increase, the first one above 0, such as (3, 2, 1), got "
                f"{safe_repr(self.scores)}."
            )

    def parts(self, length: Any, position: Any, k: int) -> NDArray[np.int64]:
        """Return the scores, in steps, of positions from 0 to k - 1 on lists of these lengths, up to k.

        The squares of the scores of one list are at most 2^32 s_i^2 / (s_1^2 + ... + s_j^2), and add up to at most
        2^32, also in integers.
        """
        scores = 1 / np.log2(np.arange(2, k + 2)) if self.scores is None else np.asarray(self.scores, dtype=float)
        if len(scores) != k:
            raise ValueError(
                f"scores must have one number for each of the {k} positions that count (max_listed of the profile, or "
                f"all items), got {len(scores)}."
            )
        squares = np.rint(scores / scores[0] * _TOP).astype(np.int64) ** 2
        return rows.isqrt(_NORM**2 * squares[position] // np.cumsum(squares)[length - 1])

    def family(self, k: int) -> NDArray[np.int64]:
        """Return what a person of weight 1 contributes, in weighted steps: row j - 1 for a list of j items, then 0."""
        position = np.arange(k)
        return WEIGHT_GRID * np.tril(self.parts(position[:, np.newaxis] + 1, position, k))

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        k, (ballot, item, place, weight) = profile.max_listed or profile.n_items, profile.lists()
        is_private = profile.bound is not None and profile.bound.form == "private"
        if is_private:
            order = np.lexsort((coins.words(len(place)), place, ballot))
            item, place = item[order], place[order]
        new = rows.changes(ballot)
        first, end = rows.runs(new)
        position = np.arange(len(ballot)) - first
        part = self.parts(np.minimum(end - first, k), np.minimum(position, k - 1), k)
        sums = np.concatenate([[0], np.cumsum(np.where(position < k, part, 0))])
        first, end = rows.runs(new | rows.changes(place) | (is_private & (position == k)))
        part = (sums[end] - sums[first]) // (end - first)  # tied items share their scores
        large = float(weight.sum()) * _NORM >= 2.0**62  # only weights of about 10^8 persons
        totals = np.zeros(profile.n_items, dtype=object if large else np.int64)
        np.add.at(totals, item, part.astype(totals.dtype) * weight[ballot].astype(totals.dtype))
        return totals

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return np.asarray(vector, dtype=float)  # whether totals are objects depends on the ballots

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        k, moved = max_listed or n_items, changed_ballots(neighboring)
        self.parts(1, 0, k)
        # Scores are not negative, so the squared distance of two contributions is at most the sum of their squares.
        return Sensitivity(moved * (isqrt(k * _NORM**2) + 1), Fraction(moved * _NORM**2))
