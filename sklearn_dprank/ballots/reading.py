"""Reading of ballots: any table or list becomes positions and item names; a ballot is read by itself."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isnan
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._utils.checks import safe_repr

if TYPE_CHECKING:
    from .._utils.types import ItemNames

# ``X[v, i]`` is the position of item i on voter v's ballot. Smaller is better, and only the order within a row matters.
# Equal values are a tie. NaN, or a masked entry, is "no opinion on any pair with this item". Numbers of all types are
# compared as doubles, so that the type that NumPy chooses for a table, because of other ballots, changes no ballot.
#
# Clients also read ballots, so no library but NumPy is imported.

MAX_ITEMS = np.iinfo(np.uint16).max - 1  # positions and the sentinel fit in two bytes
_BLOCK = 1 << 16  # entries converted at a time; few, so that a ballot with more work delays few others
_COMPLETED = 1 << 18  # entries completed at a time; temporaries stay in cache
_ROWS = 1 << 10  # ballots of a list that NumPy converts at a time
_DOUBLES = "?bhilqBHILQefd"  # NumPy's types of numbers that are compared as doubles without a conversion
_KINDS = {"M": "dates", "m": "times", "V": "records"}
_MISSING_AS_TEXT = ["nan", "None", "NaT", "<NA>"]  # what NumPy makes of missing values


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

    @property
    def n_listed(self):
        """Number of items on each ballot, uint16, shape (n_voters,)."""
        return np.add.reduce(self.table != self.sentinel, axis=0, dtype=np.uint16)


@np.errstate(invalid="ignore", over="ignore")  # comparisons find the numbers that a conversion or difference changed
def compact_positions(X):
    """Convert an array of validated ballots to `Positions`; raise ValueError above 65,534 items.

    Small integers are used as positions. Ballots with other values are converted apart: as numbers minus the lowest
    one if all are integers, else as ranks. So one such ballot does not show in the running time, because the ballots
    next to it take no more work.
    """
    n_voters, n_items = X.shape
    if n_items > MAX_ITEMS:
        raise ValueError(f"X has {n_items} items; at most {MAX_ITEMS} are supported.")
    dtype = np.uint8 if n_items < np.iinfo(np.uint8).max else np.uint16
    sentinel, step = np.iinfo(dtype).max, max(1, _BLOCK // n_items)
    table, unranked = np.empty((n_items, n_voters), dtype=dtype), np.zeros(n_items, dtype=bool)
    for start in range(0, n_voters, step):
        block, out = X[start : start + step].T, table[:, start : start + step]
        # In the byte order of this machine: NumPy 2.0 crashes on differences of others.
        block = block.astype(block.dtype.newbyteorder("="), copy=False)
        shift = block.min() if block.dtype.kind in "iu" else 0  # larger numbers are compared as doubles
        moved = block - shift if 0 < abs(float(shift)) < 2.0**52 else block
        small = moved.astype(dtype)
        out[:] = small
        out -= np.minimum.reduce(out, axis=0)
        fits = (small == moved) & (small != sentinel)
        if fits.all():
            continue
        # The other ballots, as doubles: `lowest` is the smallest number of each.
        odd = np.flatnonzero(~fits.all(axis=0))
        values = block[:, odd].astype(np.float64, order="C")
        gaps = np.isnan(values)
        unranked |= gaps.any(axis=1)
        lowest = np.fmin.reduce(values, axis=0)
        lowest[np.isnan(lowest)] = 0
        values = np.where(gaps, lowest, values)
        places = (values - lowest).astype(dtype)
        # Compare the sum with the original, because a fraction may vanish in the difference.
        are_whole = ((places + lowest == values) & (places != sentinel)).all(axis=0) & (lowest == np.rint(lowest))
        places[:, ~are_whole] = smaller_values(np.ascontiguousarray(values[:, ~are_whole].T)).T
        places[gaps] = sentinel
        out[:, odd] = places
    return Positions(table, unranked)


def check_ballots(X, *, least_voters=1, least_items=2):
    """Return `X` as a numeric array of shape (n_voters, n_items).

    Raise ValueError if X is not two-dimensional, is too small, or holds text or infinities. The message shows no value.
    """
    array = X if type(X) is np.ndarray and X.dtype.char in _DOUBLES else as_array(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers (positions).")
    if array.ndim != 2:
        raise ValueError(
            "X must have two dimensions, (n_voters, n_items): one row a voter. Reshape your data using "
            "X.reshape(1, -1) if it is a single ballot."
        )
    for size, least, what in zip(array.shape, (least_voters, least_items), ("sample", "feature"), strict=True):
        if size < least:
            raise ValueError(f"X has {size} {what}(s) (shape={array.shape}) while a minimum of {least} is required.")
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise ValueError("Input X contains infinity; an entry must be a finite number, or NaN for no opinion.")
    return array


def check_ballot(x):
    """Return one voter's ballot as doubles, shape (n_items,); raise ValueError if it is invalid."""
    return check_ballots([x])[0].astype(np.float64)


