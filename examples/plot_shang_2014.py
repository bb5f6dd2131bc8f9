"""
Noise on the histogram of rankings: reproduction of Shang et al. (2014)
=======================================================================

Theorems 1 and 2, Lemma 3 and Figures 2 and 3 of S. Shang, T. Wang, P. Cuff and S. Kulkarni, "The application of
differential privacy for rank aggregation: privacy and accuracy" (2014), measured again. A curator adds Gaussian noise
to the count of every possible ranking. Any rule may then be applied to the noisy counts. The error rate (Definition 3)
is the probability that noise changes the ranking, over profiles that are uniform on their simplex.

The gallery draws fewer profiles than the paper. With the paper's settings (100,000 and 20,000 profiles), from a shell::

    python examples/plot_shang_2014.py --full --pictures folder

The results are not private: every fit has a seed, and is compared with the exact ranking.
"""

import math

import numpy as np
from _shared import begin, claim, curves, finish, panels, standard_error, summary

from sklearn_dprank import Aggregator, DPHistogram
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_uniform_profile
from sklearn_dprank.metrics import ranking_changed
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.theory.shang import (
    PrintedGaussian,
    central_density,
    lemma_3,
    printed_sigma,
    simple_bound,
    theorem_2,
)

if __name__ == "__main__":
    ARGUMENTS = begin(names=())

# %%
# Theorem 1: the noise
# --------------------
# The noise is sigma = sqrt(2 ln(2 / delta)) / epsilon on each count, for a sensitivity of 1:
# `sklearn_dprank.theory.shang.PrintedGaussian`. The estimator states the true guarantee of that noise, by the exact
# privacy curve of a Gaussian.

PRINTED = PrintedGaussian()
ASKED = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
RELATIONS = {"add_remove": "a ballot is added or removed", "replace": "a ballot is replaced"}


def mechanism(epsilon, delta, noise=PRINTED, **options):
    """Return the paper's mechanism with Theorem 1's noise, or with "gaussian", the least noise for (epsilon, delta)."""
    return DPHistogram(epsilon, delta, noise, **options)


def planned(estimator, n_voters=2000, n_items=3):
    """Return (profile to be fitted, rule, plan); all profiles of that size have the same plan."""
    profile = Profile.from_rankings(make_uniform_profile(n_voters, n_items, random_state=0))
    return profile, *estimator.plan_for(profile)


def really_given(asked, delta, neighboring):
    """Return the true epsilon of Theorem 1's noise for each requested epsilon."""
    estimators = (mechanism(epsilon, delta, neighboring=neighboring) for epsilon in asked)
    return np.array([planned(estimator)[2].guarantee.epsilon for estimator in estimators])


def draw_noise(given, folder=None):
    """Draw the true epsilon against the requested one."""
    figure, axes = panels(1, 1, height=3.4)
    axes[0, 0].set_yscale("log")
    curves(axes[0, 0], ASKED, {"asked for": ASKED, **given}, "delta = 5e-5", "epsilon asked for")
    axes[0, 0].set_ylabel("epsilon that the noise gives")
    finish(figure, "Theorem 1: what its noise gives", "shang_theorem_1", folder)


if __name__ == "__main__":
    GIVEN = {words: really_given(ASKED, 5e-5, relation) for relation, words in RELATIONS.items()}
    draw_noise(GIVEN, ARGUMENTS.pictures)
    for words, given in GIVEN.items():
        for reach, where in ((ASKED <= 1, "up to 1"), (ASKED > 1, "above 1")):
            claim(
                f"Theorem 1's noise keeps epsilon {where} where {words}",
                given[reach] <= ASKED[reach],
                ", ".join(f"{g:.3g} for {a:g}" for g, a in zip(given[reach], ASKED[reach], strict=True)),
            )

# %%
# The sensitivity of 1 is that of a ballot added or removed, which is the paper's relation. Replacing a ballot changes
# two counts. Theorems of this form are proved for epsilon below 1.
#
# Figure 2: the error rate and its bounds against epsilon
# -------------------------------------------------------
# Borda, three candidates, 2,000 voters, delta = 0.1 / n. Theorem 2 and Lemma 3 hold for every positional rule. By
# default, Lemma 3 uses Webb's bound on the densities of all rules. With the density of Borda's own score differences at
# 0 instead, it is the bound "specific to the rule".

