"""`Profile`: a set of ballots with its counts, read from tables, chunks or partitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.checks import check_choice
from .._utils.types import ItemNames
from .compact import Positions
from .counting import all_strict, any_preference, count_pairs, count_placements, merge_placements, net_wins
from .names import checked_names, column_names, is_frame, names_differ
from .rankings import as_array, is_dask, read_positions
from .tables import refuse_no_table

Keep: TypeAlias = Literal["positions", "counts"]
KEPT: tuple[Keep, ...] = get_args(Keep)


class Shape(NamedTuple):
    """Public facts about a set of ballots: the part of a `Profile` that a plan reads.

    Attributes
    ----------
    n_items : int
        Number of items.
    n_voters : int or None, default=None
        Number of voters, if it is public and known.
    voter_epsilon : sequence of float or None, default=None
        Public epsilons of the voters, if they have individual ones.
    """

    n_items: int
    n_voters: int | None = None
    voter_epsilon: Any = None


def _read_only(array):
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


class Profile:
    """Set of ballots with its counts, for repeated fits and for ballots that are read in parts.

    Create a profile with `from_rankings` or `from_chunks`. `fit` and `score` of every estimator accept it in place of
    ballots. Statistics are computed on first use. ``profile + other`` has the voters of both. A profile is not private.

    Attributes
    ----------
    n_voters : int
        Number of ballots.
    n_items : int
        Number of items.
    item_names : ndarray of object, shape (n_items,), or None
        Names of the items, if the ballots had names.
    positions : Positions or None
        Ballots in compact form, if they are kept.
    voter_epsilon : ndarray of float, shape (n_voters,), or None
        Public epsilon of each voter for local mechanisms, if voters have individual ones.

    Examples
    --------
    >>> from sklearn_dprank.ballots import Profile
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
        self,
        n_voters: int,
        n_items: int,
        item_names: ItemNames | None = None,
        *,
        positions: Positions | None = None,
        counts: NDArray[np.int64] | None = None,
        placements: NDArray[np.int64] | None = None,
        voter_epsilon: ArrayLike | None = None,
    ) -> None:
        self.n_voters = int(n_voters)
        self.n_items = int(n_items)
        self.item_names = None if item_names is None else np.array(item_names, dtype=object)
        self.positions = positions
        self.voter_epsilon = None if voter_epsilon is None else _read_only(np.array(voter_epsilon, dtype=float))
        for name, count in (("pairwise_counts", counts), ("placements", placements)):
            if count is not None:
                self.__dict__[name] = _read_only(count)  # a cached_property looks there first

    @cached_property
    def pairwise_counts(self) -> NDArray[np.int64]:
        """Number of voters who strictly prefer item i to item j: int64, shape (n_items, n_items)."""
        return _read_only(count_pairs(self.positions, self.__dict__.get("strict", False)))

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        """Pairwise counts minus their transpose: int64, shape (n_items, n_items); positive where i beats j."""
        return _read_only(self.pairwise_counts - self.pairwise_counts.T)

    @cached_property
    def net_wins(self) -> NDArray[np.int64]:
        """Row sums of the margins: int64, shape (n_items,). For complete ballots, twice the centred Borda points."""
        wins = None if "pairwise_counts" in self.__dict__ else net_wins(self.positions)
        return _read_only(self.margins.sum(axis=1) if wins is None else wins)

    @cached_property
    def placements(self) -> NDArray[np.int64]:
        """Exact positions of items, with ties: rows (item, first, last, voters), int64.

        In a row (i, a, b, c), c voters tie item i with b - a others over the positions a to b. Position 0 is best.
        Items without an opinion are tied last.
        """
        return _read_only(count_placements(self.positions))

    @cached_property
    def strict(self) -> bool:
        """Whether ballots are kept and all are complete strict rankings; see `all_strict`."""
        return self.positions is not None and all_strict(self.positions.table)

    @cached_property
    def silent(self) -> bool:
        """Whether all ballots have only ties and missing opinions."""
        if self.positions is None or "pairwise_counts" in self.__dict__:
            return not self.pairwise_counts.any()
        return not any_preference(self.positions)

    @classmethod
    def from_rankings(
        cls,
        X: ArrayLike,
        *,
        item_names: ItemNames | None = None,
        keep: Keep = "positions",
        voter_epsilon: ArrayLike | None = None,
    ) -> Self:
        """Return the profile of a table of ballots.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items)
            ``X[v, i]`` is the position of item i on voter v's ballot. Smaller is better, equal is tied. NaN or a masked
            entry means "no opinion". The columns of a DataFrame name the items. The shape may be (0, n_items).
        item_names : sequence of str, sequence of int, or None, default=None
            Distinct names of the items. None uses the columns of a DataFrame, unless they are the numbers 0, 1, 2, ...
        keep : {"positions", "counts"}, default="positions"
            Whether to keep the ballots (one or two bytes per entry) or only the counts. Local mechanisms and histograms
            need the ballots.
        voter_epsilon : array-like of shape (n_voters,) or None, default=None
            Public epsilon of each voter, for local mechanisms.

        Returns
        -------
        Profile
            Profile of these ballots.

        Raises
        ------
        ValueError
            If X is not a two-dimensional array of numbers with at least two items, `item_names` are not one distinct
            name per item, `keep` is unknown, or `voter_epsilon` is not one positive, finite number per voter.
        """
        check_choice(keep, "keep", KEPT)
        profile = cls._read(X, item_names)
        if voter_epsilon is not None:
            profile = profile.with_voter_epsilon(voter_epsilon)
        return profile if keep == "positions" else profile.counted()

    @classmethod
    def _read(cls, X, item_names=None, **limits):
        """Return the profile of a table, with the given item names or those of its columns; see `read_positions`."""
        names = column_names(X) if item_names is None else checked_names(item_names, "item_names")
        positions = read_positions(X, **limits)
        n_items, n_voters = positions.table.shape
        if names is not None and len(names) != n_items:
            raise ValueError(f"item_names has {len(names)} names for {n_items} items; give one name an item.")
        return cls(n_voters, n_items, names, positions=positions)

    @classmethod
    def from_chunks(cls, chunks: Iterable[Any], *, item_names: ItemNames | None = None, keep: Keep = "counts") -> Self:
        """Return the profile of ballots in chunks; with ``keep="counts"``, only one chunk at a time is in memory.

        Parameters
        ----------
        chunks : iterable of array-like of shape (n_chunk_voters, n_items), or dask collection
            Ballots, all with the same items in the same order. An iterable is read as a stream, one chunk at a time. A
            chunk may have no rows. A dask collection is an array of shape (n_voters, n_items), a DataFrame (its columns
            name the items) or a list of ``dask.delayed`` chunks (for example, one per file). Dask's active scheduler
            reads each partition in a worker.
        item_names : sequence of str, sequence of int, or None, default=None
            As in `from_rankings`. The names in the chunks are then not compared.
        keep : {"counts", "positions"}, default="counts"
            As in `from_rankings`. With "counts", only counts leave a dask worker. With "positions", all ballots are
            transferred to this process, in order and in compact form.

        Returns
        -------
        Profile
            Profile of all ballots together.

        Raises
        ------
        ValueError
            If there is no chunk, chunks differ in the number or the names of items, a dask collection is not
            two-dimensional, or `chunks` is a path or one table.

        Examples
        --------
        >>> from sklearn_dprank.datasets import make_mallows
        >>> from sklearn_dprank.ballots import Profile
        >>> days = (make_mallows(1000, 5, 0.5, center=range(5), random_state=day) for day in range(7))
        >>> Profile.from_chunks(days)
        Profile(n_voters=7000, n_items=5)
        """
        check_choice(keep, "keep", KEPT)
        read = partial(cls.from_rankings, item_names=item_names, keep=keep)
        if is_lazy(chunks):
            return reduce_partitions(chunks, read, cls._sum)
        _check_chunks(chunks)
        parts = map(read, chunks)  # unlike a loop, it holds no chunk while the next one is made
        first = next(parts, None)
        if first is None:
            raise ValueError("chunks is empty; give at least one chunk of ballots, which may be of shape (0, n_items).")
        return reduce(add, parts, first) if keep == "counts" else cls._sum([first, *parts])

    @classmethod
    def _sum(cls, profiles):
        """Return the profile of the voters of all `profiles`, in order."""
        first, names = profiles[0], None
        for profile in profiles:
            if profile.n_items != first.n_items:
                raise ValueError(f"profiles over {first.n_items} and {profile.n_items} items do not add up.")
            if names_differ(names, profile.item_names):
                raise ValueError(
                    "profiles with different item names, or the same names in another order, do not add up."
                )
            names = profile.item_names if names is None else names
        n_voters = sum(profile.n_voters for profile in profiles)
        own = [profile.voter_epsilon for profile in profiles if profile.voter_epsilon is not None]
        if len(own) not in (0, len(profiles)):
            raise ValueError("profiles with and without voter_epsilon do not add up; give all voters one, or none.")
        whole = partial(cls, n_voters, first.n_items, names, voter_epsilon=np.concatenate(own) if own else None)
        if all(profile.positions is not None for profile in profiles):
            tables, unranked = zip(*(profile.positions for profile in profiles), strict=True)
            return whole(positions=Positions(np.concatenate(tables, axis=1), np.logical_or.reduce(unranked)))
        counts = sum(profile.pairwise_counts for profile in profiles)
        return whole(counts=counts, placements=merge_placements([profile.placements for profile in profiles]))

    def with_voter_epsilon(self, voter_epsilon: ArrayLike) -> Self:
        """Return a copy of this profile with a public epsilon for each voter.

        Parameters
        ----------
        voter_epsilon : array-like of shape (n_voters,)
            Positive, finite numbers. They should have few distinct values, which form a public grid.

        Returns
        -------
        Profile
            Same ballots or counts, with a copy of the epsilons.

        Raises
        ------
        ValueError
            If `voter_epsilon` is not one positive, finite number for each voter.
        """
        try:
            own = np.asarray(as_array(voter_epsilon), dtype=float)
        except (TypeError, ValueError):
            raise ValueError("voter_epsilon must hold numbers.") from None
        if own.shape != (self.n_voters,):
            raise ValueError(f"voter_epsilon must hold one number for each voter, got shape {own.shape}.")
        if not (np.isfinite(own).all() and (own > 0).all()):
            raise ValueError("voter_epsilon must be positive and finite for every voter.")
        profile = copy(self)  # with the counts that are already computed
        profile.voter_epsilon = _read_only(own.copy())
        return profile

    def counted(self) -> Profile:
        """Return this profile without the ballots, with all counts computed."""
        return Profile(
            self.n_voters,
            self.n_items,
            self.item_names,
            counts=self.pairwise_counts,
            placements=self.placements,
            voter_epsilon=self.voter_epsilon,
        )

    def __add__(self, other: Profile) -> Self:
        if not isinstance(other, Profile):
            return NotImplemented
        return self._sum([self, other])

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in state.keys() & set(_READ_ONLY):  # an unpickled array is writeable again
            if state[name] is not None:
                _read_only(state[name])

    def __sizeof__(self):
        # Includes arrays: by this size, joblib's dask backend decides to send large objects to a worker only once.
        held = [*vars(self).values(), *(self.positions or ())]
        return object.__sizeof__(self) + sum(array.nbytes for array in held if isinstance(array, np.ndarray))

    def __repr__(self):
        return f"Profile(n_voters={self.n_voters}, n_items={self.n_items})"


