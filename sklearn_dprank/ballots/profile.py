"""`Profile`: a set of ballots with its counts, read from tables, chunks or partitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Literal, NamedTuple, Self, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.checks import check_choice, check_number, check_whole
from .._utils.lazy import cached_property
from .._utils.types import ItemNames
from . import counting, long, reading
from .cells import Cells, ComparedCells, RatedCells
from .reading import Positions
from .rows import Compared, Listed, Norm, numbered
from .weights import (
    BALLOT,
    COMPARISON,
    COMPARISONS,
    N_CLASSES,
    OF_PERSONS,
    PERSON,
    ROWS,
    WEIGHT_GRID,
    MaxWeight,
    WeightBound,
    Weights,
    clipped,
    persons_by_weight,
    reduced,
    refuse_large,
    shortened,
    weight_bound,
    weights_of,
)

Keep: TypeAlias = Literal["positions", "counts"]
_MOST_PAIRED = 5000  # items of a long profile whose pairs are counted: a table of 200 MB


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
    bound : WeightBound or None, default=None
        Public bound on the weight of a person, if ballots are weighted.
    """

    n_items: int
    n_voters: int | None = None
    voter_epsilon: Any = None
    bound: WeightBound | None = None


def _read_only(array):
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


class Profile:
    """Set of ballots with its counts, for repeated fits and for ballots that are read in parts.

    Create a profile with `from_rankings` or `from_chunks`, or from long data with `from_long`, `from_comparisons` or
    `from_orders`. `fit` and `score` of every estimator accept it in place of
    ballots. Statistics are computed on first use. ``profile + other`` has the voters of both. A profile is not private.

    Attributes
    ----------
    n_voters : int
        Number of ballots.
    n_items : int
        Number of items.
    item_names : ndarray of object or pandas Index, shape (n_items,), or None
        Names of the items, if the ballots had names: an Index if they are the columns of a pandas DataFrame.
    positions : Positions or None
        Ballots in compact form, if they are kept as a table.
    rows : Listed, Compared or None
        Ballots or comparisons as rows, of long data only.
    voter_epsilon : ndarray of float, shape (n_voters,), or None
        Public epsilon of each voter for local mechanisms, if voters have individual ones.
    bound : WeightBound or None
        Public bounds on the weight of a person and on the length of a ballot, if there are any. All counts are then
        sums of weights, in grid steps of 1 / 720720. With ``max_weight="auto"``, these counts have weights of up to
        4096 per person. Each fit scales the weights down to the bound that it chooses.
    weights : Weights or None
        Weights of the ballots, if they are weighted and kept.
    total_weight : int
        Sum of the weights in grid steps; `n_voters` without weights.

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
        items: ItemNames | None = None,
        *,
        positions: Positions | None = None,
        rows: Listed | Compared | None = None,
        counts: NDArray[np.int64] | None = None,
        placements: NDArray[np.int64] | None = None,
        voter_epsilon: ArrayLike | None = None,
        bound: WeightBound | None = None,
        weights: Weights | None = None,
        total_weight: int | None = None,
    ) -> None:
        self.n_voters = int(n_voters)
        self.n_items = int(n_items)
        self.bound, self.weights = bound, weights
        own_weight = self.n_voters if weights is None else _read_only(weights.each).sum()
        self.total_weight = int(own_weight if total_weight is None else total_weight)
        is_index = hasattr(type(items), "get_indexer")
        self.item_names: Any = items if items is None or is_index else np.array(items, dtype=object)
        self.positions, self.rows = positions, rows
        self.voter_epsilon = None if voter_epsilon is None else _read_only(np.array(voter_epsilon, dtype=float))
        for name, count in (("pairwise_counts", counts), ("placements", placements)):
            if count is not None:
                self.__dict__[name] = _read_only(count)  # a cached_property looks there first

    @property
    def max_listed(self) -> int | None:
        """Public bound on the number of items that a ballot lists with its full weight; None without a bound."""
        return None if self.bound is None else self.bound.max_listed

    @property
    def has_pair_counts(self) -> bool:
        """Whether `pairwise_counts` can be counted: always, but for long data of more than 5,000 items."""
        return self.rows is None or self.n_items <= _MOST_PAIRED

    @cached_property
    def pairwise_counts(self) -> NDArray[np.int64]:
        """Number of voters who strictly prefer item i to item j: int64, shape (n_items, n_items)."""
        if not self.has_pair_counts:
            raise ValueError(f"this needs {_TOO_MANY.format(self.n_items)}")
        if self.rows is not None:
            return _read_only(self.rows.pair_counts(self.n_items))
        return _read_only(counting.count_pairs(self.positions, self._weight_in_pairs))

    @property
    def _weight_in_pairs(self):
        """Weight of each ballot of a table in counts of pairs; None without weights."""
        positions: Any = self.positions
        return None if self.weights is None else shortened(self.weights.each, positions.n_listed, self.max_listed)

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        """Pairwise counts minus their transpose: int64, shape (n_items, n_items); positive where i beats j."""
        return _read_only(self.pairwise_counts - self.pairwise_counts.T)

    @property
    def pair_outcomes(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Pairs i, j that occur, and the number of voters who prefer i to j; half of them for a tied comparison."""
        if isinstance(self.rows, Compared) or not self.has_pair_counts:
            rows: Any = self.rows
            i, j, halves = rows.pair_outcomes(self.n_items)
            return i, j, halves / (2 * WEIGHT_GRID)
        i, j = np.nonzero(self.pairwise_counts)
        return i, j, self.pairwise_counts[i, j] / (1 if self.bound is None else WEIGHT_GRID)

    def agreement(self, ranks: NDArray[Any]) -> tuple[int, int]:
        """Return sums of preferences in long data: those that agree with a ranking minus the opposite ones, and all.

        These are sums over `pairwise_counts`, made without this table.

        Parameters
        ----------
        ranks : ndarray of int, shape (n_items,)
            Position of each item; smaller is better. Pairs that the ranking ties are in the second sum only.

        Returns
        -------
        agreed, total : int
            In grid steps of 1 / 720720.
        """
        agreed, total, rows = 0, 0, cast(Any, self.rows)
        for pair, weight in rows.pairs(self.n_items):
            better, worse = np.divmod(pair, self.n_items)
            agreed += int(np.vdot(weight, np.sign(ranks[worse] - ranks[better])))
            total += int(weight.sum())
        return agreed, total

    @cached_property
    def net_wins(self) -> NDArray[np.int64]:
        """Row sums of the margins: int64, shape (n_items,). For complete ballots, twice the centred Borda points."""
        if self.rows is not None:
            return _read_only(self.rows.net_wins(self.n_items))
        are_counted = "pairwise_counts" in vars(self)
        wins = None if are_counted else counting.net_wins(self.positions, self._weight_in_pairs)
        return _read_only(self.margins.sum(axis=1) if wins is None else wins)

    def net_wins_within(self, groups: Iterable[Iterable[int]]) -> NDArray[np.int64]:
        """Return the net wins of each item over the other items of its group.

        Parameters
        ----------
        groups : iterable of iterable of int
            Items of each group, no item twice.

        Returns
        -------
        ndarray of int64, shape (n_items,)
            Net wins; 0 for an item without a group.
        """
        listed = [list(group) for group in groups if group]
        if self.rows is not None:
            group_of = np.arange(self.n_items)
            for group in listed:
                group_of[group] = group[0]
            return self.rows.net_wins(self.n_items, group_of)
        wins = np.zeros(self.n_items, dtype=np.int64)
        for group in listed:
            wins[group] = self.margins[np.ix_(group, group)].sum(axis=1)
        return wins

    @cached_property
    def placements(self) -> NDArray[np.int64]:
        """Exact positions of items, with ties: rows (item, first, last, voters), int64.

        In a row (i, a, b, c), c voters tie item i with b - a others over the positions a to b. Position 0 is best.
        Items without an opinion are tied last.
        """
        if self.rows is not None:
            raise ValueError(f"placements need the positions of all items on each ballot, and {_ONLY_ROWS}")
        each = None if self.weights is None else self.weights.each
        return _read_only(counting.count_placements(self.positions, each))

    @cached_property
    def persons_by_weight(self) -> NDArray[np.int64]:
        """Number of persons by total weight: below 2, 2 to 4, ..., 2048 and more: int64, shape (12,).

        A person without a positive weight is not counted.
        """
        if self.bound is None:
            return _read_only(np.array([self.n_voters, *[0] * (N_CLASSES - 1)]))  # each weighs 1
        if self.weights is None:
            raise ValueError(_ONLY_COUNTS)
        return _read_only(persons_by_weight(self.weights))

    @cached_property
    def strict(self) -> bool:
        """Whether ballots are kept and all are complete strict rankings; see `odd_ballots`."""
        odd = None if self.positions is None else counting.odd_ballots(self.positions.table)
        return odd is not None and not len(odd)

    @cached_property
    def without_opinions(self) -> bool:
        """Whether all ballots have only ties and missing opinions."""
        if self.rows is not None:
            return not self.rows.has_opinions
        return not (self.net_wins.any() or self.pairwise_counts.any())  # net wins are faster, and mostly decide

    def lists(self) -> Listed:
        """Return the ballots as lists, each with its weight: 1, or the weight that it has without `max_listed`.

        Raises
        ------
        ValueError
            If this profile keeps only counts, or comparisons.
        """
        if isinstance(self.rows, Compared):
            raise ValueError("comparisons have no lists; read ratings by Profile.from_long, or lists by from_orders.")
        if self.rows is None and self.positions is None:
            raise ValueError(_ONLY_COUNTS)
        weight = np.ones(self.n_voters, dtype=np.int64) if self.weights is None else self.weights.each
        rows = counting.lists_of(self.positions) if self.rows is None else self.rows
        return rows._replace(weight=weight)

    def clipped(self, norm: Norm) -> Profile:
        """Return this profile, with comparisons of which each person's own sums are bounded in this norm.

        Parameters
        ----------
        norm : {"l1", "l2"}
            "l2" gives persons with many comparisons more weight, and is for Gaussian noise only.

        Returns
        -------
        Profile
            This profile, unless it has comparisons that are bounded in the other norm.
        """
        if not isinstance(self.rows, Compared) or self.rows.norm == norm:
            return self
        return self._in_other_norm

    @cached_property
    def _in_other_norm(self):
        """Profile of the same comparisons, with persons bounded in the other norm."""
        rows: Any = self.rows
        norm: Norm = "l2" if rows.norm == "l1" else "l1"
        own: Any = {"bound": self.bound, "total_weight": self.total_weight}
        return type(self)(self.n_voters, self.n_items, self.item_names, rows=rows._replace(norm=norm), **own)

    @property
    def paired(self) -> bool:
        """Whether voters compared two items in each row; public, as the rest of the bound."""
        return self.bound is not None and self.bound.form == "comparisons"

    @cached_property
    def cells(self) -> Cells:
        """Net wins and exposures of the items of each person, or of each ballot."""
        if isinstance(self.rows, Compared):
            outcome = np.where(self.rows.tied, 0, 1)
            return ComparedCells.of(self.rows.person, self.rows.winner, self.rows.loser, outcome)
        ballot, item, place, _ = self.lists()
        return RatedCells.of(ballot, item, -place, None if self.weights is None else self.weights.each)

    @classmethod
    def from_rankings(
        cls,
        X: ArrayLike,
        *,
        items: ItemNames | None = None,
        keep: Keep = "positions",
        voter_epsilon: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        max_weight: MaxWeight = 1,
        max_listed: int | None = None,
        counts: ArrayLike | None = None,
    ) -> Self:
        """Return the profile of a table of ballots.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items)
            ``X[v, i]`` is the position of item i on voter v's ballot. Smaller is better, equal is tied. NaN or a masked
            entry means "no opinion". The columns of a DataFrame name the items. The shape may be (0, n_items).
        items : sequence of str, sequence of int, or None, default=None
            Distinct names of the items. None uses the columns of a DataFrame, unless they are the numbers 0, 1, 2, ...
        keep : {"positions", "counts"}, default="positions"
            Whether to keep the ballots (one or two bytes per entry) or only the counts. Local mechanisms and histograms
            need the ballots.
        voter_epsilon : array-like of shape (n_voters,) or None, default=None
            Public epsilon of each voter, for local mechanisms.
        groups : array-like of shape (n_voters,) or None, default=None
            Id of the person who cast each ballot: all text, or all whole numbers. The guarantee then protects all
            ballots of one person. None if each row is another person. Text is compared in the Unicode form NFC,
            without the blanks around it, and otherwise exactly. This and the other columns belong to the rows of X by
            position. If X and a column are of pandas, their indexes must be equal.
        sample_weight : array-like of shape (n_voters,) or None, default=None
            Weight of each ballot, at least 0: for example, the design weights of a survey. None weights all alike.
        max_weight : float or "auto", default=1
            Public bound on the sum of the weights of one person, for `groups` or `sample_weight`. The weights of a
            person with a larger sum are scaled down to it. With 1 and `groups`, every person counts once, by the mean
            of the person's ballots. Noise is proportional to it. It must not be computed from the data. With "auto",
            each fit chooses 1, 2, 4, ..., or 2048 for 5 % of its budget. This needs Gaussian noise and
            ``keep="positions"``.
        max_listed : int or None, default=None
            Public bound k on the number of items that a ballot lists, at least 2. It must not be computed from the
            data. Most estimators then add less noise: with net wins and Laplace noise, by the factor (k / m)^2. A
            ballot that lists K > k items counts with the weight k (k - 1) / (K (K - 1)), so that its pairs count as
            much as those of k items. Positional scores count its first k items instead. None is no bound.
        counts : array-like of shape (n_voters,) or None, default=None
            Number of voters with the ballot of each row, a whole number of at least 0, if equal ballots are one row.
            Each of these voters is a unit of privacy, and has the weight and the epsilon of the row. A
            `sample_weight` of 60 is one voter instead. None is one voter for each row. Not for `groups`.

        Returns
        -------
        Profile
            Profile of these ballots, each repeated by its count.

        Raises
        ------
        ValueError
            If X is not a two-dimensional array of numbers with at least two items, `items` are not one distinct
            name per item, `keep` is unknown, or `voter_epsilon` is not one positive, finite number per voter. Also if
            `groups` or `sample_weight` is not one valid value per ballot, `max_weight` or `max_listed` is out of
            range, or `max_weight` is "auto" without the ballots. Also if `counts` are not one whole number per ballot,
            are more than fit into memory, or are given with `groups`.

        Notes
        -----
        Weights are rounded down to integers, in grid steps of 1 / 720720, so that noise on counts is exact. The
        integer weights of one person add up to at most k = floor(720720 `max_weight`). So a person changes a count by
        at most k times what one ballot changes, whether the person is added, removed or replaced. The weights of long
        ballots are applied after this limit, so they never raise the weight of another ballot of the person.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> from sklearn_dprank.ballots import Profile
        >>> persons = Profile.from_rankings([[0, 1, 2], [0, 2, 1], [1, 0, 2]], groups=["ann", "ann", "bob"])
        >>> DPBorda(epsilon=1.0).fit(persons).privacy_.unit
        'all ballots of one person'
        >>> lists = Profile.from_rankings([[0, 1, None], [None, 1, 0]], max_listed=2)
        >>> DPBorda(epsilon=1.0).fit(lists).max_listed_
        2
        >>> Profile.from_rankings([[0, 1], [1, 0]], counts=[60, 40]).n_voters
        100
        """
        check_choice(keep, "keep", get_args(Keep))
        if counts is not None and groups is not None:
            raise ValueError("counts counts persons, and groups names them; leave one of them out.")
        reading.check_aligned(X, groups=groups, sample_weight=sample_weight, voter_epsilon=voter_epsilon, counts=counts)
        profile = cls._read(X, items)
        bound = weight_bound(groups, sample_weight, max_weight, max_listed)
        if bound is not None:
            weights = weights_of(profile.n_voters, groups, sample_weight, bound.kept)
            profile = profile._weighted(bound, weights)
        if voter_epsilon is not None:
            profile = profile.with_voter_epsilon(voter_epsilon)
        if counts is not None:
            profile = profile._repeated(counts)
        return profile if keep == "positions" else profile.counted()

    def _repeated(self, counts):
        """Return the profile of ballots in a table, each as often as its count."""
        each, positions = reading.as_column(counts, "counts", self.n_voters), cast(Any, self.positions)
        if not (each == np.rint(each)).all():
            raise ValueError("counts must hold whole numbers, and one has a fraction; use sample_weight for weights.")
        row = 8 + 3 * self.n_items * positions.table.itemsize  # bytes for the number of a row, and copies of it
        if each.sum() * row > 8 * reading.cells_in_memory():
            raise ValueError("counts adds up to more voters than fit into memory; check that it counts voters.")
        refuse_large(int(each.sum()), self.n_items, self.bound)
        whole = self._rows(np.repeat(np.arange(self.n_voters), each.astype(np.int64)))
        if whole.weights is not None:  # the order of rows numbers the voters, so splits must shuffle them
            whole.weights = whole.weights._replace(persons=np.arange(whole.n_voters))
        return whole

    @classmethod
    def _read(cls, X, items=None, *, least_voters=0, least_items=2):
        """Return the profile of a table, with the given item names or those of its columns; see `check_ballots`."""
        table = reading.check_ballots(X, least_voters=least_voters, least_items=least_items)
        names = reading.column_names(X) if items is None else reading.checked_names(items, "items")
        if items is not None and reading.is_frame(X):
            own, new = ([reading.normal(str(name)) for name in each] for each in (reading.labels_of(X), names))
            if {*own} == {*new} and own not in (new, [str(item) for item in range(len(own))]):  # 0, 1, ... are no names
                raise ValueError("items has the names of X's columns in another order; leave it out, or pass X[items].")
        # The types of a list are those of its ballots, so that a refusal would depend on all of them.
        kinds = {str(kind).lower().partition("[")[0] for kind in getattr(X, "dtypes", [getattr(X, "dtype", None)])}
        if kinds and kinds <= {"bool", "boolean"}:
            raise ValueError(
                "X holds truth values, and True would be worse than False. If True is an approval, pass "
                "RatingsToRankings().fit_transform(X); if not, X.astype(int)."
            )
        positions = reading.compact_positions(table)
        n_items, n_voters = positions.table.shape
        if names is not None and len(names) != n_items:
            raise ValueError(f"items has {len(names)} names for {n_items} items; give one name an item.")
        return cls(n_voters, n_items, names, positions=positions)

    def _weighted(self, bound, weights):
        """Return the profile of the same ballots with weights."""
        refuse_large(self.n_voters, self.n_items, bound)
        own = {"positions": self.positions, "bound": bound, "weights": weights}
        return type(self)(self.n_voters, self.n_items, self.item_names, **own)

    @classmethod
    def from_chunks(
        cls,
        chunks: Iterable[Any],
        *,
        items: ItemNames | None = None,
        keep: Keep = "counts",
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        max_weight: MaxWeight = 1,
        max_listed: int | None = None,
    ) -> Self:
        """Return the profile of ballots in chunks; with ``keep="counts"``, only one chunk at a time is in memory.

        Parameters
        ----------
        chunks : iterable of array-like of shape (n_chunk_voters, n_items), or dask collection
            Ballots, all with the same items in the same order. An iterable is read as a stream, one chunk at a time. A
            chunk may have no rows. A dask collection is an array of shape (n_voters, n_items), a DataFrame (its columns
            name the items) or a list of ``dask.delayed`` chunks (for example, one per file). Dask's active scheduler
            reads each partition in a worker.
        items : sequence of str, sequence of int, or None, default=None
            As in `from_rankings`. The names in the chunks are then not compared.
        keep : {"counts", "positions"}, default="counts"
            As in `from_rankings`. With "counts", only counts leave a dask worker. With "positions", all ballots are
            transferred to this process, in order and in compact form.
        groups, sample_weight : array-like of shape (n_voters,) or None, default=None
            As in `from_rankings`, for the ballots of all chunks in order. A person may have ballots in several chunks.
            Not for dask collections, whose partitions have unknown lengths.
        max_weight : float or "auto", default=1
            As in `from_rankings`. "auto" needs ``keep="positions"``.
        max_listed : int or None, default=None
            As in `from_rankings`.

        Returns
        -------
        Profile
            Profile of all ballots together.

        Raises
        ------
        ValueError
            If there is no chunk, chunks differ in the number or the names of items, a dask collection is not
            two-dimensional, or `chunks` is a path or one table. Also if `groups` or `sample_weight` does not have one
            valid value per ballot, or is given for a dask collection.

        Examples
        --------
        >>> from sklearn_dprank.datasets import make_mallows
        >>> from sklearn_dprank.ballots import Profile
        >>> days = (make_mallows(1000, 5, 0.5, center=range(5), random_state=day) for day in range(7))
        >>> Profile.from_chunks(days)
        Profile(n_voters=7000, n_items=5)
        """
        check_choice(keep, "keep", get_args(Keep))
        bound = weight_bound(groups, sample_weight, max_weight, max_listed)
        has_columns = groups is not None or sample_weight is not None
        if is_lazy(chunks):
            if has_columns:
                raise ValueError(
                    "groups and sample_weight are for chunks in memory, because the lengths of dask partitions are "
                    "unknown; pass (part.compute() for part in chunks.partitions)."
                )
            read_part = partial(cls.from_rankings, items=items, keep=keep, max_listed=max_listed)
            return reduce_partitions(chunks, read_part, cls._sum)
        if reading.is_frame(chunks) or getattr(chunks, "ndim", 0) == 2:
            raise ValueError("chunks is one table of ballots; read it with Profile.from_rankings, or pass [table].")
        if not isinstance(chunks, (Iterator, list, tuple)):
            reading.check_is_table(chunks, "chunks")
        read = partial(cls._read, items=items)
        # Unlike a loop, `map` holds no chunk while the next one is made.
        parts: Any = map(partial(cls.from_rankings, items=items, max_listed=max_listed), chunks)
        if has_columns:
            given: Any = sample_weight if groups is None else groups
            bound = cast(WeightBound, bound)
            weights = weights_of(len(given), groups, sample_weight, bound.kept)  # persons are clipped over all chunks
            parts = _weighted_parts(chunks, read, weights, bound, groups=groups, sample_weight=sample_weight)
        if keep == "counts":
            parts = map(cls.counted, parts)
        first = next(parts, None)
        if first is None:
            raise ValueError("chunks is empty; give at least one chunk of ballots, which may be of shape (0, n_items).")
        if keep == "counts":
            return reduce(lambda one, other: cls._sum([one, other]), parts, first)
        whole = cls._sum([first, *parts])
        if has_columns:
            _read_only(weights.each)
            whole.weights = weights  # with the persons, which the parts do not have
        return whole

    @classmethod
    def from_long(
        cls,
        table: Any = None,
        person: Any = None,
        item: Any = None,
        *,
        items: ItemNames | Literal["private"],
        rating: Any = None,
        position: Any = None,
        max_listed: int | None = None,
    ) -> Self:
        """Return the profile of a table with one rating a row: person, item and value.

        Parameters
        ----------
        table : DataFrame of pandas or Polars, Arrow table, dict of columns, structured array, or None
            One row for each rating. None if the columns are passed as arrays. A list or stream of tables is read one
            table at a time, such as ``pandas.read_csv(path, chunksize=10**6)``. Workers of dask read the partitions of
            a dask DataFrame. A person may have rows in several tables.
        person, item : str or array-like of shape (n_rows,)
            Names of the columns of `table`, or arrays without a table. Ids are all text or all whole numbers. Text is
            compared in the Unicode form NFC, without the blanks around it.
        items : sequence of str or sequence of int
            Public list of all items, of the same kind as the ids in `item`. It must not be computed from the rows, so
            it also lists items without ratings. Or "private", if no such list is public: the items are then those of
            the rows, and a secret. Only `~sklearn_dprank.DPPositionalRule` can rank them. It needs `max_listed`.
        rating, position : str or array-like of shape (n_rows,)
            Column of values. Give one of them: `rating` if larger values are better, `position` if smaller ones are.
        max_listed : int or None, default=None
            Public bound k on the number of items that a person rates, at least 2, as in `from_rankings`. A person who
            rates more counts less, and no rating is dropped. None is no bound.

        Returns
        -------
        Profile
            Profile with one ballot for each person: the items that the person rated, in the order of the values. Other
            items have no opinion. The guarantee protects all rows of one person.

        Raises
        ------
        ValueError
            If a column is missing or has another length, both or none of `rating` and `position` are given, ids are of
            different kinds, a value is infinite or not a number, or a row has an item that `items` does not list. No
            message shows a cell.

        Notes
        -----
        Each row is read by itself. A row without a person, an item or a value is ignored. If a person rates an item
        several times, the mean of the values counts. The order of the rows does not matter.

        The rows are kept as numbers, 24 bytes each, and never become a table of persons and items. Net wins need 2 m
        numbers for m items. Counts of pairs are available for at most 5,000 items.

        Examples
        --------
        >>> from sklearn_dprank.ballots import Profile
        >>> ratings = {"user": ["ann", "ann", "ann", "bob", "bob"], "drink": ["tea", "milk", "wine", "tea", "milk"]}
        >>> ratings["stars"] = [5, 3, 1, 2, 4]
        >>> profile = Profile.from_long(ratings, "user", "drink", rating="stars", items=["tea", "milk", "wine"])
        >>> profile.net_wins // 720720
        array([ 1,  1, -2])
        """
        names = _catalogue(items, max_listed)
        columns = {"person": person, "item": item, "rating": rating, "position": position}
        read = partial(long.read_long, **columns, names=names)
        rows, listed = long.ballots_of_persons(_in_parts(table, read), names)
        weights = Weights(np.full(rows.n_voters, WEIGHT_GRID, dtype=np.int64), None)
        return cls._listed(rows, weights, listed, ROWS, max_listed, names is None)

    @classmethod
    def from_orders(
        cls,
        orders: Any,
        *,
        items: ItemNames | Literal["private"],
        person: ArrayLike | None = None,
        max_listed: int | None = None,
    ) -> Self:
        """Return the profile of lists of items, best first.

        Parameters
        ----------
        orders : list of lists, or table of shape (n_voters, n_choices)
            Items of each ballot, best first. Lists may have any length, and a list inside a list ties its items. A
            table has one column for each choice, the first choice first. Missing entries are skipped, and an empty
            list has no opinion.
        items : sequence of str, sequence of int, or "private"
            Public list of all items, or "private", as in `from_long`.
        person : array-like of shape (n_voters,) or None, default=None
            Id of the person who gave each list. A person counts once, by the mean of the person's lists, and a list
            without a person counts nothing. If items are private, the lists of a person become one list, in the order
            of the mean places of its items. None if each list is of another person.
        max_listed : int or None, default=None
            Public bound on the number of items on a list, as in `from_rankings`. Longer lists count less. None is no
            bound.

        Returns
        -------
        Profile
            Profile with one ballot for each list. Items that a list leaves out have no opinion.

        Raises
        ------
        ValueError
            If a list has an item twice or one that `items` does not list, or ids are of different kinds. No message
            shows a cell.

        Examples
        --------
        >>> from sklearn_dprank.ballots import Profile
        >>> lists = [["tea", "milk"], ["wine", "tea", "milk"]]
        >>> Profile.from_orders(lists, items=["tea", "milk", "wine"]).net_wins // 720720
        array([ 1, -3,  2])
        """
        names = _catalogue(items, max_listed)
        rows, persons, listed = long.read_orders(orders, person, names)
        each = np.full(rows.n_voters, WEIGHT_GRID, dtype=np.int64)
        if persons is not None:
            missing = persons < 0
            persons = np.where(missing, persons.max(initial=-1) + 1, persons)
            each = np.where(missing, 0, clipped((~missing).astype(float), persons, WEIGHT_GRID))
        unit = BALLOT if person is None else PERSON
        return cls._listed(rows, Weights(each, persons), listed, unit, max_listed, names is None)

    @classmethod
    def _listed(cls, rows, weights, names, unit, max_listed, is_private):
        """Return the profile of rows of lists, whose ballots have these weights."""
        check_whole(max_listed, "max_listed", 2, optional=True)
        max_listed = None if max_listed is None else int(max_listed)
        bound = WeightBound(unit, WEIGHT_GRID, max_listed, "private" if is_private else "lists")
        each = shortened(weights.each, rows.n_listed, max_listed)
        profile = cls(rows.n_voters, len(names), names, rows=rows._replace(weight=each), bound=bound, weights=weights)
        refuse_large(rows.n_voters, len(names) if len(names) <= _MOST_PAIRED else math.isqrt(len(names)) + 1, bound)
        return profile

    @classmethod
    def from_comparisons(
        cls,
        table: Any = None,
        first: Any = None,
        second: Any = None,
        *,
        items: ItemNames,
        person: Any,
        outcome: Any = None,
        ties: Iterable[str] = long.TIES,
        max_weight: float = 1,
    ) -> Self:
        """Return the profile of a table with one comparison of two items a row.

        Parameters
        ----------
        table : DataFrame of pandas or Polars, Arrow table, dict of columns, structured array, or None
            One row for each comparison. None if the columns are passed as arrays. It may also be a list or stream of
            tables, or a dask DataFrame, as in `from_long`.
        first, second : str or array-like of shape (n_rows,)
            Columns of the two items. Ids are as in `from_long`.
        items : sequence of str or sequence of int
            Public list of all items, as in `from_long`.
        person : str, array-like of shape (n_rows,) or None
            Column of the persons who compared. The guarantee then protects all comparisons of one person. None states
            that each row is another person, and the guarantee protects one comparison.
        outcome : str, array-like of shape (n_rows,) or None, default=None
            Column of results: the name of the column `first` or `second`, the item that won, or a word of `ties`. None
            if `first` beat `second` in every row.
        ties : iterable of str, default=("tie", "tie (bothbad)", "both_bad", "draw")
            Words in `outcome` that mean a tie. No other word is read as a tie.
        max_weight : float, default=1
            Public bound c on a person, in comparisons, from 1e-5 to 1e6. It must not be computed from the data. The own
            sums of a person are scaled down if they exceed those of c comparisons.

        Returns
        -------
        Profile
            Profile with the comparisons of each person. `n_voters` is the number of persons.

        Raises
        ------
        ValueError
            If a column is missing or has another length, ids are of different kinds, a row has an item that `items`
            does not list, compares an item with itself or has another outcome, or `max_weight` is out of range. No
            message shows a cell.

        Notes
        -----
        Each row is read by itself. A row without a person, an item or an outcome is ignored. The same comparison
        counts as often as it stands there. The order of the rows does not matter.

        One comparison changes net wins by 2 in L1 and in squared L2. So a person's own wins minus losses are bounded by
        2 c in L1, or by 2 c in squared L2 if the noise is Gaussian and if an estimator is not private. A person with K
        different comparisons then counts like c, or like the square root of c K, of them. Counts of pairs are bounded
        by c in the same way. Net wins within groups are bounded by the own sums within the groups. The factor of a
        person is rounded down to the grid of 1 / 720720. With K equal comparisons, this loses less than the share
        K / (720720 c), at most 1.4 % for K = 10,000 and c = 1, and all if K exceeds 720720 c.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> from sklearn_dprank.ballots import Profile
        >>> votes = {"a": ["x", "y", "x"], "b": ["y", "z", "z"], "winner": ["a", "tie", "b"], "judge": ["u", "u", "v"]}
        >>> profile = Profile.from_comparisons(votes, "a", "b", outcome="winner", person="judge", items=["x", "y", "z"])
        >>> profile.net_wins // 720720
        array([ 0, -1,  1])
        >>> DPBorda(epsilon=1.0).fit(profile).privacy_.unit
        'all comparisons of one person'
        """
        names: Any = _catalogue(items)
        if names is None:
            raise ValueError("items='private' is for ratings and lists; list all items that may be compared.")
        check_number(max_weight, "max_weight", least=1e-5, most=1e6)
        most = math.floor(Fraction(float(max_weight)) * WEIGHT_GRID)
        ties = ties if isinstance(ties, str) else tuple(ties)
        given = {"first": first, "second": second, "person": person, "outcome": outcome, "ties": ties, "names": names}
        columns = _in_parts(table, partial(long.read_comparisons, **given))
        persons = long.person_codes(*columns.get("person", (np.arange(len(columns["tied"])), None)))
        known, persons = numbered(persons, persons.max(initial=-1) + 1)
        rows = Compared(persons, columns["winner"], columns["loser"], columns["tied"], len(known), most)
        bound = WeightBound(COMPARISON if person is None else COMPARISONS, most, 2, "comparisons")
        total = rows.n_voters * min(most, WEIGHT_GRID)
        return cls(rows.n_voters, len(names), names, rows=rows, bound=bound, total_weight=total)

    @classmethod
    def _sum(cls, profiles):
        """Return the profile of the voters of all `profiles`, in order."""
        first, names = profiles[0], None
        for profile in profiles:
            if profile.n_items != first.n_items:
                raise ValueError(f"profiles over {first.n_items} and {profile.n_items} items do not add up.")
            if reading.names_differ(names, profile.item_names):
                raise ValueError(
                    "profiles with different item names, or the same names in another order, do not add up."
                )
            names = profile.item_names if names is None else names
        n_voters = sum(profile.n_voters for profile in profiles)
        own = [profile.voter_epsilon for profile in profiles if profile.voter_epsilon is not None]
        if len(own) not in (0, len(profiles)):
            raise ValueError("profiles with and without voter_epsilon do not add up; give all voters one, or none.")
        if any(profile.bound != first.bound for profile in profiles):
            raise ValueError(
                "profiles add up only if all have the same max_weight, max_listed and unit, or none has weights; read "
                "all ballots with the same ones."
            )
        total = sum(profile.total_weight for profile in profiles)
        if first.rows is None:
            refuse_large(n_voters, first.n_items, first.bound)
        facts: dict[str, Any] = {"bound": first.bound, "total_weight": total}
        facts["voter_epsilon"] = np.concatenate(own) if own else None
        whole = partial(cls, n_voters, first.n_items, names, **facts)
        if first.rows is not None:
            rows = type(first.rows).joined([profile.rows for profile in profiles])
            if first.weights is None:
                return whole(rows=rows)
            return whole(rows=rows, weights=Weights(np.concatenate([one.weights.each for one in profiles]), None))
        if all(profile.positions is not None for profile in profiles):
            tables, unranked = zip(*(profile.positions for profile in profiles), strict=True)
            positions = Positions(np.concatenate(tables, axis=1), np.logical_or.reduce(unranked))
            if first.bound is None:
                return whole(positions=positions)
            each = np.concatenate([profile.weights.each for profile in profiles])
            # Each ballot is of another person, unless `from_chunks` restores the persons.
            persons = np.arange(n_voters) if any(profile.has_persons for profile in profiles) else None
            return whole(positions=positions, weights=Weights(each, persons))
        counts = sum(profile.pairwise_counts for profile in profiles)
        return whole(counts=counts, placements=counting.merge_placements([profile.placements for profile in profiles]))

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
        if self.rows is not None:
            raise ValueError("voter_epsilon has no order of persons in long data; pass a table with one row a voter.")
        own = reading.as_column(voter_epsilon, "voter_epsilon", self.n_voters, positive=True)
        profile = copy(self)  # with the counts that are already computed
        profile.voter_epsilon = _read_only(own.copy())
        return profile

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the profile of some of the ballots, with the weights that they have here.

        Parameters
        ----------
        rows : ndarray of int or bool
            Ballots, as an index of an array of shape (n_voters,), none of them twice.

        Returns
        -------
        Profile
            Profile of these ballots.

        Raises
        ------
        ValueError
            If this profile keeps only counts, or a ballot is taken twice.
        """
        if self.positions is None and self.rows is None:
            raise ValueError(_ONLY_COUNTS)
        rows = np.arange(self.n_voters)[rows]
        if np.unique(rows).size < rows.size:  # a person would exceed the bound
            raise ValueError("rows holds a ballot twice; take each ballot at most once.")
        return self._rows(rows)

    def _rows(self, rows):
        """Return the profile of these ballots, which may occur several times if each is of another person."""
        own = None if self.voter_epsilon is None else self.voter_epsilon[rows]
        weights = None
        if self.weights is not None:
            each, persons = self.weights
            weights = Weights(each[rows], None if persons is None else persons[rows])
        kept: dict[str, Any] = {"voter_epsilon": own, "bound": self.bound, "weights": weights}
        if self.rows is not None:
            kept["rows"] = self.rows.take(rows)
            if weights is None:
                kept["total_weight"] = self.total_weight // max(self.n_voters, 1) * len(rows)
        else:
            positions: Any = self.positions
            table = positions.table[:, rows]
            kept["positions"] = Positions(table, (table == positions.sentinel).any(axis=1))
        return type(self)(len(rows), self.n_items, self.item_names, **kept)

    @property
    def has_persons(self) -> bool:
        """Whether persons or voters are numbered in an order of rows, so that splits must shuffle them."""
        return self.rows is not None or (self.weights is not None and self.weights.persons is not None)

    @cached_property
    def _units(self):
        """Number of the person of each ballot, from 0 and without gaps: int, shape (n_voters,)."""
        persons = None if self.weights is None else self.weights.persons
        return np.arange(self.n_voters) if persons is None else np.unique(persons, return_inverse=True)[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of persons, or of ballots if each is of another person, and of items."""
        return int(self._units.max(initial=-1)) + 1, self.n_items

    def __getitem__(self, persons: Any) -> Self:
        """Return the profile of some of the persons, with all their ballots, as in `train_test_split`.

        Parameters
        ----------
        persons : ndarray of int or bool, shape (n,) or (shape[0],)
            Index of an array of all persons, none of them twice. Without persons, each ballot is one.

        Returns
        -------
        Profile
            Profile of all ballots of these persons, in their order.

        Raises
        ------
        ValueError
            If this profile keeps only counts, or a person is taken twice.
        """
        taken = np.arange(self.shape[0])[persons[0] if isinstance(persons, tuple) else persons]  # scikit-learn adds ...
        if np.unique(taken).size < taken.size:
            raise ValueError("a person is taken twice; take each person at most once, and use no bootstrap.")
        return self.take(np.isin(self._units, taken))

    def bounded(self, bound: WeightBound) -> Profile:
        """Return this profile, which has ``max_weight="auto"``, with the bound that a fit has chosen.

        Parameters
        ----------
        bound : WeightBound
            The same unit with a bound of at most 2048.

        Returns
        -------
        Profile
            Same ballots; the weights of a person with a larger sum are scaled down to the bound.

        Raises
        ------
        ValueError
            If this profile has another `max_weight`.
        """
        if self.weights is None or self.bound != bound._replace(most=None) or bound.most is None:
            raise ValueError("only a Profile with max_weight='auto' can be given a bound that a fit has chosen.")
        return self._weighted(bound, reduced(self.weights, bound.most))

    def counted(self) -> Profile:
        """Return this profile without the ballots, with all counts computed; a profile of long data keeps its rows.

        Raises
        ------
        ValueError
            If this profile has ``max_weight="auto"``.
        """
        if self.bound is not None and self.bound.most is None:
            raise ValueError(
                "max_weight='auto' needs the ballots, because each fit chooses a bound; use keep='positions'."
            )
        if self.rows is not None:
            return self
        own: Any = {name: getattr(self, name) for name in ("placements", "voter_epsilon", "bound", "total_weight")}
        return Profile(self.n_voters, self.n_items, self.item_names, counts=self.pairwise_counts, **own)

    def __add__(self, other: Profile) -> Self:
        if not isinstance(other, Profile):
            return NotImplemented
        for one in (self, other):
            check_public_items(one.bound)
        if any(one.bound is not None and one.bound.unit in OF_PERSONS for one in (self, other)):
            raise ValueError(
                "profiles with persons do not add up, because a person may have ballots in both. Pass a list of all "
                "tables to Profile.from_chunks, or of long data to Profile.from_long or Profile.from_comparisons."
            )
        return self._sum([self, other])

    #: Query, mechanism and sampler of the last order that was drawn, for later fits on this object; not pickled.
    kept_sampler: tuple[Any, Any] = (None, None)

    def __getstate__(self):
        state = vars(self).copy()  # in one step: another thread may add a count meanwhile
        state.pop("kept_sampler", None)
        return state

    def __setstate__(self, state):
        vars(self).update(state)
        # An unpickled array is writeable again.
        for array in (*state.values(), *(self.weights or ()), *(self.rows or ())):
            if isinstance(array, np.ndarray):
                _read_only(array)

    def __sizeof__(self):
        # Includes arrays: by this size, joblib's dask backend decides to send large objects to a worker only once.
        held = [*vars(self).values(), *(self.positions or ()), *(self.weights or ()), *(self.rows or ())]
        return object.__sizeof__(self) + sum(array.nbytes for array in held if isinstance(array, np.ndarray))

    def __repr__(self):
        return f"Profile(n_voters={self.n_voters}, n_items={self.n_items})"


