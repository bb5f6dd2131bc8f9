"""``dprank rank``: publish one private consensus of the ballots in a file, or one for each segment."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from functools import partial
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from .. import __version__
from .._utils.checks import check_number, safe_repr
from ..ballots.reading import checked_names, seen
from ..ballots.weights import COMPARISONS
from ..channels.base import publishes_intervals
from ..channels.central import (
    DPBorda,
    DPBradleyTerry,
    DPPairwise,
    DPPositionalRule,
    DPPrudentOrder,
    DPSwissBorda,
    DPTopK,
)
from ..channels.segmented import SegmentedAggregator
from ..privacy.budget import PrivacyBudget
from ..privacy.estimator_guarantees import guarantee_before
from ..uncertainty.laws import Of
from . import accounts, files, headers, layout, printing
from .tables import plain

_EXAMPLE = "1,000 simulated votes"
_ESTIMATORS = {
    cls.__name__: cls for cls in (DPBorda, DPBradleyTerry, DPPairwise, DPPositionalRule, DPPrudentOrder, DPSwissBorda)
}
_BLANK = "\N{NO-BREAK SPACE}"
_SAME = ("epsilon", "delta", "noise", "neighboring", "window")
_own_words = partial(printing.own_words, *_SAME, k="top", max_weight="max-weight", max_listed="max-listed")


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``rank``."""
    layout.add_arguments(added)
    add = added.add_argument_group("release").add_argument
    add("--example", action="store_true", help=f"rank {_EXAMPLE} in place of a file, and draw ranking.png")
    add("--epsilon", type=float, help="privacy loss, needed with a file; smaller is more private; 1 is a usual start")
    add("--delta", type=float, help="failure probability, for Gaussian noise, DPSwissBorda and others")
    about = "what is hidden: whether somebody voted (add_remove, the default), or only how (replace)"
    add("--neighboring", choices=["add_remove", "replace"], default="add_remove", help=about)
    about = "default: DPBorda; DPBradleyTerry with --comparisons and --long, DPPositionalRule with --items private"
    add("--estimator", choices=list(_ESTIMATORS), help=about)
    add("--noise", choices=["laplace", "knorm", "gaussian"], help="default: laplace; knorm, for DPBorda: no intervals")
    add("--window", type=int, help="window of DPPrudentOrder without delta, 2 to 12; needed above 16 items; try 7")
    add("--top", type=int, metavar="K", help="release only the best K items, in order")
    add("--level", type=float, default=0.95, help="simultaneous coverage of the intervals; default: %(default)s")
    about = (
        "whose ranks the intervals contain: of the voters (the default), or of the population that they are a random "
        "sample of, for DPBorda with --noise gaussian or --neighboring replace; default of DPBradleyTerry: population"
    )
    add("--of", choices=["voters", "population"], help=about)
    add("--plot", type=Path, metavar="FILE", help="draw the intervals (png, pdf, svg); replaces an existing file")
    about = "write an HTML page for publication, with the date and this command; replaces an existing file"
    add("--report", type=Path, metavar="FILE", help=about)
    add("--title", help="title of the page, which is public")
    add("--question", help="question that the voters were asked, printed on the page")
    add = added.add_argument_group("budget").add_argument
    add("--budget", type=Path, metavar="FILE", help="SQLite file with the voters' privacy budget, to charge")
    add("--budget-epsilon", type=float, help="epsilon of a new budget; needed if the file does not exist")
    add("--budget-delta", type=float, help="delta of a new budget")
    about = (
        "Publish one consensus for each segment of the voters, such as a region, all for one epsilon. --delta is 1e-6 "
        "by default; with 0, segments do not learn from others and have no intervals. All names are published, also "
        "those without rows. A row with an empty cell or another name counts nowhere. north and North differ."
    )
    add = added.add_argument_group("segments", about).add_argument
    add("--segments", type=plain, metavar="COLUMN", help="column with the segment of each row")
    add("--segment-values", metavar="A,B,C", help="public names of all segments, which are not read off the file")


