"""Exact audits of the peeled prudent order: the law of the whole order on neighbouring profiles, by enumeration."""

import numpy as np
import pytest
from audit_tools import law, neighbours, profile_of, profile_with, sampled_orders, worst_delta
from audited import PEELED
from oracles import distinct_ballots
from scipy import stats
from sklearn.base import clone

from sklearn_dprank import DPPrudentOrder

RELATIONS = ["add_remove", "replace"]
BASES = {
    "nobody": [],
    "unanimous": [[0, 1, 2]] * 3,
    "mixed": [[0, 1, 2], [0, 1, 2], [0, 0, 1], [np.nan, 1, 0]],
    "cycle": [[0, 1, 2], [1, 2, 0], [2, 0, 1]],
}
BASES_OF_FOUR = {"nobody": [], "unanimous": [[0, 1, 2, 3]] * 3, "cycle": [np.roll(range(4), k) for k in range(4)]}
CORNERS = np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 0, 1], [np.nan, 0, 1]])


def share_of_delta(estimator, base, ballots):
    """The exact delta at the stated epsilon, over the stated delta."""
    m = ballots.shape[1]
    profiles, pairs = neighbours(base, ballots, estimator.neighboring, m)
    channel, rule = estimator._compose()
    guarantee = channel.plan(rule.asks(m), m).guarantee
    assert (guarantee.epsilon, guarantee.delta) == (estimator.epsilon, estimator.delta)
    laws = [law(estimator, profile) for profile in profiles]
    assert all(abs(1 - each.sum()) < 1e-12 for each in laws)
    return worst_delta(laws, pairs, guarantee.epsilon) / guarantee.delta


def under(estimator, neighboring):
    """The estimator for a relation, with twice its epsilon for "replace"."""
    factor = {"add_remove": 1, "replace": 2}[neighboring]
    return clone(estimator).set_params(epsilon=factor * estimator.epsilon, neighboring=neighboring)


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("estimator", PEELED.values(), ids=PEELED)
def test_delta_never_exceeds_the_promise(estimator, base, neighboring):
    ballots = distinct_ballots(3) if neighboring == "add_remove" else CORNERS
    assert share_of_delta(under(estimator, neighboring), base, ballots) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("base", BASES_OF_FOUR.values(), ids=BASES_OF_FOUR)
@pytest.mark.parametrize("estimator", PEELED.values(), ids=PEELED)
def test_delta_on_four_items(estimator, base, neighboring):
    ballots = distinct_ballots(4)
    some = ballots if neighboring == "add_remove" else ballots[::5]
    assert share_of_delta(under(estimator, neighboring), base, some) <= 1


@pytest.mark.parametrize(("name", "least"), [("small epsilon", 0.95), ("epsilon 1", 0.85)])
def test_the_audit_is_tight(name, least):
    """So a little less noise would be seen."""
    assert share_of_delta(PEELED[name], BASES["unanimous"], distinct_ballots(3)) > least


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("others", [0, 3])
def test_a_person_loses_no_more_than_the_promise(others, neighboring):
    """Ballots of different weights, up to 2.5 votes of one person, on the real grid of weights."""
    persons = [
        [([0, 1, 2], 0.0)],
        [([0, 1, 2], 9.0)],
        [([2, 1, 0], 1.0), ([2, 1, 0], 1.5)],
        [([0, 1, 2], 1.0), ([2, 1, 0], 1.0), ([1, 0, 2], 7.0)],
        [([1, 2, 0], 0.5), ([0, 0, np.nan], 2.0)],
    ]
    profiles = [profile_with(person, [([0, 1, 2], 1.0)] * others, 2.5) for person in persons]
    estimator = under(PEELED["small epsilon"], neighboring)
    laws = [law(estimator, profile) for profile in profiles]
    pairs = [(0, k) for k in range(1, 5)]  # the first has no weight: a person who came or went
    if neighboring == "replace":
        pairs += [(1, 2), (1, 3), (2, 3), (2, 4)]
    assert worst_delta(laws, pairs, estimator.epsilon) <= estimator.delta
    assert worst_delta(laws, pairs, estimator.epsilon / 2) > estimator.delta  # and the audit sees the person


@pytest.mark.slow
def test_fits_follow_their_law():
    profile = profile_of([[0, 1, 2, 3]] * 4 + [[3, 0, 1, 2]] * 3 + [[0, 0, 1, np.nan]], 4)
    estimator = DPPrudentOrder(epsilon=1.0, delta=1e-2)
    seen = np.bincount(sampled_orders(estimator, profile, 4000, seed=5), minlength=24)
    assert stats.chisquare(seen, 4000 * law(estimator, profile)).pvalue > 1e-3