def _weighted_parts(chunks, read, weights, bound, **columns):
    """Yield the profile of each chunk with its weights; raise ValueError unless there is one for each ballot."""
    start, n_voters = 0, len(weights.each)
    for chunk in chunks:
        part = read(chunk)
        end = start + part.n_voters
        of_pandas = {name: values for name, values in columns.items() if hasattr(type(values), "iloc")}
        reading.check_aligned(chunk, **{name: values.iloc[start:end] for name, values in of_pandas.items()})
        if end > n_voters:
            raise ValueError("groups and sample_weight have fewer values than the chunks have ballots.")
        part = part._weighted(bound, Weights(weights.each[start:end], None))
        start = end
        del chunk  # the next one is made without it
        yield part
    if start < n_voters:
        raise ValueError("groups and sample_weight have more values than the chunks have ballots.")


def _in_parts(table, read):
    """Return the columns that `read` finds in a table, or in all of several tables; see `long.joined`."""
    if is_lazy(table):
        return reduce_partitions(table, read, long.joined)
    is_list = isinstance(table, (list, tuple)) and all(map(reading.is_frame, table))
    with long.citing(read.keywords):
        if not is_list and not isinstance(table, Iterator):
            return read(table)
        parts = list(map(read, table))  # unlike a loop, `map` holds no table while the next one is made
        if not parts:
            raise ValueError("table is an empty list or stream; give at least one table, which may have no rows.")
        return long.joined(parts)


