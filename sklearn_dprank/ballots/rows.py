"""Short ballots and comparisons as rows of codes, and their counts without a table of voters and items."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .weights import WEIGHT_GRID

Norm: TypeAlias = Literal["l1", "l2"]
SMALL = 4  # numbers per row that are no more work than the rows
_LEVELS = 1 << 12  # distinct values up to which a search is faster than a sort
_BLOCK = 1 << 16  # rows
_PAIRED = 1 << 22  # pairs counted at a time


class Listed(NamedTuple):
    """Ballots as rows, one for each item that a ballot lists, sorted by ballot and place.

    Attributes
    ----------
    ballot, item : ndarray of int, shape (n_rows,)
        Numbers of the ballot and of the item; no pair of them twice.
    place : ndarray of float or int, shape (n_rows,)
        Place of the item on the ballot; smaller is better, equal is tied.
    weight : ndarray of int64, shape (n_ballots,)
        Weight of each ballot in counts, in grid steps of 1 / 720720.
    """

    ballot: NDArray[np.int64]
    item: NDArray[np.int64]
    place: NDArray[np.float64]
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, ballot, item, place, n_ballots):
        """Return rows in any order as ballots with the weight 0, sorted by ballot, place and item."""
        weight = np.zeros(n_ballots, dtype=np.int64)
        levels, level = levels_of(place)
        n_items = int(item.max(initial=0)) + 1
        ballot, level, item = sorted_together((ballot, n_ballots), (level, len(levels)), (item, n_items))
        return cls(ballot, item, levels[level], weight)

    @property
    def n_voters(self):
        """Number of ballots."""
        return len(self.weight)

    @property
    def n_listed(self):
        """Number of items on each ballot, shape (n_ballots,)."""
        return np.bincount(self.ballot, minlength=len(self.weight))

    @property
    def has_opinions(self):
        """Whether some ballot prefers an item to another."""
        within = self.ballot[1:] == self.ballot[:-1]
        return bool((within & (self.place[1:] != self.place[:-1])).any())

    def net_wins(self, n_items, group_of=None):
        """Return the net wins of each item, int64, against the items of its group, or against all items.

        An item wins against those that the ballot lists behind it, and loses to those before it. `group_of` holds an
        item of its group for each item.
        """
        ballot, item, place = self.ballot, self.item, self.place
        if group_of is not None:
            ballot = ballot * n_items + group_of[item]
            order = np.argsort(ballot, kind="stable")
            ballot, item, place = ballot[order], item[order], place[order]
        wins, _ = wins_of(ballot, place)
        total = np.zeros(n_items, dtype=np.int64)
        np.add.at(total, item, wins * self.weight[self.ballot if group_of is None else ballot // n_items])
        return total

    def pair_counts(self, n_items):
        """Return the weight of the ballots that prefer the row's item to the column's, int64, shape (m, m)."""
        counts = np.zeros(n_items**2, dtype=np.int64)
        for pair, weight in self.pairs(n_items):
            np.add.at(counts, pair, weight)
        return counts.reshape(n_items, n_items)

    def pair_outcomes(self, n_items):
        """Return the pairs (i, j) that some ballot orders so, and the weight of these ballots in half steps."""
        found = counts = np.zeros(0, dtype=np.int64)
        for pair, weight in self.pairs(n_items):
            found, place = np.unique(np.concatenate([found, pair]), return_inverse=True)
            halves = np.concatenate([counts, 2 * weight])
            counts = np.zeros(len(found), dtype=np.int64)
            np.add.at(counts, place, halves)
        return *np.divmod(found, n_items), counts

    def pairs(self, n_items):
        """Yield the numbers m i + j of pairs that ballots order so, and the weights of these ballots, in parts."""
        end = runs(changes(self.ballot))[1]
        for start in range(0, len(end), _PAIRED):
            behind = ahead = np.arange(start, min(start + _PAIRED, len(end)))
            while len(ahead):  # the rows that are 1, 2, ... behind on the same ballot
                behind = behind + 1
                within = behind < end[ahead]
                ahead, behind = ahead[within], behind[within]
                strict = self.place[ahead] < self.place[behind]
                better, worse = ahead[strict], behind[strict]
                yield self.item[better] * n_items + self.item[worse], self.weight[self.ballot[better]]

    def take(self, ballots):
        """Return the rows of these ballots, in their order."""
        new = np.full(len(self.weight), -1)
        new[ballots] = np.arange(len(ballots))
        rows = new[self.ballot] >= 0
        taken = Listed.of(new[self.ballot[rows]], self.item[rows], self.place[rows], len(ballots))
        return taken._replace(weight=self.weight[ballots])

    @classmethod
    def joined(cls, parts):
        """Return the ballots of all parts, in order."""
        first = np.cumsum([0, *(len(part.weight) for part in parts)])
        ballot = np.concatenate([part.ballot + shift for part, shift in zip(parts, first[:-1], strict=True)])
        return cls(ballot, *(np.concatenate([part[k] for part in parts]) for k in (1, 2, 3)))


class Compared(NamedTuple):
    """Comparisons of two items, in sums in which no person exceeds a public bound.

    A person's own sums x are multiplied by the largest weight u, up to 1, with which u x has a norm of at most the
    bound, and u is rounded down to the grid. With c = `most` / 720720, one comparison changes net wins by 2 in L1 and
    in squared L2, so the bounds are 2 c. One comparison changes the count of a pair by 1, so these bounds are c.

    Attributes
    ----------
    person : ndarray of int64, shape (n_rows,)
        Number of the person who compared.
    winner, loser : ndarray of int, shape (n_rows,)
        Numbers of two different items.
    tied : ndarray of bool, shape (n_rows,)
        Whether the comparison was a tie.
    n_voters : int
        Number of persons.
    most : int
        Bound on a person, in grid steps of 1 / 720720.
    norm : {"l1", "l2"}
        Norm that is bounded. With "l1", a person counts at most as much as a mean of c comparisons.
    """

    person: NDArray[np.int64]
    winner: NDArray[np.int64]
    loser: NDArray[np.int64]
    tied: NDArray[np.bool_]
    n_voters: int
    most: int
    norm: Norm = "l1"

    @property
    def has_opinions(self):
        """Whether some comparison is not a tie."""
        return not self.tied.all()

    def net_wins(self, n_items, group_of=None):
        """Return wins minus losses of each item, int64, within its group or all items, without ties."""
        rows = ~self.tied
        if group_of is not None:
            rows &= group_of[self.winner] == group_of[self.loser]
        person, winner, loser = self.person[rows], self.winner[rows], self.loser[rows]
        wins = np.repeat([1, -1], len(person))
        return self._clipped(np.concatenate([person, person]), np.concatenate([winner, loser]), wins, n_items, 2)

    def pair_counts(self, n_items):
        """Return how often the row's item beat the column's, int64, shape (m, m)."""
        rows = ~self.tied
        pair = self.winner[rows] * n_items + self.loser[rows]
        ones = np.ones(len(pair), dtype=np.int64)
        return self._clipped(self.person[rows], pair, ones, n_items**2, 1).reshape(n_items, n_items)

    def pairs(self, n_items):
        """Yield the numbers m i + j of pairs in which i beat j, and how often, in one part."""
        rows = ~self.tied
        found, entry = numbered(self.winner[rows] * n_items + self.loser[rows], n_items**2)
        yield found, self._clipped(self.person[rows], entry, np.ones(len(entry), dtype=np.int64), len(found), 1)

    def pair_outcomes(self, n_items):
        """Return the counts of the pairs (winner, loser) that occur, in half steps; a tie is half a win of each."""
        if n_items**2 <= SMALL * len(self.tied) and self._whole.all():
            halves = np.zeros((n_items, n_items), dtype=np.int64)
            for start in range(0, len(self.tied), _BLOCK):  # large arrays would cost more than their sums
                winner, loser, tied = (each[start : start + _BLOCK] for each in (self.winner, self.loser, self.tied))
                np.add.at(halves.reshape(-1), winner * n_items + loser, 2 - tied)
                np.add.at(halves.reshape(-1), (loser * n_items + winner)[tied], 1)
            i, j = np.nonzero(halves)
            return i, j, WEIGHT_GRID * halves[i, j]
        tied, pair = self.tied, self.winner * n_items + self.loser
        person = np.concatenate([self.person, self.person[tied]])
        value = np.concatenate([2 - tied, np.ones(np.count_nonzero(tied), dtype=np.int64)])
        back = self.loser[tied] * n_items + self.winner[tied]
        found, pair = numbered(np.concatenate([pair, back]), n_items**2)
        # In half steps, a comparison is 2 in L1, and at most 4 in squared L2.
        counts = self._clipped(person, pair, value, len(found), 2 if self.norm == "l1" else 4)
        return *np.divmod(found, n_items), counts

    @property
    def _whole(self):
        """Whether each person's comparisons are few enough to count with weight 1, whatever they are."""
        # By the triangle inequality, the norm of K comparisons is at most K times that of one.
        most = self.most // WEIGHT_GRID
        return np.bincount(self.person, minlength=self.n_voters) <= (most if self.norm == "l1" else math.isqrt(most))

    def _clipped(self, person, entry, value, n_entries, moved):
        """Return the sum of all persons' own sums of values by entry, each of a norm of at most `moved` times c."""
        total = np.zeros(n_entries, dtype=np.int64)
        whole = self._whole
        if whole.any():
            rows = whole[person]
            np.add.at(total, entry[rows], WEIGHT_GRID * value[rows])
            person, entry, value = person[~rows], entry[~rows], value[~rows]
        # Values are whole numbers from -2 to 2.
        person, entry, value = sorted_together((person, self.n_voters), (entry, n_entries), (value + 2, 5))
        starts = np.flatnonzero(changes(person) | changes(entry))
        person, entry = person[starts], entry[starts]
        own = np.add.reduceat(value - 2, starts) if len(starts) else value
        norms = np.zeros(self.n_voters, dtype=np.int64)
        np.add.at(norms, person, np.abs(own) if self.norm == "l1" else own * own)
        if self.norm == "l1":
            weight = moved * self.most // np.maximum(norms, 1)
        else:
            weight = isqrt(moved * self.most * WEIGHT_GRID // np.maximum(norms, 1))
        weight = np.minimum(weight, WEIGHT_GRID)
        np.add.at(total, entry, weight[person] * own)
        return total

    def take(self, persons):
        """Return the rows of these persons, in their order."""
        new = np.full(self.n_voters, -1)
        new[persons] = np.arange(len(persons))
        rows = new[self.person] >= 0
        kept = {name: getattr(self, name)[rows] for name in ("winner", "loser", "tied")}
        return self._replace(person=new[self.person[rows]], **kept, n_voters=len(persons))

    @classmethod
    def joined(cls, parts):
        """Return the comparisons of all parts, whose persons differ, in order."""
        first = np.cumsum([0, *(part.n_voters for part in parts)])
        person = np.concatenate([part.person + shift for part, shift in zip(parts, first[:-1], strict=True)])
        winner, loser, tied = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        return parts[0]._replace(person=person, winner=winner, loser=loser, tied=tied, n_voters=int(first[-1]))


def isqrt(values):
    """Return the integer square roots of integers below 2^62.

    Examples
    --------
    >>> isqrt(np.array([0, 15, 16, 10**18 - 1, 10**18])).tolist()
    [0, 3, 4, 999999999, 1000000000]
    """
    root = np.sqrt(values.astype(np.float64)).astype(np.int64)
    root -= root * root > values
    return root + ((root + 1) ** 2 <= values)


def numbered(codes, size):
    """Return the codes that occur, in order, and the place of each code among them; codes are below `size`.

    Examples
    --------
    >>> [each.tolist() for each in numbered(np.array([7, 2, 7]), 9)]
    [[2, 7], [1, 0, 1]]
    """
    if size > SMALL * len(codes):
        return np.unique(codes, return_inverse=True)
    occurs = np.zeros(size, dtype=bool)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def levels_of(values):
    """Return the distinct values, in order, and the place of each value among them.

    Examples
    --------
    >>> [each.tolist() for each in levels_of(np.array([2.5, 1.0, 2.5]))]
    [[1.0, 2.5], [1, 0, 1]]
    """
    levels = np.unique(values)
    if len(levels) > _LEVELS:
        return np.unique(values, return_inverse=True)
    return levels, np.searchsorted(levels, values)


def sorted_together(*columns):
    """Return the columns sorted by the first, then by the second and so on; each is (numbers from 0, their bound).

    Examples
    --------
    >>> [each.tolist() for each in sorted_together((np.array([1, 0, 1]), 2), (np.array([5, 6, 4]), 7))]
    [[0, 1, 1], [6, 4, 5]]
    """
    bits = [max(int(bound) - 1, 0).bit_length() for _, bound in columns]
    if sum(bits) > 63:
        order = np.lexsort([column for column, _ in columns[::-1]])
        return [column[order] for column, _ in columns]
    rows = columns[0][0].astype(np.int64)  # one number for each row is sorted fastest
    for (column, _), width in zip(columns[1:], bits[1:], strict=True):
        rows <<= width
        rows |= column
    rows.sort()
    found = []
    for width in bits[:0:-1]:
        found.append(rows & ((1 << width) - 1))
        rows >>= width
    return [rows, *found[::-1]]


def wins_of(ballot, place):
    """Return for each row, sorted by ballot and place, how many rows it beats less those that beat it, and all rows.

    Examples
    --------
    >>> [each.tolist() for each in wins_of(np.array([0, 0, 0, 1]), np.array([1, 1, 2, 1]))]
    [[1, 1, -2, 0], [3, 3, 3, 1]]
    """
    new = changes(ballot)
    first, end = runs(new)
    first_tied, end_tied = runs(new | changes(place))
    return (end - end_tied) - (first_tied - first), end - first


def changes(values):
    """Return where a value differs from the one before it; the first one does.

    Examples
    --------
    >>> changes(np.array([3, 3, 5])).tolist()
    [True, False, True]
    """
    return np.concatenate([np.ones(min(len(values), 1), dtype=bool), values[1:] != values[:-1]])


def runs(starts):
    """Return for each row the first row of its run, and the first row behind it; `starts` tells where runs begin.

    Examples
    --------
    >>> [rows.tolist() for rows in runs(np.array([True, False, True]))]
    [[0, 0, 2], [2, 2, 3]]
    """
    first = np.flatnonzero(starts)
    length = np.diff(first, append=len(starts))
    return np.repeat(first, length), np.repeat(first + length, length)
