"""Additive noise: its law, its scale against all neighbours of each query, and mechanisms of users."""

import math
from fractions import Fraction

import numpy as np
import pytest
from audit_tools import noise_pmf
from oracles import calibrated, distinct_ballots, rankings, released, seeded
from scipy import stats

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.weights import BALLOT, WEIGHT_GRID, WeightBound
from sklearn_dprank.mechanisms import (
    GaussianNoise,
    GaussianThreshold,
    KNorm,
    KNormNoise,
    LaplaceNoise,
    NoNoise,
    SkellamNoise,
    ThresholdNoise,
)
from sklearn_dprank.mechanisms.additive import _BLOCK, least_threshold
from sklearn_dprank.privacy.composition import Losses, gaussian_delta
from sklearn_dprank.queries import (
    AllMargins,
    Histogram,
    NetWins,
    PairMargin,
    PairTallies,
    PositionalScores,
    Sensitivity,
    TopListScores,
)
from sklearn_dprank.queries.base import weighted_sensitivity

QUERIES = {
    "net wins": NetWins(),
    "all margins": AllMargins(),
    "one margin": PairMargin(0, 2),
    "tallies": PairTallies(),
    "plurality": PositionalScores((1.0, 0.0, 0.0)),
    "odd scores": PositionalScores((0.7, 0.2, -3.1)),
}
RELATIONS = ["add_remove", "replace"]
EPSILON = Fraction(3, 7)


def moves(query, neighboring, m=3):
    """Return all differences between vectors of neighbours."""
    # A histogram completes ballots by coins: a completed ballot is what one voter moves.
    ballots = rankings(m) if isinstance(query, Histogram) else distinct_ballots(m)
    ballots = [query.vector(Profile.from_rankings([ballot]), seeded()) for ballot in ballots]
    if neighboring == "replace":
        return [a - b for a in ballots for b in ballots]
    return ballots


