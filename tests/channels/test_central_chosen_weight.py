"""Fits that choose the bound on weights: what they choose, what that costs, what they publish, and who refuses."""

import pickle
import pickletools
from math import sqrt

import numpy as np
import pytest
from accuracy_tools import mallows_people
from hypothesis import given, strategies as st
from sklearn.base import clone

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    DPSwissBorda,
    DPTopK,
    Kemeny,
    SegmentedAggregator,
)
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import PERSON, WEIGHT_GRID
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy import gaussian_sigma, guarantee_of
from sklearn_dprank.queries import Ask, NetWins, PersonsByWeight
from sklearn_dprank.queries.scores import chosen_max_weight
from sklearn_dprank.rules import SortByScore
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import shang

WHO = mallows_people(400, 30, seed=0)[1]
X = make_mallows(len(WHO), 5, 0.7, center=range(5), random_state=0)
PERSONS = Profile.from_rankings(X, groups=WHO, max_weight="auto")
GAUSSIAN = {"noise": "gaussian", "delta": 1e-6}
ESTIMATORS = [
    DPBorda(**GAUSSIAN),
    DPBorda(**GAUSSIAN, neighboring="replace"),
    DPSwissBorda(),
    DPSwissBorda(neighboring="replace"),
    DPHistogram(**GAUSSIAN),
    DPPairwise(**GAUSSIAN),
    DPKwikSort(**GAUSSIAN),
    Aggregator(Central(**GAUSSIAN), "plurality"),
    Aggregator(Central(**GAUSSIAN), "bradley_terry"),
]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
BOUNDS = [2**k for k in range(12)]


# The choice


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ([0] * 12, 1),
        ([10**9] + [0] * 11, 1),
        ([0, 59, 0], 1),
        ([0, 60, 0], 2),
        ([0, 0, 0, 103, 0], 1),  # three classes together need 60 sqrt(3)
        ([0, 0, 0, 104, 0], 8),
        ([0, 60, 60, 0], 4),
        ([0, 60, -500, 60], 2),
        ([0, 60, 60, -500], 4),  # the sum may end before a class that noise makes negative
        ([0, 30, 55, 0], 2),
        ([0, 60, 0, 60, 0, 0], 2),
        ([0] + [60] * 11, 2048),
        ([0] * 11 + [10**4], 2048),
    ],
)
def test_known_choices(counts, chosen):
    assert chosen_max_weight(np.array(counts), deviation=20.0) == chosen


@given(counts=st.lists(st.integers(-(10**6), 10**6), min_size=12, max_size=12), deviation=st.floats(1e-3, 1e5))
def test_a_choice_is_a_power_of_two_and_meets_its_definition(counts, deviation):
    chosen = chosen_max_weight(np.array(counts), deviation)
    assert chosen in BOUNDS
    enough = [
        any(sum(counts[k:end]) >= 3 * deviation * sqrt(end - k) for end in range(k + 1, 13)) for k in range(1, 12)
    ]
    assert chosen == 2 ** [*enough, False].index(False)


def test_every_choice_has_noise():
    """Counts on the limit are chosen in about half of all releases, by the law of the noise."""
    plan = DPBorda(**GAUSSIAN).plan_for(PERSONS)[1]
    deviation = plan.prices["max_weight"].mechanism.deviation
    n_persons = round(3 * deviation)
    heavy = Profile.from_rankings(np.zeros((n_persons, 5)), sample_weight=np.full(n_persons, 2.0), max_weight="auto")
    poll = DPBorda(**GAUSSIAN).plan_for(heavy)[1].open(heavy)
    chosen = np.array([poll(Bits.from_random_state(seed)).published["max_weight"] for seed in range(60)])
    noise = np.random.default_rng(0).normal(heavy.persons_by_weight, deviation, (1000, 12))
    expected = np.mean([chosen_max_weight(counts, deviation) > 1 for counts in noise])
    assert 0.4 < expected < 0.7
    assert abs((chosen > 1).mean() - expected) < 4 * sqrt(0.25 / 60)


@every
def test_the_choice_and_the_counts_are_those_of_the_data(estimator):
    """With little noise: 300 persons with one ballot, 200 with four and one with 200."""
    n_ballots = [1] * 300 + [4] * 200 + [200]
    rows = np.tile([[0, 1, 2]], (sum(n_ballots), 1))
    profile = Profile.from_rankings(rows, groups=np.repeat(range(501), n_ballots), max_weight="auto")
    prefix = "channel__" if isinstance(estimator, Aggregator) else ""
    fitted = clone(estimator).set_params(**{f"{prefix}epsilon": 100.0}, random_state=0).fit(profile)
    assert fitted.max_weight_ == 4.0 and type(fitted.max_weight_) is float
    votes = 300 + 4 * 201
    if type(estimator) is DPBorda:
        np.testing.assert_allclose(fitted.scores_, [2 * votes, 0, -2 * votes], atol=40)
    if type(estimator) is DPPairwise:
        np.testing.assert_allclose(fitted.margins_[0], [0, votes, votes], atol=40)


