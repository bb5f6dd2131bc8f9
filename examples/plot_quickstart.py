"""
Quickstart
==========

A thousand simulated ballots over eight dishes, one row per voter: ``votes`` holds the position of each dish, 0 is best.
For ballots in a file, use the command ``dprank rank``: see ``dprank rank --help``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_dprank import DPBorda, Kemeny
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.plotting import PrivacyUtilityDisplay

dishes = ["dal", "laksa", "mole", "paella", "pho", "pierogi", "ramen", "shakshuka"]
center = [3, 4, 2, 5, 1, 7, 0, 6]  # ramen, pho, mole, dal, ...
votes = pd.DataFrame(make_mallows(1000, 8, phi=0.8, center=center, random_state=0), columns=dishes)

# %%
# The best possible consensus is an exact function of the ballots and reveals them. A private consensus may be published
# with its guarantee. Two fits have two guarantees: their epsilons add up.

best = Kemeny().fit(votes)
private = DPBorda(epsilon=1.0).fit(votes)
print("not private:", *best.consensus_)
print("private:    ", *private.consensus_)
print(private.privacy_.statement())

# %%
# Which part of the consensus is certain? Laplace noise, the default, also publishes scores. The scores and the
# distribution of the noise give rank intervals for all dishes at once, with probability 95 %.

for dish, (first, last) in zip(dishes, private.rank_intervals() + 1, strict=True):
    print(f"{dish:<10} {private.scores_[dishes.index(dish)]:>6} net wins, rank {first} to {last}")

# %%
# How much epsilon is enough? K-norm noise needs less epsilon for the same error, and publishes no scores. The picture
# repeats fits with seeds. It is a simulation and not private.

PrivacyUtilityDisplay.from_estimators(
    {"Laplace noise": DPBorda(), "K-norm noise": DPBorda(noise="knorm")},
    votes,
    epsilons=np.geomspace(0.003, 1, 8),
    n_trials=30,
    random_state=0,
).plot()
plt.show()
