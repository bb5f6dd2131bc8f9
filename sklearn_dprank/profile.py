"""What a set of ballots says together."""

from functools import cached_property
from typing import Any

import numpy as np

from .rankings import Positions, check_ballots, compact_positions

_PIECE = 1 << 17  # voters counted at a time: one row of a piece is 128 KB


class Profile:
    """Counts of a set of ballots, computed once; plain data with no privacy.

    Build one with `from_rankings` or `from_chunks`; `fit` and `score` of every estimator accept it in
    place of ballots. Statistics are computed when first asked for.

    Attributes
    ----------
    n_voters : int
        Number of ballots.
    n_items : int
        Number of items.
    item_names : ndarray of object, shape (n_items,), or None
        Names of the items, where the ballots had them.
    positions : Positions or None
        The ballots in compact form, where kept.
    voter_epsilon : ndarray of float, shape (n_voters,), or None
        Each voter's own, public epsilon for local mechanisms, where voters have one.

    Examples
    --------
    >>> from sklearn_dprank.profile import Profile
    >>> profile = Profile.from_rankings([[0, 1, 2], [0, 2, 1], [1, 0, 1]])
    >>> profile.pairwise_counts
    array([[0, 2, 2],
           [1, 0, 2],
           [0, 1, 0]])
    >>> profile.net_wins
    array([ 3, 0, -3])
    >>> (profile + profile).n_voters
    6
    """

    def __init__(
        self, n_voters, n_items, item_names=None, *, positions=None, counts=None, placements=None, voter_epsilon=None
    ):
        self.n_voters = int(n_voters)
        self.n_items = int(n_items)
        self.item_names = None if item_names is None else np.asarray(item_names, dtype=object)
        self.positions = positions
        self.voter_epsilon = voter_epsilon
        # A cached_property reads the instance's dict first: what is given is never computed again.
        if counts is not None:
            self.__dict__["pairwise_counts"] = _read_only(counts)
        if placements is not None:
            self.__dict__["placements"] = placements

    @classmethod
    def from_rankings(cls, X, *, item_names=None, keep="positions", voter_epsilon=None):
        """Read ballots.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items)
            ``X[v, i]`` is where voter v puts item i; smaller is better, equal is tied, NaN is no
            opinion. A DataFrame's columns name the items.
        item_names : sequence of str or None, default=None
            Names of the items; by default the columns of a DataFrame.
        keep : {"positions", "counts"}, default="positions"
            Whether to keep the ballots (one or two bytes an entry), which local mechanisms and
            histograms need, or only the counts.
        voter_epsilon : array-like of shape (n_voters,) or None, default=None
            Each voter's own, public epsilon, for local mechanisms.

        Returns
        -------
        Profile
            The profile of these ballots.

        Raises
        ------
        ValueError
            If X is not a two-dimensional, non-empty array of numbers with at least two items, or
            `item_names` has another length, or `keep` is unknown.
        """
        if keep not in ("positions", "counts"):
            raise ValueError(f"keep must be 'positions' or 'counts', got {keep!r}.")
        if item_names is None and hasattr(X, "columns"):
            item_names = list(X.columns)
        array = check_ballots(X)
        if item_names is not None and len(item_names) != array.shape[1]:
            raise ValueError(
                f"item_names has {len(item_names)} names for {array.shape[1]} items; give one name an item."
            )
        profile = cls._from_valid(array, item_names)
        if voter_epsilon is not None:
            profile = profile.with_voter_epsilon(voter_epsilon)
        return profile if keep == "positions" else profile.counted()

    @classmethod
    def _from_valid(cls, array, item_names=None):
        """Read ballots that have passed `BALLOT_CHECKS`."""
        n_voters, n_items = array.shape
        return cls(n_voters, n_items, item_names, positions=compact_positions(array))

    @classmethod
    def from_chunks(cls, chunks, *, item_names=None, keep="counts"):
        """Read ballots chunk by chunk, in memory bounded by one chunk when only counts are kept.

        Parameters
        ----------
        chunks : iterable of array-like of shape (n_chunk_voters, n_items)
            Ballots; all with the same items in the same order.
        item_names, keep
            As in `from_rankings`.

        Returns
        -------
        Profile
            The profile of all ballots together.

        Raises
        ------
        ValueError
            If there is no chunk, or chunks disagree on the items.
        """
        total = None
        for chunk in chunks:
            part = cls.from_rankings(chunk, item_names=item_names, keep=keep)
            total = part if total is None else total + part
        if total is None:
            raise ValueError("chunks is empty; give at least one chunk of ballots.")
        return total

    def with_voter_epsilon(self, voter_epsilon):
        """Return this profile with each voter's own, public epsilon.

        Parameters
        ----------
        voter_epsilon : array-like of shape (n_voters,)
            Positive and finite, with few distinct values: they are a public grid.

        Raises
        ------
        ValueError
            If there is not one positive, finite number for each voter.
        """
        try:
            own = np.asarray(voter_epsilon, dtype=float)
        except (TypeError, ValueError):
            raise ValueError("voter_epsilon must hold numbers.") from None
        if own.shape != (self.n_voters,):
            raise ValueError(f"voter_epsilon must hold one number for each voter, got shape {own.shape}.")
        if not (np.isfinite(own).all() and (own > 0).all()):
            raise ValueError("voter_epsilon must be positive and finite for every voter.")
        return Profile(self.n_voters, self.n_items, self.item_names, positions=self.positions, voter_epsilon=own)

    def counted(self):
        """Return this profile without the ballots themselves, all counts computed."""
        return Profile(
            self.n_voters,
            self.n_items,
            self.item_names,
            counts=self.pairwise_counts,
            placements=self.placements,
        )

    def __add__(self, other):
        if not isinstance(other, Profile):
            return NotImplemented
        if self.n_items != other.n_items:
            raise ValueError(f"profiles over {self.n_items} and {other.n_items} items do not add up.")
        names: Any = self.item_names if self.item_names is not None else other.item_names
        if other.item_names is not None and not np.array_equal(names, np.asarray(other.item_names)):
            raise ValueError("profiles with different item names, or the same names in another order, do not add up.")
        n_voters = self.n_voters + other.n_voters
        if self.positions is not None and other.positions is not None:
            table = np.concatenate([self.positions.table, other.positions.table], axis=1)
            positions = Positions(table, self.positions.unranked | other.positions.unranked)
            own = (self.voter_epsilon, other.voter_epsilon)
            if (own[0] is None) != (own[1] is None):
                raise ValueError("profiles with and without voter_epsilon do not add up; give all voters one, or none.")
            joint = None if own[0] is None else np.concatenate(own)
            return Profile(n_voters, self.n_items, names, positions=positions, voter_epsilon=joint)
        counts = self.pairwise_counts + other.pairwise_counts
        placements = _merged(np.vstack([self.placements, other.placements]))
        return Profile(n_voters, self.n_items, names, counts=counts, placements=placements)

    @cached_property
    def pairwise_counts(self):
        """How many voters strictly prefer item i to item j: int64, shape (n_items, n_items)."""
        return _read_only(count_pairs(self.positions))

    @cached_property
    def margins(self):
        """Pairwise counts minus their transpose; positive where i beats j."""
        return _read_only(self.pairwise_counts - self.pairwise_counts.T)

    @cached_property
    def net_wins(self):
        """Row sums of the margins: int64, shape (n_items,); twice the centred Borda score."""
        return _read_only(self.margins.sum(axis=1))

    @cached_property
    def placements(self):
        """Where items stand, exactly: rows (item, first, last, voters), int64.

        Row (i, a, b, c) says that c voters tie item i with b - a others over positions a..b (0 is
        best); items without an opinion are tied last.
        """
        return count_placements(self.positions)

    @property
    def position_counts(self):
        """Item-by-position counts: float64, shape (n_items, n_items); a tie is spread evenly."""
        out = np.zeros((self.n_items, self.n_items))
        for item, first, last, voters in self.placements:
            out[item, first : last + 1] += voters / (last - first + 1)
        return out

    def __repr__(self):
        return f"Profile(n_voters={self.n_voters}, n_items={self.n_items})"


