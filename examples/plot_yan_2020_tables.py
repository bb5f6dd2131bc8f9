"""
LDP-KwikSort: the theorems and tables of Yan, Li and Liu (2020)
===============================================================

Theorems 2 and 3, Tables 2 and 3, and the recommendations of Section 6.7 of Z. Yan, G. Li and J. Liu, "Private rank
aggregation under local differential privacy" (2020), measured again, on Mallows votes. The figures have
:ref:`another page <sphx_glr_auto_examples_plot_yan_2020.py>`. The statements below each table are computed from its
numbers. With all seven sizes of Table 3, from a shell::

    python examples/plot_yan_2020_tables.py --full

The results are not private: every fit has a seed, and is scored against the ballots.
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/plot_yan_2020_tables.png"

import json
import tracemalloc
from itertools import cycle, islice

import numpy as np
from _shared import (
    DISTANCE,
    begin,
    claim,
    compared,
    mallows,
    seconds,
    standard_error,
    summary,
    sure,
    sweep,
    table,
    trials,
)
from plot_yan_2020 import NAMES, RANDOMIZERS, TRIALS, local, mechanisms

from sklearn_dprank import LDPKwikSort
from sklearn_dprank.theory.yan import expected_errors, many_errors_probability

if __name__ == "__main__":
    ARGUMENTS = begin(names=())

# %%
# Theorems 2 and 3
# ----------------
# On Mallows votes, the expected number of wrong pairs is at most mu. The table has mu as printed, and the corrected
# form of `sklearn_dprank.theory.yan.expected_errors`, which uses that pairs far apart are easier.

VARIANTS = ("corrected", "as_printed")


def wrong_pairs(n_voters, n_items, theta, name, repeats=TRIALS, epsilon=2.0):
    """Return (pairs with a wrong or zero estimate in each trial, corrected mu, printed mu)."""
    votes = mallows(n_voters, n_items, theta, seed=1)
    reference = np.argsort(np.argsort(votes.ballots.mean(axis=0)))
    truth = np.sign(reference - reference[:, None])

    def not_right(estimator, profile):
        return np.count_nonzero(np.triu(estimator.margins_ * truth <= 0, 1))

    found = trials(local(name, epsilon, 1), votes, repeats, not_right)
    settings = (n_voters, n_items, epsilon, 1 - theta)
    return found, *(expected_errors(*settings, randomizer=name, variant=variant) for variant in VARIANTS)


if __name__ == "__main__":
    SETTINGS = [(theta, name) for theta in (0.25, 0.5, 0.75) for name in RANDOMIZERS]
    FOUND = [wrong_pairs(5000, 10, theta, name, 30) for theta, name in SETTINGS]
    header = ("theta", "mechanism", "measured", "mu corrected", "mu printed")
    rows = [(t, RANDOMIZERS[name], found.mean(), *mu) for (t, name), (found, *mu) in zip(SETTINGS, FOUND, strict=True)]
    table("Wrong pairs of 45 (n = 5000, m = 10, epsilon = 2, K = 1)", header, *rows)
    least = np.array([found.mean() - 2 * standard_error(found) for found, *_ in FOUND])
    corrected, printed = np.array([mu for _, *mu in FOUND]).T
    claim(
        "mu, corrected and so printed, bounds the number of wrong pairs", (least <= corrected) & (corrected <= printed)
    )
    rare = [
        np.mean(found >= 6 * mu) <= many_errors_probability(mu, variant=variant)
        for found, *both in FOUND
        for mu, variant in zip(both, VARIANTS, strict=True)
    ]
    claim("6 mu pairs or more are wrong no more often than the theorems say", rare, "both forms, 30 trials each")
    claim(
        "the printed mu says more than that at most all pairs are wrong",
        printed < 45,
        "it takes all pairs for neighbours, which are the hardest to tell apart",
    )
    claim(
        "the printed mu puts RR before Laplace, as the experiments do",
        printed[::2] < printed[1::2],
        "g is a bound for RR, exact for Laplace",
    )

# %%
# Tables 2 and 3: time
# --------------------
# The paper's protocols take O(n K + m^2 + m log m), and seconds in Python 2.7. Here, `fit` simulates all devices at
# once. The time of KwikSort does not include counting the exact majorities, as in the paper.

PAPER_SECONDS = {
    (795, 4): (0.0001, 0.0006, 0.1255, 0.1751),
    (793, 4): (0.0001, 0.0006, 0.1244, 0.1732),
    (5000, 5): (0.0001, 0.0008, 2.5783, 2.9015),
    (5000, 10): (0.0001, 0.0030, 2.6125, 2.9026),
    (5000, 15): (0.0002, 0.0076, 2.8551, 2.9294),
    (5000, 30): (0.0005, 0.0285, 3.3530, 2.9812),
    (5000, 45): (0.0007, 0.0626, 4.4113, 3.1288),
}


def time_table(sizes, repeats=TRIALS):
    """Return the seconds of the four mechanisms for each (n, m), shape (n_sizes, 4)."""
    votes = {(n_voters, n_items): mallows(n_voters, n_items, 0.5) for n_voters, n_items in sizes}
    return np.array([[seconds(each, votes[n, m], repeats) for each in mechanisms(1.0, m).values()] for n, m in sizes])


if __name__ == "__main__":
    sizes = list(PAPER_SECONDS) if ARGUMENTS.full else [(795, 4), (5000, 10), (5000, 45)]
    TIMES = time_table(sizes)
    rows = [(n, m, *(np.array(PAPER_SECONDS[n, m]) / ours)) for (n, m), ours in zip(sizes, TIMES, strict=True)]
    table("Table 3: the paper's seconds over ours (Mallows votes, epsilon = 1)", ("n", "m", *NAMES), *rows)
    ratios = TIMES[:, 2] / TIMES[:, 0]
    claim(
        "KwikSort takes the least time",
        ratios >= 1,
        f"RR takes {', '.join(f'{ratio:.0f}' for ratio in ratios)} times as long; in the paper thousands",
    )
    claim("the local protocols take longer than DP-KwikSort", TIMES[:, 2:] > TIMES[:, 1:2])
    # Section 6.6. Ratios of times between 0.8 and 1.25 do not decide.
    items = np.array([n_items for _, n_items in sizes])
    slower = TIMES[:, 2] / TIMES[:, 3]
    decided = np.where(slower > 1.25, 1.0, np.where(slower < 0.8, 0.0, np.nan))
    evidence = "in both, a device flips bits. Only the probability differs"
    claim("RR takes less time than Laplace for four and five items", 1 - decided[items <= 5], evidence)
    printed = PAPER_SECONDS[5000, 15]
    claim(
        "RR takes more time than Laplace from 15 items on",
        decided[items >= 15],
        f"{evidence}. The paper's seconds for 15 items state the opposite: {printed[2]} and {printed[3]}",
    )
    wide = mallows(5000, 15, 0.5)
    few, many = (seconds(local("rr", 10.0, k), wide, 3) for k in (25, 100))
    print(f"Table 2: four times as many questions (K = 25 to 100) take {many / few:.1f} times as long, O(n K).")

# %%
# Section 6.7: the recommended epsilons
# -------------------------------------
# With 5,000 voters, the paper recommends epsilon = 1 for up to 15 items, and 3 for more. It does not define the utility
# that is acceptable. The table has the distances at these epsilons.

RECOMMENDED = ((5, 1.0), (10, 1.0), (15, 1.0), (30, 3.0), (45, 3.0))


def recommended(repeats=TRIALS, settings=RECOMMENDED, n_voters=5000):
    """Return {mechanism: distances of shape (n_settings, n_trials)} at the recommended epsilons."""

    def distances(setting):
        n_items, epsilon = setting
        found = compared(mechanisms(epsilon, n_items), mallows(n_voters, n_items, 0.5), repeats)
        return {name: scores[:, DISTANCE] for name, scores in found.items()}

    return sweep(distances, settings)


if __name__ == "__main__":
    DISTANCES = recommended(30 if ARGUMENTS.full else TRIALS)
    rows = [
        (n_items, epsilon, *(DISTANCES[name][k].mean() for name in NAMES))
        for k, (n_items, epsilon) in enumerate(RECOMMENDED)
    ]
    table("Average Kendall tau distance (n = 5000, theta = 0.5)", ("m", "epsilon", *NAMES), *rows)
    KWIKSORT, DP, RR, LAPLACE = (DISTANCES[name] for name in NAMES)
    claim("RR outperforms Laplace", sure(LAPLACE - RR))
    claim("RR comes within one percentage point of DP-KwikSort", sure(0.01 - (RR - DP)))

# %%
# Table 2: communication and memory
# ---------------------------------
# In the paper, a voter sends and holds O(log K) bits, and the curator O(n log K). But K answers are K bits, and each
# comes with the name of its pair. The curator counts reports as they arrive, and needs only a counter for each ordered
# pair.


def reports(n_queries, n_items, n_devices=20):
    """Return the reports of some devices, as JSON."""
    estimator = LDPKwikSort(10.0, n_queries)
    devices = (estimator.client(n_items, random_state=seed) for seed in range(n_devices))
    return [json.dumps(device.report(range(n_items))) for device in devices]


def held(sent, n_queries, n_items, n_voters):
    """Return the curator's peak memory in bytes while it reads `n_voters` reports, which repeat those in `sent`."""
    tracemalloc.start()
    LDPKwikSort(10.0, n_queries, random_state=0).fit_reports(islice(cycle(sent), n_voters), items=n_items)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


if __name__ == "__main__":
    COUNTS, sent = (1, 5, 25), [reports(k, 10) for k in (1, 5, 25)]
    length = np.array([np.mean([len(report) for report in each]) for each in sent])
    peaks = np.array([[held(each, k, 10, n) for n in (600, 6000)] for each, k in zip(sent, COUNTS, strict=True)])
    table(
        "Table 2, m = 10: bytes of a report as JSON, and the most bytes that the curator holds",
        ("K", "a report", "600 voters", "6,000 voters"),
        *np.column_stack([COUNTS, length, peaks]),
        ("paper", "O(log K) bits", "O(n log K)", "O(n log K)"),
    )
    first, then = np.diff(length)
    claim(
        "a voter sends O(log K) bits: about as much is added from K = 5 to 25 as from 1 to 5",
        then < 2 * first,
        f"{first:.0f} and then {then:.0f} bytes are added; K answers alone are K bits",
    )
    claim(
        "the curator's memory grows as the voters do",
        peaks[:, 1] > 5 * peaks[:, 0],
        f"for ten times as many by factors of {', '.join(f'{ratio:.2f}' for ratio in peaks[:, 1] / peaks[:, 0])}",
    )

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
