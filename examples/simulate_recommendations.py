"""
Simulating the table behind recommend
=====================================

``recommend`` in ``sklearn_dprank.model_selection`` gives the error that its choice would have on a reference
electorate. It reads that error off a small table, which this script makes::

    python examples/simulate_recommendations.py           # a few cells again, beside the stored ones: seconds
    python examples/simulate_recommendations.py --full    # the module that stores the whole table: 7 minutes
    python examples/simulate_recommendations.py --readme  # what README says about epsilon and voters

"""

import argparse
import bisect
import math
import sys
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.base import clone

from sklearn_dprank import DPBorda, DPPrudentOrder
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions
from sklearn_dprank.model_selection._recommendation_table import ERRORS, GRIDS, REFERENCE, UNIT
from sklearn_dprank.model_selection.recommendation import recommend
from sklearn_dprank.orders.positions import order_to_positions
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
    moved = 0.0
    for size in range(2, n_items + 1):
        chance = phi ** np.arange(size)
        moved += np.arange(size) @ chance / chance.sum()
    return moved / math.comb(n_items, 2)


def dispersion(n_items, disagreement=REFERENCE):
    """Return the phi at which voters contradict the centre on this share of the pairs."""
    return float(brentq(lambda phi: mean_disagreement(n_items, phi) - disagreement, 1e-6, 1))


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


def reference_electorates(n_items, n_profiles=N_PROFILES, n_voters=N_VOTERS, disagreement=REFERENCE, seed=0):
    """Return profiles of the reference electorate, each around its own random centre."""
    phi = dispersion(n_items, disagreement)
    rng = np.random.default_rng([seed, n_items])
    return [Electorate.of(make_mallows(n_voters, n_items, phi, random_state=child)) for child in rng.spawn(n_profiles)]


def fits(estimator, electorate, n_trials, seed=0):
    """Return the excess error of each of `n_trials` fits with fresh noise."""
    seeds = range(seed, seed + n_trials)
    seeded = (clone(estimator).set_params(random_state=number) for number in seeds)
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
    return np.array([electorate.excess(order_to_positions(order)) for order in np.argsort(noisy, axis=1)])


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
            cells = [cell(family, x, electorates, trials) for x in GRIDS[family]]
            means = np.minimum.accumulate([mean for mean, _ in cells])
            table[family][n_items] = np.rint(means / UNIT).astype(int).tolist()
            print(family, n_items, *(f"{100 * mean:.3f}+-{100 * error:.3f}" for mean, error in cells), file=sys.stderr)
    return table


def as_module(table):
    """Return the source of the module that stores the table."""
    lines = [
        '"""Simulated errors behind `recommend`, written by ``examples/simulate_recommendations.py --full``."""',
        "",
        "#: Share of the pairs on which voters of the reference electorate contradict its centre, on average.",
        f"REFERENCE = {REFERENCE}",
        "",
        "#: Where each family was simulated, from much noise to little; `expected_error` says in which units.",
        "GRIDS = {",
        *(f'    "{family}": {grid},' for family, grid in GRIDS.items()),
        "}",
        "",
        "#: Excess normalised average Kendall tau, in this unit: family, number of items, an error a grid point.",
        f"UNIT = {UNIT}",
        "ERRORS: dict[str, dict[int, tuple[int, ...]]] = {",
    ]
    for family, curves in table.items():
        rows = (f"        {n_items}: {tuple(row)}," for n_items, row in curves.items())
        lines += [f'    "{family}": {{', *rows, "    },"]
    return "\n".join([*lines, "}", ""])


# %%
# A few cells again, with other seeds and fewer trials: they must agree with what is stored.

SPOT_CHECKS = (
    ("knorm", 4, 4.0),
    ("knorm", 10, 2.0),
    ("knorm", 30, 4.0),
    ("gaussian", 5, 0.08),
    ("gaussian", 45, 0.04),
    ("prudent", 5, 3.0),
    ("prudent", 10, 3.0),
    ("two_stage", 20, 0.2),
)


def spot_checks(n_trials=100, n_profiles=4, seed=1):
    """Return rows (family, n_items, x, stored error, simulated error, standard error)."""
    rows = []
    for family, n_items, x in SPOT_CHECKS:
        electorates = reference_electorates(n_items, n_profiles, seed=seed)
        stored = UNIT * ERRORS[family][n_items][GRIDS[family].index(x)]
        rows.append((family, n_items, x, stored, *cell(family, x, electorates, n_trials, seed=seed)))
    return rows


# %%
# And the table of the README: how many voters it takes for an error below one point, that is one more pair in a hundred
# in the wrong order than in the best consensus.

EPSILONS = (0.1, 0.5, 1.0, 2.0)
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
#: Numbers of voters that the table tries. So few as 20 have larger errors than the reference electorate.
VOTERS = [30, 40, 50, 60, 80, *(int(step * 10**power) for power in range(2, 8) for step in _STEPS)]


def voters_needed(n_items, epsilon, delta, trust, error=0.01):
    """Return the first of `VOTERS` with which `recommend` expects at most this error."""
    place = bisect.bisect_left(VOTERS, -error, key=lambda n: -recommend(n_items, n, epsilon, delta, trust).error)
    return VOTERS[place]


def readme_table():
    """Return the table of the README, in markdown."""
    lines = [
        "| Trust | Estimator | Items | " + " | ".join(f"epsilon = {epsilon:g}" for epsilon in EPSILONS) + " |",
        "|" + "---|" * (3 + len(EPSILONS)),
    ]
    for trust, delta in (("central", 0.0), ("shuffle", 1e-6), ("local", 0.0)):
        for n_items in (5, 10, 20, 45):
            cells, names = [], []
            for epsilon in EPSILONS:
                n_voters = voters_needed(n_items, epsilon, delta, trust)
                if n_voters == VOTERS[0]:
                    cells.append(f"up to {n_voters}")
                else:
                    cells.append(f"{n_voters:,}")
                    names.append(f"`{_short(recommend(n_items, n_voters, epsilon, delta, trust).estimator)}`")
            lines.append(f"| {trust} | {', then '.join(dict.fromkeys(names))} | {n_items} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _short(estimator):
    """Return the estimator's name and its noise, if it has a choice."""
    name = type(estimator).__name__
    return f'{name}(noise="{estimator.noise}")' if name == "DPBorda" else name


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="simulate all and print the module that stores it")
    parser.add_argument("--readme", action="store_true", help="print the table of the README")
    chosen = parser.parse_args(arguments)
    if chosen.full:
        print(as_module(full_table()), end="")
    elif chosen.readme:
        print(readme_table())
    else:
        print("family     items     x   stored  simulated (points of 100)")
        for family, n_items, x, stored, mean, error in spot_checks():
            print(f"{family:10} {n_items:5} {x:5g} {100 * stored:8.3f} {100 * mean:8.3f} +- {100 * error:.3f}")


if __name__ == "__main__":
    main()