#: Ballots that `fit` and `score` accept.
Ballots: TypeAlias = ArrayLike | Profile


def as_profile(X: Ballots, *, estimator: Any = None, least_voters: int = 0, least_items: int = 2) -> Profile:
    """Return a table of ballots as a `Profile`; return a `Profile` unchanged.

    Parameters
    ----------
    X : array-like of shape (n_voters, n_items) or Profile
        Ballots.
    estimator : object or None, default=None
        Estimator to name in error messages.
    least_voters, least_items : int
        Minimum numbers of rows and columns of a table.

    Returns
    -------
    Profile
        Profile of the ballots, with the names of the columns.

    Raises
    ------
    ValueError
        If X is not a table of numbers, or is too small.
    """
    if isinstance(X, Profile):
        return X
    return Profile._read(X, estimator=estimator, least_voters=least_voters, least_items=least_items)


_READ_ONLY = ("pairwise_counts", "margins", "net_wins", "placements", "voter_epsilon")


_FAN_IN = 8  # parts that one task merges


def is_lazy(chunks: Any) -> bool:
    """Return whether `chunks` is a dask collection, or a list of them, and not in memory.

    Parameters
    ----------
    chunks : object
        Any object.

    Returns
    -------
    bool
        Whether dask has to compute `chunks`.

    Examples
    --------
    >>> from sklearn_dprank.ballots.profile import is_lazy
    >>> is_lazy([[0, 1], [1, 0]])
    False
    """
    if isinstance(chunks, (list, tuple)):
        return bool(chunks) and all(map(is_dask, chunks))
    return is_dask(chunks)


