"""Measure private leaderboards: Kendall's tau to the truth, and the ranks that their intervals cover.

The first table has generated votes. Others need data that are not part of the package::

    python tests/benchmarks/measure_leaderboards.py
    python tests/benchmarks/measure_leaderboards.py --arena arena_tallies.csv --movielens ratings.tsv

It also fits the formula by which ``recommend`` states errors of leaderboards, and confirms it on other votes::

    python tests/benchmarks/measure_leaderboards.py --advice 100
    python tests/benchmarks/measure_leaderboards.py --advice 0 --arena arena_tallies.csv  # the constants as they stand
"""

import argparse
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import expit
from scipy.stats import kendalltau

from sklearn_dprank import DPBorda, DPBradleyTerry
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_comparisons
from sklearn_dprank.model_selection import advice, recommend
from sklearn_dprank.privacy import gaussian_sigma

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from long_tools import compared, make_votes

#: Items, persons, comparisons of a person on average, and whether opponents are of similar strength.
CELLS = [
    (10, 2000, 10, False),
    (10, 2000, 10, True),
    (30, 2000, 10, False),
    (30, 2000, 10, True),
    (30, 50_000, 5, True),
    (100, 5000, 20, False),
    (100, 5000, 20, True),
    (1000, 50_000, 10, True),
]
ESTIMATORS = {
    "net wins": lambda epsilon, seed: DPBorda(epsilon, 1e-6, "gaussian", random_state=seed),
    "one round": lambda epsilon, seed: DPBradleyTerry(epsilon, n_rounds=1, random_state=seed),
    "rounds": lambda epsilon, seed: DPBradleyTerry(epsilon, random_state=seed),
    "pure epsilon": lambda epsilon, seed: DPBradleyTerry(epsilon, 0.0, random_state=seed),
    "perturbed": lambda epsilon, seed: PerturbedLikelihood(epsilon, seed),
}


