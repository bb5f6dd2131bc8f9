"""``dprank rank``: publish one private consensus of the ballots in a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._utils.checks import check_number
from ..aggregators.central import DPPairwise
from ..aggregators.central_borda import DPBorda, DPSwissBorda
from ..aggregators.prudent import DPPrudentOrder, DPTopK
from ..aggregators.rank_intervals import publishes_intervals
from ..privacy import PrivacyBudget
from ..privacy.budget.releases import guarantee_as_text, guarantee_from_text
from ..privacy.estimator_guarantees import guarantee_before
from . import accounts, files, pictures, report, segments
from .example import simulated
from .printing import as_json, width, wrapped
from .words import message, own_words, tell

_TABLE = "the table of epsilon in the user guide (Epsilon and privacy guarantees)"
_EXAMPLE = "1,000 simulated votes"
_ESTIMATORS = {cls.__name__: cls for cls in (DPBorda, DPPairwise, DPPrudentOrder, DPSwissBorda)}


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``rank``."""
    files.add_arguments(added, optional=True)
    added.add_argument(
        "--example",
        action="store_true",
        help=f"rank {_EXAMPLE} on five drinks in place of a file, with epsilon 1, and draw ranking.png",
    )
    added.add_argument(
        "--epsilon",
        type=float,
        help="privacy loss: a smaller value is more private and less accurate. Needed with a file. 1 is a usual start; "
        f"{_TABLE} compares values",
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
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the intervals; the name ends in png, pdf or svg, for example. An existing file is replaced",
    )
    added.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write one HTML page for publication: ranking, intervals, what they mean, and the guarantee. An existing "
        "file is replaced",
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
    _check_source(options)
    segmented = segments.aggregator(options)
    estimator = _estimator(options) if segmented is None else segmented
    _check_choice(options)
    check_number(options.level, "--level", above=0, below=1)  # before the budget is charged
    _check_outputs(options, estimator)
    ballots, cells = (
        (simulated(5, phi=0.9), []) if options.example else files.read_with_segments(options, options.segments)
    )
    given: dict[str, Any] = {} if segmented is None else {"segments": segments.labels(cells, segmented.classes)}
    budget = _budget(options, estimator, ballots, given)
    with _own_words():
        fitted = budget.fit(estimator, ballots, **given) if budget else estimator.fit(ballots, **given)
    made: dict[str, Any] = {"simulated": options.example}
    if segmented is None:
        made["consensus"] = [str(item) for item in fitted.consensus_]
        made |= _intervals(fitted, ballots.item_names, options)
    else:
        made |= segments.results(fitted, ballots.item_names, options.level)
    made["unranked"] = None if options.example else files.unranked(options)
    if hasattr(fitted, "max_weight_"):
        made["max_weight"] = fitted.max_weight_
    made["privacy"] = _guarantee(fitted.privacy_)
    if budget:
        made["budget"] = accounts.state(budget)
    result = {"made": made, "guarantee": guarantee_as_text(fitted.privacy_)}
    if budget:
        options.is_kept = bool(_attempt(options, "Last result", lambda: accounts.keep(options.budget, result)))
    return show(result, options.format, _write(options, fitted, made))


def show(result: dict[str, Any], form: str, written: Sequence[str] = ()) -> str:
    """Return a result as it is printed, with a line for each file that was written."""
    made = result["made"]
    return as_json(made) if form == "json" else _as_text(made, guarantee_from_text(result["guarantee"]), written)


def _own_words():
    return own_words("epsilon", "delta", "noise", "neighboring", "window", k="top", max_weight="max-weight")


def _budget_words():
    return own_words("neighboring", epsilon="budget-epsilon", delta="budget-delta")


def _check_source(options):
    """Raise ValueError unless there is either a file or an example; give the example its epsilon and its picture."""
    if not options.example:
        if options.file is None:
            raise ValueError("no file is given: name the file of the ballots, or add --example for simulated votes.")
        if options.epsilon is None:
            raise ValueError(f"--epsilon is missing: state the privacy loss of the release. See {_TABLE}.")
        return
    if options.file is not None:
        raise ValueError("--example ranks simulated votes: leave out the file, or leave out --example.")
    files.check_no_layout(options)
    others = ("segments", "segment_values", "budget", "budget_epsilon", "budget_delta")
    if unused := [f"--{name.replace('_', '-')}" for name in others if getattr(options, name) is not None]:
        raise ValueError(f"--example has no voters to count or protect: leave out {', '.join(unused)}.")
    options.epsilon = 1.0 if options.epsilon is None else options.epsilon


