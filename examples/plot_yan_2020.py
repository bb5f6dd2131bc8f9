"""
LDP-KwikSort: reproduction of Yan, Li and Liu (2020)
====================================================

Figures 3 to 6 and the optimal number of queries of Z. Yan, G. Li and J. Liu, "Private rank aggregation under local
differential privacy" (2020), measured again. Theorems and tables have
:ref:`another page <sphx_glr_auto_examples_plot_yan_2020_tables.py>`. Each of n voters is asked about K of the C(m, 2)
pairs of m items, and randomises each answer at epsilon / K. The curator sorts the estimated majorities by KwikSort. The
statements below each picture are computed from its numbers, so they hold for the votes that were used.

The gallery uses fewer trials and fewer data sets than the paper. With the paper's settings (30 trials, six data sets),
from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_yan_2020.py --full --pictures folder

The results are not private: every fit has a seed, and is scored against the ballots.
"""

import math

import numpy as np
from _shared import (
    DISTANCE,
    ERROR_RATE,
    begin,
    both_scores,
    claim,
    compared,
    curves,
    finish,
    mallows,
    not_above,
    panels,
    real,
    some,
    standard_error,
    summary,
    sweep,
    table,
    trials,
)

from sklearn_dprank import Aggregator, DPKwikSort, KwikSort, LDPKwikSort
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import NonPrivateSurvey
from sklearn_dprank.theory.yan import PrintedLaplace, best_query_count, optimal_queries, spent_epsilon

TRIALS = 6  # 30 with --full, as in the paper, and for data sets with four items
RANDOMIZERS = {"rr": "LDP-KwikSort:RR", "laplace": "LDP-KwikSort:Lap"}
RR, LAPLACE = RANDOMIZERS.values()


def local(name, epsilon, n_queries):
    """Return the protocol of the paper; the Laplace scale is K / epsilon, as printed."""
    return LDPKwikSort(epsilon, n_queries, PrintedLaplace() if name == "laplace" else name)


def paper_queries(epsilon, n_items):
    """Return the paper's K: the integer beside epsilon / 2 with the larger g(K)."""
    return best_query_count(epsilon, n_items, variant="as_printed")


# %%
# Measures and votes
# ------------------
# The error rate (the paper's equation 4, `sklearn_dprank.metrics.margin_error_rate`) is the share of pairs with a wrong
# estimated majority, before any sorting. The average Kendall tau distance compares the sorted ranking with the ballots.
# It cannot fall to 0, because the voters disagree with each other.


def effort(votes):
    """Return the number of trials of a setting."""
    return 30 if ARGUMENTS.full or votes.ballots.shape[1] == 4 else TRIALS


if __name__ == "__main__":
    ARGUMENTS = begin()
    if ARGUMENTS.full:  # the paper's six data sets
        REAL = [real("TurkDots"), real("TurkPuzzle"), real("SUSHI")]
        VOTES = REAL + [mallows(5000, 15, theta) for theta in (0.25, 0.5, 0.75)]
    else:
        REAL = [real("TurkDots"), real("SUSHI")]
        VOTES = [*REAL, mallows(2000, 10, 0.5)]
    print("Trials a setting, from Figure 5 on: " + ", ".join(f"{effort(each)} ({each.title})" for each in VOTES) + ".")

# %%
# Figures 3 and 4: the number of queries
# --------------------------------------
# More queries give more answers, each with more noise. The paper minimises g(K) = epsilon^2 K / (epsilon + 2 K)^2, a
# bound, at K = epsilon / 2. The signal itself, K tanh^2(epsilon / 2K), is largest at epsilon / 2.177, and for Laplace
# at epsilon / 2.513. Circles mark the integer of the paper. These figures always have the 30 trials of the paper,
# because six trials leave too much noise.

BUDGETS = (1.0, 2.0, 4.0, 10.0)


def query_counts(n_items):
    """Return the paper's grid, and 5, its best K at epsilon = 10."""
    pairs = math.comb(n_items, 2)
    return sorted({min(k, pairs) for k in (1, 2, 3, 4, 5, n_items + 1, pairs)})


def sweep_queries(votes, name, budgets=BUDGETS, repeats=TRIALS):
    """Return {epsilon: scores of shape (n_counts, n_trials, 2)}."""
    counts = query_counts(votes.ballots.shape[1])
    return {epsilon: np.array([trials(local(name, epsilon, k), votes, repeats) for k in counts]) for epsilon in budgets}


