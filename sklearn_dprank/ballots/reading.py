"""Reading of ballots: any table or list becomes positions and item names; a ballot is read by itself."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from math import isnan
from numbers import Integral, Number
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._utils.checks import safe_repr

if TYPE_CHECKING:
    from .._utils.types import ItemNames

_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # inside words of Persian and Hindi, and inside emoji
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # Unicode calls them letters, marks or symbols
_SELECTORS = [*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]  # of emoji and kanji
#: Tag letters and digits of a region after a black flag, and the tag that ends them: the flags of England and Scotland.
_REGION = re.compile("(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,7}\U000e007f")
_UNSEEN = dict.fromkeys([*map(ord, _JOINERS), *_SELECTORS])


def normal(text: str) -> str:
    """Return text in the form in which names are compared: NFC, with a plain blank for each other kind of blank."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text)
    return "".join(" " if unicodedata.category(letter) == "Zs" else letter for letter in text)


def checked_name(name: str, input_name: str) -> str:
    """Return a name in `normal` form; raise ValueError if it has blanks around it, or characters that do not show."""
    name = normal(str(name))
    if not (name.isascii() and name.isprintable()):
        inside = [letter for letter in name[:1] + name[-1:] if letter in _JOINERS]
        hidden = inside + [letter for letter in _REGION.sub("", name) if _is_hidden(letter)]
        if hidden:
            codes = ", ".join(f"U+{ord(letter):04X}" for letter in dict.fromkeys(hidden))
            raise ValueError(
                f"{input_name} must not hold control characters or invisible ones, and {safe_repr(name)} holds "
                f"{codes}; remove them."
            )
    if name != name.strip():
        raise ValueError(
            f"{input_name} must not begin or end with a blank, and {safe_repr(name)} does; strip the names first."
        )
    return name


def seen(name: Any) -> Any:
    """Return a name without joiners and variation selectors: two names that look alike are equal."""
    return unicodedata.normalize("NFC", name.translate(_UNSEEN)) if isinstance(name, str) else name


def _is_hidden(letter):
    """Return whether a character does not show, or changes how others show; joiners inside a name are allowed."""
    kind = unicodedata.category(letter)
    is_noncharacter = ord(letter) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(letter) <= 0xFDEF
    return is_noncharacter or letter in _BLANKS or (kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in _JOINERS)


def checked_names(names: ItemNames, input_name: str) -> list[str] | list[int]:
    """Return item names as plain strings or plain integers; raise ValueError unless they are distinct and of one kind.

    Strings are `checked_name` each, and must also differ as they are `seen`. `input_name` is the name of the argument
    in error messages.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.reading import checked_names
    >>> checked_names(np.array([30, 10, 20]), "items")
    [30, 10, 20]
    """
    if isinstance(names, (str, bytes)):
        raise ValueError(
            f"{input_name} must list one name an item, got the one text {safe_repr(names)}; pass a list of names."
        )
    if isinstance(names, (set, frozenset)):
        raise ValueError(
            f"{input_name} must be in the order of the columns, and a set has no order; pass a list of names."
        )
    try:
        listed: list[Any] = list(names)
    except TypeError:
        raise ValueError(
            f"{input_name} must list one name an item, got {safe_repr(names)}; pass a list of names."
        ) from None
    kinds = {_kind(name) for name in listed}
    if len(kinds) > 1 or not kinds <= {"str", "int"}:
        raise ValueError(
            f"{input_name} must be all strings or all whole numbers, got {' and '.join(sorted(kinds))}; "
            "rename the items."
        )
    plain: list[Any] = [checked_name(name, input_name) if isinstance(name, str) else int(name) for name in listed]
    shown = [seen(name) for name in plain]
    if len(set(shown)) < len(shown):
        twice = Counter(shown).most_common(1)[0][0]
        raise ValueError(
            f"{input_name} must be distinct, and {safe_repr(twice)} stands twice; rename one of the items."
        )
    return plain


def _kind(name):
    if isinstance(name, str):
        return "str"
    return "int" if isinstance(name, Integral) and not isinstance(name, bool) else type(name).__name__


