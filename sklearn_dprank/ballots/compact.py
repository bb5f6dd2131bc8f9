"""Compact form of ballots: small integer positions, one row per item.

The positions of a ballot depend on this ballot only. Clients use this module, so it imports no library but NumPy.
"""

from typing import NamedTuple

import numpy as np

from .cells import native
from .sorting import dense_ranks

MAX_ITEMS = np.iinfo(np.uint16).max - 1  # positions and the sentinel fit in two bytes
_BYTE = np.iinfo(np.uint8).max
_READ = 1 << 16  # entries of an array converted at a time; few, so that a ballot with more work delays few others
_COLUMNS = 1 << 20  # entries of columns converted at a time
_ALL = slice(None)
_SAMPLED = 128  # ballots sampled to guess where positions begin


class Positions(NamedTuple):
    """Ballots in compact form.

    Attributes
    ----------
    table : ndarray of uint8 or uint16, shape (n_items, n_voters)
        Position of each item on each ballot. A row is an item, so that a pair is two contiguous rows. The largest value
        of the dtype means "no opinion".
    unranked : ndarray of bool, shape (n_items,)
        Items on which some voter has no opinion.
    """

    table: np.ndarray
    unranked: np.ndarray

    @property
    def sentinel(self):
        """Value for "no opinion", which is larger than every position."""
        return np.iinfo(self.table.dtype).max


def refuse_many(n_items):
    """Raise ValueError if two bytes cannot hold the positions of `n_items` items."""
    if n_items > MAX_ITEMS:
        raise ValueError(f"X has {n_items} items; at most {MAX_ITEMS} are supported.")


