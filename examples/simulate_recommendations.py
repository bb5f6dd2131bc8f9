"""
Simulating the table behind recommend
=====================================

``recommend`` in ``sklearn_dprank.model_selection`` gives the error that its choice would have on a reference
electorate. It reads that error off a small table, which this script makes::

    python examples/simulate_recommendations.py           # a few cells again, beside the stored ones: seconds
    python examples/simulate_recommendations.py --full    # the module that stores the whole table: 7 minutes
"""

import argparse
import inspect
import math
import sys
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.base import clone

from sklearn_dprank import DPBorda, DPPrudentOrder
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions
from sklearn_dprank.model_selection.advice import table as stored
from sklearn_dprank.profile import Profile

N_VOTERS = 5000
N_PROFILES = 10
#: Numbers of items that are simulated. `DPPrudentOrder` without a window stops at 16 items.
ITEMS = {
    "knorm": (2, 3, 4, 5, 7, 10, 15, 20, 30, 45, 100),
    "gaussian": (2, 3, 4, 5, 7, 10, 15, 20, 30, 45, 100),
    "prudent": (2, 3, 4, 5, 7, 10, 13, 16),
    "two_stage": (17, 20, 30, 45, 100),
}

# %%
# The reference electorate: Mallows votes around a random centre, whose voters contradict it on 35 % of the pairs on
# average. That is what the real rankings of the literature look like, whatever their number of items (SUSHI 34 %,
# Mechanical Turk's dots and puzzles 29 to 41 %, JESTER 37 to 42 %). A fixed phi is another electorate for every number
# of items: at phi = 0.75 voters contradict the centre on 40 % of the pairs of 4 items, and on 12 % of those of 45.


def mean_disagreement(n_items, phi):
    """Return the expected distance of a Mallows ranking from its centre, over C(n_items, 2)."""
    chances = (phi ** np.arange(size) for size in range(2, n_items + 1))
    return sum(np.arange(len(chance)) @ chance / chance.sum() for chance in chances) / math.comb(n_items, 2)


def dispersion(n_items):
    """Return the phi at which voters contradict the centre as often as in the reference electorate."""
    return float(brentq(lambda phi: mean_disagreement(n_items, phi) - stored.REFERENCE, 1e-6, 1))


class Electorate(NamedTuple):
    """A counted profile, and how far its Kemeny optimum is from it."""

    profile: Profile
    optimum: float

    @classmethod
    def of(cls, ballots):
        profile = ballots if isinstance(ballots, Profile) else Profile.from_rankings(ballots)
        return cls(profile, average_kendall_tau(kemeny_positions(profile), profile))

    def excess(self, positions):
        """Return how much farther this order is from the ballots than the optimum."""
        return average_kendall_tau(positions, self.profile) - self.optimum


def reference_electorates(n_items, n_profiles=N_PROFILES, n_voters=N_VOTERS, seed=0):
    """Return profiles of the reference electorate, each around its own random centre."""
    phi = dispersion(n_items)
    rng = np.random.default_rng([seed, n_items])
    return [Electorate.of(make_mallows(n_voters, n_items, phi, random_state=child)) for child in rng.spawn(n_profiles)]


def fits(estimator, electorate, n_trials, seed=0):
    """Return the excess error of each of `n_trials` fits with fresh noise."""
    seeded = (clone(estimator).set_params(random_state=number) for number in range(seed, seed + n_trials))
    return np.array([electorate.excess(each.fit(electorate.profile).ranks_) for each in seeded])


# %%
# Each family of mechanisms has one curve for a number of items: its error depends on the public inputs through a
# single number x, which the table scales so that curves of different numbers of items look alike.
#
# * "knorm": `DPBorda` with K-norm noise, x = n epsilon / m.
# * "gaussian": Borda with normal noise of standard deviation x, in mean ranks over m. That is `DPBorda` with Gaussian
#   or Laplace noise, `LDPBorda`, and nearly `LDPPairwise` and `ShufflePairwise`.
# * "prudent": `DPPrudentOrder`, x = n epsilon / ln m!.
# * "two_stage": ``DPPrudentOrder(window=7)``, x = n epsilon / m^2.


