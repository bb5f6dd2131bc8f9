"""PrivUnitG: the density in closed form, the moments by quadrature, the sampler, and what a curator accepts."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from local_tools import answer_from, simulated_answer
from oracles import distinct_ballots, naive_counts
from scipy import stats
from scipy.integrate import quad
from wire_vectors import DealtBits, chance

from sklearn_dprank import LDPBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import compact_positions
from sklearn_dprank.collection import Device, PrivUnitG, RefusedProtocol
from sklearn_dprank.collection.privunit import PER_UNIT, PrivUnitRandomizer, _directions, _leans
from sklearn_dprank.metrics import kendall_tau_distance
from sklearn_dprank.sampling.bit_source import Bits, SeededBits

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


def unshortened(epsilon, m):
    """A protocol with a norm that no report reaches, so that tails are visible."""
    return {**PrivUnitG().protocol(epsilon, m), "norm": 2**20}


def shortened_moments(protocol, size=400_000):
    """The mean component along the direction, and the mean square of the length, by simulation of the definition."""
    rng, m = np.random.default_rng(0), len(protocol["items"])
    along = rng.normal(size=size)
    weights = np.where(along > protocol["gamma"] / 1024, *levels(protocol))
    length = np.sqrt(along**2 + rng.chisquare(m - 2, size))
    kept = np.minimum(1, protocol["norm"] / length)
    means = [(weights * part).mean() for part in (kept * along, (kept * length) ** 2)]
    errors = [(weights * part).std() / math.sqrt(size) for part in (kept * along, (kept * length) ** 2)]
    return means, errors


def net_wins_of(ballot):
    counts = naive_counts([ballot])
    return (counts - counts.T).sum(axis=1)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("m", [2, 3, 10, 45])
def test_density_ratio_and_moments(epsilon, m):
    protocol = unshortened(epsilon, m)
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
    # PrivUnit on the sphere has 42, 21, 10.5 and 5.2. Reports of any length would have 43.2, 21.7, 10.9 and 5.67.
    for epsilon, std, sphere, long in [
        (0.5, 42.1, 42.0, 43.2),
        (1, 21.1, 21.0, 21.7),
        (2, 10.7, 10.5, 10.9),
        (4, 5.58, 5.17, 5.67),
    ]:
        shortened, whole = (
            (PrivUnitG.variance(protocol) - (10**2 - 1) / 3) ** 0.5 / 2
            for protocol in (PrivUnitG().protocol(epsilon, 10), unshortened(epsilon, 10))
        )
        assert shortened == pytest.approx(std, rel=5e-3) and whole == pytest.approx(long, rel=5e-3)
        assert sphere < shortened < whole < 1.1 * sphere


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "m", "norm"), [(0.5, 3, 1), (1.0, 4, 2), (4.0, 10, 1), (9.0, 20, 4), (2.0, 45, 5)])
def test_moments_of_shortened_reports(epsilon, m, norm):
    """Against a simulation of the definition; gamma from -10 to 20 is allowed."""
    for gamma in (None, -3000, 3000):
        protocol = {**PrivUnitG().protocol(epsilon, m), "norm": norm}
        protocol |= {} if gamma is None else {"gamma": gamma}
        (lean, square), errors = shortened_moments(protocol)
        radius, unit = math.sqrt(m * (m * m - 1) / 3), np.eye(m)[0]
        estimate = PrivUnitG.estimate(1024 * unit, 1, protocol)[0]  # of a report with component 1
        assert radius / estimate == pytest.approx(lean, abs=4.5 * errors[0])
        expected = (radius / m**0.5) ** 2 * square / lean**2
        slack = 4.5 * (errors[1] / square + 2 * errors[0] / lean)
        assert PrivUnitG.variance(protocol) == pytest.approx(expected, rel=slack)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "k"), [(3, 3), (4, 4), (4, 2), (4, 3)])
def test_every_ballot_gets_a_unit_direction_with_the_right_mean(m, k):
    size, square = 2000, k * (k * k - 1) // 3
    radius = math.sqrt(square)
    for number, ballot in enumerate(distinct_ballots(m)):
        wins = net_wins_of(ballot)
        columns = np.tile(wins, (size, 1)).T.astype(float)
        drawn = _directions(columns, SeededBits(number, 0), SeededBits(number, 1), square).T
        assert np.einsum("vi,vi->v", drawn, drawn) == pytest.approx(1)
        assert drawn.sum(axis=1) == pytest.approx(0, abs=1e-12)
        if wins.any():  # only the sign is random: its chance is (1 + |w| / R) / 2, at most 1, so the mean is w / R
            length = np.linalg.norm(wins)
            plus = drawn @ wins > 0
            assert np.abs(drawn @ wins) == pytest.approx(length)
            share = min(1.0, (1 + length / radius) / 2)
            assert plus.all() if np.isclose(share, 1) else stats.binomtest(int(plus.sum()), size, share).pvalue > 1e-5
        else:
            assert np.abs(drawn.mean(axis=0)).max() < 5 / np.sqrt(size * (m - 1))


@pytest.mark.parametrize("gamma", [None, -3, 0.5, 2, 8])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0, 30.0])
def test_reports_have_the_stated_law(epsilon, gamma):
    """The best gamma of a protocol, and others that a curator may choose."""
    m, size = 5, 20000
    protocol = unshortened(epsilon, m)
    protocol["gamma"] = protocol["gamma"] if gamma is None else int(1024 * gamma)
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


def test_long_reports_are_clipped_at_the_public_norm():
    protocol = PrivUnitG().protocol(1.0, 4)
    points = protocol["norm"] * 1024
    one = answer_from(PrivUnitG, protocol, [{"protocol": "0" * 16, "vector": [points, points, points]}])
    scale = one / (np.array([1, 1, 1, -3]) / np.sqrt(12))
    assert np.ptp(scale) < 1e-3 * scale[0]
    (lean, _), _ = shortened_moments(protocol)
    radius = math.sqrt(4 * 15 / 3)
    assert np.linalg.norm(one) == pytest.approx(protocol["norm"] * radius / lean, rel=0.02)


@pytest.mark.parametrize("m", [3, 10, 300])
def test_a_report_is_clipped_alike_in_every_batch(m):
    """So counts of parts add up to the last bit."""
    protocol, rng = PrivUnitG().protocol(1.0, m), np.random.default_rng(m)
    largest = protocol["norm"] * 1024 + 1
    table = rng.integers(-largest, largest + 1, (60, m - 1)) // rng.choice([1, 40], (60, 1))
    table[::7] = largest
    drawn = np.column_stack([table, -table.sum(axis=1)])
    alone = [PrivUnitG.counts(drawn[voter : voter + 1], protocol) for voter in range(60)]
    assert 0 < sum(np.linalg.norm(drawn, axis=1) > largest) < 60
    for size in (7, 60):
        parts = [PrivUnitG.counts(drawn[start : start + size], protocol) for start in range(0, 60, size)]
        np.testing.assert_array_equal(sum(parts), sum(alone))


def test_epsilon_out_of_bounds():
    # Beyond the grid of the levels more epsilon buys nothing, and nothing more is spent.
    assert PrivUnitG().protocol(501.0, 3)["levels"] == PrivUnitG().protocol(37.0, 3)["levels"] == [2**52, 1]
    with pytest.raises(ValueError, match="epsilon is too small"):
        PrivUnitG().protocol(1e-17, 3)
    with pytest.raises(ValueError, match="epsilon must be a positive"):
        PrivUnitG().protocol(0.0, 3)


@pytest.mark.parametrize("m", [3, 8])
def test_voter_without_opinions_does_not_change_other_reports(m):
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


# --- draws: unbounded tails and the exact ratio of the levels on both sides of gamma


def vector(given, ballot, noise, seed=0):
    """What a device draws from these words of noise, in units; a message has points."""
    streams = (DealtBits(words) for words in (noise, chance(seed, "coins"), chance(seed, "assignment")))
    drawn = PrivUnitRandomizer().draw(
        given, compact_positions(np.array([ballot], dtype=float)), Bits(*streams, certified=False)
    )
    return drawn[0] / PER_UNIT


# --- no grid: what is rare is drawn as rarely as it should be


@pytest.mark.parametrize("epsilon", [1.0, 30.0, 36.0])
def test_the_side_is_drawn_to_the_last_word(epsilon):
    """P(below) by scripted words: those a thousandth below the threshold lead below gamma, those above it do not.

    At gamma -8 and epsilon 30 the chance is below 1e-28, which no grid of 2^-52 draws.
    """
    for gamma in (unshortened(epsilon, 2)["gamma"], -8 * PER_UNIT):
        given = {**unshortened(epsilon, 2), "gamma": gamma}
        high, low = given["levels"]
        above, below = (Fraction(stats.norm.cdf(x)) for x in (-gamma / PER_UNIT, gamma / PER_UNIT))
        chance_below = low * below / (high * above + low * below)
        for scale, side in ((Fraction(999, 1000), True), (Fraction(1001, 1000), False)):
            words = words_of(chance_below * scale)
            lean = _leans(given, 1, DealtBits([*words, *spare()]))[0]
            assert (lean < gamma / PER_UNIT) == side


def spare():
    """Words that are neither small nor large, enough for one lean."""
    return (word for number in range(200) for word in [2**62 + 2**58 * (number % 30)])


def words_of(chance_below):
    """The words that `deep_uniform` reads as this number: 63 bits, then 64 more each while it is small."""
    bits = [63]
    number = int(chance_below * 2**63)
    while number < 2**53:
        bits.append(64)
        number = int(chance_below * 2 ** sum(bits))
    words, left = [], sum(bits)
    for length in bits:
        left -= length
        words.append(number >> left & (2**length - 1))
    return [words[0] << 1, *words[1:]]


OTHERS = [2**62 + k for k in range(9)]  # a quarter each
ABOVE = 2**63  # a half: the side that is likelier


def ten(first):
    """Return the words of ten deep uniform numbers that begin with `first`."""
    words = words_of(first)
    return [words[0], *OTHERS, *words[1:]]


@pytest.mark.parametrize("coordinate", [0, 1, 2, 3])
def test_every_coordinate_beyond_every_grid_is_reachable(coordinate):
    """The noise beside the lean, too: each two normal numbers have a length without an end."""
    tiny = words_of(Fraction(1, 2**900))
    lengths = [2**62, 2**62]
    lengths[coordinate % 2] = tiny[0]
    turn = 2**58 if coordinate < 2 else 2**62  # mostly the cosine, or the sine
    lean = [ABOVE, *ten(Fraction(1, 4)), *ten(Fraction(1, 4))]
    said = vector(unshortened(1.0, 4), [0, 1, 2, 3], [*lean, *lengths, *tiny[1:], turn, turn])
    assert np.abs(said).max() > 8.3
    assert abs(said[coordinate]) > 8.3


# Ballots of bounded length


def test_a_bound_on_the_length_is_part_of_the_protocol():
    plain, short = PrivUnitG().protocol(2.0, 10), PrivUnitG(3).protocol(2.0, 10)
    assert short == {**plain, "max_listed": 3}
    assert PrivUnitG(10).protocol(2.0, 10) == PrivUnitG(11).protocol(2.0, 10) == plain
    assert (repr(PrivUnitG(3)), PrivUnitG(3).get_params()) == ("PrivUnitG(max_listed=3)", {"max_listed": 3})
    assert PrivUnitG.variance(short) / PrivUnitG.variance(plain) == pytest.approx(3 * 8 / (10 * 99))
    for wrong in (1, 10, 2.0, True, "3", None):
        with pytest.raises(RefusedProtocol, match="max_listed must be from 2 to the number of items less 1"):
            Device({**plain, "max_listed": wrong})
    assert Device(short).epsilon == Device(plain).epsilon


@pytest.mark.slow
@pytest.mark.parametrize("ballot", [[0, 1, None, None, None], [1, 0, 2, None, None], [0, 0, 1, None, None]])
def test_estimate_from_short_ballots_is_unbiased(ballot):
    protocol, n = PrivUnitG(3).protocol(3.0, 5), 60_000
    rows = np.tile(np.array(ballot, dtype=float), (n, 1))
    drawn = PrivUnitRandomizer().draw(protocol, compact_positions(rows), Bits.from_random_state(0))
    found = PrivUnitG.estimate(PrivUnitG.counts(drawn, protocol), n, protocol)
    slack = 5 * (PrivUnitG.variance(protocol) / n) ** 0.5
    np.testing.assert_allclose(found, net_wins_of(rows[0]), atol=slack)


def test_short_ballots_need_less_epsilon():
    rng = np.random.default_rng(0)
    X = np.full((20_000, 20), np.nan)
    pairs = np.sort(rng.permuted(np.tile(np.arange(20), (20_000, 1)), axis=1)[:, :2], axis=1)
    np.put_along_axis(X, pairs, [[0.0, 1.0]], axis=1)
    wrong = [
        kendall_tau_distance(LDPBorda(epsilon=2.0, max_listed=k, random_state=0).fit(X).ranks_, range(20))
        for k in (2, None)
    ]
    assert wrong[0] < 0.1 < 0.2 < wrong[1]


def test_the_bound_is_part_of_the_text_of_a_local_guarantee():
    fitted = LDPBorda(max_listed=2).fit([[0, 1, 2]] * 20)
    assert (
        fitted.privacy_.how == "reports by PrivUnitG, calibrated to ballots of at most 2 items (longer ones count less)"
    )
    assert fitted.protocol(3)["max_listed"] == 2 and fitted.client(3).protocol["max_listed"] == 2
    reports = [fitted.client(3, random_state=seed).report([0, 1, 2]) for seed in range(5)]
    assert LDPBorda(max_listed=2).fit_reports(reports, items=3).reports_accepted_ == 5
    with pytest.raises(ValueError, match="another protocol"):
        LDPBorda().fit_reports(reports, items=3)
