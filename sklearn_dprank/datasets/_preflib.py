"""Reader of PrefLib files, and the bundled data set."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from array import array
from contextlib import closing
from importlib.resources import as_file, files
from io import TextIOWrapper
from itertools import chain, count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_choice
from .._utils.scikit_learn import MYPY
from ..ballots.compact import MAX_ITEMS
from ..ballots.names import checked_name
from ..ballots.profile import Profile

if MYPY:

    class Bunch(dict[str, Any]):
        """scikit-learn's Bunch, with types for its entries."""

        data: NDArray[Any]
        item_names: list[str]
        counts: NDArray[np.int64]
        unranked: str
        profile: Profile

else:
    from sklearn.utils import Bunch

#: Valid values of `unranked`.
UNRANKED: tuple[str, ...] = ("no_opinion", "last")
_GROUP = re.compile(r"\{([^}]*)\}|(\d+)", re.ASCII)


def read_preflib(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], unranked: Literal["no_opinion", "last"] = "last"
) -> Bunch:
    r"""Read rankings from a PrefLib file (soc, soi, toc or toi).

    Parameters
    ----------
    path : str, bytes or os.PathLike
        The file, gzipped or not. The current layout has header lines that begin with ``#``, then one line
        ``COUNT: 3,{1,2}`` per distinct ballot. Items are numbered from 1, best first, with ties in braces. The layout
        from before 2022 has the number of items, a line ``3,NAME`` per item, a line
        ``VOTERS,SUM OF COUNTS,DISTINCT BALLOTS``, and one line ``COUNT,3,{1,2}`` per distinct ballot. In that layout,
        the name of the file determines the kind of orders.
    unranked : {"no_opinion", "last"}, default="last"
        Meaning of items that a ballot leaves out. "last": the voter ranks them below every listed item, tied with each
        other (truncated election ballots). "no_opinion": the voter has no opinion about them (items not shown or not
        known).

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        data : ndarray of int64 or float64, shape (n_voters, n_items)
            Positions, one row per voter; each distinct ballot is repeated by its count. 0 is best, and tied items share
            the best of their positions. NaN (then float64) is no opinion.
        item_names : list of str
            Names of the columns: item 1 of the file is column 0.
        counts : ndarray of int64, shape (n_distinct,)
            Number of voters of each ballot, in the order of the file; zeros are kept.
        unranked : str
            Meaning of left-out items in `data`, as passed or by default.
        profile : Profile
            The same ballots as a profile.

    Raises
    ------
    ValueError
        If the file is not as above, is incomplete, or gives two items the same name. The message names the file, the
        line and the problem. It depends on the ballots: do not publish it.

    References
    ----------
    N. Mattei and T. Walsh (2013), "PrefLib: A library for preferences", Algorithmic Decision Theory; the format is
    specified at https://preflib.org/format.

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
    check_choice(unranked, "unranked", UNRANKED)
    path = os.fsdecode(path)
    with closing(numbered_lines(path)) as lines:
        header, ballots, form = opened(path, lines)
        n_items = number_of_items(path, header)
        distinct, counts = _read_ballots(path, ballots, form, n_items, kind_of_orders(path, header))
    n_voters = check_totals(path, header, counts)
    names = item_names(path, header, n_items)
    distinct = _complete(distinct, counts, unranked)
    try:
        if n_voters * n_items > _cells_in_memory():
            raise MemoryError
        data = np.repeat(distinct, counts, axis=0)
        profile = Profile.from_rankings(data, items=names)
    except MemoryError:
        raise ValueError(f"{path} holds the ballots of {n_voters} voters, more than fit into memory.") from None
    return Bunch(data=data, item_names=names, counts=counts, unranked=unranked, profile=profile)


def _cells_in_memory():
    """Return how many 8-byte cells fit into memory, because some systems overcommit and then end the process."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    except (AttributeError, OSError, ValueError):  # not available on Windows, which does not overcommit
        return np.iinfo(np.intp).max // 8


def _read_ballots(path, ballots, form, n_items, kind):
    """Return positions of shape (n_distinct, n_items) and the counts of distinct ballots.

    Position 0 is best, tied items share the best of their positions, and -1 is not listed.
    """
    table, counts = array("q"), array("q")
    most = _cells_in_memory() // 4  # the table is copied, completed and repeated
    for number, text in ballots:
        if len(table) + n_items > most:
            raise ValueError(f"{path}, line {number}: more ballots of {n_items} items than fit into memory.")
        try:
            count, row = _read_ballot(text, form, n_items, kind)
        except ValueError as flaw:
            raise ValueError(f"{path}, line {number}: {flaw}") from None
        table.extend(row)
        counts.append(count)
    distinct = np.array(table, dtype=np.int64).reshape(-1, n_items)
    return distinct, np.array(counts, dtype=np.int64)


