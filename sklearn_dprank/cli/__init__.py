"""The command ``dprank``, also ``python -m sklearn_dprank``: rank a file privately, compare mechanisms, or get advice.

::

    dprank rank ratings.csv --ratings --items all --epsilon 0.5
    dprank compare
    dprank recommend --items 10 --voters 1e4 --epsilon 0.1
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

from .. import __version__
from ..privacy.errors import BudgetExhausted
from .printing import printable, tell, why

__all__ = ["main"]

#: Modules of the commands, and what each command does. Only the module of the command that runs is imported.
COMMANDS = {
    "rank": ("ranking", "publish one private consensus of the ballots in a file"),
    "compare": ("comparing", "compare mechanisms on public or simulated ballots; the output is not private"),
    "recommend": ("recommending", "advise which estimator to use, from public numbers only"),
    "budget": ("accounts", "print the last result that was charged to a budget, without a new charge"),
}
_STAYS = "If a budget was charged, it stays charged."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, by default those of the process; return its exit status.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        Arguments after the name of the command.

    Returns
    -------
    int
        0, or 2 after a refusal, which is printed on standard error. 1 if an output could not be written, or after
        another failure, 130 after an interrupt, and 141 if the reader of the output is gone.

    Examples
    --------
    >>> from sklearn_dprank.cli import main
    >>> main("recommend --items 2 --voters 1000 --epsilon 1".split())  # doctest: +ELLIPSIS
    DPBorda(noise='knorm')
    0.01 points of excess error to expect, 0.01 to ...
    Options for dprank rank: --epsilon 1.0 --noise knorm
    0
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = argparse.Namespace(command="", words=words, is_kept=False, is_incomplete=False)
    text, problem, status = "", "", 2
    shown = io.StringIO()
    try:
        with redirect_stdout(shown):  # a failure to print --help must not be lost in argparse
            parser(words).parse_args(words, options)
        if sys.stdout is None:
            raise ValueError("standard output is closed, so the result would be lost; open it, or name a file for it.")
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *place: tell(f"dprank {options.command}: {printable(str(message))}")
            text, status = f"{options.run(options)}\n", int(options.is_incomplete)
    except SystemExit as stop:  # of --help, --version or wrong options
        text, status = shown.getvalue(), int(stop.code or 0)
    except (ValueError, OSError, ImportError, BudgetExhausted) as refusal:
        problem = printable(str(refusal))
        if isinstance(refusal, OSError) and refusal.filename:
            file = printable(str(refusal.filename))
            problem = f"{file} cannot be used ({why(refusal)}); name another file, or change its permissions."
    except KeyboardInterrupt:
        problem, status = f"interrupted. {_STAYS}", 130
    except Exception as error:  # its message and its traceback may quote ballots
        problem, status = f"stopped by an unexpected {type(error).__name__}. {_STAYS}", 1
    name, back = f"dprank {options.command or ''}".strip(), ""
    if options.is_kept:
        file = shlex.quote(printable(str(options.budget)))
        back = f" Print it again, without a new charge: dprank budget {file} --last"
    if problem:
        tell(f"{name}: {problem}{back}")
        return status
    try:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except (OSError, KeyboardInterrupt) as error:  # a reader that is gone is an error only if a result was charged
        is_gone = isinstance(error, BrokenPipeError)
        if back or not is_gone:
            tell(f"{name}: the output could not be written ({why(error)}). {_STAYS}{back}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return 141 if is_gone else 1
    return status


def parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands, or of the first one in `words`; ``options.run(options)`` runs it."""
    made = argparse.ArgumentParser("dprank", description="Aggregate rankings with differential privacy.")
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = list(COMMANDS) if words is None else [word for word in words if word in COMMANDS][:1]
    for name, (module, about) in COMMANDS.items():
        usage = f"dprank {name} [options]; dprank {name} --help lists the options"
        added = commands.add_parser(name, help=about, description=f"{about.capitalize()}.", usage=usage)
        if name in chosen:
            command: Any = import_module(f"{__name__}.{module}")
            added.add_argument("--format", choices=["text", "json"], default="text", help="how the result is printed")
            command.add_arguments(added)
            added.set_defaults(run=command.run)
    return made