def is_frame(X):
    """Return whether X is a table with named columns, from pandas, Polars, dask or Arrow."""
    kind = type(X)  # the class, because some objects claim to have every attribute
    return (hasattr(kind, "columns") and hasattr(kind, "dtypes")) or _is_arrow(kind)


def has_names(X):
    """Return whether X is a table with named columns, from any library."""
    return is_frame(X) or hasattr(type(X), "__dataframe__")


def as_named(X):
    """Return a record batch as an Arrow table, whose names scikit-learn can read; return other tables unchanged."""
    if _is_arrow(type(X)) and not hasattr(X, "from_batches"):
        return sys.modules["pyarrow"].Table.from_batches([X])
    return X


def _is_arrow(kind):
    """Return whether `kind` is the class of an Arrow table or record batch, whose ``columns`` are not names."""
    return hasattr(kind, "column_names") and hasattr(kind, "schema")


def refuse_unread(X):
    """Raise ValueError if X is a query of Polars that was not run."""
    if hasattr(type(X), "collect_schema") and not hasattr(type(X), "to_numpy"):
        raise ValueError(f"X is a {type(X).__name__}, and its ballots are not read yet; pass X.collect().")


def column_names(X: Any) -> list[str] | list[int] | None:
    """Return the column names of X, or None if it has none or they are the numbers 0, 1, 2, ...

    Raise ValueError if the columns are not valid names; see `checked_names`.
    """
    refuse_unread(X)
    if not has_names(X):
        return None
    if _is_arrow(type(X)):
        columns = X.schema.names
    else:
        columns = X.columns if is_frame(X) else X.__dataframe__().column_names()
    names = checked_names(columns, "the columns of X")
    return None if names == list(range(len(names))) else names


def names_of(fitted):
    """Return the item names of a fitted aggregator in the order of the columns, or None if items have no names.

    Names come from ``consensus_`` with dtype object, because integer names are not indices and scikit-learn's
    ``feature_names_in_`` holds strings only. The consensus of a top-k aggregator does not contain all names, and that
    of segments has a row for each.
    """
    if not hasattr(fitted, "consensus_") or fitted.consensus_.dtype.kind != "O":
        return None
    consensus, ranks = np.atleast_2d(fitted.consensus_, fitted.ranks_)
    if consensus.shape[1] < ranks.shape[1]:
        return getattr(fitted, "feature_names_in_", getattr(fitted, "_item_names", None))
    return consensus[0][ranks[0]]


def names_differ(one, other):
    """Return whether two tables are known to have different items, or the same items in different orders.

    None (no names) differs only from a rearrangement of 0, 1, 2, ...
    """
    if one is not None and other is not None:
        return not np.array_equal(one, other)
    named = other if one is None else one
    return named is not None and list(named) != (numbers := list(range(len(named)))) and set(named) == set(numbers)


# Row-wise sorting and ranking of tables.


def sorted_rows(values):
    """Return (order, changes) of each row's sorted values; `values` must not contain NaN.

    `order` (int64) holds indices into the raveled table, smallest value first, equal values in any order. `changes`
    (bool) tells whether a value differs from the one before it in its row; it is False for the first. Both have the
    shape of `values`.

    Examples
    --------
    >>> order, changes = sorted_rows(np.array([[5, 4], [6, 6]], dtype=np.uint8))
    >>> order.tolist(), changes.tolist()
    ([[1, 0], [2, 3]], [[False, True], [False, False]])
    """
    # NumPy's stable sort of small integers is a radix sort, which is faster.
    order = np.argsort(values, axis=1, kind="stable" if values.dtype.itemsize <= 2 else None)
    order += np.arange(0, values.size, values.shape[1])[:, np.newaxis]
    ordered = values.ravel()[order]
    changes = np.zeros(values.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=changes[:, 1:])
    return order, changes


def dense_ranks(values, dtype=np.int64):
    """Return each row's dense ranks (0 for the smallest value, equal for ties, no gaps); no value may be NaN.

    Examples
    --------
    >>> dense_ranks(np.array([[7.5, 1.0, 7.5, 9.0]])).tolist()
    [[1, 0, 1, 2]]
    """
    order, changes = sorted_rows(values)
    return placed(np.cumsum(changes, axis=1, dtype=dtype), order)


