"""
Beyond the papers: the same privacy for less error
==================================================

The local and shuffle mechanisms of the papers use each voter's epsilon well, but then lose part of the information.
This page measures four improvements, as excess average Kendall tau distance against epsilon, and as epsilon saved at
equal error:

- **Bradley-Terry decoding** (`LDPPairwise`) of the same reports as LDP-KwikSort. KwikSort trusts every estimated
  majority that it meets, even a small one. A model of all items weights the majorities.
- **Adaptive rounds** (`LDPAdaptivePairs`): later voters are asked about pairs that are still close.
- **PrivUnitG** (`LDPBorda`): the whole Borda vector, randomised on the sphere; it is better for large epsilon.
- **The hidden pair** (`ShufflePairwise`): the voter draws the pair privately, so the shuffler mixes the pairs, too. A
  voter then hides among all voters, instead of those with the same pair.

With more voters, items and trials, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_beyond_local.py --full --pictures folder

The results are not private: every fit has a seed, and is scored against the ballots.
"""

import numpy as np
from _shared import begin, claim, curves, excess, finish, mallows, panels, real, summary, sweep

from sklearn_dprank import LDPAdaptivePairs, LDPBorda, LDPKwikSort, LDPPairwise, ShuffleHierarchical, ShufflePairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.metrics import kemeny_positions
from sklearn_dprank.privacy import shuffle_local_epsilon
from sklearn_dprank.privacy.shuffle import balanced_group_size
from sklearn_dprank.rules import KemenyRule
from sklearn_dprank.theory.yan import best_query_count

TRIALS = 8
DELTA = 1e-6  # for the shuffle mechanisms

if __name__ == "__main__":
    ARGUMENTS = begin()
    REPEATS = 40 if ARGUMENTS.full else TRIALS
    VOTES = [real("SUSHI"), mallows(5000, 45, 0.25) if ARGUMENTS.full else mallows(2000, 15, 0.25)]
    print(f"{REPEATS} trials a setting.")


def saved(epsilons, baseline, better, n_levels=9):
    """Return how many times less epsilon the better mechanism needs at equal error, as a geometric mean.

    Mean errors are made monotone in epsilon, and interpolated on logarithmic axes. Errors that both mechanisms reach
    are compared. If there are none, one mechanism is better at its smallest epsilon than the other at its largest. The
    result is then the ratio of these epsilons, or its inverse, and the true factor is at least as extreme.
    """
    curves = [np.log(np.minimum.accumulate(np.maximum(errors.mean(axis=1), 1e-6))) for errors in (baseline, better)]
    worst, best = min(curve[0] for curve in curves), max(curve[-1] for curve in curves)
    if best >= worst:
        return (epsilons[-1] / epsilons[0]) ** (1 if curves[1][-1] < curves[0][-1] else -1)
    levels = np.linspace(best, worst, n_levels)
    needed = [np.interp(levels, curve[::-1], np.log(epsilons)[::-1]) for curve in curves]
    return float(np.exp(np.mean(needed[0] - needed[1])))


def excesses(mechanisms, votes, epsilons, repeats=TRIALS):
    """Return {mechanism: excess distances of shape (n_epsilons, n_trials)}."""
    profile = Profile.from_rankings(votes.ballots)
    optimum = kemeny_positions(profile)

    def measure(epsilon):
        each = mechanisms(epsilon, profile.n_items)
        return {name: excess(estimator, profile, optimum, repeats) for name, estimator in each.items()}

    return sweep(measure, epsilons)


def draw(mechanisms, results, votes, epsilons, title, name, folder=None):
    """Draw the excess against epsilon, with one panel per data set."""
    figure, axes = panels(1, len(votes), height=3.4)
    for ax, each, result in zip(axes[0], votes, results, strict=True):
        ax.set_yscale("symlog", linthresh=0.1)
        percent = {which: 100 * errors for which, errors in result.items()}
        curves(ax, epsilons, percent, f"{each.title}, n = {len(each.ballots):,}", "epsilon", ticks=True)
        ax.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("excess distance, % of pairs")
    finish(figure, title, name, folder)


def report(results, votes, epsilons):
    """Print how much epsilon the others save against the first mechanism, and return {mechanism: factors}."""
    baseline, *others = results[0]
    factors = {name: [saved(epsilons, result[baseline], result[name]) for result in results] for name in others}
    most = epsilons[-1] / epsilons[0]
    print(f"Times less epsilon than {baseline}, at equal error ({most:g} stands for that or more):")
    for name, found in factors.items():
        print(f"  {name:34s}" + ", ".join(f"{f:5.2f} ({each.title})" for f, each in zip(found, votes, strict=True)))
    return factors