def draw_queries(results, votes, name, number, folder=None):
    """Draw Figure 3 (RR) or 4 (Laplace)."""
    sizes = [each.ballots.shape[1] for each in votes]
    counts = [query_counts(n_items) for n_items in sizes]
    lines = [{f"epsilon = {epsilon:g}": scores for epsilon, scores in result.items()} for result in results]
    figure, axes = both_scores(lines, counts, votes, "K, questions to each voter", ticks=True)
    for pair, n_items, ks, result in zip(axes.T, sizes, counts, results, strict=True):
        for epsilon, scores in result.items():
            k = paper_queries(epsilon, n_items)
            for ax, metric in zip(pair, (ERROR_RATE, DISTANCE), strict=True):
                ax.plot(k, scores[ks.index(k), :, metric].mean(), "o", ms=12, mfc="none", mec="0.3")
    finish(figure, f"Figure {number}: {RANDOMIZERS[name]}; circles: K by the paper", f"yan_figure_{number}", folder)


def good_choices(votes, results):
    """Return for each epsilon whether the paper's K is as good as the best measured one, within the noise."""
    good = {}
    for each, result in zip(votes, results, strict=True):
        n_items = each.ballots.shape[1]
        for epsilon, scores in result.items():
            rates, error = scores[..., ERROR_RATE].mean(axis=1), standard_error(scores[..., ERROR_RATE].T)
            chosen = query_counts(n_items).index(paper_queries(epsilon, n_items))
            best = int(np.argmin(rates))
            good.setdefault(epsilon, []).append(rates[chosen] - rates[best] <= 2 * np.hypot(error[chosen], error[best]))
    return good


if __name__ == "__main__":
    for number, name in enumerate(RANDOMIZERS, start=3):
        by_queries = [sweep_queries(each, name, repeats=30) for each in VOTES]
        draw_queries(by_queries, VOTES, name, number, ARGUMENTS.pictures)
        good = good_choices(VOTES, by_queries)
        exact = ", ".join(f"{optimal_queries(epsilon, randomizer=name):.2f}" for epsilon in BUDGETS)
        for budgets, where in (((1.0, 2.0), "1, at epsilon 1 and 2"), ((4.0, 10.0), "epsilon/2, at epsilon 4 and 10")):
            claim(f"{RANDOMIZERS[name]} errs least at K = {where}", [good[e] for e in budgets])
        print(f"  The signal is largest at K = {exact} for epsilon = 1, 2, 4, 10.")

# %%
# "Held" means that no K of the grid had an error rate lower by more than two standard errors. The rule and its
# corrected form are both safe, because the signal is flat near its maximum.

# %%
# Figure 5: the privacy budget
# ----------------------------
# DP-KwikSort (P-SORT of Hay et al.) trusts a curator, and hides whether a voter took part. The local protocols hide how
# a voter voted. DP-KwikSort spends its budget only on the pairs that it sorts by, so it has no estimate of all pairs.
# Its error rate, and that of KwikSort, is that of the resulting order.

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0)
NAMES = ("KwikSort", "DP-KwikSort", RR, LAPLACE)


def mechanisms(epsilon, n_items):
    """Return {name: estimator} of the four mechanisms at one epsilon, with K by the paper's rule."""
    k = paper_queries(epsilon, n_items)
    competitors = (KwikSort(), DPKwikSort(epsilon, on_exhausted="coin"), *(local(r, epsilon, k) for r in RANDOMIZERS))
    return dict(zip(NAMES, competitors, strict=True))


def sweep_epsilon(votes, epsilons=EPSILONS, repeats=TRIALS):
    """Return {mechanism: scores of shape (n_epsilons, n_trials, 2)}."""
    profile = Profile.from_rankings(votes.ballots)
    return sweep(lambda epsilon: compared(mechanisms(epsilon, profile.n_items), profile, repeats), epsilons)