def run(options: argparse.Namespace) -> str:
    """Return the consensus of all or of each segment, its intervals if there are any, and the privacy guarantee."""
    if options.example:
        others = ("segments", "segment_values", "budget", "budget_epsilon", "budget_delta")
        if unused := ["the file"] * (options.file is not None) + layout.given(options, *others):
            raise ValueError(f"--example ranks simulated votes: leave out {', '.join(unused)}.")
        options.epsilon = 1.0 if options.epsilon is None else options.epsilon
    elif options.file is None:
        raise ValueError("no file is given: name the file of the ballots, or add --example for simulated votes.")
    elif options.epsilon is None:
        raise ValueError("--epsilon is missing: state the privacy loss. See the table of epsilon in the user guide.")
    estimator = _estimator(options)
    check_number(options.level, "--level", above=0, below=1)
    intervals = options.segments is not None or (options.items != "private" and publishes_intervals(estimator))
    if options.example and intervals and options.plot is None:
        options.plot = Path("ranking.png")
    _check_outputs(options, intervals)
    given: dict[str, Any] = {}
    if options.example:
        ballots = printing.simulated(5, phi=0.9)
    else:
        ballots, cells = files.read(options)
        if options.segments is not None:
            given["segments"] = labels(cells, estimator.classes)
    _check_of(options, estimator, ballots, intervals)
    budget = _opened_budget(options, estimator, ballots, given)
    with accounts.until_kept() if budget else nullcontext():
        with _own_words():
            fitted = budget.fit(estimator, ballots, **given) if budget else estimator.fit(ballots, **given)
        made: dict[str, Any] = {
            "simulated": options.example,
            **results(fitted, ballots.item_names, options.level, options.of),
        }
        made["unranked"] = None if options.example or options.comparisons else layout.unranked(options)
        made["direction"] = None if options.example else layout.DIRECTIONS.get(options.layout)
        if hasattr(fitted, "max_weight_") and (options.person or options.weight):
            made["max_weight"] = fitted.max_weight_
        if hasattr(fitted, "max_listed_") and not options.comparisons:
            made["max_listed"] = fitted.max_listed_
        if options.items == "private":
            made["private_items"] = True
        made["privacy"] = asdict(fitted.privacy_)
        del made["privacy"]["losses"]
        made["privacy"]["statement"] = fitted.privacy_.statement(width=None).splitlines()
        if budget:
            made["budget"] = accounts.state(budget)
            with _attempt(options, "Last result", []):
                accounts.keep(options.budget, {"made": made})
                options.is_kept = True
    written: list[str] = []
    if options.plot is not None:
        with _attempt(options, f"Picture: {options.plot}", written):
            from ..plotting import RankIntervalDisplay, SegmentsDisplay

            display = RankIntervalDisplay if options.segments is None else SegmentsDisplay
            name = f"{_EXAMPLE}, " if options.example else ""
            name += f"epsilon = {options.epsilon:g}"
            drawn: dict[str, Any] = {"level": options.level, "name": name}
            drawn |= {} if options.of is None else {"of": options.of}
            printing.save(display.from_estimator(fitted, **drawn).plot().figure_, options.plot)
    if options.report is not None:
        with _attempt(options, f"Report: {options.report}", written):
            texts = {"title": options.title, "question": options.question, "command": command(options)}
            document = page(made, best=options.top is not None, **texts)
            options.report.write_text(document, encoding="utf-8", errors="xmlcharrefreplace")
    return show(made, options.format, written)


@contextmanager
def _attempt(options: argparse.Namespace, line: str, written: list[str]) -> Iterator[None]:
    """Add the line of a file that is written; a failure or Ctrl-C is told only, because the result was charged."""
    try:
        yield
        written.append(line)
    except (Exception, KeyboardInterrupt) as error:
        printing.tell(f"dprank rank: {line} could not be written ({printing.why(error)}). The ranking is complete.")
        options.is_incomplete = True


