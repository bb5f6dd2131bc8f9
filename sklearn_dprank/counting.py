"""Counting ballots: pairs of items, and where items stand."""

import numpy as np

_PIECE = 1 << 17  # voters counted at a time: one row of a piece is 128 KB
_FEW = 1 << 10  # voters looked at first where one may settle it
_TABLE = 1 << 19  # ballot entries compared with each item at a time: they stay in cache


def count_pairs(positions):
    """Count, for each ordered pair of items, the voters who strictly prefer the first.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_items, n_items)
        Exact for ties and missing opinions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.counting import count_pairs
    >>> from sklearn_dprank.rankings import compact_positions
    >>> count_pairs(compact_positions(np.array([[0, 1, 2], [0, 2, 1], [1, 0, 1]])))
    array([[0, 2, 2],
           [1, 0, 2],
           [0, 1, 0]])
    """
    n_items = len(positions.table)
    counts = np.zeros((n_items, n_items), dtype=np.int64)
    for piece in _pieces(positions.table, _PIECE):
        width = piece.shape[1]
        less, rows = np.empty(width, dtype=bool), list(piece)
        strict = _all_strict(piece)
        for j, row in enumerate(rows):
            # The sentinel is less than nothing, and nothing is less than 0: no opinion counts nowhere.
            loser = row * (row != positions.sentinel) if positions.unranked[j] else row
            others = range(j + 1, n_items) if strict else range(n_items)
            won = np.array([np.count_nonzero(np.less(rows[i], loser, out=less)) for i in others], dtype=np.int64)
            counts[others.start :, j] += won
            if strict:  # without ties one comparison serves both directions
                counts[j, others.start :] += width - won
    return counts


def count_placements(positions):
    """Count where each item stands.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_rows, 4)
        Rows (item, first, last, voters), sorted: so many voters tie the item with last - first others
        over positions first..last (0 is best); items without an opinion are tied last.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.counting import count_placements
    >>> from sklearn_dprank.rankings import compact_positions
    >>> count_placements(compact_positions(np.array([[0, 1], [0, 1], [0, 0]])))
    array([[0, 0, 0, 2],
           [0, 0, 1, 1],
           [1, 0, 1, 1],
           [1, 1, 1, 2]])
    """
    n_items = len(positions.table)
    strict, tied = np.zeros((n_items, n_items), dtype=np.int64), np.empty((0, 4), dtype=np.int64)
    for piece in _pieces(positions.table, _PIECE):
        if _all_strict(piece):
            strict += [np.bincount(row, minlength=n_items) for row in piece]
        else:
            tied = merge_placements([tied, *_tied_placements(piece)])
    item, place = np.nonzero(strict)
    return merge_placements([np.column_stack([item, place, place, strict[item, place]]), tied])


def merge_placements(tables):
    """Add up the voters of equal (item, first, last).

    Parameters
    ----------
    tables : list of ndarray of int64, shape (n_rows, 4)
        Placements, as `count_placements` returns them.

    Returns
    -------
    ndarray of int64, shape (n_rows, 4)
        The placements of all voters together.
    """
    rows = np.vstack(tables)
    base = int(rows[:, 2].max(initial=0)) + 1
    key, inverse = np.unique((rows[:, 0] * base + rows[:, 1]) * base + rows[:, 2], return_inverse=True)
    voters = np.zeros(len(key), dtype=np.int64)
    np.add.at(voters, inverse.ravel(), rows[:, 3])
    rest, last = np.divmod(key, base)
    item, first = np.divmod(rest, base)
    return np.column_stack([item, first, last, voters])


def all_strict(positions):
    """Tell whether every ballot is a complete strict ranking, stored as positions 0..m-1.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    bool
        A wrong "no" is possible, where positions have gaps; it costs time only.
    """
    return all(_all_strict(piece) for piece in _pieces(positions.table, _PIECE))


def any_preference(positions):
    """Tell whether some ballot prefers some item to another; ballots without an opinion, or all tied, do not.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    bool
        Found in the first few ballots as a rule.
    """
    for piece in _pieces(positions.table, _FEW):
        # The sentinel is the largest position: the best of a silent ballot is not below its worst.
        worst = (piece * (piece != positions.sentinel)).max(axis=0)
        if (piece.min(axis=0) < worst).any():
            return True
    return False


def _pieces(table, width):
    """Yield the table, `width` voters at a time."""
    for start in range(0, table.shape[1], width):
        yield table[:, start : start + width]


def _all_strict(piece):
    """Tell whether every ballot of the piece is a complete strict ranking with positions 0..m-1.

    Each ballot's positions are collected in a bit set; a wrong "no" costs time only.
    """
    n_items, width = piece.shape
    bits = next(b for b in (8, 16, 32, 64) if n_items <= b or b == 64)
    dtype = np.dtype(f"uint{bits}").type
    shifted = np.empty(width, dtype=dtype)
    for low in range(0, n_items, bits):
        seen = np.zeros(width, dtype=dtype)
        for row in piece:
            # Positions outside this word wrap round to large shifts, which give 0.
            np.left_shift(dtype(1), (row - row.dtype.type(low)) if low else row, out=shifted, casting="unsafe")
            np.bitwise_or(seen, shifted, out=seen)
        full = dtype((1 << min(bits, n_items - low)) - 1)
        if not np.array_equal(seen, np.broadcast_to(full, seen.shape)):
            return False
    return True


def _tied_placements(piece):
    """Yield placement rows of ballots with ties or missing opinions, a table for each item and part of the piece."""
    n_items = len(piece)
    for part in _pieces(piece, max(1, _TABLE // n_items)):
        part = np.ascontiguousarray(part)
        test = np.empty(part.shape, dtype=bool)
        for item, row in enumerate(part):
            # The sentinel is the largest position, so no opinion is tied last by itself.
            first = _count_rows(np.less(part, row, out=test), part.dtype)
            last = _count_rows(np.less_equal(part, row, out=test), part.dtype) - 1
            key, voters = np.unique(first.astype(np.int64) * n_items + last, return_counts=True)
            yield np.column_stack([np.full(len(key), item), *np.divmod(key, n_items), voters])


def _count_rows(test, dtype):
    """Count, for each column, the rows that are true; there are fewer than `dtype` can hold."""
    return np.add.reduce(test.view(np.uint8), axis=0, dtype=dtype)
