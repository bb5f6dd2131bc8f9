"""Reader of PrefLib ranking files."""

import re

import numpy as np
from sklearn.utils import Bunch

from ..profile import Profile

_KINDS = ("soc", "soi", "toc", "toi")  # strict or tied orders, complete or incomplete
_TIED = r"\{\s*\d+(?:\s*,\s*\d+)*\s*\}"
_ORDER = re.compile(rf"(?:\d+|{_TIED})(?:\s*,\s*(?:\d+|{_TIED}))*", re.ASCII)
_GROUP = re.compile(r"\{([^}]*)\}|(\d+)", re.ASCII)


def read_preflib(path, unranked=None):
    r"""Read rankings from a PrefLib file (soc, soi, toc or toi).

    Parameters
    ----------
    path : str or os.PathLike
        The file: header lines that begin with ``#``, then one line a distinct ballot,
        ``COUNT: 3,{1,2}``, items numbered from 1, best first, ties in braces.
    unranked : {"no_opinion", "last"}, default=None
        What it means that a ballot leaves an item out; required where one does. "last": the voter
        ranks it below every listed item, tied with the others left out (truncated election
        ballots). "no_opinion": the voter says nothing about it (items not shown or not known).

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        data : ndarray of int64 or float64, shape (n_voters, n_items)
            Positions, one row a voter, each distinct ballot repeated by its count. 0 is best, tied
            items share the best of their positions; NaN (then float64) is no opinion.
        item_names : list of str
            The names of the columns: item 1 of the file is column 0.
        counts : ndarray of int64, shape (n_distinct,)
            How many voters cast each ballot, in the order of the file; zeros are kept.
        profile : Profile
            The same ballots as a profile.

    Raises
    ------
    ValueError
        If the file is not as above, is cut, or leaves items out while `unranked` is None; the
        message names the file, the line and what is wrong.

    References
    ----------
    N. Mattei and T. Walsh (2013), "PrefLib: A library for preferences", Algorithmic Decision Theory;
    the format is specified at https://preflib.org/format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_dprank.datasets import read_preflib
    >>> lines = ["# NUMBER ALTERNATIVES: 3", "# ALTERNATIVE NAME 1: tea", "2: 1,{2,3}", "1: 3"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "drinks.toi")
    ...     _ = path.write_text("\n".join(lines))
    ...     drinks = read_preflib(path, unranked="last")
    >>> drinks.data
    array([[0, 1, 1],
           [0, 1, 1],
           [1, 1, 0]])
    >>> drinks.item_names
    ['tea', '2', '3']
    """
    if unranked not in (None, "no_opinion", "last"):
        raise ValueError(f"unranked must be 'no_opinion', 'last' or None, got {unranked!r}.")
    header, ballots = _split(path)
    n_items = _announced(path, header, "NUMBER ALTERNATIVES")
    if n_items is None:
        raise ValueError(
            f"{path} has no line '# NUMBER ALTERNATIVES: ...', so it is cut or not a PrefLib file; files in the format "
            "used before 2022 have to be downloaded again from preflib.org."
        )
    if n_items == 1:
        raise ValueError(f"{path} has one item (NUMBER ALTERNATIVES: 1); a ranking needs at least two.")
    kind = _kind(path, header)
    distinct = np.full((len(ballots), n_items), -1, dtype=np.int64)
    counts = np.zeros(len(ballots), dtype=np.int64)
    for row, (number, text) in enumerate(ballots):
        try:
            counts[row] = _read_ballot(text, distinct[row], kind)
        except (ValueError, OverflowError) as flaw:
            raise ValueError(f"{path}, line {number}: {flaw}") from None
    _check_totals(path, header, counts)
    names = _item_names(path, header, n_items)

    missing = distinct < 0
    if missing.any():
        distinct = _complete(path, distinct, missing, ballots, unranked)
    data = np.repeat(distinct, counts, axis=0)
    return Bunch(data=data, item_names=names, counts=counts, profile=Profile.from_rankings(data, item_names=names))


def _split(path):
    """Return the header as {key: (line number, value)} and the ballots as [(line number, text)]."""
    header, ballots = {}, []
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if text.startswith("#"):
                    key, _, value = text[1:].partition(":")
                    header[key.strip().upper()] = (number, value.strip())
                elif text:
                    ballots.append((number, text))
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text, as PrefLib files are; convert it first.") from None
    return header, ballots


