"""
LDP-KwikSort: Yan, Li and Liu (2020), again
===========================================

Figures 3 to 6, Theorems 2 and 3, the optimal number of questions and Tables 2 and 3 of Z. Yan, G. Li and J. Liu,
"Private rank aggregation under local differential privacy" (2020), measured again. Each of n voters is asked K of the
C(m, 2) pairs of m items, randomises each answer at epsilon / K, and the curator sorts the estimated majorities by
KwikSort. What follows each picture is computed from the numbers in it, so it is true of whatever votes were at hand.

The gallery takes fewer trials and fewer data sets than the paper. The paper's settings (30 trials, six data sets)
are, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_yan_2020.py --full --pictures folder

Nothing here is private: every fit is scored against the ballots, and seeded.
"""

import math
import statistics

import numpy as np
from _shared import (
    begin,
    claim,
    curves,
    finish,
    ldp,
    line,
    mallows,
    not_above,
    panels,
    real,
    some,
    standard_error,
    summary,
    sweep,
    trials,
)

from sklearn_dprank import DPKwikSort, KwikSort
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.profile import Profile
from sklearn_dprank.randomizers import RandomizedResponse, ThresholdedLaplace
from sklearn_dprank.theory.yan import best_query_count, expected_errors, optimal_queries, spent_epsilon

TRIALS = 6  # 30 with --full, as in the paper, and wherever there are only four items
RANDOMIZERS = {"rr": "LDP-KwikSort:RR", "laplace": "LDP-KwikSort:Lap"}
DISTANCE, ERROR_RATE = 0, 1  # columns of a score


def randomizer(name, n_queries):
    """Return the voters' side as published; the Laplace scale is the paper's K / epsilon."""
    return RandomizedResponse(n_queries) if name == "rr" else ThresholdedLaplace(n_queries, "published")


# %%
# What is measured, and on whose votes
# ------------------------------------
# The error rate (the paper's equation 4) is the share of pairs whose estimated majority is the wrong one, before
# any sorting. The average Kendall tau distance judges the sorted ranking against the ballots; it cannot fall to 0,
# because the voters disagree with each other.


def few_votes():
    """Return the votes of the gallery."""
    return [real("TurkDots"), real("SUSHI"), mallows(2000, 10, 0.5)]


def all_votes():
    """Return the paper's six data sets."""
    return [real("TurkDots"), real("TurkPuzzle"), real("SUSHI"), *(mallows(5000, 15, t) for t in (0.25, 0.5, 0.75))]


def effort(votes):
    """Return how often a setting is tried."""
    return 30 if ARGUMENTS.full or votes.ballots.shape[1] == 4 else TRIALS


if __name__ == "__main__":
    ARGUMENTS = begin()
    VOTES = all_votes() if ARGUMENTS.full else few_votes()
    print("Trials a setting: " + ", ".join(f"{effort(each)} ({each.title})" for each in VOTES) + ".")

# %%
# Figures 3 and 4: how many questions
# -----------------------------------
# More questions say more and each is noisier. The paper minimises g(K) = epsilon^2 K / (epsilon + 2 K)^2, a bound, at
# K = epsilon / 2; the signal itself, K tanh^2(epsilon / 2K), is largest at epsilon / 2.177, and for Laplace at
# epsilon / 2.513. Circles mark the integer that the paper takes.

BUDGETS = (1.0, 2.0, 4.0, 10.0)


def query_counts(n_items):
    """Return the paper's grid, and 5, its best K at epsilon = 10."""
    pairs = math.comb(n_items, 2)
    return sorted({min(k, pairs) for k in (1, 2, 3, 4, 5, n_items + 1, pairs)})


def sweep_queries(votes, name, budgets=BUDGETS, repeats=TRIALS):
    """Return {epsilon: scores of shape (n_counts, n_trials, 2)}."""
    counts = query_counts(votes.ballots.shape[1])
    return {
        epsilon: np.array([trials(ldp(epsilon, randomizer(name, k)), votes, repeats) for k in counts])
        for epsilon in budgets
    }


