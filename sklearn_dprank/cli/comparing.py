"""``dprank compare``: compare mechanisms on public or simulated ballots; its output is not private."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from .._utils.checks import check_whole
from ..channels.central import DPBorda, DPKwikSort, DPPrudentOrder, DPSwissBorda
from ..channels.local import LDPPairwise
from ..channels.shuffle import ShufflePairwise
from ..plotting import PrivacyUtilityDisplay
from . import files, layout
from .layout import Several
from .printing import A_POINT, as_table, check_outputs, own_words, save, simulated
from .tables import called

MECHANISMS = {  # by default, the first five that the ballots allow
    "DPBorda, Laplace noise": DPBorda(),
    "DPBorda, K-norm noise": DPBorda(noise="knorm"),
    "DPPrudentOrder": DPPrudentOrder(),
    "ShufflePairwise": ShufflePairwise(),
    "LDPPairwise": LDPPairwise(),
    "DPSwissBorda": DPSwissBorda(),
    "DPKwikSort": DPKwikSort(),
}
_ESTIMATORS = sorted({type(each).__name__ for each in MECHANISMS.values()})
_ONE_REPORT = ("LDPPairwise", "ShufflePairwise")  # without persons and weights


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    layout.add_arguments(added)
    add = added.add_argument_group("comparison").add_argument
    add("--public", action="store_true", help="the ballots in the file are public; without this, a file is refused")
    epsilons = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
    about = "privacy losses to try, with blanks or commas between; default: 0.01 0.03 0.1 0.3 1 3"
    add("--epsilons", action=Several, one=float, metavar="EPSILON", default=epsilons, help=about)
    about = f"out of {', '.join(_ESTIMATORS)}, with blanks or commas between; default: five that the ballots allow"
    add("--estimators", action=Several, one=_estimator, metavar="ESTIMATOR", help=about)
    add("--trials", type=int, default=20, help="fits at each epsilon; default: %(default)s")
    add("--seed", type=int, default=0, help="the same seed gives the same table; default: %(default)s")
    add("--picture", type=Path, default=Path("compare.png"), help="where to draw; it is replaced; default: %(default)s")


def _estimator(name):
    if name not in _ESTIMATORS:
        raise ValueError(f"must be out of {', '.join(_ESTIMATORS)}, got {name!r}")
    return name


def run(options: argparse.Namespace) -> str:
    """Return the mean excess errors by mechanism and epsilon, and write the picture."""
    if options.file is not None and not options.public:
        raise ValueError(
            f"the output would reveal the ballots. If {called(options.file)} holds public votes, add --public. For "
            "secret votes, use dprank recommend --items .. --voters .. --epsilon .., which needs public numbers only."
        )
    check_outputs({"--picture": options.picture}, [options.file])
    check_whole(options.seed, "--seed", 0)
    if options.max_weight == "auto":
        raise ValueError("--max-weight auto is for rank; give compare a number.")
    if options.items == "private":
        raise ValueError("--items private is for rank; list the items of public ballots.")
    if options.file is None and (names := layout.given(options)):
        raise ValueError(
            f"no file is given, but {', '.join(names)} describe{'s' * (len(names) == 1)} one. Name the file, or "
            "leave out these options for simulated ballots."
        )
    ballots = files.read(options)[0] if options.file else simulated(10, phi=0.75)
    if ballots.n_voters == 0:
        raise ValueError(f"{called(options.file)} holds no ballots; add ballots to compare estimators on.")
    unfit = {"DPPrudentOrder"} if ballots.n_items > 16 else set()
    unfit |= set() if ballots.bound is None else set(_ONE_REPORT)
    left_out = f"{' and '.join(sorted(unfit))} cannot be compared on ballots like these"
    if unfit.intersection(options.estimators or ()):
        raise ValueError(
            f"{left_out}: DPPrudentOrder takes up to 16 items here, and {' and '.join(_ONE_REPORT)} take "
            "neither persons nor weights; leave them out."
        )
    wanted = options.estimators or set(_ESTIMATORS) - unfit
    tried = {name: each for name, each in MECHANISMS.items() if type(each).__name__ in wanted}
    tried = tried if options.estimators else dict(list(tried.items())[:5])
    with own_words("epsilons", epsilon="epsilons", n_trials="trials"):
        shown = PrivacyUtilityDisplay.from_estimators(
            tried, ballots, epsilons=options.epsilons, n_trials=options.trials, random_state=options.seed
        )
    save(shown.plot().figure_, options.picture)
    excess = {name: 100 * (np.mean(errors, axis=1) - shown.floor) for name, errors in shown.errors.items()}
    blind = 100 * (shown.ceiling - shown.floor)
    if options.format == "json":
        made = {
            "not_private": True,
            "simulated": options.file is None,
            "unranked": layout.unranked(options) if options.file else None,
            "epsilons": options.epsilons,
            "excess_points": {name: (errors.round(4) + 0.0).tolist() for name, errors in excess.items()},
            "random_order_points": round(blind, 4),
        }
        return json.dumps(made)
    rows = [["excess error (points) at epsilon", *(f"{epsilon:g}" for epsilon in options.epsilons)]]
    for name, errors in {**excess, "a random order": [blind] * len(options.epsilons)}.items():
        rows.append([name, *(f"{error:z.2f}" for error in errors)])
    about = [layout.UNRANKED[layout.unranked(options)]] if options.file else []
    about += [f"{left_out}."] if unfit else []
    source = "" if options.file else ", simulated: no file was given"
    title = f"{ballots.n_voters} ballots, {ballots.n_items} items{source}; means of {options.trials} fits"
    about.append(
        "NOT PRIVATE: these errors are computed exactly from the ballots. Use them to choose; do not publish them."
    )
    return "\n".join([title, as_table(rows), A_POINT, *about, f"Picture: {options.picture}"])
