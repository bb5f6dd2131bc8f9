"""
Measuring the page of measurements
============================

This script measures the distance of each private estimator from the best consensus, and computes lower bounds for any
private mechanism. It makes the tables of the user guide's page "Measurements"::

    python tests/benchmarks/measure_bounds.py           # a few cells again, printed with the stored ones: seconds
    python tests/benchmarks/measure_bounds.py --full    # writes the tables of the page: minutes
"""

import argparse
import csv
import math
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
from _limits import PHI, limits, local_variance, whitened
from measure_scale import DOCS, write

import sklearn_dprank as dp
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import excess_kendall_tau, kemeny_positions
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.rules import KemenyRule
from sklearn_dprank.theory.alabi import fingerprint_floor, packing_floor, packing_voters

PAGE = DOCS / "user_guide"
ITEMS, VOTERS, EPSILONS = (10, 45), (1000, 20_000), (0.1, 1.0)
DELTA = 1e-6
N_PROFILES, TRIALS = 4, 100
TOP, PERIODS = 5, 30

# %%
# Everywhere, neighbours replace a ballot. The local and the shuffle model have no other relation, and the rows of one
# table must have the same guarantee. Central mechanisms have smaller errors under "add_remove", their default.


class Row(NamedTuple):
    """An estimator of the table: the trusted party, and a function (n_items, epsilon) that makes it."""

    name: str
    trust: str
    made: object
    trials: dict = {}  # {n_items: trials}, for slow fits


REPLACE = {"neighboring": "replace"}
GAUSSIAN = {**REPLACE, "delta": DELTA, "noise": "gaussian"}


def _kemeny(**options):
    """Return a maker of DPPairwise whose search for an order of noisy margins stops after about 0.2 s."""
    return lambda m, epsilon: dp.DPPairwise(epsilon, rule=KemenyRule(work_limit=200), **options)


def _streaming(m, epsilon):
    return dp.DPStreamingBorda(epsilon, DELTA, PERIODS, **REPLACE)


def _up_to(largest, made):
    """Return a maker that returns None for more items."""
    return lambda m, epsilon: made(m, epsilon) if m <= largest else None


PURE, APPROXIMATE, NOBODY, SHUFFLER, SERVERS = "curator", "curator, delta", "nobody", "shuffler", "servers"
ROWS = (
    Row("DPBorda", PURE, lambda m, e: dp.DPBorda(e, **REPLACE)),
    Row('DPBorda(noise="knorm")', PURE, lambda m, e: dp.DPBorda(e, noise="knorm", **REPLACE)),
    Row("DPHistogram", PURE, _up_to(10, lambda m, e: dp.DPHistogram(e, **REPLACE)), {10: 8}),
    Row("DPKemenySampler", PURE, _up_to(25, lambda m, e: dp.DPKemenySampler(e, **REPLACE))),
    Row('DPKwikSort(on_exhausted="coin")', PURE, lambda m, e: dp.DPKwikSort(e, on_exhausted="coin", **REPLACE)),
    Row("DPPairwise", PURE, _kemeny(**REPLACE), {45: 12}),
    Row("DPPrudentOrder", PURE, lambda m, e: dp.DPPrudentOrder(e, window=None if m <= 16 else 7, **REPLACE)),
    Row(f"DPTopK({TOP})", PURE, lambda m, e: dp.DPTopK(TOP, epsilon=e, **REPLACE)),
    Row('DPBorda(noise="gaussian")', APPROXIMATE, lambda m, e: dp.DPBorda(e, **GAUSSIAN)),
    Row('DPPairwise(noise="gaussian")', APPROXIMATE, _kemeny(**GAUSSIAN), {45: 12}),
    Row("DPPrudentOrder(delta=1e-6)", APPROXIMATE, lambda m, e: dp.DPPrudentOrder(e, DELTA, **REPLACE)),
    Row("DPSwissBorda", APPROXIMATE, lambda m, e: dp.DPSwissBorda(e, DELTA, **REPLACE)),
    Row(f"DPStreamingBorda(horizon={PERIODS})", APPROXIMATE, _streaming, {10: 40, 45: 40}),
    Row("SecAggBorda", SERVERS, lambda m, e: dp.SecAggBorda(e, DELTA)),
    Row("SecAggSwissBorda", SERVERS, lambda m, e: dp.SecAggSwissBorda(e, DELTA)),
    Row("ShuffleHierarchical", SHUFFLER, lambda m, e: dp.ShuffleHierarchical(e, DELTA)),
    Row("ShufflePairwise", SHUFFLER, lambda m, e: dp.ShufflePairwise(e, DELTA)),
    Row("LDPAdaptivePairs", NOBODY, lambda m, e: dp.LDPAdaptivePairs(e)),
    Row("LDPBorda", NOBODY, lambda m, e: dp.LDPBorda(e)),
    Row("LDPGroupKwikSort", NOBODY, lambda m, e: dp.LDPGroupKwikSort(e)),
    Row("LDPKwikSort", NOBODY, lambda m, e: dp.LDPKwikSort(e)),
    Row("LDPPairwise", NOBODY, lambda m, e: dp.LDPPairwise(e)),
    Row('LDPPairwise(randomizer="djw")', NOBODY, lambda m, e: dp.LDPPairwise(e, randomizer="djw")),
    Row("LDPQuickSort", NOBODY, lambda m, e: dp.LDPQuickSort(e)),
)
BY_NAME = {row.name: row for row in ROWS}