if __name__ == "__main__":
    BY_EPSILON = [sweep_epsilon(each, repeats=effort(each)) for each in VOTES]
    figure, _ = both_scores(BY_EPSILON, [EPSILONS] * len(VOTES), VOTES, "epsilon")
    finish(figure, "Figure 5: the privacy budget", "yan_figure_5", ARGUMENTS.pictures)
    mean = {name: np.array([result[name].mean(axis=1) for result in BY_EPSILON]) for name in NAMES}
    exact, central, rr, lap = (mean[name][..., DISTANCE] for name in NAMES)
    claim(
        "the distance falls as epsilon grows, from its least to its largest value",
        np.concatenate([rr[:, 0] > rr[:, -1], lap[:, 0] > lap[:, -1]]),
    )
    claim(
        "RR is as near to the votes as Laplace or nearer, at every epsilon, up to two standard errors",
        np.concatenate([not_above(each[RR][..., DISTANCE], each[LAPLACE][..., DISTANCE]) for each in BY_EPSILON]),
        f"its mean is lower in {np.count_nonzero(rr < lap)}, on average by {100 * np.mean(1 - rr / lap):.1f}%",
    )
    claim(
        "DP-KwikSort comes near KwikSort (within .01) at epsilon = 0.1",
        central[:, 0] - exact[:, 0] < 0.01,
        "it is above by " + ", ".join(f"{gap:.3f}" for gap in central[:, 0] - exact[:, 0]),
    )
    same = [np.corrcoef(mean[name][row].T)[0, 1] for name in (RR, LAPLACE) for row in range(len(VOTES))]
    claim(
        "error rate and distance move together (correlation above .9)",
        np.array(same) > 0.9,
        f"the least is {min(same):.2f}",
    )
    print("  What Laplace really spends at epsilon = .5, 1, 2, K = 1: ", end="")
    print(", ".join(f"{spent_epsilon(e, 1, randomizer='laplace'):.3f}" for e in (0.5, 1.0, 2.0)) + ".")

# %%
# The advantage of RR over Laplace comes from the scale of the noise. A noisy number that is compared with 1/2 is a
# flipped bit, and the paper's scale flips it more often than epsilon requires. With a scale that spends all of epsilon,
# both would be the same mechanism.

# %%
# Figure 6: voters and items
# --------------------------
# Random voters of the real data, and Mallows votes with more items, at epsilon = 2, where K = 1. The paper's KwikSort
# gets only K answers from each voter, as the protocols do, but the answers are not randomised
# (`sklearn_dprank.channels.NonPrivateSurvey`). Its loss against KwikSort on all ballots is the cost of asking few
# pairs. The loss of the protocols against it is the cost of privacy.

TRUTHFUL = "KwikSort on K truthful answers"


def sweep_voters(votes, numbers, repeats=TRIALS, epsilon=2.0):
    """Return {mechanism: scores of shape (n_numbers, n_trials, 2)}."""
    n_items = votes.ballots.shape[1]
    truthful = Aggregator(NonPrivateSurvey(paper_queries(epsilon, n_items)), "kwiksort")
    competitors = {**mechanisms(epsilon, n_items), TRUTHFUL: truthful}
    return sweep(lambda n: compared(competitors, Profile.from_rankings(some(votes, n).ballots), repeats), numbers)


def voter_numbers(votes):
    """Return the numbers of voters; the smallest is larger if there are more than ten items."""
    n_voters, n_items = votes.ballots.shape
    smallest = 100 if n_items > 10 else 10
    return [n for n in (10, 30, 100, 300, 1000, 2500, 5000, 7500, 10000) if smallest <= n < n_voters] + [n_voters]


