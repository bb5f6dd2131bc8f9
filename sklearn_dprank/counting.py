"""Counting ballots: pairs of items, and where items stand."""

import numpy as np

_PIECE = 1 << 17  # voters counted at a time at most: one row of a piece is 128 KB
_LARGEST = 1 << 23  # entries of a piece at most
_TESTS = 1 << 20  # comparisons made at a time, where rows are shorter than that
_PLACED = 1 << 20  # ballot entries whose placements are kept apart at a time: a row of 32 bytes each at most
_FEW = 1 << 10  # voters looked at first where one may settle it
_TABLE = 1 << 19  # ballot entries looked at together at a time: they stay in cache
_SUMMED = 1 << 16  # voters whose positions, of two bytes at most, add up in four
_BYTE = 255  # voters whose sum fits one byte
_WORD = 64  # bits: of more items, those seen are no longer kept in one integer


def count_pairs(positions, strict=False):
    """Count, for each ordered pair of items, the voters who strictly prefer the first.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.
    strict : bool, default=False
        Whether all ballots are known to be strict, as `all_strict` tells; if not, it is found out piece by piece.

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
    for piece in _pieces(positions.table, min(_PIECE, max(1, _LARGEST // n_items))):
        # The sentinel is less than nothing, and nothing is less than 0: no opinion counts nowhere.
        losers = piece * (piece != positions.sentinel) if positions.unranked.any() else piece
        if piece.shape[1] <= _BYTE:
            _add_pairs_of_few(counts, piece, losers)
        else:
            _add_pairs(counts, piece, losers, strict or all_strict(piece))
    return counts


def _add_pairs_of_few(counts, winners, losers):
    """Do as `_add_pairs`, a loser at a time: its voters add up in single bytes."""
    winners = np.ascontiguousarray(winners.T)
    for j, loser in enumerate(losers):
        counts[:, j] += _count_rows(winners < loser[:, np.newaxis], np.uint8)


def _add_pairs(counts, winners, losers, strict):
    """Count the voters of a piece whose position among `winners` is less than that among `losers`, pair by pair."""
    n_items, width = winners.shape
    step = max(1, _TESTS // width)
    test = np.empty((min(step, n_items), width), dtype=bool)
    for start in range(0, n_items, step):
        end = min(start + step, n_items)
        for j in range(end - 1):
            others = slice(max(start, j + 1), end)
            less = test[: end - others.start]
            won = _count_each(np.less(winners[others], losers[j], out=less))
            counts[others, j] += won
            # Without ties one comparison serves both directions.
            counts[j, others] += width - won if strict else _count_each(np.less(winners[j], losers[others], out=less))


def _count_each(test):
    return np.array([np.count_nonzero(row) for row in test])


def strict_net_wins(positions):
    """Return the net wins of ballots that `all_strict` holds for: at position p, m - 1 - p are beaten and p beat.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_items,)
        What the counts of pairs come to, without counting them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.counting import strict_net_wins
    >>> from sklearn_dprank.rankings import compact_positions
    >>> strict_net_wins(compact_positions(np.array([[0, 1, 2], [0, 2, 1]])))
    array([ 4, -2, -2])
    """
    n_items, n_voters = positions.table.shape
    total = np.zeros(n_items, dtype=np.int64)
    for piece in _pieces(positions.table, _SUMMED):
        total += np.add.reduce(piece, axis=1, dtype=np.uint32)
    return (n_items - 1) * n_voters - 2 * total


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
    for piece in _pieces(positions.table, min(_PIECE, max(1, _PLACED // n_items))):
        if all_strict(piece):
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


def all_strict(table):
    """Tell whether every ballot is a complete strict ranking, stored as positions 0..m-1.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions, as in `Positions`.

    Returns
    -------
    bool
        A wrong "no" is possible, where positions have gaps; it costs time only.
    """
    see_all = _see_all if len(table) <= _WORD else _see_all_of_many
    return all(see_all(part) for part in _pieces(table, max(1, _TABLE // len(table))))


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


def _see_all(part):
    """Tell whether every ballot holds all positions, by a set of those seen in the bits of one integer."""
    n_items = len(part)
    bits = next(bits for bits in (8, 16, 32, _WORD) if n_items <= bits)
    dtype = np.dtype(f"uint{bits}").type
    # Positions outside the word give 0.
    seen = np.bitwise_or.reduce(np.left_shift(dtype(1), part, dtype=dtype, casting="unsafe"), axis=0)
    return bool((seen == dtype((1 << n_items) - 1)).all())


def _see_all_of_many(part):
    """Tell the same, by a table of the positions seen."""
    if part.max() >= len(part):
        return False
    n_items, width = part.shape
    seen = np.zeros(width * n_items, dtype=bool)
    seen[part + n_items * np.arange(width)] = True
    return bool(seen.all())


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
