"""
Swiss rounds: comparing items with similar scores
=================================================

A trusted curator who publishes the Borda order of many items must hide one ballot, which changes the net wins of every
item by up to m - 1. In a group of h items, a ballot changes them by up to h - 1. `DPSwissBorda` asks for the net wins
of all items once, with part of its budget. In two more rounds, it asks for the net wins within groups of items with
similar scores, as a Swiss tournament pairs players of equal score. The last round asks for margins of single pairs, or
for groups once more if noise would drown margins. The statements below each picture are computed from its numbers.

The votes are simulated, and every fit is scored against them, so the results are not private. With more trials, from a
shell::

    python examples/plot_swiss.py --full --pictures folder
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from _shared import begin, claim, curves, excess, finish, mallows, not_above, panels, summary
from matplotlib.ticker import LogLocator, NullFormatter
from scipy.special import expit

from sklearn_dprank import DPBorda, DPSwissBorda
from sklearn_dprank.ballots import Profile
from sklearn_dprank.metrics import kemeny_positions

DELTA = 1e-6
EPSILONS = (0.02, 0.03, 0.045, 0.07, 0.1)
TRIALS = 30  # 100 with --full

if __name__ == "__main__":
    ARGUMENTS = begin(names=())

# %%
# Rounds and groups
# -----------------
# Each panel is one round with 45 items, in the order of their current strengths. Dark pairs meet. The groups of the
# third round are shifted by half a group, so that they overlap those of the round before. The sizes of the groups and
# the noise are public. The members of the groups follow from the earlier answers. Smaller groups have less
# noise on the net wins of each item, for about the same share of the budget.


def rounds(n_items, epsilon):
    """Return (pairs that meet, standard deviation of the noise) of each round, from public numbers."""
    rule, plan = DPSwissBorda(epsilon, DELTA).plan_for(Profile.from_rankings([range(n_items)]))
    found = []
    for ask in rule.asks(n_items)[1:-1]:  # the first is for the number of voters, and the last follows from answers
        meet = np.zeros((n_items, n_items), dtype=bool)
        for group in [range(n_items)] if ask.query.groups is None else ask.query.groups:
            meet[np.ix_(group, group)] = True
        found.append((meet, plan.prices[ask.query.kind].mechanism.deviation))
    return found


def draw_rounds(found, folder=None):
    """Draw Figure 1."""
    figure, axes = plt.subplots(1, len(found), figsize=(2.2 * len(found), 2.6), layout="constrained")
    for number, (ax, (meet, noise)) in enumerate(zip(axes, found, strict=True), start=1):
        ax.imshow(meet, cmap="Greys", vmin=0, vmax=1.4, interpolation="nearest")
        ax.set_title(f"round {number}: noise {noise:.0f}", fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0].set_ylabel("items, best first")
    figure.suptitle("Figure 1: who meets whom, and the noise on net wins (epsilon = 0.1)", fontsize=11)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / "swiss_figure_1.png", dpi=200)


if __name__ == "__main__":
    FOUND = rounds(45, 0.1)
    draw_rounds(FOUND, ARGUMENTS.pictures)
    claim(
        "In the third round the noise is less than half of that of the first.",
        FOUND[-1][1] < FOUND[0][1] / 2,
        f"{FOUND[-1][1]:.0f} against {FOUND[0][1]:.0f} votes",
    )

# %%
# Gain in error
# -------------
# The picture shows the percentage of all pairs above the Kemeny optimum, against epsilon, for Borda with Gaussian noise
# and for Swiss Borda at the same delta. With 45 items, voters agree about items that are far apart. The order of close
# items is then left to decide, and the smaller noise of groups decides it with less epsilon. Ten items have no groups.
# Most rounds are net wins of all items, and the noise is that of Borda, spread over several answers.


def compare(votes, n_trials, epsilons=EPSILONS):
    """Return {name: percent above the optimum, shape (n_epsilons, n_trials)}."""
    profile = Profile.from_rankings(votes.ballots).counted()
    optimum = kemeny_positions(profile)
    named = {
        "Gaussian Borda": lambda epsilon: DPBorda(epsilon, DELTA, "gaussian"),
        "Swiss Borda": lambda epsilon: DPSwissBorda(epsilon, DELTA),
        "Gaussian Borda, 1.5 epsilon": lambda epsilon: DPBorda(1.5 * epsilon, DELTA, "gaussian"),
    }
    return {
        name: 100 * np.array([excess(make(epsilon), profile, optimum, n_trials) for epsilon in epsilons])
        for name, make in named.items()
    }


def draw_errors(all_votes, results, folder=None):
    """Draw Figure 2."""
    figure, axes = panels(1, len(all_votes))
    for ax, votes, result in zip(axes[0], all_votes, results, strict=True):
        curves(ax, EPSILONS, result, votes.title, "epsilon", ticks=True)
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("% of pairs above optimum")
    finish(figure, "Figure 2: error against epsilon (delta = 1e-6)", "swiss_figure_2", folder)


if __name__ == "__main__":
    VOTES = [mallows(5000, 45, 0.25), mallows(500, 10, 0.25)]
    RESULTS = [compare(votes, 100 if ARGUMENTS.full else TRIALS) for votes in VOTES]
    draw_errors(VOTES, RESULTS, ARGUMENTS.pictures)
    MANY, FEW = RESULTS
    claim(
        "45 items: Swiss Borda is no worse than Gaussian Borda with 1.5 times its epsilon.",
        not_above(MANY["Swiss Borda"], MANY["Gaussian Borda, 1.5 epsilon"]),
        "at epsilon = 0.1 " + ", ".join(f"{name} {errors[-1].mean():.3f} points" for name, errors in MANY.items()),
    )
    claim(
        "Ten items: it is no better than Gaussian Borda.",
        not_above(FEW["Gaussian Borda"], FEW["Swiss Borda"]),
        "at epsilon = 0.1 " + ", ".join(f"{name} {errors[-1].mean():.1f} points" for name, errors in FEW.items()),
    )

# %%
# Strengths
# ---------
# The release includes strengths of the items: ``scores_``, estimated from the noisy answers alone. Of the voters who
# follow the Bradley-Terry model, a share of 1 / (1 + exp(s_j - s_i)) prefers i to j. Mallows votes follow another
# model. The picture compares the shares from the strengths with those of the votes.


def shares(votes, epsilon):
    """Return (predicted by the strengths, counted) for every pair, as shares of voters who prefer the better item."""
    profile = Profile.from_rankings(votes.ballots)
    fitted = DPSwissBorda(epsilon, DELTA, random_state=0).fit(profile)
    order = fitted.ranks_.argsort()
    better, worse = (order[side] for side in np.triu_indices(profile.n_items, 1))
    said = expit(fitted.scores_[better] - fitted.scores_[worse])
    return said, profile.pairwise_counts[better, worse] / profile.n_voters


def draw_shares(said, counted, folder=None):
    """Draw Figure 3."""
    figure, ax = plt.subplots(figsize=(4.2, 4.0), layout="constrained")
    ax.plot([0.5, 1], [0.5, 1], color="0.6", lw=1)
    ax.plot(counted, said, ".", ms=3, color="#0072B2")
    ax.set_xlabel("share of the voters who prefer the better item")
    ax.set_ylabel("share that the strengths say")
    ax.set_title("Figure 3: every pair of 45 items, epsilon = 0.1", fontsize=10)
    if folder is not None:
        figure.savefig(folder / "swiss_figure_3.png", dpi=200)


if __name__ == "__main__":
    SAID, COUNTED = shares(VOTES[0], 0.1)
    draw_shares(SAID, COUNTED, ARGUMENTS.pictures)
    claim(
        "Nine pairs of ten are said within .1 of their share of the voters.",
        np.quantile(abs(SAID - COUNTED), 0.9) <= 0.1,
        f"nine of ten within {np.quantile(abs(SAID - COUNTED), 0.9):.3f}, all within {abs(SAID - COUNTED).max():.3f}",
    )

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
