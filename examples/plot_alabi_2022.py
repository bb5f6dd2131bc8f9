"""
Local rank aggregation with approximation guarantees: Alabi et al. (2022), measured
===================================================================================

D. Alabi, B. Ghazi, R. Kumar and P. Manurangsi, "Private rank aggregation in central and local models" (2022), prove
bounds and do not measure errors. This page measures Corollaries 9 and 12, their two local mechanisms, as error against
voters, epsilon and items. Those with a trusted curator are in :ref:`sphx_glr_auto_examples_plot_alabi_2022_central.py`.

- Corollary 9: each voter sends all C(m, 2) comparisons at once through the sampling of Duchi, Jordan and Wainwright
  (DJW), and any good rule ranks the estimates. It has at most (1 + xi) OPT + O(m^3 / (epsilon sqrt(n))) disagreements
  per voter.
- Corollary 12 (LDPKwikSort): for each pair that quicksort meets, the curator asks one of m groups of voters. It has at
  most (5 + xi) OPT + O(m^2.5 log m / (epsilon sqrt(n))) disagreements per voter.

The protocol of Yan et al. is included for comparison, with the same rule as Corollary 9: one random pair per voter, by
randomized response. With more voters, items and trials, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_alabi_2022.py --full --pictures folder

The results are not private: every fit has a seed, and is scored against the ballots.
"""

import math

import numpy as np
from _shared import (
    begin,
    claim,
    curves,
    excess,
    finish,
    mallows,
    not_above,
    panels,
    real,
    slope,
    some,
    standard_error,
    summary,
    sweep,
    trials,
)

from sklearn_dprank import Aggregator, LDPGroupKwikSort, LDPPairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import Local
from sklearn_dprank.collection import HypercubeSampling, RandomizedResponse
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions
from sklearn_dprank.rules import KemenyRule, SortByScore
from sklearn_dprank.theory.alabi import GUARANTEES, corollary_bound, local_budget, reduction_error

TRIALS = 8

if __name__ == "__main__":
    ARGUMENTS = begin()
    REPEATS = 30 if ARGUMENTS.full else TRIALS
    print(f"{REPEATS} trials a setting.")

# %%
# The error of an estimated share
# -------------------------------
# Both corollaries depend on the error of one answer w_ij, the share of voters who prefer i to j. In the paper, it is of
# order m / (epsilon sqrt(n)) for DJW, which is m times less than randomized response on all pairs.

DEVICES = {
    "DJW, all pairs": lambda n_items: HypercubeSampling(),
    "randomized response, all pairs": lambda n_items: RandomizedResponse(math.comb(n_items, 2)),
    "randomized response, one random pair": lambda n_items: RandomizedResponse(1),
}


def share_error(estimator, profile):
    """Score by the mean of |estimated w_ij - w_ij| over the pairs."""
    off = np.abs(estimator.margins_ - profile.margins / profile.n_voters) / 2
    return off[np.triu_indices(profile.n_items, 1)].mean()


def share_errors(votes, epsilon=1.0, repeats=TRIALS):
    """Return {device: errors of shape (n_trials,)}."""
    n_items = votes.ballots.shape[1]
    return {
        name: trials(Aggregator(Local(epsilon, device(n_items)), SortByScore()), votes, repeats, share_error)
        for name, device in DEVICES.items()
    }


VOTERS, BUDGETS, ITEMS = (300, 1000, 3000, 10000), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (5, 10, 20)


def draw(results, xs, labels, titles, y):
    """Return a figure with one panel per sweep and one line per measured quantity."""
    figure, axes = panels(1, len(xs), height=3.2)
    for ax, result, x, label, above in zip(axes[0], results, xs, labels, titles, strict=True):
        ax.set_yscale("log")
        curves(ax, x, result, above, label, ticks=True)
    axes[0, 0].set_ylabel(y)
    return figure


