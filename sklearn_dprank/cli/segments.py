"""Options, labels and results of ``dprank rank --segments``: one private consensus for each public segment."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from .._utils.checks import safe_repr
from ..aggregators.segmented import SegmentedAggregator
from ..ballots.names import checked_name, seen
from .files import listed
from .headers import plain
from .printing import as_table, wrapped
from .words import tell

_DELTA = 1e-6
_MOST = 1000  # segments
_WHOLE = re.compile(r"([+-]?[0-9]+)\.0+")


def add_arguments(added: argparse.ArgumentParser) -> None:
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
