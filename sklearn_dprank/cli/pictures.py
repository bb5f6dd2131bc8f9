"""Files that commands write: checks before the work, and pictures."""

from __future__ import annotations

import os
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
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written; name another file.")


def save(figure: Any, path: Path) -> None:
    """Write a picture and close the figure, because the caller may be a program that goes on."""
    figure.savefig(path, dpi=200)
    pyplot().close(figure)
