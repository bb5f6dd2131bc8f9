"""Conversion of DataFrames and Arrow tables to NumPy arrays that preserve the exact order of each ballot."""

from operator import is_

import numpy as np

from .cells import beyond, column_as_floats, exact_ranks, native
from .sorting import dense_ranks

#: Column types of Polars and Arrow that NumPy also has.
_NUMBERS = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
_NUMBERS |= {"float", "double", "float32", "float64"}


def is_plain_frame(X):
    """Return whether X is a pandas DataFrame whose columns all have one NumPy dtype of numbers."""
    kinds = set(X.dtypes) if hasattr(X, "iloc") else ()
    return len(kinds) == 1 and isinstance(kind := kinds.pop(), np.dtype) and kind.kind in "biufc"


class Columns:
    """Table whose columns have several types and stay separate, because joining them in one array takes longer.

    `columns` has one array of integers, bools, floats or objects per item. `doubles` has the same values as float64 for
    columns of objects and integers with gaps, else None.
    """

    def __init__(self, columns, doubles):
        self.columns = columns = [native(column) for column in columns]
        self.values = [column if known is None else known for column, known in zip(columns, doubles, strict=True)]
        self.shape = len(self.values[0]) if columns else 0, len(columns)
        if any(column.dtype.kind == "c" for column in columns):
            raise ValueError("Complex data not supported")

    def part(self, start, stop):
        """Return the ballots from `start` to `stop` as `Columns`."""
        kept = slice(start, stop)
        doubles = [
            None if value is column else value[kept] for value, column in zip(self.values, self.columns, strict=True)
        ]
        return Columns([column[kept] for column in self.columns], doubles)

    def passes(self, least_voters=1):
        """Return whether scikit-learn would accept these ballots; see `tables.passes`."""
        infinite = any(column.dtype.kind == "f" and np.isinf(column).any() for column in self.values)
        return self.shape[0] >= least_voters and self.shape[1] >= 2 and not infinite

    def __getitem__(self, index):
        """Return the ballots at an index as one array that preserves the exact order of each."""
        values, columns = ([column[index] for column in part] for part in (self.values, self.columns))
        if len({column.dtype for column in values}) == 1 and all(map(is_, self.values, self.columns)):
            return np.stack(values).T
        table = np.empty((len(values), len(values[0]) if values else 0))
        large = np.zeros(table.shape[1:], dtype=bool)
        for row, column, exact in zip(table, values, columns, strict=True):
            row[:] = column
            if exact.dtype.kind in "Oiu" and exact.dtype.itemsize == 8:
                large |= beyond(row)
        rows = np.flatnonzero(large)
        if len(rows):
            table[:, rows] = _column_ranks(table[:, rows], [column[rows] for column in columns])
        return table.T


def as_columns(X):
    """Return the `Columns` of a DataFrame, an Arrow table or a record batch."""
    if hasattr(X, "iloc"):
        pairs = [_pandas_column(column, name) for name, (_, column) in zip(X.columns.tolist(), X.items(), strict=True)]
    elif hasattr(X, "dtypes"):
        pairs = [_polars_column(X[name], name) for name in X.columns]
    else:
        pairs = [_arrow_column(X.column(k), name) for k, name in enumerate(X.schema.names)]
    return Columns([column for column, _ in pairs], [doubles for _, doubles in pairs])


def _column_ranks(doubles, columns):
    """Return exact dense ranks, shape (n_items, n_ballots); NaN and infinity stay as in `doubles`."""
    if any(column.dtype.kind == "O" for column in columns):
        cells = np.stack([column.astype(object) for column in columns])
        return np.stack([exact_ranks(*ballot) for ballot in zip(doubles.T, cells.T, strict=True)], axis=1)
    rest = np.stack([_rest(high, column) for high, column in zip(doubles, columns, strict=True)])
    known = np.isfinite(doubles)
    by_double, by_rest = (dense_ranks(np.where(known, part, 0).T) for part in (doubles, rest))
    return np.where(known, dense_ranks(by_double * len(columns) + by_rest).T, doubles)


def _rest(high, column):
    """Return the difference between each integer and its double, modulo 2^64."""
    if column.dtype.kind == "f":
        return np.zeros(len(column), dtype=np.int64)
    size = np.abs(np.where(np.isnan(high), 0, high))
    size = np.where(size < 2.0**64, size, 0).astype(np.uint64)
    return (column.astype(np.uint64) - np.where(high < 0, -size, size)).view(np.int64)


def _pandas_column(column, name):
    """Return (numbers, None), or for a column with gaps or objects (its cells, the same as doubles)."""
    plain = getattr(column.dtype, "numpy_dtype", column.dtype)  # nullable and Arrow dtypes have the attribute
    if isinstance(plain, np.dtype) and plain.kind in "biufc":
        gaps = None if plain is column.dtype else column.isna().to_numpy()
        if gaps is None or not gaps.any():
            return column.to_numpy(dtype=plain), None
        return _with_gaps(column.to_numpy(dtype=plain, na_value=plain.type(0).item()), gaps)
    if column.dtype.kind in "biufc":  # sparse numbers
        return np.asarray(column), None
    objects = np.asarray(column, dtype=object)
    return objects, column_as_floats(objects, name, column.dtype)


def _polars_column(column, name):
    """Return the same as `_pandas_column`, for Polars."""
    if str(column.dtype).lower() in _NUMBERS:
        if not column.null_count():
            return column.to_numpy(), None
        return _with_gaps(column.fill_null(0).to_numpy(), column.is_null().to_numpy())
    return _object_column(column.to_list(), name, column.dtype.is_temporal())


def _arrow_column(column, name):
    """Return the same as `_pandas_column`, for Arrow."""
    if str(column.type) in _NUMBERS:
        if not column.null_count:
            return column.to_numpy(zero_copy_only=False), None
        gaps = column.is_null().to_numpy(zero_copy_only=False)
        return _with_gaps(column.fill_null(0).to_numpy(zero_copy_only=False), gaps)
    return _object_column(column.to_pylist(), name, str(column.type).startswith(("date", "time", "duration")))


def _with_gaps(numbers, gaps):
    return numbers, np.where(gaps, np.nan, numbers)


def _object_column(cells, name, temporal):
    objects = np.empty(len(cells), dtype=object)
    objects[:] = cells
    return objects, column_as_floats(objects, name, np.dtype("M8" if temporal else object))
