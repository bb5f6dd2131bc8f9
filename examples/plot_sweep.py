"""
One search over mechanisms and epsilons
=======================================

A release is random, so a sweep fits every candidate repeatedly with fresh noise. The ballots are counted once for all
fits. The votes here are simulated (1,000 rankings of eight items, Mallows phi = 0.8), so the search needs no privacy.
"""

# %%
# Candidates
# ----------
# The grid ranges over estimators, as steps of a pipeline, and over their epsilons. Kemeny is included as the result
# without privacy.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_dprank import DPBorda, DPKwikSort, DPPrudentOrder, Kemeny
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import GridSearchCV, recommend, results_frame, smallest_within
from sklearn_dprank.plotting import PrivacyUtilityDisplay

votes = make_mallows(n_voters=1000, n_items=8, phi=0.8, random_state=0)
grid = [
    {
        "aggregator": [DPBorda(), DPBorda(noise="knorm"), DPKwikSort(), DPPrudentOrder()],
        "aggregator__epsilon": np.geomspace(0.01, 1, 7).round(3).tolist(),
    },
    {"aggregator": [Kemeny()]},
]
search = GridSearchCV(
    Pipeline([("aggregator", DPBorda())]),
    grid,
    n_trials=30,
    refit=smallest_within(0.005),
    random_state=0,
    public_ballots=True,
    progress=False,
).fit(votes)

# %%
# More epsilon means less noise, so the largest epsilon of a grid is the best. ``smallest_within(0.005)`` chooses the
# smallest epsilon that loses at most half a point (one pair in two hundred).

print(search.best_params_)
print(search.best_estimator_[-1].consensus_)

# %%
# Error against epsilon
# ---------------------
# The excess over the optimum of the ballots. A band contains the middle 80 % of the fits.

display = PrivacyUtilityDisplay.from_search(search, votes).plot()

# %%
# Every trial is a row, with the seed that repeats it. The second table is the standard deviation over trials.

trials = results_frame(search)
print(trials[["aggregator__epsilon", "trial", "seed", "score"]].head(3).to_string(index=False))
mechanism = trials["aggregator"].map(str)
print(
    trials.assign(mechanism=mechanism).pivot_table("score", "mechanism", "aggregator__epsilon", aggfunc="std").round(3)
)

# %%
# Recommendation without a sweep
# ------------------------------
# `recommend` uses public numbers only. The number of voters may be an order of magnitude. The range covers simulated
# votes with any plausible disagreement. A public estimate of the disagreement makes it narrower.

for epsilon in (0.01, 0.1, 1.0):
    advice = recommend(n_items=8, n_voters=1000, epsilon=epsilon)
    least, largest = (100 * error for error in advice.error_range)
    print(
        f"epsilon = {epsilon:g}: {advice.estimator}, {100 * advice.error:.2f} points above the optimum "
        f"({least:.2f} to {largest:.2f})"
    )

plt.show()