def _announced(path, header, key):
    """Return the whole number the header gives for `key`, or None where it gives none."""
    if key not in header:
        return None
    number, value = header[key]
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise ValueError(f"{path}, line {number}: {key} must be a positive whole number, got {value!r}.")
    return int(value)


def _kind(path, header):
    """Return the kind of orders the file announces, else what its name ends in, else the most general."""
    if "DATA TYPE" not in header:
        ending = str(path)[-3:].lower()
        return ending if ending in _KINDS else "toi"
    number, kind = header["DATA TYPE"]
    if kind.lower() not in _KINDS:
        raise ValueError(f"{path}, line {number}: DATA TYPE must be one of {', '.join(_KINDS)}, got {kind!r}.")
    return kind.lower()


def _item_names(path, header, n_items):
    names = [str(item) for item in range(1, n_items + 1)]
    for key, (number, value) in header.items():
        if not key.startswith("ALTERNATIVE NAME"):
            continue
        item = key.removeprefix("ALTERNATIVE NAME").strip()
        if not (item.isascii() and item.isdigit() and 1 <= int(item) <= n_items):
            raise ValueError(f"{path}, line {number}: a name for item {item!r}, which is not one of 1..{n_items}.")
        names[int(item) - 1] = value or item
    return names


def _read_ballot(text, positions, kind):
    """Write the positions of one ballot line into a row of -1; return its count."""
    count, _, order = (part.strip() for part in text.partition(":"))
    if not (count.isascii() and count.isdigit() and _ORDER.fullmatch(order)):
        raise ValueError("expected 'COUNT: ' and item numbers, best first, ties in braces, like '12: 3,{1,4},2'.")
    n_items, n_listed = len(positions), 0
    for tied, single in _GROUP.findall(order):
        items = [int(item) for item in (tied or single).split(",")]
        if len(items) > 1 and kind in ("soc", "soi"):
            raise ValueError(f"items are tied, but the file's type is {kind} (strict orders).")
        for item in items:
            if not 1 <= item <= n_items:
                raise ValueError(f"item {item} is not one of 1..{n_items}.")
            if positions[item - 1] >= 0:
                raise ValueError(f"item {item} is listed twice.")
            positions[item - 1] = n_listed
        n_listed += len(items)
    if n_listed < n_items and kind in ("soc", "toc"):
        raise ValueError(f"{n_listed} of {n_items} items are listed, but the file's type is {kind} (complete orders).")
    return int(count)


def _check_totals(path, header, counts):
    """Compare the ballots with what the header announces; lines with count 0 may or may not be announced."""
    n_voters, n_orders = sum(counts.tolist()), len(counts)
    voters, orders = _announced(path, header, "NUMBER VOTERS"), _announced(path, header, "NUMBER UNIQUE ORDERS")
    if voters is not None and voters != n_voters:
        raise ValueError(
            f"{path} holds the ballots of {n_voters} voters where its header announces NUMBER VOTERS: {voters}; "
            "the file is cut or damaged, get it again."
        )
    if orders is not None and not np.count_nonzero(counts) <= orders <= n_orders:
        raise ValueError(
            f"{path} holds {n_orders} distinct ballots where its header announces NUMBER UNIQUE ORDERS: {orders}; "
            "the file is cut or damaged, get it again."
        )
    if n_voters == 0:
        raise ValueError(f"{path} holds no ballots; the file is cut, or every count is 0.")


def _complete(path, distinct, missing, ballots, unranked):
    """Give the items that ballots leave out the position, or the NaN, that `unranked` says."""
    if unranked == "last":
        n_listed = np.count_nonzero(~missing, axis=1)[:, np.newaxis]
        return np.where(missing, n_listed, distinct)
    if unranked == "no_opinion":
        return np.where(missing, np.nan, distinct)
    first = ballots[int(np.argmax(missing.any(axis=1)))][0]
    raise ValueError(
        f"{path} has ballots that leave items out (the first is line {first}); `unranked` must say what that means: "
        "pass unranked='last' if an item left out ranks below every listed one, as on truncated election ballots, or "
        "unranked='no_opinion' if the voter was not asked about it or did not know it."
    )
