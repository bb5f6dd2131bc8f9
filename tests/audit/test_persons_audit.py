"""Exact audits of persons and weights: what the consensus reveals about all ballots of one person together."""

from itertools import combinations

import numpy as np
import pytest
from audit_tools import law, worst_loss

from sklearn_dprank import DPBorda, DPKemenySampler, DPKwikSort, DPPrudentOrder, DPSwissBorda, DPTopK
from sklearn_dprank.ballots import Profile, weights
from sklearn_dprank.ballots.weights import PERSON

GRID = 2  # in place of 720720, so that all noise can be listed
EPSILON = 1.5
ESTIMATORS = [
    DPBorda(epsilon=EPSILON),
    DPKemenySampler(epsilon=EPSILON),
    DPPrudentOrder(epsilon=EPSILON),
    DPTopK(1, epsilon=EPSILON),
    DPKwikSort(epsilon=EPSILON),
]
OTHERS = [([0, 1, 2], 1.0), ([1, 0, 2], 1.0), ([2, 2, 0], 0.5)]  # each of another person
SAME = [  # ballots and weights of one person
    [([0, 1, 2], 0.0)],
    [([0, 1, 2], 9.0)],
    [([2, 1, 0], 1.0), ([2, 1, 0], 1.0)],
    [([0, 1, 2], 1.0), ([2, 1, 0], 1.0), ([1, 0, 2], 7.0)],
    [([1, 2, 0], 0.5), ([0, 0, np.nan], 2.0)],
]


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    monkeypatch.setattr(weights, "WEIGHT_GRID", GRID)


def profile(person, others, max_weight):
    rows = [*others, *person]
    groups = [*range(len(others)), *[99] * len(person)]
    return Profile.from_rankings(
        np.array([x for x, _ in rows], dtype=float).reshape(-1, 3),
        groups=groups,
        sample_weight=[w for _, w in rows],
        max_weight=max_weight,
    )


@pytest.mark.parametrize("max_weight", [1, 2.5])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("others", [OTHERS[:0], OTHERS], ids=["nobody", "three"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_a_person_loses_no_more_than_the_promise(estimator, others, neighboring, max_weight):
    estimator = estimator.set_params(neighboring=neighboring)
    profiles = [profile(person, others, max_weight) for person in SAME]
    laws = [law(estimator, one) for one in profiles]
    pairs = list(combinations(range(len(SAME)), 2))  # the first has no weight: a person who came or went
    if neighboring == "add_remove":
        pairs = [(0, k) for k in range(1, len(SAME))]
    guarantee = estimator.plan_for(profiles[0])[1].guarantee
    assert (guarantee.unit, guarantee.epsilon) == (PERSON, EPSILON)
    assert worst_loss(laws, pairs) <= EPSILON + 1e-6
    assert worst_loss(laws, pairs) > EPSILON / 5  # and the audit sees the person


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_swiss_rounds_pay_for_the_total_weight(neighboring):
    """It moves by the whole bound under both relations; the number of voters is public under "replace"."""
    swiss = DPSwissBorda(neighboring=neighboring)
    weighted = swiss.plan_for(profile(SAME[1], OTHERS, 1))[1]
    plain = swiss.plan_for(Profile.from_rankings([[0, 1, 2]]))[1]
    deviations = {
        type(price.query).__name__: (price.sensitivity.l1, price.mechanism.deviation)
        for price in weighted.prices.values()
    }
    assert deviations["NumberOfVoters"][0] == GRID and deviations["NumberOfVoters"][1] > 0
    free = next(price for price in plain.prices.values() if type(price.query).__name__ == "NumberOfVoters")
    assert (free.mechanism.deviation == 0) == (neighboring == "replace")
