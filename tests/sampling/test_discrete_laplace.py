"""Samplers against their exact laws; fractions against the definition."""

import math
from fractions import Fraction

import numpy as np
import pytest
from oracles import seeded
from scipy import stats

from sklearn_dprank.privacy.rounding import round_down
from sklearn_dprank.sampling import discrete_laplace as noise
from sklearn_dprank.sampling.bit_source import BitSource
from sklearn_dprank.sampling.discrete_laplace import discrete_laplace

RATES = [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(7, 3), round_down(math.pi), round_down(0.3) / 4]
BIG = 2**31 - 1


def laplace_pmf(rate, support):
    return np.tanh(float(rate) / 2) * np.exp(-float(rate) * np.abs(support))


def chi_square_p(draws, cells, pmf):
    """P-value of draws on consecutive integer cells, everything outside pooled in one more cell."""
    observed = np.array([np.sum(draws == cell) for cell in cells])
    expected = len(draws) * pmf
    keep = expected >= 10
    rest = len(draws) - expected[keep].sum()
    observed = np.append(observed[keep], len(draws) - observed[keep].sum())
    return stats.chisquare(observed, np.append(expected[keep], rest)).pvalue


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_discrete_laplace_has_its_exact_law(rate):
    cells = np.arange(-60, 61)
    draws = discrete_laplace(rate, 60_000, seeded())
    assert chi_square_p(draws, cells, laplace_pmf(rate, cells)) > 1e-3


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_scalar_draws_have_the_same_law(rate):
    bits = seeded(1)
    draws = np.concatenate([discrete_laplace(rate, 1, bits) for _ in range(10_000)])
    cells = np.arange(-60, 61)
    assert draws.dtype == np.int64
    assert chi_square_p(draws, cells, laplace_pmf(rate, cells)) > 1e-3


@pytest.mark.parametrize("rate", [Fraction(BIG - 1, BIG * 10**5), Fraction(1, BIG), Fraction(1, 2**48)], ids=str)
@pytest.mark.parametrize("block", [1, 1000])
def test_largest_terms_do_not_overflow(rate, block):
    bits = seeded(2)
    scaled = np.concatenate([discrete_laplace(rate, block, bits) for _ in range(4000 // block)]) * float(rate)
    assert stats.kstest(scaled, stats.laplace.cdf).pvalue > 1e-3


@pytest.mark.parametrize("rate", [Fraction(BIG), Fraction(2**63 - 1, 2**40)], ids=str)
def test_very_large_rates_give_zeros(rate):
    assert not discrete_laplace(rate, 100, seeded()).any()


@pytest.mark.parametrize(
    "expected", [[-2, -10, 5], [-5, -7, 30, 15, -22, 11, 5, -14, 14, -20, 1, 8]], ids=["one by one", "together"]
)
def test_a_seed_keeps_its_draws(expected):
    # examples and comparisons rest on seeds: a faster sampler must use the same words in the same order
    assert discrete_laplace(Fraction(1, 9), len(expected), seeded(5)).tolist() == expected
    assert discrete_laplace(Fraction(1, 9), len(expected), seeded(5)).dtype == np.int64


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
def test_sizes(size):
    draws = discrete_laplace(Fraction(1, 3), size, seeded())
    assert draws.shape == (size,)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("rate", [0, Fraction(-1, 3), Fraction(1, 2**48 + 1), Fraction(2**63)])
def test_rates_out_of_bounds_are_refused(rate):
    with pytest.raises(ValueError, match="rate must be"):
        discrete_laplace(rate, 3, seeded())


@pytest.mark.parametrize("denominator", [1, 2, 3, 10, 2**40])
def test_bernoulli_steps_are_exp_of_minus_x(denominator):
    size = 40_000
    for numerator in {0, 1, denominator // 2, denominator - 1, denominator}:
        p = math.exp(-numerator / denominator)
        many = noise._bernoulli_exp(np.full(size, numerator), denominator, seeded(numerator % 97)).sum()
        assert stats.binomtest(int(many), size, p).pvalue > 1e-4


def test_harmonic_runs_follow_inverse_factorials():
    runs = noise._harmonic_run(100_000, seeded(8))
    cells = np.arange(1, 12)
    pmf = np.array([1 / math.factorial(k) - 1 / math.factorial(k + 1) for k in cells])
    assert chi_square_p(runs, cells, pmf) > 1e-3


class Scripted(BitSource):
    """Deals given integers, to reach branches that chance would not."""

    def __init__(self, batch, singles):
        super().__init__()
        self.batch, self.singles = np.array(batch), list(singles)

    def integers(self, bound, size):
        return self.batch

    def integer(self, bound):
        return self.singles.pop(0) % bound


def test_harmonic_run_goes_on_beyond_the_ladder():
    edge = math.factorial(12)
    script = Scripted([0, 1, edge // 2 - 1, edge // 2, edge - 1], singles=[0, 0, 5])
    np.testing.assert_array_equal(noise._harmonic_run(5, script), [14, 11, 2, 1, 1])


def test_one_run_is_the_run_of_its_draw():
    edge = math.factorial(12)
    draws = [1, edge // 2 - 1, edge // 2, edge - 1, edge // 6 - 1, edge // 6]
    expected = noise._harmonic_run(6, Scripted(draws, singles=[]))
    assert [noise._one_run(Scripted([], [draw])) for draw in draws] == expected.tolist()
    assert noise._one_run(Scripted([], [0, 0, 0, 5])) == 14  # beyond the ladder


def test_whole_turns_are_geometric():
    turns = noise._whole_turns(50_000, seeded(9))
    cells = np.arange(12)
    assert chi_square_p(turns, cells, np.exp(-cells) * (1 - math.exp(-1))) > 1e-3
