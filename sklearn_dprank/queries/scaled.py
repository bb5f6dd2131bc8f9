"""Margins of pairs or net wins within groups, scaled to a common sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, safe_repr
from .._utils.lazy import cached_property
from .._utils.types import Neighboring
from .base import Query, Sensitivity, n_pairs
from .pairs import are_pairs, every_pair
from .scores import GroupNetWins

#: Largest number of pairs in one question of `ScaledMargins`.
MOST_PAIRS = 2**14
_RESOLUTION = 64  # scale of the net wins of all items; the scale of any other question is at least as large


@dataclass(frozen=True)
class ScaledMargins(Query):
    """Margins of pairs, or net wins within groups, times a public integer `scale`.

    All questions have the same sensitivity, so a rule can decide late which one it asks. Let d be the squared L2
    sensitivity without the scale: the number of pairs, or the sum of k (k^2 - 1) / 3 over groups of k items. The scale
    is sqrt(t / d), rounded down, where t = 4096 m (m^2 - 1) / 3. So the noise in an answer, divided by its scale, has a
    variance proportional to d, as if the question had been priced alone. Rounding costs at most 1.6 % of the deviation.
    The query is never derived from another answer, because rules weight it by its own noise.

    Parameters
    ----------
    pairs : tuple of (int, int) or None, default=None
        Pairs (i, j) to ask about, at most 16384. The answer has the margin of i over j for each.
    groups : tuple of tuple of int, or None, default=None
        Without pairs: items of each group, no item twice. None is one group of all items. The answer has the net wins
        of each item within its group, 0 for an item without a group.

    Raises
    ------
    ValueError
        If `pairs` are not pairs of different items, no pair is given, an item is in two groups, or both parameters are
        given.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.queries import ScaledMargins
    >>> profile = Profile.from_rankings([[0, 1, 2, 3]] * 2)
    >>> query = ScaledMargins(pairs=((0, 1), (3, 1)))
    >>> query.vector(profile, None) / query.scale(4)
    array([ 2., -2.])
    """

    pairs: tuple[tuple[int, int], ...] | None = None
    groups: tuple[tuple[int, ...], ...] | None = None
    needs_noise_scale = True

    def __post_init__(self):
        self._within  # noqa: B018 checks the groups
        if self.pairs is not None and (self.groups is not None or not are_pairs(self.pairs) or not self.pairs):
            raise ValueError(
                "pairs must be None or one or more pairs of different items, 0 and up, without groups; got "
                f"{safe_repr(self.pairs)} and groups={safe_repr(self.groups)}."
            )

    @cached_property
    def _within(self):
        return GroupNetWins(self.groups)

    @classmethod
    def examples(cls, n_items: int) -> list[Self]:
        groups = (0, n_items - 1), tuple(range(1, n_items - 1))
        some, every = ((2, 0), (1, 2)), every_pair(n_items)
        return [cls(), cls(groups=groups), cls(groups=((2, 0),)), cls(every), cls(some), cls(((1, 0),))]

    @property
    def kind(self) -> Any:
        return ScaledMargins

    def check(self, n_items: int) -> None:
        self._within.check(n_items)
        if max((max(pair) for pair in self.pairs or ()), default=0) >= n_items:
            raise ValueError(f"pairs must hold some of the {n_items} items, 0 to {n_items - 1}.")
        if self.pairs is not None and len(self.pairs) > _numbers(n_items):
            raise ValueError(f"pairs must hold at most {_numbers(n_items)} pairs, got {len(self.pairs)}.")

    def scale(self, n_items: int) -> int:
        """Return the public integer by which the margins or net wins are multiplied."""
        squared = self._within.sensitivity(n_items, "add_remove").l2_squared
        if self.pairs is not None:
            squared = Fraction(len(self.pairs))
        return max(1, isqrt(int(_squared(n_items) / max(squared, 1))))

    def summed_as(self, n_items: int) -> str:
        return "scaled_margins"

    def summed_about(self, n_items: int) -> dict[str, list[list[int]]]:
        if self.pairs is None:
            return {"groups": self._within.summed_about(n_items)}
        return {"pairs": [list(map(int, pair)) for pair in self.pairs]}

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        if self.pairs is None:
            values = self._within.vector(profile, coins)
        else:
            first, second = np.array(self.pairs, dtype=np.intp).reshape(-1, 2).T
            values = profile.margins[first, second]
        scale = self.scale(profile.n_items)
        small = float(np.abs(values).max(initial=0)) * scale < 2.0**62  # large weights exceed 64 bits
        return values.astype(np.int64 if small else object) * scale

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector[: n_items if self.pairs is None else len(self.pairs)]  # devices append zeros

    def sensitivity(self, n_items: int, neighboring: Neighboring) -> Sensitivity:
        change, squared, numbers = changed_ballots(neighboring), _squared(n_items), _numbers(n_items)
        if self.pairs is not None and len(self.pairs) > numbers:  # a ledger must refuse so many, which may be repeated
            numbers = len(self.pairs)
            squared = max(squared, numbers * self.scale(n_items) ** 2)
        return Sensitivity(change * isqrt(squared * numbers), Fraction(change**2 * squared))


def _squared(n_items):
    """Return the squared L2 sensitivity under "add_remove"."""
    return _RESOLUTION**2 * (n_items * (n_items**2 - 1) // 3)


def _numbers(n_items):
    """Return the largest length of an answer; by Cauchy and Schwarz, it bounds the ratio of L1 to L2."""
    return max(n_items, min(n_pairs(n_items), MOST_PAIRS))
