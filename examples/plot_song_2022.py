"""
DDP-Helnaksort: reproduction of Song et al. (2022)
==================================================

Figures 2 to 4 of B. Song, Q. Lan, Y. Li and G. Li, "Distributed differentially private ranking aggregation" (2022),
measured again, with the paper's accounting and the correct one. Each of n voters answers K assigned pairs, with
Gaussian noise that is cut at 1/2. A shuffler mixes the answers pair by pair. Hierarchical aggregation (HRA) turns the
majorities into a ranking.

The paper's accounting has two errors, with opposite effects:

- The paper states that shuffling reduces epsilon to epsilon - ln(n / C(m, 2)). It applies a theorem of Cheu et al.
  (2019) in the wrong direction. `sklearn_dprank.privacy.shuffle_amplification` has the formula as
  ``method="song2022"``, and issues a warning.
- The noise is scaled for a number, but an answer is one bit. Noise that is cut at 1/2 is randomized response, and its
  delta is 0. For a claimed epsilon of 1 (delta = 1e-4), it spends only 0.18. That is five times more noise than the
  claim about the voter's device requires.

With the paper's 300 runs, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_song_2022.py --full --pictures folder

The results are not private: every fit has a seed, and is scored against the ballots.
"""

import math
import warnings

import numpy as np
from _shared import (
    begin,
    claim,
    curves,
    finish,
    line,
    looks,
    mallows,
    panels,
    real,
    standard_error,
    summary,
    sure,
    sweep,
)

from sklearn_dprank import LDPPairwise, LDPQuickSort, ShuffleHierarchical, ShufflePairwise
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.privacy import UnsoundAmplificationWarning, shuffle_amplification, shuffle_local_epsilon
from sklearn_dprank.privacy.shuffle import balanced_group_size
from sklearn_dprank.theory.song import PrintedGaussian

DELTA, N_VOTERS = 1e-4, 100
CROWDS, TRIALS = 10, 6  # random groups of 100 voters, and fits on each; 20 and 15 with --full, as in the paper
MANY = {"crowds": 100, "repeats": 15}  # for TurkDots in Figures 2 and 3, whose differences 300 fits do not show
MOST = {"crowds": 500, "repeats": 20}  # the same with --full


def measured(estimator, votes, crowds=CROWDS, repeats=TRIALS):
    """Return the average Kendall tau distance of each fit; every fit reads 100 random voters and is scored on them."""
    chosen = [np.random.default_rng(seed).permutation(len(votes.ballots))[:N_VOTERS] for seed in range(crowds)]
    splits = [(voters, voters) for voters in chosen]
    options = {"cv": splits, "random_state": 0, "progress": False}
    with warnings.catch_warnings():  # LDP-Quicksort warns about few answers, which is a result here
        warnings.filterwarnings("ignore", ".*little better than coin flips")
        return -cross_validate(estimator, votes.ballots, n_trials=repeats, **options)["test_score"]


if __name__ == "__main__":
    ARGUMENTS = begin()
    EFFORT = {"crowds": 20, "repeats": 15} if ARGUMENTS.full else {"crowds": CROWDS, "repeats": TRIALS}
    MORE = MOST if ARGUMENTS.full else MANY
    VOTES = [real("TurkDots"), mallows(5000, 15, 0.25)]
    print(f"{EFFORT['crowds']} random groups of {N_VOTERS} voters, {EFFORT['repeats']} fits on each.")
    print(f"Figures 2 and 3, TurkDots: {MORE['crowds']} groups, {MORE['repeats']} fits on each.")

# %%
# True values of a claimed epsilon
# --------------------------------
# A voter whose pair is known hides only among the voters with the same pair: 16 of 100 for 6 pairs, and none for 105
# pairs. `ShuffleHierarchical` accepts the paper's noise. Its ``privacy_`` states the true guarantee of that noise, by a
# bound that is quick to compute for any n. The exact curve is slightly below the bound.

PRINTED = PrintedGaussian(delta=DELTA)


def published(local_epsilon, n_queries=1):
    """Return DDP-Helnaksort with the noise that Algorithm 1 prints; its local epsilon also holds without a shuffler."""
    return ShuffleHierarchical(delta=DELTA, n_queries=n_queries, local_epsilon=local_epsilon, randomizer=PRINTED)


