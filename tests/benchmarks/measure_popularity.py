"""Draw popularity bias for the guide's page on long data: python tests/benchmarks/measure_popularity.py"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from scipy.stats import kendalltau, rankdata

from sklearn_dprank import DPBorda, DPBradleyTerry
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_ratings

mpl.use("agg")


def rankings(n_persons=5000, n_items=100, epsilon=1.0, seed=0):
    """Return the true ranks, the number of ratings of each item, and {name: ranks}."""
    ratings, strengths = make_ratings(n_persons, n_items, random_state=seed)
    table = pd.DataFrame(ratings)
    stars = table.groupby("item")["stars"].mean().reindex(range(n_items), fill_value=0)
    pivot = table.pivot(index="person", columns="item", values="stars").reindex(columns=range(n_items)).fillna(0)
    borda = DPBorda(epsilon, 1e-6, "gaussian", random_state=seed).fit(-pivot)
    profile = Profile.from_long(ratings, "person", "item", rating="stars", items=range(n_items))
    leaderboard = DPBradleyTerry(epsilon, random_state=seed).fit(profile)
    found = {
        "Mean stars, not private": rankdata(-stars),
        f"DPBorda on a pivot, epsilon = {epsilon:g}": 1 + borda.ranks_,
        f"DPBradleyTerry, epsilon = {epsilon:g}": 1 + leaderboard.ranks_,
    }
    return rankdata(-strengths), np.bincount(ratings["item"], minlength=n_items), found


if __name__ == "__main__":
    truth, counts, found = rankings()
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.7), layout="constrained", sharey=True)
    for ax, (name, ranks) in zip(axes, found.items(), strict=True):
        ax.plot([1, len(truth)], [1, len(truth)], color="0.8", lw=1, zorder=0)
        dots = ax.scatter(truth, ranks, c=counts, norm="log", s=22, cmap="viridis_r")
        ax.set_title(f"{name}\nKendall's tau {kendalltau(truth, ranks).statistic:.2f}", fontsize=10)
        ax.set_xlabel("true rank, 1 is best")
        ax.set_aspect("equal")
    axes[0].set_ylabel("rank, 1 is best")
    figure.colorbar(dots, ax=axes, label="number of ratings", shrink=0.8)
    images = Path(__file__).parents[2] / "docs" / "images"
    figure.savefig(images / "popularity.png", dpi=160, metadata={"Software": None})
