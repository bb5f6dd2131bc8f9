"""What a fit tells of hidden pairs, drawn at once: the exact law of what devices report, and what it gives away."""

import json
import math
from collections import Counter
from functools import lru_cache, reduce
from itertools import product

import numpy as np
import pytest
from audit_tools import profile_of
from local_tools import law_of, worst_ratio
from oracles import rankings
from scipy.stats import chi2_contingency

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Local, Shuffle, shuffle
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
def test_three_voters_have_the_law_of_devices():
    ballots = [KINDS[0], KINDS[0], KINDS[3]]
    plan = Local(1.0).plan(ASKS, 3, 3)
    assert fitted_law(plan, ballots) == pytest.approx(field_law(plan, ballots), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("ballots", [KINDS[1:2], KINDS[3:4], pytest.param(KINDS[2:4], marks=pytest.mark.slow)], ids=str)
def test_two_messages_of_each_voter(ballots):
    plan = Shuffle(local_epsilon=2.0, delta=0.05, n_queries=2).plan(ASKS, 3, len(ballots))
    assert fitted_law(plan, ballots) == pytest.approx(field_law(plan, ballots), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS.values(), ids=list(CHANNELS))
def test_no_two_ballots_are_further_apart_than_a_device_keeps_them(channel):
    plan = channel.plan(ASKS, 3, 1)
    laws = [fitted_law(plan, [ballot]) for ballot in KINDS]
    flip = plan.protocol["flip"][0]
    assert worst_ratio(laws) == pytest.approx(math.log((FLIP_GRID - flip) / flip), rel=1e-9)
    others = [fitted_law(channel.plan(ASKS, 3, 2), [ballot, [2, 1, 0]]) for ballot in KINDS]
    assert worst_ratio(others) <= math.log((FLIP_GRID - flip) / flip) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    "others",
    [
        [[0, 1, 2], [2, 1, 0]],
        pytest.param([[0, 1, 2]] * 2, marks=pytest.mark.slow),
        pytest.param([[0, 0, 0], [1, 0, 2]], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_crowd_hides_each_voter_as_promised(others):
    plan = Shuffle(local_epsilon=1.0, delta=0.1).plan(ASKS, 3, 3)
    promise = plan.guarantee
    assert promise.epsilon < 0.95
    laws = [fitted_law(plan, [ballot, *others]) for ballot in rankings(3)[::5]]
    keys = sorted(set().union(*laws))
    one, other = np.array([[law.get(key, 0.0) for key in keys] for law in laws])
    worst = max(np.maximum(p - math.exp(promise.epsilon) * q, 0).sum() for p, q in ((one, other), (other, one)))
    assert 0.03 < worst <= promise.delta


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


def test_what_is_reported_is_what_devices_draw(monkeypatch):
    """Devices, and randomizers with a half of their own, never come here; nor do several pairs, nor assigned ones."""

    def refuse(*_):
        raise AssertionError("drawn at once")

    for module in (hidden, shuffle):
        monkeypatch.setattr(module, "hidden_wins", refuse)
    X = [[0, 1, 2, 3]] * 40
    Device(LDPPairwise(1.0).protocol(4)).report(X[0])
    LDPPairwise(1.0, n_queries=2).fit(X)
    ShufflePairwise(local_epsilon=1.0, pairs="assigned").fit(X)

    class Own(PairsRandomizer):
        """A client implementation that answers about the first pair only."""

        def draw(self, protocol, ballots, bits):
            first, second, answers = super().draw(protocol, ballots, bits)
            return np.zeros_like(first), np.ones_like(second), answers

    class First(RandomizedResponse):
        name, client = "first", Own()

    tallies = First().simulated(First().protocol(1.0, 4), Profile.from_rankings(X).positions, Bits.from_random_state(0))
    assert tallies[:2, :2].sum() == tallies.sum() == 40
    with pytest.raises(AssertionError, match="drawn at once"):
        LDPPairwise(1.0).fit(X)
    with pytest.raises(AssertionError, match="drawn at once"):
        ShufflePairwise(local_epsilon=1.0).fit(X)