def _estimator(options):
    """Return the estimator that the options describe; raise ValueError if they contradict each other."""
    given = {"delta": options.delta, "noise": options.noise, "window": options.window}
    given = {name: value for name, value in given.items() if value is not None}
    common = {"epsilon": options.epsilon, "neighboring": options.neighboring}
    if options.segment_values is not None and options.segments is None:
        raise ValueError("--segment-values lists the names in a column: say which column with --segments.")
    own = (None, "DPPositionalRule")
    if options.items == "private" and (options.top or options.segments or options.estimator not in own):
        raise ValueError(
            "--items private is for DPPositionalRule, the only estimator that can publish names of the ballots. Leave "
            "out --estimator, --top and --segments, or list the items with --items."
        )
    if options.segments is not None:
        delta = given.get("delta", 1e-6)
        return SegmentedAggregator(_segment_names(options), delta=delta, pooling=delta != 0, **common)
    if options.top is not None:
        if given or options.estimator not in (None, "DPBorda"):
            raise ValueError("--top is a mechanism of its own: leave out --estimator, --noise, --delta and --window.")
        return DPTopK(options.top, **common)
    default = "DPBradleyTerry" if options.comparisons or options.long else "DPBorda"
    kind = options.estimator or ("DPPositionalRule" if options.items == "private" else default)
    estimator: Any = _ESTIMATORS[kind](**common)
    for name in given.keys() - estimator.get_params().keys():
        raise ValueError(f"{kind} has no --{name}; leave it out, or name another --estimator.")
    if options.delta == 0 and kind in ("DPPositionalRule", "DPSwissBorda"):
        raise ValueError(f"{kind} needs --delta above 0, because its noise is Gaussian; 1e-6 is usual.")
    if options.noise == "knorm" and kind != "DPBorda":
        raise ValueError(f"--noise knorm is for DPBorda; use --noise laplace or gaussian for {kind}.")
    if options.of == "population" and kind == "DPBorda" and options.noise == "gaussian":
        given["population"] = True
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
    found += ["--of", "population"] * params.pop("population", False)
    for option, value in params.items():
        found += [f"--{option}", str(value)] if value != default[option] else []
    return found


def _check_outputs(options, intervals):
    """Raise if an output cannot be drawn or written."""
    if options.plot is not None and not intervals:
        raise ValueError(
            "--plot draws rank intervals, which private items and some estimators do not have: leave it out. Or list "
            "the items, and use DPBorda, DPPairwise, DPBradleyTerry or DPPositionalRule with Laplace or Gaussian noise."
        )
    texts = [f"--{name}" for name in ("title", "question") if getattr(options, name) is not None]
    if texts and options.report is None:
        raise ValueError(f"{' and '.join(texts)}: printed on the page of --report only; name its file with --report.")
    last = None if options.budget is None else accounts.last_result(options.budget)
    outputs = {"--budget": last, "--plot": options.plot, "--report": options.report}
    printing.check_outputs(outputs, [options.file, options.budget])


def _check_of(options, estimator, ballots, intervals):
    """Raise ValueError if the release will have no intervals of those that ``--of`` names."""
    if options.of is None:
        return
    if not intervals or options.segments is not None:
        raise ValueError("--of is for rank intervals of all voters: use DPBorda or DPBradleyTerry, without --segments.")
    if options.of == "voters" and isinstance(estimator, DPBradleyTerry) and estimator.delta:
        raise ValueError("--of voters needs one round, if the estimator is DPBradleyTerry; add --delta 0.")
    is_borda = type(estimator) is DPBorda and (options.neighboring == "replace" or estimator.population)
    if options.of == "population" and not (
        isinstance(estimator, DPBradleyTerry) or (is_borda and ballots.bound is None)
    ):
        raise ValueError(
            "--of population needs DPBorda with --noise gaussian --delta 1e-6, or with --neighboring replace. It needs "
            "one row a voter, without --person, --weight and --max-listed. For long files, use DPBradleyTerry."
        )


