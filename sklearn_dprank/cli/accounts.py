"""Last result that ``dprank rank`` charged to a budget: kept beside its file, printed again by ``dprank budget``."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..privacy import PrivacyBudget
from .printing import check_outputs, tell


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``budget``."""
    added.add_argument("file", type=Path, metavar="FILE", help="the file of the budget")
    added.add_argument("--last", action="store_true", required=True, help="print the result of the last charge again")


def run(options: argparse.Namespace) -> str:
    """Return the last result that ``rank`` charged to a budget."""
    from .ranking import show

    path = last_result(options.file)
    check_outputs({}, [options.file, path])
    try:
        made = json.loads(path.read_text(encoding="utf-8"))["made"]
        text, kept = show(made, options.format), made["budget"]
    except FileNotFoundError:
        raise ValueError(f"there is no result beside {options.file}. dprank rank keeps it in {path.name}.") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(f"{path.name} is damaged, so the result is lost. Its charge stays.") from None
    is_last = False
    with suppress(ValueError, OSError):
        is_last = state(PrivacyBudget.open(options.file)) == kept
    if not is_last:
        tell(f"dprank budget: this is not the result of the last charge to {options.file}, or that cannot be read.")
    return text


def state(budget: PrivacyBudget) -> dict[str, float]:
    """Return what is spent and what is left, as a result states it; every charge changes it."""
    return {"spent": budget.spent_.epsilon, "remaining": budget.remaining.epsilon}


def last_result(budget: Path) -> Path:
    """Return the path of the last result of a budget."""
    return budget.with_name(f"{budget.name}.last")


@contextmanager
def until_kept() -> Iterator[None]:
    """Let Ctrl-C wait while a release is charged and its result is kept; a second Ctrl-C does not wait."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting = []

    def wait(*_: Any) -> None:
        waiting.append(True)
        signal.signal(signal.SIGINT, before)
        tell("dprank rank: the result is kept first. Press Ctrl-C again to stop now, and lose what is charged.")

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt


def keep(budget: Path, result: dict[str, Any]) -> None:
    """Write the result beside its budget, completely or not at all; it may be published."""
    part = budget.with_name(f"{budget.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("x", encoding="utf-8") as file:
            json.dump(result, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(last_result(budget))
    finally:
        part.unlink(missing_ok=True)
