"""Contract of randomizers: reading undoes sending, counts add up, client and curator sides match."""

import inspect
import json

import numpy as np
import pytest
from local_tools import parts

from sklearn_dprank import collection as randomizers
from sklearn_dprank.ballots.reading import compact_positions
from sklearn_dprank.collection import Randomizer, RefusedReport
from sklearn_dprank.collection.base import ReceivedReports, joined
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.randomizers import CLIENT_RANDOMIZERS
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import song, yan

X = np.random.default_rng(0).permuted(np.tile(np.arange(5.0), (40, 1)), axis=1)
X[::3, 2], X[1, :] = np.nan, np.nan
EVERY = [
    kind
    for kind in (getattr(randomizers, name) for name in randomizers.__all__)
    if inspect.isclass(kind) and issubclass(kind, Randomizer)
]
EVERY.remove(Randomizer)
EVERY += [song.PrintedGaussian, yan.PrintedLaplace]

every = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)


def drawn_by(kind, protocol, rows, seed):
    """What the devices of these ballots draw, each with bits of its own."""
    return [
        kind.client.draw(protocol, compact_positions(row[None]), Bits.from_random_state(1000 * seed + k))
        for k, row in enumerate(rows)
    ]


@every
def test_reading_a_message_restores_the_draw(kind):
    protocol = kind().protocol(2.0, 5)
    for drawn in drawn_by(kind, protocol, X, 0):
        message = {"protocol": digest(protocol), **kind.client.message(drawn)}
        read = kind.read(json.loads(json.dumps(message)), protocol)
        assert isinstance(read, tuple) == isinstance(drawn, tuple)
        for there, here in zip(parts(drawn), parts(read), strict=True):
            assert there.shape == here.shape and there.dtype.kind == here.dtype.kind
            np.testing.assert_array_equal(there, here)
        with pytest.raises(RefusedReport, match="wrong keys"):
            kind.read({**message, "name": "voter 7"}, protocol)


@every
def test_counts_are_sums_over_voters(kind):
    protocol = kind().protocol(2.0, 5)
    draws = drawn_by(kind, protocol, X, 1)
    together = kind.counts(joined(draws), protocol)
    assert together.dtype == np.int64
    np.testing.assert_array_equal(together, sum(kind.counts(drawn, protocol) for drawn in draws))
    np.testing.assert_array_equal(together, kind.counts(joined(draws[::-1]), protocol))


@every
def test_the_client_implementation_is_the_one_of_devices(kind):
    assert type(CLIENT_RANDOMIZERS[kind.name]) is type(kind.client)
    assert kind().protocol(1.0, 3)["randomizer"] == kind.name


@every
def test_voters_with_epsilons_of_their_own_are_combined(kind):
    """By the inverse of their variance, or side by side, where the decoder knows what a flip is worth."""
    low, high = (kind().protocol(epsilon, 5) for epsilon in (0.5, 4.0))
    groups = [
        ReceivedReports(protocol, kind.counts(joined(drawn_by(kind, protocol, rows, 2)), protocol), len(rows))
        for protocol, rows in ((low, X[:25]), (high, X[25:]))
    ]
    both, alone = kind().combined(groups), [kind().combined([said]) for said in groups]
    if isinstance(both, tuple):
        assert [tally.flip for tally in both] == [tally.flip for (tally,) in alone]
        assert sum(tally.wins.sum() for tally in both) == len(X)
    else:
        weights = [25 / kind.variance(low), 15 / kind.variance(high)]
        expected = (weights[0] * alone[0] + weights[1] * alone[1]) / sum(weights)
        np.testing.assert_allclose(both, expected, rtol=1e-12, atol=1e-12)