def _opened_budget(options, estimator, ballots, given):
    """Return the budget to charge, None without one; create no budget that this release does not fit."""
    epsilon, delta = options.budget_epsilon, options.budget_delta
    if options.budget is None:
        if epsilon is not None or delta is not None:
            raise ValueError("--budget-epsilon and --budget-delta create a budget: say which file with --budget.")
        return None
    if is_new := not options.budget.exists():
        if epsilon is None:
            raise ValueError(f"the budget file {options.budget.name} does not exist: create it with --budget-epsilon.")
        if (needed := getattr(estimator, "delta", 0)) > (delta or 0):
            raise ValueError(f"this release has delta = {needed:g}: give the new budget that much with --budget-delta.")
        with _own_words():
            forecast = guarantee_before(estimator, ballots, **given)
    with printing.own_words("neighboring", epsilon="budget-epsilon", delta="budget-delta"):
        if is_new:
            trial = PrivacyBudget(epsilon, delta or 0.0, neighboring=options.neighboring)
            trial.charge(forecast, type(estimator).__name__)  # raises if the release does not fit
        return PrivacyBudget.open(options.budget, epsilon, delta, neighboring=options.neighboring if is_new else None)


# Segments.

_WHOLE = re.compile(r"^([+-]?[0-9]+)\.0+$")  # pandas adds decimals to whole numbers in columns with gaps


def _segment_names(options):
    """Return the names in ``--segment-values``; raise ValueError if they or other options do not fit."""
    if options.segment_values is None:
        raise ValueError(
            "--segments needs --segment-values, the public list of segments, such as north,south,east. It is not read "
            "off the file, because that would reveal who is in it."
        )
    others = (options.top, options.noise, options.window)
    if any(other is not None for other in others) or options.estimator not in (None, "DPBorda"):
        raise ValueError("--segments is a mechanism of its own: leave out --estimator, --noise, --top and --window.")
    if layout.form(options) not in ("ratings", "positions", "choices"):
        raise ValueError(
            "--segments names a column with one row a voter; use it with --ratings, --positions or --choices, and a "
            "file with a row of names."
        )
    items = [] if options.items in (None, "all") else headers.listed(options.items, "--items")
    if options.segments in (options.person, options.weight, options.count, *items):
        raise ValueError(
            f"--segments {options.segments!r} is also named by --person, --weight, --count or --items; rename it."
        )
    # 1.0 is the same as 1.
    names = [_WHOLE.sub(r"\1", name) for name in headers.listed(options.segment_values, "--segment-values")]
    if not 2 <= len(names) <= 1000:
        raise ValueError(f"--segment-values must list 2 to 1000 names, with commas between, got {len(names)}.")
    return checked_names(names, "--segment-values")


def labels(cells: Sequence[str], names: list[str]) -> list[str]:
    """Return the segment of each row as names are compared, and tell the operator about names that almost match."""
    found = [_WHOLE.sub(r"\1", cell) for cell in cells]
    near = {_loosely(cell) for cell in set(found).difference(names)}
    for name in names:
        if name not in set(found) and _loosely(name) in near:
            printing.tell(
                f"dprank rank: no row has the segment {safe_repr(name)}, but some have a name that differs only in "
                "case, blanks or invisible characters. This line depends on the ballots; do not publish it."
            )
    return found


def _loosely(text):
    """Return text without blanks, invisible characters and differences of case."""
    return "".join(letter for letter in seen(text) if letter.isprintable() and letter != " ").casefold()


# Results, and what is printed and written.


