"""
Voters needed for a private consensus
=====================================

This script prints the table of the page "Choosing a mechanism and epsilon": the number of voters for an error of at
most one point. One point is one more pair in a hundred in the wrong order than in the best consensus. The voters
contradict that consensus on 35 % of the pairs. ``recommend`` uses public numbers only, so no ballots are needed::

    python tests/benchmarks/how_many_voters.py             # prints the table
    python tests/benchmarks/how_many_voters.py --simulate  # also simulates each error: three minutes on one core

Some numbers are one step larger than those of ``recommend``, because simulated errors were above one point there.
"""

import argparse
import bisect
from itertools import product

import numpy as np
from _electorates import KINDS, electorates, fits

from sklearn_dprank.model_selection import recommend

SIZES = (5, 10, 20, 45)
EPSILONS = (0.1, 0.5, 1.0, 2.0)
#: By the name of a group of rows: what `recommend` needs to know.
GROUPS = {
    "central, with intervals": {"intervals": True},
    "central": {},
    "secure aggregation": {"trust": "secure_aggregation", "delta": 1e-6},
    "shuffle": {"trust": "shuffle", "delta": 1e-6},
    "local": {"trust": "local"},
}
DISAGREEMENT = 0.35
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
#: Numbers of voters that the table tries. With 20 voters, errors are larger than those of the reference electorate.
VOTERS = [30, 40, 50, 60, 80, *(int(step * 10**power) for power in range(2, 8) for step in _STEPS)]
#: Steps of `VOTERS` beyond the number of `recommend`, by group, number of items and epsilon. Before these steps,
#: `simulated_error` was above one point for Mallows votes or on average, with up to 400 electorates of each kind.
MORE_STEPS = {
    (group, n_items, epsilon): 1
    for group, n_items, epsilons in (
        ("central, with intervals", 10, (0.1, 1.0, 2.0)),
        ("central", 5, (0.5,)),
        ("central", 10, (0.1, 1.0, 2.0)),
        ("secure aggregation", 5, (0.5,)),
        ("shuffle", 5, (1.0,)),
        ("shuffle", 10, (0.1, 0.5, 1.0)),
        ("shuffle", 45, (0.1,)),
        ("local", 5, (0.1, 0.5, 2.0)),
        ("local", 10, (0.5, 1.0)),
        ("local", 20, (0.1, 0.5)),
        ("local", 45, (0.1,)),
    )
    for epsilon in epsilons
} | {("local", 10, 0.1): 2}


def voters_needed(group, n_items, epsilon, error=0.01):
    """Return the number of voters for which this error is expected, and the recommended estimator."""
    known = GROUPS[group]
    place = bisect.bisect_left(VOTERS, -error, key=lambda n: -recommend(n_items, n, epsilon, **known).error)
    n_voters = VOTERS[place + MORE_STEPS.get((group, n_items, epsilon), 0)]
    return n_voters, recommend(n_items, n_voters, epsilon, **known).estimator


def simulated_error(estimator, n_items, n_voters, n_electorates, k=None, n_trials=8):
    """Return the mean errors for Mallows, Plackett-Luce and mixed votes, and their standard errors, in points.

    With `k`, errors are the shares of the best k items that are missed, in percent.
    """
    errors = np.zeros((n_electorates, len(KINDS)))
    for seed, place in np.ndindex(errors.shape):
        (votes,) = electorates(n_items, DISAGREEMENT, 1, n_voters, 1000 * place + seed + 7, (KINDS[place],))
        ranks = fits(estimator, votes, n_trials, 100 * seed)
        errors[seed, place] = 100 * (votes.excess(ranks) if k is None else votes.missed(ranks, k)).mean()
    return errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(n_electorates)


def as_table():
    """Return the table, in reStructuredText."""
    lines = [
        ".. csv-table::",
        "   :delim: |",
        f"   :header: Trust | Items | {' | '.join(f'epsilon = {epsilon:g}' for epsilon in EPSILONS)} | Recommended",
        "   :widths: 16 8 12 12 12 12 28",
        "",
    ]
    for group in GROUPS:
        for n_items in SIZES:
            found = [voters_needed(group, n_items, epsilon) for epsilon in EPSILONS]
            names = dict.fromkeys(_short(estimator) for n_voters, estimator in found if n_voters > VOTERS[0])
            numbers = (f"{'up to ' * (n_voters == VOTERS[0])}{n_voters:,}" for n_voters, _ in found)
            lines.append(f"   {' | '.join([group, str(n_items), *numbers, ' or '.join(names)])}")
    return "\n".join(lines)


def _short(estimator):
    """Return a reference to the estimator, and the noise of `DPBorda` if it is not the default."""
    noise = getattr(estimator, "noise", "laplace")
    return f"`~sklearn_dprank.{type(estimator).__name__}`" + (noise != "laplace") * f' (``noise="{noise}"``)'


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulate", action="store_true", help="simulate the error in each cell")
    options = parser.parse_args(arguments)
    print(as_table())
    for group, n_items, epsilon in product(GROUPS, SIZES, EPSILONS) if options.simulate else ():
        n_voters, estimator = voters_needed(group, n_items, epsilon)
        n_electorates = max(3, min(100, int(1e6 / (n_items * n_voters))))
        errors, noise = simulated_error(estimator, n_items, n_voters, n_electorates)
        print(
            f"{group:23} {n_items:2} items, epsilon = {epsilon:g}, {n_voters:9,} voters: {errors.mean():.2f} points; "
            f"Mallows {errors[0]:.2f} +- {noise[0]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