# Conversion of tables to arrays. No branch may look at other rows to convert a cell.


def as_array(X):
    """Return ballots as an array of numbers; None, pandas' NA and masked cells become NaN.

    An input without two dimensions is returned as an array, and `check_ballots` refuses it. Raise ValueError if X is
    not in memory, is not a table, or holds text, dates or numbers beyond floats, and TypeError if it holds other
    objects. The message shows no value. It names the column, except that text in a list is reported as column 0.
    """
    _check_in_memory(X)
    if is_frame(X):
        if hasattr(X, "iloc"):
            if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in set(X.dtypes)):
                return _from_array(X.to_numpy())  # of objects, if there are booleans and numbers
            names = X.columns.tolist()
            columns = []
            for column in (X.iloc[:, k] for k in range(len(names))):
                plain = getattr(column.dtype, "numpy_dtype", None)  # of nullable and Arrow dtypes
                is_number = plain is not None and plain.kind in "biuf"
                columns.append(column.to_numpy(np.float64, na_value=np.nan) if is_number else np.asarray(column))
        else:
            names, columns = (X.schema.names, X.columns) if _is_arrow(type(X)) else (X.columns, X.get_columns())
            columns = [np.asarray(column) for column in columns]
        columns = [_as_numbers(column, name) for name, column in zip(names, columns, strict=True)]
        return np.stack(columns).T if columns else np.empty((0, 0))
    if not isinstance(X, (list, tuple)):
        return _from_array(np.asarray(unmasked(X)))
    try:
        # In blocks, because NumPy converts objects slowly, and one None makes all cells of a block objects.
        blocks = [np.asarray([unmasked(row) for row in X[start : start + _ROWS]]) for start in range(0, len(X), _ROWS)]
        if len({block.shape[1:] for block in blocks}) > 1:
            raise ValueError
    except ValueError:
        raise ValueError(
            "X has an inhomogeneous shape: each ballot must have an entry for each item, NaN for no opinion. Read "
            "lists of the items themselves, best first, by Profile.from_orders(X, items=[...])."
        ) from None
    return np.concatenate([_from_array(block) for block in blocks])


def _from_array(X):
    """Return an array of any dtype as an array of numbers, if it is two-dimensional."""
    if X.ndim != 2 or X.dtype.char in _DOUBLES or X.dtype.kind == "c" or not X.shape[1]:
        return X
    return np.stack([_as_numbers(column, k) for k, column in enumerate(X.T)], axis=1)


