"""PrivUnitG: the density in closed form, the moments by quadrature, the sampler, and what a curator accepts."""

import json
import math

import numpy as np
import pytest
from local_tools import answer_from, report_of, simulated_answer
from oracles import distinct_ballots, naive_counts
from scipy import stats
from scipy.integrate import quad

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.rankings import compact_positions
from sklearn_dprank.collection.client.privunit import PrivUnitRandomizer, _directions
from sklearn_dprank.collection.curator import PrivUnitG, RefusedReport
from sklearn_dprank.sampling.streams import Bits, SeededBits

EPSILONS = [0.1, 0.5, 1.0, 2.0, 4.0, 12.0]


def levels(protocol):
    """What multiplies the normal density of a report above and below gamma."""
    high, low = protocol["levels"]
    above, e = stats.norm.sf(protocol["gamma"] / 1024), high / low
    return e / (e * above + 1 - above), 1 / (e * above + 1 - above)


def moment(protocol, power):
    """A moment of a report's component along its direction, by quadrature."""
    high, low = levels(protocol)
    gamma = protocol["gamma"] / 1024

    def integrand(x):
        return x**power * stats.norm.pdf(x)

    return low * quad(integrand, -12, gamma)[0] + high * quad(integrand, gamma, 14)[0]


def net_wins_of(ballot):
    counts = naive_counts([ballot])
    return (counts - counts.T).sum(axis=1)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("m", [2, 3, 10, 45])
def test_density_ratio_and_moments(epsilon, m):
    protocol = PrivUnitG().protocol(epsilon, m)
    high, low = levels(protocol)
    assert math.log(high / low) == pytest.approx(epsilon, rel=1e-9)  # the normal part does not see the ballot
    assert moment(protocol, 0) == pytest.approx(1, abs=1e-9)
    mean, square = moment(protocol, 1), moment(protocol, 2)
    radius = math.sqrt(m * (m * m - 1) / 3)
    assert PrivUnitG.variance(protocol) == pytest.approx((radius / mean) ** 2 * (m - 2 + square) / m, rel=1e-7)
    for gamma in (protocol["gamma"] - 10, protocol["gamma"] + 10):
        other = {**protocol, "gamma": gamma}
        assert PrivUnitG.variance(other) >= PrivUnitG.variance(protocol) * (1 - 1e-9)


def test_noise_of_a_borda_score():
    # PrivUnit on the sphere has 42, 21, 10.5 and 5.2; its Gaussian form is a little noisier in few dimensions.
    for epsilon, std, sphere in [(0.5, 43.2, 42.0), (1, 21.7, 21.0), (2, 10.9, 10.5), (4, 5.67, 5.17)]:
        variance = PrivUnitG.variance(PrivUnitG().protocol(epsilon, 10)) - (10**2 - 1) / 3
        assert variance**0.5 / 2 == pytest.approx(std, rel=5e-3)
        assert sphere < variance**0.5 / 2 < 1.1 * sphere


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 4])
def test_every_ballot_gets_a_unit_direction_with_the_right_mean(m):
    size = 2000
    radius = math.sqrt(m * (m * m - 1) / 3)
    for number, ballot in enumerate(distinct_ballots(m)):
        wins = net_wins_of(ballot)
        drawn = _directions(np.tile(wins, (size, 1)), SeededBits(number, 0), SeededBits(number, 1))
        assert np.einsum("vi,vi->v", drawn, drawn) == pytest.approx(1)
        assert drawn.sum(axis=1) == pytest.approx(0, abs=1e-12)
        if wins.any():  # only the sign is random: its chance is (1 + |w| / R) / 2, so the mean is w / R
            length = np.linalg.norm(wins)
            plus = drawn @ wins > 0
            assert np.abs(drawn @ wins) == pytest.approx(length)
            share = (1 + length / radius) / 2
            assert plus.all() if np.isclose(share, 1) else stats.binomtest(int(plus.sum()), size, share).pvalue > 1e-5
        else:
            assert np.abs(drawn.mean(axis=0)).max() < 5 / np.sqrt(size * (m - 1))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_reports_have_the_stated_law(epsilon):
    m, size = 5, 20000
    protocol = PrivUnitG().protocol(epsilon, m)
    high, low = levels(protocol)
    ballot = np.array([3, 0, 4, 1, 2])
    direction = net_wins_of(ballot) / np.linalg.norm(net_wins_of(ballot))
    positions = Profile.from_rankings([ballot] * size).positions
    vectors = PrivUnitRandomizer().draw(protocol, positions, Bits.from_random_state(4)) / 1024
    assert vectors.sum(axis=1) == pytest.approx(0, abs=1e-12)
    along = vectors @ direction
    gamma = protocol["gamma"] / 1024

    def cdf(x):
        below = stats.norm.cdf(np.minimum(x, gamma))
        return low * below + high * (stats.norm.cdf(np.maximum(x, gamma)) - stats.norm.cdf(gamma))

    assert stats.kstest(along, cdf).pvalue > 1e-3
    across = vectors - np.outer(along, direction)
    assert stats.kstest(np.einsum("vi,vi->v", across, across), stats.chi2(m - 2).cdf).pvalue > 1e-3
    basis = np.linalg.svd(np.vstack([np.ones(m), direction]))[2][2:]
    for axis in basis:
        assert stats.kstest(vectors @ axis, stats.norm.cdf).pvalue > 1e-3
        assert abs(stats.pearsonr(vectors @ axis, along)[0]) < 4 / np.sqrt(size)