def test_persons_are_clipped_over_all_segments_together():
    """1,000 persons have one ballot in each of three segments, so a bound of 2 leaves two thirds of each."""
    profile = Profile.from_rankings(np.tile([0, 1, 2], (3000, 1)), groups=np.arange(3000) % 1000, max_weight="auto")
    segments = np.repeat(["north", "south", "east"], 1000)
    for pooling in (True, False):
        estimator = SegmentedAggregator(["north", "south"], epsilon=50.0, pooling=pooling, random_state=0)
        fitted = estimator.fit(profile, segments=segments)
        assert fitted.max_weight_ == 2.0 and fitted.privacy_.unit == PERSON
        np.testing.assert_allclose(fitted.net_wins_, [[4000 / 3, 0, -4000 / 3]] * 2, atol=30)
        if pooling:
            np.testing.assert_allclose(fitted.sizes_, 2000 / 3, atol=30)


# The price


def budget(estimator):
    channel, _ = estimator._compose()
    return 1 / gaussian_sigma(channel.epsilon, channel.delta) ** 2


@every
def test_the_counts_cost_five_percent_and_all_parts_use_up_the_budget(estimator):
    plan, whole = estimator.plan_for(PERSONS)[1], budget(estimator)
    costs = {
        kind: price.mechanism.losses(price.sensitivity, price.times).mu_squared for kind, price in plan.prices.items()
    }
    assert costs["max_weight"] == pytest.approx(0.05 * whole, rel=1e-9)
    assert sum(costs.values()) == pytest.approx(whole, rel=1e-9) and sum(costs.values()) <= whole
    assert plan.guarantee.losses.mu_squared <= whole
    counts = plan.prices["max_weight"]
    moves = 1 if counts.sensitivity.l1 == 1 else 2
    assert counts.mechanism.sigma == pytest.approx(sqrt(moves / 0.05 / whole), rel=1e-9)


@every
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 7.0])
def test_the_guarantee_is_the_same_for_every_choice(estimator, epsilon):
    """To the last bit: the losses are stated before the bound is chosen."""
    prefix = "channel__" if isinstance(estimator, Aggregator) else ""
    estimator = clone(estimator).set_params(**{f"{prefix}epsilon": epsilon})
    plan, channel = estimator.plan_for(PERSONS)[1], estimator._compose()[0]
    prices_of = plan.reads.args[1]
    losses = {channel._guarantee(prices_of(bound=PERSONS.bound.chosen(C))[0]).losses for C in BOUNDS}
    assert len(losses) == 1
    assert losses.pop().mu_squared == pytest.approx(0.95 * budget(estimator), rel=1e-8)
    assert (plan.guarantee.epsilon, plan.guarantee.delta, plan.guarantee.unit) == (epsilon, 1e-6, PERSON)


@every
def test_the_guarantee_is_that_of_a_plain_fit(estimator):
    fitted = clone(estimator).fit(PERSONS)
    plain = clone(estimator).fit(X).privacy_
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (plain.epsilon, plain.delta)
    assert fitted.privacy_.unit == PERSON and fitted.privacy_.arithmetic == "exact"
    assert guarantee_of(fitted) == fitted.privacy_ == estimator.guarantee_before(PERSONS)
    assert fitted.privacy_.how.startswith("rounded Gaussian noise on the number of persons by weight, once; then ")


def test_a_rule_that_asks_for_the_same_counts_pays_for_them_again():
    class Asks(SortByScore):
        def asks(self, n_items):
            return [Ask(NetWins(), share=0.7), Ask(PersonsByWeight(), share=0.3)]

    estimator = Aggregator(Central(**GAUSSIAN), Asks())
    losses = estimator.plan_for(PERSONS)[1].guarantee.losses
    assert losses.mu_squared == pytest.approx(budget(estimator), rel=1e-8)


# What is published