class Electorate(NamedTuple):
    """Ballots, their profile, and the positions of its Kemeny optimum."""

    ballots: np.ndarray
    profile: Profile
    optimum: np.ndarray


@cache
def electorates(n_items, n_voters):
    """Return the reference electorates of this size, each around its own random centre."""
    votes = [make_mallows(n_voters, n_items, PHI[n_items], random_state=seed) for seed in range(N_PROFILES)]
    profiles = [Profile.from_rankings(each) for each in votes]
    return [Electorate(each, profile, kemeny_positions(profile)) for each, profile in zip(votes, profiles, strict=True)]


def _streamed(estimator, electorate, n_trials, seed):
    """Return the error after the last period, when all ballots are counted."""
    ranks = []
    for trial in range(n_trials):
        stream = dp.DPStreamingBorda(**{**estimator.get_params(), "random_state": 1000 * seed + trial})
        for part in np.array_split(electorate.ballots, PERIODS):
            stream.partial_fit(part)
        ranks.append(stream.ranks_)
    return [excess_kendall_tau(each, electorate.profile, optimum=electorate.optimum) for each in ranks]


def errors(estimator, electorate, n_trials, seed=0):
    """Return the excess error of each of `n_trials` fits with fresh noise."""
    if isinstance(estimator, dp.DPStreamingBorda):
        return _streamed(estimator, electorate, n_trials, seed)
    best = electorate.optimum
    if isinstance(estimator, dp.DPTopK):  # it ranks only k items, so compare with the best k of the optimum
        best = np.minimum(best, estimator.k)
    return cross_validate(
        estimator,
        electorate.profile,
        n_trials=n_trials,
        scoring=lambda fit, X: excess_kendall_tau(fit.ranks_, X, optimum=best),
        random_state=seed,
        progress=False,
    )["test_score"]


