"""The example of streams: its noise is that of the package, its comparison is fair, and the gain is there."""

import math

import pytest

from sklearn_dprank import DPBorda, DPStreamingBorda
from sklearn_dprank.channels.streaming import root_weights
from sklearn_dprank.privacy import PrivacyGuarantee


@pytest.fixture(scope="module")
def made(example):
    return example("plot_streaming")


@pytest.mark.parametrize("days", [1, 7, 365])
def test_noise_is_that_of_the_package(made, days):
    weights = root_weights(days) / 2**16
    assert made.correlated(days) == pytest.approx(weights @ weights, rel=1e-3)
    assert made.a_fresh_release_a_day(days) == math.sqrt(days)
    assert made.binary_tree(1) == 1
    assert made.binary_tree(3) == pytest.approx(math.sqrt(2 * 4 / 3))  # two lengths; days 1, 10 and 11


def test_fresh_releases_have_the_budget_of_the_stream(made):
    each = made.fresh_releases(30).fit([[0, 1, 2]]).privacy_
    together = PrivacyGuarantee.compose([each] * 30, delta=made.DELTA)
    stream = DPStreamingBorda(made.EPSILON, made.DELTA, 30).fit([[0, 1, 2]]).privacy_
    assert together.epsilon == pytest.approx(stream.epsilon, rel=1e-6)
    assert isinstance(made.fresh_releases(30), DPBorda)


@pytest.mark.slow
def test_the_stream_is_nearer_on_the_way(made, example):
    votes = example("_shared").mallows(2000, 8, 0.25)
    found = made.excesses(votes, 20, 4)
    fresh, stream = found["a fresh release a day"], found["DPStreamingBorda"]
    assert fresh.shape == stream.shape == (len(made.watched(20)), 4)
    assert made.watched(20)[-1] == 20
    assert stream.mean() < 0.7 * fresh.mean()