@every
def test_only_the_bound_is_published(estimator):
    fitted = clone(estimator).fit(PERSONS)
    plain = {name for name in vars(clone(estimator).fit(X)) if name != "feature_names_in_"}
    assert set(vars(fitted)) == plain | {"max_weight_"}
    assert fitted.max_weight_ in BOUNDS
    stored = pickle.dumps(fitted, protocol=4)
    for secret in (PERSONS.persons_by_weight, PERSONS.weights.each, PERSONS.weights.persons, PERSONS.pairwise_counts):
        for dtype in (np.int64, np.int32, np.float64):
            assert np.ascontiguousarray(secret.astype(dtype)).tobytes() not in stored
    words = {word for _, word, _ in pickletools.genops(stored) if isinstance(word, str)}
    assert not [word for word in words if word.startswith(("sklearn_dprank.ballots", "sklearn_dprank.queries"))]
    assert pickle.loads(stored).max_weight_ == fitted.max_weight_


@pytest.mark.parametrize(("max_weight", "published"), [(1, 1.0), (2.5, 2.5), (0.7, 504503 / WEIGHT_GRID)])
def test_a_fixed_bound_is_published_too(max_weight, published):
    profile = Profile.from_rankings(X, groups=WHO, max_weight=max_weight)
    for estimator in (DPBorda(), DPKemenySampler(), DPTopK(), DPSwissBorda()):
        assert estimator.fit(profile).max_weight_ == published
        assert not hasattr(estimator.fit(X), "max_weight_")
    assert not hasattr(Borda().fit(profile), "max_weight_")


def test_intervals_are_those_of_the_chosen_bound():
    fitted = DPBorda(epsilon=3.0, **GAUSSIAN, random_state=0).fit(PERSONS)
    sigma = gaussian_sigma(3.0, 1e-6, sqrt(5 * 24 / 3)) * fitted.max_weight_ / sqrt(0.95)
    assert fitted.noise_.law.std / fitted.noise_.grid == pytest.approx(sigma, rel=1e-6)
    assert fitted.rank_intervals(0.95).shape == (5, 2)


# Sweeps


def test_every_session_chooses_for_itself():
    rule, plan = DPBorda(epsilon=0.4, **GAUSSIAN).plan_for(PERSONS)
    poll = plan.open(PERSONS)
    seeds = range(30)
    swept = [poll(Bits.from_random_state(seed)) for seed in seeds]
    swept = [(rule.aggregate(session).order.tolist(), session.published["max_weight"]) for session in swept]
    fits = [DPBorda(epsilon=0.4, **GAUSSIAN, random_state=seed).fit(PERSONS) for seed in seeds]
    assert swept == [(fitted.consensus_.tolist(), fitted.max_weight_) for fitted in fits]
    assert len({chosen for _, chosen in swept}) > 1
    again = pickle.loads(pickle.dumps(poll))
    assert len(pickle.dumps(poll)) == len(pickle.dumps(plan.open(PERSONS)))  # without what was opened for a bound
    assert again(Bits.from_random_state(3)).published["max_weight"] == swept[3][1]


# Who refuses


@pytest.mark.parametrize(
    "estimator",
    [
        DPBorda(),
        DPBorda(noise="knorm"),
        DPKemenySampler(),
        DPPrudentOrder(),
        DPTopK(),
        DPPairwise(),
        DPHistogram(noise=shang.PrintedGaussian(), delta=1e-6),
    ],
    ids=repr,
)
def test_other_noise_is_refused_before_anything_is_read(estimator):
    for ask in (estimator.fit, estimator.guarantee_before):
        message = (
            r"^max_weight='auto' needs Gaussian noise, got noise=.* a number.* set noise='gaussian' and delta=1e-6"
        )
        with pytest.raises(ValueError, match=message):
            ask(PERSONS)
    with pytest.raises(ValueError, match="needs delta > 0"):
        DPBorda(noise="gaussian").fit(PERSONS)


@pytest.mark.parametrize("estimator", [Borda(), Kemeny()], ids=repr)
def test_a_bound_is_not_chosen_without_noise(estimator):
    with pytest.raises(ValueError, match=r"^max_weight='auto' is for private estimators with Gaussian noise"):
        estimator.fit(PERSONS)


def test_a_plan_of_auto_opens_no_other_profile():
    plan = DPBorda(**GAUSSIAN).plan_for(PERSONS)[1]
    for other in (Profile.from_rankings(X), Profile.from_rankings(X, groups=WHO, max_weight=1)):
        with pytest.raises(ValueError, match="got a Profile with another one"):
            plan.open(other)
    fixed = DPBorda(**GAUSSIAN).plan_for(Profile.from_rankings(X, groups=WHO, max_weight=1))[1]
    with pytest.raises(ValueError, match="got a Profile with another one"):
        fixed.open(PERSONS)
