"""``dprank rank``: publish one private consensus of the ballots in a file."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._utils.checks import check_number
from ..aggregators import DPBorda, DPPairwise, DPPrudentOrder, DPSwissBorda, DPTopK
from ..privacy import PrivacyBudget
from . import files, segments
from .printing import as_json
from .words import own_words

NAME = "rank"
ABOUT = "publish one private consensus of the ballots in a file"
_ESTIMATORS = {cls.__name__: cls for cls in (DPBorda, DPPairwise, DPPrudentOrder, DPSwissBorda)}


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``rank``."""
    files.add_arguments(added)
    added.add_argument(
        "--epsilon", type=float, required=True, help="privacy loss: a smaller value is more private and less accurate"
    )
    added.add_argument(
        "--delta", type=float, help="failure probability, for Gaussian noise, DPSwissBorda, DPPrudentOrder"
    )
    added.add_argument(
        "--neighboring",
        choices=["add_remove", "replace"],
        default="add_remove",
        help="what is hidden: whether somebody voted (%(default)s, the default), or only how",
    )
    added.add_argument("--estimator", choices=list(_ESTIMATORS), default="DPBorda", help="default: %(default)s")
    added.add_argument(
        "--noise",
        choices=["laplace", "knorm", "gaussian"],
        help="noise of DPBorda or DPPairwise; default: laplace. knorm is for DPBorda: smaller error, but no intervals",
    )
    added.add_argument(
        "--window",
        type=int,
        help="window of DPPrudentOrder without a delta, 2 to 12; needed above 16 items. 7 is a good choice",
    )
    added.add_argument("--top", type=int, metavar="K", help="release only the best K items, in order")
    added.add_argument(
        "--level",
        type=float,
        default=0.95,
        help="simultaneous coverage probability of the intervals; default: %(default)s",
    )
    added.add_argument(
        "--budget", type=Path, metavar="FILE", help="SQLite file with the voters' privacy budget, to charge"
    )
    added.add_argument(
        "--budget-epsilon", type=float, help="epsilon of a new budget; needed if the file does not exist"
    )
    added.add_argument("--budget-delta", type=float, help="delta of a new budget")
    segments.add_arguments(added)


def run(options: argparse.Namespace) -> str:
    """Return the consensus of all or of each segment, its intervals if there are any, and the privacy guarantee."""
    segmented = segments.aggregator(options)
    estimator = _estimator(options) if segmented is None else segmented
    _check_choice(options)
    check_number(options.level, "--level", above=0, below=1)  # before the budget is charged
    ballots, cells = files.read_with_segments(options, options.segments)
    given: dict[str, Any] = {} if segmented is None else {"segments": segments.labels(cells, segmented.classes)}
    budget = _budget(options, estimator)
    with own_words("epsilon", "delta", "noise", "neighboring", "window", k="top", max_weight="max-weight"):
        fitted = budget.fit(estimator, ballots, **given) if budget else estimator.fit(ballots, **given)
    if segmented is None:
        made: dict[str, Any] = {"consensus": [str(item) for item in fitted.consensus_]}
        made |= _intervals(fitted, ballots.item_names, options)
    else:
        made = segments.results(fitted, ballots.item_names, options.level)
    made["unranked"] = files.unranked(options)
    if hasattr(fitted, "max_weight_"):
        made["max_weight"] = fitted.max_weight_
    made["privacy"] = _guarantee(fitted.privacy_)
    if budget:
        made["budget"] = {"spent": budget.spent_.epsilon, "remaining": budget.remaining.epsilon}
    return as_json(made) if options.format == "json" else _as_text(made, fitted.privacy_)


def _estimator(options):
    given = {"delta": options.delta, "noise": options.noise, "window": options.window}
    given = {name: value for name, value in given.items() if value is not None}
    if options.top is not None:
        if given or options.estimator != "DPBorda":
            raise ValueError("--top is a mechanism of its own: leave out --estimator, --noise, --delta and --window.")
        return DPTopK(options.top, epsilon=options.epsilon, neighboring=options.neighboring)
    estimator = _ESTIMATORS[options.estimator](epsilon=options.epsilon, neighboring=options.neighboring)
    for name in given.keys() - estimator.get_params().keys():
        raise ValueError(f"{options.estimator} has no --{name}; leave it out.")
    if options.noise == "knorm" and options.estimator != "DPBorda":
        raise ValueError(f"--noise knorm is for DPBorda; use --noise laplace or gaussian for {options.estimator}.")
    return estimator.set_params(**given)