class PerturbedLikelihood:
    """Maximum of the likelihood with a random linear term, in the style of Cai, Chakraborty and Wang (2025).

    The comparisons of a person are weighted, so that the gradient has at most the L2 norm of one comparison. It is
    favoured: the cost of the changed Hessian is left out. `ridge` is the best of .3, 1, 3, 10, 30 and 100 in most of
    the cells.
    """

    def __init__(self, epsilon, seed, ridge=1.0):
        self.deviation = gaussian_sigma(epsilon, 1e-6, math.sqrt(2))
        self.rng, self.ridge = np.random.default_rng(seed), ridge

    def fit(self, profile):
        n_items, rows = profile.n_items, profile.rows
        codes = np.concatenate([rows.person * n_items + rows.winner, rows.person * n_items + rows.loser])
        pairs, exposures = np.unique(codes, return_counts=True)
        squares = np.bincount(pairs // n_items, exposures**2)
        weights = np.minimum(1, np.sqrt(2 / squares))[rows.person]
        counts = weights[:, np.newaxis] * np.column_stack([~rows.tied, np.zeros(len(rows.tied)), rows.tied])
        tilt = self.deviation * self.rng.standard_normal(n_items)
        self.strengths_ = strengths_of(rows.winner, rows.loser, counts, n_items, tilt, self.ridge)
        self.ranks_ = np.argsort(np.argsort(-self.strengths_))
        return self


def measured(cases, epsilons, names=tuple(ESTIMATORS)):
    """Print mean taus of each estimator, and for rounds the share of covered ranks and the width of intervals.

    `cases` yields (truth, profile), where larger truths are better.
    """
    taus = {name: [] for name in names}
    covered, widths = [], []
    for seed, (truth, profile) in enumerate(cases):
        ranks = (truth > truth[:, np.newaxis]).sum(axis=1)
        for name in names:
            fits = [ESTIMATORS[name](epsilon, seed).fit(profile) for epsilon in epsilons]
            taus[name].append([-kendalltau(fitted.ranks_, truth).statistic for fitted in fits])
            if name == "rounds":
                ends = np.array([fitted.rank_intervals() for fitted in fits])
                covered.append(((ends[..., 0] <= ranks) & (ranks <= ends[..., 1])).mean(axis=1))
                widths.append((ends[..., 1] - ends[..., 0]).mean(axis=1))
    for name, found in taus.items():
        print(f"    {name:12}", *(f"{tau:6.3f}" for tau in np.mean(found, axis=0)))
    print("    covered, all", *(f"{share:6.2f}" for share in (np.array(covered) == 1).mean(axis=0)))
    print("    covered     ", *(f"{share:6.4f}" for share in np.mean(covered, axis=0)))
    print("    width       ", *(f"{width:6.1f}" for width in np.mean(widths, axis=0)), flush=True)


def generated(n_items, n_persons, mean, matched, runs):
    for seed in range(runs):
        truth, *votes = make_votes(n_items, n_persons, mean, np.random.default_rng(1000 + seed), matched=matched)
        yield truth, compared(*votes, n_items)


def arena(path, n_persons, mean, runs):
    """Yield the strengths of all votes, and a profile of votes that are dealt to persons of different activity."""
    table = pd.read_csv(path)
    names = sorted({*table["model_a"], *table["model_b"]})
    first, second = (np.array([names.index(name) for name in table[column]]) for column in ("model_a", "model_b"))
    counts = table[["a_wins", "b_wins"]].assign(tie=table["tie"] + table["both_bad"]).to_numpy()
    truth = strengths_of(first, second, counts, len(names))
    votes = np.repeat(np.arange(counts.size), counts.ravel())
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        activity = np.maximum(1, np.rint(mean * np.exp(1.2 * rng.normal(size=n_persons) - 0.72))).astype(int)
        persons = np.repeat(np.arange(n_persons), activity)[: len(votes)]
        drawn = rng.choice(votes, len(persons), replace=False)
        yield (
            truth,
            compared(persons, first[drawn // 3], second[drawn // 3], np.array([1, -1, 0])[drawn % 3], len(names)),
        )


def strengths_of(first, second, counts, n_items, tilt=0.0, ridge=0.0):
    """Return Bradley-Terry strengths by Newton's method, with ties as half a win for both.

    They minimise minus the log likelihood, plus the inner product with `tilt`, plus half of `ridge` times the squares.
    """
    strengths, wins, total = np.zeros(n_items), counts[:, 0] + counts[:, 2] / 2, counts.sum(axis=1)
    for _ in range(50):
        chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
        pull = wins - total * chance
        gradient = np.bincount(first, pull, n_items) - np.bincount(second, pull, n_items) - tilt - ridge * strengths
        slopes = np.zeros((n_items, n_items))
        np.add.at(slopes, (first, second), total * chance * (1 - chance))
        slopes += slopes.T
        hessian = np.diag(slopes.sum(axis=1)) - slopes + 1
        strengths += np.clip(np.linalg.solve(hessian + ridge * np.eye(n_items), gradient), -2, 2)
    return strengths


def randomised(epsilon, matched, seed, n_persons=100_000, n_items=20):
    """Return slopes and taus of strengths against the truth, from randomised responses as they are, and debiased.

    Each person answers one comparison. Debiasing divides answers of plus and minus 1 by tanh(epsilon / 2), as in ADRR
    of Xu, Sun and Cheng (2024).
    """
    votes, truth = make_comparisons(n_persons, n_items, matched=matched, ties=0, random_state=seed)
    rows = np.unique(votes["person"], return_index=True)[1]
    answers = np.where(votes["winner"][rows] == "first", 1, -1)
    answers[np.random.default_rng(seed).random(len(rows)) > expit(epsilon)] *= -1
    found = []
    for gain in (1, math.tanh(epsilon / 2)):
        counts = np.column_stack([1 + answers / gain, 1 - answers / gain, 0 * answers]) / 2
        strengths = strengths_of(votes["first"][rows], votes["second"][rows], counts, n_items)
        found.append((np.polyfit(truth, strengths, 1)[0], kendalltau(truth, strengths).statistic))
    return np.transpose(found)


# The formula of `recommend`.

ADVISED = (0.1, 0.3, 1.0, 3.0, 10.0)  # epsilons
FAMILIES = {"rounds": "rounds", "one round": "pure epsilon"}  # with their estimators


class Cell(NamedTuple):
    """Comparisons to generate: laws of the strengths, exposures, opponents and activities, and public facts."""

    n_items: int
    n_persons: int
    mean: float
    exponent: float  # of Zipf's law
    matched: float
    spread: float
    ties: float
    activity: float  # standard deviation of its logarithm
    runs: int

    @classmethod
    def drawn(cls, seed, rows=150_000, most=60):
        rng = np.random.default_rng(seed)
        m, n = int(rng.choice([3, 5, 8, 10, 20, 30, 50, 100, 300])), math.exp(rng.uniform(math.log(200), math.log(1e5)))
        mean = float(rng.choice([1, 2, 5, 10, 20, 50]))
        laws = ([0, 0.5, 1, 1.3], [0, 0, 0.3, 0.6], [0.4, 0.7, 1, 1.5], [0, 0.2, 0.4], [0, 0.6, 1.2, 1.2])
        return cls(
            m, int(min(n, rows / mean)), mean, *map(float, map(rng.choice, laws)), int(np.clip(5 * most / m, 6, most))
        )

    def votes(self, rng):
        """Return (strengths, profile, comparisons per person)."""
        m, truth = self.n_items, self.spread * rng.standard_normal(self.n_items)
        activity = self.mean * np.exp(self.activity * rng.standard_normal(self.n_persons) - self.activity**2 / 2)
        persons = np.repeat(np.arange(self.n_persons), np.maximum(1, np.rint(activity)).astype(int))
        p = (1.0 + rng.permutation(m)) ** -self.exponent
        first, second = rng.choice(m, (2, len(persons)), p=p / p.sum())
        while len(same := np.flatnonzero(first == second)):
            second[same] = rng.choice(m, len(same), p=p / p.sum())
        near = np.flatnonzero(rng.random(len(persons)) < self.matched)
        order, reach = np.argsort(truth), max(1, m // 10)
        place = np.argsort(order)[first[near]]
        opponent = rng.integers(np.maximum(place - reach, 0), np.minimum(place + reach, m - 1))
        second[near] = order[opponent + (opponent >= place)]
        outcome = np.where(rng.random(len(persons)) < expit(truth[first] - truth[second]), 1, -1)
        outcome[rng.random(len(persons)) < self.ties] = 0
        return truth, compared(persons, first, second, outcome, m), len(persons) / self.n_persons

    def facts(self, comparisons):
        """Return the public arguments of `recommend`, as exact as they can be known."""
        spreads, margins, _ = advice._of_spreads()
        p = np.arange(1, self.n_items + 1.0) ** -self.exponent
        p /= p.sum()
        second = (p / (1 - p)).sum() - p / (1 - p)
        exposure = p + (1 - self.matched) * p * second + self.matched / self.n_items
        return {
            "n_items": self.n_items,
            "n_voters": self.n_persons,
            "comparisons_per_person": comparisons,
            "disagreement": (1 - (1 - self.ties) * np.interp(self.spread, spreads, margins)) / 2,
            "exposure_ratio": max(1.0, exposure[0] / exposure[-1]),
            "matched": self.matched,
        }


def taus_of(cases):
    """Return means and standard errors of tau of each family at each epsilon, and mean comparisons per person."""
    found, comparisons = {family: [] for family in FAMILIES}, []
    for seed, (truth, profile, each) in enumerate(cases):
        comparisons.append(each)
        for family, name in FAMILIES.items():
            fits = [ESTIMATORS[name](epsilon, seed).fit(profile) for epsilon in ADVISED]
            found[family].append([-kendalltau(fitted.ranks_, truth).statistic for fitted in fits])
    means = {family: (np.mean(taus, axis=0), np.std(taus, axis=0) / len(taus) ** 0.5) for family, taus in found.items()}
    return means, float(np.mean(comparisons))


def measured_cell(seed, **limits):
    """Return (facts, taus) of the drawn cell."""
    cell, rng = Cell.drawn(seed, **limits), np.random.default_rng([seed, 1])
    means, comparisons = taus_of(cell.votes(rng) for _ in range(cell.runs))
    return cell.facts(comparisons), means


def stated(facts, family):
    """Return the tau of a family at each epsilon, as `recommend` states it."""
    taus = []
    for epsilon in ADVISED:
        made = recommend(epsilon=epsilon, delta=1e-6, **facts)
        taus.extend(
            1 - 2 * each.error
            for each in (made, *made.alternatives)
            if (each.estimator.delta > 0) == (family == "rounds")
        )
    return np.array(taus)


def fitted_constants(cells, family):
    """Return the constants of a family for which stated taus are nearest to the measured ones."""
    start = advice.FITTED[family]
    free = {name: value for name, value in start._asdict().items() if value > 0}

    def misses(powers):  # near 1, because steps of the solver are relative
        constants = {name: value * math.exp(x - 1) for (name, value), x in zip(free.items(), powers, strict=True)}
        advice.FITTED[family] = start._replace(**constants)
        rows = [(stated(facts, family) - means[family][0]) / np.hypot(0.02, means[family][1]) for facts, means in cells]
        return np.concatenate(rows)

    misses(least_squares(misses, np.ones(len(free)), loss="soft_l1", diff_step=0.01).x)  # sets the constants
    return advice.FITTED[family]


def confirmed(cells, family):
    """Print the share of cells and epsilons whose stated error is within 25 % of the measured one, or .03 of tau."""
    found = [(stated(facts, family), *means[family]) for facts, means in cells]
    said, tau, error = (np.concatenate(each) for each in zip(*found, strict=True))
    within = [abs(said - tau) <= np.maximum(0.03 + more * error, 0.25 * (1 - tau)) for more in (0, 2)]
    print(f"    {family}: {within[0].mean():.3f}, {within[1].mean():.3f} up to two standard errors, of {len(tau)}")
    print(f"    mean difference {np.mean(said - tau):+.3f}, root mean square {np.mean((said - tau) ** 2) ** 0.5:.3f}")


def movielens(path, n_items, runs):
    """Yield mean ratings of the films that are rated most, and the profile of all ratings of these films."""
    ratings = pd.read_csv(path, sep="\t")
    most = ratings["item_id"].value_counts(sort=True).index[:n_items]
    ratings = ratings[ratings["item_id"].isin(most)]
    truth = ratings.groupby("item_id")["rating"].mean()[most].to_numpy()
    profile = Profile.from_long(ratings, "user_id", "item_id", rating="rating", items=most.tolist())
    for _ in range(runs):
        yield truth, profile


def fit_advice(n_cells, path):
    """Fit the constants on generated cells; confirm them on half as many others, with more runs, and on real votes."""
    cells = [measured_cell(seed) for seed in range(n_cells)]
    held_out = [measured_cell(40_000 + seed, rows=60_000, most=150) for seed in range(n_cells // 2)]
    rough = [({**facts, "disagreement": round(20 * facts["disagreement"]) / 20}, means) for facts, means in held_out]
    for family in FAMILIES if cells else ():
        print(fitted_constants(cells, family))
        for name, of in (
            ("fitted", cells),
            ("held out", held_out),
            ("held out, disagreement to the nearest .05", rough),
        ):
            print(name)
            confirmed(of, family)
    for n_persons, mean, runs in ((2000, 10, 10), (5000, 20, 8), (20_000, 20, 3), (80_000, 20, 2)) if path else ():
        means, comparisons = taus_of((*case, mean) for case in arena(path, n_persons, mean, runs))
        facts = {"n_items": 129, "n_voters": n_persons, "comparisons_per_person": comparisons}
        for known in ({}, {"disagreement": 0.35, "exposure_ratio": 135, "matched": 0.6}):
            for family in FAMILIES:
                print(f"arena, {n_persons} persons, {known}, {family}: measured", means[family][0].round(3))
                print("    stated", stated(facts | known, family).round(3))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arena", help="tallies: model_a, model_b, a_wins, b_wins, tie, both_bad")
    parser.add_argument("--movielens", help="ratings: user_id, item_id, rating")
    parser.add_argument("--advice", type=int, help="number of generated cells to fit the formula of recommend on")
    given = parser.parse_args()
    if given.advice is not None:
        fit_advice(given.advice, given.arena)
        return
    print("epsilon", 0.3, 1, 3)
    for cell in CELLS:
        print(cell)
        measured(generated(*cell, 20 if cell[0] <= 30 else 4), (0.3, 1, 3))
    print("randomised response, epsilon 1: slopes and taus, as they are and debiased")
    for matched in (0.0, 0.6):
        print(f"    matched {matched}", *np.mean([randomised(1.0, matched, seed) for seed in range(8)], axis=0).ravel())
    if given.arena:
        for n_persons, mean in ((2000, 10), (5000, 20), (20_000, 20), (80_000, 20)):
            print("arena", n_persons, mean)
            measured(arena(given.arena, n_persons, mean, 8 if n_persons <= 5000 else 3), (0.3, 1, 3))
    if given.movielens:
        print("epsilon", 1, 3, 10)
        for n_items in (50, 100, 300):
            print("MovieLens", n_items)
            measured(movielens(given.movielens, n_items, 12), (1, 3, 10))


if __name__ == "__main__":
    main()
