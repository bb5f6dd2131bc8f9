"""Conversion of orders, truncated ballots and ratings to positions."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from itertools import zip_longest
from typing import Any, Self, TypedDict, Unpack, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from ._utils.checks import check_choice, check_flag, check_whole
from ._utils.estimators import AllowsMissing, OneToOneFeatureMixin, TransformerMixin, parametrized
from ._utils.types import ItemNames
from .ballots import reading
from .ballots.long import (
    MARKS,
    OtherItems,
    Overvote,
    Repeated,
    Skipped,
    choices,
    counted_ranks,
    is_missing,
    positions_of,
)
from .privacy.estimator_guarantees import row_wise

__all__ = ["RatingsToRankings", "orders_to_positions", "unranked_last"]

_BLOCK = 1 << 16  # entries ranked at a time; temporaries stay in cache


def __dir__():
    return [*__all__, "__all__"]


class _Rules(TypedDict, total=False):
    repeated: Repeated
    overvote: Overvote
    skipped: Skipped
    other_items: OtherItems


@overload
def orders_to_positions(
    orders: Any, n_items: int | None = None, *, items: None = None, **rules: Unpack[_Rules]
) -> NDArray[Any]: ...


@overload
def orders_to_positions(
    orders: Any, n_items: int | None = None, *, items: ItemNames, **rules: Unpack[_Rules]
) -> Any: ...


def orders_to_positions(
    orders: Any,
    n_items: int | None = None,
    *,
    items: ItemNames | None = None,
    repeated: Repeated = "error",
    overvote: Overvote = "error",
    skipped: Skipped = "close",
    other_items: OtherItems = "error",
) -> Any:
    """Convert orders (the items, best first) to positions (the place of each item).

    Convert orders before you pass them to an estimator. Orders are permutations too, so orders in place of positions
    raise no error, but they mean different ballots.

    Parameters
    ----------
    orders : array-like of shape (n_voters, n_listed), or sequence of sequences
        Items of each voter, best first: indices from 0, or names if `items` is given. A ballot may list only some
        items. It is then shorter, or filled up with NaN, None or pandas' NA. A list or tuple of items is a rank with
        several items. If a rule is not the default, so is the word "overvote", and "undervote" and "skipped" are empty
        ranks, unless `items` has these names.
    n_items : int, default=None
        Number of items. None is the number of names if there are names, else the common length of all ballots.
    items : sequence of str or of int, default=None
        Distinct names of all items, in the order of the result's columns.
    repeated : {"error", "first", "drop"}, default="error"
        What to do with an item that a ballot lists twice: raise an error, keep its first rank, or read the ballot as
        one without opinions.
    overvote : {"error", "tie", "skip", "end"}, default="error"
        What to do with a rank that has several items: raise an error, tie these items, skip the rank, or end the
        ballot before it. The word "overvote" names no items, so "tie" skips it.
    skipped : {"close", 1, 2}, default="close"
        What to do with empty ranks before others: let the later items move up, or end the ballot at the first empty
        rank or at the first two in a row.
    other_items : {"error", "drop"}, default="error"
        What to do with items that are not in `items`, such as write-ins: raise an error, or leave them out. Their
        ranks are not empty.

    Returns
    -------
    ndarray or pandas DataFrame of shape (n_voters, n_items)
        Positions, 0 is best: int64, or float64 with NaN for items that a ballot does not list. NaN means "no opinion".
        Apply `unranked_last` if unlisted items are worse. With `items`, the result is a DataFrame with these columns,
        so that an estimator returns names. If pandas is not installed, it is an array; then pass the names to
        ``Profile.from_rankings(positions, items=items)``.

    Raises
    ------
    ValueError
        If a ballot has marks for which a rule is "error" (the message does not show the ballot), a rule is unknown,
        `orders` is not a table, `items` is not a list of distinct names, or lists differ in length and the number of
        items is not given.

    Notes
    -----
    A rule looks at one ballot only, and never removes a row. So it does not affect a privacy guarantee. An error
    depends on the ballots: do not publish it.

    Examples
    --------
    >>> from sklearn_dprank.preprocessing import orders_to_positions
    >>> orders_to_positions([[2, 0, 1], [1, 2, 0]])
    array([[1, 2, 0],
           [2, 0, 1]])
    >>> orders_to_positions([["tea"], ["milk", "tea"]], items=["milk", "tea", "water"])
       milk  tea  water
    0   NaN  0.0    NaN
    1   0.0  1.0    NaN

    A cast vote record with a repeated item and an overvote:

    >>> record = [["tea", "tea", "milk"], ["milk", "overvote", "tea"]]
    >>> orders_to_positions(record, items=["milk", "tea"], repeated="first", overvote="end")
       milk  tea
    0   1.0  0.0
    1   0.0  NaN
    """
    check_choice(repeated, "repeated", get_args(Repeated))
    check_choice(overvote, "overvote", get_args(Overvote))
    check_choice(skipped, "skipped", get_args(Skipped))
    check_choice(other_items, "other_items", get_args(OtherItems))
    is_strict = (repeated, overvote, skipped, other_items) == ("error", "error", "close", "error")
    table = _order_table(orders, items is not None) if is_strict else _lists(orders)
    width = table.shape[1] if is_strict else max(map(len, table), default=0)
    if items is None:
        if n_items is None and isinstance(orders, (list, tuple)) and len(set(map(len, orders))) > 1:
            raise ValueError(
                "n_items must be given, got None: ballots differ in length, and the number of items is public, so the "
                "longest ballot must not decide it; pass n_items, or items."
            )
        n_items = width if n_items is None else n_items
        check_whole(n_items, "n_items", optional=True)
    else:
        items = reading.checked_names(items, "items")
        check_whole(n_items, "n_items", optional=True)
        if n_items not in (None, len(items)):
            raise ValueError(f"n_items={n_items}, but items has {len(items)} names; leave n_items out.")
        n_items = len(items)
    if is_strict:
        indices = _checked_indices(table, n_items) if items is None else _indices_of_names(table, items)
        # Entries without an item have index -1, an extra last column that is dropped.
        positions = np.full((len(indices), n_items + 1), -1, dtype=np.int64)
        np.put_along_axis(positions, indices, np.arange(indices.shape[1])[np.newaxis], axis=1)
        positions = positions[:, :-1]
        listed = positions >= 0
        if np.count_nonzero(listed) < np.count_nonzero(indices >= 0):
            raise ValueError(
                "orders must list an item at most once a ballot, and one lists an item twice. Correct or drop it, or "
                "pass repeated='first' or 'drop'."
            )
        positions = positions.copy() if listed.all() else np.where(listed, positions, np.nan)
    else:
        index = {name: item for item, name in enumerate(range(n_items) if items is None else items)}
        ranks = ([_items_of(entry, index, other_items) for entry in ballot] for ballot in table)
        try:
            ballots = [counted_ranks(ballot, repeated=repeated, overvote=overvote, skipped=skipped) for ballot in ranks]
        except ValueError as problem:
            raise ValueError(
                f"orders break a rule: a ballot {problem}. Correct or drop it, or choose another rule than 'error'."
            ) from None
        positions = positions_of(ballots, n_items)
        positions = positions if np.isnan(positions).any() else positions.astype(np.int64)
    if items is not None:
        with suppress(ImportError):
            from pandas import DataFrame

            return DataFrame(positions, columns=items, index=orders.index if isinstance(orders, DataFrame) else None)
    return positions


def _lists(orders):
    """Return orders as a list with the entries of each voter, which may be lists themselves."""
    reading.check_is_table(orders, "orders")
    orders = reading.unmasked(orders)
    if hasattr(orders, "shape"):
        orders = _as_objects(orders)
        orders = orders.tolist() if orders.ndim == 2 else None
    is_table = isinstance(orders, (list, tuple)) and orders
    if not is_table or not all(isinstance(ballot, (list, tuple, np.ndarray)) for ballot in orders):
        raise ValueError(_NO_TABLE)
    return [list(reading.unmasked(ballot)) for ballot in orders]


def _items_of(entry, index, other_items):
    """Return the indices of the items in an entry, None for each other mark, which may be an error."""
    if is_missing(entry):
        return []
    if isinstance(entry, str) and entry in MARKS and entry not in index:
        return MARKS[entry]
    names = entry if isinstance(entry, (list, tuple)) else [entry]
    if any(map(_is_rounded, names)):
        raise ValueError("holds a float of at least 2^53, which may be another whole number (read text or 'Int64')")
    found = []
    for name in names:
        try:
            found.append(index.get(reading.normal(name) if isinstance(name, str) else name))
        except TypeError:  # not hashable
            found.append(None)
    if None in found and other_items == "error":
        raise ValueError(f"names another item than these {len(index)}")
    return [item for k, item in enumerate(found) if item is None or item not in found[:k]]


def _is_rounded(name):
    """Return whether a cell may be another whole number, which pandas rounds if another row has a gap."""
    return isinstance(name, float) and abs(name) >= 2**53


_NO_TABLE = "orders must be two-dimensional and not empty (one row a voter, best item first)."


def _order_table(orders, named):
    """Return orders as an array with one row per voter, filled up with None; names stay objects."""
    reading.check_is_table(orders, "orders")
    orders = reading.unmasked(orders)
    if isinstance(orders, Iterable) and not hasattr(orders, "shape"):
        rows = [list(reading.unmasked(row)) if isinstance(row, (list, tuple, np.ndarray)) else row for row in orders]
        if all(isinstance(row, list) for row in rows):
            orders = list(zip(*zip_longest(*rows), strict=True))
    table = _as_objects(orders) if named else np.asarray(orders)  # as text, NaN would become an item 'nan'
    if table.ndim != 2 or table.size == 0:
        raise ValueError(_NO_TABLE)
    return table


def _as_objects(orders):
    """Return orders as an array of objects; columns keep their numbers, which NumPy would round beside a gap."""
    if not reading.is_frame(orders):
        return np.asarray(orders, dtype=object)
    columns = [reading.plain_list(column) for column in choices(orders)]
    arrays = [np.fromiter(column, object, len(column)) for column in columns]
    return np.stack(arrays, axis=1) if arrays else np.empty((0, 0), dtype=object)


def _checked_indices(table, n_items):
    """Return item indices as int64, -1 where no item is listed."""
    if table.dtype.kind not in "iu":
        try:
            table = reading.as_floats(table.astype(object))  # it accepts no text, even if it looks like a number
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                "orders must hold item indices (whole numbers from 0; NaN or None for no item), got something else. "
                "For names, pass items=[...] with all items in the order of the columns."
            ) from None
    listed = ~np.isnan(table)
    if not np.all((table >= 0) & (table < n_items) & (table == np.floor(table)) | ~listed):
        raise ValueError(
            f"orders must hold item indices 0, ..., {n_items - 1} (n_items={n_items}), and one holds another number. "
            "Subtract 1 if the items count from 1. Pass n_items if no ballot lists every item. Fill up with NaN."
        )
    return np.where(listed, table, np.int64(-1)).astype(np.int64)  # a plain -1 would have to fit uint8


def _indices_of_names(table, items):
    """Return the indices of named items, -1 where no item is listed."""
    index, named = {name: i for i, name in enumerate(items)}, ~reading.missing(table)
    indices = np.full(table.shape, -1, dtype=np.int64)
    with suppress(TypeError):  # objects that cannot be hashed are not names
        indices[named] = [
            index.get(reading.normal(name) if isinstance(name, str) else name, -1) for name in table[named]
        ]
    is_rounded = any(map(_is_rounded, table[named]))
    if is_rounded or (indices[named] < 0).any():  # outside of any handler, so that no exception holds the name
        raise ValueError(
            f"orders must hold only names in items, and a ballot names another item than these {len(items)}. "
            "Correct the spelling, add it to items, or pass other_items='drop'. For tied items, pass overvote='tie'."
            + " Read whole numbers above 2^53 as 'Int64', because floats round them."
            * is_rounded
        )
    return indices


def unranked_last(X: ArrayLike) -> Any:
    """Tie the items that a ballot leaves out (NaN) below every item that it ranks.

    Use it for truncated election ballots, on which an unlisted item is worse than a listed one. Otherwise, NaN means
    "no opinion" about the item.

    Parameters
    ----------
    X : array-like of shape (n_voters, n_items)
        Positions: smaller is better, equal is tied, NaN is an item that the ballot leaves out.

    Returns
    -------
    ndarray of int64, or DataFrame like X, of shape (n_voters, n_items)
        Positions without NaN: the number of items on the ballot that are strictly better.

    Raises
    ------
    ValueError
        If X is not a two-dimensional, non-empty array of finite numbers or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.preprocessing import unranked_last
    >>> unranked_last([[1, np.nan, 0, np.nan], [0, 1, 1, np.nan]])
    array([[1, 2, 0, 2],
           [0, 1, 1, 3]])
    """
    return _like(X, _positions(reading.check_ballots(X)))


def _positions(values, dtype=np.int64, largest_first=False):
    """Return for each value the number of better values in its row; gaps are last, or NaN if `dtype` is a float."""
    out = np.empty(values.shape, dtype=dtype)
    step = max(1, _BLOCK // values.shape[1])
    for start in range(0, len(values), step):
        # As doubles, because the negative of an unsigned rating would overflow.
        block, part = values[start : start + step].astype(np.float64), out[start : start + step]
        gaps = np.isnan(block)
        part[:] = reading.smaller_values(np.where(gaps, np.inf, -block if largest_first else block))
        if part.dtype.kind == "f":
            part[gaps] = np.nan
    return out


def _like(X, positions):
    """Return positions as a pandas or Polars DataFrame or an Arrow table like X, if X is one."""
    if not reading.is_frame(X):
        return positions
    if hasattr(X, "index"):
        return type(X)(positions, index=X.index, columns=X.columns)
    if hasattr(X, "dtypes"):
        return type(X)(dict(zip(X.columns, positions.T, strict=True)))
    return type(X).from_pydict(dict(zip(X.schema.names, np.ascontiguousarray(positions.T), strict=True)))


@parametrized
@row_wise
class RatingsToRankings(OneToOneFeatureMixin, TransformerMixin, AllowsMissing):
    """Transformer from ratings to positions, for ballots with larger numbers for better items.

    Estimators read smaller numbers as better. Ratings that are not converted give the reverse consensus, without an
    error and with a good score. Each row is ranked separately, and `fit` learns only the number and the names of the
    items. A pipeline of this transformer and a private estimator therefore keeps the guarantee of the estimator
    (`~sklearn_dprank.privacy.guarantee_of`). Missing ratings stay missing and need no imputer.

    Parameters
    ----------
    higher_is_better : bool, default=True
        Whether larger ratings are better.

    Attributes
    ----------
    n_features_in_ : int
        Number of items seen in `fit`.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, if `fit` saw a DataFrame with string columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.preprocessing import RatingsToRankings
    >>> RatingsToRankings().fit_transform([[9.5, 7.0, 7.0, 8.0], [1.0, np.nan, 3.0, 2.0]])
    array([[ 0.,  2.,  2.,  1.],
           [ 2., nan,  0.,  1.]])
    """

    higher_is_better: bool = True

    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Learn the number and the names of the items.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items)
            Ratings; NaN is a missing rating.
        y : None
            Not used.

        Returns
        -------
        RatingsToRankings
            The fitted transformer.

        Raises
        ------
        ValueError
            If `higher_is_better` is not a bool, or X is not a table of finite numbers or NaN.
        """
        check_flag(self.higher_is_better, "higher_is_better")
        self._ratings(X, reset=True)
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Convert each row of ratings to positions.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items)
            Ratings; NaN is a missing rating.

        Returns
        -------
        ndarray or DataFrame of float64, shape (n_voters, n_items)
            Positions: the number of items that the voter rates strictly better. 0 is best, equal ratings are tied, NaN
            stays. The result is a DataFrame if X is one, so that the next step of a pipeline receives the item names.
            It is also one after ``set_output(transform="pandas")``, or "polars". Names that are whole numbers then
            become x0, x1, ..., as in scikit-learn.

        Raises
        ------
        ValueError
            If X has other items than in `fit`, or is not a table of finite numbers or NaN.
        """
        check_is_fitted(self)
        ratings = self._ratings(X, reset=False)
        return _like(X, _positions(ratings, np.float64, largest_first=self.higher_is_better))

    def _ratings(self, X, reset):
        ratings = reading.check_ballots(X, least_items=1)
        reading.column_names(X)  # raises an error if the columns are not item names
        validate_data(self, reading.as_named(X), reset=reset, skip_check_array=True)  # compares the items
        return ratings
