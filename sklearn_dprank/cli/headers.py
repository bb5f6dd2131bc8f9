"""Names of columns: header rows, survey tools, and the commands that they suggest."""

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
from itertools import takewhile
from typing import Any

import numpy as np

from .._utils.checks import safe_repr
from ..ballots.reading import checked_names, long_form, normal
from .layout import FORMS, form, own_columns
from .tables import (
    LONGEST_NAME,
    NOT_PUBLIC,
    Rows,
    SeveralSheets,
    called,
    is_no_name,
    joined,
    open_rows,
    plain,
    to_copy,
)

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


def place_of(option: str, name: str, places: dict[str, list[int]], names: list[str]) -> int:
    """Return the index of the column that an option names; `places` has the indices of the columns of each name."""
    found = places.get(name, [])
    if len(found) == 1:
        return found[0]
    if found:
        twice = joined(names[place] for place in found)
        raise ValueError(f"{option} {name!r} names {len(found)} columns: {twice}. List or rename one of these columns.")
    shown = [name for at, name in enumerate(names) if len(joined(names[: at + 1])) <= 300]
    more = f" and {len(names) - len(shown)} more" * (len(shown) < len(names))
    hint = f"; these are {joined(shown)}{more}."
    if any(map(is_no_name, names)):  # cells that look like those of a ballot must not be quoted
        hint = ". Correct the spelling. If other rows stand above the names, leave them out: --skip-rows 1."
    raise ValueError(f"{option} {name!r} is none of the columns{hint}")


def choice_places(options: argparse.Namespace, places: dict[str, list[int]], names: list[str]) -> list[int]:
    """Return the indices of the columns of ``--choices``, best first: names, ranges FIRST..LAST, patterns with *."""
    found = _span(options.choices, places, names)  # first the whole text, because names may have commas
    if found is None:
        found = []
        for entry in listed(options.choices, "--choices"):
            span = _span(entry, places, names)
            if span is None:  # raises with the names of the columns
                option = "--choices, with a number in place of *," if "*" in entry else "--choices"
                span = [place_of(option, entry, places, names)]
            found += span
    others = own_columns(options)
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
        return [place_of("--choices", entry, places, names)]
    for dots in re.finditer(r"\.\.", entry):
        ends = plain(entry[: dots.start()]), plain(entry[dots.end() :])
        if all(end in places for end in ends):
            first, last = (place_of("--choices", end, places, names) for end in ends)
            if last < first:
                raise ValueError(f"--choices {entry!r} must name the left column first; swap both names.")
            span, (low, high) = [*range(first, last + 1)], (_numbered(names[end]) for end in (first, last))
            between = sorted((each, at) for at, each in enumerate(map(_numbered, names)) if low <= each <= high)
            if low[0] == high[0] and [at for _, at in between] != span:  # such as Rank 1, Rank 10, Rank 2
                raise ValueError(
                    f"--choices {entry!r} covers columns that are not numbered one after the other; write * in place "
                    "of the number, or list the columns with commas between."
                )
            return span
    if "*" not in entry:
        return None
    before, *after = map(re.escape, entry.split("*"))  # each * is the same number
    pattern = re.compile(before + r"(\d+)(" + (r"\1".join(after) or r"(?:\D.*)?") + ")", re.ASCII)
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


def _numbered(name):
    """Return a name with * for each number, and its numbers."""
    return re.sub(r"\d+", "*", name), [*map(int, re.findall(r"\d+", name))]


