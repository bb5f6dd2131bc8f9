"""
Quickstart
==========

Reads ballots, and finds their consensus by Borda, by Kemeny, and by Borda with privacy. From a shell, a PrefLib file
of your own goes to the end of the line, and after it, where ballots leave items out, what that means: ``last`` (ranked
below all others) or ``no_opinion``::

    python examples/plot_quickstart.py sushi.soc
    python examples/plot_quickstart.py election.soi last

One of PrefLib's own is downloaded, once, where you say so::

    python examples/plot_quickstart.py --download 00024-00000001.soc

Without a file it takes the 8 ballots of Hay et al. (2017), Figure 1, which come with the package. Eight voters are few:
noise that hides any one of them hides most of what they say together.
"""

import sys

import numpy as np

from sklearn_dprank import Borda, DPBorda, Kemeny
from sklearn_dprank.datasets import fetch_preflib, load_hay_figure1, read_preflib
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.plotting import PrivacyUtilityDisplay

arguments = sys.argv[1:]
if arguments[:1] == ["--download"]:
    ballots = fetch_preflib(*arguments[1:])
else:
    ballots = read_preflib(*arguments) if arguments else load_hay_figure1()
profile = ballots.profile
print(f"{profile.n_voters} ballots, {profile.n_items} items")

# %%
# Consensus and guarantee
# -----------------------
# ``consensus_`` and ``privacy_`` of a private fit may be published; guarantees of several fits to the same ballots add
# up. The distance (the share of pairs on which a voter disagrees, on average) is computed from the ballots exactly: it
# is printed for you, not for publication.

private = [DPBorda(epsilon=epsilon) for epsilon in (0.01, 0.1, 1.0, 10.0)]
for estimator in [Borda(), Kemeny(), *private]:
    estimator.fit(profile)
    distance = average_kendall_tau(estimator.ranks_, profile)
    print(f"\n{type(estimator).__name__}, {estimator.privacy_}")
    print("  consensus:", " > ".join(estimator.consensus_))
    print(f"  distance:  {distance:.4f} (NOT private)")

# %%
# Error against epsilon
# ---------------------
# One release says little about a mechanism, so the picture repeats the fit 40 times at each epsilon, with seeds. That
# is a simulation for whoever holds the ballots: nothing in the picture is private.

display = PrivacyUtilityDisplay.from_estimators(
    {"DPBorda": DPBorda()}, profile, epsilons=np.geomspace(0.001, 10, 13), n_trials=40, random_state=0
).plot()
display.figure_.savefig("quickstart.png", dpi=150)
print("\nPicture: quickstart.png")