def results(fitted: Any, names: Any, level: float, of: Of | None = None) -> dict[str, Any]:
    """Return the consensus or the segments, with the intervals and what they contain if the release has intervals."""
    is_segmented, intervals = hasattr(fitted, "segments_"), None
    if hasattr(fitted, "rank_intervals"):
        together = fitted.rank_intervals(level, **({"simultaneous": True} if is_segmented else {"of": of}))
        intervals = together if is_segmented else [together]
    made: list[dict[str, Any]] = []
    for number, order in enumerate(fitted.consensus_ if is_segmented else [fitted.consensus_]):
        one: dict[str, Any] = {"consensus": [str(item) for item in order]}
        if intervals is not None:  # best and worst rank, from 1
            one["intervals"] = dict(zip(map(str, names), (intervals[number] + 1).tolist(), strict=True))
        if is_segmented:
            one["segment"] = fitted.segments_[number]
        if is_segmented and intervals is not None:
            one["size"] = round(float(fitted.sizes_[number]))
            one["own_weight"] = round(float(fitted.own_weights_[number]), 4)
        made.append(one)
    stated: dict[str, Any] = {}
    if intervals is not None:
        noise = fitted.noise_
        stated = {"level": level, "of": of or noise.describes[0], "whose": noise.whose(of)}
        if stated["of"] == "population" and noise.assumes is not None:
            stated |= {"approximate": True, "assumes": noise.assumes}
    return {**stated, "segments": made} if is_segmented else {**made[0], **stated}


def show(made: dict[str, Any], form: str, written: Sequence[str] = ()) -> str:
    """Return a result as it is printed, with a line for each file that was written."""
    if form == "json":
        return json.dumps(made)
    segments, of_population = made.get("segments"), made.get("of") == "population"
    lines = [f"{_EXAMPLE} on five drinks, epsilon = {made['privacy']['epsilon']:g}\n"] if made["simulated"] else []
    for each in segments or [made]:
        ends = each.get("intervals")
        rows = [["rank", "item", ("in population" if of_population else "without noise") if ends else ""]]
        for rank, item in enumerate(each["consensus"], start=1):
            rows.append([str(rank), item, "{} to {}".format(*ends[item]) if ends else ""])
        lines += [title(each)] if segments else []
        lines.append(f"{printing.as_table(rows)}\n")
    if "level" in made:
        about = [
            f"The intervals contain the ranks {made['whose']}, {'in all segments' if segments else 'all'} at once with "
            f"probability {_at_least(made)} {made['level']:g}{_condition(made)}. They may be published."
        ]
        about += ["The persons must be a random sample of this population."] if of_population else []
        about += ["They are from a segment's own answers, so its ranking may be outside."] if segments else []
    elif "private_items" in made:
        about = [_names_of(made)]
    else:
        about = ["No intervals: only orders are published. DPBorda with Laplace or Gaussian noise publishes intervals."]
    about += _readings(made)
    if "max_weight" in made:
        most = f"A person has at most the weight {made['max_weight']:g}."
        about.append(_heavy(made) or most)
    about += _lengths(made) + _wide(made)
    width = min(max(shutil.get_terminal_size((88, 24)).columns, 40), 100)
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    statement = [fill(topic, subsequent_indent="  ") for topic in made["privacy"]["statement"]]
    lines += [*map(fill, about), "", *statement, *written]
    if "budget" in made:
        spent, left = made["budget"]["spent"], made["budget"]["remaining"]
        lines.append(f"Budget: epsilon {spent:.6g} spent, {left:.6g} left for releases with delta = 0.")
    return "\n".join(lines)


def _readings(made):
    """Return sentences about how cells were read; options are in parentheses at their end."""
    return [sentence for sentence in (made["direction"], layout.UNRANKED.get(made["unranked"])) if sentence]


def _at_least(made):
    """Return the word before the level."""
    return "about" if "approximate" in made else "at least"


def _condition(made):
    """Return what the intervals assume, as the end of a sentence."""
    return f", if {made['assumes']}" if made.get("assumes") else ""


