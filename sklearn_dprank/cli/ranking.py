"""``dprank rank``: publish one private consensus of the ballots in a file, or one for each segment."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from .._utils.checks import check_number, safe_repr
from ..ballots.reading import checked_name, seen
from ..channels.base import publishes_intervals
from ..channels.central import DPBorda, DPPairwise, DPPrudentOrder, DPSwissBorda, DPTopK
from ..channels.segmented import SegmentedAggregator
from ..privacy.budget import PrivacyBudget, guarantee_as_text, guarantee_from_text
from ..privacy.estimator_guarantees import guarantee_before
from . import accounts, files
from .files import about_unranked, listed, plain
from .printing import (
    as_json,
    as_table,
    check_distinct,
    check_path,
    check_picture,
    message,
    own_words,
    save,
    simulated,
    tell,
    width,
    wrapped,
)

_DELTA = 1e-6
_MOST = 1000  # segments
_WHOLE = re.compile(r"([+-]?[0-9]+)\.0+")


def add_segment_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options for segments."""
    added.add_argument(
        "--segments",
        type=plain,
        metavar="COLUMN",
        help="publish one consensus for each segment, such as a region, all together for one epsilon. The column holds "
        "the segment of each row; it is not an item. Small segments learn from the others, as far as they are alike. "
        "--delta is 1e-6 by default; with --delta 0, each segment is ranked by itself, and only orders are published",
    )
    added.add_argument(
        "--segment-values",
        metavar="A,B,C",
        help="names of the segments, with commas between. They are public: do not read them off the file. All are "
        "published, also those without rows. Rows with an empty cell or another name count nowhere. Names are compared "
        "as text, without blanks around them, also in columns of numbers. north and North differ; 1.0 is the same as 1",
    )


def aggregator(options: argparse.Namespace) -> SegmentedAggregator | None:
    """Return the estimator of ``--segments``, None without it; raise ValueError if other options do not fit."""
    if options.segments is None:
        if options.segment_values is not None:
            raise ValueError("--segment-values lists the names in a column: say which column with --segments.")
        return None
    if options.segment_values is None:
        raise ValueError(
            "--segments needs --segment-values, the public list of segments, such as north,south,east. It is not read "
            "off the file, because that would reveal who is in it."
        )
    others = options.top, options.noise, options.window
    if any(other is not None for other in others) or options.estimator != "DPBorda":
        raise ValueError("--segments is a mechanism of its own: leave out --estimator, --noise, --top and --window.")
    if options.layout not in ("ratings", "positions"):
        raise ValueError(
            "--segments names a column; use it with --ratings or --positions, and with a CSV or Parquet file."
        )
    if options.segments in (options.person, options.weight, *listed(options.items or "", "--items")):
        raise ValueError(
            f"--segments {options.segments!r} is also named by --person, --weight or --items; name another column."
        )
    delta = _DELTA if options.delta is None else options.delta
    return SegmentedAggregator(
        _names(options.segment_values),
        epsilon=options.epsilon,
        delta=delta,
        pooling=delta != 0,
        neighboring=options.neighboring,
    )


def labels(cells: Sequence[str], names: list[str]) -> list[str | None]:
    """Return the name of each row's segment, None for a cell that is none of the names."""
    known = {_plain(name): name for name in names}
    found = [known.get(_plain(cell)) for cell in cells]
    near = {_loosely(cell) for cell, name in zip(cells, found, strict=True) if name is None}
    for name in names:
        if name not in found and _loosely(name) in near:
            tell(
                f"dprank rank: no row has the segment {safe_repr(name)}, but some have a name that differs only in "
                "case, blanks or invisible characters. This line depends on the ballots; do not publish it."
            )
    return found


