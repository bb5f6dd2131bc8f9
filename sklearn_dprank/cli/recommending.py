"""``dprank recommend``: advise which estimator to use, from public numbers only."""

import argparse
import json

from ..model_selection import recommend

NAME = "recommend"
ABOUT = "advise which estimator to use, from public numbers only"


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``recommend``."""
    added.add_argument("--items", type=int, required=True, help="number of items")
    added.add_argument("--voters", type=float, required=True, help="public estimate of the number of voters")
    added.add_argument("--epsilon", type=float, required=True, help="privacy loss, in nats")
    added.add_argument("--delta", type=float, default=0.0, help="failure probability")
    added.add_argument("--trust", choices=["central", "local", "shuffle"], default="central", help="who sees ballots")
    added.add_argument("--neighboring", choices=["add_remove", "replace"])
    added.add_argument("--format", choices=["text", "json"], default="text", help="how the result is printed")


def run(options: argparse.Namespace) -> str:
    """Return the advice."""
    advice = recommend(
        options.items, options.voters, options.epsilon, options.delta, options.trust, options.neighboring
    )
    if options.format == "json":
        others = [{"estimator": repr(each.estimator), "error": each.error} for each in advice.alternatives]
        said = {"estimator": repr(advice.estimator), "error": advice.error, "reason": advice.reason}
        return json.dumps({**said, "alternatives": others})
    return f"{advice.estimator!r}\n{100 * advice.error:.2g} points of excess error to expect.\n{advice.reason}"
