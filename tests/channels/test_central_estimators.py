"""Estimators of a curator divide the budget as their papers do, state what it buys and reach recorded errors.

The scales of all noises are compared with their formulas. Whether a scale protects a ballot is shown in tests/audit.
"""

import math
import warnings
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from accuracy_tools import mallows_profiles, mean_excess
from scipy.stats import chisquare
from sklearn.base import clone

from sklearn_dprank import (
    Aggregator,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    DPSwissBorda,
    DPTopK,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms import ExponentialNoise, GaussianNoise, KNormNoise, LaplaceNoise, NoNoise
from sklearn_dprank.metrics import kemeny_positions
from sklearn_dprank.model_selection import PrivateKendallTau, PrivateSelection
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.plotting import PairwiseMarginDisplay
from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee, gaussian_sigma, guarantee_of
from sklearn_dprank.privacy.composition import choice_range
from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.rules import ChooseOneByOne, ChooseTop
from sklearn_dprank.theory import hay

MOVES = {"add_remove": 1, "replace": 2}  # ballots that change between neighbours
every_relation = pytest.mark.parametrize(("neighboring", "moves"), MOVES.items(), ids=list(MOVES))


def prices(estimator, m):
    """{name of a query: its price}: the mechanism, the number of answers and the epsilon of one answer."""
    channel, rule = estimator._compose()
    return {type(price.query).__name__: price for price in channel.plan(rule.asks(m), m).prices.values()}


def noises(estimator, m):
    """{name of a query: its noise}."""
    return {query: price.mechanism for query, price in prices(estimator, m).items()}


def test_a_budget_that_is_not_given_is_1():
    private = (DPBorda, DPHistogram, DPKemenySampler, DPKwikSort, DPPairwise, DPPrudentOrder, DPTopK)
    assert {kind().epsilon for kind in private} == {1.0}


# --- the budget


@every_relation
@pytest.mark.parametrize(
    "estimator",
    [
        DPBorda(),
        DPBorda(noise="gaussian", delta=1e-6),
        DPBorda(noise="knorm"),
        DPPairwise(),
        DPPairwise(noise="gaussian", delta=1e-6, rule="borda"),
        DPHistogram(),
        DPHistogram(noise="gaussian", delta=1e-6, rule="kemeny"),
        DPKwikSort(),
        DPKwikSort(on_exhausted="coin"),
        DPKwikSort(strategy="binary_insertion"),
        DPKwikSort(noise="gaussian", delta=1e-6, max_queries=2),
        DPKemenySampler(),
        DPPrudentOrder(),
        DPPrudentOrder(window=2),
    ],
    ids=repr,
)
def test_prices_add_up_to_the_budget(estimator, neighboring, moves):
    """A failure: the guarantee states less than the answers cost, or budget is left unused."""
    estimator = clone(estimator).set_params(epsilon=0.7, neighboring=neighboring, random_state=0)
    delta = estimator.get_params().get("delta", 0.0)
    for m in (3, 5):
        paid = prices(estimator, m).values()
        assert sum(price.epsilon * price.times for price in paid) == round_down(0.7)
        stated = estimator.fit([range(m)] * 300).privacy_
        assert (stated.epsilon, stated.delta) == (0.7, delta)
        assert (stated.trust, stated.neighboring, stated.unit) == ("central", neighboring, "one ballot")
        exact = all(isinstance(price.mechanism, (LaplaceNoise, GaussianNoise)) for price in paid)
        assert (stated.arithmetic == "exact") == exact


# --- DPBorda


@every_relation
@pytest.mark.parametrize("m", [3, 10, 45])
def test_borda_scales(m, neighboring, moves):
    """One ballot moves net wins by floor(m^2 / 2) in L1, sqrt(m (m^2 - 1) / 3) in L2 and 1 in the K-norm gauge."""

    def noise(**parameters):
        return noises(DPBorda(epsilon=0.5, neighboring=neighboring, **parameters), m)["NetWins"]

    assert noise() == LaplaceNoise(Fraction(1, 2) / (moves * (m * m // 2)))
    assert noise(noise="knorm") == KNormNoise(moves / 0.5, m)
    gaussian = noise(noise="gaussian", delta=1e-6)
    assert isinstance(gaussian, GaussianNoise)
    expected = gaussian_sigma(0.5, 1e-6, moves * sqrt(m * (m * m - 1) / 3))
    assert gaussian.sigma == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("m", "ratio"), [(3, 4 / 6), (10, 50 / 90), (45, 1012 / 1980)])
def test_printed_borda_states_what_it_really_gives(m, ratio):
    """Lap(m (m - 1) / (2 epsilon)) on Borda counts: less than epsilon for added ballots, more for replaced ones."""
    assert ratio < 1 < 2 * ratio
    for neighboring, moves in MOVES.items():
        printed = DPBorda(epsilon=1.0, noise=hay.PrintedLaplace(), neighboring=neighboring, random_state=0)
        assert noises(printed, m)["NetWins"].rate == Fraction(1, m * (m - 1))
        true = printed.fit([range(m)]).privacy_.epsilon
        assert moves * ratio <= true <= moves * ratio * (1 + 1e-15)  # never rounded down


# --- DPKwikSort


@every_relation
def test_p_sort_pays_for_its_comparisons(neighboring, moves):
    """floor((m - 1) log2 m) answers share epsilon; coins are free."""
    paid = prices(DPKwikSort(epsilon=1.0, on_exhausted="coin", neighboring=neighboring), 10)
    assert list(paid) == ["PairMargin"]
    assert paid["PairMargin"].times == 29
    assert paid["PairMargin"].mechanism == LaplaceNoise(Fraction(1, 29 * moves))


@every_relation
def test_printed_p_sort_states_what_it_really_gives(neighboring, moves):
    """Lap(1 / epsilon') under either relation: all of epsilon for added ballots, twice it for replaced ones."""
    sort = DPKwikSort(noise=hay.PrintedLaplace(), on_exhausted="coin", neighboring=neighboring, random_state=0)
    assert noises(sort, 10)["PairMargin"].rate == Fraction(1, 29)
    assert sort.fit([range(10)]).privacy_.epsilon == pytest.approx(moves, rel=1e-15)


@pytest.mark.parametrize("on_exhausted", ["coin", "kemeny"])
def test_binary_insertion_needs_no_fallback(on_exhausted):
    """Ten items take at most 25 comparisons, also where the majorities are a cycle."""
    sort = DPKwikSort(strategy="binary_insertion", on_exhausted=on_exhausted)
    assert noises(sort, 10) == {"PairMargin": LaplaceNoise(Fraction(1, 25))}
    cycle = np.array([np.roll(np.arange(10), k) for k in range(10)])
    for seed in range(20):
        assert not hasattr(sort.set_params(random_state=seed).fit(cycle), "optimal_gap_")


@every_relation
@pytest.mark.parametrize(
    ("m", "on_exhausted", "squared"),
    [
        (20, "kemeny", {"PairMargin": 2 * 150, "AllMargins": 2 * 190}),  # half of mu^2 each
        (10, "kemeny", {"PairMargin": 45}),
        (10, "coin", {"PairMargin": 29}),
    ],
)
def test_gaussian_answers_compose(m, on_exhausted, squared, neighboring, moves):
    """q adaptive answers are one answer of sqrt(q) times the sensitivity."""
    parameters = {"on_exhausted": on_exhausted, "neighboring": neighboring}
    sort = DPKwikSort(epsilon=1.0, delta=1e-6, noise="gaussian", **parameters)
    sigmas = {query: gaussian_sigma(1.0, 1e-6, moves * sqrt(times)) for query, times in squared.items()}
    assert {query: noise.sigma for query, noise in noises(sort, m).items()} == pytest.approx(sigmas)


@pytest.mark.slow
def test_coins_answer_what_is_not_paid_for():
    """One paid comparison, the rest coins: of three unanimous items, each order with its exact probability.

    The pivot and the item compared with it first are uniform, and that comparison is right. The rest of the cases:

    - pivot 0, first 1: 1 goes behind; 2 by a coin before 0, or behind it and then by a coin before or behind 1
    - pivot 0, first 2: the same with 1 and 2 exchanged; pivot 2 is pivot 0 reversed
    - pivot 1, first 0: 0 goes before; 2 by a coin behind 1, or before it and then by a coin before or behind 0
    - pivot 1, first 2: the same reversed
    """
    of_24 = {(0, 1, 2): 8, (0, 2, 1): 5, (1, 0, 2): 5, (2, 0, 1): 3, (1, 2, 0): 3}
    profile = Profile.from_rankings([[0, 1, 2]] * 1000)
    sort = DPKwikSort(epsilon=50.0, max_queries=1, on_exhausted="coin")
    draws = np.array([sort.set_params(random_state=k).fit(profile).consensus_ for k in range(2000)])
    seen = Counter(map(tuple, draws.tolist()))
    assert set(seen) == set(of_24)
    observed, expected = zip(*[(seen[order], 2000 * share / 24) for order, share in of_24.items()], strict=True)
    assert chisquare(observed, expected).pvalue > 1e-3


# --- DPKemenySampler and DPPrudentOrder


@every_relation
def test_rates_of_orders(neighboring, moves):
    """Utilities move by C(m, 2) or 2 times the ballots that change. A window takes half of epsilon for its anchor."""
    sampler = noises(DPKemenySampler(epsilon=1.0, neighboring=neighboring), 10)["KemenyUtility"]
    assert type(sampler) is ExponentialNoise
    assert sampler.rate == pytest.approx(1 / (45 * moves), rel=1e-4)
    prudent = noises(DPPrudentOrder(epsilon=1.0, neighboring=neighboring), 10)
    assert prudent["MaxViolatedMargin"].rate == pytest.approx(1 / (2 * moves), rel=1e-4)
    two_stages = noises(DPPrudentOrder(epsilon=1.0, window=7, neighboring=neighboring), 30)
    assert two_stages["MaxViolatedMargin"].rate == pytest.approx(1 / (4 * moves), rel=1e-3)
    assert two_stages["NetWins"] == KNormNoise(2.0 * moves, 30)


@pytest.mark.parametrize(("window", "n_items", "least"), [(None, 6, 2 * 6.58), (3, 20, 2 * 80)])
def test_too_few_public_voters_for_prudent_orders(window, n_items, least):
    """The number of voters is public under replace only: under add_remove a warning would tell it."""
    ballots = make_mallows(math.ceil(least / 0.5), n_items, 0.5, random_state=0)
    estimator = DPPrudentOrder(epsilon=0.5, window=window, neighboring="replace", random_state=0)
    estimator.fit(ballots)
    few = ballots[: int(least)]
    with pytest.warns(UserWarning, match=r"prudent orders fail with so few voters: half of n_voters \* epsilon is"):
        estimator.fit(few)
    estimator.set_params(neighboring="add_remove").fit(few)


# --- recorded errors: excess Kendall tau error in percent of the pairs, pure, add/remove

P_BORDA = DPBorda(noise=hay.PrintedLaplace())
K_NORM = DPBorda(noise="knorm")
P_SORT = DPKwikSort(on_exhausted="coin")


@lru_cache
def voters(n_items):
    """Return (profiles, fits of each profile)."""
    return (mallows_profiles(6, 1000, 10), 10) if n_items == 10 else (mallows_profiles(2, 5000, 45), 6)


@pytest.mark.parametrize(
    ("n_items", "estimator", "epsilon", "record"),
    [
        (10, P_BORDA, 0.1, 1.7),
        (10, P_BORDA, 0.03, 7.8),
        (10, P_SORT, 0.1, 3.7),
        (10, DPKemenySampler(), 0.1, 4.0),
        (10, DPKemenySampler(), 0.3, 1.1),
        (10, DPPairwise(), 0.1, 4.5),
        (10, K_NORM, 0.03, 2.8),
        (10, K_NORM, 0.1, 0.34),
        (10, DPPrudentOrder(), 0.01, 17.2),
        (10, DPPrudentOrder(), 0.1, 0.0),
        (45, P_BORDA, 0.1, 2.0),
        (45, K_NORM, 0.1, 0.40),
        (45, DPBorda(noise="gaussian", delta=1e-6), 0.1, 0.15),
        (45, DPPrudentOrder(window=9), 0.1, 0.06),
        (45, DPPrudentOrder(window=7), 0.1, 0.30),
        (45, DPPrudentOrder(window=7), 0.03, 8.9),
        (45, DPSwissBorda(), 0.1, 0.02),  # less than half of Gaussian `DPBorda`
        (45, DPSwissBorda(neighboring="replace"), 0.1, 0.15),
    ],
    ids=str,
)
def test_errors_on_mallows_ballots(n_items, estimator, epsilon, record):
    profiles, repeats = voters(n_items)
    error = mean_excess(clone(estimator).set_params(epsilon=epsilon), profiles, repeats)
    assert record / 1.6 - 0.05 <= error <= 1.6 * record + 0.05


# Swiss Borda


NEIGHBORING = ["add_remove", "replace"]
# Sizes of the groups of each round of 10 or 45 items, by hand: see tests/rules/test_swiss.py.
GROUPS = {10: [[10]] * 3, 45: [[45], [18, 18, 9], [4, 9, 9, 9, 9, 5]]}


def plan_of(estimator, m):
    channel, rule = estimator._compose()
    return channel.plan(rule.asks(m), m)


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("m", GROUPS)
def test_noise_of_each_round(m, neighboring):
    """sigma_r = s1 sqrt(sum_groups k (k^2 - 1) / 3 / f_r), twice that under replace, where n is free.

    The last answer has 64 times the sigma of the net wins of all items, for the same share and any pairs.
    """
    plan = plan_of(DPSwissBorda(0.3, 1e-6, neighboring), m)
    counted, *rounds, last = (price.mechanism for price in plan.prices.values())
    s1 = gaussian_sigma(0.3, 1e-6)
    rest = 0.98 if neighboring == "add_remove" else 1.0
    for mechanism, share, sizes in zip([*rounds, last], (0.30, 0.20, 0.25, 0.25), [*GROUPS[m], [m]], strict=True):
        squared = sum(k * (k * k - 1) / 3 for k in sizes)
        moves = 1 if neighboring == "add_remove" else 2
        times = 64 if mechanism is last else 1
        assert mechanism.sigma == pytest.approx(times * s1 * moves * math.sqrt(squared / (share * rest)), rel=1e-9)
    if neighboring == "add_remove":
        assert counted.sigma == pytest.approx(s1 / math.sqrt(0.02), rel=1e-9)
    else:
        assert counted == NoNoise()


@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_the_answers_spend_exactly_the_budget(neighboring):
    plan = plan_of(DPSwissBorda(0.7, 1e-5, neighboring), 30)
    assert sum(price.epsilon * price.times for price in plan.prices.values()) == round_down(0.7)
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (0.7, 1e-5)
    assert plan.guarantee.losses.mu_squared == pytest.approx(gaussian_sigma(0.7, 1e-5) ** -2, rel=1e-9)
    assert (plan.guarantee.trust, plan.guarantee.arithmetic) == ("central", "exact")
    ten = PrivacyGuarantee.compose([plan_of(DPSwissBorda(0.1, 1e-7), 20).guarantee] * 10, delta=1e-6)
    assert ten.epsilon == pytest.approx(0.298, abs=5e-4)


@pytest.mark.parametrize("neighboring", NEIGHBORING)
def test_scores_are_the_order_if_the_model_explains_them(neighboring):
    X = make_mallows(500, 30, 0.8, random_state=0)
    fitted = DPSwissBorda(0.5, neighboring=neighboring, random_state=0).fit(X)
    np.testing.assert_array_equal(fitted.ranks_, (-fitted.scores_).argsort().argsort())
    assert abs(fitted.scores_.sum()) < 1e-6


# The best k items


NAMES = ["tea", "milk", "water", "wine", "juice", "rum"]
X = make_mallows(400, 6, 0.7, random_state=3)


def recall(estimator, X, k, n_fits=40):
    """How many of the first k of the Kemeny order are found, on average."""
    profile = Profile.from_rankings(X)
    best = np.flatnonzero(kemeny_positions(profile) < k)
    rule, plan = estimator.plan_for(profile)
    found = [fitted.ranks_[best] < k for fitted in refits(estimator, profile, rule, plan, list(range(n_fits)))]
    return np.mean(found)


# Accuracy


@pytest.mark.slow
@pytest.mark.parametrize(("k", "epsilon"), [(1, 0.0027), (3, 0.0055), (5, 0.0095), (10, 0.0175)])
def test_best_items_of_mallows_ballots(k, epsilon):
    """Nine tenths of the best k of 45, where orders of all of them find much less."""
    X = make_mallows(5000, 45, 0.75, random_state=0)
    assert recall(DPTopK(k, epsilon=epsilon), X, k) > 0.87
    assert recall(DPBorda(epsilon, noise="knorm"), X, k) < 0.8


# What a fit leaves


def test_top_k_equals_its_channel_and_rule():
    whole = Aggregator(Central(1.5, noise="permute_and_flip"), ChooseTop(3, 2), random_state=4).fit(X)
    named = DPTopK(3, epsilon=1.5, batch=2, random_state=4).fit(X)
    np.testing.assert_array_equal(whole.ranks_, named.ranks_)
    assert whole.privacy_ == named.privacy_
    assert named.privacy_.epsilon == 1.5 and named.privacy_.how.startswith("permute-and-flip")


# Scores and searches


def test_private_scores_and_selection():
    """The noisy net agreement is that of the pairs that the consensus orders: n C(m, 2) (1 - 2 d), d with halves."""
    top = DPTopK(2, epsilon=5.0, random_state=0).fit(X)
    exact = 400 * 15 * (1 + 2 * top.score(X))
    assert abs(PrivateKendallTau(epsilon=5.0, random_state=0)(top, X) - exact) < 60
    frame = pd.DataFrame(X, columns=NAMES)
    search = PrivateSelection(DPTopK(), {"k": [1, 5]}, score_epsilon=1.0, random_state=0).fit(frame)
    assert len(search.consensus_) == search.best_params_["k"]


def test_margin_display():
    """The best come first, then the others in the order of the columns; pairs of the others do not count."""
    top = DPTopK(2, epsilon=5.0, random_state=0).fit(X)
    display = PairwiseMarginDisplay.from_estimator(top, X)
    assert display.order.tolist() == [*top.consensus_, *np.flatnonzero(top.ranks_ == 2)]
    assert all(top.ranks_[i] < 2 for i, _ in display.opposed)


# The peeled prudent order, `DPPrudentOrder` with a delta


DELTA = 1e-6


@pytest.mark.parametrize(("neighboring", "moves"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("m", [2, 3, 9, pytest.param(45, marks=pytest.mark.slow)])
def test_each_choice_has_the_range_that_all_together_may_have(m, neighboring, moves):
    (price,) = prices(DPPrudentOrder(0.7, DELTA, neighboring=neighboring), m).values()
    assert price.times == m - 1 and price.sensitivity.l1 == 2 * moves
    width = choice_range(0.7, DELTA, m - 1)
    assert 0 < 1 - price.mechanism.rate * 2 * moves / width < 1e-3


def test_rounding_may_widen_the_range_at_both_ends():
    pure, peeled = (Central(1.0, delta, "exponential").plan(ChooseOneByOne().asks(2), 2).prices for delta in (0, DELTA))
    lost = [
        width - 2 * price.mechanism.rate
        for prices, width in ((pure, 1.0), (peeled, choice_range(1.0, DELTA, 1)))
        for price in prices.values()
    ]
    assert 1.9 < lost[1] / lost[0] < 2.1


@pytest.mark.parametrize("m", [2, 17, pytest.param(60, marks=pytest.mark.slow)])
def test_a_peeled_order_of_voters_of_one_mind(m):
    fitted = DPPrudentOrder(50.0, DELTA, random_state=0).fit(np.tile(np.arange(m)[::-1], (400, 1)))
    assert fitted.consensus_.tolist() == list(range(m))[::-1]
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (50.0, DELTA)
    assert fitted.privacy_.how.startswith("exponential mechanism")
    assert fitted.privacy_.how.endswith(f"{m - 1} times" if m > 2 else "once")
    assert guarantee_of(fitted) == fitted.privacy_


@pytest.mark.parametrize(
    ("estimator", "n_items", "message"),
    [
        (DPPrudentOrder(delta=DELTA, window=7), 30, "a window needs delta=0, got window=7 and delta=1e-06; set delta"),
        (
            Aggregator(Central(1.0, DELTA, "exponential"), ChooseTop(5)),
            45,
            "with a delta, choices of one kind use the whole budget; use delta=0",
        ),
        (DPPrudentOrder(), 17, "the prudent order of 17 items needs a window .* one after another, with delta=1e-6"),
    ],
)
def test_peeled_orders_are_refused_before_a_charge(estimator, n_items, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit([range(n_items)] * 3)
    budget = PrivacyBudget(1.0, 1e-5)
    with pytest.raises(ValueError, match=message):
        budget.fit(estimator, [range(n_items)] * 3)
    assert budget.spent_.epsilon == 0


def test_few_voters_are_warned_of_where_their_number_is_public():
    """By the range of one choice, which is far above epsilon over the number of choices."""
    estimator = DPPrudentOrder(1.0, DELTA, neighboring="replace")
    least = 2 * math.log(20) / choice_range(1.0, DELTA, 19)
    with pytest.warns(UserWarning, match="the best 1 of 20 items are little better than chance"):
        estimator.fit([range(20)] * math.floor(least))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit([range(20)] * math.ceil(least))
        DPPrudentOrder(1.0, DELTA).fit([range(20)] * 2)  # no warning, because the number of voters is private


# Accuracy


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101, 102, 103])
def test_peeled_orders_of_mallows_ballots(seed):
    """At epsilon .1, at most .01 points; Gaussian `DPBorda` has about .15."""
    votes = [Profile.from_rankings(make_mallows(5000, 45, 0.75, random_state=seed))]
    assert mean_excess(DPPrudentOrder(0.1, DELTA), votes, repeats=20) <= 0.01
    assert mean_excess(DPBorda(0.1, DELTA, "gaussian"), votes, repeats=5) > 0.1