def smaller_values(values):
    """Return for each value the number of smaller values in its row, int64; no value may be NaN.

    Examples
    --------
    >>> smaller_values(np.array([[7.5, 1.0, 7.5, 9.0]])).tolist()
    [[1, 0, 1, 3]]
    """
    order, changes = sorted_rows(values)
    return placed(np.maximum.accumulate(changes * np.arange(values.shape[1]), axis=1), order)


def placed(in_order, order):
    """Return `in_order`, whose entries belong to sorted values, in the values' original places (see `sorted_rows`)."""
    out = np.empty(in_order.size, dtype=in_order.dtype)
    out[order] = in_order
    return out.reshape(in_order.shape)


# Conversion of table cells to doubles, with exact ranks for ballots that doubles cannot represent.
#
# Doubles represent all integers up to 2^53. Larger integers can become equal when NumPy converts a table to doubles.
# Whether NumPy converts can depend on other ballots, for example on a missing value or a fraction in another row. So
# each
# row with such an integer is ranked exactly before the conversion. Converting all 64-bit integers to doubles would
# also
# be consistent, but it would tie different numbers, such as times in nanoseconds. For rows without large integers,
# the
# only cost is a comparison with 2^53.

_KINDS = {"M": "dates", "m": "times", "V": "records"}
_EXACT = 2.0**53


def native(numbers):
    """Return numbers in native byte order, because their bytes are later read as unsigned integers."""
    return numbers if numbers.dtype.isnative else numbers.astype(numbers.dtype.newbyteorder("="))


def as_doubles(array):
    """Return an array of real numbers as doubles, with exact ranks in rows that doubles cannot represent.

    Examples
    --------
    >>> as_doubles(np.array([[2**60, 2**60 + 2, 2**60 + 1], [0, 7, 2]]))
    array([[0., 2., 1.],
           [0., 7., 2.]])
    """
    if array.dtype == np.float64 or array.dtype.kind not in "biuf":
        return array
    with np.errstate(over="ignore"):
        doubles = array.astype(np.float64)
    if array.ndim != 2:
        return doubles
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        inexact = beyond(doubles)
    elif array.dtype.itemsize > 8:
        inexact = (doubles != array) & ~np.isnan(array)
    else:
        return doubles
    rows = np.flatnonzero(inexact.any(axis=1))
    if len(rows):
        part = array[rows]
        gaps = np.isnan(part)
        ranks = dense_ranks(np.where(gaps, part.dtype.type(0), part)).astype(np.float64)
        doubles[rows] = np.where(gaps | np.isinf(part), part, ranks)
    return doubles


def beyond(doubles):
    """Return which numbers are so large that neighbouring integers may be the same double."""
    return (doubles >= _EXACT) | (doubles <= -_EXACT)


def exact_ranks(doubles, cells):
    """Return the dense ranks of one row's cells, compared exactly; NaN and infinity stay as in `doubles`."""
    numbers = [_exactly(cell) if np.isfinite(double) else double for double, cell in zip(doubles, cells, strict=True)]
    places = sorted(np.flatnonzero(np.isfinite(doubles)), key=numbers.__getitem__)
    out, rank = doubles.copy(), 0
    for before, place in zip([None, *places], places, strict=False):
        rank += before is not None and numbers[before] != numbers[place]
        out[place] = rank
    return out


def _exactly(cell):
    """Return a number of any type as one that Python compares exactly."""
    if isinstance(cell, np.longdouble) and cell.dtype.itemsize > 8:
        return Fraction(*cell.as_integer_ratio())
    if isinstance(cell, np.generic):  # NumPy would cast before it compares
        return cell.item()
    return cell if isinstance(cell, Number) else float(cell)