def central(family, n_items, n_epsilon_over, n_voters=N_VOTERS):
    """Return the central estimator of a family at x, for this number of voters."""
    if family == "knorm":
        return DPBorda(n_epsilon_over * n_items / n_voters, noise="knorm")
    if family == "prudent":
        return DPPrudentOrder(n_epsilon_over * math.lgamma(n_items + 1) / n_voters)
    return DPPrudentOrder(n_epsilon_over * n_items**2 / n_voters, window=7)


def noisy_borda(electorate, noise, n_trials, seed=0):
    """Return the excess error of Borda with normal noise on the mean ranks, of standard deviation `noise` times m."""
    profile, rng = electorate.profile, np.random.default_rng(seed)
    mean_rank = -profile.net_wins / (2 * profile.n_voters)
    noisy = mean_rank + noise * profile.n_items * rng.standard_normal((n_trials, profile.n_items))
    return np.array([electorate.excess(ranks) for ranks in noisy.argsort(axis=1).argsort(axis=1)])


def cell(family, x, electorates, n_trials, seed=0):
    """Return the mean excess error of a family at x, and its standard error; trials are shared out evenly."""
    excess = []
    for number, electorate in enumerate(electorates):
        each, first = -(-n_trials // len(electorates)), seed + 100_000 * number
        if family == "gaussian":
            excess.append(noisy_borda(electorate, x, each, first))
        else:
            excess.append(fits(central(family, electorate.profile.n_items, x), electorate, each, first))
    pooled = np.concatenate(excess)
    return float(pooled.mean()), float(pooled.std(ddof=1) / math.sqrt(len(pooled)))


def trials_for(family, n_items):
    """Return how many fits a cell of the full table takes: errors on many items vary less from fit to fit."""
    if family == "gaussian":
        return 20_000 if n_items < 10 else 5000
    if family == "two_stage":
        return 200 if n_items < 100 else 60
    if family == "prudent" and n_items > 10:
        return 150
    return 4000 if n_items < 10 else 1000 if n_items < 45 else 300


def full_table():
    """Simulate every cell of the table, from much noise to little; errors are made to decrease with it."""
    table = {}
    for family, sizes in ITEMS.items():
        table[family] = {}
        for n_items in sizes:
            electorates, trials = reference_electorates(n_items), trials_for(family, n_items)
            cells = [cell(family, x, electorates, trials) for x in stored.GRIDS[family]]
            means = np.minimum.accumulate([mean for mean, _ in cells])
            table[family][n_items] = np.rint(means / stored.UNIT).astype(int).tolist()
            print(family, n_items, *(f"{100 * mean:.3f}+-{100 * error:.3f}" for mean, error in cells), file=sys.stderr)
    return table


def as_module(table):
    """Return the source of the module that stores the table: what was chosen by hand as it is, the errors anew."""
    head, _, _ = inspect.getsource(stored).partition("ERRORS")
    rows = ["ERRORS: dict[str, dict[int, tuple[int, ...]]] = {"]
    for family, curves in table.items():
        errors = (f"        {n_items}: {tuple(row)}," for n_items, row in curves.items())
        rows += [f'    "{family}": {{', *errors, "    },"]
    return head + "\n".join([*rows, "}", ""])


# %%
# A few cells again, with other seeds and fewer trials: they must agree with what is stored.

SPOT_CHECKS = {
    "knorm": {4: 4.0, 10: 2.0, 30: 4.0},
    "gaussian": {5: 0.08, 45: 0.04},
    "prudent": {5: 3.0, 10: 3.0},
    "two_stage": {20: 0.2},
}


def spot_checks(n_trials=100, n_profiles=4, seed=1):
    """Return rows (family, n_items, x, stored error, simulated error, standard error)."""
    rows = []
    for family, points in SPOT_CHECKS.items():
        for n_items, x in points.items():
            electorates = reference_electorates(n_items, n_profiles, seed=seed)
            known = stored.UNIT * stored.ERRORS[family][n_items][stored.GRIDS[family].index(x)]
            rows.append((family, n_items, x, known, *cell(family, x, electorates, n_trials, seed=seed)))
    return rows


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="simulate all and print the module that stores it")
    if parser.parse_args(arguments).full:
        print(as_module(full_table()), end="")
        return
    print("family     items     x   stored  simulated (points of 100)")
    for family, n_items, x, known, mean, error in spot_checks():
        print(f"{family:10} {n_items:5} {x:5g} {100 * known:8.3f} {100 * mean:8.3f} +- {100 * error:.3f}")


if __name__ == "__main__":
    main()
