"""Validation, compact form and completion of ballots.

``X[v, i]`` is the position of item i on voter v's ballot. Smaller is better, and only the order within a row matters.
Equal values are a tie. NaN, or a masked entry, is "no opinion on any pair with this item".

Clients also read ballots, so no library but NumPy is imported until `check_ballots` needs scikit-learn.
"""

from contextlib import contextmanager
from typing import Any

import numpy as np

from .columns import as_columns, is_plain_frame
from .compact import compact_columns, compact_positions, refuse_many
from .names import is_frame, refuse_unread
from .sorting import dense_ranks
from .tables import as_numbers, check_is_table, is_plain, passes

_CHECKS = {"dtype": "numeric", "ensure_all_finite": "allow-nan"}
_BLOCK = 1 << 18  # ballot entries completed at a time; temporaries stay in cache


@contextmanager
def ballots_unquoted():
    """Replace conversion errors by messages without values, because a message must never show a ballot."""
    try:
        yield
    except OverflowError:
        raise ValueError("X must hold numbers that floats can hold, and holds a larger one.") from None
    except ValueError as error:
        text = str(error)
        if "Expected 2D array" in text:
            raise ValueError(
                "X must have two dimensions, (n_voters, n_items): one row a voter. Reshape your data using "
                "X.reshape(1, -1) if it is a single ballot."
            ) from None
        if "Complex data not supported" in text:
            raise ValueError("Complex data not supported: X must hold real numbers (positions).") from None
        if any(clue in text for clue in ("could not convert", "invalid literal", "bytes/strings")):
            raise ValueError(
                "X must hold numbers (NaN for no opinion), got text; "
                "turn orders of names into positions with sklearn_dprank.preprocessing.orders_to_positions."
            ) from None
        if "contains infinity" in text:
            raise ValueError(
                "Input X contains infinity; an entry must be a finite number, or NaN for no opinion."
            ) from None
        if "inhomogeneous" in text:
            raise ValueError(
                "X has an inhomogeneous shape: each ballot must have an entry for each item, NaN for no opinion; lists "
                "of the items themselves, best first, become positions with "
                "sklearn_dprank.preprocessing.orders_to_positions."
            ) from None
        raise


def as_array(X):
    """Return ballots as an array of numbers, with NaN for None, pandas' NA and masked entries; see `tables.as_numbers`.

    Raise ValueError if X is a dask collection (ballots must not be fetched by accident), is not a table, or holds text.
    """
    if type(X) is np.ndarray and X.dtype.kind in "biuf":
        return X
    _refuse_lazy(X)
    check_is_table(X)
    return as_numbers(X)


def shape_of(X):
    """Return (n_voters, n_items) of a table of ballots, without checking its values.

    Raise ValueError if X is a dask collection, or is not a table with two dimensions and at least two columns.

    Examples
    --------
    >>> shape_of([[0, 1, 2], [2, 1, 0]])
    (2, 3)
    """
    _refuse_lazy(X)
    check_is_table(X)
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2 or shape[1] < 2:
        found = f"{len(shape)} dimensions" if len(shape) != 2 else "1 item" if shape[1] else "no item"
        raise ValueError(f"X must have shape (n_voters, n_items) with at least two items, got {found}.")
    return shape[0], shape[1]


def as_column(values):
    """Return one number for each ballot as doubles; there may be none."""
    is_empty = isinstance(values, (list, tuple)) and not values
    return np.asarray(() if is_empty else as_array(values), dtype=np.float64)


def check_aligned(X, **columns):
    """Raise ValueError if one of the columns belongs to other rows than the ballots, by the indexes of pandas."""
    for name, values in columns.items():
        if not (hasattr(type(X), "iloc") and hasattr(type(values), "iloc")) or is_dask(X) or len(X) != len(values):
            continue
        if not values.index.equals(X.index):
            raise ValueError(
                f"{name} has another index than the ballots, so its values may belong to other rows. Pass "
                f"{name}.loc[X.index], or {name}.to_numpy() if both are in the same order."
            )


def _refuse_lazy(X):
    refuse_unread(X)
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise ValueError(
            "X is a structured array, and its columns may have different types; pass pandas.DataFrame(X), or "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    if hasattr(type(X), "tocsr"):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required, because a missing entry would be position 0. "
            "Use '.toarray()' if each entry is a position."
        )
    if is_dask(X):
        raise ValueError(
            "X is a dask collection, and its ballots are not in memory; count them where they lie with "
            "Profile.from_chunks(X), or load them with X.compute()."
        )