# %%
# Local mechanisms
# ----------------
# All mechanisms use randomized response, or a similar randomizer, at the whole epsilon. They differ only in the queries
# and in the decoding.


def local(epsilon, n_items):
    """Return the local mechanisms by name."""
    return {
        "LDP-KwikSort:RR (published)": LDPKwikSort(epsilon, best_query_count(epsilon, n_items, variant="as_printed")),
        "DJW, Kemeny (published)": LDPPairwise(epsilon, randomizer="djw", rule=KemenyRule(shrink=False)),
        "one pair, Bradley-Terry": LDPPairwise(epsilon),
        "adaptive rounds": LDPAdaptivePairs(epsilon),
        "PrivUnitG Borda": LDPBorda(epsilon),
    }


EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)

if __name__ == "__main__":
    LOCALLY = [excesses(local, each, EPSILONS, REPEATS) for each in VOTES]
    draw(local, LOCALLY, VOTES, EPSILONS, "Local mechanisms", "beyond_local", ARGUMENTS.pictures)
    factors = report(LOCALLY, VOTES, EPSILONS)
    for name in list(factors)[1:]:
        claim(f"{name} needs less epsilon than LDP-KwikSort at equal error", np.array(factors[name]) > 1)
    djw = [saved(EPSILONS, result["DJW, Kemeny (published)"], result["one pair, Bradley-Terry"]) for result in LOCALLY]
    claim(
        "one pair and Bradley-Terry need less than DJW and Kemeny",
        np.array(djw) > 1,
        ", ".join(f"{factor:.2f} times less" for factor in djw),
    )
    last = [result["PrivUnitG Borda"][-1].mean() < result["one pair, Bradley-Terry"][-1].mean() for result in LOCALLY]
    claim(f"at epsilon = {EPSILONS[-1]:g} PrivUnitG is nearer than one pair", last)

# %%
# Shuffle mechanisms
# ------------------
# Epsilon is now the central one, with delta = 1e-6, and every guarantee is the true one, as ``privacy_`` of each fit
# states. The local epsilon of each mechanism follows from the number of messages among which a voter hides.


def shuffled(epsilon, n_items):
    """Return the shuffle mechanisms by name, and a local one for comparison."""
    return {
        "DDP-Helnaksort (true accounting)": ShuffleHierarchical(epsilon, DELTA),
        "no shuffler, Bradley-Terry": LDPPairwise(epsilon),
        "assigned pair, Bradley-Terry": ShufflePairwise(epsilon, DELTA, pairs="assigned"),
        "hidden pair, Bradley-Terry": ShufflePairwise(epsilon, DELTA),
    }


CENTRAL = (0.1, 0.2, 0.4, 0.8, 1.6)

if __name__ == "__main__":
    MIXED = [excesses(shuffled, each, CENTRAL, REPEATS) for each in VOTES]
    draw(
        shuffled, MIXED, VOTES, CENTRAL, f"Shuffled mechanisms, delta = {DELTA:g}", "beyond_shuffle", ARGUMENTS.pictures
    )
    factors = report(MIXED, VOTES, CENTRAL)
    hidden, assigned, alone = (
        [result[f"{name}, Bradley-Terry"] for result in MIXED]
        for name in ("hidden pair", "assigned pair", "no shuffler")
    )
    gain = [saved(CENTRAL, first, second) for first, second in zip(assigned, hidden, strict=True)]
    claim(
        "hiding the pair saves epsilon against assigning it",
        np.array(gain) > 1,
        ", ".join(f"{factor:.1f} times less" for factor in gain),
    )
    claim(
        "Bradley-Terry on assigned pairs needs less epsilon than DDP-Helnaksort on the same",
        np.array(factors["assigned pair, Bradley-Terry"]) > 1,
    )
    print("Local epsilon that a central epsilon of 0.4 allows: ", end="")
    for each in VOTES:
        n_voters, n_items = each.ballots.shape
        group = balanced_group_size(n_voters, n_items)
        alone, together = (shuffle_local_epsilon(0.4, crowd, DELTA) for crowd in (group, n_voters))
        print(f"{alone:.2f} among {group}, {together:.2f} among {n_voters} ({each.title}); ", end="")
    print()

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
