"""Counts of ballots: preferences between pairs of items, net wins and placements."""

import numpy as np

_PIECE = 1 << 17  # maximum voters counted at a time; one row of a piece is then 128 KB
_LARGEST = 1 << 23  # maximum entries of a piece
_TESTS = 1 << 20  # comparisons at a time, if rows are shorter than that
_COMPARED = 1 << 17  # comparisons of few voters at a time; they stay in cache
_PLACED = 1 << 20  # ballot entries whose placements are merged at a time; each has at most one row of 32 bytes
_TABLE = 1 << 19  # ballot entries examined at a time; they stay in cache
_SUMMED = 1 << 16  # voters whose positions, of at most two bytes, have a sum that fits in four
_BYTE = 255  # voters whose number fits in one byte
_MANY = 4  # shortcuts for strict ballots are used if at most 1 / _MANY of the ballots are not strict
_WORD = 64  # bits; a set of more items does not fit in one integer


def count_pairs(positions):
    """Count, for each ordered pair of items, the voters who strictly prefer the first.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_items, n_items)
        Number of voters who prefer the row's item to the column's. Ties and missing opinions are not counted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.counting import count_pairs
    >>> from sklearn_dprank.ballots.reading import compact_positions
    >>> count_pairs(compact_positions(np.array([[0, 1, 2], [0, 2, 1], [1, 0, 1]])))
    array([[0, 2, 2],
           [1, 0, 2],
           [0, 1, 0]])
    """
    n_items = len(positions.table)
    counts = np.zeros((n_items, n_items), dtype=np.int64)
    for piece in _pieces(positions.table, min(_PIECE, max(1, _LARGEST // n_items))):
        width = piece.shape[1]
        odd = None if width <= _BYTE else odd_ballots(piece)
        if odd is not None:
            rest, piece = _parted(piece, odd)
            _add_pairs(counts, rest, rest, width - len(odd))
        if piece.shape[1]:
            # No position is above the sentinel or below 0, so a missing opinion neither wins nor loses.
            losers = piece * (piece != positions.sentinel) if np.count_nonzero(positions.unranked) else piece
            add = _add_pairs_of_few if piece.shape[1] <= _BYTE else _add_pairs
            add(counts, piece, losers)
    return counts


def _parted(piece, odd):
    """Return the piece with 0 in the ballots at `odd`, and these ballots."""
    if not len(odd):
        return piece, piece[:, :0]
    rest = piece.copy()
    rest[:, odd] = 0
    return rest, piece[:, odd]


def _add_pairs_of_few(counts, winners, losers):
    """Do the same as `_add_pairs` for at most 255 voters: some losers at a time, with counts of one byte."""
    n_items, width = winners.shape
    laid_out = np.ascontiguousarray if width > n_items else np.asfortranarray  # NumPy works along the longer axis
    winners, losers = laid_out(winners), laid_out(losers)
    step = max(1, _COMPARED // winners.size)
    for start in range(0, n_items, step):
        test = winners < losers[start : start + step, np.newaxis]
        counts[:, start : start + step] += np.add.reduce(test.view(np.uint8), axis=2, dtype=np.uint8).T


def _add_pairs(counts, winners, losers, n_strict=None):
    """Add to `counts`, for each pair, the voters whose position in `winners` is less than that in `losers`.

    If `n_strict` is given, that many voters rank all items strictly, and the others have no preferences.
    """
    n_items, width = winners.shape
    step = max(1, _TESTS // width)
    test = np.empty((min(step, n_items), width), dtype=bool)
    won = np.zeros((n_items, n_items), dtype=np.int64)
    for start in range(0, n_items, step):
        end = min(start + step, n_items)
        for j in range(end - 1):
            others = slice(max(start, j + 1), end)
            less = test[: end - others.start]
            won[others, j] = _count_each(np.less(winners[others], losers[j], out=less))
            if n_strict is None:
                won[j, others] = _count_each(np.less(winners[j], losers[others], out=less))
    if n_strict is not None:  # without ties, one comparison decides both directions
        won += np.triu(n_strict - won.T, 1)
    counts += won


def _count_each(test):
    return [np.count_nonzero(row) for row in test]


def net_wins(positions):
    """Return the net wins if most ballots are strict; only the other ballots need counts of pairs.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_items,), or None
        Row sums of the margins. None if too many ballots are not strict (see `odd_ballots`).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.counting import net_wins
    >>> from sklearn_dprank.ballots.reading import compact_positions
    >>> net_wins(compact_positions(np.array([[0, 1, 2], [0, 2, 1]])))
    array([ 4, -2, -2])
    """
    total = np.zeros(len(positions.table), dtype=np.int64)
    for piece in _pieces(positions.table, _SUMMED):
        odd = odd_ballots(piece)
        if odd is None:
            return None
        strict, others = _parted(piece, odd)
        # On a strict ballot, an item at position p beats m - 1 - p others and loses to p others.
        places = np.add.reduce(strict, axis=1, dtype=np.uint32).astype(np.int64)
        total += (len(strict) - 1) * (piece.shape[1] - len(odd)) - 2 * places
        if len(odd):
            counts = count_pairs(positions._replace(table=others))
            total += (counts - counts.T).sum(axis=1)
    return total


def count_placements(positions):
    """Count the placements of each item, with ties.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.

    Returns
    -------
    ndarray of int64, shape (n_rows, 4)
        Sorted rows (item, first, last, voters). `voters` is the number of voters who tie the item with last - first
        others, over the positions first to last. Position 0 is best. Items without an opinion are tied last.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.counting import count_placements
    >>> from sklearn_dprank.ballots.reading import compact_positions
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


def weighted_pairs(positions, weights):
    """Return the sum of the weights of the voters who strictly prefer the first item of each ordered pair.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.
    weights : ndarray of int64, shape (n_voters,)
        Weight of each ballot, at least 0.

    Returns
    -------
    ndarray of int64, shape (n_items, n_items)
        As `count_pairs`, if all weights are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.counting import weighted_pairs
    >>> from sklearn_dprank.ballots.reading import compact_positions
    >>> weighted_pairs(compact_positions(np.array([[0, 1], [1, 0]])), np.array([5, 2]))
    array([[0, 5],
           [2, 0]])
    """
    n_items = len(positions.table)
    counts = np.zeros((n_items, n_items), dtype=np.int64)
    width = max(1, _TESTS // n_items)
    for piece, weight in zip(_pieces(positions.table, width), _pieces(weights[np.newaxis], width), strict=True):
        losers = piece * (piece != positions.sentinel)  # a missing opinion neither wins nor loses
        for j, loser in enumerate(losers):
            counts[:, j] += (piece < loser) @ weight[0]
    return counts


def weighted_placements(positions, weights):
    """Return placements as `count_placements` does, with the sum of the weights in place of the number of voters.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.
    weights : ndarray of int64, shape (n_voters,)
        Weight of each ballot, at least 0.

    Returns
    -------
    ndarray of int64, shape (n_rows, 4)
        Sorted rows (item, first, last, weight).
    """
    tables, width = [np.empty((0, 4), dtype=np.int64)], max(1, _PLACED // len(positions.table))
    for piece, weight in zip(_pieces(positions.table, width), _pieces(weights[np.newaxis], width), strict=True):
        tables = [merge_placements([*tables, *_tied_placements(piece, weight[0])])]
    return tables[0]


def merge_placements(tables):
    """Merge placements: add up the voters of equal (item, first, last).

    Parameters
    ----------
    tables : list of ndarray of int64, shape (n_rows, 4)
        Placements, as `count_placements` returns them.

    Returns
    -------
    ndarray of int64, shape (n_rows, 4)
        Placements of all voters, sorted.
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
    """Return whether every ballot is a complete strict ranking, stored as positions 0 to m - 1.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions, as in `Positions`.

    Returns
    -------
    bool
        False also for strict ballots whose positions have gaps, which only costs time.
    """
    return all(seen.all() for seen in _strict_by_part(table))


def odd_ballots(table):
    """Return the ballots that are not strict (see `all_strict`), if they are few.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions, as in `Positions`.

    Returns
    -------
    ndarray of int, or None
        Their columns, in ascending order. None if they are more than a quarter of the ballots checked so far, after any
        part of the table. Shortcuts for strict ballots then rarely save time.
    """
    odd, seen = [], 0
    for strict in _strict_by_part(table):
        odd.append(seen + np.flatnonzero(~strict))
        seen += len(strict)
        if _MANY * sum(map(len, odd)) > seen:  # usually, the first part decides
            return None
    return np.concatenate(odd) if odd else np.empty(0, dtype=np.intp)


def _strict_by_part(table):
    """Yield, for one part of the table after another, whether each ballot holds all positions."""
    n_items = len(table)
    for part in _pieces(table, max(1, _TABLE // n_items)):
        if n_items <= _WORD:  # the bits of one integer are the set of positions seen; a shift beyond the word gives 0
            word = np.dtype(f"uint{next(bits for bits in (8, 16, 32, _WORD) if n_items <= bits)}").type
            seen = np.bitwise_or.reduce(np.left_shift(word(1), part, dtype=word, casting="unsafe"), axis=0)
            yield seen == word((1 << n_items) - 1)
        else:
            if part.max() >= n_items:
                part = np.minimum(part, n_items)  # one column for all invalid positions
            table_seen = np.zeros((part.shape[1], n_items + 1), dtype=bool)
            table_seen.ravel()[part + (n_items + 1) * np.arange(part.shape[1])] = True
            yield table_seen[:, :-1].all(axis=1)


def _pieces(table, width):
    """Yield the table, `width` voters at a time."""
    for start in range(0, table.shape[1], width):
        yield table[:, start : start + width]


def _tied_placements(piece, weights=None):
    """Yield the placements of ballots with ties or missing opinions, one table per item and part of the piece."""
    n_items = len(piece)
    start = 0
    for part in _pieces(piece, max(1, _TABLE // n_items)):
        part = np.ascontiguousarray(part)
        test = np.empty(part.shape, dtype=bool)
        for item, row in enumerate(part):
            # The sentinel is the largest value, so items without an opinion are tied last.
            first = _count_rows(np.less(part, row, out=test), part.dtype)
            last = _count_rows(np.less_equal(part, row, out=test), part.dtype) - 1
            placed = first.astype(np.int64) * n_items + last
            if weights is None:
                key, voters = np.unique(placed, return_counts=True)
            else:
                key, inverse = np.unique(placed, return_inverse=True)
                voters = np.zeros(len(key), dtype=np.int64)
                np.add.at(voters, inverse, weights[start : start + len(row)])
            yield np.column_stack([np.full(len(key), item), *np.divmod(key, n_items), voters])
        start += part.shape[1]


def _count_rows(test, dtype):
    """Return the number of true rows in each column, which must fit in `dtype`."""
    return np.add.reduce(test.view(np.uint8), axis=0, dtype=dtype)