def unmasked(X):
    """Return a masked array as an array of objects with None in masked cells; return anything else unchanged."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    cells = np.ma.getdata(X).astype(object)
    cells[np.ma.getmaskarray(X)] = None
    return cells


def column_as_floats(column, name, dtype=None):
    """Return a column of objects as floats; errors show `name` and the kind of `dtype`, its dtype in the table."""
    dtype = column.dtype if dtype is None else dtype
    try:
        if dtype.kind in _KINDS:
            raise ValueError
        return as_floats(np.asarray(column, dtype=object))
    except TypeError as error:  # its message shows a type and no value
        raise TypeError(f"X must hold numbers, and column {name!r} does not: {error}") from None
    except ValueError:
        raise ValueError(not_numbers_message(name, dtype)) from None
    except OverflowError:
        raise ValueError(f"X must hold numbers that floats can hold, and column {name!r} holds a larger one.") from None
    except ArithmeticError:  # of a Decimal
        raise ValueError(
            f"X must hold numbers, and column {name!r} holds a Decimal that is none; use None for no opinion."
        ) from None


def as_floats(objects):
    """Return an array of objects, none of them text, as floats, with NaN for None and pandas' NA."""
    if any(isinstance(cell, (str, bytes)) for cell in objects.ravel().tolist()):
        raise ValueError("text")
    return np.where(missing(objects), np.nan, objects).astype(np.float64)


