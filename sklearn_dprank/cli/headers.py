"""Header rows of tables, with those of survey tools, and short names of items that one question asks about."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ..ballots.names import normal

_QUALTRICS = {  # two of these names in the first row announce two more header rows
    *("StartDate", "EndDate", "RecordedDate", "ResponseId", "DistributionChannel", "UserLanguage"),
    *("startDate", "endDate", "recordedDate", "_recordId", "distributionChannel", "userLanguage"),
    "Duration (in seconds)",
}
_QUESTION = re.compile(r"(.*QID.*)_\d+", re.ASCII)  # ImportId of one item, with that of its question
_TIMESTAMPS = {  # the first column of Google Forms, in the language of the form
    *("Timestamp", "Zeitstempel", "Horodateur", "Marca temporal", "Carimbo de data/hora", "Informazioni cronologiche"),
    *("Tijdstempel", "Sygnatura czasowa", "Отметка времени", "Tidstämpel", "Aikaleima", "Časová značka"),
    *("Zaman damgası", "タイムスタンプ", "时间戳记", "時間戳記", "타임스탬프"),
}


def plain(text: str) -> str:
    """Return a name as names are compared: `normal`, without blanks around it."""
    return normal(text).strip(" \t")


@dataclass(frozen=True)
class Header:
    """Names of the columns of a table, and for columns of a question about several items, the question and the item."""

    names: list[str]
    parts: dict[str, tuple[str, str]]
    no_items: frozenset[str] = frozenset()  # columns of a survey tool, which are not items unless they are listed
    n_lines: int = 1

    def by_item(self) -> dict[str, list[str]]:
        """Return the columns of each item by its short name, one for each question."""
        found = defaultdict(list)
        for name in self.names:
            if name in self.parts:
                found[self.parts[name][1]].append(name)
        return found

    def shortened(self, names: list[str]) -> list[str]:
        """Return the items of these columns if one question asks about them, else the names of the columns."""
        parts = [self.parts.get(name, ("", "")) for name in names]
        items = [item for _, item in parts]
        one_question = len({question for question, _ in parts}) == 1 < len(parts)
        return items if one_question and all(items) and len(set(items)) == len(items) else names

    def check_one_question(self, names: list[str], file: str) -> None:
        """Raise ValueError if a question asks about several items, and some columns are not of that question."""
        asked = [self.parts[name][0] if name in self.parts else None for name in names]
        sizes = Counter(question for question in asked if question is not None)
        if max(sizes.values(), default=1) == 1 or len(set(asked)) == 1:
            return
        question = sizes.most_common(1)[0][0]
        columns = [name for name, found in zip(names, asked, strict=True) if found == question]
        items = self.shortened(columns)
        by_item = self.by_item()
        if any(len(by_item.get(item, ())) > 1 for item in items):
            items = columns
        raise ValueError(
            f"{file} has columns of several questions. List the items of one question, such as --items "
            f"{shlex.quote(joined(items))}."
        )


def header(names: list[str], lines: Iterable[bytes] = (), delimiter: str = ",", file: str = "") -> Header:
    """Return the header of a table with these names in its first row; `lines` are all lines of a CSV file.

    The names alone decide how many rows the header has, so that no ballot affects how others are read.
    """
    if len(_QUALTRICS.intersection(names)) > 1 and lines:
        return _of_qualtrics(names, lines, delimiter, file)
    parts = {name: found for name in names if (found := _grid(name))}
    return Header(names, parts, frozenset(names[:1]) & _TIMESTAMPS)


def _of_qualtrics(names, lines, delimiter, file):
    """Return the header of an export of Qualtrics: names, texts of questions, and ImportIds, three rows in all."""
    reader = csv.reader((line.decode("utf-8") + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        texts, cells = [next(reader) for _ in range(3)][1:]
        ids = [json.loads(cell)["ImportId"] for cell in cells]
        if not len(texts) == len(ids) == len(names) or not all(isinstance(each, str) for each in ids):
            raise ValueError
    except (StopIteration, csv.Error, ValueError, LookupError, TypeError, RecursionError):
        own = ", ".join(name for name in names if name in _QUALTRICS)
        raise ValueError(
            f"{file} has columns of Qualtrics ({own}), but its third row does not hold an ImportId for each column. "
            "Export it again as CSV, or delete these columns and all header rows but the first."
        ) from None
    questions: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for name, text, own in zip(names, texts, ids, strict=True):
        if found := _QUESTION.fullmatch(own):
            questions[found[1]][name] = " ".join(normal(text).split()).split(" - ")
    parts: dict[str, tuple[str, str]] = {}
    for question, columns in questions.items():
        same = 0  # texts are "question - item", and both may hold " - "
        while same + 1 < min(map(len, columns.values())) and len({text[same] for text in columns.values()}) == 1:
            same += 1
        parts |= {name: (question, " - ".join(text[same:]) if same else name) for name, text in columns.items()}
    no_items = frozenset(name for name, own in zip(names, ids, strict=True) if "QID" not in own)
    return Header(names, parts, no_items, reader.line_num)


def _grid(name):
    """Return the question and the item in a name like "question [item]"; None if it is not like that."""
    depth = 0
    for place in range(len(name) - 1, 0, -1):
        depth += {"]": 1, "[": -1}.get(name[place], 0)
        if depth == 0:
            return (name[:place].strip(), name[place + 1 : -1].strip()) if place < len(name) - 1 else None
    return None


def joined(names: Iterable[str]) -> str:
    """Return names with commas between, as ``--items`` reads them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([name] for name in names)
    return ", ".join(out.getvalue().split("\n")[:-1])
