"""What randomizers read from ballots, against the obvious."""

import numpy as np
import pytest
from oracles import naive_counts

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection.base import net_wins


def read(function, X, *rest):
    positions = Profile.from_rankings(X).positions
    return function(positions.table, positions.sentinel, *rest)


@pytest.mark.parametrize("m", [2, 5, 70, 300])
def test_net_wins_of_strict_voters_together_are_those_of_each(m):
    """One by one they are sorted; in memory, too, they lie as sorting leaves them, because sums of floats follow."""
    X = np.random.default_rng(m).permuted(np.tile(np.arange(m), (6, 1)), axis=1)
    together = read(net_wins, X)
    assert np.array_equal(together, np.vstack([read(net_wins, X[v : v + 1]) for v in range(6)]))
    tied = X.copy()
    tied[0, :2] = 0
    like = read(net_wins, tied)
    assert (together.dtype, together.strides) == (like.dtype, like.strides)
    assert np.array_equal(together[1:], like[1:])


def test_net_wins_of_few_voters_who_are_not_strict():
    X = np.random.default_rng(0).permuted(np.tile(np.arange(5.0), (40, 1)), axis=1)
    X[[3, 20]] = [[0, 0, 1, 2, np.nan], [np.nan] * 5]
    expected = [(naive_counts([x]) - naive_counts([x]).T).sum(axis=1) for x in X]
    assert np.array_equal(read(net_wins, X), expected)