@pytest.mark.parametrize(
    "noise",
    [
        *(LaplaceNoise(Fraction(1, 5)), LaplaceNoise(Fraction(3, 2))),
        *(GaussianNoise(2.5), GaussianNoise(0.4), SkellamNoise(Fraction(5, 2))),
    ],
    ids=repr,
)
def test_law_of_the_noise(noise):
    """Compare entries with the exact probabilities by chi-square; entries are independent."""
    size = 20_000
    centre = np.array([0, 100, -7])
    bits = seeded(1)
    drawn = np.array([released(noise, None, centre, bits) - centre for _ in range(size // 10)])
    far = np.abs(drawn).max() + 1
    cells = np.arange(-far, far + 1)
    is_skellam = isinstance(noise, SkellamNoise)
    expected = stats.skellam.pmf(cells, *[float(noise.rate)] * 2) if is_skellam else noise_pmf(noise, cells)
    assert expected.sum() == pytest.approx(1, abs=0.01)
    for column in drawn.T:
        observed = np.bincount(column + far, minlength=len(cells))
        kept = expected * len(column) >= 8
        observed = np.append(observed[kept], observed[~kept].sum())
        share = np.append(expected[kept], 1 - expected[kept].sum())
        assert stats.chisquare(observed, share * len(column)).pvalue > 1e-3
    assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.08


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("query", [*QUERIES.values(), Histogram()], ids=[*QUERIES, "histogram"])
def test_laplace_scale_covers_every_neighbour(query, neighboring, times):
    noise = calibrated("laplace", query.sensitivity(3, neighboring), EPSILON, 0.0, times)
    worst = max(int(np.abs(change).sum()) for change in moves(query, neighboring))
    assert noise.rate * worst * times <= EPSILON  # in exact fractions
    if isinstance(query, PositionalScores):
        assert noise.rate * (worst + 6) * times > EPSILON * Fraction(9999, 10_000)  # rounding is paid for
    else:
        assert noise.rate * worst * times == EPSILON


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("query", [*QUERIES.values(), Histogram()], ids=[*QUERIES, "histogram"])
def test_gaussian_scale_covers_every_neighbour(query, neighboring, times):
    """`times` adaptive answers are one answer with sqrt(times) the sensitivity."""
    delta = 1e-4
    noise = calibrated("gaussian", query.sensitivity(3, neighboring), EPSILON, delta, times)
    worst = math.sqrt(max(int(np.sum(change.astype(object) ** 2)) for change in moves(query, neighboring)) * times)
    spent = gaussian_delta(float(EPSILON), noise.sigma, worst)
    assert spent <= delta
    assert spent > delta * (0.999 if not isinstance(query, PositionalScores) else 0.99)


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("neighboring", RELATIONS)
def test_knorm_scale_covers_every_neighbour(m, neighboring):
    sensitivity = NetWins().sensitivity(m, neighboring)
    noise, five = (calibrated("knorm", sensitivity, EPSILON, 0.0, times) for times in (1, 5))
    assert five.scale == pytest.approx(5 * noise.scale, rel=1e-15)

    def gauge(w):  # k items together win at most k (m - k) times
        top = np.cumsum(np.sort(w)[::-1])[:-1]
        return max(Fraction(int(t), k * (m - k)) for k, t in enumerate(top, 1))

    assert max(map(gauge, moves(NetWins(), neighboring, m))) / Fraction(noise.scale) == pytest.approx(float(EPSILON))


def test_knorm_noise_is_for_net_wins_only():
    assert not KNorm().refusal(NetWins(), 4)
    assert "use noise='laplace'" in KNorm().refusal(AllMargins(), 4)


def test_knorm_releases_an_order_only():
    """The answer is a permutation of evenly spaced numbers."""
    bits = seeded(3)
    for vector in ([40, 0, -40], [0, 0, 0], [3, 1, -1, -3], [10**6, -(10**6)]):
        m = len(vector)
        for _ in range(50):
            out = released(KNormNoise(1.0, m), NetWins(), np.array(vector), bits)
            assert out.dtype == np.int64
            assert sorted(out.tolist()) == list(range(1 - m, m, 2))
    assert released(KNormNoise(1.0, 3), NetWins(), np.array([-(10**6), 10**6, 0]), bits).tolist() == [-2, 2, 0]


def test_segments_have_independent_knorm_noise():
    bits = seeded(4)
    drawn = [KNormNoise(5.0, 3).added(np.zeros(6, dtype=np.int64), bits).reshape(2, 3) for _ in range(200)]
    alike = np.mean([(one == other).all() for one, other in drawn])
    assert alike == pytest.approx(1 / 6, abs=0.1)  # of all orders alike
    two = KNormNoise(1.0, 2).added(np.tile([1, -1], 4000), bits)  # noise of two items is a Laplace number
    assert (two[::2] < 0).mean() == pytest.approx(math.exp(-1) / 2, abs=0.025)


def test_laplace_rate_is_a_fraction_rounded_down():
    sensitivity = Sensitivity(7, Fraction(7))
    noise = calibrated("laplace", sensitivity, Fraction(0.1), 0.0, 3)
    assert isinstance(noise.rate, Fraction)
    assert noise.rate <= Fraction(0.1) / 21
    assert noise.rate > Fraction(0.1) / 21 * (1 - Fraction(1, 2**20))
    assert noise.arithmetic == "exact"
    assert GaussianNoise(1.0).arithmetic == "exact"
    assert "double" in KNormNoise(1.0, 3).arithmetic


def test_laplace_epsilon_too_small_for_the_arithmetic_is_refused():
    """The epsilon that the message names is enough."""
    for l1 in (10**9, *range(1, 60)):
        sensitivity, times = Sensitivity(l1, Fraction(l1**2)), 1 + l1 % 3
        with pytest.raises(ValueError, match="use at least") as refused:
            calibrated("laplace", sensitivity, Fraction(1, 10**30), 0.0, times)
        least = float(str(refused.value).rpartition(" ")[2].rstrip("."))
        assert calibrated("laplace", sensitivity, Fraction(least), 0.0, times).rate > 0
        with pytest.raises(ValueError, match="use at least"):
            calibrated("laplace", sensitivity, Fraction(least) * Fraction(98, 100), 0.0, times)
    edge = Fraction(1, 2**48 - 1)
    assert calibrated("laplace", Sensitivity(1, Fraction(1)), edge, 0.0).rate == edge
    with pytest.raises(ValueError, match="use at least"):
        calibrated("laplace", Sensitivity(1, Fraction(1)), Fraction(1, 2**48), 0.0)


def test_noise_of_large_statistics_does_not_overflow():
    vector = np.array([2**40, -(2**40)])
    bits = seeded(4)
    for noise in (LaplaceNoise(Fraction(1, 10**6)), GaussianNoise(1e9)):
        out = released(noise, None, vector, bits)
        assert out.dtype == np.int64
        assert np.all(np.abs(out - vector) < 10**11)


@pytest.mark.parametrize("rate", [Fraction(2), Fraction(1, 3), Fraction(1, 1000), Fraction(1, 1001)], ids=str)
def test_answers_longer_than_a_block_have_the_stated_noise(rate):
    """Noise beyond the first block is drawn by another path; counts are exact at any size."""
    size = _BLOCK + 20_000
    counts = np.arange(size) * 2**40
    drawn = released(LaplaceNoise(rate), None, counts, seeded(4)) - counts
    law = LaplaceNoise(rate).law
    parts = drawn[:20_000], drawn[-20_000:]
    assert (drawn[:20_000] != drawn[-20_000:]).any()
    for part in parts:
        assert part.std() == pytest.approx(law.std, rel=0.04) and abs(part.mean()) < 4 * law.std / math.sqrt(len(part))


@pytest.mark.parametrize("noise", [LaplaceNoise(Fraction(1, 9)), LaplaceNoise(Fraction(3)), LaplaceNoise(Fraction(40))])
def test_deviation_is_that_of_the_law(noise):
    steps = np.arange(-600, 601)
    law = np.exp(-float(noise.rate) * np.abs(steps))
    assert noise.deviation == pytest.approx(math.sqrt(law @ steps**2 / law.sum()), rel=1e-9)
    assert LaplaceNoise(Fraction(2**40)).deviation < 1e-200  # no overflow
    assert GaussianNoise(2.5).deviation == 2.5


def test_no_noise_returns_the_statistic():
    bits, vector = seeded(), np.array([3, -1, 0])
    np.testing.assert_array_equal(released(NoNoise(), None, vector, bits), vector)
    assert (NoNoise().losses(Sensitivity(0, Fraction(0)), 1), NoNoise().deviation) == (Losses(), 0)


@pytest.mark.parametrize("times", [1, 3, Fraction(7, 2)])
def test_losses_of_gaussian_answers_add_up_in_mu_squared(times):
    sensitivity = Sensitivity(4, Fraction(6))
    losses = GaussianNoise(2.0).losses(sensitivity, times)
    assert losses == Losses(pytest.approx(6 * float(times) / 4)) and losses.mu_squared >= Fraction(6 * times) / 4


def test_an_item_that_only_one_person_lists_is_published_by_the_stated_law():
    """A result that equals the threshold is not published, nor is an item without a list."""
    sigma, threshold, n = 1.5, 3, 100_000
    bits = seeded(3)
    out = ThresholdNoise(sigma, threshold).added(np.repeat([0, 1, 2], n), bits).reshape(3, n)
    assert not out[0].any()
    for mean in (1, 2):
        values = out[mean]
        assert ((values == 0) | (values > threshold)).all()
        for least in (4, 5):  # published as 4 or more, as 5 or more
            found, chance = (values >= least).mean(), 1 - stats.norm.cdf(least - 0.5, mean, sigma)
            assert abs(found - chance) < 5 * np.sqrt(chance / n)
        assert (values > 0).mean() < 1 - stats.norm.cdf(threshold, mean, sigma)


def test_threshold_of_families_of_known_value():
    length, within = np.arange(1, 11)[:, np.newaxis], np.tril(np.ones((10, 10)))
    assert least_threshold(within / np.sqrt(length), 1e-6) == pytest.approx(5.75342, abs=1e-5)
    assert least_threshold(within, 1e-6) == pytest.approx(6.19934, abs=1e-5)
    assert -np.expm1(10 * stats.norm.logcdf(least_threshold(within, 1e-6) - 1)) <= 1e-6


@pytest.mark.parametrize("k", [1, 3])
def test_half_of_delta_is_for_the_noise_and_half_for_the_threshold(k):
    query, delta = TopListScores(), 1e-4
    sensitivity = weighted_sensitivity(query, 9, "add_remove", WeightBound(BALLOT, WEIGHT_GRID, k))
    noise = GaussianThreshold(k).calibrated(query, sensitivity, 9, Fraction(1), delta)
    spent = gaussian_delta(1.0, noise.sigma, math.sqrt(sensitivity.l2_squared))
    alone = [(noise.threshold - row[row > 0]) / noise.sigma for row in query.family(k)]
    passes = max(-np.expm1(stats.norm.logcdf(distances).sum()) for distances in alone)
    for part, limit in ((spent, delta / 2), (passes, -math.expm1(-delta / 2))):
        assert 0.999 * limit < part <= limit