def compact_positions(X):
    """Convert validated ballots, shape (n_voters, n_items), to `Positions`; raise ValueError above 65,534 items.

    Small integers are used as positions. Any other ballot is ranked separately, so that it does not delay the
    conversion of the ballots next to it.
    """
    X = native(X)
    n_voters, n_items = X.shape
    table, unranked = _empty(n_voters, n_items)
    start_at = _base(X, table.dtype)
    step = max(1, _READ // n_items)
    for start in range(0, n_voters, step):
        block, out = X[start : start + step], table[:, start : start + step]
        small, fits = _small(block, table.dtype, start_at)
        out[:] = small.T
        if fits is not None and 2 * np.count_nonzero(fits) < fits.size:
            odd = np.arange(len(block))
        else:
            odd = np.empty(0, dtype=np.intp) if fits is None else np.flatnonzero(~fits.all(axis=1))
        _finish(out, odd, block.__getitem__, unranked)
    return Positions(table, unranked)


def compact_columns(columns):
    """Convert `Columns` that pass ``columns.passes()`` to `Positions`, without joining them in one array."""
    n_voters, n_items = columns.shape
    table, unranked = _empty(n_voters, n_items)
    start_at = _base(columns, table.dtype)
    step = max(1, _COLUMNS // n_items)
    for start in range(0, n_voters, step):
        out, odd = table[:, start : start + step], None
        for row, column in zip(out, columns.values, strict=True):
            row[:], fits = _small(column[start : start + step], table.dtype, start_at)
            if fits is not None:
                odd = ~fits if odd is None else odd | ~fits
        odd = () if odd is None else np.flatnonzero(odd)
        _finish(out, odd, columns.part(start, start + step).__getitem__, unranked)
    return Positions(table, unranked)


def _empty(n_voters, n_items):
    """Return an empty table for positions, and `unranked` with all False."""
    refuse_many(n_items)
    dtype = np.uint8 if n_items < _BYTE else np.uint16
    return np.empty((n_items, n_voters), dtype=dtype), np.zeros(n_items, dtype=bool)


def _base(ballots, dtype):
    """Return an integer slightly below most values, guessed from a sample of ballots; 0 if it suits most ballots.

    A wrong guess only costs time. The positions are the same.
    """
    n_voters = ballots.shape[0]
    if n_voters <= _SAMPLED:  # ranking so few takes no longer than the guess
        return 0
    sample = ballots[:: n_voters // _SAMPLED]
    if _small(sample, dtype, 0)[1] is None:
        return 0
    sample = sample.astype(np.float64)
    lowest, highest = np.fmin.reduce(sample, axis=1), np.fmax.reduce(sample, axis=1)
    lowest, highest = lowest[lowest == lowest], highest[highest == highest]
    if not len(lowest):
        return 0
    low, high = (float(np.sort(ends)[len(ends) // 2]) for ends in (lowest, highest))
    sentinel = np.iinfo(dtype).max
    if (low >= 0 and high < sentinel) or high - low >= sentinel or abs(low) >= 2.0**52:
        return 0
    return int(low) - sentinel // 4


def _small(numbers, dtype, base):
    """Return numbers minus `base`, and which of the results are small non-negative integers (None if all are)."""
    sentinel = (1 << 8 * dtype.itemsize) - 1  # np.iinfo takes as long as reading a few ballots
    if numbers.dtype.kind == "f":
        base = numbers.dtype.type(base)
        with np.errstate(invalid="ignore", over="ignore"):  # the comparison finds other numbers
            small = (numbers - base if base else numbers).astype(dtype)
        fits = (small + base if base else small) == numbers
        return small, None if fits.all() and small.max(initial=0) < sentinel else fits & (small < sentinel)
    if numbers.dtype.kind == "b":
        numbers = numbers.view(np.uint8)
    if base and numbers.dtype.itemsize < 8:
        numbers = numbers.astype(np.int64)
    elif numbers.dtype.kind == "i" and numbers.dtype.itemsize <= dtype.itemsize:
        numbers = numbers.astype(np.int32)
    unsigned = numbers.view(f"u{numbers.dtype.itemsize}")  # negative numbers look large
    if base:
        unsigned = unsigned - np.uint64(base % 2**64)
    fits = None if np.maximum.reduce(unsigned, axis=None, initial=0) < sentinel else unsigned < sentinel
    if base < 0 and numbers.dtype.kind == "u":  # beyond 2^64 - |base| the differences wrap round
        fits = (unsigned < sentinel) & (numbers < 2**63)
    return unsigned.astype(dtype, copy=False), fits


def _finish(out, odd, ballots, unranked):
    """Shift each ballot of `out` so that its best position is 0; rank the ballots at `odd`, read by `ballots`."""
    if 2 * len(odd) > out.shape[1]:  # ranking all ballots is faster than picking many
        out[:] = _ranked(ballots(_ALL), out.dtype, unranked)
        return
    lowest = np.minimum.reduce(out, axis=0)
    if np.count_nonzero(lowest):
        out -= lowest
    if len(odd):
        out[:, odd] = _ranked(ballots(odd), out.dtype, unranked)


def _ranked(ballots, dtype, unranked):
    """Return the positions of ballots of any numbers, one row per item, and set `unranked` for items with gaps."""
    sentinel = np.iinfo(dtype).max
    values = np.ascontiguousarray(ballots.T)
    if values.dtype.kind != "f":
        spread = values.view(f"u{values.dtype.itemsize}")
        spread = spread - values.min(axis=0).view(spread.dtype)  # modulo 2^k, so it is correct despite overflow
        near = spread.max(axis=0) < sentinel
        missing = None
    else:
        if values.dtype == np.float16:
            values = values.astype(np.float32)  # float32 can represent the differences
        missing = np.isnan(values)
        if missing.any():
            unranked |= missing.any(axis=1)
            lowest = np.fmin.reduce(values, axis=0)
            lowest[np.isnan(lowest)] = 0
            values = np.where(missing, lowest, values)
        else:
            missing, lowest = None, values.min(axis=0)
        with np.errstate(over="ignore"):
            spread = values - lowest
        near = (spread.max(axis=0) < sentinel) & (values == np.rint(values)).all(axis=0)
    if near.all():
        out = spread.astype(dtype)
    elif not near.any():
        out = dense_ranks(np.ascontiguousarray(values.T), dtype).T.copy()
    else:
        far = np.flatnonzero(~near)
        out = np.where(near, spread, 0).astype(dtype)
        out[:, far] = dense_ranks(np.ascontiguousarray(values[:, far].T), dtype).T
    if missing is not None:
        out[missing] = sentinel
    return out
