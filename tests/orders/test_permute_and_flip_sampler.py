"""Permute-and-flip by cost: the largest of many exponentials, and which cost comes."""

import math

import numpy as np
import pytest
from audit_tools import log_flipped_law
from scipy import stats

from sklearn_dprank.orders.samplers import Flips, largest_exponentials, log_flip_error
from sklearn_dprank.sampling.bit_source import BitSource, SeededBits


def naive_flip(costs, rate, rng):
    """McKenna and Sheldon's Algorithm 1, as printed."""
    while True:
        for option in rng.permutation(len(costs)):
            if rng.random() < math.exp(-rate * (costs[option] - min(costs))):
                return option


class At(BitSource):
    """Stands for the uniform number in one half of (0, 1), and for the coin that chooses the half."""

    def __init__(self, log_v, lower):
        super().__init__()
        self.log_v, self.lower = log_v, lower

    def log_uniform(self, size):
        return np.full(size, self.log_v)

    def coins(self, size):
        return np.full(size, self.lower)


@pytest.mark.parametrize("n", [1, 2, 1000, math.factorial(16)])
@pytest.mark.parametrize("log_v", [-1e-15, -0.5, -3.0, -39.9, -40.1, -700.0, -1e5])
@pytest.mark.parametrize("lower", [True, False])
def test_inversion_of_the_distribution_function(n, log_v, lower):
    """-ln U is standard exponential; the value x has ln((1 - e^-x)^n) = ln U."""
    drawn = largest_exponentials(np.log([float(n)]), At(log_v, lower))[0]
    assert drawn >= 0
    if lower:  # -ln U is small: about v / 2, v = e^log_v
        log_y = log_v - math.log(2) if log_v < -30 else math.log(-math.log1p(-math.exp(log_v) / 2))
    else:
        log_y = math.log(math.log(2) - log_v)
    log_z = log_y - math.log(n)
    tail = log_z if log_z < -30 else math.log(-math.expm1(-math.exp(min(log_z, 6.0))))  # ln P(Exp(1) > x) = -x
    assert drawn == pytest.approx(-tail, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("n", [1, 5, 10**6])
def test_law_of_the_largest(n):
    drawn = largest_exponentials(np.full(5000, math.log(n)), SeededBits(n))
    assert stats.kstest(drawn, lambda x: (1 - np.exp(-x)) ** n).pvalue > 1e-3


CASES = {
    "one": ([3], [1]),
    "two": ([0, 5], [1, 1]),
    "many at the top": ([-4, 0, 2, 9], [1, 3, 0, 40]),
    "many at the bottom": ([-4, 1], [40, 2]),
    "empty bottom": ([-9, -4, 1, 2], [0, 2, 0, 3]),
}


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("costs", "counts"), CASES.values(), ids=CASES)
def test_costs_come_as_often_as_by_the_formula(costs, counts, rate):
    each = np.repeat(costs, counts)
    law = np.array([np.exp(log_flipped_law(rate * each))[each == cost].sum() for cost in costs])
    assert law.sum() == pytest.approx(1)
    flips, bits = Flips(np.array(costs), np.array(counts), rate), SeededBits(0)
    seen = np.bincount([flips.draw(bits) for _ in range(4000)], minlength=len(costs))
    assert not seen[law == 0].any()
    if (law > 0).sum() > 1:
        assert stats.chisquare(seen[law > 0], law[law > 0] * 4000).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.2, 1.0])
def test_the_formula_is_the_printed_algorithm(rate):
    costs, rng = [0, 2, 2, 3], np.random.default_rng(0)
    seen = np.bincount([naive_flip(costs, rate, rng) for _ in range(4000)], minlength=4)
    law = np.exp(log_flipped_law(rate * np.array(costs)))
    assert stats.chisquare(seen, law * 4000).pvalue > 1e-3


def test_error_grows_with_the_exponent_and_the_options():
    assert log_flip_error(0.0, 0.0) == 50 * 2.0**-53
    assert log_flip_error(1e6, 0.0) > 1e7 * 2.0**-53
    assert log_flip_error(0.0, 1e6) > 2e7 * 2.0**-53


def test_rare_costs_have_their_probability():
    """Between neighbours of the uniform number, by the one that decides: P(cost 1) = e^-rate / 2 for two options."""
    flips = Flips(np.array([0, 1]), np.array([1, 1]), 800.0)

    class Two(BitSource):
        """Numbers for the two noises: the first as likely as not, the second as rare as e^log_v."""

        def __init__(self, log_v):
            super().__init__()
            self.log_v = log_v

        def log_uniform(self, size):
            return np.array([math.log(0.5), self.log_v])

        def coins(self, size):
            return np.array([False, True])

    # The first is -ln(1 - 1/4), so that the second must exceed 800 more: e^-x = (3 / 4) e^-800 = v / 2.
    border = math.log(1.5) - 800
    assert flips.draw(Two(border + 1e-9)) == 0 and flips.draw(Two(border - 1e-9)) == 1
