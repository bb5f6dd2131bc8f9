"""Number of persons by total weight, and the choice of ``max_weight="auto"`` from its noisy answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from numpy.typing import NDArray

from .._utils.checks import changed_ballots
from .._utils.types import Neighboring
from .base import Query, Sensitivity

_SIGNIFICANT = 3  # standard deviations of the noise


@dataclass(frozen=True)
class PersonsByWeight(Query):
    """Number of persons by total weight: below 2, 2 to 4, 4 to 8, ..., and 2048 and more.

    A person, with all ballots together, is in at most one of these classes.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.queries import PersonsByWeight
    >>> ballots = [[0, 1, 2]] * 7
    >>> profile = Profile.from_rankings(ballots, groups=["ann"] * 5 + ["bob"] * 2, max_weight="auto")
    >>> PersonsByWeight().vector(profile, None)[:4]
    array([0, 1, 1, 0])
    """

    needs = "positions"
    takes_weights = True

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls()]

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.persons_by_weight

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        moved = changed_ballots(neighboring)
        return Sensitivity(moved, Fraction(moved))


def chosen_max_weight(counts: NDArray[Any], deviation: float) -> int:
    """Return the largest power of two C such that 2, 4, ..., C all have a significant number of persons.

    A weight has one if a sum of `counts` from its class up to any heavier class is at least 3 standard deviations of
    its noise. Sums end at any class, because the noise of empty classes would hide the persons.

    Parameters
    ----------
    counts : ndarray of int
        Noisy answer to `PersonsByWeight`.
    deviation : float
        Standard deviation of the noise in each count.

    Examples
    --------
    >>> import numpy as np
    >>> chosen_max_weight(np.array([900, 200, 2, 120, -9, 3]), deviation=20.0)
    8
    """
    return 2 ** next(k for k in range(len(counts)) if not _significant(counts[k + 1 :].cumsum(), deviation))


def _significant(sums, deviation):
    return any(sums[k] >= _SIGNIFICANT * deviation * math.sqrt(k + 1) for k in range(len(sums)))