def _as_numbers(column, name):
    """Return a column as an array of numbers; errors show its `name` and no value."""
    if column.dtype.char in _DOUBLES or column.dtype.kind == "c":
        return column
    try:
        if column.dtype.kind in _KINDS and len(column):
            raise ValueError
        return as_floats(column.astype(object))
    except TypeError as error:  # its message shows a type and no value
        raise TypeError(f"X must hold numbers, and column {name!r} does not: {error}") from None
    except ValueError:
        raise ValueError(
            f"X must hold numbers (NaN for no opinion), got {_KINDS.get(column.dtype.kind, 'text')} in column "
            f"{name!r}. Leave out a column that is not an item. Read orders of names by Profile.from_orders(X, "
            "items=[...]), numbers in text by X.astype(float), and words by X.map(numbers.__getitem__, "
            "na_action='ignore') with a dictionary (positions: 0 is the best; ratings: larger is better). One rating "
            "or comparison a row: Profile.from_long or from_comparisons. If pandas shifted rows with a cell too many, "
            "use pandas.read_csv(path, index_col=False)."
        ) from None
    except ArithmeticError:  # an integer beyond all floats, or a Decimal that is not a number
        raise ValueError(
            f"X must hold numbers that floats can hold, and column {name!r} holds a larger one, or a Decimal that is "
            "not a number. Use None for no opinion."
        ) from None


@np.errstate(over="ignore")  # an infinite result is refused later
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
    is_missing = np.frompyfunc(lambda cell: cell is None or (isinstance(cell, float) and isnan(cell)), 1, 1)
    return is_missing(objects).astype(bool)


def unmasked(X):
    """Return a masked array as an array with NaN or, if it holds objects, None; return anything else unchanged."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if X.dtype.kind in "biuf":
        return np.ma.asarray(X, np.float64).filled(np.nan)
    cells = np.ma.getdata(X).astype(object)
    cells[np.ma.getmaskarray(X)] = None
    return cells


def refuse_missing_as_text(values, name):
    """Raise ValueError if an array of NumPy text holds what NumPy makes of missing values."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "UT" and np.isin(values, _MISSING_AS_TEXT).any():
        raise ValueError(
            f"{name} is a NumPy array of text with 'nan' or 'None', which may stand for a missing id. Pass a list, or "
            "an array of the dtype object, with None for a missing id."
        )


def plain_list(values):
    """Return a column as a list of plain Python objects, also one of NumPy, pandas, Polars or Arrow."""
    to_list = next((name for name in ("tolist", "to_list", "to_pylist") if hasattr(values, name)), None)
    return list(values) if to_list is None else getattr(values, to_list)()


def as_column(values, name, n_voters, *, positive=False):
    """Return one number for each ballot as doubles; a masked one is NaN.

    Raise ValueError unless all are finite and at least 0, or above 0 if `positive`. No message shows a value.
    """
    try:
        column = np.ma.filled(np.ma.array(values, dtype=np.float64), np.nan)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers.") from None
    allowed = np.isfinite(column) & (column > 0 if positive else column >= 0)
    if column.shape != (n_voters,) or not allowed.all():
        kind = "positive, finite number for each voter" if positive else "finite number of at least 0 for each ballot"
        raise ValueError(f"{name} must hold one {kind}.")
    return column


