"""The weight of a lying voter, against attacks on each randomizer and all reports that a curator accepts."""

import math
from itertools import product

import numpy as np
import pytest

from sklearn_dprank import LDPBorda, LDPPairwise, LDPQuickSort, SecAggBorda, SecAggSwissBorda, ShufflePairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.collection import HypercubeSampling, PrivUnitG, RandomizedResponse, RefusedProtocol
from sklearn_dprank.collection.pairs import public_pairs
from sklearn_dprank.collection.privunit import PER_UNIT
from sklearn_dprank.queries import n_pairs
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import yan
from sklearn_dprank.theory.cheu import liar_weight

SEED = "5eed" * 8


def assigned(epsilon, n_voters=9, **options):
    return LDPPairwise(epsilon, pairs="assigned", n_voters=n_voters, assignment_seed=SEED, **options)


def supporters(n_voters, m, seed=0):
    """Ballots that rank item 0 first and the others at random."""
    others = np.random.default_rng(seed).permuted(np.tile(np.arange(1, m), (n_voters, 1)), axis=1)
    return Profile.from_rankings(np.column_stack([np.zeros(n_voters, dtype=int), others])).positions


def lifted(randomizer, counts, n_reports, protocol):
    """The estimated net wins of item 0 from counts, summed over the reports; linear in the counts."""
    if protocol["randomizer"] in ("rr", "laplace"):
        gain = 1 - 2 * protocol["flip"][0] / protocol["flip"][1]
        unit = n_pairs(len(protocol["items"])) / (protocol["n_queries"] * gain)
        return unit * (counts[0].sum() - counts[:, 0].sum())
    estimate = n_reports * randomizer.estimate(counts, n_reports, protocol)
    return estimate[0] if estimate.ndim == 1 else estimate[0].sum()


def best_lie(protocol, m):
    """The counts of one report that lifts item 0 most."""
    if protocol["randomizer"] == "hypercube":
        return np.triu_indices(m, 1)[0] == 0
    if protocol["randomizer"] == "privunit":
        lie = np.where(np.arange(m) == 0, m - 1, -1) / math.sqrt(m * (m - 1))
        return np.rint(protocol["norm"] * PER_UNIT * lie).astype(np.int64)
    counts = np.zeros((m, m), dtype=np.int64)
    counts[0, 1 : 1 + min(protocol["n_queries"], m - 1)] = 1
    return counts


@pytest.mark.parametrize(
    ("randomizer", "epsilon", "m"),
    [
        (RandomizedResponse(), 1.0, 5),
        (RandomizedResponse(3), 3.0, 5),
        (RandomizedResponse(5), 9.0, 4),  # more answers than pairs with the item
        (yan.PrintedLaplace(), 2.0, 6),
        (HypercubeSampling(), 2.0, 5),
        (PrivUnitG(), 2.0, 6),
    ],
    ids=str,
)
def test_a_lie_weighs_as_many_honest_supporters(randomizer, epsilon, m):
    protocol, n_voters = randomizer.protocol(epsilon, m), 40_000
    counts = randomizer.simulated(protocol, supporters(n_voters, m), Bits.from_random_state(1))
    honest = lifted(randomizer, counts, n_voters, protocol) / n_voters
    assert honest == pytest.approx(m - 1, rel=0.05)  # unbiased
    lie = lifted(randomizer, best_lie(protocol, m), 1, protocol)
    assert lie / (m - 1) == pytest.approx(liar_weight(protocol), rel=2e-3)


@pytest.mark.parametrize(("m", "k"), [(5, 1), (5, 3)])
def test_liars_on_assigned_pairs(m, k):
    """Each answers its own pairs: item 0 wins all its pairs."""
    protocol, free = assigned(1.0, 4000, n_queries=k).protocol(m), RandomizedResponse(k).protocol(1.0, m)
    first, _ = public_pairs(protocol, range(4000))
    counts = np.zeros((m, m))
    counts[0, 1] = (first == 0).sum()  # item 0 is first in each of its pairs
    lie = lifted(RandomizedResponse(k), counts, 4000, free) / 4000
    assert lie / (m - 1) == pytest.approx(liar_weight(protocol), rel=0.03)
    assert liar_weight(protocol) == pytest.approx(1 / math.tanh(0.5 / k), rel=1e-12)


def test_no_accepted_report_lifts_an_item_more():
    for k in (1, 2, 3):
        protocol = RandomizedResponse(k).protocol(1.0, 3)
        pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
        effects = []
        for report in product(pairs, repeat=k):
            if len({frozenset(pair) for pair in report}) == k:  # distinct pairs
                counts = np.zeros((3, 3))
                for winner, loser in report:
                    counts[winner, loser] += 1
                effects.append(lifted(RandomizedResponse(k), counts, 1, protocol))
        assert max(effects) / 2 == pytest.approx(liar_weight(protocol), rel=1e-12)
    cube = HypercubeSampling().protocol(1.0, 3)
    effects = [lifted(HypercubeSampling(), np.array(signs), 1, cube) for signs in product((0, 1), repeat=3)]
    assert max(effects) / 2 == pytest.approx(liar_weight(cube), rel=1e-12)
    vector = PrivUnitG().protocol(1.0, 4)
    reports = np.random.default_rng(0).normal(size=(1500, 4)) * 10**6
    reports = np.rint(reports - reports.mean(axis=1, keepdims=True)).astype(np.int64)
    effects = [lifted(PrivUnitG(), PrivUnitG.counts(report[None], vector), 1, vector) for report in reports]
    assert 0.98 * liar_weight(vector) < max(effects) / 3 <= liar_weight(vector) * (1 + 1e-3)


def test_known_answers():
    assert liar_weight(LDPPairwise(1.0).protocol(2)) == pytest.approx(1 / math.tanh(0.5))
    assert liar_weight(LDPPairwise(2.0).protocol(20)) == pytest.approx(10 / math.tanh(1.0))
    assert liar_weight(assigned(2.0).protocol(20)) == pytest.approx(1 / math.tanh(1.0))
    shuffled = [
        ShufflePairwise(local_epsilon=2.0, n_queries=2, min_reports=900, pairs=p) for p in ("hidden", "assigned")
    ]
    hidden, own = (liar_weight(estimator.protocol(6)) for estimator in shuffled)
    assert own == pytest.approx(1 / math.tanh(0.5), rel=1e-6) and hidden == pytest.approx(3 * own)
    assert liar_weight(SecAggBorda(min_reports=99).protocol(5)) == math.inf
    assert liar_weight(SecAggSwissBorda(min_reports=99).protocol(12)) == math.inf


@pytest.mark.parametrize("make", [LDPPairwise, assigned, LDPBorda, lambda e: LDPPairwise(e, randomizer="djw")])
def test_more_epsilon_makes_a_lie_lighter(make):
    weights = [liar_weight(make(epsilon).protocol(8)) for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)]
    assert weights == sorted(weights, reverse=True) and weights[-1] > 0.99
    assert weights[0] == pytest.approx(5 * weights[1], rel=0.05)  # about 1 / epsilon


def test_protocols_without_weight_are_refused():
    with pytest.raises(ValueError, match="devices that report once, got randomizer='rr-interactive'"):
        liar_weight(LDPQuickSort().protocol(5))
    with pytest.raises(RefusedProtocol):
        liar_weight({**LDPPairwise().protocol(5), "flip": [0, 2**52]})
