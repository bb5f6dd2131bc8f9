"""
Measuring the page on other packages
====================================

This script measures the time of the same work here and in other packages (peers) that do a part of it. It makes the
tables and the picture of the user guide's page "Measurements". `nox -s peers` installs the peers in a
separate environment, and runs this script. A peer that is not installed is skipped, with a message::

    python tests/benchmarks/measure_peers.py           # each row once, printed with the stored ratio: a minute
    python tests/benchmarks/measure_peers.py --full    # writes the tables and the picture of the page: minutes
"""

import argparse
import csv
import datetime
import os
import resource
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import metadata
from statistics import median
from typing import NamedTuple

import _peers_privacy as privacy
import _peers_rankings as rankings
import matplotlib.pyplot as plt
import numpy as np
from measure_scale import DOCS, versions, write
from threadpoolctl import threadpool_limits

PAGE = DOCS / "user_guide"
ROUNDS = 5
LEAST = 0.02  # minimum seconds of one reading of the clock; short calls are repeated
TIE = 1.25  # ratios from 1 / TIE to TIE are ties, because they may be reversed on another machine
LONG = 1.0  # calls that take longer, in seconds, are read three times only


class Row(NamedTuple):
    """A row of the table: a task, its size, a peer's name on the package index, and a function that makes the duel."""

    task: str
    size: str
    peer: str
    duel: Callable


# %%
# The compared tasks. Rows where a peer is faster are included.

