"""The number of draws of `PrivateSelection` has its distribution exactly. The guarantee depends on it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from sklearn_dprank.model_selection.private import draw_count, eta_of, gamma_of, happens, mean_draws_of
from sklearn_dprank.sampling.bit_source import SeededBits


def seeded(seed=0):
    return SeededBits(np.random.SeedSequence(seed))


def probabilities(eta, gamma):
    """Return P(K = 1), P(K = 2), ... from the definition, without a tail of negligible probability."""
    k = np.arange(1, math.ceil(60 / gamma))
    log_weights = k * math.log1p(-gamma) + np.append(0, np.cumsum(np.log((k[:-1] + eta) / (k[:-1] + 1))))
    return np.exp(log_weights) / np.exp(log_weights).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distribution", "mean"),
    [
        ("geometric", 10),
        ("geometric", 1.5),
        ("logarithmic", 10),
        ("logarithmic", 2),
        (0.5, 6),
        (-0.5, 4),
        (-0.9, 1.5),
    ],
)
def test_the_number_of_draws_has_the_stated_mean_and_distribution(distribution, mean):
    eta, size, bits = eta_of(distribution), 4000, seeded(3)
    gamma = gamma_of(eta, mean)
    expected = probabilities(eta, float(gamma))
    k = np.arange(1, len(expected) + 1)
    assert (k * expected).sum() == pytest.approx(mean, rel=1e-6)
    drawn = np.array([draw_count(eta, gamma, bits) for _ in range(size)])
    assert drawn.min() == 1
    deviation = math.sqrt((k**2 * expected).sum() - mean**2)
    assert abs(drawn.mean() - mean) < 4 * deviation / math.sqrt(size)
    counts = np.bincount(np.minimum(drawn, len(expected)), minlength=len(expected) + 1)[1:]
    frequent = size * expected >= 8
    observed = np.append(counts[frequent], counts[~frequent].sum())
    assert stats.chisquare(observed, size * np.append(expected[frequent], expected[~frequent].sum())).pvalue > 1e-3


@pytest.mark.parametrize("distribution", ["geometric", "logarithmic", 0.5, -0.5])
def test_a_mean_of_one_makes_one_draw(distribution):
    eta = eta_of(distribution)
    assert gamma_of(eta, 1) == 1
    assert {draw_count(eta, gamma_of(eta, 1), seeded()) for _ in range(50)} == {1}


def test_gamma_known_answers():
    assert gamma_of(1.0, 10) == Fraction(1, 10)
    assert gamma_of(1.0, 2.5) == Fraction(2, 5)
    gamma = float(gamma_of(0.0, 7.0))
    assert (1 / gamma - 1) / math.log(1 / gamma) == pytest.approx(7.0)
    gamma = float(gamma_of(-0.5, 7.0))
    assert -0.5 * (1 - gamma) / (gamma * (1 - gamma**-0.5)) == pytest.approx(7.0)


@pytest.mark.slow
@given(st.floats(-0.99, 1), st.floats(0, math.log(1e5)))
def test_gamma_is_the_inverse_of_the_mean(eta, log_inverse_gamma):
    mean = mean_draws_of(eta, log_inverse_gamma)
    assert mean >= 1 - 1e-9
    found = gamma_of(eta, max(1.0, mean))
    assert 0 < found <= 1
    assert mean_draws_of(eta, -math.log(found)) == pytest.approx(mean, rel=1e-6)


class Words:
    """A bit source that returns given 64-bit words."""

    def __init__(self, *words):
        self.words = list(words)

    def integer(self, bound):
        assert bound == 2**64
        return self.words.pop(0)


def test_coins_have_exact_probabilities():
    """Uniform words are compared with the digits of p in base 2^64: 1/3 is 0.5555... in base 16, and 1/2 has one."""
    third = 2**64 // 3
    assert happens(Fraction(1, 3), Words(third - 1))
    assert not happens(Fraction(1, 3), Words(third + 1))
    assert happens(Fraction(1, 3), Words(third, third, third - 1))
    assert not happens(Fraction(1, 3), Words(third, third, third + 1))
    assert happens(Fraction(1, 2), Words(2**63 - 1))
    assert not happens(Fraction(1, 2), Words(2**63))
    assert happens(Fraction(1), Words(2**64 - 1))
    assert not happens(Fraction(0), Words())
    fine = Fraction(1, 2**100)
    assert happens(fine, Words(0, 2**28 - 1))
    assert not happens(fine, Words(0, 2**28))
