"""Statistics of one ballot and their sensitivities; devices, curators and queries share these definitions.

Ballots are `~sklearn_dprank.ballots.reading.Positions`. Devices load this module, so it needs NumPy only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import changed_ballots, is_pair, is_whole
from .._utils.types import Neighboring
from ..ballots.reading import completed, placed, sorted_rows
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
    gauge : int or None
        Gauge of the change, for the net-win permutohedron and K-norm noise. None if it does not apply.
    """

    l1: int
    l2_squared: Fraction
    gauge: int | None = None

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
    first = np.maximum.accumulate(changes * place, axis=1)
    last = np.full(ballots.shape, n_items - 1)
    np.minimum.accumulate(np.where(changes[:, 1:], place[:-1], n_items - 1)[:, ::-1], axis=1, out=last[:, -2::-1])
    return order, first, last, ballots.ravel()[order]


def net_wins(table: NDArray[Any], sentinel: int) -> NDArray[np.int64]:
    """Return each voter's net wins, shape (n_voters, n_items): items beaten minus items that win, without ties."""
    order, first, last, ordered = places(table)
    silent = ordered == sentinel
    n_ranked = len(table) - np.count_nonzero(silent, axis=1, keepdims=True)
    return placed(np.where(silent, 0, n_ranked - 1 - last - first), order)


def margins(table: NDArray[Any], sentinel: int, rows: Any, columns: Any) -> NDArray[np.int8]:
    """Return each voter's margins of pairs, shape (n_pairs, n_voters); 0 for ties and missing opinions."""
    first, second = table[rows], table[columns]
    silent = (first == sentinel) | (second == sentinel)
    return np.where(silent, np.int8(0), (first < second).astype(np.int8) - (first > second))


def shared_scores(sums: NDArray[Any], first: NDArray[Any], last: NDArray[Any]) -> NDArray[np.int64]:
    """Return the mean score of places `first` to `last`, rounded without floats; `sums` are cumulative, from 0."""
    size = last - first + 1
    return (2 * (sums[last + 1] - sums[first]) + size) // (2 * size)


class Statistic:
    """Vector of integers of one ballot; sums over voters answer a query.

    Parameters
    ----------
    n_items : int
        Number of items.
    numbers : int or None, default=None
        Length of the vector. None is `n_items`.
    largest : int, default=1
        Bound on the absolute values in the vector.

    Attributes
    ----------
    states : tuple of str
        Fields of the statistic in a protocol, except its name. The constructor of a subclass takes them and raises
        ValueError if they are invalid, because the curator is not trusted.
    asked_about : str or None
        Field of a question that names its subject: a pair, several pairs, or groups of items.
    """

    states: tuple[str, ...] = ()
    asked_about: str | None = None

    def __init__(self, n_items: int, numbers: int | None = None, largest: int = 1) -> None:
        self.n_items, self.numbers, self.largest = n_items, n_items if numbers is None else numbers, largest

    def accepts(self, about: Any) -> bool:
        """Return whether a question may have this subject; the curator is not trusted."""
        return about is None

    def of(self, ballots: Any, about: Any, coins: Any) -> NDArray[np.int64]:
        """Return each ballot's vector, int64, shape (n_voters, numbers)."""
        raise NotImplementedError

    def sensitivity(self, neighboring: Neighboring) -> Sensitivity:
        """Return the largest change of the sum between neighbours, over all subjects that `accepts` accepts."""
        raise NotImplementedError