def _catalogue(items, max_listed=2):
    """Return the checked names of the public list of items, or None for private items."""
    if isinstance(items, str) and items == "private":
        if max_listed is None:
            raise ValueError(
                "items='private' needs max_listed, a public bound on the number of items that count of a list; set "
                "max_listed=10, say."
            )
        check_whole(max_listed, "max_listed", 2, 1000)  # the threshold is computed from all lengths and positions
        return None
    names = reading.checked_names(items, "items")
    if "" in names:
        raise ValueError("items has an empty name; leave it out. Read names from a file with splitlines().")
    if len(names) < 2:
        raise ValueError(f"items must list at least two items, got {len(names)}; list all items, also unrated ones.")
    return names


def check_public_items(bound: WeightBound | None) -> None:
    """Raise ValueError if the profile with this bound has private items, which one estimator can rank."""
    if bound is not None and bound.form == "private":
        raise ValueError(
            "items='private' is for one fit of DPPositionalRule, which publishes names that many persons list; use it, "
            "or pass a public list as items."
        )


def check_answerable(asker: str, needs: frozenset[str], n_items: int, bound: WeightBound) -> None:
    """Raise ValueError if the data that a plan needs cannot be counted from rows of long data.

    Parameters
    ----------
    asker : str
        Name of the estimator, for the message.
    needs : frozenset of {"counts", "net_wins", "placements", "positions", "cells", "outcomes", "lists"}
        Data that the plan needs.
    n_items : int
        Number of items.
    bound : WeightBound
        Bound of the long data, with its form.
    """
    if "lists" in needs and bound.form == "comparisons":
        raise ValueError(f"{asker} needs lists of items, and comparisons have none; use DPBradleyTerry or DPBorda.")
    if needs - {"counts", "net_wins", "cells", "outcomes", "lists"}:
        raise ValueError(f"{asker} needs the positions of all items on each ballot, and {_ONLY_ROWS}")
    if "counts" in needs and n_items > _MOST_PAIRED:
        raise ValueError(f"{asker} needs {_TOO_MANY.format(n_items)}")


