"""Options with several values, which leave the file after them to its positional argument."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


class Several(argparse.Action):
    """Option with several values, separated by blanks or commas; `one` converts each.

    argparse gives such an option all arguments up to the next option, also the file. If the last one is not a value but
    a file, it is set as ``file``.
    """

    def __init__(self, option_strings: list[str], dest: str, *, one: Any, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs="+", **given)
        self._one = one

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set the values and, if the last argument is a file, ``file``."""
        if len(values) > 1 and hasattr(namespace, "file") and self._is_file(values[-1]):
            *values, file = values
            set_file(namespace, Path(file), self)
        try:
            found = self._converted(*values)
        except ValueError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        if not found:
            raise argparse.ArgumentError(self, "expected at least one value")
        setattr(namespace, self.dest, found)

    def _converted(self, *values):
        return [self._one(each.strip()) for value in values for each in value.split(",") if each.strip()]

    def _is_file(self, value):
        """Return whether an argument is not a value, but standard input, exists, or ends like the name of a file."""
        try:
            self._converted(value)
        except ValueError:
            return value == "-" or Path(value).exists() or Path(value).suffix[1:2].isalpha()
        return False


class File(argparse.Action):
    """Positional argument of the file; a file that an option found is not replaced."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set ``file`` unless the argument is missing."""
        if values is not None:
            set_file(namespace, values, self)


def set_file(namespace: Any, file: Path, action: argparse.Action) -> None:
    """Set ``file``; raise ArgumentError if there is one."""
    if namespace.file is not None:
        raise argparse.ArgumentError(action, f"two files are given, {str(namespace.file)!r} and {str(file)!r}")
    namespace.file = file


def number(text: str) -> float:
    """Return text as a float, with a message for users of the command."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"must be numbers, with blanks or commas between, got {text!r}") from None