def _read_ballot(text, form, n_items, kind):
    """Return the count and the positions of one ballot line."""
    ballot = form.fullmatch(text)
    if ballot is None:
        like = "'COUNT: ' and item numbers, best first, ties in braces, like '12: 3,{1,4},2'."
        old = "a count and item numbers, best first, ties in braces, like '12,3,{1,4},2'."
        raise ValueError(f"expected {like if form is BALLOT else old}")
    count, order = ballot.groups()
    groups = [tied or single for tied, single in _GROUP.findall(order)] if "{" in order else order.split(",")
    row, n_listed = [-1] * n_items, 0
    for group in groups:
        items = [int(item) for item in group.split(",")]
        if len(items) > 1 and kind in ("soc", "soi"):
            raise ValueError(f"items are tied, but the file's type is {kind} (strict orders).")
        for item in items:
            if not 1 <= item <= n_items:
                raise ValueError(f"an item is not one of 1..{n_items}.")
            if row[item - 1] >= 0:
                raise ValueError("an item is listed twice.")
            row[item - 1] = n_listed
        n_listed += len(items)
    if n_listed < n_items and kind in ("soc", "toc"):
        raise ValueError(f"items are left out, but the file's type is {kind} (complete orders).")
    return int(count), row


def _complete(distinct, counts, unranked):
    """Replace the missing positions by last places or NaN, as `unranked` states."""
    missing = distinct < 0
    if not missing[counts > 0].any():  # positions of complete ballots stay integers
        return distinct
    last = np.count_nonzero(~missing, axis=1, keepdims=True)
    return np.where(missing, last if unranked == "last" else np.nan, distinct)


def load_hay_figure1() -> Bunch:
    """Load the example of Hay et al. (2017), Figure 1: 8 complete rankings of the items A to E.

    Returns
    -------
    sklearn.utils.Bunch
        As `read_preflib` returns it. Voters 4 and 8 of the figure agree and come first.

    Notes
    -----
    The Borda order is E C D, then A and B tied, with an average Kendall tau distance of 0.40 (divided by the number of
    pairs). The figure prints 0.37 for the optimum E C B D A and 0.38 for the quicksort order E C B A D. Both are 0.375,
    and both orders are optimal.

    References
    ----------
    M. Hay, L. Elagina and G. Miklau (2017), "Differentially Private Rank Aggregation", SIAM International Conference on
    Data Mining, Figure 1 and Example 1.

    Examples
    --------
    >>> from sklearn_dprank.datasets import load_hay_figure1
    >>> ballots = load_hay_figure1()
    >>> ballots.item_names
    ['A', 'B', 'C', 'D', 'E']
    >>> ballots.data.sum(axis=0)  # the Borda scores of the paper's Example 1
    array([19, 19, 13, 18, 11])
    """
    with as_file(files(__package__).joinpath("data", "hay2017_figure1.soc")) as path:
        return read_preflib(path)


_KINDS = ("soc", "soi", "toc", "toi")  # strict or tied orders, complete or incomplete
_RELATIONS = ("tog", "mjg", "wmg", "pwg")  # relations of pairs, in the old layout
_NUMBER = r"\d{1,18}"  # more digits do not fit into 64 bits
_TIED = rf"\{{\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*\}}"
_ORDER = rf"((?:{_NUMBER}|{_TIED})(?:\s*,\s*(?:{_NUMBER}|{_TIED}))*)"
BALLOT = re.compile(rf"({_NUMBER})\s*:\s*{_ORDER}", re.ASCII)
OLD_BALLOT = re.compile(rf"({_NUMBER})\s*,\s*{_ORDER}", re.ASCII)
_OLD_TOTALS = re.compile(rf"{_NUMBER}\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})", re.ASCII)
_USED = ("NUMBER ", "DATA TYPE", "ALTERNATIVE NAME ")  # header keys that are read; each may appear once only
_LONGEST = 1 << 22  # characters of a line; a ballot of all items is much shorter
_QUOTED = 40  # characters of a header that a message quotes


