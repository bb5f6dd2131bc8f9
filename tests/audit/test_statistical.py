"""Statistical audits: a lower bound on epsilon from samples, for laws that are not enumerated here."""

import math

import numpy as np
import pytest
from audit_tools import clopper_pearson, epsilon_lower_bound, profile_of, sampled_orders
from scipy import stats

from sklearn_dprank import DPBorda
from sklearn_dprank.queries import NetWins

SIZE = 8000
OPPOSED = profile_of([[0, 1, 2]], 3), profile_of([[2, 1, 0]], 3)


def bound(estimator, seed):
    """The lower bound over two single voters who disagree on everything: neighbours by replacement."""
    samples = [sampled_orders(estimator, profile, SIZE, seed + k) for k, profile in enumerate(OPPOSED)]
    return epsilon_lower_bound(*samples, delta=estimator.delta)


@pytest.mark.parametrize("size", [1, 10, 60])
def test_clopper_pearson_covers(size):
    """Over all counts, weighted by their probabilities, the interval misses no more often than it may."""
    for p in (0.0, 0.01, 0.3, 0.5, 0.97, 1.0):
        counts = np.arange(size + 1)
        intervals = [clopper_pearson(int(k), size, 0.95) for k in counts]
        missed = [not low <= p <= high for low, high in intervals]
        assert stats.binom.pmf(counts, size, p) @ missed <= 0.05 + 1e-12


def test_bound_of_randomised_response():
    """Two outputs with ratio e^2: the bound comes close from below; twins give 0."""
    rng = np.random.default_rng(0)
    keep = math.exp(2) / (1 + math.exp(2))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first, second = rng.random((2, 20_000)) < np.array([[keep], [1 - keep]])
        assert 1.8 < epsilon_lower_bound(first.astype(int), second.astype(int)) <= 2
        assert epsilon_lower_bound(first[::2].astype(int), first[1::2].astype(int)) < 0.05


def test_bound_allows_for_delta():
    """Outputs that give the ballot away with probability delta only break no promise of that delta."""
    rng = np.random.default_rng(1)
    first = np.where(rng.random(20_000) < 0.02, 2, 0)
    second = np.zeros(20_000, dtype=int)
    assert epsilon_lower_bound(first, second, delta=0.02) < 0.3
    assert epsilon_lower_bound(first, second, delta=0.0) > 2.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", [{"noise": "knorm"}, {"noise": "gaussian", "delta": 1e-3}, {"noise": "laplace"}], ids=lambda p: p["noise"]
)
def test_samples_do_not_contradict_the_promise(noise):
    estimator = DPBorda(epsilon=1.0, neighboring="replace", **noise)
    assert bound(estimator, seed=100) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["knorm", "gaussian"])
def test_a_sensitivity_forgotten_is_caught(noise, monkeypatch):
    """Net wins taken to move by a quarter of what they move by."""
    honest = NetWins.sensitivity

    def wrong(self, n_items, neighboring):
        found = honest(self, n_items, neighboring)
        return found._replace(gauge=found.gauge / 4, l2_squared=found.l2_squared / 16)

    monkeypatch.setattr(NetWins, "sensitivity", wrong)
    estimator = DPBorda(epsilon=1.0, delta=1e-3 if noise == "gaussian" else 0.0, noise=noise, neighboring="replace")
    assert bound(estimator, seed=200) > 1.2