def _names_of(made):
    """Return which private names are published, and the part of delta that others have."""
    none = "" if made["consensus"] else "No name has enough. "
    return (
        f"{none}A name is published only if its score, with noise, is large enough. If only one person lists some "
        f"names, the probability that any of these is published is at most {made['privacy']['delta'] / 2:g}, half of "
        "delta."
    )


def _lengths(made):
    """Return what happens to long ballots, as a list of at most one sentence."""
    if "max_listed" not in made:
        return []
    if made["unranked"] == "no_score":
        return [f"Only the first {made['max_listed']} items of a list count."]
    return [f"Ballots that list more than {made['max_listed']} items count less."]


def _wide(made, intervals="intervals"):
    """Return that a release says little, as a list of at most one text: half of its intervals or more are very wide."""
    ends = [each for one in made.get("segments", [made]) for each in one.get("intervals", {}).values()]
    n_items = max((worst for _, worst in ends), default=1)
    n_wide = sum(worst - best + 1 >= 0.9 * n_items > 1 for best, worst in ends)
    if 2 * n_wide < max(len(ends), 1):
        return []
    return [
        f"{n_wide} of {len(ends)} {intervals} cover nearly all ranks: this release says little about the order of "
        "these items. More voters, or a larger epsilon (less protection), would narrow them."
    ]


def _heavy(made):
    """Return what happens to persons with many comparisons, empty for other data."""
    most = f"{made['max_weight']:g} comparison{'s' * (made['max_weight'] != 1)}"
    is_compared = made["privacy"]["unit"] == COMPARISONS
    return f"If a person has more than {most}, each of them may count less." if is_compared else ""


def title(made: dict[str, Any]) -> str:
    """Return the title of a segment: its name and, if they are published, its size and the share of its own answers."""
    if "size" not in made:
        return f"{made['segment']}:"
    return f"{made['segment']}: about {max(made['size'], 0):,} votes, {100 * made['own_weight']:.0f} % own answers"


#: Options that change neither the ranking nor its page.
_NOT_SHOWN = ("budget", "budget_epsilon", "budget_delta", "plot", "format")


def command(options: argparse.Namespace) -> str:
    """Return the command that makes a page, as the page states it: names of files without folders, and no budget."""
    from . import parser

    shown = ["dprank", "rank"]
    for name, default in vars(parser(["rank"]).parse_args(["rank"])).items():
        value = getattr(options, name)
        if value == default or name in _NOT_SHOWN:
            continue
        if name != "file":
            shown.append(f"--{value if name == 'layout' else name.replace('_', '-')}")
        if name != "layout" and value is not True:
            values = value if isinstance(value, list) else [value]
            texts = [each.name if isinstance(each, Path) else getattr(each, "shown", str(each)) for each in values]
            if isinstance(value, str) and value.startswith("-"):  # otherwise, it would be an option
                texts = [f"{shown.pop()}={value}"]
            shown += texts
    return shlex.join(shown)


