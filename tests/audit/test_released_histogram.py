"""The noisy counts that DPHistogram publishes, audited by their exact law."""

import math

import numpy as np
import pytest
from audit_tools import noise_pmf, reach

from sklearn_dprank import DPHistogram
from sklearn_dprank.theory import hay, shang

RELEASES = {
    "laplace": DPHistogram(epsilon=0.8),
    "laplace, published": DPHistogram(epsilon=0.8, noise=hay.PrintedLaplace()),
    "gaussian": DPHistogram(0.5, 1e-3, "gaussian"),
    "gaussian, published": DPHistogram(0.5, 1e-3, shang.PrintedGaussian()),
    "gaussian, published, less noise": DPHistogram(1.5, 1e-2, shang.PrintedGaussian()),
}


def hidden_from(estimator, neighboring, epsilon=None):
    """(delta, what is stated): of the released counts where one voter's cell is one higher, and another one lower.

    All other cells have the same law, and a ballot that coins complete mixes these: no neighbour tells more.
    """
    channel, rule = estimator.set_params(neighboring=neighboring)._compose()
    plan = channel.plan(rule.asks(3), 3)
    [price] = plan.prices.values()
    far = reach(price.mechanism) + 1
    here = noise_pmf(price.mechanism, np.arange(-far, far + 1))
    there, back = np.append(0, here[:-1]), np.append(here[1:], 0)
    if neighboring == "replace":
        here, there = np.outer(here, here), np.outer(there, back)
    stated = plan.guarantee.epsilon if epsilon is None else epsilon
    return np.maximum(here - math.exp(stated) * there, 0).sum(), plan.guarantee


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("estimator", RELEASES.values(), ids=RELEASES)
def test_released_counts_keep_what_is_stated(estimator, neighboring):
    delta, guarantee = hidden_from(estimator, neighboring)
    assert delta <= guarantee.delta + 1e-12
    less, _ = hidden_from(estimator, neighboring, 0.9 * guarantee.epsilon)
    assert less > guarantee.delta + 1e-4  # and they keep little more: rounding to integers hides a bit
