"""What may be asked of a profile, how much one ballot can change the answer, and what follows from what.

An answer starts as a vector of integers (`vector`), to which a channel may add noise, and is then shaped
for a rule (`read`). A query that follows from one already answered is free (`derive`).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

#: One unit of a positional score is cut into this many: every tie of up to 16 items is shared exactly.
SCORE_GRID = 720720


class Sensitivity(NamedTuple):
    """How far one ballot can move a query's vector.

    Attributes
    ----------
    l1 : int
        In the sum of absolute values.
    l2_squared : Fraction
        In the sum of squares.
    gauge : int or None
        In the gauge of the net-win permutohedron, for K-norm noise; None where it does not apply.
    """

    l1: int
    l2_squared: Fraction
    gauge: int | None = None


class Ask(NamedTuple):
    """A rule's declaration: `times` queries of the type of `query`, for `share` of the budget."""

    query: "Query"
    times: int = 1
    share: Fraction = Fraction(1)


class Tallies(NamedTuple):
    """Answers about pairs from voters who all flip with one probability.

    Attributes
    ----------
    flip : float
        Probability that an answer is the opposite of the voter's opinion.
    wins : ndarray of int64, shape (n_items, n_items)
        ``wins[i, j]`` answers said that i goes before j.
    """

    flip: float
    wins: np.ndarray


@dataclass(frozen=True)
class Query:
    """A question about a profile; subclasses say which.

    ``steps`` are the queries it follows from directly.
    """

    steps: ClassVar[tuple["Query", ...]] = ()

    def vector(self, profile):
        """Return the exact integer statistic, int64, shape (k,)."""
        raise NotImplementedError

    def read(self, vector, n_items):
        """Shape a (possibly noisy) vector into the answer that rules read."""
        return vector

    def sensitivity(self, n_items, neighboring):
        """Return the `Sensitivity` under "add_remove" or "replace"."""
        raise NotImplementedError

    def published_l1(self, n_items):
        """Return the l1 sensitivity that the paper prints, or None; for ``calibration="published"``."""
        return None

    def step(self, source, answer):
        """Return this query's answer from the answer to one of its ``steps``."""
        raise NotImplementedError

    def follows_from(self, released):
        """Tell whether the answer follows from the answer to `released` (public; types only)."""
        return self == released or any(step.follows_from(released) for step in self.steps)

    def derive(self, released, answer):
        """Return the answer as it follows from the published `answer` to `released`.

        Raises
        ------
        LookupError
            If it does not follow.
        """
        if self == released:
            return answer
        for step in self.steps:
            if step.follows_from(released):
                return self.step(step, step.derive(released, answer))
        raise LookupError(f"{self} does not follow from {released}.")

    def __str__(self):
        return type(self).__name__


def n_pairs(n_items):
    """Return C(n_items, 2)."""
    return n_items * (n_items - 1) // 2


def _moves(neighboring):
    """How many of one voter's contributions a neighbour can change, where any opposite pair is allowed."""
    return 2 if neighboring == "replace" else 1


@dataclass(frozen=True)
class PairTallies(Query):
    """For each flip probability, how many answers put i before j: a tuple of `Tallies`.

    Asked of voters who answer for themselves; on exact ballots the flip probability is 0.
    """

    pairs: tuple[tuple[int, int], ...] | None = None

    def vector(self, profile):
        return profile.pairwise_counts.ravel()

    def read(self, vector, n_items):
        wins = np.array(vector).reshape(n_items, n_items)
        if self.pairs is not None:
            asked = np.zeros((n_items, n_items), dtype=bool)
            rows, columns = np.array(self.pairs).T
            asked[rows, columns] = asked[columns, rows] = True
            wins[~asked] = 0
        return (Tallies(0.0, wins),)

    def sensitivity(self, n_items, neighboring):
        pairs = n_pairs(n_items) if self.pairs is None else len(self.pairs)
        return Sensitivity(pairs * _moves(neighboring), Fraction(pairs * _moves(neighboring)))


@dataclass(frozen=True)
class AllMargins(Query):
    """All pairwise margins: an antisymmetric matrix, positive where the row beats the column."""

    steps: ClassVar[tuple[Query, ...]] = (PairTallies(),)

    def vector(self, profile):
        return profile.margins[np.triu_indices(profile.n_items, 1)]

    def read(self, vector, n_items):
        out = np.zeros((n_items, n_items), dtype=vector.dtype)
        out[np.triu_indices(n_items, 1)] = vector
        return out - out.T

    def sensitivity(self, n_items, neighboring):
        moves = _moves(neighboring)
        return Sensitivity(moves * n_pairs(n_items), Fraction(moves**2 * n_pairs(n_items)))

    def step(self, source, answer):
        return estimated_margins(answer)


