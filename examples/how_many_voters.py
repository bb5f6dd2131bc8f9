"""
Voters needed for a private consensus
=====================================

This script prints the table of the README: the number of voters for an error below one point. One point is one more
pair in a hundred in the wrong order than in the best consensus. The voters contradict that consensus on 35 % of the
pairs. ``recommend`` uses public numbers only, so no ballots are needed::

    python examples/how_many_voters.py
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/how_many_voters.png"

import bisect

from sklearn_dprank.model_selection import recommend

EPSILONS = (0.1, 0.5, 1.0, 2.0)
TRUSTS = (("central", 0.0), ("secure_aggregation", 1e-6), ("shuffle", 1e-6), ("local", 0.0))
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
#: Numbers of voters that the table tries. With 20 voters, errors are larger than those of the reference electorate.
VOTERS = [30, 40, 50, 60, 80, *(int(step * 10**power) for power in range(2, 8) for step in _STEPS)]


def voters_needed(n_items, epsilon, delta, trust, error=0.01):
    """Return the first of `VOTERS` for which `recommend` expects at most this error."""
    place = bisect.bisect_left(VOTERS, -error, key=lambda n: -recommend(n_items, n, epsilon, delta, trust).error)
    return VOTERS[place]


def readme_table():
    """Return the table of the README, in Markdown."""
    lines = [
        "| Trust | Estimator | Items | " + " | ".join(f"epsilon = {epsilon:g}" for epsilon in EPSILONS) + " |",
        "|" + "---|" * (3 + len(EPSILONS)),
    ]
    for trust, delta in TRUSTS:
        for n_items in (5, 10, 20, 45):
            cells, names = [], []
            for epsilon in EPSILONS:
                n_voters = voters_needed(n_items, epsilon, delta, trust)
                if n_voters == VOTERS[0]:
                    cells.append(f"up to {n_voters}")
                else:
                    cells.append(f"{n_voters:,}")
                    names.append(f"`{_short(recommend(n_items, n_voters, epsilon, delta, trust).estimator)}`")
            who, what = trust.replace("_", " "), ", then ".join(dict.fromkeys(names))
            lines.append(f"| {who} | {what} | {n_items} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _short(estimator):
    """Return the name of the estimator, and its noise for `DPBorda`."""
    name = type(estimator).__name__
    return f'{name}(noise="{estimator.noise}")' if name == "DPBorda" else name


if __name__ == "__main__":
    print(readme_table())