def check_ballots(X, *, estimator=None, least_voters=1, least_items=2):
    """Return `X` as a numeric array of shape (n_voters, n_items).

    Raise ValueError if X is not two-dimensional, is too small, or holds text or infinities. The message names
    `estimator`.
    """
    if passes(X, least_voters):
        return X
    with ballots_unquoted():
        array = as_array(X)
        if passes(array, least_voters):
            return array
        from sklearn.utils import check_array  # here, so that clients do not load scikit-learn

        least = {"ensure_min_samples": least_voters, "ensure_min_features": least_items}
        return check_array(array, input_name="X", estimator=estimator, **_CHECKS, **least)


def read_positions(X, *, estimator=None, least_voters=0, least_items=2):
    """Return the ballots of any kind of table as `Positions`; raise ValueError as `check_ballots` does."""
    if least_voters == 0 and _is_empty(X):
        return compact_positions(np.empty((0, shape_of(X)[1])))
    if is_frame(X) and not is_dask(X) and not is_plain_frame(X):
        with ballots_unquoted():
            columns = as_columns(X)
            if columns.passes(least_voters):
                return compact_columns(columns)
            X = columns[:]
    return compact_positions(check_ballots(X, estimator=estimator, least_voters=least_voters, least_items=least_items))


def _is_empty(X):
    """Return whether X is a table in memory without rows, whose columns can have any dtype."""
    shape: Any = getattr(X, "shape", ())
    return not is_dask(X) and len(shape) == 2 and shape[0] == 0


def is_dask(X):
    """Return whether X is a dask collection; the class decides, because some objects claim to have every attribute."""
    return hasattr(type(X), "__dask_graph__")


def check_ballot(x):
    """Return one voter's ballot as a numeric array of shape (n_items,); raise ValueError if it is invalid."""
    if type(x) is list and {int}.issuperset(map(type, x)):
        numbers = np.asarray(x)
        x = numbers if numbers.dtype == np.int64 else x  # larger numbers are ranked exactly below
    ballot = x if is_plain(x) and x.ndim == 1 and len(x) >= 2 else check_ballots([x])[0]
    refuse_many(len(ballot))
    return ballot


def completed(table, sentinel, coins, *, unseen_last=False):
    """Complete every ballot to a strict ranking by its own fair coins; positions 0 to n_items - 1, shape of `table`.

    Tied items are placed in uniformly random order. So are items without an opinion, and one coin per ballot puts them
    all before or all behind the others. Every pair without an opinion is then fair, so the expected margins and net
    wins are those of the ballot. Uniformly random places would not be fair: the best ranked item would beat an item
    without an opinion with probability above 1/2.

    With `unseen_last`, items without an opinion are always placed behind the others. The expected positional scores are
    then those of the ballot, where such items are tied last.

    The work and the coins depend only on the shape of the table. Neither reveals whether a ballot was complete.
    """
    n_items, n_voters = table.shape
    out = np.empty(table.shape, dtype=table.dtype)
    step = max(1, _BLOCK // n_items)
    for start in range(0, n_voters, step):
        block = table[:, start : start + step]
        width = block.shape[1]
        first = np.zeros(width, dtype=bool) if unseen_last else coins.coins(width)
        out[:, start : start + step] = _places(_keys(block, sentinel, first, coins.permutations(width, n_items).T))
    return out


def _keys(block, sentinel, first, chance):
    """Return keys that sort by position, then by `chance`; items without an opinion come first if `first` is True."""
    wide = np.uint16 if block.dtype.itemsize == 1 else np.uint32  # holds (sentinel + 2) n_items
    place = block.astype(wide) + wide(1)
    place *= ~((block == sentinel) & first)
    return place * wide(len(block)) + chance


def _places(keys):
    """Return the place of each key in its column; the keys of a column are distinct."""
    out = np.zeros(keys.shape, dtype=np.min_scalar_type(len(keys) - 1))
    for j in range(1, len(keys)):
        behind = keys[:j] < keys[j]
        out[j] = np.add.reduce(behind, axis=0, dtype=out.dtype)
        out[:j] += ~behind
    return out


def ballot_key(ballot):
    """Return bytes that are equal for two ballots (`Positions` of one voter) if and only if the preferences are equal.

    Examples
    --------
    >>> import numpy as np
    >>> one, two = (compact_positions(np.array([x])) for x in ([0, 1, 2], [10, 20, 30]))
    >>> ballot_key(one) == ballot_key(two)
    True
    """
    return dense_ranks(ballot.table.T).tobytes() + (ballot.table == ballot.sentinel).tobytes()
