"""
Measuring time and memory
=========================

This script measures time and memory of every estimator against items, voters and epsilon. It also finds what happens
beyond the sizes that take at most ten seconds. It makes the tables and the
picture of the user guide's page "Measurements", on Linux or macOS::

    python tests/benchmarks/measure_scale.py           # three sizes per estimator, printed: half a minute
    python tests/benchmarks/measure_scale.py --full    # writes the tables and the picture of the page: 20 minutes
    python tests/benchmarks/measure_scale.py --reports # writes the table of reports only: 5 minutes
"""

import argparse
import csv
import datetime
import json
import math
import multiprocessing
import os
import platform
import resource
import sys
import time
import warnings
from functools import lru_cache, partial
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import scipy
import sklearn

import sklearn_dprank
from sklearn_dprank import DPPrudentOrder, DPTopK, LDPBorda, LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.collection import Device, ReportCounts
from sklearn_dprank.plotting._style import look

DOCS = Path(__file__).parents[2] / "docs"
ITEMS = (5, 10, 16, 25, 45, 100, 200, 500, 1000)
VOTERS = (100, 1000, 10_000, 100_000, 1_000_000)
EPSILONS = (0.01, 0.1, 1.0, 10.0, 100.0)
FEW_ITEMS, SOME_ITEMS, SOME_VOTERS = 10, 25, 1000  # values of the sizes that are not varied
LIMIT = 10.0  # largest time of a supported size, in seconds
STOP = 60  # seconds of processor time after which a fit is stopped

# %%
# Every estimator is measured with its defaults. If the defaults are for few items, its other form is measured, too.
# `Aggregator` takes as long as its channel and rule, and `SegmentedAggregator` as long as a `DPBorda` per segment.

GROUPS = {
    "no privacy": ("Borda", "BradleyTerry", "HierarchicalAggregation", "Kemeny", "KwikSort", "PositionalRule"),
    "a curator, scores": ("DPBorda", "DPHistogram", "DPPairwise", "DPStreamingBorda", "DPSwissBorda"),
    "a curator, orders": ("DPKemenySampler", "DPKwikSort", "DPPrudentOrder", "DPPrudentOrder(window=7)", "DPTopK(3)"),
    "servers or a shuffler": ("SecAggBorda", "SecAggSwissBorda", "ShuffleHierarchical", "ShufflePairwise"),
    "nobody": ("LDPAdaptivePairs", "LDPBorda", "LDPGroupKwikSort", "LDPKwikSort", "LDPPairwise", "LDPQuickSort"),
}
NAMES = [name for names in GROUPS.values() for name in names]
_FORMS = {"DPPrudentOrder(window=7)": DPPrudentOrder(window=7), "DPTopK(3)": DPTopK(3)}


def estimator(name, epsilon=1.0):
    """Return the estimator with this name; the votes have a seed, and so has its noise."""
    made = _FORMS[name] if name in _FORMS else getattr(sklearn_dprank, name)()
    options = {"epsilon": epsilon, "random_state": 0}
    return made.set_params(**{key: value for key, value in options.items() if key in made.get_params()})


class Fit(NamedTuple):
    """Cost of one size: seconds of processor time, megabytes, and the warning or error ("" if none)."""

    seconds: float = math.nan
    megabytes: float = math.nan
    said: str = ""

    @property
    def within(self):
        """Whether the fit ended within the limit without a warning."""
        return not self.said and self.seconds <= LIMIT


# %%
# Votes are uniform. Their majorities are small and contain cycles, which is the hard case for every search. Each fit
# runs in its own process, which has fitted a small profile before. Times are processor times, so that other programs
# matter little; on a machine with a free core, the elapsed time is not longer. Memory is the peak resident memory above
# its value before the fit, with an error of a few megabytes.


