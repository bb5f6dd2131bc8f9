"""Statistics for secure aggregation, and their sensitivities.

A protocol states a statistic as a name, or as an object with a name and public numbers. For some statistics, each
question names a subject: a pair, several pairs, or groups of items. The protocol limits the subjects, and thereby the
cost of an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ballots.rankings import completed
from ...ballots.sorting import placed
from .ballot import net_wins, places
from .protocol import is_pair, is_whole, refuse_unless

_MARGIN_SCALE, _MOST_PAIRS = 64, 2**14  # of scaled margins
_LARGEST_SCORES = 2**58  # sum of absolute scores stays below it, so that shared scores are 64-bit integers


class Summand:
    """Statistic that is a sum over voters of one integer vector each.

    `numbers` is the length of the vector, and `largest` bounds the absolute values in it. If one ballot replaces
    another, the sum changes by at most `l1` in L1 and `l2_squared` in squared L2.
    """

    states: tuple[str, ...] = ()  #: Fields of the statistic in the protocol, except its name.
    asked_about: str | None = None  #: Field of a question that names the subject.
    largest = 1

    def __init__(self, n_items: int, stated: Mapping[str, Any]) -> None:
        self.n_items = n_items
        self.numbers, self.l1, self.l2_squared = self._sizes(stated)

    def _sizes(self, stated: Mapping[str, Any]) -> tuple[int, int, int | Fraction]:
        """Return (numbers, l1, l2_squared); raise `RefusedProtocol` if the stated fields are invalid."""
        raise NotImplementedError

    def accepts(self, about: Any) -> bool:
        """Return whether a question may have this subject; the curator is not trusted."""
        return about is None

    def of(self, ballots: Any, about: Any, coins: Any) -> NDArray[np.int64]:
        """Return each ballot's vector, int64, shape (n_voters, numbers)."""
        raise NotImplementedError