def partitions(chunks: Any) -> list[Any]:
    """Return the partitions of a dask collection, in order.

    Parameters
    ----------
    chunks : dask array of shape (n_voters, n_items), dask DataFrame, Delayed, or list of them
        Arrays are split along voters only.

    Returns
    -------
    list of dask.delayed.Delayed
        One for each partition. A Delayed is a single partition.

    Raises
    ------
    ValueError
        If a collection is not two-dimensional, or the number of columns of an array is unknown.
    """
    if isinstance(chunks, (list, tuple)):
        return [part for one in chunks for part in partitions(one)]
    if not hasattr(type(chunks), "to_delayed"):
        return [chunks]
    if getattr(chunks, "ndim", None) != 2:
        raise ValueError(
            f"chunks must be two-dimensional, (n_voters, n_items), got a dask {type(chunks).__name__} that is not; "
            "use a dask array, a dask DataFrame, or a list of Delayed chunks."
        )
    if hasattr(type(chunks), "rechunk"):
        if math.isnan(chunks.shape[1]):
            raise ValueError(
                "chunks is a dask array with an unknown number of columns; call its compute_chunk_sizes() first."
            )
        chunks = chunks.rechunk({1: -1})
    parts = chunks.to_delayed()
    return parts.ravel().tolist() if hasattr(parts, "ravel") else list(parts)


