"""
Voters who lie
==============

In the local model, the report of one device is mostly noise. A device that reports without noise therefore counts as
several honest ones. If devices draw their own pairs, a liar can also choose the pair, and always answer about the same
item. With ``pairs="assigned"``, each registered voter has a public pair, and the curator refuses reports about others.
The epsilon and the error for honest votes are the same.

This page measures the attack: some voters want the item in the middle of the consensus to win, and all of them lie as
well as they can. The rankings are those of SUSHI, if SKLEARN_DPRANK_DATA names a folder with the file. Otherwise, they
are simulated. Every trial has a seed, so the results are not private. With more trials, from a shell::

    SKLEARN_DPRANK_DATA=folder python examples/plot_liars.py --full --pictures folder
"""

import math
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from _shared import begin, claim, curves, finish, mallows, panels, real, summary, table

from sklearn_dprank import Borda
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import Answers
from sklearn_dprank.collection import PrivUnitG, RandomizedResponse
from sklearn_dprank.rules import BradleyTerryRule, SortByScore
from sklearn_dprank.sampling.bit_source import Bits

EPSILON = 1.0
TRIALS = 20  # 100 with --full

# %%
# One attacked poll
# -----------------
# The honest voters are a random part of the electorate, and their reports have exactly the distribution of reports from
# devices. The liars know the consensus of all voters. Each liar sends the best report that the curator accepts:
#
# * with hidden pairs, an answer about the wanted item and one that is ahead of it, chosen with probability proportional
#   to the square of its lead: the wanted item wins;
# * with assigned pairs, an answer about the liar's own pair: the wanted item wins. Of two other items, the one that is
#   behind in the consensus wins;
# * to `LDPBorda`, the longest vector that the curator does not shorten, in the direction of the wanted item;
# * without privacy, a ballot with the wanted item first and the others in reverse order.


class Electorate(NamedTuple):
    """Ballots, their net wins and Borda order (best item first), and the item that the liars want to win."""

    ballots: np.ndarray
    net_wins: np.ndarray
    order: np.ndarray
    wanted: int


