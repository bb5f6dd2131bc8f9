"""Central estimators divide the budget as their papers do, state the resulting guarantee and reach recorded errors.

The scales of all noises are compared with their formulas. Whether a scale protects a ballot is shown in tests/audit.
"""

import math
from collections import Counter
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from accuracy_tools import mallows_profiles, mean_excess
from scipy.stats import chisquare
from sklearn.base import clone

from sklearn_dprank import DPBorda, DPHistogram, DPKemenySampler, DPKwikSort, DPPairwise, DPPrudentOrder
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms import ExponentialNoise, GaussianNoise, KNormNoise, LaplaceNoise
from sklearn_dprank.privacy import gaussian_sigma
from sklearn_dprank.privacy.rounding import round_down
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


def unanimous(m, n):
    """(centre, profile of n voters who all hold it)."""
    centre = np.random.default_rng(0).permutation(m)
    return centre, Profile.from_rankings(np.tile(centre, (n, 1)))


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
        stated = estimator.fit(unanimous(m, 300)[1]).privacy_
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


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
def test_fallback_answers_with_the_kemeny_order(noise, delta):
    """Two answers are not enough; the reserved half is."""
    centre, profile = unanimous(8, 100_000)
    sort = DPKwikSort(epsilon=2.0, delta=delta, noise=noise, max_queries=2, random_state=0).fit(profile)
    np.testing.assert_array_equal(sort.ranks_, centre)
    assert sort.optimal_gap_ == 0
    assert sort.privacy_.epsilon == 2.0


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


# --- DPPairwise


@every_relation
def test_margins_are_published_once(neighboring, moves):
    laplace = prices(DPPairwise(epsilon=1.0, neighboring=neighboring), 10)
    assert list(laplace) == ["AllMargins"]
    assert laplace["AllMargins"].mechanism == LaplaceNoise(Fraction(1, 45 * moves))
    assert laplace["AllMargins"].times == 1
    gaussian = noises(DPPairwise(epsilon=1.0, delta=1e-6, noise="gaussian", neighboring=neighboring), 10)
    assert gaussian["AllMargins"].sigma == pytest.approx(gaussian_sigma(1.0, 1e-6, moves * sqrt(45)))


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
    with pytest.warns(UserWarning, match=r"prudent orders fail where half of n_voters \* epsilon is below"):
        estimator.fit(few)
    estimator.set_params(neighboring="add_remove").fit(few)


def test_prudent_order_repairs_its_anchor():
    """Enough voters for the second stage, too few for Borda with half of epsilon."""
    profiles = mallows_profiles(1, n_voters=5000, n_items=45)
    two_stages = mean_excess(DPPrudentOrder(epsilon=0.1, window=7), profiles, repeats=5)
    anchor = mean_excess(DPBorda(epsilon=0.05, noise="knorm"), profiles, repeats=5)
    assert two_stages < 0.2 * anchor


# --- recorded errors: excess Kendall tau error in percent of the pairs, pure, add/remove

P_BORDA = DPBorda(noise=hay.PrintedLaplace())
K_NORM = DPBorda(noise="knorm")
P_SORT = DPKwikSort(on_exhausted="coin")
GAUSSIAN = DPBorda(noise="gaussian", delta=1e-6)


def recorded(*figures):
    """Parametrize a test by (estimator, epsilon, recorded error)."""
    name = [f"{estimator!r}, {epsilon}".replace("\n", "") for estimator, epsilon, _ in figures]
    return pytest.mark.parametrize(("estimator", "epsilon", "record"), figures, ids=name)


def error(estimator, epsilon, profiles, repeats):
    return mean_excess(clone(estimator).set_params(epsilon=epsilon), profiles, repeats)


@pytest.fixture(scope="module")
def ten_items():
    return mallows_profiles(6, n_voters=1000, n_items=10)


@pytest.fixture(scope="module")
def forty_five_items():
    return mallows_profiles(2, n_voters=5000, n_items=45)


@recorded(
    (P_BORDA, 0.1, 1.7),
    (P_BORDA, 0.03, 7.8),
    (P_SORT, 0.1, 3.7),
    (DPKemenySampler(), 0.1, 4.0),
    (DPKemenySampler(), 0.3, 1.1),
    (DPPairwise(), 0.1, 4.5),
    (K_NORM, 0.03, 2.8),
    (K_NORM, 0.1, 0.34),
    (DPPrudentOrder(), 0.01, 17.2),
    (DPPrudentOrder(), 0.1, 0.0),
)
def test_mallows_ten_items(ten_items, estimator, epsilon, record):
    assert record / 1.6 - 0.05 <= error(estimator, epsilon, ten_items, repeats=10) <= 1.6 * record + 0.05


@recorded(
    (P_BORDA, 0.1, 2.0),
    (K_NORM, 0.1, 0.40),
    (GAUSSIAN, 0.1, 0.15),
    (DPPrudentOrder(window=9), 0.1, 0.06),
    (DPPrudentOrder(window=7), 0.1, 0.30),
    (DPPrudentOrder(window=7), 0.03, 8.9),
)
def test_mallows_forty_five_items(forty_five_items, estimator, epsilon, record):
    assert record / 1.6 - 0.05 <= error(estimator, epsilon, forty_five_items, repeats=6) <= 1.6 * record + 0.05
