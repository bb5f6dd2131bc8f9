"""Seeds reproduce a fit, generators are read once, and the system's source is certified."""

import numpy as np
import pytest
from every_estimator import PRIVATE, RANDOM, X, seeded
from sklearn.base import clone

from sklearn_dprank.sampling.bit_source import seed_sequence


@pytest.mark.parametrize("estimator", RANDOM, ids=repr)
def test_seeds_reproduce(estimator):
    one, two = seeded(estimator, 5).fit(X), seeded(estimator, 5).fit(X)
    np.testing.assert_array_equal(one.consensus_, two.consensus_)
    again = one.fit(X)  # an int does not advance
    np.testing.assert_array_equal(again.consensus_, two.consensus_)


@pytest.mark.parametrize("estimator", RANDOM, ids=repr)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState], ids=["Generator", "RandomState"])
def test_generators_are_advanced_by_one_draw(estimator, make):
    used, twin = make(7), make(7)
    first = clone(estimator).set_params(random_state=used).fit(X)
    seed_sequence(twin)  # 128 bits, once
    assert used.random() == twin.random()
    again = clone(estimator).set_params(random_state=make(7)).fit(X)
    np.testing.assert_array_equal(first.consensus_, again.consensus_)


@pytest.mark.parametrize("estimator", PRIVATE, ids=repr)
def test_the_system_s_entropy_differs_and_is_certified(estimator):
    """Eight tied items: four equal orders among 8! would be a once-in-10^13 event."""
    flat = np.zeros((100, 8))
    system = [clone(estimator).fit(flat) for _ in range(4)]
    assert len({tuple(fitted.ranks_) for fitted in system}) > 1
    assert all(fitted.privacy_.certified for fitted in system)
    assert not seeded(estimator).fit(flat).privacy_.certified
    assert len({tuple(seeded(estimator, seed).fit(flat).ranks_) for seed in range(4)}) > 1
