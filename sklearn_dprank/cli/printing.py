"""Results as text and as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import unicodedata
from typing import Any

A_POINT = "A point is one pair of items in a hundred more than the best possible consensus gets wrong."


def as_json(made: dict[str, Any]) -> str:
    """Return a result as one line of JSON; non-ASCII letters are escaped unless the output encoding is a UTF."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return json.dumps(made, ensure_ascii=not encoding.lower().startswith("utf"))


def as_table(rows: list[list[str]]) -> str:
    """Return rows of cells as lines, with columns of numbers aligned right and other columns aligned left."""
    widths = [max(columns_of(row[column]) for row in rows) for column in range(len(rows[0]))]
    right = [all(_number(row[column]) for row in rows[1:]) for column in range(len(widths))]
    return "\n".join(
        "  ".join(
            " " * (width - columns_of(cell)) + cell if side else cell + " " * (width - columns_of(cell))
            for cell, width, side in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: 2 for a wide letter, 0 for a mark on the letter before."""
    return sum(
        0 if unicodedata.category(letter) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def width() -> int:
    """Return the number of characters in a line of text: that of the terminal, from 40 to 100, by default 88."""
    return min(max(shutil.get_terminal_size((88, 24)).columns, 40), 100)


def wrapped(text: str) -> str:
    """Return a paragraph in lines that fit the terminal."""
    return textwrap.fill(text, width(), break_long_words=False, break_on_hyphens=False)


def _number(cell):
    return cell.removeprefix("-").replace(".", "", 1).replace(",", "").isdigit()
