"""What randomizers read from ballots: net wins, opinions on pairs, and complete rankings."""

import numpy as np


def net_wins(table, sentinel):
    """Return each voter's net wins: items placed behind minus items placed before.

    Parameters
    ----------
    table : ndarray of unsigned int, shape (n_items, n_voters)
        Positions.
    sentinel : int
        The position that means no opinion.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Ties and missing opinions count 0.
    """
    ballots = np.ascontiguousarray(table.T)
    order = np.argsort(ballots, axis=1, kind="stable")
    ordered = np.take_along_axis(ballots, order, axis=1)
    place, n_items = np.arange(len(table)), len(table)
    differs = ordered[:, 1:] != ordered[:, :-1]
    first, last = np.zeros(ballots.shape, dtype=np.int64), np.full(ballots.shape, n_items - 1)
    np.maximum.accumulate(np.where(differs, place[1:], 0), axis=1, out=first[:, 1:])
    np.minimum.accumulate(np.where(differs, place[:-1], n_items - 1)[:, ::-1], axis=1, out=last[:, -2::-1])
    silent = ordered == sentinel
    n_ranked = n_items - np.count_nonzero(silent, axis=1, keepdims=True)
    wins = np.where(silent, 0, n_ranked - 1 - last - first)
    out = np.empty_like(wins)
    np.put_along_axis(out, order, wins, axis=1)
    return out


def opinions(table, sentinel, coins):
    """Return each voter's preference on every pair; a fair coin where the voter has none.

    Parameters
    ----------
    table, sentinel
        As for `net_wins`.
    coins : BitSource
        The voters' own coins.

    Returns
    -------
    ndarray of bool, shape (n_pairs, n_voters)
        Whether the first item of the pair goes before the second; pairs in row-major order.
    """
    rows, columns = np.triu_indices(len(table), 1)
    first, second = table[rows], table[columns]
    silent = (first == second) | (first == sentinel) | (second == sentinel)
    return np.where(silent, coins.coins(silent.size).reshape(silent.shape), first < second)


def completed(table, sentinel, coins):
    """Complete each ballot to a strict ranking by the voter's own coins.

    Parameters
    ----------
    table, sentinel
        As for `net_wins`.
    coins : BitSource
        The voters' own coins.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Places 0, ..., n_items - 1.

    Notes
    -----
    Tied items are shuffled. An item without an opinion goes before or behind all ranked ones by a fair
    coin, and those on one side are shuffled. Every pair without an opinion is then a fair coin, so that
    expected net wins are those of the ballot. Putting such items at uniform places would not do: the
    best of the ranked items would beat them more often than not.
    """
    ballots = np.ascontiguousarray(table.T)
    prefix = ballots.astype(np.uint64) + np.uint64(1)
    prefix[(ballots == sentinel) & coins.coins(ballots.size).reshape(ballots.shape)] = 0
    # 17 bits of position, 47 of chance: two tied items draw the same 47 bits with probability 2^-47.
    keys = (prefix << np.uint64(47)) | (coins.words(ballots.size).reshape(ballots.shape) >> np.uint64(17))
    order = np.argsort(keys, axis=1, kind="stable")
    places = np.empty(ballots.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(len(table)), places.shape), axis=1)
    return places