class _GroupNetWins(Statistic):
    """Net wins within groups: the protocol fixes their sizes, and each question names their members."""

    states: tuple[str, ...] = ("sizes",)
    asked_about: str | None = "groups"

    def __init__(self, n_items: int, sizes: Any) -> None:
        form = type(sizes) is list and all(is_whole(size, 1, n_items) for size in sizes)
        if not form or sum(sizes) != n_items:
            raise ValueError("sizes must be those of groups that hold each item once")
        super().__init__(n_items, largest=max(sizes) - 1)
        self.sizes = sizes

    def accepts(self, about):
        return _are_groups(about, self.n_items) and [len(group) for group in about] == self.sizes

    def of(self, ballots, about, coins):
        return _group_net_wins(ballots, about)

    def sensitivity(self, neighboring):
        change, l2_squared = changed_ballots(neighboring), Fraction(sum(k * (k * k - 1) for k in self.sizes), 3)
        return Sensitivity(change * sum(k * k // 2 for k in self.sizes), change**2 * l2_squared)


class _NetWins(_GroupNetWins):
    """Net wins of all items: one group. One ballot changes them by 1 in the gauge of the permutohedron."""

    states = ()
    asked_about = None
    accepts = Statistic.accepts

    def __init__(self, n_items: int) -> None:
        super().__init__(n_items, [n_items])

    def of(self, ballots, about, coins):
        return net_wins(ballots.table, ballots.sentinel)

    def sensitivity(self, neighboring):
        return super().sensitivity(neighboring)._replace(gauge=changed_ballots(neighboring))


class _Margins(Statistic):
    """Margins of all pairs, in row-major order."""

    def __init__(self, n_items: int) -> None:
        super().__init__(n_items, math.comb(n_items, 2))

    def of(self, ballots, about, coins):
        return margins(ballots.table, ballots.sentinel, *np.triu_indices(self.n_items, 1)).T.astype(np.int64)

    def sensitivity(self, neighboring):
        change = changed_ballots(neighboring)
        return Sensitivity(change * self.numbers, Fraction(change**2 * self.numbers))


class _PairMargin(_Margins):
    """Margin of one item over another; each question names the two items, in either order."""

    asked_about = "pair"

    def __init__(self, n_items: int) -> None:
        Statistic.__init__(self, n_items, 1)

    def accepts(self, about):
        return _is_either_way(about, self.n_items)

    def of(self, ballots, about, coins):
        return margins(ballots.table, ballots.sentinel, *np.array(about)[:, None]).T.astype(np.int64)


class _PairCounts(Statistic):
    """For each ordered pair of items, 1 if the first precedes the second; 0 if the question does not name the pair."""

    asked_about = "pairs"

    def __init__(self, n_items: int) -> None:
        super().__init__(n_items, n_items**2)

    def accepts(self, about):
        form = type(about) is list and len(about) <= math.comb(self.n_items, 2)
        form = form and all(is_pair(pair, self.n_items) for pair in about)
        return form and len(set(map(tuple, about))) == len(about)

    def of(self, ballots, about, coins):
        m, (first, second) = self.n_items, np.array(about, dtype=np.int64).reshape(-1, 2).T
        each = margins(ballots.table, ballots.sentinel, first, second).T
        counts = np.zeros((len(each), m, m), dtype=np.int64)
        counts[:, first, second], counts[:, second, first] = each > 0, each < 0
        return counts.reshape(len(each), -1)

    def sensitivity(self, neighboring):
        moved = changed_ballots(neighboring) * math.comb(self.n_items, 2)
        return Sensitivity(moved, Fraction(moved))


class ScaledBallotMargins(Statistic):
    """Margins of pairs, or net wins within groups, times an integer scale, then zeros.

    The scale is the largest for which the squared L2 sensitivity of adding a ballot is at most that of 64 times the
    net wins of all items. So each question has the same cost.
    """

    asked_about = "margins"

    def __init__(self, n_items: int) -> None:
        #: Squared L2 sensitivity of adding a ballot.
        self.squared = _RESOLUTION**2 * (n_items * (n_items**2 - 1) // 3)
        super().__init__(n_items, max(n_items, min(math.comb(n_items, 2), MOST_PAIRS)), math.isqrt(self.squared))

    def accepts(self, about):
        if type(about) is not dict or set(about) not in ({"pairs"}, {"groups"}):
            return False
        ((name, lists),) = about.items()
        if name == "groups":
            return _are_groups(lists, self.n_items) and all(lists)
        few = type(lists) is list and 1 <= len(lists) <= self.numbers
        return few and all(_is_either_way(pair, self.n_items) for pair in lists)

    def scale(self, about: Mapping[str, Any]) -> int:
        """Return the scale of a question about these pairs or groups."""
        groups = about.get("groups", [])
        squared = len(about["pairs"]) if "pairs" in about else sum(k * (k * k - 1) // 3 for k in map(len, groups))
        return max(1, math.isqrt(self.squared // max(squared, 1)))

    def of(self, ballots, about, coins):
        if "groups" in about:
            values = _group_net_wins(ballots, about["groups"])
        else:
            first, second = np.array(about["pairs"], dtype=np.int64).reshape(-1, 2).T
            values = margins(ballots.table, ballots.sentinel, first, second).T.astype(np.int64)
        return np.pad(self.scale(about) * values, ((0, 0), (0, self.numbers - values.shape[1])))

    def sensitivity(self, neighboring):
        change = changed_ballots(neighboring)  # by Cauchy and Schwarz, `numbers` bounds the ratio of L1 to L2
        return Sensitivity(change * math.isqrt(self.squared * self.numbers), Fraction(change**2 * self.squared))


class _PositionalScores(Statistic):
    """Scores of the items' places; tied items share their mean score, and items without a position are tied last."""

    states = ("scores",)

    def __init__(self, n_items: int, scores: Any) -> None:
        form = type(scores) is list and len(scores) == n_items
        form = form and all(is_whole(score, 1 - 2**53) for score in scores)
        if not form or sum(map(abs, scores)) >= _LARGEST_SCORES:
            raise ValueError("scores must be an integer for each place")
        super().__init__(n_items, largest=max(map(abs, scores)))
        self.scores = scores

    def of(self, ballots, about, coins):
        order, first, last, _ = places(ballots.table)
        return placed(shared_scores(np.cumsum([0, *self.scores]), first, last), order)

    def sensitivity(self, neighboring):
        change = sorted(self.scores)
        if changed_ballots(neighboring) == 2:  # replaced: the best order against the worst
            change = [high - low for high, low in zip(reversed(change), change, strict=True)]
        # Tied ballots are averages of strict ones (convexity), then rounded: at most 1 per item in total, so m in L1
        # and sqrt(m) in L2.
        squares = sum(each * each for each in change)
        l2_squared = squares + 2 * (math.isqrt(squares * self.n_items) + 1) + self.n_items
        return Sensitivity(sum(map(abs, change)) + self.n_items, Fraction(l2_squared))


class _Histogram(Statistic):
    """Indicator of the ballot's ranking; the voter's own coins complete ties and missing opinions."""

    unseen_last = False

    def __init__(self, n_items: int) -> None:
        super().__init__(n_items, math.factorial(n_items))

    def of(self, ballots, about, coins):
        complete = completed(ballots.table, ballots.sentinel, coins, unseen_last=self.unseen_last)
        cells = np.zeros((complete.shape[1], self.numbers), dtype=np.int64)
        cells[np.arange(len(cells)), permutation_index(complete)] = 1
        return cells

    def sensitivity(self, neighboring):
        moved = changed_ballots(neighboring)
        return Sensitivity(moved, Fraction(moved))


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


def statistic(stated: Any, n_items: int) -> Statistic:
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
    kind = STATISTICS.get(name) if type(name) is str else None
    if kind is None or set(fields) != set(kind.states):
        raise ValueError(f"statistic must be one of {list(STATISTICS)}, with what belongs to it and nothing else")
    return kind(n_items, **fields)


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
