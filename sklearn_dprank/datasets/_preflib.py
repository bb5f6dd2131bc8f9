"""Reader of PrefLib ranking files, in today's layout and in the one from before 2022."""

import os
import re
from array import array
from contextlib import closing
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import check_choice
from .._utils.scikit_learn import MYPY
from ..ballots.profile import Profile
from ._preflib_header import BALLOT, check_totals, item_names, kind_of_orders, number_of_items, numbered_lines, opened

if MYPY:

    class Bunch(dict[str, Any]):
        """scikit-learn's, with the types of what it holds."""

        data: NDArray[Any]
        item_names: list[str]
        counts: NDArray[np.int64]
        unranked: str
        profile: Profile

else:
    from sklearn.utils import Bunch

#: What `unranked` may be.
UNRANKED: tuple[str, ...] = ("no_opinion", "last")
_GROUP = re.compile(r"\{([^}]*)\}|(\d+)", re.ASCII)


def read_preflib(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], unranked: Literal["no_opinion", "last"] = "last"
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
    unranked : {"no_opinion", "last"}, default="last"
        What it means that a ballot leaves an item out. "last": the voter ranks it below every listed
        item, tied with the others left out (truncated election ballots). "no_opinion": the voter says
        nothing about it (items not shown or not known).

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
        unranked : str
            What left-out items mean in `data`, as passed or by default.
        profile : Profile
            The same ballots as a profile.

    Raises
    ------
    ValueError
        If the file is not as above, is cut, or gives two items one name; the message names the file,
        the line and what is wrong. It depends on the ballots: do not publish it.

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
        profile = Profile.from_rankings(data, item_names=names)
    except MemoryError:
        raise ValueError(f"{path} holds the ballots of {n_voters} voters, more than fit into memory.") from None
    return Bunch(data=data, item_names=names, counts=counts, unranked=unranked, profile=profile)


def _cells_in_memory():
    """Return how many cells of 8 bytes the machine can hold: some systems promise more, and end who takes it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    except (AttributeError, OSError, ValueError):  # Windows does not say, and promises what it has
        return np.iinfo(np.intp).max // 8


def _read_ballots(path, ballots, form, n_items, kind):
    """Return the positions and the counts of distinct ballots.

    Positions have a row a ballot: 0 is best, tied items share the best of their positions, -1 is not listed.
    """
    table, counts = array("q"), array("q")
    most = _cells_in_memory() // 4  # it is copied, then completed, then repeated
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
    """Return the count of one ballot line and its positions."""
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
    """Give the items that ballots leave out the position, or the NaN, that `unranked` says."""
    missing = distinct < 0
    if not missing[counts > 0].any():  # complete ballots stay integers
        return distinct
    last = np.count_nonzero(~missing, axis=1, keepdims=True)
    return np.where(missing, last if unranked == "last" else np.nan, distinct)