@dataclass(frozen=True)
class PairMargin(Query):
    """The margin of one pair: voters who prefer i to j minus those who prefer j to i."""

    i: int = 0
    j: int = 1
    steps: ClassVar[tuple[Query, ...]] = (AllMargins(),)

    def vector(self, profile):
        return profile.margins[self.i, self.j : self.j + 1]

    def read(self, vector, n_items):
        return vector[0]

    def sensitivity(self, n_items, neighboring):
        moves = _moves(neighboring)
        return Sensitivity(moves, Fraction(moves**2))

    def published_l1(self, n_items):
        return 1  # Hay et al. 2017, P-SORT: Lap(1/epsilon') on a margin, right under add/remove only

    def step(self, source, answer):
        return answer[self.i, self.j]


@dataclass(frozen=True)
class NetWins(Query):
    """For each item, its margins summed over all opponents.

    Minus twice the centred Borda score; unlike the uncentred one it needs no count of voters. A ballot
    moves it by at most floor(m^2 / 2) in l1, and to gauge 1 of the permutohedron: tied and partial
    ballots lie in the convex hull of the strict ones.
    """

    steps: ClassVar[tuple[Query, ...]] = (AllMargins(),)

    def vector(self, profile):
        return profile.net_wins

    def sensitivity(self, n_items, neighboring):
        moves = _moves(neighboring)
        l2_squared = Fraction(n_items * (n_items**2 - 1), 3)
        return Sensitivity(moves * (n_items**2 // 2), moves**2 * l2_squared, gauge=moves)

    def published_l1(self, n_items):
        return n_items * (n_items - 1)  # Hay et al. 2017, P-BORDA: m(m-1)/2 on Borda counts, half as wide

    def step(self, source, answer):
        return answer.sum(axis=1)


@dataclass(frozen=True)
class PositionalScores(Query):
    """For each item, the scores of the positions where voters put it.

    Tied items share the mean of their positions' scores; items without an opinion are tied last. Each
    voter's contribution is an integer multiple of a public grid, shifted by the median score (a shift
    common to all items needs no count of voters, and the median makes l1 smallest).

    Parameters
    ----------
    scores : tuple of float
        One score a position, best position first; larger is better.
    """

    scores: tuple[float, ...] = field(default=())

    @cached_property
    def _grid(self):
        """The scores on the public grid, and the unit."""
        scores = np.asarray(self.scores, dtype=float)
        top = np.abs(scores).max() or 1.0
        unit = (1.0 if np.array_equal(scores, np.rint(scores)) and top < 2**20 else top) / SCORE_GRID
        grid = np.rint(scores / unit).astype(np.int64)
        return grid - int(np.sort(grid)[len(grid) // 2]), unit

    def vector(self, profile):
        grid, _ = self._grid
        sums = np.concatenate([[0], np.cumsum(grid)])
        item, first, last, voters = profile.placements.T
        # 2 * sum + size over 2 * size: the mean rounded to the nearest integer, without floats.
        size = last - first + 1
        share = (2 * (sums[last + 1] - sums[first]) + size) // (2 * size)
        out = np.zeros(profile.n_items, dtype=np.int64)
        np.add.at(out, item, share * voters)
        return out

    def read(self, vector, n_items):
        return vector * self._grid[1]

    def sensitivity(self, n_items, neighboring):
        change = sorted(int(s) for s in self._grid[0])
        if neighboring == "replace":  # the best order against the worst
            change = [a - b for a, b in zip(change, reversed(change), strict=True)]
        # Tied ballots average strict ones (convexity), then round: at most 1 an item in all, so m in
        # l1 and sqrt(m) in l2.
        squares = sum(c * c for c in change)
        l2_squared = squares + 2 * (isqrt(squares * n_items) + 1) + n_items
        return Sensitivity(sum(map(abs, change)) + n_items, Fraction(l2_squared))

    def __str__(self):
        return f"PositionalScores of length {len(self.scores)}"


def estimated_margins(tallies):
    """Return each pair's mean margin as estimated from randomised answers.

    An answer flipped with probability f estimates the margin without bias after division by 1 - 2f;
    groups are weighted by the inverse of that variance. Pairs nobody was asked about get 0.

    Parameters
    ----------
    tallies : iterable of Tallies
        Answer counts, one entry for each flip probability.

    Returns
    -------
    ndarray of float, shape (n_items, n_items)
        Antisymmetric; the estimated margin divided by the number of voters.
    """
    signal: Any = 0.0
    weight: Any = 0.0
    for flip, wins in tallies:
        gain = 1 - 2 * flip
        signal = signal + gain * (wins - wins.T)
        weight = weight + gain**2 * (wins + wins.T)
    return np.divide(signal, weight, out=np.zeros_like(signal), where=weight > 0)