def as_answer(text: str) -> str:
    """Return an answer in words without differences of case, blanks and apostrophes."""
    return " ".join(normal(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split()).casefold()


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
_COUNTS = {"count", "counts", "anzahl", "votes", "stimmen", "voters", "numberofvotes", "numberofvoters", "nvotes"}
_COUNTS |= {"nvoters", "frequency", "freq"}
_WEIGHTS = {"weight", "weights", "designweight", "sampleweight", "gewicht", "gewichtung"}
_NO_ITEMS = {
    *("#", "no.", "id", "index", "timestamp", "wave", "collectorid", *_COUNTS, *_WEIGHTS),
    *("completiontime", "lastmodifiedtime", "durationinseconds", "finished", "lastpage", "progress", "responseid"),
    *("respondentid", "email", "nr", "lfdnr", "caseid", "recordid", "voterid", "ballotid", "ballot", "rowid", "userid"),
    *("code", "respnum", "respid", "serial", "precinct", "case", "yearofbirth", "birthyear", "geburtsjahr"),
    *("emailaddress", "ipaddress", "startdate", "starttime", "enddate", *_WHO, *(f"{who}id" for who in _WHO)),
    *("submitdate", "startlanguage", "date", "datum", "name", "firstname", "lastname", "vorname", "nachname", "e-mail"),
    *("age", "alter", "gender", "sex", "geschlecht", "total", "sum", "summe"),
    *("mean", "average", "median", "mittelwert", "durchschnitt", "comment", "comments", "kommentar", "kommentare"),
    *("bemerkung", "bemerkungen", "anmerkung", "anmerkungen", "remark", "remarks", "notes", "feedback"),
    *("commentaire", "commentaires", "comentario", "comentarios"),
}
_MAY_BE_ITEMS = {  # attributes, features, channels, groups and fruit; such a name may stand in a ballot
    *(
        "index",
        "wave",
        "weight",
        "weights",
        "gewicht",
        "gewichtung",
        "progress",
        "finished",
        "email",
        "e-mail",
        "user",
        "person",
        "customer",
    ),
    *("date", "datum", "age", "alter", "gender", "sex", "geschlecht", "total", "sum", "summe", "comments", "notes"),
    *("feedback", "code", "serial", "case", "precinct"),
}
_ROW_NUMBERS = re.compile(r"Unnamed: \d+")  # pandas' name of a column without a name


def _letters(name):
    """Return the letters of a name in lower case."""
    return re.sub(r"[\W\d_]", "", name.lower())


def _first_of(words, names):
    """Return the first name that is one of these words, apart from case, blanks and marks; None if there is none."""
    return next((name for name in names if words & {name.lower(), re.sub(r"[\W_]", "", name.lower())}), None)


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
            columns = [place_of("--items", item, places, self.names) for item in chosen]
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
        is_one_question = len({self.parts[name][0] for name in longest}) == 1  # else brackets may be of the item
        return short if is_one_question and all(len(places[name]) == 1 for name in short) else longest, problems

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
                ". If a column identifies the voter, name it with --person, if it holds weights, with --weight, and if "
                "it holds numbers of voters, with --count. If a row is one rating or comparison, use --long or "
                "--comparisons"
            )
        raise ValueError(f"{'. '.join(problems)}. {option}.")


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_RANK = "ranking|rank|choice|preference|pick|top|rang|platz|wahl|choix"
_CHOICE = re.compile(
    rf"(?:{_RANK})[ _-]?(\d+)(?: of \d+)?|(\d+)(?:st|nd|rd|th|er|[eè]me|e|\.)?[ _-]?(?:{_RANK})|(\d+)(?:st|nd|rd|th)",
    re.I | re.ASCII,
)
#: One choice in a contest, as in "DEM Mayor Choice 1 of 5 Citywide" and "Rep. to Congress 1st Choice District 2".
_CONTEST = re.compile(rf"(.*\b(?:{_RANK})[ _-]?)(\d+)((?!\d).*)", re.I | re.ASCII)
_ORDINAL_CONTEST = re.compile(rf"(.*?)\b(\d+)(?:st|nd|rd|th)( (?:{_RANK})\b.*)", re.I | re.ASCII)
_JUDGES = {*_WHO, *(f"{who}id" for who in _WHO), "judge", "judgeid", "annotator", "rater", "raterid"}
_JUDGES |= {"email", "emailaddress", "e-mail"}


def _choices(head):
    """Return the columns of choices, best first, the value of ``--choices``, and the number of such lists.

    They are columns, or the items of one question, that are numbered from 1, as in "Rank 1" or "2nd choice". Names
    alone decide.
    """
    found: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for name in head.names:
        asked, item = head.parts[name]
        word, _, rest = item.lower().partition(" ")
        short = f"{_ORDINALS.index(word) + 1} {rest}".strip() if word in _ORDINALS else item
        if number := _CHOICE.fullmatch(short) or (
            re.fullmatch(r"(\d+)", short, re.ASCII) if asked or word in _ORDINALS else None
        ):
            kind = re.search(_RANK, short.lower())  # Rank 1 and Choice 2 are of two lists
            found[asked, kind[0] if kind else ""].setdefault(int(next(filter(None, number.groups()))), name)
        elif contest := _CONTEST.fullmatch(name) or _ORDINAL_CONTEST.fullmatch(name):
            found[contest[1], contest[3]].setdefault(int(contest[2]), name)
    lists = [each for each in found.items() if len(each[1]) > 1 and {*each[1]} == {*range(1, len(each[1]) + 1)}]
    if not lists:
        return [], "", 0
    (before, after), numbered = max(lists, key=lambda each: len(each[1]))
    columns, places = [numbered[number] for number in sorted(numbered)], head.places()
    if columns[0] == f"{before}1{after}":  # of a contest
        return columns, f"{before}*{after}", len(lists)
    short = [head.parts[name][1] for name in columns]
    ends = short if all(len(places[name]) == 1 for name in short) else columns
    return columns, _span_of(ends, [head.names.index(name) for name in columns]), len(lists)


