"""Statistics of one ballot and their sensitivities; devices, curators and queries share these definitions.

Ballots are `~sklearn_dprank.ballots.reading.Positions`. Devices load this module, so it needs NumPy only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, is_pair, is_whole
from .._utils.types import Neighboring
from ..ballots.reading import Positions, completed, placed, sorted_rows
from ..orders.permutations import permutation_index

#: Largest number of pairs in one question about scaled margins.
MOST_PAIRS = 2**14
_RESOLUTION = 64  # scale of the net wins of all items; the scale of any other question is at least as large
_LARGEST_SCORES = 2**58  # sum of absolute scores stays below it, so that shared scores are 64-bit integers


class Sensitivity(NamedTuple):
    """Largest change of a query's vector between neighbouring profiles.

    Attributes
    ----------
    l1 : int
        L1 norm of the change.
    l2_squared : Fraction
        Squared L2 norm of the change.
    gauge : int, Fraction or None
        Gauge of the change, for the net-win permutohedron and K-norm noise. None if it does not apply.
    """

    l1: int
    l2_squared: Fraction
    gauge: int | Fraction | None = None

    def within(self, other: Sensitivity) -> bool:
        """Return whether noise calibrated to the sensitivity `other` also covers this sensitivity.

        Examples
        --------
        >>> Sensitivity(2, Fraction(4)).within(Sensitivity(3, Fraction(5)))
        True
        """
        gauge_fits = other.gauge is None or (self.gauge is not None and self.gauge <= other.gauge)
        return self.l1 <= other.l1 and self.l2_squared <= other.l2_squared and gauge_fits


def places(table: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return (order, first, last, ordered) of each ballot, arrays of shape (n_voters, n_items).

    `order` lists the items of each ballot, best first, as indices into the ravelled transpose of `table`. `first` and
    `last` are the first and the last place that an item shares with the items tied with it. Items without an opinion
    are tied last. `ordered` contains the positions. `table` has shape (n_items, n_voters).
    """
    ballots = np.ascontiguousarray(table.T)
    order, changes = sorted_rows(ballots)
    place, n_items = np.arange(len(table)), len(table)
    # A tie begins at the last change up to a place, and ends before the next one: running extremes from both sides.
    first = np.maximum.accumulate(changes * place, axis=1)
    last = np.full(ballots.shape, n_items - 1)
    np.minimum.accumulate(np.where(changes[:, 1:], place[:-1], n_items - 1)[:, ::-1], axis=1, out=last[:, -2::-1])
    return order, first, last, ballots.ravel()[order]


def net_wins(table: NDArray[Any], sentinel: int) -> NDArray[np.int64]:
    """Return each voter's net wins, shape (n_voters, n_items): items beaten minus items that win, without ties."""
    order, first, last, ordered = places(table)
    silent = ordered == sentinel
    n_ranked = len(table) - np.count_nonzero(silent, axis=1, keepdims=True)
    return placed(np.where(silent, 0, (n_ranked - 1 - last) - first), order)


def margins(table: NDArray[Any], sentinel: int, rows: Any, columns: Any) -> NDArray[np.int8]:
    """Return each voter's margins of pairs, shape (n_pairs, n_voters); 0 for ties and missing opinions."""
    first, second = table[rows], table[columns]
    silent = (first == sentinel) | (second == sentinel)
    return np.where(silent, np.int8(0), (first < second).astype(np.int8) - (first > second))


def listed(n_items: int, max_listed: int | None) -> int:
    """Return the largest number of items that a ballot lists, with the public bound `max_listed` or without one."""
    return n_items if max_listed is None else min(n_items, max_listed)


