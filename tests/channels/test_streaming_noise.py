"""Correlated noise of streams: weights, calibration and totals against a naive sum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from stream_tools import scripted

from sklearn_dprank.channels.streaming import CorrelatedNoise, root_weights
from sklearn_dprank.mechanisms.additive import GaussianNoise
from sklearn_dprank.privacy.composition import gaussian_sigma
from sklearn_dprank.queries import NetWins, Sensitivity
from sklearn_dprank.sampling.bit_source import SeededBits

UNIT = 2**16


def naive_weights(horizon):
    """Return c_0 = 1, c_k = c_{k-1} (2k - 1) / (2k), as fractions."""
    weights = [Fraction(1)]
    for k in range(1, horizon):
        weights.append(weights[-1] * Fraction(2 * k - 1, 2 * k))
    return weights


def naive_totals(parts, noise, sigma):
    """Return prefix sums plus the weighted noise of all periods so far."""
    c = [float(w) for w in naive_weights(len(parts))]
    return [
        sum(parts[s] for s in range(t + 1)) + sigma * sum(c[t - s] * noise[s] for s in range(t + 1))
        for t in range(len(parts))
    ]


def calibrated(horizon, m=5, epsilon=1.0, delta=1e-6, neighboring="add_remove", whole=1):
    sensitivity = NetWins().sensitivity(m, neighboring)
    return CorrelatedNoise.calibrated(NetWins(), sensitivity, m, Fraction(epsilon), delta, horizon, Fraction(whole))


def totals_of(noise, parts, bits=None):
    """Return the total after each period; scripted noise needs no `bits`."""
    found = np.empty((0, parts.shape[1]))
    for t in range(len(parts)):
        found = np.vstack([found, noise.added(parts[: t + 1], found, bits)])
    return found.cumsum(axis=0)


def deviation(noise, period):
    """Return the standard deviation of the noise in the total after a number of periods."""
    a = root_weights(noise.horizon)[:period].astype(float)
    b = np.empty(period)
    for k in range(period):
        b[k] = (1 - a[1 : k + 1] @ b[:k][::-1]) / a[0]
    return noise.noise.sigma * math.sqrt(b @ b)


@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 300])
def test_root_weights_are_rounded_and_square_to_prefix_sums(horizon):
    exact = naive_weights(horizon)
    weights = root_weights(horizon)
    assert weights.dtype == np.int64
    assert [abs(int(w) - c * UNIT) <= Fraction(1, 2) for w, c in zip(weights, exact, strict=True)] == [True] * horizon
    squared = np.convolve([float(c) for c in exact], [float(c) for c in exact])[:horizon]
    np.testing.assert_allclose(squared, 1, rtol=1e-9)


def test_last_weight_of_the_longest_stream_is_above_zero():
    assert root_weights(100_000)[-1] > 100


@pytest.mark.parametrize("horizon", [1, 2, 3, 30])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_sigma_covers_a_ballot_in_all_draws(horizon, neighboring):
    noise = calibrated(horizon, neighboring=neighboring)
    squared = 40 * (4 if neighboring == "replace" else 1)
    reach = math.sqrt(squared) * math.sqrt(sum(float(c) ** 2 for c in naive_weights(horizon)))
    assert noise.noise.sigma == pytest.approx(UNIT * gaussian_sigma(1.0, 1e-6, reach), rel=1e-4)
    assert noise.sensitivity.l2_squared == squared * sum(int(w) ** 2 for w in root_weights(horizon))
    assert noise.noise.losses(noise.sensitivity, 1).mu_squared == pytest.approx(1 / gaussian_sigma(1.0, 1e-6) ** 2)


def test_half_of_the_budget_doubles_the_variance():
    assert calibrated(7, whole=2).noise.sigma == pytest.approx(math.sqrt(2) * calibrated(7).noise.sigma)


def test_year_has_three_times_the_noise_of_one_release():
    one = gaussian_sigma(1.0, 1e-6, math.sqrt(5 * 24 / 3))
    assert deviation(calibrated(365), 365) / one == pytest.approx(2.94, abs=0.01)
    assert deviation(calibrated(1), 1) == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("horizon", [1, 4, 25])
def test_totals_equal_a_naive_sum(horizon):
    rng = np.random.default_rng(horizon)
    parts, noise = rng.integers(-1000, 1000, (horizon, 6)), rng.standard_normal((horizon, 6))
    made = calibrated(horizon, m=6)
    with scripted(noise):
        found = totals_of(made, parts)
    np.testing.assert_allclose(found, naive_totals(parts, noise, made.noise.sigma / UNIT), atol=0.02)
    with scripted(np.zeros((horizon, 6))):
        np.testing.assert_allclose(totals_of(made, parts), parts.cumsum(axis=0), atol=1e-9)


def test_drawn_totals_have_the_calibrated_variance():
    made = calibrated(4, m=3)
    bits = SeededBits(0)
    runs = np.array([totals_of(made, np.zeros((4, 20), np.int64), bits) for _ in range(300)])
    found = runs.std(axis=(0, 2))
    np.testing.assert_allclose(found, [deviation(made, t) for t in range(1, 5)], rtol=0.05)


@pytest.mark.parametrize("size", [2**20, 2**44, 2**60, 2**90], ids=lambda size: f"2^{size.bit_length() - 1}")
def test_mixtures_of_large_sums_do_not_overflow(size):
    """The mixture is exact, in 64 bits or beyond; noise has a fixed, small sigma."""
    made = CorrelatedNoise(GaussianNoise(0.01), Sensitivity(1, Fraction(1)), 3)
    sums = np.array([[size, 0], [1, -size], [-size, 3]], dtype=np.int64 if size < 2**63 else object)
    seen = []
    kind = type(made.noise)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "added", lambda self, vector, bits: seen.append(vector) or np.asarray(vector, float))
        made.added(sums, np.zeros((2, 2)), None)
    weights = [int(w) for w in root_weights(3)][::-1]
    expected = [sum(w * int(x) for w, x in zip(weights, column, strict=True)) for column in sums.T]
    assert [int(x) for x in seen[0]] == expected
