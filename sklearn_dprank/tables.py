"""What is given for a table of ballots: refused with the remedy if it is none, else made ready to be validated."""

import os
import sys
from collections.abc import Iterator, Mapping
from math import isnan

import numpy as np

from .names import is_frame

_KINDS = {"M": "dates", "m": "times", "V": "records"}
_PARTS = "to read ballots in parts, use Profile.from_chunks; to read a file, sklearn_dprank.datasets.read_preflib"


def refuse_no_table(X, called="X"):
    """Raise ValueError for what is often passed in place of ballots: a path, a stream, a dict, an empty list.

    Parameters
    ----------
    X : object
        What was given for ballots of shape (n_voters, n_items).
    called : str, default="X"
        The parameter's name.

    Raises
    ------
    ValueError
        Naming the remedy.
    """
    if hasattr(X, "shape"):  # some sparse arrays are dicts too
        return
    if isinstance(X, (str, bytes, os.PathLike)) or hasattr(X, "read"):
        raise ValueError(
            f"{called} is a {_kind(X)}, not ballots; read a PrefLib file with sklearn_dprank.datasets.read_preflib, "
            "and pass on its `profile`. A CSV file is read by pandas.read_csv."
        )
    if isinstance(X, Iterator):
        raise ValueError(
            f"{called} is a {_kind(X)}, not ballots; count a stream of tables with Profile.from_chunks, and pass on "
            "that profile, or make a list of single ballots first."
        )
    if isinstance(X, (Mapping, set, frozenset)):
        raise ValueError(
            f"{called} is a {_kind(X)}, not a table (n_voters, n_items) of ballots; pass pandas.DataFrame(...) if it "
            "holds a column an item, or the `profile` of what sklearn_dprank.datasets.read_preflib returns."
        )
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise ValueError(
            f"{called} is a {_kind(X)} of dicts, not a table (n_voters, n_items) of ballots; if each says where a "
            "voter puts which item, pass pandas.DataFrame(...); reports of voters' devices go to fit_reports."
        )
    if isinstance(X, (list, tuple)) and not X:
        raise ValueError(f"{called} is an empty {_kind(X)} and holds no ballot; {_PARTS}.")


def passes(X, least_voters=1):
    """Tell a plain array that scikit-learn accepts as ballots, as it stands; of anything else it must judge.

    These are its checks of an array of numbers. Those of every other kind of table take longer than a small fit.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.kind in "biuf"
        and X.shape[0] >= least_voters
        and X.shape[1] >= 2
        and not (X.dtype.kind == "f" and np.isinf(X).any())
    )


def _kind(X):
    return type(X).__name__


def as_numbers(X):
    """Return a table with every column of objects turned into floats, pandas' NA into NaN; leave others alone.

    Parameters
    ----------
    X : ndarray, DataFrame or other array-like
        Ballots.

    Returns
    -------
    ndarray, DataFrame or other array-like
        The same ballots.

    Raises
    ------
    ValueError
        If a column holds text, dates or numbers beyond floats; the message names the column and no value.
    TypeError
        If a column holds objects of another kind.
    """
    if is_frame(X):
        return _frame_as_numbers(X)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return X
    if X.dtype.kind in "biufc":
        return X
    columns = [_column_as_floats(column, k) for k, column in enumerate(X.T)]
    if X.dtype.kind != "O":  # text that could be read as numbers is text all the same
        raise ValueError(_no_numbers(0, X.dtype))
    return np.stack(columns, axis=1) if columns else X


def _frame_as_numbers(X):
    """Return a DataFrame whose columns are numbers: itself, or a copy of one of pandas."""
    if not hasattr(X, "iloc"):  # polars: missing numbers are no objects there
        for name in X.columns:
            column = np.asarray(X[name])
            if column.dtype.kind not in "biufc":
                _column_as_floats(column, name)
        return X
    foreign = [k for k, dtype in enumerate(X.dtypes) if dtype.kind not in "biufc"]
    if foreign:
        X = X.copy()
    names = X.columns.tolist()
    for k in foreign:
        X.isetitem(k, _column_as_floats(X.iloc[:, k], names[k]))
    return X


def _column_as_floats(column, name):
    """Return a column of objects as floats; `name` is what an error calls it."""
    dtype = column.dtype
    try:
        if dtype.kind in _KINDS:
            raise ValueError
        return as_floats(np.asarray(column, dtype=object))
    except TypeError as error:  # it tells the type, and no value
        raise TypeError(f"X must hold numbers, and column {name!r} does not: {error}") from None
    except ValueError:
        raise ValueError(_no_numbers(name, dtype)) from None
    except OverflowError:
        raise ValueError(f"X must hold numbers that floats can hold, and column {name!r} holds a larger one.") from None


def as_floats(objects):
    """Return an array of objects as floats; None and pandas' NA are NaN."""
    return np.where(missing(objects), np.nan, objects).astype(np.float64)


def missing(objects):
    """Tell where an array of objects holds None, NaN or pandas' NA; without pandas there is no NA."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return pandas.isna(objects)
    return np.frompyfunc(lambda cell: cell is None or (isinstance(cell, float) and isnan(cell)), 1, 1)(objects) > 0


def _no_numbers(name, dtype):
    what = _KINDS.get(dtype.kind, "text")
    return (
        f"X must hold numbers (NaN for no opinion), got {what} in column {name!r}; turn orders of names into positions "
        "with sklearn_dprank.preprocessing.orders_to_positions, and text of numbers into numbers with X.astype(float); "
        "leave out a column that is no item."
    )