class Cell(NamedTuple):
    """A mean in points (pairs in a hundred), and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, excess):
        points = 100 * np.concatenate(excess)
        return cls(float(points.mean()), float(points.std(ddof=1) / math.sqrt(len(points))))

    def __str__(self):
        said = f"{self.mean:.2f} ± {2 * self.error:.2f}"
        return "0" if said == "0.00 ± 0.00" else said


def cell(row, n_items, n_voters, epsilon, n_trials=None, seed=0):
    """Return the excess error of an estimator in one cell, or None if it refuses so many items."""
    estimator = row.made(n_items, epsilon)
    if estimator is None:
        return None
    each = -(-(n_trials or row.trials.get(n_items, TRIALS)) // N_PROFILES)
    with warnings.catch_warnings():  # too few voters, or a search that stops early: the error is measured anyway
        warnings.simplefilter("ignore")
        return Cell.of([errors(estimator, votes, each, seed) for votes in electorates(n_items, n_voters)])


# %%
# Lower bounds for a curator: `packing_floor` for pure mechanisms and `fingerprint_floor` for the others, on the worst
# votes for each number of voters. The reference electorate may not be the worst.


def floor(n_items, n_voters, epsilon, delta=0.0):
    """Return the error in points that no central mechanism can avoid on all votes."""
    if delta:
        pairs = fingerprint_floor(n_voters, n_items, epsilon, delta)
    else:
        pairs = packing_floor(n_voters, n_items, epsilon)
    return 100 * pairs / math.comb(n_items, 2)


def at_the_limit(n_items, n_voters, epsilon, n_trials=TRIALS, seed=0):
    """Return the error of sorting net wins with the least noise of any local mechanism (`_limits`).

    The noise is isotropic for white net wins. The result shows the possible gain of better local mechanisms for Borda.
    It is not a lower bound for rules that use more than net wins.
    """
    excess = []
    for votes in electorates(n_items, n_voters):
        back = whitened(votes.ballots)[1]
        variance = _local_variance(n_items, epsilon) / (n_voters * math.tanh(epsilon / 2) ** 2)
        noise = np.random.default_rng(seed).standard_normal((n_trials // N_PROFILES, n_items - 1)) * math.sqrt(variance)
        wins = votes.profile.net_wins / n_voters + noise @ back.T
        ranks = (-wins).argsort(axis=1).argsort(axis=1)
        excess.append([excess_kendall_tau(each, votes.profile, optimum=votes.optimum) for each in ranks])
    return Cell.of(excess)


@cache
def _local_variance(n_items, epsilon):
    return local_variance(electorates(n_items, VOTERS[-1])[0].ballots, epsilon)


# %%
# The tables are ordered from most to least trust, with bounds in front of the group that they apply to. The bounds of
# the central model also hold for all groups below, which need less trust.

COLUMNS = [(m, n, epsilon) for m in ITEMS for n in VOTERS for epsilon in EPSILONS]
LIMITS = ("Where", "Nothing is below", "Measured")
HEADER = ("Trust", "Estimator", *(f"{m} items, {n:,} voters, ε = {epsilon:g}" for m, n, epsilon in COLUMNS))


def bounds():
    """Return the rows (trust, what is bounded, bounds in points) of the table."""
    by_cell = {
        (PURE, "*least*"): lambda m, n, epsilon: f"{floor(m, n, epsilon):.2f}",
        (PURE, "*voters for one point*"): lambda m, n, epsilon: (
            f"{packing_voters(m, epsilon, math.comb(m, 2) / 100):,}"
        ),
        (APPROXIMATE, "*least*"): lambda m, n, epsilon: f"{floor(m, n, epsilon, DELTA):.2f}",
        (NOBODY, "*limit*"): lambda *sizes: str(at_the_limit(*sizes)),
    }
    return [(*what, *(said(*sizes) for sizes in COLUMNS)) for what, said in by_cell.items()]


def measured(rows=ROWS, show=lambda row: None):
    """Yield the rows (trust, estimator, errors in points) of the table."""
    for row in rows:
        cells = [cell(row, *sizes) for sizes in COLUMNS]
        found = (row.trust, f"``{row.name}``", *("refused" if each is None else str(each) for each in cells))
        show(found)
        yield found


def table_of(rows):
    """Return the rows, with bounds in front of the groups that they apply to; `rows` are those of estimators."""
    order = {trust: place for place, trust in enumerate((PURE, APPROXIMATE, SERVERS, SHUFFLER, NOBODY))}
    return sorted([*bounds(), *rows], key=lambda row: order[row[0]])


def stored():
    """Return {estimator or (trust, bound): cells} of the table on the page."""
    with (PAGE / "bounds.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {row[1].strip("`") if row[1].startswith("`") else (row[0], row[1].strip("*")): row[2:] for row in rows}


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="measure all and write the tables of the page")
    if parser.parse_args(arguments).full:
        rows = measured(show=lambda row: print(*row, sep=" | ", flush=True))
        write("bounds.csv", [HEADER, *table_of(rows)])
        write("limits.csv", [LIMITS, *limits()])
        return
    known, sizes = stored(), COLUMNS[1]
    print(f"{HEADER[2 + COLUMNS.index(sizes)]}: points above the best consensus, and two standard errors")
    for row in ROWS:
        again = cell(row, *sizes, n_trials=4 if row.trials else 8, seed=1)
        print(f"{row.name:32} stored {known[row.name][COLUMNS.index(sizes)]:15} again {again}")


if __name__ == "__main__":
    main()
