"""Reader of PrefLib ranking files, in today's layout and in the one from before 2022."""

import gzip
import os
import re
import zlib
from array import array
from contextlib import closing
from io import TextIOWrapper
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._scikit_learn import MYPY
from ..profile import Profile
from ..rankings import MAX_ITEMS

if MYPY:

    class Bunch(dict[str, Any]):
        """scikit-learn's, with the types of what it holds."""

        data: NDArray[Any]
        item_names: list[str]
        counts: NDArray[np.int64]
        profile: Profile

else:
    from sklearn.utils import Bunch

_KINDS = ("soc", "soi", "toc", "toi")  # strict or tied orders, complete or incomplete
_RELATIONS = ("tog", "mjg", "wmg", "pwg")  # in the old layout, pairs and how many voters decide them so
_NUMBER = r"\d{1,18}"  # more digits do not fit into 64 bits
_TIED = rf"\{{\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*\}}"
_ORDER = rf"((?:{_NUMBER}|{_TIED})(?:\s*,\s*(?:{_NUMBER}|{_TIED}))*)"
_BALLOT = re.compile(rf"({_NUMBER})\s*:\s*{_ORDER}", re.ASCII)
_OLD_BALLOT = re.compile(rf"({_NUMBER})\s*,\s*{_ORDER}", re.ASCII)
_OLD_TOTALS = re.compile(rf"{_NUMBER}\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})", re.ASCII)
_GROUP = re.compile(r"\{([^}]*)\}|(\d+)", re.ASCII)
_USED = ("NUMBER ", "DATA TYPE", "ALTERNATIVE NAME ")  # what the header may say once only


def read_preflib(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], unranked: Literal["no_opinion", "last"] | None = None
) -> Bunch:
    r"""Read rankings from a PrefLib file (soc, soi, toc or toi).

    Parameters
    ----------
    path : str, bytes or os.PathLike
        The file, gzipped or not: header lines that begin with ``#``, then one line a distinct ballot,
        ``COUNT: 3,{1,2}``, items numbered from 1, best first, ties in braces. Or in the layout from
        before 2022: the number of items, a line ``3,NAME`` for each, a line ``VOTERS,SUM OF
        COUNTS,DISTINCT BALLOTS``, then one line a distinct ballot, ``COUNT,3,{1,2}``; there the name of
        the file tells what kind of orders it holds.
    unranked : {"no_opinion", "last"}, default=None
        What it means that a ballot leaves an item out; required where a voter's does. "last": the voter
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
        If the file is not as above, is cut, gives two items one name, or leaves items out while
        `unranked` is None; the message names the file, the line and what is wrong.

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
    path = os.fsdecode(path)
    with closing(_lines(path)) as lines:
        header, ballots, form = _opened(path, lines)
        n_items = _number_of_items(path, header)
        distinct, counts, incomplete = _read_ballots(path, ballots, form, n_items, _kind(path, header))
    n_voters = _check_totals(path, header, counts)
    names = _item_names(path, header, n_items)
    if incomplete is not None:
        distinct = _complete(path, distinct, incomplete, unranked)
    try:
        if n_voters * n_items > np.iinfo(np.intp).max // 8:
            raise MemoryError
        data = np.repeat(distinct, counts, axis=0)
        profile = Profile.from_rankings(data, item_names=names)
    except MemoryError:
        raise ValueError(f"{path} holds the ballots of {n_voters} voters, more than fit into memory.") from None
    return Bunch(data=data, item_names=names, counts=counts, profile=profile)


def _lines(path):
    """Yield the number and the text of every line that is not blank; what is gzipped is unpacked on the way."""
    try:
        with open(path, "rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            with TextIOWrapper(gzip.GzipFile(fileobj=file) if packed else file, encoding="utf-8-sig") as lines:
                for number, line in enumerate(lines, start=1):
                    if text := line.strip():
                        yield number, text
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text, as PrefLib files are; convert it first.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{path} is gzipped, and cut or damaged; get it again.") from None


def _opened(path, lines):
    """Return the header as {key: (line number, value)}, an iterator of the ballots' lines, and their form."""
    header: dict = {}
    first = next(lines, (1, ""))
    if first[1].isascii() and first[1].isdigit():
        _read_old_header(path, first, lines, header)
        return header, lines, _OLD_BALLOT
    ballots = _without_header(path, chain([first], lines), header)
    ballot = next(ballots, None)  # when it comes, the header lines before it have been read
    return header, ballots if ballot is None else chain([ballot], ballots), _BALLOT


def _without_header(path, lines, header):
    """Yield the lines that are no header; put those that are into `header`."""
    for number, text in lines:
        if text.startswith("#"):
            key, _, value = text[1:].partition(":")
            _put(path, header, key.strip().upper(), number, value.strip())
        elif text:
            yield number, text


def _read_old_header(path, first, lines, header):
    """Put the first lines of the layout from before 2022 into `header`, by the names of today."""
    _put(path, header, "NUMBER ALTERNATIVES", *first)
    number = first[0]
    for _ in range(_number_of_items(path, header)):
        number, text = next(lines, (number + 1, ""))
        item, comma, name = text.partition(",")
        if not comma:
            raise ValueError(f"{path}, line {number}: expected the number and the name of an item, like '3,NAME'.")
        _put(path, header, f"ALTERNATIVE NAME {item.strip()}", number, name.strip())
    number, text = next(lines, (number + 1, ""))
    totals = _OLD_TOTALS.fullmatch(text)
    if totals is None:
        raise ValueError(f"{path}, line {number}: expected the numbers of voters, of votes and of distinct ballots.")
    _put(path, header, "NUMBER VOTERS", number, totals[1])
    _put(path, header, "NUMBER UNIQUE ORDERS", number, totals[2])


