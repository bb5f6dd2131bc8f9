"""Files that commands write: checks before the work, and pictures."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from errno import ELOOP
from pathlib import Path
from typing import Any

from .._utils.lazy import pyplot
from .cells import STANDARD_INPUT


def check_picture(path: Path, option: str) -> None:
    """Raise, before any computation, if a picture cannot be written; `option` names the path."""
    check_path(path, option, sorted(pyplot().Figure().canvas.get_supported_filetypes()))


def check_path(path: Path, option: str, endings: list[str]) -> None:
    """Raise ValueError unless a file with one of these endings can be written; create no file."""
    if path.suffix.lstrip(".").lower() not in endings:
        raise ValueError(f"{option}: its name must end in one of {', '.join(endings)}, got {path.name!r}.")
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == ELOOP:
            raise ValueError(f"{option}: {path} is a loop of links; name another file.") from None
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise ValueError(f"{option}: the folder of {path} does not exist; make it first.")
    if (real.exists() and not real.is_file()) or not os.access(real if real.exists() else real.parent, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written; name another file.")


def check_distinct(outputs: Mapping[str, Path | None], kept: Sequence[Path | None]) -> None:
    """Raise ValueError if an output would change an input, an account or another output, by whichever name."""
    inputs = (sys.stdin if path == STANDARD_INPUT else path for path in kept)
    seen = [(file, "holds the ballots or the budget") for file in inputs if file is not None]
    for option, file in {"standard output": sys.stdout, **outputs}.items():
        if file is None:
            continue
        for other, why in seen:
            if _is_same(file, other):
                name = f"{option}: {file}" if isinstance(file, Path) else f"the file of {option}"
                raise ValueError(f"{name} {why}, and would be replaced; name another.")
        seen.append((file, f"is the file of {option}"))


def _is_same(one, other):
    """Return whether two paths or streams are one file, also by links; the file of a path may not exist yet."""
    try:
        found = [os.stat(each if isinstance(each, Path) else each.fileno()) for each in (one, other)]
        return os.path.samestat(*found) and stat.S_ISREG(found[0].st_mode)  # input and output may be one terminal
    except (OSError, ValueError, AttributeError):  # does not exist, is a loop of links, or has no file
        paths = isinstance(one, Path) and isinstance(other, Path)
        return paths and os.path.realpath(one) == os.path.realpath(other)


def save(figure: Any, path: Path) -> None:
    """Write a picture and close the figure, because the caller may be a program that goes on."""
    figure.savefig(path, dpi=200)
    pyplot().close(figure)
