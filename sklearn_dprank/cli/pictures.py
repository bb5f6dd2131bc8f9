"""Files that commands write: checks before the work, and pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def check_picture(path: Path, option: str) -> None:
    """Raise, before any computation, if a picture cannot be written; `option` names the path."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('plotting needs matplotlib: install the extra "plot", or pip install matplotlib') from None
    check_path(path, option, sorted(Figure().canvas.get_supported_filetypes()))


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
    from matplotlib import pyplot as plt

    figure.savefig(path, dpi=200)
    plt.close(figure)
