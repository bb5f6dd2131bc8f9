"""Audits of segments: what all answers together reveal about a voter or a person, who may be in any segment."""

import math
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from audit_tools import knorm_cells
from audited import SEGMENTS
from oracles import distinct_ballots
from scipy import stats
from sklearn.base import clone

from sklearn_dprank import SegmentedAggregator
from sklearn_dprank.ballots import Profile, weights
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.channels.segmented import SegmentedProfile
from sklearn_dprank.mechanisms import GaussianNoise
from sklearn_dprank.privacy.composition import gaussian_delta

RELATIONS = ["add_remove", "replace"]
PLACES = [-1, 0, 1]  # no listed segment, the first, the second


def prices(estimator, profile):
    _, plan = estimator.plan_for(Shape(profile.n_items, profile.n_voters, bound=profile.bound))
    return plan.prices.values(), plan.guarantee


def scaled(estimator, profile):
    """The exact answers of a profile, each divided by the deviation of its noise."""
    found = []
    for price in prices(estimator, profile)[0]:
        assert isinstance(price.mechanism, GaussianNoise)
        found.append(price.query.vector(profile, None) / price.mechanism.sigma)
    return np.concatenate(found)


def worst_mu(answers, neighboring):
    """The largest distance of the answers that a voter or a person adds, in deviations of the noise."""
    if neighboring == "add_remove":
        return np.linalg.norm(answers, axis=1).max()
    return np.linalg.norm(answers[:, np.newaxis] - answers, axis=2).max()


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("name", ["pooled", "by themselves"])
def test_a_voter_tells_no_more_than_stated(name, neighboring):
    """Every weak and partial ballot in every place; a replaced voter may change the ballot, the place, or both."""
    estimator = clone(SEGMENTS[name]).set_params(neighboring=neighboring)
    profiles = [
        SegmentedProfile(Profile.from_rankings([ballot]), np.array([place]), 2)
        for ballot in distinct_ballots(3)
        for place in PLACES
    ]
    mu = worst_mu(np.array([scaled(estimator, profile) for profile in profiles]), neighboring)
    guarantee = prices(estimator, profiles[0])[1]
    assert (guarantee.epsilon, guarantee.delta) == (1.0, 1e-2)
    delta = gaussian_delta(guarantee.epsilon, 1.0, mu)
    assert delta <= guarantee.delta * (1 + 1e-9)
    tight = neighboring == "add_remove" or name == "by themselves"
    assert delta > (0.99 if tight else 0.8) * guarantee.delta  # a replaced voter changes sizes or twice the net wins


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("max_weight", [1, 2.5])
def test_a_person_in_several_segments_tells_no_more_than_stated(max_weight, neighboring, monkeypatch):
    """Every one or two of a few ballots of a person, in every place, of weights below and above the bound."""
    monkeypatch.setattr(weights, "WEIGHT_GRID", 2)
    estimator = clone(SEGMENTS["pooled"]).set_params(neighboring=neighboring)
    ballots = np.array([[0, 1, 2], [2, 1, 0], [0, 0, 1], [np.nan, 0, 1]])
    cases = [(pair, places, w) for pair in combinations_with_replacement(ballots, 2) for places, w in KINDS]
    profiles = []
    for pair, places, w in cases:
        whole = Profile.from_rankings(pair, groups=[7, 7], sample_weight=w, max_weight=max_weight)
        profiles.append(SegmentedProfile(whole, np.array(places), 2))
    answers = np.array([scaled(estimator, profile) for profile in profiles])
    guarantee = prices(estimator, profiles[0])[1]
    assert guarantee.unit == "all ballots of one person"
    delta = gaussian_delta(guarantee.epsilon, 1.0, worst_mu(answers, neighboring))
    assert 0.8 * guarantee.delta < delta <= guarantee.delta * (1 + 1e-9)


KINDS = list(product(product(PLACES, PLACES), [[1, 1], [0, 9], [9, 9]]))


def laws_of_segments(estimator, profile):
    """The law of the order of each segment, which has noise of its own."""
    (price,), _ = prices(estimator, profile)
    return np.array([knorm_cells(price.mechanism, part.net_wins)[0] for part in profile.parts])


BASE, BASE_PLACES = [[0, 1, 2], [1, 0, 2], [2, 1, 0]], [0, 0, 1]


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_knorm_orders_of_all_segments_tell_no_more_than_epsilon(neighboring):
    estimator = clone(SEGMENTS["K-norm"]).set_params(neighboring=neighboring)
    ballots = [[0, 1, 2], [2, 1, 0], [np.nan, 0, 1]]
    profiles = [
        SegmentedProfile(Profile.from_rankings([*BASE, ballot]), np.array([*BASE_PLACES, place]), 2)
        for ballot, place in product(ballots, PLACES)
    ]
    nobody = SegmentedProfile(Profile.from_rankings(BASE), np.array(BASE_PLACES), 2)
    laws = [np.log(laws_of_segments(estimator, profile)) for profile in [*profiles, nobody]]
    pairs = combinations(range(len(profiles)), 2)
    if neighboring == "add_remove":
        pairs = [(k, len(profiles)) for k in range(len(profiles))]
    worst = max(np.abs(laws[a] - laws[b]).max(axis=1).sum() for a, b in pairs)
    assert 0.9 < worst <= 1 + 1e-9 == prices(estimator, nobody)[1].epsilon + 1e-9


@pytest.mark.slow
def test_a_fit_draws_the_orders_of_segments_by_the_audited_law():
    """Jointly: the noise of two segments is independent."""
    estimator = SEGMENTS["K-norm"]
    one, other = laws_of_segments(estimator, SegmentedProfile(Profile.from_rankings(BASE), np.array(BASE_PLACES), 2))
    orders = [tuple(order) for order in np.array(list(product(range(3), repeat=3))) if len(set(order)) == 3]
    seen = np.zeros((6, 6))
    labels = [["a", "b"][place] for place in BASE_PLACES]
    for seed in range(1500):
        first, second = clone(estimator).set_params(random_state=seed).fit(BASE, segments=labels).consensus_
        seen[orders.index(tuple(first)), orders.index(tuple(second))] += 1
    assert stats.chisquare(seen.ravel(), 1500 * np.outer(one, other).ravel()).pvalue > 1e-3


def test_pooling_pays_for_segments_total_and_sizes():
    paid = [
        float(price.sensitivity.l2_squared) / price.mechanism.sigma**2
        for price in prices(SegmentedAggregator(["a", "b"]), Profile.from_rankings(BASE))[0]
    ]
    assert np.array(paid) / math.fsum(paid) == pytest.approx([0.8, 0.15, 0.05])
