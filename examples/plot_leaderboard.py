"""
Private leaderboard
===================

Generated votes of an arena: 5,000 persons compare 20 models. Popular models have most of the votes, a fifth of the
votes are ties, and half of the opponents are of similar strength. The guarantee protects all votes of one person.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import kendalltau

from sklearn_dprank import DPBorda, DPBradleyTerry
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_comparisons
from sklearn_dprank.plotting import RankIntervalDisplay

models = [f"model {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
votes, strengths = make_comparisons(5000, 20, matched=0.5, strengths=np.linspace(2, -2, 20), random_state=0)
for column in ("first", "second"):
    votes[column] = np.array(models)[votes[column]]  # model A is the best, and model T the worst
profile = Profile.from_comparisons(votes, "first", "second", outcome="winner", person="person", items=models)

# %%
# The leaderboard
# ---------------
# All numbers in the table are published. Ranks have simultaneous intervals of 95 %. They describe the population from
# which the persons were sampled, and are approximate. A release has ``random_state=None``.

leaderboard = DPBradleyTerry(epsilon=1.0, random_state=0).fit(profile)
print(leaderboard.to_frame().round(2))
print(leaderboard.privacy_.statement())

# %%
# Two budgets
# -----------
# With a larger epsilon, the intervals are shorter.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 5.2), layout="constrained")
for ax, epsilon in zip(axes, (0.3, 3.0), strict=True):
    fitted = DPBradleyTerry(epsilon, random_state=0).fit(profile)
    RankIntervalDisplay.from_estimator(fitted, name=f"DPBradleyTerry, epsilon = {epsilon:g}").plot(ax)

# %%
# The opponents count
# -------------------
# Net wins do not show whom a model met: a strong model that mostly met strong ones looks average. They also grow with
# the number of votes. So `DPBorda` does not find the true order with any budget. Each point is the mean of five fits.

epsilons = (0.1, 0.3, 1.0, 3.0, 10.0)
estimators = {
    "DPBradleyTerry": lambda epsilon, seed: DPBradleyTerry(epsilon, random_state=seed),
    "DPBorda, Gaussian noise": lambda epsilon, seed: DPBorda(epsilon, 1e-6, "gaussian", random_state=seed),
}
figure, ax = plt.subplots(layout="constrained")
for (name, make), marker in zip(estimators.items(), "os", strict=True):
    fits = [[make(epsilon, seed).fit(profile) for seed in range(5)] for epsilon in epsilons]
    taus = [np.mean([kendalltau(fit.ranks_, -strengths).statistic for fit in row]) for row in fits]
    ax.semilogx(epsilons, taus, marker=marker, label=name)
ax.set(xlabel="epsilon", ylabel="Kendall's tau to the true order", ylim=(0, 1.03))
ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
ax.minorticks_off()
ax.legend(loc="lower right")
plt.show()