def numbered_lines(path):
    """Yield the number and the text of every line that is not blank; gzipped files are decompressed."""
    try:
        with open(path, "rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            with TextIOWrapper(gzip.GzipFile(fileobj=file) if packed else file, encoding="utf-8-sig") as lines:
                for number in count(1):
                    line = lines.readline(_LONGEST + 1)  # limits how much of a long line is decompressed
                    if len(line) > _LONGEST:
                        raise ValueError(f"{path}, line {number}: more than {_LONGEST:,} characters; no PrefLib file.")
                    if not line:
                        return
                    if text := line.strip():
                        yield number, text
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text, as PrefLib files are; convert it first.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{path} is gzipped, and cut or damaged; get it again.") from None


def opened(path, lines):
    """Return the header as {key: (line number, value)}, an iterator of the ballot lines, and their pattern."""
    header: dict = {}
    first = next(lines, (1, ""))
    if first[1].isascii() and first[1].isdigit():
        _read_old_header(path, first, lines, header)
        return header, lines, OLD_BALLOT
    ballots = _without_header(path, chain([first], lines), header)
    ballot = next(ballots, None)  # this reads the header lines before the first ballot
    return header, ballots if ballot is None else chain([ballot], ballots), BALLOT


def _without_header(path, lines, header):
    """Yield the lines that are not header lines, and put header lines into `header`."""
    for number, text in lines:
        if text.startswith("#"):
            key, _, value = text[1:].partition(":")
            _put(path, header, key.strip().upper(), number, value.strip())
        elif text:
            yield number, text


def _read_old_header(path, first, lines, header):
    """Read the header of the layout from before 2022 into `header`, under the current keys."""
    _put(path, header, "NUMBER ALTERNATIVES", *first)
    number = first[0]
    for _ in range(number_of_items(path, header)):
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
    if not key.startswith(_USED):
        return
    if key in header:
        raise ValueError(f"{path}, line {number}: {key[:_QUOTED]} was given before, in line {header[key][0]}.")
    if len(header) > MAX_ITEMS + 10:
        raise ValueError(f"{path}, line {number}: more names than the {MAX_ITEMS} items that are supported.")
    header[key] = number, value


def number_of_items(path, header):
    n_items = _announced(path, header, "NUMBER ALTERNATIVES", least=1)
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


def _announced(path, header, key, least=0):
    """Return the whole number that the header states for `key`; None if it is not there."""
    if key not in header:
        return None
    number, value = header[key]
    if not (re.fullmatch(_NUMBER, value, re.ASCII) and int(value) >= least):
        raise ValueError(
            f"{path}, line {number}: {key} must be a whole number, at least {least}, got {value[:_QUOTED]!r}."
        )
    return int(value)


def kind_of_orders(path, header):
    """Return the kind of orders from the header, else from the name of the file, else the most general kind."""
    if "DATA TYPE" in header:
        number, kind = header["DATA TYPE"]
        if kind.lower() not in _KINDS:
            raise ValueError(
                f"{path}, line {number}: DATA TYPE must be one of {', '.join(_KINDS)}, got {kind[:_QUOTED]!r}."
            )
        return kind.lower()
    ending = path.lower().removesuffix(".gz")[-3:]
    if ending in _RELATIONS:
        raise ValueError(f"{path} holds relations of pairs ({ending}), not orders; read one of {', '.join(_KINDS)}.")
    return ending if ending in _KINDS else "toi"


def item_names(path, header, n_items):
    names = [str(item) for item in range(1, n_items + 1)]
    for key, (number, value) in header.items():
        if not key.startswith("ALTERNATIVE NAME"):
            continue
        item = key.removeprefix("ALTERNATIVE NAME").strip()
        if not (re.fullmatch(_NUMBER, item, re.ASCII) and 1 <= int(item) <= n_items):
            raise ValueError(
                f"{path}, line {number}: a name for item {item[:_QUOTED]!r}, which is not one of 1..{n_items}."
            )
        names[int(item) - 1] = checked_name(value or item, f"{path}, line {number}: a name")
    first: dict[str, int] = {}
    for item, name in enumerate(names, start=1):
        if name in first:
            raise ValueError(
                f"{path} gives the name {name[:_QUOTED]!r} to items {first[name]} and {item}; rename one of them "
                "in the file."
            )
        first[name] = item
    return names


def check_totals(path, header, counts):
    """Return the number of voters; raise ValueError if the header states other totals (count 0 is optional there)."""
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
    if n_voters == 0 and voters is None:
        raise ValueError(
            f"{path} holds no ballots; the file is cut, or every count is 0. If there were no voters, write the line "
            "'# NUMBER VOTERS: 0' into its header."
        )
    return n_voters
