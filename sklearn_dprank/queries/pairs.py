"""Queries about pairs of items: margins, and tallies of voters' answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, check_whole, safe_repr
from .._utils.types import Neighboring
from ..uncertainty import AnswersLaw
from .base import Query, Sensitivity, n_pairs
from .histogram import Histogram, items_of, place_counts
from .statistics import listed


class Tallies(NamedTuple):
    """Numbers of answers about pairs, from voters with one flip probability.

    Attributes
    ----------
    flip : float
        Probability that an answer is the opposite of the voter's opinion.
    wins : ndarray of int64, shape (n_items, n_items)
        ``wins[i, j]`` is the number of answers that put i before j.
    """

    flip: float
    wins: np.ndarray

    @property
    def law(self) -> AnswersLaw | None:
        """Law of the noise in margins estimated from these tallies only; None if every answer is a fair coin."""
        return AnswersLaw(1 - 2 * self.flip, self.wins + self.wins.T) if self.flip < 0.5 else None


@dataclass(frozen=True)
class PairTallies(Query):
    """Number of answers that put i before j, for each flip probability: a tuple of `Tallies`.

    Clients answer it directly. On exact ballots, the flip probability is 0.

    Parameters
    ----------
    pairs : tuple of (int, int) or None, default=None
        Pairs to ask about. None is every pair.
    round : int, default=0
        Number that distinguishes the rounds of a rule that asks repeatedly.

    Raises
    ------
    ValueError
        If `pairs` are not pairs of different items, or `round` is negative.
    """

    pairs: tuple[tuple[int, int], ...] | None = None
    round: int = 0
    in_words = "the number of voters who prefer each item of a pair"
    kind_by = ()
    device_statistic = "pair_counts"

    def __post_init__(self):
        if self.pairs is not None and not are_pairs(self.pairs):  # the sensitivity is that of len(pairs) pairs
            raise ValueError(f"pairs must be None or pairs of different items, 0 and up, got {safe_repr(self.pairs)}.")
        check_whole(self.round, "round", 0)

    def check(self, n_items: int) -> None:
        if max((max(pair) for pair in self.pairs or ()), default=0) >= n_items:
            raise ValueError(f"pairs must hold some of the {n_items} items, 0 to {n_items - 1}.")

    @property
    def derivable_from(self) -> tuple[Query, ...]:  # type: ignore[override]
        return () if self == PairTallies() else (PairTallies(),)

    def asked_pairs(self, n_items: int) -> Sequence[tuple[int, int]]:
        return tuple(combinations(range(n_items), 2)) if self.pairs is None else self.pairs

    def summed_about(self, n_items: int) -> list[list[int]]:
        return [list(pair) for pair in sorted({(int(min(pair)), int(max(pair))) for pair in self.asked_pairs(n_items)})]

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return (profile.pairwise_counts if self.pairs is None else self._asked(profile.pairwise_counts)).ravel()

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return (Tallies(0.0, np.array(vector).reshape(n_items, n_items)),)

    def derive_from(self, source: Query, answer: Any) -> Any:
        if self.pairs is None:
            return answer
        return tuple(Tallies(tally.flip, self._asked(tally.wins)) for tally in answer)

    def _asked(self, wins):
        """Return the tallies of `pairs`, with 0 for all other pairs."""
        asked = np.zeros_like(wins, dtype=bool)
        rows, columns = np.array(self.pairs, dtype=np.intp).reshape(-1, 2).T
        asked[rows, columns] = asked[columns, rows] = True
        return np.where(asked, wins, 0)

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        pairs = n_pairs(listed(n_items, max_listed))
        if self.pairs is not None:
            pairs = min(pairs, len(self.pairs))
        return Sensitivity(pairs * changed_ballots(neighboring), Fraction(pairs * changed_ballots(neighboring)))


@dataclass(frozen=True)
class AllMargins(Query):
    """All pairwise margins: an antisymmetric matrix, positive where the row's item beats the column's."""

    in_words = "the margins of all pairs"
    published_as = "margins"
    derivable_from = PairTallies(), Histogram()
    device_statistic = "margins"

    def asked_pairs(self, n_items: int) -> Sequence[tuple[int, int]]:
        return tuple(combinations(range(n_items), 2))

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.margins[np.triu_indices(profile.n_items, 1)]

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        out = np.zeros((n_items, n_items), dtype=vector.dtype)
        out[np.triu_indices(n_items, 1)] = vector
        return out - out.T

    def derive_from(self, source: Query, answer: Any) -> Any:
        if source == PairTallies():
            return estimated_margins(answer)
        margins, cells = [], answer
        for n_left in range(items_of(answer), 1, -1):
            by_first = cells.reshape(n_left, -1)  # by the place of the first item that is left
            ranks = place_counts(by_first)  # of the items behind it in order, among themselves
            wins = sum(ranks[place, :, place:].sum(axis=1) for place in range(n_left))
            margins.append(2 * wins - answer.sum())
            cells = by_first.sum(axis=0)
        return self.read(np.concatenate(margins), len(margins) + 1)


@dataclass(frozen=True)
class PairMargin(Query):
    """Margin of one pair: voters who prefer i to j minus voters who prefer j to i."""

    i: int = 0
    j: int = 1
    in_words = "the margin of a pair"
    kind_by = ()
    derivable_from = (AllMargins(),)
    device_statistic = "pair_margin"

    def __post_init__(self):
        check_whole(self.i, "i", 0)
        check_whole(self.j, "j", 0)
        if self.i == self.j:
            raise ValueError(f"i and j must be different items, got {self.i} twice.")

    def check(self, n_items: int) -> None:
        for name, item in (("i", self.i), ("j", self.j)):
            check_whole(item, name, 0, n_items - 1)

    def asked_pairs(self, n_items: int) -> Sequence[tuple[int, int]]:
        return ((self.i, self.j),)

    def summed_about(self, n_items: int) -> list[int]:
        return [int(self.i), int(self.j)]

    def most_changed(self, n_items: int, max_listed: int | None) -> int | None:
        # A subclass may ask about one pair in several ways.
        return n_pairs(listed(n_items, max_listed)) if type(self) is PairMargin else None

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.margins[self.i, self.j : self.j + 1]

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector[0]

    def derive_from(self, source: Query, answer: Any) -> Any:
        return answer[self.i, self.j]


def are_pairs(pairs):
    """Return whether `pairs` is a tuple of pairs of different non-negative integers."""
    return isinstance(pairs, tuple) and all(
        isinstance(pair, tuple)
        and all(isinstance(item, Integral) and int(item) >= 0 for item in pair)
        and len(set(pair)) == len(pair) == 2
        for pair in pairs
    )


def estimated_margins(tallies: Iterable[Tallies]) -> NDArray[np.float64]:
    """Return the mean margin of each pair, estimated from randomised answers.

    An answer of 1 or -1 with flip probability f, divided by 1 - 2f, is an unbiased estimate of the mean margin. Groups
    are weighted by the inverse variance of this estimate. Pairs without answers get 0.

    Parameters
    ----------
    tallies : iterable of Tallies
        Numbers of answers, one entry for each flip probability.

    Returns
    -------
    ndarray of float, shape (n_items, n_items)
        Antisymmetric matrix: the estimated margin divided by the number of voters who answered.
    """
    signal: Any = 0.0
    weight: Any = 0.0
    for flip, wins in tallies:
        gain = 1 - 2 * flip
        signal = signal + gain * (wins - wins.T)
        weight = weight + gain**2 * (wins + wins.T)
    return np.divide(signal, weight, out=np.zeros_like(signal), where=weight > 0)
