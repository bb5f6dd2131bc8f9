"""What a fit tells of hidden pairs, drawn at once: the exact law of what devices report, and what it gives away."""

import json
import math
from collections import Counter
from functools import lru_cache, reduce
from itertools import product

import numpy as np
import pytest
from audit_tools import profile_of
from local_tools import law_of
from scipy.stats import chi2_contingency

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Local, Shuffle
from sklearn_dprank.collection import Device, RandomizedResponse, pairs as hidden
from sklearn_dprank.collection.pairs import PairsRandomizer, counted_wins, hidden_wins
from sklearn_dprank.collection.protocol import FLIP_GRID
from sklearn_dprank.queries import Ask, PairTallies
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import song, yan

NAN = np.nan
KINDS = [[0, 1, 2], [2, 1, 0], [1, 0, 1], [NAN, 0, 1], [NAN, NAN, NAN], [5, NAN, NAN], [0, 7, 7]]
ASKS = [Ask(PairTallies())]
PRINTED = song.PrintedGaussian(1e-3)
CHANNELS = {
    "local": Local(1.0),
    "local, nearly truthful": Local(6.0),
    "local, Laplace": Local(1.0, yan.PrintedLaplace()),
    "local, published": Local(2.0, PRINTED),
    "shuffle": Shuffle(local_epsilon=1.5, delta=0.05),
    "shuffle, published": Shuffle(local_epsilon=1.5, delta=0.05, randomizer=PRINTED),
}


def fitted_law(plan, ballots):
    """The law of the tallies that a fit has, {JSON text of the wins: probability}: the whole path, every branch."""
    poll = plan.open(profile_of(ballots, 3))

    def run():
        (tallies,) = poll(Bits.from_random_state()).answer(PairTallies())
        return tallies.wins.tolist()

    return law_of(run, plan.protocol["flip"][0])


@lru_cache(maxsize=128)
def device_law(protocol, ballot):
    """The law of the wins in the report, or in the messages, of one device."""
    protocol, law = json.loads(protocol), Counter()
    run = lambda: Device(protocol).report(list(ballot))  # noqa: E731
    for text, chance in law_of(run, protocol["flip"][0]).items():
        sent, wins = json.loads(text), np.zeros((3, 3), dtype=int)
        for message in (
            sent["messages"] if "messages" in sent else [{"pair": sent["pairs"][0], "answer": sent["answers"][0]}]
        ):
            i, j = message["pair"] if message["answer"] else message["pair"][::-1]
            wins[i, j] += 1
        law[tuple(wins.ravel().tolist())] += chance
    return law


def added(first, second):
    total: Counter = Counter()
    for (one, p), (two, q) in product(first.items(), second.items()):
        total[tuple(a + b for a, b in zip(one, two, strict=True))] += p * q
    return total


def field_law(plan, ballots):
    """The law of the tallies of devices that report independently."""
    protocol = json.dumps(plan.protocol)
    total = reduce(added, [device_law(protocol, tuple(ballot)) for ballot in ballots])
    return {json.dumps(np.reshape(wins, (3, 3)).tolist()): p for wins, p in total.items()}


@pytest.mark.parametrize("ballots", [KINDS[:2], KINDS[2:4], KINDS[4:6], KINDS[6:]], ids=str)
@pytest.mark.parametrize("channel", CHANNELS.values(), ids=list(CHANNELS))
def test_a_fit_has_the_law_of_devices(channel, ballots):
    plan = channel.plan(ASKS, 3, len(ballots))
    fitted, field = fitted_law(plan, ballots), field_law(plan, ballots)
    assert sum(fitted.values()) == pytest.approx(1)
    assert fitted == pytest.approx(field, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("ballots", [KINDS[1:2], KINDS[3:4], pytest.param(KINDS[2:4], marks=pytest.mark.slow)], ids=str)
def test_two_messages_of_each_voter(ballots):
    plan = Shuffle(local_epsilon=2.0, delta=0.05, n_queries=2).plan(ASKS, 3, len(ballots))
    assert fitted_law(plan, ballots) == pytest.approx(field_law(plan, ballots), rel=1e-9)


def mixed(n, m, seed):
    """Ballots of every kind: strict, tied, with gaps, silent, and a bloc that agrees."""
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(float(m)), (n, 1)), axis=1)
    X[: n // 2] = np.arange(m)
    X[::5, 2], X[1::5, 3], X[2::5] = NAN, X[1::5, 0], 1.0
    return X


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("layout", ["rows", "columns", "pieces"])
def test_a_large_crowd(layout, epsilon):
    """Beyond what can be enumerated, where counts are Poisson numbers: cell by cell, as devices side by side."""
    m, n = 5, 20_000
    ballots = Profile.from_rankings(mixed(n, m, 1)).positions
    if layout != "rows":
        table = np.asfortranarray(ballots.table) if layout == "columns" else np.repeat(ballots.table, 2, axis=1)[:, ::2]
        ballots = ballots._replace(table=table)
    protocol = RandomizedResponse().protocol(epsilon, m)
    many, cells = 40, ~np.eye(m, dtype=bool)
    at_once = sum(hidden_wins(protocol, ballots, Bits.from_random_state(k)) for k in range(many))
    one_by_one = sum(
        counted_wins(*PairsRandomizer().draw(protocol, ballots, Bits.from_random_state(10_000 + k)), m)
        for k in range(many)
    )
    assert at_once.sum() == one_by_one.sum() == many * n and at_once.dtype == one_by_one.dtype == np.int64
    assert chi2_contingency([at_once[cells], one_by_one[cells]]).pvalue > 1e-3


@pytest.mark.slow
def test_a_large_crowd_varies_as_devices_do():
    """The number of wins of the bloc's pair has the binomial's variance, not that of answers drawn apart."""
    n, protocol = 8000, RandomizedResponse().protocol(1.0, 3)
    ballots = Profile.from_rankings([[0, 1, 2]] * n).positions
    wins = np.array([hidden_wins(protocol, ballots, Bits.from_random_state(k)) for k in range(800)])
    truth = 1 - protocol["flip"][0] / FLIP_GRID
    for cell, chance in {(0, 1): truth / 3, (2, 1): (1 - truth) / 3}.items():
        drawn = (wins[:, *cell] - n * chance) / math.sqrt(n * chance * (1 - chance))
        assert abs(drawn.mean()) < 4 / math.sqrt(800) and 0.81 < drawn.var() < 1.21


@pytest.mark.parametrize("block", [1, 7, 64])
def test_in_blocks(monkeypatch, block):
    monkeypatch.setattr(hidden, "_HIDDEN_BLOCK", block)
    ballots = Profile.from_rankings([[0, 1, 2]] * 500).positions
    protocol = Shuffle(local_epsilon=40.0, n_queries=2, min_reports=500).plan(ASKS, 3).protocol
    wins = hidden_wins(protocol, ballots, Bits.from_random_state(0))
    assert wins.sum() == 1000 and np.count_nonzero(np.triu(wins, 1)) == 3 and not np.tril(wins).any()
