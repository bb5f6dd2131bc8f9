"""Sorting the rows of a table, and where their values come."""

import numpy as np


def sorted_rows(values):
    """Sort each row, equal values in any order.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_columns)
        Without NaN.

    Returns
    -------
    order : ndarray of int64, shape (n_rows, n_columns)
        Where the row's values stand in the raveled table, smallest first.
    changes : ndarray of bool, shape (n_rows, n_columns)
        Whether each of them differs from the one before it in the order; the first does not.

    Examples
    --------
    >>> order, changes = sorted_rows(np.array([[5, 4], [6, 6]], dtype=np.uint8))
    >>> order.tolist(), changes.tolist()
    ([[1, 0], [2, 3]], [[False, True], [False, False]])
    """
    # Small integers are sorted by their digits if asked for a stable sort, which is faster; others are not.
    order = np.argsort(values, axis=1, kind="stable" if values.dtype.itemsize <= 2 else None)
    order += np.arange(0, values.size, values.shape[1])[:, np.newaxis]
    ordered = values.ravel()[order]
    changes = np.zeros(values.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=changes[:, 1:])
    return order, changes


def dense_ranks(values, dtype=np.int64):
    """Return each row's dense ranks: 0 for its smallest value, ties equal, no gaps.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_columns)
        Without NaN.
    dtype : dtype, default=int64
        Of the ranks, all of which it holds.

    Returns
    -------
    ndarray of dtype, shape (n_rows, n_columns)

    Examples
    --------
    >>> dense_ranks(np.array([[7.5, 1.0, 7.5, 9.0]])).tolist()
    [[1, 0, 1, 2]]
    """
    order, changes = sorted_rows(values)
    return placed(np.cumsum(changes, axis=1, dtype=dtype), order)


def smaller_values(values):
    """Return how many values of the row are smaller than each.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_columns)
        Without NaN.

    Returns
    -------
    ndarray of int64, shape (n_rows, n_columns)

    Examples
    --------
    >>> smaller_values(np.array([[7.5, 1.0, 7.5, 9.0]])).tolist()
    [[1, 0, 1, 3]]
    """
    order, changes = sorted_rows(values)
    return placed(np.maximum.accumulate(changes * np.arange(values.shape[1]), axis=1), order)


def placed(in_order, order):
    """Return what is said of each value in sorted order, where the values stand.

    Parameters
    ----------
    in_order : ndarray, shape (n_rows, n_columns)
        Something for each value.
    order : ndarray of int64, shape (n_rows, n_columns)
        As `sorted_rows` returns it.

    Returns
    -------
    ndarray of in_order's dtype, shape (n_rows, n_columns)
    """
    out = np.empty(in_order.size, dtype=in_order.dtype)
    out[order] = in_order
    return out.reshape(in_order.shape)