def draw_queries(results, votes, name, number, folder=None):
    """Draw Figure 3 (RR) or 4 (Laplace)."""
    figure, axes = panels(2, len(votes))
    for column, (each, result) in enumerate(zip(votes, results, strict=True)):
        n_items = each.ballots.shape[1]
        counts = query_counts(n_items)
        for look, (epsilon, scores) in enumerate(result.items(), start=1):
            published = counts.index(best_query_count(epsilon, n_items, variant="published"))
            for row, metric in enumerate((ERROR_RATE, DISTANCE)):
                line(axes[row, column], counts, scores[..., metric], look, f"epsilon = {epsilon:g}")
                best = scores[published, :, metric].mean()
                axes[row, column].plot(counts[published], best, "o", ms=12, mfc="none", mec="0.3")
        for ax in axes[:, column]:
            ax.set_xticks(counts, counts)
            ax.minorticks_off()
        axes[0, column].set_title(each.title, fontsize=9)
        axes[1, column].set_xlabel("K, questions to each voter")
    axes[0, 0].set_ylabel("error rate")
    axes[1, 0].set_ylabel("average Kendall tau")
    finish(figure, f"Figure {number}: {RANDOMIZERS[name]}; circles: K by the paper", f"yan_figure_{number}", folder)


def good_choices(votes, results):
    """Return for each epsilon whether the paper's K is as good as the best one measured, within the noise."""
    good = {}
    for each, result in zip(votes, results, strict=True):
        n_items = each.ballots.shape[1]
        for epsilon, scores in result.items():
            rates, error = scores[..., ERROR_RATE].mean(axis=1), standard_error(scores[..., ERROR_RATE].T)
            chosen = query_counts(n_items).index(best_query_count(epsilon, n_items, variant="published"))
            best = int(np.argmin(rates))
            good.setdefault(epsilon, []).append(rates[chosen] - rates[best] <= 2 * np.hypot(error[chosen], error[best]))
    return good


if __name__ == "__main__":
    BY_QUERIES = {name: [sweep_queries(each, name, repeats=effort(each)) for each in VOTES] for name in RANDOMIZERS}
    for number, name in enumerate(RANDOMIZERS, start=3):
        draw_queries(BY_QUERIES[name], VOTES, name, number, ARGUMENTS.pictures)
        good = good_choices(VOTES, BY_QUERIES[name])
        exact = ", ".join(f"{optimal_queries(epsilon, randomizer=name):.2f}" for epsilon in BUDGETS)
        for budgets, where in (((1.0, 2.0), "1, at epsilon 1 and 2"), ((4.0, 10.0), "epsilon/2, at epsilon 4 and 10")):
            claim(f"{RANDOMIZERS[name]} errs least at K = {where}", [good[e] for e in budgets])
        print(f"  The signal is largest at K = {exact} for epsilon = 1, 2, 4, 10.")

# %%
# "Held" means: no K of the grid had an error rate lower by more than two standard errors. The rule is safe, and so is
# its corrected form: near its top the signal is flat.

# %%
# Figure 5: the privacy budget
# ----------------------------
# DP-KwikSort (P-SORT of Hay et al.) trusts a curator, and hides that a voter took part at all; the local protocols hide
# what a voter says. It pays only for the pairs it sorts by, so it has no estimate of all of them: its error rate, and
# KwikSort's, are those of the order that came out.

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0)
NAMES = ("KwikSort", "DP-KwikSort", *RANDOMIZERS.values())


def mechanisms(epsilon, n_items):
    """Return the four competitors at one epsilon, K by the paper's rule."""
    k = best_query_count(epsilon, n_items, variant="published")
    local = (ldp(epsilon, randomizer(name, k)) for name in RANDOMIZERS)
    return dict(zip(NAMES, (KwikSort(), DPKwikSort(epsilon, on_exhausted="coin"), *local), strict=True))