PAIRS, BORDA, KEMENY, SEARCH = "Counts of all pairs", "Borda order", "Kemeny order, exact", "A good order, by search"
TO_ALL, OF_TWO, STRENGTHS = "Distance to all voters", "Distance of two orders", "Bradley-Terry strengths"
MALLOWS, PLACKETT, UNIFORM = "Mallows votes", "Plackett-Luce votes", "Uniform votes"
READING = "Reading a PrefLib file"
LAPLACE, NORMAL = "Discrete Laplace noise", "Gaussian noise, integers"
ONE, COMPOSED = "One Gaussian release", "Composition"
_FEW, _SOME, _MANY = "5,000 voters, 10 items", "5,000 voters, 45 items", "100,000 voters, 45 items"
_UNIFORM = "51 voters, {} items, uniform"
ROWS = (
    Row(PAIRS, _FEW, "pref_voting", partial(rankings.pref_voting_pairs, 5000, 10)),
    Row(PAIRS, _SOME, "corankco", partial(rankings.corankco_pairs, 5000, 45)),
    Row(PAIRS, _SOME, "svvamp", partial(rankings.svvamp_pairs, 5000, 45)),
    Row(PAIRS, _MANY, "svvamp", partial(rankings.svvamp_pairs, 100_000, 45)),
    Row(BORDA, "1,000 voters, 10 items", "corankco", partial(rankings.corankco_borda, 1000, 10)),
    Row(BORDA, _FEW, "pref_voting", partial(rankings.pref_voting_borda, 5000, 10)),
    Row(BORDA, _SOME, "svvamp", partial(rankings.svvamp_borda, 5000, 45)),
    Row(BORDA, _MANY, "svvamp", partial(rankings.svvamp_borda, 100_000, 45)),
    Row(KEMENY, _UNIFORM.format(6), "corankco", partial(rankings.corankco_kemeny, 51, 6, 1.0)),
    Row(KEMENY, _UNIFORM.format(6), "pref_voting", partial(rankings.pref_voting_kemeny, 51, 6, 1.0)),
    Row(KEMENY, _UNIFORM.format(6), "svvamp", partial(rankings.svvamp_kemeny, 51, 6, 1.0)),
    Row(KEMENY, _UNIFORM.format(8), "svvamp", partial(rankings.svvamp_kemeny, 51, 8, 1.0)),
    Row(KEMENY, "50 voters, 20 items, φ = .9", "corankco", partial(rankings.corankco_kemeny, 50, 20, 0.9)),
    Row(KEMENY, f"{_SOME}, φ = .75", "svvamp", partial(rankings.svvamp_kemeny, 5000, 45, 0.75)),
    Row(SEARCH, "20 voters, 100 items, uniform", "corankco", partial(rankings.corankco_search, 20, 100, 100)),
    Row(SEARCH, "100 voters, 100 items, uniform", "corankco", partial(rankings.corankco_search, 100, 100, 100)),
    Row(TO_ALL, "1,000 voters, 10 items", "corankco", partial(rankings.corankco_cost, 1000, 10)),
    Row(OF_TWO, "10 items", "choix", partial(rankings.choix_distance, 10)),
    Row(OF_TWO, "10 items", "pref_voting", partial(rankings.pref_voting_distance, 10)),
    Row(OF_TWO, "10 items", "prefsampling", partial(rankings.prefsampling_distance, 10)),
    Row(OF_TWO, "1,000 items", "choix", partial(rankings.choix_distance, 1000)),
    Row(OF_TWO, "1,000 items", "pref_voting", partial(rankings.pref_voting_distance, 1000)),
    Row(STRENGTHS, _FEW, "choix", partial(rankings.choix_strengths, 5000, 10)),
    Row(STRENGTHS, _SOME, "choix", partial(rankings.choix_strengths, 5000, 45)),
    Row(STRENGTHS, "5,000 voters, 200 items", "choix", partial(rankings.choix_strengths, 5000, 200)),
    Row(MALLOWS, "1,000 voters, 10 items", "prefsampling", partial(rankings.prefsampling_mallows, 1000, 10)),
    Row(MALLOWS, "1,000 voters, 45 items", "prefsampling", partial(rankings.prefsampling_mallows, 1000, 45)),
    Row(PLACKETT, "1,000 voters, 10 items", "choix", partial(rankings.choix_plackett_luce, 1000, 10)),
    Row(PLACKETT, "1,000 voters, 10 items", "prefsampling", partial(rankings.prefsampling_plackett_luce, 1000, 10)),
    Row(UNIFORM, "10,000 voters, 10 items", "prefsampling", partial(rankings.prefsampling_uniform, 10_000, 10)),
    Row(UNIFORM, "10,000 voters, 10 items", "svvamp", partial(rankings.svvamp_uniform, 10_000, 10)),
    Row(READING, "5,000 orders of 10 of 100 items", "preflibtools", partial(rankings.preflibtools_read, 5000, 100, 10)),
    Row(LAPLACE, "one draw", "opendp", partial(privacy.opendp_laplace, 1)),
    Row(LAPLACE, "1,000 draws", "opendp", partial(privacy.opendp_laplace, 1000)),
    Row(LAPLACE, "100,000 draws", "opendp", partial(privacy.opendp_laplace, 100_000)),
    Row(NORMAL, "1,000 draws", "opendp", partial(privacy.opendp_gaussian, 1000)),
    Row(ONE, "epsilon of a sigma", "dp-accounting", privacy.accounting_gaussian_epsilon),
    Row(ONE, "sigma of an epsilon", "dp-accounting", privacy.accounting_gaussian_sigma),
    Row(COMPOSED, "30 pure, ε = .1 each", "dp-accounting", partial(privacy.accounting_pure, 30)),
    Row(COMPOSED, "12 pure, ε = .01 to .3", "dp-accounting", partial(privacy.accounting_unequal, 12)),
    Row(COMPOSED, "20 pure and 10 Gaussian", "dp-accounting", partial(privacy.accounting_mixed, 20, 10)),
    Row(COMPOSED, "30 of Laplace noise, ε = .1", "dp-accounting", partial(privacy.accounting_laplace, 30)),
)
PEERS = tuple(dict.fromkeys(row.peer for row in sorted(ROWS, key=lambda row: row.peer)))


def installed(peer):
    """Return the installed version of a peer, or None."""
    try:
        return metadata.version(peer)
    except metadata.PackageNotFoundError:
        return None


# %%
# Measurement. Both calls run in turn, so that other load affects both. The time is processor time on one thread,
# including that of child processes. The first call of each is not counted, because it compiles code and fills import
# caches; its answers are compared.


class Measured(NamedTuple):
    """Median milliseconds per call, here and in the peer, and how the answers agree."""

    ours: float
    theirs: float
    answers: str

    @property
    def ratio(self):
        """How many times faster the call is here."""
        return self.theirs / self.ours


