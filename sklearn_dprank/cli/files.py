"""Readers of ballot files: options, headers, cells and layouts."""

from __future__ import annotations

import argparse
import csv
import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._utils.checks import safe_repr
from ..ballots.long import MARKS, TIES, counted_ranks, positions_of
from ..ballots.profile import Profile
from ..ballots.reading import checked_name, checked_names, long_form, normal
from ..preprocessing import RatingsToRankings, unranked_last
from .printing import STANDARD_INPUT, own_words, tell, why
from .tables import (
    NOT_PUBLIC,
    NUMBER,
    Rows,
    Unreadable,
    called,
    encoding,
    ending,
    is_no_name,
    joined,
    open_rows,
    plain,
    to_copy,
)

# Options.


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


_RULES = ("repeated", "overvote", "skipped", "other_items", "list_separator")
#: Forms of files that options name, and the options that each does not take.
_FORMS = {
    "long": ("person", "weight", "max_weight", "unranked", "row_is_person", "ties", "count", *_RULES),
    "comparisons": ("scale", "weight", "max_listed", "unranked", "count", *_RULES),
    "choices": ("row_is_person", "ties"),
}
_NOT_TAKEN = {**_FORMS, "orders": _FORMS["choices"]}  # other layouts take no rules either


def form(options: argparse.Namespace) -> str | None:
    """Return "long", "comparisons" or "choices", else the layout, None if it is not stated."""
    return next((name for name in _FORMS if getattr(options, name)), options.layout)