def compared(epsilon, profile, repeats=TRIALS):
    """Return {mechanism: scores of shape (n_trials, 2)}."""
    return {name: trials(each, profile, repeats) for name, each in mechanisms(epsilon, profile.n_items).items()}


def sweep_epsilon(votes, epsilons=EPSILONS, repeats=TRIALS):
    """Return {mechanism: scores of shape (n_epsilons, n_trials, 2)}."""
    profile = Profile.from_rankings(votes.ballots)
    return sweep(lambda epsilon: compared(epsilon, profile, repeats), epsilons)


def column(result, metric):
    """Return {mechanism: one metric of its scores}."""
    return {name: scores[..., metric] for name, scores in result.items()}


def draw_epsilon(results, votes, epsilons=EPSILONS, folder=None):
    """Draw Figure 5."""
    figure, axes = panels(2, len(votes))
    for (upper, lower), each, result in zip(axes.T, votes, results, strict=True):
        curves(upper, epsilons, column(result, ERROR_RATE), each.title, first=0)
        curves(lower, epsilons, column(result, DISTANCE), xlabel="epsilon", first=0)
    axes[0, 0].set_ylabel("error rate")
    axes[1, 0].set_ylabel("average Kendall tau")
    finish(figure, "Figure 5: the privacy budget", "yan_figure_5", folder)


if __name__ == "__main__":
    BY_EPSILON = [sweep_epsilon(each, repeats=effort(each)) for each in VOTES]
    draw_epsilon(BY_EPSILON, VOTES, folder=ARGUMENTS.pictures)
    mean = {name: np.array([result[name].mean(axis=1) for result in BY_EPSILON]) for name in NAMES}
    exact, central, rr, lap = (mean[name][..., DISTANCE] for name in NAMES)
    claim(
        "the distance falls as epsilon grows, from its least to its largest value",
        np.concatenate([rr[:, 0] > rr[:, -1], lap[:, 0] > lap[:, -1]]),
    )
    rr_name, lap_name = RANDOMIZERS.values()
    claim(
        "RR is as near to the votes as Laplace or nearer, at every epsilon, up to two standard errors",
        np.concatenate([not_above(each[rr_name][..., DISTANCE], each[lap_name][..., DISTANCE]) for each in BY_EPSILON]),
        f"its mean is lower in {np.count_nonzero(rr < lap)}, on average by {100 * np.mean(1 - rr / lap):.1f}%",
    )
    claim(
        "DP-KwikSort comes near KwikSort (within .01) at epsilon = 0.1",
        central[:, 0] - exact[:, 0] < 0.01,
        "it is above by " + ", ".join(f"{gap:.3f}" for gap in central[:, 0] - exact[:, 0]),
    )
    same = [np.corrcoef(mean[name][row].T)[0, 1] for name in RANDOMIZERS.values() for row in range(len(VOTES))]
    claim(
        "error rate and distance move together (correlation above .9)",
        np.array(same) > 0.9,
        f"the least is {min(same):.2f}",
    )
    print("  What Laplace really spends at epsilon = .5, 1, 2, K = 1: ", end="")
    print(", ".join(f"{spent_epsilon(e, 1, randomizer='laplace'):.3f}" for e in (0.5, 1.0, 2.0)) + ".")

# %%
# The advantage of RR over Laplace is one of calibration. A noisy number that is compared with 1/2 is a flipped bit,
# and the paper's scale flips it more often than epsilon asks for. Spend all of epsilon, as ``calibration="exact"``
# does, and the two are one mechanism.

# %%
# Figure 6: voters and items
# --------------------------
# Random voters of the real data, and Mallows votes with more items, at epsilon = 2.


def sweep_voters(votes, numbers, repeats=TRIALS, epsilon=2.0):
    """Return {mechanism: scores of shape (n_numbers, n_trials, 2)}."""
    return sweep(lambda n: compared(epsilon, Profile.from_rankings(some(votes, n).ballots), repeats), numbers)


