"""What is asked before a poll: no longer than one simulation of it, and no longer for many voters."""

from functools import partial

import pytest
from benchmark_tools import compare

from sklearn_dprank import DPBorda
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import recommend
from sklearn_dprank.privacy import shuffle_amplification


@pytest.mark.parametrize("trust", ["central", "local", "shuffle", "secure_aggregation"])
def test_a_recommendation_against_a_simulated_poll(benchmark, trust):
    def simulated():
        DPBorda(epsilon=0.234).fit(make_mallows(10_000, 45, 0.9))

    recommend(45, 1000, 0.1, 1e-6, trust)  # reads the curves, once
    compare(benchmark, partial(recommend, 45, 1234.0, 0.234, 1e-6, trust, disagreement=0.3), simulated, at_most=1)


def test_a_large_shuffle_against_a_small_one(benchmark):
    small, large = (partial(shuffle_amplification, 1.0, n, 1e-6) for n in (10**4, 10**8))
    compare(benchmark, large, small, at_most=60)
