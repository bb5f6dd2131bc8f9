"""
Ranking only the best items with less noise
===========================================

Often only the best items are needed: the winner, the best three or the best ten. `DPTopK` draws only the best k items
in order, weighted by the largest majority that they violate, and leaves all others tied. This page measures how many of
the best k items, by the Kemeny order of the votes, are found on average. The statements below each picture are computed
from its numbers.

Every fit is scored against the votes, so the pictures are not private. With more trials, and with real votes if
SKLEARN_DPRANK_DATA names their folder, from a shell::

    python examples/plot_top_k.py --full --pictures folder
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/plot_top_k.png"

from itertools import combinations, permutations

import numpy as np
from _shared import begin, claim, curves, finish, mallows, not_above, panels, real, summary, sweep, trials

from sklearn_dprank import DPBorda, DPPrudentOrder, DPTopK
from sklearn_dprank.ballots import Profile
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions

TRIALS = 30  # 200 with --full

if __name__ == "__main__":
    ARGUMENTS = begin(["SUSHI"])
    N_TRIALS = 200 if ARGUMENTS.full else TRIALS

# %%
# The best of ten
# ---------------
# The share of the best 1, 3 and 5 of ten items that is found. Whole orders contain more than is needed, because their
# noise decides between all ten items. The gain is smallest if half of the items are wanted.


def found(estimators, votes, k, epsilons, n_trials):
    """Return {name: share of the best k found, shape (n_epsilons, n_trials)} of {name: epsilon to estimator}."""
    profile = Profile.from_rankings(votes.ballots).counted()
    best = np.flatnonzero(kemeny_positions(profile) < k)

    def recall(fitted, _):
        return np.mean(fitted.ranks_[best] < k)

    return sweep(
        lambda epsilon: {name: trials(make(epsilon), profile, n_trials, recall) for name, make in estimators.items()},
        epsilons,
    )


def whole_orders(n_items):
    """Return the mechanisms that order all items; `DPPrudentOrder` is for up to 16."""
    named = {"DPBorda, K-norm noise": lambda epsilon: DPBorda(epsilon, noise="knorm")}
    if n_items <= 16:
        named["DPPrudentOrder"] = DPPrudentOrder
    return named


def compare(votes, ks, epsilons, n_trials):
    """Return the result of `found` for `DPTopK` and for whole orders, for each k."""
    others = whole_orders(votes.ballots.shape[1])
    return [
        found({"DPTopK": lambda epsilon, k=k: DPTopK(k, epsilon=epsilon), **others}, votes, k, epsilons, n_trials)
        for k in ks
    ]


def draw(votes, ks, epsilons, results, number, folder=None):
    """Draw Figure 1 or 2."""
    figure, axes = panels(1, len(ks))
    for ax, k, result in zip(axes[0], ks, results, strict=True):
        curves(ax, epsilons, result, f"the best {k}", "epsilon")
        ax.set_ylim(-0.03, 1.03)
    axes[0, 0].set_ylabel("share found")
    finish(figure, f"Figure {number}: {votes.title}", f"top_k_figure_{number}", folder)


def percent(result, place):
    """Return the shares found at one epsilon, in words."""
    return ", ".join(f"{name} {100 * shares[place].mean():.0f} %" for name, shares in result.items())


if __name__ == "__main__":
    EPSILONS, KS = np.geomspace(0.001, 0.064, 7), (1, 3, 5)
    SUSHI = real("SUSHI")
    RESULTS = compare(SUSHI, KS, EPSILONS, N_TRIALS)
    draw(SUSHI, KS, EPSILONS, RESULTS, 1, ARGUMENTS.pictures)
    for k, result in zip(KS, RESULTS, strict=True):
        claim(
            f"The best {k}: DPTopK finds no less than the whole orders.",
            [not_above(shares, result["DPTopK"]) for name, shares in result.items() if name != "DPTopK"],
            f"at epsilon = {EPSILONS[3]:.3g} {percent(result, 3)}",
        )

# %%
# The best of forty-five
# ----------------------
# With many items, most of what a whole order decides is not needed. The ten best are chosen in batches of three and
# two, each from the remaining items, because there are too many ways to choose ten of 45 at once.

if __name__ == "__main__":
    EPSILONS, KS = np.geomspace(0.001, 0.064, 7), (1, 3, 10)
    MALLOWS = mallows(5000, 45, 0.25)
    RESULTS = compare(MALLOWS, KS, EPSILONS, N_TRIALS)
    draw(MALLOWS, KS, EPSILONS, RESULTS, 2, ARGUMENTS.pictures)
    for k, result in zip(KS, RESULTS, strict=True):
        top, borda = result.values()
        claim(
            f"The best {k}: DPTopK finds no less than Borda with twice its epsilon.",
            not_above(borda[1:], top[:-1]),
            f"at epsilon = {EPSILONS[4]:.3g} {percent(result, 4)}",
        )

# %%
# Permute and flip
# ----------------
# `DPTopK` and `DPPrudentOrder` draw by permute-and-flip. It visits all orders in random sequence, and accepts each with
# probability exp(-epsilon / 2 times its excess cost over the best order). It has the same epsilon as the exponential
# mechanism, and its expected cost is never larger. All orders of six items can be listed, so this picture needs no
# simulation. It shows the expected error of either mechanism, in percent of all pairs above the Kemeny optimum. At
# small epsilon, both are the same. If the mechanism is nearly certain, permute-and-flip has half the error.


def expected_errors(votes, epsilons):
    """Return {name: percent above the optimum, shape (n_epsilons, 1)} from the distributions of prudent orders."""
    profile = Profile.from_rankings(votes.ballots)
    orders = list(permutations(range(profile.n_items)))
    costs = np.array([max(profile.margins[i, j] for j, i in combinations(order, 2)) for order in orders])
    errors = np.array([average_kendall_tau(np.argsort(order), profile) for order in orders])
    laws = {"permute-and-flip": flipped, "exponential mechanism": exponential}
    excess = 100 * (errors - errors.min())
    return {
        name: np.array([[law(epsilon / 2 * (costs - costs.min())) @ excess] for epsilon in epsilons])
        for name, law in laws.items()
    }


def exponential(penalties):
    """Return the probabilities of the exponential mechanism."""
    return np.exp(-penalties) / np.exp(-penalties).sum()


def flipped(penalties):
    """Return the probabilities of permute-and-flip.

    An option that is visited at time t in (0, 1) is accepted if no option before it was. Each other option is visited
    before it with probability t. The mean over t is that of a polynomial, for which Gauss's rule is exact.
    """
    p = np.exp(-penalties)
    nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
    left = np.log1p(-np.outer((1 + nodes) / 2, p))
    return p * (weights / 2 @ np.exp(left.sum(axis=1, keepdims=True) - left))


if __name__ == "__main__":
    EPSILONS = (0.01, 0.015, 0.025, 0.04, 0.06, 0.1)
    SIX = SUSHI._replace(title=f"{SUSHI.title}, the first 6 items", ballots=SUSHI.ballots[:, :6])
    VOTES = [SIX, mallows(1000, 6, 0.25)]
    RESULTS = [expected_errors(votes, EPSILONS) for votes in VOTES]
    figure, axes = panels(1, len(VOTES))
    for ax, votes, result in zip(axes[0], VOTES, RESULTS, strict=True):
        curves(ax, EPSILONS, result, votes.title, "epsilon", ticks=True)
        ax.set_yscale("log")
    axes[0, 0].set_ylabel("% of pairs above optimum")
    finish(figure, "Figure 3: two ways to draw a prudent order", "top_k_figure_3", ARGUMENTS.pictures)
    for votes, result in zip(VOTES, RESULTS, strict=True):
        flips, other = (errors[:, 0] for errors in result.values())
        best = np.argmin(flips / other)
        claim(
            f"{votes.title}: permute-and-flip errs no more.",
            flips <= other,
            f"{flips[best]:.2g} against {other[best]:.2g} points at epsilon = {EPSILONS[best]:g}, where it saves most",
        )

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
