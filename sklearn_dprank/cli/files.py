"""Readers of ballot files: cells and layouts."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.checks import safe_repr
from ..ballots.long import MARKS, TIES, counted_ranks, positions_of
from ..ballots.profile import Profile
from ..ballots.reading import checked_name
from ..preprocessing import RatingsToRankings, unranked_last
from .headers import as_answer, check_counts, choice_places, chosen_items, header, listed, place_of, unstated
from .layout import NOT_TAKEN, RULES, form, given, own_columns, unranked
from .printing import STANDARD_INPUT, own_words, tell
from .tables import NOT_PUBLIC, NUMBER, Unreadable, called, ending, is_no_name, open_rows, plain, to_copy

# Cells of text.

GAPS = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"}  # as pandas reads text
_MOST_VOTERS = 1e8  # of one row, and of lists, which are repeated
_LARGEST = 1e300  # limit of a cell, because the ratings of one person are added up
_COMMA_TO_POINT = str.maketrans(",.", ".,")


def _code(text):
    """Return a cell in the form in which cells are compared with ``--no-answer``: 99 is the same as 99.0."""
    return float(text) if NUMBER.fullmatch(text) else as_answer(text)


def _decimals(options):
    """Return what decimal marks must be, for a message."""
    if options.decimal == ",":
        return "Decimals need a comma, as --decimal says, and thousands have no mark."
    return "For decimal commas, add --decimal ','."


def _numbers(cells, scale=None, codes=(), decimal=None):
    """Return the cells of a column as doubles: NaN if empty or one of `codes`, infinite if a cell cannot be read.

    With a `scale`, a cell is one of its answers, which may look like a gap. Without, it is a number in the usual
    notation with this `decimal` mark, or True or False, as Parquet files hold them.
    """
    known = {}
    for text in set(cells):
        known[text] = np.inf
        number = text.translate(_COMMA_TO_POINT) if decimal == "," else text
        if codes and _code(number if NUMBER.fullmatch(number) else text) in codes:
            known[text] = np.nan
        elif scale is not None and (answer := as_answer(text)) in scale:
            known[text] = scale[answer]
        elif text.strip() in GAPS:
            known[text] = np.nan
        elif scale is None and text in ("False", "True"):
            known[text] = float(text == "True")
        elif scale is None and NUMBER.fullmatch(number) and abs(float(number)) <= _LARGEST:
            known[text] = float(number)
    return np.array([known[text] for text in cells], dtype=float)


def _catalogue(options, option):
    """Return the names in ``--items``, which `option` needs, or None if they are private."""
    if not options.items:
        private = " If people typed the names, use --items private --max-listed 10." * (option != "--comparisons")
        raise ValueError(
            f"{option} needs --items: which items there are is public, and not read off the ballots. List the names "
            f"with commas between, or in a file with one name a line: --items @items.txt.{private}"
        )
    if options.items == "private":
        return None
    names = listed(options.items, "--items")
    if len(names) < 2:
        raise ValueError(
            f"--items must list at least two items for {option}, got {len(names)}; put commas between them, or @ "
            "before the name of a file with one item a line: --items @items.txt."
        )
    return names


def _and_items(options):
    """Return the rest of an error if ``--items`` is missing too."""
    return "" if options.items else ", and --items with the public list of all items, such as --items @items.txt"


# Layouts of files.


def read(options: argparse.Namespace) -> tuple[Profile, list[str]]:
    """Return the ballots in ``options.file``, perhaps none, and the cells of the column of ``--segments``.

    Cells are text without blanks around it, empty where the file has none or the line cannot be read. The list is empty
    without the option, or if the layout has no columns. Raises ValueError if the options do not state the layout, or
    the file does not match it. Messages quote no ballot.
    """
    path: Path = options.file
    if path != STANDARD_INPUT and not path.exists():
        raise ValueError(f"there is no file {path}. Check its name, and the folder in which you run the command.")
    if ending(path) in {".soc", ".soi", ".toc", ".toi"}:
        if unused := ", ".join(name for name in given(options) if name != "--unranked"):
            raise ValueError(f"PrefLib files do not take {unused}; leave that out.")
        from ..datasets import read_preflib

        left_out: Any = unranked(options)
        try:
            return read_preflib(path, "no_opinion" if left_out == "no_score" else left_out).profile, []
        except ValueError as error:
            raise ValueError(f"{error} This message {NOT_PUBLIC}") from None
    if form(options) is None:
        raise ValueError(unstated(options))
    refused = NOT_TAKEN.get(str(form(options)), ("row_is_person", "ties", *RULES))
    not_taken = {f"--{name.replace('_', '-')}" for name in refused}
    if unused := ", ".join(name for name in given(options) if name in not_taken):
        raise ValueError(f"--{form(options)} does not take {unused}; leave that out.")
    if options.scale is not None and options.layout != "ratings":
        raise ValueError("--scale lists answers, the worst first; use it with --ratings.")
    is_private = options.items == "private"
    if is_private:
        _check_private(options)
    if form(options) == "positions" and options.unranked is None and unranked(options) != "no_score":
        problem = (
            "--positions needs --unranked, the meaning of an empty cell, also if no cell is empty. Add --unranked last "
            "if items without a position are worse than the others, as on ballots of elections, or --unranked "
            "no_opinion if people left out what they were not shown or do not know."
        )
        try:
            chosen_items(header(open_rows(options), options)[0], options)
        except ValueError as other:  # both at once, so that one more command suffices
            problem += f" Also: {other}"
        raise ValueError(problem)
    if options.count is not None and options.person is not None:
        raise ValueError("--count counts persons, and --person names them; leave one of them out.")
    if unranked(options) == "no_score" and options.unranked:
        raise ValueError("--unranked is not for DPPositionalRule, where items left out get no score; leave it out.")
    unreadable = Unreadable(options.unreadable, called(path))
    if options.long or options.comparisons:
        unreadable.meaning = "empty"
        return (_from_long if options.long else _from_comparisons)(options, unreadable), []
    if options.layout == "orders":
        (values, items, counts), persons, weights, segments = _from_orders(options, unreadable), None, None, []
    else:
        values, items, persons, weights, segments, counts = _from_table(options, unreadable)
    unreadable.tell(len(values))
    if form(options) in ("orders", "choices"):
        is_weighted = options.weight is not None or options.max_weight is not None
        if is_private or (unranked(options) == "no_score" and not is_weighted):
            persons = None if persons is None else [None if person[:1] == "\0" else person for person in persons]
            if items is not None:
                values = [[[items[item] for item in rank] for rank in ranks] for ranks in values]
            if counts is not None:
                if counts.sum() > _MOST_VOTERS:
                    raise ValueError(f"--count adds up to more than {_MOST_VOTERS:g} lists; check that it counts them.")
                values = [ranks for ranks, count in zip(values, counts, strict=True) for _ in range(int(count))]
            with own_words("items", max_listed="max-listed"):
                return Profile.from_orders(
                    values, items="private" if is_private else items, person=persons, max_listed=options.max_listed
                ), []
        values = positions_of(values, len(items))
    if len(items) < 2:
        raise ValueError(f"a ranking needs at least two items, got {len(items)}; name them with --items.")
    if len(values) and options.layout == "ratings":
        values = RatingsToRankings().fit_transform(values)
    if len(values) and unranked(options) == "last":
        values = unranked_last(values)
    if persons is None and weights is None and options.max_weight is not None:
        raise ValueError("--max-weight is for --person or --weight; add one of them, or leave it out.")
    most = 1 if options.max_weight is None else options.max_weight
    if options.max_listed is not None and unranked(options) == "last":
        raise ValueError(
            "--max-listed is for --estimator DPPositionalRule, which scores short lists, or for --unranked no_opinion: "
            "with --unranked last, every ballot lists all items."
        )
    limits: dict[str, Any] = {"max_weight": most, "max_listed": options.max_listed}
    with own_words(max_weight="max-weight", max_listed="max-listed", counts="count"):
        profile = Profile.from_rankings(
            values, items=items, groups=persons, sample_weight=weights, counts=counts, **limits
        )
    if counts is not None:
        segments = [cell for cell, count in zip(segments, counts, strict=False) for _ in range(int(count))]
    return profile, segments


def _check_private(options):
    """Raise ValueError if other options do not fit to ``--items private``."""
    if form(options) not in ("long", "choices", "orders"):
        raise ValueError(
            "--items private is for names in cells, by --long, --choices or --orders; list the items with --items."
        )
    if options.max_listed is None:
        raise ValueError(
            "--items private needs --max-listed, a public bound on the number of items of a list that count; add "
            "--max-listed 10, say."
        )
    names = ("weight", "max_weight", "overvote", "other_items")
    if unused := [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is not None]:
        raise ValueError(f"--items private does not take {', '.join(unused)}; leave that out.")


def _codes(options, others, option):
    """Return the `_code` of each cell in ``--no-answer``; raise ValueError if `option` lists one of them, too."""
    given = [] if options.no_answer is None else listed(options.no_answer, "--no-answer")
    codes = {_code(cell) for cell in given}
    for other in others:
        if _code(other) in codes:
            raise ValueError(f"--no-answer lists {safe_repr(other)}, which is also in {option}; leave one out.")
    return codes


def _scale(options):
    """Return the places of the answers in ``--scale``, None without it."""
    if options.scale is None:
        return None
    answers = [as_answer(text) for text in listed(options.scale, "--scale")]
    if len(set(answers)) < max(len(answers), 2):
        raise ValueError("--scale must list at least two answers, the worst first, that differ not only in case.")
    return {text: float(place) for place, text in enumerate(answers)}


def _cells(options, unreadable, ids, answers, items=()):
    """Return the header and the cells of a table, whose names are none of these answers and items.

    The first row may be a ballot, whose cells would be published as names and not counted.
    """
    rows = open_rows(options, ids)
    head, n_lines = header(rows, options)
    cells = rows.table(unreadable, n_lines, len(head.names))
    others = own_columns(options)
    if set(items).intersection(head.names):
        raise ValueError(
            f"the first row of {unreadable.file} must name the columns, but it holds items of --items. If it is a "
            "ballot, put a row of names before it; else rename the columns."
        )
    is_ballot = any(as_answer(name) in answers for name in head.names)
    if is_ballot or all(is_no_name(name) or name in GAPS for name in head.names if name not in others):
        raise ValueError(
            f"the first row of {unreadable.file} must name the items, but it holds answers of --scale or --no-answer, "
            "or only numbers or gaps. If it is a ballot, put a row of names before it; else rename the columns."
        )
    return head, cells


def _from_table(options, unreadable):
    """Return the ballots of a table with a header, the items, persons and weights or None, and the segments.

    A row without a person or a weight does not count.
    """
    scale = _scale(options)
    names = _catalogue(options, "--choices") if options.choices else []
    codes = _codes(options, names or scale or {}, "--items" if names else "--scale")
    column = getattr(options, "segments", None)
    if options.weight is not None and options.max_weight is None:
        raise ValueError("--weight needs --max-weight, a public bound on a person's weight; take it from the design.")
    answers = {*(scale or {}), *codes}
    head, cells = _cells(options, unreadable, {options.person}, answers, names or ())
    segments, persons, weights, counts, places = [], None, None, None, head.places()
    columns = choice_places(options, places, head.names) if options.choices else []
    if options.list_separator is not None and len(columns) > 1:
        raise ValueError("--list-separator is for one column with whole lists; name one column with --choices.")
    if column is not None:
        segments = [plain(cell) for cell in cells[:, place_of("--segments", column, places, head.names)]]
    if options.weight is not None:
        weights = _numbers(cells[:, place_of("--weight", options.weight, places, head.names)], decimal=options.decimal)
        wrong = ~((weights >= 0) & (weights < np.inf))
        weights[wrong] = 0.0
        must = f"hold weights of at least 0, and no empty cells. {_decimals(options)}"
        unreadable.add(np.flatnonzero(wrong).tolist(), f"column {safe_repr(options.weight)} must {must}")
    if options.count is not None:
        at = place_of("--count", options.count, places, head.names)
        counts = _counts(cells[:, at], f"column {safe_repr(options.count)}", options.decimal, unreadable)
    if options.person is not None:
        persons = [cell.strip() for cell in cells[:, place_of("--person", options.person, places, head.names)]]
        weights = np.ones(len(cells)) if weights is None else weights
        nobody = [row for row, person in enumerate(persons) if not person]
        unreadable.add(nobody, f"column {options.person!r} has an empty cell; fill it, or drop the row.")
        for row in nobody:
            persons[row], weights[row] = f"\0{row}", 0.0  # no weight, because many such rows may be of one person
    if options.choices:
        check_counts(options, head.names, columns)
        values = _ranked(cells[:, columns], names, codes, unreadable, options, counts)
        return values, names, persons, weights, segments, counts
    items, columns = chosen_items(head, options)
    values = np.empty((len(cells), len(columns)))
    must = (
        "answers of --scale, or empty cells."
        if scale
        else f"numbers (up to {_LARGEST:g}), or empty cells. {_decimals(options)} For answers in words, add "
        f"{'--ratings ' * (options.layout != 'ratings')}--scale bad,fair,good (yours, the worst first). For "
        "names of items, use --choices."
    )
    for item, place in enumerate(columns):
        values[:, item] = _numbers(cells[:, place], scale, codes, options.decimal)
        wrong = np.flatnonzero(np.isinf(values[:, item])).tolist()
        rest = to_copy("--items", [*items[:item], *items[item + 1 :]]) or "--items"
        shown = place + 1 if is_no_name(head.names[place]) else safe_repr(head.names[place])
        problem = f'column {shown} must hold {must} List answers such as "do not know" in --no-answer.'
        if not head.is_grid(columns):
            problem += f" If it is not an item, use {rest}. If each line is one rating, use --long."
        if wrong == [0] and unreadable.can_skip:  # no other row looks like a second row of names
            line = unreadable.lines[0]
            problem += f" If {unreadable.unit} {line} is a second row of names, and no ballot, add --skip-rows {line}."
        unreadable.add(wrong, problem)
    values[list(unreadable.rows)] = np.nan
    return values, items, persons, weights, segments, counts


def _counts(cells, where, decimal, unreadable):
    """Return the number of persons of each row; a row that cannot be read is of one person."""
    counts = _numbers(cells, decimal=decimal)
    wrong = ~((counts >= 0) & (counts <= _MOST_VOTERS) & (counts == np.floor(counts)))
    counts[wrong] = 1
    must = f"hold whole numbers of persons, 0 to {_MOST_VOTERS:.0f}, and no empty cells. For weights, use --weight."
    unreadable.add(np.flatnonzero(wrong).tolist(), f"{where} must {must}")
    return counts


def _from_orders(options, unreadable):
    """Return the ballots in a CSV file without a header, whose rows list items, best first, and the items."""
    names = _catalogue(options, "--orders")
    if options.person or options.weight or options.max_weight is not None:
        raise ValueError(
            "--person, --weight and --max-weight name columns; use them with --ratings or --positions, or put a row of "
            "names above the ballots and use --choices."
        )
    codes = _codes(options, names or (), "--items")
    rows, counts = [*open_rows(options, has_names=False).lists(unreadable)], None
    if options.count is not None:
        if not re.fullmatch("[1-9][0-9]{0,4}", options.count):
            raise ValueError("--count must be the number of a column for --orders, such as 1, because none has a name.")
        at = int(options.count) - 1
        each = ["".join(cells[at : at + 1]) for cells in rows]
        counts = _counts(each, f"cell {options.count}", options.decimal, unreadable)
        rows = [cells[:at] + cells[at + 1 :] for cells in rows]
    return _ranked(map(_unbraced, rows), names, codes, unreadable, options, counts), names, counts


def _unbraced(cells):
    """Return the cells of a line, in which those from one with { at its beginning to one with } at its end are one."""
    found: list[str] = []
    for cell in cells:
        is_open = bool(found) and found[-1].lstrip().startswith("{") and not found[-1].rstrip().endswith("}")
        if is_open:
            found[-1] += f",{cell}"
        else:
            found.append(cell)
    return found


def _ranked(rows, names, codes, unreadable, options, counts):
    """Return the ranks that count of each row, best first, with the numbers of their items; the items if private."""
    index = None if names is None else {name: item for item, name in enumerate(names)}
    rules: dict[str, Any] = {"repeated": options.repeated or "first", "overvote": options.overvote or "tie"}
    rules["skipped"] = {"1": 1, "2": 2}.get(options.skipped, "close")
    if options.list_separator == "":
        raise ValueError("--list-separator must not be empty; it is what stands between the items, such as '>'.")
    unknown = "correct the spelling, or list a word for no choice in --no-answer."
    if index is not None:
        unknown += " --other-items drop leaves out write-ins and other names."
    if options.list_separator is None:
        unknown += " If a cell lists several items, add what stands between them, as in --list-separator '>'."
    if options.layout == "orders":
        unknown += " If the first row names columns, use --choices."
    known: dict[str, Any] = {}
    ballots, changed = [], []
    for row, cells in enumerate(rows):
        if options.list_separator is not None:
            cells = [part for cell in cells for part in cell.split(options.list_separator)]
        ranks = []
        for column, cell in enumerate(cells, start=1):
            if cell not in known:
                known[cell] = _rank(cell, index, codes, options.other_items == "drop")
            if known[cell] is None:
                unreadable.add([row], f"cell {column} is not {_allowed(names)} {unknown}")
            else:
                ranks.append(known[cell])
        try:
            counted = [] if row in unreadable.rows else counted_ranks(ranks, **rules)
        except ValueError as problem:
            unreadable.add(
                [row], f"the ballot {problem}; correct it, or choose another rule with --repeated or --overvote."
            )
            counted = []
        if row not in unreadable.rows:
            changed += [row] if sum(map(len, counted)) < sum(map(len, ranks)) else []
        ballots.append(counted)
    if changed:
        voters = "" if counts is None else f", which are {counts[changed].sum():.0f} of {counts.sum():.0f} voters"
        tell(
            f"{unreadable.file}: by the rules of ballots, some marks do not count in {len(changed)} of {len(ballots)} "
            f"rows{voters}. If these are many, check the names in --items. This line {NOT_PUBLIC}"
        )
    return ballots


def _rank(cell, index, codes, drops):
    """Return the items in a cell of a rank, None for each other mark, or None if the cell cannot be read."""
    item = _item(cell, index, codes)
    if item is None:
        return []
    if index is not None and item:
        return [index[item]]
    name = plain(cell)
    if (answer := as_answer(name)) in MARKS:
        return MARKS[answer]
    if index is None:
        return [item] if item else None
    parts = name[1:-1].split(",") if name[:1] + name[-1:] == "{}" else name.split("=")
    found = [each for each in (_item(part, index, codes) for part in parts) if each is not None]
    if "" in found and not drops:
        return None
    items = [*dict.fromkeys(each for each in found if each)]
    return [index[each] for each in items] + [None] * found.count("")


def _item(cell, names, codes):
    """Return the item in a cell, None for a gap, empty for something else; any name is one if `names` is None."""
    name = plain(cell)
    if names is not None and name in names:
        return name
    if name in GAPS or _code(name) in codes:
        return None
    with suppress(ValueError):
        return checked_name(name, "") if names is None else ""
    return ""


def _allowed(names):
    """Return what a cell of items may hold, and a remedy."""
    if names is None:
        return "a name without control characters or invisible ones. Correct it,"
    return f"one of the {len(names)} items in --items. Add it,"


def _from_long(options, unreadable):
    """Return the profile of a table with one rating a row."""
    if options.layout not in ("ratings", "positions"):
        raise ValueError(
            "--long needs --ratings (larger is better) or --positions (smaller is better); add one"
            f"{_and_items(options)}."
        )
    names, scale = _catalogue(options, "--long"), _scale(options)
    codes = _codes(options, (names or ()) if scale is None else scale, "--items" if scale is None else "--scale")
    named = _distinct("--long", options.long)
    head, cells = _cells(options, unreadable, {*named[:2]}, {*(scale or {}), *codes}, names or ())
    who, item, value = (cells[:, place_of("--long", name, head.places(), head.names)] for name in named)
    items = _items(item, named[1], names, codes, unreadable)
    values = _numbers(value, scale, codes, options.decimal)
    must = "answers of --scale." if scale else f"numbers (up to {_LARGEST:g}). {_decimals(options)}"
    wrong = f"column {safe_repr(named[2])} must hold {must} List answers such as none in --no-answer."
    unreadable.add(np.flatnonzero(np.isinf(values)).tolist(), wrong)
    values[list(unreadable.rows)] = np.nan
    unreadable.tell(len(cells))
    column: Any = {"rating" if options.layout == "ratings" else "position": values}
    with own_words("items", max_listed="max-listed"):
        return Profile.from_long(
            person=[*who], item=items, items=names or "private", max_listed=options.max_listed, **column
        )


def _from_comparisons(options, unreadable):
    """Return the profile of a table with one comparison a row."""
    if not 2 <= len(options.comparisons) <= 3:
        raise ValueError(
            "--comparisons takes the columns of the two items, and perhaps that of the result, got "
            f"{len(options.comparisons)}; name the file before it, put blanks between columns, and quotes around names "
            "with blanks."
        )
    if (options.person is None) == (options.row_is_person is None):
        raise ValueError(
            "--comparisons needs either --person COLUMN, who compared, or --row-is-person if each row is of another "
            f"person{_and_items(options)}. Somebody with k rows of their own loses k times epsilon."
        )
    if options.max_weight == "auto":
        raise ValueError("--max-weight auto is for ballots; give --comparisons a number.")
    names, ties = _catalogue(options, "--comparisons"), {*TIES}
    first, second, *result = options.comparisons
    if options.ties is not None:
        if not result:
            raise ValueError("--ties lists words in a column of results; name it after --comparisons FIRST SECOND.")
        ties = {*listed(options.ties, "--ties")}
    codes = _codes(options, [*names, *ties], "--items or --ties")
    words = {*ties, first, second} if result else set()
    if both := words.intersection(names):
        raise ValueError(
            f"--items lists {safe_repr(min(both))}, which is also a word of --ties or the name of a column; rename "
            "the column, or state other words with --ties."
        )
    named = options.comparisons
    _distinct("--comparisons with --person", [*named, options.person])
    ids = {first, second, options.person}
    head, cells = _cells(options, unreadable, ids, codes, names)
    places = head.places()
    columns = [cells[:, place_of("--comparisons", name, places, head.names)] for name in named]
    one, two = (_items(columns[k], named[k], names, codes, unreadable) for k in (0, 1))
    same = [row for row, pair in enumerate(zip(one, two, strict=True)) if pair[0] and pair[0] == pair[1]]
    unreadable.add(same, "the row compares an item with itself; drop it.")
    table: dict[str, Any] = {first: one, second: two}
    if result:
        table[result[0]] = [
            None if (name in GAPS and name not in names) or _code(name) in codes else name
            for name in map(plain, columns[2])
        ]
        wrong = [
            row
            for row, (name, *pair) in enumerate(zip(table[result[0]], one, two, strict=True))
            if name is not None and name not in words and name not in pair
        ]
        unreadable.add(
            wrong,
            f"column {safe_repr(result[0])} must hold one of the two items of its row, {first!r} or {second!r}, or a "
            f"word of --ties, which lists {', '.join(sorted(ties))}. List words of rows without a result in "
            "--no-answer.",
        )
    for column in table.values():
        for row in unreadable.rows:
            column[row] = None
    if options.person:
        table[options.person] = [*cells[:, place_of("--person", options.person, places, head.names)]]
    unreadable.tell(len(cells))
    with own_words(max_weight="max-weight"):
        return Profile.from_comparisons(
            table,
            first,
            second,
            outcome=result[0] if result else None,
            person=options.person,
            ties=ties,
            items=names,
            max_weight=1 if options.max_weight is None else options.max_weight,
        )


def _distinct(option, names):
    """Return the columns that an option names; raise ValueError if it names one twice."""
    if len({*names}) < len(names):
        raise ValueError(f"{option} must name different columns, and names one twice.")
    return names


def _items(cells, column, names, codes, unreadable):
    """Return the item in each cell of a column, None for a gap, empty if the row cannot be read."""
    index = None if names is None else {*names}
    known = {text: _item(text, index, codes) for text in set(cells)}
    found = [known[text] for text in cells]
    problem = f"column {safe_repr(column)} must hold {_allowed(names)} or drop the row."
    unreadable.add([row for row, name in enumerate(found) if name == ""], problem)
    return found
