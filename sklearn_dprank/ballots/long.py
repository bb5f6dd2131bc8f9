"""Reading of long data: tables with one rating or comparison a row, and lists of items, become rows of codes.

A row is judged by itself. No message shows a cell.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import safe_repr
from . import reading
from .rows import SMALL, Listed, changes, levels_of, numbered, sorted_together

#: Words of an outcome that are read as a tie.
TIES = ("tie", "tie (bothbad)", "both_bad", "draw")
# Rules for marks on a ballot that are not one item in each rank; see `orders_to_positions`.
Repeated: TypeAlias = Literal["error", "first", "drop"]
Overvote: TypeAlias = Literal["error", "tie", "skip", "end"]
Skipped: TypeAlias = Literal["close", 1, 2]
OtherItems: TypeAlias = Literal["error", "drop"]
#: Words of cast vote records, and the marks in such a rank: several items that are not named, or none.
MARKS: dict[str, tuple[None, ...]] = {"overvote": (None, None), "undervote": (), "skipped": ()}
_LARGEST_ID = 2**62  # below it, differences of whole ids are exact
_LARGEST = 1e300  # ratings; the sum of a person's repeated ratings is finite

#: Columns of rows by their names. Ids are a pair: the number of each row's id, and the ids, or None if the numbers are
#: the ids. Items of a catalogue are their places there.
Columns: TypeAlias = dict[str, Any]


def read_long(table: Any, person: Any, item: Any, rating: Any, position: Any, names: list[Any] | None) -> Columns:
    """Return the columns person, item and place (smaller is better) of a table of ratings or positions."""
    if (rating is None) == (position is None):
        raise ValueError(
            "rating and position must not both be given or both be left out; give rating= if larger values are "
            "better, or position= if smaller ones are."
        )
    value_name = "position" if rating is None else "rating"
    value = position if rating is None else rating
    columns = columns_of(table, {"person": person, "item": item, value_name: value})
    persons = _persons(columns["person"])
    items: Any = ids(columns["item"], "item") if names is None else item_codes(columns["item"], "item", names)
    values = numbers(columns[value_name], value_name)
    check_lengths({"person": persons[0], "item": items[0] if names is None else items, value_name: values})
    return {"person": persons, "item": items, "place": values if rating is None else -values}


def ballots_of_persons(columns: Columns, names: list[Any] | None) -> tuple[Listed, list[Any]]:
    """Return the ballot of each person in the columns of `read_long`, with the weight 0, and the item names.

    Columns are removed from the dict, so that memory is free before rows are sorted.
    """
    if names is None:
        columns["item"], names = _in_order(*columns["item"])
    persons, n_items = columns.pop("person"), len(names)
    return _by_person(person_codes(*persons), columns.pop("item"), columns.pop("place"), n_items), names


def joined(parts: list[Columns]) -> Columns:
    """Return the columns of several tables, in order, as those of one table.

    Examples
    --------
    >>> both = joined([{"person": ids(["b", "a"], "person")}, {"person": ids(["c", "b"], "person")}])
    >>> both["person"][0].tolist(), both["person"][1]
    ([0, 1, 2, 0], ['b', 'a', 'c'])
    """
    return {name: _joined([part[name] for part in parts], name) for name in parts[0]}


def _joined(columns, name):
    """Return one column for those of several tables; ids are numbered again."""
    if not isinstance(columns[0], tuple):
        return np.concatenate(columns)
    if all(labels is None for _, labels in columns):
        return np.concatenate([codes for codes, _ in columns]), None
    columns = [ids(codes, name) if labels is None else (codes, labels) for codes, labels in columns]
    again, labels = ids([label for _, own in columns for label in own], name)
    new = np.split(again, np.cumsum([len(own) for _, own in columns])[:-1])
    return np.concatenate([np.append(own, -1)[codes] for (codes, _), own in zip(columns, new, strict=True)]), labels


def _by_person(persons, items, values, n_items):
    """Return one ballot for each person, in which the mean of the values is the place of an item."""
    keep = (persons >= 0) & (items >= 0) & ~np.isnan(values)
    if not keep.all():
        persons, items, values = persons[keep], items[keep], values[keep]
    known, persons = numbered(persons, persons.max(initial=-1) + 1)
    levels, level = levels_of(values)  # sorted also by value, so that a mean does not depend on the order of rows
    persons, items, level = sorted_together((persons, len(known)), (items, n_items), (level, len(levels)))
    starts = np.flatnonzero(changes(persons) | changes(items))
    values = levels[level]
    if len(starts) < len(values):
        values = np.add.reduceat(values, starts) / np.diff(starts, append=len(values))
        persons, items = persons[starts], items[starts]
    return Listed.of(persons, items, values, len(known))


def read_orders(
    orders: Any, person: Any, names: list[Any] | None
) -> tuple[Listed, NDArray[np.int64] | None, list[Any]]:
    """Return lists of items, best first, as ballots with the weight 0, the number of each list's person, and the names.

    The number is -1 for a missing person. The numbers are None without persons. If the items are private, the lists of
    one person become one ballot, in the order of the mean places, and the numbers are None.
    """
    is_private = names is None
    if reading.is_frame(orders) or getattr(orders, "ndim", 1) == 2:
        columns = choices(orders)
        n_ballots = len(columns[0]) if columns else 0
        ballot = np.tile(np.arange(n_ballots), len(columns))
        place = np.repeat(np.arange(len(columns)), n_ballots)
        if names is None:
            items, names = catalogued(list(chain.from_iterable(map(_as_list, columns))), "orders", None)
        else:
            items = np.concatenate([item_codes(column, "orders", names) for column in columns] or [ballot])
    else:
        lists = [_as_list(one) for one in _as_list(orders)]
        n_ballots, lengths = len(lists), np.array([len(one) for one in lists], dtype=np.int64)
        ballot = np.repeat(np.arange(n_ballots), lengths)
        place = np.arange(len(ballot)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        listed = list(chain.from_iterable(lists))
        if {list, tuple}.intersection(map(type, listed)):  # ties
            ranks = [rank if isinstance(rank, (list, tuple)) else [rank] for rank in listed]
            tied = [len(rank) for rank in ranks]
            ballot, place = np.repeat(ballot, tied), np.repeat(place, tied)
            listed = list(chain.from_iterable(ranks))
        items, names = catalogued(listed, "orders", names)
    keep = items >= 0
    ballot, items, place = ballot[keep], items[keep], place[keep]
    if len(np.unique(ballot * len(names) + items)) < len(items):
        raise ValueError(
            "orders must list an item at most once a ballot, and one lists an item twice. This error depends on the "
            "rows. Correct the list, or leave it out."
        )
    persons = None
    if person is not None:
        reading.check_aligned(orders, person=person)
        persons = person_codes(*_persons(person))
        check_lengths({"orders": np.arange(n_ballots), "person": persons})
        if is_private:
            return _by_person(persons[ballot], items, place.astype(np.float64), len(names)), None, names
    return Listed.of(ballot, items, place, n_ballots), persons, names


def counted_ranks(
    ranks: Iterable[Sequence[Any]], *, repeated: Repeated, overvote: Overvote, skipped: Skipped
) -> list[list[Any]]:
    """Return the ranks of one ballot that count, best first, each with its tied items.

    The rules are those of `~sklearn_dprank.preprocessing.orders_to_positions`, and no other ballot matters. A rank
    holds distinct items, and None for each mark without a known item. Raise ValueError if a rule is broken that is
    "error"; the message begins with a verb and does not show the ballot.

    Examples
    --------
    >>> counted_ranks([["a"], [], ["b", "c"], ["a"]], repeated="first", overvote="tie", skipped="close")
    [['a'], ['b', 'c']]
    """
    counted, seen, n_empty = [], set[Any](), 0
    for items in ranks:
        n_empty = 0 if items else n_empty + 1
        if n_empty == skipped:
            break
        if len(items) > 1 and overvote != "tie":
            if overvote == "error":
                raise ValueError("has several items in one rank")
            if overvote == "end":
                break
            continue
        known = [item for item in items if item is not None]
        new = [item for item in known if item not in seen]
        if len(new) < len(known) and repeated != "first":
            if repeated == "error":
                raise ValueError("lists an item twice")
            return []
        seen.update(new)
        if new:
            counted.append(new)
    return counted


def positions_of(ballots: Sequence[list[list[int]]], n_items: int) -> NDArray[np.float64]:
    """Return the position of each item on ballots of `counted_ranks`, shape (n_voters, n_items); NaN is not listed."""
    positions = np.full((len(ballots), n_items), np.nan)
    for row, ranks in zip(positions, ballots, strict=True):
        for place, items in enumerate(ranks):
            for item in items:
                row[item] = place
    return positions


def read_comparisons(
    table: Any, first: Any, second: Any, person: Any, outcome: Any, ties: Iterable[str], names: list[Any]
) -> Columns:
    """Return the columns person (if given), winner, loser and tied of a table of comparisons, without ignored rows."""
    given = {"first": first, "second": second}
    given |= {name: column for name, column in (("person", person), ("outcome", outcome)) if column is not None}
    columns = columns_of(table, given)
    one, two = (item_codes(columns[name], name, names) for name in ("first", "second"))
    persons, labels = (np.arange(len(one)), None) if person is None else _persons(columns["person"])
    check_lengths({"first": one, "second": two, "person": persons})
    if ((one == two) & (one >= 0)).any():
        raise ValueError(
            "first and second must be different items, and a row compares an item with itself. This error depends on "
            "the rows. Leave out such rows."
        )
    keep = (one >= 0) & (two >= 0)
    if labels is not None:
        keep &= persons >= 0
    second_won = tied = np.zeros(len(one), dtype=bool)
    if outcome is not None:
        won = _outcomes(columns["outcome"], {first: _FIRST, second: _SECOND} if table is not None else {}, ties, names)
        check_lengths({"first": one, "outcome": won})
        keep &= won != _MISSING
        tied, second_won = won == _TIE, (won == _SECOND) | (won == two)
        known = tied | second_won | (won == _FIRST) | (won == one)
        if not known[keep].all():
            raise ValueError(
                "outcome must name one of the two items of its row, and one names another item. This error depends "
                "on the rows. Correct or leave out such rows."
            )
    winner, loser = np.where(second_won, two, one), np.where(second_won, one, two)
    who = {} if person is None else {"person": (persons[keep], labels)}
    return {**who, "winner": winner[keep], "loser": loser[keep], "tied": tied[keep]}


_MISSING, _TIE, _FIRST, _SECOND = -1, -2, -3, -4  # codes of outcomes that are not items


def _outcomes(column, names_of_columns, ties, names):
    """Return the code of each outcome: an item, or one of the codes of other outcomes."""
    if isinstance(ties, str) or not all(isinstance(word, str) for word in ties):
        raise ValueError(f"ties must list the words that mean a tie, got {safe_repr(ties)}; pass ties=('tie',), say.")
    given = [*((word, _TIE) for word in ties), *names_of_columns.items()]
    words = {_plain(word): code for word, code in given}  # in the form of the cells
    both = {_plain(word) for word, code in given if words[_plain(word)] != code} | words.keys() & set(names)
    if both:
        raise ValueError(
            f"outcome {safe_repr(min(both))} may be an item, a column or a tie; rename the item or the column, "
            "or pass other `ties`."
        )
    codes, labels = ids(column, "outcome")
    meaning = {name: code for code, name in enumerate(names)} | words
    found = [meaning.get(_plain(label)) for label in labels]
    if None in found:
        raise ValueError(
            "outcome must hold the name of a column, an item or a word of `ties`, and a row holds something else. "
            f"This error depends on the rows. Words of a tie are now {', '.join(map(safe_repr, ties))}. Pass others as "
            "`ties`, and leave out rows without a result."
        )
    return np.array([*found, _MISSING], dtype=np.int64)[codes]


# Columns of any kind of table.


def columns_of(table, given):
    """Return the given columns, by name of the parameter: columns of a table by their names, or arrays."""
    if missing := [name for name, column in given.items() if column is None]:
        raise ValueError(f"{missing[0]} must be given; name a column of the table, or pass an array without a table.")
    if table is None:
        return _aligned(given)
    if hasattr(type(table), "collect_schema") and not hasattr(type(table), "to_numpy"):  # a query of Polars
        raise ValueError(f"table is a {type(table).__name__}, which is not in memory; load it with collect().")
    known = _column_names(table)
    columns = {}
    for parameter, name in given.items():
        if not isinstance(name, (str, Integral)) or known.count(name) != 1:
            raise ValueError(
                f"{parameter} must be the name of one column of the table, got {safe_repr(name)}; its columns are "
                f"{', '.join(map(safe_repr, known[:20]))}{' and others' * (len(known) > 20)}."
            )
        columns[parameter] = table.column(name) if hasattr(type(table), "column_names") else table[name]
    return _aligned(columns)


@contextmanager
def citing(given: dict[str, Any]) -> Iterator[None]:
    """Name the user's column in messages: ``first must hold`` becomes ``first (column 'model_a') must hold``."""
    try:
        yield
    except ValueError as error:
        parameter, _, problem = str(error).partition(" ")
        column = given.get(parameter)
        if not isinstance(column, (str, Integral)) or not problem.startswith(("must hold", "holds")):
            raise
        raise ValueError(f"{parameter} (column {safe_repr(column)}) {problem}") from None