def missing(objects):
    """Return where an array of objects holds None, NaN or, if pandas is loaded, pandas' NA."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return pandas.isna(objects)
    return np.frompyfunc(lambda cell: cell is None or (isinstance(cell, float) and isnan(cell)), 1, 1)(objects) > 0


def not_numbers_message(name, dtype):
    """Return the error message for a column that does not hold numbers."""
    what = _KINDS.get(dtype.kind, "text")
    return (
        f"X must hold numbers (NaN for no opinion), got {what} in column {name!r}; turn orders of names into positions "
        "with sklearn_dprank.preprocessing.orders_to_positions, text of numbers into numbers with X.astype(float), and "
        "words of a scale with X.map({'good': 0, 'bad': 1}.get); leave out a column that is not an item. If one row of "
        "a CSV file has a cell too many, pandas shifts all other rows; read it with pandas.read_csv(path, "
        "index_col=False)."
    )


# Conversion of DataFrames and Arrow tables to NumPy arrays that preserve the exact order of each ballot.

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


# Compact form of ballots: small integer positions, one row per item.
#
# The positions of a ballot depend on this ballot only. Clients use this module, so it imports no library but NumPy.

MAX_ITEMS = np.iinfo(np.uint16).max - 1  # positions and the sentinel fit in two bytes
_BYTE = np.iinfo(np.uint8).max
_READ = 1 << 16  # entries of an array converted at a time; few, so that a ballot with more work delays few others
_COLUMNS = 1 << 20  # entries of columns converted at a time
_ALL = slice(None)
_SAMPLED = 128  # ballots sampled to guess where positions begin


class Positions(NamedTuple):
    """Ballots in compact form.

    Attributes
    ----------
    table : ndarray of uint8 or uint16, shape (n_items, n_voters)
        Position of each item on each ballot. A row is an item, so that a pair is two contiguous rows. The largest value
        of the dtype means "no opinion".
    unranked : ndarray of bool, shape (n_items,)
        Items on which some voter has no opinion.
    """

    table: np.ndarray
    unranked: np.ndarray

    @property
    def sentinel(self):
        """Value for "no opinion", which is larger than every position."""
        return np.iinfo(self.table.dtype).max


def refuse_many(n_items):
    """Raise ValueError if two bytes cannot hold the positions of `n_items` items."""
    if n_items > MAX_ITEMS:
        raise ValueError(f"X has {n_items} items; at most {MAX_ITEMS} are supported.")


def compact_positions(X):
    """Convert validated ballots, shape (n_voters, n_items), to `Positions`; raise ValueError above 65,534 items.

    Small integers are used as positions. Any other ballot is ranked separately, so that it does not delay the
    conversion of the ballots next to it.
    """
    X = native(X)
    n_voters, n_items = X.shape
    table, unranked = _empty(n_voters, n_items)
    start_at = _base(X, table.dtype)
    step = max(1, _READ // n_items)
    for start in range(0, n_voters, step):
        block, out = X[start : start + step], table[:, start : start + step]
        small, fits = _small(block, table.dtype, start_at)
        out[:] = small.T
        if fits is not None and 2 * np.count_nonzero(fits) < fits.size:
            odd = np.arange(len(block))
        else:
            odd = np.empty(0, dtype=np.intp) if fits is None else np.flatnonzero(~fits.all(axis=1))
        _finish(out, odd, block.__getitem__, unranked)
    return Positions(table, unranked)


def compact_columns(columns):
    """Convert `Columns` that pass ``columns.passes()`` to `Positions`, without joining them in one array."""
    n_voters, n_items = columns.shape
    table, unranked = _empty(n_voters, n_items)
    start_at = _base(columns, table.dtype)
    step = max(1, _COLUMNS // n_items)
    for start in range(0, n_voters, step):
        out, odd = table[:, start : start + step], None
        for row, column in zip(out, columns.values, strict=True):
            row[:], fits = _small(column[start : start + step], table.dtype, start_at)
            if fits is not None:
                odd = ~fits if odd is None else odd | ~fits
        odd = () if odd is None else np.flatnonzero(odd)
        _finish(out, odd, columns.part(start, start + step).__getitem__, unranked)
    return Positions(table, unranked)


def _empty(n_voters, n_items):
    """Return an empty table for positions, and `unranked` with all False."""
    refuse_many(n_items)
    dtype = np.uint8 if n_items < _BYTE else np.uint16
    return np.empty((n_items, n_voters), dtype=dtype), np.zeros(n_items, dtype=bool)


def _base(ballots, dtype):
    """Return an integer slightly below most values, guessed from a sample of ballots; 0 if it suits most ballots.

    A wrong guess only costs time. The positions are the same.
    """
    n_voters = ballots.shape[0]
    if n_voters <= _SAMPLED:  # ranking so few takes no longer than the guess
        return 0
    sample = ballots[:: n_voters // _SAMPLED]
    if _small(sample, dtype, 0)[1] is None:
        return 0
    sample = sample.astype(np.float64)
    lowest, highest = np.fmin.reduce(sample, axis=1), np.fmax.reduce(sample, axis=1)
    lowest, highest = lowest[lowest == lowest], highest[highest == highest]
    if not len(lowest):
        return 0
    low, high = (float(np.sort(ends)[len(ends) // 2]) for ends in (lowest, highest))
    sentinel = np.iinfo(dtype).max
    if (low >= 0 and high < sentinel) or high - low >= sentinel or abs(low) >= 2.0**52:
        return 0
    return int(low) - sentinel // 4


def _small(numbers, dtype, base):
    """Return numbers minus `base`, and which of the results are small non-negative integers (None if all are)."""
    sentinel = (1 << 8 * dtype.itemsize) - 1  # np.iinfo takes as long as reading a few ballots
    if numbers.dtype.kind == "f":
        base = numbers.dtype.type(base)
        with np.errstate(invalid="ignore", over="ignore"):  # the comparison finds other numbers
            small = (numbers - base if base else numbers).astype(dtype)
        fits = (small + base if base else small) == numbers
        return small, None if fits.all() and small.max(initial=0) < sentinel else fits & (small < sentinel)
    if numbers.dtype.kind == "b":
        numbers = numbers.view(np.uint8)
    if base and numbers.dtype.itemsize < 8:
        numbers = numbers.astype(np.int64)
    elif numbers.dtype.kind == "i" and numbers.dtype.itemsize <= dtype.itemsize:
        numbers = numbers.astype(np.int32)
    unsigned = numbers.view(f"u{numbers.dtype.itemsize}")  # negative numbers look large
    if base:
        unsigned = unsigned - np.uint64(base % 2**64)
    fits = None if np.maximum.reduce(unsigned, axis=None, initial=0) < sentinel else unsigned < sentinel
    if base < 0 and numbers.dtype.kind == "u":  # beyond 2^64 - |base| the differences wrap round
        fits = (unsigned < sentinel) & (numbers < 2**63)
    return unsigned.astype(dtype, copy=False), fits


def _finish(out, odd, ballots, unranked):
    """Shift each ballot of `out` so that its best position is 0; rank the ballots at `odd`, read by `ballots`."""
    if 2 * len(odd) > out.shape[1]:  # ranking all ballots is faster than picking many
        out[:] = _ranked(ballots(_ALL), out.dtype, unranked)
        return
    lowest = np.minimum.reduce(out, axis=0)
    if np.count_nonzero(lowest):
        out -= lowest
    if len(odd):
        out[:, odd] = _ranked(ballots(odd), out.dtype, unranked)


def _ranked(ballots, dtype, unranked):
    """Return the positions of ballots of any numbers, one row per item, and set `unranked` for items with gaps."""
    sentinel = np.iinfo(dtype).max
    values = np.ascontiguousarray(ballots.T)
    if values.dtype.kind != "f":
        spread = values.view(f"u{values.dtype.itemsize}")
        spread = spread - values.min(axis=0).view(spread.dtype)  # modulo 2^k, so it is correct despite overflow
        near = spread.max(axis=0) < sentinel
        missing = None
    else:
        if values.dtype == np.float16:
            values = values.astype(np.float32)  # float32 can represent the differences
        missing = np.isnan(values)
        if missing.any():
            unranked |= missing.any(axis=1)
            lowest = np.fmin.reduce(values, axis=0)
            lowest[np.isnan(lowest)] = 0
            values = np.where(missing, lowest, values)
        else:
            missing, lowest = None, values.min(axis=0)
        with np.errstate(over="ignore"):
            spread = values - lowest
        near = (spread.max(axis=0) < sentinel) & (values == np.rint(values)).all(axis=0)
    if near.all():
        out = spread.astype(dtype)
    elif not near.any():
        out = dense_ranks(np.ascontiguousarray(values.T), dtype).T.copy()
    else:
        far = np.flatnonzero(~near)
        out = np.where(near, spread, 0).astype(dtype)
        out[:, far] = dense_ranks(np.ascontiguousarray(values[:, far].T), dtype).T
    if missing is not None:
        out[missing] = sentinel
    return out


# Conversion of tabular input to arrays, with errors for unsupported input.

_ROWS = 1 << 10  # ballots of a list that NumPy converts at a time
_PARTS = "to read ballots in parts, use Profile.from_chunks; to read a file, sklearn_dprank.datasets.read_preflib"


def check_is_table(X, input_name="X"):
    """Raise ValueError, with a remedy, for objects often passed by mistake: paths, streams, dicts, empty lists.

    `input_name` is the name of the argument in the message.
    """
    if hasattr(X, "shape"):  # some sparse arrays are dicts too
        return
    if isinstance(X, (str, bytes, os.PathLike)) or hasattr(X, "read"):
        raise ValueError(
            f"{input_name} is a {_kind(X)}, not ballots; read a PrefLib file with "
            "sklearn_dprank.datasets.read_preflib, and pass on its `profile`. Read a CSV file with "
            "pandas.read_csv(path, index_col=False)."
        )
    if isinstance(X, Iterator):
        raise ValueError(
            f"{input_name} is a {_kind(X)}, not ballots; count a stream of tables with Profile.from_chunks, "
            "and pass on that profile, or make a list of single ballots first."
        )
    if isinstance(X, (Mapping, set, frozenset)):
        raise ValueError(
            f"{input_name} is a {_kind(X)}, not a table (n_voters, n_items) of ballots; pass pandas.DataFrame(...) "
            "if it has one entry per item, or the attribute `profile` of the result of "
            "sklearn_dprank.datasets.read_preflib."
        )
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise ValueError(
            f"{input_name} is a {_kind(X)} of dicts, not a table (n_voters, n_items) of ballots; if each maps "
            "items to positions, pass pandas.DataFrame(...); reports of voters' devices go to fit_reports."
        )
    if isinstance(X, (list, tuple)) and not X:
        raise ValueError(f"{input_name} is an empty {_kind(X)} and holds no ballot; {_PARTS}.")


def passes(X, least_voters=1):
    """Return whether X is a plain array that scikit-learn would accept unchanged; if False, scikit-learn must decide.

    These are scikit-learn's checks for an array of numbers. Calling scikit-learn takes longer than a small fit.
    """
    return is_plain(X) and X.ndim == 2 and X.shape[0] >= least_voters and X.shape[1] >= 2


def is_plain(X):
    """Return whether X is a plain array of real numbers, none of them infinite."""
    if type(X) is not np.ndarray:
        return False
    kind = X.dtype.kind
    return kind in "biu" or (kind == "f" and not np.isinf(X).any())


def _kind_of_table(X):
    return type(X).__name__


def as_numbers(X):
    """Return ballots as an array of numbers; None, pandas' NA and masked cells become NaN.

    Each row keeps its exact order, and its result depends on this row only. Doubles cannot distinguish all integers
    beyond 2^53, so a row with such an integer is replaced by its ranks before the conversion. An array of numbers, or
    an input that scikit-learn must refuse, is returned unchanged.

    Raise ValueError if a column holds text, dates or numbers beyond floats, and TypeError if it holds other objects.
    The message never shows a value. It names the column, except that text in a list or an array is always reported as
    column 0.
    """
    if isinstance(X, (list, tuple)):
        return _from_rows(X)
    if is_frame(X):
        return X.to_numpy() if is_plain_frame(X) else as_columns(X)[:]
    if hasattr(X, "iloc") or hasattr(X, "tocsr"):  # a pandas.Series, or a sparse matrix
        return X
    return _from_array(X if isinstance(X, np.ndarray) else np.asarray(X))


def _from_array(X):
    """Return an array of any dtype as an array of numbers, if it is two-dimensional."""
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind == "O":
            return _from_array(unmasked(X))
        data, mask = _from_array(np.ma.getdata(X)), np.ma.getmaskarray(X)
        return np.where(mask, np.nan, as_doubles(data)) if mask.any() else data
    if X.ndim != 2:
        return X
    if X.dtype.kind in "biufc":
        return X
    if X.dtype.kind != "O":  # text is refused, even if it could be read as numbers
        raise ValueError(not_numbers_message(0, X.dtype))
    columns = [column_as_floats(column, k) for k, column in enumerate(X.T)]
    return _with_exact_rows(np.stack(columns, axis=1), X.__getitem__) if columns else X


def _with_exact_rows(doubles, objects):
    """Replace rows with large numbers by exact ranks; `objects(rows)` returns the original cells of these rows."""
    rows = np.flatnonzero(beyond(doubles).any(axis=1))
    for row, cells in zip(rows, objects(rows) if len(rows) else (), strict=True):
        doubles[row] = exact_ranks(doubles[row], cells)
    return doubles


def _from_rows(rows):
    """Return a list of ballots as an array, converted in blocks because NumPy's casts depend on neighbouring rows."""
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        rows = [unmasked(row) for row in rows]
    blocks = [_from_block(rows[start : start + _ROWS]) for start in range(0, len(rows), _ROWS)]
    if len({block.shape[1:] for block in blocks}) > 1:
        raise ValueError("inhomogeneous")
    if len({block.dtype for block in blocks}) > 1:
        blocks = [as_doubles(block) for block in blocks]
    return np.concatenate(blocks) if len(blocks) > 1 else blocks[0]


def _from_block(rows):
    """Return some ballots as an array, with exact ranks in rows whose numbers NumPy may have rounded."""
    array = np.asarray(rows)
    if array.ndim != 2 or array.dtype.kind in "biu":
        return array
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if array.dtype.kind == "O":
        if any(isinstance(cell, (str, bytes)) for cell in array.ravel().tolist()):
            raise ValueError(not_numbers_message(0, np.dtype(str)))
        return _from_array(array)
    if array.dtype.kind != "f":
        return _from_array(array)  # which refuses text
    if array.dtype.itemsize < 8:
        return array
    with np.errstate(over="ignore"):
        doubles = array.astype(np.float64, copy=False)
    return _with_exact_rows(doubles, lambda large: [np.array(rows[row], dtype=object) for row in large])


# Validation, compact form and completion of ballots.
#
# ``X[v, i]`` is the position of item i on voter v's ballot. Smaller is better, and only the order within a row
# matters.
# Equal values are a tie. NaN, or a masked entry, is "no opinion on any pair with this item".
#
# Clients also read ballots, so no library but NumPy is imported until `check_ballots` needs scikit-learn.

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
