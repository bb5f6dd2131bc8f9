"""`Profile`: a set of ballots with its counts, read from tables, chunks or partitions."""

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
from .rankings import as_array, read_positions
from .tables import refuse_no_table

Keep: TypeAlias = Literal["positions", "counts"]
KEPT: tuple[Keep, ...] = get_args(Keep)


class Shape(NamedTuple):
    """What is public of a set of ballots: as much of a `Profile` as a plan reads.

    Attributes
    ----------
    n_items : int
        Number of items.
    n_voters : int or None, default=None
        Number of voters, where it is public and known.
    voter_epsilon : sequence of float or None, default=None
        The voters' own, public epsilons.
    """

    n_items: int
    n_voters: int | None = None
    voter_epsilon: Any = None


class Statistics:
    """What ballots say together; base of `Profile`, which adds how ballots are read and put together.

    Attributes
    ----------
    n_items : int
        Number of items.
    positions : Positions or None
        The ballots, from which counts are made; None where the counts were given.
    """

    n_items: int
    positions: Positions | None

    def _give(self, **counts):
        """Take counts that are made already, None for those that are not."""
        for name, count in counts.items():
            if count is not None:
                self.__dict__[name] = _read_only(count)  # a cached_property looks there first

    @cached_property
    def pairwise_counts(self) -> NDArray[np.int64]:
        """How many voters strictly prefer item i to item j: int64, shape (n_items, n_items)."""
        return _read_only(count_pairs(self.positions, self.__dict__.get("strict", False)))

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        """Pairwise counts minus their transpose; positive where i beats j."""
        return _read_only(self.pairwise_counts - self.pairwise_counts.T)

    @cached_property
    def net_wins(self) -> NDArray[np.int64]:
        """Row sums of the margins: int64, shape (n_items,); twice the centred Borda score."""
        wins = None if "pairwise_counts" in self.__dict__ else net_wins(self.positions)
        return _read_only(self.margins.sum(axis=1) if wins is None else wins)

    @cached_property
    def placements(self) -> NDArray[np.int64]:
        """Where items stand, exactly: rows (item, first, last, voters), int64.

        Row (i, a, b, c) says that c voters tie item i with b - a others over positions a..b (0 is
        best); items without an opinion are tied last.
        """
        return _read_only(count_placements(self.positions))

    @cached_property
    def strict(self) -> bool:
        """Whether every ballot, where kept, is a complete strict ranking; see `all_strict`."""
        return self.positions is not None and all_strict(self.positions.table)

    @cached_property
    def silent(self) -> bool:
        """Whether no ballot prefers any item to another: nothing but ties and missing opinions."""
        if self.positions is None or "pairwise_counts" in self.__dict__:
            return not self.pairwise_counts.any()
        return not any_preference(self.positions)

    @property
    def position_counts(self) -> NDArray[np.float64]:
        """Item-by-position counts: float64, shape (n_items, n_items); a tie is spread evenly."""
        out = np.zeros((self.n_items, self.n_items))
        for item, first, last, voters in self.placements:
            out[item, first : last + 1] += voters / (last - first + 1)
        return out

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in state.keys() & set(_READ_ONLY):  # a copy forgets what may not be written to
            if state[name] is not None:
                _read_only(state[name])

    def __sizeof__(self):
        # Arrays included: joblib's dask backend asks, to send what is large to a worker only once.
        held = [*vars(self).values(), *(self.positions or ())]
        return object.__sizeof__(self) + sum(array.nbytes for array in held if isinstance(array, np.ndarray))


def _read_only(array):
    """Return the array, which nobody can write to any more."""
    array.flags.writeable = False
    return array


