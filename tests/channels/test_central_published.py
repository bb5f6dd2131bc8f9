"""A private fit publishes noisy margins, net wins or counts, and histograms have the noise that their papers print."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.special import erfcx

from sklearn_dprank import Aggregator, DPHistogram, DPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms import GaussianNoise
from sklearn_dprank.privacy.composition import gaussian_delta
from sklearn_dprank.rules import SortByScore
from sklearn_dprank.theory import hay, shang

BALLOTS = make_mallows(2000, 4, 0.7, random_state=0)
PROFILE = Profile.from_rankings(BALLOTS)


def test_the_consensus_follows_from_the_margins():
    for seed in range(20):
        fitted = DPPairwise(0.02, rule="borda", random_state=seed).fit(PROFILE)
        np.testing.assert_array_equal(fitted.margins_, -fitted.margins_.T)
        wins = fitted.margins_.sum(axis=1)
        assert (np.diff(wins[fitted.consensus_]) <= 0).all()


@pytest.mark.parametrize("release", [False, True])
def test_a_rule_that_asks_for_margins_publishes_them_either_way(release):
    channel = Central(8.0, release=DPPairwise()._compose()[0].release if release else None)
    fitted = Aggregator(channel, "kemeny", random_state=0).fit(PROFILE)
    np.testing.assert_array_equal(fitted.margins_, DPPairwise(8.0, random_state=0).fit(PROFILE).margins_)


def test_the_consensus_follows_from_the_histogram():
    for seed in range(20):
        fitted = DPHistogram(0.02, random_state=seed).fit(PROFILE)
        scores = np.array(list(permutations(range(4)))).T @ fitted.histogram_
        assert (np.diff(scores[fitted.consensus_]) >= 0).all()


@pytest.mark.filterwarnings("ignore:.*drowns")
def test_a_histogram_that_is_not_drawn_is_not_there():
    ballots = make_mallows(50, 11, 0.5, random_state=0)
    assert not hasattr(DPHistogram(delta=1e-6, noise="gaussian", random_state=0).fit(ballots), "histogram_")


# DPHistogram with printed noise


MOVES = {"add_remove": 1, "replace": 2}
TWO_ORDERS = Profile.from_rankings([[0, 1, 2]] * 70 + [[2, 0, 1]] * 30)


def printed(epsilon, delta, **options):
    return DPHistogram(epsilon, delta, shang.PrintedGaussian(), **options)


def planned(estimator, m=3):
    channel, rule = estimator._compose()
    plan = channel.plan(rule.asks(m), m)
    [price] = plan.prices.values()
    return price.mechanism, plan.guarantee


@pytest.mark.parametrize("neighboring", MOVES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 5e-5), (0.05, 5e-5), (0.24, 1e-6), (1.0, 1e-2)])
def test_the_gaussian_is_that_of_theorem_1_under_either_relation(epsilon, delta, neighboring):
    noise, guarantee = planned(printed(epsilon, delta, neighboring=neighboring))
    assert isinstance(noise, GaussianNoise)
    assert noise.sigma == pytest.approx(shang.printed_sigma(epsilon, delta), rel=1e-8)
    assert (guarantee.delta, guarantee.neighboring) == (delta, neighboring)


@pytest.mark.parametrize("neighboring", MOVES)
@pytest.mark.parametrize("epsilon", [0.05, 0.1, 1.0, 7.0, 30.0])
def test_what_is_stated_is_what_the_noise_really_gives(epsilon, neighboring):
    """The smallest epsilon at delta, rounded up; above what was asked for where the formula does not hold."""
    noise, guarantee = planned(printed(epsilon, 5e-5, neighboring=neighboring))
    l2 = math.sqrt(MOVES[neighboring])
    assert gaussian_delta(guarantee.epsilon, noise.sigma, l2) <= 5e-5
    assert gaussian_delta(guarantee.epsilon * (1 - 1e-6), noise.sigma, l2) > 5e-5
    assert (guarantee.epsilon < epsilon) == (epsilon < {"add_remove": 10, "replace": 0.9}[neighboring])


def test_known_answers():
    fitted = printed(0.1, 5e-5, random_state=0).fit(TWO_ORDERS)
    assert planned(fitted)[0].sigma == pytest.approx(46.03, abs=0.01)
    assert fitted.privacy_.epsilon == pytest.approx(0.0535176, abs=1e-7)
    assert printed(0.1, 5e-5, neighboring="replace").fit(TWO_ORDERS).privacy_.epsilon == pytest.approx(
        0.0792275, abs=1e-7
    )
    exact = planned(DPHistogram(0.1, 5e-5, "gaussian"))[0].sigma
    assert exact == pytest.approx(26.5, abs=0.05)


@pytest.mark.parametrize("epsilon", [1e4, 1e6, 2e9])
def test_counts_are_exact_at_an_absurd_epsilon(epsilon):
    """Two numbers of some r^2 / 2 are subtracted: here exactly, in fractions."""
    noise, guarantee = planned(printed(epsilon, 5e-5))
    r = 1 / Fraction(noise.sigma)
    x = float(Fraction(guarantee.epsilon) / r - r / 2)
    mills = math.sqrt(math.pi / 2) * erfcx((x + float(r)) / math.sqrt(2))
    assert stats.norm.sf(x) - stats.norm.pdf(x) * mills <= 5e-5


def test_noise_so_large_that_delta_covers_it():
    assert planned(printed(1e-9, 0.5))[1].epsilon == 0


@pytest.mark.parametrize("neighboring", MOVES)
def test_laplace_noise_is_that_of_p_borda_hist(neighboring):
    """Lap(1 / epsilon): all of epsilon for an added ballot, twice it for one that is replaced."""
    published = DPHistogram(0.5, noise=hay.PrintedLaplace(), neighboring=neighboring, random_state=0)
    noise, guarantee = planned(published)
    assert noise.rate == Fraction(1, 2)
    assert guarantee.epsilon == 0.5 * MOVES[neighboring]
    exact = DPHistogram(guarantee.epsilon, neighboring=neighboring, random_state=0).fit(TWO_ORDERS)
    np.testing.assert_array_equal(published.fit(TWO_ORDERS).histogram_, exact.histogram_)


@pytest.mark.parametrize(
    ("rule", "scores"), [(None, range(11, -12, -2)), (SortByScore("plurality"), [1, *[0] * 11])], ids=["borda", "first"]
)
def test_the_shortcut_beyond_ten_items_has_the_same_noise(rule, scores):
    noise, guarantee = planned(printed(0.1, 5e-5, rule=rule), 12)
    factor = math.gcd(*scores)
    expected = shang.score_noise_std(scores, shang.printed_sigma(0.1, 5e-5)) / factor
    assert noise.sigma == pytest.approx(expected, rel=1e-8)
    assert guarantee.epsilon == pytest.approx(0.0535176, abs=1e-7)