if __name__ == "__main__":
    THETA = 0.1
    SHARES = [
        sweep(lambda n: share_errors(mallows(n, 10, THETA), repeats=REPEATS), VOTERS),
        sweep(lambda epsilon: share_errors(mallows(3000, 10, THETA), epsilon, REPEATS), BUDGETS),
        sweep(lambda m: share_errors(mallows(5000, m, THETA), repeats=REPEATS), ITEMS),
    ]
    figure = draw(
        SHARES,
        [VOTERS, BUDGETS, ITEMS],
        ["voters", "epsilon", "items"],
        ["epsilon = 1, m = 10", "n = 3,000, m = 10", "n = 5,000, epsilon = 1"],
        "mean error of a share w_ij",
    )
    finish(figure, f"The error of one answer (Mallows θ={THETA:g})", "alabi_shares", ARGUMENTS.pictures)
    by_voters = {name: slope(VOTERS, errors)[0] for name, errors in SHARES[0].items()}
    low = {name: slope(BUDGETS[:3], errors[:3])[0] for name, errors in SHARES[1].items()}
    high = {name: slope(BUDGETS[-2:], errors[-2:])[0] for name, errors in SHARES[1].items()}
    by_items = {name: slope(ITEMS, errors)[0] for name, errors in SHARES[2].items()}
    print("Exponents:                              voters   epsilon<=1   epsilon>=4    items")
    for name in DEVICES:
        print(f"  {name:37s} {by_voters[name]:6.2f} {low[name]:11.2f} {high[name]:12.2f} {by_items[name]:9.2f}")
    djw, everything, one = DEVICES
    claim("the error of an answer falls as 1/sqrt(n)", np.abs(np.array(list(by_voters.values())) + 0.5) < 0.1)
    claim(
        "the error of an answer falls as 1/epsilon up to epsilon = 1", np.abs(np.array(list(low.values())) + 1) < 0.15
    )
    scaled = SHARES[1][djw].mean(axis=1) * np.array(BUDGETS)
    claim(
        "DJW's error is a constant over epsilon up to 8, within a quarter",
        scaled.max() < 1.25 * scaled.min(),
        f"epsilon times error runs from {scaled.min():.3f} to {scaled.max():.3f}",
    )
    claim(
        "DJW's error grows with m, that of randomized response on all pairs with m^2",
        [abs(by_items[djw] - 1) < 0.25, abs(by_items[everything] - 2) < 0.25],
    )
    single, several = (SHARES[1][name].mean(axis=1) for name in (one, djw))
    ratio = np.mean([errors[one].mean() / errors[djw].mean() for errors in SHARES[::2]])
    claim(
        "it takes DJW to save that factor m",
        abs(by_items[one] - 1) > 0.25,
        f"one random pair has exponent {by_items[one]:.2f} and {ratio:.2f} times DJW's error at epsilon = 1",
    )
    better = ", ".join(f"{e / d:.1f} (epsilon = {b:g})" for e, d, b in zip(single, several, BUDGETS, strict=True))
    print(f"  One pair's error over DJW's, at 3,000 voters: {better}.")

# %%
# The error of the rankings
# -------------------------
# The excess is the average number of pairs per voter that the ranking orders wrongly, beyond that of the best ranking.
# The thick line is Theorem 8's bound with the measured error e of DJW's answers, 2 C(m, 2) e. The dotted line is a
# random ranking.

KEMENY = KemenyRule(shrink=False)  # of the margins as they are, as in the paper
MECHANISMS = {
    "Corollary 9 (DJW, Kemeny)": lambda epsilon: LDPPairwise(epsilon, randomizer="djw", rule=KEMENY),
    "Corollary 12 (LDPKwikSort)": lambda epsilon: LDPGroupKwikSort(epsilon),
    "one random pair, Kemeny": lambda epsilon: LDPPairwise(epsilon, rule=KEMENY),
}
BOUND, COIN = "Theorem 8's bound on Corollary 9", "a random ranking"


def excesses(votes, epsilon=1.0, repeats=TRIALS):
    """Return {mechanism, bound and coin: excess in pairs, of shape (n_trials,)}."""
    profile = Profile.from_rankings(votes.ballots)
    pairs = math.comb(profile.n_items, 2)
    optimum = kemeny_positions(profile)
    found = {
        name: pairs * excess(mechanism(epsilon), profile, optimum, repeats) for name, mechanism in MECHANISMS.items()
    }
    answers = trials(LDPPairwise(epsilon, randomizer="djw"), profile, repeats, share_error)
    bound = reduction_error(1, profile.n_items, answers.mean())
    coin = pairs * (0.5 - average_kendall_tau(optimum, profile))
    return {**found, BOUND: np.full(repeats, bound), COIN: np.full(repeats, coin)}


def draw_excesses(results, xs, labels, titles):
    """Return such a figure, with the bounds as lines without markers."""
    found = [{name: result[name] for name in MECHANISMS} for result in results]
    figure = draw(found, xs, labels, titles, "pairs a voter, above the optimum")
    for ax, result, x in zip(figure.axes, results, xs, strict=True):
        ax.plot(x, result[BOUND].mean(axis=1), color="0.55", lw=2, label=BOUND)
        ax.plot(x, result[COIN].mean(axis=1), color="0.2", lw=1, ls=(0, (1, 2)), label=COIN)
        ax.set_yscale("symlog", linthresh=0.01)
        ax.set_ylim(bottom=0)
        ax.minorticks_off()
    return figure


