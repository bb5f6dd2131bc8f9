"""
Simulating the curves behind recommend
======================================

``recommend`` in ``sklearn_dprank.model_selection`` states the expected error of its choice, and a range. Both come from
simulated curves, which this script makes. The curves use no real votes. From a shell::

    cd tests/benchmarks
    python simulate_recommendations.py              # simulates a few points again, for comparison: seconds
    python simulate_recommendations.py --full FILE --camps  # writes the file with all curves: half an hour
    python simulate_recommendations.py --full FILE --family swiss peeled  # keeps all other curves
    python simulate_recommendations.py --full FILE --family --camps  # only those of camps: ten minutes
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
from _electorates import CAMPS, KINDS, LEVELS, electorates, fits
from scipy.optimize import brentq

from sklearn_dprank import DPPairwise, DPPrudentOrder, DPSwissBorda, DPTopK
from sklearn_dprank.model_selection import advice as stored
from sklearn_dprank.orders.samplers import MOST_WAYS, Counts, Flips, costs_of_ways, sample_ball
from sklearn_dprank.privacy.composition import gaussian_sigma
from sklearn_dprank.queries import NetWins, Tallies, n_pairs
from sklearn_dprank.rules import BradleyTerryRule
from sklearn_dprank.rules.bradley_terry import bradley_terry_strengths
from sklearn_dprank.sampling.bit_source import SeededBits

DELTA = 1e-6
STORED = Path(stored.__file__).with_name("curves.json")

# %%
# Mechanisms
# ----------
# The module ``sklearn_dprank.model_selection.advice`` lists the families and defines their signals.
#
# Margins are proportional to 1 - 2 disagreement. Curves are therefore simulated at signals divided by it, so that those
# of several disagreements look alike. Noise is added to exact answers for many trials at once. If later queries depend
# on earlier answers, estimators are fitted.


def knorm(votes, signals, n_trials, seed):
    m, rng = votes.n_items, np.random.default_rng(seed)
    bits = SeededBits(np.random.SeedSequence(seed))
    balls = np.array([sample_ball(m, bits) for _ in range(n_trials)])
    noise = 2 * rng.standard_gamma(m, (n_trials, 1)) * balls
    return [ranked(votes.profile.net_wins + noise * votes.n_voters / (m * signal)) for signal in signals]


def gaussian(votes, signals, n_trials, seed):
    noise = np.random.default_rng(seed).standard_normal((n_trials, votes.n_items))
    wide = 2 * votes.n_voters * votes.n_items  # net wins are twice as wide as ranks
    return [ranked(votes.profile.net_wins + noise * wide / signal) for signal in signals]


def ranked(scores):
    """Return the positions of items by scores; larger is better."""
    return (-scores).argsort(axis=1).argsort(axis=1)


def pairs(votes, signals, n_trials, seed):
    return [
        np.concatenate([ranked(_answered(votes, signal, [seed, trial])[None]) for trial in range(n_trials)])
        for signal in signals
    ]


def _answered(votes, signal, seed):
    """Return strengths estimated from answers about random pairs; most answers are coin flips."""
    rng, m = np.random.default_rng(seed), votes.n_items
    truthful = (m - 1) * signal**2 / 8
    n_answers = int(max(20 * truthful, 10_000))
    truth = math.sqrt(truthful / n_answers)
    first, second = np.triu_indices(m, 1)
    chance = (1 + truth * votes.profile.margins[first, second] / votes.n_voters) / 2
    asked = rng.multinomial(n_answers, np.full(len(first), 1 / len(first)))
    wins = np.zeros((m, m))
    wins[first, second] = rng.binomial(asked, chance)
    wins[second, first] = asked - wins[first, second]
    return bradley_terry_strengths((Tallies((1 - truth) / 2, wins),), BradleyTerryRule().ridge)


def margins(votes, signals, n_trials, seed):
    m, n = votes.n_items, votes.n_voters
    return [fits(DPPairwise(n_pairs(m) * signal / math.sqrt(2 * m) / n), votes, n_trials, seed) for signal in signals]


def top(votes, signals, n_trials, seed, k):
    m, n = votes.n_items, votes.n_voters
    sums = [signal * math.log(math.perm(m, k)) for signal in signals]  # n epsilon
    if m**k <= MOST_WAYS:
        return _listed(votes, k, [each / n for each in sums], n_trials, seed)
    if k == m - 1:
        return prudent(votes, signals, n_trials, seed)
    return [fits(DPTopK(k, epsilon=each / n), votes, n_trials, seed) for each in sums]


def _listed(votes, k, epsilons, n_trials, seed):
    """Draw by permute-and-flip over all ways to fill the first k places; equally good ways are drawn as a group."""
    rng, shape = np.random.default_rng(seed), (votes.n_items,) * k
    costs, never = costs_of_ways(votes.profile.margins, k)
    ways = np.argsort(costs)[: np.count_nonzero(costs < never)]
    values, starts, counts = np.unique(costs[ways], return_index=True, return_counts=True)
    with np.errstate(divide="ignore"):
        largest = -np.log(-np.expm1(np.log(rng.random((n_trials, len(values)))) / counts))
    share = rng.random(n_trials)
    found = []
    for epsilon in epsilons:
        level = np.argmax(largest - epsilon / 2 * (values - values[0]), axis=1)
        drawn = np.unravel_index(ways[starts[level] + (share * counts[level]).astype(int)], shape)
        ranks = np.full((n_trials, votes.n_items), k)
        ranks[np.arange(n_trials)[:, None], np.transpose(drawn)] = np.arange(k)
        found.append(ranks)
    return found


def prudent(votes, signals, n_trials, seed):
    m, bits = votes.n_items, SeededBits(np.random.SeedSequence(seed))
    epsilons = [signal * math.lgamma(m + 1) / votes.n_voters for signal in signals]
    if m ** (m - 1) <= MOST_WAYS:
        return _listed(votes, m - 1, epsilons, n_trials, seed)
    margins = votes.profile.margins
    apart = ~np.eye(m, dtype=bool)
    values = np.unique(margins[apart])
    values = values[values >= np.minimum(margins, margins.T)[apart].max()]  # every order violates one side of a pair
    orders = Counts(np.where(apart, np.searchsorted(values, margins), 0), len(values))
    levels = [Flips(values, np.diff(orders.of_all, prepend=0), epsilon / 2) for epsilon in epsilons]
    draws = [[orders.draw(level.draw(bits), bits, first=True) for _ in range(n_trials)] for level in levels]
    return [np.argsort(each, axis=1) for each in draws]


def two_stage(votes, signals, n_trials, seed):
    epsilons = (signal * votes.n_items**2 / votes.n_voters for signal in signals)
    return [fits(DPPrudentOrder(epsilon, window=7), votes, n_trials, seed) for epsilon in epsilons]


def peeled(votes, signals, n_trials, seed):
    rng, m = np.random.default_rng(seed), votes.n_items
    margins = np.where(np.eye(m, dtype=bool), np.inf, votes.profile.margins)
    gumbel = rng.gumbel(size=(m - 1, n_trials, m))
    found = []
    for signal in signals:
        left, ranks = np.ones((n_trials, m), dtype=bool), np.full((n_trials, m), m - 1)
        for place in range(m - 1):
            utilities = np.where(left[:, None], margins, np.inf).min(axis=2)
            keys = gumbel[place] + signal * math.log(m) / votes.n_voters / 2 * utilities
            best = np.where(left, keys, -np.inf).argmax(axis=1)[:, None]
            np.put_along_axis(ranks, best, place, axis=1)
            np.put_along_axis(left, best, False, axis=1)
        found.append(ranks)
    return found


def swiss(votes, signals, n_trials, seed):
    m, moved = votes.n_items, math.sqrt(NetWins().sensitivity(votes.n_items, "add_remove").l2_squared)
    noises = (2 * votes.n_voters * m / signal for signal in signals)
    epsilons = [brentq(lambda e, s=s: gaussian_sigma(e, DELTA, moved) / s - 1, 1e-6, 400) for s in noises]
    return [fits(DPSwissBorda(epsilon, DELTA), votes, n_trials, seed) for epsilon in epsilons]


# %%
# Curves
# ------
# A family has a curve of the error for each number of items. For some numbers of items, it also has a curve of the
# missed share of the best k. A point holds the mean, the least and the largest error over all electorates.


def grid(first, factor, size):
    """Return signals, from much noise to little."""
    return tuple(float(f"{first * factor**i:.3g}") for i in range(size))


SIZES = (2, 3, 4, 5, 7, 10, 16, 30, 45, 100)
BEST = {4: (1, 2, 3), 7: (1, 3, 6), 10: (1, 3, 5, 9), 16: (1, 2, 4, 15), 20: (1, 3, 7), 45: (1, 3, 10)}
ALL_SIZES = tuple(sorted({*SIZES, *BEST, 13}))
# The simulation, the signals times 1 - 2 disagreement, and the numbers of items.
FAMILIES = {
    "knorm": (knorm, grid(0.04, 1.6, 16), SIZES),
    "gaussian": (gaussian, grid(0.2, 1.6, 16), SIZES),
    "pairs": (pairs, grid(0.2, 1.9, 11), SIZES),
    "prudent": (prudent, grid(0.12, 1.5, 14), (2, 3, 4, 5, 7, 10, 13, 16)),
    "two_stage": (two_stage, grid(0.004, 1.8, 11), (16, 20, 30, 45, 100)),
    "peeled": (peeled, grid(0.08, 1.6, 17), (3, 5, 10, 16, 20, 30, 45, 100)),
    "swiss": (swiss, grid(0.4, 2, 9), (16, 20, 30, 45, 100)),
    "margins": (margins, grid(0.1, 2, 12), (3, 5, 10, 16, 30)),
    "top": (top, grid(0.1, 1.6, 13), ()),
}


def n_trials(family, n_items, k=None):
    """Return the trials per electorate; errors on many items vary less between trials."""
    if family in ("knorm", "gaussian") or (family == "prudent" and n_items <= 7):
        return 400 if n_items <= 10 else 150
    if family == "top":
        return 400 if n_items**k <= MOST_WAYS else 10 if n_items <= 16 else 3
    if n_items == 100:
        return 2
    few = {"prudent": 24, "peeled": 24, "pairs": 10, "swiss": 2 if n_items > 20 else 8, "two_stage": 5, "margins": 10}
    return few[family]


def measured(family, n_items, votes, signals, seed, trials=None):
    """Return the mean error of one electorate, and the missed shares: {name of the curve: one number per signal}."""
    simulate, _, sizes = FAMILIES[family]
    ks = BEST.get(n_items, ()) if family == "top" or (n_items in (*sizes, 20) and family != "margins") else ()
    if family == "top":
        by_k = {k: simulate(votes, signals, trials or n_trials(family, n_items, k), seed, k) for k in ks}
        return {(n_items, k): [votes.missed(ranks, k).mean() for ranks in by_k[k]] for k in ks}
    drawn = simulate(votes, signals, trials or n_trials(family, n_items), seed)
    found = {(n_items, None): [votes.excess(ranks).mean() for ranks in drawn]} if n_items in sizes else {}
    return found | {(n_items, k): [votes.missed(ranks, k).mean() for ranks in drawn] for k in ks}


def simulated(family, n_items, level, all_votes, seed=0, trials=None):
    """Return {name: array of shape (3, n_signals)}: mean, least and largest over all electorates, falling."""
    signals = np.divide(FAMILIES[family][1], 1 - 2 * level)
    each = [measured(family, n_items, votes, signals, seed + 1000 * i, trials) for i, votes in enumerate(all_votes)]
    stacked = {name: np.array([found[name] for found in each]) for name in each[0]}
    of_all = {name: np.array([x.mean(axis=0), x.min(axis=0), x.max(axis=0)]) for name, x in stacked.items()}
    return {name: np.minimum.accumulate(rows, axis=1) for name, rows in of_all.items()}


def families_of(n_items):
    """Return the families that are simulated for this number of items."""
    with_best = n_items in BEST
    wide = [family for family in ("knorm", "gaussian", "pairs") if n_items in SIZES or with_best]
    narrow = ("prudent", "two_stage", "peeled", "swiss", "margins")
    other = [family for family in narrow if n_items in FAMILIES[family][2]]
    return wide + other + ["top"] * with_best


def all_curves(families=tuple(FAMILIES), sizes=ALL_SIZES, n_of_each=4, kinds=KINDS):
    """Return the simulated curves of some families as they are stored: {family: {"grid": signals, "curves": ...}}."""
    found = {family: {"grid": list(FAMILIES[family][1]), "curves": {}} for family in families}
    for n_items in sizes:
        again = [family for family in families_of(n_items) if family in families]
        for level in LEVELS if again else ():
            all_votes = electorates(n_items, level, n_of_each, kinds=kinds)
            for family in again:
                for (_, k), errors in simulated(family, n_items, level, all_votes).items():
                    rows = as_rows(errors, stored.of_random_order(n_items, level, k), k)
                    found[family]["curves"].setdefault(f"{n_items}:{k}" if k else str(n_items), []).append(rows)
            print(n_items, level, file=sys.stderr)
    return found


#: Largest distance of a stored line from the logarithm of a mean error, and of the ends of a range.
EXACT, ROUGH = math.log(1.05), math.log(1.15)


def as_rows(errors, worst, k=None):
    """Return [place, value, place, value, ...] of the mean and of the ends of the range, as `advice.read` reads them.

    A value is minus the logarithm of an error relative to `worst`. Places that the others predict are left out.
    """
    least = (stored.RESOLUTION if k is None else stored.RESOLUTION_OF_BEST) / worst
    rows = []
    for row, off in zip(-np.log(np.clip(errors / worst, least, 1)), [EXACT, ROUGH, ROUGH], strict=False):
        kept, last = [0], len(row) - 1
        while kept[-1] < last:
            start = kept[-1]
            for end in range(last, start, -1):
                places = np.arange(start, end + 1)
                line = np.interp(places, [start, end], row[[start, end]])
                if abs(line - row[places]).max() <= off:
                    break
            kept.append(end)
        rows.append([int(each) for i in kept for each in (i, round(row[i] / stored.UNIT))])
    return rows


# %%
# Camps
# -----
# Majorities of camps can form a cycle. Consensus and voters then differ by more than majorities and voters, most of all
# if the camps are as many as the items. Electorates are therefore sorted by their own disagreement: those between two
# levels count for both. The rows are the mean without noise, and the error that 95 % of the electorates do not exceed.
# Both are relative to the error of a random order.

CAMP_LEVELS = (0.35, 0.45)
CAMP_SIZES = (3, 4, 5, 7, 10, 16, 30, 45)
#: Shares of the pairs on which voters contradict majorities.
OF_MAJORITIES = (0.3, 0.36, 0.42, 0.47)


def of_camps(n_items, n_of_each=None):
    """Return [(kind, disagreement, {family: relative errors})] of electorates with camps, at `camp_grid`."""
    n_of_each = n_of_each or (4 if n_items <= 10 else 2 if n_items <= 16 else 1)
    found = []
    for level in OF_MAJORITIES:
        all_votes = electorates(n_items, level, n_of_each, kinds=CAMPS)
        for i, votes in enumerate(all_votes):
            of_random = votes.excess(-votes.best[None])[0] / 2  # the reversed order errs twice as much
            own, errors = 0.5 - of_random, {}
            if own > stored.LARGEST_GUESS:  # hardly any majority
                continue
            for family, (simulate, _, sizes) in FAMILIES.items():
                if sizes and min(sizes) <= n_items <= max(sizes):
                    all_trials = n_trials(family, n_items)
                    trials = min(all_trials, max(3, all_trials // 4))
                    drawn = simulate(votes, np.divide(camp_grid(family), 1 - 2 * own), trials, 1000 * i)
                    errors[family] = np.array([votes.excess(ranks).mean() for ranks in drawn]) / of_random
            found.append((CAMPS[i // n_of_each], own, errors))
        print(n_items, level, "camps", file=sys.stderr)
    return found


def camp_grid(family):
    """Return every other signal of a family, and one at which only the floor is left."""
    signals = FAMILIES[family][1]
    return [*signals[::2], round(30 * signals[-1], 3)]


def camp_curves(simulated_camps, kinds=CAMPS):
    """Return the curves of camps as they are stored, from {number of items: `of_camps`} and some kinds of camps."""
    found = {}
    for n_items, all_camps in simulated_camps.items():
        some = [(own, errors) for kind, own, errors in all_camps if kind in kinds]
        low, high = np.log(np.subtract(0.5, CAMP_LEVELS))
        nearer_high = np.clip((np.log([max(0.5 - own, 1e-9) for own, _ in some]) - low) / (high - low), 0, 1)
        for family in some[0][1]:
            relative = np.clip([errors[family] for _, errors in some], 0, 1)
            rows = found.setdefault(family, {"grid": camp_grid(family), "curves": {}})["curves"][str(n_items)] = []
            for weights, level in zip((1 - nearer_high, nearer_high), CAMP_LEVELS, strict=True):
                floor = np.average(relative[:, -1], weights=weights)
                errors = np.minimum.accumulate(np.maximum(_most(relative, weights), floor))
                worst = stored.of_random_order(n_items, level)
                rows.append(as_rows(worst * np.array([np.full_like(errors, floor), errors]), worst))
    return found


def _most(errors, weights):
    """Return what all but 5 % of the weight of the rows do not exceed, in each column."""
    order = errors.argsort(axis=0)
    sums = weights[order].cumsum(axis=0)
    place = (sums < stored.MOST_CAMPS * sums[-1]).sum(axis=0).clip(max=len(errors) - 1)
    return np.take_along_axis(errors, np.take_along_axis(order, place[None], axis=0), axis=0)[0]


def as_text(found):
    """Return the file that stores the curves: JSON with one line per level."""
    text = json.dumps(found, separators=(",", ":"))
    return text.replace("[[[", "[\n[[").replace("]],[[", "]],\n[[").replace('},"', '},\n"') + "\n"


# %%
# A few points again, with other seeds, other electorates and fewer trials. They must agree with the stored ones.

SPOT_CHECKS = {
    "knorm": (4, 10, 30),
    "gaussian": (5, 45),
    "pairs": (7,),
    "prudent": (5, 7),
    "peeled": (10,),
    "swiss": (30,),
    "top": (10,),
}


def spot_checks(level=0.35, place=6, seed=1):
    """Return rows (family, curve, signal, stored mean, least and largest, simulated mean)."""
    rows = []
    for family, sizes in SPOT_CHECKS.items():
        for n_items in sizes:
            signals = [FAMILIES[family][1][place] / (1 - 2 * level)]
            votes = electorates(n_items, level, 2, seed=seed)
            trials = 6 if family == "swiss" else 40
            found = [measured(family, n_items, each, signals, seed + 1000 * i, trials) for i, each in enumerate(votes)]
            for key in found[0]:
                logs = stored.curves().families[family].curves[key][LEVELS.index(level)][:, place]
                known = stored.of_random_order(n_items, level, key[1]) * np.exp(logs)
                rows.append((family, key, signals[0], *known, float(np.mean([each[key] for each in found]))))
    return rows


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", type=Path, metavar="FILE", help="simulate all and write the file that stores it")
    parser.add_argument("--family", nargs="*", choices=FAMILIES, help="simulate only these, and keep the others")
    parser.add_argument("--camps", action="store_true", help="also simulate camps")
    options = parser.parse_args(arguments)
    if options.full:
        found = json.loads(STORED.read_text(encoding="utf-8"))
        families = FAMILIES if options.family is None else options.family
        found["families"] |= all_curves(families)
        if options.camps:
            found["camps"] = camp_curves({n_items: of_camps(n_items) for n_items in CAMP_SIZES})
        options.full.write_text(as_text(found), encoding="utf-8")
        return
    print("family    curve     signal   stored   (least, largest)  simulated, in points of 100")
    for family, name, signal, mean, least, largest, found in spot_checks():
        print(
            f"{family:9} {name:8} {signal:7.3g} {100 * mean:8.3f} ({100 * least:.3f}, {100 * largest:.3f})"
            f" {100 * found:10.3f}"
        )


if __name__ == "__main__":
    main()