def voter_numbers(votes):
    """Return up to how many voters are taken; more where there are more items."""
    n_voters, n_items = votes.ballots.shape
    smallest = 100 if n_items > 10 else 10
    return [n for n in (10, 30, 100, 300, 1000, 2500, 5000, 7500, 10000) if smallest <= n < n_voters] + [n_voters]


def draw_voters(results, votes, folder=None):
    """Draw Figure 6."""
    n_columns = 3 if len(votes) > 4 else len(votes)
    figure, axes = panels(-(-len(votes) // n_columns), n_columns)
    for ax, each, result in zip(axes.flat, votes, results, strict=True):
        curves(ax, voter_numbers(each), column(result, DISTANCE), each.title, first=0)
    for ax in axes[-1]:
        ax.set_xlabel("voters")
    for ax in axes[:, 0]:
        ax.set_ylabel("average Kendall tau")
    finish(figure, "Figure 6: the number of voters, epsilon = 2", "yan_figure_6", folder)


def gap_to_kwiksort(result):
    """Return how much farther from the votes RR is, for each number of voters."""
    return (result["LDP-KwikSort:RR"] - result["KwikSort"])[..., DISTANCE].mean(axis=1)


def lead(result):
    """Return by how much less than Laplace's distance RR's is, in percent."""
    rr, lap = (result[name][..., DISTANCE].mean(axis=1) for name in RANDOMIZERS.values())
    return 100 * (1 - rr / lap)


if __name__ == "__main__":
    sizes, thetas = ((15, 30, 45), (0.25, 0.5, 0.75)) if ARGUMENTS.full else ((15, 45), (0.5,))
    first = (
        [real("TurkDots"), real("TurkPuzzle"), real("SUSHI")] if ARGUMENTS.full else [real("TurkDots"), real("SUSHI")]
    )
    CROWDS = first + [mallows(10000, m, theta) for theta in thetas for m in sizes]
    BY_VOTERS = [sweep_voters(each, voter_numbers(each), effort(each)) for each in CROWDS]
    draw_voters(BY_VOTERS, CROWDS, ARGUMENTS.pictures)
    claim(
        "the gap to KwikSort closes as voters come in (RR, fewest against most)",
        [gap[0] > gap[-1] for gap in map(gap_to_kwiksort, BY_VOTERS)],
    )
    synthetic = BY_VOTERS[len(first) :]
    floor = [result["KwikSort"][-1, :, DISTANCE].mean() for result in synthetic]
    small, large = np.array(floor).reshape(len(thetas), len(sizes))[:, [0, -1]].T
    claim("KwikSort's own distance falls as items are added (m = 15 to 45)", large < small)
    for each, result in zip(CROWDS[len(first) :], synthetic, strict=True):
        at = voter_numbers(each).index(2500)
        print(f"  {each.title}: RR's distance is {lead(result)[at]:.1f}% below Laplace's at 2,500 voters.")
    print("  The paper prints 2.4% at m=15 and 32.5% at m=45 (theta = .5).")

# %%
# Theorems 2 and 3
# ----------------
# On Mallows votes the expected number of wrong pairs is at most mu; printed, and in the corrected form of
# `sklearn_dprank.theory.yan.expected_errors`, which knows that pairs far apart are easier.


def wrong_pairs(n_voters, n_items, theta, name, repeats=TRIALS, epsilon=2.0):
    """Return (pairs not estimated the reference's way round in each trial, corrected mu, printed mu)."""
    votes = mallows(n_voters, n_items, theta, seed=1)
    reference = np.argsort(np.argsort(votes.ballots.mean(axis=0)))
    truth = np.sign(reference - reference[:, None])

    def not_right(estimator, profile):
        return np.count_nonzero(np.triu(estimator.margins_ * truth <= 0, 1))

    found = trials(ldp(epsilon, randomizer(name, 1)), votes, repeats, not_right)
    settings = {"n_queries": 1, "randomizer": name}
    bounds = [
        expected_errors(n_voters, n_items, epsilon, 1 - theta, variant=v, **settings)
        for v in ("corrected", "published")
    ]
    return (found, *bounds)


if __name__ == "__main__":
    print("Wrong pairs of 45 (n = 5000, m = 10, epsilon = 2, K = 1)")
    print("  theta  mechanism          measured   mu corrected   mu printed")
    below, useful, order = [], [], []
    for theta in (0.25, 0.5, 0.75):
        rows = [wrong_pairs(5000, 10, theta, name, 30) for name in RANDOMIZERS]
        for title, (found, corrected, printed) in zip(RANDOMIZERS.values(), rows, strict=True):
            below.append(found.mean() - 2 * standard_error(found) <= corrected <= printed)
            useful.append(printed < 45)
            print(f"  {theta:5g}  {title:17s} {found.mean():9.2f} {corrected:14.2f} {printed:12.2f}")
        order.append(rows[0][2] < rows[1][2])
    claim("mu bounds the number of wrong pairs", below, "true of both forms")
    claim("the printed mu says more than that at most all pairs are wrong", useful)
    claim(
        "the printed mu puts RR before Laplace, as the experiments do", order, "g is a bound for RR, exact for Laplace"
    )

# %%
# Tables 2 and 3: time
# --------------------
# The paper's protocols take O(n K + m^2 + m log m) and, in Python 2.7, seconds. Here `fit` simulates all devices at
# once; the counting of the exact majorities is not in KwikSort's time, as it is not in the paper's.

PAPER_SECONDS = {
    (795, 4): (0.0001, 0.0006, 0.1255, 0.1751),
    (793, 4): (0.0001, 0.0006, 0.1244, 0.1732),
    (5000, 5): (0.0001, 0.0008, 2.5783, 2.9015),
    (5000, 10): (0.0001, 0.0030, 2.6125, 2.9026),
    (5000, 15): (0.0002, 0.0076, 2.8551, 2.9294),
    (5000, 30): (0.0005, 0.0285, 3.3530, 2.9812),
    (5000, 45): (0.0007, 0.0626, 4.4113, 3.1288),
}


def seconds(estimator, votes, repeats=TRIALS):
    """Return the median time of a fit."""
    return statistics.median(cross_validate(estimator, votes.ballots, n_trials=repeats, random_state=0)["fit_time"])


def time_table(sizes, repeats=TRIALS):
    """Return {(n, m): seconds of the four mechanisms}."""
    table = {}
    for n_voters, n_items in sizes:
        votes = mallows(n_voters, n_items, 0.5)
        table[n_voters, n_items] = [seconds(each, votes, repeats) for each in mechanisms(1.0, n_items).values()]
    return table


if __name__ == "__main__":
    sizes = list(PAPER_SECONDS) if ARGUMENTS.full else [(795, 4), (5000, 10), (5000, 45)]
    TIMES = time_table(sizes)
    print("Table 3: the paper's seconds over ours (Mallows votes of the paper's sizes, epsilon = 1)")
    print(f"  {'n, m':10s}" + "".join(f"{name:>18s}" for name in NAMES))
    for size, ours in TIMES.items():
        ratios = "".join(f"{theirs / own:18.1f}" for theirs, own in zip(PAPER_SECONDS[size], ours, strict=True))
        print(f"  {size[0]:4d}, {size[1]:2d}  {ratios}")
    rr_time, kwiksort_time = (np.array([row[i] for row in TIMES.values()]) for i in (2, 0))
    claim(
        "KwikSort takes the least time",
        kwiksort_time <= rr_time,
        "RR takes "
        + ", ".join(f"{ratio:.0f}" for ratio in rr_time / kwiksort_time)
        + " times as long; in the paper thousands",
    )
    wide = mallows(5000, 15, 0.5)
    linear = [seconds(ldp(10.0, randomizer("rr", k)), wide, 3) for k in (25, 100)]
    print(
        f"Table 2: four times as many questions (K = 25 to 100) take {linear[1] / linear[0]:.1f} times as long, O(n K)."
    )

# %%
# What held
# ---------

if __name__ == "__main__":
    summary()
