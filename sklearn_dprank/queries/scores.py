"""Queries for scores of items, for numbers of voters and persons, and for scaled margins of pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import factorial, isqrt, sqrt
from typing import Any, ClassVar
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, check_number, check_whole, safe_repr
from .._utils.lazy import cached_property
from .._utils.types import Neighboring
from ..uncertainty import NormalLaw, PublishedNoise
from .base import Query, Sensitivity
from .histogram import Histogram, completed_ballots, place_counts
from .pairs import AllMargins, are_pairs
from .statistics import MOST_PAIRS, ScaledBallotMargins, cut_scores, listed, net_wins, shared_scores

#: Grid steps per unit of a positional score. Ties of up to 16 items share their scores exactly.
SCORE_GRID = 720720
# What is added to estimated variances: standard deviations of their noise, and voters who rank at random. Without these
# voters, the intervals of 60 real ones hold in 90 % of the samples if their majorities form a cycle.
_SAFETY, _RANDOM_VOTERS = 0.5, 8
_BLOCK = 2**22  # net wins of several ballots that are multiplied at once


@dataclass(frozen=True)
class NetWins(Query):
    """Net wins: for each item, the sum of its margins over all opponents.

    For complete ballots, net wins are twice the centred Borda points. Unlike uncentred points, they can be computed
    without the number of voters. One ballot changes them by at most floor(m^2 / 2) in L1 and 1 in the gauge of the
    permutohedron. Tied and partial ballots lie in the convex hull of strict ones.
    """

    in_words = "the net wins of each item"
    needs = "net_wins"
    published_as = "scores"
    derivable_from = (AllMargins(),)
    device_statistic = "net_wins"

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.net_wins

    def derive_from(self, source: Query, answer: Any) -> Any:
        return answer.sum(axis=1)


@dataclass(frozen=True)
class PositionalScores(Query):
    """Positional scores: for each item, the sum of the scores of its positions.

    Tied items receive the mean score of their positions. Items without an opinion are tied last. Each voter
    contributes an integer number of steps of a public grid, shifted by the median score. The shift is common to all
    items, and the median minimises the L1 sensitivity.

    Parameters
    ----------
    scores : tuple of float
        One score per position, best position first; larger is better.

    Raises
    ------
    ValueError
        If `scores` is not a tuple of finite numbers.
    """

    scores: tuple[float, ...] = field(default=())
    in_words = "the positional scores of each item"
    needs = "placements"
    unseen_last = True
    derivable_from = (Histogram(unseen_last=True),)

    def __post_init__(self):
        if not isinstance(self.scores, tuple):
            raise ValueError(f"scores must be a tuple of numbers, one a position, got {safe_repr(self.scores)}.")
        for score in self.scores:
            check_number(score, "each of scores")

    def check(self, n_items: int) -> None:
        if len(self.scores) != n_items:
            raise ValueError(
                f"scores must have one number for each of the {n_items} positions, got {len(self.scores)}."
            )

    def summed_as(self, n_items: int) -> dict[str, Any]:
        return {"name": "positional_scores", "scores": self._grid[0].tolist()}

    @cached_property
    def _grid(self):
        """Return the scores on the public grid, int64, and the size of a grid step."""
        scores = np.asarray(self.scores, dtype=float)
        top = np.abs(scores).max() or 1.0
        # Small integers keep their exact values; other scores are rounded relative to the largest.
        step = (1.0 if np.array_equal(scores, np.rint(scores)) and top < 2**20 else top) / SCORE_GRID
        grid = np.rint(scores / step).astype(np.int64)
        return grid - int(np.sort(grid)[len(grid) // 2]), step

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        grid = cut_scores(self._grid[0].tolist(), listed(profile.n_items, profile.max_listed))
        item, first, last, voters = profile.placements.T
        share = shared_scores(np.cumsum([0, *grid]), first, last)
        # Sums of large scores of many voters, or of large weights, exceed 64 bits.
        small = float(np.abs(share).max(initial=0)) * voters.sum(dtype=float) < 2.0**62
        totals = np.zeros(profile.n_items, dtype=np.int64 if small else object)
        np.add.at(totals, item, share.astype(totals.dtype) * voters.astype(totals.dtype))
        return totals

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return np.asarray(vector, dtype=float) * self._grid[1]

    def derive_from(self, source: Query, answer: Any) -> Any:
        scores, step = self._grid
        if np.abs(answer).sum(dtype=float) * np.abs(scores).max() >= 2.0**62:
            answer = answer.astype(float)  # the totals may exceed 64-bit integers
        return place_counts(answer) @ scores * step

    def __str__(self):
        return f"PositionalScores of length {len(self.scores)}"


@dataclass(frozen=True)
class ScoresByHistogram(Query):
    """Scores of items whose noise has the law that Gaussian noise on every cell of the histogram would cause.

    Let s be the scores of the positions. Noise of variance v on each of the m! cells gives the same random order of the
    items as independent noise of variance v (m - 2)! (m sum s^2 - (sum s)^2) on the score of each item. So the cells
    are not listed. The stated sensitivity includes the factor of v. Tied and partial ballots are completed by coins, as
    for the histogram.

    Parameters
    ----------
    scores : NetWins or PositionalScores
        Scores to compute.
    """

    scores: NetWins | PositionalScores
    in_words = "the scores of each item from a noisy histogram"
    largest: ClassVar[int] = 150  # items; the noise is still a double
    hopeless: ClassVar[int] = 12
    needs = "positions"
    takes_weights = True

    def __post_init__(self):
        if not isinstance(self.scores, NetWins | PositionalScores):
            raise ValueError(f"scores must be NetWins or PositionalScores, got {safe_repr(self.scores)}.")

    def check(self, n_items: int) -> None:
        if n_items > self.largest:
            raise ValueError(
                f"the noise of a histogram of all {n_items}! rankings drowns every signal; at most {self.largest} "
                "items are accepted: use DPBorda."
            )
        if n_items > self.hopeless:
            warn(
                f"the noise of a histogram of all {n_items}! rankings hides nearly everything in the ballots; "
                "use DPBorda.",
                stacklevel=2,
            )

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        scores, _ = self._whole(profile.n_items)
        places = completed_ballots(profile, coins, self.scores.unseen_last)
        if profile.weights is None:
            return scores[places].sum(axis=1)
        by_place = np.zeros((profile.n_items, profile.n_items), dtype=np.int64)  # total weight, by item and place
        for item, row in enumerate(places):
            np.add.at(by_place[item], row, profile.weights.each)
        return by_place.astype(object) @ scores.astype(object)  # the sums may exceed 64 bits

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return self.scores.read(vector * float(self._whole(n_items)[1]), n_items)

    def _whole(self, n_items):
        """Return the scores of the positions as integers without a common factor, and the factor."""
        scores = np.arange(n_items - 1, -n_items, -2) if isinstance(self.scores, NetWins) else self.scores._grid[0]
        factor = int(np.gcd.reduce(scores)) or 1  # strict rankings have no ties, so they need no finer grid
        return scores // factor, factor

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        # The variance of a score under cell noise of variance 1, without the part that all items share.
        s = self._whole(n_items)[0].tolist()
        spread = factorial(n_items - 2) * (n_items * sum(x * x for x in s) - sum(s) ** 2)
        l2_squared = Histogram().sensitivity(n_items, neighboring).l2_squared * spread
        return Sensitivity(isqrt(int(l2_squared) * n_items) + 1, l2_squared)  # L1 by Cauchy and Schwarz

    def __str__(self):
        return f"{self.scores} by way of a histogram"


@dataclass(frozen=True)
class GroupNetWins(Query):
    """Net wins within groups: for each item, the sum of its margins over its group; 0 for an item without a group.

    One ballot changes the net wins of a group of k items by at most floor(k^2 / 2) in L1 and k (k^2 - 1) / 3 in squared
    L2. A strict ballot reaches these limits in all groups at once. The cost of an answer depends only on the sizes of
    the groups, so their members may depend on earlier answers. The query is never derived from another answer, because
    rules weight it by its own noise.

    Parameters
    ----------
    groups : tuple of tuple of int, or None, default=None
        Items of each group, no item twice. None is one group of all items.
    round : int, default=0
        Number that distinguishes the rounds of a rule that asks repeatedly. Each round has a separate answer and price.

    Raises
    ------
    ValueError
        If an item is in two groups, or is not an integer of at least 0.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.queries import GroupNetWins
    >>> profile = Profile.from_rankings([[0, 1, 2, 3]] * 2)
    >>> GroupNetWins().vector(profile, None)
    array([ 6,  2, -2, -6])
    >>> GroupNetWins(((0, 1), (2, 3))).vector(profile, None)
    array([ 2, -2,  2, -2])
    """

    groups: tuple[tuple[int, ...], ...] | None = None
    round: int = 0
    in_words = "the net wins of each item within its group"
    needs = "net_wins"
    needs_noise_scale = True
    kind_by = ("round",)

    def __post_init__(self):
        check_whole(self.round, "round", 0)
        try:
            hash(self.groups)  # parts of a query must be hashable
            items = [item for group in (() if self.groups is None else self.groups) for item in group]
            for item in items:
                check_whole(item, "groups", 0)
        except (TypeError, ValueError):
            items = [0, 0]  # refused below
        if len(set(items)) < len(items):  # the sensitivity is that of disjoint groups
            raise ValueError(f"groups must hold items, 0 and up, none of them twice; got {safe_repr(self.groups)}.")

    def check(self, n_items: int) -> None:
        if self.groups is not None and max((max(group, default=0) for group in self.groups), default=0) >= n_items:
            raise ValueError(f"groups must hold some of the {n_items} items, 0 to {n_items - 1}.")

    def summed_as(self, n_items: int) -> dict[str, Any]:
        return {"name": "group_net_wins", "sizes": list(map(len, self.summed_about(n_items)))}

    def summed_about(self, n_items: int) -> list[list[int]]:
        groups = (range(n_items),) if self.groups is None else self.groups
        alone = sorted(set(range(n_items)).difference(*groups))  # an item without a group becomes a group of one
        return [list(map(int, group)) for group in (*groups, *([item] for item in alone)) if group]

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.net_wins if self.groups is None else profile.net_wins_within(self.groups)


@dataclass(frozen=True)
class NetWinProducts(Query):
    """Sums over ballots of the products of the net wins of two items: second moments, shape (n_items, n_items).

    The numbers are those of the upper triangle with its diagonal. Their L1 and L2 norms are convex functions of a
    ballot's net wins, so strict rankings have the largest ones. Products of two ballots have an angle of at most 90
    degrees: their scalar product is half of (x y)^2 plus the sum of x_i^2 y_i^2. So a replaced ballot changes the
    squared L2 norm by at most twice that of an added ballot.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.queries.scores import NetWinProducts
    >>> products = NetWinProducts()
    >>> products.read(products.vector(Profile.from_rankings([[0, 1, 2]] * 2), None), 3)
    array([[ 8,  0, -8],
           [ 0,  0,  0],
           [-8,  0,  8]])
    """

    in_words = "the products of the net wins of every two items"
    needs = "positions"
    needs_noise_scale = True

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        if profile.positions is None:
            raise ValueError("covariances need the ballots; build the Profile with keep='positions'.")
        table, sentinel, m = profile.positions.table, profile.positions.sentinel, profile.n_items
        sums, step = np.zeros((m, m), dtype=np.int64), max(1, _BLOCK // m)
        for start in range(0, table.shape[1], step):
            wins = net_wins(table[:, start : start + step], sentinel).astype(float)
            sums += (wins.T @ wins).astype(np.int64)  # sums of a block are below 2^53, so doubles are exact
        return sums[np.triu_indices(m)]

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        table = np.zeros((n_items, n_items), dtype=vector.dtype)
        table[np.triu_indices(n_items)] = vector
        return table + np.triu(table, 1).T

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        wins = range(n_items - 1, -n_items, -2)
        l1, squares, fourths = (sum(abs(each) ** power for each in wins) for power in (1, 2, 4))
        moved = changed_ballots(neighboring)
        return Sensitivity(moved * (l1**2 + squares) // 2, Fraction(moved * (squares**2 + fourths), 2))

    @staticmethod
    def law(
        scores: NDArray[Any], products: NDArray[Any], n_voters: float, std: float, std_of_products: float
    ) -> PublishedNoise:
        """Return the distribution of noisy net wins, with their covariance in samples of voters.

        It is the noisy S - y y^T / n, for products S and net wins y of n voters, without the part that all items share.
        It is replaced by the nearest matrix without negative eigenvalues whose trace is at most n r^2 - |y|^2 / n. No
        ballot has a larger norm than a strict one, r. The variance of a difference then has the noise of six numbers,
        and half of the standard deviation of this noise is added. So is the covariance of 8 voters who rank at random,
        because few voters may all miss an opinion that is rare in the population.
        """
        m, scores = len(scores), scores.astype(float)  # products of integers may exceed 64 bits
        n, scores = max(n_voters, 1.0), scores - scores.mean()
        covariance = products - np.outer(scores, scores) / n
        covariance = covariance - covariance.mean(axis=0)
        values, vectors = np.linalg.eigh(covariance - covariance.mean(axis=1, keepdims=True))
        most, of_random_voter = n * m * (m * m - 1) / 3 - scores @ scores / n, m * (m + 1) / 3
        excess = ((values[::-1].cumsum() - max(most, 0)) / np.arange(1, m + 1)).max()
        values = np.maximum(values - max(excess, 0), 0)
        added = _SAFETY * sqrt(6) * std_of_products / 2 + _RANDOM_VOTERS * of_random_voter
        covariance = (vectors * values) @ vectors.T + added * np.eye(m)
        return PublishedNoise("scores", NormalLaw(std), covariance=covariance)


# Query for the number of voters.


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

    in_words = "the number of voters"
    needs = "net_wins"

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return np.array([profile.total_weight], dtype=np.int64)

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector[0]

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
        moved = 2 - changed_ballots(neighboring)
        return Sensitivity(moved, Fraction(moved))


# Number of persons by total weight, and the choice of ``max_weight="auto"`` from its noisy answer.

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

    in_words = "the number of persons by weight"
    needs = "positions"
    takes_weights = True

    def vector(self, profile: Any, coins: Any) -> NDArray[Any]:
        return profile.persons_by_weight

    def sensitivity(self, n_items: int, neighboring: Neighboring, max_listed: int | None = None) -> Sensitivity:
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
    for k in range(len(counts)):
        sums = counts[k + 1 :].cumsum()
        if not (sums >= _SIGNIFICANT * deviation * np.sqrt(np.arange(1, len(sums) + 1))).any():
            break  # at the latest at the last class, which has no sums
    return int(2**k)


# Margins of pairs or net wins within groups, scaled to a common sensitivity.


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
        Pairs (i, j) to ask about, at most 16384, none of them twice. The answer has the margin of i over j for each.
    groups : tuple of tuple of int, or None, default=None
        Without pairs: items of each group, no item twice. None is one group of all items. The answer has the net wins
        of each item within its group, 0 for an item without a group.

    Raises
    ------
    ValueError
        If `pairs` are not pairs of different items, none or too many are given, one is given twice, an item is in two
        groups, or both parameters are given.

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
    in_words = "the margins of pairs or net wins within groups"
    needs_noise_scale = True
    kind_by = ()
    device_statistic = "scaled_margins"

    def __post_init__(self):
        self._within  # noqa: B018 checks the groups
        if self.pairs is None:
            return
        if self.groups is not None or not are_pairs(self.pairs) or not 1 <= len(self.pairs) <= MOST_PAIRS:
            raise ValueError(
                f"pairs must be None or 1 to {MOST_PAIRS} pairs of different items, 0 and up, without groups; got "
                f"{safe_repr(self.pairs)} and groups={safe_repr(self.groups)}."
            )
        if len(set(map(frozenset, self.pairs))) < len(self.pairs):  # the sensitivity is that of at most C(m, 2) pairs
            raise ValueError(f"pairs must hold no pair twice, got {safe_repr(self.pairs)}.")

    @cached_property
    def _within(self):
        return GroupNetWins(self.groups)

    def check(self, n_items: int) -> None:
        self._within.check(n_items)
        if max((max(pair) for pair in self.pairs or ()), default=0) >= n_items:
            raise ValueError(f"pairs must hold some of the {n_items} items, 0 to {n_items - 1}.")

    def scale(self, n_items: int, max_listed: int | None = None) -> int:
        """Return the public integer by which the margins or net wins are multiplied, under a bound on the ballots."""
        return ScaledBallotMargins(n_items, listed(n_items, max_listed)).scale(self.summed_about(n_items))

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
        scale = self.scale(profile.n_items, profile.max_listed)
        small = float(np.abs(values).max(initial=0)) * scale < 2.0**62  # large weights exceed 64 bits
        return values.astype(np.int64 if small else object) * scale

    def read(self, vector: NDArray[Any], n_items: int) -> Any:
        return vector[: n_items if self.pairs is None else len(self.pairs)]  # devices append zeros