def _put(path, header, key, number, value):
    if key in header and key.startswith(_USED):
        raise ValueError(f"{path}, line {number}: {key} was given before, in line {header[key][0]}.")
    header[key] = number, value


def _number_of_items(path, header):
    n_items = _announced(path, header, "NUMBER ALTERNATIVES")
    if n_items is None:
        raise ValueError(
            f"{path} has no line '# NUMBER ALTERNATIVES: ...' before its ballots, and does not begin with the number "
            "of items, as files from before 2022 do; it is cut or not a PrefLib file."
        )
    if n_items == 1:
        raise ValueError(f"{path} has one item (NUMBER ALTERNATIVES: 1); a ranking needs at least two.")
    if n_items > MAX_ITEMS:
        raise ValueError(f"{path} has {n_items} items; at most {MAX_ITEMS} are supported.")
    return n_items


def _announced(path, header, key):
    """Return the whole number the header gives for `key`, or None where it gives none."""
    if key not in header:
        return None
    number, value = header[key]
    if not (re.fullmatch(_NUMBER, value, re.ASCII) and int(value) > 0):
        raise ValueError(f"{path}, line {number}: {key} must be a positive whole number, got {value[:40]!r}.")
    return int(value)


def _kind(path, header):
    """Return the kind of orders the file announces, else what its name ends in, else the most general."""
    if "DATA TYPE" in header:
        number, kind = header["DATA TYPE"]
        if kind.lower() not in _KINDS:
            raise ValueError(f"{path}, line {number}: DATA TYPE must be one of {', '.join(_KINDS)}, got {kind!r}.")
        return kind.lower()
    ending = path.lower().removesuffix(".gz")[-3:]
    if ending in _RELATIONS:
        raise ValueError(f"{path} holds relations of pairs ({ending}), not orders; read one of {', '.join(_KINDS)}.")
    return ending if ending in _KINDS else "toi"


def _item_names(path, header, n_items):
    names = [str(item) for item in range(1, n_items + 1)]
    for key, (number, value) in header.items():
        if not key.startswith("ALTERNATIVE NAME"):
            continue
        item = key.removeprefix("ALTERNATIVE NAME").strip()
        if not (re.fullmatch(_NUMBER, item, re.ASCII) and 1 <= int(item) <= n_items):
            raise ValueError(f"{path}, line {number}: a name for item {item[:40]!r}, which is not one of 1..{n_items}.")
        names[int(item) - 1] = value or item
    first: dict[str, int] = {}
    for item, name in enumerate(names, start=1):
        if name in first:
            raise ValueError(
                f"{path} gives the name {name!r} to items {first[name]} and {item}; rename one of them in the file."
            )
        first[name] = item
    return names


def _read_ballots(path, ballots, form, n_items, kind):
    """Return the positions and the counts of distinct ballots, and the line of the first that a voter left incomplete.

    Positions have a row a ballot: 0 is best, tied items share the best of their positions, -1 is not listed.
    """
    table, counts, incomplete = array("q"), array("q"), None
    for number, text in ballots:
        try:
            count, row, n_listed = _read_ballot(text, form, n_items, kind)
        except ValueError as flaw:
            raise ValueError(f"{path}, line {number}: {flaw}") from None
        table.extend(row)
        counts.append(count)
        if incomplete is None and n_listed < n_items and count > 0:
            incomplete = number
    distinct = np.array(table, dtype=np.int64).reshape(-1, n_items)
    return distinct, np.array(counts, dtype=np.int64), incomplete


def _read_ballot(text, form, n_items, kind):
    """Return the count of one ballot line, its positions and how many items it lists."""
    ballot = form.fullmatch(text)
    if ballot is None:
        like = "'COUNT: ' and item numbers, best first, ties in braces, like '12: 3,{1,4},2'."
        old = "a count and item numbers, best first, ties in braces, like '12,3,{1,4},2'."
        raise ValueError(f"expected {like if form is _BALLOT else old}")
    count, order = ballot.groups()
    groups = [tied or single for tied, single in _GROUP.findall(order)] if "{" in order else order.split(",")
    row, n_listed = [-1] * n_items, 0
    for group in groups:
        items = [int(item) for item in group.split(",")]
        if len(items) > 1 and kind in ("soc", "soi"):
            raise ValueError(f"items are tied, but the file's type is {kind} (strict orders).")
        for item in items:
            if not 1 <= item <= n_items:
                raise ValueError(f"item {item} is not one of 1..{n_items}.")
            if row[item - 1] >= 0:
                raise ValueError(f"item {item} is listed twice.")
            row[item - 1] = n_listed
        n_listed += len(items)
    if n_listed < n_items and kind in ("soc", "toc"):
        raise ValueError(f"{n_listed} of {n_items} items are listed, but the file's type is {kind} (complete orders).")
    return int(count), row, n_listed


def _check_totals(path, header, counts):
    """Return the number of voters, once it is what the header announces; lines with count 0 may be announced or not."""
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
    return n_voters


def _complete(path, distinct, incomplete, unranked):
    """Give the items that ballots leave out the position, or the NaN, that `unranked` says."""
    missing = distinct < 0
    if unranked == "last":
        return np.where(missing, np.count_nonzero(~missing, axis=1, keepdims=True), distinct)
    if unranked == "no_opinion":
        return np.where(missing, np.nan, distinct)
    raise ValueError(
        f"{path} has ballots that leave items out (the first is line {incomplete}); `unranked` must say what that "
        "means: pass unranked='last' if an item left out ranks below every listed one, as on truncated election "
        "ballots, or unranked='no_opinion' if the voter was not asked about it or did not know it."
    )