def fit(name, n_voters, n_items, epsilon=1.0):
    """Return the cost of this fit."""
    votes = ballots(n_voters, n_items)
    few = partial(_fit, name, epsilon, np.tile(np.arange(6), (200, 1)))
    return in_a_process(partial(_seconds, partial(_fit, name, epsilon, votes)), few)


@lru_cache(maxsize=1)
def ballots(n_voters, n_items):
    """Return uniform votes; beyond a hundred thousand voters they repeat, which needs as much memory."""
    rng = np.random.default_rng(0)
    distinct = rng.random((min(n_voters, 100_000), n_items), dtype=np.float32).argsort(axis=1).astype(np.int16)
    return np.resize(distinct, (n_voters, n_items))


def in_a_process(timed, before=None):
    """Return the cost of `timed`, which returns its seconds, in a new process that calls `before` first."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_measured, args=(timed, before, theirs))
    child.start()
    theirs.close()
    try:
        return Fit(*ours.recv())
    except EOFError:  # ended by its limit of processor time
        return Fit(said="stopped")
    finally:
        child.join()
        ours.close()


def _measured(timed, before, pipe):
    if before is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before()
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + STOP, spent + STOP))
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", ".*little better than coin flips")  # about few answers, not about size
            seconds = timed()
    except (ValueError, MemoryError) as error:
        pipe.send((math.nan, math.nan, f"refuses: {error}"))
        return
    unit = 2**20 if sys.platform == "darwin" else 2**10
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used.ru_maxrss
    pipe.send((seconds, grown / unit, "".join(f"warns: {each.message}" for each in said[:1])))


def _fit(name, epsilon, votes):
    estimator(name, epsilon).fit(votes)


def _seconds(work):
    """Return the time of a call; short calls are repeated, because clocks of processor time are coarse."""
    repeats, total = 0, 0.0
    while total < 0.1 and repeats < 1000:
        start, more = time.process_time(), max(1, repeats)
        for _ in range(more):
            work()
        repeats, total = repeats + more, total + time.process_time() - start
    return total / repeats


def sweep(name, sizes, fitted):
    """Return {size: Fit} up to and including the first size that is not supported."""
    found = {}
    for size in sizes:
        found[size] = fitted(size)
        if not found[size].within:
            break
    return found


class Curves(NamedTuple):
    """Measurements of an estimator: {size: Fit} against items, voters and epsilon."""

    items: dict
    voters: dict
    epsilons: dict


def curves(name):
    """Measure an estimator."""
    items = sweep(name, ITEMS, lambda size: fit(name, SOME_VOTERS, size))
    voters = sweep(name, VOTERS, lambda size: fit(name, size, FEW_ITEMS))
    some = max(min(SOME_ITEMS, _largest(items)), ITEMS[0])
    varied = EPSILONS if hasattr(estimator(name), "epsilon") else ()
    return Curves(items, voters, {size: fit(name, SOME_VOTERS, some, size) for size in varied})


def _largest(found):
    return max((size for size, each in found.items() if each.within), default=0)


# %%
# The table.

HEADER = (
    "Estimator",
    f"Items, {SOME_VOTERS:,} voters",
    "beyond",
    "45 items",
    "1,000 items",
    f"Voters, {FEW_ITEMS} items",
    "a million voters",
    f"ε from {EPSILONS[0]:g} to {EPSILONS[-1]:g}",
)


def _taken(each):
    """Return time and memory in words."""
    if each is None or math.isnan(each.seconds):
        return "–"
    return f"{_time(each.seconds)}, {each.megabytes:.0f} MB"


def _time(seconds):
    value, unit = (seconds, "s") if seconds >= 0.1 else (1000 * seconds, "ms")
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"


def _growth(found):
    """Return the exponent of time at the largest sizes, or None if they do not determine it."""
    last = [(size, each.seconds) for size, each in found.items() if each.seconds > 0.02][-2:]
    if len(last) < 2 or last[0][1] >= last[1][1]:
        return None
    (small, short), (large, long) = last
    return math.log(long / short) / math.log(large / small)


def _beyond(name, found):
    """Return what happens at larger sizes than the supported ones."""
    size, last = list(found.items())[-1]
    if last.said.startswith("refuses"):
        return "refuses"
    if last.said.startswith("warns"):
        return f"ends and warns ({size:,} items: {last.seconds:.0f} s)"
    growth = _growth(found)
    pace = "" if growth is None else f"; time grows as the power {growth:.1f}"
    return f"warns{pace}" if last.within and _warns_beyond(name) else f"takes more than {LIMIT:.0f} s{pace}"


def _warns_beyond(name):
    """Return whether an estimator warns about more items than were measured."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        estimator(name).plan_for(Shape(ITEMS[-1] + 1, SOME_VOTERS))
    return any("up to which fits were measured" in str(each.message) for each in said)


