"""Query for the number of voters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.types import Neighboring
from .base import Query, Sensitivity


@dataclass(frozen=True)
class NumberOfVoters(Query):
    """Number of ballots, or the sum of their weights.

    Under "add_remove", one ballot changes it by 1. Under "replace", the number is public, and the exact answer costs no
    budget. The sum of weights is not public; see `~sklearn_dprank.queries.base.weighted_sensitivity`.

    Examples
    --------
    >>> from sklearn_dprank.queries import NumberOfVoters
    >>> NumberOfVoters().sensitivity(5, "add_remove").l1, NumberOfVoters().sensitivity(5, "replace").l1
    (1, 0)
    """

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        return [cls()]

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return np.array([profile.total_weight], dtype=np.int64)

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector[0]

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        moved = int(neighboring == "add_remove")
        return Sensitivity(moved, Fraction(moved))