def results(fitted: SegmentedAggregator, names: Any, level: float) -> dict[str, Any]:
    """Return the segments, one dictionary each, and the level of their intervals if the release has intervals."""
    segments = [
        {"segment": segment, "consensus": [str(item) for item in order]}
        for segment, order in zip(fitted.segments_, fitted.consensus_, strict=True)
    ]
    if not hasattr(fitted, "rank_intervals"):
        return {"segments": segments}
    intervals = fitted.rank_intervals(level, simultaneous=True) + 1
    for place, made in enumerate(segments):
        ends = zip(names, intervals[place].tolist(), strict=True)
        made["intervals"] = {str(name): best_and_worst for name, best_and_worst in ends}
        made["size"] = round(float(fitted.sizes_[place]))
        made["own_weight"] = round(float(fitted.own_weights_[place]), 4)
    return {"level": level, "segments": segments}


def as_text(made: dict[str, Any]) -> str:
    """Return the ranking of each segment as a table, and the meaning of the intervals."""
    tables = [f"{title(each)}\n{ranking(each)}\n" for each in made["segments"]]
    if "level" not in made:
        return "\n".join([*tables, "No intervals and no sizes: with --delta 0, only orders are published."])
    return "\n".join(
        [
            *tables,
            wrapped(
                "Sizes are in votes, with noise. The intervals contain the ranks without noise, in all segments at "
                f"once with probability at least {made['level']:g}. They come from the answers of the segment alone, "
                "so its ranking may be outside of them. They describe these voters only, and may be published."
            ),
        ]
    )


def ranking(made: dict[str, Any]) -> str:
    """Return one consensus as a table, with the interval of each item if there are intervals."""
    ends = made.get("intervals", {})
    rows = [["rank", "item", *(["without noise"] if ends else [])]]
    for rank, item in enumerate(made["consensus"], start=1):
        rows.append([str(rank), item, *(["{} to {}".format(*ends[item])] if ends else [])])
    return as_table(rows)


def title(made: dict[str, Any]) -> str:
    """Return the title of a segment: its name and, if they are published, its size and whose answers it repeats."""
    if "size" not in made:
        return f"{made['segment']}:"
    share, ends = made["own_weight"], made["intervals"].values()
    if share <= 1 / 3:
        whose = "mostly the answers of all"
    elif all(each == [1, len(ends)] for each in ends):  # own weights do not show that own answers are only noise
        whose = f"{'mostly' if share >= 2 / 3 else 'half'} its own answers, which leave every rank open"
    else:
        whose = "mostly its own answers" if share >= 2 / 3 else "half its own answers, half the answers of all"
    return f"{made['segment']}: about {max(made['size'], 0):,} votes, {whose}"


def _names(values):
    """Return the names in ``--segment-values``; raise ValueError if they are too few, too many, empty or equal."""
    names = [checked_name(name, "--segment-values") for name in listed(values, "--segment-values")]
    if not 2 <= len(names) <= _MOST:
        raise ValueError(f"--segment-values must list 2 to {_MOST} names, with commas between, got {len(names)}.")
    if "" in names:
        raise ValueError("--segment-values has an empty name, but rows with an empty cell count nowhere; leave it out.")
    plain = [seen(_plain(name)) for name in names]
    for place, name in enumerate(plain):
        if name in plain[:place]:
            raise ValueError(f"--segment-values lists {safe_repr(name)} twice (1.0 is the same as 1); leave one out.")
    return names


def _loosely(text):
    """Return text without blanks, invisible characters and differences of case."""
    return "".join(letter for letter in seen(text) if letter.isprintable() and letter != " ").casefold()


def _plain(text):
    """Return text for comparison: a whole number without its decimals, which pandas adds to columns with gaps."""
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


