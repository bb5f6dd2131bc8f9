"""What is given for a table of ballots: refused with the remedy if it is none, else made ready to be validated."""

import os
from collections.abc import Iterator, Mapping

import numpy as np

from .cells import as_doubles, beyond, column_as_floats, exact_ranks, no_numbers, unmasked
from .columns import as_columns, is_plain_frame
from .names import is_frame

_ROWS = 1 << 10  # ballots of a list that NumPy reads at a time
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
            "and pass on its `profile`. Read a CSV file with pandas.read_csv(path, index_col=False)."
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
    """Return ballots as an array of numbers; None, pandas' NA and masked cells are NaN.

    Each row keeps its exact order, and what it becomes depends on this row only. Doubles do not tell all whole
    numbers beyond 2^53 apart: a row with such a number is replaced by its ranks before it is cast.

    Parameters
    ----------
    X : list, tuple, ndarray, masked array, DataFrame, Arrow table or other array-like
        Ballots.

    Returns
    -------
    ndarray
        The same orders. An array of numbers is returned as it is, and so is what scikit-learn must refuse.

    Raises
    ------
    ValueError
        If a column holds text, dates or numbers beyond floats; the message names the column and no value.
    TypeError
        If a column holds objects of another kind.
    """
    if isinstance(X, (list, tuple)):
        return _from_rows(X)
    if is_frame(X):
        return X.to_numpy() if is_plain_frame(X) else as_columns(X)[:]
    if hasattr(X, "iloc") or hasattr(X, "tocsr"):  # a pandas.Series, or a sparse matrix
        return X
    return _from_array(X if isinstance(X, np.ndarray) else np.asarray(X))


def _from_array(X):
    """Return an array of anything as an array of numbers, if it is a table."""
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind == "O":
            return _from_array(unmasked(X))
        data, mask = _from_array(np.ma.getdata(X)), np.ma.getmaskarray(X)
        return np.where(mask, np.nan, as_doubles(data)) if mask.any() else data
    if X.ndim != 2:
        return X
    if X.dtype.kind in "biufc":
        return X
    if X.dtype.kind != "O":  # text that could be read as numbers is text all the same
        raise ValueError(no_numbers(0, X.dtype))
    columns = [column_as_floats(column, k) for k, column in enumerate(X.T)]
    return _with_exact_rows(np.stack(columns, axis=1), X.__getitem__) if columns else X


def _with_exact_rows(doubles, objects):
    """Put ranks in place of the rows with large numbers; `objects(rows)` returns these rows as they were."""
    rows = np.flatnonzero(beyond(doubles).any(axis=1))
    for row, cells in zip(rows, objects(rows) if len(rows) else (), strict=True):
        doubles[row] = exact_ranks(doubles[row], cells)
    return doubles


def _from_rows(rows):
    """Return a list of ballots as an array, in blocks: what NumPy makes of a ballot can depend on those beside it."""
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        rows = [unmasked(row) for row in rows]
    blocks = [_from_block(rows[start : start + _ROWS]) for start in range(0, len(rows), _ROWS)]
    if len({block.shape[1:] for block in blocks}) > 1:
        raise ValueError("inhomogeneous")
    if len({block.dtype for block in blocks}) > 1:
        blocks = [as_doubles(block) for block in blocks]
    return np.concatenate(blocks) if len(blocks) > 1 else blocks[0]


def _from_block(rows):
    """Return some ballots as an array, those with numbers that NumPy may have cast as they are in the list."""
    array = np.asarray(rows)
    if array.ndim != 2 or array.dtype.kind in "biu":
        return array
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if array.dtype.kind == "O":
        if any(isinstance(cell, (str, bytes)) for cell in array.ravel().tolist()):
            raise ValueError(no_numbers(0, np.dtype(str)))
        return _from_array(array)
    if array.dtype.kind != "f":
        return _from_array(array)  # which refuses text
    if array.dtype.itemsize < 8:
        return array
    with np.errstate(over="ignore"):
        doubles = array.astype(np.float64, copy=False)
    return _with_exact_rows(doubles, lambda large: [np.array(rows[row], dtype=object) for row in large])
