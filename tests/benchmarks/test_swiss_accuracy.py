"""Errors of Swiss Borda: on split electorates, on mixtures, and where voters agree.

Errors are excess Kendall tau errors in percent of the item pairs, averaged over the seeds 0 to 19 of a fit.
"""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from sklearn_dprank import DPSwissBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows, make_plackett_luce, read_preflib
from sklearn_dprank.metrics import excess_kendall_tau, kemeny_positions

DATA = os.environ.get("SKLEARN_DPRANK_DATA")
SEEDS = range(20)
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)


def agreeing(n_agreeing, n_balanced, n_items, seed):
    """Voters who agree on one order, and random voters with their opposites, whose margins are all 0."""
    rng = np.random.default_rng(seed)
    random = rng.permuted(np.tile(np.arange(n_items), (n_balanced // 2, 1)), axis=1)
    return np.concatenate([np.tile(rng.permutation(n_items), (n_agreeing, 1)), random, n_items - 1 - random])


def mixture(n_voters, n_items, phi, seed):
    """Three camps of equal size around independent centres."""
    camps = [make_mallows(n_voters // 3, n_items, phi, random_state=10 * seed + camp) for camp in range(3)]
    return np.concatenate(camps)


def dublin():
    if not DATA:
        pytest.skip("SKLEARN_DPRANK_DATA does not say where the rankings are")
    return read_preflib(Path(DATA) / "00001-00000002.soi").profile


SPLIT = {
    "1,000 of 5,000 agree, 20 items": lambda: agreeing(1000, 4000, 20, 0),
    "2,000 of 6,000 agree, 45 items": lambda: agreeing(2000, 4000, 45, 0),
    "Dublin West": dublin,
}
MIXED = {
    "45 items": lambda: mixture(5000, 45, 0.75, 0),
    "28 items": lambda: mixture(2400, 28, 0.85, 1),
    "60 items": lambda: mixture(6000, 60, 0.8, 2),
}
COHERENT = {
    "Mallows .8, 40 items": lambda: make_mallows(4000, 40, 0.8, random_state=10),
    "Mallows .92, 25 items": lambda: make_mallows(1500, 25, 0.92, random_state=11),
    "Plackett-Luce, 30 items": lambda: make_plackett_luce(3000, 30, random_state=12),
    "Plackett-Luce, 60 items": lambda: make_plackett_luce(2500, 60, random_state=13),
}


@lru_cache(maxsize=1)
def votes(ballots):
    """Return (profile, positions of a Kemeny order)."""
    found = ballots()
    profile = (found if isinstance(found, Profile) else Profile.from_rankings(found)).counted()
    return profile, kemeny_positions(profile)


def error(ballots, epsilon, seeds=SEEDS):
    """Return the mean error, in points."""
    profile, optimum = votes(ballots)
    fits = (DPSwissBorda(epsilon, random_state=seed).fit(profile).ranks_ for seed in seeds)
    return 100 * np.mean([excess_kendall_tau(ranks, profile, optimum=optimum) for ranks in fits])