def _read_only(array):
    array.flags.writeable = False
    return array


def count_pairs(positions):
    """Count, for each ordered pair of items, the voters who strictly prefer the first.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_items, n_items)
        Exact for ties and missing opinions.
    """
    table = positions.table
    n_items, n_voters = table.shape
    counts = np.zeros((n_items, n_items), dtype=np.int64)
    for start in range(0, n_voters, _PIECE):
        piece = table[:, start : start + _PIECE]
        width = piece.shape[1]
        less, rows = np.empty(width, dtype=bool), list(piece)
        strict = _all_strict(piece)
        for j, row in enumerate(rows):
            # The sentinel is less than nothing, and nothing is less than 0: no opinion counts nowhere.
            loser = row * (row != positions.sentinel) if positions.unranked[j] else row
            others = range(j + 1, n_items) if strict else range(n_items)
            won = np.array([np.count_nonzero(np.less(rows[i], loser, out=less)) for i in others], dtype=np.int64)
            counts[others.start :, j] += won
            if strict:  # without ties one comparison serves both directions
                counts[j, others.start :] += width - won
    return counts


def _all_strict(piece):
    """Tell whether every ballot of the piece is a complete strict ranking with positions 0..m-1.

    Each ballot's positions are collected in a bit set; a wrong "no" costs time only.
    """
    n_items, width = piece.shape
    bits = next(b for b in (8, 16, 32, 64) if n_items <= b or b == 64)
    dtype = np.dtype(f"uint{bits}").type
    shifted = np.empty(width, dtype=dtype)
    for low in range(0, n_items, bits):
        seen = np.zeros(width, dtype=dtype)
        for row in piece:
            # Positions outside this word wrap round to large shifts, which give 0.
            np.left_shift(dtype(1), (row - row.dtype.type(low)) if low else row, out=shifted, casting="unsafe")
            np.bitwise_or(seen, shifted, out=seen)
        full = dtype((1 << min(bits, n_items - low)) - 1)
        if not np.array_equal(seen, np.broadcast_to(full, seen.shape)):
            return False
    return True