def row(name, measured):
    """Return an estimator's row of the table."""
    items, voters, epsilons = measured
    times = [each.seconds for each in epsilons.values() if not math.isnan(each.seconds)]
    return (
        f"``{name}``",
        f"{_largest(items):,}",
        _beyond(name, items),
        _taken(items.get(45)),
        _taken(items.get(1000)),
        f"{_largest(voters):,}",
        _taken(voters.get(VOTERS[-1])),
        f"{_time(min(times))} to {_time(max(times))}" if times else "–",
    )


def versions():
    """Return the versions of the measurement, in words."""
    found = {"Python": platform.python_version(), "NumPy": np.__version__, "SciPy": scipy.__version__}
    found |= {"scikit-learn": sklearn.__version__, "sklearn_dprank": sklearn_dprank.__version__}
    return ", ".join(f"{name} {version}" for name, version in found.items())


def made():
    """Return a sentence about the date, the machine and the versions of the measurement."""
    day, machine = datetime.date.today().isoformat(), f"{os.cpu_count()} cores ({platform.machine()})"
    return f"Measured on {day} on {machine}, one fit at a time, with {versions()}."


def write(name, rows):
    """Write a table of the user guide."""
    with (DOCS / "user_guide" / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


# %%
# The picture has a row per group, with time against each size and memory against items.


def draw(measured):
    """Return the figure of {name: Curves}."""
    figure, axes = plt.subplots(len(GROUPS), 4, figsize=(13, 2.6 * len(GROUPS)), layout="constrained", sharex="col")
    for ax_row, (group, names) in zip(axes, GROUPS.items(), strict=True):
        for style, name in enumerate(names):
            found = measured[name]
            for ax, each in zip(ax_row, (found.items, found.voters, found.epsilons), strict=False):
                _line(ax, {size: fit.seconds for size, fit in each.items()}, style, name)
            _line(ax_row[3], {size: max(fit.megabytes, 0.1) for size, fit in found.items.items()}, style, name)
        for ax in ax_row[:3]:
            ax.axhline(LIMIT, color="0.6", lw=0.8)
            ax.set_ylim(5e-5, 3 * LIMIT)
            ax.set_visible(len(ax.lines) > 1)
        ax_row[0].set_ylabel(f"{group}\nseconds")
        ax_row[3].set_ylabel("megabytes")
        ax_row[3].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9)
    titles = (f"{SOME_VOTERS:,} voters", f"{FEW_ITEMS} items", f"{SOME_VOTERS:,} voters, {SOME_ITEMS} items or fewer")
    for column, title in zip(axes.T, (*titles, titles[0]), strict=True):
        next(ax for ax in column if ax.get_visible()).set_title(title, fontsize=10)
    for ax, label in zip(axes[-1], ("items", "voters", "epsilon", "items"), strict=True):
        ax.set_xlabel(label)
    return figure


def _line(ax, found, style, name):
    sizes = [size for size, value in found.items() if not math.isnan(value)]
    if sizes:
        ax.loglog(sizes, [found[size] for size in sizes], label=name, lw=1.3, ms=4, **look(style))
        ax.grid(lw=0.3, color="0.8")