def _span_of(names, places):
    """Return the value of ``--choices`` for these names: a range if their columns are neighbours."""
    is_range = len(places) > 2 and places == [*range(places[0], places[0] + len(places))]
    return f"{names[0]}..{names[-1]}" if is_range else joined(names)


def check_form(options: argparse.Namespace, head: Header) -> None:
    """Raise ValueError with the whole command if names of columns are those of long data or of choices.

    Names choose the command that is shown, and nothing else.
    """
    choices, shown, n_lists = _choices(head)
    kind, columns, direction = long_form(head.names) or ("choices", choices, "")
    if len(columns) < 2 or getattr(options, "segments", None) or {options.person, options.weight}.intersection(choices):
        return
    row = {"long": "one rating", "comparisons": "one comparison", "choices": "one list of choices"}[kind]
    added, notes, refused = [f"--{kind}", *columns], [], {*FORMS[kind]}
    if kind == "choices":
        added, notes = [f"--{kind}", shown], _other_columns(head, options)
        refused.add("scale")
        if n_lists > 1:
            notes.append(f"The command is for one of {n_lists} lists of choices; --choices names it.")
        if count := _count_of(head.names, options):
            added += ["--count", count]
            notes.append("--count states that a row is of so many voters; leave it out if it is not.")
        if "*" in shown and options.other_items is None:
            added += ["--other-items", "drop"]
            notes.append("--other-items drop leaves out write-ins and other names; leave it out to hear of them.")
    elif options.command == "rank" and not options.estimator and not options.top and options.noise:
        added += ["--estimator", "DPBorda"]
    added += [f"--{direction}s"] if direction and options.layout is None else []
    if kind == "comparisons" and options.person is None:
        who = _first_of(_JUDGES, head.names)
        added += ["--row-is-person"] if who is None else ["--person", who]
        notes += ["--row-is-person states that each row is of another person; else name the --person."] * (who is None)
    # All words that were typed, without options that the form does not take.
    dropped = {f"--{name.replace('_', '-')}" for name in refused}
    kept: list[str] = []
    typed = iter(_words(options))
    for word in typed:
        if word in dropped:
            next(typed)
        elif kind == "long" or not any(
            len(word) > 3 and f"--{name}".startswith(word) for name in ("ratings", "positions")
        ):
            kept += [] if word.partition("=")[0] in dropped else [word]
    raise ValueError(
        f"{called(options.file)} has {row} a row, by the names of its columns. If these are items, add --items all. "
        "Else write all items into items.txt, one a line, as the cells hold them. "
        f"{''.join(f'{note} ' for note in notes)}Then run: "
        f"{shlex.join(['dprank', *kept, *added, '--items', '@items.txt'])}"
    )


def _count_of(names, options):
    """Return the first of these columns that is named like the number of voters of each row; None if options say it."""
    return _first_of(_COUNTS, names) if (options.count, options.person) == (None, None) else None


def _other_columns(head, options):
    """Return sentences about columns with voters and weights that no option names."""
    found = []
    who, weight = _first_of(_JUDGES, head.names), _first_of(_WEIGHTS, head.names)
    if who and (options.person, options.count) == (None, None):
        found.append(f"If a voter may have several rows, add --person {shlex.quote(who)}.")
    if weight and options.weight is None:
        weighed = f"--weight {shlex.quote(weight)} --max-weight BOUND"
        found.append(f"If rows have weights, add {weighed}, where BOUND is a public bound.")
    return found


def check_counts(options: argparse.Namespace, names: list[str], columns: list[int]) -> None:
    """Raise ValueError if a column is named like the number of voters of each row, and no option says what it is."""
    segments = getattr(options, "segments", None)
    others = [name for place, name in enumerate(names) if place not in columns and name != segments]
    if options.weight is None and (count := _count_of(others, options)):
        raise ValueError(
            f"{called(options.file)} has a column {safe_repr(count)}. If each row is of so many voters, add --count "
            f"{shlex.quote(count)}. If not, rename or delete the column."
        )


def _words(options):
    """Return the words of the command that was typed."""
    return getattr(options, "words", None) or ["rank", str(options.file)] + [f"--{options.layout}"] * bool(
        options.layout
    )


def _added(changes):
    """Return options as words of a command."""
    return [
        word
        for name, value in changes.items()
        for word in (f"--{name.replace('_', '-')}", ",".join(map(str, value)) if isinstance(value, list) else value)
    ]


