"""Conversion of table cells to doubles, with exact ranks for ballots that doubles cannot represent.

Doubles represent all integers up to 2^53. Larger integers can become equal when NumPy converts a table to doubles.
Whether NumPy converts can depend on other ballots, for example on a missing value or a fraction in another row. So each
row with such an integer is ranked exactly before the conversion. Converting all 64-bit integers to doubles would also
be consistent, but it would tie different numbers, such as times in nanoseconds. For rows without large integers, the
only cost is a comparison with 2^53.
"""

import sys
from fractions import Fraction
from math import isnan
from numbers import Number

import numpy as np

from .sorting import dense_ranks

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
