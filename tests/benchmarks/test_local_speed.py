"""Randomised reports: against a loop over voters as the papers print it, linear in answers, and one device's time."""

from functools import partial
from time import process_time

import numpy as np
import pytest
from benchmark_tools import compare

from sklearn_dprank import LDPAdaptivePairs, LDPBorda, LDPPairwise, LDPQuickSort, ShuffleHierarchical
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import Local
from sklearn_dprank.collection import Device, RandomizedResponse, privunit
from sklearn_dprank.collection.pairs import PairsRandomizer, counted_wins
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import Ask, PairTallies
from sklearn_dprank.sampling.bit_source import Bits


@pytest.fixture(scope="module")
def crowd():
    return Profile.from_rankings(make_mallows(1_000_000, 45, 0.75, random_state=0))


# measured 14 to 16, 8, 5 and 3; room for a busy machine
@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 6), (0.5, 4), (1.0, 2.5), (2.0, 1.8)])
def test_hidden_pairs_against_devices_side_by_side(benchmark, crowd, epsilon, least):
    """All the tallies of a million voters at once, against every device's own draw."""
    protocol = RandomizedResponse().protocol(epsilon, 45)
    poll = Local(epsilon).plan([Ask(PairTallies())], 45).open(crowd)

    def devices():
        counted_wins(*PairsRandomizer().draw(protocol, crowd.positions, Bits.from_random_state(0)), 45)

    compare(benchmark, lambda: poll(Bits.from_random_state(0)), devices, at_least=least)


@pytest.mark.parametrize(
    "estimator", [LDPPairwise(), LDPPairwise(randomizer="djw"), LDPBorda()], ids=["rr", "djw", "privunit"]
)
def test_one_device(benchmark, estimator):
    """From the protocol and a ballot to a report, with the operating system's randomness."""
    protocol, ballot = estimator.protocol(45), list(range(45))
    benchmark.pedantic(lambda client: client.report(ballot), setup=lambda: ((Device(protocol),), {}), rounds=300)
    benchmark.extra_info["milliseconds"] = round(1000 * benchmark.stats.stats.median, 3)
    assert benchmark.stats.stats.median < 1e-3


@pytest.mark.parametrize(("n_voters", "m"), [(20_000, 45), (2500, 885)])
def test_directions_against_their_normals(benchmark, n_voters, m):
    """A noisy direction of every voter, from ballots to their sum, in a few times what its normal numbers take."""
    poll = LDPBorda().plan_for(Shape(m))[1].open(Profile.from_rankings(make_mallows(n_voters, m, 0.9, random_state=0)))
    bits, step = Bits.from_random_state(0).noise, privunit._BLOCK
    sizes = [min(step, n_voters * m - start) for start in range(0, n_voters * m, step)]

    def normals():
        return [privunit._normals(size, bits) for size in sizes]

    # measured 2.9; 2 where strict ballots need no sorting
    compare(benchmark, lambda: poll(Bits.from_random_state(0)), normals, at_most=6)


@pytest.fixture(scope="module")
def table():
    return make_mallows(1_000_000, 10, 0.8, random_state=0).astype(float)


def test_directions_against_numpy_s_normals(benchmark, table):
    """From a table of floats to a consensus, against as many normal numbers of NumPy's generator."""
    normals = partial(np.random.default_rng(0).standard_normal, table.size)
    compare(benchmark, partial(LDPBorda(random_state=0).fit, table), normals, at_most=2.5, rounds=3, clock=process_time)


@pytest.mark.parametrize(
    "estimator",
    [LDPAdaptivePairs(random_state=0), LDPQuickSort(random_state=0), ShuffleHierarchical(random_state=0)],
    ids=lambda e: type(e).__name__,
)
def test_a_million_answers_against_a_sum(benchmark, table, estimator):
    """A voter's random words, its place in a random order and one look at its ballot, against one sum of the table."""
    compare(benchmark, partial(estimator.fit, table), table.sum, at_most=15, rounds=5, clock=process_time)