BUDGETS = np.array([0.05, 0.08, 0.1, 0.15, 0.2, 0.24])
BORDA, PLURALITY, VETO = (2, 1, 0), (1, 0, 0), (1, 1, 0)
MEASURED, BOUNDS = "measured, Theorem 1's noise", ["Theorem 2", "Lemma 3", "Lemma 3, this rule"]


def error_rates(estimator, n_voters, n_profiles, n_draws=4, n_items=3, seed=0):
    """Return the error rate on each profile, over draws of the noise, shape (n_profiles,)."""
    _, rule, plan = planned(estimator, n_voters, n_items)
    exact = Aggregator(rule=estimator.rule)
    rng, rates = np.random.default_rng(seed), []
    for _ in range(n_profiles):
        profile = Profile.from_rankings(make_uniform_profile(n_voters, n_items, random_state=rng))
        truth = exact.fit(profile).ranks_
        fits = refits(estimator, profile, rule, plan, rng.integers(2**62, size=n_draws).tolist())
        rates.append(np.mean([ranking_changed(fit.ranks_, truth) for fit in fits]))
    return np.array(rates)


def bounds(n_voters, epsilon, scores=BORDA):
    """Return {name: bound on the error rate} of a rule with these scores, at the paper's noise."""
    known = n_voters, len(scores), printed_sigma(epsilon, 0.1 / n_voters)
    values = theorem_2(*known), lemma_3(*known), lemma_3(*known, density=central_density(scores))
    return dict(zip(BOUNDS, values, strict=True))


def measured(settings, n_profiles, noise=PRINTED, rule=None):
    """Return error rates of shape (n_settings, n_profiles) for settings (voters, epsilon)."""
    made = (mechanism(epsilon, 0.1 / n, noise, rule=rule) for n, epsilon in settings)
    return np.array(
        [error_rates(each, n, n_profiles, seed=i) for i, ((n, _), each) in enumerate(zip(settings, made, strict=True))]
    )


def bounds_of(settings, scores=BORDA):
    """Return {name: bounds of shape (n_settings,)}."""
    found = [bounds(*setting, scores) for setting in settings]
    return {name: np.array([each[name] for each in found]) for name in BOUNDS}


def draw_rates(x, lines, title, xlabel, name, folder=None):
    """Draw error rates and their bounds, with both axes logarithmic."""
    figure, axes = panels(1, 1, height=3.8)
    axes[0, 0].set_yscale("log")
    curves(axes[0, 0], x, lines, "", xlabel, ticks=True)
    axes[0, 0].set_ylabel("error rate")
    finish(figure, title, name, folder)


def within(rates, limit):
    """Return where the mean rate is at most its limit, up to two standard errors."""
    return rates.mean(axis=1) <= limit + 2 * standard_error(rates.T)


if __name__ == "__main__":
    few = [(2000, epsilon) for epsilon in BUDGETS]
    REPEATS = 100_000 if ARGUMENTS.full else 300
    RATES, LEAST = (measured(few, REPEATS, noise) for noise in (PRINTED, "gaussian"))
    LIMITS = bounds_of(few)
    draw_rates(
        BUDGETS,
        {MEASURED: RATES, **LIMITS, "measured, no more noise than needed": LEAST},
        "Figure 2: Borda, 3 candidates, 2,000 voters",
        "epsilon",
        "shang_figure_2",
        ARGUMENTS.pictures,
    )
    for name in BOUNDS:
        claim(f"Figure 2: {name} bounds the error rate", within(RATES, LIMITS[name]))
    for name in BOUNDS[:2]:
        claim(f"Figure 2: {name} says more than that a probability is at most 1", LIMITS[name] < 1)
    for name in BOUNDS:
        share = RATES.mean(axis=1) / LIMITS[name]
        print(f"  What is measured is {share.min():.2f} to {share.max():.2f} of {name}.")
    spared = LEAST.mean() / RATES.mean()
    claim(
        "no more noise than (epsilon, delta) needs changes the ranking less often",
        LEAST.mean(axis=1) < RATES.mean(axis=1),
        f"{spared:.2f} times as often",
    )