def _aligned(columns):
    """Return the columns; raise ValueError if two of pandas have different indexes."""
    of_pandas = {name: column for name, column in columns.items() if hasattr(type(column), "iloc")}
    reading.check_aligned(next(iter(of_pandas.values()), None), **of_pandas)
    return columns


def _column_names(table):
    """Return the names of the columns of a pandas, Polars or Arrow table, a dict or a structured array."""
    if reading.is_frame(table):
        return list(table.column_names if hasattr(type(table), "column_names") else table.columns)
    if isinstance(table, dict):
        return list(table)
    if getattr(getattr(table, "dtype", None), "names", None):
        return list(table.dtype.names)
    raise ValueError(
        f"table must have named columns, got a {type(table).__name__}. Pass a DataFrame, an Arrow table, a dict of "
        "columns or a structured array. Or pass arrays without a table, as in from_long(person=..., item=..., "
        "rating=...)."
    )


def choices(orders: Any) -> list[Any]:
    """Return the columns of a table of choices, the first choice first."""
    if not reading.is_frame(orders):
        return list(np.asanyarray(orders).T)  # a masked array keeps its mask
    if hasattr(orders, "iloc"):
        return [orders.iloc[:, k] for k in range(orders.shape[1])]
    return list(orders.columns if hasattr(type(orders), "column_names") else orders.get_columns())


