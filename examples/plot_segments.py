"""
A private consensus for each region
===================================

A survey often needs a consensus for each region, age group or shop. A voter is in one of these segments at most.
`SegmentedAggregator` therefore gives each segment the full epsilon, and one guarantee covers all of them. With pooling,
small segments also learn from the others.

The rankings are those of SUSHI, if SKLEARN_DPRANK_DATA names a folder with the file. Otherwise, they are simulated. The
file has no regions, so this page simulates eight: some are large, and their tastes differ. Every fit has a seed and is
compared with the votes, so the results are not private. With more trials, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_segments.py --full --pictures folder
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _shared import begin, claim, curves, finish, not_above, panels, real, summary, sweep

from sklearn_dprank import DPBorda, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.metrics import excess_kendall_tau, kemeny_positions
from sklearn_dprank.plotting import SegmentsDisplay

TRIALS = 10  # 100 with --full
DELTA = 1e-6
REGIONS = ["capital", "north", "east", "south", "west", "coast", "hills", "islands"]
SUSHI = ["ebi", "anago", "maguro", "ika", "uni", "ikura", "tamago", "toro", "tekka-maki", "kappa-maki"]

# %%
# Votes and regions
# -----------------
# Some regions are much larger than others. The voters of each region like one item more than others do: the lower a
# voter ranks that item, the less often the voter is in that region.


def regions_of(ballots, seed=0):
    """Return a region for each ballot."""
    rng = np.random.default_rng(seed)
    n_voters, n_items = ballots.shape
    sizes = 0.67 ** np.arange(len(REGIONS))
    liked = ballots[:, np.arange(len(REGIONS)) % n_items]  # each region likes one item
    chances = sizes * np.exp(-2.0 * liked / (n_items - 1))
    steps = (chances / chances.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return np.array(REGIONS)[np.minimum((rng.random((n_voters, 1)) > steps).sum(axis=1), len(REGIONS) - 1)]


def named(votes):
    """Return the ballots as a table with item names."""
    names = SUSHI if votes.title == "SUSHI" else [f"item {k}" for k in range(1, votes.ballots.shape[1] + 1)]
    return pd.DataFrame(votes.ballots, columns=names)


if __name__ == "__main__":
    ARGUMENTS = begin(["SUSHI"])
    VOTES = real("SUSHI")
    BALLOTS, LABELS = named(VOTES), regions_of(VOTES.ballots)
    for region in REGIONS:
        print(f"{region:<8} {(region == LABELS).sum():>5} voters")

# %%
# One release
# -----------
# Each column is a region, and the rows have the same order in all columns. A dot is the pooled rank. A bar is an
# interval for the true rank of these voters. It uses the answers of the region alone, so the dot may lie outside of it.
# Dots left of the line are items that the region likes more than the others do. Small regions have wide bars. A faint
# region mostly repeats the others, and its order says little about the region.


def picture(display, name, folder):
    """Draw a display; save the picture if a folder is given."""
    figure = display.plot().figure_
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=200)


if __name__ == "__main__":
    POOLED = SegmentedAggregator(REGIONS, epsilon=0.3, random_state=0).fit(BALLOTS, segments=LABELS)
    picture(SegmentsDisplay.from_estimator(POOLED), "segments_pooled", ARGUMENTS.pictures)
    print(POOLED.privacy_)
    for region, own in zip(POOLED.segments_, POOLED.own_weights_, strict=True):
        print(f"{region:<8} {own:>4.0%} its own answers")

# %%
# Without pooling, no budget is used for the total and for the sizes, so the bars are a little shorter. The orders of
# small regions consist mainly of noise.

if __name__ == "__main__":
    ALONE = SegmentedAggregator(REGIONS, epsilon=0.3, pooling=False, random_state=0).fit(BALLOTS, segments=LABELS)
    picture(SegmentsDisplay.from_estimator(ALONE), "segments_alone", ARGUMENTS.pictures)

# %%
# With ``delta=0``, the guarantee is pure epsilon-differential privacy, and only the orders are published.

if __name__ == "__main__":
    PURE = SegmentedAggregator(REGIONS, epsilon=0.3, delta=0.0, pooling=False, random_state=0)
    PURE.fit(BALLOTS, segments=LABELS)
    picture(SegmentsDisplay.from_estimator(PURE), "segments_pure", ARGUMENTS.pictures)

# %%
# Error of each region
# --------------------
# The excess distance of a region's order over the Kemeny optimum of its votes, as a mean over the regions. Four ways
# have the same epsilon and delta in total. The first is a fit for each region with an eighth of both. The second is all
# regions in parallel, without pooling. The third is the same with pooling. The last is one order for all voters. They
# are measured on the regions above, and on voters who were assigned at random, so that all regions are alike.


class Segments:
    """Profiles of the segments, and their Kemeny optima."""

    def __init__(self, ballots, labels):
        self.ballots, self.labels = ballots, labels
        self.profiles = [Profile.from_rankings(ballots[labels == region]) for region in REGIONS]
        self.optima = [kemeny_positions(profile) for profile in self.profiles]

    def error(self, ranks):
        """Return the mean excess distance over the segments, in percent of pairs, from positions for each segment."""
        each = zip(np.asarray(ranks), self.profiles, self.optima, strict=True)
        return 100 * np.mean([excess_kendall_tau(row, profile, optimum=best) for row, profile, best in each])


def shares(epsilon, seed):
    """Return an estimator for each region, with equal parts of epsilon and delta."""
    parts = {"epsilon": epsilon / len(REGIONS), "delta": DELTA / len(REGIONS), "noise": "gaussian"}
    return [DPBorda(**parts, random_state=1000 * seed + k) for k in range(len(REGIONS))]


def one_trial(segments, epsilon, seed):
    """Return {way: mean error of the segments}."""
    split = [fit.fit(profile) for fit, profile in zip(shares(epsilon, seed), segments.profiles, strict=True)]
    for_all = DPBorda(epsilon, DELTA, noise="gaussian", random_state=seed).fit(segments.ballots)
    alone, pooled = (
        SegmentedAggregator(REGIONS, epsilon, DELTA, pooling=pooling, random_state=seed).fit(
            segments.ballots, segments=segments.labels
        )
        for pooling in (False, True)
    )
    ranks = {
        "epsilon / 8 each": [fit.ranks_ for fit in split],
        "in parallel": alone.ranks_,
        "pooled": pooled.ranks_,
        "one order for all": [for_all.ranks_] * len(REGIONS),
    }
    return {way: segments.error(rows) for way, rows in ranks.items()}


def errors(segments, epsilons, n_trials):
    """Return {way: errors of shape (n_epsilons, n_trials)}."""

    def measure(epsilon):
        found = [one_trial(segments, epsilon, seed) for seed in range(n_trials)]
        return {way: np.array([trial[way] for trial in found]) for way in found[0]}

    return sweep(measure, epsilons)


def draw(results, epsilons, title, folder=None):
    """Draw a panel for each of {title: errors}."""
    figure, axes = panels(1, len(results), height=3.2)
    for ax, (name, result) in zip(axes[0], results.items(), strict=True):
        curves(ax, epsilons, result, name, "epsilon", ticks=True)
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("excess distance, % of pairs")
    finish(figure, title, "segments_errors", folder)


if __name__ == "__main__":
    EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)
    RANDOM = np.random.default_rng(1).permutation(LABELS)
    KINDS = {"regions that differ": LABELS, "voters assigned at random": RANDOM}
    RESULTS = {
        name: errors(Segments(VOTES.ballots, labels), EPSILONS, 100 if ARGUMENTS.full else TRIALS)
        for name, labels in KINDS.items()
    }
    draw(RESULTS, EPSILONS, f"{VOTES.title}, {len(REGIONS)} segments", ARGUMENTS.pictures)
    for name, result in RESULTS.items():
        middle = ", ".join(f"{way} {error[2].mean():.1f}" for way, error in result.items())
        claim(
            f"{name}: in parallel is no worse than epsilon / 8 each",
            not_above(result["in parallel"], result["epsilon / 8 each"]),
            f"percent of pairs at epsilon = {EPSILONS[2]}: {middle}",
        )
        claim(f"{name}: pooled is no worse than in parallel", not_above(result["pooled"], result["in parallel"]))
    claim(
        "regions that differ: from epsilon = 0.3 on, pooled is no worse than one order for all",
        not_above(*(RESULTS["regions that differ"][way][2:] for way in ("pooled", "one order for all"))),
    )

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
    plt.show()