def cells_in_memory():
    """Return how many 8-byte cells fit into memory, because some systems overcommit and then end the process."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    except (AttributeError, OSError, ValueError):  # not available on Windows, which does not overcommit
        return np.iinfo(np.intp).max // 8


# Refusals of what is not a table in memory.


def check_is_table(X, input_name="X"):
    """Raise ValueError, with a remedy, for objects often passed by mistake: paths, streams, dicts, empty lists.

    `input_name` is the name of the argument in the message.
    """
    kind = f"{input_name} is a {type(X).__name__}"
    if hasattr(X, "shape"):  # some sparse arrays are dicts too
        return
    if isinstance(X, (str, bytes, os.PathLike)) or hasattr(X, "read"):
        raise ValueError(
            f"{kind}, not ballots; read a PrefLib file with sklearn_dprank.datasets.read_preflib, and pass on its "
            "`profile`. Read a CSV file with pandas.read_csv(path, index_col=False)."
        )
    if isinstance(X, Iterator):
        raise ValueError(
            f"{kind}, not ballots; count a stream of tables with Profile.from_chunks, and pass on that profile, or "
            "make a list of single ballots first."
        )
    if isinstance(X, (Mapping, set, frozenset)):
        raise ValueError(
            f"{kind}, not a table (n_voters, n_items) of ballots; pass pandas.DataFrame(...) if it has one entry per "
            "item, or the attribute `profile` of the result of sklearn_dprank.datasets.read_preflib."
        )
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise ValueError(
            f"{kind} of dicts, not a table (n_voters, n_items) of ballots; if each maps items to positions, pass "
            "pandas.DataFrame(...); reports of voters' devices go to fit_reports."
        )
    if isinstance(X, (list, tuple)) and not X:
        raise ValueError(
            f"{input_name} is an empty {type(X).__name__} and holds no ballot; to read ballots in parts, use "
            "Profile.from_chunks; to read a file, sklearn_dprank.datasets.read_preflib."
        )


def shape_of(X):
    """Return (n_voters, n_items) of a table of ballots, without checking its values.

    Raise ValueError if X is a dask collection, or is not a table with two dimensions and at least two columns.

    Examples
    --------
    >>> shape_of([[0, 1, 2], [2, 1, 0]])
    (2, 3)
    """
    _check_in_memory(X)
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2 or shape[1] < 2:
        found = f"{len(shape)} dimensions" if len(shape) != 2 else "1 item" if shape[1] else "no item"
        raise ValueError(f"X must have shape (n_voters, n_items) with at least two items, got {found}.")
    return shape[0], shape[1]


def check_aligned(X, **columns):
    """Raise ValueError if one of the columns belongs to other rows than the ballots, by the indexes of pandas."""
    for name, values in columns.items():
        of_pandas = hasattr(type(X), "iloc") and hasattr(type(values), "iloc") and not is_dask(X)
        if of_pandas and len(X) == len(values) and not values.index.equals(X.index):
            raise ValueError(
                f"{name} has another index than the ballots, so its values may belong to other rows. Pass "
                f"{name}.loc[X.index], or {name}.to_numpy() if both are in the same order."
            )


def _check_in_memory(X):
    """Raise an error, with a remedy, if X is not a table in memory, or a sparse or structured one."""
    if hasattr(type(X), "collect_schema") and not hasattr(type(X), "to_numpy"):  # a query of Polars that was not run
        raise ValueError(f"X is a {type(X).__name__}, and its ballots are not read yet; pass X.collect().")
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise ValueError(
            "X is a structured array, and its columns may have different types; pass pandas.DataFrame(X), or "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    if hasattr(type(X), "tocsr"):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required, because an entry that is not stored would be 0, "
            "the best position. If stored entries are ratings, pass c = X.tocoo(); Profile.from_long(person=c.row, "
            "item=c.col, rating=c.data, items=range(c.shape[1])). Use '.toarray()' only if each entry is a position."
        )
    if is_frame(X):
        if hasattr(type(X), "iloc") and any(hasattr(dtype, "fill_value") for dtype in set(X.dtypes)):
            raise TypeError(
                "Sparse data was passed for X, but dense data is required, because an entry that is not stored would "
                "be the fill value. If stored entries are ratings and others are 0, pass c = X.sparse.to_coo(); "
                "Profile.from_long(person=c.row, item=c.col, rating=c.data, items=range(c.shape[1])). Use "
                "X.sparse.to_dense() only if each entry is a position, or NaN for no opinion."
            )
        _refuse_long(X)
    if is_dask(X):
        raise ValueError(
            "X is a dask collection, and its ballots are not in memory; count them where they lie with "
            "Profile.from_chunks(X), or load them with X.compute()."
        )
    if isinstance(X, list) and X and type(X[0]) is tuple and len(X[0]) == 2:  # the form, not the cells, decides
        raise ValueError(
            "X is a list of pairs, which may be comparisons (winner, loser); pass pairs = "
            "numpy.array(X); Profile.from_comparisons(None, pairs[:, 0], pairs[:, 1], person=None, "
            "items=range(...)). If they are ballots on two items, pass numpy.array(X)."
        )
    check_is_table(X)


_PAIRED = ("model", "item", "player", "option", "team")  # before a and b, or 1 and 2
#: Names of columns of persons, items and values in long tables, in lower case, without blanks and a last "id".
_PERSONS = {"user", "person", "rater", "customer", "reviewer", "voter", "respondent", "participant", "email"}
_ITEMS = {"item", "movie", "product", "business", "book", "candidate", "alternative", "option", "song", "restaurant"}
_VALUES = {"rating": "rating", "ratings": "rating", "stars": "rating", "score": "rating", "rank": "position"}


def long_form(known: Iterable[Any]) -> tuple[str, list[Any], str] | None:
    """Return the form of long data that names of columns certainly have, with these columns; None for other names.

    The form is "comparisons", or "long" with the direction of its values, "rating" or "position".

    Examples
    --------
    >>> long_form(["userId", "movieId", "rating", "timestamp"])
    ('long', ['userId', 'movieId', 'rating'], 'rating')
    """
    by_word = {re.sub(r"[\W_]", "", str(name)).lower(): name for name in known}
    names = {  # the id of a rating is not its value
        word if (base := word.removesuffix("id")) in _VALUES else base: name for word, name in by_word.items()
    }
    pairs = [(f"{what}{one}", f"{what}{two}") for what in _PAIRED for one, two in ("ab", "12")]
    for words in (*((*pair, "winner") for pair in [*pairs, ("home", "away")]), ("winner", "loser")):
        if names.keys() >= {*words}:
            return "comparisons", [names[word] for word in words], ""
    found = [next((name for name in names if name in words), "") for words in (_PERSONS, _ITEMS, _VALUES)]
    return ("long", [names[name] for name in found], _VALUES[found[2]]) if all(found) else None


def _refuse_long(X):
    """Raise ValueError if the column names are certainly those of a table with one rating or comparison a row."""
    found = long_form(labels_of(X))
    if found is None:
        return
    form, (first, second, *value), direction = found
    if form == "comparisons":
        outcome = f", outcome={value[0]!r}" if value else ""
        call = f"from_comparisons(X, {first!r}, {second!r}{outcome}, person=..., items=[...])"
    else:
        call = f"from_long(X, {first!r}, {second!r}, {direction}={value[0]!r}, items=[...])"
    raise ValueError(
        "X has one rating or comparison a row, by the names of its columns, and not one ballot a row; pass "
        f"Profile.{call}. If these columns are items, rename them."
    )


def is_dask(X):
    """Return whether X is a dask collection; the class decides, because some objects claim to have every attribute."""
    return hasattr(type(X), "__dask_graph__")


# Item names.

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
        hidden = [letter for letter in name[:1] + name[-1:] if letter in _JOINERS]  # inside a name, they are allowed
        for letter in _REGION.sub("", name):
            is_noncharacter = ord(letter) & 0xFFFE == 0xFFFE or "\ufdd0" <= letter <= "\ufdef"
            is_format = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in _JOINERS
            if is_noncharacter or is_format or letter in _BLANKS:
                hidden.append(letter)
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
    if isinstance(names, (str, bytes, set, frozenset)) or not isinstance(names, Iterable):
        raise ValueError(f"{input_name} must list one name an item, got {safe_repr(names)}; pass a list of names.")
    listed: list[Any] = list(names)
    types = set(map(type, listed))
    whole = {kind for kind in types if issubclass(kind, Integral) and kind is not bool}
    kinds = {"str" if issubclass(kind, str) else "int" if kind in whole else kind.__name__ for kind in types}
    if len(kinds) > 1 or not kinds <= {"str", "int"}:
        raise ValueError(
            f"{input_name} must be all strings or all whole numbers, got {' and '.join(sorted(kinds))}; "
            "rename the items."
        )
    if kinds == {"str"}:
        plain: list[Any] = [checked_name(name, input_name) for name in listed]
        shown = [seen(name) for name in plain]
    else:
        shown = plain = list(map(int, listed))
    if len(set(shown)) < len(shown):
        twice = Counter(shown).most_common(1)[0][0]
        raise ValueError(
            f"{input_name} must be distinct, and {safe_repr(twice)} stands twice; rename one, or leave it out."
        )
    return plain


def is_frame(X):
    """Return whether X is a table with named columns, from pandas, Polars, dask or Arrow."""
    kind = type(X)  # the class, because some objects claim to have every attribute
    return (hasattr(kind, "columns") and hasattr(kind, "dtypes")) or _is_arrow(kind)


def as_named(X):
    """Return a record batch as an Arrow table, whose names scikit-learn can read; return other tables unchanged."""
    if _is_arrow(type(X)) and not hasattr(X, "from_batches"):
        return sys.modules["pyarrow"].Table.from_batches([X])
    return X


def _is_arrow(kind):
    """Return whether `kind` is the class of an Arrow table or record batch, whose ``columns`` are not names."""
    return hasattr(kind, "column_names") and hasattr(kind, "schema")


def labels_of(X: Any) -> Any:
    """Return the labels of the columns of a frame, as it holds them."""
    return X.schema.names if _is_arrow(type(X)) else X.columns


def column_names(X: Any) -> Any:
    """Return the column names of a table in memory, or None if it has none or they are the numbers 0, 1, 2, ...

    Names are a list, or an Index if X is a DataFrame of pandas. Raise ValueError if the columns are not valid names;
    see `checked_names`.
    """
    if type(X) is np.ndarray or not is_frame(X):
        return None
    names = checked_names(labels_of(X), "the columns of X")
    if names == list(range(len(names))):
        return None
    pandas = sys.modules.get("pandas")
    return names if pandas is None or not isinstance(X, pandas.DataFrame) else pandas.Index(names)


def names_of(fitted):
    """Return the item names of a fitted aggregator in the order of the columns, or None if items have no names.

    Names come from ``consensus_`` with dtype object, because integer names are not indices and scikit-learn's
    ``feature_names_in_`` holds strings only. The consensus of a top-k aggregator does not contain all names, and that
    of segments has a row for each. If pandas named the items, they are the labels of ``ranks_``.
    """
    if not hasattr(fitted, "consensus_") or fitted.consensus_.dtype.kind != "O":
        return None
    if hasattr(fitted.ranks_, "keys"):
        return fitted.ranks_.keys()
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
    if one is None and other is None:
        return False
    names = list(other if one is None else one)
    return names != list(range(len(names))) and set(names) == set(range(len(names)))


# Ranks within rows.


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
    out = np.zeros(table.shape, dtype=table.dtype)
    step = max(1, _COMPLETED // n_items)
    wide = np.uint16 if table.dtype.itemsize == 1 else np.uint32  # holds (sentinel + 2) n_items
    for start in range(0, n_voters, step):
        block, places = table[:, start : start + step], out[:, start : start + step]
        width = block.shape[1]
        unseen_first = np.zeros(width, dtype=bool) if unseen_last else coins.coins(width)
        # The keys of a ballot are distinct and sort by place (0 for unseen items that go first), then by chance.
        place = np.where((block == sentinel) & unseen_first, wide(0), block.astype(wide) + wide(1))
        keys = place * wide(n_items) + coins.permutations(width, n_items).T
        for j in range(1, n_items):
            behind = keys[:j] < keys[j]
            places[j] = np.add.reduce(behind, axis=0, dtype=places.dtype)
            places[:j] += ~behind
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
    return smaller_values(ballot.table.T).tobytes() + (ballot.table == ballot.sentinel).tobytes()
