"""``dprank budget``: print the last result that was charged to a budget, without a new charge."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``budget``."""
    added.add_argument("--format", choices=["text", "json"], default="text", help="how the result is printed")
    added.add_argument("file", type=Path, metavar="FILE", help="the file of the budget")
    added.add_argument(
        "--last",
        action="store_true",
        required=True,
        help="print the result of the last charge, for example because its output was lost",
    )


def run(options: argparse.Namespace) -> str:
    """Return the last result that ``rank`` charged to a budget."""
    from .ranking import show

    path = last_result(options.file)
    try:
        return show(json.loads(path.read_text(encoding="utf-8")), options.format)
    except FileNotFoundError:
        raise ValueError(f"there is no result beside {options.file}. dprank rank keeps it in {path.name}.") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(f"{path.name} is damaged, so the result is lost. Its charge stays.") from None


def last_result(budget: Path) -> Path:
    """Return the path of the last result of a budget."""
    return budget.with_name(f"{budget.name}.last")


def keep(budget: Path, result: dict[str, Any]) -> None:
    """Write the result beside its budget, completely or not at all; it may be published."""
    path, part = last_result(budget), budget.with_name(f"{budget.name}.last.part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(result, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
