"""Row-wise sorting and ranking of tables."""

import numpy as np


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