# One self-contained HTML page about a release: ranking, intervals, their meaning, and the guarantee.

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title>
<style>
:root { --text: #1b1f24; --page: #ffffff; --soft: #5a6472; --line: #d8dde3; --track: #eef1f4; --bar: #56b4e9;
  --dot: #003f66; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --page: #14181d; --soft: #a3adb9; --line: #353d47;
  --track: #232a32; --bar: #2f79a8; --dot: #ffffff; } }
body { margin: 0 auto; max-width: 44rem; padding: 1.5rem 1rem 3rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--text); background: var(--page); overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .4rem; }
p, li { max-width: 40rem; }
.soft, caption { color: var(--soft); }
table { width: 100%; border-collapse: collapse; margin-top: 1rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { text-align: left; padding: .4rem .5rem .4rem 0; border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 600; }
.rank { width: 3.2rem; font-variant-numeric: tabular-nums; }
.ends { width: 45%; font-variant-numeric: tabular-nums; }
.track { display: block; position: relative; height: .8rem; margin-top: .15rem; background: var(--track);
  border-radius: .2rem; }
.bar { position: absolute; top: 0; bottom: 0; background: var(--bar); border-radius: .2rem; }
.dot { position: absolute; top: .15rem; width: .5rem; height: .5rem; margin-left: -.25rem; background: var(--dot);
  border-radius: 50%; }
.note { border-left: .25rem solid var(--bar); padding-left: .8rem; }
details { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .8rem; }
summary { cursor: pointer; font-weight: 600; }
</style>
</head>
<body>
<main>
<h1>$title</h1>
<p class="soft">$guarantee</p>
$example$tables
<h2>What this means</h2>
$meaning
<details>
<summary>Technical statement of the guarantee</summary>
<ul>
$statement
</ul>
</details>
</main>
</body>
</html>
""")

_PERCENT = "\N{NO-BREAK SPACE}%"


def page(made: dict[str, Any], *, best: bool = False) -> str:
    """Return the page of a release from the data that ``dprank rank --format json`` prints.

    Every value on the page is published. `best` says that only the best items are ranked.
    """
    several = made.get("segments")
    n_items = len((several[0] if several else made)["consensus"])
    plainly, *topics = made["privacy"]["statement"]
    example = "<p class='note'><strong>Example:</strong> the votes are simulated. Nobody voted.</p>\n"
    return _PAGE.substitute(
        title=f"The best {n_items} in order" if best else f"Ranking of {n_items} items",
        guarantee=escape(_budget(made["privacy"])),
        example=example if made["simulated"] else "",
        tables="\n".join(_ranking(each, title(each)) for each in several) if several else _ranking(made, ""),
        meaning="\n".join(f"<p>{escape(text).replace(' %', _PERCENT)}</p>" for text in _meaning(made, plainly)),
        statement="\n".join(f"<li>{escape(topic)}</li>" for topic in topics),
    )


def _budget(privacy):
    """Return the numbers of the guarantee."""
    delta = f", delta\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{privacy['delta']:g}" if privacy["delta"] else ""
    return (
        "Published with differential privacy: "
        f"epsilon\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{privacy['epsilon']:.6g}{delta}"
    )


def _ranking(made, about):
    """Return one ranking as a table, with a heading if there are several."""
    ends = made.get("intervals", {})
    head = f"<h2 dir='auto'>{escape(about)}</h2>\n" if about else ""
    column = "<th scope='col' class='ends'>Rank without noise</th>" if ends else ""
    rows = "\n".join(
        f"<tr><td class='rank'>{rank}</td><th scope='row' dir='auto'>{escape(item)}</th>"
        f"{_interval(rank, ends[item], len(ends)) if ends else ''}</tr>"
        for rank, item in enumerate(made["consensus"], start=1)
    )
    columns = f"<tr><th scope='col' class='rank'>Rank</th><th scope='col'>Item</th>{column}</tr>"
    return f"{head}<table>\n<thead>{columns}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _interval(rank, ends, n_items):
    """Return the cell of an interval: its text, and a bar on a scale of all ranks, with a dot at the rank."""
    best, worst = ends
    text = f"{best}" if best == worst else f"{best} to {worst}"
    left, wide, dot = (f"{100 * part / n_items:.4g}%" for part in (best - 1, worst - best + 1, rank - 0.5))
    return (
        f"<td class='ends'>{text}<span class='track' aria-hidden='true'>"
        f"<span class='bar' style='left:{left};width:{wide}'></span><span class='dot' style='left:{dot}'></span></span>"
        "</td>"
    )


def _percent(share):
    """Return a share below 1 in percent; it never shows as 100."""
    return f"{min(round(100 * share, 4), 99.9999):g}"


def _meaning(made, plainly):
    """Return paragraphs for lay readers."""
    texts = ["Random noise was added to protect the voters. It may have changed the order."]
    if "level" in made:
        texts.append(
            "Each bar shows the ranks that an item may have without the noise, and the dot shows its rank here. The "
            f"probability that all bars are right is at least {_percent(made['level'])} %. If the bars of two items "
            "overlap, the noise may have decided their order."
        )
        if "segments" in made:
            texts.append(
                "The ranking of a group also uses the answers of the other groups, as far as they are alike. Its bars "
                "come from the answers of the group alone, so a dot may be outside of its bar. Numbers of votes are "
                "not exact, because they have noise, too."
            )
        texts.append("The bars describe those who voted, and do not show how other people would vote.")
    else:
        texts.append("This method publishes the order only, and no bars that show the effect of the noise.")
    texts.append(plainly)
    if made["unranked"] is not None:
        texts.append(f"{about_unranked(made['unranked']).partition(' (')[0]}.")
    if "max_weight" in made:
        texts.append(f"Each person counts for at most {made['max_weight']:g} vote{'s' * (made['max_weight'] != 1)}.")
    return texts


# ``dprank rank``: publish one private consensus of the ballots in a file.

_TABLE = "the table of epsilon in the user guide (Epsilon and privacy guarantees)"
_EXAMPLE = "1,000 simulated votes"
_ESTIMATORS = {cls.__name__: cls for cls in (DPBorda, DPPairwise, DPPrudentOrder, DPSwissBorda)}


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``rank``."""
    files.add_arguments(added)
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
    add_segment_arguments(added)


def run(options: argparse.Namespace) -> str:
    """Return the consensus of all or of each segment, its intervals if there are any, and the privacy guarantee."""
    _check_source(options)
    segmented = aggregator(options)
    estimator = _estimator(options) if segmented is None else segmented
    _check_choice(options)
    check_number(options.level, "--level", above=0, below=1)  # before the budget is charged
    _check_outputs(options, estimator)
    ballots, cells = (
        (simulated(5, phi=0.9), []) if options.example else files.read_with_segments(options, options.segments)
    )
    given: dict[str, Any] = {} if segmented is None else {"segments": labels(cells, segmented.classes)}
    budget = _opened_budget(options, estimator, ballots, given)
    with accounts.until_kept() if budget else nullcontext():
        fitted, result = _release(options, estimator, ballots, budget, given)
    return show(result, options.format, _write(options, fitted, result["made"]))


def _release(options, estimator, ballots, budget, given):
    """Charge and fit; return the fitted estimator and the result, which is kept beside the budget."""
    with _own_words():
        fitted = budget.fit(estimator, ballots, **given) if budget else estimator.fit(ballots, **given)
    made: dict[str, Any] = {"simulated": options.example}
    if options.segments is None:
        made["consensus"] = [str(item) for item in fitted.consensus_]
        made |= _intervals(fitted, ballots.item_names, options)
    else:
        made |= results(fitted, ballots.item_names, options.level)
    made["unranked"] = None if options.example else files.unranked(options)
    if hasattr(fitted, "max_weight_"):
        made["max_weight"] = fitted.max_weight_
    made["privacy"] = _guarantee(fitted.privacy_)
    if budget:
        made["budget"] = accounts.state(budget)
    result = {"made": made, "guarantee": guarantee_as_text(fitted.privacy_)}
    if budget:
        options.is_kept = bool(_attempt(options, "Last result", lambda: accounts.keep(options.budget, result)))
    return fitted, result


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
        check_picture(options.plot, "--plot")
    if options.report is not None:
        check_path(options.report, "--report", ["html", "htm"])
    last = None if options.budget is None else accounts.last_result(options.budget)
    outputs = {"--budget": last, "--plot": options.plot, "--report": options.report}
    check_distinct(outputs, [options.file, options.budget])


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


def _opened_budget(options, estimator, ballots, given):
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
        save(display.from_estimator(fitted, level=options.level, name=name).plot().figure_, options.plot)

    def publish():
        document = page(made, best=options.top is not None)
        options.report.write_text(document, encoding="utf-8", errors="xmlcharrefreplace")

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
        ranked = as_text(made)
    else:
        ranked, about = f"{ranking(made)}\n", [_about(made), *about]
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
