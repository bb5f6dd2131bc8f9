"""The header of a PrefLib file: what it announces, in today's layout and in the one from before 2022."""

import gzip
import re
import zlib
from io import TextIOWrapper
from itertools import chain, count

import numpy as np

from ..ballots.compact import MAX_ITEMS

_KINDS = ("soc", "soi", "toc", "toi")  # strict or tied orders, complete or incomplete
_RELATIONS = ("tog", "mjg", "wmg", "pwg")  # in the old layout, pairs and how many voters decide them so
_NUMBER = r"\d{1,18}"  # more digits do not fit into 64 bits
_TIED = rf"\{{\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*\}}"
_ORDER = rf"((?:{_NUMBER}|{_TIED})(?:\s*,\s*(?:{_NUMBER}|{_TIED}))*)"
BALLOT = re.compile(rf"({_NUMBER})\s*:\s*{_ORDER}", re.ASCII)
OLD_BALLOT = re.compile(rf"({_NUMBER})\s*,\s*{_ORDER}", re.ASCII)
_OLD_TOTALS = re.compile(rf"{_NUMBER}\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})", re.ASCII)
_USED = ("NUMBER ", "DATA TYPE", "ALTERNATIVE NAME ")  # what of the header is kept, and may be said once only
_LONGEST = 1 << 22  # characters of a line: many times those of a ballot of all items
_QUOTED = 40  # characters of a header that a message quotes


def numbered_lines(path):
    """Yield the number and the text of every line that is not blank; what is gzipped is unpacked on the way."""
    try:
        with open(path, "rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            with TextIOWrapper(gzip.GzipFile(fileobj=file) if packed else file, encoding="utf-8-sig") as lines:
                for number in count(1):
                    line = lines.readline(_LONGEST + 1)  # no more of it is unpacked, however long it is
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
    """Return the header as {key: (line number, value)}, an iterator of the ballots' lines, and their form."""
    header: dict = {}
    first = next(lines, (1, ""))
    if first[1].isascii() and first[1].isdigit():
        _read_old_header(path, first, lines, header)
        return header, lines, OLD_BALLOT
    ballots = _without_header(path, chain([first], lines), header)
    ballot = next(ballots, None)  # when it comes, the header lines before it have been read
    return header, ballots if ballot is None else chain([ballot], ballots), BALLOT


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
    """Return the whole number the header gives for `key`, or None where it gives none."""
    if key not in header:
        return None
    number, value = header[key]
    if not (re.fullmatch(_NUMBER, value, re.ASCII) and int(value) >= least):
        raise ValueError(
            f"{path}, line {number}: {key} must be a whole number, at least {least}, got {value[:_QUOTED]!r}."
        )
    return int(value)


def kind_of_orders(path, header):
    """Return the kind of orders the file announces, else what its name ends in, else the most general."""
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
        names[int(item) - 1] = value or item
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
    if n_voters == 0 and voters is None:
        raise ValueError(
            f"{path} holds no ballots; the file is cut, or every count is 0. If nobody voted, write the line "
            "'# NUMBER VOTERS: 0' into its header."
        )
    return n_voters
