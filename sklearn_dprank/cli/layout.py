"""Options for the file of ballots and its layout."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ..ballots.long import TIES
from .printing import why
from .tables import encoding, joined, plain


class File(argparse.Action):
    """Positional argument of the file; it is not replaced if `Several` found one."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set ``file`` unless the argument is missing; raise ArgumentError if there is one."""
        if values is not None and namespace.file is not None:
            raise argparse.ArgumentError(self, f"two files are given, {str(namespace.file)!r} and {str(values)!r}")
        namespace.file = namespace.file if values is None else values


class Several(File):
    """Option with several values, separated by blanks or commas; `one` converts each.

    argparse gives such an option all arguments up to the next option, also the file. If the last one is not a value but
    standard input, exists, or ends like the name of a file, it is set as ``file``.
    """

    def __init__(self, option_strings: list[str], dest: str, *, one: Any, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs="+", **given)
        self._one = one

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set the values and, if the last argument is a file, ``file``."""
        found: list[Any] = []
        for place, value in enumerate(values, start=1):
            try:
                found += [self._one(each.strip()) for each in value.split(",") if each.strip()]
            except ValueError as error:
                is_file = value == "-" or Path(value).exists() or Path(value).suffix[1:2].isalpha()
                if not (is_file and 1 < place == len(values) and hasattr(namespace, "file")):
                    raise argparse.ArgumentError(self, str(error)) from None
                super().__call__(parser, namespace, Path(value))
        if not found:
            raise argparse.ArgumentError(self, "expected at least one value")
        setattr(namespace, self.dest, found)


class Columns(File):
    """Option with the names of columns; a file after them is set as ``file``."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set the names and, if the last argument is a file and no name of a column is missing, ``file``."""
        if len(values) > 2 and namespace.file is None and Path(values[-1]).is_file():
            super().__call__(parser, namespace, Path(values.pop()))
        setattr(namespace, self.dest, values)


def number_or_auto(text: str) -> float | str:
    """Return the value of ``--max-weight``."""
    return text if text == "auto" else float(text)


