"""``dprank recommend``: advise which estimator to use, from public numbers only."""

import argparse
import json

from ..model_selection import recommend

NAME = "recommend"
TRUST = ["central", "secure_aggregation", "shuffle", "local"]
ABOUT = "advise which estimator to use, from public numbers only"


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``recommend``."""
    added.add_argument("--items", type=int, required=True, help="number of items")
    added.add_argument("--voters", type=float, required=True, help="public estimate of the number of voters")
    added.add_argument("--epsilon", type=float, required=True, help="privacy loss, in nats")
    added.add_argument("--delta", type=float, default=0.0, help="failure probability")
    added.add_argument("--trust", choices=TRUST, default="central", help="who sees ballots")
    added.add_argument("--neighboring", choices=["add_remove", "replace"])
    added.add_argument("--top", type=int, metavar="K", help="only the best K items are wanted")
    added.add_argument("--disagreement", type=float, help="public guess: the share of pairs on which voters contradict")


def run(options: argparse.Namespace) -> str:
    """Return the advice."""
    public = (options.items, options.voters, options.epsilon, options.delta, options.trust, options.neighboring)
    advice = recommend(*public, k=options.top, disagreement=options.disagreement)
    if options.format == "json":
        said = {"estimator": repr(advice.estimator), **_errors(advice), "reason": advice.reason}
        others = [{"estimator": repr(each.estimator), **_errors(each)} for each in advice.alternatives]
        return json.dumps({**said, "alternatives": others})
    least, largest = (100 * error for error in advice.error_range)
    missed = "% of the best missed" if options.top else "points of excess error"
    expected = f"{100 * advice.error:.2g} {missed} to expect, {least:.2g} to {largest:.2g} depending on the voters."
    return f"{advice.estimator!r}\n{expected}\n{advice.reason}"


def _errors(advice):
    return {"error": advice.error, "error_range": list(advice.error_range)}
