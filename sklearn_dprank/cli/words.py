"""Messages of the library in the words of the command."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def message(error: BaseException) -> str:
    """Return the message of an error, without the number that Python gives an error of the system."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def tell(text: str) -> None:
    """Print a line to standard error, if it is open: it may depend on ballots, so it goes nowhere else."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Return text with escapes for characters that a terminal would not show, or obey."""
    return "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text)


@contextmanager
def own_words(*same: str, **renamed: str) -> Iterator[None]:
    """Name options, not parameters, in the messages of ValueErrors: those of the same name, and `renamed` ones.

    Only calls of the library are translated, because other messages quote names from files.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(_translated(str(error), {name: name for name in same} | renamed, renamed)) from None


def _translated(message, options, renamed):
    """Return a message with ``--delta 0`` for ``delta=0``; names of no option that are no words are replaced too."""
    names = "|".join(options)
    value = r"'\w*'|\"\w*\"|[\w.+-]*\w"
    message = re.sub(rf"\b({names})=None", lambda it: f"no --{options[it[1]]}", message)
    message = re.sub(rf"\b({names})=({value})", lambda it: f"--{options[it[1]]} {it[2].strip(_QUOTES)}", message)
    message = re.sub(rf"^({names})(?= )", lambda it: f"--{options[it[1]]}", message)
    if renamed:
        message = re.sub(rf"(?<![\w='\"-])({'|'.join(renamed)})(?![\w='\"])", lambda it: f"--{renamed[it[1]]}", message)
    return message.replace("must be None or ", "must be ").replace("'replace' or None", "replace or left out")


_QUOTES = "'\""
