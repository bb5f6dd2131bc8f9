"""Any channel with any rule, and what is neither."""

from fractions import Fraction

import numpy as np
import pytest

from sklearn_dprank import (
    Aggregator,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    LDPAdaptivePairs,
    LDPBorda,
    LDPGroupKwikSort,
    LDPPairwise,
    LDPQuickSort,
    ShuffleHierarchical,
    ShufflePairwise,
)
from sklearn_dprank.channels import Central, Exact, Local
from sklearn_dprank.rules import KemenyRule

BALLOTS = [[0, 1, 2]] * 5


@pytest.mark.parametrize("channel", [Central, Exact, Local])
def test_a_class_in_place_of_a_channel(channel):
    with pytest.raises(ValueError) as error:
        Aggregator(channel).fit(BALLOTS)
    name = channel.__name__
    assert str(error.value) == f"channel must be a channel object, got the class {name}; use channel={name}()."


def test_a_class_in_place_of_a_rule():
    with pytest.raises(ValueError, match=r"got the class KemenyRule; use rule=KemenyRule\(\)\.$"):
        Aggregator(rule=KemenyRule).fit(BALLOTS)


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [DPBorda, DPHistogram, DPKwikSort, DPPairwise, DPKemenySampler, DPPrudentOrder, LDPPairwise, LDPBorda, LDPQuickSort]
    + [LDPGroupKwikSort, LDPAdaptivePairs, ShufflePairwise, ShuffleHierarchical],
)
def test_epsilon_and_delta_of_every_kind(estimator):
    """Fractions and single precision are numbers too, and never understated; what is too small is named."""
    for epsilon in (Fraction(1, 3), np.float32(0.3), 1):
        stated = estimator(epsilon=epsilon, random_state=0).fit(BALLOTS).privacy_.epsilon
        assert type(stated) is float and stated == pytest.approx(float(epsilon), rel=1e-12)
    with pytest.raises(ValueError, match=r"^epsilon is too small for the arithmetic, got 5e-324; use at least 1e-09"):
        estimator(epsilon=5e-324).fit(BALLOTS)
    if "noise" in estimator().get_params():
        for delta in (Fraction(1, 10**6), np.float32(1e-6)):
            promise = estimator(delta=delta, noise="gaussian", random_state=0).fit(BALLOTS).privacy_
            assert type(promise.delta) is float and promise.delta >= delta
        with pytest.raises(
            ValueError, match=r"^delta is too small for the arithmetic, got 1e-201; use at least 1e-200, or 0"
        ):
            estimator(delta=1e-201, noise="gaussian").fit(BALLOTS)
