"""``dprank compare``: try mechanisms on the ballots of a file, or on a bundled example; nothing of it is private."""

import argparse
import json
from pathlib import Path

import numpy as np

from ..aggregators import DPBorda, DPKwikSort, DPPrudentOrder, DPSwissBorda, LDPPairwise, ShufflePairwise
from ..datasets import make_mallows
from ..plotting import PrivacyUtilityDisplay
from ..profile import Profile
from . import files
from .printing import as_table

NAME = "compare"
ABOUT = "try mechanisms on the ballots of a file or a bundled example; nothing of it is private"
MECHANISMS = {
    "DPBorda, K-norm noise": DPBorda(noise="knorm"),
    "DPBorda, Laplace noise": DPBorda(),
    "DPPrudentOrder": DPPrudentOrder(),
    "DPSwissBorda": DPSwissBorda(),
    "DPKwikSort": DPKwikSort(),
    "ShufflePairwise": ShufflePairwise(),
    "LDPPairwise": LDPPairwise(),
}
_DRINKS = ["tea", "coffee", "water", "juice", "milk", "cocoa", "mate", "lemonade", "cider", "kefir"]
_MOST_PRUDENT = 16  # items


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    files.add_arguments(added, optional=True)
    added.add_argument(
        "--epsilons", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3, 1.0, 3.0], help="privacy losses to try"
    )
    added.add_argument("--trials", type=int, default=20, help="fits at each epsilon")
    added.add_argument("--seed", type=int, default=0)
    added.add_argument("--picture", type=Path, default=Path("compare.png"), help="where the picture goes")


def run(options: argparse.Namespace) -> str:
    """Return the mean excess errors by mechanism and epsilon; the picture is written."""
    ballots = files.read(options) if options.file else example()
    tried = {name: each for name, each in MECHANISMS.items() if _takes(each, ballots.n_items)}
    shown = PrivacyUtilityDisplay.from_estimators(
        tried, ballots, epsilons=options.epsilons, n_trials=options.trials, random_state=options.seed
    )
    _save(shown.plot().figure_, options.picture)
    excess = {name: np.mean(errors, axis=1) - shown.floor for name, errors in shown.errors.items()}
    if options.format == "json":
        points = {name: (100 * errors).round(4).tolist() for name, errors in excess.items()}
        return json.dumps({"not_private": True, "epsilons": options.epsilons, "excess_points": points})
    return _as_text(ballots, options, excess)


def example() -> Profile:
    """Return 1,000 simulated ballots over ten drinks, for whoever has no file at hand."""
    votes = make_mallows(n_voters=1000, n_items=len(_DRINKS), phi=0.75, random_state=1)
    return Profile.from_rankings(votes, item_names=_DRINKS, keep="positions")


def _save(figure, path):
    """Write a picture, and leave no figure open for whoever calls this from a program."""
    from matplotlib import pyplot as plt

    figure.savefig(path, dpi=150)
    plt.close(figure)


def _takes(estimator, n_items):
    return not isinstance(estimator, DPPrudentOrder) or n_items <= _MOST_PRUDENT


def _as_text(ballots, options, excess):
    rows = [["points lost at epsilon", *(f"{epsilon:g}" for epsilon in options.epsilons)]]
    rows += [[name, *(f"{100 * error:.2f}" for error in errors)] for name, errors in excess.items()]
    source = "" if options.file else ", simulated: no file was given"
    return "\n".join(
        [
            f"{ballots.n_voters} ballots, {ballots.n_items} items{source}; means of {options.trials} fits",
            as_table(rows),
            "A point is one pair of items in a hundred more than the best possible consensus gets wrong.",
            "NOT PRIVATE: errors are computed from the ballots exactly. It is for choosing, not for publication.",
            f"Picture: {options.picture}",
        ]
    )
