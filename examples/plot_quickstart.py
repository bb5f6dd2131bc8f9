"""
Quickstart
==========

Reads ballots, fits Borda, Kemeny and a private Borda, and shows each consensus, its distance to the ballots
and its privacy guarantee. From a shell, with a PrefLib file of your own::

    python examples/plot_quickstart.py sushi.soc
    python examples/plot_quickstart.py election.soi --unranked last

Without a file it takes the 8 ballots of Hay et al. (2017), Figure 1, which come with the package. Eight
voters are few: noise that hides any one of them hides most of what they say together.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill

import numpy as np

from sklearn_dprank import Borda, DPBorda, Kemeny
from sklearn_dprank.datasets import load_hay_figure1, read_preflib
from sklearn_dprank.metrics import average_kendall_tau, excess_kendall_tau
from sklearn_dprank.plotting import PrivacyUtilityDisplay
from sklearn_dprank.privacy import PrivacyGuarantee

EPSILONS = (0.01, 0.1, 1.0, 10.0)
SHOWN = 12  # items of a consensus that fit into a row
PICTURE = "quickstart.png"

# %%
# One row a method
# ----------------
# ``consensus_`` and ``privacy_`` of a private fit may be published. Distances are computed from the ballots
# exactly: they are printed for you, not for publication. Guarantees of several releases from the same voters
# add up, and one release without a guarantee leaves none.


def fit_all(profile):
    """Return the fitted estimators by name: Borda, Kemeny, then DPBorda at each epsilon."""
    estimators = {"Borda": Borda(), "Kemeny": Kemeny()}
    estimators |= {f"DPBorda(epsilon={epsilon:g})": DPBorda(epsilon=epsilon) for epsilon in EPSILONS}
    return {name: estimator.fit(profile) for name, estimator in estimators.items()}


def table(fitted, profile):
    """Return the rows of the table, its header first and the totals last, as tuples of strings."""
    label = labels(profile)
    optimum = fitted["Kemeny"].ranks_
    rows = [("method", "distance*", "excess*", "privacy", "consensus, best first")]
    for name, estimator in fitted.items():
        distance = average_kendall_tau(estimator.ranks_, profile)
        excess = excess_kendall_tau(estimator.ranks_, profile, optimum=optimum)
        rows.append((name, f"{distance:.6f}", f"{excess:.6f}", str(estimator.privacy_), order(estimator, label)))
    guarantees = [estimator.privacy_ for estimator in fitted.values()]
    private = [guarantee for guarantee in guarantees if np.isfinite(guarantee.epsilon)]
    rows.append(("total if all released", "", "", str(PrivacyGuarantee.compose(guarantees)), ""))
    rows.append(("the same, DPBorda only", "", "", str(PrivacyGuarantee.compose(private)), ""))
    return rows


def labels(profile, longest=60):
    """Return how items are called in the table: their names, or numbers from 1 (as in PrefLib files) if too long."""
    names = [str(name) for name in profile.item_names]
    numbers = [str(number) for number in range(1, profile.n_items + 1)]
    return np.array(names if len(" > ".join(names)) <= longest else numbers)


def order(estimator, label):
    """Write the consensus out, or its beginning."""
    items = label[np.argsort(estimator.ranks_)]
    rest = f" > ... ({len(items)} items)" if len(items) > SHOWN else ""
    return " > ".join(items[:SHOWN]) + rest


def legend(fitted, profile):
    """Name the items that the table has by number; an empty string if it has them by name."""
    shown = sorted({item for estimator in fitted.values() for item in np.argsort(estimator.ranks_)[:SHOWN]})
    pairs = [(labels(profile)[item], str(profile.item_names[item])) for item in shown]
    return "" if all(label == name for label, name in pairs) else "  Items: " + ", ".join(map(" ".join, pairs)) + "."


def aligned(rows):
    """Return the rows as text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    rule = "-" * (sum(widths[:-1]) + 2 * len(widths[:-1]) + len(rows[0][-1]))
    return "\n".join([lines[0], rule, *lines[1:-2], rule, *lines[-2:]])


# %%
# The picture
# -----------
# One release says little about a mechanism, so the picture repeats each fit 40 times with seeds. That is a
# simulation for whoever holds the ballots: nothing in the picture is private.


def draw(profile, title):
    """Draw distance against epsilon, and save it."""
    mechanisms = {"DPBorda, Laplace noise (P-BORDA)": DPBorda(), "DPBorda, K-norm noise": DPBorda(noise="knorm")}
    display = PrivacyUtilityDisplay.from_estimators(
        mechanisms, profile, epsilons=np.geomspace(0.001, 10, 13), n_trials=40, random_state=0
    ).plot()
    display.ax_.set_title(f"{title}\nmean of 40 simulated releases; bands from the best to the worst", fontsize=10)
    display.ax_.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
    display.figure_.savefig(PICTURE, dpi=150)


# %%
# The run
# -------


def main(argv=None):
    """Read ballots, print the table, save the picture."""
    parser = argparse.ArgumentParser(description="Borda, Kemeny and private Borda on a PrefLib file.")
    parser.add_argument("path", nargs="?", help="a soc, soi, toc or toi file; by default Hay et al.'s 8 ballots")
    parser.add_argument(
        "--unranked",
        choices=["last", "no_opinion"],
        help="what it means that a ballot leaves items out: ranked below all others, or no opinion on them",
    )
    arguments = parser.parse_args(argv)
    if arguments.path is None:
        source, ballots = "Hay et al. (2017), Figure 1", load_hay_figure1()
    else:
        source = Path(arguments.path).name
        try:
            ballots = read_preflib(arguments.path, unranked=arguments.unranked)
        except (OSError, ValueError) as error:
            remedy = "" if arguments.unranked else "\nOn this command line: --unranked last, or --unranked no_opinion."
            parser.error(f"{error}{remedy if 'unranked=' in str(error) else ''}")
    profile = ballots.profile

    print(f"{source}: {profile.n_voters} ballots, {profile.n_items} items\n")
    fitted = fit_all(profile)
    print(aligned(table(fitted, profile)))
    print("\n* Average Kendall tau distance to the ballots over C(m, 2), and what it exceeds the optimum by.")
    print("  Both are exact functions of the ballots: NOT private, not to be published.")
    if numbered := legend(fitted, profile):
        print(fill(numbered, width=110, subsequent_indent="  "))
    if find_spec("matplotlib") is None:
        print('\nNo picture: matplotlib is missing. Run  python -m pip install ".[plot]"  and then this again.')
    else:
        draw(profile, f"{source}: {profile.n_voters} ballots, {profile.n_items} items")
        print(f"\nPicture: {PICTURE}")


if __name__ == "__main__":
    main()
