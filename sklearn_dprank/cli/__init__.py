"""The command ``dprank``, also ``python -m sklearn_dprank``: rank a file privately, compare mechanisms, or get advice.

::

    dprank rank ratings.csv --ratings --epsilon 0.5
    dprank compare
    dprank recommend --items 10 --voters 1e4 --epsilon 0.1
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..privacy import BudgetExhausted
from . import comparing, ranking, recommending
from .words import message, printable

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, by default those of the process; return its exit status.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        Arguments after the name of the command.

    Returns
    -------
    int
        0, or 2 after an error, which is printed on standard error. 130 after an interrupt, and 141 if the reader of the
        output is gone.

    Examples
    --------
    >>> from sklearn_dprank.cli import main
    >>> main("recommend --items 2 --voters 1000 --epsilon 1".split())  # doctest: +ELLIPSIS
    DPBorda(noise='knorm')
    0.01 points of excess error to expect, 0.01 to ...
    Options for dprank rank: --epsilon 1.0 --noise knorm
    0
    """
    try:
        try:
            return _run(arguments)
        finally:  # also after --help
            print(end="", flush=True)
    except KeyboardInterrupt:
        print("dprank: interrupted. If a budget was charged, it stays charged.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # of the output, because _run prints that of anything else
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return 141


def _run(arguments):
    options = parser().parse_args(arguments)
    try:
        text = options.run(options)
    except (ValueError, OSError, ImportError, BudgetExhausted) as refusal:
        print(f"dprank {options.command}: {printable(message(refusal))}", file=sys.stderr)
        return 2
    _show(text)
    return 0


def _show(text):
    """Print text with unprintable characters escaped, because an error here could lose a result that was charged."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


_DESCRIPTION = (
    "Differentially private rank aggregation: one consensus of many rankings, and a guarantee for every voter."
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; ``options.run(options)`` runs the parsed one."""
    made = argparse.ArgumentParser("dprank", description=_DESCRIPTION)
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (ranking, comparing, recommending):
        added = commands.add_parser(command.NAME, help=command.ABOUT, description=f"{command.ABOUT.capitalize()}.")
        command.add_arguments(added)
        added.add_argument("--format", choices=["text", "json"], default="text", help="how the result is printed")
        added.set_defaults(run=command.run)
    return made
