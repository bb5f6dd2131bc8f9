"""
Central rank aggregation with approximation guarantees: Alabi et al. (2022), measured
=====================================================================================

D. Alabi, B. Ghazi, R. Kumar and P. Manurangsi, "Private rank aggregation in central and local models" (2022), prove
bounds and do not measure errors. This page measures Table 1, the guarantees with a trusted curator, as error against
voters and items. The local ones are in :ref:`sphx_glr_auto_examples_plot_alabi_2022.py`.

A mechanism finds a ranking of expected cost at most alpha OPT + beta. The growth of beta is visible only on votes that
are hard for the noise of that size. Such votes are two camps, one with an order and one with its reverse, and a gap
between them that is close to the noise of one answer. Every pair is then as close as every other.

With more items and trials, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_alabi_2022_central.py --full --pictures folder

The results are not private: every fit has a seed, and is scored against the ballots.
"""

import math

import numpy as np
from _shared import (
    begin,
    claim,
    curves,
    excess,
    finish,
    line,
    looks,
    not_above,
    panels,
    real,
    slope,
    some,
    summary,
    sweep,
)

from sklearn_dprank import DPKemenySampler, DPKwikSort, DPPairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.metrics import kemeny_positions
from sklearn_dprank.rules import KemenyRule
from sklearn_dprank.theory.alabi import GUARANTEES, central_budget, corollary_bound, packing_voters

EPSILON, DELTA, TRIALS = 1.0, 1e-6, 20

if __name__ == "__main__":
    ARGUMENTS = begin()
    REPEATS = 100 if ARGUMENTS.full else TRIALS
    print(f"{REPEATS} trials a setting, epsilon = {EPSILON:g}, delta = {DELTA:g} where noise is Gaussian.")

# %%
# The five rows of Table 1
# ------------------------
# Corollaries 3 and 4 release all margins with noise, and rank them by Kemeny's rule. Here, this is `DPPairwise` with
# the exact rule; the paper has an approximation scheme. Corollaries 6 and 7 sort by noisy comparisons: `DPKwikSort`.
# The exponential mechanism of Hay et al. is `DPKemenySampler`. Neighbours replace a ballot, as in the paper. The
# hardest gap is proportional to the noise, so the error of two camps falls as 1/n by scaling. Gaps between real votes
# do not change with n, and the error falls faster.

REPLACE = {"neighboring": "replace"}
KEMENY = KemenyRule(shrink=False)  # of the margins as they are, as in the paper
ROWS = {
    "Corollary 3": DPPairwise(EPSILON, rule=KEMENY, **REPLACE),
    "Corollary 4": DPPairwise(EPSILON, DELTA, "gaussian", KEMENY, **REPLACE),
    "Hay et al. (2017)": DPKemenySampler(EPSILON, **REPLACE),
    "Corollary 6": DPKwikSort(EPSILON, **REPLACE),
    "Corollary 7": DPKwikSort(EPSILON, DELTA, "gaussian", **REPLACE),
}
WHOLE, SORTING = list(ROWS)[:3], list(ROWS)[3:]
GUARANTEE = {row.source: row for row in GUARANTEES if row.trust == "central"}


def printed(row, n_voters, n_items):
    """Return the additive error of Table 1, without its constant."""
    return GUARANTEE[row].additive(n_voters, n_items, EPSILON, DELTA)


def proved(row, n_voters, n_items):
    """Return the additive error of a corollary, with its constant."""
    delta = 0.0 if GUARANTEE[row].pure else DELTA
    return corollary_bound(row, n_voters, n_items, EPSILON, delta).additive


def two_camps(n_voters, n_items, gap):
    """Return votes where a share (1 + gap)/2 has one order and the others its reverse, and that order."""
    order = np.random.default_rng(n_items).permutation(n_items)
    larger = round(n_voters * (1 + gap) / 2)
    ballots = np.repeat([order, n_items - 1 - order], [larger, n_voters - larger], axis=0)
    return Profile.from_rankings(ballots), order


WIDTHS = (0.2, 0.4, 0.7, 1.0, 1.5)  # gaps, in units of the noise


def hardest(row, n_voters, n_items, repeats=TRIALS):
    """Return the excess of each trial, in pairs per voter, at the gap with the largest mean."""
    pairs = math.comb(n_items, 2)
    like = row if row in SORTING or not GUARANTEE[row].pure else "Corollary 3"
    noise = 2 * proved(like, n_voters, n_items) / pairs / (GUARANTEE[like].ratio + 1)  # noise of a margin, as a share
    found = []
    for width in WIDTHS:
        profile, order = two_camps(n_voters, n_items, min(1.0, noise * width))
        found.append(pairs * excess(ROWS[row], profile, order, repeats))
    return max(found, key=np.mean)