def _as_list(values, name="orders"):
    """Return a column, or a list of items, as a list of plain objects; None stands for a missing one."""
    if isinstance(values, (str, bytes, dict, set, frozenset)) or not isinstance(values, Iterable):
        how = "have one entry for each row, in a list or in the table that has this column"
        if name == "orders":
            how = "list the items of each ballot, best first, such as [['tea', 'milk'], ['wine']]"
        raise ValueError(f"{name} must {how}, got a {type(values).__name__}.")
    reading.refuse_missing_as_text(values, name)
    return reading.plain_list(values)  # of a masked array, masked entries become None


def ids(column: Any, name: str) -> tuple[NDArray[np.int64], list[str] | list[int]]:
    """Return a number for each id, -1 where it is missing, and the id of each number.

    Ids are all text (compared in the form NFC, without the blanks around it) or all whole numbers. Raise ValueError if
    they are not; `name` is the parameter in the message.

    Examples
    --------
    >>> codes, labels = ids(["b", None, " a", "b"], "person")
    >>> codes.tolist(), labels
    ([0, -1, 1, 0], ['b', 'a'])
    """
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and not isinstance(column, np.ma.MaskedArray):
        least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        if least > -_LARGEST_ID and most < _LARGEST_ID:
            found, codes = numbered(column.astype(np.int64) - least, most - least + 1)
            return codes, (found + least).tolist()
        found, codes = np.unique(column, return_inverse=True)
        return codes.astype(np.int64, copy=False), found.tolist()
    if hasattr(type(column), "factorize") and column.dtype != object:  # of pandas
        codes, found = column.factorize()
        labels = found.tolist()
        _check_kinds(set(map(type, labels)), name)
        if set(map(type, labels)) == {int}:
            return codes.astype(np.int64, copy=False), labels
    else:
        cells = _as_list(column, name)
        kinds = set(map(type, cells))
        if not kinds <= {str, int}:
            cells = [None if is_missing(cell) else cell for cell in cells]
            kinds = {*map(type, cells)} - {type(None)}
        _check_kinds(kinds, name)  # before cells become keys: 1 and True are one key
        if hasattr(type(column), "factorize") and kinds == {str}:  # in pandas, missing cells have the code -1
            codes, found = column.factorize()
            labels = found.tolist()
        else:
            by_cell: dict[Any, int] = {}
            codes = np.array([by_cell.setdefault(cell, len(by_cell)) for cell in cells], dtype=np.int64)
            labels = list(by_cell)
    by_label: dict[Any, int] = {}
    plain: list[Any] = []
    for label in labels:  # plain text and plain integers, because private items are published as they are here
        if isinstance(label, str):
            plain.append(unicodedata.normalize("NFC", label).strip() or None)
        else:
            plain.append(label if label is None else int(label))
    again = [-1 if label is None else by_label.setdefault(label, len(by_label)) for label in plain]
    return np.array([*again, -1], dtype=np.int64)[codes], list(by_label)


