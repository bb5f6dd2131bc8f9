"""Draw the rank intervals of the first example of README: python docs/images/draw_ranking.py

The votes are those of ``dprank rank --example``. The seed makes the pictures reproducible, so they are
marked as simulations. The second picture compares intervals of the voters and of a population.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from sklearn_dprank import DPBorda
from sklearn_dprank.cli.printing import simulated
from sklearn_dprank.plotting import RankIntervalDisplay

mpl.use("agg")

if __name__ == "__main__":
    borda = DPBorda(epsilon=1.0, random_state=0).fit(simulated(5, phi=0.9))
    with plt.rc_context({"font.size": 11}):
        figure, ax = plt.subplots(figsize=(5.4, 2.9), layout="constrained")  # small, so that its text is large
        RankIntervalDisplay.from_estimator(borda, name="1,000 votes, epsilon = 1").plot(ax)
    figure.savefig(Path(__file__).with_name("ranking.png"), dpi=240, metadata={"Software": None})
    both = DPBorda(epsilon=1.0, delta=1e-6, noise="gaussian", population=True, random_state=2)
    both.fit(simulated(8, phi=0.88))
    with plt.rc_context({"font.size": 11}):
        figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
        for of, ax in zip(("voters", "population"), axes, strict=True):
            RankIntervalDisplay.from_estimator(both, of=of, name=f'of="{of}"').plot(ax)
    figure.savefig(Path(__file__).with_name("population.png"), dpi=120, metadata={"Software": None})