def sushi(votes, repeats=TRIALS):
    """Return {row: excess of each trial, in pairs per voter}."""
    profile = Profile.from_rankings(votes.ballots)
    optimum = kemeny_positions(profile)
    return {row: 45 * excess(estimator, profile, optimum, repeats) for row, estimator in ROWS.items()}


CROWD, SIZE = 20000, 12
VOTERS, ITEMS, SORTED = (2000, 6000, CROWD, 60000), (8, 12, 16, 20), (16, 32, 64)


def by_items(items, sorted_items, repeats=TRIALS):
    """Return {row: (items, excesses of shape (len(items), n_trials))}; Kemeny's rule is slow and has fewer items."""
    return {
        row: (sizes, np.array([hardest(row, CROWD, m, repeats) for m in sizes]))
        for rows, sizes in ((WHOLE, items), (SORTING, sorted_items))
        for row in rows
    }


def voters_needed(items):
    """Return {row: (items, voters)} for an error of 0.01 m^2 on two camps, where the error falls as 1/n."""
    return {
        row: (sizes, CROWD * errors.mean(axis=1) / (0.01 * np.square(sizes))) for row, (sizes, errors) in items.items()
    }


def over_items(ax, lines, title):
    """Draw {row: (items, y)} in the styles of the rows."""
    styles = looks(lines)
    for row, (sizes, y) in lines.items():
        line(ax, sizes, y, styles[row], row)
    every = sorted({m for sizes, _ in lines.values() for m in sizes})
    ax.set_xticks(every, every)
    ax.minorticks_off()
    ax.set_title(title, fontsize=9)
    ax.set_xlabel("items")
    return every


def draw(by_voters, by_items, votes, counts, on_votes, folder=None):
    """Draw the excess against voters, items and on real votes, and the number of voters for an error of 0.01 m^2."""
    figure, axes = panels(2, 2, height=3.0)
    ((camps, growth), (rankings, needed)) = axes
    curves(camps, VOTERS, by_voters, f"two camps, m = {SIZE}", "voters", ticks=True)
    over_items(growth, by_items, f"two camps, n = {CROWD:,}")
    curves(rankings, counts, on_votes, votes.title, "voters", ticks=True)
    sizes = over_items(needed, voters_needed(by_items), "voters for an error of .01 m²")
    floor = [packing_voters(m, EPSILON) for m in sizes]
    needed.plot(sizes, floor, color="0.55", lw=2, label="Theorem 13 (pure)")
    for ax in (camps, growth, needed):
        ax.set_yscale("log")
    rankings.set_yscale("symlog", linthresh=0.01)
    rankings.set_ylim(bottom=0)
    for ax in (camps, rankings):
        ax.set_ylabel("pairs a voter, above OPT")
    finish(figure, f"Table 1 as measured error, epsilon = {EPSILON:g}", "alabi_central", folder)


if __name__ == "__main__":
    BY_VOTERS = sweep(lambda n: {row: hardest(row, n, SIZE, REPEATS) for row in ROWS}, VOTERS)
    BY_ITEMS = by_items(ITEMS, (*SORTED, 100) if ARGUMENTS.full else SORTED, REPEATS)
    SUSHI, COUNTS = real("SUSHI"), (300, 1000, 2500, 5000)
    REAL = sweep(lambda n: sushi(some(SUSHI, n), REPEATS), COUNTS)
    draw(BY_VOTERS, BY_ITEMS, SUSHI, COUNTS, REAL, ARGUMENTS.pictures)

# %%
# Table 1 by name
# ---------------
# The printed bounds have no constants, so only their growth can be compared. "proved" includes the constants
# (`sklearn_dprank.theory.alabi.corollary_bound`). In the picture, the grey line is Theorem 13 with its constant. It is
# the least number of voters with which a pure mechanism can have an error of 0.01 m^2, for any approximation ratio
# (`sklearn_dprank.theory.alabi.packing_voters`).

BETA = {
    "Corollary 3": "m^4/(eps n)",
    "Corollary 4": "m^3 sqrt(log 1/delta)/(eps n)",
    "Hay et al. (2017)": "m^3 log m/(eps n)",
    "Corollary 6": "m^3 log m/(eps n)",
    "Corollary 7": "m^2.5 sqrt(log m log 1/delta)/(eps n)",
}


def exponents(by_voters, items):
    """Return {row: (in n, in m, its standard error, in m as printed)}, over the measured items."""
    found = {}
    for row, (sizes, errors) in items.items():
        growth, _ = slope(sizes, [printed(row, CROWD, m) for m in sizes])
        found[row] = slope(VOTERS, by_voters[row])[0], *slope(sizes, errors), growth
    return found