def reduce_partitions(chunks: Any, read: Callable[[Any], Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Read each partition of a dask collection in a separate task, and merge the results in a tree.

    Parameters
    ----------
    chunks : dask collection, or list of them
        See `partitions`.
    read : callable
        ``read(partition)`` returns the result of one partition, which is in memory.
    merge : callable
        ``merge(list)`` merges the results of neighbouring partitions, in order.

    Returns
    -------
    object
        Merged result of all partitions. No other data leaves the workers.

    Notes
    -----
    Dask's active scheduler runs the tasks: that of a ``distributed.Client`` if there is one, else threads.
    """
    import dask

    level = [dask.delayed(read)(part) for part in partitions(chunks)]
    while len(level) > 1:
        level = [dask.delayed(merge)(level[k : k + _FAN_IN]) for k in range(0, len(level), _FAN_IN)]
    return dask.compute(level[0])[0]


def _check_chunks(chunks):
    """Raise ValueError if `chunks` is one table, or not an iterable of chunks."""
    if is_frame(chunks) or getattr(chunks, "ndim", 0) == 2:
        raise ValueError("chunks is one table of ballots; read it with Profile.from_rankings, or pass [table].")
    if not isinstance(chunks, (Iterator, list, tuple)):
        refuse_no_table(chunks, "chunks")