def stated(local_epsilon, n_queries, n_items):
    """Return the cost of the paper's noise: the epsilon of the device, and that of `privacy_` after shuffling."""
    fitted = published(local_epsilon, n_queries).set_params(random_state=0).fit([range(n_items)] * N_VOTERS)
    return fitted.local_epsilon_, fitted.privacy_.epsilon


def claimed_local_epsilon(epsilon, n_items):
    """Return the local epsilon that the paper's theorem allows for a central one, and the warning that is issued."""
    crowd = max(1, balanced_group_size(N_VOTERS, n_items))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnsoundAmplificationWarning)
        local = shuffle_local_epsilon(epsilon, crowd, DELTA, method="song2022")
    return local, str(caught[0].message)


def true_central_epsilon(spent, n_items):
    """Return the exact central epsilon of one shuffled answer; `privacy_` states a bound that is quicker to compute."""
    crowd = balanced_group_size(N_VOTERS, n_items)
    return shuffle_amplification(spent, max(1, crowd), DELTA, method="exact")


CLAIMED = (0.1, 0.25, 0.5, 1.0, 2.0)


def accounting(n_items, claimed=CLAIMED):
    """Return rows (claimed central, claimed local, true local, true central, stated central), K = 1."""
    rows = []
    for epsilon in claimed:
        local, _ = claimed_local_epsilon(epsilon, n_items)
        spent, central = stated(local, 1, n_items)
        rows.append((epsilon, local, spent, true_central_epsilon(spent, n_items), central))
    return np.array(rows)


def draw_accounting(folder=None):
    """Draw the true epsilon against the claimed one."""
    figure, axes = panels(1, 2, height=3.2)
    for ax, n_items in zip(axes[0], (4, 15), strict=True):
        rows = accounting(n_items)
        claimed = {"as claimed after shuffling": CLAIMED, "as claimed of the device": rows[:, 1]}
        curves(ax, CLAIMED, {**claimed, "true, of the device": rows[:, 2], "true, after shuffling": rows[:, 3]})
        ax.set_yscale("log")
        ax.set_title(f"m = {n_items}: a voter hides among {max(1, balanced_group_size(N_VOTERS, n_items))}", fontsize=9)
        ax.set_xlabel("epsilon claimed")
    axes[0, 0].set_ylabel("epsilon")
    finish(figure, f"What is claimed and what is true, n = {N_VOTERS}, delta = {DELTA:g}", "song_accounting", folder)


if __name__ == "__main__":
    draw_accounting(ARGUMENTS.pictures)
    print("The formula warns:", claimed_local_epsilon(1.0, 4)[1])
    print("  m   claimed central   claimed local   true local   true central   privacy_.epsilon")
    for n_items in (4, 15):
        for row in accounting(n_items):
            print(f"{n_items:3d} {row[0]:17g} {row[1]:15.3f} {row[2]:12.3f} {row[3]:14.3f} {row[4]:18.3f}")
    four = accounting(4)
    claim(
        "with n = 100, m = 4, K = 1, the claimed central epsilon is kept",
        four[:, 3] <= four[:, 0],
        "where it is, only because the noise was five times too much",
    )
    true = [shuffle_amplification(row[1], 16, DELTA, method="exact") for row in four]
    claim(
        "the claimed central epsilon is kept by noise that spends all of the local epsilon that the theorem allows",
        np.array(true) <= four[:, 0],
        "true: " + ", ".join(f"{value:.2f}" for value in true) + ", which is no amplification at all",
    )

# %%
# Figure 2: the same noise for all
# --------------------------------
# LDP-Quicksort asks only about pairs that quicksort meets, LDP-KwikSort asks about random pairs, and DDP-Helnaksort
# asks about all pairs equally often. "max" is all pairs; for LDP-Quicksort, it is (m - 1) log2 m. On the left is the
# paper's noise for a local epsilon of 1, which spends 0.18. On the right is randomized response, which spends 1.
# LDP-Quicksort flips as often as the others. All methods read the same groups of voters, so distances are compared fit
# by fit.

RANDOMIZERS = {"published": PRINTED, "exact": "rr"}


def equals(noise, epsilon, n_queries, slots, n_items):
    """Return the three mechanisms of Figure 2 by name, all with the same noise; LDP-Quicksort has its own K."""
    randomizer = RANDOMIZERS[noise]
    spent = stated(epsilon, slots, n_items)[0] if randomizer is PRINTED else epsilon
    return {
        "LDP-Quicksort": LDPQuickSort(spent, slots),
        "LDP-Kwiksort": LDPPairwise(epsilon, n_queries, randomizer, rule="kwiksort"),
        "DDP-Helnaksort": published(epsilon, n_queries).set_params(randomizer=randomizer),
    }


