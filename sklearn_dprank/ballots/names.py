"""Item names: validation, and names in tables and fitted aggregators."""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.checks import safe_repr

if TYPE_CHECKING:  # it would load numpy.random, which clients do not need
    from .._utils.types import ItemNames


_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # inside words of Persian and Hindi, and inside emoji
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # Unicode calls them letters, marks or symbols
_SELECTORS = [*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]  # of emoji and kanji
_UNSEEN = dict.fromkeys([*map(ord, _JOINERS), *_SELECTORS])


def normal(text: str) -> str:
    """Return text in the form in which names are compared: NFC, with a plain blank for each other kind of blank."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text)
    return "".join(" " if unicodedata.category(letter) == "Zs" else letter for letter in text)


def checked_name(name: str, input_name: str) -> str:
    """Return a name in `normal` form; raise ValueError if it has blanks around it, or characters that do not show."""
    name = normal(str(name))
    if not (name.isascii() and name.isprintable()):
        inside = [letter for letter in name[:1] + name[-1:] if letter in _JOINERS]
        hidden = inside + [letter for letter in name if _is_hidden(letter)]
        if hidden:
            codes = ", ".join(f"U+{ord(letter):04X}" for letter in dict.fromkeys(hidden))
            raise ValueError(
                f"{input_name} must not hold control characters or invisible ones, and {safe_repr(name)} holds "
                f"{codes}; remove them."
            )
    if name != name.strip():
        raise ValueError(
            f"{input_name} must not begin or end with a blank, and {safe_repr(name)} does; strip the names first."
        )
    return name


def seen(name: Any) -> Any:
    """Return a name without joiners and variation selectors: two names that look alike are equal."""
    return name.translate(_UNSEEN) if isinstance(name, str) else name


def _is_hidden(letter):
    """Return whether a character does not show, or changes how others show; joiners inside a name are allowed."""
    kind = unicodedata.category(letter)
    is_noncharacter = ord(letter) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(letter) <= 0xFDEF
    return is_noncharacter or letter in _BLANKS or (kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in _JOINERS)


def checked_names(names: ItemNames, input_name: str) -> list[str] | list[int]:
    """Return item names as plain strings or plain integers; raise ValueError unless they are distinct and of one kind.

    Strings are `checked_name` each, and must also differ as they are `seen`. `input_name` is the name of the argument
    in error messages.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.ballots.names import checked_names
    >>> checked_names(np.array([30, 10, 20]), "items")
    [30, 10, 20]
    """
    if isinstance(names, (str, bytes)):
        raise ValueError(
            f"{input_name} must list one name an item, got the one text {safe_repr(names)}; pass a list of names."
        )
    if isinstance(names, (set, frozenset)):
        raise ValueError(
            f"{input_name} must be in the order of the columns, and a set has no order; pass a list of names."
        )
    try:
        listed: list[Any] = list(names)
    except TypeError:
        raise ValueError(
            f"{input_name} must list one name an item, got {safe_repr(names)}; pass a list of names."
        ) from None
    kinds = {_kind(name) for name in listed}
    if len(kinds) > 1 or not kinds <= {"str", "int"}:
        raise ValueError(
            f"{input_name} must be all strings or all whole numbers, got {' and '.join(sorted(kinds))}; "
            "rename the items."
        )
    plain: list[Any] = [checked_name(name, input_name) if isinstance(name, str) else int(name) for name in listed]
    shown = [seen(name) for name in plain]
    if len(set(shown)) < len(shown):
        twice = Counter(shown).most_common(1)[0][0]
        raise ValueError(
            f"{input_name} must be distinct, and {safe_repr(twice)} stands twice; rename one of the items."
        )
    return plain


def _kind(name):
    if isinstance(name, str):
        return "str"
    return "int" if isinstance(name, Integral) and not isinstance(name, bool) else type(name).__name__


def is_frame(X):
    """Return whether X is a table with named columns, from pandas, Polars, dask or Arrow."""
    kind = type(X)  # the class, because some objects claim to have every attribute
    return (hasattr(kind, "columns") and hasattr(kind, "dtypes")) or _is_arrow(kind)


def has_names(X):
    """Return whether X is a table with named columns, from any library."""
    return is_frame(X) or hasattr(type(X), "__dataframe__")


def as_named(X):
    """Return a record batch as an Arrow table, whose names scikit-learn can read; return other tables unchanged."""
    if _is_arrow(type(X)) and not hasattr(X, "from_batches"):
        return sys.modules["pyarrow"].Table.from_batches([X])
    return X


def _is_arrow(kind):
    """Return whether `kind` is the class of an Arrow table or record batch, whose ``columns`` are not names."""
    return hasattr(kind, "column_names") and hasattr(kind, "schema")


def refuse_unread(X):
    """Raise ValueError if X is a query of Polars that was not run."""
    if hasattr(type(X), "collect_schema") and not hasattr(type(X), "to_numpy"):
        raise ValueError(f"X is a {type(X).__name__}, and its ballots are not read yet; pass X.collect().")


def column_names(X: Any) -> list[str] | list[int] | None:
    """Return the column names of X, or None if it has none or they are the numbers 0, 1, 2, ...

    Raise ValueError if the columns are not valid names; see `checked_names`.
    """
    refuse_unread(X)
    if not has_names(X):
        return None
    if _is_arrow(type(X)):
        columns = X.schema.names
    else:
        columns = X.columns if is_frame(X) else X.__dataframe__().column_names()
    names = checked_names(columns, "the columns of X")
    return None if names == list(range(len(names))) else names


def names_of(fitted):
    """Return the item names of a fitted aggregator in the order of the columns, or None if items have no names.

    Names come from ``consensus_`` with dtype object, because integer names are not indices and scikit-learn's
    ``feature_names_in_`` holds strings only. The consensus of a top-k aggregator does not contain all names, and that
    of segments has a row for each.
    """
    if not hasattr(fitted, "consensus_") or fitted.consensus_.dtype.kind != "O":
        return None
    consensus, ranks = np.atleast_2d(fitted.consensus_, fitted.ranks_)
    if consensus.shape[1] < ranks.shape[1]:
        return getattr(fitted, "feature_names_in_", getattr(fitted, "_item_names", None))
    return consensus[0][ranks[0]]


def names_differ(one, other):
    """Return whether two tables are known to have different items, or the same items in different orders.

    None (no names) differs only from a rearrangement of 0, 1, 2, ...
    """
    if one is not None and other is not None:
        return not np.array_equal(one, other)
    named = other if one is None else one
    return named is not None and list(named) != (numbers := list(range(len(named)))) and set(named) == set(numbers)