class Profile(Statistics):
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
    >>> from sklearn_dprank.ballots.profile import Profile
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
        self._give(pairwise_counts=counts, placements=placements)

    @classmethod
    def from_rankings(
        cls,
        X: ArrayLike,
        *,
        item_names: ItemNames | None = None,
        keep: Keep = "positions",
        voter_epsilon: ArrayLike | None = None,
    ) -> Self:
        """Read ballots.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items)
            ``X[v, i]`` is where voter v puts item i; smaller is better, equal is tied, NaN (or masked) is
            no opinion. A DataFrame's columns name the items. There may be no ballot: shape (0, n_items).
        item_names : sequence of str, sequence of int, or None, default=None
            Names of the items, distinct; by default the columns of a DataFrame, unless they are just
            numbered 0, 1, 2, ...
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
            If X is not a two-dimensional array of numbers with at least two items, or `item_names` are not one
            distinct name an item, or `keep` is unknown.
        """
        check_choice(keep, "keep", KEPT)
        item_names = _names(X, item_names)
        positions = read_positions(X)
        n_items, n_voters = positions.table.shape
        if item_names is not None and len(item_names) != n_items:
            raise ValueError(f"item_names has {len(item_names)} names for {n_items} items; give one name an item.")
        profile: Any = cls(n_voters, n_items, item_names, positions=positions)
        if voter_epsilon is not None:
            profile = profile.with_voter_epsilon(voter_epsilon)
        return profile if keep == "positions" else profile.counted()

    @classmethod
    def from_chunks(cls, chunks: Iterable[Any], *, item_names: ItemNames | None = None, keep: Keep = "counts") -> Self:
        """Read ballots chunk by chunk, in memory bounded by one chunk when only counts are kept.

        Parameters
        ----------
        chunks : iterable of array-like of shape (n_chunk_voters, n_items), or dask collection
            Ballots; all with the same items in the same order. An iterable is read as a stream, one
            chunk at a time. A dask array of shape (n_voters, n_items), a dask DataFrame (its columns
            name the items) or a list of ``dask.delayed`` chunks (say, one a file) is read by dask's
            active scheduler, partition by partition, where the partitions lie. A chunk without rows
            counts nobody.
        item_names : sequence of str, sequence of int, or None, default=None
            As in `from_rankings`; chunks' own names are then not compared.
        keep : {"counts", "positions"}, default="counts"
            As in `from_rankings`. With "counts", nothing but counts leaves a worker of dask; with
            "positions", all ballots come here, in order and in compact form.

        Returns
        -------
        Profile
            The profile of all ballots together.

        Raises
        ------
        ValueError
            If there is no chunk, chunks disagree on the items or on their names, a dask collection is not
            two-dimensional, or `chunks` is a path or one table.

        Examples
        --------
        >>> from sklearn_dprank.datasets import make_mallows
        >>> from sklearn_dprank.ballots.profile import Profile
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
        """Return the profile of all voters of a list of profiles, in order."""
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
        """Return this profile with each voter's own, public epsilon.

        Parameters
        ----------
        voter_epsilon : array-like of shape (n_voters,)
            Positive and finite, with few distinct values: they are a public grid.

        Returns
        -------
        Profile
            The same ballots or counts, with a copy of the epsilons.

        Raises
        ------
        ValueError
            If there is not one positive, finite number for each voter.
        """
        try:
            own = np.asarray(as_array(voter_epsilon), dtype=float)
        except (TypeError, ValueError):
            raise ValueError("voter_epsilon must hold numbers.") from None
        if own.shape != (self.n_voters,):
            raise ValueError(f"voter_epsilon must hold one number for each voter, got shape {own.shape}.")
        if not (np.isfinite(own).all() and (own > 0).all()):
            raise ValueError("voter_epsilon must be positive and finite for every voter.")
        profile = copy(self)  # with what is counted already
        profile.voter_epsilon = _read_only(own.copy())
        return profile

    def counted(self) -> "Profile":
        """Return this profile without the ballots themselves, all counts computed."""
        return Profile(
            self.n_voters,
            self.n_items,
            self.item_names,
            counts=self.pairwise_counts,
            placements=self.placements,
            voter_epsilon=self.voter_epsilon,
        )

    def __add__(self, other: "Profile") -> Self:
        if not isinstance(other, Profile):
            return NotImplemented
        return self._sum([self, other])

    def __repr__(self):
        return f"Profile(n_voters={self.n_voters}, n_items={self.n_items})"


#: What `fit` and `score` read.
Ballots: TypeAlias = ArrayLike | Profile


def as_profile(X: Ballots, *, estimator: Any = None, least_voters: int = 0, least_items: int = 2) -> Profile:
    """Return ballots as a `Profile`, whatever table they come in, and a `Profile` itself.

    Parameters
    ----------
    X : array-like of shape (n_voters, n_items) or Profile
        Ballots.
    estimator : object or None, default=None
        The estimator that error messages name.
    least_voters, least_items : int
        The least numbers of rows and columns of a table.

    Returns
    -------
    Profile
        With the names of the columns.

    Raises
    ------
    ValueError
        If X is not a table of numbers, or is too small.
    """
    if isinstance(X, Profile):
        return X
    names = column_names(X)
    positions = read_positions(X, estimator=estimator, least_voters=least_voters, least_items=least_items)
    n_items, n_voters = positions.table.shape
    return Profile(n_voters, n_items, names, positions=positions)


def _names(X, item_names: ItemNames | None) -> list[str] | list[int] | None:
    """Return the names of the items, those given or those of the columns, or None."""
    return column_names(X) if item_names is None else checked_names(item_names, "item_names")


_READ_ONLY = ("pairwise_counts", "margins", "net_wins", "placements", "voter_epsilon")


_FAN_IN = 8  # parts that one task merges


def is_lazy(chunks: Any) -> bool:
    """Tell a dask collection, or a list of them, from ballots in memory.

    Parameters
    ----------
    chunks : object
        Anything.

    Returns
    -------
    bool
        Whether dask has to compute it.

    Examples
    --------
    >>> from sklearn_dprank.ballots.profile import is_lazy
    >>> is_lazy([[0, 1], [1, 0]])
    False
    """
    if isinstance(chunks, (list, tuple)):
        return bool(chunks) and all(_is_collection(chunk) for chunk in chunks)
    return _is_collection(chunks)


def _is_collection(thing):
    # Asked of the class, because some objects claim to have every attribute.
    return hasattr(type(thing), "__dask_graph__")


def partitions(chunks: Any) -> list[Any]:
    """Return the parts of a dask collection, in order.

    Parameters
    ----------
    chunks : dask array of shape (n_voters, n_items), dask DataFrame, Delayed, or list of them
        Arrays are split along voters only.

    Returns
    -------
    list of dask.delayed.Delayed
        One for each partition; a Delayed is one by itself.

    Raises
    ------
    ValueError
        If a collection is not two-dimensional, or an array does not know how many columns it has.
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
    """Read every partition of a dask collection in a task of its own, and merge the results.

    Parameters
    ----------
    chunks : dask collection, or list of them
        See `partitions`.
    read : callable
        ``read(partition)``: what is kept of one partition, in memory.
    merge : callable
        ``merge(list)``: what is kept of neighbouring partitions together, in order.

    Returns
    -------
    object
        What is kept of all partitions; nothing else leaves the place where they are read.

    Notes
    -----
    Dask's active scheduler does the work: that of a ``distributed.Client`` where there is one, else threads.
    """
    import dask

    level = [dask.delayed(read)(part) for part in partitions(chunks)]
    while len(level) > 1:
        level = [dask.delayed(merge)(level[k : k + _FAN_IN]) for k in range(0, len(level), _FAN_IN)]
    return dask.compute(level[0])[0]


def _check_chunks(chunks):
    """Refuse what may be iterated over, but not chunk by chunk."""
    if is_frame(chunks) or getattr(chunks, "ndim", 0) == 2:
        raise ValueError("chunks is one table of ballots; read it with Profile.from_rankings, or pass [table].")
    if not isinstance(chunks, (Iterator, list, tuple)):
        refuse_no_table(chunks, "chunks")
