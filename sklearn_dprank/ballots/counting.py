"""Counts of ballots: preferences between pairs of items, net wins and placements."""

import numpy as np

from .rows import Listed

_PIECE = 1 << 17  # maximum voters counted at a time; one row of a piece is then 128 KB
_LARGEST = 1 << 23  # maximum entries of a piece
_TESTS = 1 << 20  # comparisons at a time, if rows are shorter than that
_COMPARED = 1 << 17  # comparisons of few voters at a time; they stay in cache
_PLACED = 1 << 19  # ballot entries that are placed or sorted at a time; each has at most one row of 32 bytes
_TABLE = 1 << 19  # ballot entries examined at a time; they stay in cache
_SUMMED = 1 << 16  # voters whose positions, of at most two bytes, have a sum that fits in four
_BYTE = 255  # voters whose number fits in one byte
_MANY = 4  # shortcuts for strict ballots are used if at most 1 / _MANY of the ballots are not strict
_SORTED = 1000  # items from which sorting each ballot is faster than counts of pairs
_SORTED_WEIGHTED = 100  # the same for ballots with weights
_WORD = 64  # bits; a set of more items does not fit in one integer


def count_pairs(positions, weights=None):
    """Count, for each ordered pair of items, the voters who strictly prefer the first.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.
    weights : ndarray of int64, shape (n_voters,), or None, default=None
        Weight of each ballot, at least 0; None counts the voters.

    Returns
    -------
    ndarray of int64, shape (n_items, n_items)
        Number, or sum of the weights, of the voters who prefer the row's item to the column's. Ties and missing
        opinions are not counted.

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
    if weights is not None:
        width = max(1, _TESTS // n_items)
        for piece, weight in zip(_pieces(positions.table, width), _pieces(weights[np.newaxis], width), strict=True):
            losers = piece * (piece != positions.sentinel)  # a missing opinion neither wins nor loses
            for j, loser in enumerate(losers):
                counts[:, j] += (piece < loser) @ weight[0]
        return counts
    # Many voters: one comparison of two rows for each pair. Strict ballots are counted apart, by half of the pairs.
    # Up to 255 voters: several losers at once, counted in one byte.
    for piece in _pieces(positions.table, min(_PIECE, max(1, _LARGEST // n_items))):
        width = piece.shape[1]
        odd = None if width <= _BYTE else odd_ballots(piece)
        if odd is not None:
            strict, piece = piece.copy(), piece[:, odd]
            strict[:, odd] = 0  # they prefer nothing, because no position is below 0
            _add_pairs(counts, strict, strict, width - len(odd))
        # Nothing is above the sentinel, so a missing opinion does not win. As a loser it is 0, and nothing is below.
        losers = piece * (piece != positions.sentinel) if np.count_nonzero(positions.unranked) else piece
        if piece.shape[1] > _BYTE:
            _add_pairs(counts, piece, losers)
        elif piece.shape[1]:  # some losers at a time, with counts of one byte; NumPy works along the longer axis
            laid_out = np.ascontiguousarray if piece.shape[1] > n_items else np.asfortranarray
            winners, losers = laid_out(piece), laid_out(losers)
            step = max(1, _COMPARED // winners.size)
            for start in range(0, n_items, step):
                test = winners < losers[start : start + step, np.newaxis]
                counts[:, start : start + step] += np.add.reduce(test.view(np.uint8), axis=2, dtype=np.uint8).T
    return counts


def _add_pairs(counts, winners, losers, n_strict=None):
    """Add to `counts`, for each pair, the voters whose position in `winners` is less than that in `losers`.

    If `n_strict` is given, that many voters rank all items strictly, and the others have no preferences.
    """
    n_items, width = winners.shape
    step = max(1, _TESTS // width)
    test = np.empty((min(step, n_items), width), dtype=bool)
    won = np.zeros((n_items, n_items), dtype=np.int64)  # won[i, j]: voters who put i before j
    for start in range(0, n_items, step):
        end = min(start + step, n_items)
        for j in range(end - 1):
            others = slice(max(start, j + 1), end)
            less = test[: end - others.start]
            won[others, j] = [np.count_nonzero(row) for row in np.less(winners[others], losers[j], out=less)]
            if n_strict is None:
                won[j, others] = [np.count_nonzero(row) for row in np.less(winners[j], losers[others], out=less)]
    if n_strict is not None:  # without ties, one comparison decides both directions
        won += np.triu(n_strict - won.T, 1)
    counts += won


def net_wins(positions, weights=None):
    """Return the net wins of each item, or None if counts of pairs give them faster.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.
    weights : ndarray of int64, shape (n_voters,), or None, default=None
        Weight of each ballot, at least 0; None counts the voters.

    Returns
    -------
    ndarray of int64, shape (n_items,), or None
        Row sums of the margins. None if few items are ranked, and too many ballots are not strict (see `odd_ballots`).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.counting import net_wins
    >>> from sklearn_dprank.ballots.reading import compact_positions
    >>> net_wins(compact_positions(np.array([[0, 1, 2], [0, 2, 1]])))
    array([ 4, -2, -2])
    """
    table = positions.table
    total = np.zeros(len(table), dtype=np.int64)
    are_many = len(table) > (_SORTED if weights is None else _SORTED_WEIGHTED)
    if weights is not None:
        return total + _wins_of_rows(positions, weights) if are_many else None
    for piece in _pieces(table, _SUMMED):
        odd = odd_ballots(piece)
        if odd is None and not are_many:
            return None
        if odd is None:
            total += _wins_of_rows(positions._replace(table=piece))
            continue
        strict = piece.copy()
        strict[:, odd] = 0
        # On a strict ballot, an item at position p beats m - 1 - p others and loses to p others.
        places = np.add.reduce(strict, axis=1, dtype=np.uint32).astype(np.int64)
        total += (len(strict) - 1) * (piece.shape[1] - len(odd)) - 2 * places
        if len(odd) and are_many:
            total += _wins_of_rows(positions._replace(table=piece[:, odd]))
        elif len(odd):
            counts = count_pairs(positions._replace(table=piece[:, odd]))
            total += (counts - counts.T).sum(axis=1)
    return total


def _wins_of_rows(positions, weights=None):
    """Return the net wins of each item, by sorting the items of each ballot; O(m log m) time a ballot."""
    total = np.zeros(len(positions.table), dtype=np.int64)
    width = max(1, _PLACED // len(total))
    for number, piece in enumerate(_pieces(positions.table, width)):
        rows = lists_of(positions._replace(table=piece))
        each = np.ones_like(rows.weight) if weights is None else weights[number * width :][: piece.shape[1]]
        total += rows._replace(weight=each).net_wins(len(total))
    return total


def lists_of(positions):
    """Return the ballots as lists of the items that they rank, with the weight 0."""
    ballot, item = np.nonzero(positions.sentinel != positions.table.T)
    return Listed.of(ballot, item, positions.table[item, ballot].astype(np.int64), positions.table.shape[1])


def count_placements(positions, weights=None):
    """Count the placements of each item, with ties.

    Parameters
    ----------
    positions : Positions
        Ballots in compact form.
    weights : ndarray of int64, shape (n_voters,), or None, default=None
        Weight of each ballot, at least 0; None counts the voters.

    Returns
    -------
    ndarray of int64, shape (n_rows, 4)
        Sorted rows (item, first, last, voters). `voters` is the number, or the sum of the weights, of the voters who
        tie the item with last - first others, over the positions first to last. Position 0 is best. Items without an
        opinion are tied last.

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
    strict_counts, tied = np.zeros((n_items, n_items), dtype=np.int64), np.empty((0, 4), dtype=np.int64)
    width = min(_PIECE, max(1, _PLACED // n_items))
    for number, piece in enumerate(_pieces(positions.table, width)):
        odd = odd_ballots(piece) if weights is None else None
        if odd is not None:
            strict, piece = piece.copy(), piece[:, odd]
            strict[:, odd] = 0
            strict_counts += [np.bincount(row, minlength=n_items) for row in strict]
            strict_counts[:, 0] -= len(odd)  # the zeros
        if not piece.size:
            continue
        piece, tables = np.ascontiguousarray(piece), [tied]
        test = np.empty(piece.shape, dtype=bool)
        for item, row in enumerate(piece):
            # The sentinel is the largest value, so items without an opinion are tied last.
            first = np.add.reduce(np.less(piece, row, out=test).view(np.uint8), axis=0, dtype=piece.dtype)
            at_most = np.add.reduce(np.less_equal(piece, row, out=test).view(np.uint8), axis=0, dtype=piece.dtype)
            key = first.astype(np.int64) * n_items + at_most - 1
            if weights is None:
                key, voters = np.unique(key, return_counts=True)
            else:
                key, inverse = np.unique(key, return_inverse=True)
                voters = np.zeros(len(key), dtype=np.int64)
                np.add.at(voters, inverse, weights[number * width :][: len(row)])
            tables.append(np.column_stack([np.full(len(key), item), *np.divmod(key, n_items), voters]))
        tied = merge_placements(tables)
    items, places = np.nonzero(strict_counts)
    return merge_placements([np.column_stack([items, places, places, strict_counts[items, places]]), tied])


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


def odd_ballots(table):
    """Return the ballots that are not complete strict rankings, stored as positions 0 to m - 1, if they are few.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions, as in `Positions`.

    Returns
    -------
    ndarray of int, or None
        Their columns, in ascending order. Strict ballots whose positions have gaps may be among them, which only costs
        time. None as soon as they are more than a quarter of the ballots checked so far. Shortcuts for strict ballots
        then rarely save time.
    """
    n_items, n_seen, odd = len(table), 0, [np.empty(0, dtype=np.intp)]
    for part in _pieces(table, max(1, _TABLE // n_items)):
        if n_items <= _WORD:  # the bits of one integer are the set of positions seen; a shift beyond the word gives 0
            word = np.dtype(f"uint{next(bits for bits in (8, 16, 32, _WORD) if n_items <= bits)}").type
            seen = np.bitwise_or.reduce(np.left_shift(word(1), part, dtype=word, casting="unsafe"), axis=0)
            strict = seen == word((1 << n_items) - 1)
        else:
            table_seen = np.zeros((part.shape[1], n_items + 1), dtype=bool)  # one column for all invalid positions
            table_seen.ravel()[np.minimum(part, n_items) + (n_items + 1) * np.arange(part.shape[1])] = True
            strict = table_seen[:, :-1].all(axis=1)
        odd.append(n_seen + np.flatnonzero(~strict))
        n_seen += len(strict)
        if _MANY * sum(map(len, odd)) > n_seen:  # usually, the first part decides
            return None
    return np.concatenate(odd)


def _pieces(table, width):
    """Yield the table, `width` voters at a time."""
    for start in range(0, table.shape[1], width):
        yield table[:, start : start + width]