def measure(duel, rounds=ROUNDS, least=LEAST):
    """Return the measurement of two calls."""
    answers = duel.agree(duel.ours(), duel.theirs())
    calls = [_calls(function, least) for function in duel[:2]]
    taken = ([], [])
    for done in range(rounds):
        if done >= 3 and max(map(max, taken)) > LONG:
            break
        for each, function, count in zip(taken, duel[:2], calls, strict=True):
            each.append(_seconds(function, count))
    return Measured(*(1000 * median(each) for each in taken), answers)


def _calls(function, least):
    """Return the number of calls that takes long enough for the clock."""
    count = 1
    while (seconds := _seconds(function, count) * count) < least:
        count = max(2 * count, min(10 * count, round(1.2 * least / max(seconds, 1e-9) * count)))
    return count


def _seconds(function, calls):
    start = _clock()
    for _ in range(calls):
        function()
    return (_clock() - start) / calls


def _clock():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def results(rounds=ROUNDS, least=LEAST, show=lambda row, found: None):
    """Return {(task, size, peer): Measured, or None where the peer is not installed}."""
    found = {}
    for row in ROWS:
        with warnings.catch_warnings(), threadpool_limits(1):  # warnings of the peers, and of a search that stops early
            warnings.simplefilter("ignore")
            found[row[:3]] = measure(row.duel(), rounds, least) if installed(row.peer) else None
        show(row, found[row[:3]])
    return found


# %%
# The table.

HEADER = ("Task", "Size", "Peer", "Here, ms", "Peer, ms", "Ratio", "Faster", "Answers", "Measured")
MISSING = "not installed"


def short(number):
    """Return a number with at least three digits and without an exponent."""
    digits = max(0, 2 - int(np.floor(np.log10(number))))
    return f"{number:,.{digits}f}"


def cells(row, found, day):
    """Return a row of the table."""
    if found is None:
        return (*row[:3], *["–"] * 4, MISSING, "–")
    numbers = map(short, (found.ours, found.theirs, found.ratio))
    name = f"{row.peer} {installed(row.peer)}"
    return (*row[:2], name, *numbers, faster(row.peer, found.ratio), found.answers, day)


def faster(peer, ratio):
    """Return "here", the peer, or "tie" for ratios between 1 / TIE and TIE."""
    return "here" if ratio > TIE else peer if ratio < 1 / TIE else "tie"