_ENDINGS = {  # of a command for a table, and what the cells then are
    "--ratings": "numbers, larger is better; list codes such as 99 in --no-answer",
    "--ratings --scale bad,fair,good": "answers in words; list yours, the worst first",
    "--positions --unranked last": "1 is the best; items without a number are worse than the others",
    "--positions --unranked no_opinion": "1 is the best; items without a number were not judged",
}
_DOODLE = {"--ratings --scale '(OK),OK' --unranked last --unreadable empty": "the cells of Doodle"}


def _first_names(options):
    """Return the header of a file or None, its rows, the options that the first rows ask for, and why they do."""

    def opened(changes):
        changed = argparse.Namespace(**{**vars(options), **changes})
        return changed, open_rows(changed)

    starts: list[dict[str, Any]] = [{}]
    try:
        one = options, open_rows(options)
    except SeveralSheets as several:
        starts = [{"sheet": name} for name in several.names]
    for changes in starts:
        reasons = [f"of its {len(starts)} sheets, the command reads one"] * len(changes)
        changed, read = opened(changes) if changes else one
        rows = read
        for _ in range(2):  # once more with the options that the first rows ask for
            try:
                return header(read, changed)[0], rows, changes, reasons
            except NoNames as found:
                if not found.changes:
                    break
                changes |= found.changes
                reasons += found.reasons
                changed, read = opened(changes)
    return None, rows, changes, reasons