def given(options: argparse.Namespace, *others: str) -> list[str]:
    """Return the given options that describe a file, and those of the others that are given."""
    names = (
        *_FORMS,
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
        *_RULES,
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


# Names of columns, and lists of names in options.


def listed(names: str, option: str) -> list[Any]:
    """Return the names that an option lists, which must be distinct; a name that contains a comma is in quotes."""
    try:
        found = [plain(name) for name in next(csv.reader([names], skipinitialspace=True), [])]
    except csv.Error as error:
        raise ValueError(f"{option} must list names with commas between; it cannot be read ({error}).") from None
    if "" in found or not found:
        raise ValueError(f"{option} has an empty name; leave it out.")
    return checked_names(found, option)


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


def _place_of(option, name, places, names):
    """Return the index of the column that an option names; `places` has the indices of the columns of each name."""
    found = places.get(name, [])
    if len(found) == 1:
        return found[0]
    if found:
        twice = joined(names[place] for place in found)
        raise ValueError(f"{option} {name!r} names {len(found)} columns: {twice}. List or rename one of these columns.")
    hint = f"; these are {joined(places)[:200]}."
    if any(map(is_no_name, names)):  # cells that look like those of a ballot must not be quoted
        hint = ". Correct the spelling. If other rows stand above the names, leave them out: --skip-rows 1."
    raise ValueError(f"{option} {name!r} is none of the columns{hint}")


def _choice_places(options, places, names):
    """Return the indices of the columns of ``--choices``, best first: names, ranges FIRST..LAST, patterns with *."""
    found = _span(options.choices, places, names)  # first the whole text, because names may have commas
    if found is None:
        found = []
        for entry in listed(options.choices, "--choices"):
            span = _span(entry, places, names)
            if span is None:  # raises with the names of the columns
                option = "--choices, with a number in place of *," if "*" in entry else "--choices"
                span = [_place_of(option, entry, places, names)]
            found += span
    others = _others(options)
    if len({*found}) < len(found):
        raise ValueError("--choices must name different columns, and names one twice.")
    if used := [names[place] for place in found if names[place] in others]:
        raise ValueError(
            f"--choices covers the column {safe_repr(used[0])}, which another option names; list the columns of "
            "choices with commas between."
        )
    return found


def _span(entry, places, names):
    """Return the indices of the columns that a name, a range or a pattern means, None if there are none."""
    entry = plain(entry)
    if entry in places:
        return [_place_of("--choices", entry, places, names)]
    for dots in re.finditer(r"\.\.", entry):
        ends = plain(entry[: dots.start()]), plain(entry[dots.end() :])
        if all(end in places for end in ends):
            first, last = (_place_of("--choices", end, places, names) for end in ends)
            if last < first:
                raise ValueError(f"--choices {entry!r} must name the left column first; swap both names.")
            return [*range(first, last + 1)]
    if entry.count("*") != 1:
        return None
    before, after = map(re.escape, entry.split("*"))
    pattern = re.compile(before + r"(\d+)(" + (after or r"(?:\D.*)?") + ")", re.ASCII)
    matches = {place: found for place, name in enumerate(names) if (found := pattern.fullmatch(name))}
    numbers = [int(found[1]) for found in matches.values()]
    if len({*numbers}) < len(numbers):
        one = names[next(iter(matches))]
        exact = f"{entry.partition('*')[0]}*{next(iter(matches.values()))[2]}"
        raise ValueError(
            f"--choices {entry!r} finds several columns with one number. Write what stands behind the number, as in "
            f"--choices {shlex.quote(exact)} for {one!r}."
        )
    return sorted(matches, key=lambda place: int(matches[place][1])) or None


# Header rows of tables, with those of survey tools, and short names of items that one question asks about.

_QUALTRICS = {  # two of these names in the first row announce two more header rows
    *("StartDate", "EndDate", "RecordedDate", "ResponseId", "DistributionChannel", "UserLanguage"),
    *("startDate", "endDate", "recordedDate", "_recordId", "distributionChannel", "userLanguage"),
    "Duration (in seconds)",
}
_SURVEYMONKEY = {  # the first two announce one more header row; here and below, names are as `_letters` returns them
    *("respondentid", "collectorid", "startdate", "enddate", "ipaddress", "emailaddress", "firstname", "lastname"),
    *("customdata", "datecreated", "datemodified"),
}
_LIMESURVEY = {"lastpage", "startlanguage", "seed"}  # two of these announce the others
_LIMESURVEY_TOO = {
    *("id", "responseid", "submitdate", "datesubmitted", "startdate", "datestarted", "datestamp", "datelastaction"),
    *("ipaddr", "ipaddress", "refurl", "referrerurl", "token", "accesscode", "interviewtime", "totaltime"),
}
_CODE = re.compile(r"\w+(\[\w+\])?\. ")  # of a question of LimeSurvey, before its text
_QUESTION = re.compile(r"(.*QID.*)_\d+", re.ASCII)  # ImportId of one item, with that of its question
_GRID = re.compile(r"(.+?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")  # question [item], of Google Forms
_TIMESTAMPS = {  # the first column of Google Forms, in the language of the form
    *("Timestamp", "Zeitstempel", "Horodateur", "Marca temporal", "Carimbo de data/hora", "Informazioni cronologiche"),
    *("Tijdstempel", "Sygnatura czasowa", "Отметка времени", "Tidstämpel", "Aikaleima", "Časová značka"),
    *("Zaman damgası", "タイムスタンプ", "时间戳记", "時間戳記", "타임스탬프"),
}
_WHO = ("user", "voter", "person", "respondent", "participant", "customer")
_NO_ITEMS = {
    *("#", "no.", "id", "index", "timestamp", "wave", "weight", "designweight", "sampleweight", "collectorid"),
    *("completiontime", "lastmodifiedtime", "durationinseconds", "finished", "lastpage", "progress", "responseid"),
    *("respondentid", "email", "nr", "lfdnr"),
    *("emailaddress", "ipaddress", "startdate", "starttime", "enddate", *_WHO, *(f"{who}id" for who in _WHO)),
    *("submitdate", "startlanguage", "date", "datum", "name", "firstname", "lastname", "vorname", "nachname", "e-mail"),
    *("age", "alter", "gender", "sex", "geschlecht", "total", "sum", "summe", "count", "counts", "anzahl", "gewicht"),
    *("mean", "average", "median", "mittelwert", "durchschnitt", "comment", "comments", "kommentar", "kommentare"),
    *("bemerkung", "bemerkungen", "anmerkung", "anmerkungen", "remark", "remarks", "notes", "feedback"),
    *("commentaire", "commentaires", "comentario", "comentarios"),
}
_ROW_NUMBERS = re.compile(r"Unnamed: \d+")  # pandas' name of a column without a name


def _letters(name):
    """Return the letters of a name in lower case."""
    return re.sub(r"[\W\d_]", "", name.lower())


@dataclass(frozen=True)
class Header:
    """Names of the columns of a table, and the question and the item of each; one item has an empty question."""

    names: list[str]
    parts: dict[str, tuple[str, str]]
    no_items: frozenset[str] = frozenset()  # columns of a survey tool, which are not items unless they are listed

    def places(self, others: Collection[str | None] = ()) -> dict[str, list[int]]:
        """Return the indices of the columns of each item and name, without `others`; names count before items."""
        by_item, by_name = defaultdict(list), defaultdict(list)
        for place, name in enumerate(self.names):
            if name not in others:
                by_name[name].append(place)
                if name not in self.no_items:
                    by_item[self.parts[name][1]].append(place)
        return {**by_item, **by_name}

    def items(self, others: Collection[str | None], wanted: str | None) -> tuple[list[Any], list[int]]:
        """Return the names of the items and the indices of their columns, without the columns of other options.

        They are those in `wanted`, or without it those of all columns if none looks like something else. If one
        question asks about all of them, the items have the short names.
        """
        if wanted is None:
            chosen = None
            skipped = self.no_items.union(others)
            columns = [place for place, name in enumerate(self.names) if name not in skipped]
            self._check_items(columns)
        else:
            chosen, places = listed(wanted, "--items"), self.places(others)
            columns = [_place_of("--items", item, places, self.names) for item in chosen]
            if len(set(columns)) < len(columns):
                raise ValueError("--items lists a column twice, by its name and by that of the item; leave one out.")
        names = [self.names[place] for place in columns]
        items = [self.parts[name][1] for name in names]
        is_one_question = len({self.parts[name][0] for name in names}) == 1 and all(items)
        # The words of --items count, unless they are the long names of one question.
        if chosen not in (None, names) or not is_one_question or len(set(items)) < len(items):
            items = chosen or names
        return checked_names(items, "--items" if wanted else "the first row"), columns

    def is_grid(self, columns: list[int]) -> bool:
        """Return whether one question asks about all these columns, so that they are items."""
        return len(asked := {self.parts[self.names[place]][0] for place in columns}) == 1 and asked != {""}

    def likely_items(self, columns: list[int]) -> tuple[list[str], list[str]]:
        """Return the names of those columns that may be items, short ones if they are clear, and what the others are.

        The names alone decide. If one question asks about several items, only these may be items.
        """
        questions, places, problems, others, same = defaultdict(list), self.places(), [], [], []
        for place in columns:
            name = self.names[place]
            if not name or _ROW_NUMBERS.fullmatch(name):
                problems.append(f"column {place + 1} has no name")
            elif len(places[name]) > 1:
                same += [" and ".join(str(each + 1) for each in places[name])] * (place == places[name][0])
            elif _NO_ITEMS.union(map(str.lower, _TIMESTAMPS)).intersection([name.lower(), _letters(name)]):
                others.append(name)
            else:
                questions[self.parts[name][0]].append(name)
        if same:
            more = ", and others," * (len(same) > 3)
            problems.append(f"columns {', '.join(same[:3])}{more} have the same name; rename one of them to rank both")
        if others:
            one = len(others) == 1
            shown = " and ".join(map(safe_repr, others))
            problems.append(
                f"column{'s' * (not one)} {shown} do{'es' * one} not look like {'an item' if one else 'items'}"
            )
        longest = max((questions[asked] for asked in questions if asked), key=len, default=[])
        if len(questions) > 1 < len(longest):
            problems.append("the columns are of several questions")
        else:
            longest = [name for names in questions.values() for name in names]
        short = [self.parts[name][1] for name in longest]
        return short if all(len(places[name]) == 1 for name in short) else longest, problems

    def _check_items(self, columns):
        """Raise ValueError unless all these columns are items, and of one question if any asks about several items."""
        names, problems = self.likely_items(columns)
        if not problems:
            return
        rest = [name for name in self.names if name and not _ROW_NUMBERS.fullmatch(name)]
        is_safe = to_copy("", rest) and len(rest) >= len(self.names) - 1
        copied = to_copy("--items", names) if is_safe else ""
        option = f"Copy this, and correct it: {copied}" if copied else "List the items with --items"
        if any("no name" in each or "same name" in each for each in problems):
            option += ". If rows such as titles stand above the names, leave them out with --skip-rows 1"
        if any("look like" in each for each in problems):
            option += (
                ". If a column identifies the voter, name it with --person, and if it holds weights, with --weight. If "
                "a row is one rating or comparison, use --long or --comparisons"
            )
        raise ValueError(f"{'. '.join(problems)}. {option}.")


_CHOICE = re.compile(
    r"(?:rank|choice|preference|pick|top)[ _-]?(\d+)(?: of \d+)?|(\d+)(?:st|nd|rd|th)[ _-]choice", re.I
)
#: One choice in a contest, as in "DEM Mayor Choice 1 of 5 Citywide".
_CONTEST = re.compile(r"(.*\b(?:rank|choice|preference)[ _-]?)(\d+)( of \d+\b.*)", re.I)
_COUNTS = {"count", "counts", "n_votes", "number of votes", "voters", "n_voters", "frequency"}
_JUDGES = {*_WHO, *(f"{who}id" for who in _WHO), "judge", "judgeid", "annotator", "rater", "raterid"}


def _check_form(options, names):
    """Raise ValueError with the whole command if names of columns are those of long data or of choices.

    Names choose the command that is shown, and nothing else.
    """
    numbered = {found[0]: int(found[1] or found[2]) for found in map(_CHOICE.fullmatch, names) if found}
    choices = sorted(numbered, key=lambda name: numbered[name])
    shown = joined(choices) if choices else ""
    if not choices and (contests := Counter(f"{each[1]}*{each[3]}" for each in map(_CONTEST.fullmatch, names) if each)):
        shown = contests.most_common(1)[0][0]  # the first contest, by a pattern
        choices = [name for name in names if (found := _CONTEST.fullmatch(name)) and f"{found[1]}*{found[3]}" == shown]
    form, columns, direction = long_form(names) or ("choices", choices, "")
    if len(columns) < 2 or getattr(options, "segments", None) or {options.person, options.weight}.intersection(choices):
        return
    added = [f"--{form}", shown] if form == "choices" else [f"--{form}", *columns]
    if form == "choices" and options.count is None and options.person is None:
        added += [word for name in names if name.lower() in _COUNTS for word in ("--count", name)][:2]
    added += [f"--{direction}s"] if direction and options.layout is None else []
    row = {"long": "one rating", "comparisons": "one comparison", "choices": "one list of choices"}[form]
    if form == "comparisons" and options.person is None:
        who = next((name for name in names if re.sub("[^a-z]", "", name.lower()) in _JUDGES), None)
        added += ["--row-is-person"] if who is None else ["--person", who]
    if form != "choices" and options.command == "rank" and not options.estimator and not options.top:
        added += ["--estimator", "DPBorda"] if options.noise else []
    # All words that were typed, without options that the form does not take.
    dropped = {f"--{name.replace('_', '-')}" for name in (*_FORMS[form], *(["scale"] if form == "choices" else []))}
    kept: list[str] = []
    typed = iter(getattr(options, "words", ["rank", str(options.file), f"--{options.layout}"]))
    for word in typed:
        if word in dropped:
            next(typed)
        elif form == "long" or not any(
            len(word) > 3 and f"--{name}".startswith(word) for name in ("ratings", "positions")
        ):
            kept += [] if word.partition("=")[0] in dropped else [word]
    note = " --row-is-person states that each row is of another person; else name the --person." * (
        "--row-is-person" in added
    )
    note += " --count states that a row is of so many voters; leave it out if it is not." * ("--count" in added)
    raise ValueError(
        f"{called(options.file)} has {row} a row, by the names of its columns. If these are items, add --items all. "
        f"Else write the names of all items into items.txt, one a line.{note} Then run: "
        f"{shlex.join(['dprank', *kept, *added, '--items', '@items.txt'])}"
    )


def _unconfirmed(file, names):
    """Return the message about columns that nobody called items."""
    copied = to_copy("--items", names)  # or they may be a ballot
    option = (
        f"Copy this, and drop what is not an item: {copied}"
        if copied
        else "List them with --items, separated by commas"
    )
    return (
        f"say which of the {len(names)} columns of {file} are items. {option}. If all are, add --items all. If a "
        "row is one rating, one comparison or a list of choices, use --long, --comparisons or --choices. If the first "
        "row is a ballot, put a row of names before it."
    )


class _NoNames(ValueError):
    """The first row of a file does not name two columns."""


def header(rows: Rows, options: argparse.Namespace) -> tuple[Header, int]:
    """Return the header of a file, and the number of lines that it takes.

    The names alone decide how many rows the header has, so that no ballot affects how others are read.
    """
    try:
        (names,), n_lines = rows.names(1)
    except (StopIteration, ValueError, csv.Error):
        names, n_lines = [], 0
    names = [plain(re.sub(r"\s*\n\s*", " ", name)) for name in names]
    if len([*filter(None, names)]) < 2:
        raise _NoNames(_no_names(rows, options))
    letters = [_letters(name.partition(". ")[0] if _CODE.match(name) else name) for name in names]
    if {"respondentid", "collectorid"} <= {*letters} and rows.can_skip:
        return _from_surveymonkey(rows, names, [each in _SURVEYMONKEY for each in letters])
    own_names = [name for name in names if name in _QUALTRICS]
    if len(set(own_names)) >= 2 and rows.can_skip:
        return _from_qualtrics(rows, names, own_names)
    parts = {name: ("", name) for name in names}
    no_items = rows.no_items | frozenset(names[:1]) & _TIMESTAMPS
    is_limesurvey = len(_LIMESURVEY.intersection(letters)) >= 2
    if is_limesurvey:
        own = _LIMESURVEY | _LIMESURVEY_TOO
        no_items |= {name for name, each in zip(names, letters, strict=True) if each in own}
    for name in names:
        text = _CODE.sub("", name, count=1) if is_limesurvey else name
        if grid := _GRID.fullmatch(text):
            parts[name] = (grid[1].strip(), grid[2].strip())
    return Header(names, parts, no_items), n_lines


def _from_surveymonkey(rows, names, is_own):
    """Return the header of an export of SurveyMonkey: a row of questions, blank if repeated, and a row of items."""
    try:
        (above, below), n_lines = rows.names(2)
        if rows.delimiter is None:  # the first row of a sheet may end with blanks
            blank = len(above) - len(names)
            names, is_own = names + [""] * blank, is_own + [False] * blank
        if any(below[place] for place in np.flatnonzero(is_own)) or len(below) != len(names):
            raise ValueError
    except (StopIteration, ValueError, IndexError, csv.Error):
        raise ValueError(
            f"{rows.file} has columns of SurveyMonkey (Respondent ID, Collector ID), but its second row does not hold "
            "the items of each question. Export all responses again, or delete these columns and all header rows but "
            "the first."
        ) from None
    asked, found, parts = "", [], {}
    for name, item, own in zip(names, map(plain, below), is_own, strict=True):
        asked = name or asked
        is_item = not own and item and item not in ("Response", "Open-Ended Response")
        found.append(f"{asked} [{item}]" if is_item else name)
        parts[found[-1]] = (asked, item) if is_item else ("", name)
    return Header(found, parts, frozenset(name for name, own in zip(found, is_own, strict=True) if own)), n_lines


def _from_qualtrics(rows, names, own_names):
    """Return the header of an export of Qualtrics: names, texts of questions, and ImportIds."""
    try:
        (_, texts, cells), n_lines = rows.names(3)
        columns = [*zip(names, texts, [str(json.loads(cell)["ImportId"]) for cell in cells], strict=True)]
    except (StopIteration, csv.Error, ValueError, LookupError, TypeError, RecursionError):
        raise ValueError(
            f"{rows.file} has columns of Qualtrics ({', '.join(own_names)}), but its third row does not hold an "
            "ImportId for each column. Export it again as CSV, or delete these columns and all header rows but the "
            "first."
        ) from None
    parts = {name: ("", name) for name in names}
    questions: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for name, text, own in columns:
        if matched := _QUESTION.fullmatch(own):
            questions[matched[1]][name] = " ".join(normal(text).split()).split(" - ")
    for question, texts_of in questions.items():  # texts are "question - item", and both may hold " - "
        starts = zip(*(text[:-1] for text in texts_of.values()), strict=False)
        shared = len([*takewhile(lambda part: len(set(part)) == 1, starts)])
        parts |= {name: (question, " - ".join(text[shared:]) if shared else name) for name, text in texts_of.items()}
    return Header(names, parts, frozenset(name for name, _, own in columns if "QID" not in own)), n_lines


def _no_names(rows, options):
    """Return the message about a first row that does not name two columns, with the command that reads the names."""
    problems, added, between = [], [], rows.delimiter
    first = rows.rows[:20]
    with suppress(UnicodeError):
        if between and first and options.encoding is None and re.search("[\udc80-\udcff]", first[0]):
            first = [line.encode("utf-8", "surrogateescape").decode("cp1252") for line in first]
            problems, added = ["it is not UTF-8 text"], ["--encoding", "cp1252"]
    place, names = 0, []
    for place in range(len(first)):
        row = first[place]
        if rows.delimiter:
            between = next((each for each in (rows.delimiter, *";\t|,") if each in row), rows.delimiter)
            with suppress(csv.Error):
                row = next(csv.reader([row], delimiter=between))
        if len([*filter(None, row)]) > 1:
            names = [plain(name) for name in row]
            break
    answers = {_answer(word) for text in (options.scale, options.no_answer) if text for word in text.split(",")}
    if any(is_no_name(name) for name in names[1:]) or answers.intersection(map(_answer, names)):
        names = []  # it may be a ballot
    if names and between != rows.delimiter:
        known = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
        problems.append(f"{known[between]} stand between its cells")
        added += ["--separator", "tab" if between == "\t" else between]
        if between == ";" and options.decimal is None:
            problems.append("such files often have decimal commas (else leave out --decimal)")
            added += ["--decimal", ","]
    if names and place:
        problems.append(f"{'another row stands' if place == 1 else 'other rows stand'} above the names")
        added += ["--skip-rows", ",".join(map(str, sorted({*(options.skip_rows or ()), *rows.lines[:place]})))]
    elif names and options.layout in ("ratings", "positions") and form(options) == options.layout:
        others = _others(options)
        found = Header(names, {name: ("", name) for name in names})
        items, strange = found.likely_items([place for place, name in enumerate(names) if name not in others])
        if (options.items is None or (options.items == "all" and strange)) and to_copy("--items", items):
            added += ["--items", joined(items)]
            problems.append("drop from --items what is not an item")
    if not names or not added:
        separators = (
            "; if cells are separated by something else than commas, say so: --separator ';' or --separator tab"
        )
        return (
            f"{rows.file} must have a first row with the names of at least two items, and a row a voter"
            f"{separators * bool(rows.delimiter)}."
        )
    words = getattr(options, "words", None) or ["rank", str(options.file), f"--{options.layout}"]
    return (
        f"the first row of {rows.file} cannot be read as names of columns: {'; '.join(problems)}. Then run: "
        f"{shlex.join(['dprank', *words, *added])}"
    )


# Cells of text.

GAPS = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"}  # as pandas reads text
_MOST_VOTERS = 1e8  # of one row, and of lists, which are repeated
_LARGEST = 1e300  # limit of a cell, because the ratings of one person are added up
_COMMA_TO_POINT = str.maketrans(",.", ".,")


def _answer(text):
    """Return an answer in words without differences of case, blanks and apostrophes."""
    return " ".join(normal(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split()).casefold()


def _code(text):
    """Return a cell in the form in which cells are compared with ``--no-answer``: 99 is the same as 99.0."""
    return float(text) if NUMBER.fullmatch(text) else _answer(text)


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
        elif scale is not None and (answer := _answer(text)) in scale:
            known[text] = scale[answer]
        elif text.strip() in GAPS:
            known[text] = np.nan
        elif scale is None and text in ("False", "True"):
            known[text] = float(text == "True")
        elif scale is None and NUMBER.fullmatch(number) and abs(float(number)) <= _LARGEST:
            known[text] = float(number)
    return np.array([known[text] for text in cells], dtype=float)


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
        if options.items is None:
            with suppress(_NoNames):  # such as a file of orders
                _check_form(options, header(open_rows(options), options)[0].names)
        raise ValueError(
            f"the layout of {called(path)} is not stated. Add --ratings (larger is better), --positions (smaller is "
            "better) or --orders (items, best first). For one rating a row, use --long; for one comparison, "
            "--comparisons; for columns of choices, --choices."
        )
    refused = _NOT_TAKEN.get(str(form(options)), ("row_is_person", "ties", *_RULES))
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
            _chosen_items(header(open_rows(options), options)[0], options)
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
    answers = [_answer(text) for text in listed(options.scale, "--scale")]
    if len(set(answers)) < max(len(answers), 2):
        raise ValueError("--scale must list at least two answers, the worst first, that differ not only in case.")
    return {text: float(place) for place, text in enumerate(answers)}


def _others(options):
    """Return the columns that options name as something else than items, None for each option that is not given."""
    return getattr(options, "segments", None), options.person, options.weight, options.count


def _chosen_items(head, options):
    """Return the names of the items of a table and the indices of their columns; the names of all columns decide."""
    if options.items is None:
        _check_form(options, head.names)
    items, columns = head.items(_others(options), None if options.items == "all" else options.items)
    if options.items is None and not head.is_grid(columns):
        raise ValueError(_unconfirmed(called(options.file), [head.names[place] for place in columns]))
    return items, columns


def _cells(options, unreadable, ids, answers, items=()):
    """Return the header and the cells of a table, whose names are none of these answers and items.

    The first row may be a ballot, whose cells would be published as names and not counted.
    """
    rows = open_rows(options, ids)
    head, n_lines = header(rows, options)
    cells = rows.table(unreadable, n_lines, len(head.names))
    others = _others(options)
    if set(items).intersection(head.names):
        raise ValueError(
            f"the first row of {unreadable.file} must name the columns, but it holds items of --items. If it is a "
            "ballot, put a row of names before it; else rename the columns."
        )
    is_ballot = any(_answer(name) in answers for name in head.names)
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
    columns = _choice_places(options, places, head.names) if options.choices else []
    if options.list_separator is not None and len(columns) > 1:
        raise ValueError("--list-separator is for one column with whole lists; name one column with --choices.")
    if column is not None:
        segments = [plain(cell) for cell in cells[:, _place_of("--segments", column, places, head.names)]]
    if options.weight is not None:
        weights = _numbers(cells[:, _place_of("--weight", options.weight, places, head.names)], decimal=options.decimal)
        wrong = ~((weights >= 0) & (weights < np.inf))
        weights[wrong] = 0.0
        must = f"hold weights of at least 0, and no empty cells. {_decimals(options)}"
        unreadable.add(np.flatnonzero(wrong).tolist(), f"column {safe_repr(options.weight)} must {must}")
    if options.count is not None:
        at = _place_of("--count", options.count, places, head.names)
        counts = _counts(cells[:, at], f"column {safe_repr(options.count)}", options.decimal, unreadable)
    if options.person is not None:
        persons = [cell.strip() for cell in cells[:, _place_of("--person", options.person, places, head.names)]]
        weights = np.ones(len(cells)) if weights is None else weights
        nobody = [row for row, person in enumerate(persons) if not person]
        unreadable.add(nobody, f"column {options.person!r} has an empty cell; fill it, or drop the row.")
        for row in nobody:
            persons[row], weights[row] = f"\0{row}", 0.0  # no weight, because many such rows may be of one person
    if options.choices:
        values = _ranked(cells[:, columns], names, codes, unreadable, options)
        return values, names, persons, weights, segments, counts
    items, columns = _chosen_items(head, options)
    values = np.empty((len(cells), len(columns)))
    must = (
        "answers of --scale, or empty cells, which mean no opinion."
        if scale
        else f"numbers (up to {_LARGEST:g}), or empty cells. {_decimals(options)} For answers in words, use "
        f"{'--ratings with ' * (options.layout != 'ratings')}--scale."
    )
    for item, place in enumerate(columns):
        values[:, item] = _numbers(cells[:, place], scale, codes, options.decimal)
        rest = to_copy("--items", [*items[:item], *items[item + 1 :]]) or "--items"
        shown = place + 1 if is_no_name(head.names[place]) else safe_repr(head.names[place])
        unreadable.add(
            np.flatnonzero(np.isinf(values[:, item])).tolist(),
            f'column {shown} must hold {must} List answers such as "do not know" in --no-answer. If the column is not '
            f"an item, list the items: {rest}. If it is the voter's, use --person. If each line is one rating, use "
            "--long.",
        )
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
    return _ranked(map(_unbraced, rows), names, codes, unreadable, options), names, counts


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


def _ranked(rows, names, codes, unreadable, options):
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
    ballots, n_changed = [], 0
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
                [row], f"the ballot {problem}; mend it, or choose another rule with --repeated or --overvote."
            )
            counted = []
        if row not in unreadable.rows:
            n_changed += sum(map(len, counted)) < sum(map(len, ranks))
        ballots.append(counted)
    if n_changed:
        tell(
            f"{unreadable.file}: by the rules of ballots, some marks do not count in {n_changed} of {len(ballots)} "
            f"rows. This line {NOT_PUBLIC}"
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
    if (answer := _answer(name)) in MARKS:
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
    who, item, value = (cells[:, _place_of("--long", name, head.places(), head.names)] for name in named)
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
    columns = [cells[:, _place_of("--comparisons", name, places, head.names)] for name in named]
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
        table[options.person] = [*cells[:, _place_of("--person", options.person, places, head.names)]]
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