def slower(growth, fast, slow):
    """Return whether one error grows slower with m than another, by two standard errors, and the exponents in words."""
    (_, first, noise, _), (_, second, other, _) = growth[fast], growth[slow]
    words = f"m^{first:.2f} against m^{second:.2f} (± {2 * math.hypot(noise, other):.2f})"
    return second - first > 2 * math.hypot(noise, other), words


def table(by_voters, by_items, growth):
    """Return the lines of Table 1 with the measured values."""
    lines = [f"{'':17s} {'here':15s} alpha  {'beta as printed':37s} proved  found   in n   in m (as printed)"]
    for row, (in_n, in_m, _, as_printed) in growth.items():
        here, sizes = type(ROWS[row]).__name__, by_items[row][0]
        bound = f"{proved(row, CROWD, SIZE):6.2f}" if row.startswith("Corollary") else " " * 6
        found = f"{by_voters[row][VOTERS.index(CROWD)].mean():6.3f}  {in_n:5.2f}  {in_m:5.2f} ({as_printed:.2f}, "
        found += f"m = {sizes[0]} to {sizes[-1]})"
        lines.append(f"{row:17s} {here:15s} {GUARANTEE[row].ratio:5g}  {BETA[row]:37s} {bound} {found}")
    return lines


if __name__ == "__main__":
    GROWTH = exponents(BY_VOTERS, BY_ITEMS)
    print(f"Exponents are those of the hardest two camps; proved and found are beta at n = {CROWD:,}, m = {SIZE}.")
    print(*table(BY_VOTERS, BY_ITEMS, GROWTH), sep="\n")

# %%
# Summary
# -------


def first_size_with_less_noise():
    """Return the least number of items where an answer of DPKwikSort has less Laplace noise than all pairs at once."""
    per_answer = {m: central_budget(m, EPSILON).per_answer for m in range(11, 200)}
    return next(m for m, each in per_answer.items() if each > EPSILON / math.comb(m, 2))


def nearer(results, first, second):
    """Return where the first row is closer to the votes than the second, by two standard errors."""
    return np.concatenate([~not_above(result[second], result[first]) for result in results])


def within_proof(by_voters, by_items):
    """Return the errors of the corollaries as shares of the proved bounds."""
    shares = []
    for row, (sizes, errors) in by_items.items():
        if row.startswith("Corollary"):
            shares += [each.mean() / proved(row, n, SIZE) for n, each in zip(VOTERS, by_voters[row], strict=True)]
            shares += [each.mean() / proved(row, CROWD, m) for m, each in zip(sizes, errors, strict=True)]
    return np.array(shares)


def above_floor(by_items):
    """Return where the pure mechanisms need at least as many voters for 0.01 m^2 as Theorem 13 states."""
    needed = {row: found for row, found in voters_needed(by_items).items() if GUARANTEE[row].pure}
    return [
        n >= packing_voters(m, EPSILON) for sizes, voters in needed.values() for m, n in zip(sizes, voters, strict=True)
    ]


PURE, GAUSSIAN = ("Corollary 3", "Corollary 6"), ("Corollary 4", "Corollary 7")

if __name__ == "__main__":
    shares = within_proof(BY_VOTERS, BY_ITEMS)
    claim(
        "the error of each corollary is below what is proved",
        shares <= 1,
        f"by a factor of {1 / shares.max():.0f} or more",
    )
    claim("the error on the hardest votes falls as 1/n", [abs(in_n + 1) < 0.1 for in_n, *_ in GROWTH.values()])
    claim(
        "it grows no faster with m than printed, to .3 in the exponent",
        [m < most + 0.3 for _, m, _, most in GROWTH.values()],
    )
    for slow, fast in (PURE, ("Corollary 3", "Hay et al. (2017)"), GAUSSIAN):
        claim(f"the error of {fast} grows slower with m than that of {slow}", *slower(GROWTH, fast, slow))
    less = first_size_with_less_noise()
    for slow, fast, why in ((*PURE, f"up to {less - 1} items none of its answers has less noise"), (*GAUSSIAN, "")):
        claim(f"{fast} is nearer to the votes than {slow}, m = 10 and 12", nearer([BY_VOTERS, REAL], fast, slow), why)
    claim(
        "Gaussian noise is nearer to hard votes, m^3 against m^4 and m^2.5 against m^3",
        np.concatenate([nearer([BY_VOTERS], *pair) for pair in zip(GAUSSIAN, PURE, strict=True)]),
    )
    left = [errors[-1].mean() / errors[0].mean() for errors in REAL.values()]
    claim(f"on {SUSHI.title} the error falls faster than 1/n", np.array(left) < COUNTS[0] / COUNTS[-1])
    claim("no pure mechanism needs fewer voters than Theorem 13 says", above_floor(BY_ITEMS))
    summary()