def count_placements(positions):
    """Count where each item stands; see `Profile.placements`."""
    table = positions.table
    n_items, n_voters = table.shape
    parts = []
    for start in range(0, n_voters, _PIECE // 8):
        piece = table[:, start : start + _PIECE // 8]
        if _all_strict(piece):
            where = np.arange(n_items)[:, None] * n_items + piece
            count = np.bincount(where.ravel(), minlength=n_items * n_items)
            item, place = np.divmod(np.flatnonzero(count), n_items)
            parts.append(np.column_stack([item, place, place, count[count > 0]]))
        else:
            parts.append(_tied_placements(piece))
        if len(parts) > 64:
            parts = [_merged(np.vstack(parts))]
    return _merged(np.vstack(parts))


def _tied_placements(piece):
    """Return the placement rows of ballots with ties or missing opinions."""
    n_items, width = piece.shape
    order = np.argsort(piece, axis=0, kind="stable")
    ordered = np.take_along_axis(piece, order, axis=0)
    rank = np.arange(n_items)[:, None]
    starts = np.ones((n_items, width), dtype=bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(starts, rank, 0), axis=0)
    ends = np.ones((n_items, width), dtype=bool)
    ends[:-1] = starts[1:]
    last = np.minimum.accumulate(np.where(ends, rank, n_items)[::-1], axis=0)[::-1]
    return _merged(np.column_stack([order.ravel(), first.ravel(), last.ravel(), np.ones(order.size, dtype=np.int64)]))


def _merged(rows):
    """Add up the voters of equal (item, first, last)."""
    base = int(rows[:, 2].max()) + 1
    key, inverse = np.unique((rows[:, 0] * base + rows[:, 1]) * base + rows[:, 2], return_inverse=True)
    voters = np.zeros(len(key), dtype=np.int64)
    np.add.at(voters, inverse.ravel(), rows[:, 3])
    rest, last = np.divmod(key, base)
    item, first = np.divmod(rest, base)
    return _read_only(np.column_stack([item, first, last, voters]))