def stored():
    """Return the rows of the page's table as {(task, size, peer): {column: cell}}."""
    with (PAGE / "benchmarks.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["Task"], row["Size"], row["Peer"].split()[0]): row for row in rows}


def made(day):
    """Return a sentence about the date, the machine and the versions of the measurement."""
    return f"Measured on {day} on {os.cpu_count()} cores, of which one was used, with {versions()}."


# %%
# Reasons why a peer is faster. They are printed only for rows where it is, and that are not ties.

REASONS = {
    (BORDA, "pref_voting"): "Its profile is read and checked beforehand; here that is a part of the fit.",
    (KEMENY, "svvamp"): "Majorities of few items fall into small parts, and listing their orders is fast. Here most of "
    "the time is spent on other work of an estimator: reading ballots and stating the guarantee.",
    (SEARCH, "corankco"): "It starts from each ballot and moves items until no move improves the order, in compiled "
    "code. Few voters mean few starts. Here the search uses NumPy, and a part of the time is spent on a bound on the "
    "distance from the optimum (``optimal_gap_``).",
    (OF_TWO, "pref_voting"): "It does not check its arguments, and loops over the few pairs. Here they are checked, "
    "and may have ties and gaps.",
    (OF_TWO, "prefsampling"): "It does not check its arguments, and loops over the few pairs. Here they are checked, "
    "and may have ties and gaps.",
    (
        STRENGTHS,
        "choix",
    ): "It iterates a linear system of plain counts, by the threads of BLAS where there are any. Here the fit is "
    "an estimator's, by Newton's method to nine digits, without those threads.",
    (ONE, "dp-accounting"): "Both search for a root of the same function; here the result is rounded to the side that "
    "protects more.",
    (COMPOSED, "dp-accounting"): "It rounds losses up to a grid, which may cost a little epsilon; here all values of "
    "their sum are kept where there are few enough, and unequal epsilons have many.",
}
UNKNOWN = "The reason is unknown."


def lost(found):
    """Return the numbers of rows by who is faster, and a list of the tasks in which a peer is, with the reasons."""
    ratios, wins = {key: each.ratio for key, each in found.items() if each is not None}, {}
    ties = sum(faster(key[2], ratio) == "tie" for key, ratio in ratios.items())
    for (task, size, peer), ratio in ratios.items():
        if faster(peer, ratio) == peer:
            wins.setdefault((task, peer), []).append(f"{short(1 / ratio)} times ({size})")
    lines = [
        f"- **{task}**: {peer} is faster, {'; '.join(sizes)}. {REASONS.get((task, peer), UNKNOWN)}"
        for (task, peer), sizes in wins.items()
    ]
    lost = sum(map(len, wins.values()))
    first = f"In {lost} of {len(ratios)} rows, another package is faster. {ties} rows are ties: their ratio is between "
    return "\n".join([f"{first}{1 / TIE:.2g} and {TIE:.3g}.\n", *lines])


# %%
# The picture has a line for each task and size, and a colour and marker for each peer.

_COLORS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")  # Okabe and Ito's
LOOKS = dict(zip(PEERS, zip(_COLORS, "os^DvPX<", strict=True), strict=True))


def draw(ratios):
    """Return the figure of {(task, size, peer): ratio}."""
    places = {}
    for task, size, _ in ratios:
        places.setdefault((task, size), len(places) + len({each for each, _ in places} | {task}) * 0.6)
    figure, ax = plt.subplots(figsize=(9, 0.245 * max(places.values()) + 1.4), layout="constrained")
    ax.axvspan(1e-9, 1 / TIE, color="0.93", lw=0)
    ax.axvspan(1 / TIE, TIE, color="0.97", lw=0)
    ax.axvline(1, color="0.3", lw=1)
    for peer in PEERS:
        mine = {key: ratio for key, ratio in ratios.items() if key[2] == peer}
        if mine:
            color, marker = LOOKS[peer]
            heights = [places[key[:2]] for key in mine]
            style = {"ls": "", "ms": 8, "mec": "black", "mew": 0.6, "alpha": 0.9, "label": peer}
            ax.plot(list(mine.values()), heights, marker, color=color, **style)
    ax.set_xscale("log")
    ax.set_xlim(min(0.05, 0.6 * min(ratios.values())), 1.8 * max(ratios.values()))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"1/{1 / value:,.0f}")
    ax.set_yticks(list(places.values()), [f"{task}: {size}" for task, size in places], fontsize=8.5)
    ax.set_ylim(max(places.values()) + 0.8, min(places.values()) - 0.8)
    ax.grid(axis="x", lw=0.4, color="0.8")
    ax.grid(axis="y", lw=0.3, color="0.85")
    ax.set_axisbelow(True)
    ax.set_xlabel("times faster here (grey: the other package is faster; light grey: ties)")
    figure.legend(loc="outside upper center", ncols=len(PEERS), frameon=False, fontsize=9, handletextpad=0.1)
    return figure


def _write(found):
    day = datetime.date.today().isoformat()
    write("benchmarks.csv", [HEADER, *(cells(row, found[row[:3]], day) for row in ROWS)])
    (PAGE / "benchmarks.inc").write_text(made(day) + "\n", encoding="utf-8")
    (PAGE / "benchmarks_lost.inc").write_text(lost(found) + "\n", encoding="utf-8")
    draw({key: each.ratio for key, each in found.items() if each}).savefig(DOCS / "images" / "benchmarks.png", dpi=200)


def _show(row, found):
    known = stored().get(row[:3], {}).get("Ratio", "–")
    said = MISSING if found is None else f"{short(found.ratio)} times faster here ({found.answers})"
    print(f"{row.task}, {row.size}, against {row.peer}: {said}; stored {known}", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="measure with care and write the page's tables and picture")
    full = parser.parse_args(arguments).full
    there = [peer for peer in PEERS if installed(peer)]
    for peer in PEERS:
        if peer not in there:
            print(f"{peer} is not installed: {sum(row.peer == peer for row in ROWS)} rows are skipped")
    if not there:
        print("No peer is installed, so nothing is measured or written; `nox -s peers` installs them.")
        return
    found = results(show=_show) if full else results(1, 0.0, _show)
    if full:
        _write(found)


if __name__ == "__main__":
    main()