def _check_outputs(options, estimator):
    """Raise if the picture or the report cannot be made; choose the picture of the example."""
    intervals = options.segments is not None or publishes_intervals(estimator)
    if options.example and intervals and options.plot is None:
        options.plot = Path("ranking.png")
    if options.plot is not None:
        if not intervals:
            raise ValueError(
                "--plot draws rank intervals, and this mechanism does not publish any. DPBorda and DPPairwise do, with "
                "Laplace or Gaussian noise. Use one of these, or leave out --plot."
            )
        pictures.check_picture(options.plot, "--plot")
    if options.report is not None:
        pictures.check_path(options.report, "--report", ["html", "htm"])
    last = None if options.budget is None else accounts.last_result(options.budget)
    outputs = {"--budget": last, "--plot": options.plot, "--report": options.report}
    pictures.check_distinct(outputs, [options.file, options.budget])


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


def _budget(options, estimator, ballots, given):
    """Return the budget to charge, None without one; create no budget that this release does not fit."""
    if options.budget is None:
        if options.budget_epsilon is not None or options.budget_delta is not None:
            raise ValueError("--budget-epsilon and --budget-delta create a budget: say which file with --budget.")
        return None
    new = not options.budget.exists()
    if new and options.budget_epsilon is None:
        raise ValueError(f"the budget file {options.budget.name} does not exist: create it with --budget-epsilon.")
    delta = getattr(estimator, "delta", 0)
    if new and delta > (options.budget_delta or 0):
        raise ValueError(f"this release has delta = {delta:g}: give the new budget at least that with --budget-delta.")
    terms = options.budget_epsilon, options.budget_delta
    if new:
        with _own_words():
            forecast = guarantee_before(estimator, ballots, **given)
        with _budget_words():
            trial = PrivacyBudget(terms[0], terms[1] or 0.0, neighboring=options.neighboring)
        trial.charge(forecast, type(estimator).__name__)
    with _budget_words():
        return PrivacyBudget.open(options.budget, *terms, neighboring=options.neighboring if new else None)


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


def _write(options, fitted, made):
    """Write the picture and the report; return a line about each."""
    name = f"{_EXAMPLE}, " * options.example + f"epsilon = {options.epsilon:g}"

    def draw():
        from ..plotting import RankIntervalDisplay, SegmentsDisplay

        display = RankIntervalDisplay if options.segments is None else SegmentsDisplay
        pictures.save(display.from_estimator(fitted, level=options.level, name=name).plot().figure_, options.plot)

    def publish():
        page = report.page(made, best=options.top is not None)
        options.report.write_text(page, encoding="utf-8", errors="xmlcharrefreplace")

    return [
        *([] if options.plot is None else _attempt(options, f"Picture: {options.plot}", draw)),
        *([] if options.report is None else _attempt(options, f"Report: {options.report}", publish)),
    ]


def _attempt(options: argparse.Namespace, line: str, write: Callable[[], None]) -> list[str]:
    """Write a file; a failure or Ctrl-C does not stop the command, because the result was charged."""
    try:
        write()
    except (Exception, KeyboardInterrupt) as error:
        why = message(error) or "interrupted"
        tell(f"dprank rank: {line} could not be written ({why}). The ranking is complete.")
        options.is_incomplete = True
        return []
    return [line]


def _as_text(made, guarantee, written):
    about = [] if made["unranked"] is None else [files.about_unranked(made["unranked"])]
    if "segments" in made:
        ranked = segments.as_text(made)
    else:
        ranked, about = f"{segments.ranking(made)}\n", [_about(made), *about]
    if made["simulated"]:
        ranked = f"{_EXAMPLE} on five drinks, epsilon = {guarantee.epsilon:g}\n\n{ranked}"
    if "max_weight" in made:
        about.append("A person has at most the weight {max_weight:g}.".format(**made))
    lines = [ranked, *map(wrapped, about), "", guarantee.statement(width()), *written]
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