class _NetWins(Summand):
    def _sizes(self, stated):
        m = self.n_items
        self.largest = m - 1
        return m, 2 * (m * m // 2), Fraction(4 * m * (m * m - 1), 3)

    def of(self, ballots, about, coins):
        return net_wins(ballots.table, ballots.sentinel)


class _Margins(Summand):
    def _sizes(self, stated):
        pairs = math.comb(self.n_items, 2)
        return pairs, 2 * pairs, 4 * pairs

    def of(self, ballots, about, coins):
        return _margins(ballots, *np.triu_indices(self.n_items, 1))


class _PairMargin(Summand):
    """Margin of one item over another; each question names the two items, in either order."""

    asked_about = "pair"

    def _sizes(self, stated):
        return 1, 2, 4

    def accepts(self, about):
        return type(about) is list and (is_pair(about, self.n_items) or is_pair(about[::-1], self.n_items))

    def of(self, ballots, about, coins):
        return _margins(ballots, *np.array(about)[:, None])


class _PairCounts(Summand):
    """For each ordered pair of items, 1 if the first precedes the second; 0 if the question does not name the pair."""

    asked_about = "pairs"

    def _sizes(self, stated):
        pairs = math.comb(self.n_items, 2)
        return self.n_items**2, 2 * pairs, 2 * pairs

    def accepts(self, about):
        form = type(about) is list and len(about) <= math.comb(self.n_items, 2)
        form = form and all(is_pair(pair, self.n_items) for pair in about)
        return form and len(set(map(tuple, about))) == len(about)

    def of(self, ballots, about, coins):
        m, (first, second) = self.n_items, np.array(about, dtype=np.int64).reshape(-1, 2).T
        margins = _margins(ballots, first, second)
        counts = np.zeros((len(margins), m, m), dtype=np.int64)
        counts[:, first, second], counts[:, second, first] = margins > 0, margins < 0
        return counts.reshape(len(margins), -1)


class _GroupNetWins(Summand):
    """Net wins within groups: the protocol fixes their sizes, and each question names their members."""

    states = ("sizes",)
    asked_about = "groups"

    def _sizes(self, stated):
        sizes = stated["sizes"]
        form = type(sizes) is list and all(is_whole(size, 1, self.n_items) for size in sizes)
        refuse_unless(form and sum(sizes) == self.n_items, "sizes", "those of groups that hold each item once")
        self.largest, self._groups = max(sizes) - 1, sizes
        l2_squared = Fraction(4 * sum(k * (k * k - 1) for k in sizes), 3)
        return self.n_items, 2 * sum(k * k // 2 for k in sizes), l2_squared

    def accepts(self, about):
        if type(about) is not list or not all(type(group) is list for group in about):
            return False
        return [len(group) for group in about] == self._groups and _hold_each_once(about, self.n_items)

    def of(self, ballots, about, coins):
        return _group_wins(ballots, about)


class _ScaledMargins(Summand):
    """Margins of pairs, or net wins within groups, times an integer scale, then zeros.

    The scale is the largest for which the squared L2 sensitivity of adding a ballot is at most that of 64 times the
    net wins of all items. So each question has the same cost.
    """

    asked_about = "margins"

    def _sizes(self, stated):
        m = self.n_items
        self._squared, pairs = _MARGIN_SCALE**2 * (m * (m * m - 1) // 3), min(math.comb(m, 2), _MOST_PAIRS)
        self.largest = math.isqrt(self._squared)
        numbers = max(m, pairs)
        return numbers, 2 * math.isqrt(self._squared * numbers), 4 * self._squared

    def accepts(self, about):
        if type(about) is not dict or set(about) not in ({"pairs"}, {"groups"}):
            return False
        (name, lists), m = next(iter(about.items())), self.n_items
        if type(lists) is not list or not all(type(each) is list for each in lists):
            return False
        if name == "groups":
            return all(lists) and _hold_each_once(lists, m)
        return 1 <= len(lists) <= self.numbers and all(is_pair(pair, m) or is_pair(pair[::-1], m) for pair in lists)

    def of(self, ballots, about, coins):
        if "groups" in about:
            values = _group_wins(ballots, about["groups"])
            squared = sum(k * (k * k - 1) // 3 for k in map(len, about["groups"]))
        else:
            first, second = np.array(about["pairs"], dtype=np.int64).reshape(-1, 2).T
            values, squared = _margins(ballots, first, second), len(about["pairs"])
        scale = max(1, math.isqrt(self._squared // max(squared, 1)))
        return np.pad(scale * values, ((0, 0), (0, self.numbers - values.shape[1])))


class _PositionalScores(Summand):
    """Scores of the items' places; tied items share their mean score, and items without a position are tied last."""

    states = ("scores",)

    def _sizes(self, stated):
        scores = stated["scores"]
        form = type(scores) is list and len(scores) == self.n_items and all(is_whole(s, 1 - 2**53) for s in scores)
        refuse_unless(form and sum(map(abs, scores)) < _LARGEST_SCORES, "scores", "an integer for each place")
        self.largest, self._sums = max(map(abs, scores)), np.cumsum([0, *scores])
        ordered = sorted(scores)
        moved = [high - low for low, high in zip(ordered, ordered[::-1], strict=True)]  # from an order to its reverse
        squares = sum(x * x for x in moved)
        # Shared scores are rounded. This adds at most 1 per item: m in L1, and sqrt(m) in L2.
        l2_squared = squares + 2 * (math.isqrt(squares * self.n_items) + 1) + self.n_items
        return self.n_items, sum(map(abs, moved)) + self.n_items, l2_squared

    def of(self, ballots, about, coins):
        order, first, last, _ = places(ballots.table)
        size = last - first + 1
        share = (2 * (self._sums[last + 1] - self._sums[first]) + size) // (2 * size)
        return placed(share, order)


class _Histogram(Summand):
    """Indicator of the ballot's ranking; the voter's own coins complete ties and missing opinions."""

    unseen_last = False

    def _sizes(self, stated):
        refuse_unless(self.n_items <= 10, "items", "at most 10 for a histogram of all rankings")
        return math.factorial(self.n_items), 2, 2

    def of(self, ballots, about, coins):
        complete = completed(ballots.table, ballots.sentinel, coins, unseen_last=self.unseen_last)
        cells = np.zeros((complete.shape[1], self.numbers), dtype=np.int64)
        cell = np.zeros(len(cells), dtype=np.int64)
        for item in range(self.n_items):  # number of items with a larger index and a better place
            cell = cell * (self.n_items - item) + np.count_nonzero(complete[item + 1 :] < complete[item], axis=0)
        cells[np.arange(len(cells)), cell] = 1
        return cells


class _HistogramUnseenLast(_Histogram):
    unseen_last = True


#: Statistics by their names in protocols.
SUMMANDS: Mapping[str, type[Summand]] = MappingProxyType(
    {
        "net_wins": _NetWins,
        "margins": _Margins,
        "pair_margin": _PairMargin,
        "pair_counts": _PairCounts,
        "group_net_wins": _GroupNetWins,
        "scaled_margins": _ScaledMargins,
        "positional_scores": _PositionalScores,
        "histogram": _Histogram,
        "histogram_unseen_last": _HistogramUnseenLast,
    }
)


def summand(statistic: Any, n_items: int) -> Summand:
    """Return the statistic that a protocol names; raise `RefusedProtocol` if it is unknown or invalid.

    Examples
    --------
    >>> groups = summand({"name": "group_net_wins", "sizes": [2, 2]}, 4)
    >>> groups.numbers, groups.l1, groups.accepts([[0, 3], [1, 2]]), groups.accepts([[0, 3], [0, 2]])
    (4, 8, True, False)
    """
    whole = statistic if type(statistic) is dict else {"name": statistic}
    name = whole.get("name")
    kind = SUMMANDS.get(name) if type(name) is str else None
    bare = type(statistic) is dict and len(whole) == 1  # a name without fields must be text, so that each has one form
    known = kind is not None and set(whole) == {"name", *kind.states} and not bare
    refuse_unless(known, "statistic", f"one of {list(SUMMANDS)}, with what belongs to it and nothing else")
    stated = {key: value for key, value in whole.items() if key != "name"}
    return SUMMANDS[str(name)](n_items, stated)


def _hold_each_once(groups, n_items):
    """Return whether lists of untrusted content together hold each item once."""
    items = [item for group in groups for item in group]
    whole = len(items) == n_items and all(is_whole(item, 0, n_items - 1) for item in items)
    return whole and len(set(items)) == n_items


def _group_wins(ballots, groups):
    """Return each voter's net wins within groups that together hold each item once."""
    wins = np.zeros(ballots.table.shape[::-1], dtype=np.int64)
    for group in groups:
        wins[:, group] = net_wins(ballots.table[group], ballots.sentinel)
    return wins


def _margins(ballots, rows, columns):
    """Return each voter's margins of pairs, int64, shape (n_voters, n_pairs); 0 for ties and missing opinions."""
    first, second = ballots.table[rows], ballots.table[columns]
    silent = (first == ballots.sentinel) | (second == ballots.sentinel)
    return np.where(silent, 0, (first < second).astype(np.int64) - (first > second)).T
