"""
Five pictures of a consensus
============================

What the displays show, on simulated votes: 500 rankings of nine drinks from a Mallows model (phi = 0.85). A display
computes in ``from_...`` and draws in ``plot``; it keeps its axes as ``ax_``. What may not be published is marked on
the picture.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_dprank import DPBorda, DPKwikSort, DPPairwise, Kemeny, LDPKwikSort, LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.plotting import (
    ConsensusDisplay,
    PairwiseMarginDisplay,
    PrivacyUtilityDisplay,
    QueryCountDisplay,
    RankIntervalDisplay,
)

drinks = ["tea", "coffee", "water", "orange juice", "milk", "hot chocolate", "mate", "lemonade", "ginger beer"]
votes = pd.DataFrame(make_mallows(n_voters=500, n_items=9, phi=0.85, random_state=1), columns=drinks)
profile = Profile.from_rankings(votes)

# %%
# Who beats whom
# --------------
# The margin of a pair is the share of voters who prefer one item minus the share who prefer the other. In the order
# of the Kemeny optimum, what is light above the diagonal supports the order. These are exact counts, so the picture is
# not private.

margins = PairwiseMarginDisplay.from_profile(profile).plot()

# %%
# With the order of a private estimator the same counts show what its noise has done: framed pairs are those that a
# majority would swap.

private = DPBorda(epsilon=0.1, random_state=0).fit(profile)
swapped = PairwiseMarginDisplay.from_estimator(private, profile).plot()

# %%
# Two consensuses
# ---------------
# Each crossing is a pair of items that the two put in opposite orders; the number of crossings is the Kendall tau
# distance. The optimum on the left is marked as not private. The private one was seeded, so that this page can be made
# again, and is marked as a simulation: a release has ``random_state=None``.

optimum = Kemeny().fit(profile)
consensus = ConsensusDisplay.from_estimators(optimum, private, names=("Kemeny", "DPBorda, epsilon = 0.1")).plot()

# %%
# How sure the release is
# -----------------------
# The noisy scores and the law of their noise are public, so that a release says itself between which ranks each item
# stands, all items at once in at least 95 of 100 releases. It costs no privacy, and it speaks of these voters: the
# exact order, which no release shows, is within the bars as often as that. Of the release above all bars would be full,
# so here is one with more budget.

more = DPBorda(epsilon=1.0, random_state=0).fit(profile)
certain = RankIntervalDisplay.from_estimator(more, name="DPBorda, epsilon = 1").plot()

# %%
# Error against epsilon
# ---------------------
# Each point is the mean of 20 fits with fresh noise; the best possible consensus of the ballots is at 0, and a band
# holds the middle 80 % of the fits.

mechanisms = {"DPBorda, K-norm noise": DPBorda(noise="knorm"), "DPKwikSort": DPKwikSort(), "DPPairwise": DPPairwise()}
utility = PrivacyUtilityDisplay.from_estimators(
    mechanisms, profile, epsilons=np.geomspace(0.01, 10, 7), n_trials=20, random_state=0
).plot()

# %%
# ``excess=False`` draws the distances themselves, ``band=(0, 1)`` from the best fit to the worst. Near the optimum the
# lines lie on top of one another; their markers stand side by side.

measured = (utility.epsilons, utility.errors, utility.floor, utility.ceiling)
distances = PrivacyUtilityDisplay(*measured, floor_name=utility.floor_name).plot(excess=False, band=(0, 1))

# %%
# How many questions to a voter
# -----------------------------
# In the local model a voter who answers K pairs has epsilon / K for each: more answers, each with more noise. A ring
# marks the best K of each mechanism.

local = {"LDPKwikSort": LDPKwikSort(epsilon=4.0), "LDPPairwise, Bradley-Terry": LDPPairwise(epsilon=4.0)}
queries = QueryCountDisplay.from_estimators(
    local, profile, n_queries=[1, 2, 3, 4, 6, 8, 12, 20, 36], n_trials=20, random_state=0
).plot()
plt.show()
