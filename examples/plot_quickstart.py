"""
Quickstart
==========

A thousand simulated ballots over eight dishes, one row a voter: ``votes`` says where each voter puts each dish, 0 is
best. For ballots in a file there is the command ``dprank``: see ``dprank compare --help``.
"""

import numpy as np
import pandas as pd

from sklearn_dprank import DPBorda, Kemeny
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.plotting import PrivacyUtilityDisplay

dishes = ["dal", "laksa", "mole", "paella", "pho", "pierogi", "ramen", "shakshuka"]
center = [3, 4, 2, 5, 1, 7, 0, 6]  # ramen, pho, mole, dal, ...
votes = pd.DataFrame(make_mallows(1000, 8, phi=0.8, center=center, random_state=0), columns=dishes)

# %%
# The best possible consensus is computed from the ballots exactly, and shows them. A private one may be published with
# its promise. Two fits are two promises: their epsilons add up.

best = Kemeny().fit(votes)
private = DPBorda(epsilon=0.5, noise="knorm").fit(votes)
print("not private:", *best.consensus_)
print("private:    ", *private.consensus_)
print(private.privacy_.statement())

# %%
# Which part of it is sure? Laplace noise takes some more epsilon for the same error, and publishes scores besides; from
# these and the law of the noise it follows between which ranks each dish really stands, all at once with 95 %.

scored = DPBorda(epsilon=0.5).fit(votes)
for dish, (first, last) in zip(dishes, scored.rank_intervals() + 1, strict=True):
    print(f"{dish:<10} {scored.scores_[dishes.index(dish)]:>6} net wins, rank {first} to {last}")

# %%
# How much epsilon is enough? The picture repeats fits with seeds, which is a simulation: nothing of it is private.

PrivacyUtilityDisplay.from_estimators(
    {"K-norm noise": DPBorda(noise="knorm"), "Laplace noise": DPBorda()},
    votes,
    epsilons=np.geomspace(0.003, 1, 8),
    n_trials=30,
    random_state=0,
).plot()