def draw_voters(results, votes, folder=None):
    """Draw Figure 6."""
    n_columns = 3 if len(votes) > 4 else len(votes)
    figure, axes = panels(-(-len(votes) // n_columns), n_columns)
    for ax, each, result in zip(axes.flat, votes, results, strict=True):
        distances = {name: scores[..., DISTANCE] for name, scores in result.items()}
        curves(ax, voter_numbers(each), distances, each.title)
    for ax in axes[-1]:
        ax.set_xlabel("voters")
    for ax in axes[:, 0]:
        ax.set_ylabel("average Kendall tau")
    finish(figure, "Figure 6: the number of voters, epsilon = 2", "yan_figure_6", folder)


def gap(result, upper, lower):
    """Return how much farther from the votes one mechanism is than the other, for each number of voters."""
    return (result[upper] - result[lower])[..., DISTANCE].mean(axis=1)


if __name__ == "__main__":
    sizes, thetas = ((15, 30, 45), (0.25, 0.5, 0.75)) if ARGUMENTS.full else ((15, 45), (0.5,))
    CROWDS = REAL + [mallows(10000, m, theta) for theta in thetas for m in sizes]
    BY_VOTERS = [sweep_voters(each, voter_numbers(each), effort(each)) for each in CROWDS]
    draw_voters(BY_VOTERS, CROWDS, ARGUMENTS.pictures)
    gaps = [gap(result, RR, "KwikSort") for result in BY_VOTERS]
    claim("the gap to KwikSort closes as voters come in (RR, fewest against most)", [g[0] > g[-1] for g in gaps])
    little, privacy = (
        np.mean([gap(result, *two)[-1] for result in BY_VOTERS]) for two in ((TRUTHFUL, "KwikSort"), (RR, TRUTHFUL))
    )
    claim(
        "KwikSort is the lower bound, also on K truthful answers: RR is never below it, up to two standard errors",
        np.concatenate([not_above(each[TRUTHFUL][..., DISTANCE], each[RR][..., DISTANCE]) for each in BY_VOTERS]),
        f"with most voters, asking little costs {little:.4f} on average, and privacy {privacy:.4f} more",
    )
    heard = [result[TRUTHFUL][voter_numbers(each).index(100) :] for each, result in zip(REAL, BY_VOTERS, strict=False)]
    heard = np.array([scores[..., DISTANCE].mean(axis=1).max() for scores in heard])
    least = [result["KwikSort"][-1, :, DISTANCE].mean() for result in BY_VOTERS]
    claim(
        "from 100 voters on, truthful KwikSort is below .4 (real votes, or what stands in)",
        heard < 0.4,
        f"it is at most {', '.join(f'{each:.3f}' for each in heard)}; of all voters, KwikSort on all ballots is at "
        + ", ".join(f"{each:.3f}" for each in least[: len(REAL)]),
    )
    small, large = np.reshape(least[len(REAL) :], (len(thetas), len(sizes)))[:, [0, -1]].T
    claim("KwikSort's own distance falls as items are added (m = 15 to 45)", large < small)

# %%
# Lead of RR over Laplace, in percent
# -----------------------------------
# Sections 6.4 and 6.5 print how many percent RR's distance is below Laplace's (two more percentages have no theta).
# Over the paper's 30 trials, such a number has a standard error of about 5, here as well; ``--full`` uses 300 trials.

PRINTED = {  # by items, theta and voters
    (15, 0.5, 2500): 2.4,
    (30, 0.5, 2500): 11.0,
    (45, 0.5, 2500): 32.5,
    (45, 0.25, 5000): 13.5,
    (45, 0.5, 5000): 33.4,
    (45, 0.75, 5000): 46.5,
}


def lead(n_items, theta, n_voters, repeats=30, epsilon=2.0):
    """Return how many percent RR's distance is below Laplace's, and the standard error."""
    votes = some(mallows(10000, n_items, theta), n_voters)
    rr, lap = (trials(local(name, epsilon, 1), votes, repeats)[:, DISTANCE] for name in RANDOMIZERS)
    ratio = rr.mean() / lap.mean()
    return 100 * (1 - ratio), 100 * ratio * math.hypot(*(standard_error(d) / d.mean() for d in (rr, lap)))


if __name__ == "__main__":
    repeats = 300 if ARGUMENTS.full else 30
    leads = np.array([lead(*setting, repeats) for setting in PRINTED])
    header = ("m", "theta", "voters", "measured", "standard error", "paper")
    rows = np.column_stack([list(PRINTED), leads, list(PRINTED.values())])
    table("By how many percent RR's distance is below Laplace's", header, *rows)
    off, error = np.abs(leads[:, 0] - list(PRINTED.values())), leads[:, 1]
    claim(
        "the printed percentages come out again, up to two standard errors of both runs",
        off <= 2 * error * math.sqrt(1 + repeats / 30),
        "they are off by " + ", ".join(f"{each:.1f}" for each in off),
    )
    claim("RR's lead grows with the items (2,500 voters)", np.diff(leads[:3, 0]) > 0)
    claim("RR's lead grows with theta (45 items)", np.diff(leads[3:, 0]) > 0)

# %%
# A lead is small for many voters, and also for so few voters that both protocols guess. More items move the votes from
# the first case towards the second.

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