if __name__ == "__main__":
    SUSHI = real("SUSHI")
    SUSHI_VOTERS = (300, 1000, 2500, 5000)
    LARGE = (*VOTERS, 30000, 100000) if ARGUMENTS.full else VOTERS
    ROOMS = (*ITEMS, 30, 45) if ARGUMENTS.full else ITEMS
    EXCESS = [
        sweep(lambda n: excesses(some(SUSHI, n), repeats=REPEATS), SUSHI_VOTERS),
        sweep(lambda n: excesses(mallows(n, 10, THETA), repeats=REPEATS), LARGE),
        sweep(lambda epsilon: excesses(SUSHI, epsilon, REPEATS), BUDGETS),
        sweep(lambda m: excesses(mallows(5000, m, THETA), 4.0, REPEATS), ROOMS),
    ]
    figure = draw_excesses(
        EXCESS,
        [SUSHI_VOTERS, LARGE, BUDGETS, ROOMS],
        ["voters", "voters", "epsilon", "items"],
        [
            f"{SUSHI.title}, epsilon = 1",
            f"Mallows θ={THETA:g}, m=10, epsilon = 1",
            f"{SUSHI.title}, n = 5,000",
            f"Mallows θ={THETA:g}, n = 5,000, epsilon = 4",
        ],
    )
    finish(figure, "Corollaries 9 and 12 as measured error", "alabi_excess", ARGUMENTS.pictures)

# %%
# Table 2 by name
# ---------------
# The printed bounds have no constants; "proved" includes them (`sklearn_dprank.theory.alabi.corollary_bound`).

HERE = {
    "Corollary 9": ('LDPPairwise(randomizer="djw", rule=KEMENY)', "m^3/(eps sqrt(n))"),
    "Corollary 12": ("LDPGroupKwikSort()", "m^2.5 log m/(eps sqrt(n))"),
}


def table(found, n_voters=5000, n_items=10, epsilon=1.0):
    """Return the lines of Table 2; `found` is {mechanism: excess in pairs per voter} at these sizes."""
    lines = [f"{'':12s}  {'here':46s} alpha  {'beta as printed':26s} {'':6s}  proved   found"]
    for row in (row for row in GUARANTEES if row.source in HERE):
        here, beta = HERE[row.source]
        printed = row.additive(n_voters, n_items, epsilon, 0.0)
        proved = corollary_bound(row.source, n_voters, n_items, epsilon).additive
        (excess_pairs,) = (np.mean(errors) for name, errors in found.items() if name.split(" (")[0] == row.source)
        lines.append(
            f"{row.source:12s}  {here:46s} {row.ratio:5g}  {beta:26s} {printed:6.2f} {proved:7.2f} {excess_pairs:7.3f}"
        )
    return lines


if __name__ == "__main__":
    print(f"At n = 5,000, m = 10, epsilon = 1; found on {SUSHI.title}, of {COIN} {EXCESS[0][COIN][-1].mean():.1f}:")
    print(*table({name: EXCESS[0][name][-1] for name in MECHANISMS}), sep="\n")

# %%
# Summary
# -------

if __name__ == "__main__":
    nine, twelve, single = MECHANISMS
    mean = [{name: errors.mean(axis=1) for name, errors in result.items()} for result in EXCESS]
    margin = np.concatenate([each[BOUND] / np.maximum(each[nine], 1e-9) for each in mean])
    claim("Corollary 9's error is below Theorem 8's bound", margin >= 1, f"median factor {np.median(margin):.0f}")
    fall = [each[nine][-1] / each[nine][0] for each in mean[:2]]
    claim(
        "Corollary 9's error falls with voters at least as fast as 1/sqrt(n), fewest to most",
        np.array(fall) <= [(300 / SUSHI_VOTERS[-1]) ** 0.5, (300 / LARGE[-1]) ** 0.5],
    )
    claim(
        "Corollary 12's error is below that of a random ranking",
        np.concatenate(
            [
                result[twelve].mean(axis=1) + 2 * standard_error(result[twelve].T) < result[COIN].mean(axis=1)
                for result in EXCESS
            ]
        ),
    )
    bounds = {row.source: row.additive(5000, 10, 1.0, 0.0) for row in GUARANTEES if row.trust == "local"}
    budget = local_budget(10, 1.0)
    claim(
        "Corollary 12 is nearer to the votes than Corollary 9, as m^2.5 log m < m^3 suggests",
        np.concatenate([each[twelve] < each[nine] for each in mean]),
        f"at n = 5,000, m = 10, epsilon = 1 its printed bound is {bounds['Corollary 12']:.1f} against "
        f"{bounds['Corollary 9']:.1f}, constants dropped; but a voter answers up to {budget.n_answers} times, at "
        f"epsilon = {budget.per_answer:.3f} each",
    )
    low = [i for i, epsilon in enumerate(BUDGETS) if epsilon <= 2]
    claim(
        "one random pair is as good as Corollary 9 up to epsilon = 2, up to noise (not in the paper)",
        not_above(EXCESS[2][single][low], EXCESS[2][nine][low]),
    )
    optimum = 45 * average_kendall_tau(kemeny_positions(SUSHI.ballots), SUSHI.ballots)
    claim(
        f"(5 + xi) OPT says something about {SUSHI.title}: it is below 45, all pairs",
        5 * optimum < 45,
        f"5 OPT = {5 * optimum:.0f}",
    )
    summary()
