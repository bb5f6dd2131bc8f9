"""What the command understands."""

import argparse

from .. import __version__
from . import comparing, ranking, recommending

_DESCRIPTION = "Differentially private rank aggregation: one consensus of many rankings, and a promise to every voter."


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; ``options.run(options)`` of what it parses does the work."""
    made = argparse.ArgumentParser("dprank", description=_DESCRIPTION)
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (ranking, comparing, recommending):
        added = commands.add_parser(command.NAME, help=command.ABOUT, description=f"{command.ABOUT.capitalize()}.")
        command.add_arguments(added)
        added.add_argument("--format", choices=["text", "json"], default="text", help="how the result is printed")
        added.set_defaults(run=command.run)
    return made
