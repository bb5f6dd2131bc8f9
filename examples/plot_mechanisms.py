"""
Comparison of mechanisms over epsilon
=====================================

Error against epsilon on simulated votes: 1,000 rankings of 10 items from a Mallows model (phi = 0.75) with a random
centre. The documentation contains this picture::

    python examples/plot_mechanisms.py docs/images/mechanisms.png
"""

# %%
# A mechanism is an estimator with an ``epsilon``. Names that begin with DP need a trusted curator with the ballots. The
# other mechanisms trust servers that add up shares, or a shuffler that mixes the reports (both with delta = 1e-6), or
# no other party. They need more epsilon for the same error. The neighbouring relations differ, too. The central
# mechanisms hide whether a person voted. The others hide how a person voted, and the number of voters is public.

import sys

import numpy as np

from sklearn_dprank import DPBorda, DPPrudentOrder, LDPPairwise, SecAggBorda, ShufflePairwise
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.plotting import PrivacyUtilityDisplay

mechanisms = {
    "DPBorda (trusts a curator)": DPBorda(),
    "DPPrudentOrder (trusts a curator)": DPPrudentOrder(),
    "SecAggBorda (trusts one of two servers)": SecAggBorda(),
    "ShufflePairwise (trusts a shuffler)": ShufflePairwise(),
    "LDPPairwise (trusts nobody)": LDPPairwise(),
}
votes = make_mallows(n_voters=1000, n_items=10, phi=0.75, random_state=0)

# %%
# Each point is the mean of 20 fits with fresh noise. Such a simulation reads the ballots many times. Use it to choose a
# mechanism on public or simulated votes. A release is one fit, with ``random_state=None``.

display = PrivacyUtilityDisplay.from_estimators(
    mechanisms, votes, epsilons=np.geomspace(0.01, 10, 10), n_trials=20, random_state=0
).plot()
display.ax_.set_title("1,000 voters, 10 items, Mallows phi = 0.75", fontsize=10)
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=200)

# %%
# The same numbers as a table, in percent of all pairs above the Kemeny optimum.

print("epsilon " + "".join(f"{epsilon:8.3g}" for epsilon in display.epsilons))
for name, errors in display.errors.items():
    print(name)
    print("        " + "".join(f"{excess:8.2f}" for excess in 100 * (errors.mean(axis=1) - display.floor)))
