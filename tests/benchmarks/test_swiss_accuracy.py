"""Errors of Swiss Borda: on split electorates, on mixtures, and where voters agree.

Errors are excess Kendall tau errors in percent of the item pairs, averaged over fits with the seeds 0 to 19, or 0 to 59
where voters agree. `BEFORE` has the errors of the same fits with the decoder of release 0.2.0, which let all voters
follow the Bradley-Terry model and asked for net wins within groups last.
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


BEFORE = {
    "1,000 of 5,000 agree, 20 items": {10.0: 0.10526},
    "2,000 of 6,000 agree, 45 items": {10.0: 0.82155},
    "Dublin West": {10.0: 0.0},
    "45 items": {1.0: 0.23815},
    "28 items": {1.0: 0.1147},
    "60 items": {1.0: 0.30341},
    "Mallows .8, 40 items": dict(zip(EPSILONS, (5.30099, 0.62113, 0.05401, 0.00021, 0.0, 0.0), strict=True)),
    "Mallows .92, 25 items": dict(zip(EPSILONS, (8.82449, 4.39914, 0.71223, 0.09456, 0.01092, 0.0), strict=True)),
    "Plackett-Luce, 30 items": dict(zip(EPSILONS, (6.3263, 0.84077, 0.08973, 0.01455, 0.00195, 0.00061), strict=True)),
    "Plackett-Luce, 60 items": dict(zip(EPSILONS, (10.8375, 2.65207, 0.27471, 0.03686, 0.00462, 0.0008), strict=True)),
}


@lru_cache(maxsize=1)
def votes(ballots):
    """Return (profile, positions of a Kemeny order)."""
    found = ballots()
    profile = (found if isinstance(found, Profile) else Profile.from_rankings(found)).counted()
    return profile, kemeny_positions(profile)


def error(ballots, epsilon, seeds):
    """Return the mean error, in points."""
    profile, optimum = votes(ballots)
    fits = (DPSwissBorda(epsilon, random_state=seed).fit(profile).ranks_ for seed in seeds)
    return 100 * np.mean([excess_kendall_tau(ranks, profile, optimum=optimum) for ranks in fits])


@pytest.mark.parametrize("name", SPLIT)
def test_split_electorates_converge(name):
    assert error(SPLIT[name], 10.0, range(20)) <= 0.005


@pytest.mark.parametrize("name", MIXED)
def test_mixtures_have_half_of_the_former_error(name):
    assert error(MIXED[name], 1.0, range(20)) <= BEFORE[name][1.0] / 2


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", COHERENT)
def test_where_voters_agree_the_error_is_the_former_one(name, epsilon):
    before = BEFORE[name][epsilon]
    assert error(COHERENT[name], epsilon, range(60)) <= before + max(0.1 * before, 0.005)