def same_noise(votes, effort, epsilon=1.0):
    """Return {"published" or "exact": {mechanism: scores of shape (3, n_fits)}} for K = 1, m, max."""
    n_items = votes.ballots.shape[1]
    counts = (1, n_items, math.comb(n_items, 2))
    slots = (1, n_items, int((n_items - 1) * math.log2(n_items)))

    def measure(noise):
        def scores(k_and_slots):
            each = equals(noise, epsilon, *k_and_slots, n_items)
            return {name: measured(mechanism, votes, **effort) for name, mechanism in each.items()}

        return sweep(scores, zip(counts, slots, strict=True))

    return {noise: measure(noise) for noise in RANDOMIZERS}


OTHERS = ("LDP-Quicksort", "LDP-Kwiksort")


def nearer(scores):
    """Return by how much DDP-Helnaksort is closer to the votes in each fit, shape (2 others, 3 values of K, n_fits)."""
    return np.array([scores[name] - scores["DDP-Helnaksort"] for name in OTHERS])


def in_words(gains):
    """Return the mean of paired gains and two standard errors."""
    return f"{gains.mean():+.4f} ± {2 * standard_error(gains):.4f}"


def draw_same_noise(results, votes, folder=None):
    """Draw Figure 2."""
    figure, axes = panels(1, 2, height=3.0)
    titles = {"published": "the paper's noise for epsilon = 1", "exact": "noise that spends epsilon = 1"}
    for ax, (noise, scores) in zip(axes[0], results.items(), strict=True):
        ax.set_xscale("linear")
        for side, (name, style) in zip((-1, 0, 1), looks(scores).items(), strict=True):
            line(ax, np.arange(3) + 0.06 * side, scores[name], style, name)
        ax.set_xticks(range(3), ["1", "m", "max"])
        ax.set_xlabel("K, answers of each voter")
        ax.set_title(titles[noise], fontsize=9)
    axes[0, 0].set_ylabel("average Kendall tau")
    finish(figure, f"Figure 2: {votes.title}, n = {N_VOTERS}", "song_figure_2", folder)


if __name__ == "__main__":
    SAME = same_noise(VOTES[0], MORE)
    draw_same_noise(SAME, VOTES[0], ARGUMENTS.pictures)
    for noise, scores in SAME.items():
        gains = nearer(scores)
        claim(
            f"DDP-Helnaksort is nearer to the votes than either other at K = 1, m, max ({noise} noise)",
            sure(gains).ravel(),
            "at K = 1, nearer by "
            + ", ".join(f"{in_words(gain[0])} than {name}" for gain, name in zip(gains, OTHERS, strict=True)),
        )

# %%
# Figure 3: the number of queries
# -------------------------------
# Here and in Figure 4, epsilon is the central one. The paper's theorem covers K = 1; for larger K, its formula is used
# without change. "Published" is the paper's noise at the local epsilon that the formula allows. With "true",
# `ShuffleHierarchical` computes the local epsilon from the guarantee that it can state.


def query_counts(n_items):
    """Return the values of K in Figure 3."""
    pairs = math.comb(n_items, 2)
    return [k for k in (1, 2, 3, 4, 6, 15, 105) if k <= pairs and (k != 6 or pairs == 6)]


def shuffled(epsilon, n_queries=1):
    """Return DDP-Helnaksort with a true guarantee after shuffling."""
    return ShuffleHierarchical(epsilon, DELTA, n_queries)


def sweep_queries(votes, effort, epsilons=(0.5, 1.0)):
    """Return {(which, epsilon): scores of shape (n_counts, n_fits)}."""
    n_items = votes.ballots.shape[1]

    def both(k):
        found = {}
        for epsilon in epsilons:
            local, _ = claimed_local_epsilon(epsilon, n_items)
            found["published", epsilon] = measured(published(local, k), votes, **effort)
            found["true", epsilon] = measured(shuffled(epsilon, k), votes, **effort)
        return found

    return sweep(both, query_counts(n_items))