def electorate(ballots):
    """Return an electorate whose liars want the item in the middle of the consensus."""
    order = Borda().fit(ballots).consensus_
    return Electorate(ballots, Profile.from_rankings(ballots).net_wins, order, int(order[len(order) // 2]))


def answers_hidden(voters, n_liars, rng):
    """Return (winner, loser) of each liar's answer, if liars choose their pairs."""
    weights = np.maximum(voters.net_wins - voters.net_wins[voters.wanted], 0.0) ** 2
    steps = np.cumsum(weights) / weights.sum()
    return np.full(n_liars, voters.wanted), np.searchsorted(steps, (np.arange(n_liars) + 0.5) / n_liars)


def answers_assigned(voters, n_liars, rng):
    """Return (winner, loser) of each liar's answer, if each liar has a random pair."""
    pairs = np.column_stack(np.triu_indices(len(voters.order), 1))
    first, second = pairs[rng.integers(len(pairs), size=n_liars)].T
    told = ballot_of_liar(voters)
    ahead = told[first] < told[second]
    return np.where(ahead, first, second), np.where(ahead, second, first)


def ballot_of_liar(voters):
    """Return positions: the wanted item first, the others in the reverse order of the consensus."""
    positions = np.empty(len(voters.order), dtype=np.int64)
    positions[voters.order] = np.arange(len(voters.order))[::-1]
    positions[voters.wanted] = -1
    return positions


def by_pairs(answers):
    """Return the poll of `LDPPairwise`, whose liars answer by this function."""

    def first_item(voters, honest, n_liars, seed):
        m, randomizer = len(voters.order), RandomizedResponse()
        protocol, bits = randomizer.protocol(EPSILON, m), Bits.from_random_state(seed)
        counts = randomizer.simulated(protocol, honest.positions, bits)
        np.add.at(counts, answers(voters, n_liars, np.random.default_rng(seed)), 1)
        tallies = randomizer.estimate(counts, len(voters.ballots), protocol)
        return decided(BradleyTerryRule(), randomizer, tallies, m, bits)

    return first_item


def by_vectors(voters, honest, n_liars, seed):
    """Return the winner of `LDPBorda`."""
    m, randomizer = len(voters.order), PrivUnitG()
    protocol, bits = randomizer.protocol(EPSILON, m), Bits.from_random_state(seed)
    lie = np.where(np.arange(m) == voters.wanted, m - 1, -1) / math.sqrt(m * (m - 1))
    lies = np.tile(np.rint(lie * protocol["norm"] * protocol["points_per_unit"]).astype(np.int64), (n_liars, 1))
    counts = randomizer.simulated(protocol, honest.positions, bits) + randomizer.counts(lies, protocol)
    return decided(SortByScore(), randomizer, randomizer.estimate(counts, len(voters.ballots), protocol), m, bits)


def decided(rule, randomizer, answer, n_items, bits):
    """Return the item that a rule puts first."""
    answers = Answers(n_items, bits.coins)
    answers.publish(randomizer.releases, answer)
    return rule.aggregate(answers).order[0]


def without_privacy(voters, honest, n_liars, seed):
    """Return the winner of `Borda`."""
    lie = Profile.from_rankings(ballot_of_liar(voters)[None]).net_wins
    return np.argmax(honest.net_wins + n_liars * lie)


POLLS = {
    "LDPPairwise, hidden": by_pairs(answers_hidden),
    "LDPPairwise, assigned": by_pairs(answers_assigned),
    "LDPBorda": by_vectors,
    "Borda, no privacy": without_privacy,
}


def share_won(poll, voters, share, n_trials):
    """Return the share of polls that the wanted item wins if this share of the voters lies."""
    n_voters, n_liars = len(voters.ballots), round(share * len(voters.ballots))
    won = 0
    for seed in range(n_trials):
        honest = voters.ballots[np.random.default_rng(seed).permutation(n_voters)[n_liars:]]
        won += poll(voters, Profile.from_rankings(honest), n_liars, seed) == voters.wanted
    return won / n_trials


def share_to_win(poll, voters, n_trials, steps=9):
    """Return the share of voters that must lie to win half of the polls, by bisection."""
    low, high = 0.0, 0.6
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if share_won(poll, voters, middle, n_trials) >= 0.5 else (middle, high)
    return (low + high) / 2


# %%
# Polls that the liars win
# ------------------------
# The vertical axis is the share of polls in which the wanted item comes first. With hidden pairs or
# `LDPBorda`, 1 to 3 % of the voters are enough to win half of the polls. With assigned pairs, about 10 % must lie.
# Without privacy, it is 15 to 20 %.

SHARES = (0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2, 0.4)


def draw(results, title, folder=None):
    """Draw a panel for each of {title: {name: shares of polls won}}."""
    figure, axes = panels(1, len(results), height=3.2)
    for ax, (name, result) in zip(axes[0], results.items(), strict=True):
        curves(ax, SHARES, {way: 100 * np.asarray(won) for way, won in result.items()}, name, "voters who lie, %")
        ax.set_xticks(SHARES[::2], [f"{100 * share:g}" for share in SHARES[::2]])
        ax.minorticks_off()
    axes[0, 0].set_ylabel("polls won by the liars, %")
    finish(figure, title, "liars", folder)


if __name__ == "__main__":
    ARGUMENTS = begin(["SUSHI"])
    N_TRIALS = 100 if ARGUMENTS.full else TRIALS
    VOTES = [real("SUSHI"), mallows(5000, 20, 0.1)]
    ELECTORATES = {votes.title: electorate(votes.ballots) for votes in VOTES}
    RESULTS = {
        title: {way: [share_won(poll, voters, share, N_TRIALS) for share in SHARES] for way, poll in POLLS.items()}
        for title, voters in ELECTORATES.items()
    }
    draw(RESULTS, f"The middle item wins, epsilon = {EPSILON:g}", ARGUMENTS.pictures)

# %%
# The share that must lie
# -----------------------
# The share of voters that must lie to win half of the polls. The weight of one liar, in honest voters, follows from the
# protocol: `~sklearn_dprank.theory.cheu.liar_weight`.

if __name__ == "__main__":
    NEEDED = {
        title: {way: share_to_win(poll, voters, N_TRIALS) for way, poll in POLLS.items()}
        for title, voters in ELECTORATES.items()
    }
    table(
        "Share of the voters that must lie, in percent",
        ["", *POLLS],
        *([title, *(100 * share for share in needed.values())] for title, needed in NEEDED.items()),
    )
    claim(
        "assigned pairs need at least three times as many liars as hidden pairs",
        [needed["LDPPairwise, assigned"] >= 3 * needed["LDPPairwise, hidden"] for needed in NEEDED.values()],
        ", ".join(
            f"{needed['LDPPairwise, assigned'] / needed['LDPPairwise, hidden']:.1f}" for needed in NEEDED.values()
        ),
    )

# %%
# Summary
# -------

if __name__ == "__main__":
    summary()
    plt.show()