def _check_kinds(kinds, name):
    """Raise ValueError unless types of ids are all text or all whole numbers."""
    whole = all(issubclass(kind, Integral) and kind is not bool for kind in kinds)
    if not whole and not all(issubclass(kind, str) for kind in kinds):
        raise ValueError(
            f"{name} must hold ids that are all text or all whole numbers, and holds others. Floats would merge large "
            "ids; read the column as text or as whole numbers, for example by pandas.read_csv(path, dtype={column: "
            "str}) or with the dtype 'Int64'."
        )


def _plain(label):
    """Return a name in the form in which names are compared."""
    return reading.normal(label.strip()) if isinstance(label, str) else label


def is_missing(cell):
    """Return whether a cell is None, NaN or one of pandas' missing values."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, Real) and cell != cell)


def _whole(column):
    """Return a column of NumPy's integers as int64; None for other columns."""
    dtype = getattr(column, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu" or dtype == np.uint64:
        return None
    return None if isinstance(column, np.ma.MaskedArray) else np.asarray(column, dtype=np.int64)


def _persons(column):
    """Return a number for each person's id, and the ids; None if the numbers are the ids."""
    whole = _whole(column)
    return ids(column, "person") if whole is None else (whole, None)


def person_codes(numbers: NDArray[np.int64], labels: list[Any] | None) -> NDArray[np.int64]:
    """Return a number for each person, -1 where it is missing: in the order of whole ids, or of the first rows of text.

    Examples
    --------
    >>> person_codes(np.array([7, 5, 7]), None).tolist(), person_codes(np.array([0, 1, -1]), ["b", "a"]).tolist()
    ([1, 0, 1], [0, 1, -1])
    """
    if labels is None:
        return ids(numbers, "person")[0]
    return _in_order(numbers, labels)[0] if labels and not isinstance(labels[0], str) else numbers


def item_codes(column: Any, name: str, names: list[Any]) -> NDArray[np.int64]:
    """Return the index of each item in the catalogue `names`, -1 where it is missing."""
    if (whole := _whole_codes(column, names)) is not None and whole.min(initial=0) >= 0:
        return whole
    codes, labels = ids(column, name)
    if labels and isinstance(labels[0], str) != isinstance(names[0], str):
        held, listed = ("text", "whole numbers") if isinstance(labels[0], str) else ("whole numbers", "text")
        raise ValueError(
            f"{name} holds {held}, and items lists {listed}; give items in the form that the column has, or convert "
            "the column."
        )
    index = {each: k for k, each in enumerate(names)}
    found = [index.get(_plain(label)) for label in labels]
    if None in found:
        raise ValueError(
            f"{name} must hold items of the public list `items`, and a row holds another one. This error depends on "
            "the rows. Add the item to items, or leave out such rows before you read them, each by itself."
        )
    return np.array([*found, -1], dtype=np.int64)[codes]


def _whole_codes(column, names):
    """Return the index of each item in `names`, -1 for others; None unless all are integers in a short range."""
    values, listed = _whole(column), np.array(names)
    if values is None or listed.dtype != np.int64:
        return None
    least, most = int(listed.min()), int(listed.max())
    if most - least > SMALL * (len(values) + len(listed)):
        return None
    table = np.full(most - least + 2, -1)
    table[listed - least] = np.arange(len(listed))
    return table[np.where((values < least) | (values > most), -1, values - least)]


def catalogued(column: Any, name: str, names: list[Any] | None) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the index of each item, -1 where it is missing, and the catalogue: `names`, or the ids of the column.

    These are sorted, so that the order of two items does not depend on other rows.

    Examples
    --------
    >>> codes, names = catalogued(["b", None, "a", "b"], "item", None)
    >>> codes.tolist(), names
    ([1, -1, 0, 1], ['a', 'b'])
    """
    return _in_order(*ids(column, name)) if names is None else (item_codes(column, name, names), names)


def _in_order(codes, labels):
    """Return numbers of sorted ids instead of these, -1 where one is missing, and the sorted ids."""
    order = sorted(range(len(labels)), key=labels.__getitem__)
    return np.array([*np.argsort(order), -1], dtype=np.int64)[codes], [labels[k] for k in order]


def numbers(column: Any, name: str) -> NDArray[np.float64]:
    """Return a column of numbers as doubles, NaN where one is missing."""
    try:
        column = column.to_frame() if hasattr(column, "to_frame") else np.asarray(reading.unmasked(column))[:, None]
        values = reading.as_array(column)[:, 0].astype(np.float64, copy=False)
        numeric = not np.iscomplexobj(column)
    except (TypeError, ValueError, IndexError):
        numeric = False
    if not numeric or (np.abs(values) > _LARGEST).any():
        raise ValueError(
            f"{name} must hold finite numbers, or NaN for none, and a row holds something else. This error depends on "
            "the rows. Convert the column with astype(float), and leave out infinite rows."
        )
    return values


def check_lengths(columns: dict[str, Any]) -> None:
    """Raise ValueError unless all columns have one entry a row."""
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError(f"{' and '.join(columns)} must have one entry for each row, and have different lengths.")