_ONLY_ROWS = (
    "long data has none; use DPBorda or DPPairwise, DPPositionalRule for scores of lists, or Borda or BradleyTerry "
    "without privacy, or read a table of all items by Profile.from_rankings."
)
_TOO_MANY = (
    f"counts of all pairs of items, which are supported for at most {_MOST_PAIRED} items of long data, got {{}}; use "
    "DPBorda, or Borda without privacy, which need no pairs."
)
_ONLY_COUNTS = "this Profile keeps only counts; build it with keep='positions'."


#: Ballots that `fit` and `score` accept.
Ballots: TypeAlias = ArrayLike | Profile


def as_profile(X: Ballots, *, least_voters: int = 0, least_items: int = 2, private_items: bool = False) -> Profile:
    """Return a table of ballots as a `Profile`; return a `Profile` unchanged.

    Parameters
    ----------
    X : array-like of shape (n_voters, n_items) or Profile
        Ballots.
    least_voters, least_items : int
        Minimum numbers of rows and columns of a table.
    private_items : bool
        Whether a profile with private items is accepted.

    Returns
    -------
    Profile
        Profile of the ballots, with the names of the columns.

    Raises
    ------
    ValueError
        If X is not a table of numbers, is too small, or has private items.
    """
    if isinstance(X, Profile):
        if not private_items:
            check_public_items(X.bound)
        return X
    return Profile._read(X, least_voters=least_voters, least_items=least_items)


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
        return bool(chunks) and all(map(reading.is_dask, chunks))
    return reading.is_dask(chunks)


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
