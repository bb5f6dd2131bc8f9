"""
Displays of consensus rankings
==============================

The displays of the package, on simulated votes: 500 rankings of nine drinks from a Mallows model (phi = 0.85). A
display computes in ``from_...`` and draws in ``plot``. Its axes are in ``ax_``. Pictures that may not be published are
marked.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_dprank import DPBorda, DPKwikSort, DPPairwise, Kemeny, LDPKwikSort, LDPPairwise
from sklearn_dprank.ballots import Profile
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
# Pairwise margins
# ----------------
# The margin of a pair is the share of voters who prefer one item minus the share who prefer the other. The items are in
# the order of the Kemeny optimum. Blue cells above the diagonal support that order. These are exact counts, so the
# picture is not private.

margins = PairwiseMarginDisplay.from_profile(profile).plot()

# %%
# With the order of a private estimator, the same counts show the effect of its noise. Framed pairs are those that a
# majority would swap.

private = DPBorda(epsilon=0.1, random_state=0).fit(profile)
swapped = PairwiseMarginDisplay.from_estimator(private, profile).plot()

# %%
# Two consensus rankings
# ----------------------
# Each crossing is a pair of items in opposite orders. The number of crossings is the Kendall tau distance. The optimum
# on the left is marked as not private. The private ranking has a seed, so that this page is reproducible, and is marked
# as a simulation. A release has ``random_state=None``.

optimum = Kemeny().fit(profile)
consensus = ConsensusDisplay.from_estimators(optimum, private, names=("Kemeny", "DPBorda, epsilon = 0.1")).plot()

# %%
# Rank intervals
# --------------
# The noisy scores and the distribution of their noise are public. A release therefore gives rank intervals that contain
# the true ranks of all items at once, in at least 95 of 100 releases. This costs no privacy. The true ranks are those
# of these voters without noise, and no release shows them. The release above would have only bars of full width, so
# this release has a larger budget.

more = DPBorda(epsilon=1.0, random_state=0).fit(profile)
certain = RankIntervalDisplay.from_estimator(more, name="DPBorda, epsilon = 1").plot()

# %%
# Error against epsilon
# ---------------------
# Each point is the mean of 20 fits with fresh noise. The best possible consensus of the ballots has excess 0. A band
# contains the middle 80 % of the fits.

mechanisms = {"DPBorda, K-norm noise": DPBorda(noise="knorm"), "DPKwikSort": DPKwikSort(), "DPPairwise": DPPairwise()}
utility = PrivacyUtilityDisplay.from_estimators(
    mechanisms, profile, epsilons=np.geomspace(0.01, 10, 7), n_trials=20, random_state=0
).plot()

# %%
# ``excess=False`` draws the distances themselves, and ``band=(0, 1)`` extends from the best fit to the worst. Near the
# optimum, the lines overlap, and their markers are drawn side by side.

measured = (utility.epsilons, utility.errors, utility.floor, utility.ceiling)
distances = PrivacyUtilityDisplay(*measured, floor_name=utility.floor_name).plot(excess=False, band=(0, 1))

# %%
# Number of queries per voter
# ---------------------------
# In the local model, a voter who answers K pairs has epsilon / K for each. A larger K gives more answers, each with
# more noise. A ring marks the best K of each mechanism.

local = {"LDPKwikSort": LDPKwikSort(epsilon=4.0), "LDPPairwise, Bradley-Terry": LDPPairwise(epsilon=4.0)}
queries = QueryCountDisplay.from_estimators(
    local, profile, n_queries=[1, 2, 3, 4, 6, 8, 12, 20, 36], n_trials=20, random_state=0
).plot()
plt.show()
