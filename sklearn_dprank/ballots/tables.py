"""Conversion of tabular input to arrays, with errors for unsupported input."""

import os
from collections.abc import Iterator, Mapping

import numpy as np

from .cells import as_doubles, beyond, column_as_floats, exact_ranks, not_numbers_message, unmasked
from .columns import as_columns, is_plain_frame
from .names import is_frame

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


def _kind(X):
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