def page(
    made: dict[str, Any],
    *,
    best: bool = False,
    title: str | None = None,
    question: str | None = None,
    command: str = "",
) -> str:
    """Return a release as one self-contained HTML page, from the data that ``dprank rank --format json`` prints.

    Every value on the page is published. `best` says that only the best items are ranked.
    """
    several = made.get("segments")
    n_items = len((several[0] if several else made)["consensus"])
    plainly, *topics = made["privacy"]["statement"]
    numbers = f"epsilon = {made['privacy']['epsilon']:.6g}"
    numbers += f", delta = {Decimal(repr(made['privacy']['delta'])):f}" if made["privacy"]["delta"] else ""
    smaller = "epsilon and delta are" if made["privacy"]["delta"] else "epsilon is"
    texts = []
    percent = min(round(100 * made.get("level", 0), 4), 99.9999)  # a level below 1 never reads as certain
    of_population = made.get("of") == "population"
    if of_population:
        texts.append(
            "Each bar shows the ranks that an item is likely to have among all people, and the dot shows its rank "
            "here. This assumes that the people who took part are a random sample of all people. The probability that "
            f"all bars are right is {_at_least(made)} {percent:.10g} %{_condition(made)}. If the bars of two items "
            "overlap, their order among all people is not sure."
        )
    elif "level" in made:
        texts.append(
            "Each bar shows the ranks that an item may have without the noise, and the dot shows its rank here. The "
            f"probability that all bars are right is at least {percent:.10g} %. If the bars of two items "
            "overlap, the noise may have decided their order."
        )
        if several:
            texts.append(
                "The ranking of a group also uses the answers of the other groups, as far as they are alike. The "
                "percentage is the weight of its own answers. The bars come from the answers of the group alone, so a "
                "dot may be outside of its bar. The numbers of votes contain noise, too, so they are not exact."
            )
        texts.append("The bars are about the people who took part. They do not show how other people would answer.")
    elif "private_items" in made:
        texts.append(_names_of(made))
    else:
        texts.append("This method publishes only the order, so there are no bars for the effect of the noise.")
    texts.append(plainly)
    texts += [f"{sentence.partition(' (')[0].removesuffix('.')}." for sentence in _readings(made)]
    if "max_weight" in made:
        most = f"Each person counts for at most {made['max_weight']:g} vote{'s' * (made['max_weight'] != 1)}."
        texts.append(_heavy(made) or most)
    texts += _lengths(made) + _wide(made, "bars")
    example = "<p class='note'><strong>Example:</strong> the votes are simulated. Nobody voted.</p>\n"
    heading = "Likely ranks among all people" if of_population else "Rank without noise"
    return Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8")).substitute(
        title=escape(title or (f"The best {n_items} items in order" if best else f"Ranking of {n_items} items")),
        question=f"<p dir='auto'>{escape(question)}</p>\n" if question else "",
        guarantee=(
            f"Published on {date.today()} with differential privacy: {numbers}. The smaller {smaller}, the better each "
            "vote is protected."
        ).replace(" = ", f"{_BLANK}={_BLANK}"),
        command=escape(command),
        version=__version__,
        example=example if made["simulated"] else "",
        tables="\n".join(_html_table(each, heading) for each in several or [made]),
        meaning="\n".join(f"<p>{escape(text)}</p>".replace(" %", f"{_BLANK}%") for text in texts),
        statement="\n".join(f"<li>{escape(topic)}</li>" for topic in topics),
    )


def _html_table(made, heading):
    """Return one ranking as a table of HTML, with a heading for a segment, and one of the column of intervals."""
    ends = made.get("intervals", {})
    head = f"<h2 dir='auto'>{escape(title(made)).replace(' %', f'{_BLANK}%')}</h2>\n" if "segment" in made else ""
    column = f"<th scope='col' class='ends'>{heading}</th>" if ends else ""
    rows = []
    for rank, item in enumerate(made["consensus"], start=1):
        row = f"<td class='rank'>{rank}</td><th scope='row' dir='auto'>{escape(item)}</th>"
        if ends:  # text, and a bar on a scale of all ranks, with a dot at the rank
            best, worst = ends[item]
            text = f"{best}" if best == worst else f"{best} to {worst}"
            left, wide, dot = (f"{100 * part / len(ends):.4g}%" for part in (best - 1, worst - best + 1, rank - 0.5))
            row += (
                f"<td class='ends'>{text}<span class='track' aria-hidden='true'><span class='bar' "
                f"style='left:{left};width:{wide}'></span><span class='dot' style='left:{dot}'></span></span></td>"
            )
        rows.append(f"<tr>{row}</tr>")
    columns = f"<tr><th scope='col' class='rank'>Rank</th><th scope='col'>Item</th>{column}</tr>"
    body = "\n".join(rows)
    return f"{head}<table>\n<thead>{columns}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