# %%
# Reports are lines of JSON. They are counted in parts of a million, one part after another, and the counts of each part
# pass through JSON, as from another machine. Each part repeats the lines of some devices, so the largest sizes need no
# disk.

REPORTS = {
    "``LDPPairwise``": (LDPPairwise(), (10**6, 10**7, 10**8)),
    '``LDPPairwise(randomizer="djw")``': (LDPPairwise(randomizer="djw"), (10**6, 10**7)),
    "``LDPBorda``": (LDPBorda(), (10**6, 10**7)),
    "``ShufflePairwise``": (ShufflePairwise(min_reports=10_000), (10**6, 10**7)),
}
REPORTED = (10**6, 10**7, 10**8, 10**9)  # sizes of the table
PART, DEVICES = 10**6, 3000


def report_lines(estimator):
    """Return the reports of some devices, or the shuffled messages, as lines of a file."""
    protocol, rng = estimator.protocol(FEW_ITEMS), np.random.default_rng(0)
    devices = (Device(protocol, random_state=voter) for voter in range(DEVICES))
    sent = [device.report(rng.permutation(FEW_ITEMS).tolist()) for device in devices]
    if isinstance(estimator, ShufflePairwise):
        sent = [{"protocol": one["protocol"], **message} for one in sent for message in one["messages"]]
    return [json.dumps(one).encode() + b"\n" for one in sent]


def count(estimator, lines, n_reports):
    """Count the reports in parts and fit; return the seconds of processor time and the text of the counts."""
    start, total = time.process_time(), None
    for first in range(0, n_reports, PART):
        part = islice(cycle(lines), min(PART, n_reports - first))
        text = estimator.count_reports(part, items=FEW_ITEMS).to_json()
        counts = ReportCounts.from_json(text)
        total = counts if total is None else total + counts
    estimator.fit_reports(total, items=FEW_ITEMS)
    return time.process_time() - start, total.to_json()


def report_row(name, estimator, sizes):
    """Return a row of the table of reports; sizes that are not measured are extrapolated from the largest one."""
    lines, seconds = report_lines(estimator), {}
    for size in sizes:
        seconds[size], text = count(estimator, lines, size)
    each = seconds[sizes[-1]] / sizes[-1]
    times = [_long(seconds[size]) if size in seconds else f"{_long(size * each)}, extrapolated" for size in REPORTED]
    return name, f"{round(np.mean([len(line) for line in lines]))} bytes", *times, f"{len(text) / 1000:.1f} kB"


def _long(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 600 else _time(seconds)


def _write_reports():
    header = ("Estimator", "A report", *(f"{size:,} reports" for size in REPORTED), "Counts")
    rows = []
    for name, (estimator, sizes) in REPORTS.items():
        rows.append(report_row(name, estimator, sizes))
        print(*rows[-1], sep=" | ", flush=True)
    write("scale_reports.csv", [header, *rows])


def _write(measured):
    write("scale.csv", [HEADER, *(row(*each) for each in measured.items())])
    (DOCS / "user_guide" / "scale.inc").write_text(made() + "\n", encoding="utf-8")
    draw(measured).savefig(DOCS / "images" / "scale.png", dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="measure all and write the page's tables and picture")
    parser.add_argument("--reports", action="store_true", help="measure reports and write their table")
    chosen = parser.parse_args(arguments)
    if chosen.full or chosen.reports:
        _write_reports()
    if chosen.reports:
        return
    if not chosen.full:
        for name in NAMES:
            sizes = ((100, 10), (1000, 10), (1000, 45))
            print(f"{name:26}", *(f"n = {n:,}, m = {m}: {_taken(fit(name, n, m)):16}" for n, m in sizes))
        return
    measured = {}
    for name in NAMES:
        measured[name] = curves(name)
        print(*row(name, measured[name]), sep=" | ", flush=True)
    _write(measured)


if __name__ == "__main__":
    main()