def row_number(text: str) -> int:
    """Return one value of ``--skip-rows``."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"rows are numbered from 1, got {text!r}; list them with commas between, such as 1,2")
    return int(text)


class NamesOfFile(str):
    """Value of ``--items`` that a file lists; `shown` is the name of the file without its folder."""

    shown: str


def names_or_file(text: str) -> str:
    """Return the value of ``--items``; the names in a file after @ are joined as `listed` reads them."""
    if not text.startswith("@"):
        return text
    try:
        names = [plain(line) for line in Path(text[1:]).read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        what = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else why(error)
        raise argparse.ArgumentTypeError(
            f"{text} cannot be read ({what}); name a file with one item a line, or list the names."
        ) from None
    if len(found := [name for name in names if name]) < 2:  # one name could be the word all or private
        raise argparse.ArgumentTypeError(f"{text} must have at least two lines, with one item each, got {len(found)}")
    names_of = NamesOfFile(joined(found))
    names_of.shown = f"@{Path(text[1:]).name}"
    return names_of


#: Sentences about the direction of numbers.
DIRECTIONS = {
    "ratings": "Cells are ratings: larger is better (--ratings).",
    "positions": "Cells are positions: smaller is better (--positions).",
}
#: Sentences about the meanings of items that a ballot leaves out.
UNRANKED = {
    "last": "Items that a ballot leaves out count as worse than those that it lists (--unranked last).",
    "no_opinion": "Items that a ballot leaves out count as no opinion (--unranked no_opinion).",
    "no_score": "Items that a list leaves out get no score from it.",
}


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options for the file and its layout."""
    about = "CSV (- is standard input), Excel (.xlsx), Parquet, Feather or PrefLib (soc, soi, toc, toi), also gzipped"
    added.add_argument("file", nargs="?", type=Path, action=File, help=about)
    group = added.add_argument_group("layout of the file")
    add, layouts = group.add_argument, group.add_mutually_exclusive_group()
    layout = partial(layouts.add_argument, dest="layout", action="store_const")
    layout("--ratings", const="ratings", help="larger is better")
    layout("--positions", const="positions", help="smaller is better")
    layout("--orders", const="orders", help="items, best first; no header, see --items")
    about = "each row is one rating, by these columns; add --ratings or --positions, and --items"
    add("--long", nargs=3, type=plain, metavar=("PERSON", "ITEM", "VALUE"), help=about)
    about = (
        "each row is one comparison of two items, by these columns; the first one won, or OUTCOME holds the winner or "
        "the name of its column; needs --items, and --person or --row-is-person"
    )
    columns: dict[str, Any] = {"nargs": "+", "type": plain, "action": Columns}
    layouts.add_argument("--comparisons", metavar=("FIRST SECOND", "OUTCOME"), help=about, **columns)
    about = (
        'columns of choices, best first: "Rank 1,Rank 2", the first and the last as "Rank 1..Rank 5", or "Rank *" with '
        "* for the number; needs --items"
    )
    layouts.add_argument("--choices", metavar="A,B,C", help=about)
    about = "names of the items, with commas between, or @FILE with one name a line"
    about += "; all: every column that no other option names; private: names that the ballots hold, if no list is "
    about += "public; rank then publishes only names that many persons list; needs --max-listed"
    add("--items", type=names_or_file, help=about)
    add("--ties", metavar="A,B,C", help=f"words of OUTCOME that mean a tie; default: {','.join(TIES)}")
    add("--scale", metavar="WORST,...,BEST", help="public answers in words for --ratings, such as bad,fair,good")
    add("--no-answer", metavar="A,B,C", help='answers that count as empty cells, such as "no idea,99"; they are public')
    add("--separator", help="what stands between the cells; default: a comma, in .tsv files a tab")
    add("--decimal", choices=[".", ","], help="decimal mark of numbers; default: a point")
    about = "encoding of a CSV file, such as cp1252 (Excel in Western Europe); default: utf-8, or utf-16 with its mark"
    add("--encoding", type=encoding, help=about)
    add("--sheet", metavar="NAME", help="sheet of an Excel file with several sheets")
    about = "numbers of rows that are neither names nor ballots, such as titles above the names: 1,2"
    add("--skip-rows", action=Several, one=row_number, metavar="N", help=about)
    about = (
        "items left out: last, as on ballots of elections, or without an opinion; --positions needs it; default: "
        "no_opinion with --ratings, else last"
    )
    add("--unranked", choices=["last", "no_opinion"], help=about)
    about = "rows that cannot be read: an error (the default), or empty, which counts them as ballots without opinions"
    add("--unreadable", choices=["error", "empty"], default="error", help=about)
    about = (
        "With --person, a guarantee covers all rows of a person. Persons are compared as text: Ann and ann are two. "
        "Without --weight, a row has the weight 1. The weights of a person are scaled down to --max-weight, and noise "
        "is proportional to it."
    )
    add = added.add_argument_group("persons and weights", about).add_argument
    add("--person", type=plain, metavar="COLUMN", help="column of the person of each row")
    about = "for --comparisons: each row is of another person, and the guarantee protects one comparison"
    add("--row-is-person", action="store_const", const=True, help=about)
    add("--weight", type=plain, metavar="COLUMN", help="column with the weight of each row; needs --max-weight")
    about = "column with the number of persons of each row, if equal ballots are one row; the number of the column in "
    add("--count", type=plain, metavar="COLUMN", help=f"{about}files of --orders; each person is protected alone")
    about = 'public bound on the weight of a person; default: 1; "auto": rank chooses 1, 2, 4, ..., or 2048 privately, '
    add("--max-weight", type=number_or_auto, help=f"{about}which needs Gaussian noise; not for --comparisons")
    about = "public bound on the number of items that a ballot lists, which lowers the noise; longer ballots count less"
    add("--max-listed", type=int, metavar="K", help=about)
    about = "For --orders and --choices. Each rule looks at one ballot only, and no row is removed."
    add = added.add_argument_group("rules of ballots", about).add_argument
    about = (
        "an item that a ballot lists twice: its first rank counts (the default), or drop: the ballot has no opinions"
    )
    add("--repeated", choices=["first", "drop", "error"], help=about)
    about = (
        "several items in one rank, as A=B or {A,B}, or the word overvote: tie these items (the default), skip the "
        "rank, or end the ballot before it"
    )
    add("--overvote", choices=["tie", "skip", "end", "error"], help=about)
    about = (
        "empty ranks, or the words undervote, skipped and those of --no-answer: later items move up (the default), or "
        "end the ballot at 1 or 2 in a row"
    )
    add("--skipped", choices=["close", "1", "2"], help=about)
    about = "names that --items does not list, such as write-ins: an error (the default), or left out"
    add("--other-items", choices=["error", "drop"], help=about)
    about = 'what stands between the items, if one cell lists them all, such as ">" or ";"'
    add("--list-separator", metavar="TEXT", help=about)


RULES = ("repeated", "overvote", "skipped", "other_items", "list_separator")
#: Forms of files that options name, and the options that each does not take.
FORMS = {
    "long": ("person", "weight", "max_weight", "unranked", "row_is_person", "ties", "count", *RULES),
    "comparisons": ("scale", "weight", "max_listed", "unranked", "count", *RULES),
    "choices": ("row_is_person", "ties"),
}
NOT_TAKEN = {**FORMS, "orders": FORMS["choices"]}  # other layouts take no rules either


def form(options: argparse.Namespace) -> str | None:
    """Return "long", "comparisons" or "choices", else the layout, None if it is not stated."""
    return next((name for name in FORMS if getattr(options, name)), options.layout)


def given(options: argparse.Namespace, *others: str) -> list[str]:
    """Return the given options that describe a file, and those of the others that are given."""
    names = (
        *FORMS,
        "ties",
        "row_is_person",
        "items",
        "scale",
        "no_answer",
        "separator",
        "decimal",
        "encoding",
        "sheet",
        "skip_rows",
        "unranked",
        "person",
        "weight",
        "max_weight",
        "max_listed",
        "count",
        *RULES,
        *others,
    )
    found = [options.layout, *(name for name in names if getattr(options, name) is not None)]
    found += ["unreadable"] if options.unreadable != "error" else []
    return [f"--{name.replace('_', '-')}" for name in found if name]


def unranked(options: argparse.Namespace) -> Literal["no_opinion", "last", "no_score"]:
    """Return the meaning of left-out items: ``--unranked``, or the default of the layout; ballots never change it."""
    if options.items == "private" or getattr(options, "estimator", None) == "DPPositionalRule":
        return "no_score"
    return options.unranked or ("last" if form(options) in ("orders", "choices", None) else "no_opinion")


def own_columns(options: argparse.Namespace) -> tuple[str | None, ...]:
    """Return the columns that options name as something else than items, None for each option that is not given."""
    return getattr(options, "segments", None), options.person, options.weight, options.count
