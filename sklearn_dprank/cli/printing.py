"""What commands print and write: messages in their own words, tables and pictures, and simulated votes."""

from __future__ import annotations

import os
import re
import stat
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._utils.lazy import pyplot

if TYPE_CHECKING:
    from ..ballots.profile import Profile

STANDARD_INPUT = Path("-")  # as a file

_DRINKS = ["tea", "coffee", "water", "juice", "milk", "cocoa", "mate", "lemonade", "cider", "kefir"]


def simulated(n_items: int, phi: float) -> Profile:
    """Return 1,000 simulated votes over the first drinks; a larger dispersion `phi` means more disagreement."""
    from ..ballots.profile import Profile
    from ..datasets import make_mallows

    votes = make_mallows(n_voters=1000, n_items=n_items, phi=phi, random_state=1)
    return Profile.from_rankings(votes, items=_DRINKS[:n_items], keep="positions")


# Messages of the library in the words of the command.


def why(error: BaseException) -> str:
    """Return the message of an error; of a system error, without its number and its file."""
    return getattr(error, "strerror", None) or str(error) or "interrupted"


def tell(text: str) -> None:
    """Print a line to standard error, if it is open: it may depend on ballots, so it goes nowhere else."""
    if sys.stderr is not None:
        with suppress(OSError, RuntimeError):  # closed, or being written when Ctrl-C is pressed
            print(text, file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Return text with escapes for characters that a terminal would not show, or obey."""
    return "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text)


@contextmanager
def own_words(*same: str, **renamed: str) -> Iterator[None]:
    """Name options, not parameters, in the messages of ValueErrors: those of the same name, and `renamed` ones.

    ``delta=0`` becomes ``--delta 0``. Only calls of the library are translated, because other messages quote names from
    files.
    """
    options, values = {**{name: name for name in same}, **renamed}, str.maketrans("=", " ", "'")
    try:
        yield
    except ValueError as error:
        pattern = rf"(?<!Gaussian )(?<![\w'\"-])({'|'.join(options)})\b(?!['\"])(=[\w.+'-]*)?"
        text = re.sub(pattern, lambda found: f"--{options[found[1]]}{found[2] or ''}".translate(values), str(error))
        raise ValueError(text.replace("None or ", "").replace(" None", " left out")) from None


# Files that commands write: checks before the work, and pictures.


def check_outputs(outputs: Mapping[str, Path | None], kept: Sequence[Path | None]) -> None:
    """Raise, before any computation, if a picture or page cannot be written; create no file.

    Raise ValueError also if an output would change an input, an account or another output, by whichever name.
    """
    seen = [(sys.stdin if path == STANDARD_INPUT else path, "holds the ballots or the budget") for path in kept]
    for option, file in {"standard output": sys.stdout, **outputs}.items():
        if isinstance(file, Path) and option != "--budget":
            is_page = option == "--report"
            endings = ["html", "htm"] if is_page else sorted(pyplot().Figure().canvas.get_supported_filetypes())
            if file.suffix.lstrip(".").lower() not in endings:
                raise ValueError(f"{option}: its name must end in one of {', '.join(endings)}, got {file.name!r}.")
            real = Path(os.path.realpath(file))
            if not real.parent.is_dir():
                raise ValueError(f"{option}: the folder of {file} does not exist; make it first.")
            is_other = os.path.lexists(real) and not real.is_file()
            if is_other or not os.access(real if real.exists() else real.parent, os.W_OK):
                raise ValueError(f"{option}: {file} cannot be written; name another file.")
        for other, what in seen:
            if _is_same(file, other):
                name = getattr(file, "name", file)
                raise ValueError(f"{option}: {name} {what}, and would be replaced; name another.")
        seen.append((file, f"is the file of {option}"))


def _is_same(one, other):
    """Return whether two paths or streams are one file, also by links; the file of a path may not exist yet."""
    try:
        found = [os.stat(each if isinstance(each, Path) else each.fileno()) for each in (one, other)]
        return os.path.samestat(*found) and stat.S_ISREG(found[0].st_mode)  # input and output may be one terminal
    except (OSError, ValueError, AttributeError):  # does not exist, is a loop of links, None, or has no file
        paths = isinstance(one, Path) and isinstance(other, Path)
        return paths and os.path.realpath(one) == os.path.realpath(other)


def save(figure: Any, path: Path) -> None:
    """Write a picture and close the figure, because the caller may be a program that goes on."""
    figure.savefig(path, dpi=200)
    pyplot().close(figure)


# Results as text.

A_POINT = "A point is one pair of items in a hundred more than the best possible consensus gets wrong."


def as_table(rows: list[list[str]]) -> str:
    """Return rows of cells as lines, with columns of numbers aligned right and other columns aligned left.

    A letter takes one column of a terminal, a wide one takes two, and a mark on the letter before takes none.
    """
    padded = []
    for column in zip(*rows, strict=True):
        letters = [[each for each in cell if unicodedata.category(each) not in ("Mn", "Me", "Cf")] for cell in column]
        widths = [len(cell) + sum(unicodedata.east_asian_width(each) in "WF" for each in cell) for cell in letters]
        is_right = all(re.fullmatch(r"-?[0-9,]*\.?[0-9]+", cell) for cell in column[1:])
        gaps = [" " * (max(widths) - width) for width in widths]
        padded.append([gap + cell if is_right else cell + gap for gap, cell in zip(gaps, column, strict=True)])
    return "\n".join("  ".join(row).rstrip() for row in zip(*padded, strict=True))