def draw_queries(results, votes, folder=None):
    """Draw Figure 3."""
    figure, axes = panels(1, len(votes), height=3.0)
    for ax, each, result in zip(axes[0], votes, results, strict=True):
        named = {f"{which}, epsilon = {epsilon:g}": scores for (which, epsilon), scores in result.items()}
        counts = query_counts(each.ballots.shape[1])
        curves(ax, counts, named, each.title, "K, answers of each voter", ticks=True)
    axes[0, 0].set_ylabel("average Kendall tau")
    finish(figure, f"Figure 3: DDP-Helnaksort, n = {N_VOTERS}, central epsilon", "song_figure_3", folder)


def one_is_best(scores):
    """Return whether no other K is surely closer to the votes than K = 1, by paired differences."""
    return not (sure(scores[1:] - scores[0]) == 0).any()


if __name__ == "__main__":
    BY_QUERIES = [sweep_queries(VOTES[0], MORE), sweep_queries(VOTES[1], EFFORT)]
    draw_queries(BY_QUERIES, VOTES, ARGUMENTS.pictures)
    for which in ("published", "true"):
        claim(
            f"K = 1 is best, up to two standard errors ({which} noise)",
            [one_is_best(scores) for result in BY_QUERIES for (kind, _), scores in result.items() if kind == which],
        )
    one, *_, six = BY_QUERIES[0]["true", 1.0]
    print(f"  TurkDots, true noise, epsilon = 1: {one.mean():.4f} at K = 1, {six.mean():.4f} at K = 6", end="")
    print(f", nearer by {in_words(one - six)}.")

# %%
# Figure 4: with and without the shuffler
# ---------------------------------------
# The paper compares its noise at epsilon with its noise at epsilon + ln(n / C(m, 2)), and calls the difference the gain
# of shuffling. With true accounting, the gain at 100 voters is small if the curator knows who was asked about which
# pair. If voters draw their pairs privately, all 100 hide each other.

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)


def competitors(epsilon, n_items):
    """Return the five mechanisms by name, with K = 1."""
    hidden = shuffle_local_epsilon(epsilon, N_VOTERS, DELTA)
    return {
        "published, without": published(epsilon),
        "published, shuffled": published(claimed_local_epsilon(epsilon, n_items)[0]),
        "true, without": LDPPairwise(epsilon, rule="hierarchical"),
        "true, shuffled": shuffled(epsilon),
        "true, pair hidden too": ShufflePairwise(delta=DELTA, local_epsilon=hidden, rule="hierarchical"),
    }


def with_and_without(votes, effort, epsilons=EPSILONS):
    """Return {which: scores of shape (n_epsilons, n_fits)}."""

    def measure(epsilon):
        each = competitors(epsilon, votes.ballots.shape[1])
        return {which: measured(estimator, votes, **effort) for which, estimator in each.items()}

    return sweep(measure, epsilons)


def draw_with_and_without(results, votes, epsilons=EPSILONS, folder=None):
    """Draw Figure 4."""
    figure, axes = panels(1, len(votes), height=3.2)
    for ax, each, result in zip(axes[0], votes, results, strict=True):
        curves(ax, epsilons, result, each.title, "epsilon, claimed or true")
    axes[0, 0].set_ylabel("average Kendall tau")
    finish(figure, f"Figure 4: DDP-Helnaksort, K = 1, n = {N_VOTERS}", "song_figure_4", folder)


def gain(results, first, second):
    """Return by how much the second is closer to the votes in each fit, over all epsilons, one row per votes.

    If the shuffler changes no noise, it changes no score, and all are 0.
    """
    return np.array([(result[first] - result[second]).mean(axis=0) for result in results])


def helps(results, votes, first, second):
    """Return where the gain is sure, and the gains in words, as arguments of a claim."""
    gains = gain(results, first, second)
    words = [f"{in_words(each)} ({v.title})" for each, v in zip(gains, votes, strict=True)]
    return sure(gains), "gains " + ", ".join(words)


if __name__ == "__main__":
    BY_EPSILON = [with_and_without(each, EFFORT) for each in VOTES]
    draw_with_and_without(BY_EPSILON, VOTES, folder=ARGUMENTS.pictures)
    for words, first, second in (
        ("shuffling helps at equal epsilon (published accounting)", "published, without", "published, shuffled"),
        ("shuffling helps at equal epsilon (true accounting)", "true, without", "true, shuffled"),
        (
            "the published noise, shuffled, beats plain randomized response that no shuffler sees",
            "true, without",
            "published, shuffled",
        ),
        ("hiding the pair too beats shuffling pair by pair (new here)", "true, shuffled", "true, pair hidden too"),
    ):
        claim(words, *helps(BY_EPSILON, VOTES, first, second))

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