@pytest.mark.parametrize(
    "ballot", [[0, 1, 2, 3], [1, 0, 1, 2], [0, 0, 0, 0], [np.nan, 0, 1, np.nan], [np.nan] * 4, [0, 0, 1, 1]]
)
def test_unbiased_with_the_stated_variance(ballot):
    size, parts = 2000, 60
    protocol = PrivUnitG().protocol(3.0, 4)
    positions, bits = Profile.from_rankings([ballot] * size).positions, Bits.from_random_state(6)
    estimates = []
    for _ in range(parts):
        answer = simulated_answer(PrivUnitG, protocol, positions, bits)
        estimates.append(answer)
    truth = net_wins_of(ballot)
    variance = PrivUnitG.variance(protocol) - np.mean(truth**2)
    assert np.abs(np.mean(estimates, axis=0) - truth).max() < 4.5 * np.sqrt(1.4 * variance / (size * parts))
    measured = size * np.var(estimates, axis=0, ddof=1).mean()
    assert measured == pytest.approx(variance, rel=0.4)


def test_devices_and_simulation_are_one_law_and_sums_are_exact():
    X = distinct_ballots(4)
    protocol = json.loads(json.dumps(PrivUnitG().protocol(2.0, 4)))
    positions = Profile.from_rankings(X).positions
    vectors = PrivUnitRandomizer().draw(protocol, positions, Bits.from_random_state(8))
    reports = [{"protocol": "0" * 16, "vector": v} for v in vectors[:, :-1].tolist()]
    together = simulated_answer(PrivUnitG, protocol, positions, Bits.from_random_state(8))
    assert np.array_equal(together, answer_from(PrivUnitG, protocol, json.loads(json.dumps(reports))))
    assert np.array_equal(together, answer_from(PrivUnitG, protocol, reports[::-1]))
    assert together.sum() == pytest.approx(0, abs=1e-9)


def test_reports_look_alike_whatever_the_ballot():
    protocol, bits = PrivUnitG().protocol(1.0, 3), Bits.from_random_state(9)
    for ballot in distinct_ballots(3):
        report = report_of(protocol, Profile.from_rankings([ballot]).positions, bits)
        assert set(report) == {"protocol", "vector"}
        assert [type(x) for x in report["vector"]] == [int, int]
        PrivUnitG.read(json.loads(json.dumps(report)), protocol)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0, 500.0])
