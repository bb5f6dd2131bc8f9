"""
Counting and sweeping on a dask cluster
=======================================

The workers of a dask cluster count ballots and reports where they are, and share the trials of a sweep. Without an
address, the script starts a cluster of processes on this machine. The extra ``distributed`` has the requirements::

    python -m pip install ".[distributed]"
    python examples/run_on_dask.py
    python examples/run_on_dask.py tcp://scheduler:8786 --voters 10000000 100000000

Every line is computed twice, by this process and by the cluster, with the same result.
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/run_on_dask.png"

import argparse
import json
from contextlib import ExitStack
from itertools import chain
from time import perf_counter

import dask
import dask.array as da
import joblib
import numpy as np
from dask.distributed import Client, LocalCluster

from sklearn_dprank import DPBorda, LDPBorda, LDPPairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.collection import Device
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import cross_validate

ITEMS = 10
CHUNK = 250_000  # ballots drawn and counted at a time: 20 MB

# %%
# Distributed ballots
# -------------------
# Here, each task draws its own chunk. In practice, a chunk would be a file, read by ``dask.array`` or
# ``dask.dataframe``. A worker counts its chunks and sends counts, but never a ballot.


def draw(seed, size):
    """Draw one chunk; all chunks have the same centre."""
    return make_mallows(size, ITEMS, 0.9, center=range(ITEMS), random_state=seed)


def chunk_sizes(n_voters):
    """Split voters into chunks."""
    return [min(CHUNK, n_voters - start) for start in range(0, n_voters, CHUNK)]


def as_stream(n_voters):
    """Yield the ballots, one chunk at a time."""
    yield from (draw(seed, size) for seed, size in enumerate(chunk_sizes(n_voters)))


def as_dask_array(n_voters):
    """Return the same ballots as a dask array of shape (n_voters, n_items)."""
    parts = [
        da.from_delayed(dask.delayed(draw)(seed, size), shape=(size, ITEMS), dtype=np.int64)
        for seed, size in enumerate(chunk_sizes(n_voters))
    ]
    return da.concatenate(parts)


def compare_counting(n_voters):
    """Count the same ballots here and on the cluster; return the seconds of both."""
    (here, alone), (there, together) = (
        timed(lambda: Profile.from_chunks(as_stream(n_voters))),
        timed(lambda: Profile.from_chunks(as_dask_array(n_voters))),
    )
    if not np.array_equal(here.pairwise_counts, there.pairwise_counts):
        raise RuntimeError("the cluster counted something else.")
    return alone, together


# %%
# Distributed reports
# -------------------
# If the voters trust nobody, their devices send reports. ``fit_reports`` accepts parts on dask in place of the reports.
# A worker counts its part and sends counts, but never a report. Here, each task also runs the devices.

CURATOR, SENT = LDPPairwise(epsilon=2.0, random_state=0), 1000  # reports in a part


def send(seed, size):
    """Return the reports of some devices as lines of JSON; the seed is for this comparison only."""
    protocol = CURATOR.protocol(ITEMS)
    devices = (Device(protocol, random_state=seed + voter) for voter in range(size))
    return [json.dumps(device.report(ballot)) for device, ballot in zip(devices, draw(seed, size), strict=True)]


def compare_reports(n_reports):
    """Fit on the same reports here and on the cluster; return the seconds of both."""
    parts = [(start, min(SENT, n_reports - start)) for start in range(0, n_reports, SENT)]

    def margins(reports):
        return CURATOR.fit_reports(reports, items=ITEMS).margins_

    (here, alone), (there, together) = (
        timed(lambda: margins(chain.from_iterable(send(*part) for part in parts))),
        timed(lambda: margins([dask.delayed(send)(*part) for part in parts])),
    )
    if not np.array_equal(here, there):
        raise RuntimeError("the cluster counted other reports.")
    return alone, together


# %%
# Distributed trials
# ------------------
# joblib sends the trials of ``cross_validate`` to the cluster; the call is the same. A trial of a central mechanism
# starts from the counts and takes a fraction of a millisecond, so a cluster gains little. A trial of a local mechanism
# draws the reports of all voters again.


def compare_trials(estimator, profile, n_trials):
    """Run the same trials here and on the cluster; return the seconds of both."""

    def sweep(n_jobs):
        return cross_validate(estimator, profile, n_trials=n_trials, random_state=0, n_jobs=n_jobs, progress=False)

    here, alone = timed(lambda: sweep(n_jobs=1))
    with joblib.parallel_config(backend="dask"):
        there, together = timed(lambda: sweep(n_jobs=-1))
    if not np.array_equal(here["test_score"], there["test_score"]):
        raise RuntimeError("the cluster scored something else.")
    return alone, together


def timed(call):
    """Return the result of a call, and its seconds."""
    began = perf_counter()
    return call(), perf_counter() - began


# %%
# With and without a cluster
# --------------------------
# By default, a worker of dask returns freed memory at once, and then waits until the system provides cleared memory
# again. On a virtual machine, where that is slow, the cluster counted six times faster when it kept its memory.

KEEP_MEMORY = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": str(1 << 28) for name in ("TRIM", "MMAP")
}


def connect(address, stack):
    """Return a client of the scheduler at this address, or of a new cluster on this machine."""
    if address is None:
        with dask.config.set(KEEP_MEMORY):
            address = stack.enter_context(LocalCluster(threads_per_worker=1, dashboard_address=":0"))
    return stack.enter_context(Client(address))


def main(argv=None):
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("scheduler", nargs="?", help="address of a dask scheduler; by default a new cluster here")
    parser.add_argument("--voters", type=int, nargs="+", default=[1_000_000, 4_000_000, 20_000_000])
    parser.add_argument("--reports", type=int, default=20_000)
    parser.add_argument("--central-trials", type=int, default=1440)
    parser.add_argument("--local-voters", type=int, default=100_000)
    parser.add_argument("--local-trials", type=int, default=20)
    arguments = parser.parse_args(argv)

    with ExitStack() as stack:
        client = connect(arguments.scheduler, stack)
        client.run(draw, 0, 10)  # workers import what they need before anything is timed
        print(f"{len(client.ncores())} workers, {sum(client.ncores().values())} threads\n")
        print(f"{'seconds':<48}{'one process':>12}{'cluster':>12}")

        for n_voters in arguments.voters:
            report(f"draw and count {n_voters:,} ballots", compare_counting(n_voters))
        report(f"draw and count {arguments.reports:,} reports", compare_reports(arguments.reports))
        profile = Profile.from_chunks(as_stream(arguments.local_voters), keep="positions")
        for estimator, n_trials in (
            (DPBorda(epsilon=0.01), arguments.central_trials),
            (LDPBorda(epsilon=1.0), arguments.local_trials),
        ):
            what = f"{n_trials:,} trials of {type(estimator).__name__}, {profile.n_voters:,} voters"
            report(what, compare_trials(estimator, profile, n_trials))


def report(what, seconds):
    """Print one line of the table."""
    print(f"{what:<48}{seconds[0]:>12.2f}{seconds[1]:>12.2f}", flush=True)


if __name__ == "__main__":
    main()