def options_of(estimator: Any) -> list[str] | None:
    """Return the options for which ``rank`` fits this estimator, None if it cannot.

    Examples
    --------
    >>> from sklearn_dprank import DPPrudentOrder
    >>> options_of(DPPrudentOrder(0.1, window=7))
    ['--epsilon', '0.1', '--estimator', 'DPPrudentOrder', '--window', '7']
    """
    name, default = type(estimator).__name__, type(estimator)().get_params()
    if name not in (*_ESTIMATORS, "DPTopK"):
        return None
    params = estimator.get_params()
    found = ["--epsilon", str(params.pop("epsilon"))]
    found += ["--top", str(params.pop("k"))] if name == "DPTopK" else ["--estimator", name] * (name != "DPBorda")
    changed = {option: value for option, value in params.items() if value != default[option]}
    if not changed.keys() <= {"delta", "noise", "neighboring", "window"}:
        return None
    return found + [each for option, value in changed.items() for each in (f"--{option}", str(value))]


def _check_choice(options):
    """Raise ValueError if ``--max-weight auto`` is without Gaussian noise."""
    gaussian = options.estimator == "DPSwissBorda" or (options.noise == "gaussian" and options.delta)
    if options.segments is not None:
        gaussian = options.delta != 0
    if options.max_weight == "auto" and (options.top is not None or not gaussian):
        raise ValueError(
            "--max-weight auto needs Gaussian noise: add --noise gaussian --delta 1e-6 for DPBorda or DPPairwise, use "
            "--estimator DPSwissBorda, or leave out --delta 0 with --segments; else give --max-weight a number."
        )


def _budget(options, estimator):
    if options.budget is None:
        if options.budget_epsilon is not None or options.budget_delta is not None:
            raise ValueError("--budget-epsilon and --budget-delta create a budget: say which file with --budget.")
        return None
    if options.budget_epsilon is None and not options.budget.exists():
        raise ValueError(f"the budget file {options.budget.name} does not exist: create it with --budget-epsilon.")
    delta = getattr(estimator, "delta", 0)
    if not options.budget.exists() and delta > (options.budget_delta or 0):
        raise ValueError(f"this release has delta = {delta:g}: give the new budget at least that with --budget-delta.")
    with own_words("neighboring", epsilon="budget-epsilon", delta="budget-delta"):
        return PrivacyBudget.open(
            options.budget,
            options.budget_epsilon,
            options.budget_delta,
            neighboring=None if options.budget.exists() else options.neighboring,
        )


def _intervals(fitted, names, options) -> dict[str, Any]:
    """Return the best and worst rank of each item, from 1, with their level; empty if the release has no intervals."""
    if not hasattr(fitted, "rank_intervals"):
        return {}
    ranks = (fitted.rank_intervals(options.level) + 1).tolist()
    return {"level": options.level, "intervals": {str(name): ends for name, ends in zip(names, ranks, strict=True)}}


def _guarantee(guarantee):
    """Return a guarantee as JSON-able data."""
    fields = asdict(guarantee)
    del fields["losses"]
    return {**fields, "statement": guarantee.statement(width=None).splitlines()}


def _as_text(made, guarantee):
    ranked = segments.as_text(made) if "segments" in made else f"{segments.ranking(made)}\n\n{_about(made)}"
    weighed = ["A person has at most the weight {max_weight:g}.".format(**made)] if "max_weight" in made else []
    lines = [ranked, files.about_unranked(made["unranked"]), *weighed, "", guarantee.statement()]
    if "budget" in made:
        lines.append(
            "Budget: epsilon {spent:.6g} spent, {remaining:.6g} left for releases with delta = 0.".format(
                **made["budget"]
            )
        )
    return "\n".join(lines)


def _about(made):
    """Return the meaning of the intervals, or the reason why there are none."""
    if "intervals" in made:
        return (
            "The intervals contain the ranks without noise, all at once with probability at least "
            f"{made['level']:g}. They describe these voters only, and may be published."
        )
    return "No intervals: this mechanism does not publish them. DPBorda with Laplace or Gaussian noise does."