def test_honest_reports_are_not_clipped(epsilon):
    m, size = 6, 4000
    protocol = PrivUnitG().protocol(epsilon, m)
    positions = Profile.from_rankings([range(m)] * size).positions
    vectors = PrivUnitRandomizer().draw(protocol, positions, Bits.from_random_state(0)) / 1024
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1).max() < protocol["norm"]
    # Its density is at most `high` times the normal one.
    assert levels(protocol)[0] * stats.chi2.sf(protocol["norm"] ** 2, m - 1) <= 1e-12


def test_long_reports_are_clipped_at_the_public_norm():
    protocol = PrivUnitG().protocol(1.0, 4)
    points = protocol["norm"] * 1024
    one = answer_from(PrivUnitG, protocol, [{"protocol": "0" * 16, "vector": [points, points, points]}])
    scale = one / (np.array([1, 1, 1, -3]) / np.sqrt(12))
    assert np.ptp(scale) < 1e-3 * scale[0]
    radius = math.sqrt(4 * 15 / 3)
    assert np.linalg.norm(one) == pytest.approx(protocol["norm"] * radius / moment(protocol, 1), rel=1e-3)


GOOD = {"protocol": "0" * 16, "vector": [100, -2000]}


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ({"protocol": "0" * 16}, "wrong keys"),
        ({**GOOD, "vector": [1, 2, 3]}, "not the right number of coordinates"),
        ({**GOOD, "vector": {"0": 1}}, "not the right number of coordinates"),
        ({**GOOD, "vector": [1, 2.5]}, "coordinate out of range"),
        ({**GOOD, "vector": [1, math.nan]}, "coordinate out of range"),
        ({**GOOD, "vector": [1, math.inf]}, "coordinate out of range"),
        ({**GOOD, "vector": [1, True]}, "coordinate out of range"),
        ({**GOOD, "vector": [1, 10**400]}, "coordinate out of range"),
        ({**GOOD, "vector": [-(10**6), 0]}, "coordinate out of range"),
    ],
)
def test_refusals(report, reason):
    protocol = PrivUnitG().protocol(1.0, 3)
    PrivUnitG.read(GOOD, protocol)
    with pytest.raises(RefusedReport) as refused:
        PrivUnitG.read(report, protocol)
    assert refused.value.reason == reason


def test_epsilon_out_of_bounds():
    # Beyond the grid of the levels more epsilon buys nothing, and nothing more is spent.
    assert PrivUnitG().protocol(501.0, 3)["levels"] == PrivUnitG().protocol(37.0, 3)["levels"] == [2**52, 1]
    with pytest.raises(ValueError, match="epsilon is too small"):
        PrivUnitG().protocol(1e-17, 3)
    with pytest.raises(ValueError, match="epsilon must be a positive"):
        PrivUnitG().protocol(0.0, 3)


@pytest.mark.parametrize("m", [3, 8])
def test_a_silent_voter_among_many_changes_nobody_else_s_report(m):
    """Directions of voters without opinions are drawn from another stream, so that all else stays as it is."""
    rng, protocol = np.random.default_rng(m), PrivUnitG().protocol(1.0, m)
    X = rng.permuted(np.tile(np.arange(float(m)), (700, 1)), axis=1)
    X[1, 1] = np.nan
    silent = X.copy()
    silent[5], silent[300] = np.nan, 1.0
    others = np.setdiff1d(np.arange(700), [5, 300])
    spoken, hushed = Bits.from_random_state(3), Bits.from_random_state(3)
    one = PrivUnitRandomizer().draw(protocol, compact_positions(X), spoken)
    other = PrivUnitRandomizer().draw(protocol, compact_positions(silent), hushed)
    np.testing.assert_array_equal(one[others], other[others])
    assert (one[[5, 300]] != other[[5, 300]]).any()
    assert spoken.coins.integer(2**63) == hushed.coins.integer(2**63)
