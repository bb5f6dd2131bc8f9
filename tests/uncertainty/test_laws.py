"""Published laws of noise against the noise of fits, exact tails, and quantiles of ranges."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_hypergeom, norm, skellam, studentized_range

from sklearn_dprank import (
    Aggregator,
    DPBorda,
    DPPairwise,
    LDPBorda,
    LDPKwikSort,
    LDPPairwise,
    SecAggBorda,
    ShuffleHierarchical,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, SecureAggregation
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import AllMargins
from sklearn_dprank.theory import hay, yan
from sklearn_dprank.uncertainty import AnswersLaw, LaplaceLaw, NormalLaw, PublishedNoise, SkellamLaw

PROFILE = Profile.from_rankings(make_mallows(1000, 5, 0.8, random_state=0))
PAIRS = np.triu_indices(5, 1)


def noise_of(estimator, profile, times):
    """Return the noise of some fits and the published law."""
    drawn = []
    for seed in range(times):
        fitted = estimator.set_params(random_state=seed).fit(profile)
        published, exact = (
            (fitted.scores_, profile.net_wins) if fitted.noise_.on == "scores" else (fitted.margins_, profile.margins)
        )
        drawn.append(
            published - exact / (1 if fitted.privacy_.trust in ("central", "secure_aggregation") else profile.n_voters)
        )
    return np.array(drawn), fitted.noise_.law


@pytest.mark.parametrize("rate", [Fraction(1, 40), Fraction(2), Fraction(7, 3)])
def test_moments_and_tails_of_laplace_noise(rate):
    law, z = LaplaceLaw(rate), np.arange(-2000, 2001)
    chance = np.exp(-float(rate) * np.abs(z))
    chance /= chance.sum()
    assert law.std == pytest.approx(np.sqrt(chance @ z**2))
    tails = chance[::-1].cumsum()[::-1]
    np.testing.assert_allclose(law.tail(z), tails, atol=1e-12)
    np.testing.assert_allclose(law.tail(z[:-1] + 0.5), tails[1:], atol=1e-12)


def test_tails_of_rounded_normal_noise():
    drawn = np.random.default_rng(0).normal(scale=3.0, size=400_000)
    for grid in (1.0, 4.0):
        rounded = grid * np.rint(drawn / grid)
        for x in (-5.0, -1.0, 0.0, 0.5, 1.0, 6.0):
            assert NormalLaw(3.0, grid).tail(x) == pytest.approx((rounded >= x).mean(), abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "on"),
    [
        (DPBorda(0.5), "scores"),
        (DPBorda(3.0, neighboring="replace"), "scores"),
        (DPBorda(1.0, noise=hay.PrintedLaplace()), "scores"),
        (DPBorda(0.5, 1e-6, "gaussian"), "scores"),
        (DPPairwise(1.0), "margins"),
        (DPPairwise(4.0, 1e-3, "gaussian", neighboring="replace"), "margins"),
        (Aggregator(Central(1.0, release=AllMargins()), "borda"), "margins"),
        (Aggregator(Central(1.0, 1e-6, "gaussian"), "kemeny"), "margins"),
        (SecAggBorda(1.0), "scores"),
        (SecAggBorda(3.0, min_reports=300), "scores"),
        (Aggregator(SecureAggregation(2.0, release=AllMargins()), "kemeny"), "margins"),
    ],
    ids=repr,
)
def test_noise_of_a_curator_has_the_published_law(estimator, on):
    noise, law = noise_of(estimator, PROFILE, 300)
    noise = (noise if on == "scores" else noise[:, *PAIRS]).ravel()
    assert (estimator.noise_.on, estimator.noise_.law) == (on, law)
    # A p-value of a distance that integers make smaller than for a continuous law: jittered within their cells.
    jitter = np.random.default_rng(0).uniform(size=len(noise))
    uniform = law.tail(noise) - jitter * (law.tail(noise) - law.tail(noise + 1))
    assert kstest(uniform, "uniform").pvalue > 1e-3
    assert noise.std() == pytest.approx(law.std, rel=0.12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 80.0])
def test_limit_of_differences_with_normal_noise(scale):
    """5.7 times the tail of a normal variable with the variance of both: .05 for the 12 ordered pairs of four items."""
    of_both = scale * np.hypot(5.0, np.sqrt(2) * 3.0)
    expected = norm.isf(0.05 / 12 / 5.6990) * of_both
    law = NormalLaw(3.0 * scale, grid=0.0)
    assert expected <= law.sampled_quantile(4, 0.95, 5.0 * scale) <= expected + 0.01 * of_both


@pytest.mark.parametrize("deviation", [0.5, 9.0, 200.0])
@pytest.mark.parametrize("law", [LaplaceLaw(Fraction(1, 8)), LaplaceLaw(Fraction(3)), SkellamLaw(Fraction(40))])
def test_limit_of_differences_with_noise_of_integers(law, deviation):
    """Against the sum over both noises, with the normal tail beyond."""
    z = np.arange(-700, 701)
    chance = law.tail(z) - law.tail(z + 1)
    differences, of_both = np.arange(-1400, 1401), np.convolve(chance, chance[::-1])
    limit = law.sampled_quantile(3, 0.9, deviation)

    def risk(x):
        return 5.6990 * 6 * of_both @ norm.sf((x - differences) / deviation)

    assert risk(limit) <= 0.1 * (1 + 1e-4) and risk(limit - 0.01 * np.hypot(deviation, law.std) - 1e-9) > 0.1


def test_limit_of_differences_of_no_voters_is_that_of_the_noise():
    law = LaplaceLaw(Fraction(1, 4))
    z = np.arange(-400, 401)
    chance = law.tail(z) - law.tail(z + 1)
    tails = np.convolve(chance, chance[::-1])[::-1].cumsum()[::-1]  # P(difference >= x) for x = -800, -799, ...
    least = np.arange(-800, 801)[tails * 5.6990 * 2 <= 0.05][0]
    assert law.sampled_quantile(2, 0.95, 0.0) == pytest.approx(least - 1, abs=0.1)  # what no difference exceeds


def test_limits_by_a_covariance_are_quantiles_of_the_largest_difference():
    """Three independent scores of variance 4 + 5: the studentized range. Two scores: the normal quantile."""
    three = PublishedNoise("scores", NormalLaw(2.0), covariance=5.0 * np.eye(3))
    two = PublishedNoise("scores", NormalLaw(1.0), covariance=np.array([[2.0, -1.0], [-1.0, 2.0]]))
    limits = studentized_range.ppf(0.9, 3, 1e9) * 3, norm.isf(0.05) * np.sqrt(2 * 1 + 6), norm.isf(5e-5) * np.sqrt(8)
    for noise, level, limit in zip((three, two, two), (0.9, 0.9, 0.9999), limits, strict=True):
        m = len(noise.covariance)
        for factor, worst in ((0.95, m - 1), (1.05, 0)):
            published = np.r_[factor * limit, np.zeros(m - 1)]
            assert noise.rank_intervals(published, level, "population")[0].tolist() == [0, worst]


def test_limits_of_many_items_are_those_of_boole():
    noise = PublishedNoise("scores", NormalLaw(1.0), covariance=np.eye(101))
    limit = norm.isf(0.05 / (101 * 100)) * 2
    for factor, worst in ((0.999, 100), (1.001, 0)):
        published = np.r_[factor * limit, np.zeros(100)]
        assert noise.rank_intervals(published, 0.95, "population")[0].tolist() == [0, worst]


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1), Fraction(50), Fraction(12345, 2)])
def test_tails_of_skellam_noise(rate):
    law, mu = SkellamLaw(rate), float(rate)
    far = int(8 * law.std) + 3
    for k in range(-far, far + 1, max(1, far // 20)):
        assert law.tail(k) == pytest.approx(skellam.sf(k - 1, mu, mu), rel=1e-6, abs=1e-14)
        assert law.tail(k - 0.5) == law.tail(k)
    assert law.tail(1e9) == 0 and law.tail(-1e9) == 1 and law.tail(1) + law.tail(0) == pytest.approx(1)
    assert law.std == pytest.approx(skellam.std(mu, mu))


def test_wide_skellam_tails_are_continuous_between_the_two_forms():
    """The second form is slightly wider than the first."""
    x = np.linspace(0, 9, 40)
    exact, wide = SkellamLaw(Fraction(10**7)), SkellamLaw(Fraction(10**7) + Fraction(1, 2**20))
    tails = [law.tail(np.rint(x * exact.std)) for law in (exact, wide)]
    assert (tails[0] <= tails[1] * (1 + 1e-9)).all()
    assert tails[1] == pytest.approx(tails[0], rel=3e-4)


@pytest.mark.parametrize("honest", [0.5, 0.9, 0.99])
def test_fewer_honest_voters_keep_intervals_valid(honest):
    """Less noise than stated has a smaller range at every level, and smaller tails."""
    every, some = SkellamLaw(Fraction(900)), SkellamLaw(Fraction(900) * Fraction(honest))
    for level in (0.5, 0.8, 0.95, 0.999):
        for m in (2, 5, 20):
            assert some.range_quantile(m, level) <= every.range_quantile(m, level)
    x = np.arange(1, 200)
    assert (some.tail(x) <= every.tail(x)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        LDPPairwise(1.0),
        LDPKwikSort(3.0, n_queries=3, randomizer=yan.PrintedLaplace()),
        ShufflePairwise(local_epsilon=1.5),
        ShufflePairwise(local_epsilon=3.0, n_queries=2, pairs="assigned"),
        ShuffleHierarchical(local_epsilon=1.5),
        LDPPairwise(1.5, randomizer="djw"),
    ],
    ids=repr,
)
def test_answers_have_the_published_gain_and_no_more_than_the_published_variance(estimator):
    noise, law = noise_of(estimator, PROFILE, 250)
    noise, std = noise[:, *PAIRS], np.broadcast_to(law.std, (5, 5))[PAIRS]
    assert (np.abs(noise.mean(axis=0)) < 4 * std / np.sqrt(len(noise))).all()
    ratio = noise.std(axis=0) / std
    assert ratio.max() < 1.2
    # The variance is smaller by the square of the true margin, which is small for these gains.
    assert np.median(ratio) > np.sqrt(1 - law.gain**2 * np.square(PROFILE.margins[PAIRS] / 1000).mean()) - 0.12


def complete(m, n):
    return make_mallows(n, m, 0.9, random_state=0)


def two_items_only(m, n):
    return np.tile([0.0, 1.0] + [np.nan] * (m - 2), (n, 1))


@pytest.mark.parametrize(("epsilon", "m"), [pytest.param(1.0, 3, marks=pytest.mark.slow), (4.0, 6)])
def test_noise_of_directions_is_within_the_published_deviation(epsilon, m):
    """Complete rankings have about the published deviation; the worst ballots have `most`."""
    found = {}
    for ballots in (complete, two_items_only):
        noise, law = noise_of(LDPBorda(epsilon), Profile.from_rankings(ballots(m, 300)), 250)
        spread = np.cov((noise[:, :, None] - noise[:, None, :]).reshape(len(noise), -1).T).diagonal().reshape(m, m)
        found[ballots] = np.sqrt(spread / 2).max()
        assert np.abs(noise.mean(axis=0)).max() < 4 * law.most / np.sqrt(len(noise))
    assert 0.8 * law.std < found[complete] < 1.15 * law.std
    assert found[two_items_only] == pytest.approx(law.most, rel=0.15)
    assert law.most > law.std


def test_different_personal_epsilons_have_no_law():
    own = LDPPairwise(1.0, random_state=0).fit(PROFILE, voter_epsilon=[1.0, 2.0] * 500)
    assert hasattr(own, "margins_") and not hasattr(own, "noise_")
    alike = LDPPairwise(1.0, random_state=0).fit(PROFILE, voter_epsilon=[2.0] * 1000)
    assert alike.noise_.law.gain == pytest.approx(np.tanh(1))


def law_of_plus(for_it, against, silent, asked, flip):
    """Return the law of the number of answers +1 among voters drawn without replacement."""
    groups, out = [for_it, against, silent], np.zeros(asked + 1)
    for a in range(asked + 1):
        for b in range(asked + 1 - a):
            weight = multivariate_hypergeom.pmf([a, b, asked - a - b], groups, asked)
            if weight > 0:
                law = np.ones(1)
                for count, chance in ((a, 1 - flip), (b, flip), (asked - a - b, 0.5)):
                    answers = [comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in range(count + 1)]
                    law = np.convolve(law, answers)
                out += weight * law
    return out


@pytest.mark.parametrize("flip", [0.0, *(pytest.param(flip, marks=pytest.mark.slow) for flip in (0.05, 0.4))])
def test_p_values_of_answers_are_never_too_small(flip):
    """Compare with the exact law for all electorates of up to seven voters without a majority for the first item."""
    for n in range(1, 8):
        for against in range(n + 1):
            for for_it in range(min(against, n - against) + 1):
                for asked in range(1, n + 1):
                    chance = law_of_plus(for_it, against, n - for_it - against, asked, flip)
                    plus = np.arange(asked + 1)
                    published = (2 * plus - asked) / asked / (1 - 2 * flip)
                    p_values = AnswersLaw(1 - 2 * flip, asked).p_values(published)
                    for p in p_values:
                        assert chance[p_values <= p].sum() <= p + 1e-12
    assert AnswersLaw(1.0, 7).p_values(np.array([1.0])) == pytest.approx(2.0**-7)


@pytest.mark.parametrize("m", [2, 10, 45])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_range_of_normal_noise_is_the_studentized_range(m, level):
    expected = 7.0 * studentized_range.ppf(level, m, np.inf)
    for law in (NormalLaw(7.0, 0.0), NormalLaw(7.0, 2.0**-20)):
        assert 0 <= law.range_quantile(m, level) - expected < 0.005 * 7
    # A range of rounded noise is an integer, and rounding moves it by at most one.
    assert NormalLaw(7.0).range_quantile(m, level) in np.arange(np.floor(expected), np.ceil(expected) + 2)


def by_enumeration(law, m, level, reach):
    """Return the smallest k with P(range <= k) >= level, over all tuples of integers."""
    values = np.arange(-reach, reach + 1)
    chance = law.tail(values) - law.tail(values + 1)
    assert chance.sum() == pytest.approx(1, abs=1e-9)
    within = np.zeros(2 * reach + 1)
    for rows in product(range(len(values)), repeat=m):
        rows = list(rows)
        within[max(rows) - min(rows)] += chance[rows].prod()
    return int(np.argmax(within.cumsum() >= level))


@pytest.mark.parametrize("law", [LaplaceLaw(Fraction(3, 2)), LaplaceLaw(Fraction(9)), NormalLaw(0.7), NormalLaw(1.9)])
@pytest.mark.parametrize(("m", "level"), [(2, 0.5), (2, 0.95), (3, 0.95), (3, 0.99)])
def test_range_of_integer_noise_equals_enumeration(law, m, level):
    assert law.range_quantile(m, level) == by_enumeration(law, m, level, 17)


def test_ranges_of_extreme_levels_and_noise_are_finite():
    law = LaplaceLaw(Fraction(1, 10))
    assert law.range_quantile(10, 1 - 2**-53) < np.inf
    assert LaplaceLaw(Fraction(2**31)).range_quantile(10, 0.999) == 0
    assert NormalLaw(0.01).range_quantile(10, 0.999) == 0
    assert NormalLaw(1e12, 1024.0).range_quantile(3, 0.9) == pytest.approx(
        1e12 * studentized_range.ppf(0.9, 3, np.inf), rel=5e-3
    )