def unstated(options: argparse.Namespace) -> str:
    """Return the message about a command that does not state the layout, with whole commands for this file.

    The names of columns are shown if some of them show that the first row is no ballot.
    """
    file = called(options.file)
    head, rows, changes, reasons = _first_names(options)
    words = [*_words(options), *_added(changes)]
    run = shlex.join(["dprank", *words])
    items = " --items @items.txt" * (options.items is None)
    # The rows above the names may be ballots on one item each.
    added = _added({name: value for name, value in changes.items() if name != "skip_rows"})
    orders = f"{shlex.join(['dprank', *_words(options), *added])}{items} --orders"
    lists = f"{run}{items}"
    to_write = "write all items into items.txt, one a line, as the cells hold them"
    if head is None:
        return (
            f"the layout of {file} is not stated. If each row lists items, best first, {to_write}, and run\n"
            f"  {orders}\nElse put a row of names above the ballots. If titles stand above it, add --skip-rows "
            "1. If cells are not separated by commas, add --separator ';' or --separator tab."
            f" This message {NOT_PUBLIC}"
        )
    if options.items is None:
        check_form(argparse.Namespace(**{**vars(options), **changes, "words": words}), head)
    skipped = head.no_items.union(own_columns(options))
    columns = [place for place, name in enumerate(head.names) if name not in skipped]
    names, problems = head.likely_items(columns)
    asked = Counter(asked for asked, _ in head.parts.values() if asked)
    is_asked = max(asked.values(), default=0) > 1  # one item in brackets may be a candidate with a party
    is_header = head.no_items or is_asked or not rows.can_skip or _first_of(_NO_ITEMS - _MAY_BE_ITEMS, head.names)
    above = changes.get("skip_rows", ())
    is_doodle = any(line in above and "doodle.com" in str(row) for line, row in zip(rows.lines, rows.rows, strict=True))
    is_header = is_header or is_doodle or any(map(_ROW_NUMBERS.fullmatch, head.names))
    endings = _DOODLE if is_doodle else _ENDINGS
    count = _count_of(head.names, options)
    hints = [f"If each row is of so many voters, add --count {shlex.quote(count)}."] if count else []
    more = "".join(f"\n{hint}" for hint in hints + _other_columns(head, options)) * bool(is_header)
    if is_header and len(names) == 1 and len(names[0]) <= LONGEST_NAME and options.items is None:
        return (
            f"the layout of {file} is not stated. If the cells of {safe_repr(names[0])} list items, best first, "
            f"{to_write}, and run\n  {lists} --choices {shlex.quote(names[0])} --list-separator '>'\n"
            f"In place of >, write what stands between the items.{more}"
        )
    before, others = "", ""
    if options.items is None and not (is_header and head.is_grid(columns)):
        copied = to_copy("--items", names) if is_header else "--items all" * (not problems)
        run += f" {copied or '--items @items.txt'}"
        if not copied:
            before = (
                "Write the names of the columns that are items into items.txt, one a line. If others hold voters, "
                "weights or numbers of voters, name them with --person, --weight or --count. "
            )
        reasons += problems if is_header else []
    # The last of these columns is not a later choice than the first, but the opposite of one.
    is_opposite = any(re.search(r"worst|least|schlecht|peor|pire", name.lower()) for name in names)
    if not is_asked and not is_doodle and not is_opposite:
        if len({_numbered(name)[0] for name in names}) == 1:  # the columns may be in another order, as 1, 10, 2
            names = sorted(names, key=_numbered)
        at = [head.names.index(name) for name in names if name in head.names]
        ends = _span_of(names, at) if is_header and len(names) > 1 else "FIRST..LAST"
        others = f"\nIf cells hold names of items, {to_write}, and run\n  {lists} --choices {shlex.quote(ends)}\n"
        others += "if the columns are the first, second and further choices (name one column alone, with "
        others += "--list-separator ';', if its cells hold whole lists)"
        others += ", called FIRST to LAST" * (ends == "FIRST..LAST")
        others += f", or\n  {orders}\nif the file has no row of names." if not is_header else "."
    others += "\nIf a row is one rating or one comparison, use --long or --comparisons; see dprank rank --help."
    others += more or f"\nThis message {NOT_PUBLIC}" * bool(above and not is_header)
    width = max(map(len, endings))
    shown = "\n".join(f"    {ending:<{width}}  {about}" for ending, about in endings.items())
    because = f" ({'; '.join(reasons)})" if reasons else ""
    return (
        f"the layout of {file} is not stated{because}. {before}Run this command "
        f"with the ending that says what the cells are:\n  {run}\n{shown}{others}"
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


def chosen_items(head: Header, options: argparse.Namespace) -> tuple[list[Any], list[int]]:
    """Return the names of the items of a table and the indices of their columns; the names of all columns decide."""
    if options.items is None:
        check_form(options, head)
    items, columns = head.items(own_columns(options), None if options.items == "all" else options.items)
    if options.items is None and not head.is_grid(columns):
        raise ValueError(_unconfirmed(called(options.file), [head.names[place] for place in columns]))
    check_counts(options, head.names, columns)
    return items, columns


class NoNames(ValueError):
    """The first row of a file does not name two columns; with the options that may help, and why."""

    def __init__(self, message: str, changes: dict[str, Any], reasons: list[str]) -> None:
        super().__init__(message)
        self.changes, self.reasons = changes, reasons


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
        raise _no_names(rows, options)
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
    """Return the error about a first row that does not name two columns, with the command that reads the names."""
    problems, between = [], rows.delimiter
    changes: dict[str, Any] = {}
    first = rows.rows[:20]
    with suppress(UnicodeError):
        if between and first and options.encoding is None and re.search("[\udc80-\udcff]", first[0]):
            first = [line.encode("utf-8", "surrogateescape").decode("cp1252") for line in first]
            problems.append("it is not UTF-8 text, but perhaps cp1252; check the names in the result")
            changes["encoding"] = "cp1252"
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
    answers = {as_answer(word) for text in (options.scale, options.no_answer) if text for word in text.split(",")}
    if any(is_no_name(name) for name in names[1:]) or answers.intersection(map(as_answer, names)):
        names = []  # it may be a ballot
    if names and between != rows.delimiter:
        known = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
        problems.append(f"{known[between]} stand between its cells")
        changes["separator"] = "tab" if between == "\t" else between
        if between == ";" and options.decimal is None:
            problems.append("such files often have decimal commas (else leave out --decimal)")
            changes["decimal"] = ","
    if names and place:
        problems.append(f"{'another row stands' if place == 1 else 'other rows stand'} above the names")
        changes["skip_rows"] = sorted({*(options.skip_rows or ()), *rows.lines[:place]})
    elif names and options.layout in ("ratings", "positions") and form(options) == options.layout:
        others = own_columns(options)
        found = Header(names, {name: ("", name) for name in names})
        items, strange = found.likely_items([place for place, name in enumerate(names) if name not in others])
        if (options.items is None or (options.items == "all" and strange)) and to_copy("--items", items):
            changes["items"] = joined(items)
            problems.append("drop from --items what is not an item")
    if not names or not changes:
        separators = (
            "; if cells are separated by something else than commas, say so: --separator ';' or --separator tab"
        )
        return NoNames(
            f"{rows.file} must have a first row with the names of at least two items, and a row a voter"
            f"{separators * bool(rows.delimiter)}.",
            {},
            [],
        )
    return NoNames(
        f"the first row of {rows.file} cannot be read as names of columns: {'; '.join(problems)}. Then run: "
        f"{shlex.join(['dprank', *_words(options), *_added(changes)])}",
        changes,
        problems,
    )
