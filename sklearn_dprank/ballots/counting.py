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
_MANY = 4  # of as many ballots more than one is not strict: a piece is counted without shortcuts
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
    >>> from sklearn_dprank.ballots.counting import count_pairs
    >>> from sklearn_dprank.ballots.rankings import compact_positions
    >>> count_pairs(compact_positions(np.array([[0, 1, 2], [0, 2, 1], [1, 0, 1]])))
    array([[0, 2, 2],
           [1, 0, 2],
           [0, 1, 0]])
    """
    n_items = len(positions.table)
    counts = np.zeros((n_items, n_items), dtype=np.int64)
    for piece in _pieces(positions.table, min(_PIECE, max(1, _LARGEST // n_items))):
        width = piece.shape[1]
        few = width <= _BYTE
        odd = [] if strict and not few else None if few else odd_ballots(piece)
        if odd is not None:
            rest, piece = _parted(piece, odd)
            _add_pairs(counts, rest, rest, width - len(odd))
        if piece.shape[1]:
            _add_pairs_both_ways(counts, piece, positions)
    return counts


def _add_pairs_both_ways(counts, ballots, positions):
    """Count the pairs of ballots with ties or missing opinions, a part of `positions`."""
    # The sentinel is less than nothing, and nothing is less than 0: no opinion counts nowhere.
    losers = ballots * (ballots != positions.sentinel) if positions.unranked.any() else ballots
    add = _add_pairs_of_few if ballots.shape[1] <= _BYTE else _add_pairs
    add(counts, ballots, losers)


def _parted(piece, odd):
    """Return a piece in which ballots at `odd` prefer nothing, and these ballots."""
    if not len(odd):
        return piece, piece[:, :0]
    rest = piece.copy()
    rest[:, odd] = 0
    return rest, piece[:, odd]


def _add_pairs_of_few(counts, winners, losers):
    """Do as `_add_pairs`, a loser at a time: its voters add up in single bytes."""
    winners = np.ascontiguousarray(winners.T)
    for j, loser in enumerate(losers):
        counts[:, j] += _count_rows(winners < loser[:, np.newaxis], np.uint8)


def _add_pairs(counts, winners, losers, n_strict=None):
    """Count the voters of a piece whose position among `winners` is less than that among `losers`, pair by pair.

    With `n_strict`, so many voters rank all items strictly, and the others prefer nothing.
    """
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
            if n_strict is None:
                counts[j, others] += _count_each(np.less(winners[j], losers[others], out=less))
            else:  # without ties one comparison serves both directions
                counts[j, others] += n_strict - won


def _count_each(test):
    return np.array([np.count_nonzero(row) for row in test])


def net_wins(positions):
    """Return the net wins of ballots of which most are strict: only those of the others need counts of pairs.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_items,), or None
        Row sums of the margins; None if more than a quarter of some ballots are not strict.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.counting import net_wins
    >>> from sklearn_dprank.ballots.rankings import compact_positions
    >>> net_wins(compact_positions(np.array([[0, 1, 2], [0, 2, 1]])))
    array([ 4, -2, -2])
    """
    total = np.zeros(len(positions.table), dtype=np.int64)
    for piece in _pieces(positions.table, _SUMMED):
        odd = odd_ballots(piece)
        if odd is None:
            return None
        strict, others = _parted(piece, odd)
        total += strict_net_wins(strict, piece.shape[1] - len(odd))
        if len(odd):
            counts = count_pairs(positions._replace(table=others))
            total += (counts - counts.T).sum(axis=1)
    return total


def strict_net_wins(table, n_strict):
    """Return the net wins of strict ballots: an item at position p beats m - 1 - p others and loses to p.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions, as in `Positions`; those of ballots that are not strict are 0.
    n_strict : int
        How many ballots are strict.

    Returns
    -------
    ndarray of int64, shape (n_items,)
    """
    total = np.zeros(len(table), dtype=np.int64)
    for piece in _pieces(table, _SUMMED):
        total += np.add.reduce(piece, axis=1, dtype=np.uint32)
    return (len(table) - 1) * n_strict - 2 * total


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
    >>> from sklearn_dprank.ballots.counting import count_placements
    >>> from sklearn_dprank.ballots.rankings import compact_positions
    >>> count_placements(compact_positions(np.array([[0, 1], [0, 1], [0, 0]])))
    array([[0, 0, 0, 2],
           [0, 0, 1, 1],
           [1, 0, 1, 1],
           [1, 1, 1, 2]])
    """
    n_items = len(positions.table)
    strict, tied = np.zeros((n_items, n_items), dtype=np.int64), np.empty((0, 4), dtype=np.int64)
    for piece in _pieces(positions.table, min(_PIECE, max(1, _PLACED // n_items))):
        odd = odd_ballots(piece)
        if odd is not None:
            rest, piece = _parted(piece, odd)
            strict += [np.bincount(row, minlength=n_items) for row in rest]
            strict[:, 0] -= len(odd)
        if piece.shape[1]:
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
    return all(seen.all() for seen in _strict_by_part(table))


def odd_ballots(table):
    """Return which ballots `all_strict` does not hold for, if they are few.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions, as in `Positions`.

    Returns
    -------
    ndarray of int, or None
        Their columns, in order. None if they are more than a quarter: a shortcut for strict ballots does not pay then.
    """
    odd, seen = [], 0
    for strict in _strict_by_part(table):
        odd.append(seen + np.flatnonzero(~strict))
        seen += len(strict)
        if _MANY * sum(map(len, odd)) > seen:  # the first part tells as a rule
            return None
    return np.concatenate(odd) if odd else np.empty(0, dtype=np.intp)


def _strict_by_part(table):
    """Yield whether each ballot holds all positions, for one part of the table after another."""
    see_all = _see_all if len(table) <= _WORD else _see_all_of_many
    return map(see_all, _pieces(table, max(1, _TABLE // len(table))))


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
    """Tell which ballots hold all positions, by a set of those seen in the bits of one integer."""
    n_items = len(part)
    bits = next(bits for bits in (8, 16, 32, _WORD) if n_items <= bits)
    dtype = np.dtype(f"uint{bits}").type
    # Positions outside the word give 0.
    seen = np.bitwise_or.reduce(np.left_shift(dtype(1), part, dtype=dtype, casting="unsafe"), axis=0)
    return seen == dtype((1 << n_items) - 1)


def _see_all_of_many(part):
    """Tell the same, by a table of the positions seen."""
    n_items, width = part.shape
    if part.max() >= n_items:
        part = np.minimum(part, n_items)  # one column for all that are no positions
    seen = np.zeros((width, n_items + 1), dtype=bool)
    seen.ravel()[part + (n_items + 1) * np.arange(width)] = True
    return seen[:, :-1].all(axis=1)


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
