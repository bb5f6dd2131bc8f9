"""
Measuring memory
================

This script measures the memory of a fit with ten million voters and with a thousand items, and that of the functions
that read or make ballots. It makes the second table of the user guide's page "Measurements", on Linux or macOS::

    python tests/benchmarks/measure_memory.py           # the smallest size, printed: a minute
    python tests/benchmarks/measure_memory.py --full    # writes the table of the page: minutes

The measure is the peak resident memory of a new process, above its value before the call. It does not include the
input, but it includes the result.
"""

import argparse
import json
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import measure_scale as scale
import numpy as np

from sklearn_dprank import LDPPairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.collection import Device
from sklearn_dprank.datasets import make_mallows, make_plackett_luce, read_preflib
from sklearn_dprank.metrics import average_kendall_tau, pairwise_error_rate
from sklearn_dprank.preprocessing import RatingsToRankings, orders_to_positions, unranked_last

SIZES = ((10_000_000, 10), (1000, 1000), (10_000, 1000))  # voters, items
CHUNK = 10_000_000  # cells in a chunk of ballots

# %%
# Fits get ballots with two bytes per rank. The other functions get floats of eight bytes per rank, with one item in
# seven missing, as from a table of ratings with gaps; `orders_to_positions` gets orders. Ballots in a file are a
# thousand distinct ones, each many times.


def _with_gaps(n_voters, n_items):
    votes = scale.ballots(n_voters, n_items).astype(np.float64)
    votes.ravel()[::7] = np.nan
    return votes


def _chunks(votes):
    step = CHUNK // votes.shape[1]
    return (votes[start : start + step] for start in range(0, len(votes), step))


def _preflib(n_voters, n_items):
    """Return the lines of a file in PrefLib's format."""
    distinct = scale.ballots(n_voters, n_items)[:1000]
    each = n_voters // len(distinct)
    lines = ["# DATA TYPE: soc", f"# NUMBER ALTERNATIVES: {n_items}"]
    return lines + [f"{each}: {','.join(map(str, order))}" for order in (distinct + 1).tolist()]


def _read_preflib(lines):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "votes.soc")
        path.write_text("\n".join(lines), encoding="utf-8")
        return read_preflib(path)


def _reports(n_voters, n_items):
    """Return the JSON lines of some devices, the number of lines to read in turn, and the number of items."""
    protocol, rng = LDPPairwise().protocol(n_items), np.random.default_rng(0)
    devices = (Device(protocol, random_state=voter) for voter in range(300))
    lines = [json.dumps(device.report(rng.permutation(n_items).tolist())) for device in devices]
    return lines, n_voters, n_items


def _fit_reports(given):
    lines, n_voters, n_items = given
    LDPPairwise().fit_reports(islice(cycle(lines), n_voters), items=n_items)


def _size(*size):
    return size


# The measured call, and a function that makes its input from the numbers of voters and items.
READERS = {
    "Profile.from_rankings": (lambda votes: Profile.from_rankings(votes).pairwise_counts, _with_gaps),
    "Profile.from_chunks": (lambda votes: Profile.from_chunks(_chunks(votes)).pairwise_counts, _with_gaps),
    "LDPPairwise.fit_reports": (_fit_reports, _reports),
    "RatingsToRankings": (lambda votes: RatingsToRankings().fit_transform(votes), _with_gaps),
    "unranked_last": (unranked_last, _with_gaps),
    "orders_to_positions": (orders_to_positions, scale.ballots),
    "read_preflib": (_read_preflib, _preflib),
    "average_kendall_tau": (lambda votes: average_kendall_tau(np.arange(votes.shape[1]), votes), _with_gaps),
    "pairwise_error_rate": (lambda votes: pairwise_error_rate(np.arange(votes.shape[1]), votes), _with_gaps),
    "make_mallows": (lambda size: make_mallows(*size, 0.9, random_state=0), _size),
    "make_plackett_luce": (lambda size: make_plackett_luce(*size, random_state=0), _size),
}


def measured(name, n_voters, n_items):
    """Return the cost of an estimator's fit, or of a function of `READERS`, for these numbers of voters and items."""
    if name in scale.NAMES:
        return scale.fit(name, n_voters, n_items)
    call, given = READERS[name]
    votes = given(n_voters, n_items)

    def timed():
        start = time.process_time()
        call(votes)
        return time.process_time() - start

    return scale.in_a_process(timed)


# %%
# The table.

HEADER = ("Fit of, or call of", *(f"{n:,} voters, {m:,} items" for n, m in SIZES))


def _said(found):
    """Return the memory in words."""
    if found.said.startswith("refuses"):
        return "refuses"
    return "takes longer" if found.said == "stopped" else f"{max(found.megabytes, 1):,.0f} MB"


def row(name, sizes=SIZES):
    """Return a row of the table."""
    return (f"``{name}``", *(_said(measured(name, *size)) for size in sizes))


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="measure all and write the page's table")
    full = parser.parse_args(arguments).full
    names = [*scale.NAMES, *READERS]
    rows = []
    for name in names:
        rows.append(row(name, SIZES if full else SIZES[1:2]))
        print(*rows[-1], sep=" | ", flush=True)
    if full:
        scale.write("memory.csv", [HEADER, *rows])


if __name__ == "__main__":
    main()
