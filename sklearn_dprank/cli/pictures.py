"""Files that commands write: checks before the work, and pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from errno import ELOOP
from pathlib import Path
from typing import Any

from .._utils.lazy import pyplot


def check_picture(path: Path, option: str) -> None:
    """Raise, before any computation, if a picture cannot be written; `option` names the path."""
    check_path(path, option, sorted(pyplot().Figure().canvas.get_supported_filetypes()))


def check_path(path: Path, option: str, endings: list[str]) -> None:
    """Raise ValueError unless a file with one of these endings can be written; create no file."""
    if path.suffix.lstrip(".").lower() not in endings:
        raise ValueError(f"{option}: its name must end in one of {', '.join(endings)}, got {path.name!r}.")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: the folder {path.parent} does not exist; make it first.")
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == ELOOP:
            raise ValueError(f"{option}: {path} is a loop of links; name another file.") from None
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written; name another file.")


def check_distinct(outputs: Mapping[str, Path | None], kept: Sequence[Path | None]) -> None:
    """Raise ValueError if an output would replace an input, an account or another output, by whichever name."""
    seen = [(path, "holds the ballots or the budget") for path in kept if path is not None]
    for option, path in outputs.items():
        if path is None:
            continue
        for other, why in seen:
            if _is_same(path, other):
                raise ValueError(f"{option}: {path} {why}, and would be replaced; name another.")
        seen.append((path, f"is the file of {option}"))


def _is_same(one, other):
    """Return whether two paths name one file, also by links; a file may not exist yet."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one does not exist, or is a loop of links
        return os.path.realpath(one) == os.path.realpath(other)


def save(figure: Any, path: Path) -> None:
    """Write a picture and close the figure, because the caller may be a program that goes on."""
    figure.savefig(path, dpi=200)
    pyplot().close(figure)