def wins_moved(sizes: Sequence[int], n_listed: int) -> tuple[int, int]:
    """Return the largest L1 and squared L2 norms of net wins within groups, for a ballot that lists `n_listed` items.

    Both norms are convex in the number of items that a group holds. So the largest groups come first.

    Examples
    --------
    >>> wins_moved([2, 3], 4)
    (4, 8)
    """
    l1 = cubes = 0
    for size in sorted(sizes, reverse=True):
        inside = min(size, n_listed)
        n_listed -= inside
        l1, cubes = l1 + inside**2 // 2, cubes + inside * (inside**2 - 1)
    return l1, cubes // 3


def cut_scores(scores: list[int], n_listed: int) -> list[int]:
    """Return integer scores whose places after the first `n_listed` share their mean, minus the new median.

    On a longer ballot, these scores count the first `n_listed` items only. The shift is common to all items.
    """
    rest = scores[n_listed:]
    if not rest:
        return scores
    cut = [*scores[:n_listed], *[(2 * sum(rest) + len(rest)) // (2 * len(rest))] * len(rest)]
    median = sorted(cut)[len(cut) // 2]
    return [score - median for score in cut]


def random_items(ballots: Positions, n_listed: int, coins: Any) -> Positions:
    """Return the ballots with at most `n_listed` of their items, chosen by the voters' coins; the others have no place.

    On average, a pair of K items counts n_listed (n_listed - 1) / (K (K - 1)). The work and the coins depend only on
    the shape of the table, so they do not reveal the lengths.
    """
    (n_items, n_voters), silent = ballots.table.shape, ballots.table == ballots.sentinel
    chance = np.where(silent, n_items, coins.permutations(n_voters, n_items).T.astype(np.int32))
    table = ballots.table.copy()
    table[chance > np.sort(chance, axis=0)[n_listed - 1]] = ballots.sentinel
    return Positions(table, (table == ballots.sentinel).any(axis=1))


def shared_scores(sums: NDArray[Any], first: NDArray[Any], last: NDArray[Any]) -> NDArray[np.int64]:
    """Return the mean score of places `first` to `last`, rounded half up in integers; `sums` are cumulative, from 0."""
    size = last - first + 1
    return (2 * (sums[last + 1] - sums[first]) + size) // (2 * size)


class Statistic:
    """Vector of integers of one ballot; sums over voters answer a query.

    The constructor of a subclass takes the number of items, the largest number of them that a ballot lists under the
    public bound, and the fields in `states`. It sets `numbers`, `largest`, `added` and perhaps `replaced`. Longer
    ballots are in the convex hull of those within the bound: see `~sklearn_dprank.ballots.weights.shortened`.

    Attributes
    ----------
    numbers : int
        Length of the vector.
    largest : int
        Bound on the absolute values in the vector.
    added : Sensitivity
        Largest change of the sum by a ballot that is added or removed, over all subjects that `accepts` accepts.
    replaced : Sensitivity or None
        The same by a replaced ballot. None is that of a ballot and its reverse, whose vectors are opposite.
    states : tuple of str
        Fields of the statistic in a protocol, except its name. The constructor raises ValueError if they are invalid,
        because the curator is not trusted.
    asked_about : str or None
        Field of a question that names its subject: a pair, several pairs, or groups of items.
    n_listed : int or None
        Number of items to which devices cut longer ballots; None if they never do.
    """

    states: tuple[str, ...] = ()
    asked_about: str | None = None
    n_listed: int | None = None
    cuts_ballots = True  # False if ballots of any length keep the bound
    numbers: int
    largest: int
    added: Sensitivity
    replaced: Sensitivity | None = None

    def accepts(self, about: Any) -> bool:
        """Return whether a question may have this subject; the curator is not trusted."""
        return about is None

    def of(self, ballots: Any, about: Any, coins: Any) -> NDArray[np.int64]:
        """Return each ballot's vector, int64, shape (n_voters, numbers)."""
        raise NotImplementedError

    def counted(self, ballots: Any, about: Any, coins: Any) -> NDArray[np.int64]:
        """Return each ballot's vector as devices count it: that of `n_listed` random items of a longer ballot."""
        return self.of(ballots if self.n_listed is None else random_items(ballots, self.n_listed, coins), about, coins)

    def sensitivity(self, neighboring: Neighboring) -> Sensitivity:
        """Return the largest change of the sum between neighbours, over all subjects that `accepts` accepts."""
        if changed_ballots(neighboring) == 1:
            return self.added
        l1, l2_squared, gauge = self.added
        return self.replaced or Sensitivity(2 * l1, 4 * l2_squared, None if gauge is None else 2 * gauge)


class _GroupNetWins(Statistic):
    """Net wins within groups: the protocol fixes their sizes, and each question names their members."""

    states: tuple[str, ...] = ("sizes",)
    asked_about: str | None = "groups"

    def __init__(self, n_items: int, n_listed: int, sizes: Any) -> None:
        valid = type(sizes) is list and all(is_whole(size, 1, n_items) for size in sizes)
        if not valid or sum(sizes) != n_items:
            raise ValueError("sizes must be those of groups that hold each item once")
        l1, l2_squared = wins_moved(sizes, n_listed)
        self.numbers, self.largest, self.sizes = n_items, min(n_listed, max(sizes)) - 1, sizes
        self.added = Sensitivity(l1, Fraction(l2_squared))

    def accepts(self, about):
        return _are_groups(about, self.numbers) and [len(group) for group in about] == self.sizes

    def of(self, ballots, about, coins):
        return _group_net_wins(ballots, about)


class _NetWins(Statistic):
    """Net wins of all items.

    The j best of k listed items win at most j (k - j) times. In the permutohedron of m items, j items win up to
    j (m - j) times. So the gauge is (k - 1) / (m - 1), of the best item.
    """

    def __init__(self, n_items: int, n_listed: int) -> None:
        l1, l2_squared = wins_moved([n_items], n_listed)
        gauge = 1 if n_listed == n_items else Fraction(n_listed - 1, n_items - 1)
        self.numbers, self.largest = n_items, n_listed - 1
        self.added = Sensitivity(l1, Fraction(l2_squared), gauge)

    def of(self, ballots, about, coins):
        return net_wins(ballots.table, ballots.sentinel)


class _Margins(Statistic):
    """Margins of all pairs, in row-major order."""

    def __init__(self, n_items: int, n_listed: int) -> None:
        moved = math.comb(n_listed, 2)
        self.n_items, self.numbers, self.largest = n_items, math.comb(n_items, 2), 1
        self.added = Sensitivity(moved, Fraction(moved))

    def of(self, ballots, about, coins):
        return margins(ballots.table, ballots.sentinel, *np.triu_indices(self.n_items, 1)).T.astype(np.int64)


class _PairMargin(Statistic):
    """Margin of one item over another; each question names the two items, in either order."""

    asked_about = "pair"

    def __init__(self, n_items: int, n_listed: int) -> None:
        self.n_items, self.numbers, self.largest, self.added = n_items, 1, 1, Sensitivity(1, Fraction(1))

    def accepts(self, about):
        return _is_either_way(about, self.n_items)

    def of(self, ballots, about, coins):
        return margins(ballots.table, ballots.sentinel, *np.array(about)[:, None]).T.astype(np.int64)


class _PairCounts(Statistic):
    """For each ordered pair of items, 1 if the first precedes the second; 0 if the question does not name the pair."""

    asked_about = "pairs"

    def __init__(self, n_items: int, n_listed: int) -> None:
        # A replaced ballot can move all its pairs, and another ballot as many others.
        moved = math.comb(n_listed, 2)
        self.n_items, self.numbers, self.largest = n_items, n_items**2, 1
        self.added, self.replaced = (Sensitivity(times * moved, Fraction(times * moved)) for times in (1, 2))

    def accepts(self, about):
        valid = type(about) is list and len(about) <= math.comb(self.n_items, 2)
        valid = valid and all(is_pair(pair, self.n_items) for pair in about)
        return valid and len(set(map(tuple, about))) == len(about)

    def of(self, ballots, about, coins):
        m, (first, second) = self.n_items, np.array(about, dtype=np.int64).reshape(-1, 2).T
        each = margins(ballots.table, ballots.sentinel, first, second).T
        counts = np.zeros((len(each), m, m), dtype=np.int64)
        counts[:, first, second], counts[:, second, first] = each > 0, each < 0
        return counts.reshape(len(each), -1)


class ScaledBallotMargins(Statistic):
    """Margins of pairs, or net wins within groups, times an integer scale, then zeros.

    The scale is the largest for which the squared L2 sensitivity of adding a ballot is at most that of 64 times the
    net wins of all items. So each question has the same cost.
    """

    asked_about = "margins"

    def __init__(self, n_items: int, n_listed: int) -> None:
        self.n_items, self._listed = n_items, n_listed
        #: Squared L2 sensitivity of adding a ballot.
        self.squared = _RESOLUTION**2 * wins_moved([n_items], self._listed)[1]
        self.numbers, moved = (max(each, min(math.comb(each, 2), MOST_PAIRS)) for each in (n_items, self._listed))
        # By Cauchy and Schwarz, `moved`, the largest number of changed entries, bounds the squared ratio of L1 to L2.
        self.added = Sensitivity(math.isqrt(self.squared * moved), Fraction(self.squared))
        self.largest = math.isqrt(self.squared)

    def accepts(self, about):
        if type(about) is not dict or set(about) not in ({"pairs"}, {"groups"}):
            return False
        ((name, lists),) = about.items()
        if name == "groups":
            return _are_groups(lists, self.n_items) and all(lists)
        few = type(lists) is list and 1 <= len(lists) <= self.numbers
        if not few or not all(_is_either_way(pair, self.n_items) for pair in lists):
            return False
        return len(set(map(frozenset, lists))) == len(lists)  # the scale holds if a ballot has each pair once

    def scale(self, about: Mapping[str, Any]) -> int:
        """Return the scale of a question about these pairs or groups."""
        if "pairs" in about:
            squared = min(len(about["pairs"]), math.comb(self._listed, 2))
        else:
            squared = wins_moved([*map(len, about["groups"])], self._listed)[1]
        return max(1, math.isqrt(self.squared // max(squared, 1)))

    def of(self, ballots, about, coins):
        if "groups" in about:
            values = _group_net_wins(ballots, about["groups"])
        else:
            first, second = np.array(about["pairs"], dtype=np.int64).reshape(-1, 2).T
            values = margins(ballots.table, ballots.sentinel, first, second).T.astype(np.int64)
        return np.pad(self.scale(about) * values, ((0, 0), (0, self.numbers - values.shape[1])))


class _PositionalScores(Statistic):
    """Scores of the items' places; tied items share their mean score, and items without a position are tied last."""

    states = ("scores",)
    cuts_ballots = False  # the places after the first few share one score

    def __init__(self, n_items: int, n_listed: int, scores: Any) -> None:
        valid = type(scores) is list and len(scores) == n_items
        valid = valid and all(is_whole(score, 1 - 2**53) for score in scores)
        if not valid or sum(map(abs, scores)) >= _LARGEST_SCORES:
            raise ValueError("scores must be an integer for each place")
        scores = cut_scores(scores, n_listed)
        self.scores, best_first = scores, sorted(scores, reverse=True)
        # By the rearrangement inequality, no two ballots differ more than one and its reverse.
        replaced = [high - low for high, low in zip(best_first, reversed(best_first), strict=True)]
        self.numbers, self.largest = n_items, max(map(abs, scores))
        self.added, self.replaced = self._moved(scores), self._moved(replaced)

    def of(self, ballots, about, coins):
        order, first, last, _ = places(ballots.table)
        return placed(shared_scores(np.cumsum([0, *self.scores]), first, last), order)

    @staticmethod
    def _moved(change):
        """Return the sensitivity, if `change` is the largest change between strict ballots."""
        # Tied ballots are averages of strict ones (convexity), then rounded: at most 1 per item in total, so m in L1
        # and sqrt(m) in L2. The squared L2 is (sqrt(squares) + sqrt(m))^2, rounded up.
        m, squares = len(change), sum(each * each for each in change)
        return Sensitivity(sum(map(abs, change)) + m, Fraction(squares + 2 * (math.isqrt(squares * m) + 1) + m))


class _Histogram(Statistic):
    """Indicator of the ballot's ranking; the voter's own coins complete ties and missing opinions."""

    unseen_last = False
    cuts_ballots = False  # a ballot of any length is one cell

    def __init__(self, n_items: int, n_listed: int) -> None:
        self.numbers, self.largest = math.factorial(n_items), 1  # a replaced ballot leaves a cell and enters another
        self.added, self.replaced = Sensitivity(1, Fraction(1)), Sensitivity(2, Fraction(2))

    def of(self, ballots, about, coins):
        complete = completed(ballots.table, ballots.sentinel, coins, unseen_last=self.unseen_last)
        cells = np.zeros((complete.shape[1], self.numbers), dtype=np.int64)
        cells[np.arange(len(cells)), permutation_index(complete)] = 1
        return cells


class _HistogramUnseenLast(_Histogram):
    unseen_last = True


#: Statistics by their names in protocols.
STATISTICS: Mapping[str, type[Statistic]] = MappingProxyType(
    {
        "net_wins": _NetWins,
        "margins": _Margins,
        "pair_margin": _PairMargin,
        "pair_counts": _PairCounts,
        "group_net_wins": _GroupNetWins,
        "scaled_margins": ScaledBallotMargins,
        "positional_scores": _PositionalScores,
        "histogram": _Histogram,
        "histogram_unseen_last": _HistogramUnseenLast,
    }
)


def statistic(stated: Any, n_items: int, max_listed: int | None = None) -> Statistic:
    """Return the statistic that a protocol or a query names; raise ValueError if it is unknown or invalid.

    Examples
    --------
    >>> groups = statistic({"name": "group_net_wins", "sizes": [2, 2]}, 4)
    >>> groups.sensitivity("add_remove").l1, groups.accepts([[0, 3], [1, 2]]), groups.accepts([[0, 3], [0, 2]])
    (4, True, False)
    """
    bare = type(stated) is dict and len(stated) == 1  # a name without fields must be text, so that each has one form
    fields = dict(stated) if type(stated) is dict and not bare else {"name": stated}
    name = fields.pop("name", None)
    kind: Any = STATISTICS.get(name) if type(name) is str else None
    if kind is None or set(fields) != set(kind.states):
        raise ValueError(f"statistic must be one of {list(STATISTICS)}, with what belongs to it and nothing else")
    n_listed = listed(n_items, max_listed)
    made: Statistic = kind(n_items, n_listed, **fields)
    if made.cuts_ballots and n_listed < n_items:
        made.n_listed = n_listed
    return made


def _group_net_wins(ballots, groups):
    """Return each voter's net wins within groups that together hold each item once."""
    wins = np.zeros(ballots.table.shape[::-1], dtype=np.int64)
    for group in groups:
        wins[:, group] = net_wins(ballots.table[group], ballots.sentinel)
    return wins


def _is_either_way(pair, n_items):
    """Return whether untrusted content is a list of two distinct items, in either order."""
    return type(pair) is list and (is_pair(pair, n_items) or is_pair(pair[::-1], n_items))


def _are_groups(groups, n_items):
    """Return whether untrusted content is a list of lists that together hold each item once."""
    if type(groups) is not list or not all(type(group) is list for group in groups):
        return False
    items = [item for group in groups for item in group]
    return set(map(type, items)) == {int} and sorted(items) == list(range(n_items))