# %%
# Figure 3: the error rate vanishes
# ---------------------------------
# The same against voters, at epsilon = 0.1 and delta = 0.1 / n.

VOTERS = (1000, 2000, 5000, 10_000, 20_000)


def slope(x, rates):
    """Return the exponent a of rates ~ x^a."""
    return np.polyfit(np.log(x), np.log(rates), 1)[0]


if __name__ == "__main__":
    CROWDS = (*VOTERS, 50_000, 100_000) if ARGUMENTS.full else VOTERS
    many = [(n, 0.1) for n in CROWDS]
    VANISHING = measured(many, 20_000 if ARGUMENTS.full else 300)
    LIMITS = bounds_of(many)
    draw_rates(
        CROWDS,
        {MEASURED: VANISHING, **LIMITS},
        "Figure 3: Borda, 3 candidates, epsilon = 0.1, delta = 0.1/n",
        "voters",
        "shang_figure_3",
        ARGUMENTS.pictures,
    )
    for name in BOUNDS:
        claim(f"Figure 3: {name} bounds the error rate", within(VANISHING, LIMITS[name]))
    falls = slope(CROWDS, VANISHING.mean(axis=1))
    claim("the error rate falls about as 1/n, though delta is .1/n (Theorem 3)", abs(falls + 1) < 0.2, f"n^{falls:.2f}")

# %%
# Other rules
# -----------
# Any rule can use the same noisy counts. The bounds are for positional rules such as Borda, plurality and veto. The
# paper also names instant runoff and Kemeny, and states that their error rates vanish, too.

RULES = {"borda": BORDA, "plurality": PLURALITY, "veto": VETO, "instant_runoff": None, "kemeny": None}

if __name__ == "__main__":
    some_voters = [(n, 0.1) for n in VOTERS[:4]]
    BY_RULE = {rule: measured(some_voters, 5000 if ARGUMENTS.full else 200, rule=rule) for rule in RULES}
    general = bounds_of(some_voters)["Lemma 3"]
    draw_rates(
        VOTERS[:4],
        {"Lemma 3": general, **{rule.replace("_", " "): rates for rule, rates in BY_RULE.items()}},
        "All rules, 3 candidates, epsilon = 0.1, delta = 0.1/n",
        "voters",
        "shang_rules",
        ARGUMENTS.pictures,
    )
    for rule, scores in RULES.items():
        if scores is not None:
            own = bounds_of(some_voters, scores)[BOUNDS[2]]
            claim(f"Lemma 3 bounds the error rate of {rule}, with that rule's density too", within(BY_RULE[rule], own))
        else:
            claim(f"Lemma 3's bound is above the error rate of {rule}, too", within(BY_RULE[rule], general))
    first, last = (np.array([rates[k].mean() for rates in BY_RULE.values()]) for k in (0, -1))
    claim(
        "the error rate of every rule falls as voters come in",
        last < first,
        ", ".join(f"{rule} {a:.3f} to {b:.3f}" for rule, a, b in zip(RULES, first, last, strict=True)),
    )

# %%
# More candidates
# ---------------
# The bounds grow with m!, and the noise on a score with sqrt((m - 2)!). The table shows the number of voters from which
# on the simplest form of Lemma 3 guarantees an error rate of at most one in ten.


def voters_needed(n_items, epsilon=0.1, rate=0.1):
    """Return the least number of voters where the bound of all positional rules is at most `rate`; delta = 0.1/n."""
    low, high = 1, 2**60
    while high - low > 1:
        middle = (low + high) // 2
        enough = simple_bound(middle, n_items, printed_sigma(epsilon, 0.1 / middle)) <= rate
        low, high = (low, middle) if enough else (middle, high)
    return high


if __name__ == "__main__":
    for m in range(3, 8):
        print(f"  {m} candidates, {math.factorial(m):4d} counts: {voters_needed(m):11,d} voters")

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
